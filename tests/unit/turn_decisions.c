/*
 * Decision statements over turns of a branch, against a real server and the echo provider: who is asked and
 * when, what timers hold, what a dry run leaves alone, what a failed turn leaves behind.
 */
#include "../lib/pg.h"
#include "base/tm.h"
#include "turn/look.h"
#include "turn/turn_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>
#undef fail /* ours, not cmocka's */

static struct arena *process;
static struct db *app;
static struct loop *loop;
static struct llm *model;
static struct turns *turns;
static pthread_t loop_thread;

/* The stand-in for a decision model: what was asked, and whether it says yes. */
static struct {
	char asked[256];
	bool silent, yes;
} oracle;

static void
oracle_answer(void *arg, struct macro_turn *t, size_t from)
{
	(void)arg;
	for (size_t i = from; i < t->ask.v.n; i++) {
		size_t n = strlen(oracle.asked);

		snprintf(oracle.asked + n, sizeof oracle.asked - n, "%.*s;", STR_ARG(t->ask.v.v[i].text));
		if (!oracle.silent)
			macro_turn_answer(
			    t, i, (struct macro_answer){ .kind = oracle.yes ? MACRO_YES : MACRO_NO });
	}
}

static const char story[] =
    "INSERT INTO tavern.account (id, name, created_at, updated_at) VALUES ('alice', 'Alice', 1, 1);"
    "INSERT INTO tavern.document (account_no, digest, body, created_at) SELECT no, sha256('card'), "
    "'{\"data\":{\"name\":\"Ann\",\"description\":"
    "\"{{#if decision:\\\"A fight starts\\\" sticky:2 "
    "cooldown:1}}FIGHT{{else}}CALM{{/if}}\",\"character_book\":{\"entries\":["
    "{\"keys\":[\"hello\"],\"content\":\"LORE {{#if decision:\\\"It rains\\\" "
    "every:2}}WET{{/if}}\",\"enabled\":true,"
    "\"extensions\":{\"decision\":\"{{char}}  listens\"}}]}}}', 1 FROM tavern.account WHERE id = 'alice';"
    "INSERT INTO tavern.session (account_no, id, character_id, character_doc, created_at, updated_at) "
    "SELECT account_no, 's' || n, 'c', no, 1, 1 FROM tavern.document, generate_series(1, 5) n;"
    "INSERT INTO tavern.segment (account_no, session_no) SELECT account_no, no FROM tavern.session ORDER BY "
    "no;"
    "INSERT INTO tavern.branch (account_no, session_no, id, segs, his, created_at, updated_at) "
    "SELECT account_no, session_no, 'main', ARRAY[no], ARRAY[-1], 1, 1 FROM tavern.segment;"
    "INSERT INTO tavern.document (account_no, digest, body, created_at) SELECT no, sha256('book'), "
    "'{\"entries\":{\"0\":{\"uid\":0,\"key\":[\"hello\"],\"content\":\"WORLD\"}}}', 1 FROM tavern.account "
    "WHERE id = 'alice';"
    "INSERT INTO tavern.asset (account_no, kind, id, name, source, created_at, updated_at) "
    "SELECT no, 'worldbook', 'w', 'Ann', 'api', 1, 1 FROM tavern.account WHERE id = 'alice';"
    "INSERT INTO tavern.asset_version (account_no, asset_no, id, version_no, content_hash, body_no, "
    "created_at) "
    "SELECT a.account_no, a.no, 'wv', 1, 'x', d.no, 1 FROM tavern.asset a JOIN tavern.document d ON d.digest "
    "= sha256('book');"
    "UPDATE tavern.asset SET head_no = (SELECT no FROM tavern.asset_version);"
    "UPDATE tavern.session SET worldbook_profile_id = 'w' WHERE id = 's5'";

static struct turn_request
request(const char *session, const char *message)
{
	return (struct turn_request){ .session_id = str_c(session), .message = str_c(message) };
}

static bool
sent(const struct prompt *p, const char *word)
{
	for (size_t i = 0; i < p->nmessages; i++)
		if (str_find(p->messages[i].content, str_c(word), 0) != STR_NPOS)
			return true;
	return false;
}

struct seen {
	bool fight, lore, wet;
	char asked[256];
};

/* One whole turn, and what it sent. */
static struct seen
turn_once(const char *session, bool yes)
{
	struct ctx *c = pg_ctx(app, "alice");
	struct turn_request q = request(session, "hello");
	struct sb answer = sb_new(c->a);
	struct seen seen = { 0 };
	struct turn *t;

	c->now = tm_now();
	oracle.asked[0] = '\0';
	oracle.yes = yes;
	t = turn_open(turns, c, &q);
	if (t == NULL)
		print_error("%s: %s %s\n", c->err.code, c->err.msg, c->err.log);
	assert_non_null(t);
	seen.fight = sent(t->prompt, "FIGHT");
	seen.lore = sent(t->prompt, "LORE");
	seen.wet = sent(t->prompt, "WET");
	assert_int_equal(sent(t->prompt, "CALM"), !seen.fight);
	assert_int_equal(turn_run(t, &answer), 0);
	snprintf(seen.asked, sizeof seen.asked, "%s", oracle.asked);
	pg_ctx_free(&c);
	return seen;
}

static void
stored_is(const char *session, const char *path, const char *expected)
{
	struct arena *a = arena_create("t", 0);

	assert_string_equal(pg_value(a, arena_printf(a,
					    "SELECT coalesce(decisions::json #>> '{%s}', 'none') FROM "
					    "tavern.branch b JOIN tavern.session s "
					    "ON s.no = b.session_no WHERE s.id = '%s'",
					    path, session)),
	    expected);
	arena_destroy(&a);
}

