/*
 * rng: seeded, recorded chance for pure cores (xoshiro256** seeded by splitmix64) and
 * the system's randomness for keys. Same seed, same numbers, on every machine.
 */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

struct rng {
	uint64_t s[4];
};

struct rng rng_seed(uint64_t seed);
uint64_t rng_next(struct rng *r);
double rng_unit(struct rng *r);                    /* [0, 1), 53 bits */
uint64_t rng_below(struct rng *r, uint64_t n);     /* 0..n-1, unbiased; n > 0 */

void rng_system(void *out, size_t n);              /* getrandom(2); aborts if the system has none */
unsigned rng_generation(void);                     /* of this process: another number in a forked child, never 0 */

#endif
