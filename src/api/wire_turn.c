/*
 * wire_turn: shapes of the turn routes on the wire: bodies, answers, and the snapshot and trace
 * that respond and dry-run share.
 */
#include "api/wire.h"

/* clang-format off */
static const char *const dry_assembly_assistant_prefill_strategy_values[] = { "provider_native", "assistant_message_fallback", "transcript_append", "unsupported", "none", NULL };
static const struct field dry_assembly_ignored_preset_fields_item = { "", FT_STRING, 0 };
static const struct field dry_assembly_ignored_prompt_order_character_ids_item = { "", FT_INT, 0 };
static const char *const dry_assembly_mode_values[] = { "preset", "fallback", NULL };
static const char *const dry_assembly_names_behavior_applied_values[] = { "off", "always", NULL };
static const char *const dry_assembly_prompt_intent_values[] = { "normal", "continue", "impersonate", "swipe", "regenerate", "quiet", NULL };
static const char *const dry_assembly_reserved_variable_collisions_item_values[] = { "char", "user", NULL };
static const struct field dry_assembly_reserved_variable_collisions_item = { "", FT_ENUM, 0, .choices = dry_assembly_reserved_variable_collisions_item_values };
static const char *const match_item_activation_first_match_matched_key_scope_values[] = { "primary", "secondary", NULL };
static const char *const match_item_activation_first_match_matched_key_type_values[] = { "plain", "regex", NULL };
static const char *const match_item_activation_first_match_source_kind_values[] = { "message", "persona_description", "character_description", "character_personality", "character_depth_prompt", "scenario", "creator_notes", "injection", "recursion_buffer", NULL };
static const struct field match_item_activation_first_match[] = {
	{ "char_end", FT_INT, FF_REQUIRED, .bounded = true, .max = INT64_MAX },
	{ "char_start", FT_INT, FF_REQUIRED, .bounded = true, .max = INT64_MAX },
	{ "excerpt", FT_STRING, FF_REQUIRED },
	{ "injection_index", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	{ "matched_key", FT_STRING, FF_REQUIRED },
	{ "matched_key_scope", FT_ENUM, FF_REQUIRED, .choices = match_item_activation_first_match_matched_key_scope_values },
	{ "matched_key_type", FT_ENUM, FF_REQUIRED, .choices = match_item_activation_first_match_matched_key_type_values },
	{ "message_index_from_latest", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	{ "source_kind", FT_ENUM, FF_REQUIRED, .choices = match_item_activation_first_match_source_kind_values },
	FIELD_END
};
static const char *const match_item_activation_mode_values[] = { "constant", "triggered", NULL };
static const struct field match_item_activation[] = {
	{ "first_match", FT_OBJECT, FF_REQUIRED | FF_NULLABLE, .fields = match_item_activation_first_match },
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
static const struct field match_item_2 = { "", FT_OBJECT, 0, .fields = match_item };
static const struct field dry_assembly[] = {
	{ "assistant_prefill_applied", FT_BOOL, 0 },
	{ "assistant_prefill_strategy", FT_ENUM, 0, .choices = dry_assembly_assistant_prefill_strategy_values },
	{ "continue_nudge_applied", FT_BOOL, 0 },
	{ "continue_nudge_text", FT_STRING, FF_NULLABLE },
	{ "ignored_preset_fields", FT_ARRAY, 0, .items = &dry_assembly_ignored_preset_fields_item },
	{ "ignored_prompt_order_character_ids", FT_ARRAY, 0, .items = &dry_assembly_ignored_prompt_order_character_ids_item },
	{ "in_chat_inserted_entry_ids", FT_ARRAY, 0, .items = &dry_assembly_ignored_preset_fields_item },
	{ "memory_summary_injected", FT_BOOL, 0 },
	{ "mode", FT_ENUM, 0, .choices = dry_assembly_mode_values },
	{ "names_behavior_applied", FT_ENUM, 0, .choices = dry_assembly_names_behavior_applied_values },
	{ "preprocessed_user_message", FT_STRING, FF_NULLABLE },
	{ "preset_used", FT_BOOL, 0 },
	{ "preset_warnings", FT_ARRAY, 0, .items = &dry_assembly_ignored_preset_fields_item },
	{ "prompt_intent", FT_ENUM, 0, .choices = dry_assembly_prompt_intent_values },
	{ "regex_post_rules", FT_ARRAY, 0, .items = &dry_assembly_ignored_preset_fields_item },
	{ "regex_pre_rules", FT_ARRAY, 0, .items = &dry_assembly_ignored_preset_fields_item },
	{ "reserved_variable_collisions", FT_ARRAY, 0, .items = &dry_assembly_reserved_variable_collisions_item },
	{ "selected_prompt_order_character_id", FT_INT, FF_NULLABLE },
	{ "trigger_filtered_entry_ids", FT_ARRAY, 0, .items = &dry_assembly_ignored_preset_fields_item },
	{ "unresolved_preset_markers", FT_ARRAY, 0, .items = &dry_assembly_ignored_preset_fields_item },
	{ "unsupported_preset_fields", FT_ARRAY, 0, .items = &dry_assembly_ignored_preset_fields_item },
	{ "worldbook_hits", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	{ "worldbook_matches", FT_ARRAY, FF_OPTIONAL, .items = &match_item_2 },
	FIELD_END
};
static const char *const dry_memory_promotion_status_values[] = { "not_requested", "promoted", "rejected", "superseded", NULL };
static const char *const dry_memory_proposal_status_values[] = { "not_requested", "skipped_by_request", "proposed", "promoted", "rejected", "superseded", NULL };
static const char *const dry_memory_runtime_mode_values[] = { "disabled", "legacy_sync", "async_primary", NULL };
static const char *const dry_memory_scope_resolution_requested_scopes_item_values[] = { "global", "chat", "branch", "floor", NULL };
static const struct field dry_memory_scope_resolution_requested_scopes_item = { "", FT_ENUM, 0, .choices = dry_memory_scope_resolution_requested_scopes_item_values };
static const struct field dry_memory_scope_resolution[] = {
	{ "fallback_reason", FT_STRING, FF_NULLABLE },
	{ "mode", FT_STRING, 0 },
	{ "requested_branch_id", FT_STRING, FF_NULLABLE },
	{ "requested_scopes", FT_ARRAY, 0, .items = &dry_memory_scope_resolution_requested_scopes_item },
	{ "resolved_branch_id", FT_STRING, FF_NULLABLE },
	{ "resolved_scopes", FT_ARRAY, 0, .items = &dry_memory_scope_resolution_requested_scopes_item },
	{ "strict", FT_BOOL, FF_OPTIONAL },
	FIELD_END
};
static const char *const dry_memory_selected_items_item_kind_values[] = { "fact", "micro_summary", "macro_summary", "summary", "open_loop", NULL };
static const char *const dry_memory_selected_items_item_source_values[] = { "store", "summary", "open_loop", "fallback", NULL };
static const struct field dry_memory_selected_items_item[] = {
	{ "branch_id", FT_STRING, FF_NULLABLE },
	{ "kind", FT_ENUM, FF_REQUIRED, .choices = dry_memory_selected_items_item_kind_values },
	{ "memory_id", FT_STRING, FF_REQUIRED },
	{ "scope", FT_ENUM, FF_REQUIRED, .choices = dry_memory_scope_resolution_requested_scopes_item_values },
	{ "scope_id", FT_STRING, FF_REQUIRED },
	{ "score", FT_NUMBER, FF_NULLABLE },
	{ "selected_reason", FT_STRING, FF_NULLABLE },
	{ "source", FT_ENUM, 0, .choices = dry_memory_selected_items_item_source_values },
	{ "token_count", FT_INT, FF_NULLABLE, .bounded = true, .max = INT64_MAX },
	FIELD_END
};
static const struct field dry_memory_selected_items_item_2 = { "", FT_OBJECT, 0, .fields = dry_memory_selected_items_item };
static const char *const dry_memory_strategy_values[] = { "none", "single_summary", "dual_summary", "direct_items", NULL };
static const struct field dry_memory_token_stats[] = {
	{ "budget", FT_INT, FF_NULLABLE, .bounded = true, .max = INT64_MAX },
	{ "direct_items", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	{ "macro_summary", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	{ "micro_summary", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	{ "used", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	FIELD_END
};
static const struct field dry_memory[] = {
	{ "effective_write", FT_BOOL, FF_OPTIONAL },
	{ "page_id", FT_STRING, FF_OPTIONAL },
	{ "promotion_status", FT_ENUM, FF_OPTIONAL, .choices = dry_memory_promotion_status_values },
	{ "proposal_batch_id", FT_STRING, FF_OPTIONAL },
	{ "proposal_status", FT_ENUM, FF_OPTIONAL, .choices = dry_memory_proposal_status_values },
	{ "requested_write", FT_BOOL, FF_OPTIONAL },
	{ "runtime_mode", FT_ENUM, FF_OPTIONAL, .choices = dry_memory_runtime_mode_values },
	{ "scope_resolution", FT_OBJECT, FF_OPTIONAL, .fields = dry_memory_scope_resolution },
	{ "selected_items", FT_ARRAY, FF_OPTIONAL, .items = &dry_memory_selected_items_item_2 },
	{ "strategy", FT_ENUM, FF_OPTIONAL, .choices = dry_memory_strategy_values },
	{ "summary_injected", FT_BOOL, 0 },
	{ "summary_text", FT_STRING, FF_OPTIONAL },
	{ "summary_text_hash", FT_STRING, FF_OPTIONAL | FF_NULLABLE },
	{ "token_stats", FT_OBJECT, FF_OPTIONAL, .fields = dry_memory_token_stats },
	FIELD_END
};
static const struct field dry_messages_item[] = {
	{ "content", FT_STRING, FF_REQUIRED },
	{ "role", FT_ENUM, FF_REQUIRED, .choices = match_item_insertion_role_values },
	FIELD_END
};
static const struct field dry_messages_item_2 = { "", FT_OBJECT, 0, .fields = dry_messages_item };
static const char *const snapshot_prompt_mode_values[] = { "compat_strict", "compat_plus", "native", NULL };
static const struct field snapshot_worldbook_activated_entries_item[] = {
	{ "activation_key", FT_STRING, FF_REQUIRED },
	{ "insertion", FT_OBJECT, FF_REQUIRED, .fields = match_item_insertion },
	{ "source", FT_OBJECT, FF_REQUIRED, .fields = match_item_source },
	{ "uid", FT_INT, FF_REQUIRED },
	FIELD_END
};
static const struct field snapshot_worldbook_activated_entries_item_2 = { "", FT_OBJECT, 0, .fields = snapshot_worldbook_activated_entries_item };
static const struct field dry_prompt_snapshot[] = {
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
	{ "prompt_mode", FT_ENUM, 0, .choices = snapshot_prompt_mode_values },
	{ "regex_post_rule_names", FT_ARRAY, 0, .items = &dry_assembly_ignored_preset_fields_item },
	{ "regex_pre_rule_names", FT_ARRAY, 0, .items = &dry_assembly_ignored_preset_fields_item },
	{ "regex_profile_content_hash", FT_STRING, FF_NULLABLE },
	{ "regex_profile_id", FT_STRING, FF_NULLABLE },
	{ "regex_profile_updated_at", FT_TIME, FF_NULLABLE },
	{ "regex_profile_version", FT_INT, FF_NULLABLE, .bounded = true, .min = 1, .max = INT64_MAX },
	{ "regex_profile_version_id", FT_STRING, FF_NULLABLE },
	{ "token_estimate", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	{ "worldbook_activated_entries", FT_ARRAY, 0, .items = &snapshot_worldbook_activated_entries_item_2 },
	{ "worldbook_activated_entry_uids", FT_ARRAY, 0, .items = &dry_assembly_ignored_prompt_order_character_ids_item },
	{ "worldbook_content_hash", FT_STRING, FF_NULLABLE },
	{ "worldbook_id", FT_STRING, FF_NULLABLE },
	{ "worldbook_updated_at", FT_TIME, FF_NULLABLE },
	{ "worldbook_version", FT_INT, FF_NULLABLE, .bounded = true, .min = 1, .max = INT64_MAX },
	{ "worldbook_version_id", FT_STRING, FF_NULLABLE },
	FIELD_END
};
static const struct field trace_budgets_by_group_item[] = {
	{ "allocated_token_count", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	{ "estimated_token_count", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	{ "group", FT_STRING, FF_REQUIRED },
	{ "pruned_token_count", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	{ "token_count", FT_INT, FF_REQUIRED, .bounded = true, .max = INT64_MAX },
	FIELD_END
};
static const struct field trace_budgets_by_group_item_2 = { "", FT_OBJECT, 0, .fields = trace_budgets_by_group_item };
static const char *const trace_budgets_trim_reasons_item_reason_values[] = { "budget_exceeded", "group_limit_exceeded", "provider_constraint", "policy_disabled", NULL };
static const struct field trace_budgets_trim_reasons_item[] = {
	{ "detail", FT_STRING, 0 },
	{ "group", FT_STRING, FF_REQUIRED },
	{ "pruned_token_count", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	{ "reason", FT_ENUM, FF_REQUIRED, .choices = trace_budgets_trim_reasons_item_reason_values },
	FIELD_END
};
static const struct field trace_budgets_trim_reasons_item_2 = { "", FT_OBJECT, 0, .fields = trace_budgets_trim_reasons_item };
static const struct field trace_budgets[] = {
	{ "by_group", FT_ARRAY, 0, .items = &trace_budgets_by_group_item_2 },
	{ "trim_reasons", FT_ARRAY, FF_OPTIONAL, .items = &trace_budgets_trim_reasons_item_2 },
	FIELD_END
};
static const char *const trace_delivery_degrade_reasons_item_values[] = { "assistant_prefill_disabled", "assistant_prefill_unsupported", "require_last_user", "no_assistant_override", NULL };
static const struct field trace_delivery_degrade_reasons_item = { "", FT_ENUM, 0, .choices = trace_delivery_degrade_reasons_item_values };
static const struct field trace_delivery[] = {
	{ "allow_assistant_prefill", FT_BOOL, 0 },
	{ "assistant_prefill_applied", FT_BOOL, 0 },
	{ "assistant_prefill_requested", FT_BOOL, 0 },
	{ "assistant_prefill_strategy", FT_ENUM, FF_NULLABLE, .choices = dry_assembly_assistant_prefill_strategy_values },
	{ "degrade_reasons", FT_ARRAY, 0, .items = &trace_delivery_degrade_reasons_item },
	{ "degraded", FT_BOOL, 0 },
	{ "ends_with_user", FT_BOOL, 0 },
	{ "last_message_role", FT_ENUM, FF_NULLABLE, .choices = match_item_insertion_role_values },
	{ "no_assistant", FT_BOOL, 0 },
	{ "require_last_user", FT_BOOL, 0 },
	FIELD_END
};
static const char *const trace_history_normalization_merged_user_groups_item_effective_role_values[] = { "user", NULL };
static const struct field trace_history_normalization_merged_user_groups_item[] = {
	{ "effective_role", FT_ENUM, FF_REQUIRED, .choices = trace_history_normalization_merged_user_groups_item_effective_role_values },
	{ "includes_current_input", FT_BOOL, FF_REQUIRED },
	{ "source_floor_ids", FT_ARRAY, FF_REQUIRED, .items = &dry_assembly_ignored_preset_fields_item },
	{ "source_message_ids", FT_ARRAY, FF_REQUIRED, .items = &dry_assembly_ignored_preset_fields_item },
	FIELD_END
};
static const struct field trace_history_normalization_merged_user_groups_item_2 = { "", FT_OBJECT, 0, .fields = trace_history_normalization_merged_user_groups_item };
static const char *const trace_history_normalization_violations_item_code_values[] = { "adjacent_assistant_floors", NULL };
static const struct field trace_history_normalization_violations_item[] = {
	{ "code", FT_ENUM, FF_REQUIRED, .choices = trace_history_normalization_violations_item_code_values },
	{ "message", FT_STRING, FF_REQUIRED },
	{ "source_floor_ids", FT_ARRAY, FF_REQUIRED, .items = &dry_assembly_ignored_preset_fields_item },
	{ "source_message_ids", FT_ARRAY, FF_REQUIRED, .items = &dry_assembly_ignored_preset_fields_item },
	FIELD_END
};
static const struct field trace_history_normalization_violations_item_2 = { "", FT_OBJECT, 0, .fields = trace_history_normalization_violations_item };
static const struct field trace_history_normalization[] = {
	{ "effective_turn_count", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	{ "merged_user_groups", FT_ARRAY, 0, .items = &trace_history_normalization_merged_user_groups_item_2 },
	{ "raw_entry_count", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	{ "selected_turn_count", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	{ "trailing_user_source_floor_ids", FT_ARRAY, 0, .items = &dry_assembly_ignored_preset_fields_item },
	{ "violations", FT_ARRAY, 0, .items = &trace_history_normalization_violations_item_2 },
	FIELD_END
};
static const char *const trace_macro_mutation_preview_item_kind_values[] = { "set", "delete", NULL };
static const char *const trace_macro_mutation_preview_item_scope_values[] = { "branch", "global", NULL };
static const struct field trace_macro_mutation_preview_item[] = {
	{ "key", FT_STRING, FF_REQUIRED },
	{ "kind", FT_ENUM, FF_REQUIRED, .choices = trace_macro_mutation_preview_item_kind_values },
	{ "scope", FT_ENUM, FF_REQUIRED, .choices = trace_macro_mutation_preview_item_scope_values },
	{ "value", FT_STRING, 0 },
	FIELD_END
};
static const struct field trace_macro_mutation_preview_item_2 = { "", FT_OBJECT, 0, .fields = trace_macro_mutation_preview_item };
static const struct field trace_macro_staged_mutations_item[] = {
	{ "key", FT_STRING, FF_REQUIRED },
	{ "kind", FT_ENUM, FF_REQUIRED, .choices = trace_macro_mutation_preview_item_kind_values },
	{ "scope", FT_ENUM, FF_REQUIRED, .choices = trace_macro_mutation_preview_item_scope_values },
	{ "source_macro", FT_STRING, FF_REQUIRED },
	{ "value", FT_STRING, 0 },
	FIELD_END
};
static const struct field trace_macro_staged_mutations_item_2 = { "", FT_OBJECT, 0, .fields = trace_macro_staged_mutations_item };
static const char *const trace_macro_traces_item_selected_branch_values[] = { "then", "else", "raw", NULL };
static const char *const trace_macro_traces_item_source_kind_values[] = { "text", "raw", "macro", "if", NULL };
static const struct field trace_macro_traces_item[] = {
	{ "macro_name", FT_STRING, FF_REQUIRED },
	{ "phase", FT_STRING, 0 },
	{ "raw_text", FT_STRING, FF_REQUIRED },
	{ "resolved_text", FT_STRING, FF_REQUIRED },
	{ "selected_branch", FT_ENUM, 0, .choices = trace_macro_traces_item_selected_branch_values },
	{ "source_kind", FT_ENUM, 0, .choices = trace_macro_traces_item_source_kind_values },
	FIELD_END
};
static const struct field trace_macro_traces_item_2 = { "", FT_OBJECT, 0, .fields = trace_macro_traces_item };
static const struct field trace_macro_warnings_item[] = {
	{ "code", FT_STRING, FF_REQUIRED },
	{ "macro_name", FT_STRING, 0 },
	{ "message", FT_STRING, FF_REQUIRED },
	{ "raw_text", FT_STRING, 0 },
	FIELD_END
};
static const struct field trace_macro_warnings_item_2 = { "", FT_OBJECT, 0, .fields = trace_macro_warnings_item };
static const struct field trace_macro[] = {
	{ "mutation_preview", FT_ARRAY, 0, .items = &trace_macro_mutation_preview_item_2 },
	{ "staged_mutations", FT_ARRAY, 0, .items = &trace_macro_staged_mutations_item_2 },
	{ "traces", FT_ARRAY, 0, .items = &trace_macro_traces_item_2 },
	{ "used_names", FT_ARRAY, 0, .items = &dry_assembly_ignored_preset_fields_item },
	{ "warnings", FT_ARRAY, 0, .items = &trace_macro_warnings_item_2 },
	FIELD_END
};
static const struct field trace_preset[] = {
	{ "continue_nudge_applied", FT_BOOL, 0 },
	{ "continue_nudge_text", FT_STRING, FF_NULLABLE },
	{ "ignored_fields", FT_ARRAY, 0, .items = &dry_assembly_ignored_preset_fields_item },
	{ "ignored_prompt_order_character_ids", FT_ARRAY, 0, .items = &dry_assembly_ignored_prompt_order_character_ids_item },
	{ "in_chat_inserted_entry_ids", FT_ARRAY, 0, .items = &dry_assembly_ignored_preset_fields_item },
	{ "names_behavior_applied", FT_ENUM, FF_NULLABLE, .choices = dry_assembly_names_behavior_applied_values },
	{ "selected_prompt_order_character_id", FT_INT, FF_NULLABLE },
	{ "trigger_filtered_entry_ids", FT_ARRAY, 0, .items = &dry_assembly_ignored_preset_fields_item },
	{ "unresolved_markers", FT_ARRAY, 0, .items = &dry_assembly_ignored_preset_fields_item },
	{ "unsupported_fields", FT_ARRAY, 0, .items = &dry_assembly_ignored_preset_fields_item },
	{ "warnings", FT_ARRAY, 0, .items = &dry_assembly_ignored_preset_fields_item },
	FIELD_END
};
static const char *const trace_regex_phases_item_channel_values[] = { "persist", "prompt", "display", "edit", NULL };
static const char *const trace_regex_phases_item_phase_id_values[] = { "persist.user_input", "prompt.user_input", "persist.ai_output", "prompt.world_info.reserved", NULL };
static const char *const trace_regex_phases_item_skipped_rules_item_reason_values[] = { "channel_filtered", "depth_filtered", "invalid_regex", "no_match", "reserved_non_executable", NULL };
static const struct field trace_regex_phases_item_skipped_rules_item[] = {
	{ "reason", FT_ENUM, FF_REQUIRED, .choices = trace_regex_phases_item_skipped_rules_item_reason_values },
	{ "rule_name", FT_STRING, FF_REQUIRED },
	FIELD_END
};
static const struct field trace_regex_phases_item_skipped_rules_item_2 = { "", FT_OBJECT, 0, .fields = trace_regex_phases_item_skipped_rules_item };
static const char *const trace_regex_phases_item_status_values[] = { "executed", "reserved", NULL };
static const struct field trace_regex_phases_item[] = {
	{ "candidate_rule_names", FT_ARRAY, FF_REQUIRED, .items = &dry_assembly_ignored_preset_fields_item },
	{ "changed", FT_BOOL, FF_REQUIRED },
	{ "channel", FT_ENUM, FF_REQUIRED | FF_NULLABLE, .choices = trace_regex_phases_item_channel_values },
	{ "depth", FT_INT, FF_REQUIRED | FF_NULLABLE },
	{ "input_text_hash", FT_STRING, FF_REQUIRED | FF_NULLABLE },
	{ "matched_rule_names", FT_ARRAY, FF_REQUIRED, .items = &dry_assembly_ignored_preset_fields_item },
	{ "output_text_hash", FT_STRING, FF_REQUIRED | FF_NULLABLE },
	{ "phase_id", FT_ENUM, FF_REQUIRED, .choices = trace_regex_phases_item_phase_id_values },
	{ "placement", FT_INT, FF_REQUIRED },
	{ "skipped_rules", FT_ARRAY, FF_REQUIRED, .items = &trace_regex_phases_item_skipped_rules_item_2 },
	{ "status", FT_ENUM, FF_REQUIRED, .choices = trace_regex_phases_item_status_values },
	FIELD_END
};
static const struct field trace_regex_phases_item_2 = { "", FT_OBJECT, 0, .fields = trace_regex_phases_item };
static const char *const trace_regex_substitution_mode_values[] = { "bare_variable_only", NULL };
static const struct field trace_regex[] = {
	{ "ai_output_rules", FT_ARRAY, 0, .items = &dry_assembly_ignored_preset_fields_item },
	{ "phases", FT_ARRAY, FF_OPTIONAL, .items = &trace_regex_phases_item_2 },
	{ "preprocessed_user_message", FT_STRING, FF_NULLABLE },
	{ "reserved_placements", FT_ARRAY, FF_OPTIONAL, .items = &dry_assembly_ignored_prompt_order_character_ids_item },
	{ "substitution_mode", FT_ENUM, FF_OPTIONAL, .choices = trace_regex_substitution_mode_values },
	{ "user_input_rules", FT_ARRAY, 0, .items = &dry_assembly_ignored_preset_fields_item },
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
static const struct field trace_source_selection_excluded_sources_item_2 = { "", FT_OBJECT, 0, .fields = trace_source_selection_excluded_sources_item };
static const struct field trace_source_selection[] = {
	{ "excluded_sources", FT_ARRAY, 0, .items = &trace_source_selection_excluded_sources_item_2 },
	FIELD_END
};
static const char *const trace_structure_assistant_rewrite_strategy_values[] = { "to_system", "to_user_transcript", NULL };
static const char *const trace_structure_mode_values[] = { "default", "strict_alternating", "no_assistant", "flattened", NULL };
static const struct field trace_structure[] = {
	{ "assistant_prefill_transcriptized", FT_BOOL, FF_OPTIONAL },
	{ "assistant_rewrite_count", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	{ "assistant_rewrite_strategy", FT_ENUM, FF_NULLABLE, .choices = trace_structure_assistant_rewrite_strategy_values },
	{ "merge_adjacent_same_role", FT_BOOL, 0 },
	{ "mode", FT_ENUM, 0, .choices = trace_structure_mode_values },
	{ "tail_assistant_detected", FT_BOOL, 0 },
	{ "transcript_message_count", FT_INT, FF_OPTIONAL, .bounded = true, .max = INT64_MAX },
	{ "transcriptized", FT_BOOL, FF_OPTIONAL },
	FIELD_END
};
static const struct field trace_visibility_hidden_floor_ranges_item[] = {
	{ "end_floor_no", FT_INT, FF_REQUIRED },
	{ "start_floor_no", FT_INT, FF_REQUIRED },
	FIELD_END
};
static const struct field trace_visibility_hidden_floor_ranges_item_2 = { "", FT_OBJECT, 0, .fields = trace_visibility_hidden_floor_ranges_item };
static const struct field trace_visibility[] = {
	{ "filtered_floor_nos", FT_ARRAY, 0, .items = &dry_assembly_ignored_prompt_order_character_ids_item },
	{ "hidden_floor_ranges", FT_ARRAY, FF_OPTIONAL, .items = &trace_visibility_hidden_floor_ranges_item_2 },
	FIELD_END
};
static const struct field trace_worldbook[] = {
	{ "hit_count", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	{ "matches", FT_ARRAY, FF_OPTIONAL, .items = &match_item_2 },
	FIELD_END
};
static const struct field dry_runtime_trace[] = {
	{ "budgets", FT_OBJECT, FF_OPTIONAL, .fields = trace_budgets },
	{ "delivery", FT_OBJECT, FF_OPTIONAL, .fields = trace_delivery },
	{ "history_normalization", FT_OBJECT, FF_OPTIONAL, .fields = trace_history_normalization },
	{ "macro", FT_OBJECT, FF_OPTIONAL, .fields = trace_macro },
	{ "memory", FT_OBJECT, FF_OPTIONAL, .fields = dry_memory },
	{ "preset", FT_OBJECT, FF_OPTIONAL, .fields = trace_preset },
	{ "regex", FT_OBJECT, FF_OPTIONAL, .fields = trace_regex },
	{ "source_selection", FT_OBJECT, FF_OPTIONAL, .fields = trace_source_selection },
	{ "structure", FT_OBJECT, FF_OPTIONAL, .fields = trace_structure },
	{ "visibility", FT_OBJECT, FF_OPTIONAL, .fields = trace_visibility },
	{ "worldbook", FT_OBJECT, FF_OPTIONAL, .fields = trace_worldbook },
	FIELD_END
};
const struct field wire_dry_answer[] = {
	{ "assembly", FT_OBJECT, 0, .fields = dry_assembly },
	{ "available_for_reply", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	{ "memory", FT_OBJECT, 0, .fields = dry_memory },
	{ "memory_summary", FT_STRING, FF_NULLABLE },
	{ "messages", FT_ARRAY, 0, .items = &dry_messages_item_2 },
	{ "prompt_snapshot", FT_OBJECT, 0, .fields = dry_prompt_snapshot },
	{ "runtime_trace", FT_OBJECT, FF_OPTIONAL, .fields = dry_runtime_trace },
	{ "token_estimate", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	FIELD_END
};
static const struct field dry_body_budget[] = {
	{ "max_input_tokens", FT_INT, 0, .bounded = true, .min = 1, .max = INT64_MAX },
	{ "reserved_completion_tokens", FT_INT, 0, .bounded = true, .min = 1, .max = INT64_MAX },
	FIELD_END
};
static const struct field dry_body_debug_options[] = {
	{ "include_worldbook_matches", FT_BOOL, 0 },
	FIELD_END
};
static const struct field dry_body_delivery[] = {
	{ "allow_assistant_prefill", FT_BOOL, 0 },
	{ "no_assistant", FT_BOOL, 0 },
	{ "require_last_user", FT_BOOL, 0 },
	FIELD_END
};
static const struct field dry_body_source_selection_examples[] = {
	{ "enabled", FT_BOOL, 0 },
	FIELD_END
};
static const char *const dry_body_source_selection_history_mode_values[] = { "full", "windowed", NULL };
static const struct field dry_body_source_selection_history[] = {
	{ "max_messages", FT_INT, 0, .bounded = true, .min = 1, .max = INT64_MAX },
	{ "mode", FT_ENUM, 0, .choices = dry_body_source_selection_history_mode_values },
	FIELD_END
};
static const struct field dry_body_source_selection[] = {
	{ "examples", FT_OBJECT, 0, .fields = dry_body_source_selection_examples },
	{ "history", FT_OBJECT, 0, .fields = dry_body_source_selection_history },
	{ "memory", FT_OBJECT, 0, .fields = dry_body_source_selection_examples },
	{ "worldbook", FT_OBJECT, 0, .fields = dry_body_source_selection_examples },
	FIELD_END
};
static const struct field dry_body_structure[] = {
	{ "assistant_rewrite_strategy", FT_ENUM, 0, .choices = trace_structure_assistant_rewrite_strategy_values },
	{ "merge_adjacent_same_role", FT_BOOL, 0 },
	{ "mode", FT_ENUM, FF_REQUIRED, .choices = trace_structure_mode_values },
	{ "preserve_system_messages", FT_BOOL, 0 },
	FIELD_END
};
static const struct field dry_body_visibility_hidden_floor_ids_item = { "", FT_STRING, 0, .min = 1 };
static const char *const dry_body_visibility_mode_values[] = { "allow_all_except_hidden", "deny_all_except_visible", NULL };
static const struct field dry_body_visibility[] = {
	{ "hidden_floor_ids", FT_ARRAY, 0, .items = &dry_body_visibility_hidden_floor_ids_item },
	{ "hidden_floor_ranges", FT_ARRAY, 0, .items = &trace_visibility_hidden_floor_ranges_item_2 },
	{ "mode", FT_ENUM, 0, .choices = dry_body_visibility_mode_values },
	{ "visible_floor_ranges", FT_ARRAY, 0, .items = &trace_visibility_hidden_floor_ranges_item_2 },
	FIELD_END
};
const struct field wire_dry_body[] = {
	{ "budget", FT_OBJECT, 0, .fields = dry_body_budget },
	{ "debug_options", FT_OBJECT, 0, .fields = dry_body_debug_options },
	{ "delivery", FT_OBJECT, 0, .fields = dry_body_delivery },
	{ "message", FT_STRING, FF_REQUIRED, .min = 1 },
	{ "prompt_intent", FT_ENUM, 0, .choices = dry_assembly_prompt_intent_values },
	{ "source_selection", FT_OBJECT, 0, .fields = dry_body_source_selection },
	{ "structure", FT_OBJECT, 0, .fields = dry_body_structure },
	{ "visibility", FT_OBJECT, 0, .fields = dry_body_visibility },
	FIELD_END
};
static const char *const turn_body_config_toolMode_values[] = { "inline", "standalone", "both", NULL };
static const char *const turn_body_config_verifierFailStrategy_values[] = { "warn", "block", "retry", NULL };
static const struct field turn_body_config[] = {
	{ "enableDirector", FT_BOOL, 0 },
	{ "enableMemoryConsolidation", FT_BOOL, 0 },
	{ "enableTools", FT_BOOL, 0 },
	{ "enableVerifier", FT_BOOL, 0 },
	{ "maxRetries", FT_INT, 0, .bounded = true, .max = 5 },
	{ "toolMode", FT_ENUM, 0, .choices = turn_body_config_toolMode_values },
	{ "verifierFailStrategy", FT_ENUM, 0, .choices = turn_body_config_verifierFailStrategy_values },
	FIELD_END
};
static const struct field turn_body_debug_options[] = {
	{ "include_prompt_snapshot", FT_BOOL, 0 },
	{ "include_runtime_trace", FT_BOOL, 0 },
	{ "include_worldbook_matches", FT_BOOL, 0 },
	FIELD_END
};
static const char *const generation_params_reasoning_effort_values[] = { "low", "medium", "high", NULL };
static const struct field generation_params[] = {
	{ "frequency_penalty", FT_NUMBER, 0 },
	{ "max_output_tokens", FT_INT, 0, .bounded = true, .min = 1, .max = INT64_MAX },
	{ "presence_penalty", FT_NUMBER, 0 },
	{ "reasoning_effort", FT_ENUM, 0, .choices = generation_params_reasoning_effort_values },
	{ "stop_sequences", FT_ARRAY, 0, .items = &dry_assembly_ignored_preset_fields_item },
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
static const struct field state_write_item_3 = { "", FT_ONEOF, 0, .fields = state_write_item };
const struct field wire_turn_body[] = {
	{ "branch_id", FT_STRING, 0, .min = 1 },
	{ "config", FT_OBJECT, 0, .fields = turn_body_config },
	{ "debug_options", FT_OBJECT, 0, .fields = turn_body_debug_options },
	{ "delivery", FT_OBJECT, 0, .fields = dry_body_delivery },
	{ "generation_params", FT_OBJECT, 0, .fields = generation_params },
	{ "message", FT_STRING, FF_REQUIRED, .min = 1 },
	{ "prompt_intent", FT_ENUM, 0, .choices = dry_assembly_prompt_intent_values },
	{ "session_state_writes", FT_ARRAY, 0, .items = &state_write_item_3 },
	{ "source_floor_id", FT_STRING, 0, .min = 1 },
	{ "structure", FT_OBJECT, 0, .fields = dry_body_structure },
	FIELD_END
};
static const char *const turn_answer_memory_mode_values[] = { "sync", "async", NULL };
static const char *const turn_answer_memory_status_values[] = { "applied", "queued", NULL };
static const struct field turn_answer_memory[] = {
	{ "job_id", FT_STRING, FF_NULLABLE },
	{ "mode", FT_ENUM, 0, .choices = turn_answer_memory_mode_values },
	{ "status", FT_ENUM, 0, .choices = turn_answer_memory_status_values },
	FIELD_END
};
static const struct field turn_answer_runtime_trace[] = {
	{ "budgets", FT_OBJECT, FF_OPTIONAL, .fields = trace_budgets },
	{ "delivery", FT_OBJECT, FF_OPTIONAL, .fields = trace_delivery },
	{ "history_normalization", FT_OBJECT, FF_OPTIONAL, .fields = trace_history_normalization },
	{ "macro", FT_OBJECT, FF_OPTIONAL, .fields = trace_macro },
	{ "memory", FT_OBJECT, FF_OPTIONAL, .fields = dry_memory },
	{ "preset", FT_OBJECT, FF_OPTIONAL, .fields = trace_preset },
	{ "regex", FT_OBJECT, FF_OPTIONAL, .fields = trace_regex },
	{ "source_selection", FT_OBJECT, FF_OPTIONAL, .fields = trace_source_selection },
	{ "structure", FT_OBJECT, FF_OPTIONAL, .fields = trace_structure },
	{ "worldbook", FT_OBJECT, FF_OPTIONAL, .fields = trace_worldbook },
	FIELD_END
};
static const struct field turn_answer_total_usage[] = {
	{ "completion_tokens", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	{ "prompt_tokens", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	{ "total_tokens", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	FIELD_END
};
const struct field wire_turn_answer[] = {
	{ "branch_id", FT_STRING, 0 },
	{ "final_state", FT_STRING, 0 },
	{ "floor_id", FT_STRING, 0 },
	{ "floor_no", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	{ "generated_text", FT_STRING, 0 },
	{ "memory", FT_OBJECT, FF_OPTIONAL, .fields = turn_answer_memory },
	{ "prompt_snapshot", FT_OBJECT, FF_OPTIONAL, .fields = dry_prompt_snapshot },
	{ "runtime_trace", FT_OBJECT, FF_OPTIONAL, .fields = turn_answer_runtime_trace },
	{ "summaries", FT_ARRAY, 0, .items = &dry_assembly_ignored_preset_fields_item },
	{ "total_usage", FT_OBJECT, 0, .fields = turn_answer_total_usage },
	FIELD_END
};
static const struct field run_error[] = {
	{ "code", FT_STRING, 0 },
	{ "message", FT_STRING, 0 },
	FIELD_END
};
static const char *const run_pending_output_state_values[] = { "draft", "streaming", "generated", "failed", NULL };
static const struct field run_pending_output[] = {
	{ "attempt_no", FT_INT, 0, .bounded = true, .min = 1, .max = INT64_MAX },
	{ "error", FT_STRING, FF_OPTIONAL | FF_NULLABLE },
	{ "started_at", FT_TIME, 0 },
	{ "state", FT_ENUM, 0, .choices = run_pending_output_state_values },
	{ "temp_id", FT_STRING, 0 },
	{ "text", FT_STRING, 0 },
	{ "updated_at", FT_TIME, 0 },
	FIELD_END
};
static const char *const run_phase_values[] = { "input_recorded", "semantic_resolved", "prechecked", "prompt_assembled", "page_generating", "candidate_generated", "verifier_checked", "transaction_prepared", "transaction_committed", "post_commit_scheduled", NULL };
static const char *const run_public_phase_values[] = { "preparing", "generating", "verifying", "committing", "post_processing", NULL };
static const char *const run_run_type_values[] = { "respond", "regenerate_page", "retry_turn", "edit_and_regenerate", NULL };
static const char *const run_status_values[] = { "running", "completed", "failed", "cancelled", NULL };
static const char *const run_verifier_issues_item_severity_values[] = { "warning", "error", NULL };
static const struct field run_verifier_issues_item[] = {
	{ "description", FT_STRING, FF_REQUIRED },
	{ "severity", FT_ENUM, FF_REQUIRED, .choices = run_verifier_issues_item_severity_values },
	FIELD_END
};
static const struct field run_verifier_issues_item_2 = { "", FT_OBJECT, 0, .fields = run_verifier_issues_item };
static const char *const run_verifier_status_values[] = { "pending", "passed", "warned", "blocked", "skipped", NULL };
static const struct field run_verifier[] = {
	{ "issues", FT_ARRAY, FF_OPTIONAL | FF_NULLABLE, .items = &run_verifier_issues_item_2 },
	{ "status", FT_ENUM, 0, .choices = run_verifier_status_values },
	{ "suggestion", FT_STRING, FF_OPTIONAL | FF_NULLABLE },
	FIELD_END
};
static const struct field run_answer_run[] = {
	{ "attempt_no", FT_INT, 0, .bounded = true, .min = 1, .max = INT64_MAX },
	{ "completed_at", FT_TIME, FF_OPTIONAL | FF_NULLABLE },
	{ "error", FT_OBJECT, FF_OPTIONAL | FF_NULLABLE, .fields = run_error },
	{ "pending_output", FT_OBJECT, FF_OPTIONAL | FF_NULLABLE, .fields = run_pending_output },
	{ "phase", FT_ENUM, 0, .choices = run_phase_values },
	{ "phase_seq", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	{ "public_phase", FT_ENUM, 0, .choices = run_public_phase_values },
	{ "run_id", FT_STRING, 0 },
	{ "run_type", FT_ENUM, 0, .choices = run_run_type_values },
	{ "started_at", FT_TIME, 0 },
	{ "status", FT_ENUM, 0, .choices = run_status_values },
	{ "updated_at", FT_TIME, 0 },
	{ "verifier", FT_OBJECT, FF_OPTIONAL | FF_NULLABLE, .fields = run_verifier },
	FIELD_END
};
const struct field wire_run_answer[] = {
	{ "floor_id", FT_STRING, 0 },
	{ "run", FT_OBJECT, FF_NULLABLE, .fields = run_answer_run },
	{ "state", FT_STRING, 0 },
	FIELD_END
};
const struct field wire_result_answer[] = {
	{ "assistant_message_id", FT_STRING, 0 },
	{ "committed_at", FT_TIME, 0 },
	{ "floor_id", FT_STRING, 0 },
	{ "generated_text", FT_STRING, 0 },
	{ "output_page_id", FT_STRING, 0 },
	{ "summaries", FT_ARRAY, 0, .items = &dry_assembly_ignored_preset_fields_item },
	{ "usage", FT_OBJECT, 0, .fields = turn_answer_total_usage },
	{ "verifier", FT_OBJECT, FF_NULLABLE, .fields = run_verifier },
	FIELD_END
};
static const struct field active_answer_active_run[] = {
	{ "active_run_id", FT_STRING, FF_OPTIONAL | FF_NULLABLE },
	{ "active_run_type", FT_ENUM, FF_OPTIONAL | FF_NULLABLE, .choices = run_run_type_values },
	{ "branch_id", FT_STRING, 0 },
	{ "busy", FT_BOOL, 0 },
	{ "latest_floor_id", FT_STRING, FF_OPTIONAL | FF_NULLABLE },
	{ "public_phase", FT_ENUM, FF_OPTIONAL | FF_NULLABLE, .choices = run_public_phase_values },
	{ "updated_at", FT_TIME, 0 },
	FIELD_END
};
const struct field wire_active_answer[] = {
	{ "active_run", FT_OBJECT, FF_NULLABLE, .fields = active_answer_active_run },
	{ "session_id", FT_STRING, 0 },
	FIELD_END
};
const struct field wire_timeline_query[] = {
	{ "branch_id", FT_STRING, 0, .min = 1 },
	{ "limit", FT_INT, 0, .bounded = true, .min = 1, .max = 200 },
	{ "offset", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	FIELD_END
};
static const struct field timeline_active_page_messages_item[] = {
	{ "content", FT_STRING, FF_REQUIRED },
	{ "content_format", FT_STRING, FF_REQUIRED },
	{ "id", FT_STRING, FF_REQUIRED },
	{ "role", FT_STRING, FF_REQUIRED },
	{ "seq", FT_INT, FF_REQUIRED, .bounded = true, .max = INT64_MAX },
	FIELD_END
};
static const struct field timeline_active_page_messages_item_2 = { "", FT_OBJECT, 0, .fields = timeline_active_page_messages_item };
static const struct field timeline_active_page[] = {
	{ "id", FT_STRING, FF_REQUIRED },
	{ "messages", FT_ARRAY, FF_REQUIRED, .items = &timeline_active_page_messages_item_2 },
	{ "page_kind", FT_STRING, FF_REQUIRED },
	{ "page_no", FT_INT, FF_REQUIRED, .bounded = true, .max = INT64_MAX },
	{ "version", FT_INT, FF_REQUIRED, .bounded = true, .min = 1, .max = INT64_MAX },
	FIELD_END
};
static const struct field timeline_active_pages_item = { "", FT_OBJECT, 0, .fields = timeline_active_page };
static const struct field timeline_pages_item[] = {
	{ "id", FT_STRING, FF_REQUIRED },
	{ "is_active", FT_BOOL, FF_REQUIRED },
	{ "messages", FT_ARRAY, FF_REQUIRED, .items = &timeline_active_page_messages_item_2 },
	{ "page_kind", FT_STRING, FF_REQUIRED },
	{ "page_no", FT_INT, FF_REQUIRED, .bounded = true, .max = INT64_MAX },
	{ "version", FT_INT, FF_REQUIRED, .bounded = true, .min = 1, .max = INT64_MAX },
	FIELD_END
};
static const struct field timeline_pages_item_2 = { "", FT_OBJECT, 0, .fields = timeline_pages_item };
static const struct field timeline_answer_floors_item[] = {
	{ "active_page", FT_OBJECT, FF_REQUIRED | FF_NULLABLE, .fields = timeline_active_page },
	{ "active_pages", FT_ARRAY, FF_REQUIRED, .items = &timeline_active_pages_item },
	{ "created_at", FT_TIME, FF_REQUIRED },
	{ "floor_no", FT_INT, FF_REQUIRED, .bounded = true, .max = INT64_MAX },
	{ "id", FT_STRING, FF_REQUIRED },
	{ "messages", FT_ARRAY, FF_REQUIRED, .items = &timeline_active_page_messages_item_2 },
	{ "page_count", FT_INT, FF_REQUIRED, .bounded = true, .max = INT64_MAX },
	{ "pages", FT_ARRAY, FF_REQUIRED, .items = &timeline_pages_item_2 },
	{ "state", FT_STRING, FF_REQUIRED },
	{ "token_in", FT_INT, FF_REQUIRED, .bounded = true, .max = INT64_MAX },
	{ "token_out", FT_INT, FF_REQUIRED, .bounded = true, .max = INT64_MAX },
	FIELD_END
};
static const struct field timeline_2 = { "", FT_OBJECT, 0, .fields = timeline_answer_floors_item };
const struct field wire_timeline_answer[] = {
	{ "branch_id", FT_STRING, 0 },
	{ "floors", FT_ARRAY, 0, .items = &timeline_2 },
	{ "session_id", FT_STRING, 0 },
	FIELD_END
};
/* clang-format on */
