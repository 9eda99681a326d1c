/*
 * upstream_error: what a server's refusal means (models.md A9): one kind, the server's code and text, whether trying
 * again can help and when. Reads the error bodies of all vendors. Pure.
 */
#ifndef LLM_UPSTREAM_ERROR_H
#define LLM_UPSTREAM_ERROR_H

#include "llm/answer.h"

/* An answer with status 300 or more. The strings of the result live in a. */
struct llm_error upstream_error_body(struct arena *a, const struct answer_begin_head *head, struct str body);
/* An error object inside a 200: status is what the record shows (0 inside a stream). */
struct llm_error upstream_error_json(struct arena *a, const struct answer_begin_head *head, int status, const struct json *body);
/* By kind; codes that differ from their kind are named in the table. */
bool upstream_retryable(enum llm_error_kind kind, const char *code);
/* Milliseconds to wait by the headers, -1 = not told. */
int64_t upstream_retry_after(const struct answer_begin_head *head);

#endif
