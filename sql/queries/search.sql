-- Search in messages. The words are filled in by those who search, a few hundred messages at a time.

-- name: search_fill
-- Words of messages above the account's mark, in order. A younger one may have a smaller number and not be committed yet, so nothing is taken that is
-- younger than a minute, nor what comes after it. $1 not younger than (ms), $2 at most so many. One row: how many were taken.
WITH mark AS (
	SELECT coalesce((SELECT s.upto FROM search_mark s WHERE s.account_no = acct()), 0) AS upto
), next AS MATERIALIZED (
	SELECT m.no, m.content, m.created_at FROM mark CROSS JOIN LATERAL (
		SELECT m.no, m.content, m.created_at FROM message m WHERE m.account_no = acct() AND m.no > mark.upto ORDER BY m.no LIMIT $2) m
), ripe AS (
	SELECT next.no, next.content FROM next WHERE next.no < coalesce((SELECT min(y.no) FROM next y WHERE y.created_at > $1), 9223372036854775807)
), w AS (
	INSERT INTO message_words (message_no, words) SELECT ripe.no, search_words(ripe.content) FROM ripe ON CONFLICT DO NOTHING
), m AS (
	INSERT INTO search_mark AS k (upto) SELECT max(ripe.no) FROM ripe HAVING max(ripe.no) IS NOT NULL
	    ON CONFLICT (account_no) DO UPDATE SET upto = greatest(k.upto, EXCLUDED.upto)
)
SELECT count(*) FROM ripe;

-- name: search_change
-- Behind a change of a message's text. $1 message no
UPDATE message_words w SET words = search_words(m.content) FROM message m
 WHERE w.account_no = acct() AND w.message_no = $1 AND m.account_no = acct() AND m.no = $1;

-- name: search_terms
-- scope: system
-- Reads no table. What is marked in excerpts: words and runs of the query. $1 query
SELECT x.term FROM (
	SELECT w.lexeme AS term FROM unnest(to_tsvector('simple', regexp_replace($1, search_dense() || '+', ' ', 'g'))) w
	UNION SELECT lower(r.run[1]) FROM regexp_matches($1, search_dense() || '+', 'g') r (run)) x;

-- name: search_total
-- scope: system
-- The function itself keeps to the account that was entered.
-- $1 query, $2 session id, $3 character id, $4 branch id, $5 role, $6 also pages that do not count, $7 also hidden ones
SELECT count(*) FROM search_messages($1, $2, $3, $4, $5, $6, $7);

-- name: search_page
-- The parameters of search_total, $8 by rank, $9 oldest first, $10 limit, $11 offset
SELECT m.id, p.id, m.seq, m.role, m.content, m.content_format, m.token_count, m.is_hidden, m.source, m.created_at,
       s.id, f.id, f.floor_seq, f.branch_id, h.rank
  FROM (SELECT h.no, h.rank FROM search_messages($1, $2, $3, $4, $5, $6, $7) h
         ORDER BY CASE WHEN $8 THEN h.rank END DESC, CASE WHEN $9 THEN h.no END, h.no DESC LIMIT $10 OFFSET $11) h
  JOIN message m ON m.account_no = acct() AND m.no = h.no
  JOIN page p ON p.account_no = acct() AND p.no = m.page_no
  JOIN floor f ON f.account_no = acct() AND f.no = p.floor_no
  JOIN session s ON s.account_no = acct() AND s.no = f.session_no
 ORDER BY CASE WHEN $8 THEN h.rank END DESC, CASE WHEN $9 THEN h.no END, h.no DESC;
