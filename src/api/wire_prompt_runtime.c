/*
 * wire_prompt_runtime: shapes of the prompt-runtime routes on the wire.
 */
#include "api/wire.h"

/* clang-format off */
static const char *const default_modes[] = { "compat_strict", "compat_plus", "native", "rearrange", NULL };
static const char *const mode_sources[] = { "session", "legacy_metadata", "default", NULL };
static const char *const history_modes[] = { "existing_branch", "source_floor_branch", "main_fallback", NULL };
static const char *const value_sources[] = { "system_default", "asset_default", "session_policy", "branch_policy", "request_override", "provider_constraint", NULL };
static const char *const severities[] = { "info", "warning", "error", NULL };
static const char *const dialects[] = { "auto", "tavernheadless", "sillytavern", "marinara", "tomoribot", NULL };

/* ---- mode ---- */

const struct field wire_mode_body[] = {
	{ "prompt_mode", FT_ENUM, FF_REQUIRED | FF_NULLABLE, .choices = wire_prompt_modes, .doc = "null = the default" },
	FIELD_END
};
const struct field wire_mode_answer[] = {
	{ "prompt_mode", FT_ENUM, FF_REQUIRED, .choices = wire_prompt_modes },
	{ "session_prompt_mode", FT_ENUM, FF_REQUIRED | FF_NULLABLE, .choices = wire_prompt_modes },
	{ "effective_prompt_mode", FT_ENUM, FF_REQUIRED, .choices = wire_prompt_modes },
	{ "default_prompt_mode", FT_ENUM, FF_REQUIRED, .choices = default_modes },
	{ "legacy_fallback", FT_BOOL, FF_REQUIRED },
	{ "source", FT_ENUM, FF_REQUIRED, .choices = mode_sources },
	FIELD_END
};

/* ---- policy ---- */

#define POLICY(flags) \
	{ "structure", FT_OBJECT, flags, .fields = wire_structure }, \
	{ "delivery", FT_OBJECT, flags, .fields = wire_delivery }, \
	{ "budget", FT_OBJECT, flags, .fields = wire_budget }, \
	{ "visibility", FT_OBJECT, flags, .fields = wire_visibility }, \
	{ "source_selection", FT_OBJECT, flags, .fields = wire_source_selection }

const struct field wire_policy_body[] = {
	POLICY(FF_NULLABLE),
	FIELD_END
};
static const struct field stored_policy[] = {
	POLICY(FF_OPTIONAL),
	FIELD_END
};
static const struct field envelope[] = {
	{ "value", FT_OBJECT, FF_REQUIRED, .fields = stored_policy },
	{ "version", FT_INT, FF_REQUIRED, .bounded = true, .min = 1, .max = INT64_MAX, .doc = "counts changes" },
	{ "updated_at", FT_TIME, FF_REQUIRED },
	{ "updated_by", FT_STRING, FF_REQUIRED | FF_NULLABLE },
	FIELD_END
};
static const struct field resolved_policy[] = {
	POLICY(FF_REQUIRED),
	{ "debug", FT_OBJECT, FF_REQUIRED, .fields = wire_debug_options },
	FIELD_END
};
const struct field wire_policy_answer[] = {
	{ "persistent_policy", FT_OBJECT, FF_OPTIONAL, .fields = stored_policy },
	{ "persistent_policy_envelope", FT_OBJECT, FF_OPTIONAL | FF_NULLABLE, .fields = envelope },
	{ "resolved_policy", FT_OBJECT, FF_REQUIRED, .fields = resolved_policy },
	{ "warnings", FT_ARRAY, FF_REQUIRED, .items = &wire_text_item },
	FIELD_END
};

/* ---- scope, sources, diagnostics ---- */

