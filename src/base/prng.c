/*
 * xoshiro256** seeded through splitmix64; see prng.h.
 */
#include "base/prng.h"

#include <assert.h>

static uint64_t rotate_left(uint64_t value, int bits)
{
    return value << bits | value >> (64 - bits);
}

static uint64_t next_splitmix(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

struct rl_prng rl_prng_seed(uint64_t seed)
{
    struct rl_prng prng;

    for (int i = 0; i < 4; i++)
        prng.state[i] = next_splitmix(&seed);
    return prng;
}

uint64_t rl_prng_next(struct rl_prng *prng)
{
    uint64_t *s = prng->state;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

int64_t rl_prng_between(struct rl_prng *prng, int64_t low, int64_t high)
{
    uint64_t width = (uint64_t)high - (uint64_t)low + 1;

    assert(low <= high);
    if (width == 0)
        return (int64_t)rl_prng_next(prng);
    /* The bias of the remainder is below 2^-32 for every width used here. */
    return (int64_t)((uint64_t)low + rl_prng_next(prng) % width);
}
