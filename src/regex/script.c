/*
 * script: sets of SillyTavern's regex scripts and their run over a text. A fingerprint of the text
 * keeps most scripts from being tried at all (regex_may_match).
 */
#include "regex/script.h"

#include "base/sb.h"
#include "regex/cache.h"
#include "regex/memo.h"
#include "regex/replace.h"

#include <ctype.h>

struct compiled {
	struct regex_script src;
	const struct regex *re; /* NULL: macros in `find`, or `fault` */
	const char *fault;
	struct replace replace;
	bool inert; /* no macro of the author's: the result depends on the text alone */
	struct regex_memo_key print;
};

struct regex_set {
	const struct compiled **v;
	size_t n, bytes;
};

/* ---- find strings ---- */

static size_t
line_end(struct str s, size_t pos)
{
	for (; pos < s.n; pos++) {
		unsigned char c = (unsigned char)s.p[pos];

		if (c == '\n' || c == '\r')
			break;
		if (c == 0xe2 && pos + 2 < s.n && (unsigned char)s.p[pos + 1] == 0x80 &&
		    ((unsigned char)s.p[pos + 2] & 0xfe) == 0xa8)
			break; /* U+2028, U+2029 */
	}
	return pos;
}

void
regex_find_split(struct str find, struct str *pattern_out, struct str *flags_out)
{
	size_t start = 0, end, slash;

	*pattern_out = *flags_out = STR_NULL;
	while (start < find.n && line_end(find, start) == start)
		start += (unsigned char)find.p[start] == 0xe2 ? 3 : 1;
	if (start >= find.n)
		return;
	end = line_end(find, start);
	*pattern_out = str_sub(find, start, end);
	*flags_out = STR("");
	if (find.p[start] != '/')
		return;
	for (slash = end - 1; slash > start + 1 && find.p[slash] != '/';)
		slash--;
	if (slash <= start + 1)
		return;
	*pattern_out = str_sub(find, start + 1, slash);
	for (end = slash + 1; end < find.n && isalpha((unsigned char)find.p[end]);)
		end++;
	*flags_out = str_sub(find, slash + 1, end);
}

/* The letters that SillyTavern lets through, each at most once; JavaScript refuses some of them afterwards.
 */
static bool
flags_known(struct str flags)
{
	for (size_t i = 0; i < flags.n; i++)
		if (strchr("gmixXsuUAJ", flags.p[i]) == NULL || str_chr(flags, flags.p[i], i + 1) != STR_NPOS)
			return false;
	return true;
}

/* The pattern that a find string stands for. False: no JavaScript pattern at all. */
static bool
find_pattern(struct str find, struct str *pattern, int *flags)
{
	struct str letters;

	regex_find_split(find, pattern, &letters);
	if (pattern->p == NULL)
		return false;
	if (!flags_known(letters)) {
		*pattern = find;
		letters = STR("");
	}
	*flags = regex_flags(letters);
	return *flags >= 0;
}

struct str
regex_escape(struct arena *a, struct str value)
{
	static const char controls[] = "\nn\rr\tt\vv\ff";
	struct sb out = sb_new(a);

	for (size_t i = 0; i < value.n; i++) {
		char c = value.p[i];
		const char *at = c != '\0' ? strchr(controls, c) : NULL;

		if (c == '\0')
			sb_adds(&out, "\\0");
		else if (at != NULL && (at - controls) % 2 == 0)
			sb_addf(&out, "\\%c", at[1]);
		else if (strchr(".^$*+?{}[]\\/|()", c) != NULL)
			sb_addf(&out, "\\%c", c);
		else
			sb_addc(&out, c);
	}
	return sb_str(&out);
}

/* ---- sets ---- */

static struct regex_script
script_copy(struct arena *a, const struct regex_script *s)
{
	struct regex_script out = *s;
	struct str *trim = arena_array(a, struct str, s->ntrim + 1);

	for (size_t i = 0; i < s->ntrim; i++)
		trim[i] = arena_str(a, s->trim[i]);
	out.trim = trim;
	out.id = arena_str(a, s->id);
	out.name = arena_str(a, s->name);
	out.find = arena_str(a, s->find);
	out.replace = arena_str(a, s->replace);
	return out;
}