static const struct field scope[] = {
	{ "session_id", FT_STRING, FF_REQUIRED },
	{ "target_branch_id", FT_STRING, FF_REQUIRED },
	{ "branch_exists", FT_BOOL, FF_REQUIRED },
	{ "source_floor_id", FT_STRING, FF_REQUIRED | FF_NULLABLE },
	{ "history_source_branch_id", FT_STRING, FF_REQUIRED },
	{ "history_source_mode", FT_ENUM, FF_REQUIRED, .choices = history_modes },
	FIELD_END
};
#define SOURCE(name) { name, FT_ENUM, FF_OPTIONAL, .choices = value_sources }
static const struct field source_enabled[] = { SOURCE("enabled"), FIELD_END };
static const struct field source_history[] = { SOURCE("mode"), SOURCE("max_messages"), FIELD_END };
static const struct field source_selection[] = {
	{ "history", FT_OBJECT, FF_OPTIONAL, .fields = source_history },
	{ "memory", FT_OBJECT, FF_OPTIONAL, .fields = source_enabled },
	{ "worldbook", FT_OBJECT, FF_OPTIONAL, .fields = source_enabled },
	{ "examples", FT_OBJECT, FF_OPTIONAL, .fields = source_enabled },
	FIELD_END
};
static const struct field source_structure[] = {
	SOURCE("mode"), SOURCE("merge_adjacent_same_role"), SOURCE("preserve_system_messages"), SOURCE("assistant_rewrite_strategy"), FIELD_END
};
static const struct field source_delivery[] = { SOURCE("allow_assistant_prefill"), SOURCE("require_last_user"), SOURCE("no_assistant"), FIELD_END };
static const struct field source_budget[] = { SOURCE("max_input_tokens"), SOURCE("reserved_completion_tokens"), FIELD_END };
static const struct field source_visibility[] = {
	SOURCE("mode"), SOURCE("hidden_floor_ids"), SOURCE("hidden_floor_ranges"), SOURCE("visible_floor_ranges"), FIELD_END
};
static const struct field source_of_history[] = {
	{ "source_branch_id", FT_STRING, FF_REQUIRED },
	{ "source_mode", FT_ENUM, FF_REQUIRED, .choices = history_modes },
	FIELD_END
};
static const struct field source_map[] = {
	{ "structure", FT_OBJECT, FF_OPTIONAL, .fields = source_structure },
	{ "delivery", FT_OBJECT, FF_OPTIONAL, .fields = source_delivery },
	{ "budget", FT_OBJECT, FF_OPTIONAL, .fields = source_budget },
	{ "source_selection", FT_OBJECT, FF_OPTIONAL, .fields = source_selection },
	{ "visibility", FT_OBJECT, FF_OPTIONAL, .fields = source_visibility },
	{ "history", FT_OBJECT, FF_OPTIONAL, .fields = source_of_history },
	FIELD_END
};
static const struct field diagnostic[] = {
	{ "code", FT_STRING, FF_REQUIRED },
	{ "severity", FT_ENUM, FF_REQUIRED, .choices = severities },
	{ "message", FT_STRING, FF_REQUIRED },
	{ "source", FT_STRING, FF_OPTIONAL },
	{ "phase", FT_STRING, FF_OPTIONAL },
	{ "field_path", FT_STRING, FF_OPTIONAL },
	FIELD_END
};
static const struct field diagnostic_item = { "", FT_OBJECT, .fields = diagnostic };

/* ---- assets and overview ---- */

static const struct field asset[] = {
	{ "id", FT_STRING, FF_REQUIRED },
	{ "name", FT_STRING, FF_REQUIRED | FF_NULLABLE },
	{ "version_id", FT_STRING, FF_OPTIONAL | FF_NULLABLE },
	{ "version_no", FT_INT, FF_OPTIONAL | FF_NULLABLE, .bounded = true, .min = 1, .max = INT64_MAX },
	{ "content_hash", FT_STRING, FF_OPTIONAL | FF_NULLABLE },
	FIELD_END
};
const struct field wire_assets_answer[] = {
	{ "preset", FT_OBJECT, FF_REQUIRED | FF_NULLABLE, .fields = asset },
	{ "character_card", FT_OBJECT, FF_REQUIRED | FF_NULLABLE, .fields = asset },
	{ "worldbook", FT_OBJECT, FF_REQUIRED | FF_NULLABLE, .fields = asset },
	{ "regex_profile", FT_OBJECT, FF_REQUIRED | FF_NULLABLE, .fields = asset },
	FIELD_END
};
const struct field wire_runtime_query[] = {
	{ "branch_id", FT_STRING, 0, .min = 1 },
	FIELD_END
};
const struct field wire_runtime_answer[] = {
	{ "scope", FT_OBJECT, FF_REQUIRED, .fields = scope },
	{ "mode", FT_OBJECT, FF_REQUIRED, .fields = wire_mode_answer },
	{ "policy", FT_OBJECT, FF_REQUIRED, .fields = resolved_policy },
	{ "persistent_policy", FT_OBJECT, FF_OPTIONAL, .fields = stored_policy },
	{ "persistent_policy_envelope", FT_OBJECT, FF_OPTIONAL | FF_NULLABLE, .fields = envelope },
	{ "branch_persistent_policy", FT_OBJECT, FF_REQUIRED | FF_NULLABLE, .fields = stored_policy },
	{ "branch_persistent_policy_envelope", FT_OBJECT, FF_OPTIONAL | FF_NULLABLE, .fields = envelope },
	{ "source_map", FT_OBJECT, FF_OPTIONAL, .fields = source_map },
	{ "assets", FT_OBJECT, FF_REQUIRED, .fields = wire_assets_answer },
	{ "diagnostics", FT_ARRAY, FF_REQUIRED, .items = &diagnostic_item },
	{ "limitations", FT_ARRAY, FF_REQUIRED, .items = &wire_text_item },
	{ "warnings", FT_ARRAY, FF_REQUIRED, .items = &wire_text_item },
	FIELD_END
};

