/* tokens: a case has `encoding`, `text` and the reference's `ids`. */
#include "vectors.h"

#include "token/token.h"

static int
run_case(struct ctx *c, const struct json *file, const struct json *case_, struct sb *why)
{
	struct str text = json_get_str(case_, "text");
	struct json *got = json_array(c->a);
	enum token_encoding e;
	uint32_t *ids;
	size_t n;

	(void)file;
	if (!token_encoding_find(json_get_str(case_, "encoding"), &e)) {
		sb_adds(why, "unknown encoding");
		return VECTOR_FAIL;
	}
	n = token_encode(c->a, e, text, &ids);
	for (size_t i = 0; i < n; i++)
		json_push_int(got, ids[i]);
	if (token_count(e, text) != n) {
		sb_addf(why, "counted %zu, encoded %zu", token_count(e, text), n);
		return VECTOR_FAIL;
	}
	return vector_check_json(why, "ids", json_get(case_, "ids"), got);
}

const struct vector_kind vectors_tokens = { .name = "tokens", .run_case = run_case };
