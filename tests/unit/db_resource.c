/*
 * The generic verbs: their texts against tests/golden/db/resource.sql (UPDATE_GOLDEN=1 writes it), and
 * what they do on a real table.
 */
#include "../lib/pg.h"

#include "../../src/db/resource_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const char scratch[] =
    "CREATE SCHEMA tavern;"
    "CREATE FUNCTION tavern.acct() RETURNS int LANGUAGE sql STABLE PARALLEL SAFE"
    " AS $$ SELECT current_setting('tavern.account_no')::int $$;"
    "CREATE FUNCTION now_ms() RETURNS bigint LANGUAGE sql STABLE AS $$ SELECT 1000::bigint $$;"
    "CREATE TABLE account (no int PRIMARY KEY, id text UNIQUE, role text, status text);"
    "CREATE TABLE thing (account_no int NOT NULL DEFAULT acct(), no bigint GENERATED ALWAYS AS IDENTITY, id "
    "text COLLATE \"C\" NOT NULL,"
    " title text, title_key text GENERATED ALWAYS AS (lower(title)) STORED, size int NOT NULL, ratio float8, "
    "shiny boolean NOT NULL,"
    " kind text NOT NULL, meta json, doc text, body json, owner_name text, owner_id text, secret text,"
    " revision int NOT NULL DEFAULT 0, created_at bigint NOT NULL, updated_at bigint NOT NULL, deleted_at "
    "bigint,"
    " PRIMARY KEY (account_no, no), UNIQUE (account_no, id));"
    "ALTER TABLE thing ENABLE ROW LEVEL SECURITY;"
    "CREATE POLICY own ON thing TO tavern_app USING (account_no = acct());"
    "GRANT USAGE ON SCHEMA tavern TO tavern_app; GRANT ALL ON account, thing TO tavern_app;"
    "GRANT USAGE ON ALL SEQUENCES IN SCHEMA tavern TO tavern_app;"
    "INSERT INTO account VALUES (1, 'alice', 'user', 'active'), (2, 'bob', 'user', 'active');";

struct thing {
	struct str id, title, kind, meta, owner_id;
	int64_t size, created_at;
	double ratio;
	bool shiny;
};

/* clang-format off */
#define AT(member) .offset = offsetof(struct thing, member) + 1
static const char *const kinds[] = { "big", "small", NULL };
static const struct field owner_fields[] = {
	{ "id", FT_STRING, FF_NULLABLE, .column = "owner_id", AT(owner_id) },
	{ "name", FT_STRING, FF_NULLABLE, .column = "owner_name" },
	FIELD_END
};
static const struct field fields[] = {
	{ "id", FT_STRING, FF_REQUIRED | FF_READONLY, AT(id) },
	{ "title", FT_STRING, FF_NULLABLE, AT(title) },
	{ "size", FT_INT, FF_REQUIRED, AT(size) },
	{ "ratio", FT_NUMBER, FF_NULLABLE, AT(ratio) },
	{ "shiny", FT_BOOL, .dflt = "false", AT(shiny) },
	{ "kind", FT_ENUM, FF_CREATE, .choices = kinds, .dflt = "\"big\"", AT(kind) },
	{ "metadata", FT_ANY, FF_NULLABLE, .column = "meta", AT(meta) },
	{ "doc", FT_STRING, FF_NOLIST | FF_BIG | FF_NULLABLE },
	{ "body", FT_ANY, FF_OPTIONAL },
	{ "owner", FT_OBJECT, FF_NULLABLE, .fields = owner_fields, .null_when = "owner_id" },
	{ "has_secret", FT_BOOL, FF_READONLY, .expr = "t.secret IS NOT NULL" },
	{ "secret", FT_STRING, FF_WRITEONLY },
	{ "note", FT_STRING, FF_NOCOLUMN },
	{ "expected_revision", FT_INT, FF_PATCH | FF_NOCOLUMN },
	{ "revision", FT_INT, FF_READONLY },
	{ "created_at", FT_TIME, FF_READONLY, AT(created_at) },
	{ "updated_at", FT_TIME, FF_READONLY },
	FIELD_END
};
static const struct field q_keyword = { "keyword", FT_STRING }, q_min = { "size_min", FT_INT }, q_kind = { "kind", FT_ENUM, .choices = kinds },
	q_deleted = { "include_deleted", FT_BOOL }, q_prefix = { "prefix", FT_STRING };
