-- What /metrics looks up when it is asked: levels that no process counts.

-- name: metric_levels
-- scope: system
-- Jobs waiting and running, how long the oldest has been due (s; $1 now), generations that the database holds for running.
SELECT (SELECT count(*) FROM job WHERE state = 'queued'),
       (SELECT count(*) FROM job WHERE state = 'running'),
       (SELECT coalesce(greatest($1 - min(available_at), 0) / 1000, 0) FROM job WHERE state = 'queued'),
       (SELECT count(*) FROM run WHERE state = 'running');