/* Neither macros nor what stands for some (decisions 27), nor the line that begins a group block (14). */
static bool
is_inert(struct str s)
{
	static const char *const marks[] = { "{{", "<USER>", "<BOT>", "<CHAR", "<GROUP>", "[\n", "[\r" };

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (str_find(s, str_c(marks[i]), 0) != STR_NPOS)
			return false;
	return true;
}

/* Everything of a script that its result depends on, and nothing that another one could share by its length. */
static struct regex_memo_key
script_print(struct arena *a, const struct regex_script *s)
{
	struct sb all = sb_new(a);

	sb_addf(&all, "%zu:%zu:%zu:%d:", s->find.n, s->replace.n, s->ntrim, (int)s->substitute);
	sb_add(&all, s->find);
	sb_add(&all, s->replace);
	for (size_t i = 0; i < s->ntrim; i++) {
		sb_addf(&all, "%zu:", s->trim[i].n);
		sb_add(&all, s->trim[i]);
	}
	return regex_memo_print(sb_str(&all));
}

static const struct compiled *
script_compile(struct arena *a, const struct regex_script *s, size_t *bytes)
{
	struct compiled *c = arena_new(a, struct compiled);
	struct regex_error err = { 0 };
	struct str pattern;
	struct regex *re;
	int flags;

	c->src = script_copy(a, s);
	replace_compile(a, s->replace, &c->replace);
	c->print = script_print(a, s);
	c->inert = s->substitute == REGEX_SUBST_NONE && !c->replace.nested && is_inert(s->replace);
	for (size_t i = 0; i < s->ntrim; i++)
		c->inert = c->inert && is_inert(s->trim[i]);
	if (c->src.find.n == 0) {
		c->fault = "no find string";
	} else if (s->substitute == REGEX_SUBST_NONE) {
		re = find_pattern(c->src.find, &pattern, &flags) ? regex_compile(a, pattern, flags, &err)
								 : NULL;
		c->re = re;
		c->fault = re != NULL ? NULL : err.what != NULL ? err.what : "invalid flags";
		*bytes += re != NULL ? regex_bytes(re) : 0;
	}
	return c;
}

struct regex_set *
regex_set_compile(struct arena *a, const struct regex_script *v, size_t n)
{
	struct regex_set *set = arena_new(a, struct regex_set);

	set->v = arena_array(a, const struct compiled *, n + 1);
	set->n = n;
	for (size_t i = 0; i < n; i++)
		set->v[i] = script_compile(a, &v[i], &set->bytes);
	return set;
}

struct regex_set *
regex_set_join(struct arena *a, const struct regex_set *const *sets, size_t n)
{
	struct regex_set *set = arena_new(a, struct regex_set);
	VEC(const struct compiled *) v = { 0 };

	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; sets[i] != NULL && j < sets[i]->n; j++)
			vec_push(a, &v, sets[i]->v[j]);
	set->v = v.v;
	set->n = v.n;
	return set;
}

size_t
regex_set_bytes(const struct regex_set *set)
{
	return set->bytes;
}

size_t
regex_set_count(const struct regex_set *set)
{
	return set->n;
}

const struct regex_script *
regex_set_script(const struct regex_set *set, size_t i)
{
	return &set->v[i]->src;
}

const char *
regex_set_fault(const struct regex_set *set, size_t i)
{
	return set->v[i]->fault;
}

const char *
regex_verdict_name(enum regex_verdict v)
{
	static const char *const names[REGEX_VERDICT__COUNT] = { "ran", "no_match", "invalid", "breach",
		"oversize", "disabled", "other_place", "other_channel", "other_depth" };

	return names[v];
}

/* ---- running ---- */

static bool
in_channel(const struct regex_script *s, enum regex_channel channel)
{
	switch (channel) {
	case REGEX_PROMPT:
		return s->prompt_only;
	case REGEX_DISPLAY:
		return s->markdown_only;
	case REGEX_EDIT:
		return !s->prompt_only && !s->markdown_only && s->run_on_edit;
	case REGEX_PERSIST:
		break;
	}
	return !s->prompt_only && !s->markdown_only;
}

static bool
in_depth(const struct regex_script *s, int32_t depth)
{
	if (s->min_depth >= -1 && depth < s->min_depth)
		return false;
	return s->max_depth < 0 || depth <= s->max_depth;
}

