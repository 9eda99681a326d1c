/*
 * wire_capabilities: what this server's prompt runtime can do. The table is the answer: each row's
 * default is its value, a list of choices without one is printed whole.
 */
#include "api/wire.h"

/* clang-format off */
#define CHOICES(name, ...) \
	static const char *const name##_choices[] = { __VA_ARGS__, NULL }; \
	static const struct field name##_item = { "", FT_ENUM, .choices = name##_choices }
CHOICES(trim_reason, "budget_exceeded", "group_limit_exceeded", "provider_constraint", "policy_disabled");
CHOICES(exclusion_reason, "disabled_by_policy", "budget_trimmed", "provider_constraint", "visibility_filtered", "not_triggered");
CHOICES(source, "history", "memory", "worldbook", "examples");
CHOICES(history_kind, "full", "windowed");
CHOICES(group, "structure", "delivery", "budget", "sourceSelection", "visibility");
CHOICES(budget, "maxInputTokens", "reservedCompletionTokens");
static const struct field structure_mode_item = { "", FT_ENUM, .choices = wire_structure_modes };
static const char *const deep_merge[] = { "deep_merge", NULL };
static const char *const inspect_modes[] = { "prepared_turn", NULL };
static const char *const preview_modes[] = { "macro_text_preview", NULL };
static const char *const agentic_scopes[] = { "none", "limited", "primary", NULL };
static const struct field prompt_mode[] = {
	{ "name", FT_ENUM, FF_REQUIRED, .choices = wire_prompt_modes },
	{ "description", FT_STRING, FF_REQUIRED },
	{ "agentic_scope", FT_ENUM, FF_REQUIRED, .choices = agentic_scopes },
	FIELD_END
};
static const struct field mode_item = { "", FT_OBJECT, .fields = prompt_mode };

