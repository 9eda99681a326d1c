/*
 * page_compare: two pages of a floor side by side: what they say, what it cost, what they wrote, and whether the same
 * messages were answered. Facts only; how a difference is shown is the client's business.
 */
#include "api/rest.h"
#include "api/tables.h"
#include "base/limits.h"
#include "base/utf8.h"

/* How far two texts agree, from the front and from the back, in UTF-16 units as JavaScript counts. */
static void
agreement(struct str a, struct str b, size_t *front, size_t *back)
{
	size_t n = a.n < b.n ? a.n : b.n, i = 0, k = 0;

	while (i < n && a.p[i] == b.p[i])
		i++;
	while (i > 0 && i < n && ((unsigned char)a.p[i] & 0xc0) == 0x80) /* never between the bytes of a character */
		i--;
	while (k < n - i && a.p[a.n - 1 - k] == b.p[b.n - 1 - k])
		k++;
	while (k > 0 && ((unsigned char)a.p[a.n - k] & 0xc0) == 0x80)
		k--;
	*front = utf8_units(str_sub(a, 0, i));
	*back = utf8_units(str_sub(a, a.n - k, a.n));
}

static struct str
or_empty(struct str s)
{
	return s.p ? s : STR("");
}

static void
page_side_print(struct ctx *c, struct json *o, const struct rows *rs)
{
	struct str text = or_empty(row_str(rs, 11)), usage = row_str(rs, 7);
	struct json_error err;

	json_set_str(o, "id", row_str(rs, 0));
	json_set_int(o, "page_no", row_int(rs, 2));
	json_set_bool(o, "is_active", row_bool(rs, 3));
	json_set_str(o, "state", row_str(rs, 4));
	json_set_str(o, "text", text);
	json_set_int(o, "characters", (int64_t)utf8_units(text));
	json_set_int(o, "tokens", row_int(rs, 12));
	json_set_str(o, "reasoning", row_str(rs, 6));
	json_set(o, "usage", usage.p ? json_read(c->a, usage, LIM_JSON_DEPTH, &err) : NULL);
	json_set_str(o, "finish_reason", row_str(rs, 8));
	json_set_str(o, "model", row_str(rs, 9));
	json_set_str(o, "prompt_digest", row_str(rs, 13));
	json_set_int(o, "created_at", row_int(rs, 10));
}

static int
compare_vars(struct ctx *c, struct json *list, int64_t left, int64_t right)
{
	struct rows *rs = db_query(c, STMT_page_compare_vars, P_INT(left), P_INT(right));
	struct json_error err;
	int rc;

	while ((rc = rows_next(rs)) > 0) {
		struct json *o = json_push_object(list);

		json_set_str(o, "scope", row_str(rs, 0));
		json_set_str(o, "key", row_str(rs, 1));
		json_set_bool(o, "equal", row_bool(rs, 2) == row_bool(rs, 4) && row_null(rs, 3) == row_null(rs, 5) && str_eq(or_empty(row_str(rs, 3)), or_empty(row_str(rs, 5))));
		for (int side = 0; side < 2; side++) {
			static const char *const names[] = { "left", "right" };
			struct json *w = row_bool(rs, 2 + 2 * side) ? json_set_object(o, names[side]) : NULL;

			if (w == NULL)
				json_set(o, names[side], NULL);
			else
				json_set(w, "value", row_null(rs, 3 + 2 * side) ? NULL : json_read(c->a, row_str(rs, 3 + 2 * side), LIM_JSON_DEPTH, &err));
		}
	}
	return rc;
}

static int
compare_work(struct request *r, void *arg)
{
	struct ctx *c = r->ctx;
	struct json *o = json_object(c->a), *text;
	struct rows *rs = db_query(c, STMT_page_compare, P_STR(req_param(r, "id")), P_STR(req_query(r, "with")));
	struct str left, right, floor, digest;
	int64_t left_no;
	size_t front, back;
	bool same;

	if (rows_next(rs) <= 0)
		return failed(c) ? -1 : fail(c, ERR_NOT_FOUND, "not_found", "page not found");
	if (!str_eq(row_str(rs, 0), req_param(r, "id")))
		return fail(c, ERR_NOT_FOUND, "not_found", "page not found");
	floor = row_str(rs, 5);
	left = or_empty(row_str(rs, 11));
	digest = row_str(rs, 13);
	left_no = row_int(rs, 15);
	json_set_str(o, "floor_id", floor);
	page_side_print(c, json_set_object(o, "left"), rs);
	if (!str_eq(req_param(r, "id"), req_query(r, "with")) && rows_next(rs) <= 0) /* compared with itself: one row */
		return failed(c) ? -1 : fail(c, ERR_NOT_FOUND, "not_found", "page not found");
	if (!str_eq(row_str(rs, 5), floor))
		return fail_field(c, "/with", "invalid", "both pages must be of one floor");
	right = or_empty(row_str(rs, 11));
	page_side_print(c, json_set_object(o, "right"), rs);
	agreement(left, right, &front, &back);
	same = str_eq(left, right);
	text = json_set_object(o, "text");
	json_set_bool(text, "equal", same);
	json_set_int(text, "common_prefix", (int64_t)front);
	json_set_int(text, "common_suffix", (int64_t)back);
	json_set_bool(o, "same_prompt", digest.p && row_str(rs, 13).p && str_eq(digest, row_str(rs, 13)));
	if (compare_vars(c, json_set_array(o, "variables"), left_no, row_int(rs, 15)) < 0)
		return -1;
	*(struct json **)arg = o;
	return 0;
}

