#include "fixture.h"

#include "base/json_loose.h"
#include "lore/book_file.h"
#include "regex/script_file.h"

static enum prompt_role
role_number(const struct json *v)
{
	static const enum prompt_role roles[] = { PROMPT_SYSTEM, PROMPT_USER, PROMPT_ASSISTANT };
	int64_t n = loose_int(v, 0);

	return n >= 0 && n < 3 ? roles[n] : PROMPT_SYSTEM;
}

static void
read_note(struct fixture *f, const struct json *n)
{
	struct prompt_note *note = &f->in.note;

	*note = prompt_note_defaults();
	if (n == NULL)
		return;
	note->text = json_get_str(n, "text");
	note->place = (enum prompt_place)json_get_int(n, "position", PROMPT_IN_CHAT);
	note->depth = (int32_t)json_get_int(n, "depth", 4);
	note->role = role_number(json_get(n, "role"));
	note->interval = (int32_t)json_get_int(n, "interval", 1);
	note->scan = json_get_bool(n, "scan", false);
}

/* The card of a group's member: the character, one of the others, or one that has a name only. */
static const struct prompt_card *
member_card(struct fixture *f, const struct json *input, struct str name)
{
	const struct json *main_card = json_get(input, "character"), *others = json_get(input, "characters");
	struct json *bare = json_object(f->a);

	json_set_str(bare, "name", name);
	if (str_eq(json_get_str(json_get(main_card, "data") ? json_get(main_card, "data") : main_card, "name"), name))
		return prompt_card_compile(f->a, main_card);
	for (size_t i = 0; i < json_len(others); i++)
		if (str_eq(json_get_str(json_at(others, i), "name"), name))
			return prompt_card_compile(f->a, json_at(others, i));
	return prompt_card_compile(f->a, bare);
}

static void
read_group(struct fixture *f, const struct json *input)
{
	const struct json *g = json_get(input, "group");
	const struct json *members = json_type(g) == JSON_ARRAY ? g : json_get(g, "members");
	size_t n = json_len(members);
	const struct prompt_card **cards = arena_array(f->a, const struct prompt_card *, n + 1);
	bool *muted = arena_array(f->a, bool, n + 1);
	const struct json *main_card = json_get(input, "character");
	struct str mode = json_get_str(g, "mode"), respond = json_get_str(g, "respond");

	for (size_t i = 0; i < n; i++) {
		struct str name = json_str(json_at(members, i));

		cards[i] = member_card(f, input, name);
		if (str_eq(name, respond))
			f->in.speaker = i;
		for (size_t k = 0; k < json_len(json_get(g, "muted")); k++)
			muted[i] |= str_eq(json_str(json_at(json_get(g, "muted"), k)), name);
	}
	f->in.cards = cards;
	f->in.ncards = n;
	f->in.muted = muted;
	f->in.group = true;
	f->main_name = json_get_str(json_get(main_card, "data") ? json_get(main_card, "data") : main_card, "name");
	f->in.join = str_is(mode, "append") ? PROMPT_APPEND : str_is(mode, "append_disabled") ? PROMPT_APPEND_MUTED : PROMPT_SWAP;
	f->in.join_prefix = json_get_str(g, "join_prefix");
	f->in.join_suffix = json_get_str(g, "join_suffix");
}

static void
read_people(struct fixture *f, const struct json *input)
{
	const struct prompt_card **card = arena_new(f->a, const struct prompt_card *);
	struct json *persona = json_get(input, "persona") ? json_copy(f->a, json_get(input, "persona")) : NULL;

	f->in.user_name = json_get_str(input, "user_name");
	if (persona)
		json_set_str(persona, "name", f->in.user_name);
	f->in.persona = persona ? prompt_persona_compile(f->a, persona) : NULL;
	if (json_get(input, "group")) {
		read_group(f, input);
		return;
	}
	*card = prompt_card_compile(f->a, json_get(input, "character"));
	f->in.cards = card;
	f->in.ncards = json_get(input, "character") ? 1 : 0;
}

static void
read_books(struct fixture *f, const struct json *input)
{
	static const char *const scopes[] = { "global", "character", "chat", "persona" };
	const struct json *books = json_get(input, "worldbooks"), *w = json_get(input, "world_settings");
	struct lore_bound *v = arena_array(f->a, struct lore_bound, json_len(books) + 1);
	struct lore_settings *s = &f->in.lore_settings;

	for (size_t i = 0; i < json_len(books); i++) {
		v[i] = (struct lore_bound){ lore_book_read(f->a, STR_NULL, json_at(books, i)), LORE_GLOBAL };
		for (int j = 0; j < 4; j++)
			if (str_is(json_get_str(json_at(books, i), "scope"), scopes[j]))
				v[i].scope = (enum lore_scope)j;
	}
	f->in.books = v;
	f->in.nbooks = json_len(books);
	*s = lore_settings_defaults();
	s->scan_depth = (int32_t)json_get_int(w, "scan_depth", 2);
	s->budget_percent = json_get_double(w, "budget_percent", 100);
	s->budget_cap = json_get_int(w, "budget_cap", 0);
	s->include_names = json_get_bool(w, "include_names", true);
	s->recursive = json_get_bool(w, "recursive", false);
	s->max_steps = (int32_t)json_get_int(w, "max_recursion_steps", 0);
	s->min_activations = (int32_t)json_get_int(w, "min_activations", 0);
	s->min_activations_depth_max = (int32_t)json_get_int(w, "min_activations_depth_max", 0);
	s->group_scoring = json_get_bool(w, "use_group_scoring", false);
	f->in.lore_strategy = (enum lore_strategy)json_get_int(w, "character_strategy", LORE_CHARACTER_FIRST);
	f->in.lore_case = json_get_bool(w, "case_sensitive", false);
	f->in.lore_words = json_get_bool(w, "match_whole_words", false);
}

