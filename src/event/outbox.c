/* outbox: see outbox.h. */
#include "event/outbox.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- places ---- */

void
event_pos_add(struct sb *out, struct event_pos p)
{
	sb_addf(out, "%" PRIu64 ".%" PRId64, p.xid, p.no);
	if (p.part > 0)
		sb_addf(out, ".%u", p.part);
}

/* A whole number without sign, at most max. */
static bool
number(struct str s, uint64_t max, uint64_t *out)
{
	uint64_t v = 0;

	for (size_t i = 0; i < s.n; i++) {
		unsigned digit = (unsigned)(s.p[i] - '0');

		if (digit > 9 || v > (max - digit) / 10)
			return false;
		v = v * 10 + digit;
	}
	*out = v;
	return s.n > 0;
}

bool
event_pos_parse(struct str s, struct event_pos *out)
{
	uint64_t xid, no, part = 0;
	struct str piece;

	if (!str_next(&s, '.', &piece) || !number(piece, UINT64_MAX, &xid))
		return false;
	if (!str_next(&s, '.', &piece) || !number(piece, INT64_MAX, &no))
		return false;
	if (s.p != NULL && !number(s, UINT16_MAX, &part))
		return false;
	*out = (struct event_pos){ xid, (int64_t)no, (unsigned)part };
	return true;
}

int
event_pos_cmp(struct event_pos a, struct event_pos b)
{
	if (a.xid != b.xid)
		return a.xid < b.xid ? -1 : 1;
	return a.no < b.no ? -1 : a.no > b.no;
}

/* ---- reading ---- */

struct reading {
	const struct outbox_query *q;
	struct outbox_batch *out;
};

static struct str
xid_text(struct arena *a, uint64_t xid)
{
	return str_c(arena_printf(a, "%" PRIu64, xid));
}

static uint64_t
row_xid(const struct rows *rs, int col)
{
	uint64_t v = 0;

	number(row_str(rs, col), UINT64_MAX, &v);
	return v;
}

/* `{1,2}`; one array for the accounts, the runs, the pages of rows. */
static struct str
rows_array(struct arena *a, const struct outbox_batch *b, int64_t (*of)(const struct outbox_row *))
{
	struct sb sb = sb_new(a);

	sb_addc(&sb, '{');
	for (size_t i = 0; i < b->rows.n; i++)
		sb_addf(&sb, i ? ",%" PRId64 : "%" PRId64, of(&b->rows.v[i]));
	sb_addc(&sb, '}');
	return sb_str(&sb);
}

static int64_t
account_of(const struct outbox_row *r)
{
	return r->account_no;
}

static int64_t
run_of(const struct outbox_row *r)
{
	return r->run_no;
}

static int64_t
page_of(const struct outbox_row *r)
{
	return r->page_no;
}

static struct outbox_run *
run_take(struct arena *a, const struct rows *rs)
{
	struct outbox_run *r = arena_new(a, struct outbox_run);

	*r = (struct outbox_run){
		.session_id = row_str(rs, 1), .no = row_int(rs, 2), .id = row_str(rs, 3), .type = row_str(rs, 4), .state = row_str(rs, 5),
		.phase = row_str(rs, 6), .phase_seq = row_int(rs, 7), .attempt_no = row_int(rs, 8), .started_at = row_int(rs, 9),
		.updated_at = row_int(rs, 10), .completed_at = row_int(rs, 11), .error = row_str(rs, 12), .verifier = row_str(rs, 13),
		.worker = row_str(rs, 14), .provider = row_str(rs, 15), .model = row_str(rs, 16),
		.floor = { .id = row_str(rs, 17), .seq = row_int(rs, 18), .branch_id = row_str(rs, 19), .parent_id = row_str(rs, 20),
		    .state = row_str(rs, 21), .token_in = row_int(rs, 22), .token_out = row_int(rs, 23), .created_at = row_int(rs, 24),
		    .updated_at = row_int(rs, 25), .committed_at = row_int(rs, 26) },
		.page_id = row_str(rs, 27), .text = row_str(rs, 28), .usage = row_str(rs, 29), .finish_reason = row_str(rs, 30),
		.summaries = row_str(rs, 31),
	};
	return r;
}

