/*
 * Tests of core/wait: what a waiter knows of the key in its way, and every small picture of it against a twin
 * that counts in the plainest way.
 */
#include "core/wait.h"
#include "support/check.h"

enum { NODES = 3, ALL = 7 };

static struct rl_time at(int64_t ms)
{
    return (struct rl_time){1000000 + ms * 1000};
}

static struct rl_wait begin(void)
{
    struct rl_wait wait = {0};

    rl_wait_begin(&wait, NODES, ALL);
    return wait;
}

static void held(struct rl_wait *wait, uint32_t node, uint64_t holder, int64_t ttl_ms, bool armed)
{
    struct rl_answer answer = {.verdict = RL_DENIED, .ttl_left_ms = ttl_ms, .holder = holder, .armed = armed};

    rl_wait_answer(wait, node, &answer, at(0));
}

static void said(struct rl_wait *wait, uint32_t node, enum rl_verdict verdict)
{
    rl_wait_answer(wait, node, &(struct rl_answer){.verdict = verdict, .ttl_left_ms = -2}, at(0));
}

/* ---- single rules ---- */

static void at_first_nothing_is_known_and_everybody_may_tell(void **state)
{
    struct rl_wait wait = begin();

    (void)state;
    assert_int_equal(rl_wait_free(&wait, at(100000)), 0);
    assert_int_equal(rl_wait_free_at(&wait).us, RL_TIME_NEVER.us);
    assert_true(rl_wait_will_tell(&wait));
    assert_false(rl_wait_sees_all(&wait));
}

static void a_key_that_is_gone_is_free(void **state)
{
    struct rl_wait wait = begin();

    (void)state;
    said(&wait, 1, RL_GRANTED);
    assert_int_equal(rl_wait_free(&wait, at(0)), 2);
}

static void an_armed_node_tells_once(void **state)
{
    struct rl_wait wait = begin();

    (void)state;
    held(&wait, 0, 11, 5000, true);
    assert_int_equal(wait.watched, 1);
    assert_true(rl_wait_changed(&wait, 0));
    assert_int_equal(rl_wait_free(&wait, at(0)), 1);
    assert_false(rl_wait_changed(&wait, 0));
}

static void a_change_on_a_node_that_was_not_watched_is_old_news(void **state)
{
    struct rl_wait wait = begin();

    (void)state;
    assert_false(rl_wait_changed(&wait, 0));
    held(&wait, 1, 11, 5000, false);
    assert_false(rl_wait_changed(&wait, 1));
    assert_int_equal(rl_wait_free(&wait, at(0)), 0);
}

static void a_key_ends_a_millisecond_after_its_time_whether_watched_or_not(void **state)
{
    struct rl_wait wait = begin();

    (void)state;
    held(&wait, 0, 11, 100, true);
    held(&wait, 1, 11, 200, false);
    assert_int_equal(rl_wait_free(&wait, at(100)), 0);
    assert_int_equal(rl_wait_free(&wait, at(101)), 1);
    assert_int_equal(rl_wait_free(&wait, at(201)), 3);
    assert_int_equal(rl_wait_free_at(&wait).us, at(201).us);
}

static void a_key_without_end_never_ends(void **state)
{
    struct rl_wait wait = begin();

    (void)state;
    held(&wait, 0, 11, -1, true);
    held(&wait, 1, 11, -1, true);
    assert_int_equal(rl_wait_free_at(&wait).us, RL_TIME_NEVER.us);
}

static void an_answer_replaces_what_was_known_before(void **state)
{
    struct rl_wait wait = begin();

    (void)state;
    said(&wait, 0, RL_GRANTED);
    held(&wait, 0, 11, 100, true);
    assert_int_equal(rl_wait_free(&wait, at(0)), 0);
    said(&wait, 0, RL_FAILED);
    assert_int_equal(wait.watched | wait.freed, 0);
    assert_int_equal(rl_wait_free(&wait, at(1000)), 0);
}

static void what_a_node_told_goes_with_its_connection(void **state)
{
    struct rl_wait wait = begin();

    (void)state;
    held(&wait, 0, 11, 100, true);
    said(&wait, 1, RL_GRANTED);
    rl_wait_down(&wait, 0);
    rl_wait_down(&wait, 1);
    rl_wait_down(&wait, 2);
    assert_int_equal(rl_wait_free(&wait, at(1000)), 0);
    assert_false(rl_wait_will_tell(&wait));
    assert_false(rl_wait_changed(&wait, 0));
}

static void a_foreign_type_is_noted(void **state)
{
    struct rl_wait wait = begin();
    struct rl_answer answer = {
        .verdict = RL_DENIED, .cause = RL_CAUSE_FOREIGN_TYPE, .ttl_left_ms = -1, .armed = true};

    (void)state;
    rl_wait_answer(&wait, 2, &answer, at(0));
    assert_int_equal(wait.foreign, 4);
}

