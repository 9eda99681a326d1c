/*
 * commit: what a turn writes. Each unit sends all its statements and the COMMIT in one round trip; the
 * statement that decides gives no row, and then all of them write nothing, when somebody else was
 * faster. A unit may run twice (retry after a deadlock), so it only reads the turn.
 */
#include "turn/turn_private.h"

#include "base/digest.h"

/* A reply that goes on makes another page of its floor, as a regeneration does. */
const char *
turn_run_type(const struct turn *t)
{
	static const char *const types[TURN_TYPE__COUNT] = { "respond", "regenerate_page", "retry_turn", "edit_and_regenerate" };

	return types[t->goes_on ? TURN_REGENERATE : t->q.type];
}

/* The first row of what a unit has written; none is a conflict. */
static int
written(struct turn *t, const char *code, const char *message)
{
	int rc = rows_next(t->written);

	return rc > 0 ? 0 : rc < 0 ? -1 : fail(t->c, ERR_CONFLICT, code, "%s", message);
}

/* Frozen configuration of the run: what is asked of whom, never secrets. */
struct str
turn_config_print(struct turn *t)
{
	struct sb sb = sb_new(t->c->a);

	sb_adds(&sb, "{\"narrator\":{\"provider\":");
	sb_add_json(&sb, str_c(t->llm.provider));
	sb_adds(&sb, ",\"model\":");
	sb_add_json(&sb, str_c(t->llm.model));
	sb_adds(&sb, ",\"preset_version_id\":");
	sb_add_json(&sb, t->s.preset.version_id);
	sb_adds(&sb, "}}");
	return sb_str(&sb);
}

/* Results of chance macros as the column holds them, or what stands for none. */
static void
rolls_print(struct sb *out, const struct macro_rolls *rolls, const char *none)
{
	if (rolls == NULL || rolls->v.n == 0) {
		sb_adds(out, none);
		return;
	}
	for (size_t k = 0; k < rolls->v.n; k++) {
		sb_addf(out, "%s{\"at\":%u,\"text\":", k ? "," : "[", rolls->v.v[k].offset);
		sb_add_json(out, rolls->v.v[k].text);
		sb_addc(out, '}');
	}
	sb_addc(out, ']');
}

void
turn_sent_input(struct turn *t)
{
	const struct prompt_stored *made = NULL; /* its number is 0 there; none: it is sent as typed */
	struct sb rolls = sb_new(t->work);

	for (size_t i = 0; i < t->prompt->nstored; i++)
		if (t->prompt->stored[i].no == 0)
			made = &t->prompt->stored[i];
	t->record.tokens = made && made->tokens >= 0 ? made->tokens : (int64_t)token_count(t->tokens.encoding, t->q.message);
	if (made && !str_eq(made->text, t->q.message))
		t->record.sent = arena_str(t->c->a, made->text);
	rolls_print(&rolls, made ? made->rolls : NULL, "");
	if (rolls.n > 0)
		t->record.rolls = arena_str(t->c->a, sb_str(&rolls));
}

/* The same of older messages that were sent for the first time (imported ones); nothing if there are none. */
void
turn_stored_print(struct sb *out, const struct turn *t)
{
	size_t from = out->n;

	for (size_t i = 0; i < t->prompt->nstored; i++) {
		const struct prompt_stored *p = &t->prompt->stored[i];
		const struct turn_twin *twin = turn_twin_of(t, p->no);

		if (p->no == 0)
			continue;
		sb_addf(out, "%s{\"no\":%lld,\"tokens\":%d,\"sent\":", out->n > from ? "," : "[", (long long)(twin ? twin->copy_no : p->no), p->tokens);
		sb_add_json(out, p->text);
		sb_adds(out, ",\"rolls\":");
		rolls_print(out, p->rolls, "null");
		sb_addc(out, '}');
	}
	sb_adds(out, out->n > from ? "]" : "");
}

static int
open_send(struct ctx *c, void *arg)
{
	struct turn *t = arg;
	struct branch_range *before;
	size_t n;

	if (turn_place(c, t) < 0)
		return -1;
	if (t->target.again) {
		again_open_send(c, t);
		turn_key_claim_send(c, t);
		return 0;
	}
	before = branch_window(c->a, &t->s.branch, t->s.branch.head, t->s.branch.head, &n);
	t->written = db_query(c, STMT_turn_open, P_INT(t->s.no), P_INT(t->s.branch_no), P_INT(t->segment), P_INT(t->floor_seq),
	    P_C(t->floor_id.s), P_STR(t->s.branch.id), n ? P_INT(before[0].segment) : P_NULL, P_C(t->input_page.s), P_C(t->message_id.s),
	    P_STR(t->q.message), P_INT(t->record.tokens), P_C(t->run_id.s), P_C(turn_run_type(t)), P_INT(c->now + t->p->conf.lease_ms), P_C(t->p->conf.worker),
	    P_C(t->continues ? "continue" : "abort"), P_STR(turn_config_print(t)), P_INT(c->now), P_STR(t->record.sent), P_STR(t->record.rolls), P_INT(t->s.history_floors));
	turn_key_claim_send(c, t);
	return 0;
}

