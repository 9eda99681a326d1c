/*
 * result: a run's results under the names of the wire.
 */
#include "macro/macro_private.h"

#include "base/limits.h"

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

/* `,"key":` and a text. */
static void
add_text(struct sb *out, const char *before, struct str v)
{
	sb_adds(out, before);
	sb_add_json(out, v);
}

static void
warning_print(struct sb *out, const struct macro_warning *w)
{
	add_text(out, "{\"code\":", str_c(macro_code_name(w->code)));
	add_text(out, ",\"message\":", str_c(w->message));
	if (w->name.p)
		add_text(out, ",\"macro_name\":", w->name);
	if (w->raw.p)
		add_text(out, ",\"raw_text\":", w->raw);
	if (w->line)
		sb_addf(out, ",\"line\":%lld,\"column\":%lld", (long long)w->line, (long long)w->column);
	if (w->count > 1)
		sb_addf(out, ",\"count\":%lld", (long long)w->count);
	sb_addc(out, '}');
}

static void
write_print(struct sb *out, const struct macro_write *w, bool staged)
{
	add_text(out, "{\"kind\":", str_c(w->del ? "delete" : "set"));
	add_text(out, ",\"scope\":", str_c(w->scope == MACRO_SCOPE_GLOBAL ? "global" : "branch"));
	add_text(out, ",\"key\":", w->key);
	if (!w->del)
		add_text(out, ",\"value\":", macro_value_text(out->a, &w->value));
	if (staged)
		add_text(out, ",\"source_macro\":", str_c(w->source_macro));
	sb_addc(out, '}');
}

static void
trace_print(struct sb *out, const struct macro_trace *t)
{
	add_text(out, "{\"macro_name\":", t->name);
	add_text(out, ",\"raw_text\":", t->raw);
	add_text(out, ",\"resolved_text\":", t->resolved);
	add_text(out, ",\"phase\":", str_c(macro_phase_name(t->phase)));
	add_text(out, ",\"source_kind\":", str_c(macro_source_kind_name(t->kind)));
	if (t->branch != MACRO_BRANCH_NONE)
		add_text(out, ",\"selected_branch\":", str_c(macro_branch_name(t->branch)));
	sb_addc(out, '}');
}

static void
writes_print(struct sb *out, const struct macro_result *res, bool staged)
{
	for (size_t i = 0; i < res->writes.n; i++) {
		sb_adds(out, i ? "," : "");
		write_print(out, &res->writes.v[i], staged);
	}
}

bool
macro_result_print(struct sb *out, const struct macro_result *res, enum macro_phase phase)
{
	if (!res->warnings.n && !res->traces.n && !res->used_names.n && !res->writes.n)
		return false;
	sb_adds(out, "{\"warnings\":[");
	for (size_t i = 0; i < res->warnings.n; i++) {
		sb_adds(out, i ? "," : "");
		warning_print(out, &res->warnings.v[i]);
	}
	sb_adds(out, "],\"used_names\":[");
	for (size_t i = 0; i < res->used_names.n; i++)
		add_text(out, i ? "," : "", res->used_names.v[i]);
	sb_adds(out, "],\"mutation_preview\":[");
	writes_print(out, res, false);
	sb_adds(out, "],\"staged_mutations\":[");
	if (phase == MACRO_ASSEMBLE)
		writes_print(out, res, true);
	sb_adds(out, "],\"traces\":[");
	for (size_t i = 0; i < res->traces.n; i++) {
		sb_adds(out, i ? "," : "");
		trace_print(out, &res->traces.v[i]);
	}
	sb_adds(out, "]}");
	return true;
}

struct json *
macro_result_json(struct arena *a, const struct macro_result *res, enum macro_phase phase)
{
	struct sb out = sb_new(a);
	struct json_error err;

	return macro_result_print(&out, res, phase) ? json_read(a, sb_str(&out), LIM_JSON_DEPTH, &err) : NULL;
}
