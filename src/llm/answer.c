/*
 * answer: see answer.h. Reading is in the dialects' files; here is what all share: the three modes, the
 * channels, the calls, and the rules that turn what came into one record.
 */
#include "llm/answer.h"

#include "llm/dialect.h"
#include "llm/upstream_error.h"

#include "base/limits.h"
#include "base/utf8.h"

enum { ERROR_BODY_MAX = 1 << 16, SECRET_MIN = 8 };

void
llm_warn(struct arena *a, struct llm_warnings *w, const char *code)
{
	for (size_t i = 0; w && i < w->list.n; i++)
		if (strcmp(w->list.v[i], code) == 0)
			return;
	if (w)
		vec_push(a, &w->list, arena_strdup(a, str_c(code)));
}

void
answer_begin(struct answer *an, struct arena *keep, struct arena *tmp, const struct answer_opts *opts)
{
	*an = (struct answer){ .a = keep,
		.tmp = tmp,
		.opts = *opts,
		.think_on = opts->think && (!opts->dialect || opts->dialect->think_tags),
		.usage = { -1, -1, -1, -1, -1, -1 },
		.body = sb_new(keep),
		.text = { [CH_CONTENT] = sb_new(keep), [CH_REASONING] = sb_new(keep) },
		.error = { .message = "", .retry_after_ms = -1 } };
	think_begin(&an->think, keep, opts->think_open);
}

void
answer_begin_head(struct answer *an, const struct answer_begin_head *head)
{
	struct str type = str_trim(str_sub(head->content_type, 0, str_chr(head->content_type, ';', 0)));

	an->head = (struct answer_begin_head){ .status = head->status,
		.now = head->now,
		.content_type = arena_str(an->a, head->content_type),
		.retry_after = arena_str(an->a, head->retry_after),
		.retry_after_ms = arena_str(an->a, head->retry_after_ms),
		.should_retry = arena_str(an->a, head->should_retry) };
	if (head->status >= 300)
		an->mode = ANSWER_ERROR;
	else if (str_ieq(type, STR("text/event-stream")))
		an->mode = ANSWER_SSE;
	else if (str_ieq(type, STR("application/json")))
		an->mode = ANSWER_WHOLE;
	else
		an->mode = an->opts.stream ? ANSWER_SSE : ANSWER_WHOLE;
	if (an->mode == ANSWER_SSE)
		sse_in_begin(&an->sse, an->a, LIM_SSE_LINE);
}

void
answer_fail(struct answer *an, enum llm_error_kind kind, const char *code, const char *message)
{
	if (an->error.kind == LLM_OK)
		an->error = (struct llm_error){ .kind = kind,
			.code = code,
			.message = message,
			.retryable = upstream_retryable(kind, code),
			.retry_after_ms = -1,
			.status = an->mode == ANSWER_SSE ? 0 : an->head.status };
	an->done = true;
}

/* A server may say our key in its complaint about it. */
static const char *
redact(struct answer *an, const char *text)
{
	struct str s = str_c(text), secret = an->opts.secret;
	struct sb out;
	size_t at = 0, hit;

	if (!text || secret.n < SECRET_MIN || str_find(s, secret, 0) == STR_NPOS)
		return text;
	out = sb_new(an->a);
	while ((hit = str_find(s, secret, at)) != STR_NPOS) {
		sb_add(&out, str_sub(s, at, hit));
		sb_adds(&out, "****");
		at = hit + secret.n;
	}
	sb_add(&out, str_sub(s, at, s.n));
	return sb_c(&out);
}

static void
error_take(struct answer *an, struct llm_error e)
{
	an->done = true;
	if (an->error.kind != LLM_OK)
		return;
	an->error = e;
	an->error.code = redact(an, e.code);
	an->error.message = redact(an, e.message);
}

void
answer_error_json(struct answer *an, const struct json *body)
{
	error_take(
	    an, upstream_error_json(an->a, &an->head, an->mode == ANSWER_SSE ? 0 : an->head.status, body));
}

