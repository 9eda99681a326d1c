/*
 * fuzz target: an answer of a model server. The first byte chooses dialect, content type, status and the size
 * of the pieces. Whatever the cuts are, the record must be the same and all text must be UTF-8.
 */
#include "base/limits.h"
#include "base/utf8.h"
#include "llm/dialect.h"

#include <stdlib.h>

static struct llm_result
read_answer(struct arena *a, struct arena *tmp, unsigned how, struct str body, size_t step)
{
	static const struct str types[] = { { "text/event-stream", 17 }, { "application/json", 16 },
		{ "text/html", 9 }, { NULL, 0 } };
	static const char *const dialects[] = { "chat_completions", "responses", "anthropic", "google" };
	struct answer_opts opts = { .dialect = dialect_find(dialects[how >> 6]),
		.stream = (how & 4) != 0,
		.think = (how & 8) == 0,
		.think_open = (how & 16) != 0,
		.text_max = 1 << 16 };
	struct answer_begin_head head = { .status = how & 32 ? 500 : 200, .content_type = types[how & 3] };
	struct llm_result r = { .truncated = false };
	struct answer an;

	answer_begin(&an, a, tmp, &opts);
	answer_begin_head(&an, &head);
	for (size_t at = 0; at < body.n && answer_feed(&an, str_sub(body, at, at + step)); at += step)
		;
	answer_end(&an);
	answer_result(&an, a, &r);
	if (!utf8_valid(r.text) || !utf8_valid(r.reasoning) || !utf8_valid(str_c(r.error.message)))
		abort();
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_create("fuzz", 0), *tmp = arena_create("fuzz.tmp", 0);
	struct llm_result whole, cut;
	struct str body;

	if (size > 0) {
		body = (struct str){ (const char *)data + 1, size - 1 };
		whole = read_answer(a, tmp, data[0], body, body.n ? body.n : 1);
		cut = read_answer(a, tmp, data[0], body, 1 + data[0] % 7);
		if (!str_eq(whole.text, cut.text) || !str_eq(whole.reasoning, cut.reasoning) ||
		    whole.error.kind != cut.error.kind || !json_equal(whole.tool_calls, cut.tool_calls) ||
		    !json_equal(whole.blobs, cut.blobs))
			abort();
	}
	arena_destroy(&a);
	arena_destroy(&tmp);
	return 0;
}
