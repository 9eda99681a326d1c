/*
 * providers: answers and requests of model servers (kind of tests/vectors/run). An answer is read whole, byte
 * by byte and cut in two at every place: the record must be the same. Cases of dialects that are not built
 * are skipped.
 */
#include "vectors.h"

#include "base/limits.h"
#include "llm/dialect.h"

#include <openssl/evp.h>

struct heard {
	struct arena *a;
	struct json *deltas;
	struct sb text;
	const char *channel; /* of the text that is being joined; NULL = none */
};

static void
heard_flush(struct heard *h)
{
	struct json *pair;

	if (h->channel) {
		pair = json_push_array(h->deltas);
		json_push_str(pair, str_c(h->channel));
		json_push_str(pair, sb_str(&h->text));
	}
	h->channel = NULL;
	sb_truncate(&h->text, 0);
}

static void
on_text(void *arg, bool reasoning, struct str delta)
{
	struct heard *h = arg;
	const char *channel = reasoning ? "reasoning" : "content";

	if (h->channel != channel)
		heard_flush(h);
	h->channel = channel;
	sb_add(&h->text, delta);
}

static void
on_retract(void *arg)
{
	struct heard *h = arg;

	heard_flush(h);
	h->channel = "retract";
	heard_flush(h);
}

static struct str
body_of(struct arena *a, const struct json *case_)
{
	struct str text = json_get_str(case_, "body_base64");
	unsigned char *out;
	int n;

	if (!text.p)
		return json_get_str(case_, "body");
	out = arena_alloc(a, text.n + 4);
	n = EVP_DecodeBlock(out, (const unsigned char *)text.p, (int)text.n);
	for (size_t i = text.n; i > 0 && text.p[i - 1] == '='; i--)
		n--;
	return (struct str){ (const char *)out, n > 0 ? (size_t)n : 0 };
}

/* One reading: pieces of `step` bytes, the first of `first`. */
static struct json *
read_answer(struct arena *a, const struct json *case_, struct str body, size_t first, size_t step,
    struct llm_result *out)
{
	struct arena *tmp = arena_create("event", 0);
	struct heard heard = { .a = a, .deltas = json_array(a), .text = sb_new(a) };
	const struct json *http = json_get(case_, "http"), *headers = json_get(http, "headers");
	const struct json *think = json_get(json_get(case_, "profile"), "think");
	struct answer_opts opts = { .dialect = dialect_find(arena_strdup(a, json_get_str(case_, "dialect"))),
		.stream = str_is(json_get_str(case_, "kind"), "stream"),
		.text_max = LIM_REPLY,
		.think = json_type(think) != JSON_BOOL || json_bool(think, true),
		.think_open = json_get_bool(think, "start_open", false),
		.sink = { .text = on_text, .retract = on_retract, .arg = &heard } };
	struct answer_begin_head head = { .status = (int)json_get_int(http, "status", 0),
		.content_type = json_get_str(headers, "content-type"),
		.retry_after = json_get_str(headers, "retry-after"),
		.retry_after_ms = json_get_str(headers, "retry-after-ms"),
		.should_retry = json_get_str(headers, "x-should-retry") };
	struct answer an;

	answer_begin(&an, a, tmp, &opts);
	answer_begin_head(&an, &head);
	for (size_t at = 0, n = first; at < body.n; at += n, n = step)
		if (!answer_feed(&an, str_sub(body, at, at + n)))
			break;
	answer_end(&an);
	heard_flush(&heard);
	answer_result(&an, a, out);
	arena_destroy(&tmp);
	return heard.deltas;
}

static void
set_told(struct json *o, const char *key, int64_t v)
{
	if (v < 0)
		json_set(o, key, NULL);
	else
		json_set_int(o, key, v);
}

static struct json *
usage_json(struct arena *a, const struct llm_usage *u)
{
	struct json *o = json_object(a);

	if (u->prompt < 0 && u->completion < 0 && u->total < 0)
		return NULL;
	set_told(o, "input", u->prompt);
	set_told(o, "output", u->completion);
	set_told(o, "total", u->total);
	set_told(o, "cache_read", u->cached);
	set_told(o, "cache_write", u->cache_write);
	set_told(o, "reasoning", u->reasoning);
	return o;
}

