/*
 * transfers: chats as files. Small ones within the request, large ones as jobs of tavern-jobd (src/job/transfer.c), whose rows are the
 * chat-transfer-jobs that people see.
 */
#include "api/app.h"
#include "api/documents.h"
#include "api/rest.h"
#include "api/tables.h"
#include "base/limits.h"
#include "chat/chat.h"
#include "job/transfer.h"

/* ---- what a job looks like ---- */

#define STATUS \
	"(CASE t.state WHEN 'queued' THEN CASE WHEN t.attempts > 0 THEN 'retry_waiting' ELSE 'pending' END WHEN 'done' THEN 'succeeded'" \
	" WHEN 'dead' THEN 'dead_letter' ELSE t.state END)"

/* clang-format off */
static const char *const kinds[] = { TRANSFER_IMPORT, TRANSFER_EXPORT, NULL };
static const char *const export_kind[] = { TRANSFER_EXPORT, NULL };
static const char *const import_kind[] = { TRANSFER_IMPORT, NULL };
static const char *const statuses[] = { "pending", "leased", "running", "retry_waiting", "succeeded", "dead_letter", "cancelled", NULL };
static const char *const only_pending[] = { "pending", NULL };
static const char *const phases[] = { "queued", "parsing", "normalizing", "publishing", "snapshotting", "rendering", "writing_artifact", "finalizing", "completed", NULL };
static const char *const job_formats[] = { "thchat", "sillytavern_jsonl", "st_jsonl", NULL };
static const char *const yes_no[] = { "true", "false", NULL };
static const char *const export_formats[] = { "thchat", "st_jsonl", NULL };
static const char *const import_formats[] = { "thchat", "sillytavern_jsonl", NULL };

#define COUNT .bounded = true, .max = INT64_MAX
static const struct field job_fields[] = {
	{ "id", FT_STRING, FF_READONLY },
	{ "job_kind", FT_ENUM, .choices = kinds, .column = "kind" },
	{ "status", FT_ENUM, .choices = statuses, .expr = STATUS },
	{ "phase", FT_ENUM, .choices = phases },
	{ "format", FT_ENUM, FF_NULLABLE, .choices = job_formats, .expr = "(t.args ->> 'format')" },
	{ "requested_session_id", FT_STRING, FF_NULLABLE, .expr = "(t.args ->> 'requested_session_id')" },
	{ "result_session_id", FT_STRING, FF_NULLABLE, .expr = "(t.result ->> 'session_id')" },
	{ "request", FT_ANY, .column = "args" },
	{ "result", FT_ANY, FF_NULLABLE },
	{ "last_error", FT_STRING, FF_NULLABLE, .expr = "(t.error ->> 'message')" },
	{ "progress_current", FT_INT, COUNT, .column = "progress" },
	{ "progress_total", FT_INT, FF_NULLABLE, COUNT, .column = "total" },
	{ "progress_message", FT_STRING, FF_NULLABLE, .expr = "NULL::text" },
	{ "attempt_count", FT_INT, COUNT, .column = "attempts" },
	{ "max_attempts", FT_INT, .bounded = true, .min = 1, .max = INT64_MAX },
	{ "lease_owner", FT_STRING, FF_NULLABLE, .column = "worker" },
	{ "lease_until", FT_TIME, FF_NULLABLE },
	{ "input_artifact_path", FT_STRING, FF_NULLABLE, .expr = "NULL::text", .doc = "files of jobs are no paths here" },
	{ "normalized_artifact_path", FT_STRING, FF_NULLABLE, .expr = "NULL::text" },
	{ "output_artifact_path", FT_STRING, FF_NULLABLE, .expr = "(CASE WHEN t.file_until IS NOT NULL THEN '/chat-transfer-jobs/' || t.id || '/file' END)" },
	{ "output_expires_at", FT_TIME, FF_NULLABLE, .column = "file_until" },
	{ "available_at", FT_TIME },
	{ "finished_at", FT_TIME, FF_NULLABLE, .column = "completed_at" },
	{ "created_at", FT_TIME, FF_READONLY },
	{ "updated_at", FT_TIME, FF_READONLY },
	FIELD_END
};
static const struct field by_kind = { "job_kind", FT_ENUM, .choices = kinds };
static const struct field by_status = { "status", FT_ENUM, .choices = statuses };
static const struct field by_format = { "format", FT_ENUM, .choices = job_formats };
static const struct field by_requested = { "requested_session_id", FT_STRING, .min = 1 };
static const struct field by_result = { "result_session_id", FT_STRING, .min = 1 };
static const struct field created_from = { "created_from", FT_INT, COUNT }, created_to = { "created_to", FT_INT, COUNT };
static const struct field available_from = { "available_from", FT_INT, COUNT }, available_to = { "available_to", FT_INT, COUNT };
static const struct filter filters[] = {
	{ &by_kind, FILTER_EQ, "t.kind" },
	{ &by_status, FILTER_EQ, STATUS },
	{ &by_format, FILTER_EQ, "(t.args ->> 'format')" },
	{ &by_requested, FILTER_EQ, "(t.args ->> 'requested_session_id')" },
	{ &by_result, FILTER_EQ, "(t.result ->> 'session_id')" },
	{ &created_from, FILTER_MIN, "t.created_at" },
	{ &created_to, FILTER_MAX, "t.created_at" },
	{ &available_from, FILTER_MIN, "t.available_at" },
	{ &available_to, FILTER_MAX, "t.available_at" },
	{ NULL }
};
static const struct sort_key sorts[] = { { "created_at", "t.created_at" }, { "updated_at", "t.updated_at" }, { "available_at", "t.available_at" }, { NULL } };
static const struct resource res_job = {
	.name = "chat transfer job", .table = "job", .where = "t.kind IN ('" TRANSFER_IMPORT "', '" TRANSFER_EXPORT "')", .fields = job_fields, .filters = filters,
	.sorts = sorts,
};

