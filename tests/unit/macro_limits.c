/*
 * Every limit of the macro engine from both sides; input that is made to hurt: it is handled in linear time
 * and bounded memory, and comes back as it was.
 */
#include "macro_scene.h"

#include "base/limits.h"

#include <time.h>

/* One limit: the text at the limit, and one less. */
struct edge {
	const char *text, *within, *beyond;
	unsigned depth, steps, writes;
	size_t length;
	enum macro_code code;
};

// clang-format off
static const struct edge edges[] = {
	/* steps: the list and each macro */
	{ "{{user}}{{char}}", "AliceBob", "Alice{{char}}", 9, 3, 9, 999, MACRO_W_STEPS },
	{ "{{getvar::a}}|{{getvar::n}}", "1|5", "1|{{getvar::n}}", 9, 5, 9, 999, MACRO_W_STEPS },
	{ "{{setvar::x::{{user}}}}{{getvar::x}}", "Alice", "{{getvar::x}}", 9, 7, 9, 999, MACRO_W_STEPS },
	{ "{{if {{flag}}}}{{user}}{{/if}}", "Alice", "{{user}}", 9, 5, 9, 999, MACRO_W_STEPS },
	{ "{{if {{flag}}}}y{{/if}}", "y", "y", 9, 4, 9, 999, MACRO_W_STEPS },
	{ "{{user}}{{if {{flag}}}}y{{else}}n{{/if}}", "Alicey", "Alice{{if {{flag}}}}y{{else}}n{{/if}}", 9, 5, 9, 999, MACRO_W__COUNT },
	/* depth: arguments, operands, branches */
	{ "{{getvar::a}}", "1", "{{getvar::a}}", 1, 99, 9, 999, MACRO_W_DEPTH },
	{ "{{reverse::{{reverse::{{user}}}}}}", "Alice", "}}}}resu{{::esrever{{", 2, 99, 9, 999, MACRO_W_DEPTH },
	{ "{{if {{flag}}}}y{{/if}}", "y", "{{if {{flag}}}}y{{/if}}", 1, 99, 9, 999, MACRO_W_DEPTH },
	{ "{{if 1}}{{if 1}}{{user}}{{/if}}{{/if}}", "Alice", "{{user}}", 2, 99, 9, 999, MACRO_W_DEPTH },
	/* inserted length, in UTF-16 units, of one text */
	{ "{{big}}", "0123456789", "{{big}}", 9, 99, 9, 10, MACRO_W_LENGTH },
	{ "xxxxxxxxxxxxxxx{{wide}}", "xxxxxxxxxxxxxxx一二三四五", "xxxxxxxxxxxxxxx{{wide}}", 9, 99, 9, 5, MACRO_W_LENGTH },
	{ "{{setvar::x::{{big}}}}{{big}}", "0123456789", "{{setvar::x::{{big}}}}{{big}}", 9, 99, 9, 10, MACRO_W_LENGTH },
	{ "{{newline::4}}|", "\n\n\n\n|", "{{newline::4}}|", 9, 99, 9, 4, MACRO_W_LENGTH },
	/* writes */
	{ "{{setvar::x::1}}{{incvar::x}}", "2", "", 9, 99, 2, 999, MACRO_W_WRITES },
};
// clang-format on

static void
set_limits(struct scene *s, const struct edge *e, bool less)
{
	unsigned one = less ? 1 : 0;

	s->env.limits.depth = e->depth - (less && e->code == MACRO_W_DEPTH ? one : 0);
	s->env.limits.steps = e->steps - (less && (e->code == MACRO_W_STEPS || e->code == MACRO_W__COUNT)
						 ? (e->code == MACRO_W__COUNT ? 2 : 1)
						 : 0);
	s->env.limits.length = e->length - (less && e->code == MACRO_W_LENGTH ? one : 0);
	s->env.limits.writes = e->writes - (less && e->code == MACRO_W_WRITES ? one : 0);
}

