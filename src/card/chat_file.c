/*
 * chat_file: see chat_file.h; st-assembly.md 4, case B07.
 */
#include "chat_file.h"

#include "base/limits.h"
#include "import.h"
#include "shape.h"

#include <stdio.h>

enum { LOOK_AHEAD = 20 }; /* lines in which a chat must show itself */

static const struct shape_field message_fields[] = {
	/* clang-format off */
	{ "name",      SHAPE_TEXT,   SHAPE_ABSENT, 0 },
	{ "is_user",   SHAPE_BOOL,   SHAPE_ABSENT, 0 },
	{ "is_system", SHAPE_BOOL,   SHAPE_ABSENT, 0 },
	{ "extra",     SHAPE_OBJECT, SHAPE_ABSENT, 0 },
	{ "swipes",    SHAPE_TEXTS,  SHAPE_ABSENT, 0 },
	{ "swipe_id",  SHAPE_INT,    SHAPE_ABSENT, 0 },
	{ "swipe_info", SHAPE_LIST,  SHAPE_ABSENT, 0 },
	/* clang-format on */
};

struct line {
	struct str text; /* lives until the next one */
	bool too_long;   /* then the text is its beginning */
};

/* The next line that is not blank; false at the end. */
static bool
line_next(struct pieces *p, int64_t *pos, size_t *line, struct line *out)
{
	struct str s;

	while (pieces_at(p, *pos, 1, &s) == 0 && s.n > 0) {
		size_t end = str_chr(s, '\n', 0), seen = s.n;

		while (end == STR_NPOS && *pos + (int64_t)seen < p->size && seen <= LIM_CHAT_LINE) {
			if (pieces_at(p, *pos, seen + 1, &s) < 0)
				return false;
			end = str_chr(s, '\n', seen);
			seen = s.n;
		}
		out->text = str_trim(str_sub(s, 0, end == STR_NPOS ? s.n : end));
		out->too_long = out->text.n > LIM_CHAT_LINE;
		++*line;
		*pos += (int64_t)(end == STR_NPOS ? s.n : end + 1);
		while (out->too_long && end == STR_NPOS && pieces_at(p, *pos, 1, &s) == 0 && s.n > 0) {
			end = str_chr(s, '\n', 0); /* the rest of it */
			*pos += (int64_t)(end == STR_NPOS ? s.n : end + 1);
		}
		if (out->text.n > 0)
			return true;
	}
	return false;
}

static struct json *
line_read(struct arena *a, const struct line *line, const char **why)
{
	struct receipt notes = { .a = a };
	struct json_error bad = { 0 };
	struct json *doc;

	*why = "longer than a line may be";
	if (line->too_long)
		return NULL;
	doc = json_read(a, shape_text(a, line->text, &notes), LIM_JSON_DEPTH, &bad);
	*why = bad.what ? bad.what : "no object";
	return json_type(doc) == JSON_OBJECT ? doc : NULL;
}

static bool
is_message(const struct json *doc)
{
	return json_has(doc, "mes") || json_type(json_get(doc, "swipes")) == JSON_ARRAY;
}

static bool
is_header(const struct json *doc)
{
	return doc && !is_message(doc) &&
	       (json_has(doc, "chat_metadata") || json_has(doc, "user_name") ||
		   json_has(doc, "character_name"));
}

/* Some line near the beginning must be a header or a message. */
static int
check_chat(struct arena *a, struct pieces *text, int64_t pos, struct import_error *err)
{
	struct arena_mark m = arena_mark(a);
	enum import_kind kind = IMPORT_UNKNOWN;
	size_t no = 0;
	struct line line;
	const char *why = "empty";
	bool any = false, found = false;

	for (int i = 0; i < LOOK_AHEAD && !found && line_next(text, &pos, &no, &line); i++) {
		const struct json *doc = line_read(a, &line, &why);

		any = true;
		found = doc && (is_message(doc) || is_header(doc));
		if (doc && i == 0)
			kind = import_kind_of(doc);
	}
	arena_rewind(a, m);
	if (found || text->failed)
		return found ? 0 : -1;
	if (!any)
		return import_fail(a, err, "chat_empty", "", "the file is empty");
	return import_fail(a, err, "not_a_chat", "",
	    "no chat: none of the first lines is a message or a header of a SillyTavern chat (found %s)",
	    import_kind_name(kind));
}

