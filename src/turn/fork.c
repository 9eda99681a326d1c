#include "turn/fork.h"

#include "base/id.h"
#include "base/limits.h"
#include "macro/decide.h"
#include "store/variable.h"

static struct str
int_array(struct arena *a, const struct branch *b, size_t n, bool ends, int32_t last)
{
	struct sb sb = sb_new(a);

	sb_addc(&sb, '{');
	for (size_t i = 0; i < n; i++)
		sb_addf(&sb, "%s%lld", i ? "," : "",
		    (long long)(!ends        ? b->segs[i]
				: i + 1 == n ? last
					     : b->his[i]));
	sb_addc(&sb, '}');
	return sb_str(&sb);
}

struct str
branch_segs_text(struct arena *a, const struct branch *b, size_t n)
{
	return int_array(a, b, n, false, 0);
}

struct str
branch_his_text(struct arena *a, const struct branch *b, size_t n, int32_t last)
{
	return int_array(a, b, n, true, last);
}

/* How many ranges lead up to floor `last`, its own included; none to a story without floors. */
static size_t
ranges_to(const struct branch *b, int32_t last)
{
	size_t n = 1;

	if (last < 0)
		return 0;
	while (n < b->n && b->his[n - 1] < last)
		n++;
	return n;
}

/* Timers of decision statements as they were: one turn a floor. */
static struct str
decisions_as_of(struct ctx *c, struct str stored, int64_t turns)
{
	struct macro_decisions *d;
	struct json_error err;

	if (!stored.p || turns <= 0)
		return stored;
	d = macro_decisions_new(c->a, json_read(c->a, stored, LIM_JSON_DEPTH, &err));
	macro_decisions_rewind(d, turns);
	return json_text(c->a, macro_decisions_json(c->a, d));
}

/* The branch's own values, each logged in its own segment: every "as of" looks at one segment. */
static int
variables_write(struct ctx *c, const struct fork *f, struct rows *vars)
{
	const struct branch *b = &f->branch;
	struct str scope_id = var_branch_scope_id(c->a, f->session_id, b->id);
	struct sb list = sb_new(c->a);
	struct rows *rs;
	int rc;

	while ((rc = rows_next(vars)) > 0)
		var_add(c, &list,
		    &(struct var_write){ .scope = "branch",
			.scope_no = b->no,
			.scope_id = scope_id,
			.key = row_str(vars, 0),
			.value = row_str(vars, 1),
			.source = "fork" });
	if (rc < 0)
		return -1;
	rs = var_send(c, &list,
	    &(struct var_place){ .session_no = f->session_no,
		.branch_id = b->id,
		.segment = branch_own_segment(b),
		.floor_seq = b->head });
	return rs && rows_affected(rs) < 0 ? -1 : 0;
}

static int
branch_take(struct ctx *c, struct branch *b, struct rows *rs, int no, int segs, int his)
{
	int rc = rows_next(rs);

	if (rc <= 0)
		return rc;
	b->no = row_int(rs, no);
	return branch_read(c->a, b, row_str(rs, segs), row_str(rs, his)) < 0
		   ? fail(c, ERR_INTERNAL, "internal_error", "stored branch ranges do not fit")
		   : 1;
}

static int
not_found(struct ctx *c, int rc)
{
	return rc < 0 ? -1 : fail(c, ERR_NOT_FOUND, "not_found", "floor not found");
}

