/* field: every type on both sides of its limits, modes, paths, ignored names, schemas. */
#include "base/field.h"
#include "base/limits.h"

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

static bool
is_lower_case(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < 'a' || s.p[i] > 'z')
			return false;
	return true;
}

static const char *const colours[] = { "red", "green", NULL };
static const struct field point[] = {
	{ "x", FT_INT, FF_REQUIRED },
	{ "y", FT_INT, 0, .dflt = "0" },
	FIELD_END,
};
static const struct field circle[] = {
	{ "r", FT_NUMBER, FF_REQUIRED, .bounded = true, .max = 10 },
	FIELD_END,
};
static const struct field shapes[] = {
	{ "point", FT_OBJECT, 0, .fields = point },
	{ "circle", FT_OBJECT, 0, .fields = circle },
	FIELD_END,
};
static const struct field point_item = { "", FT_OBJECT, 0, .fields = point };
static const struct field name_item = { "", FT_STRING, 0, .min = 1, .max = 3 };
static const struct field int_item = { "", FT_INT, FF_NULLABLE };

/* clang-format off */
static const struct field all[] = {
	{ "name", FT_STRING, FF_REQUIRED, .min = 2, .max = 4, .doc = "shown name" },
	{ "trimmed", FT_STRING, FF_TRIM, .min = 1, .max = 3 },
	{ "spoken", FT_STRING, FF_NONBLANK | FF_NULLABLE },
	{ "slug", FT_STRING, 0, .check = is_lower_case, .pattern = "^[a-z]*$" },
	{ "odd", FT_STRING, 0, .check = is_lower_case },
	{ "count", FT_INT, 0, .min = 1, .max = 100, .dflt = "5" },
	{ "level", FT_INT, 0, .bounded = true, .min = -3, .max = 0 },
	{ "any_int", FT_INT },
	{ "ratio", FT_NUMBER, FF_NULLABLE, .bounded = true, .min = 0, .max = 2, .dflt = "null" },
	{ "flag", FT_BOOL, 0, .dflt = "true" },
	{ "at", FT_TIME },
	{ "colour", FT_ENUM, FF_NULLABLE, .choices = colours },
	{ "where", FT_OBJECT, 0, .fields = point },
	{ "extra", FT_OBJECT },
	{ "names", FT_ARRAY, 0, .items = &name_item, .min = 1, .max = 2 },
	{ "points", FT_ARRAY, 0, .items = &point_item },
	{ "numbers", FT_ARRAY, 0, .items = &int_item },
	{ "list", FT_ARRAY },
	{ "anything", FT_ANY },
	{ "shape", FT_ONEOF, 0, .fields = shapes },
	{ "id", FT_STRING, FF_READONLY },
	{ "computed", FT_INT, 0, .expr = "1" },
	{ "secret", FT_STRING, FF_WRITEONLY },
	{ "kind", FT_STRING, FF_CREATE },
	{ "guard", FT_INT, FF_PATCH | FF_REQUIRED | FF_OPTIONAL },
	FIELD_END,
};
/* clang-format on */

static struct json *
parse(const char *text)
{
	struct json_error e;
	struct json *j = json_read(a, str_c(text), 64, &e);

	assert_null(e.what);
	return j;
}

/* The object that is taken as text; or every fault as "path code: message" lines, after "!". */
static const char *
take(const struct field *table, const char *body, enum field_mode mode)
{
	struct ctx c = { .a = a };
	struct json *o = NULL;
	struct sb s = sb_new(a);

	if (field_take(&c, table, parse(body), mode, &o, NULL) == 0) {
		assert_false(failed(&c));
		return json_text(a, o).p;
	}
	assert_null(o);
	assert_int_equal(c.err.kind, ERR_INVALID);
	assert_string_equal(c.err.code, "validation_error");
	for (size_t i = 0; i < c.err.fields.n; i++)
		sb_addf(&s, "!%s %s: %s", c.err.fields.v[i].path, c.err.fields.v[i].code,
		    c.err.fields.v[i].message);
	return sb_c(&s);
}

