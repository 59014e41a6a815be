/*
 * A small seeded generator (xoshiro256**) for back-off and simulation: the same seed gives the same numbers.
 * Not for secrets: owner values come from the system's generator.
 */
#ifndef RL_BASE_PRNG_H
#define RL_BASE_PRNG_H

#include <stdint.h>

struct rl_prng {
    uint64_t state[4];
};

struct rl_prng rl_prng_seed(uint64_t seed);
uint64_t rl_prng_next(struct rl_prng *prng);

/* Uniform in [low, high]; low <= high. */
int64_t rl_prng_between(struct rl_prng *prng, int64_t low, int64_t high);

#endif
