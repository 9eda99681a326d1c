/*
 * preset_nodes: presets as the nodes of mode rearrange: their list with the import's audit, switches of many
 * nodes at once, the account's active preset, and how a session's prompt is laid out. Nodes are read from the
 * preset's file, so one upload serves all modes, and a switch is a version like any other edit. Which preset
 * is active is read with the session by every turn (in the same statement): no process keeps an answer that a
 * change could make stale.
 */
#include "api/app.h"
#include "api/documents.h"
#include "api/preset_view.h"
#include "api/tables.h"
#include "base/limits.h"
#include "prompt/arrange.h"
#include "turn/look.h"

/* ---- the active preset ---- */

static int
activate(struct request *r, struct str id)
{
	return rows_next(db_query(r->ctx, STMT_preset_activate, P_STR(id), P_INT(r->ctx->now)));
}

int
preset_imported(struct request *r, const struct asset *asset)
{
	if (r->in == NULL || !json_get_bool(r->in, "activate", false))
		return 0;
	return activate(r, str_c(asset->id)) < 0 ? -1 : 0;
}

int
preset_deleted(struct request *r, struct str id)
{
	return db_exec(r->ctx, STMT_preset_active_deleted, P_STR(id), P_INT(r->ctx->now)) < 0 ? -1 : 0;
}

struct active {
	struct str id, name;
	int64_t version, since;
};

static int
active_read(struct request *r, void *arg)
{
	struct active *act = arg;
	struct rows *rs = db_query0(r->ctx, STMT_preset_active);
	int rc = rows_next(rs);

	*act = (struct active){ .version = 0 };
	if (rc > 0)
		*act = (struct active){ row_str(rs, 0), row_str(rs, 1), row_int(rs, 2), row_int(rs, 3) };
	return rc < 0 ? -1 : 0;
}

static int
active_reply(struct request *r, const struct active *act)
{
	struct json *o = json_object(r->ctx->a);

	json_set_str(o, "preset_id", act->id);
	json_set_str(o, "name", act->name);
	if (act->id.p) {
		json_set_int(o, "version", act->version);
		json_set_int(o, "activated_at", act->since);
	} else {
		json_set(o, "version", NULL);
		json_set(o, "activated_at", NULL);
	}
	return reply_data(r, json_text(r->ctx->a, o));
}

static int
active_get(struct request *r)
{
	struct active act;

	return rest_tx(r, DB_READ, active_read, &act) < 0 ? -1 : active_reply(r, &act);
}

static int
activate_work(struct request *r, void *arg)
{
	int rc = activate(r, req_param(r, "id"));

	if (rc <= 0)
		return rc < 0 ? -1 : fail(r->ctx, ERR_NOT_FOUND, "not_found", "preset not found");
	return active_read(r, arg);
}

static int
active_set(struct request *r)
{
	struct active act;

	return rest_tx(r, DB_WRITE, activate_work, &act) < 0 ? -1 : active_reply(r, &act);
}

static int
deactivate_work(struct request *r, void *arg)
{
	return rows_affected(db_query0(r->ctx, STMT_preset_deactivate)) < 0 ? -1 : active_read(r, arg);
}

static int
active_clear(struct request *r)
{
	struct active act;

	return rest_tx(r, DB_WRITE, deactivate_work, &act) < 0 ? -1 : active_reply(r, &act);
}

/* ---- nodes ---- */

void
preset_audit(struct arena *a, const struct json *doc, struct receipt *r)
{
	struct arrange_import nodes;

	arrange_read(a, doc, &nodes);
	if (nodes.status == ARRANGE_OK && nodes.html)
		receipt_add(r, RECEIPT_WARNING, "html_content", "/prompts",
		    "enabled prompts hold HTML tags: they are sent as they are");
}

