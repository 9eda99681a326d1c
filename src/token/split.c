/*
 * split: the two piece grammars. A word of o200k is (one sign or blank)? upper* lower+ or
 * upper+ lower*, with modifier letters, other letters and marks counting as both; regular
 * expressions take as much as they can and give back from the right, so where no lower letter
 * follows the upper run, the word ends after the run's last both-letter.
 */
#include "split.h"

#define BIT(c) (1u << (c))
#define SET_UPPER (BIT(CLASS_UPPER) | BIT(CLASS_BOTH) | BIT(CLASS_MARK))
#define SET_LOWER (BIT(CLASS_LOWER) | BIT(CLASS_BOTH) | BIT(CLASS_MARK))
#define SET_LETTER (BIT(CLASS_UPPER) | BIT(CLASS_LOWER) | BIT(CLASS_BOTH))
#define SET_SIGN (BIT(CLASS_OTHER) | BIT(CLASS_MARK))
#define SET_BLANK (BIT(CLASS_SPACE) | BIT(CLASS_BREAK))
#define SET_PREFIX (SET_SIGN | BIT(CLASS_SPACE)) /* what may stand before a word */

#define BLOCK 256
#define BLOCKS (0x110000 / BLOCK)
#define DISTINCT 512

static uint16_t block_of[BLOCKS];
static uint8_t classes[DISTINCT][BLOCK];
static uint8_t ascii[128];

static const struct run {
	uint32_t first;
	uint8_t class;
} runs[] = {
/* clang-format off */
#include "classes.inc"
	/* clang-format on */
};

#define RUNS (sizeof(runs) / sizeof(runs[0]))

/* Equal blocks are stored once; neighbours are alike, so looking backwards finds them soon. */
static uint16_t
block_intern(const uint8_t block[BLOCK], size_t *n)
{
	for (size_t i = *n; i-- > 0;)
		if (memcmp(classes[i], block, BLOCK) == 0)
			return (uint16_t)i;
	if (*n == DISTINCT)
		__builtin_trap(); /* the table was regenerated and DISTINCT forgotten: every test dies here */
	memcpy(classes[*n], block, BLOCK);
	return (uint16_t)(*n)++;
}

void
split_setup(void)
{
	size_t at = 0, n = 0;
	uint8_t now = CLASS_OTHER, block[BLOCK];

	for (uint32_t b = 0; b < BLOCKS; b++) {
		for (uint32_t i = 0; i < BLOCK; i++) {
			if (at < RUNS && runs[at].first == b * BLOCK + i)
				now = runs[at++].class;
			block[i] = now;
		}
		block_of[b] = block_intern(block, &n);
	}
	memcpy(ascii, classes[block_of[0]], sizeof(ascii));
}

enum split_class
split_class_of(uint32_t rune)
{
	return rune < 0x110000 ? classes[block_of[rune / BLOCK]][rune % BLOCK] : CLASS_OTHER;
}

static inline bool
is_tail(const uint8_t *p, const uint8_t *end)
{
	return p < end && (*p & 0xc0) == 0x80;
}

/* Class of a character that is not ASCII, and its bytes; a bad sequence is one OTHER byte. */
static unsigned
class_wide(const uint8_t *p, const uint8_t *end, unsigned *len)
{
	uint32_t r = *p;

	*len = 1;
	if (r >= 0xc2 && r < 0xe0 && is_tail(p + 1, end)) {
		*len = 2;
		return split_class_of((r & 0x1f) << 6 | (p[1] & 0x3fu));
	}
	if (r >= 0xe0 && r < 0xf0 && is_tail(p + 1, end) && is_tail(p + 2, end)) {
		r = (r & 0x0f) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
		if (r < 0x800 || (r >= 0xd800 && r < 0xe000))
			return CLASS_OTHER;
		*len = 3;
		return split_class_of(r);
	}
	if (r >= 0xf0 && r < 0xf5 && is_tail(p + 1, end) && is_tail(p + 2, end) && is_tail(p + 3, end)) {
		r = (r & 0x07) << 18 | (p[1] & 0x3fu) << 12 | (p[2] & 0x3fu) << 6 | (p[3] & 0x3fu);
		if (r < 0x10000 || r > 0x10ffff)
			return CLASS_OTHER;
		*len = 4;
		return split_class_of(r);
	}
	return CLASS_OTHER;
}

static inline unsigned
class_at(const uint8_t *p, const uint8_t *end, unsigned *len)
{
	if (p >= end) {
		*len = 0;
		return CLASS_END;
	}
	if (*p < 0x80) {
		*len = 1;
		return ascii[*p];
	}
	return class_wide(p, end, len);
}

