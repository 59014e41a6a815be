/*
 * Tests of core/stand for a semaphore: votes for different slots are votes for different locks, and what a
 * caller does when it has some of each. Times are in ms from the start, nodes count from 0.
 */
#include "core/stand.h"
#include "support/check.h"

enum { TTL_MS = 10000, SLOTS = 4, NODES = 5 };
#define TICKET UINT64_C(5000)

struct story {
    struct rl_prng prng;
    struct rl_stand stand;
    struct rl_effects effects;
};

static struct rl_time at(int64_t ms)
{
    return (struct rl_time){1 + ms * 1000};
}

static void begin(struct story *story, bool once)
{
    struct rl_acquire_config config = {.node_count = NODES,
                                       .ttl = rl_span_ms(TTL_MS),
                                       .drift_ppm = 10000,
                                       .node_timeout = rl_span_ms(50),
                                       .give_up_at = at(60000),
                                       .retry_min = rl_span_ms(10),
                                       .retry_max = rl_span_ms(100),
                                       .slots = SLOTS,
                                       .once = once,
                                       .ticket = TICKET};

    story->prng = rl_prng_seed(7);
    rl_stand_init(&story->stand, &config, &story->prng);
    rl_stand_step(&story->stand, &(struct rl_event){.kind = RL_EVENT_START, .now = at(0)}, &story->effects);
    assert_int_equal(story->effects.acquire, rl_node_set_all(NODES));
    assert_in_range(story->stand.wish, 1, SLOTS);
    assert_false(story->stand.only);
}

static void answer(struct story *story, uint32_t node, int64_t ms, uint32_t question, struct rl_answer what)
{
    what.node_us = at(ms).us;
    rl_stand_step(&story->stand,
                  &(struct rl_event){.kind = RL_EVENT_ANSWER,
                                     .now = at(ms),
                                     .node = node,
                                     .question = question,
                                     .sent = at(ms - 1),
                                     .answer = what},
                  &story->effects);
}

static void granted(struct story *story, uint32_t node, int64_t ms, uint32_t slot)
{
    answer(story, node, ms, story->stand.question,
           (struct rl_answer){.verdict = RL_GRANTED, .fence = 100, .slot = slot});
}

static void lined(struct story *story, uint32_t node, int64_t ms, uint64_t holder)
{
    answer(story, node, ms, story->stand.question,
           (struct rl_answer){.verdict = RL_DENIED,
                              .ttl_left_ms = TTL_MS,
                              .armed = true,
                              .rank = 1,
                              .ticket = TICKET,
                              .holder = holder,
                              .holder_ticket = TICKET + 1});
}

static void timer(struct story *story)
{
    rl_stand_step(&story->stand, &(struct rl_event){.kind = RL_EVENT_TIMER, .now = story->stand.wake_at},
                  &story->effects);
}

static int64_t now_ms(const struct story *story)
{
    return story->stand.wake_at.us / 1000;
}

static void votes_for_one_slot_are_a_permit(void **state)
{
    struct story story;

    (void)state;
    begin(&story, false);
    granted(&story, 0, 1, 3);
    granted(&story, 1, 1, 2);
    granted(&story, 2, 1, 3);
    assert_false(story.effects.done);
    granted(&story, 3, 1, 3);
    assert_true(story.effects.done);
    assert_int_equal(story.stand.outcome, RL_OUTCOME_OK);
    assert_int_equal(story.stand.slot, 3);
    assert_int_equal(rl_stand_votes(&story.stand), 1U | 4U | 8U);
    assert_int_equal(rl_stand_others(&story.stand), 2U);
}