static const struct filter filters[] = {
	{ &q_keyword, FILTER_CONTAINS, "t.title_key" },
	{ &q_min, FILTER_MIN, "t.size" },
	{ &q_kind, FILTER_EQ, "t.kind" },
	{ &q_prefix, FILTER_PREFIX, "t.title" },
	{ &q_deleted, FILTER_FLAG, "t.deleted_at IS NULL" },
	{ .field = NULL }
};
static const struct sort_key sorts[] = { { "created_at", "t.created_at" }, { "size", "t.size" }, { .name = NULL } };
static const struct resource things = {
	.name = "thing", .table = "thing", .fields = fields, .filters = filters, .sorts = sorts, .soft_delete = true,
	.guard = "expected_revision", .guard_column = "revision", .conflict = "thing_conflict",
};
static const struct resource plain = {
	.name = "thing", .table = "thing", .where = "t.kind = 'big'", .fields = owner_fields, .sorts = sorts, .list_plain = true, .ascending = true,
};
/* clang-format on */

static struct db *app;

static struct json *
parse(struct ctx *c, const char *text)
{
	struct json_error err = { 0 };
	struct json *j = json_read(c->a, str_c(text), 16, &err);

	assert_null(err.what);
	return j;
}

static void
golden_add(struct sb *out, const char *title, struct sb *sql)
{
	sb_addf(out, "-- %s\n%s;\n\n", title, sb_c(sql));
	sb_truncate(sql, 0);
}

static void
texts_are_as_recorded(void **state)
{
	struct ctx *c = pg_ctx(app, "alice");
	struct sb out = sb_new(c->a), s = sb_new(c->a);
	struct params p = { .a = c->a };
	struct list_query q = {
		.limit = 20, .sort = sorts, .params = parse(c, "{\"keyword\":\"x\",\"size_min\":3}")
	};

	(void)state;
	sql_list(&s, &p, &things, &q);
	golden_add(&out, "list, two filters", &s);
	p = (struct params){ .a = c->a };
	sql_count(&s, &p, &things, &q);
	golden_add(&out, "its total", &s);
	q.ascending = true;
	q.params = NULL;
	sql_list(&s, &p, &plain, &q);
	golden_add(&out, "plain list", &s);
	sql_get(&s, &things);
	golden_add(&out, "get", &s);
	sql_create(&s, &things);
	golden_add(&out, "create", &s);
	sql_patch(&s, &things, parse(c, "{\"title\":null,\"owner\":{\"name\":\"n\"}}"), false);
	golden_add(&out, "patch of two members", &s);
	sql_patch(&s, &things, parse(c, "{\"doc\":\"d\",\"owner\":null,\"kind\":\"big\"}"), true);
	golden_add(&out, "patch with a guard, nested object set to null, create-only member ignored", &s);
	sql_delete(&s, &things, "t.id = $1");
	golden_add(&out, "soft delete", &s);
	sql_delete(&s, &plain, "t.id = $1");
	golden_add(&out, "delete", &s);
	sql_batch_delete(&s, &things);
	golden_add(&out, "batch delete", &s);
	pg_golden("tests/golden/db/resource.sql", sb_c(&out));
	pg_ctx_free(&c);
}

/* One unit per call; what the verb printed is in call.out. */
struct call {
	int (*fn)(struct ctx *, struct call *);
	const char *id, *in, *guard;
	struct sb out;
	int rc;
	int64_t total;
	struct thing loaded;
};

