/* macros, level assemble: a whole prompt, and what its macros warned of, read and wrote. */
#include "macros_assemble.h"

#include "fixture.h"
#include "lore/book_file.h"

/* The card's members under the names of the file that the product reads. */
static const struct {
	const char *from, *to;
} card_names[] = {
	{ "name", "name" },
	{ "description", "description" },
	{ "personality", "personality" },
	{ "scenario", "scenario" },
	{ "exampleDialogue", "mes_example" },
	{ "systemPrompt", "system_prompt" },
	{ "postHistoryInstructions", "post_history_instructions" },
	{ "greeting", "first_mes" },
	{ "creatorNotes", "creator_notes" },
}, preset_names[] = {
	{ "max_context", "openai_max_context" },
	{ "max_tokens", "openai_max_tokens" },
};

static struct json *
card_of(struct arena *a, const struct json *c)
{
	struct json *card = json_object(a);

	for (size_t i = 0; i < sizeof(card_names) / sizeof(*card_names); i++)
		if (json_get(c, card_names[i].from))
			json_set(card, card_names[i].to, json_get(c, card_names[i].from));
	return card;
}

/* The prompts are the ordered list. */
static struct json *
preset_of(struct arena *a, const struct json *p)
{
	struct json *preset = json_copy(a, p), *track, *order;
	const struct json *prompts = json_get(p, "prompts");

	track = json_push_object(json_set_array(preset, "prompt_order"));
	json_set_int(track, "character_id", 100001);
	order = json_set_array(track, "order");
	for (size_t i = 0; i < json_len(prompts); i++) {
		struct json *row = json_push_object(order);

		json_set_str(row, "identifier", json_get_str(json_at(prompts, i), "identifier"));
		json_set_bool(row, "enabled", json_get_bool(json_at(prompts, i), "enabled", true));
	}
	for (size_t i = 0; i < sizeof(preset_names) / sizeof(*preset_names); i++)
		if (json_get(p, preset_names[i].from))
			json_set(preset, preset_names[i].to, json_get(p, preset_names[i].from));
	return preset;
}

static struct json *
book_of(struct arena *a, const struct json *list)
{
	struct json *book = json_object(a), *entries = json_set_array(book, "entries");

	json_set_c(book, "name", "W");
	for (size_t i = 0; i < json_len(list); i++) {
		struct json *e = json_copy(a, json_at(list, i));

		json_set_bool(e, "constant", true);
		json_set_int(e, "uid", (int64_t)i);
		if (json_get(e, "outlet"))
			json_set(e, "outletName", json_get(e, "outlet"));
		json_push(entries, e);
	}
	return book;
}

/* The context of a case as an input of the other vectors. */
static struct json *
input_of(struct arena *a, const struct json *c)
{
	struct json *in = json_object(a);

	json_set_str(in, "mode", json_get_str(c, "mode"));
	json_set_str(in, "type", json_get_str(c, "run_kind"));
	if (json_get(c, "preset"))
		json_set(in, "preset", preset_of(a, json_get(c, "preset")));
	if (json_get(c, "character"))
		json_set(in, "character", card_of(a, json_get(c, "character")));
	if (json_get(c, "user")) {
		json_set_str(in, "user_name", json_get_str(json_get(c, "user"), "name"));
		json_set(in, "persona", json_get(c, "user"));
	}
	if (json_get(c, "worldbook"))
		json_push(json_set_array(in, "worldbooks"), book_of(a, json_get(c, "worldbook")));
	if (json_get(c, "memory_summary"))
		json_set(in, "memory_summary", json_get(c, "memory_summary"));
	return in;
}

