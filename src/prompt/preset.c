/*
 * preset: a preset document as the assembler wants it: which track runs, its rows with their
 * compiled texts, formats and settings. Absent means SillyTavern's default (st-assembly 1.1 to 1.3;
 * decisions 38, 53).
 */
#include "base/json_loose.h"
#include "base/map.h"
#include "prompt/prompt_private.h"
#include "regex/script_file.h"

#include <math.h>

// clang-format off
/* The default list: what a preset without definitions or order means. */
static const struct {
	const char *identifier, *content;
	bool marker, off;
} built_in[] = {
	{ "main", "Take the part of {{char}} and write the next reply of this fictional chat with {{user}}.", false, false },
	{ "worldInfoBefore", "", true, false },
	{ "personaDescription", "", true, false },
	{ "charDescription", "", true, false },
	{ "charPersonality", "", true, false },
	{ "scenario", "", true, false },
	{ "enhanceDefinitions", "Use what else you know of {{char}} to round the character out; what is written here stays binding.", false, true },
	{ "nsfw", "", false, false },
	{ "worldInfoAfter", "", true, false },
	{ "dialogueExamples", "", true, false },
	{ "chatHistory", "", true, false },
	{ "jailbreak", "", false, false },
};

/* Texts of a preset, with what an absent one means ("" for a format: the field as it is). */
static const struct {
	const char *key;
	size_t at;
	const char *dflt;
} texts[] = {
#define TEXT(key, member, dflt) { key, offsetof(struct prompt_preset, member), dflt }
	TEXT("new_chat_prompt", new_chat, "[Start a new Chat]"),
	TEXT("new_group_chat_prompt", new_group_chat, "[Start a new group chat. Group members: {{group}}]"),
	TEXT("new_example_chat_prompt", new_example, "[Example Chat]"),
	TEXT("continue_nudge_prompt", continue_nudge, "[Go on with your last message from where it stops; repeat nothing of it.]"),
	TEXT("group_nudge_prompt", group_nudge, "[Write the next reply only as {{char}}.]"),
	TEXT("impersonation_prompt", impersonation, "[Write the next message as {{user}}, in the style {{user}} has in this chat. Leave {{char}} and the system out of it.]"),
	TEXT("wi_format", wi_format, "{0}"),
	TEXT("scenario_format", scenario_format, ""),
	TEXT("personality_format", personality_format, ""),
	TEXT("assistant_prefill", prefill, ""),
	TEXT("assistant_impersonation", impersonation_prefill, ""),
#undef TEXT
};

static const struct {
	const char *keys;
	size_t at;
} doubles[] = {
#define DOUBLE(name) { #name, offsetof(struct prompt_sampling, name) }
	DOUBLE(temperature), DOUBLE(top_p), DOUBLE(top_a), DOUBLE(min_p), DOUBLE(repetition_penalty),
	DOUBLE(frequency_penalty), DOUBLE(presence_penalty),
#undef DOUBLE
};
// clang-format on

static struct str
copy_str(struct arena *a, const struct json *o, const char *key, struct str dflt)
{
	return arena_str(a, loose_str(a, json_get(o, key), dflt));
}

/* ---- rows ---- */

static unsigned
triggers_read(struct arena *a, const struct json *v, bool *some)
{
	const struct str *names;
	size_t n = loose_strs(a, v, &names);
	unsigned mask = 0;
	enum prompt_type t;

	*some = n > 0;
	for (size_t i = 0; i < n; i++)
		if (prompt_type_parse(names[i], &t))
			mask |= 1u << t;
	return mask;
}

static bool
is_number(const struct json *v)
{
	return json_type(v) == JSON_INT || json_type(v) == JSON_DOUBLE;
}

/* Text that is no number is an order of its own, which no number is compared with: it stands above all. */
static double
order_read(const struct json *v)
{
	double n = loose_double(v, (double)-INFINITY);

	if (json_type(v) != JSON_STRING)
		return loose_double(v, 100);
	return text_blank(json_str(v)) ? 0 : n;
}

