/*
 * macro_private: what the stages of the engine share. Stages in the order in which a text passes
 * them: prep (aliases, pragma), scan (braces), parse (one macro), pair (blocks), cond (conditions);
 * then eval, vars and the builtin_* tables.
 *
 * A template is a flat array of nodes in order of their openers; `skip` leads past a node's
 * descendants, so a list is a range of nodes and a range of bytes, and what lies between two nodes
 * is literal text. A branch of a block is such a range too: blocks need no second tree.
 */
#ifndef MACRO_PRIVATE_H
#define MACRO_PRIVATE_H

#include "macro/macro.h"

#include "base/map.h"
#include "base/sb.h"

#define MACRO_TEXT_MAX (64u << 20) /* bytes; a longer text stays as it is */
#define MACRO_NODES_MAX (1u << 18) /* openers; those after stay text */
#define MACRO_DEPTH_MAX 200u       /* bounds the C stack */
#define MACRO_PAREN_MAX 64u        /* nested parentheses of a condition */
#define MACRO_FIELD_DEPTH 4u       /* fields that read fields */
#define MACRO_TRACES_MAX 20000u

enum node_type {
	N_TEXT,    /* prints its source; its children are siblings */
	N_NOTHING, /* prints nothing */
	N_MACRO,   /* a row of the catalogue */
	N_NAME,    /* ordinary variable, or unknown */
	N_READ,    /* .x, $x */
	N_SHORT,   /* an operator of the sillytavern dialect; `row` is an enum short_op */
	N_BUILT,   /* its name is made from another macro: refused */
	N_RAW,     /* no name */
	N_STRAY,   /* closer without opener */
	N_BARE,    /* sillytavern: opener without closer, or of a macro without content; its tag stays as written */
	N_REST,    /* unclosed block: the rest of the list stays as written */
	N_OPEN,
	N_ELIF,
	N_ELSE,
	N_CLOSE,
	N_GROUP /* marinara: the lines from [ to ] */
};

enum node_flag {
	NF_INEXACT =
	    1
	    << 0, /* name in another case than the catalogue's: an ordinary variable of this very name wins */
	NF_GLOBAL = 1 << 1, /* shorthand: $ */
	NF_CHAR = 1 << 2,   /* reads the current character (groups) */
	NF_KEEP = 1 << 3,   /* sillytavern: # keeps white space */
	NF_SCOPED = 1 << 4, /* has content up to `close`, its last argument */
	NF_EXTRA = 1 << 5,  /* a tag with more text than its word */
	NF_ELSEIF = 1 << 6, /* N_OPEN: the block holds an else if its dialect does not know */
	NF_ALONE = 1 << 7,  /* marinara: the tag stands alone on its line; aux = bytes of indentation */
	NF_WORDS = 1 << 8,  /* N_NAME, N_BUILT: has arguments */
	NF_UNLESS = 1 << 9,
	NF_COMPUTED = 1 << 10 /* an argument or the name holds macros */
};

struct node {
	uint32_t start, end; /* bytes of the source, braces included */
	uint32_t skip;       /* node after the last descendant */
	uint32_t arg;        /* first argument; N_OPEN, N_ELIF: condition */
	uint32_t name;
	uint32_t next;  /* tags: next tag of the block */
	uint32_t close; /* N_OPEN, NF_SCOPED */
	uint32_t aux;   /* NF_ALONE: indentation; pick: UTF-16 offset */
	uint16_t argc, row, flags;
	uint8_t type, dialect;
};

struct arg {
	uint32_t s, e;   /* trimmed bytes */
	uint32_t n0, n1; /* nodes; equal: the argument is its own text */
	uint64_t hash;   /* of the text, if it is literal */
};

struct name {
	struct str s;
	uint64_t hash;
};

struct edit {
	uint32_t at;   /* byte of the prepared text from which on… */
	int32_t delta; /* …given byte = prepared byte + delta */
};

/* ---- conditions ---- */

