#include "turn/replay.h"

#include "base/digest.h"
#include "base/limits.h"
#include "turn/explain.h"
#include "turn/turn_private.h"

enum { NOTES_MAX = 20 };

/* Columns of replay_page. */
enum {
	R_FLOOR,
	R_SESSION,
	R_SESSION_NO,
	R_SEQ,
	R_BRANCH,
	R_STATE,
	R_SEGMENT,
	R_PAGE,
	R_RECORD,
	R_PRESET,
	R_WORLDBOOK,
	R_REGEX,
	R_CARD,
	R_USER,
	R_SEED,
	R_CLOCK,
	R_MODE,
	R_EXPLAIN,
	R_INPUTS,
	R_DIGEST,
	R_REQUEST,
	R_FRAME
};

struct replay {
	const struct replay_request *q;
	struct turn *t;
	struct past past;
	struct rows *rs;
	struct replayed *out;
};

/* ---- the inputs ---- */

static const struct json *
read_json(struct arena *a, struct str text)
{
	struct json_error err;

	return text.p ? json_read(a, text, LIM_JSON_DEPTH, &err) : NULL;
}

static bool
recorded_get(void *arg, enum macro_view view, struct str name, struct macro_value *out)
{
	const struct turn *t = arg;
	const struct json *vars = json_get(t->past->inputs, "vars");

	for (size_t i = 0; i < json_len(vars); i++) {
		const struct json *one = json_at(vars, i);
		int64_t kind = json_int(json_at(one, 2), 0);

		if (json_int(json_at(one, 0), -1) != (int64_t)view || !str_eq(json_str(json_at(one, 1)), name))
			continue;
		*out = kind == 1 ? (struct macro_value){ .text = json_str(json_at(one, 3)) } : (struct macro_value){ .json = json_at(one, 3) };
		return kind != 0;
	}
	return t->past_vars.get(t->past_vars.ctx, view, name, out);
}

static const struct json *
recorded_layer(void *arg, enum macro_scope scope)
{
	const struct turn *t = arg;

	return t->past_vars.layer(t->past_vars.ctx, scope);
}

static struct lore_timers
timers_read(struct arena *a, const struct json *list)
{
	size_t n = json_len(list);
	struct lore_timer *v = arena_array(a, struct lore_timer, n);

	for (size_t i = 0; i < n; i++) {
		const struct json *k = json_at(list, i);

		v[i] = (struct lore_timer){ .book = json_str(json_at(k, 0)), .uid = json_int(json_at(k, 1), 0), .hash = (uint64_t)json_int(json_at(k, 2), 0),
			.effect = json_int(json_at(k, 3), 0) == LORE_COOLDOWN ? LORE_COOLDOWN : LORE_STICKY, .start = json_int(json_at(k, 4), 0),
			.end = json_int(json_at(k, 5), 0), .is_protected = json_int(json_at(k, 6), 0) != 0 };
	}
	return (struct lore_timers){ v, n };
}

/* Answers of the record, in place of a model's. */
static void
recorded_answers(void *arg, struct macro_turn *m, size_t from)
{
	const struct turn *t = arg;
	const struct json *list = json_get(json_get(t->past->inputs, "decisions"), "answers");

	for (size_t i = from; i < m->ask.v.n; i++)
		for (size_t k = 0; k < json_len(list); k++) {
			const struct json *d = json_at(list, k);

			if ((json_int(json_at(d, 0), 0) != 0) == m->ask.v.v[i].choice && str_eq(json_str(json_at(d, 1)), m->ask.v.v[i].text))
				macro_turn_answer(m, i,
				    (struct macro_answer){ .kind = (enum macro_answer_kind)json_int(json_at(d, 2), 0), .option = json_str(json_at(d, 3)) });
		}
}

void
turn_past_settle(struct turn *t)
{
	const struct past *p = t->past;
	struct prompt_input *in = &t->in;

	in->now = p->clock;
	in->seed = p->seed;
	in->users_before = json_get_int(p->inputs, "users", 0);
	in->lore_timers = timers_read(t->c->a, json_get(p->inputs, "timers"));
	t->decisions.model = json_get_str(json_get(p->inputs, "decisions"), "model");
	t->decisions.ask = recorded_answers;
	t->decisions.ask_arg = t;
	t->past_vars = in->vars;
	in->vars = (struct macro_vars){ .get = recorded_get, .layer = recorded_layer, .ctx = t };
}

