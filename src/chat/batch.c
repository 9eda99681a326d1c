/*
 * batch: some floors of a file as rows, in one statement. Ids stay if they are free in this account. A
 * greeting of a foreign file is expanded here, as it would have been when the chat began (decision 35).
 */
#include "chat/chat_private.h"

#include "base/digest.h"
#include "card/import.h"
#include "card/member.h"

#include <stdio.h>

#define BATCH_FLOORS 200
#define BATCH_BYTES (1u << 20)
#define HIDDEN_MS 600000 /* of an import that says nothing more */

struct placed {
	struct chat_floor f;
	int64_t segment_no;
	int32_t seq;
	const char *id, *parent;
};

struct batch {
	struct importer *im;
	VEC(struct placed) v;
	struct sb floors, pages, said;
	struct {
		const struct macro_result *macros;
		int32_t seq;
		const char *page;
	} greet[16];
	size_t n_greet;
	struct map *taken; /* kind and id: of this account already */
	struct map *got;   /* kind and id of the file -> the id that it got (const char *) */
	struct map *told;  /* ids of floors before the batch that its floors may name */
	bool again;        /* asks for the ids that were made, too */
};

/* ---- reading ---- */

/* Pages of floors that this one replaced: further versions, none of them shown. */
static int
add_replaced(struct importer *im, struct chat_floor *f, struct import_error *err)
{
	struct arena *a = im->c->a;
	const struct plan_raws *list =
	    map_get(im->plan.replaced, str_c(plan_key(a, f->branch_id, f->floor_no)));

	for (size_t i = 0; list && i < list->v.n; i++) {
		struct chat_floor old;
		struct chat_page *pages;
		struct str raw;

		if (pieces_at(im->t.text, list->v.v[i].at, list->v.v[i].n, &raw) < 0 ||
		    thchat_floor(a, str_sub(raw, 0, list->v.v[i].n), "data.floors", &old, err) < 0)
			return -1;
		pages = arena_array(a, struct chat_page, f->n + old.n);
		memcpy(pages, f->pages, f->n * sizeof(*pages));
		for (size_t k = 0; k < old.n; k++)
			if (!str_is(old.pages[k].kind, "input")) {
				pages[f->n] = old.pages[k];
				pages[f->n++].active = false;
			}
		f->pages = pages;
	}
	return 0;
}

/* The next floor with its place: 1, 0, -1. */
static int
next_floor(struct importer *im, struct placed *out, struct import_error *err)
{
	struct arena *a = im->c->a;
	int rc;

	if (!im->thchat) {
		rc = chat_next_floor(&im->lines, a, &out->f);
		out->segment_no = im->segs[0];
		out->seq = (int32_t)im->floors;
		return im->lines.text->failed ? -1 : rc;
	}
	for (;;) {
		const struct plan_place *at;

		rc = thchat_next(a, &im->t, &out->f, err);
		if (rc <= 0)
			return rc;
		if (im->plan.own) {
			if (out->f.segment < 0 || (size_t)out->f.segment >= im->plan.n_segs ||
			    out->f.floor_no < 0 || out->f.floor_no > INT32_MAX)
				return import_fail(a, err, "invalid_value", "data.floors",
				    "a floor has no place in the story");
			out->segment_no = im->segs[out->f.segment];
			out->seq = (int32_t)out->f.floor_no;
			return 1;
		}
		at = out->f.id.n ? map_get(im->plan.floors, out->f.id) : NULL;
		if (at == NULL)
			return import_fail(
			    a, err, "invalid_value", "data.floors", "a floor needs its _original_id");
		if (at->gone)
			continue;
		out->segment_no = im->segs[at->branch];
		out->seq = at->seq;
		return add_replaced(im, &out->f, err) < 0 ? -1 : 1;
	}
}

static size_t
floor_bytes(const struct chat_floor *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++)
		for (size_t k = 0; k < f->pages[i].n; k++)
			n += f->pages[i].said[k].content.n + 200;
	return n;
}

