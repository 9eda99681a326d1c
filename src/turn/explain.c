#include "turn/explain.h"

#include "base/digest.h"
#include "base/limits.h"
#include "prompt/arrange.h"
#include "turn/look.h"
#include "turn/turn_private.h"

#define COUNT(v) (sizeof(v) / sizeof((v)[0]))
#define ENTRIES_MAX 100000 /* of one list of uids */

enum { SINGLE = 64, GROUP = 16 }; /* newest messages with a digest each; older ones of the chat share one */

/* ---- printing ---- */

/* ,"0123456789abcdef" */
static void
mark_print(struct sb *out, uint64_t mark)
{
	char text[] = ",\"0123456789abcdef\"";

	for (int i = 0; i < 16; i++)
		text[2 + i] = "0123456789abcdef"[mark >> (60 - 4 * i) & 15];
	sb_adds(out, text);
}

/* Older messages of a long chat are told together. */
static bool
joins(const struct turn *t, size_t i)
{
	return i + SINGLE < t->prompt->nmessages && t->prompt->messages[i].message_no != 0;
}

static void
messages_print(struct sb *out, const struct turn *t)
{
	size_t n = t->prompt->nmessages, end;

	for (size_t i = 0; i < n; i = end) {
		const struct prompt_out *m = &t->prompt->messages[i];
		uint64_t mark = t->marks[i];
		int64_t tokens = m->tokens;

		for (end = i + 1; end < i + GROUP && joins(t, i) && joins(t, end); end++) {
			mark = (mark ^ t->marks[end]) * 0x100000001b3u; /* FNV's prime */
			tokens += t->prompt->messages[end].tokens;
		}
		sb_adds(out, i ? ",[" : "[");
		sb_add_json(out, str_c(m->source));
		sb_adds(out, ",\"");
		sb_adds(out, end - i > 1 ? "mixed" : m->role);
		sb_adds(out, "\",");
		sb_add_int(out, tokens);
		mark_print(out, mark);
		if (end - i > 1) {
			sb_addc(out, ',');
			sb_add_int(out, (int64_t)(end - i));
		}
		sb_addc(out, ']');
	}
}

static void
gone_print(struct sb *out, const struct turn *t)
{
	const struct {
		const char *what;
		bool gone;
	} rows[] = {
		{ "preset", t->s.preset.id.p && !t->s.preset.row },
		{ "worldbook", t->s.worldbook.id.p && !t->s.worldbook.row },
		{ "regex_profile", t->s.regex.id.p && !t->s.regex.row },
	};
	bool first = true;

	for (size_t i = 0; i < COUNT(rows); i++)
		if (rows[i].gone) {
			sb_addf(out, "%s\"%s\"", first ? "" : ",", rows[i].what);
			first = false;
		}
}

void
turn_explain_print(struct sb *out, const struct turn *t)
{
	struct digest d;

	sb_addf(out, "{\"v\":%d,", EXPLAIN_VERSION);
	prompt_explain(t->prompt, out);
	sb_adds(out, ",\"out\":[");
	messages_print(out, t);
	sb_adds(out, "],\"gone\":[");
	gone_print(out, t);
	sb_adds(out, "],\"who\":");
	policy_who_print(out, &t->policy);
	if (turn_summary_sent(t)) {
		d = digest_sha256(t->in.summary);
		sb_addf(out, ",\"summary\":{\"tokens\":%zu,\"hash\":\"sha256:%.*s\"}", t->in.count(t->in.count_arg, t->in.summary),
		    STR_ARG(digest_hex(out->a, &d)));
	}
	sb_addc(out, '}');
}

/* ---- reading: rows, sections, who they belong to ---- */

static struct str
text_at(const struct json *list, size_t i)
{
	return json_str(json_at(list, i));
}

static bool
is_sent(struct str verdict)
{
	return str_is(verdict, "sent") || str_is(verdict, arrange_state_name(NODE_EMITTED));
}

/* [identifier, verdict, tokens?, by?] */
static void
rows_read(struct json *to, const struct json *from)
{
	for (size_t i = 0; i < json_len(from); i++) {
		const struct json *r = json_at(from, i);
		struct json *o = json_push_object(to);

		json_set_str(o, "identifier", text_at(r, 0));
		json_set_str(o, "verdict", text_at(r, 1));
		json_set_int(o, "tokens", json_int(json_at(r, 2), 0));
		if (text_at(r, 3).p)
			json_set_str(o, "by", text_at(r, 3));
	}
}

