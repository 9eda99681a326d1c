/*
 * upstream_error: see upstream_error.h. Words and phrases are tables; the first row that fits decides.
 */
#include "llm/upstream_error.h"

#include "base/limits.h"
#include "base/tm.h"
#include "base/utf8.h"

#include <stdio.h>

enum {
	PAGE_RUNES = 200,
	DELAY_MAX_S = 1000000,
	RETRY_FIRST_MS = 500,
	RETRY_DOUBLINGS = 5,
	RETRY_MAX_MS = 8000,
	RETRY_TOLD_MAX_MS = 60000
};

/* clang-format off */
static const struct kind_row {
	const char *name;
	bool retry;
} kinds[LLM_ERROR__COUNT] = {
	[LLM_OK] =                  { "ok", false },
	[LLM_AUTH] =                { "auth", false },
	[LLM_PERMISSION] =          { "permission", false },
	[LLM_QUOTA] =               { "quota", false },
	[LLM_NOT_FOUND] =           { "not_found", false },
	[LLM_INVALID_REQUEST] =     { "invalid_request", false },
	[LLM_CONTEXT_OVERFLOW] =    { "context_overflow", false },
	[LLM_TOO_LARGE] =           { "too_large", false },
	[LLM_RATE_LIMIT] =          { "rate_limit", true },
	[LLM_OVERLOADED] =          { "overloaded", true },
	[LLM_SERVER] =              { "server", true },
	[LLM_TIMEOUT] =             { "timeout", true },
	[LLM_CONFLICT] =            { "conflict", true },
	[LLM_NETWORK] =             { "network", true },
	[LLM_PROTOCOL] =            { "protocol", false },
	[LLM_CONTENT_FILTER] =      { "content_filter", false },
	[LLM_EMPTY] =               { "empty", false },
	[LLM_MALFORMED_TOOL_CALL] = { "malformed_tool_call", true },
	[LLM_CANCELLED] =           { "cancelled", false },
};

/* Codes whose retry differs from their kind's. */
static const struct {
	const char *code;
	bool retry;
} retry_codes[] = {
	{ "empty_body", true },
	{ "empty_reply", true },
};

static const struct {
	int status;
	enum llm_error_kind kind;
} by_status[] = {
	{ 401, LLM_AUTH },
	{ 402, LLM_QUOTA },
	{ 403, LLM_PERMISSION },
	{ 404, LLM_NOT_FOUND },
	{ 408, LLM_TIMEOUT },
	{ 409, LLM_CONFLICT },
	{ 413, LLM_TOO_LARGE },
	{ 429, LLM_RATE_LIMIT },
	{ 503, LLM_OVERLOADED },
	{ 504, LLM_TIMEOUT },
	{ 529, LLM_OVERLOADED },
};

/* What a server's code means whatever the status is (`always`), or when there is no status to go by. */
static const struct {
	const char *word;           /* compared without case; a trailing * takes any rest */
	enum llm_error_kind kind;
	bool always;
} by_code[] = {
	{ "context_length_exceeded", LLM_CONTEXT_OVERFLOW, true },
	{ "context_window_exceeded", LLM_CONTEXT_OVERFLOW, true },
	{ "exceed_context_size*", LLM_CONTEXT_OVERFLOW, true },
	{ "insufficient_quota", LLM_QUOTA, true },
	{ "insufficient_balance", LLM_QUOTA, true },
	{ "billing*", LLM_QUOTA, true },
	{ "invalid_api_key", LLM_AUTH, true },
	{ "api_key_invalid", LLM_AUTH, true },
	{ "authentication_error", LLM_AUTH, true },
	{ "model_not_found", LLM_NOT_FOUND, true },
	{ "failed_precondition", LLM_PERMISSION, true },
	{ "overloaded*", LLM_OVERLOADED, true },
	{ "insufficient_system_resource", LLM_OVERLOADED, true },
	{ "content_filter", LLM_CONTENT_FILTER, true },
	{ "rate_limit*", LLM_RATE_LIMIT, false },
	{ "resource_exhausted", LLM_RATE_LIMIT, false },
	{ "unavailable", LLM_OVERLOADED, false },
	{ "permission*", LLM_PERMISSION, false },
	{ "not_found*", LLM_NOT_FOUND, false },
	{ "request_too_large", LLM_TOO_LARGE, false },
	{ "timeout*", LLM_TIMEOUT, false },
	{ "deadline_exceeded", LLM_TIMEOUT, false },
	{ "invalid*", LLM_INVALID_REQUEST, false },
	{ "bad_request*", LLM_INVALID_REQUEST, false },
	{ "badrequest*", LLM_INVALID_REQUEST, false },
};

