/*
 * native: our own pipeline. The preset's list becomes nodes with an order; what the list does not
 * name is added beside the first node, the chat keeps what fits, neighbours of one role are joined
 * (st-assembly 6). Texts are evaluated in the order of the nodes (decisions 35).
 */
#include "base/utf8.h"
#include "prompt/prompt_private.h"

#include <stdlib.h>

enum node_kind {
	NODE_TEXT,
	NODE_WORLD_BEFORE,
	NODE_PERSONA,
	NODE_DESCRIPTION,
	NODE_PERSONALITY,
	NODE_SCENARIO,
	NODE_WORLD_AFTER,
	NODE_EXAMPLES,
	NODE_HISTORY,
	NODE_SYSTEM,          /* the card's system prompt */
	NODE_MEMORY,
	NODE_POST_HISTORY,
	NODE_NOTE,
	NODE__COUNT
};

struct node {
	enum node_kind kind;
	double order;
	size_t seq;
	const struct preset_row *row; /* NULL: added */
};
struct nodes {
	VEC(struct node) v;
	bool has[NODE__COUNT];
};

// clang-format off
/* The list's markers, and where a missing one goes: beside the first node or beside the chat. */
static const struct {
	const char *identifier;
	enum node_kind kind;
	bool at_history;
	double offset;
} kinds[] = {
	{ "charDescription", NODE_DESCRIPTION, false, 0.1 },
	{ "charPersonality", NODE_PERSONALITY, false, 0.2 },
	{ "scenario", NODE_SCENARIO, false, 0.3 },
	{ "personaDescription", NODE_PERSONA, false, 0.4 },
	{ "cardSystemPrompt", NODE_SYSTEM, false, 0.5 },
	{ "memorySummary", NODE_MEMORY, false, 0.75 },
	{ "worldInfoBefore", NODE_WORLD_BEFORE, true, -1 },
	{ "worldInfoAfter", NODE_WORLD_AFTER, true, 1 },
	{ "postHistoryInstructions", NODE_POST_HISTORY, true, 1000 },
};
// clang-format on

static enum node_kind
kind_of(struct str identifier)
{
	if (str_is(identifier, "chatHistory"))
		return NODE_HISTORY;
	if (str_is(identifier, "dialogueExamples"))
		return NODE_EXAMPLES;
	if (str_is(identifier, "authorsNote"))
		return NODE_NOTE;
	for (size_t i = 0; i < COUNT(kinds); i++)
		if (str_is(identifier, kinds[i].identifier))
			return kinds[i].kind;
	return NODE_TEXT;
}

static void
node_add(struct build *b, struct nodes *n, struct node one)
{
	one.seq = n->v.n;
	vec_push(b->a, &n->v, one);
	n->has[one.kind] = true;
}

static int
node_compare(const void *x, const void *y)
{
	const struct node *a = x, *b = y;

	if (a->order != b->order)
		return a->order < b->order ? -1 : 1;
	return a->seq < b->seq ? -1 : a->seq > b->seq;
}

static void
note_node(struct build *b, struct nodes *n, double main_at)
{
	if (b->note_set.place != PROMPT_IN_CHAT)
		node_add(b, n, (struct node){ .kind = NODE_NOTE, .order = main_at + (b->note_set.place == PROMPT_BEFORE_MAIN ? -0.05 : 0.05) });
}

/* The list in steps of ten, then what it does not name. */
static void
nodes_make(struct build *b, struct nodes *n)
{
	double first = 10, history = 10.0 * (double)(b->preset->nrows + 1), main_at = 10;

	for (size_t i = 0; i < b->preset->nrows; i++) {
		const struct preset_row *r = &b->preset->rows[i];
		enum node_kind kind = kind_of(r->identifier);
		double order = 10.0 * (double)(i + 1);

		if (kind == NODE_HISTORY && order_runs(b, r))
			history = order;
		if (str_is(r->identifier, "main"))
			main_at = order;
		if (order_runs(b, r))
			node_add(b, n, (struct node){ .kind = kind, .order = order, .row = r });
		else
			n->has[kind] = kind != NODE_HISTORY; /* switched off, not missing */
	}
	if (n->v.n > 0)
		first = n->v.v[0].order;
	for (size_t i = 0; i < COUNT(kinds); i++)
		if (!n->has[kinds[i].kind])
			node_add(b, n, (struct node){ .kind = kinds[i].kind, .order = (kinds[i].at_history ? history : first) + kinds[i].offset });
	if (!n->has[NODE_HISTORY])
		node_add(b, n, (struct node){ .kind = NODE_HISTORY, .order = history });
	note_node(b, n, main_at);
	qsort(n->v.v, n->v.n, sizeof(*n->v.v), node_compare);
}

/* ---- {{name:default}} ---- */