static struct json *
error_json(struct arena *a, const struct llm_error *e)
{
	struct json *o = json_object(a);

	if (e->kind == LLM_OK)
		return NULL;
	json_set_c(o, "kind", llm_error_kind_name(e->kind));
	set_told(o, "status", e->status ? e->status : -1);
	json_set_c(o, "code", e->code);
	json_set_c(o, "message", e->message);
	json_set_bool(o, "retryable", e->retryable);
	set_told(o, "retry_after_ms", e->retry_after_ms);
	return o;
}

static struct json *
warnings_json(struct arena *a, const struct llm_warnings *w)
{
	struct json *list = json_array(a);

	for (size_t i = 0; i < w->list.n; i++)
		json_push_str(list, str_c(w->list.v[i]));
	return list;
}

static struct json *
result_json(struct arena *a, const struct llm_result *r, const struct json *deltas)
{
	struct json *o = json_object(a);

	json_set(o, "deltas", deltas);
	json_set_str(o, "content", r->text);
	json_set_str(o, "reasoning", r->reasoning);
	json_set(o, "tool_calls", r->tool_calls ? r->tool_calls : json_array(a));
	json_set(o, "usage", usage_json(a, &r->usage));
	json_set_c(o, "finish", r->finish_reason);
	json_set_c(o, "finish_raw", r->finish_raw);
	json_set(o, "error", error_json(a, &r->error));
	json_set(o, "blobs", r->blobs ? r->blobs : json_array(a));
	json_set(o, "warnings", warnings_json(a, &r->warnings));
	return o;
}

static int
run_answer(struct ctx *c, const struct json *case_, struct sb *why)
{
	const struct json *expect = json_get(case_, "expect");
	struct str body = body_of(c->a, case_), key;
	struct json_iter it = { 0 };
	struct llm_result whole = { .truncated = false };
	struct json *value, *deltas = read_answer(c->a, case_, body, body.n, body.n, &whole);
	struct json *got = result_json(c->a, &whole, deltas);
	int verdict = VECTOR_PASS;

	while (json_next(expect, &it, &key, &value))
		if (vector_check_json(why, arena_strdup(c->a, key), value, json_get_s(got, key)) !=
		    VECTOR_PASS)
			verdict = VECTOR_FAIL;
	for (size_t cut = 0; cut <= body.n && verdict == VECTOR_PASS; cut++) {
		struct arena *a = arena_create("cut", 0);
		struct llm_result r = { .truncated = false };
		struct json *d = read_answer(a, case_, body, cut ? cut : 1, cut ? body.n : 1, &r);

		verdict =
		    vector_check_json(why, arena_printf(c->a, "cut at %zu", cut), got, result_json(a, &r, d));
		arena_destroy(&a);
	}
	return verdict;
}

static double
number(const struct json *params, const char *key)
{
	return json_has(params, key) ? json_get_double(params, key, LLM_UNSET) : LLM_UNSET;
}

static struct llm_request
request_of(struct arena *a, const struct json *case_)
{
	const struct json *input = json_get(case_, "input"), *list = json_get(input, "messages"),
			  *p = json_get(input, "params");
	struct llm_message *messages = arena_array(a, struct llm_message, json_len(list) + 1);
	struct str *stop = arena_array(a, struct str, json_len(json_get(p, "stop")) + 1),
		   effort = json_get_str(p, "reasoning_effort");
	struct llm_request q = { .messages = messages,
		.message_n = json_len(list),
		.tools = json_get(input, "tools"),
		.stream = json_get_bool(input, "stream", false),
		.caps = json_get(case_, "caps"),
		.params = LLM_PARAMS_NONE };

	for (size_t i = 0; i < q.message_n; i++) {
		const struct json *m = json_at(list, i);

		messages[i] = (struct llm_message){ .role = arena_strdup(a, json_get_str(m, "role")),
			.content = json_get_str(m, "content"),
			.name = json_get_str(m, "name"),
			.prefill = json_get_bool(m, "prefill", false),
			.reasoning = json_get_str(m, "reasoning"),
			.tool_calls = json_get(m, "tool_calls"),
			.model = json_get_str(m, "model"),
			.blobs = json_get(m, "blobs"),
			.tool_call_id = json_get_str(m, "tool_call_id") };
	}
	for (size_t i = 0; i < json_len(json_get(p, "stop")); i++)
		stop[q.params.stop_n++] = json_str(json_at(json_get(p, "stop"), i));
	q.params.stop = stop;
	q.params.temperature = number(p, "temperature");
	q.params.top_p = number(p, "top_p");
	q.params.frequency_penalty = number(p, "frequency_penalty");
	q.params.presence_penalty = number(p, "presence_penalty");
	q.params.min_p = number(p, "min_p");
	q.params.top_a = number(p, "top_a");
	q.params.repetition_penalty = number(p, "repetition_penalty");
	q.params.top_k = json_get_int(p, "top_k", -1);
	q.params.max_tokens = json_get_int(p, "max_output_tokens", -1);
	q.params.seed = json_get_int(p, "seed", -1);
	q.params.thinking_budget = json_get_int(p, "thinking_budget", -1);
	q.params.reasoning_effort = effort.p ? arena_strdup(a, effort) : NULL;
	q.model = arena_strdup(a, json_get_str(case_, "model"));
	q.dialect = arena_strdup(a, json_get_str(case_, "dialect"));
	return q;
}

