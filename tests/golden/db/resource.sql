-- list, two filters
SELECT t.id, t.title, t.size, t.ratio, t.shiny, t.kind, t.meta, t.body, t.owner_id IS NULL, t.owner_id, t.owner_name, t.secret IS NOT NULL, t.revision, t.created_at, t.updated_at FROM thing t WHERE t.account_no = acct() AND strpos(t.title_key, lower($1)) > 0 AND t.size >= $2 AND t.deleted_at IS NULL ORDER BY t.created_at DESC, t.no DESC LIMIT $3 OFFSET $4;

-- its total
SELECT count(*) FROM thing t WHERE t.account_no = acct() AND strpos(t.title_key, lower($1)) > 0 AND t.size >= $2 AND t.deleted_at IS NULL;

-- plain list
SELECT t.owner_id, t.owner_name FROM thing t WHERE t.account_no = acct() AND t.kind = 'big' ORDER BY t.created_at ASC, t.no ASC;

-- get
SELECT t.id, t.title, t.size, t.ratio, t.shiny, t.kind, t.meta, t.doc, t.body, t.owner_id IS NULL, t.owner_id, t.owner_name, t.secret IS NOT NULL, t.revision, t.created_at, t.updated_at FROM thing t WHERE t.account_no = acct() AND t.deleted_at IS NULL AND t.id = $1;

-- create
INSERT INTO thing AS t (id, title, size, ratio, shiny, kind, meta, doc, body, owner_id, owner_name, secret, created_at, updated_at) SELECT $1, x.title, x.size, x.ratio, x.shiny, x.kind, x.meta, x.doc, x.body, x.owner_id, x.owner_name, x.secret, $3::bigint, $3::bigint FROM json_populate_record(NULL::thing, $2) x RETURNING t.id, t.title, t.size, t.ratio, t.shiny, t.kind, t.meta, t.doc, t.body, t.owner_id IS NULL, t.owner_id, t.owner_name, t.secret IS NOT NULL, t.revision, t.created_at, t.updated_at;

-- patch of two members
UPDATE thing t SET title = x.title, owner_name = x.owner_name, revision = t.revision + 1, updated_at = $3 FROM json_populate_record(NULL::thing, $2) x WHERE t.account_no = acct() AND t.deleted_at IS NULL AND t.id = $1 RETURNING t.id, t.title, t.size, t.ratio, t.shiny, t.kind, t.meta, t.doc, t.body, t.owner_id IS NULL, t.owner_id, t.owner_name, t.secret IS NOT NULL, t.revision, t.created_at, t.updated_at;

-- patch with a guard, nested object set to null, create-only member ignored
WITH cur AS (SELECT t.no, t.revision AS guard FROM thing t WHERE t.account_no = acct() AND t.deleted_at IS NULL AND t.id = $1 FOR UPDATE), upd AS (UPDATE thing t SET doc = x.doc, owner_id = x.owner_id, owner_name = x.owner_name, revision = t.revision + 1, updated_at = $3 FROM cur, json_populate_record(NULL::thing, $2) x WHERE t.account_no = acct() AND t.deleted_at IS NULL AND t.no = cur.no AND cur.guard = $4 RETURNING t.id, t.title, t.size, t.ratio, t.shiny, t.kind, t.meta, t.doc, t.body, t.owner_id IS NULL, t.owner_id, t.owner_name, t.secret IS NOT NULL, t.revision, t.created_at, t.updated_at, true AS done) SELECT upd.*, cur.guard FROM cur LEFT JOIN upd ON true;

-- soft delete
UPDATE thing t SET deleted_at = $2, updated_at = $2 WHERE t.account_no = acct() AND t.deleted_at IS NULL AND t.id = $1;

-- delete
DELETE FROM thing t WHERE t.account_no = acct() AND t.kind = 'big' AND t.id = $1;

-- batch delete
WITH want AS (SELECT id, min(i) AS i FROM json_array_elements_text($1) WITH ORDINALITY AS u(id, i) GROUP BY id), del AS (UPDATE thing t SET deleted_at = $2, updated_at = $2 WHERE t.account_no = acct() AND t.deleted_at IS NULL AND t.id IN (SELECT id FROM want) RETURNING t.id) SELECT want.i - 1, want.id, del.id IS NOT NULL FROM want LEFT JOIN del ON del.id = want.id ORDER BY 1;