/* Text for a channel, decided: kept and told. */
static void
emit(struct answer *an, enum answer_channel ch, struct str text)
{
	if (text.n == 0 ||
	    (an->error.kind != LLM_OK && !an->ended)) /* at the end what was held back still counts */
		return;
	if (an->text[CH_CONTENT].n + an->text[CH_REASONING].n + text.n > an->opts.text_max) {
		answer_fail(an, LLM_PROTOCOL, "answer_too_large", "");
		return;
	}
	sb_add(&an->text[ch], text);
	if (an->opts.sink.text)
		an->opts.sink.text(an->opts.sink.arg, ch == CH_REASONING, text);
}

static void
retract(struct answer *an)
{
	struct str said = str_trim(sb_str(&an->text[CH_CONTENT]));
	struct sb *reasoning = &an->text[CH_REASONING];

	if (reasoning->n > 0 && said.n > 0)
		sb_adds(reasoning, "\n\n");
	sb_add(reasoning, said);
	sb_truncate(&an->text[CH_CONTENT], 0);
	if (an->opts.sink.retract)
		an->opts.sink.retract(an->opts.sink.arg);
}

static void
on_think(void *arg, enum think_what what, struct str text)
{
	struct answer *an = arg;

	if (what == THINK_RETRACT)
		retract(an);
	else
		emit(an, what == THINK_REASONING ? CH_REASONING : CH_CONTENT, text);
}

static void
pass(struct answer *an, enum answer_channel ch, struct str text)
{
	if (ch == CH_CONTENT && an->think_on)
		think_feed(&an->think, text, on_think, an);
	else
		emit(an, ch, text);
}

void
answer_text(struct answer *an, enum answer_channel ch, struct str piece)
{
	struct sb out = sb_new(an->tmp);

	if (piece.n == 0)
		return;
	clean_text(&an->join[ch], &out, piece);
	pass(an, ch, sb_str(&out));
}

void
answer_native_reasoning(struct answer *an)
{
	if (an->think_on)
		think_end(&an->think, on_think, an);
	an->think_on = false;
}

void
answer_finish(struct answer *an, const char *finish, struct str raw)
{
	an->finish = finish;
	an->finish_raw = arena_strdup(an->a, clean_whole(an->tmp, raw));
	an->terminal = true;
}

static struct tool_slot *
tool_find(struct answer *an, int64_t index, struct str id, struct str name)
{
	struct tool_slot *last = NULL;

	for (size_t i = an->tools.n; i-- > 0;) {
		struct tool_slot *t = &an->tools.v[i];

		if (index >= 0 ? t->index != index : id.n > 0 && !str_eq(t->id, id))
			continue;
		if (id.n > 0 && str_eq(t->id, id))
			return t;
		if (!last)
			last = t;
	}
	if (last && id.n > 0 && last->id.n > 0)
		return NULL; /* the same index for another call */
	if (last && index < 0 && id.n == 0 && name.n > 0 && last->name.n > 0)
		return NULL; /* nothing to tell calls apart but a second name */
	return last;
}

struct tool_slot *
answer_tool(struct answer *an, int64_t index, struct str id, struct str name)
{
	struct tool_slot *t = tool_find(an, index, id, name);

	if (!t && an->tools.n >= LIM_TOOL_CALLS) {
		answer_fail(an, LLM_PROTOCOL, "answer_too_large", "");
		return NULL;
	}
	if (!t) {
		t = vec_add(an->a, &an->tools);
		t->index = index;
		t->args = sb_new(an->a);
	}
	if (t->id.n == 0 && id.n > 0)
		t->id = clean_whole(an->a, id);
	if (t->name.n == 0 && name.n > 0)
		t->name = clean_whole(an->a, name);
	return t;
}