/* Kinds of sources, by the sections that they fill; the first row that fits. */
static const struct kind {
	const char *name;
	const char *sections[4];
	bool prunable;                /* what does not fit is left out, not refused */
} kinds[] = {
	{ "history", { "chatHistory", "DIALOGUE_HISTORY" }, true },
	{ "examples", { "dialogueExamples" }, true },
	{ "worldbook", { "worldInfoBefore", "worldInfoAfter", "worldInfo" }, false },
	{ "memory", { "memorySummary", "memory" }, false },
	{ "character", { "charDescription", "charPersonality", "scenario" }, false },
	{ "persona", { "personaDescription" }, false },
	{ "preset", { NULL }, false }, /* everything else */
};

static size_t
kind_of(struct str section)
{
	for (size_t k = 0; k + 1 < COUNT(kinds); k++)
		for (size_t i = 0; i < 4 && kinds[k].sections[i]; i++)
			if (str_is(section, kinds[k].sections[i]))
				return k;
	return COUNT(kinds) - 1;
}

static bool
in_prompt(const struct json *row)
{
	return is_sent(json_get_str(row, "verdict")) && json_get_int(row, "tokens", 0) > 0;
}

/* Rows that are sent, and the blocks beside them, in that order. */
static struct json *
sections_of(struct arena *a, const struct json *rows, const struct json *blocks)
{
	const struct json *lists[] = { rows, blocks };
	struct json *out = json_array(a);

	for (size_t l = 0; l < COUNT(lists); l++)
		for (size_t i = 0; i < json_len(lists[l]); i++)
			if (in_prompt(json_at(lists[l], i)))
				json_push(out, json_at(lists[l], i));
	return out;
}

static struct json *
stats_of(struct arena *a, const struct json *sections)
{
	struct json *list = json_array(a);

	for (size_t i = 0; i < json_len(sections); i++) {
		struct json *o = json_push_object(list);

		json_set_str(o, "section_name", json_get_str(json_at(sections, i), "identifier"));
		json_set_int(o, "token_count", json_get_int(json_at(sections, i), "tokens", 0));
	}
	return list;
}

static void
governance_entry(struct json *list, size_t at, const struct json *sections, int64_t pruned)
{
	const struct kind *k = &kinds[at];
	struct json *o = NULL, *names = NULL;
	int64_t tokens = 0;

	for (size_t i = 0; i < json_len(sections); i++) {
		const struct json *s = json_at(sections, i);

		if (kind_of(json_get_str(s, "identifier")) != at)
			continue;
		if (o == NULL) {
			o = json_push_object(list);
			json_set_c(o, "source_kind", k->name);
			json_set_c(o, "declared_level", k->prunable ? "budget_prunable" : "fixed");
			json_set_bool(o, "registered", true);
			json_set_c(o, "effective_retention", k->prunable ? "budget_prunable" : "fixed");
			json_set_bool(o, "pinned", !k->prunable);
			json_set_bool(o, "prunable", k->prunable);
			json_push_str(json_set_array(o, "budget_groups"), str_c(k->name));
			names = json_set_array(o, "section_names");
		}
		json_push_str(names, json_get_str(s, "identifier"));
		tokens += json_get_int(s, "tokens", 0);
	}
	if (o == NULL)
		return;
	json_set_int(o, "token_count", tokens + pruned);
	json_set_int(o, "retained_token_count", tokens);
	json_set_int(o, "pruned_token_count", pruned);
}

/* What is fixed and what gives way when the budget is full. */
static struct json *
governance_of(struct arena *a, const struct json *sections, int64_t pruned)
{
	struct json *o = json_object(a), *entries = json_set_array(o, "entries");

	for (size_t k = 0; k < COUNT(kinds); k++)
		governance_entry(entries, k, sections, strcmp(kinds[k].name, "history") == 0 ? pruned : 0);
	json_set_array(o, "mismatches");
	json_set_array(o, "limitations");
	return o;
}

/* ---- what is missing ---- */

static struct json *
trims_of(struct arena *a, const struct json *chat)
{
	struct json *list = json_array(a), *o;

	if (!json_get_bool(chat, "cut", false))
		return list;
	o = json_push_object(list);
	json_set_c(o, "group", "history");
	json_set_c(o, "reason", "budget_exceeded");
	json_set_int(o, "pruned_token_count", json_get_int(chat, "pruned", 0));
	return list;
}

static void
excluded(struct json *list, const char *source, const char *reason, const char *detail)
{
	struct json *o = json_push_object(list);

	json_set_c(o, "source", source);
	json_set_c(o, "reason", reason);
	if (detail)
		json_set_c(o, "detail", detail);
}

