#include "store/asset.h"

#include "base/digest.h"
#include "base/id.h"
#include "base/sb.h"

/* clang-format off */
const struct asset_kind_row asset_kinds[ASSET__COUNT] = {
	[ASSET_CHARACTER] = { "character", "character", NULL, "character_conflict" },
	[ASSET_PRESET] = { "preset", "preset", "prompts", "preset_conflict" },
	[ASSET_WORLDBOOK] = { "worldbook", "worldbook", "entries", "worldbook_conflict" },
	[ASSET_REGEX] = { "regex_profile", "regex profile", "", "regex_profile_conflict" },
	[ASSET_USER] = { "user", "user", NULL, "user_conflict" },
};
/* clang-format on */

/* ---- a document and its entries ---- */

/* Where the entries of a document stand: the container's source bytes; absent if there is none. */
static struct str
container(enum asset_kind kind, struct str doc)
{
	const char *member = asset_kinds[kind].entries;
	struct str c;

	if (member == NULL)
		return STR_NULL;
	c = member[0] ? json_raw(doc, member) : str_trim(doc);
	return c.n >= 2 && (c.p[0] == '[' || c.p[0] == '{') ? c : STR_NULL;
}

struct split {
	struct str body;
	VEC(struct str) parts;
};

static struct split
split(struct arena *a, enum asset_kind kind, struct str doc)
{
	struct split s = { .body = doc };
	struct str c = container(kind, doc), key, part;
	struct sb body;
	size_t pos = 0;

	if (!c.p)
		return s;
	if (c.p[0] == '[')
		while (json_raw_next(c, &pos, &part))
			vec_push(a, &s.parts, part);
	else
		while (json_raw_member(c, &pos, &key, &part))
			vec_push(a, &s.parts, ((struct str){ key.p, (size_t)(part.p + part.n - key.p) }));
	body = sb_new(a);
	sb_add(&body, str_sub(doc, 0, (size_t)(c.p - doc.p)));
	sb_adds(&body, c.p[0] == '[' ? "[]" : "{}");
	sb_add(&body, str_sub(doc, (size_t)(c.p - doc.p) + c.n, doc.n));
	s.body = sb_str(&body);
	return s;
}

struct str
asset_join(struct arena *a, enum asset_kind kind, struct str body, struct str parts)
{
	struct str hole = container(kind, body);
	struct sb sb;
	size_t at;

	if (!hole.p || parts.n == 0)
		return body;
	at = (size_t)(hole.p - body.p) + 1;
	sb = sb_new(a);
	sb_reserve(&sb, body.n + parts.n + 1);
	sb_add(&sb, str_sub(body, 0, at));
	sb_add(&sb, parts);
	sb_add(&sb, str_sub(body, at, body.n));
	return sb_str(&sb);
}

/* ---- documents ---- */

/* Numbers of texts, in order; texts that exist already are shared. */
static int
documents_put(struct ctx *c, const struct str *texts, size_t n, int64_t *nos)
{
	struct sb sb = sb_new(c->a);
	struct str list;

	sb_addc(&sb, '[');
	for (size_t i = 0; i < n; i++) {
		sb_adds(&sb, i ? "," : "");
		sb_add_json(&sb, texts[i]);
	}
	sb_addc(&sb, ']');
	list = sb_str(&sb);
	/* A text that another transaction stored meanwhile is invisible to the first try's snapshot, not to the second's. */
	for (int attempt = 0; attempt < 2; attempt++) {
		struct rows *rs = db_query(c, STMT_documents_put, P_STR(list), P_INT(c->now));
		bool all = true;
		size_t i = 0;
		int rc;

		while ((rc = rows_next(rs)) > 0) {
			all = all && !row_null(rs, 0);
			nos[i++] = row_int(rs, 0);
		}
		if (rc < 0)
			return -1;
		if (all)
			return 0;
	}
	return fail(c, ERR_CONFLICT, "document_conflict", "the same text is being stored by another request; try again");
}

int
document_put(struct ctx *c, struct str body, int64_t *no_out)
{
	return documents_put(c, &body, 1, no_out);
}

int
document_get(struct ctx *c, int64_t no, struct str *body_out)
{
	struct rows *rs = db_query(c, STMT_document_get, P_INT(no));
	int rc = rows_next(rs);

	if (rc > 0)
		*body_out = row_str(rs, 0);
	return rc;
}

/* ---- versions ---- */

struct stored {
	int64_t body_no, raw_no, picture_no; /* 0 = none */
	struct str parts;                    /* PostgreSQL array text */
	struct str hash;
};