/* ---- preview ---- */

const struct field wire_preview_body[] = {
	{ "text", FT_STRING, FF_REQUIRED, .min = 1 },
	{ "branch_id", FT_STRING, 0, .min = 1, .doc = "may name a branch that nobody has made yet" },
	{ "source_floor_id", FT_STRING, 0, .min = 1, .doc = "the story as it was at this floor" },
	{ "dialect", FT_ENUM, 0, .choices = dialects, .doc = "of conditionals; absent = the session's mode decides" },
	{ "preset_choices", FT_OBJECT, 0, .doc = "instead of the session's" },
	{ "input", FT_STRING, 0, .doc = "what {{input}} prints" },
	POLICY(0),
	FIELD_END
};
static const struct field preview_trace[] = {
	{ "macro", FT_OBJECT, FF_OPTIONAL, .fields = wire_macro_trace },
	{ "source_selection", FT_OBJECT, FF_OPTIONAL, .fields = wire_source_trace },
	{ "visibility", FT_OBJECT, FF_OPTIONAL, .fields = wire_visibility_trace },
	{ "history_normalization", FT_OBJECT, FF_OPTIONAL, .fields = wire_normalization },
	FIELD_END
};

/* Memories that went into a prompt. */
static const char *const memory_scopes[] = { "global", "chat", "branch", "floor", NULL };
static const char *const memory_types[] = { "fact", "summary", "open_loop", NULL };
static const char *const memory_tiers[] = { "micro", "macro", NULL };
static const char *const resolutions[] = { "visible_refs", "explicit_scope", "direct_scope_fallback", "strict_empty", "resolver_error", NULL };
static const struct field injected_memory[] = {
	{ "id", FT_STRING, FF_REQUIRED },
	{ "scope", FT_ENUM, FF_REQUIRED, .choices = memory_scopes },
	{ "scope_id", FT_STRING, FF_REQUIRED },
	{ "type", FT_ENUM, FF_REQUIRED, .choices = memory_types },
	{ "summary_tier", FT_ENUM, FF_REQUIRED | FF_NULLABLE, .choices = memory_tiers },
	{ "content", FT_STRING, FF_REQUIRED },
	{ "fact_key", FT_STRING, FF_REQUIRED | FF_NULLABLE },
	{ "importance", FT_NUMBER, FF_REQUIRED, .bounded = true, .max = 1 },
	{ "confidence", FT_NUMBER, FF_REQUIRED, .bounded = true, .max = 1 },
	{ "source_floor_id", FT_STRING, FF_REQUIRED | FF_NULLABLE },
	{ "source_message_id", FT_STRING, FF_REQUIRED | FF_NULLABLE },
	{ "status", FT_STRING, FF_REQUIRED },
	{ "token_count_estimate", FT_INT, FF_REQUIRED | FF_NULLABLE, .bounded = true, .max = INT64_MAX },
	{ "created_at", FT_TIME, FF_REQUIRED },
	{ "updated_at", FT_TIME, FF_REQUIRED },
	FIELD_END
};
static const struct field injected_item = { "", FT_OBJECT, .fields = injected_memory };
static const struct field scope_ref[] = {
	{ "scope", FT_ENUM, FF_REQUIRED, .choices = memory_scopes },
	{ "scopeId", FT_STRING, FF_REQUIRED },
	FIELD_END
};
static const struct field scope_ref_item = { "", FT_OBJECT, .fields = scope_ref };
static const struct field resolution_error[] = {
	{ "name", FT_STRING, FF_REQUIRED },
	{ "message", FT_STRING, FF_REQUIRED },
	FIELD_END
};
static const struct field resolution[] = {
	{ "mode", FT_ENUM, FF_REQUIRED, .choices = resolutions },
	{ "strict", FT_BOOL, FF_REQUIRED },
	{ "scope_refs", FT_ARRAY, FF_OPTIONAL, .items = &scope_ref_item },
	{ "explicit_scope", FT_OBJECT, FF_OPTIONAL, .fields = scope_ref },
	{ "fallback_scope_id", FT_STRING, FF_OPTIONAL },
	{ "error", FT_OBJECT, FF_OPTIONAL, .fields = resolution_error },
	FIELD_END
};
static const struct field injection[] = {
	{ "items", FT_ARRAY, FF_REQUIRED, .items = &injected_item },
	{ "formatted_text", FT_STRING, FF_REQUIRED },
	{ "token_count", FT_INT, FF_REQUIRED, .bounded = true, .max = INT64_MAX },
	{ "scope_resolution", FT_OBJECT, FF_REQUIRED | FF_NULLABLE, .fields = resolution },
	FIELD_END
};
const struct field wire_preview_answer[] = {
	{ "scope", FT_OBJECT, FF_REQUIRED, .fields = scope },
	{ "policy", FT_OBJECT, FF_REQUIRED, .fields = resolved_policy },
	{ "source_map", FT_OBJECT, FF_OPTIONAL, .fields = source_map },
	{ "text", FT_STRING, FF_REQUIRED },
	{ "dialect", FT_ENUM, FF_REQUIRED, .choices = dialects },
	{ "runtime_trace", FT_OBJECT, FF_REQUIRED, .fields = preview_trace },
	{ "memory_injection", FT_OBJECT, FF_OPTIONAL, .fields = injection },
	{ "memory", FT_OBJECT, FF_OPTIONAL, .fields = wire_memory },
	{ "diagnostics", FT_ARRAY, FF_REQUIRED, .items = &diagnostic_item },
	{ "limitations", FT_ARRAY, FF_REQUIRED, .items = &wire_text_item },
	FIELD_END
};

