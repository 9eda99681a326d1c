/* tell: see tell.h. */
#include "event/tell.h"

#include "base/json.h"
#include "base/limits.h"

// clang-format off
#define FLOOR_RUN "sessionId floorId runId runType status phase publicPhase phaseSeq attemptNo startedAt updatedAt completedAt pendingOutput verifier error"
#define SESSION "sessionId title status updatedAt"

const struct event_kind event_kinds[] = {
	{ "floor.created", false, "floor", "a turn has recorded its input" },
	{ "floor.run.updated", false, FLOOR_RUN, "a generation goes on; the last one of a generation is kept" },
	{ "floor.stateChanged", false, "floor previousState newState", "a floor goes from draft to generating, or from there to committed or failed; the latter are kept" },
	{ "floor.committed", true, "floor promotedVariables pageId runId", "a floor has a new reply: a turn is committed, or another page of its floor" },
	{ "floor.failed", true, "floor error", "a turn has failed; its floor can be retried" },
	{ "generation.started", false, "sessionId floorId runId model", "the model is asked" },
	{ "generation.chunk", false, "sessionId floorId runId chunk accumulatedLength", "a piece of the reply, at most 20 a second" },
	{ "generation.completed", true, "sessionId floorId runId pageId text usage finishReason summaries", "the whole reply" },
	{ "generation.failed", true, "sessionId floorId runId error", "a generation has failed or was cancelled; a floor that was committed before stays so" },
	{ "variable.set", true, "sessionId branchId? entry isNew?", "a variable has a new value; isNew if a turn wrote it" },
	{ "variable.promoted", true, "sessionId branchId? key fromScope toScope value", "a turn's value went up to a wider scope" },
	{ "variable.deleted", true, "sessionId branchId? id scope key", "a variable is gone" },
	{ "session.created", true, SESSION, "a session was created or imported, with its branch main" },
	{ "session.updated", true, SESSION, "a client changed a session, its status or policy; turns are told as floors" },
	{ "session.deleted", true, SESSION, "a session is gone, with all that was in it" },
	{ "branch.created", true, "sessionId branchId forkedFromBranchId forkedAtFloorNo createdAt", "a branch was forked, by a client or by a turn that names it" },
	{ "branch.deleted", true, "sessionId branchId", "a branch is gone; floors that other branches show stay" },
	{ "gap", false, "lastEventId", "events behind the id that was given are no longer kept: read anew what you show" },
	{ .name = NULL },
};
// clang-format on

static struct sb *
open_event(struct arena *a, struct sb *sb)
{
	*sb = sb_new(a);
	sb_addc(sb, '{');
	return sb;
}

static void
close_event(struct arena *a, struct tale *out, const char *name, struct sb *sb, int64_t at)
{
	sb_addc(sb, '}');
	vec_push(a, &out->v, ((struct told){ name, sb_str(sb), at }));
}

static void
key(struct sb *sb, const char *name)
{
	if (sb->p[sb->n - 1] != '{')
		sb_addc(sb, ',');
	sb_addf(sb, "\"%s\":", name);
}

static void
text(struct sb *sb, const char *name, struct str v)
{
	key(sb, name);
	sb_add_json(sb, v);
}

static void
number(struct sb *sb, const char *name, int64_t v)
{
	key(sb, name);
	sb_add_int(sb, v);
}

static void
raw(struct sb *sb, const char *name, struct str json)
{
	key(sb, name);
	sb_add(sb, json.p ? json : STR("null"));
}

static void
floor_object(struct sb *sb, const struct outbox_run *r, const char *state)
{
	key(sb, "floor");
	sb_addc(sb, '{');
	text(sb, "id", r->floor.id);
	text(sb, "sessionId", r->session_id);
	number(sb, "floorNo", r->floor.seq);
	text(sb, "branchId", r->floor.branch_id);
	text(sb, "parentFloorId", r->floor.parent_id);
	text(sb, "state", state ? str_c(state) : r->floor.state);
	number(sb, "tokenIn", r->floor.token_in);
	number(sb, "tokenOut", r->floor.token_out);
	number(sb, "createdAt", r->floor.created_at);
	number(sb, "updatedAt", r->floor.updated_at);
	sb_addc(sb, '}');
}

