/*
 * regex: compiling and running. The pattern goes through js_parse and js_write to PCRE2. Match
 * data, contexts and JIT stacks belong to the thread. Bounds: steps for each start position (PCRE2
 * counts them), and CPU time for the starts together, looked at between windows of starts.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "regex/regex.h"

#include "base/sb.h"
#include "base/utf8.h"
#include "regex/js.h"

#include <pcre2.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum {
	JIT_STACK_FIRST = 32 << 10,
	JIT_STACK_MAX = 1 << 20,
	HEAP_MAX_KIB = 64 << 10,
	JIT_STEPS = 100000, /* for each start position, or four times the text if that is more */
	INTERPRETER_STEPS = 1000000,
	DEPTH_MAX = 250000,
	NEST_MAX = 400, /* parentheses of what js_write makes of JS_DEPTH_MAX groups */
	WINDOW = 1024,  /* start positions between two looks at the clock */
	WINDOW_STEPS = 100000000,
	CODE_MAX = 4 << 20, /* bytes of one compiled pattern */
};

struct behind {
	pcre2_code *code;
	bool negative;
};

struct regex {
	pcre2_code *code;
	bool jit;
	int flags, groups;
	bool halves;            /* it names single halves of pairs */
	struct js_group *group; /* [groups + 1] */
	VEC(struct js_marker) markers;
	struct behind *behind;
	size_t nbehinds;
	VEC(struct js_name) names;
	struct js_needs needs;
	size_t bytes;
};

/* ---- what a thread owns ---- */

struct scratch {
	pcre2_match_data *md;
	uint32_t pairs;
	pcre2_match_context *match, *inner; /* inner: for look-behinds, while the other runs */
	pcre2_match_data *inner_md;
	pcre2_jit_stack *stack;
};

static pthread_key_t scratch_key;
static pthread_once_t scratch_once = PTHREAD_ONCE_INIT;

static void
scratch_free(void *p)
{
	struct scratch *s = p;

	pcre2_match_data_free(s->md);
	pcre2_match_data_free(s->inner_md);
	pcre2_match_context_free(s->match);
	pcre2_match_context_free(s->inner);
	pcre2_jit_stack_free(s->stack);
	free(s);
}

static void
scratch_key_make(void)
{
	if (pthread_key_create(&scratch_key, scratch_free) != 0)
		abort();
}

static struct scratch *
scratch_get(uint32_t pairs)
{
	struct scratch *s;

	pthread_once(&scratch_once, scratch_key_make);
	s = pthread_getspecific(scratch_key);
	if (s == NULL) {
		s = calloc(1, sizeof *s);
		if (s == NULL || pthread_setspecific(scratch_key, s) != 0)
			abort();
		s->match = pcre2_match_context_create(NULL);
		s->inner = pcre2_match_context_create(NULL);
		s->inner_md = pcre2_match_data_create(1, NULL);
		if (s->match == NULL || s->inner == NULL || s->inner_md == NULL)
			abort();
		s->stack = pcre2_jit_stack_create(JIT_STACK_FIRST, JIT_STACK_MAX, NULL);
		pcre2_jit_stack_assign(s->match, NULL, s->stack);
		pcre2_set_heap_limit(s->match, HEAP_MAX_KIB);
		pcre2_set_depth_limit(s->match, DEPTH_MAX);
		pcre2_set_heap_limit(s->inner, HEAP_MAX_KIB);
		pcre2_set_match_limit(s->inner, JIT_STEPS);
	}
	if (s->pairs < pairs) {
		pcre2_match_data_free(s->md);
		s->md = pcre2_match_data_create(pairs, NULL);
		if (s->md == NULL)
			abort();
		s->pairs = pairs;
	}
	return s;
}

/* ---- compiling ---- */

static void
code_free(void *code)
{
	pcre2_code_free(code);
}

static void
context_free(void *context)
{
	pcre2_compile_context_free(context);
}

