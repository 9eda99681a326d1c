#include "api/entries.h"

#include "base/limits.h"
#include "base/map.h"

/* ---- an entry in its document ---- */

struct json *
entry_find(const struct entry_kind *k, const struct json *doc, struct str key)
{
	const struct json *c = json_get(doc, k->container);

	if (k->member == NULL)
		return json_get_s(c, key);
	for (size_t i = 0; i < json_len(c); i++)
		if (str_eq(json_get_str(json_at(c, i), k->member), key))
			return json_at(c, i);
	return NULL;
}

static int
entry_missing(struct request *r, const struct entry_kind *k)
{
	return fail(r->ctx, ERR_NOT_FOUND, "not_found", "%s not found", k->label);
}

static struct json *
entry_add(const struct entry_kind *k, struct json *doc, struct str key, struct arena *a)
{
	struct json *c = json_get(doc, k->container), *entry;

	if (k->member == NULL) {
		if (c == NULL)
			c = json_set_object(doc, k->container);
		return json_set_object(c, arena_strdup(a, key));
	}
	if (c == NULL)
		c = json_set_array(doc, k->container);
	entry = json_push_object(c);
	json_set_str(entry, k->member, key);
	return entry;
}

static void
entry_remove(const struct entry_kind *k, struct json *doc, struct str key, struct arena *a)
{
	struct json *c = json_get(doc, k->container), *rest;

	if (k->member == NULL) {
		json_del(c, arena_strdup(a, key));
		return;
	}
	rest = json_array(a);
	for (size_t i = 0; i < json_len(c); i++)
		if (!str_eq(json_get_str(json_at(c, i), k->member), key))
			json_push(rest, json_at(c, i));
	json_set(doc, k->container, rest);
}

/* ---- between the API and the file ---- */

static void
show_field(struct arena *a, const struct entry_field *f, const struct json *entry, struct json *out)
{
	const struct json *v = json_get(entry, f->file);
	struct json_error err;

	if (f->level) {
		int64_t level = json_type(v) == JSON_BOOL ? json_bool(v, false) : json_int(v, 0);

		if (level > 0)
			json_set_int(out, f->api, level);
		else
			json_set(out, f->api, NULL);
		return;
	}
	json_set(out, f->api, v ? v : json_read(a, str_c(f->dflt), LIM_JSON_DEPTH, &err));
}

struct json *
entry_show(struct arena *a, const struct entry_kind *k, const struct asset *asset, const struct json *doc, struct str key, const struct json *entry)
{
	struct json *out = json_object(a);

	json_set_str(out, k->key_param, key);
	for (const struct entry_field *f = k->map; f->api; f++)
		show_field(a, f, entry, out);
	k->show(a, asset, doc, entry, out);
	return out;
}

static int
write_fields(struct request *r, const struct entry_kind *k, struct json *doc, struct json *entry, const struct json *in)
{
	for (const struct entry_field *f = k->map; f->api; f++) {
		if (!json_has(in, f->api))
			continue;
		if (f->level)
			json_set_int(entry, f->file, json_get_int(in, f->api, 0));
		else
			json_set(entry, f->file, json_get(in, f->api));
	}
	return k->written ? k->written(r, doc, entry, in) : 0;
}

/* ---- one entry ---- */

struct entry_work {
	const struct entry_kind *kind;
	struct str key;
	struct json *doc, *entry; /* as edited */
};

static struct document_edit
edit_of(struct request *r, const struct entry_kind *k, struct asset_guard guard, int (*fn)(struct request *, struct json **, void *), void *arg)
{
	return (struct document_edit){ .kind = k->document, .id = req_param(r, k->document_param), .guard = guard, .edit = fn, .arg = arg };
}

static int
reply_entry(struct request *r, const struct entry_work *w, const struct asset *asset)
{
	return reply_data(r, json_text(r->ctx->a, entry_show(r->ctx->a, w->kind, asset, w->doc, w->key, w->entry)));
}

int
entries_get(struct request *r)
{
	struct entry_work w = { .kind = r->route->arg, .key = req_param(r, ((const struct entry_kind *)r->route->arg)->key_param) };
	struct asset asset;
	struct json_error err;
	struct str text;

	if (document_load(r, w.kind->document, req_param(r, w.kind->document_param), &asset, &text) < 0)
		return -1;
	w.doc = json_read(r->ctx->a, text, LIM_JSON_DEPTH, &err);
	w.entry = entry_find(w.kind, w.doc, w.key);
	return w.entry ? reply_entry(r, &w, &asset) : entry_missing(r, w.kind);
}

static int
create_edit(struct request *r, struct json **doc, void *arg)
{
	struct entry_work *w = arg;

	w->doc = *doc;
	if (w->kind->key_new(r, *doc, &w->key) < 0)
		return -1;
	w->entry = entry_add(w->kind, *doc, w->key, r->ctx->a);
	if (w->kind->joined && w->kind->joined(r, *doc, w->key, w->entry) < 0)
		return -1;
	return write_fields(r, w->kind, *doc, w->entry, r->in);
}

int
entries_create(struct request *r)
{
	struct entry_work w = { .kind = r->route->arg };
	struct document_edit e = edit_of(r, w.kind, guard_of(r->in), create_edit, &w);

	return rest_tx(r, DB_WRITE, document_edit_tx, &e) < 0 ? -1 : reply_entry(r, &w, &e.asset);
}