static void
test_edges(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++) {
		const struct edge *e = &edges[i];
		enum macro_code code = e->code == MACRO_W__COUNT ? MACRO_W_STEPS : e->code;
		struct scene s;

		scene_init(&s, a);
		set_limits(&s, e, false);
		assert_text(scene_eval(&s, str_c(e->text), MACRO_AUTO), e->within);
		assert_int_equal(scene_count(&s, code), 0);
		set_limits(&s, e, true);
		assert_text(scene_eval(&s, str_c(e->text), MACRO_AUTO), e->beyond);
		assert_int_equal(scene_count(&s, code), 1);
	}
}

/* At most so many warnings of one code; later ones raise the count of the last. */
static void
test_warnings(void **state)
{
	struct scene s;

	(void)state;
	scene_init(&s, a);
	s.env.limits.warnings = 3;
	scene_eval(&s, STR("{{q1}}{{q2}}{{q3}}"), MACRO_AUTO);
	assert_int_equal(s.res->warnings.n, 3);
	assert_int_equal(s.res->warnings.v[2].count, 1);
	scene_eval(&s, STR("{{q1}}\n {{q2}}{{q3}}{{q4}}{{q5}}{{/if}}"), MACRO_AUTO);
	assert_int_equal(s.res->warnings.n, 4);
	assert_int_equal(s.res->warnings.v[2].count, 3);
	assert_int_equal(s.res->warnings.v[1].line, 2);
	assert_int_equal(s.res->warnings.v[1].column, 2);
	s.env.limits.warnings = 0;
	scene_eval(&s, STR("{{q1}}"), MACRO_AUTO);
	assert_int_equal(s.res->warnings.n, 0);
}

static void
test_dice(void **state)
{
	struct scene s;

	(void)state;
	scene_init(&s, a);
	assert_true(scene_eval(&s, STR("{{roll::1000d1}}"), MACRO_AUTO).n == 4);
	assert_text(scene_eval(&s, STR("[{{roll::1001d1}}]"), MACRO_AUTO), "[]");
	assert_true(scene_eval(&s, STR("{{roll::1d1000000}}"), MACRO_AUTO).n > 0);
	assert_text(scene_eval(&s, STR("[{{roll::1d1000001}}]"), MACRO_AUTO), "[]");
	assert_text(scene_eval(&s, STR("[{{roll 2422343d23565}}]"), MACRO_AUTO), "[]");
}

/* Parentheses: 64 deep are read, more keep the block raw. */
static void
test_parens(void **state)
{
	struct sb in = sb_new(a), out = sb_new(a);
	struct scene s;

	(void)state;
	scene_init(&s, a);
	sb_addf(&in, "{{if %.*s1 and 1%.*s}}y{{/if}}", STR_ARG(repeated(a, "(", 64)),
	    STR_ARG(repeated(a, ")", 64)));
	assert_text(scene_eval(&s, sb_str(&in), MACRO_AUTO), "y");
	sb_addf(&out, "{{if %.*s1 and 1%.*s}}y{{/if}}", STR_ARG(repeated(a, "(", 65)),
	    STR_ARG(repeated(a, ")", 65)));
	assert_true(str_eq(scene_eval(&s, sb_str(&out), MACRO_AUTO), sb_str(&out)));
	assert_int_equal(scene_count(&s, MACRO_W_DEPTH), 1);
}

/* tomoribot: 32 blocks at once. */
static void
test_tomori_depth(void **state)
{
	struct scene s;
	struct sb in = sb_new(a);

	(void)state;
	scene_init(&s, a);
	s.member.field[MF_DESCRIPTION].text = STR("x");
	sb_add(&in, repeated(a, "{{#if description}}", 32));
	sb_adds(&in, "core");
	sb_add(&in, repeated(a, "{{/if}}", 32));
	assert_text(scene_eval(&s, sb_str(&in), MACRO_TOMORIBOT), "core");
	sb_adds(&in, "{{#if description}}y{{/if}}");
	assert_text(scene_eval(&s, sb_str(&in), MACRO_TOMORIBOT), "corey");
	assert_int_equal(scene_count(&s, MACRO_W_COND_DEEP), 0);
	scene_eval(&s, repeated(a, "{{#if description}}", 33), MACRO_TOMORIBOT);
	assert_int_equal(scene_count(&s, MACRO_W_COND_DEEP), 1);
}