int
chat_open(struct arena *a, struct pieces *text, struct receipt *receipt, struct chat_reader *r,
    struct import_error *err)
{
	struct line line;
	struct str head;
	const char *why;
	struct json *doc;
	int64_t pos;
	size_t no = 0;

	*r = (struct chat_reader){ .text = text, .receipt = receipt };
	r->header.user_name = r->header.character_name = STR("");
	if (pieces_at(text, 0, 3, &head) < 0)
		return -1;
	r->pos = pos = str_starts(head, STR("\xef\xbb\xbf")) ? 3 : 0;
	if (check_chat(a, text, pos, err) < 0)
		return -1;
	if (!line_next(text, &pos, &no, &line) || !is_header(doc = line_read(a, &line, &why)))
		return text->failed ? -1 : 0;
	r->pos = pos;
	r->line = no;
	r->header.doc = doc;
	if (json_get_str(doc, "user_name").p)
		r->header.user_name = json_get_str(doc, "user_name");
	if (json_get_str(doc, "character_name").p)
		r->header.character_name = json_get_str(doc, "character_name");
	if (json_type(json_get(doc, "chat_metadata")) == JSON_OBJECT)
		r->header.metadata = json_get(doc, "chat_metadata");
	return 0;
}

int
chat_open_text(struct arena *a, struct str bytes, struct receipt *receipt, struct chat_reader *r,
    struct import_error *err)
{
	struct pieces *text = arena_new(a, struct pieces);

	*text = pieces_of(bytes);
	return chat_open(a, text, receipt, r, err);
}

static void
note(struct chat_reader *r, enum receipt_kind kind, const char *code, const char *what)
{
	char path[32];

	snprintf(path, sizeof(path), "line %zu", r->line);
	if (r->receipt)
		receipt_add(r->receipt, kind, code, path, "%s", what);
}

/* send_date as text and instant. */
static void
read_date(struct arena *a, const struct json *v, struct str *raw, int64_t *ms)
{
	char buf[DOUBLE_TEXT];

	*raw = json_type(v) == JSON_STRING ? json_str(v) : arena_str(a, json_number(v, buf));
	if (raw->p == NULL)
		*raw = STR("");
	if (!chat_date(*raw, ms))
		*ms = CHAT_NO_DATE;
}

/* A text, or Chub's object around one; STR_NULL if there is none. */
static struct str
text_of(const struct shaper *s, struct json *v)
{
	static const struct shape_field f = { "mes", SHAPE_TEXT, SHAPE_ABSENT, 0 };

	if (json_type(v) == JSON_OBJECT)
		v = json_get(v, "message");
	return json_str(shape_value(s, v, &f));
}

/* The message's swipes; what it shows is the active one, even if the list has something else there. */
static void
take_swipes(struct chat_reader *r, struct arena *a, struct chat_message *m, struct str shown)
{
	const struct json *list = json_get(m->doc, "swipes"), *infos = json_get(m->doc, "swipe_info");
	size_t n = json_len(list);
	int64_t id = json_get_int(m->doc, "swipe_id", 0);

	m->swipes = arena_array(a, struct chat_swipe, n + 1);
	for (size_t i = 0; i < n; i++) {
		struct chat_swipe *w = &m->swipes[i];

		w->text = json_str(json_at(list, i));
		w->info = json_type(json_at(infos, i)) == JSON_OBJECT ? json_at(infos, i) : NULL;
		read_date(a, json_get(w->info, "send_date"), &w->raw_date, &w->date);
	}
	m->n_swipes = n;
	if (id < 0 || (size_t)id >= n) {
		for (id = 0; (size_t)id < n && shown.p && !str_eq(m->swipes[id].text, shown);)
			id++;
		if (n > 0)
			note(r, RECEIPT_NORMALISED, "swipe_id_wrong", "swipe_id names no swipe");
		if ((size_t)id == n && (shown.p || n == 0))
			m->swipes[m->n_swipes++] = (struct chat_swipe){
				.text = shown.p ? shown : STR(""), .raw_date = m->raw_date, .date = m->date
			};
	} else if (shown.p && !str_eq(m->swipes[id].text, shown))
		note(r, RECEIPT_NORMALISED, "swipe_differs",
		    "mes differs from its swipe: mes is shown and kept");
	m->active = (size_t)id < m->n_swipes ? (size_t)id : 0;
	if (shown.p)
		m->swipes[m->active].text = shown;
	m->text = m->swipes[m->active].text;
}