static int
call_unit(struct ctx *c, void *arg)
{
	struct call *x = arg;

	sb_truncate(&x->out, 0);
	x->rc = x->fn(c, x);
	return x->rc < 0 ? -1 : 0;
}

static int
v_create(struct ctx *c, struct call *x)
{
	return resource_create(c, &things, str_c(x->id), parse(c, x->in), &x->out);
}

static int
v_get(struct ctx *c, struct call *x)
{
	return resource_get(c, &things, str_c(x->id), &x->out);
}

static int
v_patch(struct ctx *c, struct call *x)
{
	return resource_patch(c, &things, str_c(x->id), x->in ? parse(c, x->in) : NULL,
	    x->guard ? parse(c, x->guard) : NULL, &x->out);
}

static int
v_delete(struct ctx *c, struct call *x)
{
	return resource_delete(c, &things, str_c(x->id));
}

static int
v_list(struct ctx *c, struct call *x)
{
	struct list_query q;

	if (resource_list_query(c, &things, parse(c, x->in), &q) < 0)
		return -1;
	return resource_list(c, &things, &q, &x->out, &x->total);
}

static int
v_batch(struct ctx *c, struct call *x)
{
	const struct str ids[] = { STR("a1"), STR("no\"such"), STR("a1"), STR("a2") };

	(void)x;
	return resource_batch_delete(c, &things, ids, 4, &x->out);
}

static int
v_load(struct ctx *c, struct call *x)
{
	const char *sql = arena_printf(c->a, "SELECT %s FROM thing t WHERE account_no = acct() AND id = $1",
	    resource_columns(c->a, fields, false));
	struct rows *rs = db_send_text(c, sql, &P_C(x->id), 1);
	int found = rows_next(rs);

	if (found > 0)
		row_load(fields, rs, &x->loaded);
	return found;
}

static const char *
call(struct ctx *c, enum db_mode mode, struct call *x)
{
	err_clear(c);
	x->out = sb_new(c->a);
	db_tx(c, mode, call_unit, x);
	return sb_c(&x->out);
}

#define CALL(c, mode, ...) call((c), (mode), &(struct call){ __VA_ARGS__ })

static void
create(struct ctx *c, const char *id, const char *in)
{
	struct call x = { v_create, id, in };

	call(c, DB_WRITE, &x);
	assert_int_equal(x.rc, 0);
}

