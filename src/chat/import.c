/*
 * import: a chat file becomes a session: hidden while its floors are written in batches, shown by the last
 * transaction.
 */
#include "chat/chat_private.h"

#include "base/id.h"
#include "base/limits.h"
#include "store/asset.h"

#define HIDDEN_MS 600000
#define LOOK 65536 /* bytes in which a file shows what it is */

int
chat_refuse(struct ctx *c, const struct import_error *err)
{
	struct sb details = sb_new(c->a);
	bool version = err->code && strcmp(err->code, "import_unsupported_version") == 0;

	if (!err->code)
		return -1;
	fail(c, err->too_large ? ERR_TOO_LARGE : ERR_INVALID,
	    err->too_large ? "payload_too_large"
	    : version      ? err->code
			   : "import_parse_error",
	    "chat cannot be imported: %s", err->message);
	sb_adds(&details, "{\"reason\":");
	sb_add_json(&details, str_c(err->code));
	sb_adds(&details, ",\"path\":");
	sb_add_json(&details, str_c(err->path ? err->path : ""));
	sb_addc(&details, '}');
	return fail_details(c, sb_c(&details));
}

/* ---- the session ---- */

/* TavernHeadless keeps a card under names of its own. */
static const struct json *
card_of_snapshot(struct arena *a, const struct json *o)
{
	static const char *const names[][2] = { { "exampleDialogue", "mes_example" },
		{ "primaryGreeting", "first_mes" }, { "alternateGreetings", "alternate_greetings" },
		{ "characterVersion", "character_version" }, { "systemPrompt", "system_prompt" },
		{ "postHistoryInstructions", "post_history_instructions" },
		{ "creatorNotes", "creator_notes" }, { "characterBook", "character_book" } };
	struct json *card = json_copy(a, o);

	if (json_type(o) != JSON_OBJECT)
		return NULL;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (json_has(o, names[i][0]) && !json_has(o, names[i][1])) {
			json_set(card, names[i][1], json_get(o, names[i][0]));
			json_del(card, names[i][0]);
		}
	return card;
}

static void
set_if_text(struct json *to, const char *name, const struct json *from)
{
	if (json_get_str(from, name).p)
		json_set_str(to, name, json_get_str(from, name));
}

/* Members of the file that have no place in a session are kept. */
static void
keep_rest(struct importer *im)
{
	static const char *const known[] = { "title", "status", "created_at", "updated_at",
		"character_snapshot", "user_snapshot", "character_sync_policy", "preset_name", "prompt_mode",
		"model_provider", "model_name", "metadata", "variables", "tavernd", NULL };
	struct json *rest = json_copy(im->c->a, im->t.data);

	for (const char *const *k = known; *k; k++)
		json_del(rest, *k);
	if (json_len(rest) > 0)
		json_set(im->origin, "rest", rest);
	if (json_get_str(im->t.data, "preset_name").n > 0)
		json_set_str(im->origin, "preset_name", json_get_str(im->t.data, "preset_name"));
}

