#include "ctl_scene.h"

#include "base/file.h"
#include "base/json_loose.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "card/card.h"
#include "card/chat_file.h"
#include "card/lore_file.h"
#include "card/preset_file.h"
#include "card/regex_file.h"
#include "lore/book_file.h"
#include "regex/script_file.h"

#include <errno.h>
#include <stdio.h>

static int
refuse(const char *path, const char *why)
{
	fprintf(stderr, "tavernctl: %s: %s\n", path, why);
	return -1;
}

static int
refuse_import(const char *path, const struct import_error *err)
{
	const char *place = err->path && *err->path ? err->path : "";

	fprintf(stderr, "tavernctl: %s:%s%s %s (%s)\n", path, place, *place ? ":" : "", err->message, err->code);
	return -1;
}

static size_t
count_tokens(void *arg, struct str text)
{
	return token_count(((struct scene *)arg)->tokens.encoding, text);
}

static void
say(struct scene *s, enum prompt_role role, struct str name, struct str text)
{
	struct prompt_message *m = vec_add(s->a, &s->chat);

	*m = (struct prompt_message){ .no = (int64_t)s->chat.n, .role = role, .name = name, .text = text, .tokens = -1 };
}

void
scene_begin(struct scene *s, const struct ctl *ctl)
{
	*s = (struct scene){ .a = ctl->a };
	s->in = (struct prompt_input){ .seed = 1, .now = ctl->ctx->now, .time_awareness = true, .phase = MACRO_DRY_RUN, .trace = true,
		.value_warnings = true, .count = count_tokens, .count_arg = s, .tokens_reserved = 3, .names_in_messages_supported = true,
		.lore_settings = lore_settings_defaults(), .lore_strategy = LORE_CHARACTER_FIRST };
	s->files = json_array(s->a);
}

/* ---- options ---- */

/* Where a whole number goes, and its least value. */
struct number {
	int opt;
	int64_t least, most;
	void (*put)(struct scene *s, int64_t n);
};

static void put_greeting(struct scene *s, int64_t n) { s->greeting = n; }
static void put_seed(struct scene *s, int64_t n) { s->in.seed = (uint64_t)n; }
static void put_now(struct scene *s, int64_t n) { s->in.now = n; }
static void put_context(struct scene *s, int64_t n) { s->in.max_context = n; }
static void put_reply(struct scene *s, int64_t n) { s->in.max_reply = n; }
static void put_depth(struct scene *s, int64_t n) { s->in.lore_settings.scan_depth = (int32_t)n; }
static void put_least(struct scene *s, int64_t n) { s->in.lore_settings.min_activations = (int32_t)n; }

static void
put_budget(struct scene *s, int64_t n)
{
	s->in.lore_settings.budget_percent = 100;
	s->in.lore_settings.budget_cap = n;
}

// clang-format off
static const struct number numbers[] = {
	{ 'g', 0, INT32_MAX, put_greeting }, { 's', 0, INT64_MAX, put_seed }, { 'n', 0, INT64_MAX, put_now },
	{ 'C', 1, INT32_MAX, put_context }, { 'R', 1, INT32_MAX, put_reply }, { SCENE_SCAN_DEPTH, 0, 1000, put_depth },
	{ SCENE_BUDGET, 1, INT32_MAX, put_budget }, { SCENE_MIN_ACTIVATIONS, 0, INT32_MAX, put_least },
};
// clang-format on

static int
number_option(struct scene *s, const struct number *k, const char *arg)
{
	int64_t n;

	if (!str_int(str_c(arg), &n) || n < k->least || n > k->most)
		return refuse(arg, "expected a whole number, not too small or too large");
	k->put(s, n);
	return 0;
}

static int
name_option(struct scene *s, int opt, const char *arg)
{
	struct prompt_input *in = &s->in;
	struct str v = str_c(arg);

	switch (opt) {
	case 'm':
		return prompt_mode_parse(v, &in->mode) ? 0 : refuse(arg, "no mode: compat_strict, compat_plus, native or rearrange");
	case 't':
		return prompt_type_parse(v, &in->type) ? 0
						       : refuse(arg, "no type: normal, continue, swipe, regenerate, impersonate or quiet");
	case 'z':
		in->zone = tm_zone_load(s->a, v);
		return in->zone ? 0 : refuse(arg, "no time zone");
	case 'u':
		in->user_name = v;
		return 0;
	case 'p':
		s->persona = v;
		return 0;
	case 'M':
		s->message = v;
		return 0;
	case 'l':
		in->model = v;
		return 0;
	case SCENE_RECURSION:
		in->lore_settings.recursive = true;
		return 0;
	case SCENE_CASE:
		in->lore_case = true;
		return 0;
	case SCENE_WORDS:
		in->lore_words = true;
		return 0;
	default:
		return -1;
	}
}

