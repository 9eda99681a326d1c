/*
 * ctl_macro: `tavernctl macro`: expands a text with given names, variables, clock and seed, says what an
 * author would want to be told of it, or lists the catalogue. Needs no server and no database; nothing is
 * stored.
 */
#include "base/file.h"
#include "base/limits.h"
#include "base/rng.h"
#include "base/utf8.h"
#include "ctl.h"
#include "macro/catalogue.h"
#include "macro/time_format.h"
#include "macro/values.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <unistd.h>

enum { MEMBERS_MAX = 64, FACTS_MAX = 256 };

/* NAME=VALUE of one of the options that may stand several times. */
struct fact {
	struct str name, value;
};
struct facts {
	struct fact v[FACTS_MAX];
	size_t n;
};

struct work {
	struct arena *a;
	struct macro_env env;
	struct macro_layers layers;
	struct macro_member members[MEMBERS_MAX];
	struct rng rng;
	struct facts presets, answers, outlets, tools, capabilities, fields;
	enum macro_dialect dialect;
	struct macro_lint_options lint;
	const char *run_kind;
	int mode; /* letter of an option: expand, 'L' lint, 'l' list */
	bool message, trace, json;
};

/* ---- options ---- */

enum {
	OPT_SET = 256,
	OPT_PRESET,
	OPT_ANSWER,
	OPT_OUTLET,
	OPT_TOOL,
	OPT_CAPABILITY,
	OPT_MESSAGE,
	OPT_NO_TIME,
	OPT_RUN
};

// clang-format off
static const struct option options[] = {
	{ "dialect", required_argument, NULL, 'd' }, { "var", required_argument, NULL, 'v' }, { "global", required_argument, NULL, 'g' },
	{ "user", required_argument, NULL, 'u' }, { "char", required_argument, NULL, 'c' }, { "set", required_argument, NULL, OPT_SET },
	{ "seed", required_argument, NULL, 's' }, { "now", required_argument, NULL, 'n' }, { "zone", required_argument, NULL, 'z' },
	{ "no-time", no_argument, NULL, OPT_NO_TIME }, { "run", required_argument, NULL, OPT_RUN },
	{ "preset", required_argument, NULL, OPT_PRESET }, { "answer", required_argument, NULL, OPT_ANSWER },
	{ "outlet", required_argument, NULL, OPT_OUTLET }, { "tool", required_argument, NULL, OPT_TOOL },
	{ "capability", required_argument, NULL, OPT_CAPABILITY }, { "message", no_argument, NULL, OPT_MESSAGE },
	{ "trace", no_argument, NULL, 't' }, { "json", no_argument, NULL, 'j' }, { "lint", no_argument, NULL, 'L' },
	{ "before-history", no_argument, NULL, 'b' }, { "list", no_argument, NULL, 'l' }, { NULL, 0, NULL, 0 },
};
// clang-format on

static int
refuse(const char *what, const char *why)
{
	fprintf(stderr, "tavernctl: %s: %s\n", what, why);
	return -1;
}

/* NAME=VALUE; without `dflt` the = is required. */
static int
split(const char *arg, const char *dflt, struct fact *out)
{
	struct str s = str_c(arg);
	size_t at = str_chr(s, '=', 0);

	if (at == STR_NPOS && dflt == NULL)
		return refuse(arg, "expected NAME=VALUE");
	out->name = str_sub(s, 0, at == STR_NPOS ? s.n : at);
	out->value = at == STR_NPOS ? str_c(dflt) : str_sub(s, at + 1, s.n);
	return out->name.n ? 0 : refuse(arg, "the name is missing");
}

static int
add_fact(struct facts *f, const char *arg, const char *dflt)
{
	if (f->n == FACTS_MAX)
		return refuse(arg, "too many of this option");
	return split(arg, dflt, &f->v[f->n]) < 0 ? -1 : ((void)f->n++, 0);
}

static const struct str *
find_fact(const struct facts *f, struct str name)
{
	for (size_t i = f->n; i > 0; i--) /* the last one wins */
		if (str_eq(f->v[i - 1].name, name))
			return &f->v[i - 1].value;
	return NULL;
}

/* NAME=TEXT, or NAME:=JSON. */
static int
add_variable(struct work *w, const struct json **layer, const char *arg)
{
	struct json *o = *layer ? json_copy(w->a, *layer) : json_object(w->a), *value;
	struct json_error err = { 0 };
	struct fact f;

	if (split(arg, NULL, &f) < 0)
		return -1;
	if (f.name.n < 2 || f.name.p[f.name.n - 1] != ':') {
		json_set_str(o, arena_strdup(w->a, f.name), f.value);
	} else {
		value = json_read(w->a, f.value, LIM_JSON_DEPTH, &err);
		if (err.what)
			return refuse(
			    arg, arena_printf(w->a, "not JSON: %s at column %d", err.what, err.column));
		json_set(o, arena_strdup(w->a, str_sub(f.name, 0, f.name.n - 1)), value);
	}
	*layer = o;
	return 0;
}

