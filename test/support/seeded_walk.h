/*
 * Runs many random walks of core_walk.h, each decided by one number. It prints that number, and the command
 * that repeats its walk alone, when a rule is broken.
 */
#ifndef TEST_SUPPORT_SEEDED_WALK_H
#define TEST_SUPPORT_SEEDED_WALK_H

#include <stdint.h>

#include "support/core_walk.h"

/* Fails the running test at the first walk that breaks a rule. With REDLOCK_SEED set, only that seed is
 * walked. */
void assert_walks_keep_the_rules(const char *(*walk)(struct walk_source *source), uint64_t seed_count,
                                 const char *program);

#endif
