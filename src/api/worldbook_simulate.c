/*
 * worldbook_simulate: what a text or a branch would switch on in a world book, and why not the rest.
 */
#include "api/app.h"
#include "api/documents.h"
#include "api/tables.h"
#include "api/wire.h"
#include "base/limits.h"
#include "turn/simulate.h"

static int
simulate(struct request *r)
{
	struct turn_simulation q = { .session_id = json_get_str(r->in, "session_id"), .branch_id = json_get_str(r->in, "branch_id"),
		.text = json_get_str(r->in, "text"), .options = r->in };
	struct sb out = sb_new(r->ctx->a), report = sb_new(r->ctx->a);
	struct asset asset;
	struct json_error err;
	struct str doc;

	if (!q.session_id.p && !q.text.p)
		return fail_field(r->ctx, "/text", "required", "give a text, or the session_id of a story, or both");
	if (q.branch_id.p && !q.session_id.p)
		return fail_field(r->ctx, "/session_id", "required", "a branch belongs to a session");
	if (document_load(r, &document_worldbook, req_param(r, "id"), &asset, &doc) < 0)
		return -1;
	q.book = json_read(r->ctx->a, doc, LIM_JSON_DEPTH, &err);
	q.book_id = req_param(r, "id");
	q.book_name = str_c(asset.name);
	if (turn_simulate(app_of(r)->turns, r->ctx, &q, &report) < 0)
		return -1;
	sb_adds(&out, "{\"worldbook_id\":");
	sb_add_json(&out, req_param(r, "id"));
	sb_addf(&out, ",\"worldbook_version\":%lld,", (long long)asset.version_no);
	sb_add(&out, str_sub(sb_str(&report), 1, report.n));
	return reply_data(r, sb_str(&out));
}

/* clang-format off */
static const char *const intents[] = { "normal", "continue", "impersonate", "swipe", "regenerate", "quiet", NULL };
static const struct field body[] = {
	{ "text", FT_STRING, .doc = "scanned alone, or as the next message of the story" },
	{ "session_id", FT_STRING, .min = 1, .doc = "scan this story as its next turn would" },
	{ "branch_id", FT_STRING, .min = 1, .doc = "default: main" },
	{ "prompt_intent", FT_ENUM, .choices = intents, .doc = "for entries with triggers; default: normal" },
	{ "seed", FT_INT, .bounded = true, .max = INT64_MAX, .doc = "of probabilities and groups; default: random, and in the answer" },
	WIRE_LORE_FIELDS,
	{ "budget", FT_INT, .bounded = true, .min = 1, .max = INT32_MAX, .doc = "tokens that entries may use: as budget_cap, of the whole context" },
	{ "time_effects", FT_BOOL, .doc = "false: running sticky and cooldown effects are not looked at" },
	FIELD_END
};
static const char *const verdicts[] = { "key", "constant", "sticky", "decorator", "forced", "decision", "not_enabled", "not_trigger",
	"not_character", "not_tag", "not_delay", "not_cooldown", "not_recursed", "not_in_recursion", "not_decorator", "not_keyless", "not_key",
	"not_logic", "not_decision", "not_answered", "not_group", "not_probability", "not_budget", "not_duplicate", NULL };
static const char *const positions[] = { "before", "after", "an_top", "an_bottom", "at_depth", "em_top", "em_bottom", "outlet", NULL };
static const char *const roles[] = { "system", "user", "assistant", NULL };
static const char *const place_kinds[] = { "message", "source", "injected", "recursion", NULL };
static const char *const sources[] = { "persona_description", "character_description", "character_personality", "character_depth_prompt",
	"scenario", "creator_notes", NULL };
