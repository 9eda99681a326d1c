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
	const char *key_header;          /* "Authorization: Bearer " */
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
};

const struct dialect *dialect_find(const char *name);    /* NULL: not known */
const struct provider *provider_find(const char *name);

/* chat_build.c, chat_read.c */
struct json *chat_build(struct arena *a, const struct llm_request *q, const struct llm_caps *caps, struct llm_warnings *w);
void chat_delta(struct answer *an, struct str event, struct str text, const struct json *data);
void chat_final(struct answer *an, const struct json *body);
bool chat_is_mark(struct str text);

#endif
