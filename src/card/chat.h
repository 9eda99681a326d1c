/*
 * chat: one chat as both file formats have it: floors with pages (input and output versions) with messages.
 * Readers give floors one after the other, writers take them, so a chat of any length needs the memory of one
 * floor. TavernHeadless's .thchat is this shape itself; a SillyTavern chat (chat_file.h) becomes it: a user's
 * line and the reply behind it are a floor, swipes are pages. What a format cannot say is kept in `origin`
 * and written again.
 */
#ifndef CARD_CHAT_H
#define CARD_CHAT_H

#include "chat_file.h"

struct chat_said {
	struct str id; /* as the file has it; absent = none */
	struct str role, name, content, sent, format,
	    source;       /* sent: what the prompt made of it; absent = the same */
	struct str rolls; /* JSON text or absent */
	bool hidden;
	int64_t created_at; /* CHAT_NO_DATE = the file says nothing */
	const struct json
	    *origin; /* {"doc": line, "raw": text, "made": of it, "rest": unknown members}; NULL = none */
};

struct chat_page {
	struct str id, kind, state, checksum;
	int64_t page_no, version, created_at, updated_at;
	bool active;
	struct str reasoning, finish_reason, model;
	struct str summaries, usage, error; /* JSON texts */
	const struct json *origin;
	struct chat_said *said;
	size_t n;
};

struct chat_floor {
	struct str id, branch_id, parent_id, state, superseded_by;
	int64_t floor_no, token_in, token_out, created_at, updated_at;
	int64_t superseded_at; /* CHAT_NO_DATE = it is not */
	int64_t segment;       /* -1 = by branch_id */
	const struct json *origin;
	struct chat_page *pages;
	size_t n;
};

/* ---- .thchat ---- */

struct thchat {
	struct pieces *text;
	int64_t floors, log;     /* where these lists begin; -1 = absent */
	int64_t pos;             /* behind the floor that was read last; 0 = none yet */
	size_t index;
	const struct json *data; /* the other members */
	const struct json *own;  /* data.tavernd: what only this server writes; NULL = not from here */
};

/* Is it one, by its first members? The beginning of the text suffices. */
bool thchat_is(struct str bytes);
/* -1: bad JSON, another version, no floors. Without a code in *err, here and below: text->failed. */
int thchat_open(struct arena *a, struct pieces *text, struct thchat *t, struct import_error *err);
/* The same with the whole text. */
int thchat_open_text(struct arena *a, struct str bytes, struct thchat *t, struct import_error *err);
/* 1 the next floor, 0 the end, -1. */
int thchat_next(struct arena *a, struct thchat *t, struct chat_floor *out, struct import_error *err);
/* The floor of an element. `where` names it in errors. 1 or -1. */
int thchat_floor(
    struct arena *a, struct str raw, const char *where, struct chat_floor *out, struct import_error *err);
/* The elements of a list that begins at `list`, raw: 1 the next one, which lives until the text is read again,
 * 0 the end, -1 no list (or text->failed). *pos starts at 0 and is then the place behind the element. */
int thchat_element(struct pieces *text, int64_t list, int64_t *pos, struct str *out);
/* The floor as an element of the array. */
void thchat_write_floor(struct sb *out, struct arena *a, const struct chat_floor *f);

/* ---- SillyTavern ---- */

/* The next floor of a SillyTavern chat: 1, 0. */
int chat_next_floor(struct chat_reader *r, struct arena *a, struct chat_floor *out);
/* The lines of a floor. */
struct chat_names {
	struct str user, character;
};
void chat_write_floor(
    struct sb *out, struct arena *a, const struct chat_floor *f, const struct chat_names *names);
/* Who speaks: of the header, or of the first lines where it says "unused". */
struct chat_names chat_names(struct arena *a, const struct chat_reader *r);

#endif