static int
record_read(struct replay *r)
{
	struct ctx *c = r->t->c;
	struct rows *rs = r->rs = db_query(c, STMT_replay_page, P_STR(r->q->floor_id), P_STR(r->q->page_id));
	int rc = rows_next(rs);

	if (rc <= 0)
		return rc < 0 ? -1 : fail(c, ERR_NOT_FOUND, "not_found", "floor not found");
	if (!str_is(row_str(rs, R_STATE), "committed"))
		return fail(c, ERR_CONFLICT, "floor_not_committed", "floor is %.*s; only a committed floor can be replayed", STR_ARG(row_str(rs, R_STATE)));
	if (r->q->page_id.p && row_null(rs, R_PAGE))
		return fail(c, ERR_NOT_FOUND, "page_not_found", "page \"%.*s\" is no output page of this floor", STR_ARG(r->q->page_id));
	if (row_null(rs, R_RECORD))
		return fail(c, ERR_NOT_FOUND, "prompt_snapshot_not_found", "this page was not made by a turn: there is nothing to replay");
	r->past = (struct past){ .frame = read_json(c->a, row_str(rs, R_FRAME)), .inputs = read_json(c->a, row_str(rs, R_INPUTS)),
		.clock = row_int(rs, R_CLOCK), .seed = (uint64_t)row_int(rs, R_SEED), .segment = row_int(rs, R_SEGMENT), .notes = json_array(c->a) };
	if (r->past.frame == NULL || json_get_int(r->past.inputs, "v", 0) != REPLAY_VERSION)
		return fail(c, ERR_CONFLICT, "replay_not_available", "the record of this turn says too little to make its request again");
	r->past.floor = (int32_t)json_get_int(r->past.inputs, "floor", row_int(rs, R_SEQ));
	return 0;
}

static int
replay_gather(struct ctx *c, void *arg)
{
	struct replay *r = arg;
	struct turn *t = r->t;
	struct turn_session *s = &t->s;

	(void)c;
	if (record_read(r) < 0)
		return -1;
	t->past = &r->past;
	t->hidden.n = 0;
	t->in.hidden = 0;
	t->q.session_id = row_str(r->rs, R_SESSION);
	t->q.body = json_get(r->past.inputs, "body");
	t->q.type = (enum turn_type)json_get_int(r->past.inputs, "type", TURN_RESPOND);
	t->q.stream = json_get_bool(json_get(r->past.inputs, "sent"), "stream", false);
	t->q.branch_id = s->branch.id = row_str(r->rs, R_BRANCH);
	t->floor_seq = r->past.floor;
	t->target.again = json_get_bool(r->past.inputs, "again", false);
	if (!prompt_mode_parse(row_str(r->rs, R_MODE), &s->mode))
		return fail(t->c, ERR_CONFLICT, "replay_not_available", "this program does not know the prompt mode of that turn");
	s->no = row_int(r->rs, R_SESSION_NO);
	s->preset.row = row_int(r->rs, R_PRESET);
	s->worldbook.row = row_int(r->rs, R_WORLDBOOK);
	s->regex.row = row_int(r->rs, R_REGEX);
	s->character_doc = row_int(r->rs, R_CARD);
	s->user_doc = row_int(r->rs, R_USER);
	return turn_gather_past(t);
}

/* ---- the first difference ---- */

static struct json *
difference(struct arena *a, const char *path, const struct json *expected, const struct json *actual)
{
	struct json *o = json_object(a);

	json_set_c(o, "path", path);
	json_set(o, "expected", expected);
	json_set(o, "actual", actual);
	return o;
}

static struct json *
mark_json(struct arena *a, const struct json *kept, size_t i)
{
	return json_at(kept, i) ? json_copy(a, json_get(json_at(kept, i), "digest")) : NULL;
}

/* Where an item of the record begins among the messages: items may stand for several. */
static const char *
place_text(struct arena *a, const struct json *list, size_t at)
{
	int64_t first = 0, n = json_get_int(json_at(list, at), "count", 1);

	for (size_t i = 0; i < at; i++)
		first += json_get_int(json_at(list, i), "count", 1);
	return n > 1 ? arena_printf(a, "messages[%lld-%lld]", (long long)first, (long long)(first + n - 1)) : arena_printf(a, "messages[%lld]", (long long)first);
}

/* Messages by their digests: the record holds no texts. */
static struct json *
messages_differ(struct arena *a, const struct json *was, const struct json *is)
{
	size_t n = json_len(was) > json_len(is) ? json_len(was) : json_len(is);
	struct json *o;

	for (size_t i = 0; i < n; i++) {
		const struct json *w = json_at(was, i), *h = json_at(is, i);

		if (w && h && str_eq(json_get_str(w, "digest"), json_get_str(h, "digest")))
			continue;
		o = difference(a, place_text(a, was, i), mark_json(a, was, i), mark_json(a, is, i));
		json_set_str(o, "source", json_get_str(w ? w : h, "source"));
		return o;
	}
	return NULL;
}

