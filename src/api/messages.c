/*
 * messages: read as rows. Text of a committed floor is never changed; hiding a message is not a
 * change of text. Counts and places are kept with every write.
 */
#include "api/rest.h"
#include "api/search.h"
#include "api/tables.h"
#include "base/id.h"
#include "base/limits.h"
#include "token/token.h"

/* clang-format off */
static const char *const roles[] = { "user", "assistant", "system", "narrator", NULL };
static const char *const formats[] = { "text", "markdown", "json", NULL };

static const struct field message_fields[] = {
	{ "id", FT_STRING, FF_READONLY },
	{ "page_id", FT_STRING, .expr = "(SELECT p.id FROM page p WHERE p.account_no = acct() AND p.no = t.page_no)" },
	{ "seq", FT_INT, .bounded = true, .max = INT64_MAX },
	{ "role", FT_ENUM, .choices = roles },
	{ "content", FT_STRING },
	{ "content_format", FT_ENUM, .choices = formats },
	{ "token_count", FT_INT, .bounded = true, .max = INT64_MAX },
	{ "is_hidden", FT_BOOL },
	{ "source", FT_STRING, FF_NULLABLE },
	{ "created_at", FT_TIME },
	FIELD_END
};
static const struct field by_page = { "page_id", FT_STRING, .min = 1 };
static const struct field by_role = { "role", FT_ENUM, .choices = roles };
static const struct field by_hidden = { "is_hidden", FT_BOOL };
/* Of a search; a session narrows a plain list, too. */
static const struct field by_words = { "q", FT_STRING, .min = 1, .max = LIM_KEYWORD, .doc = "words that the text holds, or that begin words of it. Of more than 2,000 such messages the newest (in ascending order of time: the oldest) are looked at: meta.complete is then false, and total and pages are theirs" };
static const struct field by_session = { "session_id", FT_STRING, .min = 1 };
static const struct field by_character = { "character_id", FT_STRING, .min = 1, .doc = "with q: in the chats with this character, and in those that brought a card of its name along" };
static const struct field by_branch = { "branch_id", FT_STRING, .min = 1, .doc = "with q and session_id: what this branch shows" };
static const struct field with_inactive = { "include_inactive", FT_BOOL, .doc = "with q: also pages that do not count" };
static const struct field with_hidden = { "include_hidden", FT_BOOL, .doc = "with q: also hidden messages" };
static const struct filter filters[] = {
	{ &by_words, FILTER_WHERE, "$? <> ''" },
	{ &by_session, FILTER_WHERE, "t.segment_no = ANY (ARRAY(SELECT g.no FROM segment g JOIN session s ON s.account_no = acct() AND s.no = g.session_no WHERE g.account_no = acct() AND s.id = $?))" },
	{ &by_character, FILTER_WHERE, "$? <> ''" },
	{ &by_branch, FILTER_WHERE, "$? <> ''" },
	{ &with_inactive, FILTER_WHERE, "$?::boolean IS NOT NULL" },
	{ &with_hidden, FILTER_WHERE, "$?::boolean IS NOT NULL" },
	{ &by_page, FILTER_WHERE, "t.page_no = (SELECT p.no FROM page p WHERE p.account_no = acct() AND p.id = $?)" },
	{ &by_role, FILTER_EQ, "t.role" },
	{ &by_hidden, FILTER_EQ, "t.is_hidden" },
	{ NULL }
};
static const struct sort_key sorts[] = { { "created_at", "t.created_at" }, { "seq", "t.seq" }, { "relevance", "t.no" }, { NULL } }; /* relevance: of a search */
static const struct resource res_message = {
	.name = "message", .table = "message", .where = REST_LIVE_MESSAGE, .fields = message_fields, .filters = filters, .sorts = sorts,
};

static const struct field create_body[] = {
	{ "page_id", FT_STRING, FF_REQUIRED, .min = 1 },
	{ "seq", FT_INT, FF_REQUIRED, .bounded = true, .max = INT32_MAX },
	{ "role", FT_ENUM, FF_REQUIRED, .choices = roles },
	{ "content", FT_STRING, FF_REQUIRED, .min = 1 },
	{ "content_format", FT_ENUM, .choices = formats, .dflt = "\"text\"" },
	{ "is_hidden", FT_BOOL, .dflt = "false" },
	{ "source", FT_STRING, .min = 1, .max = 200 },
	{ "token_count", FT_INT, .bounded = true, .max = INT32_MAX, .doc = "absent = counted" },
	FIELD_END
};
static const struct field patch_body[] = {
	{ "page_id", FT_STRING, .min = 1 },
	{ "seq", FT_INT, .bounded = true, .max = INT32_MAX },
	{ "role", FT_ENUM, .choices = roles },
	{ "content", FT_STRING, .min = 1 },
	{ "content_format", FT_ENUM, .choices = formats },
	{ "is_hidden", FT_BOOL },
	{ "source", FT_STRING, .min = 1, .max = 200 },
	{ "token_count", FT_INT, .bounded = true, .max = INT32_MAX },
	{ "expected_content", FT_STRING, .doc = "the text as it was read: 409 with the current one if somebody has changed it since" },
	FIELD_END
};
/* clang-format on */