/* Past the characters of the set. */
static inline const uint8_t *
skip(const uint8_t *p, const uint8_t *end, unsigned set)
{
	unsigned len;

	while (set & BIT(class_at(p, end, &len)))
		p += len;
	return p;
}

/* Bytes of an English contraction at p ('s 't 're 've 'm 'll 'd in any case; the long s folds to s), 0 if
 * none. */
static inline size_t
contraction(const uint8_t *p, const uint8_t *end)
{
	size_t left = (size_t)(end - p);
	uint8_t a, b;

	if (left < 2 || *p != '\'')
		return 0;
	a = p[1] | 0x20;
	if (a == 's' || a == 't' || a == 'm' || a == 'd')
		return p[1] < 0x80 ? 2 : 0;
	if (left < 3)
		return 0;
	if (p[1] == 0xc5 && p[2] == 0xbf)
		return 3;
	b = p[2] | 0x20;
	return p[1] < 0x80 && p[2] < 0x80 &&
		       ((a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l'))
		   ? 3
		   : 0;
}

/* upper* lower+ at p; NULL if that fails, then *run is the end of upper*. */
static const uint8_t *
upper_lower(const uint8_t *p, const uint8_t *end, const uint8_t **run)
{
	const uint8_t *both = NULL;
	unsigned c, len;

	while (SET_UPPER & BIT(c = class_at(p, end, &len))) {
		p += len;
		if (c != CLASS_UPPER)
			both = p;
	}
	*run = p;
	return c == CLASS_LOWER ? skip(p + len, end, SET_LOWER) : both;
}

/* A word of o200k without its contraction, or NULL. `c`, `len`: the first character. */
static const uint8_t *
word_o200k(const uint8_t *p, const uint8_t *end, unsigned c, unsigned len)
{
	const uint8_t *with = NULL, *without = NULL, *stop;

	if (SET_PREFIX & BIT(c)) {
		stop = upper_lower(p + len, end, &with);
		if (stop)
			return stop;
	}
	if ((SET_UPPER | SET_LOWER) & BIT(c)) {
		stop = upper_lower(p, end, &without);
		if (stop)
			return stop;
	}
	if (with && with > p + len)
		return with;
	return without && without > p ? without : NULL;
}

/* One to three numbers. */
static const uint8_t *
numbers(const uint8_t *p, const uint8_t *end)
{
	unsigned len;

	for (int i = 0; i < 3 && class_at(p, end, &len) == CLASS_NUMBER; i++)
		p += len;
	return p;
}

/* Signs, maybe behind one space, with what may follow them; NULL if there are none. */
static const uint8_t *
signs(const uint8_t *p, const uint8_t *end, bool slash)
{
	const uint8_t *q = *p == ' ' ? p + 1 : p, *stop = skip(q, end, SET_SIGN);

	if (stop == q)
		return NULL;
	while (stop < end && (*stop == '\r' || *stop == '\n' || (slash && *stop == '/')))
		stop++;
	return stop;
}

/* A run of blanks: up to its last line break; else all but its last character, which goes with what follows.
 */
static const uint8_t *
blanks(const uint8_t *p, const uint8_t *end)
{
	const uint8_t *q = p, *last = p, *brk = NULL;
	unsigned c, len;

	while (SET_BLANK & BIT(c = class_at(q, end, &len))) {
		last = q;
		q += len;
		if (c == CLASS_BREAK)
			brk = q;
	}
	if (brk)
		return brk;
	return q == end || last == p ? q : last;
}

const uint8_t *
split_o200k(const uint8_t *p, const uint8_t *end)
{
	unsigned len, c = class_at(p, end, &len);
	const uint8_t *stop;

	if (c == CLASS_NUMBER)
		return numbers(p, end);
	if (c != CLASS_BREAK && (stop = word_o200k(p, end, c, len)) != NULL)
		return stop + contraction(stop, end);
	if ((*p == ' ' || (SET_SIGN & BIT(c))) && (stop = signs(p, end, true)) != NULL)
		return stop;
	return blanks(p, end);
}

const uint8_t *
split_cl100k(const uint8_t *p, const uint8_t *end)
{
	unsigned len, c = class_at(p, end, &len);
	const uint8_t *stop;
	size_t n = contraction(p, end);

	if (n > 0)
		return p + n;
	if (c == CLASS_NUMBER)
		return numbers(p, end);
	if (SET_LETTER & BIT(c))
		return skip(p + len, end, SET_LETTER);
	if (SET_PREFIX & BIT(c)) {
		stop = skip(p + len, end, SET_LETTER);
		if (stop > p + len)
			return stop;
	}
	if ((*p == ' ' || (SET_SIGN & BIT(c))) && (stop = signs(p, end, false)) != NULL)
		return stop;
	return blanks(p, end);
}