static void
fixture_context(struct fixture *f, struct arena *a, const struct json *c)
{
	const struct json *vars = json_get(c, "variables");
	struct str kind = json_get_str(c, "run_kind");
	bool any = json_get(c, "preset") != NULL;

	fixture_read(f, a, input_of(a, c));
	f->layers = (struct macro_layers){ .page = json_get(vars, "page"), .floor = json_get(vars, "floor"), .branch = json_get(vars, "branch"),
		.chat = json_get(vars, "chat"), .global = json_get(vars, "global") };
	f->in.preset = any ? f->in.preset : NULL;
	f->in.metadata = json_get(c, "metadata");
	f->in.limits = macro_limits_reference;
	f->in.run_kind = arena_strdup(a, kind);
	f->in.phase = str_is(kind, "dry_run") ? MACRO_DRY_RUN : MACRO_ASSEMBLE;
	fixture_history(f, json_get(c, "history"), true);
	if (json_get_str(c, "user_message").p)
		vec_push(a, &f->history, ((struct prompt_message){ .role = PROMPT_USER, .text = json_get_str(c, "user_message"), .tokens = -1 }));
	f->in.history = f->history.v;
	f->in.nhistory = f->history.n;
}

/* ---- comparing ---- */

static struct json *
writes_json(struct arena *a, const struct macro_result *r, bool staged)
{
	struct json *list = json_array(a);

	for (size_t i = 0; i < r->writes.n; i++) {
		const struct macro_write *w = &r->writes.v[i];
		struct json *o = json_push_object(list);

		json_set_c(o, "kind", w->del ? "delete" : "set");
		json_set_c(o, "scope", w->scope == MACRO_SCOPE_GLOBAL ? "global" : "branch");
		json_set_str(o, "key", w->key);
		if (!w->del && w->value.text.p)
			json_set_str(o, "value", w->value.text);
		else if (!w->del)
			json_set(o, "value", w->value.json);
		if (staged)
			json_set_c(o, "source_macro", w->source_macro);
	}
	return list;
}

static struct json *
warnings_json(struct arena *a, const struct macro_result *r)
{
	struct json *list = json_array(a);

	for (size_t i = 0; i < r->warnings.n; i++)
		json_push_str(list, str_c(macro_code_name(r->warnings.v[i].code)));
	return list;
}

static struct json *
names_json(struct arena *a, const struct macro_result *r, bool traces)
{
	struct json *list = json_array(a);

	for (size_t i = 0; i < (traces ? r->traces.n : r->used_names.n); i++)
		json_push_str(list, traces ? r->traces.v[i].name : r->used_names.v[i]);
	return list;
}

static struct json *
phases_json(struct arena *a, const struct macro_result *r)
{
	struct json *list = json_array(a);
	unsigned seen = 0;

	for (size_t i = 0; i < r->traces.n; i++) {
		if ((seen & (1u << r->traces.v[i].phase)) == 0)
			json_push_str(list, str_c(macro_phase_name(r->traces.v[i].phase)));
		seen |= 1u << r->traces.v[i].phase;
	}
	return list;
}

static bool
is_open(const struct json *case_, const char *key)
{
	const struct json *open = json_get(case_, "open");

	for (size_t i = 0; i < json_len(open); i++)
		if (str_is(json_str(json_at(open, i)), key))
			return true;
	return !json_has(json_get(case_, "expect"), key);
}

int
macros_assemble(struct ctx *c, const struct json *case_, struct sb *why)
{
	const struct json *expect = json_get(case_, "expect");
	const struct macro_result *r;
	struct fixture f;
	struct prompt *p;
	int rc = VECTOR_PASS;

	fixture_context(&f, c->a, json_get(case_, "context"));
	prompt_assemble(c->a, &f.in, &p);
	r = p->macros;
	{
		const struct {
			const char *key;
			struct json *got;
		} parts[] = { { "messages", fixture_messages(c->a, p) }, { "warnings", warnings_json(c->a, r) },
			{ "mutations", writes_json(c->a, r, false) },
			{ "staged_mutations", f.in.phase == MACRO_ASSEMBLE ? writes_json(c->a, r, true) : json_array(c->a) },
			{ "used_names", names_json(c->a, r, false) }, { "trace_phases", phases_json(c->a, r) },
			{ "trace_names", names_json(c->a, r, true) } };

		for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
			if (!is_open(case_, parts[i].key))
				rc |= vector_check_json(why, parts[i].key, json_get(expect, parts[i].key), parts[i].got);
	}
	return rc ? VECTOR_FAIL : VECTOR_PASS;
}
