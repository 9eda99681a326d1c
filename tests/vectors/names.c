/* names: see names.h. */
#include "names.h"

static struct str
or_else(struct str s, struct str dflt)
{
	return s.p != NULL ? s : dflt;
}

void
names_begin(struct names *n, struct arena *a, const struct json *input, enum macro_owner owner)
{
	*n = (struct names){ .a = a, .owner = owner };
	n->member.field[MF_CHAR].text = or_else(json_get_str(input, "char"), STR("Char"));
	n->env = (struct macro_env){ .phase = MACRO_ASSEMBLE,
		.limits = macro_limits_default,
		.idle_ms = -1,
		.members = &n->member,
		.n_members = 1,
		.vars = macro_vars_layers(&n->layers) };
	n->env.field[MF_USER].text = or_else(json_get_str(input, "user"), STR("User"));
	n->run = macro_run_new(a, &n->env);
}

struct str
names_char(const struct names *n)
{
	return n->member.field[MF_CHAR].text;
}

struct str
names_expand(void *arg, struct str text)
{
	struct names *n = arg;

	return macro_eval(
	    n->run, &(struct macro_piece){ .tpl = macro_compile(n->a, text, MACRO_AUTO), .owner = n->owner });
}
