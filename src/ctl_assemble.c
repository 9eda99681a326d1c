/*
 * ctl_assemble: `tavernctl assemble`: a preset, cards, books, regex sets and a chat as files in, the
 * exact messages and the reasons for them out. Needs no server and no database.
 */
#include "base/file.h"
#include "base/json_loose.h"
#include "base/limits.h"
#include "card/card.h"
#include "card/chat_file.h"
#include "card/import.h"
#include "card/lore_file.h"
#include "card/preset_file.h"
#include "card/regex_file.h"
#include "ctl.h"
#include "lore/book_file.h"
#include "prompt/prompt.h"
#include "regex/script_file.h"
#include "token/token.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>

enum { MEMBERS_MAX = 64, BOOKS_MAX = 64, SETS_MAX = 64 };

struct work {
	struct ctl *ctl;
	struct arena *a;
	struct prompt_input in;
	const struct prompt_card *cards[MEMBERS_MAX];
	struct lore_bound books[BOOKS_MAX];
	const struct regex_set *sets[SETS_MAX];
	size_t nsets, ncards;
	VEC(struct prompt_message) chat;
	struct macro_layers layers;
	struct token_choice tokens;
	struct str persona, message;
	int64_t greeting;
	bool has_chat, text_only;
};

static int
refuse(const char *path, const char *code, const char *why)
{
	fprintf(stderr, "tavernctl: %s: %s%s%s\n", path, code, why && *why ? ": " : "", why ? why : "");
	return -1;
}

static size_t
count_tokens(void *arg, struct str text)
{
	return token_count(((struct work *)arg)->tokens.encoding, text);
}

static void
say(struct work *w, enum prompt_role role, struct str name, struct str text)
{
	int64_t no = (int64_t)w->chat.n + 1;

	vec_push(w->a, &w->chat, ((struct prompt_message){ .no = no, .role = role, .name = name, .text = text, .tokens = -1 }));
}

/* ---- files ---- */

static int
take_card(struct work *w, const struct import_file *f, struct import_error *err)
{
	struct card card = { 0 };

	if (card_read(w->a, f, &card, err) < 0)
		return -1;
	if (w->ncards == MEMBERS_MAX)
		return 0;
	w->cards[w->ncards] = prompt_card_compile(w->a, card.doc);
	if (prompt_card_scripts(w->cards[w->ncards]) && w->nsets < SETS_MAX)
		w->sets[w->nsets++] = prompt_card_scripts(w->cards[w->ncards]);
	w->ncards++;
	return 0;
}

static int
take_preset(struct work *w, const struct import_file *f, struct import_error *err)
{
	struct preset_file preset = { 0 };

	if (preset_file_read(w->a, f, &preset, err) < 0)
		return -1;
	w->in.preset = prompt_preset_compile(w->a, preset.doc);
	if (prompt_preset_scripts(w->in.preset) && w->nsets < SETS_MAX)
		w->sets[w->nsets++] = prompt_preset_scripts(w->in.preset);
	return 0;
}

static int
take_book(struct work *w, const struct import_file *f, struct import_error *err)
{
	struct lore_file book = { 0 };

	if (lore_file_read(w->a, f, &book, err) < 0)
		return -1;
	if (w->in.nbooks < BOOKS_MAX)
		w->books[w->in.nbooks++] = (struct lore_bound){ lore_book_read(w->a, book.name, book.doc), LORE_GLOBAL };
	return 0;
}

static int
take_scripts(struct work *w, const struct import_file *f, struct import_error *err)
{
	struct regex_file file = { 0 };
	const struct regex_script *v;
	size_t n;

	if (regex_file_read(w->a, f, &file, err) < 0)
		return -1;
	n = regex_scripts_read(w->a, file.scripts, REGEX_SOURCE_GLOBAL, &v);
	if (n > 0 && w->nsets < SETS_MAX)
		w->sets[w->nsets++] = regex_set_compile(w->a, v, n);
	return 0;
}

