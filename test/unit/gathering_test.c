/*
 * Who may go on at a barrier, by what nodes say: every small case by hand, and all of what three nodes can say of a party.
 */
#include <stdio.h>
#include <string.h>

#include "core/gathering.h"
#include "core/tally.h"
#include "support/check.h"

#define A "aaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbb"
#define C "cccccccccccccccc"

static struct rl_gathering gathering;

static void start(uint32_t node_count)
{
    memset(&gathering, 0, sizeof gathering);
    gathering.node_count = node_count;
}

static void hear(uint32_t node, const char *first, const char *second)
{
    rl_gathering_hear(&gathering, node);
    if (first != NULL)
        rl_gathering_add(&gathering, node, first, 0);
    if (second != NULL)
        rl_gathering_add(&gathering, node, second, 0);
}

static void union_of_a_quorum_counts(void **state)
{
    const char *ids[2];

    (void)state;
    start(3);
    hear(0, A, B);
    assert_int_equal(rl_gathering_waiting(&gathering), 0); /* one node of three knows nothing for certain */
    assert_false(rl_gathering_choose(&gathering, 1, ids));
    hear(1, A, NULL);
    assert_int_equal(rl_gathering_waiting(&gathering), 2);
    assert_true(rl_gathering_choose(&gathering, 2, ids));
    assert_memory_equal(ids[0], A, RL_PARTY_ID); /* known by most */
    assert_memory_equal(ids[1], B, RL_PARTY_ID);
    hear(2, C, NULL);
    assert_int_equal(rl_gathering_waiting(&gathering), 3);
    assert_false(rl_gathering_choose(&gathering, 4, ids));
    assert_false(rl_gathering_choose(&gathering, 0, ids));
}

static void party_in_any_opening_is_left_out(void **state)
{
    const char *ids[2];

    (void)state;
    start(3);
    hear(0, A, B);
    hear(1, NULL, B);
    rl_gathering_add(&gathering, 1, A, 7);
    assert_int_equal(rl_gathering_waiting(&gathering), 1);
    assert_false(rl_gathering_choose(&gathering, 2, ids));
    assert_true(rl_gathering_choose(&gathering, 1, ids));
    assert_memory_equal(ids[0], B, RL_PARTY_ID);
}

static void more_than_there_is_room_for_are_left_out(void **state)
{
    char id[RL_PARTY_ID + 1];

    (void)state;
    start(1);
    rl_gathering_hear(&gathering, 0);
    for (int i = 0; i < RL_GATHERING_MAX + 10; i++) {
        snprintf(id, sizeof id, "%016d", i);
        rl_gathering_add(&gathering, 0, id, 0);
    }
    assert_int_equal(rl_gathering_waiting(&gathering), RL_GATHERING_MAX);
}

/* One opening on a quorum, and nothing else: for all that three and five nodes can say of two openings and none. */
static void goes_on_by_one_opening_on_a_quorum_only(void **state)
{
    (void)state;
    for (uint32_t count = 1; count <= 5; count += 2) {
        uint32_t cases = 1;

        for (uint32_t i = 0; i < count; i++)
            cases *= 3;
        for (uint32_t number = 0; number < cases; number++) {
            uint64_t openings[5];
            uint32_t rest = number, by[3] = {0};

            for (uint32_t i = 0; i < count; i++, rest /= 3) {
                openings[i] = rest % 3;
                by[rest % 3]++;
            }
            bool expected = by[1] >= rl_quorum(count) || by[2] >= rl_quorum(count);
            assert_int_equal(rl_gathering_through(openings, count), expected);
        }
    }
}

static void party_is_out_when_no_quorum_is_left_for_it(void **state)
{
    (void)state;
    for (uint32_t count = 1; count <= 7; count++)
        for (rl_node_set left = 0; left <= rl_node_set_all(count); left++)
            assert_int_equal(rl_gathering_out(left, count),
                             count - rl_node_set_count(left) < rl_quorum(count));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(union_of_a_quorum_counts),
        cmocka_unit_test(party_in_any_opening_is_left_out),
        cmocka_unit_test(more_than_there_is_room_for_are_left_out),
        cmocka_unit_test(goes_on_by_one_opening_on_a_quorum_only),
        cmocka_unit_test(party_is_out_when_no_quorum_is_left_for_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
