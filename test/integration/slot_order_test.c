/*
 * Which waiter a node hands a slot of a semaphore to, and by which number: the scripts on one real node. What
 * comes of it on several nodes is in semaphore_test.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "support/guarded.h"
#include "support/script_calls.h"
#include "support/steps.h"
#include "wire/guard_command.h"

#define NAME "pool"
#define LINE "redlock-line:{" NAME "}:"
#define FENCE "redlock-fence:{" NAME "}"
#define KNOWN "1 run id "
#define SLOTS "2"
#define TTL "60000"

#define HOUR_US INT64_C(3600000000)

enum { WORDS_MAX = 10, CLOSE_US = 50000, APART_US = 200000 };

/* Its number is the first part of it: the slot that it is nearest to. */
static const char *owner_of(int number)
{
    static char owners[4][48];

    snprintf(owners[number], sizeof owners[0], "%07x%025d|pid=1", number, 0);
    return owners[number];
}

/* One that waits, with a ticket; or, with none, one that does not. */
static const char *ask(struct fleet *fleet, int number, int64_t ticket, int64_t proposed, const char *wish)
{
    char place[64] = "", fence[24];
    const char *words[WORDS_MAX] = {
        NAME, owner_of(number), TTL, fence, KNOWN, "9007199254740991", place, SLOTS, wish, "0"};

    snprintf(fence, sizeof fence, "%" PRId64, proposed);
    if (ticket > 0)
        snprintf(place, sizeof place, "%" PRId64 " 0 30000 ", ticket);
    return call_script(fleet, &rl_script_slots_ask, "1", words, WORDS_MAX);
}

static void hand_back(struct fleet *fleet, int number, const char *slot)
{
    const char *words[] = {NAME, owner_of(number), SLOTS, slot, "0"};

    assert_int_equal(number_at(call_script(fleet, &rl_script_slots_hand_on, "1", words, 5), 0), 1);
}

/* Number 0 has the first slot, number 3 the second one. */
static void fill_slots(struct fleet *fleet, int64_t now_us)
{
    plant_guard(fleet);
    assert_int_equal(number_at(ask(fleet, 0, 0, now_us, "1"), 3), 1);
    assert_int_equal(number_at(ask(fleet, 3, 0, now_us + 1, "2"), 3), 2);
}

static void expect_in(struct fleet *fleet, const char *slot, int number)
{
    char key[64];

    snprintf(key, sizeof key, LINE "slot:%s", slot);
    assert_value(fleet, key, owner_of(number));
}

static int64_t fence_of(struct fleet *fleet, const char *slot)
{
    int64_t fence = 0;

    assert_int_equal(sscanf(fleet_command(fleet, 0, "HGET", NAME, slot, NULL), "%" SCNd64, &fence), 1);
    return fence;
}

/* The first in line is nearest to the second slot, the other one to the first. */
static void stand_in_line(struct fleet *fleet, int64_t now_us, int64_t ticket, int64_t apart_us)
{
    fill_slots(fleet, now_us - SECOND_US);
    assert_int_equal(number_at(ask(fleet, 2, ticket, now_us + 2, "1"), 5), 1);
    assert_int_equal(number_at(ask(fleet, 1, ticket + apart_us, now_us + 3, "1"), 5), 2);
}

static int leave_nothing(void **state)
{
    for (int number = 0; number < 4; number++) {
        const char *words[] = {NAME, owner_of(number), SLOTS, "0", "0"};

        call_script(*state, &rl_script_slots_hand_on, "1", words, 5);
    }
    return expect_no_lock(state);
}

static void slots_go_to_those_that_came_together_whichever_is_free_first(void **state)
{
    for (int other = 0; other < 2; other++) {
        int64_t now_us = node_now(*state);

        stand_in_line(*state, now_us, now_us, CLOSE_US);
        hand_back(*state, other ? 3 : 0, other ? "2" : "1");
        hand_back(*state, other ? 0 : 3, other ? "1" : "2");
        expect_in(*state, "1", 1);
        expect_in(*state, "2", 2);
        hand_back(*state, 1, "1");
        hand_back(*state, 2, "2");
    }
}

static void nobody_is_passed_by_one_that_came_later(void **state)
{
    int64_t now_us = node_now(*state);

    stand_in_line(*state, now_us, now_us - HOUR_US, APART_US);
    hand_back(*state, 0, "1");
    expect_in(*state, "1", 2);
}

/* Behind one whose clock is fast all tickets are close, whenever their callers came. */
static void tickets_ahead_of_the_clock_come_in_as_they_stand_in_line(void **state)
{
    int64_t now_us = node_now(*state);

    stand_in_line(*state, now_us, now_us + HOUR_US, 1);
    hand_back(*state, 0, "1");
    expect_in(*state, "1", 2);
}

/* The node's clock says so, and says nothing when it was set back. */
static void the_first_in_line_is_not_passed_for_long(void **state)
{
    static const int64_t since_us[] = {APART_US, -HOUR_US};

    for (int i = 0; i < 2; i++) {
        int64_t now_us = node_now(*state);
        char order[128];

        stand_in_line(*state, now_us, now_us, CLOSE_US);
        snprintf(order, sizeof order, "%" PRId64 " 0 %.32s %" PRId64, now_us + CLOSE_US, owner_of(2),
                 now_us - since_us[i]);
        plant(*state, LINE "order", order);
        hand_back(*state, 0, "1");
        expect_in(*state, "1", 2);
        leave_nothing(state);
    }
}

static void a_slot_is_numbered_as_its_waiter_proposed(void **state)
{
    int64_t now_us = node_now(*state);

    stand_in_line(*state, now_us, now_us, CLOSE_US);
    hand_back(*state, 0, "1");
    hand_back(*state, 3, "2");
    assert_int_equal(fence_of(*state, "1"), now_us + 3);
    assert_int_equal(fence_of(*state, "2"), now_us + 2);
    assert_value(*state, FENCE, decimal(now_us + 3)); /* that of the name does not fall */
}

static void a_number_is_above_what_was_there_when_its_waiter_came(void **state)
{
    int64_t now_us = node_now(*state), there = now_us + SECOND_US;

    fill_slots(*state, now_us - SECOND_US);
    plant(*state, FENCE, decimal(there));
    ask(*state, 2, now_us, now_us, "1");
    ask(*state, 2, now_us, now_us + 1, "1"); /* also when it asks again */
    hand_back(*state, 3, "2");
    expect_in(*state, "2", 2);
    assert_int_equal(fence_of(*state, "2"), there + 1);
}

#define ON_A_NODE(test)                              \
    {                                                \
#test, test, flush_node, leave_nothing, NULL \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_A_NODE(slots_go_to_those_that_came_together_whichever_is_free_first),
        ON_A_NODE(nobody_is_passed_by_one_that_came_later),
        ON_A_NODE(tickets_ahead_of_the_clock_come_in_as_they_stand_in_line),
        ON_A_NODE(the_first_in_line_is_not_passed_for_long),
        ON_A_NODE(a_slot_is_numbered_as_its_waiter_proposed),
        ON_A_NODE(a_number_is_above_what_was_there_when_its_waiter_came),
    };

    return cmocka_run_group_tests(tests, start_one_guarded, stop_guarded);
}