enum cmp_op { CMP_EQ, CMP_NE, CMP_GT, CMP_LT, CMP_GE, CMP_LE, CMP_CONTAINS, CMP_NOT_CONTAINS, CMP_STARTS };

enum operand_kind {
	OP_QUOTED, /* literal; may hold macros */
	OP_WORD,   /* bare text */
	OP_MACRO,  /* one macro or block */
	OP_MIXED,  /* bare text with macros in it */
	OP_VAR,    /* var:name */
	OP_DECISION,
	OP_CHOICE,
	OP_TOOL,
	OP_CAPABILITY,
	OP_FAMILY /* tool_family:name: nobody knows one here */
};

struct operand {
	uint8_t kind;
	bool plain_number;     /* decimal literal: fixed while planning */
	bool plain;            /* statement without quotation marks: no escapes */
	struct str text;       /* literal, unescaped; word; variable, tool or capability name */
	uint32_t s, e, n0, n1; /* source of the operand, of the quoted text or of the statement */
	uint32_t header;       /* of the condition it stands in */
	uint32_t cond;         /* number of conds when it was made: its comparisons come after */
	uint32_t more; /* decision: number of its struct mods; quoted: 1 + number of its criteria operand; 0 =
			  none */
};

struct mods {
	unsigned sticky, cooldown, every;
	int8_t priority;
	uint8_t lasts; /* enum macro_lasts */
	bool lasts_or;
	uint32_t s, e, n0, n1; /* second statement */
};

enum cond_kind { C_OR, C_AND, C_NOT, C_CMP, C_TRUTH, C_FALSE };

struct cond {
	uint8_t kind, op;
	uint32_t child, next; /* 1 + number of the first child and of the next sibling; 0 = none */
	uint32_t l, r;        /* operands */
};

/* What a header's condition came to. */
struct header {
	uint32_t root; /* 1 + number of its cond; 0: see error */
	uint8_t error; /* enum macro_code + 1; 0 = none */
	bool empty;
};

struct macro_template {
	struct arena *own;     /* of macro_template_new */
	struct str given, src; /* as given; prepared */
	const struct node *nodes;
	const struct arg *args;
	const struct name *names;
	const struct header *headers;
	const struct cond *conds;
	const struct operand *operands;
	const struct mods *mods;
	const struct edit *edits;
	uint32_t n_nodes, n_args, n_names, n_headers, n_conds, n_operands, n_edits;
	unsigned traits;
	enum macro_dialect dialect;
	bool message, groups;
	bool pragma; /* src begins after a pragma */
	size_t bytes;
};

struct pending; /* one opener that waits for its closer (scan.c) */

struct compile {
	struct arena *a;
	struct str src;
	enum macro_dialect dialect;
	bool message;
	unsigned traits;
	uint32_t pick_at, pick_units; /* last pick: bytes, UTF-16 units */
	bool groups, saw_char;        /* saw_char: the condition just parsed reads the current character */
	VEC(struct node) nodes;
	VEC(struct arg) args;
	VEC(struct name) names;
	VEC(struct header) headers;
	VEC(struct cond) conds;
	VEC(struct operand) operands;
	VEC(struct mods) mods;
	VEC(struct edit) edits;
	void *tokens; /* cond_parse.c: room for the tokens of one condition, used again by the next */
	size_t tokens_cap;
	VEC(uint32_t) heads;  /* per name: innermost open scoped macro of pair_list */
	uint32_t *name_slots; /* open addressing: number of the name + 1 */
	uint32_t name_mask;
	uint32_t *row_name; /* long texts: per catalogue row, number of the name + 1 */
	bool kept_pragma;   /* message: the leading pragma is text */
};

