/*
 * wire: field tables of bodies and answers on the wire, where they are bigger than the file that
 * routes them. A table is the contract: it validates, and /openapi.json prints it.
 */
#ifndef API_WIRE_H
#define API_WIRE_H

#include "base/field.h"

extern const struct field wire_turn_body[], wire_turn_answer[];
extern const struct field wire_regenerate_body[], wire_regenerate_answer[], wire_retry_body[], wire_retry_answer[], wire_edit_body[], wire_edit_answer[];
extern const struct field wire_dry_body[], wire_dry_answer[];
extern const struct field wire_run_answer[], wire_result_answer[], wire_active_answer[];
extern const struct field wire_staged_answer[], wire_promotions_answer[];
extern const struct field wire_timeline_query[], wire_timeline_answer[];

/* Parts that several routes share (wire_prompt.c). */
extern const struct field wire_text_item, wire_number_item;
extern const char *const wire_prompt_modes[], *const wire_intents[], *const wire_structure_modes[], *const wire_rewrite_strategies[];
extern const char *const wire_prefill_strategies[], *const wire_names_behaviors[];
/* what a policy may say, by group; bodies and answers */
extern const struct field wire_structure[], wire_delivery[], wire_budget[], wire_visibility[], wire_source_selection[], wire_debug_options[];
/* what else a turn is asked with */
extern const struct field wire_turn_config[], wire_generation_params[], wire_state_write;
/* a prompt and its reasons */
extern const struct field wire_prompt_message, wire_memory[], wire_snapshot[], wire_trace[], wire_match_item;
extern const struct field wire_macro_trace[], wire_normalization[], wire_source_trace[], wire_visibility_trace[];
extern const struct field wire_trim_reason, wire_excluded_source;

/* Settings of accounts and sessions (wire_settings.c). */
extern const struct field wire_account_settings[], wire_session_settings[];
/* clang-format off */
extern const char *const wire_on_disconnect[];
#define WIRE_ON_DISCONNECT /* in the body of every turn route */ \
	{ "on_disconnect", FT_ENUM, .choices = wire_on_disconnect, \
	  .doc = "when the last reader leaves; absent = the session's, else the server's; with an Idempotency-Key the turn goes on" }
/* clang-format on */
/* How world info is scanned: of settings, and of a simulation. */
extern const char *const wire_lore_strategies[];
/* clang-format off */
#define WIRE_LORE_FIELDS \
	{ "scan_depth", FT_INT, .bounded = true, .max = 1000, .doc = "messages; 2" }, \
	{ "budget_percent", FT_NUMBER, .bounded = true, .max = 100, .doc = "of the context without the reply; 25" }, \
	{ "budget_cap", FT_INT, .bounded = true, .max = INT32_MAX, .doc = "tokens; 0 = none" }, \
	{ "recursion", FT_BOOL, .doc = "what entries wrote is scanned, too; false" }, \
	{ "max_recursion_steps", FT_INT, .bounded = true, .max = 100000, .doc = "passes; 0 = no limit" }, \
	{ "min_activations", FT_INT, .bounded = true, .max = 100000, .doc = "look further back until so many are on; 0" }, \
	{ "min_activations_depth_max", FT_INT, .bounded = true, .max = 1000, .doc = "messages that this looks back; 0 = all" }, \
	{ "include_names", FT_BOOL, .doc = "messages are scanned as \"Name: text\"; true" }, \
	{ "group_scoring", FT_BOOL, .doc = "in an inclusion group the entry with most keys found wins; false" }, \
	{ "case_sensitive", FT_BOOL, .doc = "for entries that leave it open; false" }, \
	{ "match_whole_words", FT_BOOL, .doc = "for entries that leave it open; false" }, \
	{ "strategy", FT_ENUM, .choices = wire_lore_strategies, .doc = "whose entries come first; character_first" }
/* clang-format on */

/* The prompt runtime (wire_prompt_runtime.c). */
extern const struct field wire_policy_body[], wire_policy_answer[], wire_mode_body[], wire_mode_answer[], wire_assets_answer[];
extern const struct field wire_runtime_answer[], wire_runtime_query[], wire_capabilities_answer[];
extern const struct field wire_page_query[], wire_explain_answer[], wire_compare_body[], wire_compare_answer[], wire_replay_answer[];
extern const struct field wire_preview_body[], wire_preview_answer[], wire_inspect_body[], wire_inspect_answer[];

#endif