/* A list, or with q a search. */
static int
message_list(struct request *r)
{
	static const char *const of_search[] = { "character_id", "branch_id", "include_inactive", "include_hidden" };

	if (req_query(r, "q").p)
		return search_messages(r);
	for (size_t i = 0; i < sizeof(of_search) / sizeof(*of_search); i++)
		if (json_has(r->query, of_search[i]))
			return fail_field(r->ctx, "/q", "required", "%s belongs to a search: say q", of_search[i]);
	return rest_list(r);
}

struct message_work {
	struct str id, expected; /* expected: the text that the client has read; absent = whatever it is */
	struct sb out;
};

static int
locked(struct request *r)
{
	return fail(r->ctx, ERR_CONFLICT, "content_target_locked", "committed floors are read-only for message updates");
}

static int
message_answer(struct request *r, struct message_work *w)
{
	sb_truncate(&w->out, 0);
	return resource_get(r->ctx, &res_message, w->id, &w->out) <= 0 ? -1 : 0;
}

/* A client's own count wins; else ours, by the encoding for models whose name says nothing. */
static int64_t
tokens_of(const struct json *in)
{
	if (json_has(in, "token_count"))
		return json_get_int(in, "token_count", 0);
	return (int64_t)token_count(token_for_model(STR("")).encoding, json_get_str(in, "content"));
}

static int
create_work(struct request *r, void *arg)
{
	struct message_work *w = arg;
	struct ctx *c = r->ctx;
	struct rows *rs = db_query(c, STMT_page_place, P_STR(json_get_str(r->in, "page_id")));
	int rc = rows_next(rs);

	if (rc <= 0)
		return rc < 0 ? -1 : fail(c, ERR_NOT_FOUND, "not_found", "page not found");
	if (str_is(row_str(rs, 4), "committed"))
		return locked(r);
	rs = db_query(c, STMT_message_insert, P_STR(w->id), P_STR(json_get_str(r->in, "page_id")), P_INT(json_get_int(r->in, "seq", 0)),
	    P_STR(json_get_str(r->in, "role")), P_STR(json_get_str(r->in, "content")), P_STR(json_get_str(r->in, "content_format")),
	    P_BOOL(json_get_bool(r->in, "is_hidden", false)), P_STR(json_get_str(r->in, "source")), P_INT(tokens_of(r->in)), P_INT(c->now));
	return rows_next(rs) <= 0 ? -1 : message_answer(r, w);
}

static int
message_create(struct request *r)
{
	struct id id = id_new(r->ctx->now);
	struct message_work w = { .id = str_c(id.s), .out = sb_new(r->ctx->a) };

	return rest_tx(r, DB_WRITE, create_work, &w) < 0 ? -1 : reply_data(r, sb_str(&w.out));
}

static int
place(struct request *r, struct str id, struct rows **rs_out)
{
	struct rows *rs = db_query(r->ctx, STMT_message_place, P_STR(id));
	int rc = rows_next(rs);

	*rs_out = rs;
	return rc <= 0 ? (rc < 0 ? -1 : rest_not_found(r, &res_message)) : 0;
}