int
turn_record_open(struct turn *t)
{
	if (db_tx(t->c, DB_WRITE, open_send, t) < 0)
		return -1;
	if (t->target.again ? written(t, "generation_target_stale", "the floor was changed by another request, or another branch shows it by now; read the branch's head and try again") < 0 :
			      written(t, "generation_conflict", "the branch was changed by another request; read its head and try again") < 0)
		return -1;
	t->run_no = row_int(t->written, 0);
	t->floor_no = row_int(t->written, 1);
	t->page_seq = 1;
	return t->target.again ? again_opened(t) : 0;
}

static struct str
summaries_print(struct turn *t)
{
	struct sb sb = sb_new(t->c->a);

	sb_addc(&sb, '[');
	for (size_t i = 0; i < t->said.summaries.n; i++) {
		sb_adds(&sb, i ? "," : "");
		sb_add_json(&sb, t->said.summaries.v[i]);
	}
	sb_addc(&sb, ']');
	return sb_str(&sb);
}

static struct str
usage_print(struct turn *t)
{
	const struct llm_usage *u = &t->result.usage;

	return str_c(arena_printf(t->c->a, "{\"prompt_tokens\":%lld,\"completion_tokens\":%lld,\"total_tokens\":%lld}", (long long)u->prompt,
	    (long long)u->completion, (long long)u->total));
}

/* A scan that began effects. */
static void
before_push(struct json *list, const struct json *past)
{
	const struct json *entries = json_get(past, "entries");
	struct json *kept = NULL;

	for (size_t i = 0; i < json_len(entries); i++) {
		const struct json *e = json_at(entries, i);

		if (!json_get_bool(e, "sticky", false) && !json_get_bool(e, "cooldown", false))
			continue;
		if (kept == NULL) {
			struct json *o = json_push_object(list);

			json_set_int(o, "messages", json_get_int(past, "messages", 0));
			kept = json_set_array(o, "entries");
		}
		json_push(kept, e);
	}
}

/* What began while the parts of a reply were made that now goes on: its record is that of the whole reply. */
static struct json *
before_of(struct arena *a, const struct turn *t)
{
	struct json *list = json_array(a);
	const struct json *older = json_get(t->head_activated, "before");

	for (size_t i = 0; t->goes_on && i < json_len(older); i++)
		before_push(list, json_at(older, i));
	if (t->goes_on)
		before_push(list, t->head_activated);
	return list;
}

/* Entries that the scan activated, as gather's past_read takes them. */
void
turn_activated_print(struct sb *out, const struct turn *t)
{
	const struct lore_past *p = &t->prompt->lore_past;
	const struct json *before = before_of(out->a, t);

	sb_addf(out, "{\"messages\":%lld,\"entries\":[", (long long)p->messages);
	for (size_t i = 0; i < p->n; i++) {
		sb_adds(out, i ? ",{\"book\":" : "{\"book\":");
		sb_add_json(out, p->v[i].book);
		sb_addf(out, ",\"uid\":%lld,\"hash\":%lld,\"sticky\":%s,\"cooldown\":%s}", (long long)p->v[i].uid, (long long)p->v[i].hash,
		    p->v[i].sticky_began ? "true" : "false", p->v[i].cooldown_began ? "true" : "false");
	}
	sb_addc(out, ']');
	if (json_len(before) > 0) {
		sb_adds(out, ",\"before\":");
		sb_add(out, json_text(out->a, before));
	}
	sb_addc(out, '}');
}

static struct str
row_array(struct arena *a, int64_t row)
{
	return row ? str_c(arena_printf(a, "{%lld}", (long long)row)) : STR("{}");
}

/* Nothing is kept of a turn that the persister never saw; it sees none that has left its list. */
static void
text_drop(struct ctx *c, struct turn *t)
{
	if (t->seen)
		db_query(c, STMT_run_text_drop, P_INT(t->run_no));
}

/* What the turn made of the branch's decision statements. */
static void
decisions_send(struct ctx *c, struct turn *t)
{
	if (t->prompt->decided)
		db_query(c, STMT_turn_decisions, P_INT(t->s.branch_no), P_STR(json_text(c->a, macro_decisions_json(c->a, t->s.decisions))),
		    P_C(t->output_page.s));
}

