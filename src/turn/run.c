#include "turn/run.h"

#include "turn/follow.h"
#include "turn/turn_private.h"

#include "base/limits.h"

struct view_ask {
	struct str floor_id;
	int64_t run_no;
	struct run_view *out;
};

static int
view_load(struct ctx *c, void *arg)
{
	const struct view_ask *q = arg;
	struct rows *rs = db_query(c, STMT_run_view, P_STR(q->floor_id), q->run_no ? P_INT(q->run_no) : P_NULL);
	int rc = rows_next(rs);

	if (rc <= 0)
		return rc < 0 ? -1 : fail(c, ERR_NOT_FOUND, "not_found", "floor not found");
	*q->out = (struct run_view){ .floor_no = row_int(rs, 0),
		.floor_id = row_str(rs, 1),
		.floor_seq = (int32_t)row_int(rs, 2),
		.segment_no = row_int(rs, 3),
		.floor_state = row_str(rs, 4),
		.branch_id = row_str(rs, 5),
		.session_id = row_str(rs, 6),
		.run_no = row_int(rs, 7),
		.run_id = row_str(rs, 8),
		.state = row_str(rs, 9),
		.worker = row_str(rs, 10),
		.error = row_str(rs, 11),
		.phase_seq = (int)row_int(rs, 12),
		.said_from = (size_t)row_int(rs, 13) };
	return 0;
}

int
run_view_load(struct ctx *c, struct str floor_id, int64_t run_no, struct run_view *out)
{
	struct view_ask q = { floor_id, run_no, out };

	return db_tx(c, DB_READ, view_load, &q);
}

bool
run_runs(const struct run_view *v)
{
	return str_is(v->state, "running");
}

/* ---- what it has said, when it has ended ---- */

struct said {
	const struct run_view *v;
	bool any;
	struct str text, reasoning, summaries, usage, answer; /* JSON but for the first two; absent = none */
};

static int
said_load(struct ctx *c, void *arg)
{
	struct said *s = arg;
	bool failed_run = s->v->run_no != 0 && !str_is(s->v->state, "completed");
	struct rows *rs = db_query(c, STMT_run_said, P_INT(s->v->floor_no), s->v->run_no ? P_INT(s->v->run_no) : P_NULL, P_BOOL(failed_run));
	int rc = rows_next(rs);

	s->any = rc > 0;
	if (rc <= 0)
		return rc;
	s->text = row_str(rs, 0);
	s->reasoning = row_str(rs, 1);
	s->summaries = row_str(rs, 2);
	s->usage = row_str(rs, 3);
	s->answer = row_str(rs, 4);
	return 0;
}

/* As answer_print in turn.c. */
static void
answer_print(struct sb *out, const struct said *s)
{
	const struct run_view *v = s->v;

	if (s->answer.p) {
		sb_add(out, s->answer);
		return;
	}
	sb_adds(out, "{\"floor_id\":");
	sb_add_json(out, v->floor_id);
	sb_addf(out, ",\"floor_no\":%d,\"branch_id\":", (int)v->floor_seq);
	sb_add_json(out, v->branch_id);
	sb_adds(out, ",\"generated_text\":");
	sb_add_json(out, s->text);
	sb_adds(out, ",\"summaries\":");
	sb_add(out, s->summaries.p ? s->summaries : STR("[]"));
	sb_adds(out, ",\"total_usage\":");
	sb_add(out, s->usage.p ? s->usage : STR("{\"prompt_tokens\":0,\"completion_tokens\":0,\"total_tokens\":0}"));
	sb_adds(out, ",\"final_state\":\"committed\"}");
}

int
run_answer(struct ctx *c, const struct run_view *v, struct sb *out)
{
	struct said s = { .v = v };

	if (db_tx(c, DB_READ, said_load, &s) < 0)
		return -1;
	if (!s.any || !str_is(v->floor_state, "committed"))
		return fail(c, ERR_CONFLICT, "floor_not_committed", "floor is %.*s; only a committed floor has an answer", STR_ARG(v->floor_state));
	answer_print(out, &s);
	return 0;
}

static struct json *
error_read(struct ctx *c, const struct run_view *v)
{
	struct json_error why;

	return v->error.p ? json_read(c->a, v->error, LIM_JSON_DEPTH, &why) : NULL;
}

int
run_failure(struct ctx *c, const struct run_view *v)
{
	struct json *e = error_read(c, v);
	struct str code = json_get_str(e, "code"), message = json_get_str(e, "message");
	enum err_kind kind = err_kind_of(json_get_str(e, "kind"));

	return fail(c, kind != ERR_NONE ? kind : ERR_INTERNAL, arena_strdup(c->a, code.p ? code : STR("generation_failed")), "%.*s",
	    STR_ARG(message.p ? message : STR("the generation has failed")));
}

/* ---- as a stream ---- */

static void
start_say(struct ctx *c, struct stream *s, const struct run_view *v)
{
	struct sb sb = sb_new(c->a);

	sb_adds(&sb, "{\"floor_id\":");
	sb_add_json(&sb, v->floor_id);
	sb_addf(&sb, ",\"floor_no\":%d,\"branch_id\":", (int)v->floor_seq);
	sb_add_json(&sb, v->branch_id);
	sb_addc(&sb, '}');
	stream_event(s, "start", sb_str(&sb));
}