static int
patch_work(struct request *r, void *arg)
{
	struct message_work *w = arg;
	const struct json *in = r->in;
	struct rows *rs;
	bool counted = json_has(in, "content") || json_has(in, "token_count");

	if (place(r, w->id, &rs) < 0)
		return -1;
	if (str_is(row_str(rs, 3), "committed") && !(json_len(in) == 1 && json_has(in, "is_hidden")))
		return locked(r);
	if (w->expected.p && !str_eq(w->expected, row_str(rs, 6))) {
		struct sb now = sb_new(r->ctx->a);

		sb_adds(&now, "{\"path\":\"/expected_content\",\"current_content\":");
		sb_add_json(&now, row_str(rs, 6));
		sb_addc(&now, '}');
		fail(r->ctx, ERR_CONFLICT, "conflict", "message has changed since it was read: read it again and repeat the change");
		return fail_details(r->ctx, sb_c(&now));
	}
	if (json_has(in, "page_id") && !str_eq(json_get_str(in, "page_id"), row_str(rs, 5)))
		return fail(r->ctx, ERR_CONFLICT, "content_target_locked", "a message stays on its page; create one on the other page");
	if (db_exec(r->ctx, STMT_message_update, P_INT(row_int(rs, 0)), P_STR(json_get_str(in, "role")), P_STR(json_get_str(in, "content")),
		P_STR(json_get_str(in, "content_format")), json_has(in, "is_hidden") ? P_BOOL(json_get_bool(in, "is_hidden", false)) : P_NULL,
		P_STR(json_get_str(in, "source")), counted ? P_INT(tokens_of(in)) : P_NULL,
		json_has(in, "seq") ? P_INT(json_get_int(in, "seq", 0)) : P_NULL) < 0)
		return -1;
	if ((json_has(in, "content") || json_has(in, "role")) && db_exec(r->ctx, STMT_search_change, P_INT(row_int(rs, 0))) < 0)
		return -1;
	return message_answer(r, w);
}

static int
message_patch(struct request *r)
{
	struct message_work w = { .id = req_param(r, "id"), .out = sb_new(r->ctx->a) };

	if (json_has(r->in, "expected_content")) {
		w.expected = arena_str(r->ctx->a, json_get_str(r->in, "expected_content"));
		json_del(r->in, "expected_content");
	}
	return rest_tx(r, DB_WRITE, patch_work, &w) < 0 ? -1 : reply_data(r, sb_str(&w.out));
}

static int
delete_one(struct request *r, struct str id)
{
	struct rows *rs;

	if (place(r, id, &rs) < 0)
		return -1;
	if (str_is(row_str(rs, 3), "committed"))
		return locked(r);
	return db_exec(r->ctx, STMT_message_delete, P_INT(row_int(rs, 0))) < 0 ? -1 : 0;
}

static int
delete_work(struct request *r, void *arg)
{
	(void)arg;
	return delete_one(r, req_param(r, "id"));
}

static int
message_delete(struct request *r)
{
	return rest_tx(r, DB_WRITE, delete_work, NULL) < 0 ? -1 : rest_deleted_reply(r, req_param(r, "id"));
}

static int
message_batch_delete(struct request *r)
{
	return rest_batch_delete_each(r, delete_one);
}

struct visibility_work {
	struct sb ids, out;
};

/* Hides or shows, and answers with each message as it is then. */
static int
visibility_work(struct request *r, void *arg)
{
	struct visibility_work *w = arg;
	bool hidden = json_get_bool(r->in, "is_hidden", false);
	struct rows *rs = db_query(r->ctx, STMT_message_visibility, P_STR(sb_str(&w->ids)), P_BOOL(hidden));
	int64_t updated = 0, missing = 0;
	int rc;

	sb_truncate(&w->out, 0);
	sb_adds(&w->out, "{\"results\":[");
	while ((rc = rows_next(rs)) > 0) {
		bool done = row_bool(rs, 2);

		sb_addf(&w->out, "%s{\"index\":%lld,\"id\":", updated + missing ? "," : "", (long long)row_int(rs, 0));
		sb_add_json(&w->out, row_str(rs, 1));
		sb_addf(&w->out, ",\"action\":\"%s\"", done ? "updated" : "not_found");
		if (done) {
			sb_adds(&w->out, ",\"data\":");
			if (resource_get(r->ctx, &res_message, row_str(rs, 1), &w->out) < 0)
				return -1;
		}
		sb_addc(&w->out, '}');
		updated += done;
		missing += !done;
	}
	sb_addf(&w->out, "],\"meta\":{\"total\":%lld,\"updated\":%lld,\"not_found\":%lld,\"is_hidden\":%s}}", (long long)(updated + missing),
	    (long long)updated, (long long)missing, hidden ? "true" : "false");
	return rc;
}

static int
message_visibility(struct request *r)
{
	struct visibility_work w = { .ids = sb_new(r->ctx->a), .out = sb_new(r->ctx->a) };

	rest_ids_array(&w.ids, json_get(r->in, "ids"));
	return rest_tx(r, DB_WRITE, visibility_work, &w) < 0 ? -1 : reply_data(r, sb_str(&w.out));
}