/* Whether a script looks at this text at all: REGEX_RAN, or why not. */
static enum regex_verdict
eligible(const struct compiled *c, const struct regex_call *call)
{
	if (c->src.disabled)
		return REGEX_DISABLED;
	if (!(c->src.places & REGEX_PLACE_BIT(call->place)))
		return REGEX_OTHER_PLACE;
	if (!in_channel(&c->src, call->channel))
		return REGEX_OTHER_CHANNEL;
	if (call->has_depth && !in_depth(&c->src, call->depth))
		return REGEX_OTHER_DEPTH;
	return c->fault != NULL ? REGEX_INVALID : REGEX_RAN;
}

bool
regex_set_wants(const struct regex_set *set, enum regex_place place, enum regex_channel channel)
{
	struct regex_call call = { .place = place, .channel = channel };

	for (size_t i = 0; i < set->n; i++)
		if (eligible(set->v[i], &call) == REGEX_RAN)
			return true;
	return false;
}

struct apply {
	struct arena *a;
	const struct regex_call *call;
	struct str text;
	struct regex_print print;
	bool printed; /* print is of this text */
	struct regex_own own;
	const char *detail;
	uint32_t matches;
};

/* Where the macro that opens at `at` ends, those inside it included; the end of the text if it never closes. */
static size_t
macro_end(struct str text, size_t at)
{
	size_t depth = 0;

	for (size_t i = at; i + 1 < text.n; i++) {
		bool opens = text.p[i] == '{' && text.p[i + 1] == '{', closes = text.p[i] == '}' && text.p[i + 1] == '}';

		if (closes && --depth == 0)
			return i + 2;
		depth += opens;
		i += opens || closes;
	}
	return text.n;
}

/* Values of a find string's macros go in as literals: what an inner macro gives to its outer one does not. */
static struct str
expand_escaped(struct apply *ap, struct str text)
{
	struct sb out = sb_new(ap->a);
	size_t from = 0, at;

	while ((at = str_find(text, STR("{{"), from)) != STR_NPOS) {
		size_t end = macro_end(text, at);
		struct str macro = str_sub(text, at, end), value = ap->call->expand(ap->call->arg, macro);

		sb_add(&out, str_sub(text, from, at));
		sb_add(&out, str_eq(value, macro) ? macro : regex_escape(ap->a, value));
		from = end;
	}
	sb_add(&out, str_sub(text, from, text.n));
	return sb_str(&out);
}

/* The script's pattern, compiled now if macros stand in it. */
static const struct regex *
pattern_now(struct apply *ap, const struct compiled *c)
{
	const struct regex_call *call = ap->call;
	struct str find = c->src.find, pattern;
	int flags;

	if (c->re != NULL)
		return c->re;
	if (call->expand != NULL)
		find = c->src.substitute == REGEX_SUBST_RAW ? call->expand(call->arg, find) : expand_escaped(ap, find);
	if (!find_pattern(find, &pattern, &flags)) {
		ap->detail = "invalid flags";
		return NULL;
	}
	return regex_cached(pattern, flags, &ap->detail);
}

/* Copies the rest and makes the result the text of the next script. */
static enum regex_verdict
finish(struct apply *ap, struct replace_run *run, size_t from)
{
	replace_between(run, from, run->search->units.n);
	if (run->out.over) {
		ap->detail = "result too big";
		return REGEX_OVERSIZE;
	}
	ap->text = sb_str(&run->out);
	ap->printed = false;
	if (run->own_out != NULL)
		ap->own = *run->own_out;
	return REGEX_RAN;
}

static bool
was_stopped(const struct regex_stopped *list, const struct compiled *c)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->script[i] == c)
			return true;
	return list->n == sizeof(list->script) / sizeof(list->script[0]); /* too many to tell: nobody goes on */
}

/*
 * What one script may take of a shared budget: a quarter of what is left, so that hostile patterns leave something
 * for the others; when it is gone, a little for those that have not been stopped (case B17).
 */
static struct regex_budget
share_of(const struct regex_call *call, const struct compiled *c)
{
	enum { LEAST_US = 1000 };

	if (call->budget == NULL)
		return (struct regex_budget){ REGEX_BUDGET_US };
	if (call->budget->us / 4 >= LEAST_US)
		return (struct regex_budget){ call->budget->us / 4 };
	return (struct regex_budget){ call->stopped != NULL && !was_stopped(call->stopped, c) ? LEAST_US : 0 };
}

