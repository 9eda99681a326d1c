/*
 * words: see words.h; the statement says why a message that can be seen is not taken at once.
 */
#include "store/words.h"

#include "base/tm.h"

#define FILL_ROWS 1000

struct fill {
	int64_t least, rows;
	bool later, further;
};

static int
fill_tx(struct ctx *c, void *arg)
{
	struct fill *f = arg;
	struct rows *rs = db_query(c, STMT_search_fill, P_INT(FILL_ROWS), P_INT(f->least));

	if (rows_next(rs) <= 0)
		return -1;
	f->rows = row_int(rs, 0);
	f->later = row_bool(rs, 1);
	f->further = row_bool(rs, 2);
	return 0;
}

int
words_fill(struct ctx *c, int64_t least, int64_t until)
{
	struct fill f = { .least = least };
	int round = 0;

	do {
		struct arena_mark m = arena_mark(c->a);

		if (db_tx(c, DB_WRITE, fill_tx, &f) < 0)
			return -1;
		arena_rewind(c->a, m);
		round++; /* the first only looks how far messages go, if it has nothing to take */
	} while ((f.rows == FILL_ROWS || (round == 1 && f.rows == 0 && f.further)) && tm_now() < until);
	return f.rows == FILL_ROWS ? WORDS_MORE : f.later ? WORDS_LATER : WORDS_NONE;
}
