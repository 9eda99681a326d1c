#include "api/rest.h"

#include "base/id.h"
#include "base/limits.h"
#include "base/map.h"

/* clang-format off */
const struct field rest_deleted[] = {
	{ "id", FT_STRING, FF_REQUIRED },
	{ "deleted", FT_BOOL, FF_REQUIRED },
	FIELD_END
};
static const struct field batch_id = { "id", FT_STRING, .min = 1, .max = 128 };
const struct field rest_batch_ids[] = {
	{ "ids", FT_ARRAY, FF_REQUIRED, .min = 1, .max = LIM_BATCH, .items = &batch_id, .doc = "each at most once acted on" },
	FIELD_END
};
static const char *const batch_actions[] = { "deleted", "not_found", NULL };
static const struct field batch_result[] = {
	{ "index", FT_INT, FF_REQUIRED, .bounded = true, .min = 0, .max = LIM_BATCH },
	{ "id", FT_STRING, FF_REQUIRED },
	{ "action", FT_ENUM, FF_REQUIRED, .choices = batch_actions },
	FIELD_END
};
static const struct field batch_result_item = { "result", FT_OBJECT, .fields = batch_result };
static const struct field batch_meta[] = {
	{ "total", FT_INT, FF_REQUIRED },
	{ "deleted", FT_INT, FF_REQUIRED },
	{ "not_found", FT_INT, FF_REQUIRED },
	{ "conflicts", FT_INT, FF_OPTIONAL, .doc = "of sessions; always 0: a running turn does not keep its session" },
	FIELD_END
};
const struct field rest_batch_answer[] = {
	{ "results", FT_ARRAY, FF_REQUIRED, .items = &batch_result_item },
	{ "meta", FT_OBJECT, FF_REQUIRED, .fields = batch_meta },
	FIELD_END
};
static const char *const batch_changes[] = { "updated", "not_found", NULL };
static const struct field batch_change[] = {
	{ "index", FT_INT, FF_REQUIRED, .bounded = true, .min = 0, .max = LIM_BATCH },
	{ "id", FT_STRING, FF_REQUIRED },
	{ "action", FT_ENUM, FF_REQUIRED, .choices = batch_changes },
	FIELD_END
};
static const struct field batch_change_item = { "result", FT_OBJECT, .fields = batch_change };
static const struct field batch_change_meta[] = {
	{ "total", FT_INT, FF_REQUIRED },
	{ "updated", FT_INT, FF_REQUIRED },
	{ "not_found", FT_INT, FF_REQUIRED },
	{ "status", FT_STRING, FF_REQUIRED },
	FIELD_END
};
const struct field rest_batch_status_answer[] = {
	{ "results", FT_ARRAY, FF_REQUIRED, .items = &batch_change_item },
	{ "meta", FT_OBJECT, FF_REQUIRED, .fields = batch_change_meta },
	FIELD_END
};
/* clang-format on */

struct tx_call {
	struct request *r;
	int (*fn)(struct request *, void *);
	void *arg;
};

static int
tx_call(struct ctx *c, void *arg)
{
	struct tx_call *t = arg;

	(void)c;
	return t->fn(t->r, t->arg);
}

int
rest_tx(struct request *r, enum db_mode mode, int (*fn)(struct request *, void *), void *arg)
{
	struct tx_call t = { r, fn, arg };

	return db_tx(r->ctx, mode, tx_call, &t);
}

int
rest_not_found(struct request *r, const struct resource *res)
{
	return fail(r->ctx, ERR_NOT_FOUND, res->not_found ? res->not_found : "not_found", "%s not found", res->name);
}

const char *
rest_list_meta(struct arena *a, const struct list_query *q, int64_t total)
{
	return arena_printf(a,
	    "{\"total\":%lld,\"limit\":%lld,\"offset\":%lld,\"has_more\":%s,\"sort_by\":\"%s\",\"sort_order\":\"%s\"}",
	    (long long)total, (long long)q->limit, (long long)q->offset,
	    q->offset + q->limit < total ? "true" : "false", q->sort->name, q->ascending ? "asc" : "desc");
}

struct list_work {
	struct list_query query;
	struct sb out;
	int64_t total;
};