/* Words for what PCRE2 may still say about a pattern that JavaScript accepts. */
static void
compile_error(int code, size_t at, struct regex_error *err)
{
	bool big = code == PCRE2_ERROR_PATTERN_TOO_LARGE || code == PCRE2_ERROR_PATTERN_TOO_COMPLICATED ||
		   code == PCRE2_ERROR_PARENTHESES_NEST_TOO_DEEP || code == PCRE2_ERROR_HEAP_FAILED ||
		   code == PCRE2_ERROR_PATTERN_STRING_TOO_LONG;

	*err = (struct regex_error){
		.fault = big                                            ? REGEX_TOO_BIG
			 : code == PCRE2_ERROR_UNKNOWN_UNICODE_PROPERTY ? REGEX_SYNTAX
									: REGEX_UNSUPPORTED,
		.at = at,
		.what = big                                            ? "pattern too big"
			: code == PCRE2_ERROR_UNKNOWN_UNICODE_PROPERTY ? "bad property name"
								       : "not supported",
	};
}

static pcre2_code *
code_compile(struct arena *a, struct str pattern, bool anchored, struct regex_error *err)
{
	uint32_t options = PCRE2_UTF | PCRE2_ALLOW_EMPTY_CLASS | PCRE2_MATCH_UNSET_BACKREF |
			   PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C | PCRE2_NEVER_UCP |
			   PCRE2_USE_OFFSET_LIMIT | (anchored ? PCRE2_ANCHORED : 0);
	struct arena_mark m = arena_mark(a);
	pcre2_compile_context *context = arena_defer(a, context_free, pcre2_compile_context_create(NULL));
	pcre2_code *code;
	size_t at, size = 0;
	int rc;

	if (context == NULL)
		abort();
	pcre2_set_newline(context, PCRE2_NEWLINE_LF);
	pcre2_set_compile_extra_options(context, PCRE2_EXTRA_ALLOW_SURROGATE_ESCAPES);
	pcre2_set_parens_nest_limit(context, NEST_MAX);
	code = pcre2_compile((PCRE2_SPTR)pattern.p, pattern.n, options, &rc, &at, context);
	arena_rewind(a, m);
	if (code == NULL) {
		compile_error(rc, at, err);
		return NULL;
	}
	arena_defer(a, code_free, code);
	pcre2_pattern_info(code, PCRE2_INFO_SIZE, &size);
	if (size > CODE_MAX) {
		compile_error(PCRE2_ERROR_PATTERN_TOO_LARGE, 0, err);
		return NULL;
	}
	return code;
}

static size_t
code_bytes(const pcre2_code *code)
{
	size_t size = 0, jit = 0;

	pcre2_pattern_info(code, PCRE2_INFO_SIZE, &size);
	pcre2_pattern_info(code, PCRE2_INFO_JITSIZE, &jit);
	return size + jit;
}

/* What is kept of the parsed pattern, copied from scratch memory. */
static void
keep(struct arena *a, struct regex *re, const struct js_pattern *js, const struct js_program *prog)
{
	struct js_needs needs = js_needs(a, js);

	re->groups = js->groups;
	re->halves = js->halves;
	re->needs = needs;
	re->group = arena_copy(a, prog->group, ((size_t)js->groups + 1) * sizeof prog->group[0]);
	for (size_t i = 0; i < prog->markers.n; i++)
		vec_push(a, &re->markers, prog->markers.v[i]);
	for (size_t i = 0; i < js->names.n; i++)
		vec_push(a, &re->names,
		    ((struct js_name){ arena_str(a, js->names.v[i].name), js->names.v[i].group }));
}

static int
compile_behinds(struct arena *a, struct regex *re, const struct js_program *prog, struct regex_error *err)
{
	re->behind = arena_array(a, struct behind, prog->behinds.n + 1);
	for (size_t i = 0; i < prog->behinds.n; i++) {
		re->behind[i].code = code_compile(a, prog->behinds.v[i].pattern, true, err);
		re->behind[i].negative = prog->behinds.v[i].negative;
		if (re->behind[i].code == NULL)
			return -1;
		pcre2_jit_compile(re->behind[i].code, PCRE2_JIT_COMPLETE);
		re->bytes += code_bytes(re->behind[i].code);
	}
	re->nbehinds = prog->behinds.n;
	return 0;
}

static struct regex *
compile_with(struct arena *a, struct arena *scratch, struct str pattern, int flags, struct regex_error *err)
{
	struct regex *re;
	struct js_pattern js;
	struct js_program prog;

	if (js_parse(scratch, pattern, flags, &js, err) < 0 || js_write(scratch, &js, &prog, err) < 0)
		return NULL;
	re = arena_new(a, struct regex);
	re->flags = flags;
	keep(a, re, &js, &prog);
	re->code = code_compile(a, prog.pattern, (flags & REGEX_Y) != 0, err);
	if (re->code == NULL || compile_behinds(a, re, &prog, err) < 0)
		return NULL;
	re->jit = pcre2_jit_compile(re->code, PCRE2_JIT_COMPLETE) == 0;
	re->bytes += code_bytes(re->code);
	return re;
}

