/*
 * report: what a turn was made of, under the names of the wire: snapshot, trace, memory, assembly.
 */
#include "turn/turn_private.h"

#include "base/digest.h"

static void
add_text(struct sb *out, const char *key, struct str v)
{
	sb_addf(out, "\"%s\":", key);
	sb_add_json(out, v);
	sb_addc(out, ',');
}

static void
add_int_or_null(struct sb *out, const char *key, bool there, int64_t v)
{
	if (there)
		sb_addf(out, "\"%s\":%lld,", key, (long long)v);
	else
		sb_addf(out, "\"%s\":null,", key);
}

static void
bound_print(struct sb *out, struct arena *a, const char *name, const struct bound_asset *b)
{
	bool there = b->row != 0;

	add_text(out, arena_printf(a, "%s_id", name), there ? b->id : STR_NULL);
	add_int_or_null(out, arena_printf(a, "%s_updated_at", name), there, b->updated_at);
	add_int_or_null(out, arena_printf(a, "%s_version", name), there, b->version_no);
	add_text(out, arena_printf(a, "%s_version_id", name), there ? b->version_id : STR_NULL);
	add_text(out, arena_printf(a, "%s_content_hash", name),
	    there ? str_c(arena_printf(a, "sha256:%.*s", STR_ARG(b->content_hash))) : STR_NULL);
}

static void
rule_names_print(struct sb *out, const struct turn *t, enum regex_place place)
{
	const struct regex_set *set = t->in.scripts;
	bool first = true;

	sb_addc(out, '[');
	for (size_t i = 0; set && i < regex_set_count(set); i++) {
		const struct regex_script *s = regex_set_script(set, i);

		if (s->disabled || !(s->places & REGEX_PLACE_BIT(place)))
			continue;
		sb_adds(out, first ? "" : ",");
		sb_add_json(out, s->name);
		first = false;
	}
	sb_addc(out, ']');
}

/* One digest for all that authors brought to this prompt: versions and hashes by kind; absent = nothing is bound. */
static struct str
manifest_digest(const struct turn *t)
{
	const struct {
		const char *kind;
		struct str version, hash;
	} rows[] = {
		{ "preset", t->s.preset.version_id, t->s.preset.row ? t->s.preset.content_hash : STR_NULL },
		{ "worldbook", t->s.worldbook.version_id, t->s.worldbook.row ? t->s.worldbook.content_hash : STR_NULL },
		{ "regex_profile", t->s.regex.version_id, t->s.regex.row ? t->s.regex.content_hash : STR_NULL },
		{ "character", t->s.character_version_id, t->card_file ? t->card_file->hash : STR_NULL },
	};
	struct sb all = sb_new(t->c->a);
	struct digest d;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].hash.p)
			sb_addf(&all, "%s %.*s %.*s\n", rows[i].kind, STR_ARG(rows[i].version), STR_ARG(rows[i].hash));
	if (all.n == 0)
		return STR_NULL;
	d = digest_sha256(sb_str(&all));
	return digest_hex(t->c->a, &d);
}

void
turn_snapshot_print(struct sb *out, const struct turn *t)
{
	struct arena *a = t->c->a;
	const struct json *uid;

	sb_addc(out, '{');
	bound_print(out, a, "preset", &t->s.preset);
	bound_print(out, a, "worldbook", &t->s.worldbook);
	bound_print(out, a, "regex_profile", &t->s.regex);
	add_text(out, "character_id", t->s.character_id);
	add_text(out, "character_version_id", t->s.character_version_id);
	add_text(out, "character_imported_format", t->card_file ? t->card_file->format : STR_NULL);
	add_text(out, "character_content_hash", t->card_file ? t->card_file->hash : STR_NULL);
	sb_adds(out, "\"worldbook_activated_entry_uids\":[");
	for (size_t i = 0; i < json_len(t->prompt->activated); i++) {
		uid = json_at(t->prompt->activated, i);
		sb_addf(out, "%s%lld", i ? "," : "", (long long)json_get_int(uid, "uid", 0));
	}
	sb_adds(out, "],\"worldbook_activated_entries\":");
	sb_add(out, t->prompt->activated ? json_text(a, t->prompt->activated) : STR("[]"));
	sb_adds(out, ",\"regex_pre_rule_names\":");
	rule_names_print(out, t, REGEX_PLACE_USER);
	sb_adds(out, ",\"regex_post_rule_names\":");
	rule_names_print(out, t, REGEX_PLACE_AI);
	sb_addf(out, ",\"prompt_mode\":\"%s\",", prompt_mode_name(t->s.mode));
	add_text(out, "asset_manifest_digest", manifest_digest(t));
	add_text(out, "prompt_digest", t->digest);
	sb_addf(out, "\"token_estimate\":%lld}", (long long)t->prompt->tokens);
}

