#include "turn/look.h"

#include "turn/turn_private.h"

/* ---- parts of several answers ---- */

struct json *
look_mode_json(struct arena *a, enum prompt_mode mode)
{
	static const char *const names[] = { "prompt_mode", "session_prompt_mode", "effective_prompt_mode" };
	struct json *o = json_object(a);

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		json_set_c(o, names[i], prompt_mode_name(mode));
	json_set_c(o, "default_prompt_mode", prompt_mode_name(PROMPT_COMPAT_STRICT));
	json_set_bool(o, "legacy_fallback", false);
	json_set_c(o, "source", "session");
	return o;
}

static const char *
history_mode(const struct look_scope *s)
{
	return s->history_mode ? s->history_mode : "existing_branch";
}

struct json *
look_scope_json(struct arena *a, const struct look_scope *s)
{
	struct json *o = json_object(a);

	json_set_str(o, "session_id", s->session_id);
	json_set_str(o, "target_branch_id", s->target);
	json_set_bool(o, "branch_exists", s->exists);
	json_set_str(o, "source_floor_id", s->source_floor);
	json_set_str(o, "history_source_branch_id", s->history_branch);
	json_set_c(o, "history_source_mode", history_mode(s));
	return o;
}

struct json *
look_source_map(struct arena *a, const struct policy_resolved *p, const struct look_scope *s)
{
	struct json *o = policy_sources(a, p), *history = json_set_object(o, "history");

	json_set_str(history, "source_branch_id", s->history_branch);
	json_set_c(history, "source_mode", history_mode(s));
	return o;
}

void
look_asset_missing(struct json *diagnostics, const char *what, const char *member)
{
	struct json *o = json_push_object(diagnostics);

	json_set_c(o, "code", "asset_missing");
	json_set_c(o, "severity", "warning");
	json_set_c(o, "message", "the bound asset was deleted or does not exist; turns run without it");
	json_set_c(o, "source", what);
	json_set_c(o, "phase", "source_resolve");
	json_set_c(o, "field_path", member);
}

struct json *
look_limitations(struct arena *a, bool of_preview)
{
	static const char *const lines[] = {
		"Stored memories are not part of a prompt yet; a summary that the session keeps is.",
		"Values of page scope become values of the floor at commit; they reach the branch only by the promotion policy.",
		"A preview expands one text. It assembles no messages, spends no budget and delivers nothing.",
		"A preview traces macros, source selection, visibility and the reading of the history only.",
	};
	struct json *list = json_array(a);

	for (size_t i = 0; i < (of_preview ? 4 : 2); i++)
		json_push_str(list, str_c(lines[i]));
	return list;
}

static struct look_scope
scope_of(const struct turn *t)
{
	bool here = t->s.history_mode == NULL;

	return (struct look_scope){ .session_id = t->q.session_id, .source_floor = t->q.source_floor_id, .history_branch = t->s.branch.id,
		.target = here || t->branch_given ? t->q.branch_id : t->s.branch.id, .exists = here || t->s.branch_exists,
		.history_mode = t->s.history_mode };
}

static struct json *
diagnostics_of(const struct turn *t)
{
	const struct {
		const char *what, *member;
		bool gone;
	} rows[] = {
		{ "preset", "preset_id", t->s.preset.id.p && !t->s.preset.row },
		{ "worldbook", "worldbook_profile_id", t->s.worldbook.id.p && !t->s.worldbook.row },
		{ "regex_profile", "regex_profile_id", t->s.regex.id.p && !t->s.regex.row },
	};
	struct json *list = json_array(t->c->a);

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].gone)
			look_asset_missing(list, rows[i].what, rows[i].member);
	return list;
}

/* ---- dry run ---- */

static void
messages_print(struct sb *out, const struct prompt *p)
{
	sb_adds(out, "\"messages\":[");
	for (size_t i = 0; i < p->nmessages; i++) {
		sb_addf(out, "%s{\"role\":\"%s\",\"content\":", i ? "," : "", p->messages[i].role);
		sb_add_json(out, p->messages[i].content);
		if (p->messages[i].name.p) {
			sb_adds(out, ",\"name\":");
			sb_add_json(out, p->messages[i].name);
		}
		sb_addc(out, '}');
	}
	sb_addf(out, "],\"token_estimate\":%lld", (long long)p->tokens);
}

/* What both full looks say of the prompt as a whole. */
void
turn_prepared_print(struct sb *out, const struct turn *t)
{
	int64_t left = t->in.max_context - t->prompt->tokens;

	messages_print(out, t->prompt);
	sb_addf(out, ",\"available_for_reply\":%lld,\"memory\":", (long long)(left > 0 ? left : 0));
	json_text_add(out, turn_memory_json(t));
	sb_adds(out, ",\"memory_summary\":");
	sb_add_json(out, turn_summary_sent(t) ? t->in.summary : STR_NULL);
	sb_adds(out, ",\"prompt_snapshot\":");
	turn_snapshot_print(out, t);
	sb_adds(out, ",\"runtime_trace\":");
	turn_trace_print(out, t);
}

