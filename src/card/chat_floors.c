/*
 * chat_floors: a SillyTavern chat as floors, and floors as its lines. A user's line opens a floor and the
 * reply behind it joins it; a reply without one is a floor of its own, and so is each further reply
 * (greetings, groups). Swipes are the pages of the reply. The line itself is kept with the swipe that is
 * shown, its text apart, so that an export says everything again in the order that it had.
 */
#include "chat.h"

static struct chat_said
said_of(struct arena *a, const struct chat_message *m, size_t swipe)
{
	struct chat_said s = { .role = m->is_user       ? STR("user")
				       : m->is_narrator ? STR("narrator")
							: STR("assistant"),
		.name = m->name.n > 0 ? m->name : STR_NULL,
		.content = m->swipes[swipe].text.p ? m->swipes[swipe].text : STR(""),
		.format = STR("text"),
		.source = STR("import"),
		.hidden = m->is_hidden,
		.created_at = m->swipes[swipe].date != CHAT_NO_DATE ? m->swipes[swipe].date : m->date };
	struct json *origin, *doc;

	if (swipe != m->active)
		return s;
	origin = json_object(a);
	doc = json_copy(a, m->doc);
	json_set(doc, "mes", NULL); /* its place; the text is the message's */
	if (json_has(doc, "swipes"))
		json_set(doc, "swipes", NULL);
	json_set(origin, "doc", doc);
	s.origin = origin;
	return s;
}

/* The pages of a line, numbered on behind those of the line before it. */
static void
add_pages(struct arena *a, struct chat_floor *f, const struct chat_message *m, const char *kind)
{
	for (size_t i = 0; i < m->n_swipes; i++) {
		struct chat_page *p = &f->pages[f->n++];

		*p = (struct chat_page){ .kind = str_c(kind),
			.state = STR("committed"),
			.page_no = (int64_t)f->n - 1,
			.version = 1,
			.active = i == m->active,
			.n = 1 };
		p->said = arena_new(a, struct chat_said);
		*p->said = said_of(a, m, i);
		p->created_at = p->updated_at = p->said->created_at;
		if (i == m->active)
			p->reasoning = json_get_str(m->extra, "reasoning").n > 0
					   ? json_get_str(m->extra, "reasoning")
					   : STR_NULL;
	}
}

int
chat_next_floor(struct chat_reader *r, struct arena *a, struct chat_floor *out)
{
	struct chat_reader ahead;
	struct chat_message m, reply;
	bool replied = false;

	if (chat_next(r, a, &m) <= 0)
		return 0;
	*out = (struct chat_floor){ .branch_id = STR("main"),
		.state = STR("committed"),
		.created_at = m.date,
		.updated_at = m.date,
		.superseded_at = CHAT_NO_DATE,
		.segment = -1 };
	ahead = *r;
	ahead.receipt = NULL;
	if (m.is_user && chat_next(&ahead, a, &reply) > 0 && !reply.is_user)
		replied = chat_next(r, a, &reply) > 0;
	out->pages = arena_array(a, struct chat_page, m.n_swipes + (replied ? reply.n_swipes : 0));
	add_pages(a, out, &m, m.is_user ? "input" : "output");
	if (replied)
		add_pages(a, out, &reply, "output");
	return 1;
}

/* ---- back ---- */

static struct chat_message
line_of(struct arena *a, const struct chat_said *s, const struct chat_names *names)
{
	const struct json *origin = s->origin;
	struct chat_message m = { .doc = json_get(origin, "doc"),
		.is_user = str_is(s->role, "user"),
		.is_hidden = s->hidden,
		.text = s->content,
		.date = s->created_at };

	m.name = s->name.p ? s->name : m.is_user ? names->user : names->character;
	if (m.doc) {
		m.date = CHAT_NO_DATE; /* the line has one, or never had */
		m.name = json_has(m.doc, "name") || s->name.p ? m.name : STR("");
	} else if (str_is(s->role, "narrator") || str_is(s->role, "system")) {
		m.extra = json_object(a);
		json_set_c(m.extra, "type", "narrator");
	}
	if (json_get_str(origin, "raw").p && str_eq(json_get_str(origin, "made"), s->content))
		m.text = json_get_str(origin, "raw");
	return m;
}

