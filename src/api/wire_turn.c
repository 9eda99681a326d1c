/*
 * wire_turn: shapes of the turn routes on the wire: bodies and answers (wire_prompt.c has the parts).
 */
#include "api/wire.h"

/* clang-format off */
static const char *const assembly_mode_values[] = { "preset", "fallback", NULL };
static const char *const assembly_reserved_variable_collisions_item_values[] = { "char", "user", NULL };
static const struct field assembly_reserved_variable_collisions_item = { "", FT_ENUM, 0, .choices = assembly_reserved_variable_collisions_item_values };
static const struct field dry_assembly[] = {
	{ "assistant_prefill_applied", FT_BOOL, 0 },
	{ "assistant_prefill_strategy", FT_ENUM, 0, .choices = wire_prefill_strategies },
	{ "continue_nudge_applied", FT_BOOL, 0 },
	{ "continue_nudge_text", FT_STRING, FF_NULLABLE },
	{ "ignored_preset_fields", FT_ARRAY, 0, .items = &wire_text_item },
	{ "ignored_prompt_order_character_ids", FT_ARRAY, 0, .items = &wire_number_item },
	{ "in_chat_inserted_entry_ids", FT_ARRAY, 0, .items = &wire_text_item },
	{ "memory_summary_injected", FT_BOOL, 0 },
	{ "mode", FT_ENUM, 0, .choices = assembly_mode_values },
	{ "names_behavior_applied", FT_ENUM, 0, .choices = wire_names_behaviors },
	{ "preprocessed_user_message", FT_STRING, FF_NULLABLE },
	{ "preset_used", FT_BOOL, 0 },
	{ "preset_warnings", FT_ARRAY, 0, .items = &wire_text_item },
	{ "prompt_intent", FT_ENUM, 0, .choices = wire_intents, .doc = "continue: the last reply goes on as another page of its floor, and the message is not said" },
	{ "regex_post_rules", FT_ARRAY, 0, .items = &wire_text_item },
	{ "regex_pre_rules", FT_ARRAY, 0, .items = &wire_text_item },
	{ "reserved_variable_collisions", FT_ARRAY, 0, .items = &assembly_reserved_variable_collisions_item },
	{ "selected_prompt_order_character_id", FT_INT, FF_NULLABLE },
	{ "trigger_filtered_entry_ids", FT_ARRAY, 0, .items = &wire_text_item },
	{ "unresolved_preset_markers", FT_ARRAY, 0, .items = &wire_text_item },
	{ "unsupported_preset_fields", FT_ARRAY, 0, .items = &wire_text_item },
	{ "worldbook_hits", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	{ "worldbook_matches", FT_ARRAY, FF_OPTIONAL, .items = &wire_match_item },
	FIELD_END
};
const struct field wire_dry_answer[] = {
	{ "assembly", FT_OBJECT, 0, .fields = dry_assembly },
	{ "available_for_reply", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	{ "memory", FT_OBJECT, 0, .fields = wire_memory },
	{ "memory_summary", FT_STRING, FF_NULLABLE },
	{ "messages", FT_ARRAY, 0, .items = &wire_prompt_message },
	{ "prompt_snapshot", FT_OBJECT, 0, .fields = wire_snapshot },
	{ "runtime_trace", FT_OBJECT, FF_OPTIONAL, .fields = wire_trace },
	{ "token_estimate", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	FIELD_END
};
static const struct field turn_structure[] = {
	{ "assistant_rewrite_strategy", FT_ENUM, 0, .choices = wire_rewrite_strategies },
	{ "merge_adjacent_same_role", FT_BOOL, 0 },
	{ "mode", FT_ENUM, FF_REQUIRED, .choices = wire_structure_modes },
	{ "preserve_system_messages", FT_BOOL, 0 },
	FIELD_END
};
static const struct field dry_body_debug_options[] = {
	{ "include_worldbook_matches", FT_BOOL, 0 },
	FIELD_END
};
const struct field wire_dry_body[] = {
	{ "budget", FT_OBJECT, 0, .fields = wire_budget },
	{ "debug_options", FT_OBJECT, 0, .fields = dry_body_debug_options },
	{ "delivery", FT_OBJECT, 0, .fields = wire_delivery },
	{ "message", FT_STRING, FF_REQUIRED, .min = 1 },
	{ "prompt_intent", FT_ENUM, 0, .choices = wire_intents, .doc = "continue: the last reply goes on as another page of its floor, and the message is not said" },
	{ "source_selection", FT_OBJECT, 0, .fields = wire_source_selection },
	{ "structure", FT_OBJECT, 0, .fields = turn_structure },
	{ "visibility", FT_OBJECT, 0, .fields = wire_visibility },
	FIELD_END
};
/* What every turn may say of how it is done. */
#define TURN_HOW \
	{ "config", FT_OBJECT, 0, .fields = wire_turn_config }, \
	{ "debug_options", FT_OBJECT, 0, .fields = wire_debug_options }, \
	{ "delivery", FT_OBJECT, 0, .fields = wire_delivery }, \
	{ "generation_params", FT_OBJECT, 0, .fields = wire_generation_params }, \
	WIRE_ON_DISCONNECT, \
	{ "session_state_writes", FT_ARRAY, 0, .items = &wire_state_write }, \
	{ "structure", FT_OBJECT, 0, .fields = turn_structure }
/* And those that repeat one: what the tools of the first did may be done once more. */
#define TURN_REPEAT \
	{ "confirmed_execution_ids", FT_ARRAY, 0, .items = &wire_text_item }, \
	{ "confirmed_session_state_mutation_ids", FT_ARRAY, 0, .items = &wire_text_item }
const struct field wire_turn_body[] = {
	{ "branch_id", FT_STRING, 0, .min = 1, .doc = "one that does not exist is made, behind source_floor_id or the last floor of main" },
	{ "message", FT_STRING, FF_REQUIRED, .min = 1 },
	{ "prompt_intent", FT_ENUM, 0, .choices = wire_intents, .doc = "continue: the last reply goes on as another page of its floor, and the message is not said" },
	{ "source_floor_id", FT_STRING, 0, .min = 1, .doc = "where a branch that does not exist yet begins" },
	TURN_HOW,
	FIELD_END
};
const struct field wire_regenerate_body[] = {
	{ "branch_id", FT_STRING, 0, .min = 1, .doc = "absent = main" },
	TURN_HOW,
	TURN_REPEAT,
	FIELD_END
};
const struct field wire_retry_body[] = {
	{ "branch_id", FT_STRING, 0, .min = 1, .doc = "a branch that ends with the floor; one that does not exist is made at the floor" },
	TURN_HOW,
	TURN_REPEAT,
	FIELD_END
};
const struct field wire_edit_body[] = {
	{ "branch_id", FT_STRING, 0, .min = 1, .doc = "name of the new branch; absent = a generated one" },
	{ "content", FT_STRING, FF_REQUIRED, .min = 1 },
	TURN_HOW,
	TURN_REPEAT,
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
static const struct field turn_answer_total_usage[] = {
	{ "completion_tokens", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	{ "prompt_tokens", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	{ "total_tokens", FT_INT, 0, .bounded = true, .max = INT64_MAX },
	FIELD_END
};
#define TURN_ANSWER \
	{ "branch_id", FT_STRING, 0 }, \
	{ "final_state", FT_STRING, 0 }, \
	{ "floor_id", FT_STRING, 0 }, \
	{ "floor_no", FT_INT, 0, .bounded = true, .max = INT64_MAX }, \
	{ "generated_text", FT_STRING, 0 }, \
	{ "memory", FT_OBJECT, FF_OPTIONAL, .fields = turn_answer_memory }, \
	{ "prompt_snapshot", FT_OBJECT, FF_OPTIONAL, .fields = wire_snapshot }, \
	{ "runtime_trace", FT_OBJECT, FF_OPTIONAL, .fields = wire_trace }, \
	{ "summaries", FT_ARRAY, 0, .items = &wire_text_item }, \
	{ "total_usage", FT_OBJECT, 0, .fields = turn_answer_total_usage }
const struct field wire_turn_answer[] = {
	TURN_ANSWER,
	{ "previous_floor_id", FT_STRING, FF_OPTIONAL, .doc = "a reply went on whose floor other branches show: this one is a copy of that" },
	FIELD_END
};
const struct field wire_regenerate_answer[] = {
	TURN_ANSWER,
	{ "previous_floor_id", FT_STRING, 0, .doc = "floor_id, unless other branches show that floor: then floor_id is a copy of it" },
	FIELD_END
};
const struct field wire_retry_answer[] = {
	TURN_ANSWER,
	{ "previous_floor_id", FT_STRING, 0, .doc = "floor_id, unless other branches show that floor: then floor_id is a copy of it" },
	FIELD_END
};
const struct field wire_edit_answer[] = {
	TURN_ANSWER,
	{ "source_floor_id", FT_STRING, 0 },
	{ "source_message_id", FT_STRING, 0 },
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
	{ "summaries", FT_ARRAY, 0, .items = &wire_text_item },
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
	{ "offset", FT_INT, 0, .bounded = true, .max = INT64_MAX, .doc = "the first floor number: a floor that is not shown keeps its place" },
	{ "unfinished", FT_BOOL, 0, .doc = "also floors that are being written or failed" },
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
