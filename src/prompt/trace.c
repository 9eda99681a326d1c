/*
 * trace: the reasons of an assembly as JSON, in the wire's names.
 */
#include "base/digest.h"
#include "prompt/prompt_private.h"

/* ---- sections and budgets ---- */

int64_t
section_tokens(const struct section *s)
{
	int64_t tokens = 0;

	for (size_t i = 0; i < s->items.v.n; i++)
		tokens += s->items.v.v[i].tokens;
	return tokens;
}

bool
section_says(const struct section *s)
{
	for (size_t i = 0; i < s->items.v.n; i++)
		if (s->items.v.v[i].content.n > 0)
			return true;
	return false;
}

static void
section_json(struct build *b, const struct section *s)
{
	struct json *o = json_push_object(b->out->sections);

	json_set_str(o, "identifier", s->identifier);
	json_set_str(o, "role", s->items.v.n ? s->items.v.v[0].role : STR_NULL);
	json_set_int(o, "tokens", section_tokens(s));
	json_set_bool(o, "included", section_says(s));
	json_set_c(o, "reason", section_says(s) ? NULL : s->reason ? s->reason : "empty");
}

static bool
is_chat(const struct section *s)
{
	return str_is(s->identifier, "chatHistory");
}

int64_t
section_pruned(const struct build *b)
{
	int64_t tokens = 0;

	for (size_t i = 0; i + b->taken < b->ntold; i++)
		tokens += b->told[i].m->tokens > 0 ? b->told[i].m->tokens : 0;
	return tokens;
}

static struct json *
budgets_json(struct build *b)
{
	struct json *o = json_object(b->a), *groups = json_set_array(o, "by_group"), *trims, *g;
	bool cut = b->in->history_cut || b->taken + (b->continued ? 1 : 0) < b->ntold;

	for (size_t i = 0; i < b->sections.n; i++) {
		const struct section *s = &b->sections.v[i];

		if (!section_says(s))
			continue;
		g = json_push_object(groups);
		json_set_c(g, "group", is_chat(s) ? "history" : arena_printf(b->a, "section:%s", s->source));
		json_set_int(g, "token_count", section_tokens(s));
		if (is_chat(s)) {
			json_set_int(g, "allocated_token_count", section_tokens(s) + (b->left > 0 ? b->left : 0));
			json_set_int(g, "pruned_token_count", section_pruned(b));
		}
	}
	if (!cut)
		return o;
	trims = json_set_array(o, "trim_reasons");
	g = json_push_object(trims);
	json_set_c(g, "group", "history");
	json_set_c(g, "reason", "budget_exceeded");
	json_set_int(g, "pruned_token_count", section_pruned(b));
	return o;
}

/* ---- preset ---- */

static void
ids_json(struct json *o, const char *key, const struct str *v, size_t n)
{
	struct json *list = json_set_array(o, key);

	for (size_t i = 0; i < n; i++)
		json_push_str(list, v[i]);
}

bool
section_known(struct str id)
{
	static const char *const known[] = { "main", "worldInfoBefore", "worldInfoAfter", "personaDescription", "charDescription",
		"charPersonality", "scenario", "enhanceDefinitions", "nsfw", "dialogueExamples", "chatHistory", "jailbreak" };

	for (size_t i = 0; i < COUNT(known); i++)
		if (str_is(id, known[i]))
			return true;
	return false;
}

/* Rows that can never be sent (decisions 53), and markers that mean nothing here. */
static void
rows_json(struct build *b, struct json *o)
{
	struct json *markers = json_set_array(o, "unresolved_markers"), *warnings = json_set_array(o, "warnings");
	bool compat = b->in->mode == PROMPT_COMPAT_STRICT || b->in->mode == PROMPT_COMPAT_PLUS;

	for (size_t i = 0; i < b->preset->nrows; i++) {
		const struct preset_row *r = &b->preset->rows[i];
		const char *why = r->in_chat ? (!r->depth_said ? "depth_missing" : !r->depth_number ? "depth_not_a_number" : NULL) :
			r->custom                ? NULL :
						   "system_prompt_not_false";

		if (r->marker && r->enabled && !section_known(r->identifier) && r->content.s.n == 0)
			json_push_str(markers, r->identifier);
		else if (compat && r->enabled && why && !section_known(r->identifier))
			json_push_str(warnings, str_c(arena_printf(b->a, "prompt_never_sent: %.*s (%s)", STR_ARG(r->identifier), why)));
	}
}