/* ---- inspect ---- */

const struct field wire_inspect_body[] = {
	{ "message", FT_STRING, FF_REQUIRED, .min = 1 },
	{ "branch_id", FT_STRING, 0, .min = 1, .doc = "may name a branch that nobody has made yet" },
	{ "source_floor_id", FT_STRING, 0, .min = 1, .doc = "the story as it was at this floor" },
	{ "prompt_intent", FT_ENUM, 0, .choices = wire_intents },
	{ "config", FT_OBJECT, 0, .fields = wire_turn_config },
	{ "debug_options", FT_OBJECT, 0, .fields = wire_debug_options },
	{ "generation_params", FT_OBJECT, 0, .fields = wire_generation_params },
	{ "session_state_writes", FT_ARRAY, 0, .items = &wire_state_write },
	POLICY(0),
	FIELD_END
};
static const char *const retentions[] = { "fixed", "budget_prunable", NULL };
static const struct field governance_entry[] = {
	{ "source_kind", FT_STRING, FF_REQUIRED },
	{ "declared_level", FT_STRING, FF_REQUIRED | FF_NULLABLE },
	{ "registered", FT_BOOL, FF_REQUIRED },
	{ "effective_retention", FT_ENUM, FF_REQUIRED, .choices = retentions },
	{ "pinned", FT_BOOL, FF_REQUIRED | FF_NULLABLE },
	{ "prunable", FT_BOOL, FF_REQUIRED | FF_NULLABLE },
	{ "budget_groups", FT_ARRAY, FF_REQUIRED, .items = &wire_text_item },
	{ "section_names", FT_ARRAY, FF_REQUIRED, .items = &wire_text_item },
	{ "token_count", FT_INT, FF_REQUIRED, .bounded = true, .max = INT64_MAX },
	{ "retained_token_count", FT_INT, FF_REQUIRED, .bounded = true, .max = INT64_MAX },
	{ "pruned_token_count", FT_INT, FF_REQUIRED, .bounded = true, .max = INT64_MAX },
	FIELD_END
};
static const struct field governance_item = { "", FT_OBJECT, .fields = governance_entry };
static const struct field mismatch[] = {
	{ "code", FT_STRING, FF_REQUIRED },
	{ "source_kind", FT_STRING, FF_REQUIRED },
	{ "declared_level", FT_STRING, FF_REQUIRED | FF_NULLABLE },
	{ "effective_retention", FT_STRING, FF_REQUIRED },
	{ "budget_groups", FT_ARRAY, FF_REQUIRED, .items = &wire_text_item },
	{ "message", FT_STRING, FF_REQUIRED },
	FIELD_END
};
static const struct field mismatch_item = { "", FT_OBJECT, .fields = mismatch };
static const struct field governance[] = {
	{ "entries", FT_ARRAY, FF_REQUIRED, .items = &governance_item },
	{ "mismatches", FT_ARRAY, FF_REQUIRED, .items = &mismatch_item },
	{ "limitations", FT_ARRAY, FF_REQUIRED, .items = &wire_text_item },
	FIELD_END
};
static const struct field section[] = {
	{ "section_name", FT_STRING, FF_REQUIRED },
	{ "token_count", FT_INT, FF_REQUIRED, .bounded = true, .max = INT64_MAX },
	FIELD_END
};
static const struct field section_item = { "", FT_OBJECT, .fields = section };