static bool
is_name(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (!(c >= 0x80 || c == '_' || c == '-' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
			return false;
	}
	return s.n > 0;
}

/* Does the macro engine know it? Asked in a run of its own, which leaves no trace. */
static bool
is_built_in(struct build *b, struct str raw)
{
	struct macro_run *ask = macro_run_new(b->a, &b->env);

	return !str_eq(macro_eval(ask, &(struct macro_piece){ .tpl = macro_compile(b->a, raw, MACRO_AUTO) }), raw);
}

/* Writes a name with a default as the block that prints it: local value, global value, default. */
static void
default_write(struct sb *out, struct str name, struct str dflt)
{
	static const char *const getters[] = { "getvar", "getglobalvar" };

	for (int i = 0; i < 2; i++)
		sb_addf(out, "{{if {{%s::%.*s}} != \"\"}}{{%s::%.*s}}{{else}}", getters[i], STR_ARG(name), getters[i], STR_ARG(name));
	sb_add(out, dflt);
	sb_adds(out, "{{/if}}{{/if}}");
}

static struct str
defaults_write(struct build *b, struct str s)
{
	size_t at = str_find(s, STR("{{"), 0), from = 0;
	struct sb out = sb_new(b->a);

	for (; at != STR_NPOS; at = str_find(s, STR("{{"), at + 1)) {
		size_t colon = str_chr(s, ':', at), end = str_find(s, STR("}}"), at);
		struct str name, dflt;

		if (colon == STR_NPOS || end == STR_NPOS)
			break;
		name = str_sub(s, at + 2, colon);
		dflt = str_sub(s, colon + 1, end);
		if (colon > end || !is_name(name) || str_starts(dflt, STR(":")) || str_find(dflt, STR("{{"), 0) != STR_NPOS || is_built_in(b, str_sub(s, at, end + 2)))
			continue;
		sb_add(&out, str_sub(s, from, at));
		default_write(&out, name, dflt);
		from = end + 2;
	}
	if (from == 0)
		return s;
	sb_add(&out, str_sub(s, from, s.n));
	return sb_str(&out);
}

struct str
native_eval(struct build *b, struct text t)
{
	struct str s = t.tpl && (macro_template_traits(t.tpl) & MACRO_HAS_MACRO) ? defaults_write(b, t.s) : t.s;

	return str_eq(s, t.s) ? text_eval(b, t) : text_eval(b, text_compile(b->a, s, macro_template_dialect(t.tpl)));
}

/* ---- what a node says ---- */

static struct str
labelled(struct build *b, const char *label, struct str text)
{
	return text.n > 0 ? str_c(arena_printf(b->a, "%s%.*s", label, STR_ARG(text))) : text;
}

static struct str
speaker_field(struct build *b, enum macro_field f)
{
	return b->in->ncards ? text_no_cr(b->a, macro_run_field(b->run, NULL, f)) : STR("");
}

static struct str
persona_text(struct build *b)
{
	const struct prompt_persona *p = b->in->persona;

	if (p == NULL || p->field[MF_PERSONA].text.n == 0 || p->place != PERSONA_IN_PROMPT)
		return STR("");
	return labelled(b, arena_printf(b->a, "The user is %.*s: ", STR_ARG(b->user)), macro_run_field(b->run, NULL, MF_PERSONA));
}

/* Examples as their author wrote them, with the entries that stand around them. */
static struct str
examples_text(struct build *b)
{
	struct sb out = sb_new(b->a);

	for (size_t i = 0; b->lore && i < b->lore->example_top.n; i++)
		sb_addf(&out, "%.*s\n", STR_ARG(b->lore->example_top.v[i]));
	if (policy_takes(b, "examples"))
		sb_add(&out, speaker_field(b, MF_EXAMPLES_RAW));
	for (size_t i = 0; b->lore && i < b->lore->example_bottom.n; i++)
		sb_addf(&out, "\n%.*s", STR_ARG(b->lore->example_bottom.v[i]));
	return utf8_trim(sb_str(&out));
}

static struct str
world_text(struct build *b, struct str text)
{
	if (text.n == 0 || text_blank(b->preset->wi_format.s))
		return text;
	return text_eval_with(b, b->preset->wi_format, STR("{0}"), text);
}

struct str
native_block(struct build *b, const char *identifier)
{
	switch (kind_of(str_c(identifier))) {
	case NODE_DESCRIPTION:
		return speaker_field(b, MF_DESCRIPTION);
	case NODE_PERSONALITY:
		return labelled(b, "Personality: ", speaker_field(b, MF_PERSONALITY));
	case NODE_SCENARIO:
		return labelled(b, "Scenario: ", speaker_field(b, MF_SCENARIO));
	case NODE_PERSONA:
		return persona_text(b);
	case NODE_SYSTEM:
		return b->in->chat_system_prompt.n > 0 ? text_eval_raw(b, b->in->chat_system_prompt) : speaker_field(b, MF_SYSTEM);
	case NODE_MEMORY:
		return labelled(b, "[Memory Summary]\n", b->in->summary.p && policy_takes(b, "memory") ? b->in->summary : STR(""));
	case NODE_WORLD_BEFORE:
		return b->lore ? world_text(b, b->lore->before) : STR("");
	case NODE_WORLD_AFTER:
		return b->lore ? world_text(b, b->lore->after) : STR("");
	case NODE_POST_HISTORY:
		return speaker_field(b, MF_POST_HISTORY);
	case NODE_EXAMPLES:
		return examples_text(b);
	case NODE_NOTE:
		return b->note;
	case NODE_TEXT:
	case NODE_HISTORY:
	case NODE__COUNT:
		break;
	}
	return STR("");
}

static const char *
node_name(struct build *b, const struct node *n)
{
	if (n->row)
		return arena_strdup(b->a, n->row->identifier);
	if (n->kind == NODE_NOTE)
		return "authorsNote";
	for (size_t i = 0; i < COUNT(kinds); i++)
		if (kinds[i].kind == n->kind)
			return kinds[i].identifier;
	return "chatHistory";
}

void
native_note(struct build *b)
{
	const struct prompt_persona *p = b->in->persona;

	if (p && p->place != PERSONA_IN_PROMPT && p->place != PERSONA_NONE && p->field[MF_PERSONA].text.n > 0)
		b->persona = macro_run_field(b->run, NULL, MF_PERSONA);
	b->note_due = marker_note_is_due(b);
	if (b->note_due)
		b->note = marker_note(b);
}

static struct str
node_text(struct build *b, const struct node *n)
{
	struct str text;

	if (n->kind == NODE_TEXT) {
		explain_ifs_begin(b, n->row->identifier);
		text = native_eval(b, n->row->content);
		explain_ifs_end(b);
		return text;
	}
	return native_block(b, node_name(b, n));
}

/* A node as a section, or as a text for the chat. */
static void
node_section(struct build *b, const struct node *n)
{
	struct section *s = vec_add(b->a, &b->sections);
	const struct preset_row *r = n->row;
	struct str role = r && r->role.n ? r->role : n->kind == NODE_NOTE ? input_role(b->note_set.role) : STR("system");
	struct item it;

	s->source = node_name(b, n);
	s->identifier = str_c(s->source);
	if (n->kind == NODE_HISTORY) {
		s->wanted = true;
		return;
	}
	it = (struct item){ .role = role, .content = node_text(b, n), .source = s->source };
	if (r && r->in_chat_loose) {
		vec_push(b->a, &b->slots.v, ((struct slot){ .identifier = s->identifier, .role = role, .content = it.content, .in_chat = true,
						.depth_number = true, .depth = r->depth, .order = r->ordered ? r->order : 100 }));
		s->reason = "in_chat";
		return;
	}
	it.tokens = item_tokens(b, &it);
	if (text_blank(it.content)) {
		s->reason = "empty";
		return;
	}
	vec_push(b->a, &s->items.v, it);
	budget_must(b, it.tokens);
}

/* What a generation type puts at the very end. */
void
native_control(struct build *b)
{
	const char *source = "impersonate";
	struct item it = { .role = STR("system") };

	if (b->in->type == PROMPT_IMPERSONATE)
		it.content = text_eval(b, b->preset->impersonation);
	else if (b->in->type == PROMPT_QUIET) {
		it.content = marker_quiet(b);
		source = "quietPrompt";
	} else if (b->continued) {
		it.content = text_eval_with(b, b->preset->continue_nudge, STR("{{lastChatMessage}}"), utf8_trim(history_taken(b, b->continued)));
		b->nudge_applied = arena_strdup(b->a, it.content);
		source = "continueNudge";
	} else if (b->in->group) {
		it.content = text_eval(b, b->preset->group_nudge);
		source = "groupNudge";
	}
	if (it.content.n == 0)
		return;
	it.source = source;
	it.tokens = item_tokens(b, &it);
	vec_push(b->a, &b->control.v, it);
	budget_must(b, it.tokens);
}

void
native_build(struct build *b)
{
	struct nodes nodes = { 0 };
	struct lines chat = { 0 };

	b->note_due = marker_note_is_due(b);
	marker_depth_notes(b);
	world_scan(b);
	native_note(b);
	nodes_make(b, &nodes);
	for (size_t i = 0; i < nodes.v.n; i++)
		node_section(b, &nodes.v.v[i]);
	native_control(b);
	history_lines(b, &chat);
	inject_depth(b, &chat);
	for (size_t i = 0; i < b->sections.n; i++)
		if (b->sections.v[i].wanted)
			history_plain(b, &chat, &b->sections.v[i].items);
}
