/* assembly: a whole prompt: preset, card, persona, books, scripts and chat in, the exact messages out. */
#include "fixture.h"
#include "vectors.h"

static int
run_case(struct ctx *c, const struct json *file, const struct json *case_, struct sb *why)
{
	const struct json *in = json_get(case_, "input"), *expected = json_get(case_, "expected");
	struct fixture f;
	struct prompt *p;

	(void)file;
	fixture_read(&f, c->a, in);
	fixture_history(&f, json_get(in, "history"), true);
	prompt_assemble(c->a, &f.in, &p);
	if (json_get(expected, "error"))
		return vector_check_str(why, "error", json_get_str(expected, "error"), str_c(p->error));
	return vector_check_json(why, "messages", json_get(expected, "messages"), fixture_messages(c->a, p));
}

const struct vector_kind vectors_assembly = { .name = "assembly", .run_case = run_case };
