/*
 * Numbers at random, from a seed that decides all of them (splitmix64). They are good for choosing, not for
 * secrets.
 */
#ifndef CHAOS_DRAW_H
#define CHAOS_DRAW_H

#include <stdbool.h>
#include <stdint.h>

static inline uint64_t draw_between(uint64_t *random, uint64_t low, uint64_t high)
{
    uint64_t z = *random += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return low + (z ^ (z >> 31)) % (high - low + 1);
}

static inline bool draw_one_in(uint64_t *random, uint64_t count)
{
    return draw_between(random, 1, count) == 1;
}

#endif