static void
row_read(struct arena *a, struct preset_row *r, const struct json *def, enum macro_dialect d)
{
	const struct json *position = json_get(def, "injection_position"), *depth = json_get(def, "injection_depth");
	const struct json *system = json_get(def, "system_prompt");

	r->doc = def;
	r->name = copy_str(a, def, "name", r->identifier);
	r->role = copy_str(a, def, "role", STR_NULL);
	if (r->role.n == 0)
		r->role = STR_NULL;
	r->content = text_compile(a, copy_str(a, def, "content", STR("")), d);
	r->marker = loose_bool(json_get(def, "marker"), false);
	r->forbid = loose_bool(json_get(def, "forbid_overrides"), false);
	r->custom = json_type(system) == JSON_BOOL && !json_bool(system, true);
	r->positioned = position != NULL;
	r->in_chat = is_number(position) && json_double(position, 0) == 1;
	r->in_chat_loose = loose_int(position, 0) == 1;
	r->depth_said = depth != NULL;
	r->depth_number = is_number(depth);
	r->depth = loose_double(depth, 4);
	r->ordered = json_get(def, "injection_order") != NULL;
	r->order = order_read(json_get(def, "injection_order"));
	r->triggers = triggers_read(a, json_get(def, "injection_trigger"), &r->has_triggers);
}

/* Old files keep the texts of three prompts outside the list. */
static void
old_texts(struct arena *a, struct prompt_preset *p, enum macro_dialect d)
{
	static const char *const names[][2] = { { "main", "main_prompt" }, { "nsfw", "nsfw_prompt" }, { "jailbreak", "jailbreak_prompt" } };

	for (size_t i = 0; i < COUNT(names); i++) {
		struct str s = copy_str(a, p->doc, names[i][1], STR_NULL);

		for (size_t k = 0; s.p && k < p->nrows; k++)
			if (str_is(p->rows[k].identifier, names[i][0]))
				p->rows[k].content = text_compile(a, s, d);
	}
}

const char *
prompt_default_row(size_t i, bool *enabled_out)
{
	if (i >= COUNT(built_in))
		return NULL;
	*enabled_out = !built_in[i].off;
	return built_in[i].identifier;
}

static bool
built_in_read(struct arena *a, struct preset_row *r, enum macro_dialect d)
{
	for (size_t i = 0; i < COUNT(built_in); i++) {
		if (!str_is(r->identifier, built_in[i].identifier))
			continue;
		r->name = r->identifier;
		r->content = text_compile(a, str_c(built_in[i].content), d);
		r->marker = built_in[i].marker;
		r->depth = 4;
		r->order = 100;
		return true;
	}
	return false;
}

static struct map *
definitions(struct arena *a, const struct json *doc)
{
	const struct json *prompts = json_get(doc, "prompts");
	struct map *defs = map_create(a);

	for (size_t i = 0; i < json_len(prompts); i++) {
		struct json *def = json_at(prompts, i);
		struct str id = loose_str(a, json_get(def, "identifier"), STR_NULL);

		if (id.p && !map_has(defs, id))
			map_set(defs, id, def);
	}
	return defs;
}

/* ---- tracks ---- */

static const struct json *
track_choose(struct arena *a, struct prompt_preset *p)
{
	const struct json *list = json_get(p->doc, "prompt_order"), *best = NULL;
	int best_rank = -1;

	for (size_t i = 0; i < json_len(list); i++) {
		const struct json *t = json_at(list, i);
		struct str id = loose_str(a, json_get(t, "character_id"), STR(""));
		int rank = str_is(id, "100001") ? 2 : str_is(id, "100000") ? 1 : 0;

		if (json_type(json_get(t, "order")) != JSON_ARRAY)
			continue;
		if (rank > best_rank || (rank == 0 && best_rank == 0 && json_len(json_get(t, "order")) > json_len(json_get(best, "order")))) {
			best = t;
			best_rank = rank;
		}
	}
	p->track = best_rank == 2 ? "100001" : best_rank == 1 ? "100000" : best ? "longest" : "default";
	for (size_t i = 0; i < json_len(list); i++) {
		const struct json *t = json_at(list, i);
		struct str id = copy_str(a, t, "character_id", STR(""));

		if (t == best)
			p->track_id = id;
		else
			vec_push(a, &p->other_tracks.v, id);
	}
	return json_get(best, "order");
}