static void one_blind_node_of_three_leaves_enough_that_tell(void **state)
{
    struct rl_wait wait = begin();

    (void)state;
    held(&wait, 0, 11, 5000, true);
    held(&wait, 1, 11, 5000, false);
    held(&wait, 2, 11, 5000, true);
    assert_true(rl_wait_will_tell(&wait));
    assert_false(rl_wait_sees_all(&wait));
    held(&wait, 2, 11, 5000, false);
    assert_false(rl_wait_will_tell(&wait));
    held(&wait, 1, 11, 5000, true);
    held(&wait, 2, 11, 5000, true);
    assert_true(rl_wait_sees_all(&wait));
}

/* ---- who holds it ---- */

static void whoever_is_met_again_after_a_change_renews(void **state)
{
    struct rl_wait wait = begin();

    (void)state;
    held(&wait, 0, 11, 5000, true);
    held(&wait, 1, 11, 5000, true);
    assert_false(wait.renews); /* two nodes naming the same one is no renewal */
    rl_wait_changed(&wait, 0);
    rl_wait_begin(&wait, NODES, ALL);
    held(&wait, 0, 11, 5000, true);
    assert_true(wait.renews);
}

static void a_new_face_does_not_renew_yet(void **state)
{
    struct rl_wait wait = begin();

    (void)state;
    held(&wait, 0, 11, 5000, true);
    rl_wait_changed(&wait, 0);
    held(&wait, 0, 11, 5000, true);
    assert_true(wait.renews);
    rl_wait_changed(&wait, 0);
    held(&wait, 0, 12, 5000, true);
    assert_false(wait.renews);
    held(&wait, 1, 12, 5000, true);
    assert_false(wait.renews);
}

static void an_unknown_holder_changes_nothing(void **state)
{
    struct rl_wait wait = begin();

    (void)state;
    held(&wait, 0, 11, 5000, true);
    rl_wait_changed(&wait, 0);
    held(&wait, 0, 0, 5000, true);
    assert_int_equal(wait.holder, 11);
    assert_false(wait.renews);
}

/* ---- every picture of three nodes ---- */

enum picture { ASKED, WATCHED, BLIND, FREE, CHANGED, BROKEN, ENDED, PICTURES };

static void paint(struct rl_wait *wait, uint32_t node, enum picture picture)
{
    if (picture == WATCHED || picture == CHANGED)
        held(wait, node, 11, 5000, true);
    if (picture == CHANGED)
        rl_wait_changed(wait, node);
    if (picture == BLIND)
        held(wait, node, 11, 5000, false);
    if (picture == ENDED)
        held(wait, node, 11, 0, false);
    if (picture == FREE)
        said(wait, node, RL_GRANTED);
    if (picture == BROKEN)
        said(wait, node, RL_FAILED);
}

static void every_picture_is_counted_as_the_twin_counts_it(void **state)
{
    (void)state;
    for (int code = 0; code < PICTURES * PICTURES * PICTURES; code++) {
        enum picture pictures[NODES] = {(enum picture)(code % PICTURES),
                                        (enum picture)(code / PICTURES % PICTURES),
                                        (enum picture)(code / PICTURES / PICTURES)};
        struct rl_wait wait = begin();
        uint32_t free_count = 0, telling = 0, seeing = 0, ending = 0;

        for (uint32_t node = 0; node < NODES; node++) {
            enum picture picture = pictures[node];
            bool is_free = picture == FREE || picture == CHANGED;

            paint(&wait, node, picture);
            free_count += is_free || picture == ENDED;
            telling += is_free || picture == ASKED || picture == WATCHED;
            seeing += is_free || picture == WATCHED;
            ending += is_free || picture == ENDED || picture == WATCHED || picture == BLIND;
        }
        assert_int_equal(rl_node_set_count(rl_wait_free(&wait, at(1))), free_count);
        assert_int_equal(rl_wait_will_tell(&wait), telling >= 2);
        assert_int_equal(rl_wait_sees_all(&wait), seeing == NODES);
        assert_int_equal(rl_wait_free_at(&wait).us != RL_TIME_NEVER.us, ending >= 2);
        assert_int_equal(rl_wait_free_at(&wait).us <= at(1).us, free_count >= 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_first_nothing_is_known_and_everybody_may_tell),
        cmocka_unit_test(a_key_that_is_gone_is_free),
        cmocka_unit_test(an_armed_node_tells_once),
        cmocka_unit_test(a_change_on_a_node_that_was_not_watched_is_old_news),
        cmocka_unit_test(a_key_ends_a_millisecond_after_its_time_whether_watched_or_not),
        cmocka_unit_test(a_key_without_end_never_ends),
        cmocka_unit_test(an_answer_replaces_what_was_known_before),
        cmocka_unit_test(what_a_node_told_goes_with_its_connection),
        cmocka_unit_test(a_foreign_type_is_noted),
        cmocka_unit_test(one_blind_node_of_three_leaves_enough_that_tell),
        cmocka_unit_test(whoever_is_met_again_after_a_change_renews),
        cmocka_unit_test(a_new_face_does_not_renew_yet),
        cmocka_unit_test(an_unknown_holder_changes_nothing),
        cmocka_unit_test(every_picture_is_counted_as_the_twin_counts_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
