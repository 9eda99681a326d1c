/*
 * Every example of docs/macros.md prints what the page says, and the page has an example for every macro.
 */
#include "macro_scene.h"

#include "macro/values.h"

static struct str
read_page(void)
{
	const char *dir = getenv("srcdir");
	FILE *f = fopen(arena_printf(a, "%s/docs/macros.md", dir ? dir : "."), "rb");
	struct sb sb = sb_new(a);
	char buf[4096];
	size_t n;

	assert_non_null(f);
	while ((n = fread(buf, 1, sizeof(buf), f)) > 0)
		sb_add(&sb, (struct str){ buf, n });
	fclose(f);
	return sb_str(&sb);
}

static bool
outlet(void *ctx, struct str key, struct str *out)
{
	(void)ctx;
	*out = STR("Old lore.");
	return str_is(key, "lore");
}

static struct str greetings[1];

/* The world that the page describes. */
static void
page_scene(struct scene *s)
{
	static const struct macro_message messages[] = {
		{ .author = MACRO_BY_USER, .text = { "Hi.", 3 }, .sent = 1707487445000 },
		{ .author = MACRO_BY_CHAR, .text = { "Hello.", 6 } },
		{ .author = MACRO_BY_USER, .text = { "Go.", 3 }, .swipes = 1 },
	};
	struct macro_inputs in = { .run_kind = "respond",
		.messages = messages,
		.n_messages = 3,
		.max_context = 8192,
		.max_response = 512 };
	struct json_error err;

	scene_init(s, a);
	in.metadata =
	    json_read(a, STR("{\"authorsNote\":\"Rainy.\",\"defaultAuthorsNote\":\"None.\"}"), 8, &err);
	in.user = STR("Alice");
	in.persona = STR("A traveller.");
	in.model = STR("model-x");
	in.summary = STR("They met.");
	s->layers = (struct macro_layers){ 0 };
	s->layers.branch =
	    json_read(a, STR("{\"mood\":\"calm\",\"hp\":3,\"bag\":{\"gold\":3},\"list\":[\"a\"]}"), 8, &err);
	s->layers.global = json_read(a, STR("{\"world\":\"earth\"}"), 8, &err);
	s->member.field[MF_DESCRIPTION].text = STR("A knight called {{char}}.");
	s->member.field[MF_PERSONALITY].text = STR("Calm");
	s->member.field[MF_SCENARIO].text = STR("A tower");
	s->member.field[MF_CHAR_VERSION].text = STR("1.2");
	s->member.field[MF_SYSTEM].text = STR("You are {{char}}.");
	s->member.field[MF_POST_HISTORY].text = STR("Stay in role.");
	s->member.field[MF_DEPTH_NOTE].text = STR("Remember the rain.");
	s->member.field[MF_EXAMPLES].text = s->member.field[MF_EXAMPLES_RAW].text = STR("{{char}}: hello");
	s->member.field[MF_CREATOR_NOTES].text = STR("Made for fun.");
	s->member.field[MF_FIRST_MESSAGE].text = STR("Hi {{user}}!");
	greetings[0] = STR("Welcome.");
	s->member.greetings = greetings;
	s->member.n_greetings = 1;
	macro_values_fill(a, &in, &s->env);
	s->env.field[MF_CHAT_ID].text = STR("chat-1");
	s->env.field[MF_REASONING].text = STR("off");
	s->env.field[MF_CHAT_START].text = s->env.field[MF_EXAMPLE_SEPARATOR].text = STR("***");
	s->env.outlet = outlet;
}

static struct str
unescape(struct str s)
{
	struct sb sb = sb_new(a);

	for (size_t i = 0; i < s.n; i++) {
		bool nl =
		    s.p[i] == '\\' && i + 1 < s.n && s.p[i + 1] == 'n' && !(i >= 2 && s.p[i - 1] == '{');

		sb_addc(&sb, nl ? '\n' : s.p[i]);
		i += nl;
	}
	return sb_str(&sb);
}

/* A line of examples: the dialect of its fence, and whether Ann speaks beside Bob ("group" behind it). */
struct fence {
	enum macro_dialect d;
	bool group;
};