int
scene_option(struct scene *s, int opt, const char *arg)
{
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (numbers[i].opt == opt)
			return number_option(s, &numbers[i], arg);
	return name_option(s, opt, arg);
}

/* ---- files ---- */

static void
scripts_add(struct scene *s, const struct regex_set *set)
{
	if (set && s->nsets < SCENE_SETS)
		s->sets[s->nsets++] = set;
}

static int
take_card(struct scene *s, const struct import_file *f, struct receipt *r, struct import_error *err)
{
	struct card card = { 0 };

	if (card_read(s->a, f, &card, err) < 0)
		return -1;
	*r = card.receipt;
	if (s->in.ncards == SCENE_MEMBERS)
		return import_fail(s->a, err, "too_many", "", "more than %d cards", SCENE_MEMBERS);
	s->cards[s->in.ncards] = prompt_card_compile(s->a, card.doc);
	scripts_add(s, prompt_card_scripts(s->cards[s->in.ncards++]));
	return 0;
}

static int
take_preset(struct scene *s, const struct import_file *f, struct receipt *r, struct import_error *err)
{
	struct preset_file preset = { 0 };

	if (preset_file_read(s->a, f, &preset, err) < 0)
		return -1;
	*r = preset.receipt;
	if (s->in.preset)
		return import_fail(s->a, err, "too_many", "", "a second preset: an assembly has one");
	s->in.preset = prompt_preset_compile(s->a, preset.doc);
	scripts_add(s, prompt_preset_scripts(s->in.preset));
	return 0;
}

static int
take_book(struct scene *s, const struct import_file *f, struct receipt *r, struct import_error *err)
{
	struct lore_file book = { 0 };

	if (lore_file_read(s->a, f, &book, err) < 0)
		return -1;
	*r = book.receipt;
	if (s->in.nbooks == SCENE_BOOKS)
		return import_fail(s->a, err, "too_many", "", "more than %d books", SCENE_BOOKS);
	s->books[s->in.nbooks++] = (struct lore_bound){ lore_book_read(s->a, book.name, book.doc), LORE_GLOBAL };
	return 0;
}

static int
take_scripts(struct scene *s, const struct import_file *f, struct receipt *r, struct import_error *err)
{
	struct regex_file file = { 0 };
	const struct regex_script *v;
	size_t n;

	if (regex_file_read(s->a, f, &file, err) < 0)
		return -1;
	*r = file.receipt;
	n = regex_scripts_read(s->a, file.scripts, REGEX_SOURCE_GLOBAL, &v);
	scripts_add(s, n > 0 ? regex_set_compile(s->a, v, n) : NULL);
	return 0;
}

/* What the chat's own settings say: note, texts instead of the cards', variables. */
static void
take_metadata(struct scene *s, const struct json *m)
{
	struct prompt_note *note = &s->in.note;

	*note = prompt_note_defaults();
	note->text = loose_str(s->a, json_get(m, "note_prompt"), STR_NULL);
	note->place = (enum prompt_place)loose_int(json_get(m, "note_position"), note->place);
	note->depth = (int32_t)loose_int(json_get(m, "note_depth"), note->depth);
	note->interval = (int32_t)loose_int(json_get(m, "note_interval"), note->interval);
	note->role = (enum prompt_role)loose_int(json_get(m, "note_role"), note->role);
	s->in.scenario = loose_str(s->a, json_get(m, "scenario"), STR_NULL);
	s->in.examples = loose_str(s->a, json_get(m, "mes_example"), STR_NULL);
	s->in.chat_system_prompt = loose_str(s->a, json_get(m, "system_prompt"), STR_NULL);
	s->layers.chat = json_get(m, "variables");
}

static int
take_chat(struct scene *s, const struct import_file *f, struct receipt *r, struct import_error *err)
{
	struct chat_reader reader = { 0 };
	struct chat_message m;

	if (s->has_chat)
		return import_fail(s->a, err, "too_many", "", "a second chat");
	if (chat_open_text(s->a, f->bytes, r, &reader, err) < 0)
		return -1;
	take_metadata(s, reader.header.metadata);
	s->has_chat = true;
	if (s->in.user_name.n == 0)
		s->in.user_name = reader.header.user_name;
	while (chat_next(&reader, s->a, &m) > 0) {
		enum prompt_role role = m.is_narrator ? PROMPT_NARRATOR : m.is_user ? PROMPT_USER : PROMPT_ASSISTANT;

		if (!m.is_hidden)
			say(s, role, m.name, m.text);
	}
	return 0;
}

