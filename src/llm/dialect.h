/*
 * dialect: the wire formats of model servers, one row each: how a request is written and how an answer is read. A new
 * dialect is a row in dialect.c and its two files; a new provider is a row that names its default dialect.
 */
#ifndef LLM_DIALECT_H
#define LLM_DIALECT_H

#include "llm/answer.h"
#include "llm/caps.h"

struct dialect {
	const char *name;
	const char *path;                /* behind the base URL */
	/* The same where it depends on the request: a path, with "?name=value" if need be; NULL = `path`. */
	const char *(*path_of)(struct arena *a, const struct llm_request *q);
	const char *key_header;          /* "Authorization: Bearer " */
	const char *header;              /* a further one; NULL = none */
	bool system_apart;               /* system text has a field of its own, speakers have no names */
	bool think_tags;                 /* models may write reasoning into the text, between tags (models.md A7) */
	/* The body of a request; what had to be changed goes to w. */
	struct json *(*build)(struct arena *a, const struct llm_request *q, const struct llm_caps *caps, struct llm_warnings *w);
	/* One event of a stream; `data` is NULL if the event is a mark such as [DONE]. */
	void (*delta)(struct answer *an, struct str event, struct str text, const struct json *data);
	/* A whole answer. */
	void (*final)(struct answer *an, const struct json *body);
	/* An event's text that is no JSON but has a meaning. */
	bool (*is_mark)(struct str text);
};

struct provider {
	const char *name;
	const char *dialect;             /* default; NULL = answers without a network (echo) */
	const char *base;                /* base URL where none is configured; NULL = there is none */
};

const struct dialect *dialect_find(const char *name);    /* NULL: not known */
const struct provider *provider_find(const char *name);

/* chat_build.c, chat_read.c */
struct json *chat_build(struct arena *a, const struct llm_request *q, const struct llm_caps *caps, struct llm_warnings *w);
void chat_delta(struct answer *an, struct str event, struct str text, const struct json *data);
void chat_final(struct answer *an, const struct json *body);
bool chat_is_mark(struct str text); /* [DONE]: of chat streams; proxies add it to others */

/* responses_build.c, responses_read.c: OpenAI's responses (models.md A4) */
struct json *responses_build(struct arena *a, const struct llm_request *q, const struct llm_caps *caps, struct llm_warnings *w);
void responses_delta(struct answer *an, struct str event, struct str text, const struct json *data);
void responses_final(struct answer *an, const struct json *body);

/* anthropic_build.c, anthropic_read.c (models.md A5); the path: behind a base URL with or without /v1 */
const char *anthropic_path(struct arena *a, const struct llm_request *q);
struct json *anthropic_build(struct arena *a, const struct llm_request *q, const struct llm_caps *caps, struct llm_warnings *w);
void anthropic_delta(struct answer *an, struct str event, struct str text, const struct json *data);
void anthropic_final(struct answer *an, const struct json *body);

/* google_build.c, google_read.c (models.md A6); the path names the model, and asks for events if they are wanted */
const char *google_path(struct arena *a, const struct llm_request *q);
struct json *google_build(struct arena *a, const struct llm_request *q, const struct llm_caps *caps, struct llm_warnings *w);
void google_delta(struct answer *an, struct str event, struct str text, const struct json *data);
void google_final(struct answer *an, const struct json *body);

#endif