static int
content_put(struct ctx *c, enum asset_kind kind, const struct asset_content *content, struct stored *out)
{
	struct split s = split(c->a, kind, content->doc);
	size_t n = s.parts.n + 1;
	struct str *texts = arena_array(c->a, struct str, n + 1);
	int64_t *nos = arena_array(c->a, int64_t, n + 1);
	struct digest d = digest_sha256(content->doc);
	struct sb parts = sb_new(c->a);
	struct rows *rs;

	texts[0] = s.body;
	for (size_t i = 0; i < s.parts.n; i++)
		texts[i + 1] = s.parts.v[i];
	if (content->raw.p)
		texts[n++] = content->raw;
	if (documents_put(c, texts, n, nos) < 0)
		return -1;
	out->body_no = nos[0];
	sb_addc(&parts, '{');
	for (size_t i = 0; i < s.parts.n; i++)
		sb_addf(&parts, "%s%lld", i ? "," : "", (long long)nos[i + 1]);
	sb_addc(&parts, '}');
	out->parts = sb_str(&parts);
	out->hash = digest_hex(c->a, &d);
	if (content->raw.p)
		out->raw_no = nos[n - 1];
	if (content->picture.p) {
		rs = db_query(c, STMT_blob_put, P_BYTES(content->picture), P_C(content->picture_mime), P_INT(c->now));
		if (rows_next(rs) <= 0)
			return failed(c) ? -1 : fail(c, ERR_CONFLICT, "document_conflict", "the same picture is being stored by another request; try again");
		out->picture_no = row_int(rs, 0);
	}
	return 0;
}

#define P_NO(v) ((v) ? P_INT(v) : P_NULL)

static int
version_put(struct ctx *c, struct asset *a, const struct stored *s, struct str receipt)
{
	struct id id = id_new(c->now);
	struct rows *rs = db_query(c, STMT_asset_version_insert, P_C(id.s), P_INT(a->no), P_INT(a->version), P_STR(s->hash), P_INT(s->body_no),
	    P_STR(s->parts), P_NO(s->raw_no), P_NO(s->picture_no), P_STR(receipt), P_INT(c->now));

	if (rows_next(rs) <= 0)
		return -1;
	a->head_no = a->version_row = row_int(rs, 0);
	a->version_no = a->version;
	a->version_id = arena_strdup(c->a, str_c(id.s));
	a->content_hash = arena_strdup(c->a, s->hash);
	a->version_created_at = c->now;
	a->updated_at = c->now;
	return 0;
}

int
asset_create(struct ctx *c, enum asset_kind kind, struct str name, const char *source, const struct asset_content *content, struct asset *out)
{
	struct id id = id_new(c->now);
	struct stored s = { 0 };
	struct rows *rs;

	if (content_put(c, kind, content, &s) < 0)
		return -1;
	rs = db_query(c, STMT_asset_insert, P_C(asset_kinds[kind].name), P_C(id.s), P_STR(name), P_C(source), P_INT(c->now));
	if (rows_next(rs) <= 0)
		return -1;
	*out = (struct asset){ .no = row_int(rs, 0), .id = arena_strdup(c->a, str_c(id.s)), .name = arena_strdup(c->a, name), .source = source,
		.status = "active", .version = 1, .created_at = c->now };
	if (version_put(c, out, &s, content->receipt) < 0)
		return -1;
	return db_exec(c, STMT_asset_head, P_INT(out->no), P_INT(out->head_no), P_INT(1), P_STR(name), P_INT(c->now), P_INT(0)) < 0 ? -1 : 0;
}

static int
guard_check(struct ctx *c, enum asset_kind kind, struct asset_guard g, const struct asset *a)
{
	bool stale = (g.version >= 0 && g.version != a->version) || (g.revision >= 0 && g.revision != a->revision) ||
	    (g.updated_at >= 0 && g.updated_at != a->updated_at);

	if (!stale)
		return 0;
	fail(c, ERR_CONFLICT, asset_kinds[kind].conflict, "%s has been modified by another operation; read it again", asset_kinds[kind].label);
	return fail_details(c,
	    arena_printf(c->a, "{\"version\":%lld,\"revision\":%lld,\"updated_at\":%lld}", (long long)a->version, (long long)a->revision,
		(long long)a->updated_at));
}