static void
head_of_run(struct sb *sb, const struct outbox_run *r)
{
	text(sb, "sessionId", r->session_id);
	text(sb, "floorId", r->floor.id);
	text(sb, "runId", r->id);
}

/* Phases as clients see them: those of one public name are told apart by nothing else. */
static const char *
public_phase(struct str phase)
{
	static const struct {
		const char *phase, *name;
	} names[] = {
		{ "page_generating", "generating" },
		{ "candidate_generated", "generating" },
		{ "verifier_checked", "verifying" },
		{ "transaction_prepared", "committing" },
		{ "transaction_committed", "committing" },
		{ "post_commit_scheduled", "post_processing" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (str_is(phase, names[i].phase))
			return names[i].name;
	return "preparing";
}

static void
run_event(struct arena *a, const struct outbox_run *r, int64_t at, struct tale *out)
{
	struct sb sb;

	open_event(a, &sb);
	head_of_run(&sb, r);
	text(&sb, "runType", r->type);
	text(&sb, "status", r->state);
	text(&sb, "phase", r->phase);
	text(&sb, "publicPhase", str_c(public_phase(r->phase)));
	number(&sb, "phaseSeq", r->phase_seq);
	number(&sb, "attemptNo", r->attempt_no);
	number(&sb, "startedAt", r->started_at);
	number(&sb, "updatedAt", r->updated_at);
	if (r->completed_at)
		number(&sb, "completedAt", r->completed_at);
	else
		raw(&sb, "completedAt", STR_NULL);
	raw(&sb, "pendingOutput", STR_NULL);
	raw(&sb, "verifier", r->verifier);
	raw(&sb, "error", r->error);
	close_event(a, out, "floor.run.updated", &sb, at);
}

static void
state_event(struct arena *a, const struct outbox_run *r, const char *from, const char *to, int64_t at, struct tale *out)
{
	struct sb sb;

	open_event(a, &sb);
	floor_object(&sb, r, to);
	text(&sb, "previousState", str_c(from));
	text(&sb, "newState", str_c(to));
	close_event(a, out, "floor.stateChanged", &sb, at);
}

/* The stored usage, in the spelling of sockets. */
static void
usage_object(struct arena *a, struct sb *sb, struct str stored)
{
	static const char *const names[][2] = { { "prompt_tokens", "promptTokens" }, { "completion_tokens", "completionTokens" },
		{ "total_tokens", "totalTokens" } };
	struct json_error err;
	const struct json *j = stored.p ? json_read(a, stored, 8, &err) : NULL;

	key(sb, "usage");
	sb_addc(sb, '{');
	for (size_t i = 0; i < 3; i++)
		number(sb, names[i][1], json_get_int(j, names[i][0], 0));
	sb_addc(sb, '}');
}

static void
completed_event(struct arena *a, const struct outbox_run *r, int64_t at, struct tale *out)
{
	struct sb sb;

	open_event(a, &sb);
	head_of_run(&sb, r);
	text(&sb, "pageId", r->page_id);
	text(&sb, "text", r->text);
	usage_object(a, &sb, r->usage);
	text(&sb, "finishReason", r->finish_reason);
	raw(&sb, "summaries", r->summaries.p ? r->summaries : STR("[]"));
	close_event(a, out, "generation.completed", &sb, at);
}

/* Scopes from narrow to wide. */
static const char *const scopes[] = { "page", "floor", "branch", "chat", "global" };

static void
change_event(struct arena *a, const struct outbox_run *r, const struct outbox_change *c, struct tale *out)
{
	const char *name = c->value.p == NULL ? "variable.deleted" : str_is(c->source, "promotion") ? "variable.promoted" : "variable.set";
	struct sb sb;

	open_event(a, &sb);
	text(&sb, "sessionId", r->session_id);
	text(&sb, "branchId", r->floor.branch_id);
	if (c->value.p == NULL) {
		text(&sb, "id", c->id);
		text(&sb, "scope", c->scope);
		text(&sb, "key", c->key);
	} else if (str_is(c->source, "promotion")) {
		size_t to = 1;

		while (to < 4 && !str_is(c->scope, scopes[to]))
			to++;
		text(&sb, "key", c->key);
		text(&sb, "fromScope", str_c(scopes[to - 1]));
		text(&sb, "toScope", c->scope);
		raw(&sb, "value", c->value);
	} else {
		key(&sb, "entry");
		sb_addc(&sb, '{');
		text(&sb, "id", c->id);
		text(&sb, "scope", c->scope);
		text(&sb, "scopeId", c->scope_id);
		text(&sb, "key", c->key);
		raw(&sb, "value", c->value);
		number(&sb, "updatedAt", c->at);
		sb_addc(&sb, '}');
		key(&sb, "isNew");
		sb_adds(&sb, c->is_new ? "true" : "false");
	}
	close_event(a, out, name, &sb, c->at);
}

static void
promoted_list(struct sb *sb, const struct outbox_row *row)
{
	bool any = false;

	key(sb, "promotedVariables");
	sb_addc(sb, '[');
	for (size_t i = 0; i < row->changes.n; i++) {
		const struct outbox_change *c = &row->changes.v[i];

		if (!str_is(c->source, "promotion") || c->value.p == NULL)
			continue;
		sb_adds(sb, any ? ",{" : "{");
		text(sb, "id", c->id);
		text(sb, "scope", c->scope);
		text(sb, "scopeId", c->scope_id);
		text(sb, "key", c->key);
		raw(sb, "value", c->value);
		number(sb, "updatedAt", c->at);
		sb_addc(sb, '}');
		any = true;
	}
	sb_addc(sb, ']');
}

static void
committed(struct arena *a, const struct outbox_row *row, struct tale *out)
{
	const struct outbox_run *r = row->run;
	struct sb sb;

	completed_event(a, r, row->at, out);
	run_event(a, r, row->at, out);
	/* Of a page that came later the floor was committed before. */
	if (r->floor.committed_at == r->completed_at)
		state_event(a, r, "generating", "committed", row->at, out);
	open_event(a, &sb);
	floor_object(&sb, r, NULL);
	promoted_list(&sb, row);
	text(&sb, "pageId", r->page_id);
	text(&sb, "runId", r->id);
	close_event(a, out, "floor.committed", &sb, row->at);
	for (size_t i = 0; i < row->changes.n; i++)
		change_event(a, r, &row->changes.v[i], out);
}

static void
run_failed(struct arena *a, const struct outbox_row *row, struct tale *out)
{
	struct sb sb;

	open_event(a, &sb);
	head_of_run(&sb, row->run);
	raw(&sb, "error", row->run->error);
	close_event(a, out, "generation.failed", &sb, row->at);
	run_event(a, row->run, row->at, out);
}

static void
floor_failed(struct arena *a, const struct outbox_row *row, struct tale *out)
{
	struct sb sb;

	run_failed(a, row, out);
	state_event(a, row->run, "generating", "failed", row->at, out);
	open_event(a, &sb);
	floor_object(&sb, row->run, "failed");
	raw(&sb, "error", row->run->error);
	close_event(a, out, "floor.failed", &sb, row->at);
}

/* What a client wrote outside of turns: the row has it flat. */
static void
client_wrote(struct arena *a, const struct outbox_row *row, struct tale *out)
{
	struct json_error err;
	const struct json *j = json_read(a, row->data, LIM_JSON_DEPTH, &err);
	bool set = str_is(row->name, "variable.set");
	struct sb sb;

	open_event(a, &sb);
	text(&sb, "sessionId", row->session_id);
	if (set) {
		key(&sb, "entry");
		sb_addc(&sb, '{');
	}
	text(&sb, "id", json_get_str(j, "variableId"));
	text(&sb, "scope", json_get_str(j, "scope"));
	if (set)
		text(&sb, "scopeId", json_get_str(j, "scopeId"));
	text(&sb, "key", json_get_str(j, "key"));
	if (set) {
		/* A big value is not in the row: it is to be read. */
		if (json_has(j, "value"))
			raw(&sb, "value", json_text(a, json_get(j, "value")));
		number(&sb, "updatedAt", row->at);
		sb_addc(&sb, '}');
	}
	close_event(a, out, set ? "variable.set" : "variable.deleted", &sb, row->at);
}

/* Rows that are told in other words; all others are told as they are. */
static const struct {
	const char *name;
	bool run; /* nothing is told if its run is gone, with its session */
	void (*tell)(struct arena *, const struct outbox_row *, struct tale *);
} rows[] = {
	{ "floor.committed", true, committed },
	{ "floor.failed", true, floor_failed },
	{ "run.failed", true, run_failed },
	{ "variable.set", false, client_wrote },
	{ "variable.deleted", false, client_wrote },
};

void
tell_row(struct arena *a, const struct outbox_row *row, struct tale *out)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!str_is(row->name, rows[i].name))
			continue;
		if (row->run != NULL || !rows[i].run)
			rows[i].tell(a, row, out);
		return;
	}
	if (!str_is(row->name, "swept"))
		vec_push(a, &out->v, ((struct told){ arena_strdup(a, row->name), row->data, row->at }));
}

