/*
 * catalogue: finds a macro's row by its name, and prints the rows as documentation.
 */
#include "macro/catalogue.h"
#include "macro/macro_private.h"

#include <pthread.h>
#include <stdlib.h>

static const struct row_table *const tables[] = { &builtin_names, &builtin_vars, &builtin_text,
	&builtin_chance, &builtin_time };

#define N_TABLES (sizeof(tables) / sizeof(tables[0]))
#define SLOTS 1024 /* twice the names at least: checked when the index is made */
#define NAME_MAX_LEN 32

/* One spelling of a row's name. */
struct slot {
	const char *name; /* not terminated */
	uint8_t len;
	uint16_t row; /* number + 1; 0 = free */
};

static struct slot slots[SLOTS];
static const struct row *numbered[SLOTS];
static unsigned n_rows;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static uint32_t
fold_hash(const char *p, size_t n)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];

		if (c >= 'A' && c <= 'Z')
			c |= 0x20;
		h = (h ^ c) * 16777619u;
	}
	return h ^ h >> 15;
}

static void
add_name(const char *p, size_t n, unsigned row, unsigned *names)
{
	uint32_t at = fold_hash(p, n) & (SLOTS - 1);

	if (++*names * 2 > SLOTS || n > NAME_MAX_LEN)
		abort(); /* a table outgrew its index: a fault of this source */
	while (slots[at].row)
		at = (at + 1) & (SLOTS - 1);
	slots[at] = (struct slot){ .name = p, .len = (uint8_t)n, .row = (uint16_t)(row + 1) };
}

static void
make_index(void)
{
	unsigned names = 0;

	for (size_t t = 0; t < N_TABLES; t++)
		for (size_t i = 0; i < tables[t]->n; i++) {
			const struct row *r = &tables[t]->v[i];
			struct str rest = str_c(r->aliases), alias;

			numbered[n_rows] = r;
			add_name(r->name, strlen(r->name), n_rows, &names);
			while (str_next(&rest, ' ', &alias))
				if (alias.n)
					add_name(alias.p, alias.n, n_rows, &names);
			n_rows++;
		}
}

const struct row *
row_get(unsigned i)
{
	return numbered[i];
}

unsigned
row_count(void)
{
	pthread_once(&once, make_index);
	return n_rows;
}

unsigned
row_find(struct str name, enum macro_dialect d, bool *exact_out)
{
	uint32_t at;

	pthread_once(&once, make_index);
	if (!name.n || name.n > NAME_MAX_LEN)
		return 0;
	for (at = fold_hash(name.p, name.n) & (SLOTS - 1); slots[at].row; at = (at + 1) & (SLOTS - 1)) {
		const struct slot *s = &slots[at];

		if (s->len != name.n || !(numbered[s->row - 1]->dialects & 1u << d))
			continue;
		*exact_out = memcmp(s->name, name.p, name.n) == 0;
		if (*exact_out || str_ieq((struct str){ s->name, s->len }, name))
			return s->row;
	}
	return 0;
}

/* ---- for people ---- */

struct macro_entry
macro_catalogue_entry(size_t i)
{
	const struct row *r = row_get((unsigned)i);
	struct macro_entry e = {
		.name = r->name,
		.aliases = r->aliases,
		.args = r->args,
		.dialects = r->dialects,
		.field = r->fn ? MF_NONE : (enum macro_field)r->field,
		.group = r->group,
		.help = r->help,
		.cache = r->cache,
	};

	e.traits |= r->flags & ROW_WRITE ? MACRO_HAS_WRITE : 0u;
	e.traits |= r->flags & ROW_CHANCE ? MACRO_HAS_CHANCE : 0u;
	e.traits |= r->flags & ROW_TIME ? MACRO_HAS_TIME : 0u;
	return e;
}

