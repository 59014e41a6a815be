/*
 * Waiting; see watching.h.
 */
#include "support/watching.h"

struct rl_acquire_config waiting_config(uint32_t node_count)
{
    struct rl_acquire_config config = config_for(node_count);

    config.give_up_at = at(FOREVER_MS);
    config.watch = true;
    return config;
}

/* The first so many nodes say no, until that is decided. */
static void deny(struct attempt *waiter, uint32_t node_count, int64_t ms)
{
    for (uint32_t node = 0; node < node_count && waiter->acquire.phase == RL_ACQUIRE_ASKING; node++)
        answer_with(waiter, waiter->acquire.round_question, node, ms,
                    (struct rl_answer){.verdict = RL_DENIED, .ttl_left_ms = -2});
}

void lose(struct attempt *waiter)
{
    deny(waiter, waiter->acquire.config.node_count, ms_of(waiter->acquire.asked) + 4);
}

void lose_a_split_vote(struct attempt *waiter)
{
    uint32_t last = waiter->acquire.config.node_count - 1;
    int64_t ms = ms_of(waiter->acquire.asked) + 4;

    vote(waiter, last, ms, RL_GRANTED);
    deny(waiter, last, ms);
}

void start_lost(struct attempt *waiter)
{
    struct rl_acquire_config config = waiting_config(3);

    start(waiter, &config);
    lose(waiter);
}

void start_watching_with(struct attempt *waiter, const struct rl_acquire_config *config)
{
    start(waiter, config);
    lose(waiter);
    show_all(waiter, 6, YOU);
    assert_waits(waiter);
}

void start_watching(struct attempt *waiter, uint32_t node_count)
{
    struct rl_acquire_config config = waiting_config(node_count);

    start_watching_with(waiter, &config);
}

void show(struct attempt *waiter, uint32_t node, int64_t ms, int64_t ttl_ms, uint64_t holder, bool armed)
{
    answer_with(
        waiter, waiter->acquire.question, node, ms,
        (struct rl_answer){.verdict = RL_DENIED, .ttl_left_ms = ttl_ms, .holder = holder, .armed = armed});
}

void show_all(struct attempt *waiter, int64_t ms, uint64_t holder)
{
    for (uint32_t node = 0; node < waiter->acquire.config.node_count; node++)
        show(waiter, node, ms, HELD_MS, holder, true);
}

void show_free(struct attempt *waiter, uint32_t node, int64_t ms)
{
    answer_with(waiter, waiter->acquire.question, node, ms,
                (struct rl_answer){.verdict = RL_GRANTED, .ttl_left_ms = -2, .armed = true});
}

void change(struct attempt *waiter, uint32_t node, int64_t ms)
{
    tell_of_node(waiter, RL_EVENT_CHANGED, node, ms);
}

void change_on_two(struct attempt *waiter, int64_t ms)
{
    for (uint32_t node = 0; node < 2; node++)
        change(waiter, node, ms);
}

void assert_waits(const struct attempt *waiter)
{
    assert_phase(waiter, RL_ACQUIRE_WAITING);
    assert_int_equal(waiter->effects.acquire, 0);
    assert_true(waiter->acquire.wake_at.us < RL_TIME_NEVER.us);
}

void assert_round(const struct attempt *waiter)
{
    assert_phase(waiter, RL_ACQUIRE_ASKING);
    assert_int_equal(waiter->effects.acquire, rl_node_set_all(waiter->acquire.config.node_count));
    assert_int_equal(waiter->effects.watch, 0);
}