/* Three nodes say yes, and what they name is no slot, or none of this semaphore's: nothing has been given. */
static void a_yes_that_names_no_slot_is_no_vote(void **state)
{
    const uint32_t named[] = {0, SLOTS + 1, UINT32_MAX};

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        struct story story;

        begin(&story, false);
        granted(&story, 0, 1, named[i]);
        granted(&story, 1, 1, named[i]);
        assert_int_equal(rl_stand_nodes(&story.stand, RL_STAND_HAS), 0);
        assert_int_equal(rl_stand_best_slot(&story.stand), 0);
        granted(&story, 2, 1, named[i]);
        assert_false(story.effects.done); /* too few are left: it gives everything back, and tries again */
        assert_int_equal(story.stand.phase, RL_STAND_RESTING);
        assert_int_equal(story.stand.outcome, RL_OUTCOME_NO_QUORUM);
        assert_int_equal(story.effects.release, rl_node_set_all(NODES));
    }
}

/* Two such nodes cost nothing where three others vote. */
static void a_minority_that_names_no_slot_costs_nothing(void **state)
{
    struct story story;

    (void)state;
    begin(&story, false);
    granted(&story, 0, 1, 0);
    granted(&story, 1, 1, SLOTS + 1);
    for (uint32_t node = 2; node < NODES; node++)
        granted(&story, node, 1, SLOTS);
    assert_true(story.effects.done);
    assert_int_equal(story.stand.outcome, RL_OUTCOME_OK);
    assert_int_equal(rl_stand_votes(&story.stand), 4U | 8U | 16U);
}

static void votes_for_different_slots_are_none(void **state)
{
    struct story story;

    (void)state;
    begin(&story, false);
    for (uint32_t node = 0; node < NODES; node++)
        granted(&story, node, 1, 1 + node % 3);
    assert_false(story.effects.done);
    assert_int_equal(story.stand.phase, RL_STAND_WAITING);
    assert_int_equal(story.stand.slot, 1); /* of equals the lowest */
}

/* Two of slot 1, two of slot 2, one of slot 3. */
static void split(struct story *story)
{
    begin(story, false);
    for (uint32_t node = 0; node < NODES; node++)
        granted(story, node, 1, 1 + node / 2);
    assert_int_equal(now_ms(story), 1); /* every node has given it one: there is nothing to wait for */
    timer(story);
    assert_int_equal(story->effects.acquire, rl_node_set_all(NODES));
    assert_true(story->stand.only);
    assert_int_equal(story->stand.wish, 1);
    assert_int_equal(rl_stand_nodes(&story->stand, RL_STAND_HAS), 3U); /* what is given back counts no more */
}

static void a_caller_whose_votes_are_split_settles_on_one_slot(void **state)
{
    struct story story;

    (void)state;
    split(&story);
    granted(&story, 2, now_ms(&story), 1);
    assert_true(story.effects.done);
    assert_int_equal(story.stand.slot, 1);
}

static void a_caller_that_a_node_has_given_nothing_looks_once_before_it_settles(void **state)
{
    struct story story;

    (void)state;
    begin(&story, false);
    for (uint32_t node = 0; node < 4; node++)
        granted(&story, node, 1, 1 + node / 2);
    lined(&story, 4, 1, 88);
    assert_true(now_ms(&story) > 1); /* what is on its way may make a quorum */
    timer(&story);
    assert_int_equal(story.effects.acquire, rl_node_set_all(NODES));
    assert_false(story.stand.only);
    for (uint32_t node = 0; node < 4; node++)
        granted(&story, node, now_ms(&story), 1 + node / 2);
    lined(&story, 4, now_ms(&story), 88);
    timer(&story);
    assert_true(story.stand.only);
}

static void an_answer_from_before_a_slot_was_given_back_does_not_count(void **state)
{
    struct story story;

    (void)state;
    split(&story);
    answer(&story, 2, now_ms(&story), story.stand.question - 1,
           (struct rl_answer){.verdict = RL_GRANTED, .fence = 100, .slot = 2});
    assert_int_equal(story.stand.nodes[2].state, RL_STAND_ASKED);
    answer(&story, 3, now_ms(&story), story.stand.question - 1,
           (struct rl_answer){.verdict = RL_GRANTED, .fence = 100, .slot = 1});
    assert_false(story.effects.done);
}

