/*
 * Steps for tests of how one acquisition in the core waits: rounds that it loses, looks that show who holds
 * the lock, and nodes that tell of changes. Times are in ms from the start; nodes count from 0.
 */
#ifndef TEST_SUPPORT_WATCHING_H
#define TEST_SUPPORT_WATCHING_H

#include <stdbool.h>
#include <stdint.h>

#include "support/attempt.h"

enum { HELD_MS = 20000, FOREVER_MS = 1000000, YOU = 7 };

/* One that waits for ever. */
struct rl_acquire_config waiting_config(uint32_t node_count);

/* A round that is lost to somebody, 4 ms after it began; one node may have granted it. */
void lose(struct attempt *waiter);
void lose_a_split_vote(struct attempt *waiter);

/* Three nodes, and its first round is lost. */
void start_lost(struct attempt *waiter);

/* On so many nodes, all of which say that YOU hold it for 20 s and that they will tell. */
void start_watching(struct attempt *waiter, uint32_t node_count);
void start_watching_with(struct attempt *waiter, const struct rl_acquire_config *config);

/* What a look shows: on a node, on all of them, which will tell; or that it is free there. */
void show(struct attempt *waiter, uint32_t node, int64_t ms, int64_t ttl_ms, uint64_t holder, bool armed);
void show_all(struct attempt *waiter, int64_t ms, uint64_t holder);
void show_free(struct attempt *waiter, uint32_t node, int64_t ms);

/* A node tells that something happened to the lock; two of them do. */
void change(struct attempt *waiter, uint32_t node, int64_t ms);
void change_on_two(struct attempt *waiter, int64_t ms);

void assert_waits(const struct attempt *waiter);
void assert_round(const struct attempt *waiter);

#endif
