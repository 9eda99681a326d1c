/*
 * llm: answers beyond the vectors: limits, content types that do not fit, calls told apart, native reasoning,
 * refusals of servers, and that no key comes back in an error.
 */
#include "base/limits.h"
#include "llm/dialect.h"
#include "llm/upstream_error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct env {
	struct arena *a, *tmp;
	struct answer_opts opts;
	struct answer_begin_head head;
};

static int
setup(void **state)
{
	static struct env e;

	e = (struct env){ .a = arena_create("keep", 0),
		.tmp = arena_create("tmp", 0),
		.opts = { .stream = true, .think = true, .text_max = 1000 },
		.head = { .status = 200, .content_type = STR("text/event-stream") } };
	e.opts.dialect = dialect_find("chat_completions");
	*state = &e;
	return 0;
}

static int
teardown(void **state)
{
	struct env *e = *state;

	arena_destroy(&e->a);
	arena_destroy(&e->tmp);
	return 0;
}

static struct llm_result
read_answer(struct env *e, const char *text)
{
	struct llm_result r = { .truncated = false };
	struct answer an;

	answer_begin(&an, e->a, e->tmp, &e->opts);
	answer_begin_head(&an, &e->head);
	answer_feed(&an, str_c(text));
	answer_end(&an);
	answer_result(&an, e->a, &r);
	return r;
}

static void
check_error(const struct llm_result *r, enum llm_error_kind kind, const char *code)
{
	assert_string_equal(llm_error_kind_name(r->error.kind), llm_error_kind_name(kind));
	if (code)
		assert_string_equal(r->error.code, code);
	else
		assert_null(r->error.code);
}

#define CHUNK(delta) "data: {\"choices\":[{\"index\":0,\"delta\":" delta "}]}\n\n"
#define STOP "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"

static void
json_for_a_stream(void **state)
{
	struct env *e = *state;
	struct llm_result r;

	e->head.content_type = STR("application/json; charset=utf-8");
	r = read_answer(e, "{\"choices\":[{\"message\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}");
	check_error(&r, LLM_OK, NULL);
	assert_true(str_is(r.text, "Hi"));

	r = read_answer(e, "{\"error\":{\"message\":\"busy\",\"type\":\"overloaded_error\"}}");
	check_error(&r, LLM_OVERLOADED, "overloaded_error");
	assert_int_equal(r.error.status, 200);
}

static void
stream_for_a_plain_request(void **state)
{
	struct env *e = *state;
	struct llm_result r;

	e->opts.stream = false;
	r = read_answer(e, CHUNK("{\"content\":\"Hi\"}") STOP);
	check_error(&r, LLM_OK, NULL);
	assert_true(str_is(r.text, "Hi"));
}

static void
no_type_given(void **state)
{
	struct env *e = *state;
	struct llm_result r;

	e->head.content_type = STR_NULL;
	r = read_answer(e, CHUNK("{\"content\":\"Hi\"}") "data: [DONE]\n\n");
	check_error(&r, LLM_OK, NULL);
	assert_null(r.finish_reason);
	assert_true(str_is(r.text, "Hi"));
}

static void
too_much_text(void **state)
{
	struct env *e = *state;
	struct llm_result r;

	e->opts.text_max = 4;
	r = read_answer(e, CHUNK("{\"content\":\"abc\"}") CHUNK("{\"reasoning\":\"de\"}") STOP);
	check_error(&r, LLM_PROTOCOL, "answer_too_large");
	assert_false(r.error.retryable);
	assert_true(str_is(r.text, "abc"));
	assert_true(str_is(r.reasoning, ""));
}

static void
too_many_calls(void **state)
{
	struct env *e = *state;
	struct sb s = sb_new(e->a);
	struct llm_result r;

	for (int i = 0; i <= LIM_TOOL_CALLS; i++)
		sb_addf(&s,
		    CHUNK("{\"tool_calls\":[{\"index\":%d,\"id\":\"c%d\",\"function\":{\"name\":\"f\"}}]}"),
		    i, i);
	r = read_answer(e, sb_c(&s));
	check_error(&r, LLM_PROTOCOL, "answer_too_large");
	assert_null(r.tool_calls);
}

