/*
 * regex: any pattern over any text. The first byte gives flags, then come pattern and text,
 * divided by a line break. Beyond not crashing: a match lies inside the text, never splits a
 * character, and the filter lets it through.
 */
#include "base/sb.h"
#include "base/utf8.h"
#include "regex/script.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
search(struct arena *a, const struct regex *re, struct str text)
{
	struct regex_budget budget = { 20000 };
	struct regex_search s;
	struct regex_print print;
	size_t from = 0;

	regex_print_text(&print, text);
	regex_search(&s, a, re, text, &budget);
	for (int n = 0; n < 1000 && regex_next(&s) == REGEX_MATCH; n++) {
		struct regex_span m = s.span[0];

		if (m.from < from || m.to < m.from || m.to > s.units.n || !regex_may_match(re, &print))
			abort();
		if (!utf8_valid(regex_text(a, str_sub(s.units, m.from, m.to))))
			abort();
		from = m.to;
	}
}

static void
replace(struct arena *a, struct str find, struct str text)
{
	struct regex_script script = { .find = find,
		.replace = STR("<$1|$<n>|{{match}}>"),
		.places = REGEX_PLACE_ALL,
		.min_depth = REGEX_DEPTH_NONE,
		.max_depth = REGEX_DEPTH_NONE };
	struct regex_own own = { 0 };
	struct regex_budget budget = { 20000 };
	struct regex_call call = { .place = REGEX_PLACE_AI, .own = &own, .budget = &budget };
	struct str out = regex_apply(a, regex_set_compile(a, &script, 1), text, &call, NULL);

	if (!utf8_valid(out))
		abort();
	for (size_t i = 0; i < own.part.n; i++)
		if (own.part.v[i].to > out.n || own.part.v[i].from >= own.part.v[i].to)
			abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_create("fuzz", 0);
	struct str whole = utf8_clean(a, (struct str){ (const char *)data + 1, size > 0 ? size - 1 : 0 });
	size_t cut = str_chr(whole, '\n', 0);
	struct str pattern = str_sub(whole, 0, cut),
		   text = cut == STR_NPOS ? STR("") : str_sub(whole, cut + 1, whole.n);
	struct regex_error err;
	const struct regex *re =
	    size > 0 && pattern.p != NULL ? regex_compile(a, pattern, data[0] & 0x3f, &err) : NULL;

	if (re != NULL)
		search(a, re, text);
	if (pattern.n > 0)
		replace(a, pattern, text);
	arena_destroy(&a);
	return 0;
}