static void
columns_thchat(struct importer *im)
{
	static const char *const own_columns[] = { "model_params", "settings", "preset_choices",
		"deep_binding", NULL };
	static const char *const bindings[] = { "preset_id", "preset_version_id", "worldbook_profile_id",
		"worldbook_version_id", "regex_profile_id", "regex_profile_version_id", "character_id",
		"character_version_id", "user_id", NULL };
	const struct json *d = im->t.data;
	struct str policy = json_get_str(d, "character_sync_policy");

	if (json_get_str(d, "title").n > 0)
		im->title = json_get_str(d, "title");
	if (prompt_mode_parse(json_get_str(d, "prompt_mode"), &im->mode))
		set_if_text(im->cols, "prompt_mode", d);
	if (str_is(json_get_str(d, "status"), "archived"))
		json_set_c(im->cols, "status", "archived");
	set_if_text(im->cols, "model_provider", d);
	set_if_text(im->cols, "model_name", d);
	if (json_has(d, "metadata"))
		json_set(im->cols, "metadata", json_get(d, "metadata"));
	for (const char *const *k = own_columns; *k; k++)
		if (json_get(im->t.own, *k))
			json_set(im->cols, *k, json_get(im->t.own, *k));
	for (const char *const *k = bindings; *k; k++)
		set_if_text(im->cols, *k, im->t.own);
	if (json_get(im->t.own, "policy"))
		im->policy = json_text(im->c->a, json_get(im->t.own, "policy"));
	im->card = card_of_snapshot(im->c->a, json_get(d, "character_snapshot"));
	im->user = json_get(d, "user_snapshot");
	if (str_is(policy, "pin") || str_is(policy, "manual") || str_is(policy, "force"))
		json_set_str(im->cols, "character_sync_policy", policy);
	im->created_at =
	    json_get_int(d, "created_at", -1) >= 0 ? json_get_int(d, "created_at", 0) : im->c->now;
	im->updated_at =
	    json_get_int(d, "updated_at", -1) >= 0 ? json_get_int(d, "updated_at", 0) : im->c->now;
	keep_rest(im);
}

static const struct json *
named(struct arena *a, struct str name)
{
	struct json *o;

	if (name.n == 0)
		return NULL;
	o = json_object(a);
	json_set_str(o, "name", name);
	return o;
}

static void
columns_jsonl(struct importer *im)
{
	struct json *meta;

	im->names = chat_names(im->c->a, &im->lines);
	im->card = named(im->c->a, im->names.character);
	im->user = named(im->c->a, im->names.user);
	if (im->names.character.n > 0)
		im->title = im->names.character;
	if (im->lines.header.doc)
		json_set(im->origin, "header", im->lines.header.doc);
	if (im->lines.header.metadata) { /* the author's note of the chat stands there */
		meta = json_copy(im->c->a, im->lines.header.metadata);
		json_del(meta, "variables");
		json_set(im->cols, "metadata", meta);
	}
}

static int
freeze(struct importer *im, const struct json *o, const char *doc, const char *name)
{
	const struct json *data = json_get(o, "data") ? json_get(o, "data") : o;
	int64_t no;

	if (o == NULL)
		return 0;
	if (document_put(im->c, json_text(im->c->a, o), &no) < 0)
		return -1;
	json_set_int(im->cols, doc, no);
	json_set_str(im->cols, name, json_get_str(data, "name").p ? json_get_str(data, "name") : STR(""));
	return 0;
}

/* A stored character instead of what the file says: its newest version, pinned. */
static int
bind_character(struct importer *im)
{
	struct ctx *c = im->c;
	struct rows *rs =
	    db_query(c, STMT_asset_for_binding, P_C("character"), P_STR(im->w->character_id), P_NULL);
	struct json_error bad;
	int rc = rows_next(rs);

	if (rc <= 0 || !row_null(rs, 2))
		return rc < 0 ? -1
			      : fail(c, ERR_INVALID, "character_not_found", "character \"%.*s\" not found",
				    STR_ARG(im->w->character_id));
	im->card = json_read(c->a, row_str(rs, 5), LIM_JSON_DEPTH, &bad);
	json_set_str(im->cols, "character_id", im->w->character_id);
	json_set_str(im->cols, "character_version_id", row_str(rs, 3));
	json_set_c(im->cols, "character_sync_policy", "pin");
	return 0;
}

static void
defaults(struct importer *im)
{
	struct json *o = im->cols;

	json_set_str(o, "id", im->w->session_id);
	json_set_str(o, "title", im->title);
	json_set_int(o, "created_at", im->c->now);
	json_set_int(o, "updated_at", im->updated_at);
	if (!json_has(o, "status"))
		json_set_c(o, "status", "active");
	if (!json_has(o, "prompt_mode"))
		json_set_c(o, "prompt_mode", "compat_strict");
	if (!json_has(o, "deep_binding"))
		json_set_bool(o, "deep_binding", false);
	if (!json_has(o, "metadata"))
		json_set_object(o, "metadata");
	if (!json_has(o, "settings"))
		json_set_object(o, "settings");
	if (im->card && !json_has(o, "character_sync_policy"))
		json_set_c(o, "character_sync_policy", "pin");
}