static const struct field of_structure[] = {
	{ "modes", FT_ARRAY, FF_REQUIRED, .items = &structure_mode_item },
	{ "defaults", FT_OBJECT, FF_REQUIRED, .fields = wire_structure, .doc = "what holds where nobody says anything" },
	FIELD_END
};
static const struct field of_delivery[] = {
	{ "defaults", FT_OBJECT, FF_REQUIRED, .fields = wire_delivery, .doc = "what holds where nobody says anything" },
	FIELD_END
};
static const struct field of_budget[] = {
	{ "defaults", FT_OBJECT, FF_REQUIRED, .fields = wire_budget, .doc = "what holds where nobody says anything" },
	{ "request_override_supported", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "persistent_patch_supported", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "supported_fields", FT_ARRAY, FF_REQUIRED, .items = &budget_item },
	{ "trim_reason_codes", FT_ARRAY, FF_REQUIRED, .items = &trim_reason_item },
	FIELD_END
};
static const struct field of_source_selection[] = {
	{ "defaults", FT_OBJECT, FF_REQUIRED, .fields = wire_source_selection, .doc = "what holds where nobody says anything" },
	{ "request_override_supported", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "persistent_patch_supported", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "supported_sources", FT_ARRAY, FF_REQUIRED, .items = &source_item },
	{ "history_modes", FT_ARRAY, FF_REQUIRED, .items = &history_kind_item },
	{ "exclusion_reason_codes", FT_ARRAY, FF_REQUIRED, .items = &exclusion_reason_item },
	FIELD_END
};
static const struct field of_governance_session[] = {
	{ "envelope_metadata", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "null_clears_field", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "object_patch", FT_ENUM, FF_REQUIRED, .choices = deep_merge, .dflt = "\"deep_merge\"" },
	{ "supported_fields", FT_ARRAY, FF_REQUIRED, .items = &group_item },
	FIELD_END
};
static const struct field of_governance_branch[] = {
	{ "envelope_metadata", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "materialized_branches_only", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "null_clears_field", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "object_patch", FT_ENUM, FF_REQUIRED, .choices = deep_merge, .dflt = "\"deep_merge\"" },
	{ "supported_fields", FT_ARRAY, FF_REQUIRED, .items = &group_item },
	FIELD_END
};
static const struct field of_governance[] = {
	{ "session", FT_OBJECT, FF_REQUIRED, .fields = of_governance_session },
	{ "branch", FT_OBJECT, FF_REQUIRED, .fields = of_governance_branch },
	FIELD_END
};
static const struct field of_compare[] = {
	{ "enabled", FT_BOOL, FF_REQUIRED, .dflt = "false" },
	{ "committed_floors_only", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "mixed_preview_supported", FT_BOOL, FF_REQUIRED, .dflt = "false" },
	{ "limitations_instead_of_recompute", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	FIELD_END
};
static const struct field of_live[] = {
	{ "enabled", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "default_off", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "request_scoped_only", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "include_prompt_snapshot", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "include_runtime_trace", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "include_worldbook_matches", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "worldbook_matches_requires_runtime_trace", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "worldbook_matches_requires_opt_in", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "visibility_request_supported", FT_BOOL, FF_REQUIRED, .dflt = "false" },
	FIELD_END
};
static const struct field of_dry_run[] = {
	{ "enabled", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "returns_assembly", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "returns_runtime_trace", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "supports_visibility", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "include_worldbook_matches", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	FIELD_END
};
static const struct field of_inspect[] = {
	{ "enabled", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "mode", FT_ENUM, FF_REQUIRED, .choices = inspect_modes, .dflt = "\"prepared_turn\"" },
	{ "supports_branch", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "supports_source_floor", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "supports_visibility", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "returns_contributors", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "returns_prepare_phase_trace", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "returns_prepared_turn", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "returns_governance", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "llm_call", FT_BOOL, FF_REQUIRED, .dflt = "false" },
	{ "creates_floor", FT_BOOL, FF_REQUIRED, .dflt = "false" },
	{ "writes_prompt_snapshot", FT_BOOL, FF_REQUIRED, .dflt = "false" },
	{ "writes_explain_snapshot", FT_BOOL, FF_REQUIRED, .dflt = "false" },
	{ "commits_side_effects", FT_BOOL, FF_REQUIRED, .dflt = "false" },
	FIELD_END
};
static const struct field of_preview[] = {
	{ "enabled", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "mode", FT_ENUM, FF_REQUIRED, .choices = preview_modes, .dflt = "\"macro_text_preview\"" },
	{ "returns_runtime_trace", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "returns_assembly_truth", FT_BOOL, FF_REQUIRED, .dflt = "false" },
	{ "supports_visibility", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "single_text_only", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "llm_call", FT_BOOL, FF_REQUIRED, .dflt = "false" },
	{ "creates_floor", FT_BOOL, FF_REQUIRED, .dflt = "false" },
	{ "writes_prompt_snapshot", FT_BOOL, FF_REQUIRED, .dflt = "false" },
	{ "commits_side_effects", FT_BOOL, FF_REQUIRED, .dflt = "false" },
	{ "trace_subset", FT_ARRAY, FF_REQUIRED, .items = &wire_text_item, .dflt = "[\"macro\", \"source_selection\", \"visibility\", \"history_normalization\"]" },
	FIELD_END
};
static const struct field of_explain[] = {
	{ "enabled", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "read_only", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "returns_governance", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "requires_committed_floor", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "persisted_truth_only", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "recompute", FT_BOOL, FF_REQUIRED, .dflt = "false" },
	{ "snapshot_supported", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "legacy_floor_fallback", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "snapshot_availability_field", FT_STRING, FF_REQUIRED, .dflt = "\"snapshot_available\"" },
	FIELD_END
};
static const struct field of_stream[] = {
	{ "enabled", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "prompt_debug_payload", FT_STRING, FF_REQUIRED, .dflt = "\"done_only\"" },
	{ "new_sse_event_family", FT_BOOL, FF_REQUIRED, .dflt = "false" },
	FIELD_END
};
static const struct field of_observability[] = {
	{ "live", FT_OBJECT, FF_REQUIRED, .fields = of_live },
	{ "dry_run", FT_OBJECT, FF_REQUIRED, .fields = of_dry_run },
	{ "inspect", FT_OBJECT, FF_REQUIRED, .fields = of_inspect },
	{ "preview", FT_OBJECT, FF_REQUIRED, .fields = of_preview },
	{ "explain", FT_OBJECT, FF_REQUIRED, .fields = of_explain },
	{ "stream", FT_OBJECT, FF_REQUIRED, .fields = of_stream },
	FIELD_END
};
static const struct field of_macro[] = {
	{ "built_in_read_only_values_persistable", FT_BOOL, FF_REQUIRED, .dflt = "false" },
	{ "st_compatibility_snapshots_persistable", FT_BOOL, FF_REQUIRED, .dflt = "false" },
	{ "run_kind_persistable", FT_BOOL, FF_REQUIRED, .dflt = "false" },
	{ "diagnostics_surface", FT_STRING, FF_REQUIRED, .dflt = "\"unified_observability\"" },
	{ "dedicated_macros_route", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	{ "recent_message_respects_visibility", FT_BOOL, FF_REQUIRED, .dflt = "true" },
	FIELD_END
};
const struct field wire_capabilities_answer[] = {
	{ "default_prompt_mode", FT_ENUM, FF_REQUIRED, .choices = wire_prompt_modes, .dflt = "\"compat_strict\"" },
	{ "prompt_modes", FT_ARRAY, FF_REQUIRED, .items = &mode_item, .dflt =
	    "[{\"name\":\"compat_strict\",\"description\":\"What SillyTavern would send, message for message.\",\"agentic_scope\":\"none\"},"
	    "{\"name\":\"compat_plus\",\"description\":\"The same with declared additions, each named in the trace.\",\"agentic_scope\":\"limited\"},"
	    "{\"name\":\"native\",\"description\":\"This server's own pipeline: order and conditions are data.\",\"agentic_scope\":\"primary\"}]" },
	{ "further_prompt_modes", FT_ARRAY, FF_REQUIRED, .items = &mode_item,
	    .doc = "clients of before take a name that they do not know for compat_strict, so these are not among prompt_modes", .dflt =
	    "[{\"name\":\"rearrange\",\"description\":\"Native blocks laid out by the order of a preset's nodes.\",\"agentic_scope\":\"limited\"}]" },
	{ "structure", FT_OBJECT, FF_REQUIRED, .fields = of_structure },
	{ "delivery", FT_OBJECT, FF_REQUIRED, .fields = of_delivery },
	{ "budget", FT_OBJECT, FF_REQUIRED, .fields = of_budget },
	{ "source_selection", FT_OBJECT, FF_REQUIRED, .fields = of_source_selection },
	{ "governance", FT_OBJECT, FF_REQUIRED, .fields = of_governance },
	{ "compare", FT_OBJECT, FF_REQUIRED, .fields = of_compare },
	{ "observability", FT_OBJECT, FF_REQUIRED, .fields = of_observability },
	{ "macro", FT_OBJECT, FF_REQUIRED, .fields = of_macro },
	{ "unsupported", FT_ARRAY, FF_REQUIRED, .items = &wire_text_item, .dflt = "[\"/sessions/:id/prompt-runtime/run\", \"/sessions/:id/prompt-runtime/macros\", \"/floors/:id/prompt-runtime\", \"/messages/:id/prompt-runtime\"]" },
	FIELD_END
};
/* clang-format on */
