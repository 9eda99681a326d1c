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
