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

/* The next line that is not blank; false at the end. */
static bool
line_next(struct str bytes, size_t *pos, size_t *line, struct str *out)
{
	while (*pos < bytes.n) {
		size_t end = str_chr(bytes, '\n', *pos);

		if (end == STR_NPOS)
			end = bytes.n;
		*out = str_trim(str_sub(bytes, *pos, end));
		*pos = end + 1;
		++*line;
		if (out->n > 0)
			return true;
	}
	return false;
}

static struct json *
line_read(struct arena *a, struct str text, const char **why)
{
	struct receipt notes = { .a = a };
	struct json_error bad = { 0 };
	struct json *doc;

	*why = "longer than a line may be";
	if (text.n > LIM_CHAT_LINE)
		return NULL;
	doc = json_read(a, shape_text(a, text, &notes), LIM_JSON_DEPTH, &bad);
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
check_chat(struct arena *a, struct str bytes, struct import_error *err)
{
	struct arena_mark m = arena_mark(a);
	enum import_kind kind = IMPORT_UNKNOWN;
	size_t pos = 0, line = 0;
	struct str text;
	const char *why = "empty";
	bool any = false, found = false;

	for (int i = 0; i < LOOK_AHEAD && !found && line_next(bytes, &pos, &line, &text); i++) {
		const struct json *doc = line_read(a, text, &why);

		any = true;
		found = doc && (is_message(doc) || is_header(doc));
		if (doc && i == 0)
			kind = import_kind_of(doc);
	}
	arena_rewind(a, m);
	if (found)
		return 0;
	if (!any)
		return import_fail(a, err, "chat_empty", "", "the file is empty");
	return import_fail(a, err, "not_a_chat", "",
	    "no chat: none of the first lines is a message or a header of a SillyTavern chat (found %s)",
	    import_kind_name(kind));
}

int
chat_open(struct arena *a, struct str bytes, struct receipt *receipt, struct chat_reader *r,
    struct import_error *err)
{
	size_t pos = 0, line = 0;
	struct str text;
	const char *why;
	struct json *doc;

	if (str_starts(bytes, STR("\xef\xbb\xbf")))
		bytes = str_sub(bytes, 3, bytes.n);
	*r = (struct chat_reader){ .bytes = bytes, .receipt = receipt };
	r->header.user_name = r->header.character_name = STR("");
	if (check_chat(a, bytes, err) < 0)
		return -1;
	if (!line_next(bytes, &pos, &line, &text) || !is_header(doc = line_read(a, text, &why)))
		return 0;
	r->pos = pos;
	r->line = line;
	r->header.doc = doc;
	if (json_get_str(doc, "user_name").p)
		r->header.user_name = json_get_str(doc, "user_name");
	if (json_get_str(doc, "character_name").p)
		r->header.character_name = json_get_str(doc, "character_name");
	if (json_type(json_get(doc, "chat_metadata")) == JSON_OBJECT)
		r->header.metadata = json_get(doc, "chat_metadata");
	return 0;
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
	struct str text;

	while (line_next(r->bytes, &r->pos, &r->line, &text)) {
		struct arena_mark m = arena_mark(a);
		const char *why;
		struct json *doc = line_read(a, text, &why);

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