/* Decision budget: the statements above it are dropped, in order of priority. */
static void
test_decisions(void **state)
{
	struct macro_statements in = { 0 }, ask = { 0 }, dropped = { 0 };
	struct sb sb = sb_new(a);

	(void)state;
	for (int i = 0; i < 33; i++)
		sb_addf(&sb, "{{#if decision:\"s%d\"}}x{{/if}}", i);
	macro_statements_collect(a, macro_compile(a, sb_str(&sb), MACRO_MARINARA), &in);
	assert_int_equal(in.v.n, 33);
	macro_statements_plan(a, &in, 33, &ask, &dropped);
	assert_int_equal(dropped.v.n, 0);
	ask.v.n = 0;
	macro_statements_plan(a, &in, MACRO_DECISION_LIMIT, &ask, &dropped);
	assert_int_equal(ask.v.n, 32);
	assert_int_equal(dropped.v.n, 1);
	assert_text(dropped.v.v[0].text, "s32");
}

/* ---- input that is made to hurt ---- */

struct hostile {
	const char *what, *piece, *tail;
	size_t n;
};

// clang-format off
static const struct hostile hostile[] = {
	{ "unclosed openers", "{{", "", 500000 },
	{ "nested openers", "{{a", "x", 100000 },
	{ "closers", "}}", "", 500000 },
	{ "unclosed blocks", "{{if x}}", "", 100000 },
	{ "stray closers", "{{/if}}", "", 100000 },
	{ "else", "{{else}}", "", 100000 },
	{ "parentheses", "(", "", 200000 },
	{ "a condition of parentheses", "{{if (((((((((( ", "}}y{{/if}}", 20000 },
	{ "quotes", "{{if \"", "}}y{{/if}}", 50000 },
	{ "brackets", "{{.a['", "']}}", 50000 },
	{ "brackets of both kinds", "{{.a[\"['", "']}}", 50000 },
	{ "separators", "{{a::", "}}", 50000 },
	{ "colons", "::::::::::", "}}", 100000 },
	{ "markers", "<USER><GROUP><", "", 50000 },
	{ "braces", "{{{", "}}}", 100000 },
	{ "comments", "{{//", "", 100000 },
	{ "group lines", "[\n{{char}}\n", "]\n", 50000 },
	{ "typographic quotes", "{{#if “", "”}}x{{/if}}", 30000 },
	{ "decisions", "{{#if decision:\"a\" until:\"", "\"}}x{{/if}}", 30000 },
	{ "nots", "not ", "}}", 200000 },
	{ "a condition of nots", "{{if not not ", "1}}y{{/if}}", 50000 },
	{ "wide characters", "\xe2\x82\xac{{\xe3\x80\x80", "", 100000 },
	{ "broken characters", "\xe2\x82{{\xff\xc2", "}}", 100000 },
	{ "tool blocks", "{{if tool:x}}{{else}}", "", 50000 },
};
// clang-format on

/* Bytes of memory that compiling and evaluating the text takes. */
static size_t
cost(const struct hostile *h, size_t n, enum macro_dialect d)
{
	struct arena *text = arena_create("text", 0), *own = arena_create("hostile", 0);
	struct sb sb = sb_new(text);
	struct scene s;
	size_t bytes;

	sb_add(&sb, repeated(text, h->piece, n));
	sb_add(&sb, repeated(text, h->tail, n));
	scene_init(&s, own);
	s.env.trace = false;
	scene_eval(&s, sb_str(&sb), d);
	bytes = arena_bytes(own);
	arena_destroy(&own);
	arena_destroy(&text);
	return bytes;
}

/* Linear by what is allocated: twice the input takes twice the memory, never four times. The clock, of this
 * process alone, only stops what scans without allocating. */
