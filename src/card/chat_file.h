/*
 * chat_file: SillyTavern chats as JSON lines, read one line at a time. Order is file order;
 * times are kept as written and as an instant when they can be read (case B07).
 */
#ifndef CARD_CHAT_FILE_H
#define CARD_CHAT_FILE_H

#include "pieces.h"
#include "receipt.h"

#include "base/sb.h"

#include <stdint.h>

struct chat_header {
	struct str user_name, character_name; /* "" if absent */
	struct json *metadata;                /* chat_metadata, NULL if none */
	struct json *doc;                     /* the whole header line, NULL if the file has none */
};

#define CHAT_NO_DATE INT64_MIN

struct chat_swipe {
	struct str text;
	struct str raw_date; /* send_date of swipe_info */
	int64_t date;        /* ms, or CHAT_NO_DATE */
	struct json *info;   /* swipe_info element, NULL if none */
};

struct chat_message {
	size_t line; /* from 1 */
	struct str name;
	bool is_user, is_hidden;   /* is_hidden: is_system of the file */
	bool is_narrator;          /* extra.type "narrator" */
	struct str text;           /* the active swipe */
	struct str raw_date;       /* send_date as written (numbers as text) */
	int64_t date;              /* ms since 1970 UTC, or CHAT_NO_DATE; local notations are read as UTC */
	struct chat_swipe *swipes; /* at least one; [active].text equals text */
	size_t n_swipes, active;
	struct json *extra; /* NULL if none */
	struct json *doc;   /* the whole line, for a lossless export */
};

struct chat_reader {
	struct pieces *text;
	int64_t pos;
	size_t line;
	size_t messages, skipped, swipes; /* counted so far */
	struct chat_header header;
	struct receipt *receipt;
};

/* Starts; reads the header line if there is one. -1: chat_empty, not_a_chat (the first lines are no chat).
 * `receipt` may be NULL. Without a code in *err, here and below: text->failed. */
int chat_open(struct arena *a, struct pieces *text, struct receipt *receipt, struct chat_reader *r,
    struct import_error *err);
/* The same with the whole text. */
int chat_open_text(struct arena *a, struct str bytes, struct receipt *receipt, struct chat_reader *r,
    struct import_error *err);
/*
 * Next message into arena `a` (the caller may rewind it between messages). 1, or 0 at the end.
 * A line that is no message is skipped, counted in r->skipped and named in the receipt.
 */
int chat_next(struct chat_reader *r, struct arena *a, struct chat_message *out);

/* Instant of a date as SillyTavern wrote it in any version (ISO, epoch s/ms, "June 19, 2023 2:20pm",
 * "2023-6-19@14h20m30s123ms" …). */
bool chat_date(struct str text, int64_t *ms_out);

/* Writer: one line each, newline included. `base` is the line's original document or NULL; members given win
 * over it. */
void chat_write_header(struct sb *out, struct arena *a, const struct chat_header *h);
void chat_write_message(struct sb *out, struct arena *a, const struct chat_message *m);

#endif