static int
add_member(struct work *w, const char *name)
{
	if (w->env.n_members == MEMBERS_MAX)
		return refuse(name, "too many characters");
	w->members[w->env.n_members++].field[MF_CHAR].text = str_c(name);
	return 0;
}

static enum macro_field
field_of(struct str name)
{
	for (size_t i = 0; i < macro_catalogue_count(); i++) {
		struct macro_entry e = macro_catalogue_entry(i);

		if (e.field != MF_NONE && macro_entry_is(&e, name))
			return e.field;
	}
	return MF_NONE;
}

/* The value of a name of the catalogue. A character's: of the one named last. */
static int
add_field(struct work *w, const char *arg)
{
	enum macro_field f;
	struct fact fact;

	if (split(arg, NULL, &fact) < 0)
		return -1;
	f = field_of(fact.name);
	if (f == MF_NONE)
		return refuse(arg, "no name of the catalogue that has a value: see tavernctl macro --list");
	if (f >= MF_MEMBER__END)
		return add_fact(&w->fields, arg, NULL);
	w->members[w->env.n_members ? w->env.n_members - 1 : 0].field[f].text = fact.value;
	return 0;
}

static int
set_clock(struct work *w, const char *arg)
{
	struct str s = str_c(arg);

	if (str_int(s, &w->env.now) || time_parse(w->env.zone, s, &w->env.now))
		return 0;
	return refuse(arg, "a time is milliseconds since 1970, or 2026-11-30T14:20:43");
}

static int
set_zone(struct work *w, const char *arg)
{
	w->env.zone = tm_zone_load(w->a, str_c(arg));
	return w->env.zone ? 0 : refuse(arg, "no time zone of this name");
}

static int
set_seed(struct work *w, const char *arg)
{
	int64_t n;

	if (!str_int(str_c(arg), &n))
		return refuse(arg, "the seed is a whole number");
	w->rng = rng_seed((uint64_t)n);
	return 0;
}

static int
set_switch(struct work *w, int opt, const char *arg)
{
	switch (opt) {
	case 'L':
	case 'l':
		w->mode = opt;
		return 0;
	case 'b':
		w->lint.before_history = true;
		return 0;
	case 't':
		w->trace = true;
		return 0;
	case 'j':
		w->json = true;
		return 0;
	case OPT_MESSAGE:
		w->message = true;
		return 0;
	case OPT_NO_TIME:
		w->env.time_awareness = false;
		return 0;
	case OPT_RUN:
		w->run_kind = arg;
		return 0;
	default: /* getopt has said what is wrong */
		return -1;
	}
}

static int
set_option(struct work *w, int opt, const char *arg)
{
	switch (opt) {
	case 'd':
		return macro_dialect_parse(str_c(arg), &w->dialect)
			   ? 0
			   : refuse(
				 arg, "no dialect: auto, tavernheadless, sillytavern, marinara or tomoribot");
	case 'v':
		return add_variable(w, &w->layers.branch, arg);
	case 'g':
		return add_variable(w, &w->layers.global, arg);
	case 'u':
		w->env.field[MF_USER].text = str_c(arg);
		return 0;
	case 'c':
		return add_member(w, arg);
	case 's':
		return set_seed(w, arg);
	case 'n':
		return set_clock(w, arg);
	case 'z':
		return set_zone(w, arg);
	case OPT_SET:
		return add_field(w, arg);
	case OPT_PRESET:
		return add_fact(&w->presets, arg, NULL);
	case OPT_ANSWER:
		return add_fact(&w->answers, arg, NULL);
	case OPT_OUTLET:
		return add_fact(&w->outlets, arg, NULL);
	case OPT_TOOL:
		return add_fact(&w->tools, arg, "1");
	case OPT_CAPABILITY:
		return add_fact(&w->capabilities, arg, "1");
	default:
		return set_switch(w, opt, arg);
	}
}

/* ---- what the text may ask ---- */

static double
chance(void *ctx)
{
	return rng_unit(&((struct work *)ctx)->rng);
}

static bool
outlet(void *ctx, struct str key, struct str *out)
{
	const struct str *v = find_fact(&((struct work *)ctx)->outlets, key);

	*out = v ? *v : STR("");
	return v != NULL;
}

static bool
preset_var(void *ctx, struct str name, struct str *out)
{
	const struct str *v = find_fact(&((struct work *)ctx)->presets, name);

	*out = v ? *v : STR("");
	return v != NULL;
}

