/*
 * record: what a turn keeps so that its request can be made again: the settings that were in force (the frame, one row for all
 * turns that share it) and the turn's own inputs. Texts of messages and assets are not in it: they are named, and never change.
 * replay.c reads it.
 */
#include "turn/replay.h"

#include "base/digest.h"
#include "turn/turn_private.h"

#include <math.h>

#define READS_MAX 4096         /* variables of one turn */
#define READS_BYTES (64 << 10) /* of their values; what is over is taken from the log again */

/* ---- variables that were read ---- */

static bool
reads_get(void *arg, enum macro_view view, struct str name, struct macro_value *out)
{
	struct var_reads *r = arg;
	struct var_read one = { .view = view, .name = name };

	for (size_t i = 0; i < r->v.n; i++)
		if (r->v.v[i].view == view && str_eq(r->v.v[i].name, name)) {
			*out = r->v.v[i].value;
			return r->v.v[i].found;
		}
	one.found = r->under.get(r->under.ctx, view, name, &one.value);
	if (r->v.n < READS_MAX)
		vec_push(r->a, &r->v, one);
	if (one.found)
		*out = one.value;
	return one.found;
}

static const struct json *
reads_layer(void *arg, enum macro_scope scope)
{
	const struct var_reads *r = arg;

	return r->under.layer(r->under.ctx, scope);
}

struct macro_vars
turn_reads_watch(struct arena *a, struct var_reads *r, struct macro_vars under)
{
	*r = (struct var_reads){ .a = a, .under = under };
	return (struct macro_vars){ .get = reads_get, .layer = reads_layer, .ctx = r };
}

/* ---- decision statements: what was answered ---- */

void
turn_decide(void *arg, struct macro_turn *m, size_t from)
{
	struct turn *t = arg;

	t->p->conf.decide(t->p->conf.decide_arg, m, from);
	for (size_t i = from; i < m->ask.v.n; i++) {
		const struct macro_statement *s = &m->ask.v.v[i];
		struct macro_answer answer = macro_turn_lookup(m, s->choice, s->text);

		if (answer.kind != MACRO_UNANSWERED)
			vec_push(t->c->a, &t->answers, ((struct decided){ s->choice, s->text, answer }));
	}
}

/* ---- printing ---- */

static void
text_add(struct sb *out, const char *before, struct str s)
{
	sb_adds(out, before);
	sb_add_json(out, s);
}

static void
int_add(struct sb *out, const char *before, int64_t v)
{
	sb_adds(out, before);
	sb_add_int(out, v);
}

/* A stored column, or null. */
static void
raw_add(struct sb *out, const char *before, struct str raw)
{
	sb_adds(out, before);
	sb_add(out, raw.p ? raw : STR("null"));
}

void
turn_frame_print(struct sb *out, const struct turn *t)
{
	const struct turn_session *s = &t->s;

	sb_adds(out, "{\"v\":1");
	text_add(out, ",\"provider\":", str_c(t->llm.provider));
	text_add(out, ",\"model\":", str_c(t->llm.model));
	int_add(out, ",\"context\":", s->context_tokens);
	int_add(out, ",\"reply\":", s->reply_tokens);
	text_add(out, ",\"user_name\":", s->user_name);
	raw_add(out, ",\"model_params\":", s->raw[RAW_MODEL_PARAMS]);
	raw_add(out, ",\"settings\":", s->raw[RAW_SETTINGS]);
	raw_add(out, ",\"account_settings\":", s->raw[RAW_ACCOUNT_SETTINGS]);
	raw_add(out, ",\"policy\":", s->raw[RAW_POLICY]);
	raw_add(out, ",\"branch_policy\":", s->raw[RAW_BRANCH_POLICY]);
	raw_add(out, ",\"preset_choices\":", s->raw[RAW_PRESET_CHOICES]);
	raw_add(out, ",\"metadata\":", s->raw[RAW_METADATA]);
	sb_addc(out, '}');
}

/* Members of the request that an assembly reads. */
static void
body_add(struct sb *out, const struct turn *t)
{
	static const char *const names[] = { "prompt_intent", "generation_params", "structure", "delivery", "budget", "visibility", "source_selection" };
	bool first = true;

	sb_adds(out, ",\"body\":{");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const struct json *v = json_get(t->q.body, names[i]);

		if (v == NULL)
			continue;
		sb_addf(out, "%s\"%s\":", first ? "" : ",", names[i]);
		sb_add(out, json_text(out->a, v));
		first = false;
	}
	sb_addc(out, '}');
}

