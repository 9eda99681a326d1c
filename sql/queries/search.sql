-- Search in messages. The words are filled in by tavern-jobd, some hundreds of messages at a time.

-- name: search_fill
-- Words of messages above the account's mark, in order; then how far the next one may go. A younger message may have a smaller number and not be committed
-- yet: it is taken once all transactions are over that ran when it was looked how far messages go. Who finds the mark held by somebody else does nothing.
-- $1 at most so many, $2 nothing if fewer wait. One row: how many were taken, whether such a transaction still runs,
-- and whether more may be taken now.
WITH mark AS (
	SELECT s.upto, s.filled, s.seen, s.seen_xid <= pg_snapshot_xmin(pg_current_snapshot()) AS over FROM search_mark s WHERE s.account_no = acct() FOR UPDATE SKIP LOCKED
), next AS MATERIALIZED (
	SELECT m.no, m.content, m.role, m.segment_no, m.nth + mark.filled - 1 AS place FROM mark CROSS JOIN LATERAL (
		SELECT m.no, m.content, m.role, m.segment_no, row_number() OVER () AS nth FROM (
			SELECT m.* FROM message m WHERE m.account_no = acct() AND m.no > mark.upto AND m.no <= mark.seen ORDER BY m.no LIMIT $1) m) m
	 WHERE mark.over
), ripe AS MATERIALIZED (
	SELECT n.* FROM next n WHERE (SELECT count(*) FROM next) >= $2
), w AS (
	INSERT INTO message_words (message_no, zone, words)
	SELECT ripe.no, ripe.place / 4096, search_words(ripe.content) || search_place(acct(), (ripe.place / 4096)::int, g.session_no, ripe.segment_no, ripe.role)
	  FROM ripe CROSS JOIN LATERAL (SELECT g.session_no FROM segment g WHERE g.account_no = acct() AND g.no = ripe.segment_no OFFSET 0) g
	    ON CONFLICT DO NOTHING
), top AS (
	SELECT coalesce((SELECT m.no FROM message m WHERE m.account_no = acct() ORDER BY m.no DESC LIMIT 1), 0) AS no
), first AS (
	INSERT INTO search_mark (upto, seen, seen_xid) SELECT 0, top.no, pg_snapshot_xmax(pg_current_snapshot()) FROM top
	 WHERE NOT EXISTS (SELECT FROM search_mark s WHERE s.account_no = acct()) ON CONFLICT DO NOTHING RETURNING 1
), further AS (
	UPDATE search_mark s SET upto = greatest(mark.upto, (SELECT max(ripe.no) FROM ripe)), filled = mark.filled + x.n, seen = CASE WHEN x.all_taken THEN top.no ELSE mark.seen END,
	       seen_xid = CASE WHEN x.all_taken THEN pg_snapshot_xmax(pg_current_snapshot()) ELSE s.seen_xid END
	  FROM mark, top, (SELECT count(*) AS n, count(*) > 0 AS any_taken, count(*) < $1 AS all_taken FROM ripe) x
	 WHERE s.account_no = acct() AND mark.over AND (x.any_taken OR top.no >= mark.seen + $2) RETURNING 1
)
SELECT count(*), EXISTS (SELECT FROM mark WHERE NOT mark.over), EXISTS (SELECT FROM first) OR EXISTS (SELECT FROM further) FROM ripe;

-- name: search_settle
-- scope: system
-- Reads no table of an account. Sorts what was filled in into the index.
SELECT search_settle();

-- name: search_waiting
-- scope: system
-- Accounts with messages above their mark, which can be entered. $1 behind this account's number, $2 at most
SELECT a.no, a.id FROM account a
 WHERE a.no > $1 AND a.status = 'active'
   AND (SELECT m.no FROM message m WHERE m.account_no = a.no ORDER BY m.no DESC LIMIT 1) > coalesce((SELECT s.upto FROM search_mark s WHERE s.account_no = a.no), 0)
 ORDER BY a.no LIMIT $2;

-- name: search_change
-- Behind a change of a message's text or role. $1 message no
UPDATE message_words w SET words = search_words(m.content) || search_place(acct(), w.zone, g.session_no, m.segment_no, m.role)
  FROM message m JOIN segment g ON g.account_no = acct() AND g.no = m.segment_no
 WHERE w.account_no = acct() AND w.message_no = $1 AND m.account_no = acct() AND m.no = $1;

-- name: search_terms
-- scope: system
-- Reads no table. What is marked in excerpts: words and runs of the query. $1 query
SELECT x.term FROM (
	SELECT w.lexeme AS term FROM unnest(to_tsvector('simple', search_plain($1))) w
	UNION SELECT lower(r.run) FROM unnest(string_to_array(search_runs($1), ' ')) r (run)) x;

-- name: search_page
-- How many there are, whether that is all, and a page of them; the first columns stand in a row of their own where the page has none. The function keeps to
-- the account that was entered. $1 query, $2 session id, $3 character id, $4 branch id, $5 role, $6 also pages that do not count, $7 also hidden ones, $8 by
-- rank, $9 oldest first, $10 limit, $11 offset, $12 how many are looked at
WITH h AS MATERIALIZED (
	SELECT h.no, h.rank FROM search_messages($1, $2, $3, $4, $5, $6, $7, $9, $12) h
)
SELECT n.total, n.complete, x.message_id, x.page_id, x.seq, x.role, x.content, x.content_format, x.token_count, x.is_hidden, x.source, x.created_at, x.session_id,
       x.floor_id, x.floor_seq, x.branch_id, p.rank
  FROM (SELECT count(*) FILTER (WHERE h.no > 0) AS total, count(*) FILTER (WHERE h.no = 0) = 0 AS complete FROM h) n
  LEFT JOIN (SELECT h.no, h.rank FROM h WHERE h.no > 0 ORDER BY CASE WHEN $8 THEN h.rank END DESC, CASE WHEN $9 THEN h.no END, h.no DESC LIMIT $10 OFFSET $11) p ON true
  LEFT JOIN LATERAL (
	SELECT m.id AS message_id, pg.id AS page_id, m.seq, m.role, m.content, m.content_format, m.token_count, m.is_hidden, m.source, m.created_at, s.id AS session_id,
	       f.id AS floor_id, f.floor_seq, f.branch_id
	  FROM message m
	  JOIN page pg ON pg.account_no = acct() AND pg.no = m.page_no
	  JOIN floor f ON f.account_no = acct() AND f.no = pg.floor_no
	  JOIN session s ON s.account_no = acct() AND s.no = f.session_no
	 WHERE m.account_no = acct() AND m.no = p.no
	OFFSET 0) x ON true
 ORDER BY CASE WHEN $8 THEN p.rank END DESC, CASE WHEN $9 THEN p.no END, p.no DESC;