/* clang-format off */
static const struct field one_id = { "id", FT_STRING, .min = 1, .max = 128 };
static const struct field visibility_body[] = {
	{ "ids", FT_ARRAY, FF_REQUIRED, .min = 1, .max = 100, .items = &one_id },
	{ "is_hidden", FT_BOOL, FF_REQUIRED },
	FIELD_END
};
static const char *const visibility_actions[] = { "updated", "not_found", NULL };
static const struct field visibility_result[] = {
	{ "index", FT_INT, .bounded = true, .max = INT64_MAX },
	{ "id", FT_STRING },
	{ "action", FT_ENUM, .choices = visibility_actions },
	{ "data", FT_OBJECT, FF_OPTIONAL, .fields = message_fields },
	FIELD_END
};
static const struct field visibility_item = { "item", FT_OBJECT, .fields = visibility_result };
static const struct field visibility_meta[] = {
	{ "total", FT_INT, .bounded = true, .min = 1, .max = INT64_MAX },
	{ "updated", FT_INT, .bounded = true, .max = INT64_MAX },
	{ "not_found", FT_INT, .bounded = true, .max = INT64_MAX },
	{ "is_hidden", FT_BOOL },
	FIELD_END
};
static const struct field visibility_answer[] = {
	{ "results", FT_ARRAY, .items = &visibility_item },
	{ "meta", FT_OBJECT, .fields = visibility_meta },
	FIELD_END
};
static const struct field excerpt_piece[] = {
	{ "text", FT_STRING },
	{ "match", FT_BOOL },
	FIELD_END
};
static const struct field excerpt_item = { "piece", FT_OBJECT, .fields = excerpt_piece };
static const struct field found[] = {
	{ "session_id", FT_STRING },
	{ "floor_id", FT_STRING },
	{ "floor_no", FT_INT, .bounded = true, .max = INT64_MAX },
	{ "branch_id", FT_STRING, .doc = "that made the floor" },
	{ "rank", FT_NUMBER, .doc = "more is better; only good for comparing" },
	{ "excerpt", FT_ARRAY, .items = &excerpt_item, .doc = "pieces of the text around the first match" },
	FIELD_END
};
/* message_fields, and where a search found it */
static const struct field found_fields[] = {
	{ "id", FT_STRING },
	{ "page_id", FT_STRING },
	{ "seq", FT_INT, .bounded = true, .max = INT64_MAX },
	{ "role", FT_ENUM, .choices = roles },
	{ "content", FT_STRING },
	{ "content_format", FT_ENUM, .choices = formats },
	{ "token_count", FT_INT, .bounded = true, .max = INT64_MAX },
	{ "is_hidden", FT_BOOL },
	{ "source", FT_STRING, FF_NULLABLE },
	{ "created_at", FT_TIME },
	{ "found", FT_OBJECT, FF_OPTIONAL, .fields = found },
	FIELD_END
};
static const int errors_read[] = { 404, 0 };
static const int errors_write[] = { 404, 409, 0 };

const struct route api_messages_routes[] = {
	{ METHOD_GET, "/messages", message_list, AUTH_ACCOUNT, .answer_kind = ANSWER_LIST, .answer = found_fields, .arg = &res_message, .tag = "messages",
	  .summary = "List messages, or search in their words with q" },
	{ METHOD_POST, "/messages", message_create, AUTH_ACCOUNT, .body = create_body, .answer = message_fields, .status = 201, .errors = errors_write,
	  .tag = "messages", .summary = "Write a message on a page that is not committed" },
	{ METHOD_POST, "/messages/batch/delete", message_batch_delete, AUTH_ACCOUNT, .body = rest_batch_ids, .answer = rest_batch_answer,
	  .errors = errors_write, .tag = "messages", .summary = "Delete many messages" },
	{ METHOD_PATCH, "/messages/batch/visibility", message_visibility, AUTH_ACCOUNT, .body = visibility_body, .answer = visibility_answer,
	  .tag = "messages", .summary = "Hide or show many messages" },
	{ METHOD_GET, "/messages/{id}", rest_get, AUTH_ACCOUNT, .answer = message_fields, .errors = errors_read, .arg = &res_message, .tag = "messages",
	  .summary = "Read a message" },
	{ METHOD_PATCH, "/messages/{id}", message_patch, AUTH_ACCOUNT, .body = patch_body, .body_mode = FIELD_PATCH, .answer = message_fields,
	  .errors = errors_write, .tag = "messages", .summary = "Change a message" },
	{ METHOD_DELETE, "/messages/{id}", message_delete, AUTH_ACCOUNT, .answer_kind = ANSWER_DELETED, .errors = errors_write, .tag = "messages",
	  .summary = "Delete a message" },
	{ .path = NULL }
};
/* clang-format on */