static struct macro_answer
answer(void *ctx, bool choice, struct str statement)
{
	const struct str *v = find_fact(&((struct work *)ctx)->answers, statement);

	if (v == NULL)
		return (struct macro_answer){ .kind = MACRO_UNANSWERED };
	if (choice)
		return (struct macro_answer){ .kind = MACRO_OPTION, .option = *v };
	return (struct macro_answer){ .kind = str_ieq(*v, STR("yes")) ? MACRO_YES : MACRO_NO };
}

static bool
tool(void *ctx, struct str name)
{
	return find_fact(&((struct work *)ctx)->tools, name) != NULL;
}

static int
capability(void *ctx, struct str name)
{
	const struct str *v = find_fact(&((struct work *)ctx)->capabilities, name);

	return v == NULL ? -1 : !str_is(*v, "0");
}

/* {document_tool} prints the tool's name: --tool NAME=ALIAS. */
static bool
tool_alias(void *ctx, struct str name, struct str *out)
{
	const struct facts *f = &((struct work *)ctx)->tools;

	for (size_t i = 0; i < f->n; i++)
		if (str_eq(f->v[i].value, name)) {
			*out = f->v[i].name;
			return true;
		}
	return false;
}

static bool
known(void *ctx, struct str name)
{
	struct work *w = ctx;

	return find_fact(&w->presets, name) || json_get_s(w->layers.branch, name) ||
	       json_get_s(w->layers.global, name);
}

static void
settle(struct work *w)
{
	struct macro_env *env = &w->env;
	struct macro_inputs in = {
		.run_kind = w->run_kind, .user = env->field[MF_USER].text, .first_included = -1
	};

	if (in.user.n == 0)
		in.user = STR("User");
	if (env->n_members == 0) {
		w->members[0].field[MF_CHAR].text = STR("Character");
		env->n_members = 1;
	}
	env->members = w->members;
	env->group = env->n_members > 1;
	env->vars = macro_vars_layers(&w->layers);
	macro_values_fill(w->a, &in, env);
	for (size_t i = 0; i < w->fields.n; i++)
		env->field[field_of(w->fields.v[i].name)] =
		    (struct macro_source){ .text = w->fields.v[i].value };
	env->outlet = outlet;
	env->chance = chance;
	env->answer = answer;
	env->preset_var = preset_var;
	env->tool = tool;
	env->capability = capability;
	env->tool_alias = tool_alias;
	env->outlet_ctx = env->chance_ctx = env->answer_ctx = env->preset_ctx = env->tool_ctx = w;
	w->lint.known = known;
	w->lint.ctx = w;
}

/* ---- what is said ---- */

static void
print_json(struct arena *a, const struct json *o)
{
	struct str text = json_text_pretty(a, o);

	fwrite(text.p, 1, text.n, stdout);
	putchar('\n');
}

/* For people, beside the text: on standard error. */
static void
print_trace(struct arena *a, const char *name, const struct macro_result *res)
{
	for (size_t i = 0; i < res->warnings.n; i++) {
		const struct macro_warning *x = &res->warnings.v[i];

		fprintf(stderr, "%s:%u:%u: %s: %s", name, x->line, x->column, macro_code_name(x->code),
		    x->message);
		if (x->raw.n || x->name.n)
			fprintf(stderr, ": %.*s", STR_ARG(x->raw.n ? x->raw : x->name));
		if (x->count > 1)
			fprintf(stderr, " (%u times)", x->count);
		fputc('\n', stderr);
	}
	for (size_t i = 0; i < res->traces.n; i++) {
		const struct macro_trace *t = &res->traces.v[i];
		const char *branch = macro_branch_name(t->branch);

		fprintf(stderr, "trace: %s%s%s: %.*s => %.*s\n", macro_source_kind_name(t->kind),
		    branch ? " " : "", branch ? branch : "", STR_ARG(t->raw), STR_ARG(t->resolved));
	}
	for (size_t i = 0; i < res->writes.n; i++) {
		const struct macro_write *x = &res->writes.v[i];
		const char *scope = x->scope == MACRO_SCOPE_GLOBAL ? "global" : "branch";
		struct str value = macro_value_text(a, &x->value);

		if (x->del)
			fprintf(stderr, "delete: %s %.*s (%s)\n", scope, STR_ARG(x->key), x->source_macro);
		else
			fprintf(stderr, "set: %s %.*s = %.*s (%s)\n", scope, STR_ARG(x->key), STR_ARG(value),
			    x->source_macro);
	}
}