/* What the chat's own settings say: note, scenario, variables. */
static void
take_metadata(struct work *w, const struct json *m)
{
	struct prompt_note *note = &w->in.note;

	*note = prompt_note_defaults();
	note->text = loose_str(w->a, json_get(m, "note_prompt"), STR_NULL);
	note->place = (enum prompt_place)loose_int(json_get(m, "note_position"), note->place);
	note->depth = (int32_t)loose_int(json_get(m, "note_depth"), note->depth);
	note->interval = (int32_t)loose_int(json_get(m, "note_interval"), note->interval);
	note->role = (enum prompt_role)loose_int(json_get(m, "note_role"), note->role);
	w->in.scenario = loose_str(w->a, json_get(m, "scenario"), STR_NULL);
	w->layers.chat = json_get(m, "variables");
}

static int
take_chat(struct work *w, const struct import_file *f, struct import_error *err)
{
	struct chat_reader r = { 0 };
	struct chat_message m;

	if (chat_open(w->a, f->bytes, NULL, &r, err) < 0)
		return -1;
	take_metadata(w, r.header.metadata);
	w->has_chat = true;
	if (w->in.user_name.n == 0)
		w->in.user_name = r.header.user_name;
	while (chat_next(&r, w->a, &m) > 0) {
		enum prompt_role role = m.is_narrator ? PROMPT_NARRATOR : m.is_user ? PROMPT_USER : PROMPT_ASSISTANT;

		if (!m.is_hidden)
			say(w, role, m.name, m.text);
	}
	return 0;
}

// clang-format off
static const struct {
	enum import_kind kind;
	int (*take)(struct work *w, const struct import_file *f, struct import_error *err);
} readers[] = {
	{ IMPORT_CHARACTER, take_card }, { IMPORT_PRESET, take_preset }, { IMPORT_WORLDBOOK, take_book },
	{ IMPORT_REGEX, take_scripts }, { IMPORT_CHAT, take_chat },
};
// clang-format on

static int
take_file(struct work *w, const char *path)
{
	const char *base = strrchr(path, '/');
	struct import_file f = { .bytes = file_read(w->a, path, LIM_IMPORT_BODY) };
	struct import_error err = { 0 };
	enum import_kind kind;

	if (f.bytes.p == NULL)
		return refuse(path, strerror(errno), NULL);
	f.file_name = str_c(base ? base + 1 : path);
	f.fallback_name = import_stem(f.file_name);
	kind = import_detect(w->a, f.bytes);
	for (size_t i = 0; i < sizeof(readers) / sizeof(*readers); i++)
		if (readers[i].kind == kind)
			return readers[i].take(w, &f, &err) < 0 ? refuse(path, err.code, err.message) : 0;
	return refuse(path, "not_supported", import_kind_name(kind));
}

/* ---- input ---- */

static int
option(struct work *w, int opt, const char *arg)
{
	struct prompt_input *in = &w->in;
	struct str s = str_c(arg);
	int64_t n = 0;
	bool number = s.p && str_int(s, &n);

	switch (opt) {
	case 'm':
		return prompt_mode_parse(s, &in->mode) ? 0 : -1;
	case 't':
		return prompt_type_parse(s, &in->type) ? 0 : -1;
	case 'u':
		in->user_name = s;
		return 0;
	case 'p':
		w->persona = s;
		return 0;
	case 'M':
		w->message = s;
		return 0;
	case 'l':
		in->model = s;
		return 0;
	case 'z':
		in->zone = tm_zone_load(w->a, s);
		return in->zone ? 0 : -1;
	case 'g':
		w->greeting = n;
		return number ? 0 : -1;
	case 's':
		in->seed = (uint64_t)n;
		return number ? 0 : -1;
	case 'n':
		in->now = n;
		return number ? 0 : -1;
	case 'C':
		in->max_context = n;
		return number ? 0 : -1;
	case 'R':
		in->max_reply = n;
		return number ? 0 : -1;
	case 'T':
		w->text_only = true;
		return 0;
	default:
		return -1;
	}
}

/* A chat that begins here: its greeting, with macros as its author wrote them. */
static void
greet(struct work *w)
{
	const struct macro_result *m;
	struct prompt_input in = w->in;

	in.phase = MACRO_PREVIEW;
	for (size_t i = 0; i < w->ncards; i++) {
		struct str text = prompt_greeting(w->a, &in, i, w->greeting, &m);

		if (text.n > 0)
			say(w, PROMPT_ASSISTANT, prompt_card_name(w->cards[i]), text);
	}
}

