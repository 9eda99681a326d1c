/*
 * bench regex: 200 scripts made of 24 patterns as presets and cards have them, over a history of 100 KB in
 * 1 KB messages. Figure that must hold: 20 ms CPU cold. Then a warm turn: the same history and one new message,
 * of which only that one is new to the process.
 */
#include "base/rng.h"
#include "base/sb.h"
#include "regex/memo.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SCRIPTS = 200, MESSAGES = 100, MESSAGE = 1024, ROUNDS = 15 };

static double
cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static const char *const patterns[][2] = {
	{ "/<think(?:ing)?>[\\s\\S]*?<\\/think(?:ing)?>\\s*/gi", "" },
	{ "/[\\s\\S]*<summary>([\\s\\S]*?)<\\/summary>[\\s\\S]*/g", "$1" },
	{ "/<StatusBlock>\\s*([\\s\\S]*?)\\s*<\\/StatusBlock>/gs", "<details>$1</details>" },
	{ "/<UpdateVariable>(?:(?!<\\/UpdateVariable>)[\\s\\S])*<\\/UpdateVariable>/g", "" },
	{ "/\\n{3,}/g", "\n\n" },
	{ "/^\\s*[-*]{3,}\\s*$/gm", "---" },
	{ "/\xe2\x80\x9c([^\xe2\x80\x9d]*)\xe2\x80\x9d/g", "\"$1\"" },
	{ "/[\xe3\x80\x8c\xe3\x80\x8e](.*?)[\xe3\x80\x8d\xe3\x80\x8f]/g", "\"$1\"" },
	{ "/(?<=\\n|^)\\s*\\[OOC:.*?\\]\\s*/gs", "" },
	{ "/\\*\\*([^*\\n]+)\\*\\*/g", "<b>$1</b>" },
	{ "/(?<!\\*)\\*([^*\\n]+?)\\*(?!\\*)/g", "_$1_" },
	{ "/```(?:json|xml)?\\n[\\s\\S]*?```/g", "" },
	{ "/<!--[\\s\\S]*?-->/g", "" },
	{ "/<(?:plot|scene|note)(?:\\s[^>]*)?>|<\\/(?:plot|scene|note)>/gi", "" },
	{ "/\\[(?:HP|MP)\\s*[:\xef\xbc\x9a]\\s*(\\d+)\\s*\\/\\s*(\\d+)\\]/g", "$1 of $2" },
	{ "/(\\d{1,2}):(\\d{2})\\s*(AM|PM)/gi", "$1:$2" },
	{ "/\\b(shivers?|ministrations|testament to)\\b/gi", "" },
	{ "/(?:\\.{4,}|\xe2\x80\xa6{2,})/g", "\xe2\x80\xa6" },
	{ "/<img[^>]*src=[\"']([^\"']+)[\"'][^>]*>/g", "" },
	{ "/\\{\\{(?:img|pic)::([^}]+)\\}\\}/g", "" },
	{ "/^(?:Assistant|AI|Narrator)\\s*:\\s*/i", "" },
	{ "/\\p{Extended_Pictographic}+/gu", "" },
	{ "/<options?>\\s*((?:\\d+\\.[^\\n]*\\n?)+)<\\/options?>/g", "$1" },
	{ "/(^|\\n)>\\s?(.*)/g", "$1$2" },
};

static struct str *
history(struct arena *a)
{
	static const char *const words[] = { "the", "of", "and", "she", "looked", "at", "him", "with", "a",
		"smile", "then", "said", "quietly", "I", "do", "not", "know", "door", "rain", "hand",
		"*nods*", "\"Yes,\"", "<i>", "(no)", "\xe6\xa2\xa6", "\xe2\x80\x9cno\xe2\x80\x9d" };
	struct str *out = arena_array(a, struct str, MESSAGES);
	struct rng r = rng_seed(5);

	for (size_t i = 0; i < MESSAGES; i++) {
		struct sb s = sb_new(a);

		if (i % 10 == 0)
			sb_adds(&s, "<think>plan</think>\n");
		while (s.n < MESSAGE) {
			sb_adds(&s, words[rng_below(&r, 26)]);
			sb_adds(&s, rng_below(&r, 9) ? " " : rng_below(&r, 4) ? ". " : ".\n\n");
		}
		if (i % 20 == 0)
			sb_adds(&s, "<StatusBlock>\n[HP: 10/20]\n</StatusBlock>");
		out[i] = sb_str(&s);
	}
	return out;
}

