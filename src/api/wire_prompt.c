/*
 * wire_prompt: shapes of prompts on the wire that several routes share: what a policy may say, the
 * snapshot of a prompt, its trace, and its memory.
 */
#include "api/wire.h"
#include "base/limits.h"

/* clang-format off */
const char *const wire_prefill_strategies[] = { "provider_native", "assistant_message_fallback", "transcript_append", "unsupported", "none", NULL };
const struct field wire_text_item = { "", FT_STRING, 0 };
const struct field wire_number_item = { "", FT_INT, 0 };
const char *const wire_names_behaviors[] = { "off", "always", NULL };
const char *const wire_intents[] = { "normal", "continue", "impersonate", "swipe", "regenerate", "quiet", NULL };
static const char *const first_match_matched_key_scope_values[] = { "primary", "secondary", NULL };
static const char *const first_match_matched_key_type_values[] = { "plain", "regex", NULL };
static const char *const first_match_source_kind_values[] = { "message", "persona_description", "character_description", "character_personality", "character_depth_prompt", "scenario", "creator_notes", "injection", "recursion_buffer", NULL };
static const struct field first_match[] = {
	{ "char_end", FT_INT, FF_REQUIRED, .bounded = true, .max = INT64_MAX },
	{ "char_start", FT_INT, FF_REQUIRED, .bounded = true, .max = INT64_MAX },
	{ "excerpt", FT_STRING, FF_REQUIRED },
	{ "injection_index", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	{ "matched_key", FT_STRING, FF_REQUIRED },
	{ "matched_key_scope", FT_ENUM, FF_REQUIRED, .choices = first_match_matched_key_scope_values },
	{ "matched_key_type", FT_ENUM, FF_REQUIRED, .choices = first_match_matched_key_type_values },
	{ "message_index_from_latest", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	{ "source_kind", FT_ENUM, FF_REQUIRED, .choices = first_match_source_kind_values },
	FIELD_END
};
static const char *const match_item_activation_mode_values[] = { "constant", "triggered", NULL };
static const struct field match_item_activation[] = {
	{ "first_match", FT_OBJECT, FF_REQUIRED | FF_NULLABLE, .fields = first_match },
	{ "mode", FT_ENUM, FF_REQUIRED, .choices = match_item_activation_mode_values },
	{ "recursion_level", FT_INT, FF_REQUIRED, .bounded = true, .max = INT64_MAX },
	FIELD_END
};
static const char *const match_item_insertion_position_values[] = { "before", "after", "an_top", "an_bottom", "em_top", "em_bottom", "at_depth", "outlet", NULL };
static const char *const match_item_insertion_role_values[] = { "system", "user", "assistant", NULL };
static const struct field match_item_insertion[] = {
	{ "depth", FT_INT, 0 },
	{ "outlet_name", FT_STRING, 0 },
	{ "position", FT_ENUM, FF_REQUIRED, .choices = match_item_insertion_position_values },
	{ "role", FT_ENUM, 0, .choices = match_item_insertion_role_values },
	FIELD_END
};
static const char *const match_item_source_kind_values[] = { "session_worldbook", "character_book", NULL };
static const struct field match_item_source[] = {
	{ "asset_scope_id", FT_STRING, FF_REQUIRED },
	{ "kind", FT_ENUM, FF_REQUIRED, .choices = match_item_source_kind_values },
	{ "worldbook_id", FT_STRING, FF_REQUIRED | FF_NULLABLE },
	{ "worldbook_name", FT_STRING, FF_REQUIRED },
	FIELD_END
};
static const struct field match_item[] = {
	{ "activation", FT_OBJECT, FF_REQUIRED, .fields = match_item_activation },
	{ "activation_key", FT_STRING, FF_REQUIRED },
	{ "asset_scope_id", FT_STRING, FF_REQUIRED },
	{ "comment", FT_STRING, FF_REQUIRED },
	{ "content_preview", FT_STRING, FF_REQUIRED },
	{ "insertion", FT_OBJECT, FF_REQUIRED, .fields = match_item_insertion },
	{ "order", FT_INT, FF_REQUIRED },
	{ "source", FT_OBJECT, FF_REQUIRED, .fields = match_item_source },
	{ "uid", FT_INT, FF_REQUIRED },
	FIELD_END
};
const struct field wire_match_item = { "", FT_OBJECT, 0, .fields = match_item };
static const char *const memory_promotion_status_values[] = { "not_requested", "promoted", "rejected", "superseded", NULL };
static const char *const memory_proposal_status_values[] = { "not_requested", "skipped_by_request", "proposed", "promoted", "rejected", "superseded", NULL };
static const char *const memory_runtime_mode_values[] = { "disabled", "legacy_sync", "async_primary", NULL };
static const char *const memory_scope_resolution_requested_scopes_item_values[] = { "global", "chat", "branch", "floor", NULL };
static const struct field memory_scope_resolution_requested_scopes_item = { "", FT_ENUM, 0, .choices = memory_scope_resolution_requested_scopes_item_values };
static const struct field memory_scope_resolution[] = {
	{ "fallback_reason", FT_STRING, FF_NULLABLE },
	{ "mode", FT_STRING, 0 },
	{ "requested_branch_id", FT_STRING, FF_NULLABLE },
	{ "requested_scopes", FT_ARRAY, 0, .items = &memory_scope_resolution_requested_scopes_item },
	{ "resolved_branch_id", FT_STRING, FF_NULLABLE },
	{ "resolved_scopes", FT_ARRAY, 0, .items = &memory_scope_resolution_requested_scopes_item },
	{ "strict", FT_BOOL, FF_OPTIONAL },
	FIELD_END
};
static const char *const memory_selected_items_item_kind_values[] = { "fact", "micro_summary", "macro_summary", "summary", "open_loop", NULL };
static const char *const memory_selected_items_item_source_values[] = { "store", "summary", "open_loop", "fallback", NULL };
static const struct field memory_selected_items_members[] = {
	{ "branch_id", FT_STRING, FF_NULLABLE },
	{ "kind", FT_ENUM, FF_REQUIRED, .choices = memory_selected_items_item_kind_values },
	{ "memory_id", FT_STRING, FF_REQUIRED },
	{ "scope", FT_ENUM, FF_REQUIRED, .choices = memory_scope_resolution_requested_scopes_item_values },
	{ "scope_id", FT_STRING, FF_REQUIRED },
	{ "score", FT_NUMBER, FF_NULLABLE },
	{ "selected_reason", FT_STRING, FF_NULLABLE },
	{ "source", FT_ENUM, 0, .choices = memory_selected_items_item_source_values },
	{ "token_count", FT_INT, FF_NULLABLE, .bounded = true, .max = INT64_MAX },
	FIELD_END
};
static const struct field memory_selected_items_item = { "", FT_OBJECT, 0, .fields = memory_selected_items_members };
static const char *const memory_strategy_values[] = { "none", "single_summary", "dual_summary", "direct_items", NULL };
static const struct field memory_token_stats[] = {
	{ "budget", FT_INT, FF_NULLABLE, .bounded = true, .max = INT64_MAX },
	{ "direct_items", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	{ "macro_summary", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	{ "micro_summary", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	{ "used", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	FIELD_END
};
const struct field wire_memory[] = {
	{ "effective_write", FT_BOOL, FF_OPTIONAL },
	{ "page_id", FT_STRING, FF_OPTIONAL },
	{ "promotion_status", FT_ENUM, FF_OPTIONAL, .choices = memory_promotion_status_values },
	{ "proposal_batch_id", FT_STRING, FF_OPTIONAL },
	{ "proposal_status", FT_ENUM, FF_OPTIONAL, .choices = memory_proposal_status_values },
	{ "requested_write", FT_BOOL, FF_OPTIONAL },
	{ "runtime_mode", FT_ENUM, FF_OPTIONAL, .choices = memory_runtime_mode_values },
	{ "scope_resolution", FT_OBJECT, FF_OPTIONAL, .fields = memory_scope_resolution },
	{ "selected_items", FT_ARRAY, FF_OPTIONAL, .items = &memory_selected_items_item },
	{ "strategy", FT_ENUM, FF_OPTIONAL, .choices = memory_strategy_values },
	{ "summary_injected", FT_BOOL, 0 },
	{ "summary_text", FT_STRING, FF_OPTIONAL },
	{ "summary_text_hash", FT_STRING, FF_OPTIONAL | FF_NULLABLE },
	{ "token_stats", FT_OBJECT, FF_OPTIONAL, .fields = memory_token_stats },
	FIELD_END
};
static const struct field dry_messages_item[] = {
	{ "content", FT_STRING, FF_REQUIRED },
	{ "role", FT_ENUM, FF_REQUIRED, .choices = match_item_insertion_role_values },
	{ "name", FT_STRING, FF_OPTIONAL, .doc = "speaker, where the prompt names one" },
	FIELD_END
};
const struct field wire_prompt_message = { "", FT_OBJECT, 0, .fields = dry_messages_item };
const char *const wire_prompt_modes[] = { "compat_strict", "compat_plus", "native", "rearrange", NULL };
static const struct field snapshot_activated_entry[] = {
	{ "activation_key", FT_STRING, FF_REQUIRED },
	{ "insertion", FT_OBJECT, FF_REQUIRED, .fields = match_item_insertion },
	{ "source", FT_OBJECT, FF_REQUIRED, .fields = match_item_source },
	{ "uid", FT_INT, FF_REQUIRED },
	FIELD_END
};
static const struct field snapshot_activated_item = { "", FT_OBJECT, 0, .fields = snapshot_activated_entry };
const struct field wire_snapshot[] = {
	{ "asset_manifest_digest", FT_STRING, FF_NULLABLE },
	{ "character_content_hash", FT_STRING, FF_NULLABLE },
	{ "character_id", FT_STRING, FF_NULLABLE },
	{ "character_imported_format", FT_STRING, FF_NULLABLE },
	{ "character_version_id", FT_STRING, FF_NULLABLE },
	{ "preset_content_hash", FT_STRING, FF_NULLABLE },
	{ "preset_id", FT_STRING, FF_NULLABLE },
	{ "preset_updated_at", FT_TIME, FF_NULLABLE },
	{ "preset_version", FT_INT, FF_NULLABLE, .bounded = true, .min = 1, .max = INT64_MAX },
	{ "preset_version_id", FT_STRING, FF_NULLABLE },
	{ "prompt_digest", FT_STRING, 0 },
	{ "prompt_mode", FT_ENUM, 0, .choices = wire_prompt_modes },
	{ "regex_post_rule_names", FT_ARRAY, 0, .items = &wire_text_item },
	{ "regex_pre_rule_names", FT_ARRAY, 0, .items = &wire_text_item },
	{ "regex_profile_content_hash", FT_STRING, FF_NULLABLE },
	{ "regex_profile_id", FT_STRING, FF_NULLABLE },
	{ "regex_profile_updated_at", FT_TIME, FF_NULLABLE },
	{ "regex_profile_version", FT_INT, FF_NULLABLE, .bounded = true, .min = 1, .max = INT64_MAX },
	{ "regex_profile_version_id", FT_STRING, FF_NULLABLE },
	{ "token_estimate", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	{ "worldbook_activated_entries", FT_ARRAY, 0, .items = &snapshot_activated_item },
	{ "worldbook_activated_entry_uids", FT_ARRAY, 0, .items = &wire_number_item },
	{ "worldbook_content_hash", FT_STRING, FF_NULLABLE },
	{ "worldbook_id", FT_STRING, FF_NULLABLE },
	{ "worldbook_updated_at", FT_TIME, FF_NULLABLE },
	{ "worldbook_version", FT_INT, FF_NULLABLE, .bounded = true, .min = 1, .max = INT64_MAX },
	{ "worldbook_version_id", FT_STRING, FF_NULLABLE },
	FIELD_END
};
static const struct field trace_budgets_by_group_members[] = {
	{ "allocated_token_count", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	{ "estimated_token_count", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	{ "group", FT_STRING, FF_REQUIRED },
	{ "pruned_token_count", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	{ "token_count", FT_INT, FF_REQUIRED, .bounded = true, .max = INT64_MAX },
	FIELD_END
};
static const struct field trace_budgets_by_group_item = { "", FT_OBJECT, 0, .fields = trace_budgets_by_group_members };
static const char *const trace_budgets_trim_reasons_item_reason_values[] = { "budget_exceeded", "group_limit_exceeded", "provider_constraint", "policy_disabled", NULL };
static const struct field trace_budgets_trim_reasons_item[] = {
	{ "detail", FT_STRING, 0 },
	{ "group", FT_STRING, FF_REQUIRED },
	{ "pruned_token_count", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	{ "reason", FT_ENUM, FF_REQUIRED, .choices = trace_budgets_trim_reasons_item_reason_values },
	FIELD_END
};
const struct field wire_trim_reason = { "", FT_OBJECT, 0, .fields = trace_budgets_trim_reasons_item };
static const struct field trace_budgets[] = {
	{ "by_group", FT_ARRAY, 0, .items = &trace_budgets_by_group_item },
	{ "trim_reasons", FT_ARRAY, FF_OPTIONAL, .items = &wire_trim_reason },
	FIELD_END
};
static const char *const trace_delivery_degrade_reasons_item_values[] = { "assistant_prefill_disabled", "assistant_prefill_unsupported", "require_last_user", "no_assistant_override", NULL };
static const struct field trace_delivery_degrade_reasons_item = { "", FT_ENUM, 0, .choices = trace_delivery_degrade_reasons_item_values };
static const struct field trace_delivery[] = {
	{ "allow_assistant_prefill", FT_BOOL, 0 },
	{ "assistant_prefill_applied", FT_BOOL, 0 },
	{ "assistant_prefill_requested", FT_BOOL, 0 },
	{ "assistant_prefill_strategy", FT_ENUM, FF_NULLABLE, .choices = wire_prefill_strategies },
	{ "degrade_reasons", FT_ARRAY, 0, .items = &trace_delivery_degrade_reasons_item },
	{ "degraded", FT_BOOL, 0 },
	{ "ends_with_user", FT_BOOL, 0 },
	{ "last_message_role", FT_ENUM, FF_NULLABLE, .choices = match_item_insertion_role_values },
	{ "no_assistant", FT_BOOL, 0 },
	{ "require_last_user", FT_BOOL, 0 },
	FIELD_END
};
static const char *const normalization_merged_user_groups_item_effective_role_values[] = { "user", NULL };
static const struct field normalization_merged_user_groups_members[] = {
	{ "effective_role", FT_ENUM, FF_REQUIRED, .choices = normalization_merged_user_groups_item_effective_role_values },
	{ "includes_current_input", FT_BOOL, FF_REQUIRED },
	{ "source_floor_ids", FT_ARRAY, FF_REQUIRED, .items = &wire_text_item },
	{ "source_message_ids", FT_ARRAY, FF_REQUIRED, .items = &wire_text_item },
	FIELD_END
};
static const struct field normalization_merged_user_groups_item = { "", FT_OBJECT, 0, .fields = normalization_merged_user_groups_members };
static const char *const normalization_violations_item_code_values[] = { "adjacent_assistant_floors", NULL };
static const struct field normalization_violations_members[] = {
	{ "code", FT_ENUM, FF_REQUIRED, .choices = normalization_violations_item_code_values },
	{ "message", FT_STRING, FF_REQUIRED },
	{ "source_floor_ids", FT_ARRAY, FF_REQUIRED, .items = &wire_text_item },
	{ "source_message_ids", FT_ARRAY, FF_REQUIRED, .items = &wire_text_item },
	FIELD_END
};
static const struct field normalization_violations_item = { "", FT_OBJECT, 0, .fields = normalization_violations_members };
const struct field wire_normalization[] = {
	{ "effective_turn_count", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	{ "merged_user_groups", FT_ARRAY, 0, .items = &normalization_merged_user_groups_item },
	{ "raw_entry_count", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	{ "selected_turn_count", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	{ "trailing_user_source_floor_ids", FT_ARRAY, 0, .items = &wire_text_item },
	{ "violations", FT_ARRAY, 0, .items = &normalization_violations_item },
	FIELD_END
};
static const char *const trace_macro_mutation_preview_item_kind_values[] = { "set", "delete", NULL };
static const char *const trace_macro_mutation_preview_item_scope_values[] = { "branch", "global", NULL };
static const struct field trace_macro_mutation_preview_members[] = {
	{ "key", FT_STRING, FF_REQUIRED },
	{ "kind", FT_ENUM, FF_REQUIRED, .choices = trace_macro_mutation_preview_item_kind_values },
	{ "scope", FT_ENUM, FF_REQUIRED, .choices = trace_macro_mutation_preview_item_scope_values },
	{ "value", FT_STRING, 0 },
	FIELD_END
};
static const struct field trace_macro_mutation_preview_item = { "", FT_OBJECT, 0, .fields = trace_macro_mutation_preview_members };
static const struct field trace_macro_staged_mutations_members[] = {
	{ "key", FT_STRING, FF_REQUIRED },
	{ "kind", FT_ENUM, FF_REQUIRED, .choices = trace_macro_mutation_preview_item_kind_values },
	{ "scope", FT_ENUM, FF_REQUIRED, .choices = trace_macro_mutation_preview_item_scope_values },
	{ "source_macro", FT_STRING, FF_REQUIRED },
	{ "value", FT_STRING, 0 },
	FIELD_END
};
static const struct field trace_macro_staged_mutations_item = { "", FT_OBJECT, 0, .fields = trace_macro_staged_mutations_members };
static const char *const trace_macro_traces_item_selected_branch_values[] = { "then", "else", "raw", NULL };
static const char *const trace_macro_traces_item_source_kind_values[] = { "text", "raw", "macro", "if", NULL };
static const struct field trace_macro_traces_members[] = {
	{ "macro_name", FT_STRING, FF_REQUIRED },
	{ "phase", FT_STRING, 0 },
	{ "raw_text", FT_STRING, FF_REQUIRED },
	{ "resolved_text", FT_STRING, FF_REQUIRED },
	{ "selected_branch", FT_ENUM, 0, .choices = trace_macro_traces_item_selected_branch_values },
	{ "source_kind", FT_ENUM, 0, .choices = trace_macro_traces_item_source_kind_values },
	FIELD_END
};
static const struct field trace_macro_traces_item = { "", FT_OBJECT, 0, .fields = trace_macro_traces_members };
static const struct field trace_macro_warnings_members[] = {
	{ "code", FT_STRING, FF_REQUIRED },
	{ "macro_name", FT_STRING, 0 },
	{ "message", FT_STRING, FF_REQUIRED },
	{ "raw_text", FT_STRING, 0 },
	{ "line", FT_INT, FF_OPTIONAL, .doc = "from 1" },
	{ "column", FT_INT, FF_OPTIONAL, .doc = "from 1" },
	{ "count", FT_INT, FF_OPTIONAL, .doc = "how often, if more than once" },
	FIELD_END
};
static const struct field trace_macro_warnings_item = { "", FT_OBJECT, 0, .fields = trace_macro_warnings_members };
const struct field wire_macro_trace[] = {
	{ "mutation_preview", FT_ARRAY, 0, .items = &trace_macro_mutation_preview_item },
	{ "staged_mutations", FT_ARRAY, 0, .items = &trace_macro_staged_mutations_item },
	{ "traces", FT_ARRAY, 0, .items = &trace_macro_traces_item },
	{ "used_names", FT_ARRAY, 0, .items = &wire_text_item },
	{ "warnings", FT_ARRAY, 0, .items = &trace_macro_warnings_item },
	FIELD_END
};
static const struct field trace_preset[] = {
	{ "continue_nudge_applied", FT_BOOL, 0 },
	{ "continue_nudge_text", FT_STRING, FF_NULLABLE },
	{ "ignored_fields", FT_ARRAY, 0, .items = &wire_text_item },
	{ "ignored_prompt_order_character_ids", FT_ARRAY, 0, .items = &wire_number_item },
	{ "in_chat_inserted_entry_ids", FT_ARRAY, 0, .items = &wire_text_item },
	{ "names_behavior_applied", FT_ENUM, FF_NULLABLE, .choices = wire_names_behaviors },
	{ "selected_prompt_order_character_id", FT_INT, FF_NULLABLE },
	{ "trigger_filtered_entry_ids", FT_ARRAY, 0, .items = &wire_text_item },
	{ "unresolved_markers", FT_ARRAY, 0, .items = &wire_text_item },
	{ "unsupported_fields", FT_ARRAY, 0, .items = &wire_text_item },
	{ "warnings", FT_ARRAY, 0, .items = &wire_text_item },
	FIELD_END
};
static const char *const trace_regex_phases_item_channel_values[] = { "persist", "prompt", "display", "edit", NULL };
static const char *const trace_regex_phases_item_phase_id_values[] = { "persist.user_input", "prompt.user_input", "persist.ai_output", "prompt.world_info.reserved", NULL };
static const char *const trace_regex_phases_item_skipped_rules_item_reason_values[] = { "channel_filtered", "depth_filtered", "invalid_regex", "no_match", "reserved_non_executable", NULL };
static const struct field trace_regex_phases_item_skipped_rules_members[] = {
	{ "reason", FT_ENUM, FF_REQUIRED, .choices = trace_regex_phases_item_skipped_rules_item_reason_values },
	{ "rule_name", FT_STRING, FF_REQUIRED },
	FIELD_END
};
static const struct field trace_regex_phases_item_skipped_rules_item = { "", FT_OBJECT, 0, .fields = trace_regex_phases_item_skipped_rules_members };
static const char *const trace_regex_phases_item_status_values[] = { "executed", "reserved", NULL };
static const struct field trace_regex_phases_members[] = {
	{ "candidate_rule_names", FT_ARRAY, FF_REQUIRED, .items = &wire_text_item },
	{ "changed", FT_BOOL, FF_REQUIRED },
	{ "channel", FT_ENUM, FF_REQUIRED | FF_NULLABLE, .choices = trace_regex_phases_item_channel_values },
	{ "depth", FT_INT, FF_REQUIRED | FF_NULLABLE },
	{ "input_text_hash", FT_STRING, FF_REQUIRED | FF_NULLABLE },
	{ "matched_rule_names", FT_ARRAY, FF_REQUIRED, .items = &wire_text_item },
	{ "output_text_hash", FT_STRING, FF_REQUIRED | FF_NULLABLE },
	{ "phase_id", FT_ENUM, FF_REQUIRED, .choices = trace_regex_phases_item_phase_id_values },
	{ "placement", FT_INT, FF_REQUIRED },
	{ "skipped_rules", FT_ARRAY, FF_REQUIRED, .items = &trace_regex_phases_item_skipped_rules_item },
	{ "status", FT_ENUM, FF_REQUIRED, .choices = trace_regex_phases_item_status_values },
	FIELD_END
};
static const struct field trace_regex_phases_item = { "", FT_OBJECT, 0, .fields = trace_regex_phases_members };
static const char *const trace_regex_substitution_mode_values[] = { "bare_variable_only", NULL };
static const struct field trace_regex[] = {
	{ "ai_output_rules", FT_ARRAY, 0, .items = &wire_text_item },
	{ "phases", FT_ARRAY, FF_OPTIONAL, .items = &trace_regex_phases_item },
	{ "preprocessed_user_message", FT_STRING, FF_NULLABLE },
	{ "reserved_placements", FT_ARRAY, FF_OPTIONAL, .items = &wire_number_item },
	{ "substitution_mode", FT_ENUM, FF_OPTIONAL, .choices = trace_regex_substitution_mode_values },
	{ "user_input_rules", FT_ARRAY, 0, .items = &wire_text_item },
	FIELD_END
};
static const char *const trace_source_selection_excluded_sources_item_reason_values[] = { "disabled_by_policy", "budget_trimmed", "provider_constraint", "visibility_filtered", "not_triggered", NULL };
static const char *const trace_source_selection_excluded_sources_item_source_values[] = { "history", "memory", "worldbook", "examples", NULL };
static const struct field trace_source_selection_excluded_sources_item[] = {
	{ "detail", FT_STRING, 0 },
	{ "reason", FT_ENUM, FF_REQUIRED, .choices = trace_source_selection_excluded_sources_item_reason_values },
	{ "source", FT_ENUM, FF_REQUIRED, .choices = trace_source_selection_excluded_sources_item_source_values },
	FIELD_END
};
const struct field wire_excluded_source = { "", FT_OBJECT, 0, .fields = trace_source_selection_excluded_sources_item };
const struct field wire_source_trace[] = {
	{ "excluded_sources", FT_ARRAY, 0, .items = &wire_excluded_source },
	FIELD_END
};
const char *const wire_rewrite_strategies[] = { "to_system", "to_user_transcript", NULL };
const char *const wire_structure_modes[] = { "default", "strict_alternating", "no_assistant", "flattened", NULL };
static const struct field trace_structure[] = {
	{ "assistant_prefill_transcriptized", FT_BOOL, FF_OPTIONAL },
	{ "assistant_rewrite_count", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	{ "assistant_rewrite_strategy", FT_ENUM, FF_NULLABLE, .choices = wire_rewrite_strategies },
	{ "merge_adjacent_same_role", FT_BOOL, 0 },
	{ "mode", FT_ENUM, 0, .choices = wire_structure_modes },
	{ "tail_assistant_detected", FT_BOOL, 0 },
	{ "transcript_message_count", FT_INT, FF_OPTIONAL, .bounded = true, .max = INT64_MAX },
	{ "transcriptized", FT_BOOL, FF_OPTIONAL },
	FIELD_END
};
static const struct field trace_visibility_hidden_floor_ranges_members[] = {
	{ "end_floor_no", FT_INT, FF_REQUIRED },
	{ "start_floor_no", FT_INT, FF_REQUIRED },
	FIELD_END
};
static const struct field trace_visibility_hidden_floor_ranges_item = { "", FT_OBJECT, 0, .fields = trace_visibility_hidden_floor_ranges_members };
const struct field wire_visibility_trace[] = {
	{ "filtered_floor_nos", FT_ARRAY, 0, .items = &wire_number_item },
	{ "hidden_floor_ranges", FT_ARRAY, FF_OPTIONAL, .items = &trace_visibility_hidden_floor_ranges_item },
	FIELD_END
};
static const struct field trace_worldbook[] = {
	{ "hit_count", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	{ "matches", FT_ARRAY, FF_OPTIONAL, .items = &wire_match_item },
	FIELD_END
};
const struct field wire_trace[] = {
	{ "budgets", FT_OBJECT, FF_OPTIONAL, .fields = trace_budgets },
	{ "delivery", FT_OBJECT, FF_OPTIONAL, .fields = trace_delivery },
	{ "history_normalization", FT_OBJECT, FF_OPTIONAL, .fields = wire_normalization },
	{ "macro", FT_OBJECT, FF_OPTIONAL, .fields = wire_macro_trace },
	{ "memory", FT_OBJECT, FF_OPTIONAL, .fields = wire_memory },
	{ "preset", FT_OBJECT, FF_OPTIONAL, .fields = trace_preset },
	{ "regex", FT_OBJECT, FF_OPTIONAL, .fields = trace_regex },
	{ "source_selection", FT_OBJECT, FF_OPTIONAL, .fields = wire_source_trace },
	{ "structure", FT_OBJECT, FF_OPTIONAL, .fields = trace_structure },
	{ "visibility", FT_OBJECT, FF_OPTIONAL, .fields = wire_visibility_trace },
	{ "worldbook", FT_OBJECT, FF_OPTIONAL, .fields = trace_worldbook },
	{ "layout", FT_OBJECT, FF_OPTIONAL, .doc = "mode rearrange: how the nodes laid the blocks out" },
	FIELD_END
};
const struct field wire_budget[] = {
	{ "max_input_tokens", FT_INT, 0, .bounded = true, .min = 1, .max = INT64_MAX },
	{ "reserved_completion_tokens", FT_INT, 0, .bounded = true, .min = 1, .max = INT64_MAX },
	FIELD_END
};
const struct field wire_delivery[] = {
	{ "allow_assistant_prefill", FT_BOOL, 0 },
	{ "no_assistant", FT_BOOL, 0 },
	{ "require_last_user", FT_BOOL, 0 },
	FIELD_END
};
static const struct field source_selection_examples[] = {
	{ "enabled", FT_BOOL, 0 },
	FIELD_END
};
static const char *const source_selection_history_mode_values[] = { "full", "windowed", NULL };
static const struct field source_selection_history[] = {
	{ "max_messages", FT_INT, 0, .bounded = true, .min = 1, .max = INT64_MAX },
	{ "mode", FT_ENUM, 0, .choices = source_selection_history_mode_values },
	FIELD_END
};
const struct field wire_source_selection[] = {
	{ "examples", FT_OBJECT, 0, .fields = source_selection_examples },
	{ "history", FT_OBJECT, 0, .fields = source_selection_history },
	{ "memory", FT_OBJECT, 0, .fields = source_selection_examples },
	{ "worldbook", FT_OBJECT, 0, .fields = source_selection_examples },
	FIELD_END
};
const struct field wire_structure[] = {
	{ "assistant_rewrite_strategy", FT_ENUM, 0, .choices = wire_rewrite_strategies },
	{ "merge_adjacent_same_role", FT_BOOL, 0 },
	{ "mode", FT_ENUM, 0, .choices = wire_structure_modes },
	{ "preserve_system_messages", FT_BOOL, 0 },
	FIELD_END
};
static const struct field visibility_hidden_floor_ids_item = { "", FT_STRING, 0, .min = 1 };
static const char *const visibility_mode_values[] = { "allow_all_except_hidden", "deny_all_except_visible", NULL };
const struct field wire_visibility[] = {
	{ "hidden_floor_ids", FT_ARRAY, 0, .max = LIM_POLICY_FLOORS, .items = &visibility_hidden_floor_ids_item },
	{ "hidden_floor_ranges", FT_ARRAY, 0, .max = LIM_POLICY_FLOORS, .items = &trace_visibility_hidden_floor_ranges_item },
	{ "mode", FT_ENUM, 0, .choices = visibility_mode_values },
	{ "visible_floor_ranges", FT_ARRAY, 0, .max = LIM_POLICY_FLOORS, .items = &trace_visibility_hidden_floor_ranges_item },
	FIELD_END
};
static const char *const turn_body_config_toolMode_values[] = { "inline", "standalone", "both", NULL };
static const char *const turn_body_config_verifierFailStrategy_values[] = { "warn", "block", "retry", NULL };
const struct field wire_turn_config[] = {
	{ "enableDirector", FT_BOOL, 0 },
	{ "enableMemoryConsolidation", FT_BOOL, 0 },
	{ "enableTools", FT_BOOL, 0 },
	{ "enableVerifier", FT_BOOL, 0 },
	{ "maxRetries", FT_INT, 0, .bounded = true, .max = 5 },
	{ "toolMode", FT_ENUM, 0, .choices = turn_body_config_toolMode_values },
	{ "verifierFailStrategy", FT_ENUM, 0, .choices = turn_body_config_verifierFailStrategy_values },
	FIELD_END
};
const struct field wire_debug_options[] = {
	{ "include_prompt_snapshot", FT_BOOL, 0 },
	{ "include_runtime_trace", FT_BOOL, 0 },
	{ "include_worldbook_matches", FT_BOOL, 0 },
	FIELD_END
};
static const char *const generation_params_reasoning_effort_values[] = { "low", "medium", "high", NULL };
const struct field wire_generation_params[] = {
	{ "frequency_penalty", FT_NUMBER, 0 },
	{ "max_output_tokens", FT_INT, 0, .bounded = true, .min = 1, .max = INT64_MAX },
	{ "presence_penalty", FT_NUMBER, 0 },
	{ "reasoning_effort", FT_ENUM, 0, .choices = generation_params_reasoning_effort_values },
	{ "stop_sequences", FT_ARRAY, 0, .items = &wire_text_item },
	{ "stream", FT_BOOL, 0 },
	{ "temperature", FT_NUMBER, 0, .bounded = true, .max = 2 },
	{ "top_k", FT_INT, 0, .bounded = true, .min = 1, .max = INT64_MAX },
	{ "top_p", FT_NUMBER, 0, .bounded = true, .max = 1 },
	FIELD_END
};
static const struct field state_write_item_1[] = {
	{ "namespace", FT_STRING, FF_REQUIRED, .min = 1, .max = 128, .pattern = "^[a-z][a-z0-9_]*(?:\\.[a-z][a-z0-9_]*)*$" },
	{ "slot", FT_STRING, FF_REQUIRED, .min = 1, .max = 256 },
	{ "value", FT_ANY, FF_REQUIRED },
	FIELD_END
};
static const struct field state_write_item_2[] = {
	{ "delete", FT_BOOL, FF_REQUIRED },
	{ "namespace", FT_STRING, FF_REQUIRED, .min = 1, .max = 128, .pattern = "^[a-z][a-z0-9_]*(?:\\.[a-z][a-z0-9_]*)*$" },
	{ "slot", FT_STRING, FF_REQUIRED, .min = 1, .max = 256 },
	FIELD_END
};
static const struct field state_write_item[] = {
	{ "", FT_OBJECT, 0, .fields = state_write_item_1 },
	{ "", FT_OBJECT, 0, .fields = state_write_item_2 },
	FIELD_END
};
const struct field wire_state_write = { "", FT_ONEOF, 0, .fields = state_write_item };
/* clang-format on */