/* Was its floor made by this run? */
static bool
made_floor(const struct outbox_run *r)
{
	return str_is(r->floor.state, "generating") || (str_is(r->floor.state, "failed") && !str_is(r->state, "completed")) ||
	       (str_is(r->floor.state, "committed") && r->completed_at > 0 && r->floor.committed_at == r->completed_at);
}

void
tell_started(struct arena *a, const struct outbox_run *run, int64_t now, struct tale *out)
{
	struct outbox_run r = *run;
	bool fresh = made_floor(run);
	struct sb sb;

	if (!str_is(r.state, "running")) {
		r.state = STR("running");
		r.phase = STR("input_recorded");
		r.phase_seq = 1;
		r.updated_at = r.floor.updated_at = r.started_at;
		r.completed_at = r.floor.token_in = r.floor.token_out = 0;
		r.error = r.verifier = STR_NULL;
	}
	if (fresh) {
		open_event(a, &sb);
		floor_object(&sb, &r, "draft");
		close_event(a, out, "floor.created", &sb, now);
	}
	run_event(a, &r, now, out);
	if (fresh)
		state_event(a, &r, "draft", "generating", now, out);
	open_event(a, &sb);
	head_of_run(&sb, &r);
	key(&sb, "model");
	sb_addc(&sb, '{');
	text(&sb, "provider", r.provider);
	text(&sb, "modelId", r.model);
	sb_addc(&sb, '}');
	close_event(a, out, "generation.started", &sb, now);
}

