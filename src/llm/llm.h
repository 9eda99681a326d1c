/*
 * llm: calls to language models. The loop moves the bytes (one curl multi handle per process),
 * parses the provider's stream and hands text to a sink on the loop thread; the request thread
 * sleeps in llm_wait. Knows providers' wire formats (spec/models.md) and nothing of chats,
 * sessions or HTTP requests of ours.
 */
#ifndef LLM_LLM_H
#define LLM_LLM_H

#include "base/ctx.h"
#include "base/json.h"
#include "loop/loop.h"

struct llm;

struct llm_conf {
	int connect_ms, first_byte_ms, idle_ms, total_ms;  /* total 0 = none for streams */
	bool allow_private;                 /* private and loopback addresses for every base URL */
	const char *const *allow_hosts;     /* host[:port] allowed although private; NULL-terminated */
	size_t reply_max;                   /* bytes; LIM_REPLY */
};

struct llm *llm_create(struct loop *l, const struct llm_conf *conf);
void llm_destroy(struct llm **m);

struct llm_message {
	const char *role;                   /* system | user | assistant | tool */
	struct str content;
	struct str name;                    /* absent = none */
	struct json *extra;                 /* further members (tool_calls …) or NULL */
};

struct llm_params {
	double temperature, top_p, frequency_penalty, presence_penalty, min_p, repetition_penalty, top_a; /* NAN = not sent */
	int64_t top_k, max_tokens, seed;    /* -1 = not sent */
	const struct str *stop;
	size_t stop_n;
	const char *reasoning_effort;       /* NULL = not sent */
	const struct json *extra;           /* members merged into the body last; NULL = none */
};

struct llm_request {
	const char *provider;               /* "echo", "openai-compatible" … row of llm_providers */
	const char *dialect;                /* "chat_completions" …; NULL = the provider's default */
	const char *base_url, *api_key, *model;
	const struct llm_message *messages;
	size_t message_n;
	struct llm_params params;
	const struct json *tools;           /* NULL = none */
	bool stream;                        /* ask the provider for a stream */
};

/* Text as it comes, whole UTF-8 characters, on the loop thread. */
struct llm_sink {
	void (*text)(void *arg, bool reasoning, struct str delta);
	void *arg;
};

struct llm_usage {
	int64_t prompt, completion, total, reasoning, cached; /* -1 = not told */
};

struct llm_result {
	struct str text, reasoning;         /* in the ctx's arena */
	const char *finish_reason;          /* "stop", "length", "tool_calls", "content_filter"; NULL = not told */
	struct llm_usage usage;
	struct json *tool_calls;            /* array or NULL */
	const char *model;                  /* as the provider named it; NULL */
	const char *response_id;
	bool truncated;                     /* the stream ended without its terminator but with a finish reason or text */
	int64_t first_ms, total_ms;         /* to the first text, to the end */
};

struct llm_call;

/*
 * Begins a call. Never NULL: what fails at once (bad URL, refused address) shows in llm_wait. The request's strings and
 * the body that is built live in c's arena until the call ends.
 */
struct llm_call *llm_begin(struct llm *m, struct ctx *c, const struct llm_request *q, const struct llm_sink *sink);
/*
 * Sleeps until the call has ended; frees it. 0 and *out; -1 with ERR_UPSTREAM `upstream_error` (provider's
 * status and text in details), ERR_TIMEOUT, ERR_CANCELLED (llm_cancel), ERR_INVALID `ssrf_blocked`. What had
 * been said before the failure is in *out too.
 */
int llm_wait(struct llm_call *call, struct llm_result *out);
void llm_cancel(struct llm_call *call, const char *why);   /* any thread, before llm_wait has returned */

/* The outgoing body as JSON: pure; used by the call, by dry-run and by the vectors. */
struct json *llm_body(struct arena *a, const struct llm_request *q);

/* Checks a base URL's form and, resolving it, every address; -1 records ERR_INVALID `ssrf_blocked` or `invalid_url`. */
int llm_check_url(struct ctx *c, const struct llm_conf *conf, const char *url);

/* One bounded GET or POST over the same loop and address rules (JWKS, model lists): body in the arena. */
int llm_fetch(struct llm *m, struct ctx *c, const char *url, const char *bearer, size_t max, struct str *body_out);

#endif