static void
test_hostile(void **state)
{
	static const size_t small = 1 << 20; /* below it the steps in which memory grows show */

	(void)state;
	for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++)
		for (enum macro_dialect d = MACRO_AUTO; d < MACRO_DIALECT__COUNT; d++) {
			clock_t start = clock();
			size_t half = cost(&hostile[i], hostile[i].n / 2, d),
			       all = cost(&hostile[i], hostile[i].n, d);

			if (all > 300u << 20 || (all > small && (double)all > 2.5 * (double)half) ||
			    clock() - start > 8 * CLOCKS_PER_SEC)
				fail_msg("%s in dialect %s: %zu KiB, %zu KiB for twice as much, %lld ms",
				    hostile[i].what, macro_dialect_name(d), half >> 10, all >> 10,
				    (long long)(clock() - start) * 1000 / CLOCKS_PER_SEC);
		}
}

/* Closed as well as open: 100,000 macros in each other. */
static void
test_nested(void **state)
{
	struct arena *own = arena_create("nested", 0);
	struct sb sb = sb_new(own);
	struct scene s;

	(void)state;
	sb_add(&sb, repeated(own, "{{reverse::", 100000));
	sb_add(&sb, repeated(own, "}}", 100000));
	scene_init(&s, own);
	s.env.trace = false;
	assert_true(str_eq(scene_eval(&s, sb_str(&sb), MACRO_AUTO), sb_str(&sb)) || s.res->warnings.n > 0);
	arena_destroy(&own);
}

/* Names up to the limit work; a megabyte of one is refused as it stands, in linear time. */
static void
test_big_key(void **state)
{
	static const size_t sizes[] = { LIM_VARIABLE_KEY, LIM_VARIABLE_KEY + 1, 1 << 20 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct arena *own = arena_create("key", 0);
		struct sb sb = sb_new(own);
		struct scene s;
		struct str write;

		scene_init(&s, own);
		sb_adds(&sb, "{{setvar::");
		sb_add(&sb, repeated(own, "k", sizes[i]));
		sb_adds(&sb, "::v}}");
		write = arena_str(own, sb_str(&sb));
		sb_adds(&sb, "{{getvar::");
		sb_add(&sb, repeated(own, "k", sizes[i]));
		sb_adds(&sb, "}}");
		assert_text(scene_eval(&s, sb_str(&sb), MACRO_AUTO),
		    sizes[i] <= LIM_VARIABLE_KEY ? "v" : arena_strdup(own, write));
		arena_destroy(&own);
	}
}

/* What the stored layers can take: so many names, so many bytes; a delete makes room, the other scope is not
 * full. */
static void
test_room_names(void **state)
{
	struct json *full = json_object(a);
	struct scene s;

	(void)state;
	for (int i = 0; i < LIM_VARIABLES - 1; i++)
		json_set_c(full, arena_printf(a, "v%d", i), "x");
	scene_init(&s, a);
	s.layers.branch = full;
	assert_text(
	    scene_eval(&s, STR("{{setvar::new::1}}{{.new}}{{setvar::v0::2}}{{.v0}}"), MACRO_AUTO), "12");
	assert_int_equal(scene_count(&s, MACRO_W_WRITES), 0);
	assert_text(scene_eval(&s,
			STR("{{setvar::new::1}}{{setvar::more::1}}[{{.more}}]{{incvar::c}}{{.c}}{{.n=3}}{{"
			    "setvar::v0::2}}{{.v0}}"),
			MACRO_AUTO),
	    "[]2");
	assert_int_equal(scene_count(&s, MACRO_W_WRITES), 3);
	assert_int_equal(s.res->writes.n, 2);
	assert_text(
	    scene_eval(
		&s, STR("{{setvar::a::1}}{{deletevar::v0}}{{setvar::b::2}}{{.b}}{{$g=5}}{{$g}}"), MACRO_AUTO),
	    "25");
	assert_int_equal(scene_count(&s, MACRO_W_WRITES), 0);
}