/* One member beside a good name; `want` is its printed value, or the fault. */
static const struct {
	const char *member, *want;
} members[] = {
	{ "\"trimmed\":\" \\u3000ab \\n\"", "\"trimmed\":\"ab\"" },
	{ "\"trimmed\":\"  \"", "!/trimmed minLength: must NOT have fewer than 1 characters" },
	{ "\"trimmed\":\" abcd \"", "!/trimmed maxLength: must NOT have more than 3 characters" },
	{ "\"trimmed\":\"\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\"",
	    "\"trimmed\":\"\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\"" },
	{ "\"spoken\":\" x \"", "\"spoken\":\" x \"" },
	{ "\"spoken\":\" \\u00a0\\n\"", "!/spoken minLength: must NOT be blank" },
	{ "\"spoken\":\"\"", "!/spoken minLength: must NOT be blank" },
	{ "\"spoken\":null", "\"spoken\":null" },
	{ "\"spoken\":5", "!/spoken type: must be string" },
	{ "\"slug\":\"abc\"", "\"slug\":\"abc\"" },
	{ "\"slug\":\"\"", "\"slug\":\"\"" },
	{ "\"slug\":\"aBc\"", "!/slug pattern: must match pattern \"^[a-z]*$\"" },
	{ "\"odd\":\"A\"", "!/odd format: must have the right format" },
	{ "\"count\":1", "\"count\":1" },
	{ "\"count\":100", "\"count\":100" },
	{ "\"count\":0", "!/count minimum: must be >= 1" },
	{ "\"count\":101", "!/count maximum: must be <= 100" },
	{ "\"count\":7.0", "\"count\":7" },
	{ "\"count\":7e0", "\"count\":7" },
	{ "\"count\":7.5", "!/count type: must be integer" },
	{ "\"count\":\"7\"", "!/count type: must be integer" },
	{ "\"count\":null", "!/count type: must be integer" },
	{ "\"level\":0", "\"level\":0" },
	{ "\"level\":-3", "\"level\":-3" },
	{ "\"level\":1", "!/level maximum: must be <= 0" },
	{ "\"level\":-4", "!/level minimum: must be >= -3" },
	{ "\"any_int\":-9223372036854775808", "\"any_int\":-9223372036854775808" },
	{ "\"any_int\":9223372036854775807", "\"any_int\":9223372036854775807" },
	{ "\"any_int\":9223372036854775808", "!/any_int type: must be integer" },
	{ "\"any_int\":1e30", "!/any_int type: must be integer" },
	{ "\"ratio\":0", "\"ratio\":0" },
	{ "\"ratio\":2.0", "\"ratio\":2.0" },
	{ "\"ratio\":2.01", "!/ratio maximum: must be <= 2" },
	{ "\"ratio\":-0.01", "!/ratio minimum: must be >= 0" },
	{ "\"ratio\":1e400", "!/ratio maximum: must be <= 2" },
	{ "\"ratio\":null", "\"ratio\":null" },
	{ "\"ratio\":true", "!/ratio type: must be number" },
	{ "\"flag\":false", "\"flag\":false" },
	{ "\"flag\":0", "!/flag type: must be boolean" },
	{ "\"flag\":\"true\"", "!/flag type: must be boolean" },
	{ "\"at\":0", "\"at\":0" },
	{ "\"at\":8640000000000000", "\"at\":8640000000000000" },
	{ "\"at\":-1", "!/at minimum: must be >= 0" },
	{ "\"at\":8640000000000001", "!/at maximum: must be <= 8640000000000000" },
	{ "\"colour\":\"green\"", "\"colour\":\"green\"" },
	{ "\"colour\":\"blue\"", "!/colour enum: must be equal to one of the allowed values" },
	{ "\"colour\":3", "!/colour type: must be string" },
	{ "\"where\":{\"x\":1}", "\"where\":{\"x\":1,\"y\":0}" },
	{ "\"where\":{}", "!/where required: must have required property 'x'" },
	{ "\"where\":{\"x\":\"1\",\"y\":null}",
	    "!/where/x type: must be integer!/where/y type: must be integer" },
	{ "\"where\":[]", "!/where type: must be object" },
	{ "\"extra\":{\"k\":[1.50]}", "\"extra\":{\"k\":[1.50]}" },
	{ "\"extra\":1", "!/extra type: must be object" },
	{ "\"names\":[\"a\"]", "\"names\":[\"a\"]" },
	{ "\"names\":[]", "!/names minItems: must NOT have fewer than 1 items" },
	{ "\"names\":[\"a\",\"b\",\"c\"]", "!/names maxItems: must NOT have more than 2 items" },
	{ "\"names\":[\"\",5]",
	    "!/names/0 minLength: must NOT have fewer than 1 characters!/names/1 type: must be string" },
	{ "\"names\":[null]", "!/names/0 type: must be string" },
	{ "\"names\":\"a\"", "!/names type: must be array" },
	{ "\"points\":[{\"x\":1},{}]", "!/points/1 required: must have required property 'x'" },
	{ "\"points\":[{\"x\":1,\"z\":3}]", "\"points\":[{\"x\":1,\"y\":0}]" },
	{ "\"numbers\":[1,null]", "\"numbers\":[1,null]" },
	{ "\"list\":[1,\"a\",{}]", "\"list\":[1,\"a\",{}]" },
	{ "\"anything\":null", "\"anything\":null" },
	{ "\"anything\":[{\"a\":1e3}]", "\"anything\":[{\"a\":1e3}]" },
	{ "\"shape\":{\"x\":1}", "\"shape\":{\"x\":1,\"y\":0}" },
	{ "\"shape\":{\"r\":10}", "\"shape\":{\"r\":10}" },
	{ "\"shape\":{\"r\":11}", "!/shape anyOf: must match a schema in anyOf" },
	{ "\"shape\":{}", "!/shape anyOf: must match a schema in anyOf" },
	{ "\"shape\":\"r\"", "!/shape type: must be object" },
	{ "\"secret\":\"s\"", "\"secret\":\"s\"" },
};

