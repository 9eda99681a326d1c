/*
 * llm: calls to language models. The loop moves the bytes (one curl multi handle per process),
 * parses the provider's stream and hands text to a sink on the loop thread; the request thread
 * sleeps in llm_wait. Knows providers' wire formats (spec/models.md) and nothing of chats,
 * sessions or HTTP requests of ours.
 */
#ifndef LLM_LLM_H
#define LLM_LLM_H

#include "base/ctx.h"
#include "base/digest.h"
#include "base/json.h"
#include "base/vec.h"
#include "loop/loop.h"

#include <math.h>
#include <netdb.h>

struct llm;

struct llm_conf {
	int connect_ms, first_byte_ms, idle_ms, total_ms;  /* total 0 = none for streams */
	bool allow_private;                 /* private and loopback addresses for every base URL */
	const char *const *allow_hosts;     /* host[:port] allowed although private; NULL-terminated */
	const char *ca_file;                /* PEM; NULL = the system's certificate authorities */
	/* Asks for a name's addresses; NULL = getaddrinfo. Not waited for longer than connect_ms. */
	int (*lookup)(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **list);
	size_t reply_max;                   /* bytes; LIM_REPLY */
};

/* One per process, after the fork; destroyed when no call is open. */
struct llm *llm_create(struct loop *l, const struct llm_conf *conf);
void llm_destroy(struct llm **m);

struct llm_message {
	const char *role;                   /* system | user | assistant | tool */
	struct str content;
	struct str name;                    /* absent = none; characters the wire refuses are replaced */
	bool prefill;                       /* last message: the beginning of the reply, to be carried on */
	struct str reasoning;               /* assistant: goes back only to models that want it */
	const struct json *tool_calls;      /* assistant: [{id, name, arguments}] as in llm_result, or NULL */
	struct str tool_call_id;            /* tool: which call this answers */
	struct str model;                   /* assistant: who wrote it; its blobs go back to no other. absent = the same */
	const struct json *blobs;           /* assistant: of llm_result, in place before text and calls; NULL = none */
	const struct json *extra;           /* further members, copied as they are, or NULL */
};

struct llm_params {
	double temperature, top_p, frequency_penalty, presence_penalty, min_p, repetition_penalty, top_a; /* LLM_UNSET = not sent */
	int64_t top_k, max_tokens, seed;    /* -1 = not sent */
	int64_t thinking_budget;            /* tokens; 0 = off where the model can; -1 = not said */
	const struct str *stop;
	size_t stop_n;
	const char *reasoning_effort;       /* NULL = not sent */
	const struct json *extra;           /* members merged into the body last; NULL = none */
};

#define LLM_UNSET ((double)NAN)
/* Nothing sent: where every caller starts. */
#define LLM_PARAMS_NONE \
	((struct llm_params){ .temperature = LLM_UNSET, .top_p = LLM_UNSET, .frequency_penalty = LLM_UNSET, .presence_penalty = LLM_UNSET, \
	    .min_p = LLM_UNSET, .repetition_penalty = LLM_UNSET, .top_a = LLM_UNSET, .top_k = -1, .max_tokens = -1, .seed = -1, .thinking_budget = -1 })

struct llm_request {
	const char *provider;               /* "echo", "openai-compatible" … row of llm_providers */
	const char *dialect;                /* "chat_completions" …; NULL = the provider's default */
	const char *base_url, *api_key, *model;
	const struct llm_message *messages;
	size_t message_n;
	struct str body;                    /* by llm_request_make: sent instead of what messages, params and tools say; absent = made by the call */
	struct llm_params params;
	const struct json *tools;           /* [{name, description, parameters}]; NULL = none */
	bool stream;                        /* ask the provider for a stream */
	const struct json *caps;            /* overrides of the model's capability row (models.md C); NULL = none */
	bool think_off;                     /* leave think tags in the text */
	bool think_open;                    /* the server's prompt template has opened the think block already */
	int idle_ms, total_ms;              /* this call's own; 0 = the configured ones */
};

/*
 * Text as it comes, whole UTF-8 characters, on the loop thread. `retract`: all content so far was reasoning (a closing
 * think tag came whose opener was in the prompt); NULL = not interested.
 */
struct llm_sink {
	void (*text)(void *arg, bool reasoning, struct str delta);
	void (*retract)(void *arg);
	void *arg;
};

/* -1 = not told. `prompt` includes cached tokens, `completion` includes reasoning. */
struct llm_usage {
	int64_t prompt, completion, total, reasoning, cached, cache_write;
};