bool
macro_entry_is(const struct macro_entry *e, struct str name)
{
	struct str rest = str_c(e->aliases), alias;

	if (str_ieq(name, str_c(e->name)))
		return true;
	while (str_next(&rest, ' ', &alias))
		if (alias.n && str_ieq(name, alias))
			return true;
	return false;
}

size_t
macro_catalogue_count(void)
{
	return row_count();
}

struct doc {
	const char *form, *dialects, *help;
};

// clang-format off
static const struct doc blocks[] = {
	{ "{{if condition}}…{{else}}…{{/if}}", "tavernheadless", "one of two texts; conditions with operators, and, or, not" },
	{ "{{#if condition}}…{{else if condition}}…{{else}}…{{/if}}", "marinara", "the first text whose condition is true; && and ||" },
	{ "[ … ] on lines of their own", "marinara", "the lines once per character of a group chat" },
	{ "{{#if value}}…{{/if}}, {{#unless value}}…{{/unless}}", "tomoribot", "truth of one value" },
	{ "{{if tool:name}}…{{/if}}, {{if capability:name}}…{{/if}}", "tomoribot", "what this turn can do; ! inverts" },
	{ "{{if value}}…{{else}}…{{/if}}", "sillytavern", "truth of one value; ! inverts; no operators" },
	{ "{{name}}content{{/name}}", "sillytavern", "the content is the macro's last argument" },
	{ "{{// comment}}", "all", "prints nothing" },
};

static const struct doc operators[] = {
	{ "== != > < >= <= contains startsWith and or not ( )", "tavernheadless", "in conditions; texts compare exactly" },
	{ "== = is != \"is not\" > < >= <= contains includes \"not contains\" \"not includes\" && || ( )", "marinara",
	    "in conditions; texts compare without case; == \"a\" || \"b\" is a list" },
	{ "{{.name}} {{$name}} {{.name=value}} {{$name=value}} {{.name++}} {{.name--}}", "tavernheadless", "shorthand of variables" },
	{ "= ++ -- += -= ?? || ?\?= ||= == != > >= < <=", "sillytavern", "after {{.name or {{$name" },
};
// clang-format on

static void
add_docs(struct json *list, const struct doc *d, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct json *o = json_push_object(list);

		json_set_c(o, "form", d[i].form);
		json_set_c(o, "dialects", d[i].dialects);
		json_set_c(o, "help", d[i].help);
	}
}

static void
add_entry(struct json *list, const struct macro_entry *e)
{
	struct json *o = json_push_object(list), *names, *dialects;
	struct str rest = str_c(e->aliases), alias;

	json_set_c(o, "name", e->name);
	names = json_set_array(o, "aliases");
	while (str_next(&rest, ' ', &alias))
		if (alias.n)
			json_push_str(names, alias);
	json_set_c(o, "arguments", e->args);
	json_set_c(o, "group", e->group);
	json_set_c(o, "help", e->help);
	dialects = json_set_array(o, "dialects");
	for (int d = 0; d < MACRO_DIALECT__COUNT; d++)
		if (e->dialects & 1u << d)
			json_push_str(dialects, str_c(macro_dialect_name((enum macro_dialect)d)));
	json_set_bool(o, "writes", (e->traits & MACRO_HAS_WRITE) != 0);
	json_set_bool(o, "chance", (e->traits & MACRO_HAS_CHANCE) != 0);
	json_set_bool(o, "time", (e->traits & MACRO_HAS_TIME) != 0);
	json_set_c(o, "cache_advice", e->cache);
}

struct json *
macro_catalogue_json(struct arena *a)
{
	struct json *o = json_object(a), *macros = json_set_array(o, "macros");

	for (size_t i = 0; i < macro_catalogue_count(); i++) {
		struct macro_entry e = macro_catalogue_entry(i);

		add_entry(macros, &e);
	}
	add_docs(json_set_array(o, "blocks"), blocks, sizeof(blocks) / sizeof(blocks[0]));
	add_docs(json_set_array(o, "operators"), operators, sizeof(operators) / sizeof(operators[0]));
	return o;
}