static const struct field import_body[] = {
	{ "data", FT_STRING, FF_REQUIRED, .min = 1, .doc = "text of a .thchat or .jsonl file" },
	{ "character_id", FT_STRING, .min = 1, .doc = "a stored character instead of what the file says" },
	{ "title", FT_STRING, .min = 1, .max = 200 },
	FIELD_END
};
static const struct field import_form[] = {
	{ "character_id", FT_STRING, .min = 1 },
	{ "title", FT_STRING, .min = 1, .max = 200 },
	FIELD_END
};
static const struct field import_answer[] = {
	{ "session_id", FT_STRING },
	{ "title", FT_STRING },
	{ "floor_count", FT_INT, COUNT },
	{ "message_count", FT_INT, COUNT },
	{ "page_count", FT_INT, FF_OPTIONAL, COUNT },
	{ "variable_count", FT_INT, FF_OPTIONAL, COUNT },
	{ "memory_item_count", FT_INT, FF_OPTIONAL, COUNT },
	{ "memory_edge_count", FT_INT, FF_OPTIONAL, COUNT },
	{ "swipe_count", FT_INT, FF_OPTIONAL, COUNT },
	{ "skipped_lines", FT_INT, FF_OPTIONAL, COUNT },
	{ "import_source", FT_STRING, FF_OPTIONAL },
	{ "format", FT_ENUM, .choices = import_formats },
	{ "receipt", FT_OBJECT, FF_OPTIONAL },
	FIELD_END
};
static const struct field import_job_answer[] = {
	{ "job_id", FT_STRING },
	{ "status", FT_ENUM, .choices = only_pending },
	{ "job_kind", FT_ENUM, .choices = import_kind },
	{ "format", FT_ENUM, FF_NULLABLE | FF_OPTIONAL, .choices = import_formats },
	FIELD_END
};
static const struct field export_body[] = {
	{ "format", FT_ENUM, .choices = export_formats, .dflt = "\"thchat\"" },
	{ "include_memories", FT_BOOL, .dflt = "true" },
	{ "include_variables", FT_BOOL, .dflt = "true" },
	FIELD_END
};
static const struct field export_query[] = {
	{ "format", FT_ENUM, .choices = export_formats },
	{ "include_variables", FT_ENUM, .choices = yes_no },
	{ "include_memories", FT_ENUM, .choices = yes_no },
	FIELD_END
};
static const struct field export_job_answer[] = {
	{ "job_id", FT_STRING },
	{ "status", FT_ENUM, .choices = only_pending },
	{ "job_kind", FT_ENUM, .choices = export_kind },
	{ "format", FT_ENUM, .choices = export_formats },
	{ "requested_session_id", FT_STRING },
	FIELD_END
};
static const struct field verb_answer[] = {
	{ "job_id", FT_STRING },
	{ "status", FT_ENUM, .choices = statuses },
	FIELD_END
};
/* clang-format on */