static int
commit_send(struct ctx *c, void *arg)
{
	struct turn *t = arg;
	const struct write_place at = { .session_no = t->s.no, .session_id = t->q.session_id, .branch_no = t->s.branch_no, .branch_id = t->s.branch.id,
		.segment_no = t->segment, .floor_seq = t->floor_seq, .page_id = str_c(t->output_page.s) };
	struct str reply = t->stored_reply.p ? t->stored_reply : t->said.visible;
	const struct llm_usage *u = &t->result.usage;
	const struct turn_record *k = &t->record;

	if (t->target.again)
		db_query(c, STMT_turn_switch, P_INT(t->run_no), P_INT(t->s.branch_no), P_INT(t->floor_seq), P_INT(t->floor_no));
	t->written = db_query(c, STMT_turn_commit, P_INT(t->s.branch_no), P_INT(t->floor_seq), P_INT(t->run_no), P_INT(t->floor_no),
	    P_C(t->output_page.s), P_INT(t->segment), P_C(t->output_message.s), P_STR(t->said.visible), P_STR(t->stored_reply),
	    P_INT((int64_t)token_count(t->tokens.encoding, reply)), t->result.reasoning.n ? P_STR(t->result.reasoning) : P_NULL,
	    P_STR(summaries_print(t)), P_STR(usage_print(t)), P_C(t->result.finish_reason), P_C(t->result.model ? t->result.model : t->llm.model),
	    P_INT(u->prompt), P_INT(u->completion), P_INT(c->now), P_INT(t->phase_seq), P_STR(t->q.session_id), P_INT(t->page_seq),
	    /* the record: which versions, what chance and clock, what was found */
	    t->s.preset.row ? P_INT(t->s.preset.row) : P_NULL, P_STR(row_array(c->a, t->s.worldbook.row)), P_STR(row_array(c->a, t->s.regex.row)),
	    t->s.character_doc ? P_INT(t->s.character_doc) : P_NULL, t->s.user_doc ? P_INT(t->s.user_doc) : P_NULL, P_INT((int64_t)t->in.seed),
	    P_INT(t->in.now), P_C(prompt_mode_name(t->s.mode)), P_STR(k->policy), P_STR(k->activated), P_STR(t->digest), P_INT(t->prompt->tokens),
	    P_STR(k->snapshot), P_STR(k->explain),
	    /* what the request can be made of again */
	    P_STR(k->frame_digest), P_STR(k->frame), P_STR(k->inputs), P_STR(turn_request_digest(t)), P_INT(t->s.no), P_STR(k->request));
	if (t->target.again)
		again_values_send(c, t);
	if (k->stored.n > 0)
		db_query(c, STMT_turn_stored, P_STR(k->stored));
	macro_writes_send(c, t->prompt->macros, &at);
	if (t->target.again && !str_is(t->target.state, "committed") && promotions_send(c, t, &at) < 0)
		return -1;
	decisions_send(c, t);
	turn_key_answer_send(c, t);
	text_drop(c, t);
	return 0;
}

int
turn_record_commit(struct turn *t)
{
	t->c->now = tm_now();
	return db_tx(t->c, DB_WRITE, commit_send, t) < 0 ? -1 : written(t, "commit_conflict", "the turn's branch or run changed while the model was writing");
}

static int
outcome_send(struct ctx *c, void *arg)
{
	struct turn *t = arg;

	t->written = db_query(c, STMT_turn_outcome, P_INT(t->run_no));
	return rows_next(t->written) > 0 ? 0 : -1;
}

bool
turn_record_committed(struct turn *t)
{
	return db_tx(t->c, DB_READ, outcome_send, t) == 0 && row_bool(t->written, 0);
}

static struct str
error_print(struct ctx *c, const struct err *e)
{
	struct sb sb = sb_new(c->a);

	sb_adds(&sb, "{\"code\":");
	sb_add_json(&sb, str_c(e->code));
	sb_adds(&sb, ",\"message\":");
	sb_add_json(&sb, str_c(e->msg));
	sb_addf(&sb, ",\"kind\":\"%s\"}", err_kind_name(e->kind)); /* for those who joined the turn by its key */
	return sb_str(&sb);
}

static int
fail_send(struct ctx *c, void *arg)
{
	struct turn *t = arg;

	db_query(c, STMT_turn_fail, P_INT(t->run_no), P_INT(t->floor_no), P_C(t->why.kind == ERR_CANCELLED ? "cancelled" : "failed"),
	    P_STR(error_print(c, &t->why)), P_INT(tm_now()), P_INT(t->phase_seq), P_C(t->output_page.s), P_STR(t->said.visible.p ? t->said.visible : STR("")),
	    P_C(t->output_message.s), P_INT(t->segment), P_INT(t->floor_seq), P_STR(t->q.session_id),
	    t->result.reasoning.n ? P_STR(t->result.reasoning) : P_NULL);
	text_drop(c, t);
	return 0;
}

int
turn_record_fail(struct turn *t)
{
	return db_tx(t->c, DB_WRITE, fail_send, t);
}
