/*
 * arrange: the walk over a preset's nodes and the merging of depth texts (spec tomori-presets 3, 4).
 */
#include "prompt/arrange.h"

#include "base/vec.h"
#include "macro/tomori.h"

#include <stdlib.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define BIT(tag) (1u << (tag))

// clang-format off
static const char *const tag_names[TAG__COUNT] = {
	[TAG_HUMANIZER_RULES] = "SYSTEM_HUMANIZER_RULES", [TAG_CHANNEL_PROMPT] = "SYSTEM_CHANNEL_PROMPT",
	[TAG_PERSONA_PROMPT] = "SYSTEM_PERSONA_PROMPT", [TAG_PERSONALITY] = "SYSTEM_PERSONALITY",
	[TAG_SERVER_INFO] = "KNOWLEDGE_SERVER_INFO", [TAG_SERVER_MEMORIES] = "KNOWLEDGE_SERVER_MEMORIES",
	[TAG_SERVER_EMOJIS] = "KNOWLEDGE_SERVER_EMOJIS", [TAG_SERVER_STICKERS] = "KNOWLEDGE_SERVER_STICKERS",
	[TAG_USERS] = "KNOWLEDGE_USERS_IN_CONVERSATION", [TAG_SHORT_TERM_MEMORY] = "KNOWLEDGE_SHORT_TERM_MEMORY",
	[TAG_CONDITIONING] = "KNOWLEDGE_SERVER_CONDITIONING", [TAG_LORE_BEFORE] = "KNOWLEDGE_LOREBOOK_BEFORE",
	[TAG_LORE_AFTER] = "KNOWLEDGE_LOREBOOK_AFTER", [TAG_SAMPLE] = "DIALOGUE_SAMPLE", [TAG_HISTORY] = "DIALOGUE_HISTORY",
};

static const char *const state_names[] = { "emitted", "empty", "disabled", "comment", "depth", "marker", "marker_unknown" };

/* What a marker pulls, and which groups are flushed there: knowledge after it, participants before it. */
struct marker {
	const char *identifier;
	enum arrange_tag tags[2];
	bool first_only, knowledge_after, participants_before;
};
static const struct marker markers[] = {
	{ "main", { TAG_HUMANIZER_RULES, TAG_CHANNEL_PROMPT }, true, true, false },
	{ "charDescription", { TAG_PERSONA_PROMPT, TAG_NONE }, false, true, false },
	{ "charPersonality", { TAG_PERSONALITY, TAG_NONE }, false, true, false },
	{ "dialogueExamples", { TAG_SAMPLE, TAG_NONE }, false, false, true },
	{ "chatHistory", { TAG_HISTORY, TAG_NONE }, false, false, true },
	{ "worldInfoBefore", { TAG_LORE_BEFORE, TAG_NONE }, false, false, false },
	{ "worldInfoAfter", { TAG_LORE_AFTER, TAG_NONE }, false, false, false },
};

static const enum arrange_tag knowledge[] = { TAG_SERVER_INFO, TAG_SERVER_MEMORIES, TAG_SERVER_EMOJIS, TAG_SERVER_STICKERS };
static const enum arrange_tag participants[] = { TAG_USERS, TAG_SHORT_TERM_MEMORY, TAG_CONDITIONING };
static const enum arrange_tag lore[] = { TAG_LORE_BEFORE, TAG_LORE_AFTER };
// clang-format on

static const char terminal_separator[] =
    "[The lines above are samples of how {{char}} talks and nothing more. Go on with the real scene with {{user}} from here.]";

const char *
arrange_tag_name(enum arrange_tag t)
{
	return tag_names[t];
}

enum arrange_tag
arrange_tag_find(struct str name)
{
	for (int t = 1; t < TAG__COUNT; t++)
		if (str_is(name, tag_names[t]))
			return (enum arrange_tag)t;
	return TAG_NONE;
}

const char *
arrange_state_name(enum arrange_state s)
{
	return state_names[s];
}

struct walk {
	struct arena *a;
	const struct arrange_input *in;
	struct arranged *out;
	struct macro_tomori *tomori;
	struct macro_tomori_node *texts; /* of the nodes, by index */
	unsigned gone;                   /* tags that are pulled or dropped */
	unsigned kept_for_marker;        /* lore groups that an enabled marker names */
	bool knowledge_done, participants_done;
	bool prints_description, prints_personality;
};

static void
warn(struct walk *w, const char *code)
{
	for (size_t i = 0; i < w->out->warnings.n; i++)
		if (strcmp(w->out->warnings.v[i], code) == 0)
			return;
	vec_push(w->a, &w->out->warnings, code);
}

static const struct marker *
marker_find(struct str identifier)
{
	for (size_t i = 0; i < COUNT(markers); i++)
		if (str_is(identifier, markers[i].identifier))
			return &markers[i];
	return NULL;
}