static void
example(struct str line, struct fence fence, int number)
{
	size_t at = str_find(line, STR(" => "), 0);
	struct macro_piece p = { .original = STR("ORIG") };
	struct macro_member members[2];
	struct str text, want, got;
	struct scene s;

	assert_true(at != STR_NPOS);
	text = unescape(str_sub(line, 0, at));
	want = unescape(str_sub(line, at + 4, line.n));
	page_scene(&s);
	if (fence.group) {
		members[0] = members[1] = s.member;
		members[1].field[MF_CHAR].text = STR("Ann");
		s.env.members = members;
		s.env.n_members = 2;
		s.env.group = true;
	}
	p.tpl = macro_compile(a, text, fence.d);
	got = macro_eval(macro_run_new(a, &s.env), &p);
	if (!str_eq(got, want))
		fail_msg("line %d: %.*s\n  prints %.*s", number, STR_ARG(line), STR_ARG(got));
}

typedef void line_fn(struct str line, struct fence fence, int number);

/* Calls fn for every line of examples of the page. */
static void
each_example(line_fn *fn)
{
	struct str rest = read_page(), line, word, words;
	struct fence fence = { 0 };
	bool inside = false;

	for (int number = 1; str_next(&rest, '\n', &line); number++) {
		if (inside && str_starts(line, STR("```"))) {
			inside = false;
		} else if (str_starts(line, STR("```macro"))) {
			inside = true;
			fence = (struct fence){ .d = MACRO_AUTO };
			words = str_sub(line, 8, line.n);
			while (str_next(&words, ' ', &word)) {
				macro_dialect_parse(word, &fence.d);
				fence.group |= str_is(word, "group");
			}
		} else if (inside) {
			fn(line, fence, number);
		}
	}
}

static void
test_examples(void **state)
{
	(void)state;
	a = arena_create("docs", 0);
	each_example(example);
	arena_destroy(&a);
}

/* The examples of each dialect, left of => only; those of the default one count for tavernheadless. */
static struct sb written[MACRO_DIALECT__COUNT];

static void
write_down(struct str line, struct fence fence, int number)
{
	(void)number;
	sb_add(&written[fence.d], str_sub(line, 0, str_find(line, STR(" => "), 0)));
	sb_addc(&written[fence.d], '\n');
}

/* Behind the braces of an example in a dialect of the row. */
static bool
has_example(const struct macro_entry *e)
{
	struct str n = str_c(e->name);

	for (int d = 0; d < MACRO_DIALECT__COUNT; d++) {
		struct str page = sb_str(&written[d]);

		if (!(e->dialects & 1u << d))
			continue;
		for (size_t at = 0; (at = str_find(page, n, at)) != STR_NPOS; at++)
			if (at >= 2 && page.p[at - 1] == '{' && page.p[at - 2] == '{' && at + n.n < page.n &&
			    strchr("}: +=/", page.p[at + n.n]))
				return true;
	}
	return false;
}

/* Every operator of a row of the catalogue stands in an example of its dialect. */
static void
check_operators(const struct json *row)
{
	struct str form = json_get_str(row, "form"), op, page;
	enum macro_dialect d = MACRO_AUTO;

	macro_dialect_parse(json_get_str(row, "dialects"), &d);
	page = sb_str(&written[d == MACRO_TAVERNHEADLESS ? MACRO_AUTO : d]);
	if (str_chr(form, '{', 0) != STR_NPOS) /* shorthand: whole forms, which name and value fill */
		return;
	while (form.n) {
		bool quoted = form.p[0] == '"';
		size_t end = str_chr(form, quoted ? '"' : ' ', quoted);

		end = end == STR_NPOS ? form.n : end;
		op = str_sub(form, quoted, end);
		form = str_sub(form, end + 1, form.n);
		while (form.n && form.p[0] == ' ')
			form = str_sub(form, 1, form.n);
		if (op.n && str_find(page, op, 0) == STR_NPOS)
			fail_msg("docs/macros.md has no example of %.*s in dialect %s", STR_ARG(op), macro_dialect_name(d));
	}
}