/* Phrases of messages, lower case, with the statuses they may come with (0, 0 = any). */
static const struct {
	const char *phrase;
	enum llm_error_kind kind;
	int from, to;
} by_phrase[] = {
	{ "maximum context length", LLM_CONTEXT_OVERFLOW, 400, 499 },
	{ "context length", LLM_CONTEXT_OVERFLOW, 400, 499 },
	{ "context size", LLM_CONTEXT_OVERFLOW, 400, 499 },
	{ "context window", LLM_CONTEXT_OVERFLOW, 400, 499 },
	{ "prompt is too long", LLM_CONTEXT_OVERFLOW, 400, 499 },
	{ "exceeds the maximum number of tokens", LLM_CONTEXT_OVERFLOW, 400, 499 },
	{ "exceeded your current quota", LLM_QUOTA, 0, 0 },
	{ "insufficient balance", LLM_QUOTA, 0, 0 },
	{ "insufficient credits", LLM_QUOTA, 0, 0 },
	{ "credit balance is too low", LLM_QUOTA, 0, 0 },
	{ "spend limit", LLM_QUOTA, 0, 0 },
	{ "spending limit", LLM_QUOTA, 0, 0 },
	{ "api key not valid", LLM_AUTH, 400, 403 },
	{ "incorrect api key", LLM_AUTH, 400, 403 },
	{ "invalid api key", LLM_AUTH, 400, 403 },
};
/* clang-format on */

#define COUNT(table) (sizeof(table) / sizeof(*(table)))

const char *
llm_error_kind_name(enum llm_error_kind k)
{
	return (size_t)k < LLM_ERROR__COUNT ? kinds[k].name : "unknown";
}

bool
upstream_retryable(enum llm_error_kind kind, const char *code)
{
	for (size_t i = 0; code && i < COUNT(retry_codes); i++)
		if (strcmp(code, retry_codes[i].code) == 0)
			return retry_codes[i].retry;
	return kinds[kind].retry;
}

int64_t
llm_retry_ms(const struct llm_error *e, int attempt, double chance)
{
	int64_t ms = attempt < RETRY_DOUBLINGS ? RETRY_FIRST_MS << (attempt - 1) : RETRY_MAX_MS;

	if (!e->retryable || (attempt > 1 && (e->kind == LLM_EMPTY || e->kind == LLM_MALFORMED_TOOL_CALL)))
		return -1;
	if (e->retry_after_ms >= 0)
		return e->retry_after_ms <= RETRY_TOLD_MAX_MS ? e->retry_after_ms : -1;
	return ms - (int64_t)((double)ms * chance / 4);
}

static int64_t
delay_ms(struct str seconds)
{
	double s;

	if (!str_double(str_trim(seconds), &s) || s < 0)
		return -1;
	return (int64_t)((s > DELAY_MAX_S ? DELAY_MAX_S : s) * 1000);
}

/* "Wed, 21 Oct 2026 07:28:00 GMT" as milliseconds; -1 if it is no such date. */
static int64_t
http_date(struct str s)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	char text[40], month[4];
	const char *at;
	struct tm_civil c = { .hour = 0 };

	if (s.n == 0 || s.n >= sizeof text)
		return -1;
	memcpy(text, s.p, s.n);
	text[s.n] = '\0';
	if (sscanf(text, "%*3s, %2d %3s %4d %2d:%2d:%2d GMT", &c.day, month, &c.year, &c.hour, &c.minute,
		&c.second) != 6 ||
	    !(at = strstr(months, month)) || (at - months) % 3 != 0)
		return -1;
	c.month = (int)(at - months) / 3 + 1;
	return tm_from_civil(tm_zone_utc(), &c);
}

int64_t
upstream_retry_after(const struct answer_begin_head *h)
{
	int64_t ms, date;
	double told;

	if (str_double(str_trim(h->retry_after_ms), &told) && told >= 0)
		return (int64_t)(told > DELAY_MAX_S * 1e3 ? DELAY_MAX_S * 1e3 : told);
	if (!h->retry_after.p)
		return -1;
	ms = delay_ms(h->retry_after);
	if (ms >= 0)
		return ms;
	date = http_date(str_trim(h->retry_after));
	return date < 0 ? -1 : date > h->now ? date - h->now : 0;
}