void
answer_tool_args(struct answer *an, struct tool_slot *slot, const struct json *args)
{
	struct str piece = json_type(args) == JSON_STRING ? json_str(args)
			   : args                         ? json_text(an->tmp, args)
							  : STR_NULL;

	if (slot->args.n + piece.n > an->opts.text_max)
		answer_fail(an, LLM_PROTOCOL, "answer_too_large", "");
	else
		clean_text(&slot->join, &slot->args, piece);
}

void
answer_detail(struct answer *an, const struct json *item)
{
	static const char *const keys[] = { "text", "summary", "data" };
	struct detail_slot *slot = NULL;
	struct json_iter it = { 0 };
	struct json *value;
	struct str key;

	if (json_type(item) != JSON_OBJECT)
		return;
	for (size_t i = an->details.n; i-- > 0 && json_has(item, "index") && !slot;)
		if (json_equal(json_get(an->details.v[i].item, "index"), json_get(item, "index")) &&
		    json_equal(json_get(an->details.v[i].item, "type"), json_get(item, "type")))
			slot = &an->details.v[i];
	if (!slot && an->details.n >= LIM_REASONING_DETAILS) {
		answer_fail(an, LLM_PROTOCOL, "answer_too_large", "");
		return;
	}
	if (!slot) {
		slot = vec_add(an->a, &an->details);
		slot->index = -1;
		slot->item = json_object(an->a);
		slot->text = sb_new(an->a);
	}
	while (json_next(item, &it, &key, &value)) {
		struct str text = json_str(value);
		const char *as = NULL;

		for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
			if (text.p && str_is(key, keys[i]))
				as = keys[i];
		if (as && (!slot->text_key || slot->text_key == as)) {
			slot->text_key = as;
			if (slot->text.n + text.n <= an->opts.text_max)
				clean_text(&slot->join, &slot->text, text);
		} else if (value || !json_has(slot->item, arena_strdup(an->tmp, key))) {
			json_set_s(slot->item, key, json_copy(an->a, value));
		}
	}
}

struct detail_slot *
answer_blob(struct answer *an, int64_t index, const struct json *item)
{
	struct detail_slot *slot;

	if (an->details.n >= LIM_REASONING_DETAILS) {
		answer_fail(an, LLM_PROTOCOL, "answer_too_large", "");
		return NULL;
	}
	slot = vec_add(an->a, &an->details);
	slot->index = index;
	slot->item = json_copy(an->a, item);
	slot->text = sb_new(an->a);
	return slot;
}

struct detail_slot *
answer_blob_find(struct answer *an, int64_t index)
{
	for (size_t i = an->details.n; i-- > 0;)
		if (an->details.v[i].index == index)
			return &an->details.v[i];
	return NULL;
}

void
answer_blob_text(struct answer *an, struct detail_slot *slot, const char *key, struct str piece)
{
	slot->text_key = key;
	if (slot->text.n + piece.n <= an->opts.text_max)
		clean_text(&slot->join, &slot->text, piece);
}

static bool
on_event(void *arg, const struct sse_event *ev)
{
	struct answer *an = arg;
	const struct dialect *d = an->opts.dialect;
	struct arena_mark mark = arena_mark(an->tmp);
	struct str text = clean_json(an->tmp, ev->data);
	struct json_error bad = { 0 };
	struct json *data = NULL;

	if (d->is_mark(text)) {
		d->delta(an, ev->name, text, NULL);
	} else {
		data = json_read(an->tmp, text, LIM_JSON_DEPTH, &bad);
		if (data)
			d->delta(an, ev->name, text, data);
		else if (str_is(ev->name, "error"))
			answer_error_json(an, json_string(an->tmp, text));
		else if (bad.what)
			answer_fail(an, LLM_PROTOCOL, "invalid_event", "");
	}
	arena_rewind(an->tmp, mark);
	return !an->done;
}