/* prep.c: the text that is scanned. Fills c->src, c->edits, c->dialect. */
void prep(struct compile *c, struct str text);
uint32_t prep_given(const struct macro_template *t, uint32_t at); /* byte of the given text */
/* scan.c */
void scan(struct compile *c);
/* parse.c: classifies node i, whose closer was just found; its children are complete. */
void parse_macro(struct compile *c, uint32_t i);
uint32_t name_number(struct compile *c, struct str s);
/* sillytavern: the byte after a variable name of the shorthand that begins at s; s: there is none. */
uint32_t short_name(struct str src, uint32_t s, uint32_t e);
bool name_boundary(struct str src, uint32_t at, uint32_t end); /* a block word may end here */
/* What follows a node as a unit: a paired block or scoped macro reaches to its closer. Byte and node after
 * it. */
uint32_t unit_end(const struct node *v, uint32_t i);
uint32_t unit_skip(const struct node *v, uint32_t i);
/* First node from i on (skipping whole nodes, below `limit`) that starts at or after byte s. */
uint32_t node_from(const struct node *v, uint32_t i, uint32_t limit, uint32_t s);
/* Trims blanks of the literal bytes at both ends of [*s, *e); children are no blanks. */
void trim_range(const struct compile *c, uint32_t *s, uint32_t *e);
/* pair.c: pairs the block tags and scoped macros among the direct children n0..n1 of a list of bytes s..e. */
void pair_list(struct compile *c, uint32_t s, uint32_t e, uint32_t n0, uint32_t n1);
/* cond_parse.c: the condition in bytes s..e; returns the number of its header. */
uint32_t cond_parse(
    struct compile *c, enum macro_dialect d, uint32_t s, uint32_t e, uint32_t n0, uint32_t n1);

/* ---- the catalogue ---- */

struct ev;
struct row;

enum nv { /* what became of a node */
	NV_OK,
	NV_REFUSED, /* prints its source, or what `out` says */
	NV_DEPTH,   /* the same without a trace */
	NV_HALT     /* a budget is used up: raw from here on */
};

typedef enum nv macro_fn(struct ev *ev, const struct node *n, const struct str *argv, struct str *out);

enum row_style { ARGS_PAGE, ARGS_REST };

enum row_flag {
	ROW_WRITE = 1,
	ROW_CHANCE = 2,
	ROW_TIME = 4,
	ROW_CHAR = 8,      /* names the current character */
	ROW_WRAP = 16,     /* marinara: {{x}}…{{/x}} */
	ROW_STOPS = 32,    /* noop: an empty result that trim does not look through */
	ROW_RAW_ARGS = 64, /* arguments are not evaluated: comments */
	ROW_LAZY = 128,    /* evaluates its arguments itself */
	ROW_KEY = 256,     /* the first argument is a variable's key */
	ROW_GLOBAL = 512   /* of the global view */
};

#define DIALECTS_PAGE (1u << MACRO_AUTO | 1u << MACRO_TAVERNHEADLESS | 1u << MACRO_SILLYTAVERN)
#define DIALECTS_ALL (DIALECTS_PAGE | 1u << MACRO_MARINARA | 1u << MACRO_TOMORIBOT)
#define DIALECT_MAR (1u << MACRO_MARINARA)
#define DIALECT_TOM (1u << MACRO_TOMORIBOT)
#define ARGS_ANY 0xffffu

struct row {
	const char *name;
	const char *aliases; /* blank-separated */
	macro_fn *fn;        /* NULL: reads `field` */
	uint16_t min, max;   /* arguments */
	uint8_t style;       /* enum row_style */
	uint8_t field;       /* enum macro_field */
	uint16_t flags;
	uint16_t dialects;
	const char *args, *group, *help, *cache;
};

struct row_table {
	const struct row *v;
	size_t n;
};
extern const struct row_table builtin_names, builtin_vars, builtin_text, builtin_chance, builtin_time;

const struct row *row_get(unsigned i);
unsigned row_count(void);
/* Number of the row + 1 of a name in a dialect, 0 if it is none. *exact_out: spelled as the catalogue spells
 * it. */
unsigned row_find(struct str name, enum macro_dialect d, bool *exact_out);