/* Verdicts: what an explanation keeps of a turn, and a look at it says before. docs/explain.md. */
#define COUNTED(name) { name, FT_INT, FF_REQUIRED, .bounded = true, .max = INT64_MAX }
static const struct field verdict_row[] = {
	{ "identifier", FT_STRING, FF_REQUIRED },
	{ "verdict", FT_STRING, FF_REQUIRED, .doc = "sent, in_chat, empty, disabled, wrong_type, never_sent, duplicate; in mode rearrange the states of a layout" },
	COUNTED("tokens"),
	{ "by", FT_STRING, FF_OPTIONAL, .doc = "card: its own text stands instead" },
	FIELD_END
};
static const struct field verdict_row_item = { "", FT_OBJECT, .fields = verdict_row };
static const struct field verdict_place[] = {
	{ "kind", FT_STRING, FF_REQUIRED },
	{ "index", FT_INT, FF_REQUIRED },
	FIELD_END
};
static const struct field verdict_entry[] = {
	{ "book", FT_STRING, FF_REQUIRED, .doc = "the worldbook's id, or :character for the card's own" },
	{ "uid", FT_INT, FF_REQUIRED },
	{ "activated", FT_BOOL, FF_REQUIRED },
	{ "verdict", FT_STRING, FF_REQUIRED, .doc = "the words of a simulation" },
	{ "tokens", FT_INT, FF_OPTIONAL, .bounded = true, .max = INT64_MAX },
	{ "position", FT_STRING, FF_OPTIONAL },
	{ "key", FT_STRING, FF_OPTIONAL, .doc = "that was found, at most 40 bytes of it" },
	{ "place", FT_OBJECT, FF_OPTIONAL, .fields = verdict_place },
	FIELD_END
};
static const struct field verdict_entry_item = { "", FT_OBJECT, .fields = verdict_entry };
static const struct field verdict_lore[] = {
	COUNTED("budget"), COUNTED("used"), COUNTED("passes"), { "overflowed", FT_BOOL, FF_REQUIRED }, FIELD_END
};
static const struct field verdict_floor_item = { "", FT_INT };
static const struct field verdict_chat[] = {
	COUNTED("loaded"), COUNTED("sent"), COUNTED("length"), COUNTED("pruned"),
	{ "from", FT_INT, FF_OPTIONAL, .doc = "number of the oldest floor that is sent" },
	{ "cut", FT_BOOL, FF_OPTIONAL, .doc = "older messages did not fit" },
	{ "windowed", FT_BOOL, FF_OPTIONAL },
	{ "hidden", FT_ARRAY, FF_OPTIONAL, .items = &verdict_floor_item, .doc = "numbers of floors that the policy hides" },
	FIELD_END
};
static const struct field verdict_warning[] = { { "code", FT_STRING, FF_REQUIRED }, COUNTED("count"), FIELD_END };
static const struct field verdict_warning_item = { "", FT_OBJECT, .fields = verdict_warning };
static const struct field verdict_condition[] = {
	{ "row", FT_STRING, FF_REQUIRED | FF_NULLABLE, .doc = "whose text it stands in; null = no row of the preset's" },
	{ "condition", FT_STRING, FF_REQUIRED },
	{ "branch", FT_STRING, FF_REQUIRED, .doc = "then, else, raw (it stays as written)" },
	FIELD_END
};
static const struct field verdict_condition_item = { "", FT_OBJECT, .fields = verdict_condition };
static const struct field verdict_macros[] = {
	COUNTED("writes"),
	{ "warnings", FT_ARRAY, FF_REQUIRED, .items = &verdict_warning_item },
	{ "conditions", FT_ARRAY, FF_REQUIRED, .items = &verdict_condition_item },
	COUNTED("more_conditions"),
	FIELD_END
};
#define VERDICTS(flags) \
	{ "rows", FT_ARRAY, flags, .items = &verdict_row_item, .doc = "every row of the preset, in its order" }, \
	{ "blocks", FT_ARRAY, flags, .items = &verdict_row_item, .doc = "what the engine puts in beside the rows" }, \
	{ "entries", FT_ARRAY, flags, .items = &verdict_entry_item }, \
	{ "lore", FT_OBJECT, flags | FF_NULLABLE, .fields = verdict_lore }, \
	{ "chat", FT_OBJECT, flags, .fields = verdict_chat }, \
	{ "macros", FT_OBJECT, flags, .fields = verdict_macros }