/* In a patch there are no defaults: the answer is the member alone. */
static void
test_members(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		const char *body = arena_printf(a, "{\"guard\":1,%s}", members[i].member);
		const char *got = take(all, body, FIELD_PATCH);
		const char *want = members[i].want[0] == '!'
				       ? members[i].want
				       : arena_printf(a, "{%s,\"guard\":1}", members[i].want);

		assert_string_equal(got, want);
	}
}

static void
test_create(void **state)
{
	(void)state;
	assert_string_equal(
	    take(all, "{\"name\":\"ab\",\"kind\":\"k\",\"id\":\"mine\",\"computed\":1,\"guard\":3,\"x\":1}",
		FIELD_CREATE),
	    "{\"name\":\"ab\",\"count\":5,\"ratio\":null,\"flag\":true,\"kind\":\"k\"}");
	assert_string_equal(
	    take(all, "null", FIELD_CREATE), "! required: must have required property 'name'");
	assert_string_equal(take(all, "{}", FIELD_CREATE), "! required: must have required property 'name'");
	assert_string_equal(take(all, "{\"name\":null}", FIELD_CREATE), "!/name type: must be string");
	assert_string_equal(take(all, "{\"name\":\"a\"}", FIELD_CREATE),
	    "!/name minLength: must NOT have fewer than 2 characters");
	assert_string_equal(take(all, "{\"name\":\"abcde\"}", FIELD_CREATE),
	    "!/name maxLength: must NOT have more than 4 characters");
	assert_string_equal(take(all, "[]", FIELD_CREATE), "! type: must be object");
	assert_string_equal(take(NULL, "{\"a\":1}", FIELD_CREATE), "{}");
}

static void
test_patch_and_put(void **state)
{
	(void)state;
	assert_string_equal(take(all, "{\"guard\":1}", FIELD_PATCH), "{\"guard\":1}");
	assert_string_equal(take(all, "{}", FIELD_PATCH), "! required: must have required property 'guard'");
	assert_string_equal(take(all, "{\"guard\":1,\"kind\":\"k\"}", FIELD_PATCH), "{\"guard\":1}");
	assert_string_equal(take(all, "{\"name\":\"ab\",\"kind\":\"k\",\"guard\":1}", FIELD_PUT),
	    "{\"name\":\"ab\",\"count\":5,\"ratio\":null,\"flag\":true}");
	assert_string_equal(take(all, "{}", FIELD_PUT), "! required: must have required property 'name'");
}

