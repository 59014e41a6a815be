/*
 * Tests of core/acquire_wait: each rule by which an acquisition waits. What it does among many is in
 * acquire_crowd_test.c. Times are in ms from the start; nodes count from 0.
 */
#include "support/watching.h"

/* ---- the look ---- */

static void a_lost_round_watches_all_nodes(void **state)
{
    struct attempt waiter;

    (void)state;
    start_lost(&waiter);
    assert_waits(&waiter);
    assert_true(waiter.effects.lost);
    assert_int_equal(waiter.effects.watch, 7);
    assert_int_equal(waiter.effects.question, 2);
    assert_int_equal(waiter.acquire.wake_at.us, at(4 + TIMEOUT_MS).us);
}

static void who_tries_once_watches_nothing(void **state)
{
    struct rl_acquire_config config = waiting_config(3);
    struct attempt waiter;

    (void)state;
    config.give_up_at = at(0);
    start(&waiter, &config);
    lose(&waiter);
    assert_ended(&waiter, RL_OUTCOME_BUSY);
    assert_int_equal(waiter.effects.watch, 0);
}

static void ineligible_nodes_are_not_watched(void **state)
{
    struct rl_acquire_config config = waiting_config(5);
    struct attempt waiter;

    (void)state;
    start(&waiter, &config);
    answer_with(&waiter, 1, 4, 1, (struct rl_answer){.verdict = RL_INELIGIBLE, .cause = RL_CAUSE_QUARANTINE});
    lose(&waiter);
    assert_waits(&waiter);
    assert_int_equal(waiter.effects.watch, 15);
}

static void a_missing_quorum_is_rested_from_not_watched(void **state)
{
    struct rl_acquire_config config = waiting_config(3);
    struct attempt waiter;

    (void)state;
    start(&waiter, &config);
    for (uint32_t node = 0; node < 2; node++)
        answer_with(&waiter, 1, node, 1, (struct rl_answer){.verdict = RL_FAILED});
    assert_phase(&waiter, RL_ACQUIRE_RESTING);
    assert_int_equal(waiter.effects.watch, 0);
}

static void a_look_that_shows_it_free_begins_a_round_at_once(void **state)
{
    struct attempt waiter;

    (void)state;
    start_lost(&waiter);
    show_free(&waiter, 1, 6);
    assert_waits(&waiter);
    show_free(&waiter, 2, 7);
    assert_round(&waiter);
    assert_int_equal(waiter.acquire.round, 2);
}

static void answers_to_an_older_look_do_not_count(void **state)
{
    struct attempt waiter;
    uint32_t question;

    (void)state;
    start_watching(&waiter, 3);
    question = waiter.acquire.question;
    wake(&waiter);
    assert_int_equal(waiter.effects.watch, 7);
    for (uint32_t node = 0; node < 3; node++)
        answer_with(&waiter, question, node, 10100, (struct rl_answer){.verdict = RL_GRANTED});
    assert_waits(&waiter);
}

static void foreign_keys_on_a_quorum_end_it(void **state)
{
    struct rl_answer foreign = {.verdict = RL_DENIED, .cause = RL_CAUSE_FOREIGN_TYPE, .ttl_left_ms = -1};
    struct attempt waiter;

    (void)state;
    start_lost(&waiter);
    answer_with(&waiter, 2, 0, 6, foreign);
    assert_waits(&waiter);
    answer_with(&waiter, 2, 1, 6, foreign);
    assert_ended(&waiter, RL_OUTCOME_FOREIGN_TYPE);
}

/* ---- what wakes it ---- */

static void a_quorum_of_changes_begins_a_round_and_a_minority_does_not(void **state)
{
    struct attempt waiter;

    (void)state;
    start_watching(&waiter, 5);
    change(&waiter, 3, 100);
    assert_waits(&waiter);
    change(&waiter, 3, 101); /* the same one again */
    change(&waiter, 0, 102);
    assert_waits(&waiter);
    change(&waiter, 4, 103);
    assert_round(&waiter);
    assert_true(waiter.acquire.woken);
}