static const char *const contributor_modes[] = { "compat_plus", "native", NULL };
static const char *const cache_scopes[] = { "floor", "page", "none", NULL };
static const struct field renderable[] = {
	{ "title", FT_STRING, FF_REQUIRED },
	{ "content", FT_STRING, FF_REQUIRED },
	FIELD_END
};
static const struct field contributor[] = {
	{ "id", FT_STRING, FF_REQUIRED },
	{ "kind", FT_STRING, FF_REQUIRED },
	{ "source_kind", FT_STRING, FF_REQUIRED },
	{ "mode_scope", FT_ENUM, FF_REQUIRED, .choices = contributor_modes },
	{ "prompt_renderable", FT_OBJECT, FF_REQUIRED | FF_NULLABLE, .fields = renderable },
	{ "deterministic", FT_BOOL, FF_REQUIRED },
	{ "cache_scope", FT_ENUM, FF_REQUIRED, .choices = cache_scopes },
	FIELD_END
};
static const struct field contributor_item = { "", FT_OBJECT, .fields = contributor };
static const char *const phases[] = { "conversation_resolve", "source_resolve", "pre_response", "assemble", "materialize", "inspect", NULL };
static const struct field phase[] = {
	{ "phase", FT_ENUM, FF_REQUIRED, .choices = phases },
	{ "detail", FT_OBJECT, FF_REQUIRED | FF_NULLABLE },
	FIELD_END
};
static const struct field phase_item = { "", FT_OBJECT, .fields = phase };
static const char *const tool_modes[] = { "inline", "standalone", "both", NULL };
static const char *const fail_strategies[] = { "warn", "block", "retry", NULL };
static const struct field config[] = {
	{ "enable_director", FT_BOOL, FF_OPTIONAL },
	{ "enable_verifier", FT_BOOL, FF_OPTIONAL },
	{ "enable_tools", FT_BOOL, FF_OPTIONAL },
	{ "enable_memory_consolidation", FT_BOOL, FF_OPTIONAL },
	{ "max_retries", FT_INT, FF_OPTIONAL, .bounded = true, .max = 5 },
	{ "tool_mode", FT_ENUM, FF_OPTIONAL, .choices = tool_modes },
	{ "verifier_fail_strategy", FT_ENUM, FF_OPTIONAL, .choices = fail_strategies },
	FIELD_END
};
static const char *const operations[] = { "set", "delete", NULL };
static const struct field state_write[] = {
	{ "namespace", FT_STRING, FF_REQUIRED },
	{ "slot", FT_STRING, FF_REQUIRED },
	{ "operation", FT_ENUM, FF_REQUIRED, .choices = operations },
	FIELD_END
};
static const struct field state_write_item = { "", FT_OBJECT, .fields = state_write };
static const struct field state_writes[] = {
	{ "total", FT_INT, FF_REQUIRED, .bounded = true, .max = INT64_MAX },
	{ "writes", FT_ARRAY, FF_REQUIRED, .items = &state_write_item },
	FIELD_END
};
static const struct field prepared_turn[] = {
	{ "messages", FT_ARRAY, FF_REQUIRED, .items = &wire_prompt_message },
	{ "token_estimate", FT_INT, FF_REQUIRED, .bounded = true, .max = INT64_MAX },
	{ "available_for_reply", FT_INT, FF_REQUIRED, .bounded = true, .max = INT64_MAX },
	{ "preprocessed_user_message", FT_STRING, FF_REQUIRED | FF_NULLABLE },
	{ "prompt_snapshot", FT_OBJECT, FF_REQUIRED | FF_NULLABLE, .fields = wire_snapshot },
	{ "runtime_trace", FT_OBJECT, FF_REQUIRED | FF_NULLABLE, .fields = wire_trace },
	{ "memory", FT_OBJECT, FF_OPTIONAL, .fields = wire_memory },
	{ "memory_summary", FT_STRING, FF_REQUIRED | FF_NULLABLE },
	{ "memory_injection", FT_OBJECT, FF_OPTIONAL, .fields = injection },
	{ "generation_params", FT_OBJECT, FF_REQUIRED, .fields = wire_generation_params },
	{ "requested_turn_config", FT_OBJECT, FF_REQUIRED | FF_NULLABLE, .fields = config },
	{ "turn_config", FT_OBJECT, FF_REQUIRED | FF_NULLABLE, .fields = config },
	{ "session_state_writes", FT_OBJECT, FF_REQUIRED, .fields = state_writes },
	{ "contributors", FT_ARRAY, FF_REQUIRED, .items = &contributor_item },
	{ "prepare_phase_trace", FT_ARRAY, FF_REQUIRED, .items = &phase_item },
	FIELD_END
};
const struct field wire_inspect_answer[] = {
	{ "scope", FT_OBJECT, FF_REQUIRED, .fields = scope },
	{ "mode", FT_OBJECT, FF_REQUIRED, .fields = wire_mode_answer },
	{ "policy", FT_OBJECT, FF_REQUIRED, .fields = resolved_policy },
	{ "source_map", FT_OBJECT, FF_REQUIRED, .fields = source_map },
	{ "diagnostics", FT_ARRAY, FF_REQUIRED, .items = &diagnostic_item },
	{ "history_normalization", FT_OBJECT, FF_REQUIRED, .fields = wire_normalization },
	{ "trim_reasons", FT_ARRAY, FF_REQUIRED, .items = &wire_trim_reason },
	{ "excluded_sources", FT_ARRAY, FF_REQUIRED, .items = &wire_excluded_source },
	{ "section_stats", FT_ARRAY, FF_REQUIRED, .items = &section_item },
	{ "governance", FT_OBJECT, FF_REQUIRED, .fields = governance },
	VERDICTS(FF_REQUIRED),
	{ "limitations", FT_ARRAY, FF_REQUIRED, .items = &wire_text_item },
	{ "prepared_turn", FT_OBJECT, FF_REQUIRED, .fields = prepared_turn },
	FIELD_END
};

/* ---- explain, compare ---- */

