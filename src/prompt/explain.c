/*
 * explain: the verdicts of an assembly as compact JSON, printed straight from its state: what is kept with every
 * turn. References, counts and reasons, never what was sent. Who reads it back is turn/explain.c; docs/explain.md
 * says what the words mean.
 */
#include "lore/report.h"
#include "prompt/prompt_private.h"

enum { KEY_MAX = 40, HEADER_MAX = 60, IFS_MAX = 64, FLOORS_MAX = 64 };

static struct str
cut(struct str s, size_t max)
{
	if (s.n <= max)
		return s;
	while (max > 0 && ((unsigned char)s.p[max] & 0xc0) == 0x80)
		max--;
	return str_sub(s, 0, max);
}

static void
text_add(struct sb *out, const char *before, struct str s)
{
	sb_adds(out, before);
	sb_add_json(out, s);
}

/* A word of ours: nothing in it to escape. printf would cost more than all the rest of an item. */
static void
word_add(struct sb *out, const char *before, const char *word)
{
	sb_adds(out, before);
	sb_addc(out, '"');
	sb_adds(out, word);
	sb_addc(out, '"');
}

static void
int_add(struct sb *out, const char *before, int64_t v)
{
	sb_adds(out, before);
	sb_add_int(out, v);
}

/* ---- rows of the list, and what stands beside them ---- */

/* Walks along the sections and the texts put into the chat, both in the order of the rows. */
struct walk {
	const struct build *b;
	bool *named;                /* [sections]: a row speaks of it */
	size_t section, put;
};

/* The section of a row: behind the last one that was found. */
static const struct section *
row_section(struct walk *w, struct str identifier)
{
	for (size_t i = w->section; i < w->b->sections.n; i++)
		if (str_eq(w->b->sections.v[i].identifier, identifier)) {
			w->named[i] = true;
			w->section = i + 1;
			return &w->b->sections.v[i];
		}
	return NULL;
}

static bool
row_was_put(struct walk *w, struct str identifier)
{
	if (w->put >= w->b->in_chat_ids.n || !str_eq(w->b->in_chat_ids.v[w->put], identifier))
		return false;
	w->put++;
	return true;
}

static const char *
row_verdict(struct walk *w, const struct preset_row *r, const struct section *s)
{
	bool compat = w->b->in->mode <= PROMPT_COMPAT_PLUS;

	if (!r->enabled)
		return "disabled";
	if (!order_runs(w->b, r))
		return "wrong_type";
	if (s && section_says(s))
		return "sent";
	if (s && s->reason && strcmp(s->reason, "in_chat") == 0)
		return row_was_put(w, r->identifier)                       ? "in_chat" :
		    compat && (!r->depth_number || marker_role(r->role).n == 0) ? "never_sent" :
								       "empty";
	if (s && s->reason && strcmp(s->reason, "duplicate") == 0)
		return "duplicate";
	return s && s->reason && strcmp(s->reason, "not_sent") == 0 && !section_known(r->identifier) ? "never_sent" : "empty";
}

/* The card's own system prompt or last word stands instead of what the row says. */
static bool
row_replaced(const struct build *b, struct str identifier)
{
	return (b->card_system.n > 0 && str_is(identifier, "main")) || (b->card_post_history.n > 0 && str_is(identifier, "jailbreak"));
}

static void
verdict_add(struct sb *out, bool first, struct str identifier, const char *verdict, int64_t tokens)
{
	text_add(out, first ? "[" : ",[", identifier);
	word_add(out, ",", verdict);
	if (tokens > 0)
		int_add(out, ",", tokens);
}

static void
rows_add(struct sb *out, struct walk *w)
{
	const struct prompt_preset *p = w->b->preset;

	for (size_t i = 0; w->b->in->preset && i < p->nrows; i++) {
		const struct preset_row *r = &p->rows[i];
		const struct section *s = row_section(w, r->identifier);

		verdict_add(out, i == 0, r->identifier, row_verdict(w, r, s), s ? section_tokens(s) : 0);
		sb_adds(out, s && section_says(s) && row_replaced(w->b, r->identifier) ? ",\"card\"]" : "]");
	}
}