static void
ranges_add(struct sb *out, const struct branch *b)
{
	for (size_t i = 0; i < b->n; i++)
		int_add(out, i ? "," : ",\"segs\":[", b->segs[i]);
	for (size_t i = 0; i < b->n; i++)
		int_add(out, i ? "," : "],\"his\":[", b->his[i]);
	int_add(out, "],\"head\":", b->head);
}

/* Messages that the ranges below the floor do not give: those of the floor itself, and the one that was new. */
static void
own_add(struct sb *out, const struct turn *t)
{
	bool first = true;

	int_add(out, ",\"floor\":", t->floor_seq);
	sb_adds(out, ",\"own\":[");
	for (size_t i = 0; i < t->in.nhistory; i++) {
		const struct prompt_message *m = &t->in.history[i];
		const struct turn_twin *twin = turn_twin_of(t, m->no);

		if (m->floor_seq < t->floor_seq || m->no == 0)
			continue;
		text_add(out, first ? "" : ",", twin ? twin->copy_id : m->id);
		first = false;
	}
	sb_addc(out, ']');
	if (t->in.nhistory > 0 && t->in.history[t->in.nhistory - 1].no == 0)
		text_add(out, ",\"new\":", t->in.history[t->in.nhistory - 1].id);
	for (size_t i = 0; i < t->hidden.n; i++) {
		const struct turn_twin *twin = turn_twin_of(t, t->hidden.v[i]);

		int_add(out, i ? "," : ",\"hidden\":[", twin ? twin->copy_no : t->hidden.v[i]);
	}
	sb_adds(out, t->hidden.n ? "]" : "");
}

/* Older messages that this turn has stored something about: how they were before. [no, tokens, has a stored text, kept rolls] */
static void
before_add(struct sb *out, const struct turn *t)
{
	bool any = false;

	for (size_t i = 0; i < t->prompt->nstored; i++)
		for (size_t k = 0; t->prompt->stored[i].no != 0 && k < t->in.nhistory; k++) {
			const struct prompt_message *m = &t->in.history[k];
			const struct turn_twin *twin = turn_twin_of(t, m->no);

			if (m->no != t->prompt->stored[i].no)
				continue;
			int_add(out, any ? ",[" : ",\"before\":[[", twin ? twin->copy_no : m->no);
			sb_addf(out, ",%d,%d,%zu]", (int)m->tokens, m->stored.p != NULL, m->rolls ? m->rolls->v.n : 0);
			any = true;
		}
	sb_adds(out, any ? "]" : "");
}

/* [view, name, kind, value]: kind 0 not set, 1 a text, 2 JSON. */
static void
reads_add(struct sb *out, const struct var_reads *r)
{
	size_t from;

	sb_adds(out, ",\"vars\":[");
	from = out->n;
	for (size_t i = 0; i < r->v.n && out->n - from < READS_BYTES; i++) {
		const struct var_read *one = &r->v.v[i];

		sb_addf(out, "%s[%d,", i ? "," : "", (int)one->view);
		sb_add_json(out, one->name);
		sb_addf(out, ",%d", !one->found ? 0 : one->value.text.p ? 1 : 2);
		if (one->found && one->value.text.p)
			text_add(out, ",", one->value.text);
		else if (one->found)
			raw_add(out, ",", json_text(out->a, one->value.json));
		sb_addc(out, ']');
	}
	sb_addc(out, ']');
}

static void
timers_add(struct sb *out, const struct lore_timers *timers)
{
	for (size_t i = 0; i < timers->n; i++) {
		const struct lore_timer *k = &timers->v[i];

		text_add(out, i ? ",[" : ",\"timers\":[[", k->book);
		sb_addf(out, ",%lld,%lld,%d,%lld,%lld,%d]", (long long)k->uid, (long long)k->hash, (int)k->effect, (long long)k->start, (long long)k->end,
		    k->is_protected);
	}
	sb_adds(out, timers->n ? "]" : "");
}

static void
decisions_add(struct sb *out, const struct turn *t)
{
	if (t->prompt->decided == NULL)
		return;
	raw_add(out, ",\"decisions\":{\"state\":", t->s.decisions_text);
	text_add(out, ",\"model\":", t->decisions.model);
	sb_adds(out, ",\"answers\":[");
	for (size_t i = 0; i < t->answers.n; i++) {
		const struct decided *d = &t->answers.v[i];

		sb_addf(out, "%s[%d,", i ? "," : "", d->choice);
		sb_add_json(out, d->statement);
		sb_addf(out, ",%d,", (int)d->answer.kind);
		sb_add_json(out, d->answer.option);
		sb_addc(out, ']');
	}
	sb_adds(out, "]}");
}

