/*
 * scope: whose story a turn reads, and where what it makes is written. Most turns go on behind the head of a branch that is
 * there. Others make the head floor again, say a message anew in a branch of its own, or begin a branch that nobody has made
 * yet; a look may read the story as it was at a floor of the past. A story that is not the branch's own is cut out of
 * another one, with the variables as they were there.
 */
#include "turn/turn_private.h"

#include "base/limits.h"

/* The branch cut behind its floor `last`; -1 = nothing was said. */
static void
branch_cut(struct branch *b, int32_t last)
{
	size_t n = 1;

	while (n < b->n && b->his[n - 1] < last)
		n++;
	b->n = n;
	b->his[n - 1] = last;
	b->head = last;
}

static int
take_ranges(struct turn *t, struct branch *b, struct str segs, struct str his)
{
	return branch_read(t->c->a, b, segs, his) < 0 ? fail(t->c, ERR_INTERNAL, "internal_error", "stored branch ranges do not fit") : 0;
}

/* ---- the floor that is named ---- */

/* Columns of turn_floor; the rows live in the turn's arena. */
enum { F_NO, F_ID, F_STATE, F_SEQ, F_SEGMENT, F_SHARED, F_SESSION_NO, F_SESSION, F_BRANCH_NO, F_BRANCH, F_SEGS, F_HIS, F_HEAD, F_DECISIONS };

static int
floor_find(struct turn *t, struct str id)
{
	struct rows *rs = t->s.source = db_query(t->c, STMT_turn_floor, P_STR(id));
	int rc = rows_next(rs);

	if (rc <= 0)
		return rc < 0 ? -1 : fail(t->c, ERR_NOT_FOUND, "floor_not_found", "floor \"%.*s\" does not exist", STR_ARG(id));
	t->target.floor_no = row_int(rs, F_NO);
	t->target.floor_id = row_str(rs, F_ID);
	t->target.state = row_str(rs, F_STATE);
	t->target.seq = (int32_t)row_int(rs, F_SEQ);
	t->target.segment = row_int(rs, F_SEGMENT);
	return 0;
}

static int
message_find(struct turn *t)
{
	struct rows *rs = db_query(t->c, STMT_turn_message, P_STR(t->q.message_id));
	int rc = rows_next(rs);

	if (rc <= 0)
		return rc < 0 ? -1 : fail(t->c, ERR_NOT_FOUND, "message_not_found", "message \"%.*s\" does not exist", STR_ARG(t->q.message_id));
	if (!str_is(row_str(rs, 0), "user"))
		return fail(t->c, ERR_INVALID, "invalid_message_role", "only a user's message can be said anew; this one is of role %.*s", STR_ARG(row_str(rs, 0)));
	if (!str_is(row_str(rs, 1), "input") || !row_bool(rs, 2))
		return fail(t->c, ERR_INVALID, "invalid_message_scope", "the message is not on the active input page of its floor");
	return floor_find(t, row_str(rs, 3));
}

int
turn_find(struct turn *t)
{
	struct id id;

	if (t->q.type == TURN_RETRY ? floor_find(t, t->q.floor_id) < 0 : t->q.type == TURN_EDIT ? message_find(t) < 0 : false)
		return -1;
	if (t->s.source == NULL)
		return 0;
	t->q.session_id = row_str(t->s.source, F_SESSION);
	if (t->branch_given)
		return 0;
	id = id_new(t->c->now);
	t->q.branch_id = t->q.type == TURN_RETRY ? row_str(t->s.source, F_BRANCH) : str_c(arena_printf(t->c->a, "branch-%s", id.s + ID_LEN - 8));
	return 0;
}

/* ---- a story that is not the branch's own ---- */

/* The story of the found floor, up to it or to the one below. */
static int
source_take(struct turn *t, bool before)
{
	struct turn_session *s = &t->s;
	struct rows *rs = s->source;
	int32_t last = t->target.seq - before;
	struct json_error err;

	if (!before && !str_is(t->target.state, "committed"))
		return fail(t->c, ERR_CONFLICT, "floor_not_committed", "floor is %.*s; a branch starts at a committed floor", STR_ARG(t->target.state));
	s->as_of_segment = t->target.segment;
	s->as_of = last;
	if (take_ranges(t, &s->branch, row_str(rs, F_SEGS), row_str(rs, F_HIS)) < 0)
		return -1;
	branch_cut(&s->branch, last);
	s->has_decisions = !row_null(rs, F_DECISIONS);
	s->decisions = macro_decisions_new(t->c->a, row_null(rs, F_DECISIONS) ? NULL : json_read(t->c->a, row_str(rs, F_DECISIONS), LIM_JSON_DEPTH, &err));
	macro_decisions_rewind(s->decisions, row_int(rs, F_HEAD) - last);
	return 0;
}

static int
source_named(struct turn *t)
{
	if (floor_find(t, t->q.source_floor_id) < 0)
		return -1;
	if (row_int(t->s.source, F_SESSION_NO) != t->s.no)
		return fail(t->c, ERR_NOT_FOUND, "floor_not_found", "floor \"%.*s\" does not exist in this session", STR_ARG(t->q.source_floor_id));
	return 0;
}

/* A branch that does not exist: it begins at the floor that is named, else behind the last one of main. */
static int
fork_begin(struct turn *t)
{
	struct rows *rs;
	int rc;

	if (t->q.branch_id.n > LIM_BRANCH_ID)
		return fail_field(t->c, "/branch_id", "too_big", "the name of a new branch has at most %d bytes", LIM_BRANCH_ID);
	if (t->q.source_floor_id.p) {
		if (source_named(t) < 0)
			return -1;
	} else {
		rs = db_query(t->c, STMT_turn_main_floor, P_INT(t->s.no));
		rc = rows_next(rs);
		if (rc <= 0)
			return rc < 0 ? -1 :
					fail(t->c, ERR_NOT_FOUND, "branch_not_found", "branch \"%.*s\" does not exist in this session, and main has no floor to begin it at",
					    STR_ARG(t->q.branch_id));
		if (floor_find(t, row_str(rs, 0)) < 0)
			return -1;
	}
	t->target.forks = true;
	return source_take(t, false);
}

