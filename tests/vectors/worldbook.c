/* worldbook: one scan (or two, the second with the timers of the first) and what it activates and prints. */
#include "names.h"
#include "vectors.h"

#include "lore/book_file.h"

struct feed {
	struct names names;
	const struct json *rolls;
	size_t next;
};

static struct str
or_else(struct str s, struct str dflt)
{
	return s.p != NULL ? s : dflt;
}

static struct str
expand(void *arg, struct str dialect, struct str text)
{
	(void)dialect;
	return names_expand(&((struct feed *)arg)->names, text);
}

static double
roll(void *arg)
{
	struct feed *f = arg;

	return json_double(json_at(f->rolls, f->next++), 0.5);
}

static struct lore_set *
read_set(struct arena *a, const struct json *in)
{
	static const char *const scopes[] = { "global", "character", "chat", "persona" };
	const struct json *books = json_get(in, "books"), *settings = json_get(in, "settings");
	struct lore_bound *bound = arena_array(a, struct lore_bound, json_len(books) + 1);
	struct lore_binding b = { .books = bound,
		.nbooks = json_len(books),
		.strategy =
		    (enum lore_strategy)json_get_int(settings, "character_strategy", LORE_CHARACTER_FIRST),
		.case_sensitive = json_get_bool(settings, "case_sensitive", false),
		.whole_words = json_get_bool(settings, "match_whole_words", false) };

	for (size_t i = 0; i < b.nbooks; i++) {
		struct str scope = json_get_str(json_at(books, i), "scope");

		bound[i].book = lore_book_read(a, STR_NULL, json_at(books, i));
		for (int j = 0; j < 4; j++)
			if (str_is(scope, scopes[j]))
				bound[i].scope = (enum lore_scope)j;
	}
	return lore_set_compile(a, &b);
}

static struct lore_settings
read_settings(const struct json *s)
{
	struct lore_settings out = lore_settings_defaults();

	out.scan_depth = (int32_t)json_get_int(s, "scan_depth", 2);
	out.budget_percent = json_get_double(s, "budget_percent", 100);
	out.budget_cap = json_get_int(s, "budget_cap", 0);
	out.include_names = json_get_bool(s, "include_names", true);
	out.recursive = json_get_bool(s, "recursive", false);
	out.max_steps = (int32_t)json_get_int(s, "max_recursion_steps", 0);
	out.min_activations = (int32_t)json_get_int(s, "min_activations", 0);
	out.min_activations_depth_max = (int32_t)json_get_int(s, "min_activations_depth_max", 0);
	out.group_scoring = json_get_bool(s, "use_group_scoring", false);
	return out;
}

static void
read_messages(struct arena *a, const struct json *messages, struct lore_scan *out)
{
	size_t n = json_len(messages);
	struct lore_text *v = arena_array(a, struct lore_text, n + 1);

	for (size_t i = 0; i < n; i++) {
		const struct json *m = json_at(messages, n - 1 - i);

		v[i] = (struct lore_text){ json_get_str(m, "name"), json_get_str(m, "mes") };
	}
	out->messages = v;
	out->nmessages = n;
}

static struct lore_scan
read_scan(struct arena *a, const struct json *in, struct feed *feed)
{
	static const char *const sources[LORE_SOURCE__COUNT] = { "personaDescription", "characterDescription",
		"characterPersonality", "characterDepthPrompt", "scenario", "creatorNotes" };
	struct lore_scan s = { .max_context = json_get_int(in, "max_context", 100000),
		.settings = read_settings(json_get(in, "settings")),
		.trigger = or_else(json_get_str(in, "trigger"), STR("normal")),
		.character = names_char(&feed->names),
		.calls = { .arg = feed, .expand = expand, .roll = roll } };
	struct str *injected = arena_new(a, struct str),
		   *tags = arena_array(a, struct str, json_len(json_get(in, "char_tags")) + 1);

	for (int i = 0; i < LORE_SOURCE__COUNT; i++)
		s.sources[i] = json_get_str(json_get(in, "scan"), sources[i]);
	*injected = json_get_str(in, "authors_note");
	s.injected = injected;
	s.ninjected = json_get_bool(in, "authors_note_scan", false);
	for (size_t i = 0; i < json_len(json_get(in, "char_tags")); i++)
		tags[i] = json_str(json_at(json_get(in, "char_tags"), i));
	s.tags = (struct lore_strs){ tags, json_len(json_get(in, "char_tags")) };
	s.has_tags = json_get(in, "char_tags") != NULL;
	read_messages(a, json_get(in, "messages"), &s);
	return s;
}

/* ---- comparing ---- */

static int
check_activated(struct sb *why, const struct json *expected, const struct lore_result *r)
{
	struct json *got = json_array(why->a);

	for (size_t i = 0; i < r->nactive; i++)
		json_push_str(
		    got, str_c(arena_printf(why->a, "%.*s#%lld", STR_ARG(lore_book_name(r->active[i].book)),
			     (long long)r->active[i].entry->uid)));
	return vector_check_json(why, "activated", json_get(expected, "activated"), got);
}

static int
check_lines(struct sb *why, const char *what, const struct json *expected, struct lore_strs v)
{
	struct sb out = sb_new(why->a);

	for (size_t i = 0; i < v.n; i++) {
		sb_adds(&out, i > 0 ? "\n" : "");
		sb_add(&out, v.v[i]);
	}
	return vector_check_str(why, what, json_get_str(expected, what), sb_str(&out));
}