static int
collect(struct batch *b)
{
	struct importer *im = b->im;
	struct import_error err = { .offset = -1 };
	size_t bytes = 0;
	int rc = 1;

	while (b->v.n < BATCH_FLOORS && bytes < BATCH_BYTES && rc > 0) {
		struct placed p = { 0 };

		rc = next_floor(im, &p, &err);
		if (rc < 0)
			return chat_refuse(im->c, &err);
		if (rc == 0)
			break;
		bytes += floor_bytes(&p.f);
		vec_push(im->c->a, &b->v, p);
		im->floors++;
	}
	return b->v.n > 0;
}

/* ---- ids ---- */

static const char *
id_key(struct arena *a, char kind, struct str id)
{
	return arena_printf(a, "%c%.*s", kind, STR_ARG(id));
}

const char *
chat_made_id(const struct importer *im, char kind, struct str id)
{
	struct arena *a = im->c->a;
	struct digest d = digest_sha256(
	    str_c(arena_printf(a, "%.*s %c%.*s", STR_ARG(im->w->session_id), kind, STR_ARG(id))));
	struct id made = id_make(im->began, d.b);

	return arena_strdup(a, str_c(made.s));
}

/* In the first round the file's own id, in the second the one that it gets if that is taken. */
static void
want(struct batch *b, struct sb *list, char kind, struct str id)
{
	struct arena *a = b->im->c->a;

	if (b->again) {
		if (id.n == 0 || (id_valid(id) && !map_has(b->taken, str_c(id_key(a, kind, id)))))
			return;
		id = str_c(chat_made_id(b->im, kind, id));
	}
	if (!id_valid(id))
		return;
	sb_addc(list, list->n ? ',' : '{');
	sb_addc(list, '"');
	for (size_t i = 0; i < id.n; i++) {
		if (id.p[i] == '"' || id.p[i] == '\\')
			sb_addc(list, '\\');
		sb_addc(list, id.p[i]);
	}
	sb_addc(list, '"');
}

static void
want_floor(struct batch *b, struct sb *lists, const struct chat_floor *f, struct str before)
{
	want(b, &lists[0], 'f', f->id);
	for (size_t p = 0; p < f->n; p++) {
		want(b, &lists[1], 'p', f->pages[p].id);
		for (size_t m = 0; m < f->pages[p].n; m++)
			want(b, &lists[2], 'm', f->pages[p].said[m].id);
	}
	if (b->again && f->parent_id.n > 0 &&
	    !str_eq(f->parent_id, before)) { /* under either name, in this session */
		struct str made = str_c(chat_made_id(b->im, 'f', f->parent_id));

		b->again = false;
		want(b, &lists[3], 'f', f->parent_id);
		want(b, &lists[3], 'f', made);
		b->again = true;
	}
}

static int
taken_tx(struct ctx *c, void *arg)
{
	struct batch *b = arg;
	struct sb lists[4] = { sb_new(c->a), sb_new(c->a), sb_new(c->a), sb_new(c->a) };
	struct rows *rs;
	int rc;

	for (size_t i = 0; i < b->v.n; i++)
		want_floor(b, lists, &b->v.v[i].f, i > 0 ? b->v.v[i - 1].f.id : STR_NULL);
	for (int i = 0; i < 4; i++)
		sb_adds(&lists[i], lists[i].n ? "}" : "{}");
	rs = db_query(c, STMT_chat_ids_taken, P_STR(sb_str(&lists[0])), P_STR(sb_str(&lists[1])),
	    P_STR(sb_str(&lists[2])), P_STR(sb_str(&lists[3])), P_INT(b->im->session_no));
	while ((rc = rows_next(rs)) > 0) {
		const char *key = id_key(c->a, row_str(rs, 0).p[0], row_str(rs, 1));

		map_set(str_is(row_str(rs, 0), "told") ? b->told : b->taken, str_c(key), b);
	}
	return rc;
}

/* What of the file's ids is taken, then what of those that stand for them. */
static int
look_up_ids(struct batch *b)
{
	struct ctx *c = b->im->c;

	b->again = false;
	if (db_tx(c, DB_READ, taken_tx, b) < 0)
		return -1;
	b->again = true;
	return db_tx(c, DB_READ, taken_tx, b) < 0 ? -1 : 0;
}