/* ---- evaluation ---- */

enum var_state { VAR_ABSENT, VAR_SET };

struct var {
	struct str key;
	uint64_t hash;
	uint8_t state;
	bool used, touched; /* slot in use; written or deleted in this run */
	bool counted, held; /* room.c: looked up; its layer holds it, with the writes so far… */
	size_t bytes;       /* …in so many bytes */
	struct macro_value v;
};

struct vartab {
	struct var *v;
	uint32_t n, cap; /* cap: power of two */
};

struct field_cell {
	uint8_t state; /* 0 = not read, 1 = being expanded, 2 = done */
	struct str text;
};

struct room { /* what the layer of a scope holds, with the writes so far */
	bool known;
	size_t names, bytes;
};

struct plan; /* decide_reach.c: the planning pass */

struct macro_run {
	struct arena *a;
	const struct macro_env *env;
	struct macro_result res;
	struct vartab tab[MACRO_VIEW__COUNT];
	struct room room[2]; /* branch, global */
	unsigned code_count[MACRO_W__COUNT];
	uint32_t code_last[MACRO_W__COUNT]; /* index of the last warning of the code */
	struct map *used;
	struct field_cell cell[MF__COUNT];
	struct field_cell *member_cell; /* n_members * MF_MEMBER__END */
	unsigned field_level;
	struct plan *plan;
	struct map *presets;         /* marinara: expanded choice blocks */
	struct map *greetings;       /* expanded alternate greetings */
	struct macro_tomori *tomori; /* of pieces in that dialect outside of a rearrange build */
};

enum eat {
	EAT_NONE,
	EAT_BREAKS, /* {{trim}}: the author's line breaks */
	EAT_BLANKS  /* {{trimStart}}: any white space, wherever it comes from */
};

struct text { /* one text that is being made: the piece, an argument, an operand */
	struct sb sb;
	size_t units; /* UTF-16 units that macros put in */
	size_t run;   /* from here on only line breaks that an author wrote: what {{trim}} eats */
	uint8_t eat;  /* enum eat: what a trim before it still drops */
};

struct ev {
	struct macro_run *r;
	const struct macro_template *t;
	const struct macro_piece *piece;
	const struct macro_member *member;
	struct text *text;
	unsigned depth, steps, writes;
	bool halted, silent, drop_cr, write_warned, kept_warned, original_used;
	uint32_t indent;    /* sillytavern: columns that scoped content drops */
	uint64_t text_hash; /* of the given text, once a pick asked for it */
	bool hashed;
	uint64_t *seen;               /* bit per name of the template: already in used_names */
	uint32_t place, line, column; /* cache of place_of */
};

/* eval.c */
void take_branch(struct ev *ev, const struct node *open, uint32_t tag);
void eval_list(struct ev *ev, uint32_t s, uint32_t e, uint32_t n0, uint32_t n1);
enum nv short_run(struct ev *ev, const struct node *n, struct str *out);   /* builtin_vars.c */
struct str tomori_piece(struct macro_run *r, const struct macro_piece *p); /* tomori.c */
struct str tomori_operand(struct ev *ev, const struct operand *o);         /* value of a condition */
/* One macro or block as a value. */
enum nv eval_node(struct ev *ev, uint32_t i, struct str *out);
/* A list as a text of its own, one level deeper; NV_DEPTH, NV_HALT or NV_OK. */
enum nv eval_text(struct ev *ev, const struct arg *r, struct str *out);
void eval_warn(struct ev *ev, enum macro_code code, const struct node *n, struct str name, const char *fmt,
    ...) PRINTF(5, 6);
enum nv eval_refuse(
    struct ev *ev, const struct node *n, const struct str *argv, enum macro_code code, struct str *out);
