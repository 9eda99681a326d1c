/* macros: the macro language described to its authors: its catalogue, and what a text of theirs should be
 * told. */
#include "api/tables.h"
#include "http/request.h"
#include "macro/catalogue.h"

static int
catalogue(struct request *r)
{
	return reply_data(r, json_text(r->ctx->a, macro_catalogue_json(r->ctx->a)));
}

static int
lint(struct request *r)
{
	struct arena *a = r->ctx->a;
	struct macro_lint_options o = { .before_history =
					    str_is(json_get_str(r->in, "position"), "before_history") };
	struct macro_lints found = { 0 };
	enum macro_dialect d = MACRO_AUTO;
	const struct macro_template *t;
	struct json *out = json_object(a);

	macro_dialect_parse(json_get_str(r->in, "dialect"), &d);
	t = macro_compile(a, json_get_str(r->in, "text"), d);
	macro_lint(a, t, &o, &found);
	json_set_c(out, "dialect", macro_dialect_name(macro_template_dialect(t)));
	json_set(out, "findings", macro_lints_json(a, &found));
	return reply_data(r, json_text(a, out));
}

/* clang-format off */
static const char *const dialects[] = { "auto", "tavernheadless", "sillytavern", "marinara", "tomoribot", NULL };
static const char *const positions[] = { "before_history", "after_history", NULL };
static const char *const codes[] = {
	"macro_dialect_differs", "macro_unknown", "macro_write_in_branch", "macro_time_before_history", "macro_decision_before_history", "macro_syntax", NULL
};
static const struct field text_item = { .type = FT_STRING };
static const struct field dialect_item = { .type = FT_ENUM, .choices = dialects };

static const struct field macro_fields[] = {
	{ "name", FT_STRING, FF_REQUIRED },
	{ "aliases", FT_ARRAY, FF_REQUIRED, .items = &text_item },
	{ "arguments", FT_STRING, FF_REQUIRED, .doc = "as written behind the name; empty = none, [] = may be left out" },
	{ "group", FT_STRING, FF_REQUIRED },
	{ "help", FT_STRING, FF_REQUIRED },
	{ "dialects", FT_ARRAY, FF_REQUIRED, .items = &dialect_item },
	{ "writes", FT_BOOL, FF_REQUIRED },
	{ "chance", FT_BOOL, FF_REQUIRED },
	{ "time", FT_BOOL, FF_REQUIRED },
	{ "cache_advice", FT_STRING, FF_REQUIRED | FF_NULLABLE, .doc = "where it may stand without costing the provider's prompt cache" },
	FIELD_END
};
static const struct field form_fields[] = {
	{ "form", FT_STRING, FF_REQUIRED },
	{ "dialects", FT_STRING, FF_REQUIRED },
	{ "help", FT_STRING, FF_REQUIRED },
	FIELD_END
};
static const struct field macro_item = { .type = FT_OBJECT, .fields = macro_fields };
static const struct field form_item = { .type = FT_OBJECT, .fields = form_fields };
static const struct field catalogue_answer[] = {
	{ "macros", FT_ARRAY, FF_REQUIRED, .items = &macro_item },
	{ "blocks", FT_ARRAY, FF_REQUIRED, .items = &form_item },
	{ "operators", FT_ARRAY, FF_REQUIRED, .items = &form_item },
	FIELD_END
};

static const struct field lint_body[] = {
	{ "text", FT_STRING, FF_REQUIRED },
	{ "dialect", FT_ENUM, .choices = dialects, .dflt = "\"auto\"" },
	{ "position", FT_ENUM, .choices = positions, .dflt = "\"after_history\"", .doc = "where the text stands in the prompt" },
	FIELD_END
};
static const struct field finding_fields[] = {
	{ "code", FT_ENUM, FF_REQUIRED, .choices = codes },
	{ "message", FT_STRING, FF_REQUIRED },
	{ "raw_text", FT_STRING, FF_REQUIRED },
	{ "line", FT_INT, FF_REQUIRED, .doc = "from 1" },
	{ "column", FT_INT, FF_REQUIRED, .doc = "in characters, from 1" },
	FIELD_END
};
static const struct field finding_item = { .type = FT_OBJECT, .fields = finding_fields };
static const struct field lint_answer[] = {
	{ "dialect", FT_ENUM, FF_REQUIRED, .choices = dialects, .doc = "after a pragma at the start of the text" },
	{ "findings", FT_ARRAY, FF_REQUIRED, .items = &finding_item },
	FIELD_END
};

const struct route api_macros_routes[] = {
	{ METHOD_GET, "/prompt-runtime/macros", catalogue, AUTH_ACCOUNT, .answer = catalogue_answer, .tag = "prompt-runtime",
	  .summary = "Every macro, block and operator with arguments, dialects, help and cache advice" },
	{ METHOD_POST, "/prompt-runtime/macros/lint", lint, AUTH_ACCOUNT, .body = lint_body, .answer = lint_answer, .tag = "prompt-runtime",
	  .summary = "What the author of a text should know: unknown names, other dialects, writes in branches, clocks before the history" },
	{ .path = NULL }
};
/* clang-format on */
