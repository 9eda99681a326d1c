/*
 * eval_private: what eval.c and eval_block.c share: budgets, text being made, traces.
 */
#ifndef MACRO_EVAL_PRIVATE_H
#define MACRO_EVAL_PRIVATE_H

#include "macro/macro_private.h"

bool eval_step(struct ev *ev, const struct node *n); /* false: the steps are used up */
bool eval_too_deep(struct ev *ev);                   /* one list more would pass the limit */
enum nv eval_deep(struct ev *ev, const struct node *n);
void eval_literal(struct ev *ev, const char *p, size_t n); /* text of the author */
void eval_gap(struct ev *ev, uint32_t s, uint32_t e); /* the same from the source, as its dialect prints it */
/* sillytavern: narrows a range to what stands between its outer blanks; the indentation of its first line. */
uint32_t eval_dedent(struct str src, uint32_t *s, uint32_t *e);
void eval_trace(struct ev *ev, struct str name, struct str raw, struct str resolved,
    enum macro_source_kind kind, enum macro_branch branch);

/* eval_block.c */
bool kept_in_message(struct ev *ev, uint32_t i, uint32_t end);
/* A block in a list; *pos is the byte from which on the list goes on. False: it stays raw. */
bool run_block(struct ev *ev, uint32_t i, uint32_t *pos);

#endif
