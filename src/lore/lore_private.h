/* lore (private): what a compiled book and a compiled set hold. */
#ifndef LORE_LORE_PRIVATE_H
#define LORE_LORE_PRIVATE_H

#include "lore/keys.h"
#include "lore/lore.h"
#include "regex/regex.h"

enum key_kind {
	KEY_EMPTY, /* never found */
	KEY_PLAIN,
	KEY_REGEX,   /* re may be NULL: a pattern that we cannot run, never found */
	KEY_DYNAMIC, /* macros in it: known when it is first tested */
};

struct book_key {
	struct str raw, text; /* as written; trimmed */
	enum key_kind kind;
	const struct regex *re;
	bool spaced; /* white space inside: word borders do not matter */
	bool odd;    /* cannot be looked for piece by piece: holds the mark between the pieces */
	bool edged;  /* raw and text differ: group scores look for raw */
};

struct book_keys {
	struct book_key *v;
	size_t n;
};

struct book_entry {
	struct lore_entry src;
	struct str content; /* without decorators */
	bool activate, dont_activate;
	struct book_keys keys, secondary;
	uint64_t hash;
};

struct lore_book {
	struct str name;
	struct book_entry *v;
	size_t n, bytes;
};

/* Pattern of a plain key in one of the automata. */
#define NO_PATTERN UINT32_MAX

struct candidate {
	const struct lore_book *book;
	const struct book_entry *e;
	size_t index;               /* in the book */
	uint32_t *keys, *secondary; /* pattern numbers, parallel to e->keys */
	bool case_sensitive, whole_words;
	bool duplicate; /* the book is bound at a stronger place */
	bool dynamic;   /* some key has macros in it */
};

/* Two automata: texts as they are, and in lower case. */
enum { MATCH_EXACT, MATCH_LOWER, MATCH__COUNT };

struct lore_set {
	struct candidate *v;
	size_t n;
	struct keys *keys[MATCH__COUNT];
	size_t bytes;
	int32_t horizon;
	bool unicode_words;
};

/* A key's text as a key: kind, pattern, white space. Texts are borrowed. */
struct book_key book_key_make(struct arena *a, struct str raw, bool macros, size_t *bytes);

struct str lore_lower(
    struct arena *a, struct str s); /* as String.toLowerCase(); s itself if nothing changes */

#endif