static int
head_lock(struct ctx *c, enum asset_kind kind, struct str id, struct asset_guard guard, struct asset *out, int64_t *picture)
{
	struct rows *held = db_query(c, STMT_asset_hold, P_C(asset_kinds[kind].name), P_STR(id));
	struct rows *rs = db_query(c, STMT_asset_lock, P_C(asset_kinds[kind].name), P_STR(id));
	int rc = rows_next(held);

	if (rc > 0)
		rc = rows_next(rs);
	if (rc <= 0)
		return rc;
	*out = (struct asset){ .no = row_int(rs, 0), .id = arena_strdup(c->a, id), .name = arena_strdup(c->a, row_str(rs, 1)),
		.source = arena_strdup(c->a, row_str(rs, 2)), .status = arena_strdup(c->a, row_str(rs, 3)), .version = row_int(rs, 4),
		.revision = row_int(rs, 5), .head_no = row_int(rs, 6), .created_at = row_int(rs, 7), .updated_at = row_int(rs, 8),
		.version_id = arena_strdup(c->a, row_str(rs, 11)), .version_created_at = row_int(rs, 12) };
	out->version_row = out->head_no;
	out->version_no = out->version;
	out->content_hash = arena_strdup(c->a, row_str(rs, 9));
	*picture = row_int(rs, 10);
	return guard_check(c, kind, guard, out) < 0 ? -1 : 1;
}

int
asset_hold(struct ctx *c, enum asset_kind kind, struct str id, struct asset_guard guard)
{
	struct asset a;
	int64_t picture;

	return head_lock(c, kind, id, guard, &a, &picture);
}

int
asset_save(struct ctx *c, enum asset_kind kind, struct str id, struct asset_guard guard, struct str name, const struct asset_content *content,
    struct asset *out)
{
	struct stored s = { 0 };
	int64_t picture;
	bool same_text, same_name;
	int rc = head_lock(c, kind, id, guard, out, &picture);

	if (rc <= 0)
		return rc;
	same_name = !name.p || str_is(name, out->name);
	if (content_put(c, kind, content, &s) < 0)
		return -1;
	same_text = str_is(s.hash, out->content_hash) && (s.picture_no == 0 || s.picture_no == picture);
	if (same_text && same_name)
		return 1;
	if (!same_name)
		out->name = arena_strdup(c->a, name);
	if (!same_text) {
		out->version++;
		if (s.picture_no == 0)
			s.picture_no = picture;
		if (version_put(c, out, &s, content->receipt) < 0)
			return -1;
	}
	out->revision++;
	out->updated_at = c->now;
	return db_exec(c, STMT_asset_head, P_INT(out->no), P_INT(out->head_no), P_INT(out->version), P_C(out->name), P_INT(c->now), P_INT(1)) < 0 ? -1 : 1;
}

/* ---- reading ---- */

static int
asset_take(struct ctx *c, enum asset_kind kind, struct rows *rs, struct asset *out, struct str *doc_out)
{
	int rc = rows_next(rs);

	if (rc <= 0)
		return rc;
	*out = (struct asset){ .no = row_int(rs, 0), .id = arena_strdup(c->a, row_str(rs, 1)), .name = arena_strdup(c->a, row_str(rs, 2)),
		.source = arena_strdup(c->a, row_str(rs, 3)), .status = arena_strdup(c->a, row_str(rs, 4)), .version = row_int(rs, 5),
		.revision = row_int(rs, 6), .head_no = row_int(rs, 7), .created_at = row_int(rs, 8), .updated_at = row_int(rs, 9),
		.deleted_at = row_int(rs, 10), .version_no = row_int(rs, 11), .version_row = row_int(rs, 12),
		.version_id = arena_strdup(c->a, row_str(rs, 13)), .content_hash = arena_strdup(c->a, row_str(rs, 14)), .version_created_at = row_int(rs, 15) };
	if (doc_out)
		*doc_out = asset_join(c->a, kind, row_str(rs, 16), row_str(rs, 17));
	return 1;
}

int
asset_load(struct ctx *c, enum asset_kind kind, struct str id, bool deleted_too, struct asset *out, struct str *doc_out)
{
	return asset_take(c, kind, db_query(c, STMT_asset_get, P_C(asset_kinds[kind].name), P_STR(id), P_BOOL(deleted_too)), out, doc_out);
}

int
asset_version_load(struct ctx *c, enum asset_kind kind, struct str version_id, struct asset *out, struct str *doc_out)
{
	return asset_take(c, kind, db_query(c, STMT_asset_get_version, P_C(asset_kinds[kind].name), P_STR(version_id)), out, doc_out);
}

int
asset_raw(struct ctx *c, int64_t version_row, struct str *raw_out, struct str *picture_out, const char **mime_out)
{
	struct rows *rs = db_query(c, STMT_asset_raw, P_INT(version_row));
	int rc = rows_next(rs);

	if (rc <= 0)
		return rc;
	*raw_out = row_str(rs, 0);
	*picture_out = row_null(rs, 1) ? STR_NULL : row_bytes(rs, 1, c->a);
	*mime_out = row_null(rs, 2) ? NULL : arena_strdup(c->a, row_str(rs, 2));
	return 1;
}
