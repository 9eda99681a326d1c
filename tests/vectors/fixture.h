/*
 * fixture: whole prompts out of the inputs of vectors: presets, cards, books, scripts and chats as
 * their files have them, turned into what prompt_assemble takes.
 */
#ifndef TESTS_FIXTURE_H
#define TESTS_FIXTURE_H

#include "base/vec.h"
#include "prompt/prompt.h"

struct fixture {
	struct arena *a;
	struct prompt_input in;
	VEC(struct prompt_message) history;
	struct macro_layers layers;
	struct str main_name;     /* of the character; in a group, who says what names nobody */
};

/* Fills everything but the history. The result lives in `a`. */
void fixture_read(struct fixture *f, struct arena *a, const struct json *input);
/* Adds the messages of a list; those before the first user's are greetings if `greet`. */
void fixture_history(struct fixture *f, const struct json *list, bool greet);
/* [{role, content, name?}] of what is sent. */
struct json *fixture_messages(struct arena *a, const struct prompt *p);

#endif
