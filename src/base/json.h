/*
 * json: the only door to json-c. Strict by our rules, not the library's: RFC 8259 text, valid
 * UTF-8, no NaN/Infinity, no raw control characters, no trailing bytes, depth limit; the last
 * duplicate key wins; a NUL in a key is refused, NULs in values are removed, lone surrogates
 * become U+FFFD. Big integers and the spelling of numbers survive printing.
 *
 * Nodes are borrowed: a root lives as long as the arena it was made in, children as long as
 * their root. Keys given as `const char *` are literals or live in the arena.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "ctx.h"
#include "sb.h"

/*
 * Hidden: jansson, which other libraries bring along, has a json_object and a json_string too, and would
 * find ours if the program exported them.
 */
#pragma GCC visibility push(hidden)

struct json; /* json-c's object under our name; NULL is JSON null or absent: use json_has to tell */

enum json_type { JSON_NULL, JSON_BOOL, JSON_INT, JSON_DOUBLE, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json_error {
	size_t offset;       /* byte */
	int line, column;    /* from 1 */
	const char *what;    /* "unexpected character", "nested deeper than 128", … */
};

/* Parses a whole text. NULL and *err filled if it is bad; the JSON value null gives NULL with err->what NULL. */
struct json *json_read(struct arena *a, struct str text, int depth, struct json_error *err);
/* The same for a request body (LIM_JSON_DEPTH): -1 records ERR_INVALID "invalid_json" with line and column. */
int json_body(struct ctx *c, struct str text, struct json **out);

/*
 * Byte-exact members: the source bytes of a member of an object (path: keys, NULL-terminated) or
 * of the elements of an array, from text that json_read accepted. STR_NULL / false if absent.
 */
struct str json_raw(struct str text, const char *key);
bool json_raw_next(struct str array, size_t *pos, struct str *element_out);             /* pos starts at 0 */
bool json_raw_member(struct str object, size_t *pos, struct str *key_out, struct str *value_out); /* key raw, with quotes */
struct str json_raw_text(struct arena *a, struct str raw);           /* a raw string without quotes and escapes; STR_NULL for others */

enum json_type json_type(const struct json *j);
const char *json_type_name(enum json_type t);      /* "string", "integer", … for messages */
bool json_has(const struct json *o, const char *key);               /* present, null included */
struct json *json_get(const struct json *o, const char *key);       /* NULL if absent, null or not an object */
struct json *json_get_s(const struct json *o, struct str key);
struct json *json_at(const struct json *arr, size_t i);
size_t json_len(const struct json *j);                              /* elements or members; 0 for others */
struct json_iter {
	void *at;
	bool begun;
};
bool json_next(const struct json *o, struct json_iter *it, struct str *key_out, struct json **value_out); /* members in order; `it` starts zeroed */

struct str json_str(const struct json *j);                          /* text of a string; STR_NULL for others */
int64_t json_int(const struct json *j, int64_t dflt);               /* integers (doubles truncated); dflt for others */
double json_double(const struct json *j, double dflt);
bool json_bool(const struct json *j, bool dflt);
struct str json_number(const struct json *j, char buf[DOUBLE_TEXT]); /* a number as it was written (in buf or the node); STR_NULL for others */
struct str json_get_str(const struct json *o, const char *key);     /* STR_NULL if absent or no string */
int64_t json_get_int(const struct json *o, const char *key, int64_t dflt);
double json_get_double(const struct json *o, const char *key, double dflt);
bool json_get_bool(const struct json *o, const char *key, bool dflt);

struct json *json_object(struct arena *a);
struct json *json_array(struct arena *a);
struct json *json_string(struct arena *a, struct str v);            /* roots, or to be added once */
struct json *json_integer(struct arena *a, int64_t v);
struct json *json_boolean(struct arena *a, bool v);
struct json *json_copy(struct arena *a, const struct json *j);      /* deep, own root */
/* Adding transfers a root made by this file, or shares a borrowed node (json-c counts). Replaces an equal key. */
void json_set(struct json *o, const char *key, const struct json *v);  /* NULL v = null */
void json_set_s(struct json *o, struct str key, const struct json *v);
void json_set_str(struct json *o, const char *key, struct str v);      /* absent = null */
void json_set_c(struct json *o, const char *key, const char *v);       /* NULL = null */
void json_set_int(struct json *o, const char *key, int64_t v);
void json_set_double(struct json *o, const char *key, double v);
void json_set_bool(struct json *o, const char *key, bool v);
void json_del(struct json *o, const char *key);
struct json *json_set_object(struct json *o, const char *key);         /* borrowed child */
struct json *json_set_array(struct json *o, const char *key);
void json_push(struct json *arr, const struct json *v);
void json_push_str(struct json *arr, struct str v);
void json_push_int(struct json *arr, int64_t v);
struct json *json_push_object(struct json *arr);
struct json *json_push_array(struct json *arr);

bool json_equal(const struct json *a, const struct json *b);
void json_text_add(struct sb *out, const struct json *j);                 /* appends the compact text */
struct str json_text(struct arena *a, const struct json *j);           /* compact, `/` unescaped; NULL prints null */
struct str json_text_pretty(struct arena *a, const struct json *j);    /* two blanks, as JSON.stringify(x, null, 2) */

#pragma GCC visibility pop

#endif