static struct json *
params_differ(struct arena *a, const struct json *was, const struct json *is)
{
	const struct json *sides[] = { was, is };
	struct json_iter it;
	struct json *v;
	struct str key;

	for (int side = 0; side < 2; side++) {
		it = (struct json_iter){ 0 };
		while (json_next(sides[side], &it, &key, &v))
			if (!json_equal(json_get_s(was, key), json_get_s(is, key)))
				return difference(a, arena_printf(a, "params.%.*s", STR_ARG(key)), json_get_s(was, key), json_get_s(is, key));
	}
	return NULL;
}

/* Rows or entries whose verdict is another one now. */
static void
verdicts_note(struct json *notes, struct arena *a, const char *what, const struct json *was, const struct json *is)
{
	size_t n = json_len(was) < json_len(is) ? json_len(was) : json_len(is);

	for (size_t i = 0; i < n && json_len(notes) < NOTES_MAX; i++) {
		const struct json *w = json_at(was, i), *h = json_at(is, i);
		struct str name = json_get_str(w, "identifier"), x = json_get_str(w, "verdict"), y = json_get_str(h, "verdict");

		if (!str_eq(name, json_get_str(h, "identifier")) || json_get_int(w, "uid", 0) != json_get_int(h, "uid", 0) || str_eq(x, y))
			continue;
		if (name.p)
			json_push_str(notes, str_c(arena_printf(a, "%s %.*s: %.*s then, %.*s now", what, STR_ARG(name), STR_ARG(x), STR_ARG(y))));
		else
			json_push_str(notes,
			    str_c(arena_printf(a, "%s %lld: %.*s then, %.*s now", what, (long long)json_get_int(w, "uid", 0), STR_ARG(x), STR_ARG(y))));
	}
}

static void
differ(struct replay *r)
{
	struct turn *t = r->t;
	struct arena *a = t->c->a;
	struct sb now = sb_new(a), sent = sb_new(a);
	const struct json *was = explain_read(a, row_str(r->rs, R_EXPLAIN)), *is;

	turn_explain_print(&now, t);
	turn_sent_print(&sent, t);
	is = explain_read(a, sb_str(&now));
	r->out->difference = messages_differ(a, json_get(was, "messages"), json_get(is, "messages"));
	if (r->out->difference == NULL)
		r->out->difference = params_differ(a, json_get(r->past.inputs, "sent"), read_json(a, sb_str(&sent)));
	if (r->out->difference == NULL)
		r->out->difference = difference(a, "body", json_string(a, r->out->expected), json_string(a, r->out->actual));
	verdicts_note(r->out->notes, a, "row", json_get(was, "rows"), json_get(is, "rows"));
	verdicts_note(r->out->notes, a, "block", json_get(was, "blocks"), json_get(is, "blocks"));
	verdicts_note(r->out->notes, a, "entry", json_get(was, "entries"), json_get(is, "entries"));
}

/* ---- the whole ---- */

static void
settle(struct replay *r)
{
	struct turn *t = r->t;
	struct replayed *out = r->out;
	struct digest d;

	if (turn_assemble(t) < 0) {
		out->difference = difference(t->c->a, "request", json_string(t->c->a, out->expected), NULL);
		json_push_str(out->notes, str_c(arena_printf(t->c->a, "refused now: %s", t->c->err.code)));
		err_clear(t->c);
		return;
	}
	out->request = turn_request_text(t->c->a, t);
	d = digest_sha256(out->request);
	out->actual = digest_hex(t->c->a, &d);
	out->equal = str_eq(out->expected, out->actual);
	if (!out->equal)
		differ(r);
}

int
turn_replay(struct turns *p, struct ctx *c, const struct replay_request *q, struct replayed *out)
{
	struct turn_request none = { .type = TURN_RESPOND };
	struct replay r = { .q = q, .t = turn_new(p, c, &none, false), .out = out };

	*out = (struct replayed){ .expected = STR_NULL, .actual = STR_NULL, .request = STR_NULL, .kept = STR_NULL };
	if (db_tx(c, DB_READ, replay_gather, &r) < 0)
		return -1;
	out->session_id = row_str(r.rs, R_SESSION);
	out->floor_id = row_str(r.rs, R_FLOOR);
	out->page_id = row_str(r.rs, R_PAGE);
	out->branch_id = row_str(r.rs, R_BRANCH);
	out->floor_no = row_int(r.rs, R_SEQ);
	out->expected = row_str(r.rs, R_DIGEST);
	out->kept = row_str(r.rs, R_REQUEST);
	out->notes = r.past.notes;
	settle(&r);
	return 0;
}