static bool
takes_part(const struct arrange_node *n)
{
	return n->is_enabled && !n->is_comment;
}

static const char *
role_of(struct str role)
{
	return str_ieq(role, STR("assistant")) ? "assistant" : str_ieq(role, STR("user")) ? "user" : "system";
}

/* ---- pulling ---- */

static void
pull(struct walk *w, enum arrange_tag tag, bool first_only, struct arrange_trace *t)
{
	if (w->gone & BIT(tag))
		return;
	w->gone |= BIT(tag);
	for (size_t i = 0; i < w->in->nnative; i++) {
		if (w->in->native[i].tag != tag)
			continue;
		vec_push(w->a, &w->out->items.v, w->in->native[i]);
		vec_last(&w->out->items.v)->from = i;
		if (t)
			t->pulled |= BIT(tag);
		if (first_only)
			return;
	}
}

static void
flush_knowledge(struct walk *w, struct str at)
{
	if (!w->knowledge_done)
		w->out->knowledge_at = at;
	for (size_t i = 0; !w->knowledge_done && i < COUNT(knowledge); i++)
		pull(w, knowledge[i], false, NULL);
	w->knowledge_done = true;
}

static void
flush_participants(struct walk *w, struct str at)
{
	if (w->participants_done)
		return;
	w->out->participants_at = at;
	w->participants_done = true;
	for (size_t i = 0; i < COUNT(participants); i++)
		pull(w, participants[i], false, NULL);
	for (size_t i = 0; i < COUNT(lore); i++)
		if ((w->kept_for_marker & BIT(lore[i])) == 0)
			pull(w, lore[i], false, NULL);
}

/* ---- nodes ---- */

static void
walk_marker(struct walk *w, const struct arrange_node *n, struct arrange_trace *t)
{
	const struct marker *m = marker_find(n->identifier);

	t->state = m ? NODE_MARKER : NODE_UNKNOWN_MARKER;
	if (m == NULL) {
		warn(w, "marker_unknown");
		return;
	}
	if (m->participants_before)
		flush_participants(w, n->identifier);
	t->suppressed =
	    (m->tags[0] == TAG_PERSONA_PROMPT && w->prints_description) || (m->tags[0] == TAG_PERSONALITY && w->prints_personality);
	for (size_t i = 0; i < COUNT(m->tags); i++)
		if (m->tags[i] != TAG_NONE)
			pull(w, m->tags[i], m->first_only, t);
	if (m->knowledge_after)
		flush_knowledge(w, n->identifier);
}

static void
item_add(struct walk *w, const char *role, struct str text, struct str identifier)
{
	struct arrange_item *it = vec_add(w->a, &w->out->items.v);

	*it = (struct arrange_item){ .role = role, .from = SIZE_MAX, .identifier = identifier };
	vec_push(w->a, &it->parts, text);
}

static void
walk_custom(struct walk *w, size_t i, struct arrange_trace *t)
{
	const struct arrange_node *n = &w->in->nodes[i];
	struct macro_tomori_node *text = &w->texts[i];

	t->state = NODE_EMPTY;
	if (text->off)
		return;
	macro_tomori_emit(w->tomori, text);
	if (text->html)
		warn(w, "html_content");
	if (text->text.n == 0)
		return;
	t->state = NODE_EMITTED;
	item_add(w, role_of(n->role), text->text, n->identifier);
}

static void
walk_node(struct walk *w, size_t i)
{
	const struct arrange_node *n = &w->in->nodes[i];
	struct arrange_trace *t = vec_add(w->a, &w->out->nodes);

	t->identifier = n->identifier;
	t->state = !n->is_enabled ? NODE_DISABLED : n->is_comment ? NODE_COMMENT : n->position == 1 ? NODE_DEPTH : NODE_EMPTY;
	if (t->state != NODE_EMPTY)
		return;
	if (n->is_marker)
		walk_marker(w, n, t);
	else
		walk_custom(w, i, t);
}

/* Both passes over the texts of all nodes that take part (spec 5.1, 5.2). */
static void
resolve(struct walk *w)
{
	for (size_t i = 0; i < w->in->nnodes; i++)
		if (takes_part(&w->in->nodes[i]) && !w->in->nodes[i].is_marker)
			macro_tomori_collect(w->tomori, w->in->nodes[i].content, &w->texts[i]);
	for (size_t i = 0; i < w->in->nnodes; i++) {
		if (!takes_part(&w->in->nodes[i]) || w->in->nodes[i].is_marker)
			continue;
		macro_tomori_expand(w->tomori, &w->texts[i]);
		w->prints_description |= w->texts[i].prints_description;
		w->prints_personality |= w->texts[i].prints_personality;
	}
}

