/*
 * chat_private: what the steps of an import share. Only for src/chat.
 */
#ifndef CHAT_CHAT_PRIVATE_H
#define CHAT_CHAT_PRIVATE_H

#include "base/id.h"
#include "base/map.h"
#include "chat/chat.h"
#include "token/token.h"
#include "turn/greeting.h"

/* A branch of the file: which segments it sees, up to where. */
struct plan_branch {
	struct str id, forked_from, policy, decisions; /* the latter two JSON or absent */
	int64_t forked_at;                             /* -1 = nowhere */
	size_t *segs;                                  /* indexes of segments */
	int32_t *his;
	size_t n;
};

/* Where the floors of a .thchat go. */
struct plan {
	struct plan_branch *branches;
	size_t n_branches, n_segs;
	int32_t *upto;        /* [n_segs]: seen by more than one branch up to here; -1 = by none */
	bool own;             /* the file says it itself; else floors are counted in each branch */
	struct map *floors;   /* id of the file -> struct plan_place */
	struct map *replaced; /* branch and number -> places of floors that others took the place of */
};

struct plan_place {
	size_t branch;
	int32_t seq;
	bool gone; /* replaced: its pages join the floor that took its place */
};

struct plan_raws {
	VEC(struct {
		int64_t at;
		size_t n;
	})
	v;
};

/* The first look over the floors of a file. Lives in `keep`. 0 or -1. */
int chat_plan(struct arena *keep, struct arena *tmp, const struct thchat *t, struct plan *out,
    struct import_error *err);
const char *plan_key(struct arena *a, struct str branch, int64_t floor_no);

/* An import under way. */
struct importer {
	struct ctx *c;
	struct chat_import *w;
	struct arena *keep; /* what outlives a batch */
	bool thchat;
	struct thchat t;
	struct chat_reader lines;
	struct chat_names names;
	struct receipt receipt;
	struct plan plan;
	struct str title;
	struct json *cols; /* of the session */
	struct json *origin;
	struct str policy;
	const struct json *card, *user;
	enum prompt_mode mode;
	int64_t session_no, branch_no, created_at, updated_at;
	int64_t began;
	int64_t *segs;         /* numbers of the plan's segments */
	char last[ID_LEN + 1]; /* id of the floor before, in a file that is one line of them */
	struct token_choice tokens;
	bool greeting_over; /* the user has spoken */
	int64_t floors, pages, said, swipes, variables, head;
};

/* An error of the file as the request's: 400 import_parse_error (or 413). Without a code it is recorded
 * already. Returns -1. */
int chat_refuse(struct ctx *c, const struct import_error *err);
/* The id that a thing of the file gets if its own is taken: the same for whoever refers to it. */
const char *chat_made_id(const struct importer *im, char kind, struct str id);
/* Reads the next batch of floors and writes it. 1, 0 the end, -1. */
int chat_import_batch(struct importer *im);

#endif