static void
node_print(struct json *list, const struct arrange_node *n)
{
	struct json *o = json_push_object(list);

	json_set_str(o, "identifier", n->identifier);
	json_set_str(o, "name", n->name);
	json_set_str(o, "role", n->role);
	json_set_str(o, "content", n->content);
	json_set_bool(o, "is_marker", n->is_marker);
	json_set_bool(o, "is_enabled", n->is_enabled);
	json_set_bool(o, "is_comment", n->is_comment);
	json_set_int(o, "node_order", n->node_order);
	json_set_int(o, "injection_position", n->position);
	json_set_int(o, "injection_depth", n->depth);
	json_set_int(o, "injection_order", n->order);
}

static int
nodes_reply(struct request *r, const struct asset *asset, const struct json *doc, const struct active *act)
{
	struct arena *a = r->ctx->a;
	struct arrange_import in;
	struct json *o = json_object(a), *list, *counts;

	arrange_read(a, doc, &in);
	json_set_str(o, "preset_id", req_param(r, "id"));
	json_set_int(o, "version", asset->version);
	json_set_bool(o, "is_active", str_eq(act->id, req_param(r, "id")));
	json_set_c(o, "status", arrange_status_name(in.status));
	json_set_c(o, "kind", in.kind);
	json_set_str(o, "invalid_prompt", in.bad_prompt);
	json_set_c(o, "invalid_field", in.bad_field);
	counts = json_set_object(o, "counts");
	json_set_int(counts, "nodes", (int64_t)in.nodes.n);
	json_set_int(counts, "enabled", (int64_t)in.enabled);
	json_set_int(counts, "disabled", (int64_t)in.disabled);
	json_set_int(counts, "comment_only", (int64_t)in.comment_only);
	json_set_bool(o, "has_html_warning", in.html);
	json_set_bool(o, "time_before_history", in.time_before_history);
	list = json_set_array(o, "unsupported_macros");
	for (size_t i = 0; i < in.unsupported.n; i++)
		json_push_str(list, in.unsupported.v[i]);
	list = json_set_array(o, "nodes");
	for (size_t i = 0; i < in.nodes.n; i++)
		node_print(list, &in.nodes.v[i]);
	return reply_data(r, json_text(a, o));
}

struct nodes_work {
	struct document_edit edit;
	struct json *doc;
	struct active active;
};

static int
nodes_load(struct request *r, void *arg)
{
	struct nodes_work *w = arg;
	struct str text;
	struct json_error err;
	int rc = asset_load(r->ctx, ASSET_PRESET, req_param(r, "id"), false, &w->edit.asset, &text);

	if (rc <= 0)
		return rc < 0 ? -1 : fail(r->ctx, ERR_NOT_FOUND, "not_found", "preset not found");
	w->doc = json_read(r->ctx->a, text, LIM_JSON_DEPTH, &err);
	return active_read(r, &w->active);
}

static int
nodes_list(struct request *r)
{
	struct nodes_work w = { .doc = NULL };

	return rest_tx(r, DB_READ, nodes_load, &w) < 0 ? -1 : nodes_reply(r, &w.edit.asset, w.doc, &w.active);
}

static int
nodes_edit(struct request *r, struct json **doc, void *arg)
{
	struct nodes_work *w = arg;
	const struct json *list = json_get(r->in, "nodes");

	for (size_t i = 0; i < json_len(list); i++) {
		const struct json *n = json_at(list, i);
		struct str id = json_get_str(n, "identifier");

		if (!arrange_toggle(r->ctx->a, *doc, id, json_get_bool(n, "enabled", true)))
			return fail_field(r->ctx, arena_printf(r->ctx->a, "/nodes/%zu/identifier", i),
			    "unknown", "the preset has no node \"%.*s\"", STR_ARG(id));
	}
	w->doc = *doc;
	return 0;
}

static int
nodes_work(struct request *r, void *arg)
{
	struct nodes_work *w = arg;

	return document_edit_tx(r, &w->edit) < 0 ? -1 : active_read(r, &w->active);
}