static void
verbs_do_what_they_say(void **state)
{
	struct ctx *c = pg_ctx(app, "alice"), *other = pg_ctx(app, "bob");
	struct call x;

	(void)state;
	pg_sql("TRUNCATE thing");
	assert_string_equal(
	    CALL(c, DB_WRITE, v_create, "a1",
		"{\"title\":\"Ein "
		"\\\"Ding\\\"\\n\",\"size\":9007199254740993,\"kind\":\"big\",\"shiny\":true}"),
	    "");
	assert_int_equal(c->err.kind, ERR_INVALID); /* out of range of the column */
	assert_string_equal(
	    CALL(c, DB_WRITE, v_create, "a1",
		"{\"title\":\"Ein \\\"Ding\\\"\\n\",\"size\":7,\"kind\":\"big\",\"shiny\":true,\"ratio\":0.1,"
		"\"metadata\":{\"z\":1e3,\"a\":[1.0,12345678901234567890123]},\"secret\":\"s\",\"owner\":{"
		"\"id\":\"o\"}}"),
	    "{\"id\":\"a1\",\"title\":\"Ein "
	    "\\\"Ding\\\"\\n\",\"size\":7,\"ratio\":0.1,\"shiny\":true,\"kind\":\"big\","
	    "\"metadata\":{\"z\":1e3,\"a\":[1.0,12345678901234567890123]},\"doc\":null,\"owner\":{\"id\":"
	    "\"o\",\"name\":null},"
	    "\"has_secret\":true,\"revision\":0,\"created_at\":1000,\"updated_at\":1000}");
	CALL(c, DB_WRITE, v_create, "a1", "{\"size\":1,\"kind\":\"big\",\"shiny\":false}");
	assert_int_equal(c->err.kind, ERR_CONFLICT);

	x = (struct call){ v_get, "a1" };
	call(other, DB_READ, &x);
	assert_int_equal(x.rc, 0); /* another account's */
	c->now = 2000;
	x = (struct call){ v_patch, "a1", "{\"title\":null,\"owner\":null,\"body\":{\"k\" : null}}" };
	assert_string_equal(call(c, DB_WRITE, &x),
	    "{\"id\":\"a1\",\"title\":null,\"size\":7,\"ratio\":0.1,\"shiny\":true,\"kind\":\"big\","
	    "\"metadata\":{\"z\":1e3,\"a\":[1.0,12345678901234567890123]},\"doc\":null,\"body\":{\"k\":null},"
	    "\"owner\":null,"
	    "\"has_secret\":true,\"revision\":1,\"created_at\":1000,\"updated_at\":2000}");
	assert_int_equal(x.rc, 1);
	x = (struct call){ v_load, "a1" };
	call(c, DB_READ, &x);
	assert_true(
	    str_is(x.loaded.id, "a1") && x.loaded.title.p == NULL && x.loaded.size == 7 && x.loaded.shiny);
	assert_true(x.loaded.ratio == 0.1 && x.loaded.created_at == 1000 && x.loaded.owner_id.p == NULL);
	assert_true(str_starts(x.loaded.meta, STR("{\"z\":1e3")));
	pg_ctx_free(&c);
	pg_ctx_free(&other);
}

static void
guards_refuse_stale_writes(void **state)
{
	struct ctx *c = pg_ctx(app, "alice"), *other = pg_ctx(app, "bob");
	struct call x;

	(void)state;
	pg_sql("TRUNCATE thing");
	create(c, "a1", "{\"size\":1,\"kind\":\"big\",\"shiny\":false}");
	for (int i = 0; i < 3; i++) { /* the third text is prepared */
		x = (struct call){ v_patch, "a1", "{\"size\":2}", "7" };
		call(c, DB_WRITE, &x);
		assert_int_equal(x.rc, -1);
		assert_int_equal(c->err.kind, ERR_CONFLICT);
		assert_string_equal(c->err.code, "thing_conflict");
		assert_string_equal(c->err.details, arena_printf(c->a, "{\"current_revision\":%d}", i));
		x = (struct call){ v_patch, "a1", "{\"size\":2}", i == 0 ? "0" : i == 1 ? "1" : "2" };
		call(c, DB_WRITE, &x);
		assert_int_equal(x.rc, 1);
		x = (struct call){ v_patch, "a1", "{\"size\":2}", "0" };
		call(other, DB_WRITE, &x);
		assert_int_equal(x.rc, 0);
	}
	x = (struct call){ v_patch, "a1" }; /* nothing but the revision */
	assert_non_null(strstr(call(c, DB_WRITE, &x), "\"revision\":4"));
	pg_ctx_free(&c);
	pg_ctx_free(&other);
}