static struct json *
excluded_of(struct arena *a, const struct json *kept)
{
	const struct json *off = json_get(kept, "off"), *chat = json_get(kept, "chat"), *lore = json_get(kept, "lore");
	int64_t left = json_get_int(kept, "examples_left", 0);
	struct json *list = json_array(a);

	for (size_t i = 0; i < json_len(off); i++)
		excluded(list, arena_strdup(a, text_at(off, i)), "disabled_by_policy", NULL);
	if (json_get_bool(chat, "cut", false))
		excluded(list, "history", "budget_trimmed",
		    arena_printf(a, "%lld of %lld messages are sent", (long long)json_get_int(chat, "sent", 0), (long long)json_get_int(chat, "length", 0)));
	if (json_get_bool(chat, "windowed", false))
		excluded(list, "history", "disabled_by_policy", "max_messages");
	if (json_len(json_get(chat, "hidden")) > 0)
		excluded(list, "history", "visibility_filtered", NULL);
	if (left > 0)
		excluded(list, "examples", "budget_trimmed", arena_printf(a, "%lld blocks do not fit", (long long)left));
	if (lore && json_len(json_get(lore, "on")) == 0)
		excluded(list, "worldbook", "not_triggered", NULL);
	return list;
}

static struct json *
diagnostics_of(struct arena *a, const struct json *gone)
{
	static const char *const members[][2] = { { "preset", "preset_id" }, { "worldbook", "worldbook_profile_id" }, { "regex_profile", "regex_profile_id" } };
	struct json *list = json_array(a);

	for (size_t i = 0; i < json_len(gone); i++)
		for (size_t k = 0; k < COUNT(members); k++)
			if (str_is(text_at(gone, i), members[k][0]))
				look_asset_missing(list, members[k][0], members[k][1]);
	return list;
}

/* ---- lore ---- */

static struct json *
entry_push(struct json *list, struct str book, int64_t uid, struct str verdict, bool on)
{
	struct json *o = json_push_object(list);

	json_set_str(o, "book", book);
	json_set_int(o, "uid", uid);
	json_set_bool(o, "activated", on);
	json_set_str(o, "verdict", verdict);
	return o;
}

/* [book, uid, why, tokens, position, key?, place?, index?] */
static void
active_read(struct json *list, const struct json *books, const struct json *e)
{
	struct json *o = entry_push(list, text_at(books, (size_t)json_int(json_at(e, 0), 0)), json_int(json_at(e, 1), 0), text_at(e, 2), true), *place;

	json_set_int(o, "tokens", json_int(json_at(e, 3), 0));
	json_set_str(o, "position", text_at(e, 4));
	if (json_len(e) < 8)
		return;
	json_set_str(o, "key", text_at(e, 5));
	place = json_set_object(o, "place");
	json_set_str(place, "kind", text_at(e, 6));
	json_set_int(place, "index", json_int(json_at(e, 7), 0));
}

/* "3", or "3-9" up or down; a minus in front belongs to the number. */
static void
uids_read(struct json *list, struct str book, struct str verdict, struct str piece)
{
	size_t dash = piece.n > 1 ? str_chr(piece, '-', 1) : STR_NPOS;
	int64_t from, to, n;

	if (!str_int(str_sub(piece, 0, dash == STR_NPOS ? piece.n : dash), &from))
		return;
	if (dash == STR_NPOS || !str_int(str_sub(piece, dash + 1, piece.n), &to))
		to = from;
	n = to > from ? to - from : from - to;
	for (int64_t i = 0; i <= n && i < ENTRIES_MAX; i++)
		entry_push(list, book, to > from ? from + i : from - i, verdict, false);
}

static struct json *
entries_of(struct arena *a, const struct json *lore)
{
	const struct json *books = json_get(lore, "books"), *on = json_get(lore, "on"), *off = json_get(lore, "off");
	struct json *list = json_array(a);
	struct str rest, piece;

	for (size_t i = 0; i < json_len(on); i++)
		active_read(list, books, json_at(on, i));
	for (size_t i = 0; i < json_len(off); i++) {
		const struct json *e = json_at(off, i);

		rest = text_at(e, 2);
		while (str_next(&rest, ',', &piece))
			uids_read(list, text_at(books, (size_t)json_int(json_at(e, 0), 0)), text_at(e, 1), piece);
	}
	return list;
}

static struct json *
lore_of(struct arena *a, const struct json *lore)
{
	struct json *o = json_object(a);

	json_set_int(o, "budget", json_get_int(lore, "budget", 0));
	json_set_int(o, "used", json_get_int(lore, "used", 0));
	json_set_int(o, "passes", json_get_int(lore, "passes", 0));
	json_set_bool(o, "overflowed", json_get_bool(lore, "overflowed", false));
	return o;
}