const struct field wire_page_query[] = {
	{ "page_id", FT_STRING, 0, .min = 1, .doc = "an output page of the floor; absent = the active one" },
	FIELD_END
};
static const char *const committed[] = { "committed", NULL };
static const struct field explained_floor[] = {
	{ "id", FT_STRING, FF_REQUIRED },
	{ "session_id", FT_STRING, FF_REQUIRED },
	COUNTED("floor_no"),
	{ "branch_id", FT_STRING, FF_REQUIRED },
	{ "parent_floor_id", FT_STRING, FF_REQUIRED | FF_NULLABLE },
	{ "state", FT_ENUM, FF_REQUIRED, .choices = committed },
	{ "prompt_snapshot_created_at", FT_TIME, FF_REQUIRED },
	{ "committed_at", FT_TIME, FF_REQUIRED },
	FIELD_END
};
static const struct field explained_usage[] = { COUNTED("prompt_tokens"), COUNTED("completion_tokens"), COUNTED("total_tokens"), FIELD_END };
static const char *const issue_severities[] = { "warning", "error", NULL };
static const struct field verifier_issue[] = {
	{ "description", FT_STRING, FF_REQUIRED },
	{ "severity", FT_ENUM, FF_REQUIRED, .choices = issue_severities },
	FIELD_END
};
static const struct field verifier_issue_item = { "", FT_OBJECT, .fields = verifier_issue };
static const struct field explained_verifier[] = {
	{ "status", FT_STRING, FF_REQUIRED },
	{ "issues", FT_ARRAY, FF_REQUIRED | FF_NULLABLE, .items = &verifier_issue_item },
	{ "suggestion", FT_STRING, FF_REQUIRED | FF_NULLABLE },
	FIELD_END
};
static const struct field explained_result[] = {
	{ "output_page_id", FT_STRING, FF_REQUIRED },
	{ "assistant_message_id", FT_STRING, FF_REQUIRED },
	{ "generated_text", FT_STRING, FF_REQUIRED },
	{ "summaries", FT_ARRAY, FF_REQUIRED, .items = &wire_text_item },
	{ "usage", FT_OBJECT, FF_REQUIRED, .fields = explained_usage },
	{ "verifier", FT_OBJECT, FF_REQUIRED | FF_NULLABLE, .fields = explained_verifier },
	{ "committed_at", FT_TIME, FF_REQUIRED },
	FIELD_END
};
static const struct field explained_budget[] = {
	COUNTED("context"), COUNTED("reply"), COUNTED("used"), { "left", FT_INT, FF_REQUIRED }, FIELD_END
};
static const struct field explained_message[] = {
	{ "source", FT_STRING, FF_REQUIRED, .doc = "where its text begins" },
	{ "role", FT_STRING, FF_REQUIRED, .doc = "mixed: of several messages" },
	COUNTED("tokens"),
	{ "count", FT_INT, FF_OPTIONAL, .bounded = true, .min = 2, .max = INT64_MAX, .doc = "older messages of a long chat are told together: how many" },
	{ "digest", FT_STRING, FF_REQUIRED, .doc = "the first 16 hex digits of the SHA-256 of role, name and text" },
	FIELD_END
};
static const struct field explained_message_item = { "", FT_OBJECT, .fields = explained_message };
static const struct field explained_decisions[] = { COUNTED("asked"), COUNTED("dropped"), COUNTED("unanswered"), COUNTED("held"), FIELD_END };
const struct field wire_explain_answer[] = {
	{ "floor", FT_OBJECT, FF_REQUIRED, .fields = explained_floor },
	{ "page_id", FT_STRING, FF_REQUIRED },
	{ "scope", FT_OBJECT, FF_REQUIRED, .fields = scope },
	{ "snapshot_available", FT_BOOL, FF_REQUIRED },
	{ "assets", FT_OBJECT, FF_REQUIRED | FF_NULLABLE, .fields = wire_assets_answer },
	{ "prompt_snapshot", FT_OBJECT, FF_REQUIRED, .fields = wire_snapshot },
	{ "resolved_policy", FT_OBJECT, FF_REQUIRED | FF_NULLABLE, .fields = resolved_policy },
	{ "source_map", FT_OBJECT, FF_OPTIONAL, .fields = source_map },
	{ "governance", FT_OBJECT, FF_REQUIRED | FF_NULLABLE, .fields = governance },
	{ "trim_reasons", FT_ARRAY, FF_REQUIRED | FF_NULLABLE, .items = &wire_trim_reason },
	{ "excluded_sources", FT_ARRAY, FF_REQUIRED | FF_NULLABLE, .items = &wire_excluded_source },
	{ "section_stats", FT_ARRAY, FF_REQUIRED | FF_NULLABLE, .items = &section_item },
	{ "budget", FT_OBJECT, FF_REQUIRED | FF_NULLABLE, .fields = explained_budget },
	VERDICTS(FF_REQUIRED | FF_NULLABLE),
	{ "messages", FT_ARRAY, FF_REQUIRED | FF_NULLABLE, .items = &explained_message_item, .doc = "as they were sent" },
	{ "degraded", FT_ARRAY, FF_OPTIONAL | FF_NULLABLE, .items = &wire_text_item, .doc = "what the policy asked for and could not be had" },
	{ "decisions", FT_OBJECT, FF_OPTIONAL | FF_NULLABLE, .fields = explained_decisions },
	{ "diagnostics", FT_ARRAY, FF_REQUIRED, .items = &diagnostic_item },
	{ "limitations", FT_ARRAY, FF_REQUIRED, .items = &wire_text_item },
	{ "result", FT_OBJECT, FF_REQUIRED, .fields = explained_result },
	{ "memory", FT_OBJECT, FF_OPTIONAL | FF_NULLABLE, .fields = wire_memory },
	{ "request_digest", FT_STRING, FF_REQUIRED | FF_NULLABLE, .doc = "SHA-256 of the body that went to the model" },
	{ "kept_request", FT_OBJECT, FF_REQUIRED | FF_NULLABLE, .doc = "that body, if the session's setting keep_request was on" },
	FIELD_END
};

