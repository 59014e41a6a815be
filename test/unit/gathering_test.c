/*
 * Who may go on at a barrier, by what nodes say: every small case by hand, and all of what up to five nodes
 * can say of a party.
 */
#include <stdio.h>
#include <string.h>

#include "core/gathering.h"
#include "core/tally.h"
#include "support/check.h"

#define A "aaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbb"
#define C "cccccccccccccccccccccccc"

static struct rl_gathering gathering;

static void start(uint32_t node_count)
{
    memset(&gathering, 0, sizeof gathering);
    gathering.node_count = node_count;
}

static void hear(uint32_t node, const char *first, const char *second)
{
    rl_gathering_add(&gathering, node, first);
    if (second != NULL)
        rl_gathering_add(&gathering, node, second);
}

/* ---- choosing ---- */

static void those_that_wait_at_a_quorum_can_be_chosen(void **state)
{
    const char *ids[3];

    (void)state;
    start(3);
    hear(0, B, A);
    assert_false(rl_gathering_choose(&gathering, 1, ids)); /* one node of three could not open it alone */
    hear(1, A, C);
    assert_true(rl_gathering_choose(&gathering, 1, ids));
    assert_memory_equal(ids[0], A, RL_PARTY_ID);
    assert_false(rl_gathering_choose(&gathering, 2, ids));
    hear(2, B, A);
    assert_true(rl_gathering_choose(&gathering, 2, ids));
    assert_memory_equal(ids[0], A, RL_PARTY_ID); /* known by most */
    assert_memory_equal(ids[1], B, RL_PARTY_ID);
    assert_false(rl_gathering_choose(&gathering, 3, ids));
    assert_false(rl_gathering_choose(&gathering, 0, ids));
}

static void more_than_there_is_room_for_are_left_out(void **state)
{
    static const char *ids[RL_GATHERING_MAX + 1];
    char id[RL_PARTY_ID + 1];

    (void)state;
    start(1);
    for (int i = 0; i < RL_GATHERING_MAX + 10; i++) {
        snprintf(id, sizeof id, "%024d", i);
        rl_gathering_add(&gathering, 0, id);
    }
    assert_true(rl_gathering_choose(&gathering, RL_GATHERING_MAX, ids));
    assert_false(rl_gathering_choose(&gathering, RL_GATHERING_MAX + 1, ids));
}

static void so_many_wait_as_a_quorum_of_nodes_has(void **state)
{
    const uint32_t counts[] = {7, 3, 5, 9, 1};

    (void)state;
    assert_int_equal(rl_gathering_waiting(counts, 0x1f, 5), 5);
    assert_int_equal(rl_gathering_waiting(counts, 0x0b, 5), 3); /* 7, 3 and 9 */
    assert_int_equal(rl_gathering_waiting(counts, 0x03, 5), 0); /* no quorum */
    assert_int_equal(rl_gathering_waiting(counts, 0, 5), 0);
    assert_int_equal(rl_gathering_waiting(counts, 1, 1), 7);
}

/* ---- one party ---- */

/* All that so many nodes can say of a party: where it is, and in no opening or one of two. */
enum { SAYINGS = 9 };

static struct rl_attendance attendance_of(uint32_t number, uint32_t count)
{
    static const struct {
        enum rl_at_node at;
        uint64_t opening;
    } sayings[SAYINGS] = {{RL_AT_NEVER, 0}, {RL_AT_MAYBE, 0}, {RL_AT_THERE, 0},
                          {RL_AT_THERE, 7}, {RL_AT_THERE, 8}, {RL_AT_GONE, 0},
                          {RL_AT_GONE, 7},  {RL_AT_LEFT, 0},  {RL_AT_MAYBE, 8}};
    struct rl_attendance attendance = {.node_count = count};

    for (uint32_t i = 0; i < count; i++, number /= SAYINGS) {
        attendance.at[i] = sayings[number % SAYINGS].at;
        attendance.opening[i] = sayings[number % SAYINGS].opening;
    }
    return attendance;
}

/* What may become of one opening in the end: so many nodes have it, or may turn out to. */
static uint32_t most_for(const struct rl_attendance *attendance, uint64_t opening, bool certain)
{
    uint32_t most = 0;

    for (uint32_t i = 0; i < attendance->node_count; i++) {
        bool open = attendance->opening[i] == 0 && attendance->at[i] != RL_AT_NEVER &&
                    attendance->at[i] != RL_AT_LEFT;
        most += attendance->opening[i] == opening || (open && !certain);
    }
    return most;
}

static void nobody_goes_on_or_is_out_unless_that_is_certain(void **state)
{
    (void)state;
    for (uint32_t count = 1; count <= 5; count++) {
        uint32_t cases = 1, quorum = rl_quorum(count);

        for (uint32_t i = 0; i < count; i++)
            cases *= SAYINGS;
        for (uint32_t number = 0; number < cases; number++) {
            struct rl_attendance attendance = attendance_of(number, count);
            bool through = rl_attendance_through(&attendance), out = rl_attendance_out(&attendance);

            assert_int_equal(through, most_for(&attendance, 7, true) >= quorum ||
                                          most_for(&attendance, 8, true) >= quorum);
            /* An opening that was never seen may be where nothing is known. */
            if (out)
                assert_true(most_for(&attendance, 7, false) < quorum &&
                            most_for(&attendance, 8, false) < quorum &&
                            most_for(&attendance, 9, false) < quorum);
            assert_false(through && out);
            if (rl_attendance_lost(&attendance))
                assert_false(through || out);
        }
    }
}

static void party_is_lost_when_the_nodes_that_could_tell_have_lost_it(void **state)
{
    struct rl_attendance attendance = {.node_count = 3, .at = {RL_AT_GONE, RL_AT_GONE, RL_AT_THERE}};

    (void)state;
    assert_false(rl_attendance_lost(&attendance)); /* it may leave the third, */
    attendance.at[2] = RL_AT_LEFT;
    assert_true(rl_attendance_lost(&attendance)); /* but that does not help */
    attendance.at[1] = RL_AT_LEFT;
    assert_false(rl_attendance_lost(&attendance));
    assert_true(rl_attendance_out(&attendance));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_that_wait_at_a_quorum_can_be_chosen),
        cmocka_unit_test(more_than_there_is_room_for_are_left_out),
        cmocka_unit_test(so_many_wait_as_a_quorum_of_nodes_has),
        cmocka_unit_test(nobody_goes_on_or_is_out_unless_that_is_certain),
        cmocka_unit_test(party_is_lost_when_the_nodes_that_could_tell_have_lost_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