static void a_free_node_and_a_change_make_a_quorum_together(void **state)
{
    struct attempt waiter;

    (void)state;
    start_lost(&waiter);
    show_free(&waiter, 2, 5);
    show(&waiter, 0, 6, HELD_MS, YOU, true);
    show(&waiter, 1, 6, HELD_MS, YOU, true);
    change(&waiter, 0, 100);
    assert_round(&waiter);
}

static void a_quorum_of_ends_begins_a_round(void **state)
{
    struct attempt waiter;

    (void)state;
    start_lost(&waiter);
    show(&waiter, 0, 6, 300, YOU, true);
    show(&waiter, 1, 6, 310, YOU, true);
    show(&waiter, 2, 6, 4000, YOU, true);
    assert_int_equal(waiter.acquire.wake_at.us, at(317).us); /* the second end, and a millisecond */
    tell(&waiter, RL_EVENT_TIMER, 316);
    assert_waits(&waiter);
    tell(&waiter, RL_EVENT_TIMER, 317);
    assert_round(&waiter);
}

/* The process was stopped after the look: what the nodes said then does not end later for that. */
static void an_answer_that_is_read_late_counts_from_when_it_was_due(void **state)
{
    struct attempt waiter;

    (void)state;
    start_lost(&waiter);
    show(&waiter, 0, 5000, 300, YOU, true);
    assert_waits(&waiter);
    show(&waiter, 1, 5000, 300, YOU, true);
    assert_round(&waiter);
}

static void a_change_while_asking_is_nobodys_business(void **state)
{
    struct rl_acquire_config config = waiting_config(3);
    struct attempt waiter;

    (void)state;
    start(&waiter, &config);
    for (uint32_t node = 0; node < 3; node++) {
        change(&waiter, node, 1);
        assert_nothing(&waiter);
    }
    assert_phase(&waiter, RL_ACQUIRE_ASKING);
}

/* ---- holders that renew ---- */

/* Challenged once by mistake, then known. */
static void meet_a_renewing_holder(struct attempt *waiter)
{
    start_watching(waiter, 3);
    change_on_two(waiter, 100);
    assert_round(waiter);
    lose(waiter);
    show_all(waiter, 106, YOU);
    assert_true(waiter->acquire.wait.renews);
}

static void a_holder_that_renews_is_looked_at_first(void **state)
{
    struct attempt waiter;

    (void)state;
    meet_a_renewing_holder(&waiter);
    for (uint32_t node = 0; node < 3; node++) {
        change(&waiter, node, 200);
        assert_waits(&waiter);
        assert_int_equal(waiter.effects.watch, rl_node_set_one(node));
    }
    show_all(&waiter, 202, YOU);
    assert_waits(&waiter);
    assert_int_equal(waiter.acquire.round, 2);
}

static void a_renewing_holder_that_is_gone_is_followed(void **state)
{
    struct attempt waiter;

    (void)state;
    meet_a_renewing_holder(&waiter);
    change_on_two(&waiter, 200);
    show_free(&waiter, 0, 202);
    assert_waits(&waiter);
    show_free(&waiter, 1, 202);
    assert_true(waiter.acquire.woken);
    assert_true(waiter.effects.acquire != 0 || waiter.effects.rest.us > 0);
}

static void the_next_holder_is_challenged_again(void **state)
{
    struct attempt waiter;

    (void)state;
    meet_a_renewing_holder(&waiter);
    change_on_two(&waiter, 200);
    for (uint32_t node = 0; node < 2; node++)
        show(&waiter, node, 202, HELD_MS, YOU + 1, true);
    assert_false(waiter.acquire.wait.renews);
    change(&waiter, 0, 300);
    assert_waits(&waiter);
    assert_int_equal(waiter.effects.watch, 0);
}

/* ---- nodes that cannot tell ---- */

static void start_blind(struct attempt *waiter, int64_t ttl_ms)
{
    start_lost(waiter);
    for (uint32_t node = 0; node < 3; node++)
        show(waiter, node, 6, ttl_ms, YOU, node == 2);
    assert_waits(waiter);
}

