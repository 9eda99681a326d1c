/* What the tests of src/card share: an arena, JSON from text, reading with an expected end. */
#ifndef TESTS_CARD_HELP_H
#define TESTS_CARD_HELP_H

#include "base/limits.h"
#include "base/sb.h"
#include "card/base64.h"
#include "card/card.h"
#include "card/png.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static struct arena *a;

static int
setup(void **state)
{
	(void)state;
	a = arena_create("test", 0);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	arena_destroy(&a);
	return 0;
}

static inline struct json *
json_of(struct str text)
{
	struct json_error e = { 0 };
	struct json *j = json_read(a, text, LIM_JSON_DEPTH, &e);

	if (e.what)
		fail_msg("%.*s: %s", STR_ARG(text), e.what);
	return j;
}

#define JSON(text) json_of(STR(text))

/* Equal as JSON values; the report shows both. */
static inline void
same_json(const struct json *got, const struct json *want)
{
	if (!json_equal(got, want))
		fail_msg("got  %s\nwant %s", json_text(a, got).p, json_text(a, want).p);
}

static inline void
same_str(struct str got, const char *want)
{
	if (!str_is(got, want))
		fail_msg("got \"%.*s\", want \"%s\"", STR_ARG(got), want);
}

static inline struct card
card_ok(struct str bytes)
{
	struct import_file f = { .bytes = bytes };
	struct import_error err = { 0 };
	struct card c;

	if (card_read(a, &f, &c, &err) < 0)
		fail_msg("refused: %s: %s", err.code, err.message);
	return c;
}

static inline struct import_error
card_bad(struct str bytes, const char *code)
{
	struct import_file f = { .bytes = bytes };
	struct import_error err = { 0 };
	struct card c;

	assert_int_equal(card_read(a, &f, &c, &err), -1);
	assert_non_null(err.code);
	assert_non_null(err.message);
	assert_non_null(err.path);
	if (strcmp(err.code, code) != 0)
		fail_msg("refused with %s (%s), expected %s", err.code, err.message, code);
	return err;
}

/* Bytes `n` times. */
static inline struct str
times(const char *unit, size_t n)
{
	struct sb s = sb_new(a);

	for (size_t i = 0; i < n; i++)
		sb_adds(&s, unit);
	return sb_str(&s);
}

/* A PNG with one chunk of text. */
static inline struct str
png_with(const char *keyword, struct str value)
{
	struct png_new_text t = { keyword, value };
	struct str out;

	assert_int_equal(png_rewrite(a, png_blank(), &t, 1, &out, NULL), 0);
	return out;
}

#define V2(members) "{\"spec\":\"chara_card_v2\",\"spec_version\":\"2.0\",\"data\":{" members "}}"
#define V3(members) "{\"spec\":\"chara_card_v3\",\"spec_version\":\"3.0\",\"data\":{" members "}}"

#endif