#define COUNTED(name, flags) { name, FT_INT, flags, .bounded = true, .max = INT64_MAX }
static const struct field place[] = {
	{ "kind", FT_ENUM, FF_REQUIRED, .choices = place_kinds },
	{ "index", FT_INT, FF_OPTIONAL, .bounded = true, .max = INT64_MAX, .doc = "of the message, 0 = the newest; of the injected text" },
	{ "source", FT_ENUM, FF_OPTIONAL, .choices = sources },
	{ "pass", FT_INT, FF_OPTIONAL, .bounded = true, .max = INT64_MAX, .doc = "whose entries wrote it" },
	FIELD_END
};
static const struct field insertion[] = {
	{ "position", FT_ENUM, FF_REQUIRED, .choices = positions },
	{ "depth", FT_INT, FF_OPTIONAL },
	{ "role", FT_ENUM, FF_OPTIONAL, .choices = roles },
	{ "outlet_name", FT_STRING, FF_OPTIONAL },
	{ "order", FT_NUMBER, FF_REQUIRED },
	FIELD_END
};
static const struct field entry[] = {
	{ "uid", FT_INT, FF_REQUIRED },
	{ "book", FT_STRING, FF_REQUIRED, .doc = "this world book, or the character's own" },
	{ "comment", FT_STRING, FF_REQUIRED },
	{ "activated", FT_BOOL, FF_REQUIRED },
	{ "verdict", FT_ENUM, FF_REQUIRED, .choices = verdicts },
	{ "reason", FT_STRING, FF_REQUIRED, .doc = "the verdict as a sentence" },
	{ "key", FT_STRING, FF_REQUIRED | FF_NULLABLE },
	{ "secondary_key", FT_STRING, FF_REQUIRED | FF_NULLABLE },
	{ "place", FT_OBJECT, FF_REQUIRED | FF_NULLABLE, .fields = place },
	COUNTED("pass", FF_REQUIRED),
	COUNTED("recursion_level", FF_REQUIRED),
	{ "roll", FT_NUMBER, FF_OPTIONAL, .doc = "percent" },
	COUNTED("score", FF_OPTIONAL),
	{ "insertion", FT_OBJECT, FF_REQUIRED, .fields = insertion },
	COUNTED("tokens", FF_OPTIONAL),
	COUNTED("activation_index", FF_OPTIONAL),
	{ "text", FT_STRING, FF_OPTIONAL, .doc = "what is printed" },
	FIELD_END
};
static const struct field entry_item = { "entry", FT_OBJECT, .fields = entry };
static const struct field statement_item = { "statement", FT_STRING };
static const struct field budget[] = {
	COUNTED("tokens", FF_REQUIRED),
	COUNTED("used", FF_REQUIRED),
	{ "overflowed", FT_BOOL, FF_REQUIRED },
	FIELD_END
};
static const struct field settings[] = {
	COUNTED("seed", FF_REQUIRED),
	COUNTED("scan_depth", FF_REQUIRED),
	{ "budget_percent", FT_NUMBER, FF_REQUIRED },
	COUNTED("budget_cap", FF_REQUIRED),
	{ "recursion", FT_BOOL, FF_REQUIRED },
	COUNTED("max_recursion_steps", FF_REQUIRED),
	COUNTED("min_activations", FF_REQUIRED),
	COUNTED("min_activations_depth_max", FF_REQUIRED),
	{ "include_names", FT_BOOL, FF_REQUIRED },
	{ "group_scoring", FT_BOOL, FF_REQUIRED },
	{ "case_sensitive", FT_BOOL, FF_REQUIRED },
	{ "match_whole_words", FT_BOOL, FF_REQUIRED },
	{ "strategy", FT_ENUM, FF_REQUIRED, .choices = wire_lore_strategies },
	FIELD_END
};
static const struct field answer[] = {
	{ "worldbook_id", FT_STRING, FF_REQUIRED },
	COUNTED("worldbook_version", FF_REQUIRED),
	{ "session_id", FT_STRING, FF_REQUIRED | FF_NULLABLE },
	{ "branch_id", FT_STRING, FF_REQUIRED | FF_NULLABLE },
	{ "messages", FT_INT, FF_REQUIRED, .bounded = true, .max = INT64_MAX, .doc = "of the story, that the scan could look at" },
	{ "settings", FT_OBJECT, FF_REQUIRED, .fields = settings },
	{ "budget", FT_OBJECT, FF_REQUIRED, .fields = budget },
	COUNTED("passes", FF_REQUIRED),
	COUNTED("activated", FF_REQUIRED),
	{ "entries", FT_ARRAY, FF_REQUIRED, .items = &entry_item, .doc = "every entry, in the order in which the scan looks at them" },
	{ "unanswered", FT_ARRAY, FF_REQUIRED, .items = &statement_item, .doc = "decision statements that would have mattered" },
	FIELD_END
};
static const int errors[] = { 404, 0 };

const struct route api_worldbook_simulate_routes[] = {
	{ METHOD_POST, "/worldbooks/{id}/simulate", simulate, AUTH_ACCOUNT, .body = body, .answer = answer, .errors = errors, .tag = "worldbooks",
	  .summary = "What a text or a branch would switch on in a worldbook, and why not the rest" },
	{ .path = NULL }
};
/* clang-format on */