static void too_few_that_tell_are_polled_with_growing_pauses(void **state)
{
    struct attempt waiter;
    int64_t longest = 0;

    (void)state;
    start_blind(&waiter, HELD_MS);
    for (int round = 2; round < 12; round++) {
        int64_t from = ms_of(waiter.acquire.asked) + 6, pause = ms_of(waiter.acquire.wake_at) - from;

        assert_true(pause >= 9 && pause <= RETRY_MAX_MS);
        longest = pause > longest ? pause : longest;
        wake(&waiter);
        assert_round(&waiter);
        assert_false(waiter.acquire.woken);
        lose(&waiter);
        for (uint32_t node = 0; node < 3; node++)
            show(&waiter, node, ms_of(waiter.acquire.asked) + 6, HELD_MS, YOU, node == 2);
    }
    assert_true(longest > 30);
    assert_int_equal(waiter.acquire.spread.us, 0); /* a poll that fails says nothing about a crowd */
}

static void the_end_of_its_key_counts_on_a_node_that_cannot_tell(void **state)
{
    struct attempt waiter;

    (void)state;
    start_blind(&waiter, 5);
    assert_int_equal(waiter.acquire.wake_at.us, at(12).us);
    tell(&waiter, RL_EVENT_TIMER, 12);
    assert_round(&waiter);
    assert_true(waiter.acquire.woken);
}

static void one_node_that_cannot_tell_is_looked_at_every_other_second(void **state)
{
    struct attempt waiter;

    (void)state;
    start_lost(&waiter);
    for (uint32_t node = 0; node < 3; node++)
        show(&waiter, node, 6, HELD_MS, YOU, node != 2);
    assert_waits(&waiter);
    assert_in_range(ms_of(waiter.acquire.wake_at), 1006, 2006);
    wake(&waiter);
    assert_waits(&waiter);
    assert_int_equal(waiter.effects.watch, 7);
    assert_int_equal(waiter.effects.question, 3);
}

static void nodes_that_do_not_answer_the_look_are_not_relied_upon(void **state)
{
    struct attempt waiter;

    (void)state;
    start_lost(&waiter);
    show(&waiter, 0, 6, HELD_MS, YOU, true);
    assert_int_equal(waiter.acquire.wake_at.us, at(4 + TIMEOUT_MS).us);
    tell(&waiter, RL_EVENT_TIMER, 4 + TIMEOUT_MS);
    assert_waits(&waiter);
    assert_true(ms_of(waiter.acquire.wake_at) <= 4 + TIMEOUT_MS + RETRY_MAX_MS); /* polled */
    show(&waiter, 1, 60, HELD_MS, YOU, true);                                    /* late, but it counts */
    assert_true(ms_of(waiter.acquire.wake_at) > 1000);
}

/* ---- mistrust ---- */

static void a_waiter_that_all_will_tell_looks_again_after_five_to_ten_seconds(void **state)
{
    struct attempt waiter;

    (void)state;
    start_watching(&waiter, 3);
    assert_in_range(ms_of(waiter.acquire.wake_at), 5000, 10006);
    tell(&waiter, RL_EVENT_TIMER, 4999);
    assert_nothing(&waiter);
    wake(&waiter);
    assert_waits(&waiter);
    assert_int_equal(waiter.effects.watch, 7);
    assert_int_equal(waiter.acquire.round, 1);
}

/* ---- nodes that come and go ---- */

static void a_node_that_is_back_is_watched_again(void **state)
{
    struct attempt waiter;

    (void)state;
    start_watching(&waiter, 3);
    tell_of_node(&waiter, RL_EVENT_DOWN, 1, 100);
    assert_waits(&waiter);
    change(&waiter, 1, 101); /* said before it went: no longer known */
    change(&waiter, 0, 101);
    assert_waits(&waiter);
    tell_of_node(&waiter, RL_EVENT_UP, 1, 200);
    assert_waits(&waiter);
    assert_int_equal(waiter.effects.watch, 2);
    show_free(&waiter, 1, 202);
    assert_round(&waiter);
}

