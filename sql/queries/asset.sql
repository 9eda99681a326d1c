-- Assets, their immutable versions and the documents they are made of.

-- name: document_get
SELECT d.body FROM document d WHERE d.account_no = acct() AND d.no = $1;

-- name: documents_put
-- Texts stored once by content; their numbers in order. $1 = JSON array of texts, $2 now. A number is null if another
-- transaction stored the same text just now: then the statement is sent once more.
WITH src AS (
	SELECT i, body, sha256(convert_to(body, 'UTF8')) AS digest FROM json_array_elements_text($1) WITH ORDINALITY x (body, i)
), ins AS (
	INSERT INTO document (digest, body, created_at) SELECT DISTINCT ON (s.digest) s.digest, s.body, $2 FROM src s
	 WHERE NOT EXISTS (SELECT FROM document o WHERE o.account_no = acct() AND o.digest = s.digest)
	    ON CONFLICT ON CONSTRAINT document_digest_key DO NOTHING RETURNING no, digest
)
SELECT coalesce(ins.no, (SELECT d.no FROM document d WHERE d.account_no = acct() AND d.digest = src.digest))
  FROM src LEFT JOIN ins ON ins.digest = src.digest ORDER BY src.i;

-- name: blob_put
WITH ins AS (
	INSERT INTO blob (digest, mime, bytes, created_at) VALUES (sha256($1), $2, $1, $3) ON CONFLICT ON CONSTRAINT blob_digest_key DO NOTHING RETURNING no
)
SELECT no FROM ins UNION ALL SELECT b.no FROM blob b WHERE b.account_no = acct() AND b.digest = sha256($1);

-- name: asset_insert
-- scope: insert
-- $1 kind, $2 id, $3 name, $4 source, $5 now
INSERT INTO asset (kind, id, name, source, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $5) RETURNING no;

-- name: asset_hold
-- Waits for other writers of the asset. A statement of its own: the next one sees the version that they left.
SELECT a.no FROM asset a WHERE a.account_no = acct() AND a.kind = $1 AND a.id = $2 AND a.deleted_at IS NULL FOR UPDATE;

-- name: asset_lock
-- The head of an asset that is about to change and is held.
SELECT a.no, a.name, a.source, a.status, a.version, a.revision, a.head_no, a.created_at, a.updated_at, v.content_hash, v.picture_no, v.id, v.created_at
  FROM asset a JOIN asset_version v ON v.account_no = acct() AND v.no = a.head_no
 WHERE a.account_no = acct() AND a.kind = $1 AND a.id = $2 AND a.deleted_at IS NULL;

