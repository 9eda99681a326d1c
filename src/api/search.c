/*
 * search: GET /messages?q=. The words of messages are filled in by tavern-jobd; what is still missing the database looks at one by
 * one, and where much is missing the search fills in some of it first.
 */
#include "api/excerpt.h"
#include "api/rest.h"
#include "api/search.h"
#include "base/limits.h"
#include "base/tm.h"
#include "store/words.h"

#define FILL_LEAST 500 /* fewer messages without words are faster looked at */
#define FILL_MS 40     /* of one search, more than a round; of what is left then, some is looked at without words */

struct search {
	struct list_query q;
	struct sb out;
	struct str *terms;
	size_t nterms;
	int64_t total;
	bool complete;
};

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

/* Columns of search_page behind the number of all and whether these are all; NULL where the page has no row. */
enum { FOUND_ID = 2, FOUND_PAGE, FOUND_SEQ, FOUND_ROLE, FOUND_CONTENT, FOUND_FORMAT, FOUND_TOKENS, FOUND_HIDDEN, FOUND_SOURCE, FOUND_CREATED, FOUND_SESSION,
	FOUND_FLOOR, FOUND_FLOOR_NO, FOUND_BRANCH, FOUND_RANK };

static void
found_print(struct ctx *c, struct search *s, struct rows *rs)
{
	struct sb *out = &s->out;
	static const char *const names[] = { [FOUND_ID] = "id", [FOUND_PAGE] = "page_id", [FOUND_ROLE] = "role", [FOUND_CONTENT] = "content", [FOUND_FORMAT] = "content_format" };

	sb_adds(out, out->n > 1 ? ",{" : "{");
	for (int i = FOUND_ID; i <= FOUND_FORMAT; i++) {
		if (names[i] == NULL) {
			sb_addf(out, ",\"seq\":%lld", (long long)row_int(rs, i));
			continue;
		}
		sb_addf(out, "%s\"%s\":", i > FOUND_ID ? "," : "", names[i]);
		sb_add_json(out, row_str(rs, i));
	}
	sb_addf(out, ",\"token_count\":%lld,\"is_hidden\":%s,\"source\":", (long long)row_int(rs, FOUND_TOKENS), row_bool(rs, FOUND_HIDDEN) ? "true" : "false");
	if (row_null(rs, FOUND_SOURCE))
		sb_adds(out, "null");
	else
		sb_add_json(out, row_str(rs, FOUND_SOURCE));
	sb_addf(out, ",\"created_at\":%lld,\"found\":{\"session_id\":", (long long)row_int(rs, FOUND_CREATED));
	sb_add_json(out, row_str(rs, FOUND_SESSION));
	sb_adds(out, ",\"floor_id\":");
	sb_add_json(out, row_str(rs, FOUND_FLOOR));
	sb_addf(out, ",\"floor_no\":%lld,\"branch_id\":", (long long)row_int(rs, FOUND_FLOOR_NO));
	sb_add_json(out, row_str(rs, FOUND_BRANCH));
	sb_addf(out, ",\"rank\":%g,\"excerpt\":", row_double(rs, FOUND_RANK));
	excerpt_print(c->a, out, row_str(rs, FOUND_CONTENT), s->terms, s->nterms);
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
	struct rows *terms, *rs;
	int rc;

	terms = db_query(c, STMT_search_terms, P_STR(q));
	rs = db_query(c, STMT_search_page, P_STR(q), P_STR(session), P_STR(character), P_STR(branch), P_STR(role), P_BOOL(inactive), P_BOOL(hidden),
	    P_BOOL(ranked), P_BOOL(!ranked && s->q.ascending), P_INT(s->q.limit), P_INT(s->q.offset), P_INT(LIM_SEARCH_HITS));
	sb_truncate(&s->out, 0);
	sb_addc(&s->out, '[');
	if (terms_take(c, s, terms) < 0)
		return -1;
	while ((rc = rows_next(rs)) > 0) {
		s->total = row_int(rs, 0);
		s->complete = row_bool(rs, 1);
		if (!row_null(rs, FOUND_ID))
			found_print(c, s, rs);
	}
	sb_addc(&s->out, ']');
	return rc;
}

/* A list's, and whether everything that is there was looked at. */
static const char *
meta_print(struct arena *a, const struct search *s)
{
	const char *meta = rest_list_meta(a, &s->q, s->total);

	return arena_printf(a, "%.*s,\"complete\":%s}", (int)strlen(meta) - 1, meta, s->complete ? "true" : "false");
}

int
search_messages(struct request *r)
{
	struct search s = { .out = sb_new(r->ctx->a) };

	if (req_query(r, "branch_id").p && !req_query(r, "session_id").p)
		return fail_field(r->ctx, "/session_id", "required", "branch_id needs the session that has the branch");
	if (!req_query(r, "sort_by").p)
		json_set_c(r->query, "sort_by", "relevance");
	if (resource_list_query(r->ctx, r->route->arg, r->query, &s.q) < 0 || words_fill(r->ctx, FILL_LEAST, tm_now() + FILL_MS) < 0 || rest_tx(r, DB_READ, search_work, &s) < 0)
		return -1;
	return reply_list(r, sb_str(&s.out), meta_print(r->ctx->a, &s));
}