static int
patch_edit(struct request *r, struct json **doc, void *arg)
{
	struct entry_work *w = arg;

	w->doc = *doc;
	w->entry = entry_find(w->kind, *doc, w->key);
	return w->entry ? write_fields(r, w->kind, *doc, w->entry, r->in) : entry_missing(r, w->kind);
}

int
entries_patch(struct request *r)
{
	struct entry_work w = { .kind = r->route->arg, .key = req_param(r, ((const struct entry_kind *)r->route->arg)->key_param) };
	struct document_edit e = edit_of(r, w.kind, guard_of(r->in), patch_edit, &w);

	return rest_tx(r, DB_WRITE, document_edit_tx, &e) < 0 ? -1 : reply_entry(r, &w, &e.asset);
}

static void
entry_drop(struct arena *a, const struct entry_kind *k, struct json *doc, struct str key)
{
	entry_remove(k, doc, key, a);
	if (k->left)
		k->left(a, doc, key);
}

static int
delete_edit(struct request *r, struct json **doc, void *arg)
{
	struct entry_work *w = arg;

	if (entry_find(w->kind, *doc, w->key) == NULL)
		return entry_missing(r, w->kind);
	entry_drop(r->ctx->a, w->kind, *doc, w->key);
	return 0;
}

int
entries_delete(struct request *r)
{
	struct entry_work w = { .kind = r->route->arg, .key = req_param(r, ((const struct entry_kind *)r->route->arg)->key_param) };
	struct document_edit e = edit_of(r, w.kind, guard_of(r->query), delete_edit, &w);
	struct json *out = json_object(r->ctx->a);

	if (rest_tx(r, DB_WRITE, document_edit_tx, &e) < 0)
		return -1;
	json_set_str(out, w.kind->key_param, w.key);
	json_set_bool(out, "deleted", true);
	return reply_data(r, json_text(r->ctx->a, out));
}

/* ---- many entries: each at most once acted on ---- */

struct batch_item {
	size_t index;
	struct str key;
	const struct json *in;   /* fields to write; NULL = delete */
	struct json *entry;      /* out: NULL = not found */
};

struct batch {
	const struct entry_kind *kind;
	VEC(struct batch_item) items;
	struct map *seen;
	struct json *doc;
	bool deletes;
};

static void
batch_add(struct arena *a, struct batch *b, size_t index, struct str key, const struct json *in)
{
	if (map_has(b->seen, key))
		return;
	map_set(b->seen, key, b);
	vec_push(a, &b->items, ((struct batch_item){ .index = index, .key = key, .in = in }));
}

static int
batch_edit(struct request *r, struct json **doc, void *arg)
{
	struct batch *b = arg;

	b->doc = *doc;
	for (size_t i = 0; i < b->items.n; i++) {
		struct batch_item *item = &b->items.v[i];

		item->entry = entry_find(b->kind, *doc, item->key);
		if (item->entry == NULL)
			continue;
		if (b->deletes)
			entry_drop(r->ctx->a, b->kind, *doc, item->key);
		else if (write_fields(r, b->kind, *doc, item->entry, item->in) < 0)
			return -1;
	}
	return 0;
}

static int
batch_run(struct request *r, struct batch *b)
{
	struct document_edit e = edit_of(r, b->kind, guard_of(r->in), batch_edit, b);
	struct arena *a = r->ctx->a;
	const char *done = b->deletes ? "deleted" : "updated";
	struct json *out = json_object(a), *results = json_set_array(out, "results"), *meta;
	int64_t changed = 0;

	if (rest_tx(r, DB_WRITE, document_edit_tx, &e) < 0)
		return -1;
	for (size_t i = 0; i < b->items.n; i++) {
		const struct batch_item *item = &b->items.v[i];
		struct json *result = json_push_object(results);

		json_set_int(result, "index", (int64_t)item->index);
		json_set_str(result, "id", item->key);
		json_set_c(result, "action", item->entry ? done : "not_found");
		changed += item->entry != NULL;
		if (item->entry && !b->deletes)
			json_set(result, "data", entry_show(a, b->kind, &e.asset, b->doc, item->key, item->entry));
	}
	meta = json_set_object(out, "meta");
	json_set_int(meta, "total", (int64_t)b->items.n);
	json_set_int(meta, done, changed);
	json_set_int(meta, "not_found", (int64_t)b->items.n - changed);
	return reply_data(r, json_text(a, out));
}

static int
batch_keys(struct request *r, bool deletes)
{
	struct batch b = { .kind = r->route->arg, .seen = map_create(r->ctx->a), .deletes = deletes };
	const struct json *keys = json_get(r->in, b.kind->list), *in = json_get(r->in, "fields");

	for (size_t i = 0; i < json_len(keys); i++)
		batch_add(r->ctx->a, &b, i, json_str(json_at(keys, i)), in);
	return batch_run(r, &b);
}

int
entries_batch_update(struct request *r)
{
	return batch_keys(r, false);
}

int
entries_batch_delete(struct request *r)
{
	return batch_keys(r, true);
}

int
entries_batch_reorder(struct request *r)
{
	struct batch b = { .kind = r->route->arg, .seen = map_create(r->ctx->a) };
	const struct json *items = json_get(r->in, "items");

	for (size_t i = 0; i < json_len(items); i++)
		batch_add(r->ctx->a, &b, i, json_get_str(json_at(items, i), b.kind->key_param), json_at(items, i));
	return batch_run(r, &b);
}
