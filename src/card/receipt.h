/*
 * receipt: what an import did to a file, as data. Every reader of this directory fills one;
 * the API prints it in every import answer (decision 18). A file that cannot be used gives
 * a struct import_error instead: what is wrong, where, and what to do.
 */
#ifndef CARD_RECEIPT_H
#define CARD_RECEIPT_H

#include "base/json.h"
#include "base/vec.h"

enum receipt_kind {
	RECEIPT_KEPT,       /* counted, listed only as numbers: fields taken over as they are */
	RECEIPT_NORMALISED, /* another spelling or type was understood; the raw file still has the original */
	RECEIPT_UNSUPPORTED, /* no effect here, but preserved and exported again */
	RECEIPT_REFUSED,     /* left out, with the reason */
	RECEIPT_WARNING,     /* taken as it is, but it will surprise: prompt_never_sent, png_crc, … */
	RECEIPT__COUNT
};

struct receipt_item {
	enum receipt_kind kind;
	const char *code; /* "null_ignored", "text_number", "row_skipped", "prompt_never_sent", … */
	const char *path; /* JSON pointer in the file, "png:tEXt:ccv3" or an archive name */
	const char
	    *reason;   /* one sentence for people; for prompt_never_sent the reason's code of decision 53 */
	int64_t count; /* how often; more than LIM_RECEIPT_CODE of one code are only counted */
};

struct receipt {
	struct arena *a;
	VEC(struct receipt_item) items;
	int64_t kept; /* known fields, rows and entries taken over unchanged */
};

/* Adds an item; path and reason are copied. The first LIM_RECEIPT_CODE of a code are listed, later ones raise
 * `count` of the last. */
void receipt_add(struct receipt *r, enum receipt_kind kind, const char *code, const char *path,
    const char *fmt, ...) PRINTF(5, 6);
/* True if an item of that code is there. */
bool receipt_has(const struct receipt *r, const char *code);
/* {"kept":n,"normalised":[…],"unsupported":[…],"refused":[…],"warnings":[…]}; item:
 * {"code","path","reason"[,"count"]}. */
struct json *receipt_json(struct arena *a, const struct receipt *r);

/* Why a file was not taken. All texts live in the reader's arena. */
struct import_error {
	const char *
	    code; /* "not_a_card", "invalid_json", "name_required", "png_truncated", "archive_too_large", … */
	const char *path;    /* JSON pointer, chunk or archive entry; "" = the whole file */
	int64_t offset;      /* byte in the file (or in the JSON text of `path`); -1 = unknown */
	const char *message; /* what is wrong and what to do */
	bool too_large;      /* 413 rather than 400 */
};

/* Fills *err (may be NULL) and returns -1. */
int import_fail(struct arena *a, struct import_error *err, const char *code, const char *path,
    const char *fmt, ...) PRINTF(5, 6);

/* What was uploaded. */
struct import_file {
	struct str bytes;
	struct str media_type; /* as declared; absent = unknown. A hint only: the bytes decide */
	struct str file_name;  /* as declared; absent = unknown. Never a path for us */
	/*
	 * Name to use when the file has none (cards with an empty name, presets and books without
	 * a name field): receipt `name_placeholder`. Absent = a card without a name is refused.
	 */
	struct str fallback_name;
};

/* File name without directories and suffix, for fallback_name; absent if nothing is left. */
struct str import_stem(struct str file_name);

#endif