static size_t
apply(struct arena *a, const struct regex_set *set, const struct str *messages, size_t n, struct regex_memo *memo)
{
	size_t changed = 0;

	for (size_t i = 0; i < n; i++) {
		struct regex_call call = { .place = REGEX_PLACE_AI,
			.channel = REGEX_PROMPT,
			.has_depth = true,
			.depth = (int32_t)i,
			.memo = memo };

		changed += regex_apply(a, set, messages[i], &call, NULL).p != messages[i].p;
	}
	return changed;
}

static int
by_value(const void *x, const void *y)
{
	double p = *(const double *)x, q = *(const double *)y;

	return p < q ? -1 : p > q;
}

static double
median(double *took)
{
	qsort(took, ROUNDS, sizeof *took, by_value);
	return took[ROUNDS / 2];
}

static double
cold(struct arena *a, const struct regex_set *set, const struct str *messages, size_t *changed)
{
	double took[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		struct arena_mark m = arena_mark(a);

		took[i] = cpu_ms();
		*changed = apply(a, set, messages, MESSAGES, NULL);
		took[i] = cpu_ms() - took[i];
		arena_rewind(a, m);
	}
	return median(took);
}

/* Each turn has one message that no turn before it had. */
static double
warm(struct arena *a, const struct regex_set *set, struct str *messages)
{
	struct regex_memo *memo = regex_memo_create(a, 8 << 20);
	double took[ROUNDS];

	apply(a, set, messages, MESSAGES, memo);
	for (int i = 0; i < ROUNDS; i++) {
		messages[0] = str_c(arena_printf(a, "%d %.*s", i, STR_ARG(messages[i + 1])));
		took[i] = cpu_ms();
		apply(a, set, messages, MESSAGES, memo);
		took[i] = cpu_ms() - took[i];
	}
	return median(took);
}

int
main(void)
{
	size_t kinds = sizeof patterns / sizeof patterns[0], changed;
	struct arena *a = arena_create("bench", 1 << 20);
	struct regex_script v[SCRIPTS];
	struct str *messages = history(a);
	struct regex_set *set;
	double all, compiled = cpu_ms();

	for (size_t i = 0; i < SCRIPTS; i++)
		v[i] = (struct regex_script){ .find = str_c(patterns[i % kinds][0]),
			.replace = str_c(patterns[i % kinds][1]),
			.places = REGEX_PLACE_ALL,
			.prompt_only = true,
			.min_depth = REGEX_DEPTH_NONE,
			.max_depth = REGEX_DEPTH_NONE };
	set = regex_set_compile(a, v, SCRIPTS);
	compiled = cpu_ms() - compiled;
	for (size_t i = 0; i < kinds; i++)
		if (regex_set_fault(set, i) != NULL)
			printf("%s: %s\n", patterns[i][0], regex_set_fault(set, i));
	all = cold(a, set, messages, &changed);
	printf("%d scripts over 100 KB, cold: %.2f ms, %zu of %d messages changed; compiled in %.1f ms%s\n", SCRIPTS,
	    all, changed, MESSAGES, compiled, all > 20 ? "  TOO SLOW" : "");
	printf("%d scripts over 100 KB, warm, one message new: %.2f ms\n", SCRIPTS, warm(a, set, messages));
	arena_destroy(&a);
	return all <= 20 ? 0 : 1;
}
