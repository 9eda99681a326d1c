/*
 * search: GET /messages?q=. The words of messages are filled in here, in small steps of their own,
 * before they are asked; what is still missing the database looks at one by one.
 */
#include "api/excerpt.h"
#include "api/rest.h"
#include "api/search.h"
#include "base/limits.h"
#include "base/tm.h"

#define FILL_ROWS 500
#define FILL_MS 400      /* of one search; the rest is looked at without words */
#define RIPE_MS 60000    /* older messages are committed, or never will be */

struct search {
	struct list_query q;
	struct sb out;
	struct str *terms;
	size_t nterms;
	int64_t total, filled;
};

static int
fill_work(struct request *r, void *arg)
{
	struct search *s = arg;
	struct rows *rs = db_query(r->ctx, STMT_search_fill, P_INT(r->ctx->now - RIPE_MS), P_INT(FILL_ROWS));

	if (rows_next(rs) <= 0)
		return -1;
	s->filled = row_int(rs, 0);
	return 0;
}

static int
fill(struct request *r, struct search *s)
{
	int64_t until = tm_now() + FILL_MS;

	do {
		if (rest_tx(r, DB_WRITE, fill_work, s) < 0)
			return -1;
	} while (s->filled == FILL_ROWS && tm_now() < until);
	return 0;
}

static int
terms_take(struct ctx *c, struct search *s, struct rows *rs)
{
	int64_t n = rows_count(rs);
	int rc;

	if (n <= 0)
		return n < 0 ? -1 : fail_field(c, "/q", "invalid", "has no word to look for");
	s->terms = arena_array(c->a, struct str, (size_t)n);
	s->nterms = 0;
	while ((rc = rows_next(rs)) > 0)
		s->terms[s->nterms++] = row_str(rs, 0);
	return rc;
}

static void
found_print(struct ctx *c, struct search *s, struct rows *rs)
{
	struct sb *out = &s->out;
	static const char *const names[] = { "id", "page_id", NULL, "role", "content", "content_format" };

	sb_adds(out, out->n > 1 ? ",{" : "{");
	for (int i = 0; i < 6; i++) {
		if (names[i] == NULL) {
			sb_addf(out, ",\"seq\":%lld", (long long)row_int(rs, i));
			continue;
		}
		sb_addf(out, "%s\"%s\":", i ? "," : "", names[i]);
		sb_add_json(out, row_str(rs, i));
	}
	sb_addf(out, ",\"token_count\":%lld,\"is_hidden\":%s,\"source\":", (long long)row_int(rs, 6), row_bool(rs, 7) ? "true" : "false");
	if (row_null(rs, 8))
		sb_adds(out, "null");
	else
		sb_add_json(out, row_str(rs, 8));
	sb_addf(out, ",\"created_at\":%lld,\"found\":{\"session_id\":", (long long)row_int(rs, 9));
	sb_add_json(out, row_str(rs, 10));
	sb_adds(out, ",\"floor_id\":");
	sb_add_json(out, row_str(rs, 11));
	sb_addf(out, ",\"floor_no\":%lld,\"branch_id\":", (long long)row_int(rs, 12));
	sb_add_json(out, row_str(rs, 13));
	sb_addf(out, ",\"rank\":%g,\"excerpt\":", row_double(rs, 14));
	excerpt_print(c->a, out, row_str(rs, 4), s->terms, s->nterms);
	sb_adds(out, "}}");
}

static int
search_work(struct request *r, void *arg)
{
	struct search *s = arg;
	struct ctx *c = r->ctx;
	bool ranked = strcmp(s->q.sort->name, "relevance") == 0;
	struct str q = req_query(r, "q"), session = req_query(r, "session_id"), character = req_query(r, "character_id"), branch = req_query(r, "branch_id"),
		   role = req_query(r, "role");
	bool inactive = req_query_bool(r, "include_inactive", false), hidden = req_query_bool(r, "include_hidden", false);
	struct rows *terms, *total, *rs;
	int rc;

	terms = db_query(c, STMT_search_terms, P_STR(q));
	total = db_query(c, STMT_search_total, P_STR(q), P_STR(session), P_STR(character), P_STR(branch), P_STR(role), P_BOOL(inactive), P_BOOL(hidden));
	rs = db_query(c, STMT_search_page, P_STR(q), P_STR(session), P_STR(character), P_STR(branch), P_STR(role), P_BOOL(inactive), P_BOOL(hidden),
	    P_BOOL(ranked), P_BOOL(!ranked && s->q.ascending), P_INT(s->q.limit), P_INT(s->q.offset));
	sb_truncate(&s->out, 0);
	sb_addc(&s->out, '[');
	if (terms_take(c, s, terms) < 0 || rows_next(total) <= 0)
		return -1;
	s->total = row_int(total, 0);
	while ((rc = rows_next(rs)) > 0)
		found_print(c, s, rs);
	sb_addc(&s->out, ']');
	return rc;
}

int
search_messages(struct request *r)
{
	struct search s = { .out = sb_new(r->ctx->a) };

	if (req_query(r, "branch_id").p && !req_query(r, "session_id").p)
		return fail_field(r->ctx, "/session_id", "required", "branch_id needs the session that has the branch");
	if (!req_query(r, "sort_by").p)
		json_set_c(r->query, "sort_by", "relevance");
	if (resource_list_query(r->ctx, r->route->arg, r->query, &s.q) < 0 || fill(r, &s) < 0 || rest_tx(r, DB_READ, search_work, &s) < 0)
		return -1;
	return reply_list(r, sb_str(&s.out), rest_list_meta(r->ctx->a, &s.q, s.total));
}
