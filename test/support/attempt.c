/*
 * Attempts; see attempt.h.
 */
#include "support/attempt.h"

#include "support/core_walk.h"

struct rl_time at(int64_t ms)
{
    return (struct rl_time){1000000 + ms * 1000};
}

int64_t ms_of(struct rl_time time)
{
    return (time.us - at(0).us) / 1000;
}

struct rl_acquire_config config_for(uint32_t node_count)
{
    return (struct rl_acquire_config){
        .node_count = node_count,
        .ttl = rl_span_ms(TTL_MS),
        .drift_ppm = 10000,
        .node_timeout = rl_span_ms(TIMEOUT_MS),
        .give_up_at = at(0),
        .retry_min = rl_span_ms(10),
        .retry_max = rl_span_ms(RETRY_MAX_MS),
    };
}

void start(struct attempt *attempt, const struct rl_acquire_config *config)
{
    attempt->prng = rl_prng_seed(1);
    rl_acquire_init(&attempt->acquire, config, &attempt->prng);
    tell(attempt, RL_EVENT_START, 0);
}

void start_once(struct attempt *attempt, uint32_t node_count)
{
    struct rl_acquire_config config = config_for(node_count);

    start(attempt, &config);
}

void step(struct attempt *attempt, struct rl_event event, int64_t ms)
{
    event.now = at(ms);
    rl_acquire_step(&attempt->acquire, &event, &attempt->effects);
}

void tell(struct attempt *attempt, enum rl_event_kind kind, int64_t ms)
{
    step(attempt, (struct rl_event){.kind = kind}, ms);
}

void tell_of_node(struct attempt *attempt, enum rl_event_kind kind, uint32_t node, int64_t ms)
{
    step(attempt, (struct rl_event){.kind = kind, .node = node}, ms);
}

void answer_with(struct attempt *attempt, uint32_t question, uint32_t node, int64_t ms,
                 struct rl_answer answer)
{
    step(attempt,
         (struct rl_event){.kind = RL_EVENT_ANSWER, .question = question, .node = node, .answer = answer},
         ms);
}

void vote(struct attempt *attempt, uint32_t node, int64_t ms, enum rl_verdict verdict)
{
    answer_with(attempt, attempt->acquire.round_question, node, ms, (struct rl_answer){.verdict = verdict});
}

void answer_second(struct attempt *attempt, uint32_t node, int64_t ms, enum rl_verdict verdict)
{
    answer_with(attempt, attempt->acquire.question, node, ms, (struct rl_answer){.verdict = verdict});
}

int64_t wake_ms(const struct attempt *attempt)
{
    return ms_of(attempt->acquire.wake_at) + 1;
}

void wake(struct attempt *attempt)
{
    tell(attempt, RL_EVENT_TIMER, wake_ms(attempt));
}

void assert_nothing(const struct attempt *attempt)
{
    assert_true(walk_no_effects(&attempt->effects));
}

void assert_phase(const struct attempt *attempt, enum rl_acquire_phase phase)
{
    assert_int_equal(attempt->acquire.phase, phase);
}

void assert_ended(const struct attempt *attempt, enum rl_outcome outcome)
{
    assert_true(attempt->effects.done);
    assert_phase(attempt, RL_ACQUIRE_ENDED);
    assert_int_equal(attempt->acquire.outcome, outcome);
}

void assert_ended_undone(const struct attempt *attempt, enum rl_outcome outcome)
{
    assert_ended(attempt, outcome);
    assert_int_equal(attempt->effects.release,
                     rl_node_set_all(attempt->acquire.config.node_count) & ~attempt->acquire.tally.denied);
}

void assert_ended_with_nothing_to_undo(const struct attempt *attempt, enum rl_outcome outcome)
{
    assert_ended(attempt, outcome);
    assert_int_equal(attempt->effects.release, 0);
}
