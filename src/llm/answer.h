/*
 * answer: what a model server says, from the first byte to the final record, for every dialect. Bytes go in, text
 * goes to a sink, and at the end there is one record with texts, calls, usage and the error if there was one (models.md
 * A1). Pure: no network, no clock; the same bytes cut anywhere give the same record.
 */
#ifndef LLM_ANSWER_H
#define LLM_ANSWER_H

#include "llm/clean.h"
#include "llm/llm.h"
#include "llm/sse_in.h"
#include "llm/think.h"

struct dialect;

enum answer_channel { CH_CONTENT, CH_REASONING, CH__COUNT };
enum answer_mode { ANSWER_SSE, ANSWER_WHOLE, ANSWER_ERROR };

/* The head of the server's answer; absent headers are absent slices. */
struct answer_begin_head {
	int status;
	struct str content_type, retry_after, retry_after_ms, should_retry;
	int64_t now;                    /* ms since 1970, for a retry-after that is a date */
};

struct answer_opts {
	const struct dialect *dialect;
	bool stream;                    /* a stream was asked for */
	bool think, think_open;
	size_t text_max;                /* bytes of content and reasoning together */
	struct str secret;              /* never shown in an error's text; absent = none */
	struct llm_sink sink;           /* text may be NULL */
};

struct tool_slot {
	int64_t index;                  /* -1 = none told */
	struct str id, name, signature; /* absent = not told yet */
	struct str item;                /* responses: what deltas call it by */
	struct sb args;
	struct clean_join join;
};

/* A reasoning detail to send back: its members, and the text that came in pieces. */
struct detail_slot {
	int64_t index;                  /* of its block; -1 = none */
	struct json *item;
	const char *text_key;           /* "text", "summary" or "data"; NULL = none */
	struct sb text;
	struct clean_join join;
};

struct answer {
	struct arena *a, *tmp;          /* what is kept; what is needed for one event */
	struct answer_opts opts;
	struct answer_begin_head head;
	enum answer_mode mode;
	struct sse_in sse;
	struct sb body;                 /* of a whole answer or an error */
	struct think think;
	bool think_on;
	struct clean_join join[CH__COUNT];
	struct sb text[CH__COUNT];
	VEC(struct tool_slot) tools;
	VEC(struct detail_slot) details;
	struct llm_usage usage;
	bool usage_told, refused, terminal, done, ended;
	bool has_choice;                /* a whole answer had something to read */
	const char *finish, *finish_raw, *model, *response_id;
	struct llm_error error;
	struct llm_warnings warnings;
};

void answer_begin(struct answer *an, struct arena *keep, struct arena *tmp, const struct answer_opts *opts);
/* The status line and headers are known. Strings of `head` are copied. */
void answer_begin_head(struct answer *an, const struct answer_begin_head *head);
/* Takes bytes; false: enough, the connection may be closed (terminal event, error, limit). */
bool answer_feed(struct answer *an, struct str bytes);
/* No more bytes. */
void answer_end(struct answer *an);
/* Something outside the answer failed (network, time-out, cancel): kept unless an error is there already. */
void answer_fail(struct answer *an, enum llm_error_kind kind, const char *code, const char *message);
/* The final record, copied into `a`; times are left alone. After answer_end or answer_fail. */
void answer_result(struct answer *an, struct arena *a, struct llm_result *out);

/* For dialects: text as it stands in prepared JSON (clean.h). */
void answer_text(struct answer *an, enum answer_channel ch, struct str piece);
void answer_finish(struct answer *an, const char *finish, struct str raw);
/* The slot of a call by the rules of A3; NULL and the error is set if there are too many. index -1 = none. */
struct tool_slot *answer_tool(struct answer *an, int64_t index, struct str id, struct str name);
void answer_tool_args(struct answer *an, struct tool_slot *slot, const struct json *args);
/* An item to send back unchanged: pieces with the same index and type are joined. */
void answer_detail(struct answer *an, const struct json *item);
/* The slot of an item to send back, made of a copy; NULL and the error is set if there are too many. */
struct detail_slot *answer_blob(struct answer *an, int64_t index, const struct json *item);
struct detail_slot *answer_blob_find(struct answer *an, int64_t index); /* the newest; NULL */
/* Text that comes in pieces for its member `key`, a literal. */
void answer_blob_text(struct answer *an, struct detail_slot *slot, const char *key, struct str piece);
/* A native reasoning field was seen: think tags are text from now on. */
void answer_native_reasoning(struct answer *an);
/* An error object (or text) of the server's, as it stands at `error` or in the whole body. */
void answer_error_json(struct answer *an, const struct json *body);

/* Notes a warning, once per code. */
void llm_warn(struct arena *a, struct llm_warnings *w, const char *code);

#endif