/* The id that a thing of the file gets: its own if it is free. kind: f, p or m. */
static const char *
id_for(struct batch *b, char kind, struct str id)
{
	struct arena *a = b->im->c->a;
	struct id fresh = id_new(b->im->c->now);
	const char *key = id_key(a, kind, id), *out = NULL;

	if (id.n == 0 || map_has(b->got, str_c(key)))
		return arena_strdup(a, str_c(fresh.s));
	if (id_valid(id) && !map_has(b->taken, str_c(key)))
		out = arena_strdup(a, id);
	else
		out = chat_made_id(b->im, kind, id);
	map_set(b->got, str_c(key), (void *)(uintptr_t)out);
	if (str_is(id, out) || !map_has(b->taken, str_c(id_key(a, kind, str_c(out)))))
		return out;
	return arena_strdup(a, str_c(fresh.s)); /* a second one of that name: who names it means the first */
}

/* The floor that a floor of the file names: of this batch, or written before. */
static const char *
parent_of(struct batch *b, struct str id)
{
	struct arena *a = b->im->c->a;
	const char *made, *got = map_get(b->got, str_c(id_key(a, 'f', id)));

	if (got)
		return got;
	if (map_has(b->told, str_c(id_key(a, 't', id))))
		return arena_strdup(a, id);
	made = chat_made_id(b->im, 'f', id);
	return map_has(b->told, str_c(id_key(a, 't', str_c(made)))) ? made : NULL;
}

/* ---- rows as JSON ---- */

static void
member_origin(struct sb *s, struct arena *a, const struct json *origin)
{
	member_text(s, "origin", origin ? json_text(a, origin) : STR_NULL);
}

static int64_t
or_now(const struct importer *im, int64_t ms)
{
	return ms == CHAT_NO_DATE ? im->created_at : ms;
}

static void
add_said(struct batch *b, const struct chat_said *m, const char *page, size_t seq, bool active)
{
	struct importer *im = b->im;
	struct sb *s = &b->said;

	sb_addf(s, "%s{\"seq\":%zu", s->n ? "," : "[", seq);
	member_text(s, "page", str_c(page));
	member_text(s, "id", str_c(id_for(b, 'm', m->id)));
	member_bool(s, "active", active);
	member_bool(s, "is_hidden", m->hidden);
	member_text(s, "role", m->role);
	member_text(s, "name", m->name);
	member_text(s, "content", m->content);
	member_text(s, "sent", m->sent);
	member(s, "rolls", m->rolls);
	member_text(s, "content_format", m->format);
	member_text(s, "source", m->source);
	member_int(
	    s, "token_count", (int64_t)token_count(im->tokens.encoding, m->sent.p ? m->sent : m->content));
	member_origin(s, im->c->a, m->origin);
	member_int(s, "created_at", or_now(im, m->created_at));
	sb_addc(s, '}');
	im->said++;
}

/* Page numbers are unique in their kind; a broken file's are counted on. */
static int64_t
page_number(const struct chat_floor *f, size_t at)
{
	const struct chat_page *p = &f->pages[at];
	int64_t most = -1;

	for (size_t i = 0; i < at; i++)
		if (str_eq(f->pages[i].kind, p->kind)) {
			if (f->pages[i].page_no == p->page_no && f->pages[i].version == p->version)
				most = most < 0 ? 0 : most;
			most = f->pages[i].page_no > most && most >= 0 ? f->pages[i].page_no : most;
		}
	if (most < 0)
		return p->page_no;
	for (size_t i = 0; i < f->n; i++)
		most = f->pages[i].page_no > most ? f->pages[i].page_no : most;
	return most + 1;
}