int
turn_dry_run(struct turns *p, struct ctx *c, const struct turn_request *q, struct sb *out)
{
	struct turn *t = turn_new(p, c, q, true);

	if (db_tx(c, DB_READ, turn_gather, t) < 0 || turn_assemble(t) < 0)
		return -1;
	sb_addc(out, '{');
	turn_prepared_print(out, t);
	sb_adds(out, ",\"assembly\":");
	turn_assembly_print(out, t);
	sb_addc(out, '}');
	return 0;
}

/* ---- preview ---- */

struct json *
look_no_injection(struct arena *a)
{
	struct json *o = json_object(a);

	json_set_array(o, "items");
	json_set_c(o, "formatted_text", "");
	json_set_int(o, "token_count", 0);
	json_set(o, "scope_resolution", NULL);
	return o;
}

/* The members that a look at one text and a look at a whole prompt share. */
void
turn_look_print(struct json *o, const struct turn *t, bool of_preview)
{
	struct arena *a = t->c->a;
	struct look_scope s = scope_of(t);

	json_set(o, "scope", look_scope_json(a, &s));
	json_set(o, "policy", t->policy.policy);
	json_set(o, "source_map", look_source_map(a, &t->policy, &s));
	json_set(o, "diagnostics", diagnostics_of(t));
	json_set(o, "limitations", look_limitations(a, of_preview));
}

static void
preview_print(struct sb *out, const struct turn *t, const struct prompt_preview *v, enum macro_dialect d)
{
	struct arena *a = t->c->a;
	struct json *o = json_object(a), *trace, *macro = macro_result_json(a, v->macros, t->in.phase);

	turn_look_print(o, t, true);
	json_set_str(o, "text", v->text);
	json_set_c(o, "dialect", macro_dialect_name(d));
	trace = json_set_object(o, "runtime_trace");
	if (macro)
		json_set(trace, "macro", macro);
	json_set(trace, "source_selection", v->sources);
	json_set(trace, "visibility", v->visibility);
	json_set(trace, "history_normalization", v->normalization);
	json_set(o, "memory_injection", look_no_injection(a));
	json_set(o, "memory", turn_memory_json(t));
	sb_add(out, json_text(a, o));
}

int
turn_preview(struct turns *p, struct ctx *c, const struct turn_request *q, const struct look_text *what, struct sb *out)
{
	struct turn *t = turn_new(p, c, q, true);
	struct prompt_preview v;
	enum macro_dialect d;
	struct str name;
	const char *fault;

	if (db_tx(c, DB_READ, turn_gather, t) < 0)
		return -1;
	fault = prompt_choices_fault(t->in.preset, json_get(q->body, "preset_choices"), &name);
	if (fault)
		return fail_field(c, arena_printf(c->a, "/preset_choices/%.*s", STR_ARG(name)), "invalid", "%s", fault);
	turn_model_choose(t);
	turn_input_settle(t);
	t->in.phase = MACRO_PREVIEW;
	t->in.input = json_get_str(q->body, "input");
	if (json_get(q->body, "preset_choices"))
		t->in.preset_choices = json_get(q->body, "preset_choices");
	d = t->s.mode == PROMPT_REARRANGE ? MACRO_TOMORIBOT : MACRO_AUTO;
	macro_dialect_parse(what->dialect, &d);
	prompt_preview(c->a, &t->in, what->text, d, &v);
	preview_print(out, t, &v, d);
	return 0;
}

/* ---- layout ---- */

/* What is sent, by the source of each message: node, block tag or "native". */
static void
layout_items_print(struct sb *out, const struct prompt *p)
{
	sb_adds(out, ",\"items\":[");
	for (size_t i = 0; i < p->nmessages; i++) {
		const struct prompt_out *m = &p->messages[i];

		sb_addf(out, "%s{\"role\":\"%s\",\"source\":", i ? "," : "", m->role);
		sb_add_json(out, str_c(m->source));
		sb_addf(out, ",\"tokens\":%d,\"content\":", m->tokens);
		sb_add_json(out, m->content);
		sb_addc(out, '}');
	}
	sb_addc(out, ']');
}

int
turn_layout(struct turns *p, struct ctx *c, const struct turn_request *q, struct sb *out)
{
	struct turn *t = turn_new(p, c, q, true);
	const struct json *layout;
	struct str members = STR("");

	t->layout = true;
	if (db_tx(c, DB_READ, turn_gather, t) < 0 || turn_assemble(t) < 0)
		return -1;
	layout = json_get(t->prompt->trace, "layout");
	if (layout)
		members = json_text(c->a, layout);
	sb_adds(out, "{\"session_id\":");
	sb_add_json(out, t->q.session_id);
	sb_adds(out, ",\"branch_id\":");
	sb_add_json(out, t->s.branch.id);
	sb_adds(out, ",\"preset_id\":");
	sb_add_json(out, t->s.preset.row ? t->s.preset.id : STR_NULL);
	sb_adds(out, ",\"preset_version_id\":");
	sb_add_json(out, t->s.preset.row ? t->s.preset.version_id : STR_NULL);
	sb_addf(out, ",\"arranged\":%s,", layout ? "true" : "false");
	sb_add(out, layout ? str_sub(members, 1, members.n - 1) : STR("\"nodes\":[],\"remainder_tags\":[],\"flush\":null,\"warnings\":[]"));
	layout_items_print(out, t->prompt);
	sb_addc(out, '}');
	return 0;
}