/* ---- depth ---- */

struct deep {
	const struct arrange_node *n;
	size_t index;
};

static int
deep_compare(const void *x, const void *y)
{
	const struct deep *a = x, *b = y;

	if (a->n->depth != b->n->depth)
		return a->n->depth < b->n->depth ? -1 : 1;
	if (a->n->order != b->n->order)
		return a->n->order < b->n->order ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

static void
depth_resolve(struct walk *w)
{
	VEC(struct deep) v = { 0 };

	for (size_t i = 0; i < w->in->nnodes; i++) {
		const struct arrange_node *n = &w->in->nodes[i];

		if (takes_part(n) && !n->is_marker && n->position == 1 && !w->texts[i].off)
			vec_push(w->a, &v, ((struct deep){ n, i }));
	}
	if (v.n > 1)
		qsort(v.v, v.n, sizeof(*v.v), deep_compare);
	for (size_t i = 0; i < v.n; i++) {
		struct macro_tomori_node *t = &w->texts[v.v[i].index];

		macro_tomori_emit(w->tomori, t);
		if (t->html)
			warn(w, "html_content");
		if (t->text.n > 0)
			vec_push(w->a, &w->out->depth, ((struct arrange_depth){ .depth = v.v[i].n->depth, .text = t->text }));
	}
}

static void
remainder_append(struct walk *w)
{
	flush_knowledge(w, STR_NULL);
	flush_participants(w, STR_NULL);
	for (size_t i = 0; i < COUNT(lore); i++)
		pull(w, lore[i], false, NULL);
	for (size_t i = 0; i < w->in->nnative; i++) {
		enum arrange_tag tag = w->in->native[i].tag;

		if (w->gone & BIT(tag))
			continue;
		w->out->remainder |= BIT(tag);
		pull(w, tag, false, NULL);
	}
}

struct arranged *
arrange(struct arena *a, struct macro_run *run, const struct arrange_input *in)
{
	struct walk w = { .a = a, .in = in, .out = arena_new(a, struct arranged), .tomori = macro_tomori_new(run),
		.texts = arena_array(a, struct macro_tomori_node, in->nnodes + 1) };
	struct macro_tomori_node last = { 0 };

	resolve(&w);
	for (size_t i = 0; i < in->nnodes; i++) {
		const struct marker *m = in->nodes[i].is_marker && takes_part(&in->nodes[i]) ? marker_find(in->nodes[i].identifier) : NULL;

		w.kept_for_marker |= m ? BIT(m->tags[0]) : 0;
	}
	if (w.prints_description)
		w.gone |= BIT(TAG_PERSONA_PROMPT);
	if (w.prints_personality)
		w.gone |= BIT(TAG_PERSONALITY);
	for (size_t i = 0; i < in->nnodes; i++)
		walk_node(&w, i);
	remainder_append(&w);
	depth_resolve(&w);
	if (w.out->items.v.n > 0 && vec_last(&w.out->items.v)->tag == TAG_SAMPLE) {
		last.text = last.kept = in->separator.p ? in->separator : str_c(terminal_separator);
		macro_tomori_emit(w.tomori, &last);
		item_add(&w, "user", last.text, STR("terminalSeparator"));
	}
	return w.out;
}

/* Items that are history, from the newest up, and how many. */
static size_t
history_of(struct arena *a, struct arranged *r, size_t **out)
{
	size_t n = 0;

	*out = arena_array(a, size_t, r->items.v.n + 1);
	for (size_t i = r->items.v.n; i > 0; i--)
		if (r->items.v.v[i - 1].tag == TAG_HISTORY)
			(*out)[n++] = i - 1;
	return n;
}

void
arrange_merge(struct arena *a, struct arranged *r)
{
	size_t *at, n = history_of(a, r, &at);

	if (r->depth.n > 0 && n == 0)
		vec_push(a, &r->warnings, "depth_no_history");
	for (size_t i = 0; n > 0 && i < r->depth.n;) {
		struct sb text = sb_new(a);
		int32_t d = r->depth.v[i].depth;
		size_t place = d < 0 ? 0 : (size_t)d >= n ? n - 1 : (size_t)d;
		struct arrange_item *it = &r->items.v.v[at[place]];

		sb_adds(&text, "\n[System: ");
		for (bool first = true; i < r->depth.n; i++, first = false) {
			int32_t next = r->depth.v[i].depth;
			size_t there = next < 0 ? 0 : (size_t)next >= n ? n - 1 : (size_t)next;

			if (there != place)
				break;
			if (!first)
				sb_addc(&text, '\n');
			sb_add(&text, r->depth.v[i].text);
		}
		sb_addc(&text, ']');
		vec_push(a, &it->parts, sb_str(&text));
	}
}