static int
expand(struct work *w, const char *name, struct str text)
{
	const struct macro_template *t =
	    w->message ? macro_compile_message(w->a, text) : macro_compile(w->a, text, w->dialect);
	struct macro_run *r = macro_run_new(w->a, &w->env);
	struct str out = macro_eval(
	    r, &(struct macro_piece){ .tpl = t, .owner = w->message ? MACRO_MESSAGE_READ : MACRO_TEXT });
	const struct macro_result *res = macro_run_result(r);
	struct json *o;

	if (w->json) {
		o = json_object(w->a);
		json_set_str(o, "text", out);
		json_set_c(o, "dialect", macro_dialect_name(macro_template_dialect(t)));
		json_set(o, "macro", macro_result_json(w->a, res, w->env.phase));
		print_json(w->a, o);
		return 0;
	}
	fwrite(out.p, 1, out.n, stdout);
	if (w->trace) {
		fflush(stdout);
		print_trace(w->a, name, res);
	}
	return 0;
}

/* 1 if there is something to say, as other checkers do. */
static int
lint(struct work *w, const char *name, struct str text)
{
	const struct macro_template *t = macro_compile(w->a, text, w->dialect);
	struct macro_lints found = { 0 };

	macro_lint(w->a, t, &w->lint, &found);
	if (w->json)
		print_json(w->a, macro_lints_json(w->a, &found));
	for (size_t i = 0; i < found.v.n && !w->json; i++) {
		const struct macro_lint *x = &found.v.v[i];

		printf("%s:%u:%u: %s: %s: %.*s\n", name, x->line, x->column, macro_lint_name(x->code),
		    x->message, STR_ARG(x->raw));
	}
	return found.v.n > 0;
}

static int
list(struct work *w)
{
	if (w->json) {
		print_json(w->a, macro_catalogue_json(w->a));
		return 0;
	}
	for (size_t i = 0; i < macro_catalogue_count(); i++) {
		struct macro_entry e = macro_catalogue_entry(i);

		printf("{{%s%s}}", e.name, e.args);
		if (*e.aliases)
			printf(" (%s)", e.aliases);
		printf("\n    %s: %s%s%s\n   ", e.group, e.help, e.cache ? "; " : "", e.cache ? e.cache : "");
		for (int d = 0; d < MACRO_DIALECT__COUNT; d++)
			if (e.dialects & 1u << d)
				printf(" %s", macro_dialect_name((enum macro_dialect)d));
		putchar('\n');
	}
	return 0;
}

static int
read_text(struct work *w, const char *path, struct str *out)
{
	*out = strcmp(path, "-") == 0 ? file_read_fd(w->a, STDIN_FILENO, LIM_IMPORT_BODY)
				      : file_read(w->a, path, LIM_IMPORT_BODY);
	if (out->p == NULL)
		return refuse(path, strerror(errno));
	if (!utf8_valid(*out) || memchr(out->p, '\0', out->n))
		return refuse(path, "not a text in UTF-8");
	return 0;
}

static int
macro(struct ctl *ctl, int argc, char **argv)
{
	struct work *w = arena_new(ctl->a, struct work);
	struct str text;
	int opt;

	w->a = ctl->a;
	w->rng = rng_seed(1);
	w->run_kind = "dry_run";
	w->env = (struct macro_env){ .phase = MACRO_DRY_RUN,
		.limits = macro_limits_default,
		.time_awareness = true,
		.field_in_field = true,
		.now = ctl->ctx->now };
	optind = 0; /* the options of tavernctl itself ended at the command: begin anew */
	while ((opt = getopt_long(argc, argv, "d:v:g:u:c:s:n:z:tjLbl", options, NULL)) != -1)
		if (set_option(w, opt, optarg) < 0)
			return 2;
	w->env.trace = w->trace || w->json;
	if (w->mode == 'l')
		return optind == argc ? list(w) : ctl_usage(&ctl_macro);
	if (optind + 1 != argc)
		return ctl_usage(&ctl_macro);
	if (read_text(w, argv[optind], &text) < 0)
		return 2;
	settle(w);
	return w->mode == 'L' ? lint(w, argv[optind], text) : expand(w, argv[optind], text);
}

const struct ctl_command ctl_macro = { "macro",
	"[--dialect D] [--var NAME=TEXT | NAME:=JSON]... [--global …]... [--user NAME] [--char NAME]... "
	"[--set NAME=TEXT]... [--seed N] [--now TIME] "
	"[--zone ZONE] [--no-time] [--run KIND] [--preset NAME=TEXT]... [--answer STATEMENT=ANSWER]... "
	"[--outlet KEY=TEXT]... [--tool NAME[=ALIAS]]... "
	"[--capability NAME[=0]]... [--message] [--trace] [--json] FILE | --lint [--before-history] FILE | "
	"--list",
	"expands a text (- is standard input); --trace: warnings, trace and writes beside it; --lint: what "
	"its author should know; --list: the catalogue",
	macro };