static int
read_message(struct chat_reader *r, struct arena *a, struct json *doc, struct chat_message *m)
{
	char path[32];
	struct shaper s = { .a = a, .receipt = r->receipt, .path = path };
	struct str shown;

	snprintf(path, sizeof(path), "line %zu", r->line);
	*m = (struct chat_message){ .line = r->line, .doc = doc };
	shape_fix(&s, doc, message_fields, sizeof(message_fields) / sizeof(message_fields[0]));
	shown = text_of(&s, json_get(doc, "mes"));
	m->name = json_get_str(doc, "name").p ? json_get_str(doc, "name") : STR("");
	m->is_user = json_get_bool(doc, "is_user", false);
	m->is_hidden = json_get_bool(doc, "is_system", false);
	m->extra = json_get(doc, "extra");
	m->is_narrator = str_is(json_get_str(m->extra, "type"), "narrator");
	read_date(a, json_get(doc, "send_date"), &m->raw_date, &m->date);
	take_swipes(r, a, m, shown);
	return 1;
}

int
chat_next(struct chat_reader *r, struct arena *a, struct chat_message *out)
{
	struct line line;

	while (line_next(r->text, &r->pos, &r->line, &line)) {
		struct arena_mark m = arena_mark(a);
		const char *why;
		struct json *doc = line_read(a, &line, &why);

		if (doc && is_message(doc)) {
			r->messages++;
			read_message(r, a, doc, out);
			r->swipes += out->n_swipes;
			return 1;
		}
		arena_rewind(a, m);
		r->skipped++;
		note(r, RECEIPT_REFUSED, "line_skipped",
		    doc ? "an object without \"mes\" is no message" : why);
	}
	return 0;
}

void
chat_write_header(struct sb *out, struct arena *a, const struct chat_header *h)
{
	struct json *o = h->doc ? json_copy(a, h->doc) : json_object(a);

	json_set_str(o, "user_name", h->user_name);
	json_set_str(o, "character_name", h->character_name);
	if (h->metadata)
		json_set(o, "chat_metadata", h->metadata);
	else if (!json_has(o, "chat_metadata"))
		json_set_object(o, "chat_metadata");
	sb_add(out, json_text(a, o));
	sb_addc(out, '\n');
}

static void
set_date(struct json *o, const struct chat_message *m)
{
	int64_t n;

	if (m->raw_date.n > 0 && !json_has(o, "send_date")) {
		if (str_int(m->raw_date, &n))
			json_set_int(o, "send_date", n);
		else
			json_set_str(o, "send_date", m->raw_date);
	} else if (m->date != CHAT_NO_DATE && !json_has(o, "send_date"))
		json_set_int(o, "send_date", m->date);
}

void
chat_write_message(struct sb *out, struct arena *a, const struct chat_message *m)
{
	struct json *o = m->doc ? json_copy(a, m->doc) : json_object(a), *list;

	json_set_str(o, "name", m->name);
	json_set_bool(o, "is_user", m->is_user);
	json_set_bool(o, "is_system", m->is_hidden);
	json_set_str(o, "mes", m->text);
	set_date(o, m);
	if (m->extra)
		json_set(o, "extra", m->extra);
	if (m->n_swipes > 1 || json_has(o, "swipes")) {
		list = json_set_array(o, "swipes");
		for (size_t i = 0; i < m->n_swipes; i++)
			json_push_str(list, m->swipes[i].text);
		json_set_int(o, "swipe_id", (int64_t)m->active);
	}
	sb_add(out, json_text(a, o));
	sb_addc(out, '\n');
}
