/*
 * rows: reading answers. The first look at any answer ends the pipeline and fetches all of it.
 */
#include "db_private.h"

#include <stdlib.h>

static bool
rows_ready(struct rows *rs)
{
	if (rs == NULL)
		return false;
	if (!rs->answered)
		conn_sync(rs->c->conn);
	return rs->answered && !rs->bad;
}

/* libpq takes some 3 KB for any answer; a turn waits for its model with several. */
#define COPIED_MAX 2048 /* bytes of text */

static void
result_free(void *res)
{
	PQclear(res);
}

static struct str
result_cell(const PGresult *res, int row, int col)
{
	if (PQgetisnull(res, row, col))
		return STR_NULL;
	return (struct str){ PQgetvalue(res, row, col), (size_t)PQgetlength(res, row, col) };
}

static bool
is_small(const PGresult *res)
{
	size_t bytes = 0;

	for (int row = 0; row < PQntuples(res); row++)
		for (int col = 0; col < PQnfields(res); col++)
			if ((bytes += sizeof(struct str) + (size_t)PQgetlength(res, row, col)) > COPIED_MAX)
				return false;
	return true;
}

void
rows_take(struct rows *rs, PGresult *res)
{
	struct arena *a = rs->a;
	struct str *cells;

	rs->n = PQntuples(res);
	rs->width = PQnfields(res);
	rs->affected = strtoll(PQcmdTuples(res), NULL, 10);
	if (PQresultStatus(res) != PGRES_TUPLES_OK || !is_small(res)) {
		rs->res = arena_defer(a, result_free, res);
		return;
	}
	cells = arena_array(a, struct str, (size_t)rs->n * (size_t)rs->width);
	for (int row = 0; row < rs->n; row++)
		for (int col = 0; col < rs->width; col++)
			cells[row * rs->width + col] = arena_str(a, result_cell(res, row, col));
	rs->cells = cells;
	PQclear(res);
}

int
rows_next(struct rows *rs)
{
	if (!rows_ready(rs))
		return -1;
	if (rs->at + 1 >= rs->n)
		return 0;
	rs->at++;
	return 1;
}

int64_t
rows_affected(struct rows *rs)
{
	return rows_ready(rs) ? rs->affected : -1;
}

int64_t
rows_count(struct rows *rs)
{
	return rows_ready(rs) ? rs->n : -1;
}

struct str
row_str(const struct rows *rs, int col)
{
	return rs->res ? result_cell(rs->res, rs->at, col) : rs->cells[rs->at * rs->width + col];
}

bool
row_null(const struct rows *rs, int col)
{
	return row_str(rs, col).p == NULL;
}

int64_t
row_int(const struct rows *rs, int col)
{
	struct str s = row_str(rs, col);

	return s.p ? strtoll(s.p, NULL, 10) : 0;
}

bool
row_bool(const struct rows *rs, int col)
{
	return str_is(row_str(rs, col), "t");
}

double
row_double(const struct rows *rs, int col)
{
	double v = 0;

	str_double(row_str(rs, col), &v);
	return v;
}

static int
hex_digit(char ch)
{
	return ch <= '9' ? ch - '0' : (ch | 0x20) - 'a' + 10;
}

struct str
row_bytes(const struct rows *rs, int col, struct arena *a)
{
	struct str hex = row_str(rs, col);
	size_t n;
	char *out;

	if (hex.p == NULL)
		return STR_NULL;
	hex = str_sub(hex, 2, hex.n); /* \x */
	n = hex.n / 2;
	out = arena_alloc(a, n + 1);
	for (size_t i = 0; i < n; i++)
		out[i] = (char)(hex_digit(hex.p[2 * i]) << 4 | hex_digit(hex.p[2 * i + 1]));
	return (struct str){ out, n };
}