static struct str
numbers(struct arena *a, const struct importer *im, const struct plan_branch *b)
{
	struct sb s = sb_new(a);

	for (size_t i = 0; i < b->n; i++)
		sb_addf(&s, "%s%lld", i ? "," : "{", (long long)im->segs[b->segs[i]]);
	sb_addc(&s, '}');
	return sb_str(&s);
}

/* Branches with their ranges, as far as they are known. */
static int
send_branches(struct importer *im)
{
	struct arena *a = im->c->a;
	struct sb s = sb_new(a), segs = sb_new(a), upto = sb_new(a);

	for (size_t i = 0; i < im->plan.n_branches; i++) {
		const struct plan_branch *b = &im->plan.branches[i];

		sb_addf(&s, "%s{\"head\":%d,\"id\":", i ? "," : "[", b->his[b->n - 1]);
		sb_add_json(&s, b->id);
		sb_addf(&s, ",\"segs\":\"%s\",\"his\":\"", arena_strdup(a, numbers(a, im, b)));
		for (size_t k = 0; k < b->n; k++)
			sb_addf(&s, "%s%d", k ? "," : "{", b->his[k]);
		sb_adds(&s, "}\",\"forked_from\":");
		sb_add_json(&s, b->forked_from);
		if (b->forked_at >= 0)
			sb_addf(&s, ",\"forked_at\":%lld", (long long)b->forked_at);
		if (b->policy.p)
			sb_addf(&s, ",\"policy\":%.*s", STR_ARG(b->policy));
		sb_adds(&s, ",\"decisions\":");
		sb_add_json(&s, b->decisions);
		sb_addc(&s, '}');
	}
	sb_addc(&s, ']');
	for (size_t i = 0; i < im->plan.n_segs; i++) {
		sb_addf(&segs, "%s%lld", i ? "," : "{", (long long)im->segs[i]);
		sb_addf(&upto, "%s%d", i ? "," : "{", im->plan.upto[i]);
	}
	sb_addc(&segs, '}');
	sb_addc(&upto, '}');
	if (db_exec(im->c, STMT_chat_branches, P_STR(sb_str(&s)), P_INT(im->session_no), P_INT(im->c->now)) <
	    0)
		return -1;
	return db_exec(im->c, STMT_chat_segments_shared, P_STR(sb_str(&segs)), P_STR(sb_str(&upto))) < 0 ? -1
													 : 0;
}

static int
begin_tx(struct ctx *c, void *arg)
{
	struct importer *im = arg;
	struct rows *rs;
	size_t n = 1;

	if (im->w->character_id.p && bind_character(im) < 0)
		return -1;
	if (freeze(im, im->card, "character_doc", "character_name") < 0 ||
	    freeze(im, im->user, "user_doc", "user_name") < 0)
		return -1;
	if (im->card) {
		const struct json *data = json_get(im->card, "data") ? json_get(im->card, "data") : im->card;

		json_set_bool(im->cols, "character_greeting", json_get_str(data, "first_mes").n > 0);
	}
	defaults(im);
	rs = db_query(c, STMT_session_insert, P_STR(json_text(c->a, im->cols)));
	if (rows_next(rs) <= 0)
		return -1;
	im->session_no = row_int(rs, 0);
	im->branch_no = row_int(rs, 1);
	im->segs = arena_array(im->keep, int64_t, im->plan.n_segs);
	im->segs[0] = row_int(rs, 2);
	if (im->plan.n_segs > 1) {
		rs = db_query(
		    c, STMT_chat_segments, P_INT(im->session_no), P_INT((int64_t)im->plan.n_segs - 1));
		while (n < im->plan.n_segs && rows_next(rs) > 0)
			im->segs[n++] = row_int(rs, 0);
	}
	if (failed(c) || db_exec(c, STMT_chat_hide, P_INT(im->session_no), P_INT(c->now + HIDDEN_MS),
			     P_STR(json_len(im->origin) > 0 ? json_text(c->a, im->origin) : STR_NULL),
			     P_STR(im->policy), P_INT(im->created_at)) < 0)
		return -1;
	return im->thchat ? send_branches(im) : 0;
}