static void a_lost_node_is_looked_for_soon(void **state)
{
    struct attempt waiter;

    (void)state;
    start_watching(&waiter, 3);
    tell_of_node(&waiter, RL_EVENT_DOWN, 1, 100);
    assert_in_range(ms_of(waiter.acquire.wake_at), 1100, 2100);
}

static void when_too_few_are_left_it_is_polled(void **state)
{
    struct attempt waiter;

    (void)state;
    start_watching(&waiter, 3);
    tell_of_node(&waiter, RL_EVENT_DOWN, 1, 100);
    tell_of_node(&waiter, RL_EVENT_DOWN, 0, 100);
    assert_in_range(ms_of(waiter.acquire.wake_at), 110, 100 + RETRY_MAX_MS);
    wake(&waiter);
    assert_round(&waiter);
}

/* ---- the end of the wait ---- */

static void the_wait_ends_when_its_time_is_up(void **state)
{
    struct rl_acquire_config config = waiting_config(3);
    struct attempt waiter;

    (void)state;
    config.give_up_at = at(700);
    start_watching_with(&waiter, &config);
    assert_int_equal(waiter.acquire.wake_at.us, at(700).us);
    tell(&waiter, RL_EVENT_TIMER, 700);
    assert_ended(&waiter, RL_OUTCOME_TIMEOUT);
    assert_int_equal(waiter.effects.release | waiter.effects.acquire | waiter.effects.watch, 0);
}

static void a_cancelled_waiter_has_nothing_to_undo(void **state)
{
    struct attempt waiter;

    (void)state;
    start_watching(&waiter, 3);
    tell(&waiter, RL_EVENT_CANCEL, 100);
    assert_ended_with_nothing_to_undo(&waiter, RL_OUTCOME_CANCELED);
    change(&waiter, 0, 101);
    assert_nothing(&waiter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_round_watches_all_nodes),
        cmocka_unit_test(who_tries_once_watches_nothing),
        cmocka_unit_test(ineligible_nodes_are_not_watched),
        cmocka_unit_test(a_missing_quorum_is_rested_from_not_watched),
        cmocka_unit_test(a_look_that_shows_it_free_begins_a_round_at_once),
        cmocka_unit_test(answers_to_an_older_look_do_not_count),
        cmocka_unit_test(foreign_keys_on_a_quorum_end_it),
        cmocka_unit_test(a_quorum_of_changes_begins_a_round_and_a_minority_does_not),
        cmocka_unit_test(a_free_node_and_a_change_make_a_quorum_together),
        cmocka_unit_test(a_quorum_of_ends_begins_a_round),
        cmocka_unit_test(an_answer_that_is_read_late_counts_from_when_it_was_due),
        cmocka_unit_test(a_change_while_asking_is_nobodys_business),
        cmocka_unit_test(a_holder_that_renews_is_looked_at_first),
        cmocka_unit_test(a_renewing_holder_that_is_gone_is_followed),
        cmocka_unit_test(the_next_holder_is_challenged_again),
        cmocka_unit_test(too_few_that_tell_are_polled_with_growing_pauses),
        cmocka_unit_test(the_end_of_its_key_counts_on_a_node_that_cannot_tell),
        cmocka_unit_test(one_node_that_cannot_tell_is_looked_at_every_other_second),
        cmocka_unit_test(nodes_that_do_not_answer_the_look_are_not_relied_upon),
        cmocka_unit_test(a_waiter_that_all_will_tell_looks_again_after_five_to_ten_seconds),
        cmocka_unit_test(a_node_that_is_back_is_watched_again),
        cmocka_unit_test(a_lost_node_is_looked_for_soon),
        cmocka_unit_test(when_too_few_are_left_it_is_polled),
        cmocka_unit_test(the_wait_ends_when_its_time_is_up),
        cmocka_unit_test(a_cancelled_waiter_has_nothing_to_undo),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
