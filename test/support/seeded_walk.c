/*
 * The runner for seeded_walk.h.
 */
#include "support/seeded_walk.h"

#include <stdlib.h>

#include "support/check.h"

struct seeded_source {
    struct walk_source source; /* first, so that a pointer to it is one to this */
    struct rl_prng prng;
};

static uint32_t draw(struct walk_source *source, uint32_t bound)
{
    struct seeded_source *seeded = (struct seeded_source *)source;

    return (uint32_t)(rl_prng_next(&seeded->prng) % bound);
}

static bool more(struct walk_source *source)
{
    (void)source;
    return true;
}

static void walk_one(const char *(*walk)(struct walk_source *source), uint64_t seed, const char *program)
{
    struct seeded_source seeded = {{draw, more}, rl_prng_seed(seed)};
    const char *broken = walk(&seeded.source);

    if (broken != NULL)
        fail_msg("broken: %s\nrepeat: REDLOCK_SEED=%llu %s", broken, (unsigned long long)seed, program);
}

void assert_walks_keep_the_rules(const char *(*walk)(struct walk_source *source), uint64_t seed_count,
                                 const char *program)
{
    const char *only = getenv("REDLOCK_SEED");

    if (only != NULL) {
        walk_one(walk, strtoull(only, NULL, 10), program);
        return;
    }
    for (uint64_t seed = 0; seed < seed_count; seed++)
        walk_one(walk, seed, program);
}
