/*
 * choice: a preset's choice blocks: variables that a session chooses values for (spec
 * marinara-conditionals 10; decisions 45). {{name}} reads the value, which is an author's text.
 */
#include "base/json_loose.h"
#include "macro/decide.h"
#include "prompt/prompt_private.h"

struct choice {
	struct str name;
	struct macro_choice_block block;
	const struct json *dflt;    /* the preset's own selection */
};

struct choices {
	struct choice *v;
	size_t n;
};

/* Values of a block's options; the list may be JSON text. */
static void
options_read(struct arena *a, const struct json *options, struct choice *c)
{
	struct json_error err;
	struct str *values;

	if (json_type(options) == JSON_STRING)
		options = json_read(a, json_str(options), 16, &err);
	values = arena_array(a, struct str, json_len(options) + 1);
	for (size_t i = 0; i < json_len(options); i++) {
		const struct json *o = json_at(options, i);

		values[i] = loose_str(a, json_type(o) == JSON_OBJECT ? loose_get(o, "value|label") : o, STR(""));
	}
	c->block.options = values;
	c->block.n_options = json_len(options);
}

struct choices *
choice_read(struct arena *a, const struct json *doc)
{
	const struct json *blocks = loose_get(doc, "choiceBlocks|choice_blocks"), *dflt = loose_get(doc, "defaultChoices|default_choices");
	struct choices *all = arena_new(a, struct choices);

	if (json_type(blocks) != JSON_ARRAY)
		return NULL;
	all->v = arena_array(a, struct choice, json_len(blocks) + 1);
	for (size_t i = 0; i < json_len(blocks); i++) {
		const struct json *b = json_at(blocks, i);
		struct choice *c = &all->v[all->n];

		c->name = loose_str(a, loose_get(b, "variableName|variable_name|name"), STR_NULL);
		if (c->name.n == 0)
			continue;
		options_read(a, json_get(b, "options"), c);
		c->block.multi = loose_bool(loose_get(b, "multiSelect|multi_select|multi"), false);
		c->block.random = loose_bool(loose_get(b, "randomPick|random_pick|random"), false);
		c->block.separator = loose_str(a, json_get(b, "separator"), STR_NULL);
		c->dflt = json_get_s(dflt, c->name);
		all->n++;
	}
	return all;
}

bool
choice_value(void *arg, struct str name, struct str *out)
{
	struct build *b = arg;
	const struct choices *all = b->preset->choices;

	for (size_t i = 0; all && i < all->n; i++) {
		const struct choice *c = &all->v[i];
		const struct json *selected = json_get_s(b->in->preset_choices, c->name);

		if (!str_eq(c->name, name))
			continue;
		selected = selected ? selected : c->dflt;
		*out = macro_choice_value(b->a, &c->block, selected, selected != NULL, c->block.random ? rng_unit(&b->rng) : 0);
		return out->p != NULL;
	}
	return false;
}

/* Is the value one of the block's options, or the empty text that chooses nothing? */
static bool
is_option(const struct choice *c, const struct json *v)
{
	struct str s = json_str(v);

	if (s.p && s.n == 0)
		return true;
	for (size_t i = 0; s.p && i < c->block.n_options; i++)
		if (str_eq(c->block.options[i], s))
			return true;
	return false;
}

static const char *
value_fault(const struct choice *c, const struct json *v)
{
	if (v == NULL || is_option(c, v))
		return NULL; /* null takes the choice back */
	if (json_type(v) != JSON_ARRAY)
		return "is no option of this choice block";
	for (size_t i = 0; i < json_len(v); i++)
		if (!is_option(c, json_at(v, i)))
			return "holds something that is no option of this choice block";
	return !c->block.multi && !c->block.random && json_len(v) > 1 ? "takes one option only" : NULL;
}

static const struct choice *
choice_find(const struct choices *all, struct str name)
{
	for (size_t i = 0; all && i < all->n; i++)
		if (str_eq(all->v[i].name, name))
			return &all->v[i];
	return NULL;
}

const char *
prompt_choices_fault(const struct prompt_preset *p, const struct json *choices, struct str *name_out)
{
	struct json_iter it = { 0 };
	const char *fault;
	struct json *v;

	while (json_next(choices, &it, name_out, &v)) {
		const struct choice *c = choice_find(p ? p->choices : NULL, *name_out);

		fault = c ? value_fault(c, v) : "is no choice block of the bound preset";
		if (fault)
			return fault;
	}
	return NULL;
}