static void
test_room_bytes(void **state)
{
	const size_t quotes = 2;
	struct str most = repeated(a, "x", LIM_VARIABLE_BYTES - quotes);
	struct scene s;
	struct sb sb = sb_new(a);

	(void)state;
	scene_init(&s, a);
	s.layers.branch = json_object(a);
	s.env.limits.length = SIZE_MAX / 2;
	sb_addf(&sb,
	    "{{setvar::a::%.*s}}{{hasvar::a}}{{setvar::b::}}{{hasvar::b}}{{setvar::a::}}{{setvar::b::y}}{{.b}"
	    "}",
	    STR_ARG(most));
	assert_text(scene_eval(&s, sb_str(&sb), MACRO_AUTO), "truefalsey");
	assert_int_equal(scene_count(&s, MACRO_W_WRITES), 1);
	sb = sb_new(a);
	sb_addf(&sb, "{{setvar::a::%.*sx}}{{hasvar::a}}{{setvar::o.k::%.*s}}{{hasvar::o}}", STR_ARG(most),
	    STR_ARG(most));
	assert_text(scene_eval(&s, sb_str(&sb), MACRO_AUTO), "falsefalse");
	assert_int_equal(scene_count(&s, MACRO_W_WRITES), 2);
	assert_int_equal(s.res->writes.n, 0);
}

/* ---- every prefix of a text that uses all there is ---- */

// clang-format off
#define NAMES \
	"<USER> <BOT><GROUP> {{{user}}} {{ Char }} {{description}}{{personality}}{{scenario}}{{persona}} {{nobody}} {{big}}{{wide}}\n" \
	"{{lastMessage}} {{model}} {{group}} {{original}} {{outlet::x}} {{banned \"w\"}} {{input}}\n"
#define VARIABLES \
	"{{setvar::x['a b']::{{user}}}}{{getvar::x}} {{addvar::n::2}}{{incvar::n}}{{decvar::n}} {{setvar o.k.e 3}}{{getvar::o.k}}\n" \
	"{{.mood}} {{$world}} {{.c=a b}}{{.c++}}{{$g=1}}{{$g--}} {{hasvar::a}}{{deletevar::a}}{{setglobalvar::q::1}}{{addglobalvar::q::{{.c}}}}\n"
#define TEXTS \
	"{{reverse::{{user}}x}} {{newline::2}}{{space}}a{{// c {{user}} }}b{{comment::z}}{{noop}}\n\n{{trim}}\n\n" \
	"{{time}} {{date}} {{weekday}} {{isotime}}{{time_UTC+2}} {{datetimeformat YYYY [x]}} {{timeDiff::2024-01-03::2024-01-01}}{{idle_duration}}\n" \
	"{{random::a::{{user}}::c}}{{random:a,b}}{{pick::a::b}}{{roll 2d6+1}}{{roll::6}}\n"