static void
nodes_add(struct sb *out, struct walk *w)
{
	for (size_t i = 0; i < w->b->arranged->nodes.n; i++) {
		const struct arrange_trace *t = &w->b->arranged->nodes.v[i];
		const struct section *s = t->state == NODE_EMITTED ? row_section(w, t->identifier) : NULL;

		verdict_add(out, i == 0, t->identifier, arrange_state_name(t->state), s ? section_tokens(s) : 0);
		sb_addc(out, ']');
	}
}

/* Sections that no row names; neighbours of one name are one. */
static void
blocks_add(struct sb *out, const struct walk *w)
{
	const struct build *b = w->b;
	bool first = true;

	for (size_t i = 0; i < b->sections.n; i++) {
		const struct section *s = &b->sections.v[i];
		int64_t tokens = section_tokens(s);
		bool says = section_says(s);

		if (w->named[i])
			continue;
		for (; i + 1 < b->sections.n && !w->named[i + 1] && str_eq(b->sections.v[i + 1].identifier, s->identifier); i++) {
			tokens += section_tokens(&b->sections.v[i + 1]);
			says |= section_says(&b->sections.v[i + 1]);
		}
		verdict_add(out, first, s->identifier, says ? "sent" : s->reason && strcmp(s->reason, "in_chat") == 0 ? "in_chat" : "empty", tokens);
		sb_addc(out, ']');
		first = false;
	}
	for (size_t i = 0; i < b->control.v.n; i++) {
		const struct item *it = &b->control.v.v[i];

		verdict_add(out, first, str_c(it->source), it->content.n > 0 ? "sent" : "empty", it->tokens);
		sb_addc(out, ']');
		first = false;
	}
}

/* ---- the chat ---- */

static void
chat_add(struct sb *out, const struct build *b)
{
	size_t apart = b->continued ? 1 : 0, oldest = b->ntold - (b->taken < b->ntold ? b->taken : b->ntold);

	int_add(out, "{\"loaded\":", (int64_t)b->ntold);
	int_add(out, ",\"sent\":", (int64_t)b->taken);
	int_add(out, ",\"length\":", b->in->chat_length ? b->in->chat_length : (int64_t)b->ntold);
	int_add(out, ",\"pruned\":", section_pruned(b));
	if (b->taken > 0)
		int_add(out, ",\"from\":", b->told[oldest > apart ? oldest - apart : 0].m->floor_seq);
	if (b->in->history_cut || b->taken + apart < b->ntold)
		sb_adds(out, ",\"cut\":true");
	if (b->windowed)
		sb_adds(out, ",\"windowed\":true");
	for (size_t i = 0; i < b->hidden_floors.n && i < FLOORS_MAX; i++)
		int_add(out, i ? "," : ",\"hidden\":[", b->hidden_floors.v[i]);
	sb_adds(out, b->hidden_floors.n ? "]}" : "}");
}

/* ---- lore ---- */

struct lore_books {
	const struct lore_book *v[8]; /* in the order in which the verdicts name them; more share the last name */
	size_t n;
	unsigned whys[8];             /* 1 << enum lore_why of those that are not in */
};

static size_t
book_index(struct lore_books *k, const struct lore_book *book)
{
	for (size_t i = 0; i < k->n; i++)
		if (k->v[i] == book)
			return i;
	if (k->n == COUNT(k->v))
		return k->n - 1;
	k->v[k->n] = book;
	return k->n++;
}

static void
active_add(struct sb *out, struct lore_books *k, const struct lore_result *r, size_t i)
{
	const struct lore_active *e = &r->active[i];
	const struct lore_verdict *v = &r->verdicts[e->candidate];

	int_add(out, i ? ",[" : "[", (int64_t)book_index(k, e->book));
	int_add(out, ",", e->entry->uid);
	word_add(out, ",", lore_why_name(v->why));
	int_add(out, ",", (int64_t)e->tokens);
	word_add(out, ",", lore_position_name(e->entry->position));
	if (v->key.n > 0) {
		text_add(out, ",", cut(v->key, KEY_MAX));
		word_add(out, ",", lore_place_name(v->place));
		int_add(out, ",", v->place_index);
	}
	sb_addc(out, ']');
}

