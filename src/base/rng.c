/*
 * rng: xoshiro256** and splitmix64 (Blackman and Vigna, public domain algorithms); getrandom(2).
 */
#include "base/rng.h"

#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* Randomness fetched ahead, per thread: a turn needs a dozen ids, and each system call costs more than the bytes. */
#define AHEAD 256
static _Thread_local struct {
	unsigned char bytes[AHEAD];
	size_t left;          /* at the end of bytes */
	unsigned generation;  /* of the process that fetched them */
} ahead;

static atomic_uint generation;
static pthread_once_t watching = PTHREAD_ONCE_INIT;

static uint64_t
rotl(uint64_t x, int k)
{
	return x << k | x >> (64 - k);
}

struct rng
rng_seed(uint64_t seed)
{
	struct rng r;

	for (int i = 0; i < 4; i++) {
		uint64_t z = seed += 0x9e3779b97f4a7c15u;

		z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
		z = (z ^ z >> 27) * 0x94d049bb133111ebu;
		r.s[i] = z ^ z >> 31;
	}
	return r;
}

uint64_t
rng_next(struct rng *r)
{
	uint64_t *s = r->s, result = rotl(s[1] * 5, 7) * 9, t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotl(s[3], 45);
	return result;
}

double
rng_unit(struct rng *r)
{
	return (double)(rng_next(r) >> 11) * 0x1p-53;
}

uint64_t
rng_below(struct rng *r, uint64_t n)
{
	/* Numbers below 2^64 mod n would make the small remainders likelier: draw again. */
	uint64_t reject = (0 - n) % n, x;

	do
		x = rng_next(r);
	while (x < reject);
	return x % n;
}

static void
forked(void)
{
	atomic_fetch_add(&generation, 1);
}

static void
watch_forks(void)
{
	atomic_store(&generation, 1);
	pthread_atfork(NULL, NULL, forked);
}

unsigned
rng_generation(void)
{
	pthread_once(&watching, watch_forks);
	return atomic_load_explicit(&generation, memory_order_relaxed);
}

static void
fetch(unsigned char *p, size_t n)
{
	while (n) {
		ssize_t got = getrandom(p, n, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			log_error("rng.system_failed", "errno=%d", errno);
			abort();
		}
		p += got;
		n -= (size_t)got;
	}
}

void
rng_system(void *out, size_t n)
{
	unsigned now = rng_generation();
	unsigned char *p;

	if (n > AHEAD / 4) {
		fetch(out, n);
		return;
	}
	if (ahead.generation != now || ahead.left < n) { /* never what the parent of a fork may use too */
		fetch(ahead.bytes, AHEAD);
		ahead.left = AHEAD;
		ahead.generation = now;
	}
	p = ahead.bytes + AHEAD - ahead.left;
	memcpy(out, p, n);
	explicit_bzero(p, n);
	ahead.left -= n;
}