static void
test_all_faults_are_listed(void **state)
{
	struct ctx c = { .a = a };
	struct json *o = NULL;
	struct sb s = sb_new(a);

	(void)state;
	assert_string_equal(take(all, "{\"count\":0,\"flag\":1,\"points\":[{},{\"x\":\"\"}]}", FIELD_CREATE),
	    "! required: must have required property 'name'!/count minimum: must be >= 1!/flag type: must be "
	    "boolean"
	    "!/points/0 required: must have required property 'x'!/points/1/x type: must be integer");
	sb_adds(&s, "{\"name\":\"ab\",\"points\":[");
	for (int i = 0; i < LIM_FIELD_ERRORS + 20; i++)
		sb_adds(&s, i ? ",{}" : "{}");
	sb_adds(&s, "]}");
	assert_int_equal(field_take(&c, all, parse(sb_c(&s)), FIELD_CREATE, &o, NULL), -1);
	assert_int_equal(c.err.fields.n, LIM_FIELD_ERRORS);
}

static void
test_ignored(void **state)
{
	struct field_names ignored = { 0 };
	struct ctx c = { .a = a };
	struct json *o, *many = json_object(a);
	static const char *const want[] = { "/zz", "/a%2Cb%0D%0Ac%25%C3%A9", "/guard", "/where/w",
		"/points/1/q", "/shape/extra" };
	char longest[200];

	(void)state;
	assert_int_equal(field_take(&c, all,
			     parse("{\"zz\":1,\"a,b\\r\\nc%\\u00e9\":1,\"id\":\"x\",\"computed\":3,\"guard\":"
				   "1,\"name\":\"ab\","
				   "\"where\":{\"x\":1,\"w\":2},\"points\":[{\"x\":1},{\"x\":1,\"q\":{}}],"
				   "\"extra\":{\"free\":1},\"shape\":{\"r\":1,\"extra\":2}}"),
			     FIELD_CREATE, &o, &ignored),
	    0);
	assert_int_equal(ignored.v.n, 6);
	for (size_t i = 0; i < 6; i++)
		assert_string_equal(ignored.v.v[i], want[i]);
	/* A client cannot make the header long. */
	memset(longest, 'n', sizeof(longest));
	json_set_c(many, "name", "ab");
	for (int i = 0; i < 1000; i++)
		json_set_s(many, str_c(arena_printf(a, "%d%.*s", i, 150, longest)), NULL);
	ignored = (struct field_names){ 0 };
	assert_int_equal(field_take(&c, all, many, FIELD_CREATE, &o, &ignored), 0);
	assert_int_equal(ignored.v.n, LIM_FIELD_ERRORS);
	assert_true(strlen(ignored.v.v[0]) < 70);
}

static const struct field query[] = {
	{ "limit", FT_INT, 0, .min = 1, .max = 200, .dflt = "50" },
	{ "ratio", FT_NUMBER },
	{ "deep", FT_BOOL },
	{ "since", FT_TIME },
	{ "sort", FT_ENUM, 0, .choices = colours },
	{ "q", FT_STRING, FF_TRIM, .max = 5 },
	{ "ids", FT_ARRAY, 0, .items = &name_item, .max = 3 },
	{ "ns", FT_ARRAY, 0, .items = &int_item },
	{ "where", FT_OBJECT, 0, .fields = point },
	FIELD_END,
};