static int
list_work(struct request *r, void *arg)
{
	struct list_work *w = arg;

	sb_truncate(&w->out, 0);
	return resource_list(r->ctx, r->route->arg, &w->query, &w->out, &w->total);
}

int
rest_list(struct request *r)
{
	const struct resource *res = r->route->arg;
	struct list_work w = { .out = sb_new(r->ctx->a) };

	if (resource_list_query(r->ctx, res, r->query, &w.query) < 0 || rest_tx(r, DB_READ, list_work, &w) < 0)
		return -1;
	return reply_list(r, sb_str(&w.out), res->list_plain ? NULL : rest_list_meta(r->ctx->a, &w.query, w.total));
}

/* One row in, one row out: the shape that get, create and patch share. */
struct row_work {
	struct str id;
	const struct json *in, *guard;
	int (*verb)(struct ctx *, const struct resource *, struct row_work *);
	struct sb out;
};

static int
row_work(struct request *r, void *arg)
{
	struct row_work *w = arg;
	int rc;

	sb_truncate(&w->out, 0);
	rc = w->verb(r->ctx, r->route->arg, w);
	return rc == 0 ? rest_not_found(r, r->route->arg) : rc < 0 ? -1 : 0;
}

static int
verb_get(struct ctx *c, const struct resource *res, struct row_work *w)
{
	return resource_get(c, res, w->id, &w->out);
}

static int
verb_create(struct ctx *c, const struct resource *res, struct row_work *w)
{
	return resource_create(c, res, w->id, w->in, &w->out) < 0 ? -1 : 1;
}

static int
verb_patch(struct ctx *c, const struct resource *res, struct row_work *w)
{
	return resource_patch(c, res, w->id, w->in, w->guard, &w->out);
}

static int
verb_delete(struct ctx *c, const struct resource *res, struct row_work *w)
{
	return resource_delete(c, res, w->id);
}

int
rest_get(struct request *r)
{
	struct row_work w = { .id = req_param(r, "id"), .verb = verb_get, .out = sb_new(r->ctx->a) };

	return rest_tx(r, DB_READ, row_work, &w) < 0 ? -1 : reply_data(r, sb_str(&w.out));
}

int
rest_create(struct request *r)
{
	const struct resource *res = r->route->arg;
	struct id id = id_new(r->ctx->now);
	struct row_work w = { .id = str_c(id.s), .in = r->in, .verb = verb_create, .out = sb_new(r->ctx->a) };

	if (res->check && res->check(r->ctx, r->in) < 0)
		return -1;
	return rest_tx(r, DB_WRITE, row_work, &w) < 0 ? -1 : reply_data(r, sb_str(&w.out));
}

int
rest_patch(struct request *r)
{
	const struct resource *res = r->route->arg;
	struct row_work w = { .id = req_param(r, "id"), .in = r->in, .verb = verb_patch, .out = sb_new(r->ctx->a) };

	if (res->guard) {
		w.guard = json_get(r->in, res->guard);
		if (w.guard) {
			w.guard = json_copy(r->ctx->a, w.guard);
			json_del(r->in, res->guard);
		}
	}
	if (res->check && res->check(r->ctx, r->in) < 0)
		return -1;
	return rest_tx(r, DB_WRITE, row_work, &w) < 0 ? -1 : reply_data(r, sb_str(&w.out));
}

int
rest_deleted_reply(struct request *r, struct str id)
{
	struct sb out = sb_new(r->ctx->a);

	sb_adds(&out, "{\"id\":");
	sb_add_json(&out, id);
	sb_adds(&out, ",\"deleted\":true}");
	return reply_data(r, sb_str(&out));
}

int
rest_delete(struct request *r)
{
	const struct resource *res = r->route->arg;
	struct row_work w = { .id = req_param(r, "id"), .verb = verb_delete, .out = sb_new(r->ctx->a) };

	if (rest_tx(r, DB_WRITE, row_work, &w) < 0)
		return -1;
	if (res->delete_answer == DELETE_EMPTY)
		return reply_empty(r);
	return rest_deleted_reply(r, w.id);
}

struct batch_work {
	struct str *ids;
	size_t n;
	struct sb out;
};