bool
answer_feed(struct answer *an, struct str bytes)
{
	size_t max = an->mode == ANSWER_ERROR ? ERROR_BODY_MAX : LIM_UPSTREAM_BODY;

	if (an->done || an->ended)
		return false;
	if (an->mode == ANSWER_SSE) {
		if (sse_in_feed(&an->sse, bytes, on_event, an) < 0)
			answer_fail(an, LLM_PROTOCOL, "answer_too_large", "");
	} else if (an->body.n + bytes.n <= max) {
		sb_add(&an->body, bytes);
	} else if (an->mode == ANSWER_ERROR) {
		an->done = true; /* enough to know what was wrong */
	} else {
		answer_fail(an, LLM_PROTOCOL, "answer_too_large", "");
	}
	return !an->done;
}

static void
whole_read(struct answer *an)
{
	struct arena_mark mark = arena_mark(an->tmp);
	struct str text = clean_json(an->tmp, sb_str(&an->body));
	struct json_error bad;
	struct json *body;

	if (str_trim(text).n == 0) {
		answer_fail(an, LLM_PROTOCOL, "empty_body", "");
		return;
	}
	body = json_read(an->tmp, text, LIM_JSON_DEPTH, &bad);
	if (!body)
		answer_fail(an, LLM_PROTOCOL, "invalid_json", "");
	else
		an->opts.dialect->final(an, body);
	if (body && !an->has_choice)
		answer_fail(an, LLM_PROTOCOL, "no_choices", "");
	an->terminal = true;
	arena_rewind(an->tmp, mark);
}

/* What is still held back is let go. */
static void
channels_end(struct answer *an)
{
	for (enum answer_channel ch = 0; ch < CH__COUNT; ch++) {
		struct sb rest = sb_new(an->tmp);

		clean_end(&an->join[ch], &rest);
		if (rest.n > 0)
			pass(an, ch, sb_str(&rest));
	}
	for (size_t i = 0; i < an->tools.n; i++)
		clean_end(&an->tools.v[i].join, &an->tools.v[i].args);
	for (size_t i = 0; i < an->details.n; i++)
		clean_end(&an->details.v[i].join, &an->details.v[i].text);
}

/* A think block that was never closed although the model had ended: that was the reply (A7, rule 6). */
static void
block_is_reply(struct answer *an)
{
	struct sb *reasoning = &an->text[CH_REASONING];
	size_t open = an->think.emitted - an->think.closed;
	struct str block = str_trim(str_sub(sb_str(reasoning), reasoning->n - open, reasoning->n));

	sb_add(&an->text[CH_CONTENT], block);
	sb_truncate(reasoning, str_trim(str_sub(sb_str(reasoning), 0, reasoning->n - open)).n);
	llm_warn(an->a, &an->warnings, "think_unclosed");
}

static void
finish_settle(struct answer *an)
{
	bool stop = an->finish && strcmp(an->finish, "stop") == 0;

	if (stop && an->refused)
		an->finish = "content_filter";
	else if (an->tools.n > 0 && (stop || !an->finish))
		an->finish = "tool_calls";
}

static void
emptiness_check(struct answer *an)
{
	if (an->tools.n > 0 || str_trim(sb_str(&an->text[CH_CONTENT])).n > 0)
		return;
	if (an->finish && strcmp(an->finish, "content_filter") == 0)
		answer_fail(an, LLM_CONTENT_FILTER, an->finish_raw, "");
	else if (an->finish && strcmp(an->finish, "pause") == 0)
		return;
	else if (str_trim(sb_str(&an->text[CH_REASONING])).n > 0)
		answer_fail(an, LLM_EMPTY, "reasoning_only", "");
	else
		answer_fail(an, LLM_EMPTY, "empty_reply", "");
	an->error.status = 0;
}

