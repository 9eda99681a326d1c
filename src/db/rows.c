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

int
rows_next(struct rows *rs)
{
	if (!rows_ready(rs))
		return -1;
	if (rs->at + 1 >= PQntuples(rs->res))
		return 0;
	rs->at++;
	return 1;
}

int64_t
rows_affected(struct rows *rs)
{
	return rows_ready(rs) ? strtoll(PQcmdTuples(rs->res), NULL, 10) : -1;
}

int64_t
rows_count(struct rows *rs)
{
	return rows_ready(rs) ? PQntuples(rs->res) : -1;
}

bool
row_null(const struct rows *rs, int col)
{
	return PQgetisnull(rs->res, rs->at, col);
}

struct str
row_str(const struct rows *rs, int col)
{
	if (PQgetisnull(rs->res, rs->at, col))
		return STR_NULL;
	return (struct str){ PQgetvalue(rs->res, rs->at, col), (size_t)PQgetlength(rs->res, rs->at, col) };
}

int64_t
row_int(const struct rows *rs, int col)
{
	return strtoll(PQgetvalue(rs->res, rs->at, col), NULL, 10);
}

bool
row_bool(const struct rows *rs, int col)
{
	return PQgetvalue(rs->res, rs->at, col)[0] == 't';
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