/* Uids one after the other; those that follow each other as "from-to", up or down. */
static void
uids_add(struct sb *out, const struct lore_result *r, const struct lore_book *book, enum lore_why why)
{
	int64_t first = 0, last = 0, step = 0;
	bool any = false;

	for (size_t i = 0; i <= r->nverdicts; i++) {
		const struct lore_verdict *v = i < r->nverdicts ? &r->verdicts[i] : NULL;
		int64_t uid;

		if (v && (v->book != book || v->why != why))
			continue;
		uid = v ? lore_book_entry(v->book, v->entry)->uid : 0;
		if (v && any && first >= 0 && uid >= 0 && (step ? uid == last + step : uid == last + 1 || uid == last - 1)) {
			step = uid - last;
			last = uid;
			continue;
		}
		if (any && last != first) {
			sb_addc(out, '-');
			sb_add_int(out, last);
		}
		if (v == NULL)
			return;
		sb_adds(out, any ? "," : "");
		sb_add_int(out, uid);
		first = last = uid;
		step = 0;
		any = true;
	}
}

static void
passive_add(struct sb *out, struct lore_books *k, const struct lore_result *r)
{
	bool first = true;

	for (size_t i = 0; i < r->nverdicts; i++)
		if (!lore_why_is_on(r->verdicts[i].why))
			k->whys[book_index(k, r->verdicts[i].book)] |= 1u << r->verdicts[i].why;
	for (size_t b = 0; b < k->n; b++)
		for (int why = 0; why < LORE_WHY__COUNT; why++)
			if (k->whys[b] & (1u << why)) {
				int_add(out, first ? "[" : ",[", (int64_t)b);
				sb_addf(out, ",\"%s\",\"", lore_why_name((enum lore_why)why));
				uids_add(out, r, k->v[b], (enum lore_why)why);
				sb_adds(out, "\"]");
				first = false;
			}
}

static void
lore_add(struct sb *out, const struct lore_result *r)
{
	struct lore_books k = { 0 };

	if (r == NULL) {
		sb_adds(out, "null");
		return;
	}
	sb_addf(out, "{\"budget\":%lld,\"used\":%lld,\"passes\":%d%s,\"on\":[", (long long)r->budget, (long long)r->tokens, (int)r->passes,
	    r->overflowed ? ",\"overflowed\":true" : "");
	for (size_t i = 0; i < r->nactive; i++)
		active_add(out, &k, r, i);
	sb_adds(out, "],\"off\":[");
	passive_add(out, &k, r);
	sb_adds(out, "],\"books\":[");
	for (size_t i = 0; i < k.n; i++)
		text_add(out, i ? "," : "", lore_book_name(k.v[i]));
	sb_adds(out, "]}");
}

/* ---- macros ---- */

/* `{{if hp > 3}}` of a block. */
static struct str
header_of(struct str raw)
{
	size_t at = 0;
	int open = 0;

	for (; at + 1 < raw.n && at < HEADER_MAX; at++) {
		open += raw.p[at] == '{' && raw.p[at + 1] == '{' ? 1 : raw.p[at] == '}' && raw.p[at + 1] == '}' ? -1 : 0;
		if (raw.p[at] != raw.p[at + 1] || (raw.p[at] != '{' && raw.p[at] != '}'))
			continue;
		at++;
		if (open == 0)
			break;
	}
	return cut(raw, at + 1 < HEADER_MAX ? at + 1 : HEADER_MAX);
}

static struct str
owner_of(const struct build *b, size_t trace)
{
	for (size_t i = 0; i < b->row_ifs.n; i++)
		if (trace >= b->row_ifs.v[i].from && trace < b->row_ifs.v[i].to)
			return b->row_ifs.v[i].identifier;
	return STR_NULL;
}