static void
timers_hold_over_turns(void **state)
{
	struct seen s = turn_once("s1", true);

	(void)state;
	assert_string_equal(s.asked, "A fight starts;Ann listens;It rains;");
	assert_true(s.fight && s.lore && s.wet);
	stored_is("s1", "turn", "1");
	s = turn_once("s1", true); /* sticky; the statement with every:2 is not asked, and reads no */
	assert_string_equal(s.asked, "Ann listens;");
	assert_true(s.fight && s.lore && !s.wet);
	s = turn_once("s1", false); /* sticky still; every:2 is due */
	assert_string_equal(s.asked, "Ann listens;");
	assert_true(s.fight && !s.lore && !s.wet);
	s = turn_once("s1", true); /* cooling down */
	assert_string_equal(s.asked, "Ann listens;It rains;");
	assert_true(!s.fight && s.lore && s.wet);
	s = turn_once("s1", false);
	assert_string_equal(s.asked, "A fight starts;Ann listens;");
	assert_true(!s.fight && !s.lore);
	stored_is("s1", "turn", "5");
}

/* A worldbook called as the character is another book: both are scanned. */
static void
books_of_one_name(void **state)
{
	struct ctx *c = pg_ctx(app, "alice");
	struct turn_request q = request("s5", "hello");
	struct turn *t;

	(void)state;
	c->now = tm_now();
	t = turn_open(turns, c, &q);
	assert_non_null(t);
	assert_true(sent(t->prompt, "LORE") && sent(t->prompt, "WORLD"));
	turn_reader_left(t);
	turn_run(t, &(struct sb){ .a = c->a });
	pg_ctx_free(&c);
}

static void
dry_run_moves_nothing(void **state)
{
	struct ctx *c = pg_ctx(app, "alice");
	struct turn_request q = request("s2", "hello");
	struct json_error err;
	struct sb out = sb_new(c->a);

	(void)state;
	c->now = tm_now();
	turn_once("s2", true);
	oracle.asked[0] = '\0';
	q.body = json_read(c->a, STR("{\"debug_options\":{\"include_runtime_trace\":true}}"), 16, &err);
	assert_int_equal(turn_dry_run(turns, c, &q, &out), 0);
	assert_string_equal(oracle.asked, "");
	assert_non_null(strstr(sb_c(&out), "FIGHT")); /* what timers hold is looked up */
	assert_non_null(strstr(sb_c(&out), "\"unanswered\":[\"Ann listens\"")); /* the rest is reported */
	stored_is("s2", "turn", "1");
	stored_is("s2", "timers,0,text", "A fight starts");
	pg_ctx_free(&c);
}

static void
silence_is_no_answer_and_not_kept(void **state)
{
	struct seen s;

	(void)state;
	oracle.silent = true;
	s = turn_once("s3", true);
	oracle.silent = false;
	assert_string_equal(s.asked, "A fight starts;Ann listens;It rains;");
	assert_true(!s.fight && s.lore && !s.wet); /* unanswered: an entry's keys decide alone */
	stored_is("s3", "timers,0,text", "none");
	stored_is("s3", "turns,0,key", "none");
	s = turn_once("s3", true);
	assert_true(s.fight);
	stored_is("s3", "turn", "2");
}

static void
failed_turn_leaves_no_trace(void **state)
{
	struct ctx *c = pg_ctx(app, "alice");
	struct turn_request q = request("s4", "hello");
	struct sb answer = sb_new(c->a);
	struct turn *t;

	(void)state;
	c->now = tm_now();
	q.stream = true; /* in pieces: there is time to cancel */
	oracle.yes = true;
	t = turn_open(turns, c, &q);
	if (t == NULL)
		print_error("%s: %s %s\n", c->err.code, c->err.msg, c->err.log);
	assert_non_null(t);
	turn_reader_left(t);
	assert_int_equal(turn_run(t, &answer), -1);
	stored_is("s4", "turn", "none");
	pg_ctx_free(&c);
}

static void *
loop_main(void *arg)
{
	loop_run(arg);
	return NULL;
}

static int
setup(void **state)
{
	struct llm_conf lconf = {
		.connect_ms = 1000, .first_byte_ms = 1000, .idle_ms = 1000, .reply_max = 1 << 20
	};
	struct turns_conf conf = { .worker = "test",
		.provider = "echo",
		.model = "echo",
		.context_tokens = 8192,
		.reply_tokens = 300,
		.cache_bytes = 1 << 20,
		.lease_ms = 30000,
		.decide = oracle_answer,
		.decision_model = "oracle" };

	(void)state;
	process = arena_create("process", 0);
	pg_migrate();
	pg_sql(story);
	app = pg_pool(DB_APP, 2);
	conf.db_sys = pg_pool(DB_SYS, 1);
	conf.loop = loop = loop_create();
	conf.llm = model = llm_create(loop, &lconf);
	turns = turns_create(process, &conf);
	return pthread_create(&loop_thread, NULL, loop_main, loop);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timers_hold_over_turns),
		cmocka_unit_test(dry_run_moves_nothing),
		cmocka_unit_test(books_of_one_name),
		cmocka_unit_test(silence_is_no_answer_and_not_kept),
		cmocka_unit_test(failed_turn_leaves_no_trace),
	};

	(void)argc;
	pg_main(argv);
	return cmocka_run_group_tests(tests, setup, NULL);
}