/* A member of the prompt's own trace, without what was not asked for. */
static void
trace_member_print(struct sb *out, const struct turn *t, struct str key, struct json *v)
{
	if (str_is(key, "worldbook") && !turn_debug(t, "include_worldbook_matches"))
		json_del(v, "matches");
	sb_add_json(out, key);
	sb_addc(out, ':');
	json_text_add(out, v);
	sb_addc(out, ',');
}

void
turn_trace_print(struct sb *out, const struct turn *t)
{
	struct json_iter it = { 0 };
	struct json *v;
	struct str key;
	size_t at;

	sb_addc(out, '{');
	while (t->prompt->trace && json_next(t->prompt->trace, &it, &key, &v))
		trace_member_print(out, t, key, v);
	sb_adds(out, "\"memory\":");
	json_text_add(out, turn_memory_json(t));
	sb_adds(out, ",\"timing\":");
	json_text_add(out, turn_timing_json(t));
	at = out->n;
	sb_adds(out, ",\"macro\":");
	if (!macro_result_print(out, t->prompt->macros, t->in.phase))
		sb_truncate(out, at);
	sb_addc(out, '}');
}

/* A summary that the client keeps with the session is sent by every mode but the strict one. */
bool
turn_summary_sent(const struct turn *t)
{
	const struct json *memory = json_get(json_get(t->policy.policy, "source_selection"), "memory");

	return t->in.summary.n > 0 && t->s.mode != PROMPT_COMPAT_STRICT && json_get_bool(memory, "enabled", true);
}

/* Stored memories are a later stage: nothing is asked of them and nothing written. Without branches and the text. */
struct json *
turn_memory_base(struct arena *a, bool sent, int64_t tokens)
{
	struct json *o = json_object(a), *stats, *scopes;

	json_set_bool(o, "summary_injected", sent);
	json_set_c(o, "runtime_mode", "disabled");
	json_set_bool(o, "requested_write", false);
	json_set_bool(o, "effective_write", false);
	json_set_c(o, "strategy", sent ? "single_summary" : "none");
	stats = json_set_object(o, "token_stats");
	json_set(stats, "budget", NULL);
	json_set_int(stats, "used", tokens);
	json_set_int(stats, "micro_summary", 0);
	json_set_int(stats, "macro_summary", tokens);
	json_set_int(stats, "direct_items", 0);
	scopes = json_set_object(o, "scope_resolution");
	json_set_c(scopes, "mode", "branch_aware");
	json_set_array(scopes, "requested_scopes");
	json_set_array(scopes, "resolved_scopes");
	json_set_bool(scopes, "strict", false);
	return o;
}

struct json *
turn_memory_json(const struct turn *t)
{
	struct arena *a = t->c->a;
	struct str text = turn_summary_sent(t) ? t->in.summary : STR_NULL;
	struct digest d = digest_sha256(text);
	struct json *o = turn_memory_base(a, text.p != NULL, text.p ? (int64_t)t->in.count(t->in.count_arg, text) : 0);
	struct json *scopes = json_get(o, "scope_resolution");

	if (text.p) {
		json_set_str(o, "summary_text", text);
		json_set_c(o, "summary_text_hash", arena_printf(a, "sha256:%.*s", STR_ARG(digest_hex(a, &d))));
	}
	json_set_str(scopes, "requested_branch_id", t->q.branch_id);
	json_set_str(scopes, "resolved_branch_id", t->s.branch.id);
	json_set_str(scopes, "fallback_reason", t->s.history_mode ? str_c(t->s.history_mode) : STR_NULL);
	return o;
}