/* ---- the head floor, once more ---- */

static int
head_find(struct turn *t)
{
	struct branch *b = &t->s.branch;
	struct branch_range *r;
	struct rows *rs;
	size_t n;

	r = branch_window(t->c->a, b, b->head, b->head, &n);
	if (n == 0)
		return 0;
	rs = db_query(t->c, STMT_floor_ids_range, P_INT(r[0].segment), P_INT(r[0].lo), P_INT(r[0].hi));
	return rows_next(rs) <= 0 ? (failed(t->c) ? -1 : 0) : floor_find(t, row_str(rs, 1));
}

/* The found floor is made again: the story ends below it. */
static int
again(struct turn *t)
{
	struct turn_target *g = &t->target;

	if (str_is(g->state, "generating"))
		return fail(t->c, ERR_CONFLICT, "generation_conflict", "a generation is already in progress on this floor");
	if (!str_is(g->state, "committed") && !str_is(g->state, "failed"))
		return fail(t->c, ERR_CONFLICT, "floor_not_committed", "floor is %.*s; only a committed or failed one can be made again", STR_ARG(g->state));
	g->again = true;
	branch_cut(&t->s.branch, g->seq - 1);
	return 0;
}

static void
copies_settle(struct turn *t)
{
	t->target.copies = t->target.forks || t->target.segment != t->segment || t->target.seq <= row_int(t->s.source, F_SHARED);
}

static int
scope_respond(struct turn *t)
{
	if (!t->s.branch_exists && fork_begin(t) < 0)
		return -1;
	if (!turn_asks_to_go_on(t))
		return 0;
	if (t->s.branch_exists && head_find(t) < 0)
		return -1;
	if (t->s.source)
		copies_settle(t);
	return 0;
}

static int
scope_regenerate(struct turn *t)
{
	if (head_find(t) < 0)
		return -1;
	if (t->s.source == NULL)
		return fail(t->c, ERR_NOT_FOUND, "no_floor_to_regenerate", "branch \"%.*s\" has no floor yet", STR_ARG(t->q.branch_id));
	copies_settle(t);
	return again(t);
}

static int
scope_retry(struct turn *t)
{
	struct branch_range *r;
	size_t n;

	if (!t->s.branch_exists) {
		t->target.forks = true;
		if (source_take(t, false) < 0)
			return -1;
	} else {
		r = branch_window(t->c->a, &t->s.branch, t->target.seq, t->target.seq, &n);
		if (n == 0 || r[0].segment != t->target.segment || t->target.seq != t->s.branch.head)
			return fail(t->c, ERR_CONFLICT, "content_target_locked",
			    "the floor is not the last one of branch \"%.*s\"; give branch_id a new name to go on from it", STR_ARG(t->q.branch_id));
	}
	copies_settle(t);
	return again(t);
}

static int
scope_edit(struct turn *t)
{
	if (t->s.branch_exists)
		return fail(t->c, ERR_CONFLICT, "branch_exists", "branch \"%.*s\" already exists in this session; an edited message is said in a branch of its own",
		    STR_ARG(t->q.branch_id));
	if (str_is(t->target.state, "generating"))
		return fail(t->c, ERR_CONFLICT, "generation_conflict", "the message is being answered just now");
	t->target.forks = t->target.before = true;
	return source_take(t, true);
}

/* ---- looks ---- */

static int
look_from_floor(struct turn *t)
{
	if (source_named(t) < 0 || source_take(t, false) < 0)
		return -1;
	t->s.history_mode = "source_floor_branch";
	t->s.branch.id = row_str(t->s.source, F_BRANCH);
	return 0;
}

static int
look_from_main(struct turn *t)
{
	struct turn_session *s = &t->s;
	struct rows *rs = db_query(t->c, STMT_branch_by_id, P_STR(t->q.session_id), P_C("main"));

	if (rows_next(rs) <= 0 || row_null(rs, 0))
		return failed(t->c) ? -1 : fail(t->c, ERR_INTERNAL, "internal_error", "session has no main branch");
	s->history_mode = "main_fallback";
	s->branch.id = STR("main");
	s->branch.no = s->branch_no = row_int(rs, 0);
	s->branch.head = (int32_t)row_int(rs, 4);
	return take_ranges(t, &s->branch, row_str(rs, 2), row_str(rs, 3));
}

static int
scope_look(struct turn *t)
{
	if (t->q.source_floor_id.p) {
		if (t->s.branch_exists && t->branch_given)
			return fail(t->c, ERR_CONFLICT, "branch_exists", "branch \"%.*s\" already exists in this session; a source floor is for a new one",
			    STR_ARG(t->q.branch_id));
		return look_from_floor(t);
	}
	return t->s.branch_exists ? 0 : look_from_main(t);
}

int
turn_scope(struct turn *t)
{
	static int (*const scopes[TURN_TYPE__COUNT])(struct turn *) = { scope_respond, scope_regenerate, scope_retry, scope_edit };

	t->s.branch_exists = t->s.branch_no != 0;
	if (t->s.branch_exists)
		t->segment = branch_own_segment(&t->s.branch);
	return t->q.anywhere ? scope_look(t) : t->dry ? 0 : scopes[t->q.type](t);
}