bool
tell_progress(struct arena *a, struct str session_id, struct str json, int64_t now, struct told *out)
{
	static const struct {
		const char *from, *to;
	} members[] = { { "floor_id", "floorId" }, { "run_id", "runId" }, { "run_type", "runType" }, { "status", "status" }, { "phase", "phase" },
		{ "public_phase", "publicPhase" }, { "phase_seq", "phaseSeq" }, { "attempt_no", "attemptNo" }, { "started_at", "startedAt" },
		{ "updated_at", "updatedAt" }, { "completed_at", "completedAt" }, { "pending_output", "pendingOutput" }, { "verifier", "verifier" },
		{ "error", "error" } };
	struct json_error err;
	const struct json *j = json_read(a, json, 16, &err);
	struct sb sb;

	if (!str_is(json_get_str(j, "status"), "running"))
		return false;
	open_event(a, &sb);
	text(&sb, "sessionId", session_id);
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		raw(&sb, members[i].to, json_text(a, json_get(j, members[i].from)));
	sb_addc(&sb, '}');
	*out = (struct told){ "floor.run.updated", sb_str(&sb), now };
	return true;
}

void
tell_chunk(struct arena *a, const struct outbox_run *r, struct str piece, uint64_t units, struct told *out)
{
	struct sb sb;

	open_event(a, &sb);
	head_of_run(&sb, r);
	text(&sb, "chunk", piece);
	number(&sb, "accumulatedLength", (int64_t)units);
	sb_addc(&sb, '}');
	*out = (struct told){ "generation.chunk", sb_str(&sb), 0 };
}