static void
rows_read(struct arena *a, struct prompt_preset *p, enum macro_dialect d)
{
	const struct json *order = track_choose(a, p);
	struct map *defs = definitions(a, p->doc);
	size_t n = order ? json_len(order) : COUNT(built_in);

	p->rows = arena_array(a, struct preset_row, n + 1);
	for (size_t i = 0; i < n; i++) {
		const struct json *o = order ? json_at(order, i) : NULL;
		struct preset_row *r = &p->rows[p->nrows];
		const struct json *def;

		r->identifier = order ? copy_str(a, o, "identifier", STR_NULL) : str_c(built_in[i].identifier);
		r->enabled = order ? loose_bool(json_get(o, "enabled"), true) : !built_in[i].off;
		def = r->identifier.p ? map_get(defs, r->identifier) : NULL;
		if (def)
			row_read(a, r, def, d);
		else if (r->identifier.p == NULL || !built_in_read(a, r, d)) {
			*r = (struct preset_row){ .identifier = STR_NULL };
			continue;
		}
		p->nrows++;
	}
}

/* ---- the rest ---- */

static void
sampling_read(struct arena *a, struct prompt_preset *p)
{
	struct prompt_sampling *s = &p->sampling;

	(void)a;
	for (size_t i = 0; i < COUNT(doubles); i++)
		*(double *)(void *)((char *)s + doubles[i].at) = loose_double(json_get(p->doc, doubles[i].keys), (double)NAN);
	s->top_k = loose_int(json_get(p->doc, "top_k"), -1);
	s->max_tokens = p->reply > 0 ? p->reply : -1;
	s->seed = loose_int(json_get(p->doc, "seed"), -1);
	s->stream = loose_bool(json_get(p->doc, "stream_openai"), false);
}

static void
settings_read(struct arena *a, struct prompt_preset *p)
{
	const struct json *doc = p->doc;

	p->send_if_empty = copy_str(a, doc, "send_if_empty", STR(""));
	p->continue_postfix = copy_str(a, doc, "continue_postfix", STR(" "));
	p->post_processing = copy_str(a, doc, "custom_prompt_post_processing", STR(""));
	p->source = copy_str(a, doc, "chat_completion_source", STR(""));
	p->names = loose_int(json_get(doc, "names_behavior"), loose_bool(json_get(doc, "names_in_completion"), false) ? 1 : 0);
	p->continue_prefill = loose_bool(json_get(doc, "continue_prefill"), false);
	p->squash = loose_bool(json_get(doc, "squash_system_messages"), false);
	p->use_sysprompt = loose_bool(loose_get(doc, "use_sysprompt|claude_use_sysprompt"), false);
	p->context = loose_int(json_get(doc, "openai_max_context"), 0);
	p->reply = loose_int(json_get(doc, "openai_max_tokens"), 0);
}

static struct regex_set *
scripts_read(struct arena *a, const struct json *extensions, enum regex_source source)
{
	const struct regex_script *v;
	size_t n = regex_scripts_read(a, json_get(extensions, "regex_scripts"), source, &v);

	return n ? regex_set_compile(a, v, n) : NULL;
}

struct prompt_preset *
prompt_preset_compile(struct arena *a, const struct json *doc)
{
	struct prompt_preset *p = arena_new(a, struct prompt_preset);
	enum macro_dialect d = MACRO_AUTO;

	p->doc = doc ? json_copy(a, doc) : json_object(a);
	macro_dialect_parse(json_get_str(p->doc, "conditional_dialect"), &d);
	rows_read(a, p, d);
	old_texts(a, p, d);
	arrange_read(a, p->doc, &p->nodes);
	p->choices = choice_read(a, p->doc);
	for (size_t i = 0; i < COUNT(texts); i++)
		*(struct text *)(void *)((char *)p + texts[i].at) =
		    text_compile(a, copy_str(a, p->doc, texts[i].key, str_c(texts[i].dflt)), d);
	settings_read(a, p);
	sampling_read(a, p);
	preset_fields(a, p);
	p->dialect = d;
	p->scripts = scripts_read(a, json_get(p->doc, "extensions"), REGEX_SOURCE_PRESET);
	return p;
}

int64_t
prompt_preset_context(const struct prompt_preset *p)
{
	return p->context;
}

int64_t
prompt_preset_reply(const struct prompt_preset *p)
{
	return p->reply;
}

const struct regex_set *
prompt_preset_scripts(const struct prompt_preset *p)
{
	return p->scripts;
}

size_t
prompt_preset_bytes(const struct prompt_preset *p)
{
	return p->scripts ? regex_set_bytes(p->scripts) : 0;
}