static int
page_compare(struct request *r)
{
	struct json *o = NULL;

	return rest_tx(r, DB_READ, compare_work, &o) < 0 ? -1 : reply_data(r, json_text(r->ctx->a, o));
}

/* clang-format off */
static const char *const states[] = { "draft", "generating", "committed", "failed", NULL };
static const struct field compare_query[] = {
	{ "with", FT_STRING, FF_REQUIRED, .min = 1, .max = 128, .doc = "the other page" },
	FIELD_END
};
static const struct field compare_usage[] = {
	{ "prompt_tokens", FT_INT, .bounded = true, .max = INT64_MAX },
	{ "completion_tokens", FT_INT, .bounded = true, .max = INT64_MAX },
	{ "total_tokens", FT_INT, .bounded = true, .max = INT64_MAX },
	FIELD_END
};
static const struct field compare_side[] = {
	{ "id", FT_STRING },
	{ "page_no", FT_INT, .bounded = true, .max = INT64_MAX },
	{ "is_active", FT_BOOL },
	{ "state", FT_ENUM, .choices = states },
	{ "text", FT_STRING },
	{ "characters", FT_INT, .bounded = true, .max = INT64_MAX },
	{ "tokens", FT_INT, .bounded = true, .max = INT64_MAX },
	{ "reasoning", FT_STRING, FF_NULLABLE },
	{ "usage", FT_OBJECT, FF_NULLABLE, .fields = compare_usage },
	{ "finish_reason", FT_STRING, FF_NULLABLE },
	{ "model", FT_STRING, FF_NULLABLE },
	{ "prompt_digest", FT_STRING, FF_NULLABLE, .doc = "of the messages that were sent" },
	{ "created_at", FT_TIME },
	FIELD_END
};
static const struct field compare_text[] = {
	{ "equal", FT_BOOL },
	{ "common_prefix", FT_INT, .bounded = true, .max = INT64_MAX, .doc = "UTF-16 units, as JavaScript counts" },
	{ "common_suffix", FT_INT, .bounded = true, .max = INT64_MAX, .doc = "the same, not counting the prefix" },
	FIELD_END
};
static const struct field compare_written[] = {
	{ "value", FT_ANY, FF_NULLABLE, .doc = "null = deleted" },
	FIELD_END
};
static const struct field compare_variable[] = {
	{ "scope", FT_STRING },
	{ "key", FT_STRING },
	{ "equal", FT_BOOL },
	{ "left", FT_OBJECT, FF_NULLABLE, .fields = compare_written, .doc = "null = not written" },
	{ "right", FT_OBJECT, FF_NULLABLE, .fields = compare_written },
	FIELD_END
};
static const struct field compare_variable_item = { "", FT_OBJECT, .fields = compare_variable };
static const struct field compare_answer[] = {
	{ "floor_id", FT_STRING },
	{ "left", FT_OBJECT, .fields = compare_side },
	{ "right", FT_OBJECT, .fields = compare_side },
	{ "text", FT_OBJECT, .fields = compare_text },
	{ "same_prompt", FT_BOOL, .doc = "both replies answer the same messages" },
	{ "variables", FT_ARRAY, .items = &compare_variable_item, .doc = "what the pages wrote" },
	FIELD_END
};
static const int errors_read[] = { 404, 0 };

const struct route api_page_compare_routes[] = {
	{ METHOD_GET, "/pages/{id}/compare", page_compare, AUTH_ACCOUNT, .query = compare_query, .answer = compare_answer, .errors = errors_read, .tag = "pages",
	  .summary = "Two pages of a floor side by side" },
	{ .path = NULL }
};
/* clang-format on */
