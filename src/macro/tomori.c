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