static void
read_scripts(struct fixture *f, const struct json *input)
{
	static const struct {
		const char *key;
		enum regex_source source;
	} lists[] = { { "regex", REGEX_SOURCE_GLOBAL }, { "regex_preset", REGEX_SOURCE_PRESET }, { "regex_character", REGEX_SOURCE_CARD } };
	const struct regex_set *sets[5];
	const struct regex_script *v;
	size_t n = 0;

	for (int i = 0; i < 3; i++) {
		size_t k = regex_scripts_read(f->a, json_get(input, lists[i].key), lists[i].source, &v);

		if (k > 0)
			sets[n++] = regex_set_compile(f->a, v, k);
		if (i == 1 && prompt_preset_scripts(f->in.preset))
			sets[n++] = prompt_preset_scripts(f->in.preset);
	}
	f->in.scripts = n ? regex_set_join(f->a, sets, n) : NULL;
}

static void
read_reasoning(struct fixture *f, const struct json *r)
{
	if (r == NULL)
		return;
	f->in.reasoning = (struct prompt_reasoning){ .add = json_get_bool(r, "add_to_prompts", false),
		.max = (int32_t)json_get_int(r, "max_additions", 1), .prefix = json_get_str(r, "prefix"), .suffix = json_get_str(r, "suffix"),
		.separator = json_get_str(r, "separator") };
}

void
fixture_read(struct fixture *f, struct arena *a, const struct json *input)
{
	const struct json *vars = json_get(input, "variables");
	struct str mode = json_get_str(input, "mode");

	*f = (struct fixture){ .a = a };
	prompt_mode_parse(mode, &f->in.mode);
	prompt_type_parse(json_get_str(input, "type"), &f->in.type);
	f->in.preset = prompt_preset_compile(a, json_get(input, "preset"));
	f->in.seed = 1;
	f->in.phase = MACRO_ASSEMBLE;
	f->in.time_awareness = true;
	f->in.trace = true;
	f->in.tokens_reserved = 3;
	f->in.names_in_messages_supported = true;
	f->in.quiet_prompt = json_get_str(input, "quiet_prompt");
	f->in.pin_examples = json_get_bool(input, "pin_examples", false);
	f->in.summary = json_get_str(input, "memory_summary");
	f->in.post_processing = json_get_str(input, "post_processing");
	f->in.scenario = json_get_str(json_get(input, "metadata"), "scenario");
	f->in.examples = json_get_str(json_get(input, "metadata"), "mes_example");
	f->in.chat_system_prompt = json_get_str(json_get(input, "metadata"), "system_prompt");
	f->layers.branch = json_get(vars, "local");
	f->layers.global = json_get(vars, "global");
	f->in.vars = macro_vars_layers(&f->layers);
	read_people(f, input);
	read_note(f, json_get(input, "authors_note"));
	read_books(f, input);
	read_scripts(f, input);
	read_reasoning(f, json_get(json_get(input, "power_user"), "reasoning"));
}

void
fixture_history(struct fixture *f, const struct json *list, bool greet)
{
	for (size_t i = 0; i < json_len(list); i++) {
		const struct json *m = json_at(list, i);
		struct str role = json_get_str(m, "role");
		struct prompt_message *to;

		greet = greet && !str_is(role, "user");
		if (json_get_bool(m, "hidden", false)) {
			f->in.users_before += str_is(role, "user");
			f->in.hidden++;
			continue;
		}
		to = vec_add(f->a, &f->history);
		*to = (struct prompt_message){ .no = (int64_t)f->history.n, .text = json_get_str(m, "content"), .name = json_get_str(m, "name"),
			.tokens = -1, .named = json_get_bool(m, "forced_avatar", false), .greeting = greet && str_is(role, "assistant"),
			.reasoning = json_get_str(json_get(m, "extra"), "reasoning") };
		if (f->in.group && to->name.n == 0 && str_is(role, "assistant"))
			to->name = f->main_name;
		to->role = str_is(role, "user") ? PROMPT_USER : str_is(role, "assistant") ? PROMPT_ASSISTANT : PROMPT_NARRATOR;
	}
	f->in.history = f->history.v;
	f->in.nhistory = f->history.n;
	f->in.chat_length = (int64_t)f->history.n;
}

struct json *
fixture_messages(struct arena *a, const struct prompt *p)
{
	struct json *list = json_array(a);

	for (size_t i = 0; i < p->nmessages; i++) {
		struct json *m = json_push_object(list);

		json_set_c(m, "role", p->messages[i].role);
		json_set_str(m, "content", p->messages[i].content);
		if (p->messages[i].name.n > 0)
			json_set_str(m, "name", p->messages[i].name);
	}
	return list;
}