struct regex *
regex_compile(struct arena *a, struct str pattern, int flags, struct regex_error *err)
{
	struct arena *scratch = arena_create("regex", 0);
	struct regex *re = compile_with(a, scratch, pattern, flags, err);

	arena_destroy(&scratch);
	return re;
}

size_t
regex_bytes(const struct regex *re)
{
	return re->bytes;
}

int
regex_groups(const struct regex *re)
{
	return re->groups;
}

bool
regex_jitted(const struct regex *re)
{
	return re->jit;
}

int
regex_flags(struct str letters)
{
	static const char known[] = "gimsuyd";
	int flags = 0;

	for (size_t i = 0; i < letters.n; i++) {
		const char *at = letters.p[i] ? strchr(known, letters.p[i]) : NULL;

		if (at == NULL || (flags & 1 << (at - known)))
			return -1;
		flags |= 1 << (at - known);
	}
	return flags;
}

bool
regex_may_match(const struct regex *re, const struct regex_print *print)
{
	if (re->needs.any.n == 0)
		return true;
	for (size_t i = 0; i < re->needs.any.n; i++) {
		const struct js_need *need = &re->needs.any.v[i];
		size_t j = 0;

		while (j < need->n && (print->bits[need->bit[j] / 64] >> need->bit[j] % 64 & 1))
			j++;
		if (j == need->n)
			return true;
	}
	return false;
}

/* ---- texts ---- */

/* Any byte of 0xf0 or more? Eight at a time: its four top bits are set. */
static bool
has_astral(struct str s)
{
	const uint64_t tops = UINT64_C(0x8080808080808080);
	size_t i = 0;

	for (; i + 8 <= s.n; i += 8) {
		uint64_t w;

		memcpy(&w, s.p + i, 8);
		if (w & w << 1 & w << 2 & w << 3 & tops)
			return true;
	}
	for (; i < s.n; i++)
		if ((unsigned char)s.p[i] >= 0xf0)
			return true;
	return false;
}

static void
put_half(struct sb *out, uint32_t half)
{
	sb_addc(out, (char)0xed);
	sb_addc(out, (char)(0x80 | (half >> 6 & 0x3f)));
	sb_addc(out, (char)(0x80 | (half & 0x3f)));
}

static struct str
split_pairs(struct arena *a, struct str s)
{
	struct sb out = sb_new(a);

	sb_reserve(&out, s.n + s.n / 2);
	for (size_t i = 0; i < s.n;) {
		size_t at = i;
		uint32_t r;

		if ((unsigned char)s.p[i] < 0xf0) {
			sb_addc(&out, s.p[i++]);
			continue;
		}
		r = utf8_next(s, &i);
		if (r > 0xffff) {
			put_half(&out, 0xd800 + ((r - 0x10000) >> 10));
			put_half(&out, 0xdc00 + ((r - 0x10000) & 0x3ff));
		} else {
			sb_add(&out, str_sub(s, at, i));
		}
	}
	return sb_str(&out);
}

/* The half of a pair that stands at pos, 0 = none. */
static uint32_t
half_at(struct str s, size_t pos)
{
	if (pos + 2 >= s.n || (unsigned char)s.p[pos] != 0xed || (unsigned char)s.p[pos + 1] < 0xa0)
		return 0;
	return 0xd000 | ((uint32_t)s.p[pos + 1] & 0x3f) << 6 | ((uint32_t)s.p[pos + 2] & 0x3f);
}

struct str
regex_text(struct arena *a, struct str units)
{
	struct sb out;

	if (units.n == 0 || memchr(units.p, 0xed, units.n) == NULL)
		return units;
	out = sb_new(a);
	sb_reserve(&out, units.n);
	for (size_t i = 0; i < units.n;) {
		uint32_t high = half_at(units, i), low = high ? half_at(units, i + 3) : 0;

		if (high && high < 0xdc00 && low >= 0xdc00) {
			sb_add_rune(&out, 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00));
			i += 6;
		} else {
			sb_addc(&out, units.p[i++]);
		}
	}
	return sb_str(&out);
}

