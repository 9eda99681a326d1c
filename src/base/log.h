/*
 * log: one line per event on stderr, `<level> time event key=value …`. Request id when
 * the thread has one. Never bodies, prompts, tokens or secrets. Library layers below
 * the request loop and the job loop do not log errors: they return them.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "str.h"

enum log_level { LOG_DEBUG_, LOG_INFO_, LOG_WARN_, LOG_ERROR_ };

void log_setup(const char *program, enum log_level least);
void log_request(const char *request_id); /* of this thread; NULL = none; copied (64 bytes) */

/* `event` is a word such as "worker.started"; fmt gives `key=value` pairs. Control characters are escaped. */
void log_write(enum log_level lv, const char *event, const char *fmt, ...) PRINTF(3, 4);
#define log_debug(...) log_write(LOG_DEBUG_, __VA_ARGS__)
#define log_info(...) log_write(LOG_INFO_, __VA_ARGS__)
#define log_warn(...) log_write(LOG_WARN_, __VA_ARGS__)
#define log_error(...) log_write(LOG_ERROR_, __VA_ARGS__)

#endif