/* swipe_info has an element for each swipe; what was added since is empty. */
static void
fit_info(struct arena *a, struct chat_message *m)
{
	const struct json *have = json_get(m->doc, "swipe_info");
	struct json *list, *doc;

	if (json_type(have) != JSON_ARRAY || json_len(have) == m->n_swipes)
		return;
	doc = json_copy(a, m->doc);
	list = json_set_array(doc, "swipe_info");
	for (size_t i = 0; i < m->n_swipes; i++)
		if (json_at(have, i))
			json_push(list, json_at(have, i));
		else
			json_push_object(list);
	m->doc = doc;
}

/* The pages of one kind: versions of one line if each is one message, else the lines of the active one. */
static void
write_kind(struct sb *out, struct arena *a, const struct chat_floor *f, const char *kind,
    const struct chat_names *names)
{
	const struct chat_page *shown = NULL;
	const struct json *doc = NULL;
	struct chat_message m;
	size_t at = 0;

	for (size_t i = 0; i < f->n; i++)
		if (str_is(f->pages[i].kind, kind) && f->pages[i].active)
			shown = &f->pages[i];
	if (!shown)
		return;
	for (size_t i = 0; shown->n != 1 && i < shown->n; i++) {
		m = line_of(a, &shown->said[i], names);
		chat_write_message(out, a, &m);
	}
	if (shown->n != 1)
		return;
	m = line_of(a, &shown->said[0], names);
	m.swipes = arena_array(a, struct chat_swipe, f->n);
	for (size_t i = 0; i < f->n; i++) {
		const struct chat_page *p = &f->pages[i];

		if (!str_is(p->kind, kind) || p->n == 0 || !str_is(p->state, "committed"))
			continue;
		at = p == shown ? m.n_swipes : at;
		doc = doc ? doc : json_get(p->said[0].origin, "doc");
		m.swipes[m.n_swipes++].text = p == shown ? m.text : line_of(a, &p->said[0], names).text;
	}
	m.active = at;
	m.doc = m.doc ? m.doc : json_copy(a, doc); /* another swipe is shown now: the line's members stay */
	if (m.doc && !json_has(m.doc, "mes"))
		m.doc = NULL;
	fit_info(a, &m);
	if (!m.doc && shown->reasoning.n > 0) {
		m.extra = m.extra ? m.extra : json_object(a);
		json_set_str(m.extra, "reasoning", shown->reasoning);
	}
	chat_write_message(out, a, &m);
}

void
chat_write_floor(struct sb *out, struct arena *a, const struct chat_floor *f, const struct chat_names *names)
{
	if (!str_is(f->state, "committed"))
		return;
	write_kind(out, a, f, "input", names);
	write_kind(out, a, f, "mixed", names);
	write_kind(out, a, f, "output", names);
}

#define NAMES_LOOK 200 /* lines in which both should have spoken */

struct chat_names
chat_names(struct arena *a, const struct chat_reader *r)
{
	struct chat_reader ahead = *r;
	struct chat_names n = { r->header.user_name, r->header.character_name };
	struct chat_message m;

	ahead.receipt = NULL;
	if (str_is(n.user, "unused"))
		n.user = STR("");
	if (str_is(n.character, "unused"))
		n.character = STR("");
	for (int i = 0;
	     i < NAMES_LOOK && (n.user.n == 0 || n.character.n == 0) && chat_next(&ahead, a, &m) > 0; i++) {
		if (m.is_user && n.user.n == 0)
			n.user = m.name;
		else if (!m.is_user && !m.is_narrator && !m.is_hidden && n.character.n == 0)
			n.character = m.name;
	}
	return n;
}
