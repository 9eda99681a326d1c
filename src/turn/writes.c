/*
 * writes: what a turn writes to variables: the staged writes of its macros, and what its floor promotes. All
 * of it goes through store/variable.
 */
#include "store/variable.h"
#include "turn/turn_private.h"

static struct var_place
var_place(const struct write_place *at)
{
	return (struct var_place){ .session_no = at->session_no,
		.branch_id = at->branch_id,
		.segment = at->segment_no,
		.floor_seq = at->floor_seq,
		.page_id = at->page_id };
}

/* Staged macro writes: local ones to the branch, global ones to the account (decisions 8), in the order of
 * evaluation. */
void
macro_writes_send(struct ctx *c, const struct macro_result *m, const struct write_place *at)
{
	struct var_place place = var_place(at);
	struct str branch = STR_NULL;
	struct sb list;

	if (m == NULL || m->writes.n == 0)
		return;
	list = sb_new(c->a);
	for (size_t i = 0; i < m->writes.n; i++) {
		const struct macro_write *w = &m->writes.v[i];
		bool global = w->scope == MACRO_SCOPE_GLOBAL;
		struct var_write v = { .scope = global ? "global" : "branch",
			.scope_no = global ? 0 : at->branch_no,
			.scope_id = STR("global"),
			.key = w->key,
			.source = "macro" };

		if (w->key.n ==
		    0) /* lives as long as the assembly: a variable without a name is not stored */
			continue;
		if (!global) {
			if (!branch.p)
				branch = var_branch_scope_id(c->a, at->session_id, at->branch_id);
			v.scope_id = branch;
		}
		if (!w->del && w->value.text.p) {
			struct sb quoted = sb_new(c->a);

			sb_add_json(&quoted,
			    w->value.text); /* stored values are JSON texts: a text is a JSON string */
			v.value = sb_str(&quoted);
		} else if (!w->del)
			v.value = json_text(c->a, w->value.json);
		var_add(c, &list, &v);
	}
	var_send(c, &list, &place);
}

/* How far up values of a committed page go (decisions 41): the session's word, else the account's, else no further than the floor. */
static int
promotion_steps(const struct turn *t)
{
	const struct json *said = json_get(t->s.settings, "variable_promotion");
	struct str to = json_str(said ? said : json_get(t->s.account_settings, "variable_promotion"));

	return str_is(to, "chat") ? 3 : str_is(to, "branch") ? 2 : 1;
}

/*
 * What clients had written to the pages of a floor before it was committed goes to the floor, and on by the policy: each step a
 * write of its own, which is told with the turn. Only a floor that failed or was a draft can have such values.
 */
int
promotions_send(struct ctx *c, const struct turn *t, const struct write_place *at)
{
	const struct var_write to[] = {
		{ .scope = "floor", .scope_no = t->floor_no, .scope_id = str_c(t->floor_id.s) },
		{ .scope = "branch", .scope_no = at->branch_no, .scope_id = var_branch_scope_id(c->a, at->session_id, at->branch_id) },
		{ .scope = "chat", .scope_no = at->session_no, .scope_id = at->session_id },
	};
	struct rows *rs = db_query(c, STMT_variable_of_pages, P_INT(t->floor_no));
	struct sb list = sb_new(c->a);
	struct var_place place = var_place(at);
	int steps = promotion_steps(t), rc;

	while ((rc = rows_next(rs)) > 0)
		for (int i = 0; i < steps; i++) {
			struct var_write w = to[i];
			const char *from = i ? to[i - 1].scope : "page";

			w.key = row_str(rs, 0);
			w.value = row_str(rs, 1);
			w.source = "promotion";
			w.detail = str_c(arena_printf(c->a, "{\"from\":\"%s\"}", from));
			var_add(c, &list, &w);
		}
	if (rc < 0 || list.n == 0)
		return rc;
	var_send(c, &list, &place);
	db_query(c, STMT_variable_promoted, P_INT(t->floor_no), P_STR(at->page_id));
	return 0;
}
