/*
 * Steps for tests of one acquisition in the core: it is told what happens, and what its latest step wanted is
 * kept. Times are in ms from the start; nodes count from 0, as in the code.
 */
#ifndef TEST_SUPPORT_ATTEMPT_H
#define TEST_SUPPORT_ATTEMPT_H

#include <stdint.h>

#include "core/acquire.h"
#include "support/check.h"

enum { TTL_MS = 1000, TIMEOUT_MS = 50, RETRY_MAX_MS = 100 };

struct attempt {
    struct rl_prng prng;
    struct rl_acquire acquire;
    struct rl_effects effects;
};

struct rl_time at(int64_t ms);
int64_t ms_of(struct rl_time time);

/* One that tries once. */
struct rl_acquire_config config_for(uint32_t node_count);
void start(struct attempt *attempt, const struct rl_acquire_config *config);
void start_once(struct attempt *attempt, uint32_t node_count);

void step(struct attempt *attempt, struct rl_event event, int64_t ms);
void tell(struct attempt *attempt, enum rl_event_kind kind, int64_t ms);
void tell_of_node(struct attempt *attempt, enum rl_event_kind kind, uint32_t node, int64_t ms);
void answer_with(struct attempt *attempt, uint32_t question, uint32_t node, int64_t ms,
                 struct rl_answer answer);

/* An answer to the round's question; and one to the latest question: a raise, a peek or a look. */
void vote(struct attempt *attempt, uint32_t node, int64_t ms, enum rl_verdict verdict);
void answer_second(struct attempt *attempt, uint32_t node, int64_t ms, enum rl_verdict verdict);

/* When its timer comes, at the latest; and then it comes. */
int64_t wake_ms(const struct attempt *attempt);
void wake(struct attempt *attempt);

void assert_nothing(const struct attempt *attempt);
void assert_phase(const struct attempt *attempt, enum rl_acquire_phase phase);
void assert_ended(const struct attempt *attempt, enum rl_outcome outcome);

/* Released everywhere but on nodes that said no: they have nothing of ours. */
void assert_ended_undone(const struct attempt *attempt, enum rl_outcome outcome);

/* It had nothing anywhere, or had been undone before. */
void assert_ended_with_nothing_to_undo(const struct attempt *attempt, enum rl_outcome outcome);

#endif
