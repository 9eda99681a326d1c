/*
 * catalogue: finds a macro's row by its name, and prints the rows as documentation.
 */
#include "macro/catalogue.h"
#include "macro/macro_private.h"

#include <pthread.h>
#include <stdlib.h>

static const struct row_table *const tables[] = {
	&builtin_names, &builtin_vars, &builtin_text, &builtin_chance, &builtin_time
};

#define N_TABLES (sizeof(tables) / sizeof(tables[0]))
#define SLOTS 1024 /* twice the names at least: checked when the index is made */
#define NAME_MAX_LEN 32

/* One spelling of a row's name. */
struct slot {
	const char *name; /* not terminated */
	uint8_t len;
	uint16_t row;     /* number + 1; 0 = free */
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
