/*
 * id: time-ordered names. The process state is the last id made, so that ids of one
 * process never repeat or run backwards.
 */
#include "base/id.h"

#include "base/rng.h"
#include "base/utf8.h"

#include <pthread.h>

static const char alphabet[] = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";

#define TIME_MASK ((UINT64_C(1) << 48) - 1)
#define HIGH_MASK ((UINT64_C(1) << 14) - 1)

/* 126 bits: 48 of time, 14 + 64 of chance. */
struct bits {
	uint64_t time, high, low;
};

static struct bits last;
static unsigned last_generation;
static pthread_mutex_t last_lock = PTHREAD_MUTEX_INITIALIZER;

static struct id
spell(struct bits b)
{
	/* 62 bits (time, high) make 10 characters and 2 bits over; 2 + 64 bits make 11. */
	uint64_t top = b.time << 14 | b.high;
	struct id id = { 0 };

	for (int i = 0; i < 10; i++)
		id.s[i] = alphabet[top >> (56 - 6 * i) & 63];
	id.s[10] = alphabet[(top & 3) << 4 | b.low >> 60];
	for (int i = 0; i < 10; i++)
		id.s[11 + i] = alphabet[b.low >> (54 - 6 * i) & 63];
	return id;
}

static uint64_t
clamp_time(int64_t ms)
{
	return ms < 0 ? 0 : (uint64_t)ms > TIME_MASK ? TIME_MASK : (uint64_t)ms;
}

static struct bits
from_random(int64_t now_ms, const uint8_t random[10])
{
	struct bits b = { .time = clamp_time(now_ms) };

	for (int i = 0; i < 2; i++)
		b.high = b.high << 8 | random[i];
	b.high &= HIGH_MASK;
	for (int i = 2; i < 10; i++)
		b.low = b.low << 8 | random[i];
	return b;
}

struct id
id_make(int64_t now_ms, const uint8_t random[10])
{
	return spell(from_random(now_ms, random));
}

/* Follows `last` by an unguessable step of up to 2^40. */
static struct bits
step(struct bits b, const uint8_t random[10])
{
	uint64_t by = 1;

	for (int i = 0; i < 5; i++)
		by += (uint64_t)random[i] << (8 * i);
	b.low += by;
	if (b.low < by && ++b.high > HIGH_MASK) {
		b.high = 0;
		b.time = (b.time + 1) & TIME_MASK;
	}
	return b;
}

struct id
id_new(int64_t now_ms)
{
	uint8_t random[10];
	struct bits b;
	unsigned generation = rng_generation();

	rng_system(random, sizeof(random));
	b = from_random(now_ms, random);
	pthread_mutex_lock(&last_lock);
	/* A forked child starts afresh: its parent continues from the same `last`. */
	if (generation == last_generation && b.time <= last.time)
		b = step(last, random);
	last = b;
	last_generation = generation;
	pthread_mutex_unlock(&last_lock);
	return spell(b);
}

bool
id_valid(struct str s)
{
	if (s.n < 1 || s.n > ID_MAX)
		return false;
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f)
			return false;
	return utf8_valid(s);
}