/* ---- import ---- */

struct import_source {
	struct str bytes, title, character_id;
};

/* The text inside a JSON body, or the file itself. */
static int
import_source(struct request *r, struct import_source *out)
{
	const struct json *in = r->in;
	struct import_file file;
	struct json *form;

	if (in)
		out->bytes = json_get_str(in, "data");
	else if (import_upload(r, import_form, &file, &form) < 0)
		return -1;
	else {
		out->bytes = file.bytes;
		in = form;
	}
	out->title = json_get_str(in, "title");
	out->character_id = json_get_str(in, "character_id");
	return 0;
}

static int
import_chat(struct request *r)
{
	const struct settings *set = app_of(r)->set;
	struct import_source src = { 0 };
	struct chat_import w = { .model = set->llm_model };

	if (import_source(r, &src) < 0)
		return -1;
	if ((int64_t)src.bytes.n > set->chat_inline_bytes)
		return fail(r->ctx, ERR_TOO_LARGE, "payload_too_large", "the file is larger than %lld bytes: use POST /import/chat/jobs",
		    (long long)set->chat_inline_bytes);
	w.text = pieces_of(src.bytes);
	w.title = src.title;
	w.character_id = src.character_id;
	return chat_import(r->ctx, &w) < 0 ? -1 : reply_data(r, w.result);
}

static int
queue_tx(struct request *r, void *arg)
{
	return transfer_queue(r->ctx, arg);
}

struct import_job {
	struct transfer t;
	struct str character_id;
};

static int
import_job_tx(struct request *r, void *arg)
{
	struct import_job *w = arg;
	struct rows *rs = w->character_id.p ? db_query(r->ctx, STMT_asset_for_binding, P_C("character"), P_STR(w->character_id), P_NULL) : NULL;
	int rc = rs ? rows_next(rs) : 1;

	if (rc < 0)
		return -1;
	if (rc == 0 || (rs && !row_null(rs, 2)))
		return fail(r->ctx, ERR_INVALID, "character_not_found", "character \"%.*s\" not found", STR_ARG(w->character_id));
	return transfer_queue(r->ctx, &w->t);
}

static int
import_job(struct request *r)
{
	struct arena *a = r->ctx->a;
	struct import_source src = { 0 };
	struct json *args = json_object(a);
	struct import_job w = { .t = { .kind = TRANSFER_IMPORT } };
	struct sb out = sb_new(a);
	const char *format;

	if (import_source(r, &src) < 0)
		return -1;
	format = thchat_is(src.bytes) ? "thchat" : "sillytavern_jsonl";
	json_set_c(args, "format", format);
	if (src.title.p)
		json_set_str(args, "title", src.title);
	if (src.character_id.p)
		json_set_str(args, "character_id", src.character_id);
	w.t.args = json_text(a, args);
	w.t.input = src.bytes;
	w.character_id = src.character_id;
	if (rest_tx(r, DB_WRITE, import_job_tx, &w) < 0)
		return -1;
	job_wake(app_of(r)->set->listen_dir);
	sb_adds(&out, "{\"job_id\":");
	sb_add_json(&out, str_c(w.t.id));
	sb_addf(&out, ",\"status\":\"pending\",\"job_kind\":\"" TRANSFER_IMPORT "\",\"format\":\"%s\"}", format);
	return reply_data(r, sb_str(&out));
}

/* ---- export ---- */

static int
export_begin(void *arg, const char *file_name, const char *type)
{
	return reply_begin(arg, type, file_name, -1);
}

static int
export_write(void *arg, struct str bytes)
{
	return reply_write(arg, bytes);
}

static int
export_chat(struct request *r)
{
	struct chat_export w = { .session_id = req_param(r, "id"),
		.format = str_is(req_query(r, "format"), "st_jsonl") ? CHAT_JSONL : CHAT_THCHAT,
		.variables = !str_is(req_query(r, "include_variables"), "false"),
		.floors_max = app_of(r)->set->chat_inline_floors,
		.begin = export_begin,
		.write = export_write,
		.arg = r };

	return chat_export(r->ctx, &w);
}