static void
settle(struct work *w)
{
	struct prompt_input *in = &w->in;
	struct json *persona = json_object(w->a);

	json_set_str(persona, "name", in->user_name.n ? in->user_name : STR("User"));
	json_set_str(persona, "description", w->persona);
	in->persona = prompt_persona_compile(w->a, persona);
	in->cards = w->cards;
	in->ncards = w->ncards;
	in->group = w->ncards > 1;
	in->books = w->books;
	in->scripts = w->nsets ? regex_set_join(w->a, w->sets, w->nsets) : NULL;
	in->vars = macro_vars_layers(&w->layers);
	w->tokens = token_for_model(in->model);
	if (!w->has_chat)
		greet(w);
	if (w->message.p)
		say(w, PROMPT_USER, STR_NULL, w->message);
	in->history = w->chat.v;
	in->nhistory = w->chat.n;
	in->chat_length = (int64_t)w->chat.n;
}

/* ---- output ---- */

static struct json *
message_json(struct json *list, const struct prompt_out *m)
{
	struct json *o = json_push_object(list);

	json_set_c(o, "role", m->role);
	if (m->name.n > 0)
		json_set_str(o, "name", m->name);
	json_set_str(o, "content", m->content);
	json_set_int(o, "tokens", m->tokens);
	json_set_c(o, "source", m->source);
	return o;
}

static void
print_json(const struct work *w, const struct prompt *p)
{
	struct json *o = json_object(w->a), *list = json_set_array(o, "messages"), *macro;
	struct str text;

	for (size_t i = 0; i < p->nmessages; i++)
		message_json(list, &p->messages[i]);
	if (p->prefill.n > 0)
		json_set_str(o, "prefill", p->prefill);
	json_set_int(o, "tokens", p->tokens);
	json_set_int(o, "budget", p->budget);
	json_set_c(o, "tokenizer", w->tokens.name);
	json_set(o, "sections", p->sections);
	json_set(o, "trace", p->trace);
	macro = macro_result_json(w->a, p->macros, w->in.phase);
	if (macro)
		json_set(p->trace, "macro", macro);
	text = json_text_pretty(w->a, o);
	printf("%.*s\n", STR_ARG(text));
}

static void
print_text(const struct prompt *p)
{
	for (size_t i = 0; i < p->nmessages; i++)
		printf("%s--- %s%s%.*s (%s, %d tokens)\n%.*s\n", i ? "\n" : "", p->messages[i].role, p->messages[i].name.n ? " " : "",
		    STR_ARG(p->messages[i].name), p->messages[i].source, p->messages[i].tokens, STR_ARG(p->messages[i].content));
}

static int
assemble(struct ctl *ctl, int argc, char **argv)
{
	struct work *w = arena_new(ctl->a, struct work);
	struct prompt *p;
	int opt;

	w->ctl = ctl;
	w->a = ctl->a;
	w->in = (struct prompt_input){ .seed = 1, .now = ctl->ctx->now, .time_awareness = true, .phase = MACRO_DRY_RUN, .trace = true,
		.value_warnings = true, .count = count_tokens, .count_arg = w, .tokens_reserved = 3, .names_in_messages_supported = true,
		.lore_settings = lore_settings_defaults(), .lore_strategy = LORE_CHARACTER_FIRST };
	optind = 1;
	while ((opt = getopt(argc, argv, "m:t:u:p:M:l:z:g:s:n:C:R:T")) != -1)
		if (option(w, opt, optarg) < 0)
			return ctl_usage(&ctl_assemble);
	if (optind == argc)
		return ctl_usage(&ctl_assemble);
	for (int i = optind; i < argc; i++)
		if (take_file(w, argv[i]) < 0)
			return 1;
	settle(w);
	prompt_assemble(w->a, &w->in, &p);
	if (p->error) {
		fprintf(stderr, "tavernctl: %s: %s\n", p->error, p->error_text);
		return 1;
	}
	if (w->text_only)
		print_text(p);
	else
		print_json(w, p);
	return 0;
}

const struct ctl_command ctl_assemble = { "assemble",
	"[-m MODE] [-t TYPE] [-u USER] [-p PERSONA] [-M MESSAGE] [-l MODEL] [-z ZONE] [-g GREETING] [-s SEED] [-n MS] [-C CONTEXT] "
	"[-R REPLY] [-T] FILE...",
	"the messages that a preset, cards, books, regex sets and a chat make, with the reasons (-T: as text)", assemble };