static void
add_page(struct batch *b, struct placed *pl, size_t at, bool shown)
{
	struct importer *im = b->im;
	struct chat_page *p = &pl->f.pages[at];
	struct sb *s = &b->pages;
	const char *id = id_for(b, 'p', p->id);

	p->page_no = page_number(&pl->f, at);
	sb_addf(s, "%s{\"active\":%s", s->n ? "," : "[", shown ? "true" : "false");
	member_text(s, "floor", str_c(pl->id));
	member_text(s, "id", str_c(id));
	member_text(s, "kind", p->kind);
	member_int(s, "page_seq", p->page_no >= 0 && p->page_no < INT32_MAX ? p->page_no : (int64_t)at);
	member_int(s, "version", p->version > 0 && p->version < INT32_MAX ? p->version : 1);
	member_text(s, "state", p->state);
	member_text(s, "checksum", p->checksum);
	member_text(s, "reasoning", p->reasoning);
	member(s, "summaries", p->summaries);
	member(s, "usage", p->usage);
	member_text(s, "finish_reason", p->finish_reason);
	member_text(s, "model", p->model);
	member(s, "error", p->error);
	member_origin(s, im->c->a, p->origin);
	member_int(s, "created_at", or_now(im, p->created_at));
	member_int(s, "updated_at", or_now(im, p->updated_at));
	sb_addc(s, '}');
	im->pages++;
	for (size_t i = 0; i < p->n; i++)
		add_said(b, &p->said[i], id, i, shown && !str_is(pl->f.state, "failed"));
	for (size_t i = 0; i < b->n_greet; i++)
		if (b->greet[i].page == (const char *)p)
			b->greet[i].page = id;
}

static void
add_floor(struct batch *b, struct placed *pl)
{
	struct importer *im = b->im;
	const struct chat_floor *f = &pl->f;
	struct sb *s = &b->floors;
	const char *parent = f->parent_id.n ? parent_of(b, f->parent_id) : pl->parent;
	const char *shown[3] = { NULL, NULL, NULL };
	static const char *const kinds[] = { "input", "mixed", "output" };

	sb_addf(s, "%s{\"floor_seq\":%d", s->n ? "," : "[", pl->seq);
	member_text(s, "id", str_c(pl->id));
	member_int(s, "segment_no", pl->segment_no);
	member_text(s, "branch_id", f->branch_id);
	member_text(s, "parent_id", parent ? str_c(parent) : STR_NULL);
	member_text(s, "state", f->state);
	member_int(s, "token_in", f->token_in > 0 && f->token_in < INT32_MAX ? f->token_in : 0);
	member_int(s, "token_out", f->token_out > 0 && f->token_out < INT32_MAX ? f->token_out : 0);
	if (f->superseded_at != CHAT_NO_DATE)
		member_int(s, "superseded_at", f->superseded_at);
	member_text(s, "superseded_by", f->superseded_by);
	member_origin(s, im->c->a, f->origin);
	member_int(s, "created_at", or_now(im, f->created_at));
	member_int(s, "updated_at", or_now(im, f->updated_at));
	sb_addc(s, '}');
	for (size_t i = 0; i < f->n; i++) {
		size_t k = 0;

		while (k < 2 && !str_is(f->pages[i].kind, kinds[k]))
			k++;
		add_page(b, pl, i, f->pages[i].active && shown[k] == NULL);
		if (f->pages[i].active)
			shown[k] = kinds[k];
	}
}

/* ---- greetings ---- */

static struct greeting
greeting_of(const struct importer *im)
{
	return (struct greeting){ .session_id = im->w->session_id,
		.session_no = im->session_no,
		.branch_no = im->branch_no,
		.segment_no = im->segs[0],
		.mode = im->mode,
		.card = im->card,
		.user = im->user,
		.user_name = im->names.user,
		.settings = json_get(im->cols, "settings") };
}

/* A text that an author wrote, shown and not yet expanded by whoever made the file. */
static bool
has_macros(struct str s)
{
	return str_find(s, STR("{{"), 0) != STR_NPOS || str_find(s, STR("<USER>"), 0) != STR_NPOS ||
	       str_find(s, STR("<BOT>"), 0) != STR_NPOS;
}