static int
export_job_tx(struct request *r, void *arg)
{
	struct rows *rs = db_query(r->ctx, STMT_branch_by_id, P_STR(req_param(r, "id")), P_C("main"));
	int rc = rows_next(rs);

	if (rc <= 0)
		return rc < 0 ? -1 : fail(r->ctx, ERR_NOT_FOUND, "not_found", "session not found");
	return queue_tx(r, arg);
}

static int
export_job(struct request *r)
{
	struct arena *a = r->ctx->a;
	struct json *args = json_copy(a, r->in);
	struct transfer t = { .kind = TRANSFER_EXPORT };
	struct sb out = sb_new(a);

	json_set_str(args, "requested_session_id", req_param(r, "id"));
	t.args = json_text(a, args);
	if (rest_tx(r, DB_WRITE, export_job_tx, &t) < 0)
		return -1;
	job_wake(app_of(r)->set->listen_dir);
	sb_adds(&out, "{\"job_id\":");
	sb_add_json(&out, str_c(t.id));
	sb_adds(&out, ",\"status\":\"pending\",\"job_kind\":\"" TRANSFER_EXPORT "\",\"format\":");
	sb_add_json(&out, json_get_str(args, "format"));
	sb_adds(&out, ",\"requested_session_id\":");
	sb_add_json(&out, req_param(r, "id"));
	sb_addc(&out, '}');
	return reply_data(r, sb_str(&out));
}

/* ---- jobs ---- */

struct verb {
	enum stmt_id stmt;
	const char *done, *refused, *why;
};

static const struct verb verb_cancel = { STMT_job_cancel, "cancelled", "job_not_cancellable", "the job is over" };
static const struct verb verb_retry = { STMT_job_retry, "pending", "job_not_retryable", "only a job that failed or was cancelled can be tried again" };

static int
verb_tx(struct request *r, void *arg)
{
	const struct verb *v = arg;
	struct rows *state = db_query(r->ctx, STMT_job_state, P_STR(req_param(r, "id"))), *rs;
	int rc = rows_next(state);

	if (rc <= 0)
		return rc < 0 ? -1 : rest_not_found(r, &res_job);
	rs = db_query(r->ctx, v->stmt, P_STR(req_param(r, "id")), P_INT(r->ctx->now));
	rc = rows_next(rs);
	return rc > 0 ? 0 : rc < 0 ? -1 : fail(r->ctx, ERR_CONFLICT, v->refused, "%s", v->why);
}

static int
job_verb(struct request *r)
{
	const struct verb *v = r->route->arg;
	struct verb copy = *v;
	struct sb out = sb_new(r->ctx->a);

	if (rest_tx(r, DB_WRITE, verb_tx, &copy) < 0)
		return -1;
	job_wake(app_of(r)->set->listen_dir);
	sb_adds(&out, "{\"job_id\":");
	sb_add_json(&out, req_param(r, "id"));
	sb_addf(&out, ",\"status\":\"%s\"}", v->done);
	return reply_data(r, sb_str(&out));
}

struct file_work {
	int64_t job_no, at, size;
	struct str result, piece;
	int more;
};

static int
file_open_tx(struct request *r, void *arg)
{
	struct file_work *w = arg;
	struct ctx *c = r->ctx;
	struct rows *rs = db_query(c, STMT_job_state, P_STR(req_param(r, "id")));
	int rc = rows_next(rs);

	if (rc <= 0)
		return rc < 0 ? -1 : rest_not_found(r, &res_job);
	if (!str_is(row_str(rs, 1), TRANSFER_EXPORT))
		return fail(c, ERR_CONFLICT, "artifact_not_available", "an import has no file to fetch");
	if (!str_is(row_str(rs, 2), "done"))
		return fail(c, ERR_CONFLICT, "artifact_not_ready", "the export is not done");
	w->job_no = row_int(rs, 0);
	w->result = row_str(rs, 4);
	if (row_int(rs, 5) < c->now)
		return fail(c, ERR_GONE, "artifact_expired", "the file is no longer kept: retry by a new export");
	rs = db_query(c, STMT_job_file_size, P_INT(w->job_no), P_C("output"));
	if (rows_next(rs) <= 0)
		return -1;
	w->size = row_int(rs, 0);
	return w->size > 0 ? 0 : fail(c, ERR_GONE, "artifact_expired", "the file is no longer kept");
}

static int
file_piece_tx(struct request *r, void *arg)
{
	struct file_work *w = arg;

	w->more = job_file_read(r->ctx, w->job_no, JOB_OUTPUT, w->at, &w->piece);
	return w->more < 0 ? -1 : 0;
}