enum llm_error_kind {
	LLM_OK, LLM_AUTH, LLM_PERMISSION, LLM_QUOTA, LLM_NOT_FOUND, LLM_INVALID_REQUEST, LLM_CONTEXT_OVERFLOW,
	LLM_TOO_LARGE, LLM_RATE_LIMIT, LLM_OVERLOADED, LLM_SERVER, LLM_TIMEOUT, LLM_CONFLICT, LLM_NETWORK,
	LLM_PROTOCOL, LLM_CONTENT_FILTER, LLM_EMPTY, LLM_MALFORMED_TOOL_CALL, LLM_CANCELLED, LLM_ERROR__COUNT
};
const char *llm_error_kind_name(enum llm_error_kind k); /* "auth", "rate_limit", … */

/* Why a call failed (models.md A9). Retry only before the first text and as often as the profile allows. */
struct llm_error {
	enum llm_error_kind kind;
	int status;                         /* HTTP status of the answer; 0 = there was none, or it came inside a stream */
	const char *code, *message;         /* the server's; NULL and "" if it said none */
	bool retryable;
	int64_t retry_after_ms;             /* -1 = not told */
};

/*
 * Milliseconds to wait before the same request is sent again after its `attempt`-th try (from 1) has failed like that; -1 =
 * it is not. chance in [0, 1) spreads clients. The caller's to know: nothing of the reply was shown, tries are left.
 */
int64_t llm_retry_ms(const struct llm_error *e, int attempt, double chance);

/* What had to be changed in a request or was odd in an answer: codes such as "param_dropped:stop". */
struct llm_warnings {
	VEC(const char *) list;             /* no code twice */
};

struct llm_result {
	struct str text, reasoning;         /* in the ctx's arena */
	const char *finish_reason;          /* "stop", "length", "tool_calls", "content_filter"; NULL = not told */
	struct llm_usage usage;
	const char *finish_raw;             /* the server's own word */
	struct json *tool_calls;            /* [{id, name, arguments, invalid?}] or NULL; NULL after an error */
	struct json *blobs;                 /* opaque items to send back unchanged to the same model; NULL = none */
	struct llm_warnings warnings;
	struct llm_error error;
	const char *model;                  /* as the provider named it; NULL */
	const char *response_id;
	bool truncated;                     /* the stream ended without its terminator but with a finish reason or text */
	int64_t first_ms, total_ms;         /* to the first text, to the end */
	bool requested;                     /* a body was made, and … */
	struct digest request;              /* … this is its SHA-256 */
};

struct llm_call;

/*
 * Begins a call; resolves the host first (blocks up to connect_ms). Never NULL: what fails at once (bad
 * URL, refused address) shows in llm_wait. The call keeps its own copy of all it needs: the request and c's arena may
 * be dropped or rewound as soon as this has returned. The body's memory is given back once it has been sent.
 */
struct llm_call *llm_begin(struct llm *m, struct ctx *c, const struct llm_request *q, const struct llm_sink *sink);
/*
 * Sleeps until the call has ended; frees it. 0 and *out; -1 with ERR_UPSTREAM `upstream_error` (provider's
 * status and text in details), ERR_TIMEOUT, ERR_CANCELLED (llm_cancel), ERR_INVALID `ssrf_blocked`. What had
 * been said before the failure is in *out too.
 */
int llm_wait(struct llm_call *call, struct llm_result *out);
/* A further reference, so that another thread may cancel without racing llm_wait's end; given back by llm_drop. */
void llm_hold(struct llm_call *call);
void llm_drop(struct llm_call *call);
void llm_cancel(struct llm_call *call, const char *why);   /* any thread, before llm_wait has returned or while held */

/* Does that wire format take system text in a field of its own, and no names of speakers? The assembly must know. */
bool llm_system_apart(const struct llm_request *q);

/* The outgoing body as JSON, in a's life: pure; used by the call, by dry-run and by the vectors. warnings may be NULL. */
struct json *llm_body(struct arena *a, const struct llm_request *q, struct llm_warnings *warnings);

/*
 * Makes the body now, in an arena of its own that the caller destroys when it is not sent again: the request's messages and tools may go.
 * NULL, and nothing changes, for a provider to whom nothing is sent. What had to be changed for it is not told again by the call.
 */
struct arena *llm_request_make(struct llm_request *q);

/* Checks a base URL's form and, resolving it, every address; -1 records ERR_INVALID `ssrf_blocked` or `invalid_url`. */
int llm_check_url(struct ctx *c, const struct llm_conf *conf, const char *url);

struct llm_source {
	const char *url;
	const char *bearer;  /* NULL = none */
	bool own;            /* named by the operator: private addresses are allowed */
};
/*
 * One GET over the same loop and address rules (JWKS, model lists); the body goes to *body_out in
 * c's arena; more than max bytes, a status other than 200 or a redirect is ERR_UPSTREAM.
 */
int llm_fetch(struct llm *m, struct ctx *c, const struct llm_source *from, size_t max, struct str *body_out);

#endif
