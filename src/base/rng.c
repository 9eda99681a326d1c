/*
 * rng: xoshiro256** and splitmix64 (Blackman and Vigna, public domain algorithms); getrandom(2).
 */
#include "base/rng.h"

#include "base/log.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

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

void
rng_system(void *out, size_t n)
{
	unsigned char *p = out;

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