static void
ifs_add(struct sb *out, const struct build *b, const struct macro_result *m)
{
	size_t n = 0, more = 0;

	for (size_t i = 0; i < m->traces.n; i++) {
		const struct macro_trace *t = &m->traces.v[i];

		if (t->kind != MACRO_SRC_IF)
			continue;
		if (n == IFS_MAX) {
			more++;
			continue;
		}
		text_add(out, n++ ? ",[" : "[", owner_of(b, i));
		text_add(out, ",", header_of(t->raw));
		word_add(out, ",", macro_branch_name(t->branch));
		sb_addc(out, ']');
	}
	sb_adds(out, "]");
	if (more > 0)
		int_add(out, ",\"more_ifs\":", (int64_t)more);
}

static void
macros_add(struct sb *out, const struct build *b)
{
	const struct macro_result *m = macro_run_result(b->run);
	unsigned counts[MACRO_W__COUNT] = { 0 };
	bool first = true;

	for (size_t i = 0; i < m->warnings.n; i++)
		counts[m->warnings.v[i].code] += m->warnings.v[i].count;
	int_add(out, "{\"writes\":", (int64_t)m->writes.n);
	sb_adds(out, ",\"warnings\":[");
	for (int c = 0; c < MACRO_W__COUNT; c++)
		if (counts[c] > 0) {
			sb_addf(out, "%s[\"%s\",%u]", first ? "" : ",", macro_code_name((enum macro_code)c), counts[c]);
			first = false;
		}
	sb_adds(out, "],\"ifs\":[");
	ifs_add(out, b, m);
	sb_addc(out, '}');
}

void
explain_ifs_begin(struct build *b, struct str identifier)
{
	vec_push(b->a, &b->row_ifs, ((struct row_ifs){ .identifier = identifier, .from = macro_run_result(b->run)->traces.n }));
}

void
explain_ifs_end(struct build *b)
{
	vec_last(&b->row_ifs)->to = macro_run_result(b->run)->traces.n;
	if (vec_last(&b->row_ifs)->to == vec_last(&b->row_ifs)->from)
		b->row_ifs.n--;
}

/* ---- the whole ---- */

static void
sources_add(struct sb *out, const struct build *b)
{
	static const char *const names[] = { "memory", "worldbook", "examples" };
	bool first = true;

	for (size_t i = 0; i < COUNT(names); i++)
		if (!policy_takes(b, names[i])) {
			sb_addf(out, "%s\"%s\"", first ? "" : ",", names[i]);
			first = false;
		}
}

void
prompt_explain(const struct prompt *p, struct sb *out)
{
	const struct build *b = p->build;
	struct walk w = { .b = b, .named = arena_array(out->a, bool, b->sections.n + 1) };

	int_add(out, "\"budget\":{\"context\":", b->context);
	int_add(out, ",\"reply\":", b->reply);
	int_add(out, ",\"used\":", p->tokens);
	int_add(out, ",\"left\":", b->left);
	sb_adds(out, "},\"rows\":[");
	if (b->arranged)
		nodes_add(out, &w);
	else
		rows_add(out, &w);
	sb_adds(out, "],\"blocks\":[");
	blocks_add(out, &w);
	sb_adds(out, "],\"chat\":");
	chat_add(out, b);
	sb_adds(out, ",\"off\":[");
	sources_add(out, b);
	if (b->examples_left > 0)
		int_add(out, "],\"examples_left\":", (int64_t)b->examples_left);
	else
		sb_adds(out, "]");
	sb_adds(out, ",\"lore\":");
	lore_add(out, b->lore);
	sb_adds(out, ",\"macros\":");
	macros_add(out, b);
	for (size_t i = 0; i < b->degraded.n; i++)
		text_add(out, i ? "," : ",\"degraded\":[", str_c(b->degraded.v[i]));
	sb_adds(out, b->degraded.n ? "]" : "");
	if (b->turn)
		sb_addf(out, ",\"decisions\":{\"asked\":%zu,\"dropped\":%zu,\"unanswered\":%zu,\"held\":%zu}", b->turn->ask.v.n, b->turn->dropped.v.n,
		    b->turn->unanswered.n, b->turn->held.n);
}