/* Runs, floors, pages and changes of all rows that name them: one round trip. */
static int
details(struct ctx *c, struct outbox_batch *b)
{
	struct str accounts = rows_array(c->a, b, account_of), pages = rows_array(c->a, b, page_of);
	struct rows *runs = db_query(c, STMT_event_runs, P_STR(accounts), P_STR(rows_array(c->a, b, run_of)), P_STR(pages));
	struct rows *changes = db_query(c, STMT_event_changes, P_STR(accounts), P_STR(pages));
	int rc;

	while ((rc = rows_next(runs)) > 0)
		b->rows.v[row_int(runs, 0) - 1].run = run_take(c->a, runs);
	if (rc < 0)
		return -1;
	while ((rc = rows_next(changes)) > 0)
		vec_push(c->a, &b->rows.v[row_int(changes, 0) - 1].changes,
		    ((struct outbox_change){ .scope = row_str(changes, 1), .scope_id = row_str(changes, 2), .id = row_str(changes, 3),
			.key = row_str(changes, 4), .value = row_str(changes, 5), .source = row_str(changes, 6), .at = row_int(changes, 7),
			.is_new = row_bool(changes, 8) }));
	return rc;
}

static struct rows *
send_read(struct ctx *c, const struct outbox_query *q)
{
	struct str after = xid_text(c->a, q->after.xid), until = xid_text(c->a, q->until.xid);
	struct sb accounts = sb_new(c->a);
	/* Of a row that was told in part, the rest is read too. */
	int64_t no = q->after.part > 0 ? q->after.no - 1 : q->after.no;

	if (q->n_accounts == 1)
		return db_query(c, STMT_event_read_account, P_STR(after), P_INT(no), P_STR(until), P_INT(q->until.no), P_INT(q->accounts[0]),
		    P_INT(q->limit), P_STR(q->session_id));
	for (size_t i = 0; i < q->n_accounts; i++)
		sb_addf(&accounts, "%c%d", i ? ',' : '{', q->accounts[i]);
	sb_addc(&accounts, '}');
	return db_query(c, STMT_event_read, P_STR(after), P_INT(no), P_STR(until), P_INT(q->until.no),
	    q->accounts != NULL ? P_STR(sb_str(&accounts)) : P_NULL, P_INT(q->limit));
}

static int
read_unit(struct ctx *c, void *arg)
{
	struct reading *r = arg;
	struct outbox_batch *b = r->out;
	struct rows *rs = send_read(c, r->q);
	bool any = false;
	int rc;

	*b = (struct outbox_batch){ .end = r->q->after };
	while ((rc = rows_next(rs)) > 0) {
		b->end = (struct event_pos){ row_xid(rs, 0), 0, 0 };
		b->waiting = row_bool(rs, 1);
		if (row_null(rs, 2))
			break;
		vec_push(c->a, &b->rows,
		    ((struct outbox_row){ .pos = { row_xid(rs, 2), row_int(rs, 3), 0 }, .account_no = (int32_t)row_int(rs, 4),
			.session_id = row_str(rs, 5), .name = row_str(rs, 6), .data = row_str(rs, 7), .at = row_int(rs, 8),
			.run_no = row_int(rs, 9), .page_no = row_int(rs, 10) }));
		any = any || row_int(rs, 9) > 0;
	}
	if (rc < 0)
		return -1;
	b->full = b->rows.n == (size_t)r->q->limit;
	if (b->full)
		b->end = vec_last(&b->rows)->pos;
	if (event_pos_cmp(b->end, r->q->until) > 0)
		b->end = r->q->until;
	if (event_pos_cmp(b->end, r->q->after) < 0)
		b->end = r->q->after;
	return any ? details(c, b) : 0;
}

int
outbox_read(struct ctx *c, const struct outbox_query *q, struct outbox_batch *out)
{
	return db_tx(c, DB_SYSTEM, read_unit, &(struct reading){ q, out });
}

struct looking {
	int32_t account_no;
	int64_t run_no;
	const struct outbox_run **out;
};

static int
run_unit(struct ctx *c, void *arg)
{
	struct looking *l = arg;
	struct rows *rs = db_query(c, STMT_event_runs, P_STR(str_c(arena_printf(c->a, "{%d}", l->account_no))),
	    P_STR(str_c(arena_printf(c->a, "{%" PRId64 "}", l->run_no))), P_STR(STR("{0}")));
	int rc = rows_next(rs);

	*l->out = rc > 0 ? run_take(c->a, rs) : NULL;
	return rc < 0 ? -1 : 0;
}

int
outbox_run(struct ctx *c, int32_t account_no, int64_t run_no, const struct outbox_run **out)
{
	*out = NULL;
	return db_tx(c, DB_SYSTEM, run_unit, &(struct looking){ account_no, run_no, out });
}