static void a_slot_that_another_one_has_is_let_be_and_any_will_do_again(void **state)
{
    struct story story;
    int64_t ms;

    (void)state;
    split(&story);
    ms = now_ms(&story);
    for (uint32_t node = 2; node < NODES; node++)
        lined(&story, node, ms, 88);
    assert_false(story.stand.only);
    assert_int_equal(story.effects.acquire, rl_node_set_all(NODES));
    assert_true(story.stand.nodes[0].yields);
    assert_false(story.stand.nodes[2].yields);
}

static void one_that_does_not_wait_is_refused_without_standing_in_line(void **state)
{
    struct story story;

    (void)state;
    begin(&story, true);
    for (uint32_t node = 0; node < 3; node++)
        answer(&story, node, 1, 1, (struct rl_answer){.verdict = RL_DENIED, .ttl_left_ms = 5, .holder = 88});
    assert_true(story.effects.done);
    assert_int_equal(story.stand.outcome, RL_OUTCOME_BUSY);
    assert_int_equal(story.effects.release, rl_node_set_all(NODES));
}

static void one_that_does_not_wait_settles_on_a_slot_as_well(void **state)
{
    struct story story;
    int64_t ms;

    (void)state;
    begin(&story, true);
    for (uint32_t node = 0; node < NODES; node++)
        granted(&story, node, 1, 1 + node / 2);
    timer(&story);
    ms = now_ms(&story);
    for (uint32_t node = 2; node < NODES && !story.effects.done; node++)
        answer(&story, node, ms, story.stand.question,
               (struct rl_answer){.verdict = RL_DENIED, .ttl_left_ms = 5, .holder = 88});
    assert_true(story.effects.done);
    assert_int_equal(story.stand.outcome, RL_OUTCOME_BUSY);
}

/* It gave its other slots back, and its time runs out before the nodes have said what it has now: they
 * answered a moment ago. */
static void time_that_runs_out_while_it_settles_is_a_busy_lock(void **state)
{
    struct story story;

    (void)state;
    split(&story);
    story.stand.config.give_up_at = (struct rl_time){story.stand.asked_by.us - 1};
    rl_stand_step(&story.stand,
                  &(struct rl_event){.kind = RL_EVENT_TIMER, .now = story.stand.config.give_up_at},
                  &story.effects);
    assert_true(story.effects.done);
    assert_int_equal(story.stand.outcome, RL_OUTCOME_TIMEOUT);
}

/* Likewise of one that yields its votes to the holder. */
static void time_that_runs_out_while_it_yields_is_a_busy_lock(void **state)
{
    struct story story;
    int64_t ms;

    (void)state;
    split(&story);
    ms = now_ms(&story);
    for (uint32_t node = 2; node < NODES; node++)
        lined(&story, node, ms, 88);
    story.stand.config.give_up_at = at(ms + 1);
    rl_stand_step(&story.stand, &(struct rl_event){.kind = RL_EVENT_TIMER, .now = at(ms + 1)},
                  &story.effects);
    assert_true(story.effects.done);
    assert_int_equal(story.stand.outcome, RL_OUTCOME_TIMEOUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(votes_for_one_slot_are_a_permit),
        cmocka_unit_test(a_yes_that_names_no_slot_is_no_vote),
        cmocka_unit_test(a_minority_that_names_no_slot_costs_nothing),
        cmocka_unit_test(votes_for_different_slots_are_none),
        cmocka_unit_test(a_caller_whose_votes_are_split_settles_on_one_slot),
        cmocka_unit_test(a_caller_that_a_node_has_given_nothing_looks_once_before_it_settles),
        cmocka_unit_test(an_answer_from_before_a_slot_was_given_back_does_not_count),
        cmocka_unit_test(a_slot_that_another_one_has_is_let_be_and_any_will_do_again),
        cmocka_unit_test(one_that_does_not_wait_is_refused_without_standing_in_line),
        cmocka_unit_test(one_that_does_not_wait_settles_on_a_slot_as_well),
        cmocka_unit_test(time_that_runs_out_while_it_settles_is_a_busy_lock),
        cmocka_unit_test(time_that_runs_out_while_it_yields_is_a_busy_lock),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