static int
batch_work(struct request *r, void *arg)
{
	struct batch_work *w = arg;

	sb_truncate(&w->out, 0);
	return resource_batch_delete(r->ctx, r->route->arg, w->ids, w->n, &w->out);
}

int
rest_batch_delete(struct request *r)
{
	const struct json *ids = json_get(r->in, "ids");
	struct batch_work w = { .n = json_len(ids), .out = sb_new(r->ctx->a) };

	w.ids = arena_array(r->ctx->a, struct str, w.n);
	for (size_t i = 0; i < w.n; i++)
		w.ids[i] = json_str(json_at(ids, i));
	return rest_tx(r, DB_WRITE, batch_work, &w) < 0 ? -1 : reply_data(r, sb_str(&w.out));
}

void
rest_ids_array(struct sb *out, const struct json *ids)
{
	sb_addc(out, '{');
	for (size_t i = 0; i < json_len(ids); i++) {
		struct str id = json_str(json_at(ids, i));

		sb_adds(out, i ? ",\"" : "\"");
		for (size_t k = 0; k < id.n; k++) {
			if (id.p[k] == '"' || id.p[k] == '\\')
				sb_addc(out, '\\');
			sb_addc(out, id.p[k]);
		}
		sb_addc(out, '"');
	}
	sb_addc(out, '}');
}

int
rest_batch_print(struct rows *rs, struct str status, bool conflicts, struct sb *out)
{
	const char *done = status.p ? "updated" : "deleted";
	int64_t changed = 0, missing = 0;
	int rc;

	sb_truncate(out, 0);
	sb_adds(out, "{\"results\":[");
	while ((rc = rows_next(rs)) > 0) {
		bool yes = row_bool(rs, 2);

		sb_addf(out, "%s{\"index\":%lld,\"id\":", changed + missing ? "," : "", (long long)row_int(rs, 0));
		sb_add_json(out, row_str(rs, 1));
		sb_addf(out, ",\"action\":\"%s\"}", yes ? done : "not_found");
		changed += yes;
		missing += !yes;
	}
	sb_addf(out, "],\"meta\":{\"total\":%lld,\"%s\":%lld,\"not_found\":%lld", (long long)(changed + missing), done, (long long)changed,
	    (long long)missing);
	if (status.p) {
		sb_adds(out, ",\"status\":");
		sb_add_json(out, status);
	}
	sb_adds(out, conflicts ? ",\"conflicts\":0}}" : "}}");
	return rc;
}

struct each_work {
	int (*one)(struct request *, struct str);
	struct sb out;
};

static int
each_work(struct request *r, void *arg)
{
	struct each_work *w = arg;
	const struct json *ids = json_get(r->in, "ids");
	struct map *seen = map_create(r->ctx->a);
	size_t deleted = 0, missing = 0;

	sb_truncate(&w->out, 0);
	sb_adds(&w->out, "{\"results\":[");
	for (size_t i = 0; i < json_len(ids); i++) {
		struct str id = json_str(json_at(ids, i));
		bool gone = false;

		if (map_has(seen, id))
			continue;
		map_set(seen, id, w);
		if (w->one(r, id) < 0) {
			if (r->ctx->err.kind != ERR_NOT_FOUND)
				return -1;
			err_clear(r->ctx);
			gone = true;
		}
		sb_addf(&w->out, "%s{\"index\":%zu,\"id\":", deleted + missing ? "," : "", i);
		sb_add_json(&w->out, id);
		sb_addf(&w->out, ",\"action\":\"%s\"}", gone ? "not_found" : "deleted");
		missing += gone;
		deleted += !gone;
	}
	sb_addf(&w->out, "],\"meta\":{\"total\":%zu,\"deleted\":%zu,\"not_found\":%zu}}", deleted + missing, deleted, missing);
	return 0;
}

int
rest_batch_delete_each(struct request *r, int (*one)(struct request *r, struct str id))
{
	struct each_work w = { .one = one, .out = sb_new(r->ctx->a) };

	return rest_tx(r, DB_WRITE, each_work, &w) < 0 ? -1 : reply_data(r, sb_str(&w.out));
}
