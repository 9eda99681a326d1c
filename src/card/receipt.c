/*
 * receipt: collecting and printing what an import did. Knows no file format.
 */
#include "receipt.h"

#include "base/limits.h"
#include "base/sb.h"

#include <stdio.h>

static struct receipt_item *
last_of_code(const struct receipt *r, const char *code, size_t *n_out)
{
	struct receipt_item *last = NULL;
	size_t n = 0;

	for (size_t i = 0; i < r->items.n; i++)
		if (strcmp(r->items.v[i].code, code) == 0) {
			last = &r->items.v[i];
			n++;
		}
	*n_out = n;
	return last;
}

void
receipt_add(
    struct receipt *r, enum receipt_kind kind, const char *code, const char *path, const char *fmt, ...)
{
	struct receipt_item *last, *item;
	size_t n;
	va_list ap;

	if (r == NULL)
		return;
	last = last_of_code(r, code, &n);
	if (n >= LIM_RECEIPT_CODE) {
		last->count++;
		return;
	}
	va_start(ap, fmt);
	item = vec_add(r->a, &r->items);
	*item = (struct receipt_item){
		.kind = kind,
		.code = arena_strdup(r->a, str_c(code)),
		.path = arena_strdup(r->a, str_c(path)),
		.reason = arena_vprintf(r->a, fmt, ap),
		.count = 1,
	};
	va_end(ap);
}

bool
receipt_has(const struct receipt *r, const char *code)
{
	size_t n;

	return last_of_code(r, code, &n) != NULL;
}

struct json *
receipt_json(struct arena *a, const struct receipt *r)
{
	static const char *const lists[RECEIPT__COUNT] = {
		[RECEIPT_NORMALISED] = "normalised",
		[RECEIPT_UNSUPPORTED] = "unsupported",
		[RECEIPT_REFUSED] = "refused",
		[RECEIPT_WARNING] = "warnings",
	};
	struct json *out = json_object(a), *arrays[RECEIPT__COUNT] = { NULL };

	json_set_int(out, "kept", r->kept);
	for (size_t k = 0; k < RECEIPT__COUNT; k++)
		if (lists[k])
			arrays[k] = json_set_array(out, lists[k]);
	for (size_t i = 0; i < r->items.n; i++) {
		const struct receipt_item *it = &r->items.v[i];
		struct json *o;

		if (arrays[it->kind] == NULL)
			continue;
		o = json_push_object(arrays[it->kind]);
		json_set_c(o, "code", it->code);
		json_set_c(o, "path", it->path);
		json_set_c(o, "reason", it->reason);
		if (it->count > 1)
			json_set_int(o, "count", it->count);
	}
	return out;
}

int
import_fail(
    struct arena *a, struct import_error *err, const char *code, const char *path, const char *fmt, ...)
{
	va_list ap;

	if (err) {
		va_start(ap, fmt);
		*err = (struct import_error){
			.code = code,
			.path = arena_strdup(a, str_c(path)),
			.offset = -1,
			.message = arena_vprintf(a, fmt, ap),
		};
		va_end(ap);
	}
	return -1;
}

struct str
import_stem(struct str name)
{
	size_t from = 0, to;

	for (size_t i = 0; i < name.n; i++)
		if (name.p[i] == '/' || name.p[i] == '\\')
			from = i + 1;
	for (to = name.n; to > from && name.p[to - 1] != '.';)
		to--;
	to = to > from + 1 ? to - 1 : name.n; /* a leading dot is no suffix */
	name = str_trim(str_sub(name, from, to));
	return name.n > 0 ? name : STR_NULL;
}