static struct json *
preset_json(struct build *b)
{
	struct json *o = json_object(b->a), *list;
	bool names = b->preset->names == 1 || b->preset->names == 2;
	int64_t id;

	if (str_int(b->preset->track_id, &id))
		json_set_int(o, "selected_prompt_order_character_id", id);
	else
		json_set(o, "selected_prompt_order_character_id", NULL);
	list = json_set_array(o, "ignored_prompt_order_character_ids");
	for (size_t i = 0; i < b->preset->other_tracks.v.n; i++)
		if (str_int(b->preset->other_tracks.v.v[i], &id))
			json_push_int(list, id);
	ids_json(o, "unsupported_fields", b->preset->unsupported.v.v, b->preset->unsupported.v.n);
	ids_json(o, "ignored_fields", b->preset->ignored.v.v, b->preset->ignored.v.n);
	rows_json(b, o);
	ids_json(o, "trigger_filtered_entry_ids", b->filtered_ids.v, b->filtered_ids.n);
	ids_json(o, "in_chat_inserted_entry_ids", b->in_chat_ids.v, b->in_chat_ids.n);
	json_set_bool(o, "continue_nudge_applied", b->nudge_applied != NULL);
	json_set_c(o, "continue_nudge_text", b->nudge_applied);
	json_set_c(o, "names_behavior_applied", names ? "always" : "off");
	return o;
}

/* ---- regex ---- */

static void
rule_names(struct build *b, struct json *o, const char *key, enum regex_place place)
{
	struct json *list = json_set_array(o, key);

	for (size_t i = 0; b->in->scripts && i < regex_set_count(b->in->scripts); i++) {
		const struct regex_script *s = regex_set_script(b->in->scripts, i);

		if (!s->disabled && s->places & REGEX_PLACE_BIT(place))
			json_push_str(list, s->name);
	}
}

static void
hash_set(struct build *b, struct json *o, const char *key, struct str text)
{
	struct digest d = digest_sha256(text);

	json_set_str(o, key, digest_hex(b->a, &d));
}

static void
verdicts_json(struct build *b, struct json *o, size_t from, size_t to)
{
	// clang-format off
	static const char *const reasons[REGEX_VERDICT__COUNT] = {
		[REGEX_NO_MATCH] = "no_match", [REGEX_INVALID] = "invalid_regex", [REGEX_BREACH] = "invalid_regex",
		[REGEX_OVERSIZE] = "invalid_regex", [REGEX_OTHER_CHANNEL] = "channel_filtered", [REGEX_OTHER_DEPTH] = "depth_filtered",
	};
	// clang-format on
	struct json *matched = json_set_array(o, "matched_rule_names"), *skipped = json_set_array(o, "skipped_rules"), *s;

	for (size_t i = from; i < to; i++) {
		const struct regex_trace_item *t = &b->user_trace.items.v[i];
		struct str name = regex_set_script(b->in->scripts, t->script)->name;

		if (t->verdict == REGEX_RAN)
			json_push_str(matched, name);
		else if (reasons[t->verdict]) {
			s = json_push_object(skipped);
			json_set_str(s, "rule_name", name);
			json_set_c(s, "reason", reasons[t->verdict]);
		}
	}
}

static void
phase_json(struct build *b, struct json *list, const char *id, const char *channel, const struct str text[2])
{
	struct json *o = json_push_object(list);
	bool persist = strcmp(channel, "persist") == 0;

	json_set_c(o, "phase_id", id);
	json_set_int(o, "placement", REGEX_PLACE_USER);
	json_set_c(o, "channel", channel);
	json_set_c(o, "status", "executed");
	json_set_bool(o, "changed", !str_eq(text[0], text[1]));
	json_set_int(o, "depth", 0);
	hash_set(b, o, "input_text_hash", text[0]);
	hash_set(b, o, "output_text_hash", text[1]);
	rule_names(b, o, "candidate_rule_names", REGEX_PLACE_USER);
	verdicts_json(b, o, persist ? 0 : b->persist_items, persist ? b->persist_items : b->user_trace.items.n);
}

static struct json *
regex_json(struct build *b)
{
	struct json *o = json_object(b->a), *phases;
	const struct told *last = b->ntold ? &b->told[b->ntold - 1] : NULL;

	rule_names(b, o, "user_input_rules", REGEX_PLACE_USER);
	rule_names(b, o, "ai_output_rules", REGEX_PLACE_AI);
	json_set_str(o, "preprocessed_user_message", b->in->scripts ? b->stored_user : STR_NULL);
	phases = json_set_array(o, "phases");
	if (b->in->scripts && b->typed.p)
		phase_json(b, phases, "persist.user_input", "persist", (struct str[2]){ b->typed, b->stored_user });
	if (b->in->scripts && last && last->role == PROMPT_USER)
		phase_json(b, phases, "prompt.user_input", "prompt", (struct str[2]){ last->text, last->sent });
	return o;
}

/* ---- structure and delivery ---- */

static const char *
last_role(const struct build *b)
{
	return b->out->nmessages ? b->out->messages[b->out->nmessages - 1].role : NULL;
}