static bool
holds(const struct json *list, struct str s)
{
	for (size_t i = 0; i < json_len(list); i++)
		if (str_eq(json_str(json_at(list, i)), s))
			return true;
	return false;
}

static int
run_request(struct ctx *c, const struct json *case_, struct sb *why)
{
	const struct json *expect = json_get(case_, "expect"), *absent = json_get(expect, "absent");
	const struct json *codes = json_get(expect, "warnings");
	struct llm_request q = request_of(c->a, case_);
	struct llm_warnings w = { 0 };
	struct json *body = llm_body(c->a, &q, &w), *value;
	struct json *warned = warnings_json(c->a, &w);
	struct json_iter it = { 0 };
	struct str key;
	int verdict = VECTOR_PASS;

	while (json_next(json_get(expect, "body"), &it, &key, &value))
		if (vector_check_json(why, arena_strdup(c->a, key), value, json_get_s(body, key)) !=
		    VECTOR_PASS)
			verdict = VECTOR_FAIL;
	for (size_t i = 0; i < json_len(absent); i++) {
		if (json_get_s(body, json_str(json_at(absent, i)))) {
			sb_addf(why, "; %.*s is there", STR_ARG(json_str(json_at(absent, i))));
			verdict = VECTOR_FAIL;
		}
	}
	for (size_t i = 0; i < json_len(codes) || i < json_len(warned); i++)
		if ((i < json_len(codes) && !holds(warned, json_str(json_at(codes, i)))) ||
		    (i < json_len(warned) && !holds(codes, json_str(json_at(warned, i)))))
			verdict = VECTOR_FAIL;
	if (verdict != VECTOR_PASS)
		vector_check_json(why, "warnings", codes, warned);
	return verdict;
}

static int
run_caps(struct ctx *c, const struct json *case_, struct sb *why)
{
	const struct json *expect = json_get(case_, "expect");
	struct str model = json_get_str(json_get(case_, "input"), "model"), key;
	struct llm_caps caps = caps_find(model, NULL);
	struct json_iter it = { 0 };
	struct json *value;
	int verdict = vector_check_str(why, "name", json_get_str(expect, "name"), caps_name(c->a, model));

	if (vector_check_str(why, "match", json_get_str(expect, "match"), str_c(caps.match)) != VECTOR_PASS)
		verdict = VECTOR_FAIL;
	while (json_next(json_get(expect, "row"), &it, &key, &value))
		if (vector_check_json(why, arena_strdup(c->a, key), value,
			caps_get(&caps, arena_strdup(c->a, key))) != VECTOR_PASS)
			verdict = VECTOR_FAIL;
	return verdict;
}

static int
run_case(struct ctx *c, const struct json *file, const struct json *case_, struct sb *why)
{
	struct str kind = json_get_str(case_, "kind"), dialect = json_get_str(case_, "dialect");

	(void)file;
	if (str_is(kind, "caps"))
		return run_caps(c, case_, why);
	if (!dialect_find(arena_strdup(c->a, dialect))) {
		sb_addf(why, "dialect %.*s is not built", STR_ARG(dialect));
		return VECTOR_SKIP;
	}
	return str_is(kind, "request") ? run_request(c, case_, why) : run_answer(c, case_, why);
}

const struct vector_kind vectors_providers = { .name = "providers", .run_case = run_case };