// clang-format off
static const struct reader {
	enum import_kind kind;
	const char *name;
	int (*take)(struct scene *s, const struct import_file *f, struct receipt *r, struct import_error *err);
} readers[] = {
	{ IMPORT_CHARACTER, "character", take_card }, { IMPORT_PRESET, "preset", take_preset }, { IMPORT_WORLDBOOK, "worldbook", take_book },
	{ IMPORT_REGEX, "regex", take_scripts }, { IMPORT_CHAT, "chat", take_chat },
};
// clang-format on

/* Why a file is of no kind: the place where its JSON breaks, or what was expected. */
static int
refuse_unknown(struct scene *s, const char *path, const struct import_file *f, enum import_kind kind)
{
	struct json_error bad = { 0 };
	enum import_container c = import_container(f->bytes);

	if (kind != IMPORT_UNKNOWN)
		return refuse(path, arena_printf(s->a, "%s cannot be used here", import_kind_name(kind)));
	if (f->bytes.n == 0)
		return refuse(path, "the file is empty");
	if (c == IMPORT_JSON && json_read(s->a, utf8_clean(s->a, f->bytes), LIM_JSON_DEPTH, &bad) == NULL && bad.what)
		return refuse(path, arena_printf(s->a, "line %d, column %d: not valid JSON: %s", bad.line, bad.column, bad.what));
	return refuse(path, "neither a preset, a character card, a world book, regex scripts nor a chat");
}

int
scene_file(struct scene *s, const char *path)
{
	const char *base = strrchr(path, '/');
	struct import_file f = { .bytes = file_read(s->a, path, LIM_IMPORT_BODY) };
	struct import_error err = { 0 };
	struct receipt receipt = { .a = s->a };
	enum import_kind kind;
	struct json *row;

	if (f.bytes.p == NULL)
		return refuse(path, strerror(errno));
	f.file_name = str_c(base ? base + 1 : path);
	f.fallback_name = import_stem(f.file_name);
	kind = import_detect(s->a, f.bytes);
	for (size_t i = 0; i < sizeof(readers) / sizeof(*readers); i++) {
		if (readers[i].kind != kind)
			continue;
		if (readers[i].take(s, &f, &receipt, &err) < 0)
			return refuse_import(path, &err);
		row = json_push_object(s->files);
		json_set_c(row, "path", path);
		json_set_c(row, "kind", readers[i].name);
		json_set(row, "receipt", receipt_json(s->a, &receipt));
		return 0;
	}
	return refuse_unknown(s, path, &f, kind);
}

/* ---- the whole ---- */

/* A chat that begins here: its greeting, with macros as its author wrote them. */
static void
greet(struct scene *s)
{
	const struct macro_result *m;
	struct prompt_input in = s->in;

	in.phase = MACRO_PREVIEW;
	for (size_t i = 0; i < s->in.ncards; i++) {
		struct str text = prompt_greeting(s->a, &in, i, s->greeting, &m);

		if (text.n > 0)
			say(s, PROMPT_ASSISTANT, prompt_card_name(s->cards[i]), text);
	}
}

void
scene_settle(struct scene *s)
{
	struct prompt_input *in = &s->in;
	struct json *persona = json_object(s->a);

	json_set_str(persona, "name", in->user_name.n ? in->user_name : STR("User"));
	json_set_str(persona, "description", s->persona);
	in->persona = prompt_persona_compile(s->a, persona);
	in->cards = s->cards;
	in->group = in->ncards > 1;
	in->books = s->books;
	in->scripts = s->nsets ? regex_set_join(s->a, s->sets, s->nsets) : NULL;
	in->vars = macro_vars_layers(&s->layers);
	s->tokens = token_for_model(in->model);
	if (!s->has_chat)
		greet(s);
	if (s->message.p)
		say(s, PROMPT_USER, STR_NULL, s->message);
	in->history = s->chat.v;
	in->nhistory = s->chat.n;
	in->chat_length = (int64_t)s->chat.n;
}

void
scene_warnings(const struct scene *s)
{
	static const char *const lists[] = { "refused", "warnings" };

	for (size_t i = 0; i < json_len(s->files); i++) {
		const struct json *file = json_at(s->files, i), *receipt = json_get(file, "receipt");

		for (size_t k = 0; k < sizeof(lists) / sizeof(*lists); k++)
			for (size_t n = 0; n < json_len(json_get(receipt, lists[k])); n++) {
				const struct json *item = json_at(json_get(receipt, lists[k]), n);
				struct str path = json_get_str(file, "path"), place = json_get_str(item, "path");
				struct str why = json_get_str(item, "reason"), code = json_get_str(item, "code");

				fprintf(stderr, "%.*s:%.*s%s %.*s (%.*s)\n", STR_ARG(path), STR_ARG(place), place.n ? ":" : "",
				    STR_ARG(why), STR_ARG(code));
			}
	}
}