-- name: asset_version_insert
-- scope: insert
-- $1 id, $2 asset no, $3 version number, $4 content hash, $5 body, $6 parts, $7 raw, $8 picture, $9 receipt, $10 now
INSERT INTO asset_version (id, asset_no, version_no, content_hash, body_no, parts, raw_no, picture_no, receipt, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING no;

-- name: asset_head
-- $1 asset no, $2 head, $3 version, $4 name, $5 now, $6 revision step
UPDATE asset SET head_no = $2, version = $3, name = $4, updated_at = $5, revision = revision + $6 WHERE account_no = acct() AND no = $1;

-- name: asset_get
-- Head with its document. $1 kind, $2 id, $3 deleted ones too
SELECT a.no, a.id, a.name, a.source, a.status, a.version, a.revision, a.head_no, a.created_at, a.updated_at, a.deleted_at,
       v.version_no, v.no, v.id, v.content_hash, v.created_at, d.body,
       (SELECT string_agg(e.body, ',' ORDER BY u.i) FROM unnest(v.parts) WITH ORDINALITY u (no, i)
          JOIN document e ON e.account_no = acct() AND e.no = u.no)
  FROM asset a
  JOIN asset_version v ON v.account_no = acct() AND v.no = a.head_no
  JOIN document d ON d.account_no = acct() AND d.no = v.body_no
 WHERE a.account_no = acct() AND a.kind = $1 AND a.id = $2 AND (a.deleted_at IS NULL OR $3);

-- name: asset_get_version
-- A version with its document, by its own id. $1 kind, $2 version id
SELECT a.no, a.id, a.name, a.source, a.status, a.version, a.revision, a.head_no, a.created_at, a.updated_at, a.deleted_at,
       v.version_no, v.no, v.id, v.content_hash, v.created_at, d.body,
       (SELECT string_agg(e.body, ',' ORDER BY u.i) FROM unnest(v.parts) WITH ORDINALITY u (no, i)
          JOIN document e ON e.account_no = acct() AND e.no = u.no)
  FROM asset_version v
  JOIN asset a ON a.account_no = acct() AND a.no = v.asset_no
  JOIN document d ON d.account_no = acct() AND d.no = v.body_no
 WHERE v.account_no = acct() AND a.kind = $1 AND v.id = $2;

-- name: asset_raw
SELECT d.body, b.bytes, b.mime
  FROM asset_version v
  LEFT JOIN document d ON d.account_no = acct() AND d.no = v.raw_no
  LEFT JOIN blob b ON b.account_no = acct() AND b.no = v.picture_no
 WHERE v.account_no = acct() AND v.no = $1;

-- name: preset_active
-- The account's active preset; no row: none.
SELECT a.id, a.name, a.version, p.activated_at
  FROM active_preset p JOIN asset a ON a.account_no = acct() AND a.kind = 'preset' AND a.id = p.preset_id AND a.deleted_at IS NULL
 WHERE p.account_no = acct();

-- name: preset_activate
-- In place of the one that was active. $1 id, $2 now. No row: not found.
INSERT INTO active_preset (preset_id, activated_at)
SELECT a.id, $2 FROM asset a WHERE a.account_no = acct() AND a.kind = 'preset' AND a.id = $1 AND a.deleted_at IS NULL
    ON CONFLICT (account_no) DO UPDATE SET preset_id = EXCLUDED.preset_id, activated_at = EXCLUDED.activated_at
RETURNING preset_id;

-- name: preset_deactivate
DELETE FROM active_preset WHERE account_no = acct();

-- name: preset_active_deleted
-- The preset $1 is deleted: if it was active, the newest that is left becomes active. $2 now
WITH s AS (
	SELECT id FROM asset WHERE account_no = acct() AND kind = 'preset' AND deleted_at IS NULL AND id <> $1 ORDER BY created_at DESC, no DESC LIMIT 1
), u AS (
	UPDATE active_preset SET preset_id = s.id, activated_at = $2 FROM s WHERE account_no = acct() AND preset_id = $1
)
DELETE FROM active_preset WHERE account_no = acct() AND preset_id = $1 AND NOT EXISTS (SELECT FROM s);

-- name: asset_set_status
-- $1 kind, $2 id, $3 status, $4 deleted_at or null, $5 now, $6 expected revision or null. No row: not found; null revision: stale guard.
WITH cur AS (
	SELECT no, revision FROM asset WHERE account_no = acct() AND kind = $1 AND id = $2 AND (deleted_at IS NULL OR $3 = 'active') FOR UPDATE
), upd AS (
	UPDATE asset a SET status = $3, deleted_at = $4, updated_at = $5, revision = a.revision + 1
	  FROM cur WHERE a.account_no = acct() AND a.no = cur.no AND cur.revision = coalesce($6, cur.revision)
	RETURNING a.revision
)
SELECT cur.revision, upd.revision FROM cur LEFT JOIN upd ON true;

-- name: asset_batch_status
-- $1 kind, $2 ids, $3 status, $4 deleted_at or null, $5 now
WITH want AS (
	SELECT min(i) - 1 AS idx, id FROM unnest($2::text[]) WITH ORDINALITY u (id, i) GROUP BY id
), upd AS (
	UPDATE asset SET status = $3, deleted_at = $4, updated_at = $5, revision = revision + 1
	 WHERE account_no = acct() AND kind = $1 AND id = ANY ($2::text[]) AND deleted_at IS NULL RETURNING id
)
SELECT want.idx, want.id, upd.id IS NOT NULL FROM want LEFT JOIN upd USING (id) ORDER BY want.idx;

-- name: asset_versions
-- Versions of an asset with their documents, in the order of version numbers. $1 kind, $2 id, $3 limit, $4 offset, $5 ascending
SELECT v.id, v.version_no, v.content_hash, v.created_at, d.body, count(*) OVER ()
  FROM asset a
  JOIN asset_version v ON v.account_no = acct() AND v.asset_no = a.no
  JOIN document d ON d.account_no = acct() AND d.no = v.body_no
 WHERE a.account_no = acct() AND a.kind = $1 AND a.id = $2
 ORDER BY CASE WHEN $5 THEN v.version_no ELSE -v.version_no END LIMIT $3 OFFSET $4;