static struct json *
structure_json(struct build *b)
{
	struct json *o = json_object(b->a);
	const char *last = last_role(b);

	json_set_c(o, "mode", b->structure ? b->structure : "default");
	json_set_bool(o, "merge_adjacent_same_role", b->merged);
	json_set_c(o, "assistant_rewrite_strategy", b->rewritten ? b->rewrite : NULL);
	json_set_int(o, "assistant_rewrite_count", (int64_t)b->rewritten);
	json_set_bool(o, "tail_assistant_detected", last && strcmp(last, "assistant") == 0);
	if (b->transcript) {
		json_set_bool(o, "transcriptized", true);
		json_set_int(o, "transcript_message_count", (int64_t)b->transcript);
	}
	return o;
}

static struct json *
delivery_json(struct build *b)
{
	struct json *o = json_object(b->a), *reasons;
	const char *last = last_role(b);

	json_set_bool(o, "assistant_prefill_requested", b->prefill_requested);
	json_set_bool(o, "assistant_prefill_applied", b->out->prefill.n > 0);
	json_set_c(o, "assistant_prefill_strategy", b->prefill_strategy ? b->prefill_strategy : "none");
	json_set_bool(o, "allow_assistant_prefill", json_bool(policy_get(b, "delivery", "allow_assistant_prefill"), true));
	json_set_bool(o, "require_last_user", json_bool(policy_get(b, "delivery", "require_last_user"), false));
	json_set_bool(o, "no_assistant", json_bool(policy_get(b, "delivery", "no_assistant"), false));
	json_set_c(o, "last_message_role", last);
	json_set_bool(o, "ends_with_user", last && strcmp(last, "user") == 0);
	json_set_bool(o, "degraded", b->degraded.n > 0);
	reasons = json_set_array(o, "degrade_reasons");
	for (size_t i = 0; i < b->degraded.n; i++)
		json_push_str(reasons, str_c(b->degraded.v[i]));
	return o;
}

/* ---- the rearrange walk ---- */

/* Tokens that a node's own text has in the prompt. */
static int64_t
node_tokens(const struct build *b, struct str identifier)
{
	int64_t n = 0;

	for (size_t i = 0; i < b->sections.n; i++)
		if (str_eq(b->sections.v[i].identifier, identifier))
			n += section_tokens(&b->sections.v[i]);
	return n;
}

static struct json *
layout_json(struct build *b)
{
	struct json *o = json_object(b->a), *nodes = json_set_array(o, "nodes"), *list;

	for (size_t i = 0; i < b->arranged->nodes.n; i++) {
		const struct arrange_trace *t = &b->arranged->nodes.v[i];
		struct json *n = json_push_object(nodes);

		json_set_str(n, "identifier", t->identifier);
		json_set_c(n, "state", arrange_state_name(t->state));
		json_set_bool(n, "suppressed", t->suppressed);
		json_set_int(n, "tokens", t->state == NODE_EMITTED ? node_tokens(b, t->identifier) : 0);
		list = json_set_array(n, "pulled_tags");
		for (int k = 1; k < TAG__COUNT; k++)
			if (t->pulled & (1u << k))
				json_push_str(list, str_c(arrange_tag_name((enum arrange_tag)k)));
	}
	list = json_set_array(o, "remainder_tags");
	for (int k = 1; k < TAG__COUNT; k++)
		if (b->arranged->remainder & (1u << k))
			json_push_str(list, str_c(arrange_tag_name((enum arrange_tag)k)));
	list = json_set_object(o, "flush"); /* the markers at which blocks that no marker names came in; null: at the end */
	json_set_str(list, "knowledge", b->arranged->knowledge_at);
	json_set_str(list, "participants", b->arranged->participants_at);
	list = json_set_array(o, "warnings");
	for (size_t i = 0; i < b->arranged->warnings.n; i++)
		json_push_str(list, str_c(b->arranged->warnings.v[i]));
	return o;
}

void
trace_fill(struct build *b)
{
	struct json *t, *w;

	b->out->activated = trace_activated(b);
	if (!b->in->trace)
		return;
	b->out->sections = json_array(b->a);
	for (size_t i = 0; i < b->sections.n; i++)
		section_json(b, &b->sections.v[i]);
	b->out->worldbook_matches = trace_matches(b);
	t = b->out->trace = json_object(b->a);
	json_set(t, "preset", preset_json(b));
	w = json_set_object(t, "worldbook");
	json_set_int(w, "hit_count", (int64_t)json_len(b->out->activated));
	json_set(w, "matches", b->out->worldbook_matches);
	json_set(t, "regex", regex_json(b));
	json_set(t, "budgets", budgets_json(b));
	json_set(t, "structure", structure_json(b));
	json_set(t, "delivery", delivery_json(b));
	json_set(t, "history_normalization", trace_normalization(b));
	json_set(t, "source_selection", trace_sources(b));
	json_set(t, "visibility", trace_visibility(b));
	if (b->arranged)
		json_set(t, "layout", layout_json(b));
	if (b->turn)
		json_set(t, "decisions", decision_json(b));
}
