/*
 * again: what is written when a turn does not simply add a floor to its branch: a branch is made for it, the head floor gets
 * another output page, and a head that other branches show is copied first (dryrun 3.2 rules 3 and 4).
 */
#include "store/variable.h"
#include "turn/fork.h"
#include "turn/turn_private.h"

static int
branch_make(struct ctx *c, struct turn *t)
{
	struct fork f = { .floor_id = t->target.floor_id, .before = t->target.before, .branch_id = t->q.branch_id };

	if (fork_at(c, &f) < 0)
		return -1;
	t->s.branch_no = f.branch.no;
	t->segment = branch_own_segment(&f.branch);
	return 0;
}

const struct turn_twin *
turn_twin_of(const struct turn *t, int64_t message_no)
{
	for (size_t i = 0; i < t->twins.n; i++)
		if (t->twins.v[i].no == message_no)
			return &t->twins.v[i];
	return NULL;
}

static int
twins_take(struct ctx *c, struct turn *t, struct rows *rs)
{
	int rc = 0;

	while (rs != NULL && (rc = rows_next(rs)) > 0)
		vec_push(c->a, &t->twins, ((struct turn_twin){ row_int(rs, 0), row_int(rs, 1), row_str(rs, 2) }));
	return rc;
}

int
turn_place(struct ctx *c, struct turn *t)
{
	struct floor_own f;

	t->twins.n = 0;
	if (t->target.forks && branch_make(c, t) < 0)
		return -1;
	if (!t->target.again || !t->target.copies)
		return 0;
	f = (struct floor_own){ .branch_no = t->s.branch_no, .session_no = t->s.no, .floor_no = t->target.floor_no, .floor_id = t->target.floor_id,
		.id = str_c(t->floor_id.s) };
	if (floor_make_own(c, &f) < 0)
		return -1;
	t->segment = f.segment;
	return twins_take(c, t, f.twins);
}

void
again_open_send(struct ctx *c, struct turn *t)
{
	t->written = db_query(c, STMT_turn_again, P_INT(t->s.no), P_INT(t->s.branch_no), P_INT(t->segment), P_INT(t->floor_seq), P_C(t->run_id.s),
	    P_C(turn_run_type(t)), P_INT(c->now + t->p->conf.lease_ms), P_C(t->p->conf.worker), P_C(t->continues ? "continue" : "abort"),
	    P_STR(turn_config_print(t)), P_INT(c->now), P_INT(t->goes_on ? (int64_t)turn_joined(t, STR("")).n : 0));
}

/* Behind the first row: which floor it is now, and which of its pages. */
int
again_opened(struct turn *t)
{
	struct str id = row_str(t->written, 2);

	memset(t->floor_id.s, 0, sizeof(t->floor_id.s));
	memcpy(t->floor_id.s, id.p, id.n < ID_LEN ? id.n : ID_LEN);
	t->page_seq = row_int(t->written, 3);
	t->old_page = row_int(t->written, 4);
	return 0;
}

void
again_values_send(struct ctx *c, struct turn *t)
{
	if (t->goes_on && t->old_page)
		db_query(c, STMT_page_vars_carry, P_INT(t->old_page), P_C(t->output_page.s));
	db_query(c, STMT_page_vars_settle, P_INT(t->floor_no), P_INT(t->s.branch_no), P_INT(t->segment),
	    P_STR(var_branch_scope_id(c->a, t->q.session_id, t->s.branch.id)), P_INT(t->s.no), P_STR(t->s.branch.id), P_INT(c->now));
}
