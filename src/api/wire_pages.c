/* wire_pages: answers about the variable writes of a page. */
#include "api/wire.h"

/* clang-format off */
static const char *const staged_conflict_policy_values[] = { "replace", "if_absent", NULL };
static const char *const staged_decision_code_values[] = { "source_page_missing", "source_page_not_output", "source_page_not_active", "source_page_superseded", "source_page_scope_mismatch", "rerouted_to_session_state", "policy_forbidden", "promotion_allowed", NULL };
static const char *const staged_intent_values[] = { "page_only", "promote_to_floor_on_accept", NULL };
static const char *const staged_op_values[] = { "set", "delete", NULL };
static const char *const staged_source_kind_values[] = { "unknown", "macro", "tool", "agent", "memory_runtime", NULL };
static const char *const staged_status_values[] = { "staged", "accepted_page_only", "promoted", "rejected", "discarded", "rerouted_to_session_state", NULL };
static const struct field staged_answer_items_item[] = {
	{ "actor_client_id", FT_STRING, FF_REQUIRED | FF_NULLABLE },
	{ "conflict_policy", FT_ENUM, FF_REQUIRED, .choices = staged_conflict_policy_values },
	{ "created_at", FT_TIME, FF_REQUIRED },
	{ "decision_code", FT_ENUM, FF_NULLABLE, .choices = staged_decision_code_values },
	{ "decision_reason", FT_STRING, FF_NULLABLE },
	{ "evidence", FT_OBJECT, FF_REQUIRED },
	{ "evidence_json", FT_OBJECT, FF_REQUIRED },
	{ "id", FT_STRING, FF_REQUIRED },
	{ "intent", FT_ENUM, FF_REQUIRED, .choices = staged_intent_values },
	{ "key", FT_STRING, FF_REQUIRED },
	{ "linked_session_state_mutation_id", FT_STRING, FF_NULLABLE },
	{ "op", FT_ENUM, FF_REQUIRED, .choices = staged_op_values },
	{ "reason", FT_STRING, FF_REQUIRED },
	{ "rerouted_target", FT_OBJECT, FF_NULLABLE },
	{ "resolved_at", FT_TIME, FF_REQUIRED | FF_NULLABLE },
	{ "source", FT_OBJECT, FF_REQUIRED },
	{ "source_json", FT_OBJECT, FF_REQUIRED },
	{ "source_kind", FT_ENUM, FF_REQUIRED, .choices = staged_source_kind_values },
	{ "status", FT_ENUM, FF_REQUIRED, .choices = staged_status_values },
	{ "value", FT_ANY, FF_REQUIRED },
	FIELD_END
};
static const struct field staged_2 = { "", FT_OBJECT, 0, .fields = staged_answer_items_item };
const struct field wire_staged_answer[] = {
	{ "branch_id", FT_STRING, 0 },
	{ "floor_id", FT_STRING, 0 },
	{ "items", FT_ARRAY, 0, .items = &staged_2 },
	{ "page_id", FT_STRING, 0 },
	{ "session_id", FT_STRING, 0 },
	FIELD_END
};
static const char *const promotions_from_scope_values[] = { "page", "floor", "branch", "chat", NULL };
static const char *const promotions_to_scope_values[] = { "floor", "branch", "chat", "global", "session_state", NULL };
static const struct field promotions_answer_items_item[] = {
	{ "actor_client_id", FT_STRING, FF_REQUIRED | FF_NULLABLE },
	{ "conflict_policy", FT_ENUM, FF_REQUIRED, .choices = staged_conflict_policy_values },
	{ "created_at", FT_TIME, FF_REQUIRED },
	{ "decision_code", FT_ENUM, FF_NULLABLE, .choices = staged_decision_code_values },
	{ "decision_reason", FT_STRING, FF_NULLABLE },
	{ "evidence", FT_OBJECT, FF_REQUIRED },
	{ "evidence_json", FT_OBJECT, FF_REQUIRED },
	{ "from_scope", FT_ENUM, FF_REQUIRED, .choices = promotions_from_scope_values },
	{ "from_scope_id", FT_STRING, FF_REQUIRED },
	{ "id", FT_STRING, FF_REQUIRED },
	{ "key", FT_STRING, FF_REQUIRED },
	{ "linked_session_state_mutation_id", FT_STRING, FF_NULLABLE },
	{ "rerouted_target", FT_OBJECT, FF_NULLABLE },
	{ "source", FT_OBJECT, FF_REQUIRED },
	{ "source_json", FT_OBJECT, FF_REQUIRED },
	{ "source_kind", FT_ENUM, FF_REQUIRED, .choices = staged_source_kind_values },
	{ "source_variable_id", FT_STRING, FF_NULLABLE },
	{ "staged_write_id", FT_STRING, FF_REQUIRED | FF_NULLABLE },
	{ "target_variable_id", FT_STRING, FF_NULLABLE },
	{ "to_scope", FT_ENUM, FF_REQUIRED, .choices = promotions_to_scope_values },
	{ "to_scope_id", FT_STRING, FF_REQUIRED },
	{ "value", FT_ANY, FF_REQUIRED },
	FIELD_END
};
static const struct field promotions_2 = { "", FT_OBJECT, 0, .fields = promotions_answer_items_item };
const struct field wire_promotions_answer[] = {
	{ "branch_id", FT_STRING, 0 },
	{ "floor_id", FT_STRING, 0 },
	{ "items", FT_ARRAY, 0, .items = &promotions_2 },
	{ "page_id", FT_STRING, 0 },
	{ "session_id", FT_STRING, 0 },
	FIELD_END
};
/* clang-format on */