/* All switches in one version, or none. */
static int
nodes_toggle(struct request *r)
{
	struct nodes_work w = { .edit = { .kind = &document_preset,
				    .id = req_param(r, "id"),
				    .guard = guard_of(r->in),
				    .edit = nodes_edit } };

	w.edit.arg = &w;
	return rest_tx(r, DB_WRITE, nodes_work, &w) < 0 ? -1
							: nodes_reply(r, &w.edit.asset, w.doc, &w.active);
}

/* ---- the layout ---- */

static int
layout(struct request *r)
{
	struct turn_request q = { .session_id = req_param(r, "id"),
		.branch_id = req_query(r, "branch_id"),
		.message = req_query(r, "message") };
	struct sb out = sb_new(r->ctx->a);

	return turn_layout(app_of(r)->turns, r->ctx, &q, &out) < 0 ? -1 : reply_data(r, sb_str(&out));
}

/* clang-format off */
static const struct field active_answer[] = {
	{ "preset_id", FT_STRING, FF_NULLABLE },
	{ "name", FT_STRING, FF_NULLABLE },
	{ "version", FT_INT, FF_NULLABLE, .bounded = true, .min = 1, .max = INT64_MAX },
	{ "activated_at", FT_TIME, FF_NULLABLE },
	FIELD_END
};
static const struct field node_fields[] = {
	{ "identifier", FT_STRING },
	{ "name", FT_STRING },
	{ "role", FT_STRING },
	{ "content", FT_STRING },
	{ "is_marker", FT_BOOL },
	{ "is_enabled", FT_BOOL },
	{ "is_comment", FT_BOOL, .doc = "only comments and blanks: listed, never sent" },
	{ "node_order", FT_INT, .bounded = true, .max = INT32_MAX },
	{ "injection_position", FT_INT, .bounded = true, .max = 1, .doc = "1: merged into the message at injection_depth" },
	{ "injection_depth", FT_INT },
	{ "injection_order", FT_INT },
	FIELD_END
};
static const struct field node_item = { "node", FT_OBJECT, .fields = node_fields };
static const struct field text_item = { "text", FT_STRING };
static const struct field count_fields[] = {
	{ "nodes", FT_INT, .bounded = true, .max = INT32_MAX },
	{ "enabled", FT_INT, .bounded = true, .max = INT32_MAX },
	{ "disabled", FT_INT, .bounded = true, .max = INT32_MAX },
	{ "comment_only", FT_INT, .bounded = true, .max = INT32_MAX },
	FIELD_END
};
static const char *const statuses[] = { "ok", "not_a_preset", "no_nodes", "invalid_integer", NULL };
static const struct field nodes_answer[] = {
	{ "preset_id", FT_STRING },
	{ "version", FT_INT, .bounded = true, .min = 1, .max = INT64_MAX },
	{ "is_active", FT_BOOL },
	{ "status", FT_ENUM, .choices = statuses, .doc = "ok, or why it cannot lay a prompt out" },
	{ "kind", FT_STRING, FF_NULLABLE, .doc = "modern or legacy_text_completion" },
	{ "invalid_prompt", FT_STRING, FF_NULLABLE },
	{ "invalid_field", FT_STRING, FF_NULLABLE },
	{ "counts", FT_OBJECT, .fields = count_fields },
	{ "has_html_warning", FT_BOOL, .doc = "enabled nodes hold HTML tags; they are sent as they are" },
	{ "time_before_history", FT_BOOL, .doc = "enabled nodes read the clock before the history: no prefix of the prompt can be cached" },
	{ "unsupported_macros", FT_ARRAY, .items = &text_item },
	{ "nodes", FT_ARRAY, .items = &node_item },
	FIELD_END
};
static const struct field toggle_fields[] = {
	{ "identifier", FT_STRING, FF_REQUIRED, .min = 1, .max = 1024 },
	{ "enabled", FT_BOOL, FF_REQUIRED },
	FIELD_END
};
static const struct field toggle_item = { "toggle", FT_OBJECT, .fields = toggle_fields };
static const struct field toggle_body[] = {
	{ "nodes", FT_ARRAY, FF_REQUIRED, .min = 1, .max = LIM_BATCH, .items = &toggle_item },
	{ "expected_version", FT_INT, .bounded = true, .min = 1, .max = INT64_MAX },
	FIELD_END
};
static const struct field layout_query[] = {
	{ "branch_id", FT_STRING, .min = 1 },
	{ "message", FT_STRING, .doc = "what the user would say next; absent: as the story stands" },
	FIELD_END
};
static const struct field flush_fields[] = {
	{ "knowledge", FT_STRING, FF_NULLABLE },
	{ "participants", FT_STRING, FF_NULLABLE },
	FIELD_END
};
static const struct field layout_node_fields[] = {
	{ "identifier", FT_STRING },
	{ "state", FT_STRING, .doc = "emitted, empty, disabled, comment, depth, marker or unknown_marker" },
	{ "suppressed", FT_BOOL, .doc = "a marker whose block another node prints itself" },
	{ "tokens", FT_INT, .bounded = true, .max = INT32_MAX },
	{ "pulled_tags", FT_ARRAY, .items = &text_item },
	FIELD_END
};
static const struct field layout_node = { "node", FT_OBJECT, .fields = layout_node_fields };
static const struct field layout_item_fields[] = {
	{ "role", FT_STRING },
	{ "source", FT_STRING, FF_NULLABLE, .doc = "node, block tag, chatHistory or native" },
	{ "tokens", FT_INT, .bounded = true, .max = INT32_MAX },
	{ "content", FT_STRING },
	FIELD_END
};
static const struct field layout_item = { "item", FT_OBJECT, .fields = layout_item_fields };
static const struct field layout_answer[] = {
	{ "session_id", FT_STRING },
	{ "branch_id", FT_STRING },
	{ "preset_id", FT_STRING, FF_NULLABLE, .doc = "the session's own, else the active one" },
	{ "preset_version_id", FT_STRING, FF_NULLABLE },
	{ "arranged", FT_BOOL, .doc = "false: no preset, or none that has nodes; the native order is sent" },
	{ "nodes", FT_ARRAY, .items = &layout_node },
	{ "remainder_tags", FT_ARRAY, .items = &text_item },
	{ "flush", FT_OBJECT, FF_NULLABLE, .fields = flush_fields, .doc = "markers at which blocks that no marker names came in; null: at the end" },
	{ "warnings", FT_ARRAY, .items = &text_item },
	{ "items", FT_ARRAY, .items = &layout_item },
	FIELD_END
};
static const int errors_read[] = { 404, 0 };
static const int errors_write[] = { 404, 409, 0 };