void
answer_end(struct answer *an)
{
	struct arena_mark mark = arena_mark(an->tmp);
	bool open;

	if (an->ended)
		return;
	if (an->mode == ANSWER_ERROR && an->error.kind == LLM_OK)
		error_take(an, upstream_error_body(an->a, &an->head, sb_str(&an->body)));
	else if (an->mode == ANSWER_WHOLE && an->error.kind == LLM_OK)
		whole_read(an);
	else if (!an->done && sse_in_end(&an->sse, on_event, an) < 0)
		answer_fail(an, LLM_PROTOCOL, "answer_too_large", "");
	an->ended = true;
	channels_end(an);
	open = an->think_on && think_end(&an->think, on_think, an);
	if (an->error.kind == LLM_OK && !an->terminal)
		answer_fail(an, LLM_NETWORK, "stream_truncated", "");
	arena_rewind(an->tmp, mark);
	if (an->error.kind != LLM_OK) {
		an->finish = NULL;
		return;
	}
	finish_settle(an);
	if (open && an->tools.n == 0 && an->finish && strcmp(an->finish, "stop") == 0)
		block_is_reply(an);
	emptiness_check(an);
}

static bool
is_object(struct arena *a, struct str text)
{
	struct json_error bad;

	return json_type(json_read(a, clean_json(a, text), LIM_JSON_DEPTH, &bad)) == JSON_OBJECT;
}

static void
result_tools(struct answer *an, struct arena *a, struct llm_result *out)
{
	if (an->tools.n == 0 || an->error.kind != LLM_OK)
		return;
	out->tool_calls = json_array(a);
	for (size_t i = 0; i < an->tools.n; i++) {
		const struct tool_slot *t = &an->tools.v[i];
		struct json *call = json_push_object(out->tool_calls);
		struct str args = str_trim(sb_str(&t->args)).n > 0 ? sb_str(&t->args) : STR("{}");

		json_set_str(call, "id", t->id.n > 0 ? t->id : str_c(arena_printf(a, "call_%zu", i + 1)));
		json_set_str(call, "name", t->name.p ? t->name : STR(""));
		json_set_str(call, "arguments", args);
		if (!is_object(a, args))
			json_set_bool(call, "invalid", true);
	}
}

static void
result_blobs(struct answer *an, struct arena *a, struct llm_result *out)
{
	struct json *blobs = json_array(a);

	for (size_t i = 0; i < an->details.n; i++) {
		const struct detail_slot *d = &an->details.v[i];
		struct json *item = json_copy(a, d->item);

		if (d->text_key)
			json_set_str(item, d->text_key, sb_str(&d->text));
		json_push(blobs, item);
	}
	for (size_t i = 0; i < an->tools.n; i++) {
		const struct tool_slot *t = &an->tools.v[i];
		struct json *blob;

		if (!t->signature.p)
			continue;
		blob = json_push_object(blobs);
		json_set_c(blob, "type", "tool_signature");
		json_set_str(blob, "call", t->id.n > 0 ? t->id : str_c(arena_printf(a, "call_%zu", i + 1)));
		json_set_str(blob, "data", t->signature);
	}
	out->blobs = json_len(blobs) > 0 ? blobs : NULL;
}

static const char *
copied(struct arena *a, const char *s)
{
	return s ? arena_strdup(a, str_c(s)) : NULL;
}

void
answer_result(struct answer *an, struct arena *a, struct llm_result *out)
{
	out->text = arena_str(a, sb_str(&an->text[CH_CONTENT]));
	out->reasoning = arena_str(a, sb_str(&an->text[CH_REASONING]));
	out->finish_reason = an->finish; /* a literal */
	out->finish_raw = copied(a, an->finish_raw);
	out->usage = an->usage;
	out->model = copied(a, an->model);
	out->response_id = copied(a, an->response_id);
	out->error = an->error;
	out->error.code = copied(a, an->error.code);
	out->error.message = copied(a, an->error.message);
	out->truncated = an->error.code && strcmp(an->error.code, "stream_truncated") == 0;
	result_tools(an, a, out);
	result_blobs(an, a, out);
	for (size_t i = 0; i < an->warnings.list.n; i++)
		llm_warn(a, &out->warnings, an->warnings.list.v[i]);
}