static int
greet_tx(struct ctx *c, void *arg)
{
	struct batch *b = arg;
	struct importer *im = b->im;
	struct greeting g = greeting_of(im);

	b->n_greet = 0;
	for (size_t i = 0; i < b->v.n && !im->greeting_over; i++) {
		struct placed *pl = &b->v.v[i];

		for (size_t p = 0; p < pl->f.n; p++)
			im->greeting_over =
			    im->greeting_over ||
			    (pl->f.pages[p].n > 0 && str_is(pl->f.pages[p].said[0].role, "user"));
		for (size_t p = 0; p < pl->f.n && !im->greeting_over && b->n_greet < 16; p++) {
			struct chat_page *page = &pl->f.pages[p];
			struct chat_said *m = page->n == 1 ? &page->said[0] : NULL;
			struct json *origin;
			struct str made;

			if (!page->active || !m || !has_macros(m->content) || json_has(m->origin, "raw"))
				continue;
			if (greeting_expand(c, &g, m->content, &made, &b->greet[b->n_greet].macros) < 0)
				return -1;
			origin = m->origin ? json_copy(c->a, m->origin) : json_object(c->a);
			json_set_str(origin, "raw", m->content);
			json_set_str(origin, "made", made);
			m->origin = origin;
			m->content = made;
			b->greet[b->n_greet].seq = pl->seq;
			b->greet[b->n_greet++].page = (const char *)page; /* its id is not known yet */
		}
	}
	return 0;
}

/* ---- writing ---- */

static int
write_tx(struct ctx *c, void *arg)
{
	struct batch *b = arg;
	struct importer *im = b->im;
	struct greeting g = greeting_of(im);
	int64_t n = db_exec(c, STMT_chat_hide_longer, P_INT(im->session_no), P_INT(c->now + HIDDEN_MS));

	if (n <= 0)
		return n < 0 ? -1
			     : fail(c, ERR_UNAVAILABLE, "import_interrupted",
				   "the unfinished session was removed; import again");
	if (db_exec(c, STMT_chat_floors, P_STR(sb_str(&b->floors)),
		P_STR(b->pages.n ? sb_str(&b->pages) : STR("[]")),
		P_STR(b->said.n ? sb_str(&b->said) : STR("[]")), P_INT(im->session_no)) < 0)
		return -1;
	for (size_t i = 0; i < b->n_greet; i++)
		greeting_writes(c, &g, b->greet[i].macros, b->greet[i].seq, str_c(b->greet[i].page));
	return 0;
}

static void
build(struct batch *b)
{
	struct importer *im = b->im;

	for (size_t i = 0; i < b->v.n; i++) {
		struct placed *pl = &b->v.v[i];

		pl->id = id_for(b, 'f', pl->f.id);
		if (!im->thchat) { /* one line of floors: each names the one before it */
			pl->parent = im->last[0] ? arena_strdup(im->c->a, str_c(im->last)) : NULL;
			snprintf(im->last, sizeof(im->last), "%s", pl->id);
		}
		if (pl->seq > im->head && !im->thchat)
			im->head = pl->seq;
		add_floor(b, pl);
	}
	sb_addc(&b->floors, ']');
	if (b->pages.n)
		sb_addc(&b->pages, ']');
	if (b->said.n)
		sb_addc(&b->said, ']');
}

int
chat_import_batch(struct importer *im)
{
	struct ctx *c = im->c;
	struct arena_mark m = arena_mark(c->a);
	struct batch b = { .im = im,
		.floors = sb_new(c->a),
		.pages = sb_new(c->a),
		.said = sb_new(c->a),
		.taken = map_create(c->a),
		.got = map_create(c->a),
		.told = map_create(c->a) };
	bool own = im->thchat && im->t.own;
	int rc = collect(&b);

	if (rc > 0 && im->thchat && look_up_ids(&b) < 0)
		rc = -1;
	if (rc > 0 && !own && !im->greeting_over && db_tx(c, DB_READ, greet_tx, &b) < 0)
		rc = -1;
	if (rc > 0) {
		build(&b);
		if (db_tx(c, DB_WRITE, write_tx, &b) < 0)
			rc = -1;
	}
	if (rc >= 0) /* an error's texts live in the arena */
		arena_rewind(c->a, m);
	return rc;
}