static void
number_add(struct sb *out, const char *name, double v)
{
	if (isnan(v))
		return;
	sb_addf(out, ",\"%s\":", name);
	sb_add_double(out, v);
}

/* What was asked of the model beside the messages. */
void
turn_sent_print(struct sb *out, const struct turn *t)
{
	const struct llm_params *p = &t->llm.params;
	const struct {
		const char *name;
		double v;
	} numbers[] = {
		{ "temperature", p->temperature }, { "top_p", p->top_p }, { "frequency_penalty", p->frequency_penalty },
		{ "presence_penalty", p->presence_penalty }, { "min_p", p->min_p }, { "repetition_penalty", p->repetition_penalty }, { "top_a", p->top_a },
		{ "top_k", p->top_k < 0 ? LLM_UNSET : (double)p->top_k }, { "max_tokens", p->max_tokens < 0 ? LLM_UNSET : (double)p->max_tokens },
		{ "seed", p->seed < 0 ? LLM_UNSET : (double)p->seed },
	};

	text_add(out, "{\"provider\":", str_c(t->llm.provider));
	text_add(out, ",\"model\":", str_c(t->llm.model));
	sb_addf(out, ",\"stream\":%s", t->llm.stream ? "true" : "false");
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		number_add(out, numbers[i].name, numbers[i].v);
	if (p->reasoning_effort)
		text_add(out, ",\"reasoning_effort\":", str_c(p->reasoning_effort));
	for (size_t i = 0; i < p->stop_n; i++)
		text_add(out, i ? "," : ",\"stop\":[", p->stop[i]);
	sb_adds(out, p->stop_n ? "]}" : "}");
}

void
turn_inputs_print(struct sb *out, const struct turn *t)
{
	sb_addf(out, "{\"v\":%d,\"type\":%d", REPLAY_VERSION, (int)t->q.type);
	if (t->in.again)
		sb_adds(out, ",\"again\":true");
	body_add(out, t);
	ranges_add(out, &t->s.branch);
	own_add(out, t);
	before_add(out, t);
	if (t->in.users_before > 0)
		int_add(out, ",\"users\":", t->in.users_before);
	reads_add(out, &t->reads);
	timers_add(out, &t->in.lore_timers);
	decisions_add(out, t);
	sb_adds(out, ",\"sent\":");
	turn_sent_print(out, t);
	sb_addc(out, '}');
}

static bool
keeps_request(const struct turn *t)
{
	const struct json *own = json_get(t->s.settings, "keep_request");

	return json_bool(own ? own : json_get(t->s.account_settings, "keep_request"), false);
}

/* The call has counted the bytes that it sent; the provider without a model sends none, and keeps its messages. */
struct str
turn_request_digest(const struct turn *t)
{
	struct digest d = t->result.request;

	if (!t->result.requested)
		d = digest_sha256(turn_request_text(t->c->a, t));
	return digest_hex(t->c->a, &d);
}

/* The body as it goes over the wire: pure, so that it can be made again. */
struct str
turn_request_text(struct arena *a, const struct turn *t)
{
	return json_text(a, llm_body(a, &t->llm, NULL));
}

/* Prints into the arena of the assembly and keeps what has come of it. */
static struct str
printed(struct turn *t, void (*print)(struct sb *out, const struct turn *t))
{
	struct sb sb = sb_new(t->work);

	print(&sb, t);
	return arena_str(t->c->a, sb_str(&sb));
}

void
turn_record_make(struct turn *t)
{
	struct arena *a = t->c->a;
	struct turn_record *r = &t->record;
	struct digest d;

	r->snapshot = printed(t, turn_snapshot_print);
	r->explain = printed(t, turn_explain_print);
	r->frame = printed(t, turn_frame_print);
	d = digest_sha256(r->frame);
	r->frame_digest = digest_hex(a, &d);
	r->inputs = printed(t, turn_inputs_print);
	r->policy = arena_str(a, json_text(t->work, t->policy.said));
	r->activated = printed(t, turn_activated_print);
	r->stored = printed(t, turn_stored_print);
	if (keeps_request(t))
		r->request = turn_request_text(a, t);
}