const struct route api_preset_nodes_routes[] = {
	{ METHOD_GET, "/presets/active", active_get, AUTH_ACCOUNT, .answer = active_answer, .tag = "presets",
	  .summary = "The preset of rearrange sessions that bind none" },
	{ METHOD_DELETE, "/presets/active", active_clear, AUTH_ACCOUNT, .answer = active_answer, .tag = "presets", .summary = "Deactivate all presets" },
	{ METHOD_POST, "/presets/{id}/activate", active_set, AUTH_ACCOUNT, .answer = active_answer, .errors = errors_read, .tag = "presets",
	  .summary = "Make a preset the active one" },
	{ METHOD_GET, "/presets/{id}/nodes", nodes_list, AUTH_ACCOUNT, .answer = nodes_answer, .errors = errors_read, .tag = "presets",
	  .summary = "A preset as nodes of mode rearrange" },
	{ METHOD_PATCH, "/presets/{id}/nodes", nodes_toggle, AUTH_ACCOUNT, .body = toggle_body, .answer = nodes_answer, .errors = errors_write,
	  .tag = "presets", .summary = "Switch nodes on and off" },
	{ METHOD_GET, "/sessions/{id}/prompt-runtime/layout", layout, AUTH_ACCOUNT, .query = layout_query, .answer = layout_answer, .errors = errors_read,
	  .tag = "prompt-runtime", .summary = "How mode rearrange lays the prompt out" },
	{ .path = NULL }
};
/* clang-format on */