static int
job_file(struct request *r)
{
	struct ctx *c = r->ctx;
	struct file_work w = { 0 };
	struct json_error bad;
	const struct json *result;
	const char *name;

	if (rest_tx(r, DB_READ, file_open_tx, &w) < 0)
		return -1;
	result = json_read(c->a, w.result, LIM_JSON_DEPTH, &bad);
	name = arena_strdup(c->a, json_get_str(result, "fileName"));
	if (reply_begin(r, chat_format_type(str_is(json_get_str(result, "format"), "st_jsonl") ? CHAT_JSONL : CHAT_THCHAT), name, w.size) < 0)
		return -1;
	for (w.more = 1; w.at < w.size;) {
		struct arena_mark m = arena_mark(c->a);

		if (rest_tx(r, DB_READ, file_piece_tx, &w) < 0)
			return -1;
		if (w.more == 0)
			return fail(c, ERR_INTERNAL, "internal_error", "a piece of the file is missing");
		if (reply_write(r, w.piece) < 0)
			return -1;
		w.at += (int64_t)w.piece.n;
		arena_rewind(c->a, m);
	}
	return 0;
}

/* clang-format off */
static const int errors_import[] = { 413, 0 };
static const int errors_read[] = { 404, 0 };
static const int errors_write[] = { 404, 409, 0 };
static const int errors_file[] = { 404, 409, 410, 0 };
static const int errors_job[] = { 404, 503, 0 };
static const int errors_import_job[] = { 413, 503, 0 };

const struct route api_transfers_routes[] = {
	{ METHOD_POST, "/import/chat", import_chat, AUTH_ACCOUNT, .body = import_body, .answer = import_answer, .status = 201, .errors = errors_import,
	  .flags = ROUTE_BODY_BYTES, .max_body = LIM_IMPORT_BODY, .tag = "imports", .summary = "Import a chat (.thchat or SillyTavern .jsonl)" },
	{ METHOD_POST, "/import/chat/jobs", import_job, AUTH_ACCOUNT, .body = import_body, .answer = import_job_answer, .status = 202, .errors = errors_import_job,
	  .flags = ROUTE_BODY_BYTES, .max_body = LIM_IMPORT_BODY, .tag = "imports", .summary = "Import a chat as a job" },
	{ METHOD_GET, "/export/chat/{id}", export_chat, AUTH_ACCOUNT, .query = export_query, .answer_kind = ANSWER_FILE, .errors = errors_write, .tag = "exports",
	  .summary = "A session as .thchat or SillyTavern .jsonl" },
	{ METHOD_POST, "/export/chat/{id}/jobs", export_job, AUTH_ACCOUNT, .body = export_body, .answer = export_job_answer, .status = 202, .errors = errors_job,
	  .flags = ROUTE_BODY_OPTIONAL, .tag = "exports", .summary = "Export a session as a job" },
	{ METHOD_GET, "/chat-transfer-jobs", rest_list, AUTH_ACCOUNT, .answer_kind = ANSWER_LIST, .answer = job_fields, .arg = &res_job, .tag = "chat-transfer-jobs",
	  .summary = "List imports and exports of chats" },
	{ METHOD_GET, "/chat-transfer-jobs/{id}", rest_get, AUTH_ACCOUNT, .answer = job_fields, .errors = errors_read, .arg = &res_job, .tag = "chat-transfer-jobs",
	  .summary = "Read a job" },
	{ METHOD_POST, "/chat-transfer-jobs/{id}/cancel", job_verb, AUTH_ACCOUNT, .answer = verb_answer, .errors = errors_write, .arg = &verb_cancel,
	  .tag = "chat-transfer-jobs", .summary = "Cancel a job" },
	{ METHOD_POST, "/chat-transfer-jobs/{id}/retry", job_verb, AUTH_ACCOUNT, .answer = verb_answer, .errors = errors_write, .arg = &verb_retry,
	  .tag = "chat-transfer-jobs", .summary = "Try a failed or cancelled job again" },
	{ METHOD_GET, "/chat-transfer-jobs/{id}/file", job_file, AUTH_ACCOUNT, .answer_kind = ANSWER_FILE, .errors = errors_file, .tag = "chat-transfer-jobs",
	  .summary = "The file that an export made" },
	{ .path = NULL }
};
/* clang-format on */
