#include "store/variable.h"

#include "base/id.h"

struct str
var_branch_scope_id(struct arena *a, struct str session_id, struct str branch_id)
{
	return str_c(arena_printf(a, "branch:%.*s:%.*s", STR_ARG(session_id), STR_ARG(branch_id)));
}

void
var_add(struct ctx *c, struct sb *list, const struct var_write *w)
{
	struct id id = id_new(c->now), log = id_new(c->now);

	sb_addf(list,
	    "%s{\"id\":\"%s\",\"log\":\"%s\",\"scope\":\"%s\",\"scope_no\":%lld,\"source\":\"%s\",\"scope_"
	    "id\":",
	    list->n ? "," : "[", id.s, log.s, w->scope, (long long)w->scope_no, w->source);
	sb_add_json(list, w->scope_id);
	sb_adds(list, ",\"key\":");
	sb_add_json(list, w->key);
	if (w->value.p) {
		sb_adds(list, ",\"value\":");
		sb_add_json(list, w->value); /* a JSON text, carried as a string */
	}
	if (w->detail.p) {
		sb_adds(list, ",\"detail\":");
		sb_add(list, w->detail);
	}
	sb_addc(list, '}');
}

struct rows *
var_send(struct ctx *c, struct sb *list, const struct var_place *at)
{
	if (list->n == 0)
		return NULL;
	sb_addc(list, ']');
	return db_query(c, STMT_variable_write, P_STR(sb_str(list)),
	    at->session_no ? P_INT(at->session_no) : P_NULL, at->segment ? P_INT(at->segment) : P_NULL,
	    at->segment ? P_INT(at->floor_seq) : P_NULL, P_STR(at->page_id), P_INT(c->now),
	    P_STR(at->branch_id));
}