static size_t
char_size(struct str s, size_t pos)
{
	unsigned char c = (unsigned char)s.p[pos];
	uint32_t half = half_at(s, pos);

	if (half && half < 0xdc00)
		return 6;
	return c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

static struct str
reversed(struct arena *a, struct str s)
{
	char *out = arena_alloc(a, s.n + 1);

	for (size_t i = 0; i < s.n;) {
		unsigned char c = (unsigned char)s.p[i];
		size_t n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;

		n = n > s.n - i ? s.n - i : n;
		memcpy(out + s.n - i - n, s.p + i, n);
		i += n;
	}
	return (struct str){ out, s.n };
}

/* ---- searching ---- */

void
regex_search(struct regex_search *s, struct arena *a, const struct regex *re, struct str text,
    struct regex_budget *budget)
{
	bool split = !(re->flags & REGEX_U) && has_astral(text);

	*s = (struct regex_search){ .re = re, .a = a, .halves = split };
	s->units = split ? split_pairs(a, text) : text;
	if (s->units.p == NULL)
		s->units = STR("");
	s->span = arena_array(a, struct regex_span, (size_t)re->groups + 1);
	s->own = (struct regex_budget){ REGEX_BUDGET_US };
	s->budget = budget;
}

/* A look-behind of open length at `position`: the text before it, read backwards, must begin with the
 * pattern. */
static int
behind_callout(pcre2_callout_block *block, void *data)
{
	struct regex_search *s = data;
	const struct behind *b = &s->re->behind[block->callout_number];
	struct scratch *scratch = scratch_get(1);
	int rc;

	if (s->reversed.p == NULL)
		s->reversed = reversed(s->a, s->units);
	rc = pcre2_match(b->code, (PCRE2_SPTR)s->reversed.p, s->reversed.n,
	    s->reversed.n - block->current_position, PCRE2_NO_UTF_CHECK, scratch->inner_md, scratch->inner);
	if (rc < 0 && rc != PCRE2_ERROR_NOMATCH)
		return PCRE2_ERROR_MATCHLIMIT;
	return (rc >= 0) == b->negative;
}

static int64_t
cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* The thread's CPU clock costs a system call: it is read only when the cheap coarse clock has moved on. */
struct watch {
	struct timespec coarse;
	int64_t cpu; /* -1 = not read yet */
};

static void
watch_spend(struct watch *w, struct regex_budget *budget)
{
	struct timespec now;
	int64_t cpu;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	if (now.tv_nsec == w->coarse.tv_nsec && now.tv_sec == w->coarse.tv_sec)
		return;
	w->coarse = now;
	cpu = cpu_us();
	budget->us -= w->cpu >= 0 ? cpu - w->cpu : 0;
	w->cpu = cpu;
}

static int
match_once(struct regex_search *s, struct scratch *scratch, size_t start)
{
	const struct regex *re = s->re;
	PCRE2_SPTR text = (PCRE2_SPTR)s->units.p;
	int rc = PCRE2_ERROR_JIT_STACKLIMIT;

	if (re->jit)
		rc = pcre2_jit_match(
		    re->code, text, s->units.n, start, PCRE2_NO_UTF_CHECK, scratch->md, scratch->match);
	if (rc == PCRE2_ERROR_JIT_STACKLIMIT) { /* no JIT, or its stack is too small: the interpreter has the
						   heap */
		size_t steps = s->units.n * 20 > INTERPRETER_STEPS ? s->units.n * 20 : INTERPRETER_STEPS;

		pcre2_set_match_limit(scratch->match, (uint32_t)(steps > UINT32_MAX ? UINT32_MAX : steps));
		rc = pcre2_match(re->code, text, s->units.n, start, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
		    scratch->md, scratch->match);
	}
	return rc;
}

/* From `start` on: PCRE2's answer. Long texts are searched in windows of start positions, with a look at the
 * clock between. */
static int
match_from(struct regex_search *s, struct scratch *scratch, size_t start)
{
	struct regex_budget *budget = s->budget != NULL ? s->budget : &s->own;
	size_t steps = s->units.n * 4 > JIT_STEPS ? s->units.n * 4 : JIT_STEPS;
	size_t window = (size_t)WINDOW_STEPS / steps < WINDOW ? (size_t)WINDOW_STEPS / steps + 64 : WINDOW;
	struct watch watch = { .cpu = -1 };
	int rc;

	if (budget->us <= 0)
		return PCRE2_ERROR_MATCHLIMIT;
	pcre2_set_callout(scratch->match, s->re->nbehinds > 0 ? behind_callout : NULL, s);
	for (;;) {
		bool last = s->units.n - start <= window || (s->re->flags & REGEX_Y);

		pcre2_set_match_limit(scratch->match, (uint32_t)(steps > UINT32_MAX ? UINT32_MAX : steps));
		pcre2_set_offset_limit(scratch->match, last ? PCRE2_UNSET : start + window - 1);
		if (!last && watch.cpu < 0)
			watch_spend(&watch, budget);
		rc = match_once(s, scratch, start);
		if (watch.cpu >= 0)
			watch_spend(&watch, budget);
		if (rc != PCRE2_ERROR_NOMATCH || last)
			return rc;
		if (budget->us <= 0)
			return PCRE2_ERROR_MATCHLIMIT;
		for (start += window;
		     start < s->units.n && ((unsigned char)s->units.p[start] & 0xc0) == 0x80;)
			start++;
	}
}

static bool
inside_pair(const struct regex_search *s, size_t pos)
{
	return s->halves && pos >= 3 && half_at(s->units, pos) >= 0xdc00 &&
	       half_at(s->units, pos - 3) >= 0xd800 && half_at(s->units, pos - 3) < 0xdc00;
}

static bool
stale(const struct regex *re, const size_t *ov, struct js_group g)
{
	for (int m = g.marker; m > 0; m = re->markers.v[m - 1].outer) {
		size_t turn = ov[2 * re->markers.v[m - 1].number];

		if (turn == PCRE2_UNSET || ov[2 * g.number] < turn)
			return true;
	}
	return false;
}

static void
take_spans(struct regex_search *s, const size_t *ov)
{
	const struct regex *re = s->re;

	for (int i = 0; i <= re->groups; i++) {
		struct js_group g = i > 0 ? re->group[i] : (struct js_group){ 0 };
		size_t from = ov[2 * g.number], to = ov[2 * g.number + 1];

		if ((i > 0 && g.number == 0) || from == PCRE2_UNSET || stale(re, ov, g)) {
			s->span[i] = (struct regex_span){ REGEX_UNSET, REGEX_UNSET };
			continue;
		}
		/* a pair belongs to whoever takes its first half */
		from += inside_pair(s, from) ? 3 : 0;
		to += inside_pair(s, to) ? 3 : 0;
		s->span[i] = (struct regex_span){ from, to > from ? to : from };
	}
}

enum regex_result
regex_next(struct regex_search *s)
{
	const struct regex *re = s->re;
	uint32_t pairs = 1 + (uint32_t)re->groups + (uint32_t)re->markers.n;
	struct scratch *scratch;
	const size_t *ov;
	int rc;

	while (!s->done && s->next <= s->units.n) {
		scratch = scratch_get(pairs);
		rc = match_from(s, scratch, s->next);
		if (rc < 0) {
			s->done = true;
			return rc == PCRE2_ERROR_NOMATCH ? REGEX_NONE : REGEX_LIMIT;
		}
		ov = pcre2_get_ovector_pointer(scratch->md);
		if (inside_pair(s, ov[0])) { /* half a character is never a match */
			s->next = ov[0] + 3;
			continue;
		}
		if (re->halves && inside_pair(s, ov[1])) {
			s->next = ov[0] + (ov[0] < s->units.n ? char_size(s->units, ov[0]) : 1);
			continue;
		}
		take_spans(s, ov);
		s->next = s->span[0].to;
		if (s->span[0].to == s->span[0].from)
			s->next += s->next < s->units.n ? char_size(s->units, s->next) : 1;
		s->done = !(re->flags & REGEX_G);
		return REGEX_MATCH;
	}
	s->done = true;
	return REGEX_NONE;
}

bool
regex_named(const struct regex_search *s, struct str name, struct regex_span *out)
{
	for (size_t i = 0; i < s->re->names.n; i++)
		if (str_eq(s->re->names.v[i].name, name) &&
		    s->span[s->re->names.v[i].group].from != REGEX_UNSET) {
			*out = s->span[s->re->names.v[i].group];
			return true;
		}
	return false;
}

enum regex_result
regex_test(struct arena *a, const struct regex *re, struct str text, struct regex_budget *budget)
{
	struct arena_mark m = arena_mark(a);
	struct regex_search s;
	enum regex_result r;

	regex_search(&s, a, re, text, budget);
	r = regex_next(&s);
	arena_rewind(a, m);
	return r;
}