/* ---- the end ---- */

/* A floor or page that the file names: its id there, and the one that it has if that was taken. */
static void
add_named(struct importer *im, struct sb *s, const char *as, char kind, struct str id)
{
	sb_addf(s, ",\"%s\":", as);
	sb_add_json(s, id.n ? id : STR_NULL);
	sb_addf(s, ",\"%s_made\":", as);
	sb_add_json(s, id.n ? str_c(chat_made_id(im, kind, id)) : STR_NULL);
}

static void
add_variable(struct importer *im, struct sb *s, const struct json *v, struct str scope, struct str ref)
{
	struct arena *a = im->c->a;
	struct id id = id_new(im->c->now), log = id_new(im->c->now);
	int64_t when = json_get_int(v, "updated_at", im->c->now);

	sb_addf(s, "%s{\"id\":\"%s\",\"log\":", s->n ? "," : "[", id.s);
	sb_add_json(s, json_has(im->t.own, "log") ? STR_NULL : str_c(arena_strdup(a, str_c(log.s))));
	sb_adds(s, ",\"scope\":");
	sb_add_json(s, scope);
	sb_adds(s, ",\"branch\":");
	sb_add_json(s, str_is(scope, "branch") ? ref : STR_NULL);
	add_named(im, s, "ref", str_is(scope, "floor") ? 'f' : 'p',
	    str_is(scope, "floor") || str_is(scope, "page") ? ref : STR_NULL);
	sb_adds(s, ",\"key\":");
	sb_add_json(s, json_get_str(v, "key"));
	sb_adds(s, ",\"value\":");
	sb_add_json(s, json_text(a, json_get(v, "value")));
	sb_addf(s, ",\"updated_at\":%lld}", (long long)(when >= 0 ? when : im->c->now));
	im->variables++;
}

static void
list_variables(struct importer *im, struct sb *s)
{
	const struct json *list = json_get(im->t.data, "variables"),
			  *local = json_get(im->lines.header.metadata, "variables");
	struct json_iter it = { 0 };
	struct json *value;
	struct str key;

	for (size_t i = 0; im->thchat && i < json_len(list); i++) {
		const struct json *v = json_at(list, i);
		struct str scope = json_get_str(v, "scope"), k = json_get_str(v, "key");

		if (k.n > 0 && k.n <= LIM_VARIABLE_KEY &&
		    (str_is(scope, "chat") || str_is(scope, "branch") || str_is(scope, "floor") ||
			str_is(scope, "page")))
			add_variable(im, s, v, scope, json_get_str(v, "scope_id_ref"));
	}
	while (!im->thchat && json_type(local) == JSON_OBJECT && json_next(local, &it, &key, &value)) {
		struct json *v = json_object(im->c->a);

		json_set_str(v, "key", key);
		json_set(v, "value", value);
		if (key.n > 0 && key.n <= LIM_VARIABLE_KEY)
			add_variable(im, s, v, STR("branch"), STR("main"));
	}
}