static void
add_member(struct sb *out, struct arena *a, const char *key, const struct json *v, const char *dflt)
{
	sb_addf(out, ",\"%s\":", key);
	if (v)
		sb_add(out, json_text(a, v));
	else
		sb_adds(out, dflt);
}

/* Variables of the names that every prompt gives: the names win. */
static void
collisions_print(struct sb *out, const struct turn *t)
{
	static const char *const reserved[] = { "char", "user" };
	bool first = true;

	sb_addc(out, '[');
	for (size_t i = 0; i < sizeof(reserved) / sizeof(*reserved); i++) {
		if (!json_has(t->layers.branch, reserved[i]) && !json_has(t->layers.chat, reserved[i]) && !json_has(t->layers.global, reserved[i]))
			continue;
		sb_addf(out, "%s\"%s\"", first ? "" : ",", reserved[i]);
		first = false;
	}
	sb_addc(out, ']');
}

void
turn_assembly_print(struct sb *out, const struct turn *t)
{
	struct arena *a = t->c->a;
	const struct json *preset = json_get(t->prompt->trace, "preset"), *delivery = json_get(t->prompt->trace, "delivery"),
			  *regex = json_get(t->prompt->trace, "regex");
	/* Members of `assembly` that the trace says under its own names. */
	static const struct {
		const char *name, *trace, *dflt;
	} rows[] = {
		{ "selected_prompt_order_character_id", "selected_prompt_order_character_id", "null" },
		{ "ignored_prompt_order_character_ids", "ignored_prompt_order_character_ids", "[]" },
		{ "unsupported_preset_fields", "unsupported_fields", "[]" },
		{ "ignored_preset_fields", "ignored_fields", "[]" },
		{ "unresolved_preset_markers", "unresolved_markers", "[]" },
		{ "preset_warnings", "warnings", "[]" },
		{ "continue_nudge_applied", "continue_nudge_applied", "false" },
		{ "continue_nudge_text", "continue_nudge_text", "null" },
		{ "names_behavior_applied", "names_behavior_applied", "null" },
		{ "trigger_filtered_entry_ids", "trigger_filtered_entry_ids", "[]" },
		{ "in_chat_inserted_entry_ids", "in_chat_inserted_entry_ids", "[]" },
	};

	sb_addf(out, "{\"mode\":\"%s\",\"prompt_intent\":\"%s\"", t->s.preset.row ? "preset" : "fallback", prompt_type_name(t->in.type));
	add_member(out, a, "assistant_prefill_applied", json_get(delivery, "assistant_prefill_applied"), "false");
	add_member(out, a, "assistant_prefill_strategy", json_get(delivery, "assistant_prefill_strategy"), "\"none\"");
	sb_addf(out, ",\"preset_used\":%s,\"worldbook_hits\":%zu", t->s.preset.row ? "true" : "false", json_len(t->prompt->activated));
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		add_member(out, a, rows[i].name, json_get(preset, rows[i].trace), rows[i].dflt);
	sb_adds(out, ",\"regex_pre_rules\":");
	rule_names_print(out, t, REGEX_PLACE_USER);
	sb_adds(out, ",\"regex_post_rules\":");
	rule_names_print(out, t, REGEX_PLACE_AI);
	sb_addf(out, ",\"memory_summary_injected\":%s,\"reserved_variable_collisions\":", turn_summary_sent(t) ? "true" : "false");
	collisions_print(out, t);
	add_member(out, a, "preprocessed_user_message", json_get(regex, "preprocessed_user_message"), "null");
	if (turn_debug(t, "include_worldbook_matches"))
		add_member(out, a, "worldbook_matches", t->prompt->worldbook_matches, "[]");
	sb_addc(out, '}');
}