static const struct field replay_difference[] = {
	{ "path", FT_STRING, FF_REQUIRED, .doc = "messages[N], params.NAME, body, or request: it cannot be made any more" },
	{ "expected", FT_ANY, FF_REQUIRED | FF_NULLABLE, .doc = "of a message the beginning of its digest" },
	{ "actual", FT_ANY, FF_REQUIRED | FF_NULLABLE },
	{ "source", FT_STRING, FF_OPTIONAL, .doc = "where the message comes from" },
	FIELD_END
};
const struct field wire_replay_answer[] = {
	{ "floor_id", FT_STRING, FF_REQUIRED },
	{ "page_id", FT_STRING, FF_REQUIRED },
	{ "equal", FT_BOOL, FF_REQUIRED, .doc = "byte for byte" },
	{ "expected_digest", FT_STRING, FF_REQUIRED, .doc = "SHA-256 of the body that went to the model" },
	{ "digest", FT_STRING, FF_REQUIRED | FF_NULLABLE, .doc = "of the body made now" },
	{ "difference", FT_OBJECT, FF_REQUIRED | FF_NULLABLE, .fields = replay_difference, .doc = "the first one" },
	{ "notes", FT_ARRAY, FF_REQUIRED, .items = &wire_text_item, .doc = "what is gone, and which verdicts are others now" },
	{ "request", FT_OBJECT, FF_REQUIRED | FF_NULLABLE, .doc = "the body made now" },
	{ "kept_request", FT_OBJECT, FF_REQUIRED | FF_NULLABLE, .doc = "the body that was sent, if it was kept" },
	FIELD_END
};

static const struct field compare_side[] = {
	{ "floor_id", FT_STRING, FF_REQUIRED, .min = 1 },
	{ "page_id", FT_STRING, 0, .min = 1, .doc = "an output page of the floor; absent = the active one" },
	FIELD_END
};
const struct field wire_compare_body[] = {
	{ "left", FT_OBJECT, FF_REQUIRED, .fields = compare_side },
	{ "right", FT_OBJECT, FF_REQUIRED, .fields = compare_side },
	FIELD_END
};
static const char *const change_types[] = { "added", "removed", "changed", NULL };
static const struct field change[] = {
	{ "path", FT_STRING, FF_REQUIRED },
	{ "change_type", FT_ENUM, FF_REQUIRED, .choices = change_types },
	{ "left", FT_ANY, FF_OPTIONAL },
	{ "right", FT_ANY, FF_OPTIONAL },
	FIELD_END
};
static const struct field change_item = { "", FT_OBJECT, .fields = change };
static const struct field compared_side[] = {
	{ "floor_id", FT_STRING, FF_REQUIRED },
	{ "page_id", FT_STRING, FF_REQUIRED },
	{ "snapshot_available", FT_BOOL, FF_REQUIRED },
	FIELD_END
};
#define CHANGES(name) { name, FT_ARRAY, FF_REQUIRED, .items = &change_item }
const struct field wire_compare_answer[] = {
	{ "left", FT_OBJECT, FF_REQUIRED, .fields = compared_side },
	{ "right", FT_OBJECT, FF_REQUIRED, .fields = compared_side },
	CHANGES("scope_changes"), CHANGES("policy_changes"), CHANGES("asset_changes"), CHANGES("diagnostics_changes"), CHANGES("trim_changes"),
	CHANGES("exclusion_changes"), CHANGES("governance_changes"), CHANGES("row_changes"), CHANGES("entry_changes"), CHANGES("budget_changes"),
	{ "limitations", FT_ARRAY, FF_REQUIRED, .items = &wire_text_item },
	FIELD_END
};
/* clang-format on */
