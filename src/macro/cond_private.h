/*
 * cond_private: the condition parser, for cond_parse.c and cond_marinara.c.
 */
#ifndef MACRO_COND_PRIVATE_H
#define MACRO_COND_PRIVATE_H

#include "macro/macro_private.h"

enum token_kind { T_LP, T_RP, T_AND, T_OR, T_NOT, T_OP, T_QUOTED, T_NUMBER, T_WORD, T_MACRO, T_TEXT };

struct token {
	uint8_t kind, op;
	uint32_t s, e, n0, n1;
	uint32_t match; /* parentheses: 1 + number of the partner; 0 = none */
};

struct op_name {
	const char *text;
	uint8_t op;
};

struct rules {
	bool join; /* words next to each other are one operand; nothing is an error */
	const struct op_name *symbols, *words;
	const char *and_symbol, *or_symbol; /* or words: and, or, not */
	bool curly;                         /* typographic quotation marks count */
	bool or_list;                       /* == "a" || "b" */
};

struct parser {
	struct compile *c;
	const struct rules *rules;
	enum macro_dialect d;
	VEC(struct token) t;
	uint32_t s, e, last; /* bytes of the condition; end of its nodes */
	uint32_t child;      /* next direct child */
	enum macro_code error;
	bool failed;
};

uint32_t parse_fail(struct parser *p, enum macro_code code); /* returns 0 */
/* Steps over a nested macro or block at byte `at`; 0 if none begins there, else the byte after it. *n0, *n1:
 * its nodes. */
uint32_t step_child(struct parser *p, uint32_t at, uint32_t *n0, uint32_t *n1);
/* The byte after the closing mark of the quotation that begins at `at`, or 0 if it has none. *in_s, *in_e:
 * its inside. */
uint32_t quoted_run(struct parser *p, uint32_t at, uint32_t *in_s, uint32_t *in_e);
uint32_t add_cond(struct compile *c, enum cond_kind kind); /* its number + 1 */
uint32_t add_operand(struct compile *c, struct operand o); /* its number */
uint32_t parse_or(struct parser *p, uint32_t lo, uint32_t hi, unsigned depth);

/* cond_marinara.c */
/* WORD ws* ':' at the start of a text: the byte after the colon, or 0; with `dot`, ':' or '.' directly. */
uint32_t prefix_colon(struct str src, uint32_t s, uint32_t e, const char *word, bool dot);
uint32_t mar_term(struct parser *p, uint32_t lo, uint32_t hi, unsigned depth, bool *atom_out);
/* Criteria belong to choices only; elsewhere the whole is a literal. */
void settle_criteria(struct parser *p, uint32_t i, uint32_t other);

#endif