static void
stop(const struct regex_call *call, const struct compiled *c)
{
	struct regex_stopped *list = call->stopped;

	if (list != NULL && !was_stopped(list, c))
		list->script[list->n++] = c;
}

static enum regex_verdict
replace_all(struct apply *ap, const struct compiled *c, const struct regex *re)
{
	struct regex_search search;
	struct regex_own own = { 0 };
	struct replace_run run = { .a = ap->a,
		.r = &c->replace,
		.script = &c->src,
		.call = ap->call,
		.search = &search,
		.text = ap->text };
	struct regex_budget share = share_of(ap->call, c);
	int64_t given = share.us;
	enum regex_result found;
	size_t from = 0;

	regex_search(&search, ap->a, re, ap->text, &share);
	while ((found = regex_next(&search)) == REGEX_MATCH) {
		if (ap->matches++ == 0) {
			run.out = sb_new_max(ap->a, REGEX_RESULT_MAX);
			run.own_in = ap->call->own != NULL ? &ap->own : NULL;
			run.own_out = &own;
		}
		replace_between(&run, from, search.span[0].from);
		replace_match(&run);
		from = search.span[0].to;
		if (run.out.over)
			break;
	}
	if (ap->call->budget != NULL)
		ap->call->budget->us -= given - share.us;
	if (found == REGEX_LIMIT) {
		stop(ap->call, c);
		ap->detail = "match limit";
		return REGEX_BREACH;
	}
	return ap->matches > 0 ? finish(ap, &run, from) : REGEX_NO_MATCH;
}

static enum regex_verdict
run_script(struct apply *ap, const struct compiled *c)
{
	enum regex_verdict v = eligible(c, ap->call);
	const struct regex *re;

	ap->matches = 0;
	ap->detail = c->fault;
	if (v != REGEX_RAN || ap->text.n == 0)
		return v == REGEX_RAN ? REGEX_NO_MATCH : v;
	re = pattern_now(ap, c);
	if (re == NULL)
		return REGEX_INVALID;
	if (!ap->printed)
		regex_print_text(&ap->print, ap->text);
	ap->printed = true;
	return regex_may_match(re, &ap->print) ? replace_all(ap, c, re) : REGEX_NO_MATCH;
}

/* True if the result depends on nothing but the text and the scripts that look at it: *key names both. */
static bool
memo_key(const struct regex_set *set, struct str text, const struct regex_call *call, struct regex_memo_key *key)
{
	if (call->memo == NULL || text.n == 0)
		return false;
	*key = regex_memo_print(text);
	key->v[0] += call->own != NULL;
	for (size_t i = 0; i < set->n; i++) {
		if (eligible(set->v[i], call) != REGEX_RAN)
			continue;
		if (!set->v[i]->inert)
			return false;
		regex_memo_mix(key, &set->v[i]->print);
	}
	return true;
}

/* Runs every script; false if one was stopped by a limit, so that another time may give something else. */
static bool
run_all(struct apply *ap, const struct regex_set *set, struct regex_trace *trace)
{
	bool whole = true;

	for (size_t i = 0; i < set->n; i++) {
		enum regex_verdict v = run_script(ap, set->v[i]);
		bool stopped = v == REGEX_BREACH || v == REGEX_OVERSIZE;

		whole = whole && !stopped;
		if (trace != NULL && (stopped || v == REGEX_RAN || v == REGEX_INVALID || trace->all))
			vec_push(ap->a, &trace->items,
			    ((struct regex_trace_item){ i, v, v == REGEX_RAN ? ap->matches : 0, ap->detail }));
	}
	return whole;
}

struct str
regex_apply(struct arena *a, const struct regex_set *set, struct str text, const struct regex_call *call,
    struct regex_trace *trace)
{
	struct apply ap = { .a = a, .call = call, .text = text };
	struct regex_memo_key key;
	bool keep = trace == NULL && memo_key(set, text, call, &key);

	if (keep && regex_memo_get(call->memo, &key, a, &text, call->own))
		return text;
	if (call->own != NULL && text.n > 0)
		vec_push(a, &ap.own.part, ((struct regex_span){ 0, text.n }));
	if (run_all(&ap, set, trace) && keep)
		regex_memo_put(call->memo, &key, ap.text.p == text.p ? STR_NULL : ap.text, call->own != NULL ? &ap.own : NULL);
	if (call->own != NULL)
		*call->own = ap.own;
	return ap.text;
}
