/*
 * lore: any bytes as a book and two messages: JSON up to the first NUL byte, then one message, a NUL, and
 * another. Beyond not crashing: a scan ends, verdicts and activations agree, a second scan is equal.
 */
#include "base/utf8.h"
#include "lore/book_file.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct str
expand(void *arg, struct str dialect, struct str text)
{
	(void)arg;
	(void)dialect;
	return text.n > 2 && text.p[0] == '{' ? str_sub(text, 1, text.n) : text;
}

static void
check(const struct lore_result *r)
{
	size_t on = 0;

	for (size_t i = 0; i < r->nverdicts; i++)
		on += lore_why_is_on(r->verdicts[i].why);
	if (on != r->nactive)
		abort();
	for (size_t i = 0; i < r->nactive; i++)
		if (!lore_why_is_on(r->verdicts[r->active[i].candidate].why) || r->printed[i] >= r->nactive)
			abort();
}

static void
scan(struct arena *a, const struct json *book, const struct lore_text *messages)
{
	struct lore_bound bound[] = { { lore_book_read(a, STR("B"), book), LORE_GLOBAL },
		{ lore_book_read(a, STR("C"), book), LORE_CHAT } };
	struct lore_binding b = { .books = bound, .nbooks = 2, .strategy = LORE_EVENLY };
	struct lore_scan in = { .messages = messages,
		.nmessages = 2,
		.max_context = 200,
		.settings = lore_settings_defaults(),
		.seed = 1,
		.trigger = STR("normal"),
		.calls = { .expand = expand } };
	const struct lore_set *set = lore_set_compile(a, &b);
	const struct lore_result *first, *second;
	struct lore_past past;

	in.settings.recursive = true;
	in.settings.min_activations = 3;
	in.settings.budget_percent = 100;
	first = lore_run(a, set, &in);
	second = lore_run(a, set, &in);
	check(first);
	if (first->nactive != second->nactive || !str_eq(first->before, second->before) ||
	    first->rolls != second->rolls)
		abort();
	past = lore_commit(a, first, 2);
	in.timers = lore_timers_replay(a, set, &past, 1);
	in.chat_length = 3;
	check(lore_run(a, set, &in));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_create("fuzz", 0);
	struct str all = { (const char *)data, size }, rest = all;
	struct str json = STR_NULL, one = STR(""), two = STR("");
	struct lore_text messages[2];
	struct json_error err;
	struct json *book;

	if (size > 0 && str_next(&rest, '\0', &json) && str_next(&rest, '\0', &one))
		str_next(&rest, '\0', &two);
	messages[0] = (struct lore_text){ STR("User"), utf8_clean(a, one) };
	messages[1] = (struct lore_text){ STR("Char"), utf8_clean(a, two) };
	book = json.p != NULL ? json_read(a, json, 32, &err) : NULL;
	if (book != NULL)
		scan(a, book, messages);
	arena_destroy(&a);
	return 0;
}