/* ---- macros, messages ---- */

static struct json *
macros_of(struct arena *a, const struct json *m)
{
	const struct json *warnings = json_get(m, "warnings"), *ifs = json_get(m, "ifs");
	struct json *o = json_object(a), *list, *e;

	json_set_int(o, "writes", json_get_int(m, "writes", 0));
	list = json_set_array(o, "warnings");
	for (size_t i = 0; i < json_len(warnings); i++) {
		e = json_push_object(list);
		json_set_str(e, "code", text_at(json_at(warnings, i), 0));
		json_set_int(e, "count", json_int(json_at(json_at(warnings, i), 1), 0));
	}
	list = json_set_array(o, "conditions");
	for (size_t i = 0; i < json_len(ifs); i++) {
		e = json_push_object(list);
		json_set_str(e, "row", text_at(json_at(ifs, i), 0));
		json_set_str(e, "condition", text_at(json_at(ifs, i), 1));
		json_set_str(e, "branch", text_at(json_at(ifs, i), 2));
	}
	json_set_int(o, "more_conditions", json_get_int(m, "more_ifs", 0));
	return o;
}

static struct json *
messages_of(struct arena *a, const struct json *out)
{
	struct json *list = json_array(a);

	for (size_t i = 0; i < json_len(out); i++) {
		const struct json *m = json_at(out, i);
		struct json *o = json_push_object(list);

		json_set_str(o, "source", text_at(m, 0));
		json_set_str(o, "role", text_at(m, 1));
		json_set_int(o, "tokens", json_int(json_at(m, 2), 0));
		json_set_str(o, "digest", text_at(m, 3));
		if (json_len(m) > 4)
			json_set_int(o, "count", json_int(json_at(m, 4), 1));
	}
	return list;
}

/* ---- the whole ---- */

static const struct json *
kept_read(struct arena *a, struct str text)
{
	struct json_error err;

	return text.p ? json_read(a, text, LIM_JSON_DEPTH, &err) : NULL;
}

struct json *
explain_sources(struct arena *a, struct str text)
{
	return policy_who_read(a, json_get(kept_read(a, text), "who"));
}

struct json *
explain_memory(struct arena *a, struct str text, struct str page_id, struct str branch_id)
{
	const struct json *summary = json_get(kept_read(a, text), "summary");
	struct json *o = turn_memory_base(a, summary != NULL, json_get_int(summary, "tokens", 0));
	struct json *scopes = json_get(o, "scope_resolution");

	json_set_str(scopes, "requested_branch_id", branch_id);
	json_set_str(scopes, "resolved_branch_id", branch_id);
	json_set(scopes, "fallback_reason", NULL);
	if (summary)
		json_set(o, "summary_text_hash", json_get(summary, "hash"));
	json_set_array(o, "selected_items");
	json_set_str(o, "page_id", page_id);
	return o;
}

struct json *
explain_read(struct arena *a, struct str text)
{
	const struct json *kept = kept_read(a, text), *chat = json_get(kept, "chat");
	struct json *o, *rows, *blocks, *sections;

	if (kept == NULL)
		return NULL;
	o = json_object(a);
	rows = json_array(a);
	blocks = json_array(a);
	rows_read(rows, json_get(kept, "rows"));
	rows_read(blocks, json_get(kept, "blocks"));
	sections = sections_of(a, rows, blocks);
	json_set(o, "section_stats", stats_of(a, sections));
	json_set(o, "governance", governance_of(a, sections, json_get_int(chat, "pruned", 0)));
	json_set(o, "trim_reasons", trims_of(a, chat));
	json_set(o, "excluded_sources", excluded_of(a, kept));
	json_set(o, "diagnostics", diagnostics_of(a, json_get(kept, "gone")));
	json_set(o, "rows", rows);
	json_set(o, "blocks", blocks);
	json_set(o, "chat", chat);
	json_set(o, "budget", json_get(kept, "budget"));
	json_set(o, "lore", json_get(kept, "lore") ? lore_of(a, json_get(kept, "lore")) : NULL);
	json_set(o, "entries", entries_of(a, json_get(kept, "lore")));
	json_set(o, "macros", macros_of(a, json_get(kept, "macros")));
	json_set(o, "messages", messages_of(a, json_get(kept, "out")));
	json_set(o, "degraded", json_get(kept, "degraded"));
	json_set(o, "decisions", json_get(kept, "decisions"));
	return o;
}