/* The list of depth groups is not ordered. */
static int
check_depths(struct sb *why, const struct json *expected, const struct lore_result *r)
{
	const struct json *list = json_get(expected, "depth");
	struct json *got = json_array(why->a);

	for (size_t i = 0; i < json_len(list); i++)
		for (size_t j = 0; j < r->ndepths; j++) {
			const struct lore_depth *d = &r->depths[j];
			struct json *o;

			if (d->depth != json_get_int(json_at(list, i), "depth", -1) ||
			    (int)d->role != json_get_int(json_at(list, i), "role", 0))
				continue;
			o = json_push_object(got);
			json_set_int(o, "depth", d->depth);
			json_set_int(o, "role", d->role);
			json_set_str(o, "content", d->text);
		}
	if (json_len(list) != r->ndepths) {
		sb_addf(why, "depth: expected %zu groups, got %zu", json_len(list), r->ndepths);
		return VECTOR_FAIL;
	}
	return vector_check_json(why, "depth", list, got);
}

/* Example entries, low order first; a position is 0 or "before" above the examples, 1 or "after" below. */
static int
check_examples(struct sb *why, const struct json *expected, const struct lore_result *r)
{
	const struct json *list = json_get(expected, "em");
	struct json *got = json_array(why->a);

	for (size_t i = 0; i < r->nactive; i++) {
		const struct lore_active *act = &r->active[r->printed[i]];
		bool below = act->entry->position == LORE_EXAMPLE_BOTTOM;
		struct json *o;

		if ((!below && act->entry->position != LORE_EXAMPLE_TOP) || act->text.n == 0)
			continue;
		o = json_push_object(got);
		if (json_type(json_get(json_at(list, json_len(got) - 1), "position")) == JSON_STRING)
			json_set_c(o, "position", below ? "after" : "before");
		else
			json_set_int(o, "position", below);
		json_set_str(o, "content", act->text);
	}
	return vector_check_json(why, "em", list, got);
}

static int
check_outlets(struct sb *why, const struct json *expected, const struct lore_result *r)
{
	struct json *got = json_object(why->a);

	for (size_t i = 0; i < r->noutlets; i++)
		json_set_str(got, arena_strdup(why->a, r->outlets[i].name), r->outlets[i].text);
	return vector_check_json(why, "outlets", json_get(expected, "outlets"), got);
}

static int
check_timed(struct sb *why, const struct json *expected, const struct lore_result *r)
{
	static const char *const effects[] = { "sticky", "cooldown" };
	struct json *got = json_object(why->a);

	if (json_get(expected, "timed") == NULL)
		return VECTOR_PASS;
	for (int effect = LORE_STICKY; effect <= LORE_COOLDOWN; effect++) {
		struct json *timers = json_set_object(got, effects[effect]);

		for (size_t i = 0; i < r->timers.n; i++) {
			const struct lore_timer *t = &r->timers.v[i];
			struct json *o;

			if ((int)t->effect != effect)
				continue;
			o = json_set_object(
			    timers, arena_printf(why->a, "%.*s.%lld", STR_ARG(t->book), (long long)t->uid));
			json_set_int(o, "start", t->start);
			json_set_int(o, "end", t->end);
			json_set_bool(o, "protected", t->is_protected);
		}
	}
	return vector_check_json(why, "timed", json_get(expected, "timed"), got);
}

static int
run_case(struct ctx *c, const struct json *file, const struct json *case_, struct sb *why)
{
	const struct json *in = json_get(case_, "input"), *expected = json_get(case_, "expected");
	struct feed feed = { .rolls = NULL };
	const struct lore_set *set = read_set(c->a, in);
	struct lore_scan scan;
	const struct lore_result *r;
	int bad = 0;

	(void)file;
	names_begin(&feed.names, c->a, in, MACRO_LORE);
	scan = read_scan(c->a, in, &feed);
	if (json_get(in, "timed_from_earlier_scan_of") != NULL) {
		struct lore_scan earlier = scan;

		read_messages(
		    c->a, json_get(json_get(in, "timed_from_earlier_scan_of"), "messages"), &earlier);
		scan.timers = lore_run(c->a, set, &earlier)->timers;
		feed.next = 0;
	}
	feed.rolls = json_get(in, "rolls");
	r = lore_run(c->a, set, &scan);
	bad |= check_activated(why, expected, r);
	bad |= vector_check_str(why, "before", json_get_str(expected, "before"), r->before);
	bad |= vector_check_str(why, "after", json_get_str(expected, "after"), r->after);
	bad |= check_lines(why, "an_top", expected, r->note_top);
	bad |= check_lines(why, "an_bottom", expected, r->note_bottom);
	bad |= check_depths(why, expected, r);
	bad |= check_examples(why, expected, r);
	bad |= check_outlets(why, expected, r);
	bad |= check_timed(why, expected, r);
	if (json_get_int(expected, "rolls_used", r->rolls) != r->rolls)
		bad |= VECTOR_FAIL, sb_addf(why, "; rolls: %u used", r->rolls);
	if (json_has(expected, "authors_note_result"))
		bad |= vector_check_str(why, "authors_note_result",
		    json_get_str(expected, "authors_note_result"),
		    lore_note(c->a, r, or_else(json_get_str(in, "authors_note"), STR(""))));
	return bad == 0 ? VECTOR_PASS : VECTOR_FAIL;
}

const struct vector_kind vectors_worldbook = { .name = "worldbook", .run_case = run_case };