/* Text of a web page: tags, scripts and styles taken out, blanks folded, cut. */
static struct str
page_text(struct arena *a, struct str s)
{
	struct sb out = sb_new(a);
	size_t runes = 0;

	s = utf8_clean(a, s);
	for (size_t at = 0; at < s.n && runes < PAGE_RUNES;) {
		struct str rest = str_sub(s, at, s.n);
		size_t from = at;
		uint32_t rune;

		if (rest.p[0] == '<' && rest.n > 1 &&
		    (rest.p[1] == '/' || rest.p[1] == '!' || rune_is_letter((unsigned char)rest.p[1]))) {
			bool script = str_ieq(str_sub(rest, 0, 7), STR("<script")),
			     style = str_ieq(str_sub(rest, 0, 6), STR("<style"));
			size_t end = script  ? str_find(rest, STR("</script"), 1)
				     : style ? str_find(rest, STR("</style"), 1)
					     : 0;

			end = end == STR_NPOS ? end : str_chr(rest, '>', end);
			at = end == STR_NPOS ? s.n : at + end + 1;
			if (out.n > 0 && out.p[out.n - 1] != ' ')
				sb_addc(&out, ' ');
			continue;
		}
		rune = utf8_next(s, &at);
		if (!rune_is_space(rune)) {
			sb_add(&out, str_sub(s, from, at));
			runes++;
		} else if (out.n > 0 && out.p[out.n - 1] != ' ') {
			sb_addc(&out, ' ');
			runes++;
		}
	}
	return str_trim(sb_str(&out));
}

/* The parts of an error, wherever the vendor puts them. */
struct parts {
	struct str code, type, message;
	int64_t number; /* numeric code; 0 = none */
	const struct json *details;
};

static void
parts_take(struct parts *p, struct arena *a, const struct json *o)
{
	const struct json *code = json_get(o, "code"), *message = json_get(o, "message");

	p->message = json_type(message) == JSON_STRING ? json_str(message)
		     : message                         ? json_text(a, message)
						       : STR("");
	p->code = json_str(code);
	p->number = json_int(code, 0);
	p->type = json_get_str(o, "type");
	if (!p->type.p)
		p->type = json_get_str(o, "status");
	p->details = json_get(o, "details");
}

static bool
parts_find(struct parts *p, struct arena *a, const struct json *body)
{
	const struct json *error, *detail;

	if (json_type(body) == JSON_ARRAY)
		body = json_at(body, 0);
	if (json_type(body) == JSON_STRING)
		p->message = json_str(body);
	if (json_type(body) != JSON_OBJECT)
		return json_type(body) == JSON_STRING;
	error = json_get(body, "error");
	detail = json_get(body, "detail");
	if (json_type(error) == JSON_OBJECT) {
		parts_take(p, a, error);
	} else if (json_type(error) == JSON_STRING) {
		parts_take(p, a, body);
		p->message = json_str(error);
	} else if (json_get_str(body, "message").p) {
		parts_take(p, a, body);
		if (str_is(p->type, "error"))
			p->type = STR_NULL;
	} else if (detail) {
		p->message = json_type(detail) == JSON_STRING ? json_str(detail) : json_text(a, detail);
	} else {
		return false;
	}
	return true;
}

static bool
word_is(struct str code, const char *word)
{
	struct str w = str_c(word);

	if (w.p[w.n - 1] != '*')
		return str_ieq(code, w);
	return str_ieq(str_sub(code, 0, w.n - 1), str_sub(w, 0, w.n - 1));
}

static enum llm_error_kind
kind_by_code(struct str code, bool any)
{
	for (size_t i = 0; code.n > 0 && i < COUNT(by_code); i++)
		if ((any || by_code[i].always) && word_is(code, by_code[i].word))
			return by_code[i].kind;
	return LLM_OK;
}

static enum llm_error_kind
kind_by_phrase(struct arena *a, int status, struct str message)
{
	struct str lower = utf8_lower(a, message);

	for (size_t i = 0; i < COUNT(by_phrase); i++)
		if ((status == 0 || by_phrase[i].to == 0 ||
			(status >= by_phrase[i].from && status <= by_phrase[i].to)) &&
		    str_find(lower, str_c(by_phrase[i].phrase), 0) != STR_NPOS)
			return by_phrase[i].kind;
	return LLM_OK;
}

