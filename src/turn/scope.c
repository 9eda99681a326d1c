/*
 * scope: a look at the story (preview, inspect) may name a branch that nobody has made yet, or a
 * floor of the past. It then reads what a branch made there would begin with: the floors up to
 * there, and the variables as they were.
 */
#include "turn/turn_private.h"

/* The branch cut behind its floor `last`. */
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
take_ranges(struct turn *t, struct str segs, struct str his)
{
	return branch_read(t->c->a, &t->s.branch, segs, his) < 0 ? fail(t->c, ERR_INTERNAL, "internal_error", "stored branch ranges do not fit") : 0;
}

static int
from_floor(struct turn *t)
{
	struct turn_session *s = &t->s;
	struct rows *rs = db_query(t->c, STMT_turn_source_floor, P_INT(s->no), P_STR(t->q.source_floor_id));
	int rc = rows_next(rs);

	if (rc <= 0)
		return rc < 0 ? -1 : fail(t->c, ERR_NOT_FOUND, "floor_not_found", "floor \"%.*s\" does not exist in this session", STR_ARG(t->q.source_floor_id));
	if (!str_is(row_str(rs, 1), "committed"))
		return fail(t->c, ERR_CONFLICT, "floor_not_committed", "floor is %.*s; a branch starts at a committed floor", STR_ARG(row_str(rs, 1)));
	s->history_mode = "source_floor_branch";
	s->as_of_segment = row_int(rs, 2);
	s->as_of_branch = row_int(rs, 3);
	s->branch.id = row_str(rs, 4);
	if (take_ranges(t, row_str(rs, 5), row_str(rs, 6)) < 0)
		return -1;
	branch_cut(&s->branch, (int32_t)row_int(rs, 0));
	return 0;
}

static int
from_main(struct turn *t)
{
	struct turn_session *s = &t->s;
	struct rows *rs = db_query(t->c, STMT_branch_by_id, P_STR(t->q.session_id), P_C("main"));

	if (rows_next(rs) <= 0 || row_null(rs, 0))
		return failed(t->c) ? -1 : fail(t->c, ERR_INTERNAL, "internal_error", "session has no main branch");
	s->history_mode = "main_fallback";
	s->branch.id = STR("main");
	s->branch.no = s->branch_no = row_int(rs, 0);
	s->branch.head = (int32_t)row_int(rs, 4);
	return take_ranges(t, row_str(rs, 2), row_str(rs, 3));
}

int
turn_scope(struct turn *t)
{
	struct turn_session *s = &t->s;

	if (!t->q.anywhere)
		return 0;
	s->branch_exists = s->branch_no != 0;
	if (t->q.source_floor_id.p) {
		if (s->branch_exists && t->branch_given)
			return fail(t->c, ERR_CONFLICT, "branch_exists", "branch \"%.*s\" already exists in this session; a source floor is for a new one",
			    STR_ARG(t->q.branch_id));
		return from_floor(t);
	}
	return s->branch_exists ? 0 : from_main(t);
}