static struct str
result(struct importer *im)
{
	struct sb s = sb_new(im->c->a);
	const char *format = im->thchat ? "thchat" : "sillytavern_jsonl";

	sb_adds(&s, "{\"session_id\":");
	sb_add_json(&s, im->w->session_id);
	sb_adds(&s, ",\"title\":");
	sb_add_json(&s, im->title);
	sb_addf(&s,
	    ",\"floor_count\":%lld,\"message_count\":%lld,\"page_count\":%lld,\"variable_count\":%lld",
	    (long long)im->floors, (long long)(im->thchat ? im->said : (int64_t)im->lines.messages),
	    (long long)im->pages, (long long)im->variables);
	if (im->thchat)
		sb_adds(&s, ",\"memory_item_count\":0,\"memory_edge_count\":0");
	else
		sb_addf(&s, ",\"swipe_count\":%zu", im->lines.swipes - im->lines.messages);
	sb_addf(&s, ",\"skipped_lines\":%zu,\"import_source\":\"%s\",\"format\":\"%s\",\"receipt\":",
	    im->thchat ? 0 : im->lines.skipped, format, format);
	sb_add(&s, json_text(im->c->a, receipt_json(im->c->a, &im->receipt)));
	sb_addc(&s, '}');
	return sb_str(&s);
}

static int
publish_tx(struct ctx *c, void *arg)
{
	struct importer *im = arg;
	struct sb vars = sb_new(c->a);
	int64_t n;

	im->variables = 0;
	if (!im->thchat) {
		im->plan.branches[0].his[0] = (int32_t)im->head;
		if (send_branches(im) < 0)
			return -1;
	}
	list_variables(im, &vars);
	sb_addc(&vars, ']');
	if (im->variables > 0 && db_exec(c, STMT_chat_variables, P_STR(sb_str(&vars)), P_INT(im->session_no),
				     P_STR(im->w->session_id)) < 0)
		return -1;
	n = db_exec(c, STMT_chat_publish, P_INT(im->session_no), P_INT(im->updated_at), P_INT(c->now));
	if (n <= 0)
		return n < 0 ? -1
			     : fail(c, ERR_UNAVAILABLE, "import_interrupted",
				   "the unfinished session was removed; import again");
	im->w->result = result(im);
	return im->w->last ? im->w->last(c, im->w->arg, im->w->result) : 0;
}

/* ---- the log of our own files ---- */

#define LOG_BATCH 1000

struct log_batch {
	struct importer *im;
	struct sb s;
};

static int
log_tx(struct ctx *c, void *arg)
{
	struct log_batch *b = arg;

	return db_exec(c, STMT_chat_log, P_STR(sb_str(&b->s)), P_INT(b->im->session_no)) < 0 ? -1 : 0;
}

static void
log_entry(struct importer *im, struct sb *s, const struct json *o)
{
	static const char *const verbatim[] = { "scope", "branch", "key", "path", "value", "active", "source",
		"detail", "created_at", "floor" };
	struct str scope = json_get_str(o, "scope");
	int64_t seg = json_get_int(o, "segment", -1);
	struct id id = id_new(im->c->now);

	sb_addf(s, "%s{\"id\":\"%s\"", s->n ? "," : "[", id.s);
	add_named(im, s, "ref", str_is(scope, "floor") ? 'f' : 'p', json_get_str(o, "ref"));
	add_named(im, s, "page", 'p', json_get_str(o, "page"));
	if (seg >= 0 && (size_t)seg < im->plan.n_segs)
		sb_addf(s, ",\"segment\":%lld", (long long)im->segs[seg]);
	for (size_t i = 0; i < sizeof(verbatim) / sizeof(*verbatim); i++)
		if (json_get(o, verbatim[i])) {
			sb_addf(s, ",\"%s\":", verbatim[i]);
			sb_add(s, json_text(im->c->a, json_get(o, verbatim[i])));
		}
	sb_addc(s, '}');
}

