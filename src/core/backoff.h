/*
 * The random wait between two tries. It grows with every loss and depends on chance more than on the count,
 * so that contenders that lost together do not come back together.
 */
#ifndef RL_CORE_BACKOFF_H
#define RL_CORE_BACKOFF_H

#include "base/prng.h"
#include "base/time.h"

struct rl_backoff {
    struct rl_span min;
    struct rl_span max;
    struct rl_span last; /* the wait before this one; 0 at first */
};

struct rl_backoff rl_backoff_between(struct rl_span min, struct rl_span max);

/* Draws the next wait, between min and three times the last one, never above max. */
struct rl_span rl_backoff_next(struct rl_backoff *backoff, struct rl_prng *prng);

/* Forgets the losses. */
void rl_backoff_reset(struct rl_backoff *backoff);

#endif