static void
test_query(void **state)
{
	static const struct {
		const char *in, *want;
	} rows[] = {
		{ "{}", "{\"limit\":50}" },
		{ "{\"limit\":\"200\",\"ratio\":\"1.50\",\"deep\":\"true\",\"since\":\"5\",\"sort\":\"red\","
		  "\"q\":\" a b \"}",
		    "{\"limit\":200,\"ratio\":1.50,\"deep\":true,\"since\":5,\"sort\":\"red\",\"q\":\"a "
		    "b\"}" },
		{ "{\"limit\":\"201\"}", "!/limit maximum: must be <= 200" },
		{ "{\"limit\":\"0\"}", "!/limit minimum: must be >= 1" },
		{ "{\"limit\":\"\"}", "!/limit type: must be integer" },
		{ "{\"limit\":\"x\"}", "!/limit type: must be integer" },
		{ "{\"limit\":\"[1]\"}", "!/limit type: must be integer" },
		{ "{\"limit\":\"1.5\"}", "!/limit type: must be integer" },
		{ "{\"ratio\":\"NaN\"}", "!/ratio type: must be number" },
		{ "{\"deep\":\"1\"}", "{\"limit\":50,\"deep\":true}" },
		{ "{\"deep\":\"0\"}", "{\"limit\":50,\"deep\":false}" },
		{ "{\"deep\":\"false\"}", "{\"limit\":50,\"deep\":false}" },
		{ "{\"deep\":\"\"}", "!/deep type: must be boolean" },
		{ "{\"deep\":\"yes\"}", "!/deep type: must be boolean" },
		{ "{\"sort\":\"blue\"}", "!/sort enum: must be equal to one of the allowed values" },
		{ "{\"q\":\"\"}", "{\"limit\":50,\"q\":\"\"}" },
		{ "{\"q\":\"123456\"}", "!/q maxLength: must NOT have more than 5 characters" },
		{ "{\"ids\":\"a,b,,c\"}", "{\"limit\":50,\"ids\":[\"a\",\"b\",\"c\"]}" },
		{ "{\"ids\":\"\"}", "{\"limit\":50,\"ids\":[]}" },
		{ "{\"ids\":\"a,b,c,d\"}", "!/ids maxItems: must NOT have more than 3 items" },
		{ "{\"ids\":\"a,bbbb\"}", "!/ids/1 maxLength: must NOT have more than 3 characters" },
		{ "{\"ns\":\"1,-2\"}", "{\"limit\":50,\"ns\":[1,-2]}" },
		{ "{\"ns\":\"1,x\"}", "!/ns/1 type: must be integer" },
		{ "{\"where\":\"{\\\"x\\\":1}\"}", "{\"limit\":50,\"where\":{\"x\":1,\"y\":0}}" },
		{ "{\"where\":\"{\\\"x\\\":\\\"1\\\"}\"}", "!/where/x type: must be integer" },
		{ "{\"where\":\"{\"}", "!/where type: must be object" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(take(query, rows[i].in, FIELD_QUERY), rows[i].want);
}

static void
test_query_text_is_cleaned(void **state)
{
	struct ctx c = { .a = a };
	struct json *raw = json_object(a), *o;

	(void)state;
	json_set_str(raw, "q", STR("a\0b\xff"));
	assert_int_equal(field_take(&c, query, raw, FIELD_QUERY, &o, NULL), 0);
	assert_string_equal(json_get_str(o, "q").p, "ab\xef\xbf\xbd");
}

static void
test_body_is_not_changed(void **state)
{
	const char *text = "{\"name\":\"ab\",\"trimmed\":\" a \",\"count\":7.0,\"where\":{\"x\":1},\"zz\":1}";
	struct json *body = parse(text), *o = NULL;
	struct ctx c = { .a = a };

	(void)state;
	assert_int_equal(field_take(&c, all, body, FIELD_CREATE, &o, NULL), 0);
	assert_string_equal(json_text(a, body).p, text);
}

static const char *
schema(const struct field *table, enum field_mode mode)
{
	return json_text(a, field_schema(a, table, mode)).p;
}

static void
test_schema(void **state)
{
	static const struct field few[] = {
		{ "id", FT_STRING, FF_READONLY },
		{ "name", FT_STRING, FF_REQUIRED, .min = 1, .max = 9, .doc = "shown name" },
		{ "n", FT_INT, 0, .bounded = true, .min = 0, .max = INT64_MAX, .dflt = "5" },
		{ "kind", FT_ENUM, FF_CREATE | FF_NULLABLE, .choices = colours },
		{ "key", FT_STRING, FF_WRITEONLY, .pattern = "^x" },
		{ "guard", FT_INT, FF_PATCH | FF_REQUIRED | FF_OPTIONAL },
		{ "at", FT_TIME, FF_READONLY | FF_NULLABLE, .doc = "made" },
		FIELD_END,
	};

	(void)state;
	assert_string_equal(schema(few, FIELD_CREATE),
	    "{\"type\":\"object\",\"properties\":{"
	    "\"name\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":9,\"description\":\"shown name\"},"
	    "\"n\":{\"type\":\"integer\",\"minimum\":0,\"default\":5},"
	    "\"kind\":{\"type\":\"string\",\"enum\":[\"red\",\"green\",null],\"nullable\":true},"
	    "\"key\":{\"type\":\"string\",\"pattern\":\"^x\"}},\"required\":[\"name\"]}");
	assert_string_equal(schema(few, FIELD_PATCH),
	    "{\"type\":\"object\",\"properties\":{"
	    "\"name\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":9,\"description\":\"shown name\"},"
	    "\"n\":{\"type\":\"integer\",\"minimum\":0},\"key\":{\"type\":\"string\",\"pattern\":\"^x\"},"
	    "\"guard\":{\"type\":\"integer\"}},\"required\":[\"guard\"]}");
	assert_string_equal(schema(few, FIELD_ANSWER),
	    "{\"type\":\"object\",\"properties\":{\"id\":{\"type\":\"string\"},"
	    "\"name\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":9,\"description\":\"shown name\"},"
	    "\"n\":{\"type\":\"integer\",\"minimum\":0},"
	    "\"kind\":{\"type\":\"string\",\"enum\":[\"red\",\"green\",null],\"nullable\":true},"
	    "\"guard\":{\"type\":\"integer\"},"
	    "\"at\":{\"type\":\"integer\",\"format\":\"int64\",\"minimum\":0,\"nullable\":true,"
	    "\"description\":\"made (milliseconds since "
	    "1970)\"}},\"required\":[\"id\",\"name\",\"n\",\"kind\",\"at\"]}");
	assert_string_equal(schema(NULL, FIELD_CREATE), "{\"type\":\"object\",\"properties\":{}}");
}

static void
test_schema_of_structures(void **state)
{
	static const struct {
		const char *name, *want;
	} rows[] = {
		{ "where", "{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"integer\"},"
			   "\"y\":{\"type\":\"integer\",\"default\":0}},\"required\":[\"x\"]}" },
		{ "extra", "{\"type\":\"object\",\"additionalProperties\":true}" },
		{ "names",
		    "{\"type\":\"array\",\"items\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":3},"
		    "\"minItems\":1,\"maxItems\":2}" },
		{ "list", "{\"type\":\"array\",\"items\":{}}" },
		{ "anything", "{}" },
		{ "ratio", "{\"type\":\"number\",\"minimum\":0,\"maximum\":2,\"nullable\":true}" },
		{ "flag", "{\"type\":\"boolean\",\"default\":true}" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct field *f = field_find(all, str_c(rows[i].name));

		assert_non_null(f);
		assert_string_equal(json_text(a, field_schema_one(a, f, FIELD_CREATE)).p, rows[i].want);
	}
	assert_int_equal(
	    json_len(json_get(field_schema_one(a, field_find(all, STR("shape")), FIELD_CREATE), "anyOf")), 2);
	assert_null(field_find(all, STR("nam")));
	assert_null(field_find(NULL, STR("name")));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_create),
		cmocka_unit_test(test_patch_and_put),
		cmocka_unit_test(test_all_faults_are_listed),
		cmocka_unit_test(test_ignored),
		cmocka_unit_test(test_query),
		cmocka_unit_test(test_query_text_is_cleaned),
		cmocka_unit_test(test_body_is_not_changed),
		cmocka_unit_test(test_schema),
		cmocka_unit_test(test_schema_of_structures),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