static int
import_log(struct importer *im)
{
	struct ctx *c = im->c;
	struct str raw;
	int64_t pos = 0;
	bool more = im->thchat && im->t.own && im->t.log >= 0;

	while (more) {
		struct arena_mark m = arena_mark(c->a);
		struct log_batch b = { im, sb_new(c->a) };
		int n = 0;

		while (n < LOG_BATCH && (more = thchat_element(im->t.text, im->t.log, &pos, &raw) > 0)) {
			struct json_error bad;
			const struct json *o = json_read(c->a, raw, LIM_JSON_DEPTH, &bad);

			if (json_type(o) != JSON_OBJECT)
				return fail(c, ERR_INVALID, "import_parse_error",
				    "chat cannot be imported: data.variable_log holds something that is no "
				    "entry");
			log_entry(im, &b.s, o);
			n++;
		}
		sb_addc(&b.s, ']');
		if (im->t.text->failed || (n > 0 && db_tx(c, DB_WRITE, log_tx, &b) < 0))
			return -1;
		arena_rewind(c->a, m);
	}
	return 0;
}

/* ---- all of it ---- */

static void
drop_arena(void *arg)
{
	struct arena *a = arg;

	arena_destroy(&a);
}

static int
open_file(struct importer *im)
{
	struct ctx *c = im->c;
	struct pieces *text = &im->w->text;
	struct import_error err = { .offset = -1 };
	struct str head;
	int rc;

	text->keep = im->keep;
	if (pieces_at(text, 0, LOOK, &head) < 0)
		return -1;
	im->thchat = thchat_is(head);
	if (im->thchat) {
		rc = thchat_open(c->a, text, &im->t, &err);
		if (rc == 0)
			rc = chat_plan(im->keep, c->a, &im->t, &im->plan, &err);
	} else {
		rc = chat_open(c->a, text, &im->receipt, &im->lines, &err);
		im->plan.n_branches = im->plan.n_segs = 1;
		im->plan.branches = arena_new(im->keep, struct plan_branch);
		*im->plan.branches = (struct plan_branch){ .id = STR("main"), .forked_at = -1, .n = 1 };
		im->plan.branches->segs = arena_array(im->keep, size_t, 1);
		im->plan.branches->his = arena_array(im->keep, int32_t, 1);
		im->plan.branches->his[0] = -1;
		im->plan.upto = arena_array(im->keep, int32_t, 1);
		im->plan.upto[0] = -1;
	}
	if (rc < 0)
		return chat_refuse(c, &err);
	if (im->thchat)
		columns_thchat(im);
	else
		columns_jsonl(im);
	return 0;
}

static int
analyze_tx(struct ctx *c, void *arg)
{
	(void)arg;
	return rows_count(db_query0(c, STMT_chat_analyze)) < 0 ? -1 : 0;
}

int
chat_import(struct ctx *c, struct chat_import *w)
{
	struct importer im = { .c = c,
		.w = w,
		.keep = arena_create("chat import", 0),
		.title = STR("Imported chat"),
		.mode = PROMPT_COMPAT_STRICT,
		.created_at = c->now,
		.updated_at = c->now,
		.head = -1 };
	struct id id = id_new(c->now);
	int rc, batches = 0;

	arena_defer(c->a, drop_arena, im.keep);
	w->session_id = arena_str(c->a, str_c(id.s));
	im.receipt = (struct receipt){ .a = im.keep };
	im.began = c->now;
	im.cols = json_object(c->a);
	im.origin = json_object(c->a);
	if (open_file(&im) < 0)
		return -1;
	if (w->title.n > 0)
		im.title = w->title;
	im.tokens = token_for_model(str_c(w->model));
	if (db_tx(c, DB_WRITE, begin_tx, &im) < 0)
		return -1;
	while ((rc = chat_import_batch(&im)) > 0)
		if ((batches++ == 0 && db_tx(c, DB_WRITE, analyze_tx, NULL) < 0) ||
		    (w->step &&
			w->step(w->arg, "publishing", im.thchat ? im.t.pos : im.lines.pos, w->text.size) < 0))
			return -1;
	if (rc < 0)
		return -1;
	if (im.floors == 0 && !im.thchat)
		return fail(c, ERR_INVALID, "import_empty", "the chat has no messages");
	if (import_log(&im) < 0)
		return -1;
	return db_tx(c, DB_WRITE, publish_tx, &im);
}