static void
test_complete(void **state)
{
	static const char *const shorthand[] = { "{{.mood}}", "{{$world}}", "{{.x=", "{{$g=", "++}}", "--}}" };
	static const char *const blocks[] = { "{{if ", "{{else}}", "{{/if}}", "{{#if ", "{{else if ", "[\\n", "{{#unless ", "{{/unless}}",
		"{{if tool:", "{{if !capability:", "{{/setvar}}", "{{// " };
	struct sb all;
	const struct json *catalogue, *operators;

	(void)state;
	a = arena_create("docs", 0);
	all = sb_new(a);
	for (int d = 0; d < MACRO_DIALECT__COUNT; d++)
		written[d] = sb_new(a);
	each_example(write_down);
	for (size_t i = 0; i < macro_catalogue_count(); i++) {
		struct macro_entry e = macro_catalogue_entry(i);

		if (!has_example(&e))
			fail_msg("docs/macros.md has no example of {{%s}} in one of its dialects", e.name);
		assert_true(e.help && e.help[0] && e.group && e.args && e.dialects);
	}
	catalogue = macro_catalogue_json(a);
	assert_true(json_len(json_get(catalogue, "macros")) == macro_catalogue_count());
	operators = json_get(catalogue, "operators");
	assert_true(json_len(operators) >= 4);
	for (size_t i = 0; i < json_len(operators); i++)
		check_operators(json_at(operators, i));
	for (int d = 0; d < MACRO_DIALECT__COUNT; d++)
		sb_add(&all, sb_str(&written[d]));
	for (size_t i = 0; i < sizeof(shorthand) / sizeof(shorthand[0]); i++)
		assert_true(str_find(sb_str(&written[MACRO_AUTO]), str_c(shorthand[i]), 0) != STR_NPOS);
	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
		if (str_find(sb_str(&all), str_c(blocks[i]), 0) == STR_NPOS)
			fail_msg("docs/macros.md has no example of %s", blocks[i]);
	arena_destroy(&a);
}

/* ---- lint ---- */

struct finding {
	const char *text;
	enum macro_dialect d;
	int code; /* -1: none */
	unsigned line, column;
};

// clang-format off
static const struct finding findings[] = {
	{ "{{user}} {{getvar::x}}", MACRO_AUTO, -1, 0, 0 },
	{ "a\n {{nope}}", MACRO_AUTO, MACRO_LINT_UNKNOWN, 2, 2 },
	{ "{{if {{x}} == 1}}a{{/if}}", MACRO_AUTO, MACRO_LINT_DIALECT, 1, 1 },
	{ "{{#if thing}}a{{/if}}", MACRO_MARINARA, MACRO_LINT_DIALECT, 1, 1 },
	{ "{{.x += 1}}", MACRO_AUTO, MACRO_LINT_DIALECT, 1, 1 },
	{ "{{if {{user}}}}<USER>{{setvar::x::1}}{{/if}}", MACRO_AUTO, MACRO_LINT_WRITE_IN_BRANCH, 1, 22 },
	{ "名{{time}}", MACRO_AUTO, MACRO_LINT_TIME_BEFORE_HISTORY, 1, 2 },
	{ "{{#if decision:\"it rains\"}}a{{/if}}", MACRO_MARINARA, MACRO_LINT_DECISION_BEFORE_HISTORY, 1, 17 },
	{ "{{if x +}}a{{/if}}", MACRO_AUTO, MACRO_LINT_SYNTAX, 1, 1 },
	{ "{{/if}}", MACRO_AUTO, MACRO_LINT_SYNTAX, 1, 1 },
	{ "{{if {{user}}}}", MACRO_AUTO, MACRO_LINT_SYNTAX, 1, 1 },
	{ "{{setvar::x}}", MACRO_AUTO, MACRO_LINT_SYNTAX, 1, 1 },
};
// clang-format on

static bool
lint_known(void *ctx, struct str name)
{
	(void)ctx;
	return str_is(name, "x");
}

static void
test_lint(void **state)
{
	const struct macro_lint_options o = { .before_history = true, .known = lint_known };

	(void)state;
	a = arena_create("lint", 0);
	for (size_t i = 0; i < sizeof(findings) / sizeof(findings[0]); i++) {
		const struct finding *f = &findings[i];
		struct macro_lints out = { 0 };

		macro_lint(a, macro_compile(a, str_c(f->text), f->d), &o, &out);
		if (f->code < 0) {
			assert_int_equal(out.v.n, 0);
			continue;
		}
		if (out.v.n != 1 || (int)out.v.v[0].code != f->code || out.v.v[0].line != f->line ||
		    out.v.v[0].column != f->column)
			fail_msg("%s: %zu findings, first %s at %u:%u", f->text, out.v.n,
			    out.v.n ? macro_lint_name(out.v.v[0].code) : "-", out.v.n ? out.v.v[0].line : 0,
			    out.v.n ? out.v.v[0].column : 0);
	}
	arena_destroy(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_examples),
		cmocka_unit_test(test_complete),
		cmocka_unit_test(test_lint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