static void
lists_page_filter_and_sort(void **state)
{
	struct ctx *c = pg_ctx(app, "alice"), *other = pg_ctx(app, "bob");
	struct call x;

	(void)state;
	pg_sql("TRUNCATE thing");
	for (int i = 0; i < 5; i++)
		create(c, arena_printf(c->a, "a%d", i),
		    arena_printf(c->a,
			"{\"title\":\"Thing 50%% N%d\",\"size\":%d,\"kind\":\"%s\",\"shiny\":false}", i,
			10 - i, kinds[i % 2]));
	create(other, "b", "{\"title\":\"thing\",\"size\":1,\"kind\":\"big\",\"shiny\":false}");

#define FIRST_ID(in, id, n)                                                                                  \
	do {                                                                                                 \
		x = (struct call){ v_list, NULL, in };                                                       \
		assert_non_null(strstr(call(c, DB_READ, &x), id));                                           \
		assert_ptr_equal(strstr(sb_c(&x.out), "{\"id\""), strstr(sb_c(&x.out), id));                 \
		assert_int_equal(x.total, n);                                                                \
	} while (0)
	FIRST_ID("{}", "{\"id\":\"a4\"", 5); /* newest first; same time: by no */
	FIRST_ID("{\"sort_order\":\"asc\"}", "{\"id\":\"a0\"", 5);
	FIRST_ID(
	    "{\"sort_by\":\"size\",\"sort_order\":\"asc\",\"limit\":2,\"offset\":1}", "{\"id\":\"a3\"", 5);
	FIRST_ID("{\"keyword\":\"50% n2\"}", "{\"id\":\"a2\"", 1);
	FIRST_ID("{\"kind\":\"small\",\"size_min\":8}", "{\"id\":\"a1\"", 1);
	FIRST_ID("{\"prefix\":\"Thing\"}", "{\"id\":\"a4\"", 5);
	assert_null(strstr(sb_c(&x.out), "\"doc\"")); /* not in lists */
	x = (struct call){ v_list, NULL, "{\"offset\":50}" };
	assert_string_equal(call(c, DB_READ, &x), "[]");
	assert_int_equal(x.total, 5);
	x = (struct call){ v_list, NULL, "{\"sort_by\":\"no; DROP TABLE thing\"}" };
	call(c, DB_READ, &x);
	assert_int_equal(c->err.kind, ERR_INVALID);

	assert_string_equal(CALL(c, DB_WRITE, v_batch),
	    "{\"results\":[{\"index\":0,\"id\":\"a1\",\"action\":\"deleted\"},{\"index\":1,\"id\":"
	    "\"no\\\"such\",\"action\":\"not_found\"},"
	    "{\"index\":3,\"id\":\"a2\",\"action\":\"deleted\"}],\"meta\":{\"total\":3,\"deleted\":2,\"not_"
	    "found\":1}}");
	FIRST_ID("{}", "{\"id\":\"a4\"", 3);
	FIRST_ID("{\"include_deleted\":true}", "{\"id\":\"a4\"", 5);
	x = (struct call){ v_delete, "a4" };
	call(c, DB_WRITE, &x);
	assert_int_equal(x.rc, 1);
	call(c, DB_WRITE, &x);
	assert_int_equal(x.rc, 0); /* gone already */
	x.fn = v_get;
	call(c, DB_READ, &x);
	assert_int_equal(x.rc, 0);
	FIRST_ID("{}", "{\"id\":\"a3\"", 2);
	pg_ctx_free(&c);
	pg_ctx_free(&other);
}

static void
query_fields_name_everything(void **state)
{
	struct arena *a = arena_create("t", 0);
	const struct field *f = resource_query_fields(a, &things);
	struct sb s = sb_new(a);

	(void)state;
	for (; f->name != NULL; f++)
		sb_addf(&s, "%s ", f->name);
	assert_string_equal(
	    sb_c(&s), "limit offset sort_by sort_order keyword size_min kind prefix include_deleted ");
	assert_null(resource_query_fields(a, &plain)->name);
	arena_destroy(&a);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_as_recorded),
		cmocka_unit_test(verbs_do_what_they_say),
		cmocka_unit_test(guards_refuse_stale_writes),
		cmocka_unit_test(lists_page_filter_and_sort),
		cmocka_unit_test(query_fields_name_everything),
	};
	int rc;

	(void)argc;
	pg_main(argv);
	pg_sql(scratch);
	app = pg_pool(DB_APP, 2);
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	db_destroy(&app);
	return rc;
}