/* The end of a run that failed, as its own stream says it. */
static void
error_say(struct ctx *c, struct stream *s, const struct run_view *v)
{
	struct json *e = error_read(c, v);
	struct str code = json_get_str(e, "code"), message = json_get_str(e, "message");
	struct sb sb = sb_new(c->a);

	sb_adds(&sb, "{\"code\":");
	sb_add_json(&sb, code.p ? code : STR("generation_failed"));
	sb_adds(&sb, ",\"message\":");
	sb_add_json(&sb, message.p ? message : STR("the generation has failed"));
	sb_addc(&sb, '}');
	stream_finish(s, "error", sb_str(&sb));
}

int
run_stream_end(struct ctx *c, struct stream *s, const struct run_view *v)
{
	struct said said = { .v = v };
	struct sb sb = sb_new(c->a);
	size_t from;

	if (db_tx(c, DB_READ, said_load, &said) < 0)
		return -1;
	stream_text(s, true, str_sub(said.reasoning, stream_text_len(s, true), said.reasoning.n));
	from = v->said_from + stream_text_len(s, false);
	stream_text(s, false, str_sub(said.text, from, said.text.n));
	if (v->run_no != 0 && !str_is(v->state, "completed")) {
		error_say(c, s, v);
		return 0;
	}
	if (said.summaries.n > 2) {
		sb_adds(&sb, "{\"summaries\":");
		sb_add(&sb, said.summaries);
		sb_addc(&sb, '}');
		stream_event(s, "summary", sb_str(&sb));
		sb_truncate(&sb, 0);
	}
	answer_print(&sb, &said);
	stream_finish(s, "done", sb_str(&sb));
	return 0;
}

/* The stream is nobody's yet, so what could not be read ends it unseen. */
static struct stream *
given_up(struct stream *s)
{
	stream_finish(s, "error", STR("{}"));
	stream_release(s);
	return NULL;
}

struct stream *
run_stream(struct turns *p, struct ctx *c, const struct run_view *v)
{
	struct stream *s;

	if (v->run_no == 0 && !str_is(v->floor_state, "committed")) {
		fail(c, ERR_CONFLICT, "floor_not_generating", "nothing was ever generated for this floor");
		return NULL;
	}
	s = stream_create(p->conf.loop, 0, 0);
	stream_hold(s);
	stream_set_label(s, run_label(c->a, v->floor_id, v->run_id));
	start_say(c, s, v);
	if ((run_runs(v) ? follow_begin(p, c, s, v) : run_stream_end(c, s, v)) < 0)
		return given_up(s);
	return s;
}

struct stream_pos
run_stream_from(struct stream_pos pos)
{
	if (pos.event > 1 && pos.event != UINT32_MAX)
		pos.event = 1; /* behind `start` */
	return pos;
}

/* ---- ended from outside ---- */

static int
cancel_send(struct ctx *c, void *arg)
{
	const struct run_view *v = arg;
	struct rows *rs = db_query(c, STMT_run_text_of, P_INT(v->run_no), P_INT(0), P_INT(0));
	struct sb text = sb_new(c->a), reasoning = sb_new(c->a);
	struct id page = id_new(c->now), message = id_new(c->now);
	int rc;

	while ((rc = rows_next(rs)) > 0)
		sb_add(row_bool(rs, 0) ? &reasoning : &text, row_str(rs, 2));
	if (rc < 0)
		return -1;
	db_query(c, STMT_turn_fail, P_INT(v->run_no), P_INT(v->floor_no), P_C("cancelled"),
	    P_C("{\"code\":\"generation_cancelled\",\"message\":\"" TURN_CANCELLED "\",\"kind\":\"cancelled\"}"), P_INT(c->now), P_INT(v->phase_seq),
	    P_C(page.s), P_STR(sb_str(&text)), P_C(message.s), P_INT(v->segment_no), P_INT(v->floor_seq), P_STR(v->session_id),
	    reasoning.n ? P_STR(sb_str(&reasoning)) : P_NULL);
	db_query(c, STMT_run_text_drop, P_INT(v->run_no));
	return 0;
}

int
run_cancel_recorded(struct ctx *c, const struct run_view *v)
{
	struct run_view copy = *v;

	return db_tx(c, DB_WRITE, cancel_send, &copy);
}

struct running_ask {
	struct str session_id, branch_id;
	struct run_refs *out;
};

static int
running_load(struct ctx *c, void *arg)
{
	struct running_ask *q = arg;
	struct rows *rs = db_query(c, STMT_run_running_of_session, P_STR(q->session_id), P_STR(q->branch_id));
	bool any = false;
	int rc;

	*q->out = (struct run_refs){ 0 };
	while ((rc = rows_next(rs)) > 0) {
		any = true;
		if (!row_null(rs, 1))
			vec_push(c->a, &q->out->v, ((struct run_ref){ row_str(rs, 0), row_int(rs, 1) }));
	}
	return rc < 0 || any ? rc : fail(c, ERR_NOT_FOUND, "not_found", "session not found");
}

int
run_running(struct ctx *c, struct str session_id, struct str branch_id, struct run_refs *out)
{
	struct running_ask q = { session_id, branch_id, out };

	return db_tx(c, DB_READ, running_load, &q);
}