struct str eval_src(const struct ev *ev, uint32_t s, uint32_t e);
void eval_used(struct ev *ev, uint32_t name);
double eval_chance(struct ev *ev);
bool eval_ordinary(struct ev *ev, const struct name *name, struct str *out);
struct str eval_field(struct ev *ev, enum macro_field f);
struct str eval_field_raw(struct ev *ev, enum macro_field f);      /* as the author wrote it */
bool eval_preset(struct ev *ev, struct str name, struct str *out); /* marinara: value of a choice block */
void run_warn(struct macro_run *r, const struct macro_warning *w);
/* A text evaluated inside the run with budgets of its own. */
struct str eval_nested(struct macro_run *r, const struct macro_piece *p);

/* cond_eval.c */
enum tri { TRI_NO, TRI_YES, TRI_UNKNOWN, TRI_ERROR, TRI_HALT };
/* *code_out is set with TRI_ERROR. */
enum tri cond_eval(struct ev *ev, const struct node *open, uint32_t header, enum macro_code *code_out);
bool truth_words(struct str value, enum macro_dialect d);

/* vars.c */
struct var *var_find(struct macro_run *r, enum macro_view view, struct str key, uint64_t hash);
/* Reads a key or path; false and *code_out if it is refused. *has_out: it exists. */
bool var_read(struct ev *ev, enum macro_view view, struct str key, uint64_t hash, struct macro_value *out,
    bool *has_out, enum macro_code *code_out);
/* A member of an object, null told from absent. */
bool var_member(const struct json *o, struct str key, struct json **out);
/* The write macros; `op` as below. Returns NV_OK or NV_REFUSED with *code_out. */
enum var_op { VAR_PUT, VAR_ADD, VAR_INC, VAR_DEC, VAR_DEL };
enum nv var_write(struct ev *ev, const struct node *n, enum var_op op, enum macro_view view, struct str key,
    struct str value, const char *source, struct str *out, enum macro_code *code_out);

/* room.c: takes the room that a write needs (v NULL: a delete); false: there is too little, nothing is taken. */
bool room_take(struct macro_run *r, enum macro_view view, struct var *x, const struct macro_value *v);

/* cond_parse.c */
struct str unescape_page(struct arena *a, struct str s);     /* a backslash takes the next byte */
struct str unescape_marinara(struct arena *a, struct str s); /* quotes and backslashes, then \n */
/* Bytes of a quotation mark at `at` (0 = none); *class_out: 1 double, 2 single. Typographic ones only if
 * `curly`. */
uint32_t quote_mark(struct str s, size_t at, bool curly, int *class_out);

/* dialect_marinara.c */
enum keyword_flag {
	KW_CHAR = 1,
	KW_LATE = 2,
	KW_GROUP = 4,
	KW_CHARACTERS = 8,
	KW_PERSONA = 16,
	KW_PHONETIC = 32
};
struct keyword {
	const char *name;
	uint8_t field, flags;
};
const struct keyword *keyword_find(struct str word);
struct str keyword_value(struct ev *ev, const struct keyword *k);
struct str member_names(struct ev *ev, bool others);
struct str persona_text(struct ev *ev, bool raw);
bool mar_variable(struct ev *ev, struct str name, struct str *out);

/* js.c: what JavaScript means by blanks, numbers and its usual hash. */
struct str js_trim(struct str s);
struct str js_trim_start(struct str s);
struct str js_trim_end(struct str s);
bool js_blank(struct str s, size_t at, size_t *len_out); /* *len_out: bytes to step, 1 if it is none */
bool js_number(struct str s, double *out);               /* finite number; false for empty text */
struct str js_number_text(struct arena *a, double v);
uint64_t js_hash53(struct str s);
double js_seedrandom(struct str seed); /* first number of the generator seeded with this text */

/* decide_reach.c: told of every statement and block that the planning pass reaches. */
void plan_statement(struct ev *ev, const struct operand *o, struct str text);
void plan_block(struct ev *ev, uint32_t i);
struct str statement_key(struct arena *a, struct str text); /* blanks collapsed, trimmed */

#endif