int
fork_at(struct ctx *c, struct fork *f)
{
	struct branch from = { 0 };
	struct rows *held = db_query(c, STMT_fork_hold_floor, P_STR(f->floor_id)), *rs, *taken, *vars;
	struct str decisions;
	struct id id;
	int32_t last;
	size_t n, own;
	int rc;

	rs = db_query(c, STMT_branch_of_floor, P_STR(f->floor_id));
	if ((rc = rows_next(held)) <= 0 || (rc = branch_take(c, &from, rs, 6, 7, 8)) <= 0)
		return not_found(c, rc);
	if (!f->before && !str_is(row_str(rs, 1), "committed"))
		return fail(c, ERR_CONFLICT, "floor_not_committed",
		    "floor is %.*s; a branch starts at a committed floor", STR_ARG(row_str(rs, 1)));
	f->session_no = row_int(rs, 3);
	f->session_id = row_str(rs, 4);
	f->session_status = row_str(rs, 5);
	f->from_branch = row_str(rs, 9);
	last = (int32_t)row_int(rs, 2) - f->before;
	n = ranges_to(&from, last);
	if (!f->branch_id.p) {
		id = id_new(c->now);
		f->branch_id = str_c(arena_printf(c->a, "branch-%s", id.s + ID_LEN - 8));
	}
	decisions = decisions_as_of(c, row_str(rs, 10), row_int(rs, 11) - last);
	taken = db_query(c, STMT_branch_exists, P_INT(f->session_no), P_STR(f->branch_id));
	own = branch_log_range(&from, last);
	if (own >=
	    ranges_to(&from, (int32_t)row_int(rs,
				 2))) /* seen from another branch: never its values instead of the floor's */
		own = ranges_to(&from, (int32_t)row_int(rs, 2)) - 1;
	vars = db_query(c, STMT_branch_vars_as_of, P_INT(from.segs[own]), P_INT(last));
	if ((rc = rows_next(taken)) != 0)
		return rc < 0 ? -1
			      : fail(c, ERR_CONFLICT, "branch_exists",
				    "branch '%.*s' already exists in this session", STR_ARG(f->branch_id));
	rs = db_query(c, STMT_branch_fork, P_INT(f->session_no), P_STR(f->branch_id),
	    P_STR(branch_segs_text(c->a, &from, n)), P_STR(branch_his_text(c->a, &from, n, last)),
	    P_INT(last), P_STR(f->from_branch), P_INT(c->now), n ? P_INT(from.segs[n - 1]) : P_NULL,
	    P_STR(decisions), P_STR(f->session_id));
	taken = f->before ? NULL : db_query(c, STMT_floor_busy, P_STR(f->floor_id));
	f->branch = (struct branch){ .id = f->branch_id, .head = last };
	rc = branch_take(c, &f->branch, rs, 0, 1, 2);
	if (rc <= 0)
		return -1;
	if (taken && (rc = rows_next(taken)) != 0) /* its next page must not change what this branch shows */
		return rc < 0 ? -1
			      : fail(c, ERR_CONFLICT, "generation_conflict",
				    "the floor is being generated again; wait for it or cancel it");
	return variables_write(c, f, vars);
}

static int
head_moved(struct ctx *c, int rc)
{
	return rc < 0 ? -1
		      : fail(c, ERR_CONFLICT, "generation_target_stale",
			    "the head of the branch was changed by another request; read it and try again");
}

/* What no branch shows or names any more goes; segments know again what is shared of them. */
static int
segments_settle(struct ctx *c, const struct floor_own *f, int64_t a, int64_t b)
{
	const char *list = arena_printf(c->a, "{%lld,%lld}", (long long)a, (long long)b);

	return db_exec(c, STMT_branch_floors_drop, P_INT(f->session_no), P_C(list)) < 0 ||
			db_exec(c, STMT_branch_segments_drop, P_INT(f->session_no), P_C(list)) < 0
		   ? -1
		   : 0;
}

int
floor_make_own(struct ctx *c, struct floor_own *f)
{
	struct id ids = id_new(c->now);
	struct str prefix = { ids.s, ID_LEN - 4 }; /* the statements number what they make */
	struct branch b = { 0 };
	struct rows *rs = db_query(c, STMT_branch_stand, P_INT(f->session_no), P_NULL, P_INT(f->branch_no));
	int64_t was;
	bool shown;
	int rc = rows_next(rs);

	if (rc <= 0 || branch_read(c->a, &b, row_str(rs, 2), row_str(rs, 3)) < 0)
		return head_moved(c, rc);
	was = branch_own_segment(&b);
	db_query(c, STMT_fork_hold_floor, P_STR(f->floor_id));
	rs = db_query(c, STMT_floor_shown, P_INT(f->floor_no), P_INT(f->branch_no));
	if ((rc = rows_next(rs)) <= 0)
		return head_moved(c, rc);
	f->segment = row_int(rs, 0);
	shown = row_bool(rs, 1);
	if (!shown && f->segment == was) { /* others showed it once */
		f->no = f->floor_no;
		f->id = f->floor_id;
		return segments_settle(c, f, was, was);
	}
	rs = db_query(c, STMT_floor_copy, P_INT(f->branch_no), P_INT(f->floor_no), P_STR(f->id), P_STR(prefix),
	    P_INT(c->now));
	if ((rc = rows_next(rs)) <= 0)
		return head_moved(c, rc);
	f->no = row_int(rs, 0);
	f->twins = db_query(c, STMT_floor_copy_records, P_INT(f->floor_no), P_INT(f->no));
	if (db_exec(c, STMT_floor_copy_vars, P_INT(f->branch_no), P_INT(f->floor_no), P_INT(f->no), P_STR(prefix),
		P_INT(c->now), P_INT(was)) < 0 ||
	    segments_settle(c, f, f->segment, was) < 0)
		return -1;
	f->segment = row_int(rs, 1);
	return 0;
}

int
fork_hold(struct ctx *c, struct str session_id, int64_t *session_no_out)
{
	struct rows *rs = db_query(c, STMT_fork_hold, P_STR(session_id));
	int rc = rows_next(rs);

	if (rc > 0)
		*session_no_out = row_int(rs, 0);
	return rc;
}
