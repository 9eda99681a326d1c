/*
 * tomori: the passes of TomoriBot's dialect. This step evaluates single pieces as written; the passes follow.
 */
#include "macro/macro_private.h"

struct str
tomori_piece(struct macro_run *r, const struct macro_piece *p)
{
	(void)r;
	return p->tpl->src;
}

void
plan_statement(struct ev *ev, const struct operand *o, struct str text, const struct cond *cmp)
{
	(void)ev;
	(void)o;
	(void)text;
	(void)cmp;
}
