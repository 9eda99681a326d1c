/*
 * log: formats one line in a fixed buffer and writes it with one call, so that lines of
 * several processes do not mix. Allocates nothing: the arena logs its own death here.
 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_ 4096
#define RID_MAX 64

static const char *const level_name[] = { "debug", "info", "warn", "error" };
static const char *log_program = "";
static enum log_level log_least = LOG_INFO_;
static _Thread_local char log_rid[RID_MAX + 1];

void
log_setup(const char *program, enum log_level least)
{
	log_program = program;
	log_least = least;
}

void
log_request(const char *request_id)
{
	snprintf(log_rid, sizeof(log_rid), "%s", request_id ? request_id : "");
}

/* Copies z with control characters as \n, \t, \xNN; stops where `out` is full. Returns the new length. */
static size_t
escape(char *out, size_t n, size_t cap, const char *z)
{
	for (; *z && n + 4 < cap; z++) {
		unsigned char c = (unsigned char)*z;

		if (c >= 0x20 && c != 0x7f) {
			out[n++] = *z;
		} else if (c == '\n' || c == '\t' || c == '\r') {
			out[n++] = '\\';
			out[n++] = c == '\n' ? 'n' : c == '\t' ? 't' : 'r';
		} else {
			n += (size_t)snprintf(out + n, cap - n, "\\x%02x", c);
		}
	}
	return n;
}

static size_t
prefix(char *out, size_t cap, enum log_level lv, const char *event)
{
	struct timespec ts;
	struct tm tm;
	char when[40];
	int n;

	clock_gettime(CLOCK_REALTIME, &ts);
	gmtime_r(&ts.tv_sec, &tm);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm);
	n = snprintf(out, cap, "<%s> %s.%03dZ %.64s pid=%d%s%s%s%.32s", level_name[lv], when,
	    (int)(ts.tv_nsec / 1000000), event, (int)getpid(), log_rid[0] ? " rid=" : "", log_rid,
	    log_program[0] ? " program=" : "", log_program);
	return n < 0 ? 0 : (size_t)n < cap ? (size_t)n : cap - 1;
}

void
log_write(enum log_level lv, const char *event, const char *fmt, ...)
{
	char text[LINE_MAX_], line[LINE_MAX_];
	va_list ap;
	size_t n;

	if (lv < log_least)
		return;
	va_start(ap, fmt);
	if (vsnprintf(text, sizeof(text), fmt, ap) < 0)
		text[0] = '\0';
	va_end(ap);
	n = prefix(line, sizeof(line) - 8, lv, event);
	if (text[0])
		line[n++] = ' ';
	n = escape(line, n, sizeof(line) - 1, text);
	line[n++] = '\n';
	/* Where would a failure to log be logged? */
	if (write(STDERR_FILENO, line, n) < 0)
		return;
}