static void
one_index_for_all_calls(void **state)
{
	struct env *e = *state;
	struct llm_result r = read_answer(e,
	    CHUNK("{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":{"
		  "\"x\":1}}}]}") CHUNK("{\"tool_calls\":[{\"index\":0,\"id\":\"b\",\"function\":{\"name\":"
					"\"g\",\"arguments\":\"{\\\"y\\\"\"}}]}")
		CHUNK("{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\":2}\"}}]}") STOP);

	check_error(&r, LLM_OK, NULL);
	assert_string_equal(r.finish_reason, "tool_calls");
	assert_string_equal(r.finish_raw, "stop");
	assert_string_equal(arena_strdup(e->a, json_text(e->a, r.tool_calls)),
	    "[{\"id\":\"a\",\"name\":\"f\",\"arguments\":\"{\\\"x\\\":1}\"},{\"id\":\"b\",\"name\":\"g\","
	    "\"arguments\":\"{\\\"y\\\":2}\"}]");
}

static void
calls_of_a_cut_stream(void **state)
{
	struct llm_result r =
	    read_answer(*state, CHUNK("{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":"
				      "\"f\",\"arguments\":\"{}\"}}]}"));

	check_error(&r, LLM_NETWORK, "stream_truncated");
	assert_true(r.truncated);
	assert_null(r.tool_calls); /* none may be executed */
}

static void
native_reasoning(void **state)
{
	struct llm_result r = read_answer(*state,
	    CHUNK("{\"content\":\" <thi\"}") CHUNK("{\"reasoning\":\"r\",\"reasoning_content\":\"R\"}")
		CHUNK("{\"content\":\"nk>x\"}") STOP);

	check_error(&r, LLM_OK, NULL);
	assert_true(str_is(r.reasoning, "R"));
	assert_true(str_is(r.text, " <think>x")); /* what was held is let go in order */
}

static void
reasoning_details(void **state)
{
	struct env *e = *state;
	struct llm_result r =
	    read_answer(e, CHUNK("{\"reasoning_details\":[{\"type\":\"reasoning.text\",\"index\":0,\"text\":"
				 "\"a\",\"signature\":null}]}")
			       CHUNK("{\"reasoning_details\":[{\"type\":\"reasoning.text\",\"index\":0,"
				     "\"text\":\"b\",\"signature\":\"S\"},"
				     "{\"type\":\"reasoning.encrypted\",\"index\":1,\"data\":\"D\"}]}")
				   CHUNK("{\"content\":\"x\"}") STOP);

	assert_true(str_is(r.reasoning, "ab"));
	assert_string_equal(arena_strdup(e->a, json_text(e->a, r.blobs)),
	    "[{\"type\":\"reasoning.text\",\"index\":0,\"signature\":\"S\",\"text\":\"ab\"},"
	    "{\"type\":\"reasoning.encrypted\",\"index\":1,\"data\":\"D\"}]");
}

static void
held_text_before_an_error(void **state)
{
	struct llm_result r = read_answer(*state,
	    CHUNK("{\"content\":\"a <\"}") "data: {\"error\":\"gone\"}\n\n" CHUNK("{\"content\":\"b\"}"));

	check_error(&r, LLM_SERVER, NULL);
	assert_string_equal(r.error.message, "gone");
	assert_true(str_is(r.text, "a <"));
}

static void
quota_in_the_middle(void **state)
{
	struct llm_result r = read_answer(*state,
	    ": x\n\n" CHUNK(
		"{\"content\":\"a\"}") "data: {\"error\":{\"message\":\"slow down\",\"code\":429}}\n\n");

	check_error(&r, LLM_RATE_LIMIT, "429");
	assert_int_equal(r.error.status, 0);
	assert_true(str_is(r.text, "a"));
}

static void
reasoning_beside_the_completion(void **state)
{
	struct llm_result r = read_answer(*state, CHUNK("{\"content\":\"a\"}") STOP
	    "data: "
	    "{\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":5,\"total_tokens\":22,"
	    "\"completion_tokens_details\":{\"reasoning_tokens\":7}}}\n\n");

	assert_int_equal(r.usage.completion, 12);
	assert_int_equal(r.usage.total, 22);
}

static void
no_key_in_errors(void **state)
{
	struct env *e = *state;
	struct llm_result r;

	e->head = (struct answer_begin_head){ .status = 401, .content_type = STR("application/json") };
	e->opts.secret = STR("sk-very-secret-key");
	r = read_answer(
	    e, "{\"error\":{\"message\":\"bad key sk-very-secret-key, sk-very-secret-key.\",\"code\":null}}");
	check_error(&r, LLM_AUTH, NULL);
	assert_string_equal(r.error.message, "bad key ****, ****.");
}

static struct llm_error
refusal(struct env *e, int status, const char *retry_after, const char *body)
{
	struct answer_begin_head head = {
		.status = status, .retry_after = str_c(retry_after), .now = 1445412420000
	};

	return upstream_error_body(e->a, &head, str_c(body));
}

static void
refusals(void **state)
{
	static const struct {
		int status;
		const char *body, *kind, *code, *message;
	} rows[] = {
		{ 404, "{\"error\":\"model 'x' not found\"}", "not_found", NULL, "model 'x' not found" },
		{ 400, "{\"error\":{\"message\":\"This field is wrong\",\"type\":\"invalid_request_error\"}}",
		    "invalid_request", "invalid_request_error", "This field is wrong" },
		{ 400, "{\"error\":{\"message\":\"prompt is too long: 9 > 8\"}}", "context_overflow", NULL,
		    "prompt is too long: 9 > 8" },
		{ 429, "{\"error\":{\"message\":\"x\",\"code\":\"insufficient_quota\"}}", "quota",
		    "insufficient_quota", "x" },
		{ 403, "{\"message\":\"no\"}", "permission", NULL, "no" },
		{ 413, "", "too_large", NULL, "" },
		{ 503,
		    "{\"error\":{\"code\":503,\"message\":\"Loading model\",\"type\":\"unavailable_error\"}}",
		    "overloaded", "unavailable_error", "Loading model" },
		{ 529, "busy", "overloaded", NULL, "busy" },
		{ 422, "{\"detail\":\"wrong\"}", "invalid_request", NULL, "wrong" },
		{ 504, "<html><script>var a = '<b>';</script><h1>Gateway\n  Time-out</h1></html>", "timeout",
		    NULL, "Gateway Time-out" },
		{ 500, "{\"error\":{}}", "server", NULL, "" },
		{ 500, "null", "server", NULL, "null" },
		{ 409, "[]", "conflict", NULL, "[]" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct llm_error err = refusal(*state, rows[i].status, NULL, rows[i].body);

		assert_string_equal(llm_error_kind_name(err.kind), rows[i].kind);
		assert_string_equal(err.message, rows[i].message);
		assert_int_equal(err.status, rows[i].status);
		if (rows[i].code)
			assert_string_equal(err.code, rows[i].code);
		else
			assert_null(err.code);
	}
}

static void
long_page(void **state)
{
	struct env *e = *state;
	struct sb s = sb_new(e->a);

	for (int i = 0; i < 5000; i++)
		sb_adds(&s, "\xe4\xbd\xa0");
	assert_int_equal(strlen(refusal(e, 500, NULL, sb_c(&s)).message), 600);
	sb_truncate(&s, 0);
	sb_adds(&s, "{\"message\":\"");
	for (int i = 0; i < 5000; i++)
		sb_adds(&s, "\xe4\xbd\xa0");
	sb_adds(&s, "\"}");
	assert_int_equal(strlen(refusal(e, 500, NULL, sb_c(&s)).message), LIM_UPSTREAM_ERROR / 3 * 3);
}

static void
waiting(void **state)
{
	struct env *e = *state;

	assert_int_equal(refusal(e, 429, "3", "").retry_after_ms, 3000);
	assert_int_equal(refusal(e, 429, "0.5", "").retry_after_ms, 500);
	assert_int_equal(refusal(e, 429, "-1", "").retry_after_ms, -1);
	assert_int_equal(refusal(e, 429, "soon", "").retry_after_ms, -1);
	assert_int_equal(refusal(e, 429, "1e300", "").retry_after_ms, 1000000000);
	assert_int_equal(refusal(e, 429, "Wed, 21 Oct 2015 07:28:00 GMT", "").retry_after_ms, 60000);
	assert_int_equal(refusal(e, 429, "Wed, 21 Oct 2015 07:26:00 GMT", "").retry_after_ms, 0);
	assert_int_equal(refusal(e, 429, "Wed, 21 Xxx 2015 07:26:00 GMT", "").retry_after_ms, -1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static void
when_to_ask_again(void **state)
{
	struct llm_error e = { .kind = LLM_OVERLOADED, .retryable = true, .retry_after_ms = -1 };

	(void)state;
	assert_int_equal(llm_retry_ms(&e, 1, 0), 500);
	assert_int_equal(llm_retry_ms(&e, 2, 0), 1000);
	assert_int_equal(llm_retry_ms(&e, 1, 0.999), 376);
	assert_int_equal(llm_retry_ms(&e, 5, 0), 8000);
	assert_int_equal(llm_retry_ms(&e, 100, 0), 8000);
	e.retry_after_ms = 46000;
	assert_int_equal(llm_retry_ms(&e, 1, 0.5), 46000);
	e.retry_after_ms = 60001; /* too long to wait */
	assert_int_equal(llm_retry_ms(&e, 1, 0.5), -1);
	e = (struct llm_error){ .kind = LLM_EMPTY, .retryable = true, .retry_after_ms = -1 };
	assert_int_equal(llm_retry_ms(&e, 1, 0), 500); /* once */
	assert_int_equal(llm_retry_ms(&e, 2, 0), -1);
	e = (struct llm_error){ .kind = LLM_AUTH, .retry_after_ms = 10 };
	assert_int_equal(llm_retry_ms(&e, 1, 0), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(json_for_a_stream),
		TEST(stream_for_a_plain_request),
		TEST(no_type_given),
		TEST(too_much_text),
		TEST(too_many_calls),
		TEST(one_index_for_all_calls),
		TEST(calls_of_a_cut_stream),
		TEST(native_reasoning),
		TEST(reasoning_details),
		TEST(held_text_before_an_error),
		TEST(quota_in_the_middle),
		TEST(reasoning_beside_the_completion),
		TEST(no_key_in_errors),
		TEST(refusals),
		TEST(long_page),
		TEST(waiting),
		TEST(when_to_ask_again),
	};

	return cmocka_run_group_tests_name("llm_answer", tests, NULL, NULL);
}
