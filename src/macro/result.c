/*
 * result: a run's results under the names of the wire.
 */
#include "macro/macro_private.h"

const char *
macro_source_kind_name(enum macro_source_kind k)
{
	return k == MACRO_SRC_IF ? "if" : k == MACRO_SRC_RAW ? "raw" : "macro";
}

const char *
macro_branch_name(enum macro_branch b)
{
	return b == MACRO_BRANCH_THEN   ? "then"
	       : b == MACRO_BRANCH_ELSE ? "else"
	       : b == MACRO_BRANCH_RAW  ? "raw"
					: NULL;
}

static void
add_warning(struct json *list, const struct macro_warning *w)
{
	struct json *o = json_push_object(list);

	json_set_c(o, "code", macro_code_name(w->code));
	json_set_c(o, "message", w->message);
	if (w->name.p)
		json_set_str(o, "macro_name", w->name);
	if (w->raw.p)
		json_set_str(o, "raw_text", w->raw);
	if (w->line) {
		json_set_int(o, "line", w->line);
		json_set_int(o, "column", w->column);
	}
	if (w->count > 1)
		json_set_int(o, "count", w->count);
}

static void
add_write(struct arena *a, struct json *list, const struct macro_write *w, bool staged)
{
	struct json *o = json_push_object(list);

	json_set_c(o, "kind", w->del ? "delete" : "set");
	json_set_c(o, "scope", w->scope == MACRO_SCOPE_GLOBAL ? "global" : "branch");
	json_set_str(o, "key", w->key);
	if (!w->del)
		json_set_str(o, "value", macro_value_text(a, &w->value));
	if (staged)
		json_set_c(o, "source_macro", w->source_macro);
}

static void
add_trace(struct json *list, const struct macro_trace *t)
{
	struct json *o = json_push_object(list);

	json_set_str(o, "macro_name", t->name);
	json_set_str(o, "raw_text", t->raw);
	json_set_str(o, "resolved_text", t->resolved);
	json_set_c(o, "phase", macro_phase_name(t->phase));
	json_set_c(o, "source_kind", macro_source_kind_name(t->kind));
	if (t->branch != MACRO_BRANCH_NONE)
		json_set_c(o, "selected_branch", macro_branch_name(t->branch));
}

struct json *
macro_result_json(struct arena *a, const struct macro_result *res, enum macro_phase phase)
{
	struct json *o, *warnings, *names, *preview, *staged, *traces;

	if (!res->warnings.n && !res->traces.n && !res->used_names.n && !res->writes.n)
		return NULL;
	o = json_object(a);
	warnings = json_set_array(o, "warnings");
	names = json_set_array(o, "used_names");
	preview = json_set_array(o, "mutation_preview");
	staged = json_set_array(o, "staged_mutations");
	traces = json_set_array(o, "traces");
	for (size_t i = 0; i < res->warnings.n; i++)
		add_warning(warnings, &res->warnings.v[i]);
	for (size_t i = 0; i < res->used_names.n; i++)
		json_push_str(names, res->used_names.v[i]);
	for (size_t i = 0; i < res->writes.n; i++) {
		add_write(a, preview, &res->writes.v[i], false);
		if (phase == MACRO_ASSEMBLE)
			add_write(a, staged, &res->writes.v[i], true);
	}
	for (size_t i = 0; i < res->traces.n; i++)
		add_trace(traces, &res->traces.v[i]);
	return o;
}