static const char *const whole[MACRO_DIALECT__COUNT] = {
	[MACRO_AUTO] = NAMES VARIABLES TEXTS
	    "{{if ({{getvar::n}} == \"A\\\"\" and not .mood) or 1 < 2}}a{{if description}}b{{else}}c{{/if}}{{else}}d{{/if}}\n"
	    "{{if 'x' contains {{.mood}} or {{user}} startsWith Al}}e{{/if}}{{if {{.n}} >= 1 and -1.5 != .5}}f{{/if}}\n"
	    "{{#if char is “Bob” || 'x' && hp > 2}}\ng\n{{else if var:q}}h{{/if}}\n",
	[MACRO_TAVERNHEADLESS] = "{{// dialect: tavernheadless}}\n" NAMES VARIABLES TEXTS
	    "{{if not (({{.n}} <= 5) and {{flag}}) or off}}a{{else}}{{if {{if 1}}x{{/if}} == x}}b{{/if}}{{/if}}{{reverse::{{if 1}}y{{/if}}}}\n",
	[MACRO_SILLYTAVERN] = "{{// dialect: sillytavern}}\n" NAMES VARIABLES TEXTS
	    "{{if !.none}}\n  a\n{{else}}\n  b\n{{/if}}{{#if {{.mood}}}} c {{/if}}{{if::1::d}}{{reverse}}\n  e{{user}}\n{{/reverse}}{{setvar::l}}\n  long\n{{/setvar}}\n"
	    "{{.n += 2}}{{.n -= 1}}{{.q ?? d}}{{.q || e}}{{.q ?\?= f}}{{.r ||= g}}{{.n == 3}}{{.n != 3}}{{.n > 2}}{{.n >= 3}}{{.n < 3}}{{.n <= 3}}\\{\\{user\\}\\} <user>\n",
	[MACRO_MARINARA] = "{{// dialect: marinara}}\n" NAMES VARIABLES TEXTS
	    "[\n{{char}} of {{characters}}: {{#if char == \"Bob\" || 'Ann' || “Eve”}}x{{else if group}}y{{else}}z{{/if}}\n]\n"
	    "  {{#if (hp = 3.0 || @user IS  NOT \"x\\\"y\\n\") && scenario not contains \"sea\" && (a(b) includes c)}}\n  a{{\\n}}\n  {{/if}}  \n"
	    "{{#if decision:\"It \"rains\" on {{user}}\" sticky:3 cooldown:5 every:2 priority:high until:\"It stops\":or}}b{{/if}}"
	    "{{#if decision_choice:'mood of {{char}}' == 'angry':'he shouts' || 'sad' while:\"w\"}}c{{/if}}{{#if getvar::n > var.q || {{.n}} < -1}}d{{/if}}\n"
	    "{{uppercase}}loud {{lowercase}}SOFT{{/lowercase}}{{/uppercase}} {{trimStart}} e {{trimEnd}} {{reasoning}}{{chatId}}{{charPhonetic}}{{persona}}\n",
	[MACRO_TOMORIBOT] = "{{// c }}" NAMES
	    "{{setvar::k::v\nw}}{{addvar:: k ::{{user}}}}{{getvar::k}} {{#if getvar::k}}a{{#unless scenario}}b{{else}}c{{/unless}}{{else}}d{{/if}}"
	    "{{#if  {{description}}{{getvar::k}} }}e{{if !tool:web_search}}f{{else}}{{#if user}}g{{/if}}{{/if}}{{/if}}{{if capability:x.y-z}}h{{/if}}{{if tool_family:q}}i{{/if}}\n"
	    "{user} { BOT } {{random: a, b}}{{random::c::d}}{random: e, f}{{roll: 2d6}}{{time}}{{date}}{{weekday}}{{isotime}}{{isodate}}{{model}}{{char_version}}"
	    "{{lastChatMessage}}{{mesExamples}}{{reverse::x}} {document_tool} <b>x</b> {{trim}}\n",
};
// clang-format on

#define PREFIX_BASE (64u << 10) /* bytes of memory of a scene and a run */
#define PREFIX_EACH 100u        /* …for each byte of the text */

static void
test_prefixes(void **state)
{
	(void)state;
	for (enum macro_dialect d = MACRO_AUTO; d < MACRO_DIALECT__COUNT; d++)
		for (size_t n = 0; n <= strlen(whole[d]); n++) {
			struct arena *own = arena_create("prefix", 0);
			struct str out;
			struct scene s;

			scene_init(&s, own);
			s.member.field[MF_DESCRIPTION].text = STR("A knight");
			out = scene_eval(&s, (struct str){ whole[d], n }, d);
			if (arena_bytes(own) > PREFIX_BASE + n * PREFIX_EACH || out.n > 2 * n + 200 ||
			    s.res->warnings.n > n)
				fail_msg("%s, %zu bytes: %zu bytes of memory, %zu printed, %zu warnings",
				    macro_dialect_name(d), n, arena_bytes(own), out.n, s.res->warnings.n);
			arena_destroy(&own);
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_edges, setup, teardown),
		cmocka_unit_test_setup_teardown(test_warnings, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dice, setup, teardown),
		cmocka_unit_test_setup_teardown(test_parens, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tomori_depth, setup, teardown),
		cmocka_unit_test_setup_teardown(test_decisions, setup, teardown),
		cmocka_unit_test_setup_teardown(test_room_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_room_bytes, setup, teardown),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_nested),
		cmocka_unit_test(test_big_key),
		cmocka_unit_test(test_prefixes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
