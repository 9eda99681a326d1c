/*
 * caps: see caps.h. The rows are parsed once per process and only read afterwards.
 */
#include "llm/caps.h"

#include "base/limits.h"
#include "base/utf8.h"

#include <pthread.h>
#include <stdlib.h>

static const char *const row_texts[] = {
#include "llm/caps_rows.inc"
};

enum { ROW_COUNT = sizeof row_texts / sizeof *row_texts, MODEL_MAX = 256 };

static struct json *rows[ROW_COUNT];

static void
rows_load(void)
{
	/* for the process's life: rows are handed out */
	static struct arena *a;
	struct json_error bad;

	a = arena_create("llm.caps", 0);
	for (size_t i = 0; i < ROW_COUNT; i++) {
		rows[i] = json_read(a, str_c(row_texts[i]), LIM_JSON_DEPTH, &bad);
		if (!rows[i])
			abort();
	}
}

static bool
matches(struct str pattern, struct str s)
{
	size_t p = 0, at = 0, star = STR_NPOS, back = 0;

	while (at < s.n) {
		if (p < pattern.n && pattern.p[p] == '*') {
			star = p++;
			back = at;
		} else if (p < pattern.n && pattern.p[p] == s.p[at]) {
			p++;
			at++;
		} else if (star != STR_NPOS) {
			p = star + 1;
			at = ++back;
		} else {
			return false;
		}
	}
	while (p < pattern.n && pattern.p[p] == '*')
		p++;
	return p == pattern.n;
}

static struct str
cut_prefix(struct str s, const char *const *prefixes)
{
	for (; *prefixes; prefixes++)
		if (str_starts(s, str_c(*prefixes)))
			return str_sub(s, strlen(*prefixes), s.n);
	return s;
}

static bool
all_digits(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
	return s.n > 0;
}

/* "-v1:0" and ":free", "@20250514" at the end say nothing about the model. */
static struct str
cut_suffix(struct str s)
{
	size_t colon, at = str_chr(s, '@', 0), v;

	if (at != STR_NPOS)
		s = str_sub(s, 0, at);
	colon = str_chr(s, ':', 0);
	if (colon == STR_NPOS)
		return s;
	v = colon;
	while (v > 0 && s.p[v - 1] >= '0' && s.p[v - 1] <= '9')
		v--;
	if (v >= 2 && v < colon && s.p[v - 1] == 'v' && s.p[v - 2] == '-' &&
	    all_digits(str_sub(s, colon + 1, s.n)))
		return str_sub(s, 0, v - 2);
	return str_sub(s, 0, colon);
}

struct str
caps_name(struct arena *a, struct str model)
{
	static const char *const regions[] = { "us.", "eu.", "apac.", "jp.", "global.", NULL };
	static const char *const vendors[] = { "anthropic.", "amazon.", "cohere.", "deepseek.", "google.",
		"meta.", "mistral.", "openai.", "qwen.", "xai.", NULL };
	struct str s = utf8_lower(a, str_trim(str_sub(model, 0, MODEL_MAX)));
	char *dots;

	for (size_t slash = str_chr(s, '/', 0); slash != STR_NPOS; slash = str_chr(s, '/', 0))
		s = str_sub(s, slash + 1, s.n);
	s = cut_suffix(s);
	s = cut_prefix(cut_prefix(s, regions), vendors);
	dots = arena_strdup(a, s);
	if (str_starts(s, STR("claude-")))
		for (size_t i = 1; i + 1 < s.n; i++)
			if (dots[i] == '.' && all_digits(str_sub(s, i - 1, i)) &&
			    all_digits(str_sub(s, i + 1, i + 2)))
				dots[i] = '-';
	return (struct str){ dots, s.n };
}

struct llm_caps
caps_find(struct str model, const struct json *over)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct arena *a = arena_create("llm.model", 0);
	struct str name = caps_name(a, model);
	struct llm_caps found = { .over = over };

	pthread_once(&once, rows_load);
	for (size_t i = 0; i < ROW_COUNT && !found.row; i++) {
		const struct json *patterns = json_get(rows[i], "match");

		for (size_t p = 0; p < json_len(patterns) && !found.row; p++) {
			struct str pattern = json_str(json_at(patterns, p));

			if (matches(pattern, name)) {
				found.row = rows[i];
				found.match = pattern.p;
			}
		}
	}
	arena_destroy(&a);
	return found;
}

const struct json *
caps_get(const struct llm_caps *c, const char *key)
{
	return json_has(c->over, key) ? json_get(c->over, key) : json_get(c->row, key);
}

bool
caps_is(const struct llm_caps *c, const char *key, const char *value)
{
	return str_is(json_str(caps_get(c, key)), value);
}

int64_t
caps_int(const struct llm_caps *c, const char *key, int64_t dflt)
{
	return json_int(caps_get(c, key), dflt);
}

bool
caps_bool(const struct llm_caps *c, const char *key, bool dflt)
{
	return json_bool(caps_get(c, key), dflt);
}