static enum llm_error_kind
kind_by_status(int status)
{
	for (size_t i = 0; i < COUNT(by_status); i++)
		if (by_status[i].status == status)
			return by_status[i].kind;
	return status >= 400 && status < 500 ? LLM_INVALID_REQUEST : LLM_SERVER;
}

/* Google names a used-up day in a list of violations, and the reason of a refused key beside it. */
static enum llm_error_kind
kind_by_details(const struct json *details, int64_t *delay)
{
	enum llm_error_kind kind = LLM_OK;

	for (size_t i = 0; i < json_len(details); i++) {
		const struct json *d = json_at(details, i), *violations = json_get(d, "violations");
		struct str wait = json_get_str(d, "retryDelay");

		if (str_is(json_get_str(d, "reason"), "API_KEY_INVALID"))
			kind = LLM_AUTH;
		for (size_t v = 0; v < json_len(violations); v++)
			if (str_find(json_get_str(json_at(violations, v), "quotaId"), STR("PerDay"), 0) !=
			    STR_NPOS)
				kind = LLM_QUOTA;
		if (str_ends(wait, STR("s")) && *delay < 0)
			*delay = delay_ms(str_sub(wait, 0, wait.n - 1));
	}
	return kind;
}

static enum llm_error_kind
kind_find(struct arena *a, int status, const struct parts *p, int64_t *delay)
{
	enum llm_error_kind kind =
	    kind_by_details(json_type(p->details) == JSON_ARRAY ? p->details : NULL, delay);

	if (kind == LLM_OK && status == 402)
		kind = LLM_QUOTA;
	if (kind == LLM_OK)
		kind = kind_by_code(p->code, false);
	if (kind == LLM_OK)
		kind = kind_by_code(p->type, false);
	if (kind == LLM_OK)
		kind = kind_by_phrase(a, status, p->message);
	if (kind == LLM_OK && status == 0)
		kind = kind_by_code(p->code, true);
	if (kind == LLM_OK && status == 0)
		kind = kind_by_code(p->type, true);
	return kind == LLM_OK ? kind_by_status(status) : kind;
}

static struct llm_error
error_make(struct arena *a, const struct answer_begin_head *h, int shown, int status, const struct parts *p)
{
	struct llm_error e = { .status = shown, .retry_after_ms = upstream_retry_after(h) };
	struct str message = str_sub(p->message, 0, LIM_UPSTREAM_ERROR);

	e.kind = kind_find(a, status, p, &e.retry_after_ms);
	if (p->code.n > 0)
		e.code = arena_strdup(a, str_sub(clean_whole(a, p->code), 0, PAGE_RUNES));
	else if (p->type.n > 0)
		e.code = arena_strdup(a, str_sub(clean_whole(a, p->type), 0, PAGE_RUNES));
	else if (p->number != 0)
		e.code = arena_printf(a, "%lld", (long long)p->number);
	message = clean_whole(a, message);
	e.message = arena_strdup(a, str_sub(message, 0, utf8_whole(message)));
	e.retryable = upstream_retryable(e.kind, e.code);
	if (h->should_retry.n > 0)
		e.retryable = str_ieq(h->should_retry, STR("true"));
	return e;
}

struct llm_error
upstream_error_json(struct arena *a, const struct answer_begin_head *h, int status, const struct json *body)
{
	struct parts p = { .message = STR("") };
	int told;

	if (!parts_find(&p, a, body))
		p.message = json_text(a, body);
	told = p.number >= 400 && p.number < 600 ? (int)p.number : 0;
	return error_make(a, h, status, told, &p);
}

struct llm_error
upstream_error_body(struct arena *a, const struct answer_begin_head *h, struct str body)
{
	struct parts p = { .message = STR("") };
	struct json_error bad;

	if (h->status < 400)
		return (struct llm_error){ .kind = LLM_PROTOCOL,
			.status = h->status,
			.code = "redirect_refused",
			.message = "",
			.retry_after_ms = -1 };
	if (!parts_find(&p, a, json_read(a, clean_json(a, body), LIM_JSON_DEPTH, &bad)))
		p.message = page_text(a, body);
	return error_make(a, h, h->status, h->status, &p);
}
