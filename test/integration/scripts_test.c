/*
 * Tests of the Lua scripts on a real node: every branch, and the shape of every reply. Each rule is shown from both
 * sides: the call that it refuses, and the same call that it lets through. The guard's keys are planted by hand.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/guarded.h"
#include "support/old_scripts.h"
#include "support/script_calls.h"
#include "support/steps.h"

#define FENCE_KEY "redlock-fence:{lock}"
#define ORDER_KEY "redlock-line:{lock}:order"

enum { ANSWER_MAX = 4096 };
#define NEVER_LATE "9007199254740991"

/* ---- calling ------------------------------------------------------------------------------------------- */

static const char *acquire_as(struct fleet *fleet, const char *owner, int64_t fence, const char *epoch,
                              const char *not_after)
{
    const char *words[] = {"lock", FENCE_KEY,      EPOCH_KEY, FLOOR_KEY, ORDER_KEY, owner,
                           "5000", decimal(fence), epoch,     not_after, ""};

    return call_script(fleet, &rl_script_ask, "5", words, 11);
}

static const char *acquire(struct fleet *fleet, int64_t fence)
{
    return acquire_as(fleet, "me", fence, EPOCH, NEVER_LATE);
}

static const char *raise_fence(struct fleet *fleet, const char *owner, int64_t fence, const char *epoch)
{
    const char *words[] = {"lock", FENCE_KEY, EPOCH_KEY, FLOOR_KEY, owner, decimal(fence), epoch};

    return call_script(fleet, &rl_script_raise, "4", words, 7);
}

static const char *extend(struct fleet *fleet, const char *owner, const char *ttl_ms, const char *not_after,
                          const char *repair_epoch)
{
    const char *words[] = {"lock",
                           EPOCH_KEY,
                           owner,
                           ttl_ms,
                           repair_epoch != NULL ? "1" : "0",
                           repair_epoch != NULL ? repair_epoch : EPOCH,
                           not_after};

    return call_script(fleet, &rl_script_extend, "2", words, 7);
}

static const char *release(struct fleet *fleet, const char *owner)
{
    const char *words[] = {"lock", owner};

    return call_script(fleet, &rl_script_release, "1", words, 2);
}

/* ---- acquire ------------------------------------------------------------------------------------------- */

static void a_free_lock_is_granted_with_the_proposed_fence(void **state)
{
    struct fleet *fleet = *state;
    int64_t fence;

    plant_guard(fleet);
    fence = node_now(fleet);
    const char *answer = acquire(fleet, fence);
    assert_int_equal(count_lines(answer), 1);
    assert_true(number_at(answer, 0) >= fence);
    assert_value(fleet, "lock", "me");
    assert_in_range(ttl_of(fleet, "lock"), 1, 5000);
    assert_value(fleet, FENCE_KEY, decimal(fence));
    assert_in_range(ttl_of(fleet, FENCE_KEY), 3600000, 4200000);
    assert_true(strtoll(fleet_command(fleet, 0, "GET", FLOOR_KEY, NULL), NULL, 10) < fence);
    fleet_command(fleet, 0, "DEL", "lock", NULL);
}

/* Grants with this fence stored (and this floor) and expects the number. */
static void expect_fence(struct fleet *fleet, int64_t stored, int64_t floor, int64_t proposed,
                         int64_t expected)
{
    const char *answer;

    fleet_command(fleet, 0, "DEL", "lock", FENCE_KEY, NULL);
    if (stored != 0)
        fleet_command(fleet, 0, "SET", FENCE_KEY, decimal(stored), "EX", "1000", NULL);
    plant(fleet, FLOOR_KEY, decimal(floor));
    answer = acquire(fleet, proposed);
    assert_int_equal(count_lines(answer), expected == proposed ? 1 : 3);
    if (expected != proposed) {
        assert_int_equal(number_at(answer, 0), 1);
        assert_int_equal(number_at(answer, 2), expected);
    }
    assert_value(fleet, FENCE_KEY, decimal(expected));
    fleet_command(fleet, 0, "DEL", "lock", NULL);
}

static void a_proposal_that_is_not_above_what_is_stored_is_numbered_one_above_it(void **state)
{
    struct fleet *fleet = *state;
    int64_t now;

    plant_guard(fleet);
    now = node_now(fleet);
    expect_fence(fleet, now, 5, now + 1, now + 1);
    expect_fence(fleet, now, 5, now, now + 1);
    expect_fence(fleet, now, 5, now - 1, now + 1);
}

static void the_floor_stands_for_a_fence_that_was_lost(void **state)
{
    struct fleet *fleet = *state;
    int64_t now;

    plant_guard(fleet);
    now = node_now(fleet);
    expect_fence(fleet, 0, now, now + 1, now + 1);
    expect_fence(fleet, 0, now, now, now + 1);
    expect_fence(fleet, 0, now + 60 * SECOND_US, now, now + 60 * SECOND_US + 1);
}

/* A node restored from an old snapshot has old fences, and a floor that was told to it since: the floor is what holds. */
static void a_floor_above_the_stored_fence_counts(void **state)
{
    struct fleet *fleet = *state;
    int64_t now;

    plant_guard(fleet);
    now = node_now(fleet);
    expect_fence(fleet, now - SECOND_US, now, now - 1, now + 1);
}

static void a_proposal_far_from_the_clock_gives_way_to_the_clock(void **state)
{
    struct fleet *fleet = *state;
    static const int64_t off[] = {INT64_C(3600) * SECOND_US, -INT64_C(3600) * SECOND_US, 6 * SECOND_US,
                                  -61 * SECOND_US};

    plant_guard(fleet);
    for (size_t i = 0; i < sizeof off / sizeof off[0]; i++) {
        int64_t before = node_now(fleet);
        const char *answer = acquire(fleet, before + off[i]);

        assert_int_equal(number_at(answer, 0), 1);
        assert_int_equal(number_at(answer, 2), number_at(answer, 1));
        assert_true(number_at(answer, 2) >= before);
        assert_value(fleet, FENCE_KEY, decimal(number_at(answer, 2)));
        fleet_command(fleet, 0, "DEL", "lock", FENCE_KEY, NULL);
    }
    for (int64_t shift = -52 * SECOND_US; shift <= 4 * SECOND_US; shift += 14 * SECOND_US) {
        assert_int_equal(count_lines(acquire(fleet, node_now(fleet) + shift)), 1);
        fleet_command(fleet, 0, "DEL", "lock", FENCE_KEY, NULL);
    }
}

/* Fence keys expire after a day, and a number an hour ahead would be undercut then. */
static void a_number_ahead_of_the_clock_is_kept_in_the_floor(void **state)
{
    struct fleet *fleet = *state;
    int64_t ahead;

    plant_guard(fleet);
    ahead = node_now(fleet) + INT64_C(3600) * SECOND_US;
    expect_fence(fleet, ahead, 5, ahead, ahead + 1);
    assert_value(fleet, FLOOR_KEY, decimal(ahead + 1));
    expect_fence(fleet, 0, ahead + 7, ahead, ahead + 8);
    assert_value(fleet, FLOOR_KEY, decimal(ahead + 8));
}

/* %.0f and not tostring(): fourteen digits are all that Lua would show. */
static void large_numbers_lose_no_digit(void **state)
{
    struct fleet *fleet = *state;

    plant_guard(fleet);
    expect_fence(fleet, INT64_C(8999999999999998), 5, 7, INT64_C(8999999999999999));
    expect_fence(fleet, 0, INT64_C(8123456789012345), 7, INT64_C(8123456789012346));
}

static void a_fence_key_lives_for_an_hour_after_its_last_use_give_or_take_ten_minutes(void **state)
{
    struct fleet *fleet = *state;
    int64_t now;

    plant_guard(fleet);
    /* Within the ten minutes of the stored number the end is left alone. */
    now = INT64_C(600) * SECOND_US * 6000000 + 7;
    fleet_command(fleet, 0, "SET", FENCE_KEY, decimal(now), "EX", "1000", NULL);
    acquire(fleet, 1);
    assert_value(fleet, FENCE_KEY, decimal(now + 1));
    assert_in_range(ttl_of(fleet, FENCE_KEY), 1, 1000000);
    fleet_command(fleet, 0, "DEL", "lock", NULL);
    /* The last of them gives way to the first of the next. */
    now = INT64_C(600) * SECOND_US * 6000001 - 1;
    fleet_command(fleet, 0, "SET", FENCE_KEY, decimal(now), "EX", "1000", NULL);
    acquire(fleet, 1);
    assert_value(fleet, FENCE_KEY, decimal(now + 1));
    assert_in_range(ttl_of(fleet, FENCE_KEY), 3600000, 4200000);
    fleet_command(fleet, 0, "DEL", "lock", NULL);
}

/* What the keys of an hour ago knew the floor knows, and it has no end: so a clock may be set back by any time after that. */
static void a_floor_stays_less_than_an_hour_behind_the_clock(void **state)
{
    struct fleet *fleet = *state;
    int64_t now, floor;

    plant_guard(fleet);
    plant(fleet, FLOOR_KEY, decimal(node_now(fleet) - INT64_C(3600) * SECOND_US));
    acquire(fleet, node_now(fleet));
    now = node_now(fleet);
    floor = strtoll(fleet_command(fleet, 0, "GET", FLOOR_KEY, NULL), NULL, 10);
    assert_in_range(now - floor, INT64_C(3000) * SECOND_US, INT64_C(3100) * SECOND_US);
    fleet_command(fleet, 0, "DEL", "lock", NULL);
    /* Not before that: it would be written for nothing. */
    plant(fleet, FLOOR_KEY, decimal(now - INT64_C(3400) * SECOND_US));
    acquire(fleet, node_now(fleet));
    assert_value(fleet, FLOOR_KEY, decimal(now - INT64_C(3400) * SECOND_US));
    fleet_command(fleet, 0, "DEL", "lock", NULL);
}

static void a_held_lock_is_denied_with_its_fence_its_time_and_its_owner(void **state)
{
    struct fleet *fleet = *state;
    char answer[ANSWER_MAX];
    int64_t fence;

    plant_guard(fleet);
    fence = node_now(fleet);
    acquire_as(fleet, "another", fence, EPOCH, NEVER_LATE);
    snprintf(answer, sizeof answer, "%s", acquire(fleet, fence + SECOND_US));
    assert_int_equal(count_lines(answer), 5);
    assert_int_equal(number_at(answer, 0), 0);
    assert_true(number_at(answer, 1) >= fence);
    assert_int_equal(number_at(answer, 2), fence);
    assert_in_range(number_at(answer, 3), 1, 5000);
    assert_string_equal(strrchr(answer, '\n') + 1, "another");
    assert_value(fleet, "lock", "another");
    assert_value(fleet, FENCE_KEY, decimal(fence));
    fleet_command(fleet, 0, "DEL", "lock", NULL);
}

static void a_holder_without_an_end_and_with_a_long_name_is_shown_cut(void **state)
{
    struct fleet *fleet = *state;
    char owner[601];
    const char *answer;

    plant_guard(fleet);
    memset(owner, 'x', 600);
    owner[600] = '\0';
    plant(fleet, "lock", owner);
    answer = acquire(fleet, 7);
    assert_int_equal(number_at(answer, 2), 5); /* no fence of its own: the floor */
    assert_int_equal(number_at(answer, 3), -1);
    assert_int_equal(strlen(strrchr(answer, '\n') + 1), 511);
    fleet_command(fleet, 0, "DEL", "lock", NULL);
}

static void a_key_of_another_type_is_in_the_way_and_nothing_is_written(void **state)
{
    struct fleet *fleet = *state;

    plant_guard(fleet);
    fleet_command(fleet, 0, "HSET", "lock", "field", "value", NULL);
    assert_non_null(strstr(acquire(fleet, node_now(fleet)), "WRONGTYPE"));
    assert_value(fleet, FENCE_KEY, "(nil)");
    assert_string_equal(fleet_command(fleet, 0, "HGET", "lock", "field", NULL), "value");
    fleet_command(fleet, 0, "DEL", "lock", NULL);
    assert_int_equal(count_lines(acquire(fleet, node_now(fleet))), 1);
    fleet_command(fleet, 0, "DEL", "lock", NULL);
}

static void expect_epoch_refusal(struct fleet *fleet, const char *epoch)
{
    const char *answer = acquire_as(fleet, "me", node_now(fleet), epoch, NEVER_LATE);

    assert_int_equal(count_lines(answer), 2);
    assert_int_equal(number_at(answer, 0), -3);
    assert_true(number_at(answer, 1) > SECOND_US);
    assert_value(fleet, "lock", "(nil)");
    assert_value(fleet, FENCE_KEY, "(nil)");
}

static void a_node_that_is_not_what_the_client_takes_it_for_does_not_vote(void **state)
{
    struct fleet *fleet = *state;

    expect_epoch_refusal(fleet, EPOCH); /* flushed */
    expect_epoch_refusal(fleet, "");
    plant(fleet, EPOCH_KEY, EPOCH);
    expect_epoch_refusal(fleet, EPOCH); /* no floor */
    plant(fleet, FLOOR_KEY, "5");
    expect_epoch_refusal(fleet, "1 run other 1000 0");
    plant(fleet, EPOCH_KEY, "1 run id 1000 9"); /* in quarantine, by another client's word */
    expect_epoch_refusal(fleet, EPOCH);
    plant(fleet, EPOCH_KEY, EPOCH);
    assert_int_equal(count_lines(acquire(fleet, node_now(fleet))), 1);
    fleet_command(fleet, 0, "DEL", "lock", NULL);
}

/* One more than 2^53 is 2^53 in the nodes' arithmetic. */
static void a_number_without_a_next_one_is_not_handed_out(void **state)
{
    struct fleet *fleet = *state;

    plant_guard(fleet);
    expect_fence(fleet, INT64_C(9007199254740989), 5, node_now(fleet), INT64_C(9007199254740990));
    fleet_command(fleet, 0, "DEL", FENCE_KEY, NULL);
    for (const char *const *odd = (const char *const[]){"9007199254740990", "1e300", "nan", "-1", "x", NULL};
         *odd != NULL; odd++) {
        plant(fleet, FLOOR_KEY, *odd);
        expect_epoch_refusal(fleet, EPOCH);
    }
    plant(fleet, FLOOR_KEY, "5");
    plant(fleet, FENCE_KEY, "9007199254740990");
    assert_non_null(strstr(acquire(fleet, node_now(fleet)), "out of range"));
    assert_value(fleet, "lock", "(nil)");
    plant(fleet, FENCE_KEY, "7");
    plant(fleet, "lock", "me");
    assert_non_null(strstr(raise_fence(fleet, "me", INT64_C(9007199254740991), EPOCH), "above"));
    assert_value(fleet, FENCE_KEY, "7");
    fleet_command(fleet, 0, "DEL", "lock", NULL);
}

static void a_question_that_comes_too_late_is_not_carried_out(void **state)
{
    struct fleet *fleet = *state;
    const char *answer;

    plant_guard(fleet);
    answer = acquire_as(fleet, "me", node_now(fleet), EPOCH, decimal(node_now(fleet) - 1));
    assert_int_equal(count_lines(answer), 2);
    assert_int_equal(number_at(answer, 0), -4);
    assert_true(number_at(answer, 1) > SECOND_US);
    assert_value(fleet, "lock", "(nil)");
    assert_value(fleet, FENCE_KEY, "(nil)");
    answer = acquire_as(fleet, "me", node_now(fleet), EPOCH, decimal(node_now(fleet) + 60 * SECOND_US));
    assert_int_equal(count_lines(answer), 1);
    fleet_command(fleet, 0, "DEL", "lock", NULL);
}

/* ---- raise --------------------------------------------------------------------------------------------- */

static void raising_lifts_the_fence_while_the_lock_is_ours(void **state)
{
    struct fleet *fleet = *state;
    int64_t fence;

    plant_guard(fleet);
    fence = node_now(fleet);
    acquire(fleet, fence);
    assert_true(number_at(raise_fence(fleet, "me", fence + 9, EPOCH), 0) >= fence);
    assert_value(fleet, FENCE_KEY, decimal(fence + 9));
    assert_in_range(ttl_of(fleet, FENCE_KEY), 3600000, 4200000);
    assert_true(strtoll(fleet_command(fleet, 0, "GET", FLOOR_KEY, NULL), NULL, 10) < fence);
    fleet_command(fleet, 0, "DEL", "lock", NULL);
}

/* Nor does it succeed: a higher number means that the lock was given anew since it was agreed on. */
static void raising_never_lowers(void **state)
{
    struct fleet *fleet = *state;
    int64_t fence;

    plant_guard(fleet);
    fence = node_now(fleet);
    acquire(fleet, fence);
    assert_int_equal(number_at(raise_fence(fleet, "me", fence - 9, EPOCH), 0), 0);
    assert_value(fleet, FENCE_KEY, decimal(fence));
    fleet_command(fleet, 0, "DEL", "lock", NULL);
}

/* Without this check two holders' numbers may cross: the theorem wants "still held when the number was stored". */
static void raising_is_refused_once_the_lock_is_not_ours(void **state)
{
    struct fleet *fleet = *state;
    int64_t fence;

    plant_guard(fleet);
    fence = node_now(fleet);
    acquire(fleet, fence);
    assert_string_equal(raise_fence(fleet, "another", fence + 9, EPOCH), "0");
    fleet_command(fleet, 0, "DEL", "lock", NULL);
    assert_string_equal(raise_fence(fleet, "me", fence + 9, EPOCH), "0");
    assert_value(fleet, FENCE_KEY, decimal(fence));
}

static void raising_wants_the_epoch_and_a_floor(void **state)
{
    struct fleet *fleet = *state;
    int64_t fence;

    plant_guard(fleet);
    fence = node_now(fleet);
    acquire(fleet, fence);
    assert_string_equal(raise_fence(fleet, "me", fence + 9, "1 run other 1000 0"), "-3");
    fleet_command(fleet, 0, "DEL", FLOOR_KEY, NULL);
    assert_string_equal(raise_fence(fleet, "me", fence + 9, EPOCH), "-3");
    assert_value(fleet, FENCE_KEY, decimal(fence));
    fleet_command(fleet, 0, "DEL", "lock", NULL);
}

static void raising_ahead_of_the_clock_goes_into_the_floor_too(void **state)
{
    struct fleet *fleet = *state;
    int64_t fence;

    plant_guard(fleet);
    fence = node_now(fleet);
    acquire(fleet, fence);
    raise_fence(fleet, "me", fence + 60 * SECOND_US, EPOCH);
    assert_value(fleet, FENCE_KEY, decimal(fence + 60 * SECOND_US));
    assert_value(fleet, FLOOR_KEY, decimal(fence + 60 * SECOND_US));
    raise_fence(fleet, "me", fence + 50 * SECOND_US, EPOCH);
    assert_value(fleet, FENCE_KEY, decimal(fence + 60 * SECOND_US));
    assert_value(fleet, FLOOR_KEY, decimal(fence + 60 * SECOND_US));
    fleet_command(fleet, 0, "DEL", "lock", NULL);
}

/* ---- extend -------------------------------------------------------------------------------------------- */

static void extending_lengthens_and_never_shortens(void **state)
{
    struct fleet *fleet = *state;

    plant_guard(fleet);
    fleet_command(fleet, 0, "SET", "lock", "me", "PX", "5000", NULL);
    assert_true(number_at(extend(fleet, "me", "60000", NEVER_LATE, NULL), 0) > SECOND_US);
    assert_in_range(ttl_of(fleet, "lock"), 50000, 60000);
    assert_true(number_at(extend(fleet, "me", "1000", NEVER_LATE, NULL), 0) > SECOND_US);
    assert_in_range(ttl_of(fleet, "lock"), 40000, 60000);
    fleet_command(fleet, 0, "DEL", "lock", NULL);
}

static void extending_what_another_holds_changes_nothing(void **state)
{
    struct fleet *fleet = *state;

    plant_guard(fleet);
    fleet_command(fleet, 0, "SET", "lock", "another", "PX", "5000", NULL);
    assert_string_equal(extend(fleet, "me", "60000", NEVER_LATE, NULL), "0");
    assert_string_equal(extend(fleet, "me", "60000", NEVER_LATE, EPOCH), "0");
    assert_in_range(ttl_of(fleet, "lock"), 1, 5000);
    assert_value(fleet, "lock", "another");
    fleet_command(fleet, 0, "DEL", "lock", NULL);
}

static void an_expired_lock_is_not_taken_back_by_extending(void **state)
{
    struct fleet *fleet = *state;

    plant_guard(fleet);
    assert_string_equal(extend(fleet, "me", "60000", NEVER_LATE, NULL), "-1");
    assert_value(fleet, "lock", "(nil)");
}

static void repair_plants_the_lock_again_where_the_epoch_is_known(void **state)
{
    struct fleet *fleet = *state;

    plant_guard(fleet);
    assert_string_equal(extend(fleet, "me", "60000", NEVER_LATE, "1 run other 1000 0"), "-3");
    assert_value(fleet, "lock", "(nil)");
    assert_string_equal(extend(fleet, "me", "60000", NEVER_LATE, EPOCH), "-2"); /* which is no vote */
    assert_value(fleet, "lock", "me");
    assert_in_range(ttl_of(fleet, "lock"), 50000, 60000);
    fleet_command(fleet, 0, "DEL", "lock", NULL);
}

static void an_extension_that_comes_too_late_is_not_carried_out(void **state)
{
    struct fleet *fleet = *state;

    plant_guard(fleet);
    fleet_command(fleet, 0, "SET", "lock", "me", "PX", "5000", NULL);
    assert_string_equal(extend(fleet, "me", "60000", decimal(node_now(fleet) - 1), EPOCH), "-4");
    assert_in_range(ttl_of(fleet, "lock"), 1, 5000);
    fleet_command(fleet, 0, "DEL", "lock", NULL);
    assert_string_equal(extend(fleet, "me", "60000", decimal(node_now(fleet) - 1), EPOCH), "-4");
    assert_value(fleet, "lock", "(nil)");
}

static void extending_in_plain_mode_knows_no_epoch_and_no_lateness(void **state)
{
    struct fleet *fleet = *state;
    const char *words[] = {"lock", "me", "60000", "0"};

    assert_string_equal(call_script(fleet, &rl_script_extend, "1", words, 4), "-1");
    fleet_command(fleet, 0, "SET", "lock", "me", "PX", "5000", NULL);
    assert_string_equal(call_script(fleet, &rl_script_extend, "1", words, 4), "1");
    assert_in_range(ttl_of(fleet, "lock"), 50000, 60000);
    fleet_command(fleet, 0, "DEL", "lock", NULL);
}

static void repair_in_plain_mode_plants_the_lock_again(void **state)
{
    struct fleet *fleet = *state;
    const char *words[] = {"lock", "me", "60000", "1"};

    assert_string_equal(call_script(fleet, &rl_script_extend, "1", words, 4), "-2"); /* no vote here either */
    assert_value(fleet, "lock", "me");
    assert_in_range(ttl_of(fleet, "lock"), 50000, 60000);
    fleet_command(fleet, 0, "SET", "lock", "you", "PX", "5000", NULL);
    assert_string_equal(call_script(fleet, &rl_script_extend, "1", words, 4), "0");
    fleet_command(fleet, 0, "DEL", "lock", NULL);
}

/* It keeps what it has for as long as its holder wants, but counts for nothing. */
static void a_quarantined_node_extends_without_a_vote(void **state)
{
    struct fleet *fleet = *state;
    char record[128];

    plant_guard(fleet);
    fleet_command(fleet, 0, "SET", "lock", "me", "PX", "5000", NULL);
    snprintf(record, sizeof record, "1 run id 1000 %s", decimal(node_now(fleet) / 1000 + 60000));
    fleet_command(fleet, 0, "SET", EPOCH_KEY, record, NULL);
    assert_string_equal(extend(fleet, "me", "60000", NEVER_LATE, record), "-3");
    assert_in_range(ttl_of(fleet, "lock"), 50000, 60000);
    fleet_command(fleet, 0, "DEL", "lock", NULL);
    assert_string_equal(extend(fleet, "me", "60000", NEVER_LATE, record), "-3");
    assert_value(fleet, "lock", "(nil)");
}

/* A snapshot brought back what was given back: whoever still knows its owner value must not keep it alive until the node votes. */
static void a_quarantined_node_keeps_no_key_alive_for_an_adopter(void **state)
{
    struct fleet *fleet = *state;
    char record[128];

    plant_guard(fleet);
    fleet_command(fleet, 0, "SET", "lock", "me", "PX", "5000", NULL);
    snprintf(record, sizeof record, "1 run id 1000 %s", decimal(node_now(fleet) / 1000 + 60000));
    fleet_command(fleet, 0, "SET", EPOCH_KEY, record, NULL);
    assert_string_equal(extend(fleet, "me", "60000", NEVER_LATE, NULL), "-3");
    assert_in_range(ttl_of(fleet, "lock"), 0, 5000);
    fleet_command(fleet, 0, "DEL", "lock", NULL);
}

static void a_node_with_another_memory_extends_without_a_vote(void **state)
{
    struct fleet *fleet = *state;

    plant_guard(fleet);
    fleet_command(fleet, 0, "SET", "lock", "me", "PX", "5000", NULL);
    assert_string_equal(extend(fleet, "me", "60000", NEVER_LATE, "1 run other 1000 0"), "-3");
    fleet_command(fleet, 0, "DEL", "lock", NULL);
}

static void extending_a_key_of_another_type_is_an_error(void **state)
{
    struct fleet *fleet = *state;

    plant_guard(fleet);
    fleet_command(fleet, 0, "HSET", "lock", "field", "value", NULL);
    assert_non_null(strstr(extend(fleet, "me", "60000", NEVER_LATE, EPOCH), "WRONGTYPE"));
    fleet_command(fleet, 0, "DEL", "lock", NULL);
}

/* ---- release ------------------------------------------------------------------------------------------- */

static void releasing_deletes_what_is_ours_and_nothing_else(void **state)
{
    struct fleet *fleet = *state;

    assert_string_equal(release(fleet, "me"), "-1");
    plant(fleet, "lock", "another");
    assert_string_equal(release(fleet, "me"), "0");
    assert_value(fleet, "lock", "another");
    assert_string_equal(release(fleet, "another"), "1");
    assert_value(fleet, "lock", "(nil)");
    fleet_command(fleet, 0, "HSET", "lock", "field", "value", NULL);
    assert_non_null(strstr(release(fleet, "me"), "WRONGTYPE"));
    fleet_command(fleet, 0, "DEL", "lock", NULL);
}

/* ---- admit --------------------------------------------------------------------------------------------- */

/* What a client says; zero means what most clients would say. */
struct asks {
    const char *run, *id, *word, *known, *replid, *terms;
    int64_t q_ms, up_ms, floor;
    bool durable;
};

struct admitted {
    int64_t state, now_us, wait_ms;
    char record[128], floor[32], terms[128];
    int64_t q_ms, until_ms; /* of the record */
    char run[64], id[64];
};

static const char *or_else(const char *word, const char *otherwise)
{
    return word != NULL ? word : otherwise;
}

static struct admitted admit(struct fleet *fleet, struct asks asks)
{
    const char *words[] = {EPOCH_KEY,
                           FLOOR_KEY,
                           TERMS_KEY,
                           or_else(asks.run, "run-a"),
                           or_else(asks.id, "fresh"),
                           decimal(asks.q_ms != 0 ? asks.q_ms : 1000),
                           asks.durable ? "1" : "0",
                           decimal(asks.up_ms),
                           or_else(asks.word, ""),
                           asks.floor != 0 ? decimal(asks.floor) : "",
                           or_else(asks.known, ""),
                           or_else(asks.replid, ""),
                           or_else(asks.terms, "")};
    struct admitted admitted = {0};
    const char *answer = call_script(fleet, &rl_script_admit, "3", words, 13);

    if (count_lines(answer) != 6)
        fail_msg("not an admission: %s", answer);
    admitted.state = number_at(answer, 0);
    admitted.now_us = number_at(answer, 1);
    admitted.wait_ms = number_at(answer, 3);
    assert_int_equal(sscanf(answer, "%*d\n%*d\n%127[^\n]", admitted.record), 1);
    snprintf(admitted.terms, sizeof admitted.terms, "%s", strrchr(answer, '\n') + 1);
    for (int line = 0; line < 4; line++)
        answer = strchr(answer, '\n') + 1;
    snprintf(admitted.floor, sizeof admitted.floor, "%.*s", (int)strcspn(answer, "\n"), answer);
    assert_int_equal(sscanf(admitted.record, "1 %63s %63s %" SCNd64 " %" SCNd64, admitted.run, admitted.id,
                            &admitted.q_ms, &admitted.until_ms),
                     4);
    if (asks.word != NULL && strcmp(asks.word, "look") == 0)
        return admitted; /* it only tells what it would be */
    assert_value(fleet, EPOCH_KEY, admitted.record);
    assert_value(fleet, FLOOR_KEY, admitted.floor[0] != '\0' ? admitted.floor : "(nil)");
    return admitted;
}

static int64_t changes(struct fleet *fleet)
{
    static const char field[] = "rdb_changes_since_last_save:";
    const char *info = fleet_command(fleet, 0, "INFO", "persistence", NULL);
    const char *found = strstr(info, field);

    assert_non_null(found);
    return strtoll(found + sizeof field - 1, NULL, 10);
}

static void a_node_without_a_record_is_quarantined(void **state)
{
    struct admitted admitted = admit(*state, (struct asks){.q_ms = 5000});

    assert_int_equal(admitted.state, 2);
    assert_int_equal(admitted.wait_ms, 5000);
    assert_int_equal(admitted.until_ms, admitted.now_us / 1000 + 5000);
    assert_int_equal(admitted.q_ms, 5000);
    assert_string_equal(admitted.run, "run-a");
    assert_string_equal(admitted.id, "fresh");
    assert_string_equal(admitted.floor, "");
}

/* However long it has been up: it may have been flushed a moment ago. Nor does it help to be called durable. */
static void a_node_without_a_record_gets_no_credit(void **state)
{
    struct admitted admitted = admit(*state, (struct asks){.q_ms = 5000, .up_ms = 3600000, .durable = true});

    assert_int_equal(admitted.state, 2);
    assert_int_equal(admitted.wait_ms, 5000);
}

static void an_unreadable_record_counts_as_none(void **state)
{
    struct fleet *fleet = *state;
    static const char *const odd[] = {
        "", "1 a b c 0", "2 run-a id 1000 0", "1 run-a id 1000 0 ", "1 run-a id 172800001 0", "nonsense"};

    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        plant(fleet, EPOCH_KEY, odd[i]);
        plant(fleet, FLOOR_KEY, "5");
        assert_int_equal(admit(fleet, (struct asks){0}).wait_ms, 1000);
    }
}

static void plant_fit(struct fleet *fleet)
{
    plant(fleet, EPOCH_KEY, "1 run-a id 1000 0");
    plant(fleet, FLOOR_KEY, "5");
}

static void the_same_run_stays_fit_and_nothing_is_written(void **state)
{
    struct fleet *fleet = *state;
    struct admitted admitted;
    int64_t before;

    plant_fit(fleet);
    admit(fleet, (struct asks){0});
    before = changes(fleet);
    admitted = admit(fleet, (struct asks){0});
    assert_int_equal(admitted.state, 1);
    assert_int_equal(admitted.wait_ms, 0);
    assert_string_equal(admitted.record, "1 run-a id 1000 0");
    assert_string_equal(admitted.floor, "5");
    assert_int_equal(changes(fleet), before);
    admit(fleet, (struct asks){.q_ms = 2000});
    assert_true(changes(fleet) > before);
}

static void waiting_again_writes_nothing_either(void **state)
{
    struct fleet *fleet = *state;
    struct admitted first = admit(fleet, (struct asks){.q_ms = 60000});
    int64_t before = changes(fleet);
    struct admitted second = admit(fleet, (struct asks){.q_ms = 60000, .id = "another"});

    assert_int_equal(second.state, 2);
    assert_string_equal(second.record, first.record);
    assert_int_equal(changes(fleet), before);
}

static void another_run_lost_its_data_and_is_quarantined(void **state)
{
    struct fleet *fleet = *state;
    struct admitted admitted;

    plant_fit(fleet);
    admitted = admit(fleet, (struct asks){.run = "run-b"});
    assert_int_equal(admitted.state, 2);
    assert_int_equal(admitted.wait_ms, 1000);
    assert_string_equal(admitted.run, "run-b");
    assert_string_equal(admitted.id, "fresh");
    assert_string_equal(admitted.floor, "");
}

static void another_run_of_a_durable_node_goes_on(void **state)
{
    struct fleet *fleet = *state;
    struct admitted admitted;

    plant_fit(fleet);
    admitted = admit(fleet, (struct asks){.run = "run-b", .durable = true});
    assert_int_equal(admitted.state, 1);
    assert_string_equal(admitted.record, "1 run-b id 1000 0");
    assert_string_equal(admitted.floor, "5");
}

static void a_durable_node_that_was_waiting_goes_on_waiting(void **state)
{
    struct fleet *fleet = *state;
    struct admitted first = admit(fleet, (struct asks){.q_ms = 60000});
    struct admitted second = admit(fleet, (struct asks){.q_ms = 60000, .run = "run-b", .durable = true});

    assert_int_equal(second.state, 2);
    assert_int_equal(second.until_ms, first.until_ms);
}

static void a_new_history_of_the_same_run_lost_nothing(void **state)
{
    struct fleet *fleet = *state;
    struct admitted admitted;

    plant(fleet, EPOCH_KEY, "1 run-a.1 id 1000 0");
    plant(fleet, FLOOR_KEY, "5");
    admitted = admit(fleet, (struct asks){.run = "run-a.2"});
    assert_int_equal(admitted.state, 1);
    assert_string_equal(admitted.record, "1 run-a.2 id 1000 0");
    assert_string_equal(admitted.floor, "5");
}

/* Not even where the operator declared it durable: it remembers, but perhaps not what it was told itself. */
static void a_node_that_was_a_replica_is_quarantined_in_full(void **state)
{
    struct fleet *fleet = *state;
    struct admitted admitted;

    plant(fleet, EPOCH_KEY, "1 run-a.1 id 1000 0");
    plant(fleet, FLOOR_KEY, "5");
    admitted = admit(fleet, (struct asks){.run = "run-a.2", .up_ms = -1, .durable = true});
    assert_int_equal(admitted.state, 2);
    assert_int_equal(admitted.wait_ms, 1000);
    assert_string_equal(admitted.run, "run-a.2");
    assert_string_equal(admitted.id, "fresh");
    assert_string_equal(admitted.floor, "");
}

static void a_node_that_is_another_master_than_was_greeted_is_not_admitted(void **state)
{
    struct fleet *fleet = *state;
    const char *words[] = {EPOCH_KEY, FLOOR_KEY, TERMS_KEY, "run-b", "fresh",      "1000", "0",
                           "0",       "",        "",        "",      "not-its-id", ""};
    const char *info;
    char replid[41];

    plant_fit(fleet);
    assert_int_equal(number_at(call_script(fleet, &rl_script_admit, "3", words, 13), 0), 0);
    assert_value(fleet, EPOCH_KEY, "1 run-a id 1000 0");
    info = fleet_command(fleet, 0, "INFO", "replication", NULL);
    assert_int_equal(sscanf(strstr(info, "master_replid:"), "master_replid:%40s", replid), 1);
    assert_int_equal(admit(fleet, (struct asks){.replid = replid}).state, 1);
}

static void time_since_the_restart_is_credited(void **state)
{
    struct fleet *fleet = *state;
    struct admitted admitted;

    plant(fleet, EPOCH_KEY, "1 run-a id 60000 0");
    plant(fleet, FLOOR_KEY, "5");
    admitted = admit(fleet, (struct asks){.run = "run-b", .q_ms = 60000, .up_ms = 20000});
    assert_int_equal(admitted.state, 2);
    assert_int_equal(admitted.wait_ms, 40000);
    assert_string_equal(admitted.floor, "");
}

static void a_node_that_has_been_up_long_enough_lacks_only_its_floor(void **state)
{
    struct fleet *fleet = *state;
    struct admitted admitted;

    plant_fit(fleet);
    admitted = admit(fleet, (struct asks){.run = "run-b", .up_ms = 3600000});
    assert_int_equal(admitted.state, 3);
    assert_int_equal(admitted.wait_ms, 0);
    assert_in_range(admitted.until_ms, 1, admitted.now_us / 1000);
    assert_string_equal(admitted.id, "fresh");
    assert_string_equal(admitted.floor, "");
}

static void a_quarantine_that_was_longer_is_not_cut_by_a_restart(void **state)
{
    struct fleet *fleet = *state;
    struct admitted first = admit(fleet, (struct asks){.q_ms = 60000});
    struct admitted second = admit(fleet, (struct asks){.q_ms = 60000, .run = "run-b", .up_ms = 50000});

    assert_int_equal(second.state, 2);
    assert_true(second.until_ms >= first.until_ms);
}

/* ---- terms --------------------------------------------------------------------------------------------- */

static void a_longer_term_costs_a_node_that_remembers_nothing(void **state)
{
    struct fleet *fleet = *state;
    struct admitted admitted;

    plant_fit(fleet);
    admitted = admit(fleet, (struct asks){.q_ms = 60000});
    assert_int_equal(admitted.state, 1);
    assert_int_equal(admitted.q_ms, 60000);
    assert_string_equal(admitted.id, "id");
    assert_string_equal(admitted.floor, "5");
    /* But once it has forgotten, it sits out for as long as anybody needs it to. */
    admitted = admit(fleet, (struct asks){.q_ms = 1000, .run = "run-b"});
    assert_int_equal(admitted.q_ms, 60000);
    assert_int_equal(admitted.wait_ms, 60000);
}

/* A vote is asked with what changes when memory is lost: others who announce longer locks do not get in between. */
static void a_longer_term_refuses_nobody_elses_question(void **state)
{
    struct fleet *fleet = *state;

    plant_fit(fleet);
    admit(fleet, (struct asks){.q_ms = 60000});
    assert_int_equal(number_at(acquire_as(fleet, "me", 7, "1 run-a id ", NEVER_LATE), 0), 1);
    fleet_command(fleet, 0, "DEL", "lock", NULL);
    assert_int_equal(number_at(acquire_as(fleet, "me", 7, "1 run-a ie ", NEVER_LATE), 0), -3);
    assert_int_equal(number_at(acquire_as(fleet, "me", 7, "", NEVER_LATE), 0), -3);
}

static void a_longer_term_is_counted_from_when_the_node_lost_its_data(void **state)
{
    struct fleet *fleet = *state;
    struct admitted first, told;
    int64_t forgot_ms;

    plant_fit(fleet);
    first = admit(fleet, (struct asks){.run = "run-b", .up_ms = 3000});
    assert_int_equal(first.state, 3);
    forgot_ms = first.now_us / 1000 - 3000;
    told = admit(
        fleet,
        (struct asks){.run = "run-b", .known = first.record, .floor = 7, .terms = "60000:9000,1000:99000"});
    assert_int_equal(told.state, 2);
    assert_int_equal(told.until_ms, forgot_ms + 60000);
    assert_string_equal(told.floor, "");
    assert_string_equal(told.id, "fresh");
}

static void a_term_for_another_record_is_not_taken(void **state)
{
    struct fleet *fleet = *state;

    plant(fleet, EPOCH_KEY, "1 run-a id 1000 1");
    assert_int_equal(
        admit(fleet, (struct asks){.floor = 7, .known = "1 run-a older 1000 1", .terms = "60000:9000"}).q_ms,
        1000);
}

static void a_term_that_nobody_announces_any_more_fades(void **state)
{
    struct fleet *fleet = *state;
    int64_t now_ms = node_now(fleet) / 1000;
    char terms[64];

    plant(fleet, EPOCH_KEY, "1 run-a id 86400000 0");
    plant(fleet, FLOOR_KEY, "5");
    snprintf(terms, sizeof terms, "86400000:%s,1000:%s", decimal(now_ms + 60000), decimal(now_ms + 120000));
    plant(fleet, TERMS_KEY, terms);
    assert_int_equal(admit(fleet, (struct asks){.q_ms = 900}).q_ms, 86400000);
    snprintf(terms, sizeof terms, "86400000:%s,1000:%s", decimal(now_ms), decimal(now_ms + 120000));
    plant(fleet, TERMS_KEY, terms);
    assert_int_equal(admit(fleet, (struct asks){.q_ms = 900}).q_ms, 1000); /* not yet faded itself */
    assert_int_equal(admit(fleet, (struct asks){.q_ms = 900}).state, 1);
    /* Announced again, it stays. */
    assert_int_equal(admit(fleet, (struct asks){.q_ms = 86400000}).q_ms, 86400000);
    assert_int_equal(admit(fleet, (struct asks){.q_ms = 900}).q_ms, 86400000);
}

/* Two hours and the lock itself, rounded up to ten minutes; so that a clock that was set back makes no term eternal. */
static void a_term_is_remembered_for_so_long_and_no_longer(void **state)
{
    struct fleet *fleet = *state;
    struct admitted admitted;
    long long left = 0;

    plant_fit(fleet);
    plant(fleet, TERMS_KEY, "50000:9999999999999,40000:nonsense,172800001:9999999999999");
    admitted = admit(fleet, (struct asks){0});
    assert_int_equal(admitted.q_ms, 50000);
    assert_int_equal(sscanf(admitted.terms, "50000:%lld", &left), 1);
    assert_in_range(left, 7250000, 7850000);
    assert_null(strstr(admitted.terms, "40000"));
}

static void terms_that_are_lost_alone_are_made_from_the_record(void **state)
{
    struct fleet *fleet = *state;

    plant_fit(fleet);
    admit(fleet, (struct asks){.q_ms = 60000});
    fleet_command(fleet, 0, "DEL", TERMS_KEY, NULL);
    assert_int_equal(admit(fleet, (struct asks){0}).q_ms, 60000);
}

static void many_terms_need_no_more_room_than_a_few(void **state)
{
    struct fleet *fleet = *state;
    struct admitted admitted = {0};

    plant_fit(fleet);
    for (int64_t q_ms = 9000; q_ms > 1000; q_ms -= 1000)
        admitted = admit(fleet, (struct asks){.q_ms = q_ms,
                                              .known = "1 run-a id 9000 0",
                                              .terms = "8500:1000,7500:2000,6500:3000,5500:4000,4500:5000"});
    assert_int_equal(admitted.q_ms, 9000);
    assert_true(strlen(admitted.terms) < 80);
}

/* ---- clients of version 0.1 ---- */

/* What such a client is answered: state and ms to wait. */
static void admit_old(struct fleet *fleet, struct asks asks, int64_t *answered, int64_t *wait_ms)
{
    const char *words[] = {EPOCH_KEY,
                           FLOOR_KEY,
                           or_else(asks.run, "run-a"),
                           "old",
                           decimal(asks.q_ms),
                           "0",
                           decimal(asks.up_ms),
                           or_else(asks.word, ""),
                           asks.floor != 0 ? decimal(asks.floor) : "",
                           or_else(asks.known, ""),
                           ""};
    const char *answer = call_script(fleet, &old_admit_0_1, "2", words, 11);

    *answered = number_at(answer, 0);
    *wait_ms = number_at(answer, 3);
}

static void old_and_new_clients_read_each_others_records(void **state)
{
    struct fleet *fleet = *state;
    int64_t answered, wait_ms;
    struct admitted admitted;

    /* The default max_ttl is the same quarantine to both. */
    admit(fleet, (struct asks){.q_ms = 61602, .word = "init", .floor = 7});
    admit_old(fleet, (struct asks){.q_ms = 61602}, &answered, &wait_ms);
    assert_int_equal(answered, 1);
    admitted = admit(fleet, (struct asks){.q_ms = 61602});
    assert_int_equal(admitted.state, 1);
    assert_string_equal(admitted.id, "fresh");
    /* A term that a new client announced holds for a node that an old one finds to have forgotten. */
    admit(fleet, (struct asks){.q_ms = 500000});
    admit_old(fleet, (struct asks){.q_ms = 61602, .run = "run-b"}, &answered, &wait_ms);
    assert_int_equal(answered, 2);
    assert_int_equal(wait_ms, 500000);
    admitted = admit(fleet, (struct asks){.q_ms = 61602, .run = "run-b"});
    assert_int_equal(admitted.state, 2);
    assert_in_range(admitted.wait_ms, 490000, 500000);
}

/* It takes the vote from nodes that remember, as it always did; the next new client gives it back, and knows the term. */
static void an_old_client_with_longer_locks_stops_a_fleet_until_a_new_one_comes(void **state)
{
    struct fleet *fleet = *state;
    int64_t answered, wait_ms;
    struct admitted admitted;

    admit(fleet, (struct asks){.q_ms = 61602, .word = "init", .floor = 7});
    admit_old(fleet, (struct asks){.q_ms = 500000}, &answered, &wait_ms);
    assert_int_equal(answered, 2);
    admitted = admit(fleet, (struct asks){.q_ms = 61602});
    assert_int_equal(admitted.state, 1);
    assert_int_equal(admitted.q_ms, 500000);
    admit_old(fleet, (struct asks){.q_ms = 500000}, &answered, &wait_ms);
    assert_int_equal(answered, 1);
}

/* Its quarantine is over for the old client, which has no time of the loss in its record: told a longer term, it waits rather too long. */
static void a_quarantine_that_an_old_client_ended_is_counted_from_its_end(void **state)
{
    struct fleet *fleet = *state;
    struct admitted admitted;
    int64_t answered, wait_ms;

    plant(fleet, EPOCH_KEY, "1 run-a id 1000 1");
    admit_old(fleet, (struct asks){.q_ms = 1000}, &answered, &wait_ms);
    assert_int_equal(answered, 3);
    admitted = admit(fleet, (struct asks){0});
    assert_int_equal(admitted.state, 3);
    admitted = admit(fleet, (struct asks){.known = admitted.record, .floor = 7, .terms = "60000:9000"});
    assert_int_equal(admitted.state, 2);
    assert_in_range(admitted.wait_ms, 50000, 59000);
}

static void after_its_quarantine_a_node_lacks_a_floor_and_takes_the_one_it_is_told(void **state)
{
    struct fleet *fleet = *state;
    struct admitted admitted;

    plant(fleet, EPOCH_KEY, "1 run-a id 1000 1");
    admitted = admit(fleet, (struct asks){0});
    assert_int_equal(admitted.state, 3);
    assert_string_equal(admitted.record, "1 run-a id 1000 1");
    admitted = admit(fleet, (struct asks){.floor = INT64_C(1700000000123456), .known = "1 run-a id 1000 1"});
    assert_int_equal(admitted.state, 1);
    assert_string_equal(admitted.floor, "1700000000123456");
}

/* Whoever worked it out may have slept since, and the node may have forgotten more. */
static void a_floor_for_another_record_is_not_taken(void **state)
{
    struct fleet *fleet = *state;
    struct admitted admitted;

    plant(fleet, EPOCH_KEY, "1 run-a id 1000 0");
    admitted = admit(fleet, (struct asks){.floor = 7, .known = "1 run-a older 1000 0"});
    assert_int_equal(admitted.state, 3);
    assert_string_equal(admitted.floor, "");
}

static void a_look_changes_nothing(void **state)
{
    struct fleet *fleet = *state;

    assert_int_equal(admit(fleet, (struct asks){.word = "look"}).state, 2);
    assert_string_equal(fleet_command(fleet, 0, "GET", EPOCH_KEY, NULL), "(nil)");
    plant(fleet, EPOCH_KEY, "1 run-a id 1000 0");
    plant(fleet, FLOOR_KEY, "5");
    assert_int_equal(admit(fleet, (struct asks){.word = "look", .q_ms = 60000}).state, 1);
    assert_string_equal(fleet_command(fleet, 0, "GET", EPOCH_KEY, NULL), "1 run-a id 1000 0");
    assert_string_equal(fleet_command(fleet, 0, "GET", FLOOR_KEY, NULL), "5");
}

static void a_floor_out_of_range_is_none(void **state)
{
    struct fleet *fleet = *state;

    plant(fleet, EPOCH_KEY, "1 run-a id 1000 0");
    for (const char *const *odd = (const char *const[]){"9007199254740990", "1e300", "nan", "-1", "x", NULL};
         *odd != NULL; odd++) {
        plant(fleet, FLOOR_KEY, *odd);
        assert_int_equal(admit(fleet, (struct asks){0}).state, 3);
    }
    assert_int_equal(
        admit(fleet, (struct asks){.floor = INT64_C(9007199254740991), .known = "1 run-a id 1000 0"}).state,
        3);
}

static void a_floor_is_only_ever_raised(void **state)
{
    struct fleet *fleet = *state;

    plant(fleet, EPOCH_KEY, "1 run-a id 1000 0");
    plant(fleet, FLOOR_KEY, "1700000000123456");
    assert_string_equal(admit(fleet, (struct asks){.floor = 7, .known = "1 run-a id 1000 0"}).floor,
                        "1700000000123456");
    assert_string_equal(
        admit(fleet, (struct asks){.floor = INT64_C(1700000000123457), .known = "1 run-a id 1000 0"}).floor,
        "1700000000123457");
}

/* A floor learned while locks that were forgotten may still be held is too early. */
static void a_floor_told_during_the_quarantine_is_not_taken(void **state)
{
    struct fleet *fleet = *state;
    struct admitted admitted = admit(fleet, (struct asks){.q_ms = 60000, .floor = 7});

    assert_int_equal(admitted.state, 2);
    assert_string_equal(admitted.floor, "");
}

static void the_operators_word_admits_at_once_with_a_floor_above_every_clock(void **state)
{
    struct fleet *fleet = *state;
    struct admitted admitted = admit(fleet, (struct asks){.q_ms = 60000, .word = "init", .floor = 7});

    assert_int_equal(admitted.state, 1);
    assert_int_equal(admitted.until_ms, 0);
    assert_string_equal(admitted.floor, decimal(admitted.now_us + 5 * SECOND_US));
    fleet_command(fleet, 0, "FLUSHALL", NULL);
    admitted = admit(fleet, (struct asks){.word = "init", .floor = INT64_C(8000000000000000)});
    assert_string_equal(admitted.floor, "8000000000000000");
    fleet_command(fleet, 0, "FLUSHALL", NULL);
    assert_int_equal(admit(fleet, (struct asks){.word = "init"}).state, 1); /* its own clock is enough */
}

static void the_operators_word_ends_a_quarantine(void **state)
{
    struct fleet *fleet = *state;

    assert_int_equal(admit(fleet, (struct asks){.q_ms = 60000}).state, 2);
    assert_int_equal(admit(fleet, (struct asks){.q_ms = 60000, .word = "init", .floor = 7}).state, 1);
    assert_int_equal(admit(fleet, (struct asks){.q_ms = 60000}).state, 1);
}

/* Many clients notice one step. The first sends the node out; the others must not lengthen it. */
static void one_suspicion_is_enough(void **state)
{
    struct fleet *fleet = *state;
    struct asks suspicion = {.word = "suspect", .known = "1 run-a id 1000 0"};
    struct admitted first, second;

    plant_fit(fleet);
    first = admit(fleet, suspicion);
    assert_int_equal(first.state, 2);
    assert_int_equal(first.wait_ms, 1000);
    assert_string_equal(first.id, "fresh");
    assert_string_equal(first.floor, "");
    suspicion.id = "second";
    second = admit(fleet, suspicion);
    assert_string_equal(second.record, first.record);
    suspicion.known = second.record; /* but a new step is a new matter */
    assert_string_equal(admit(fleet, suspicion).id, "second");
}

static void a_suspicion_of_a_record_that_is_gone_changes_nothing(void **state)
{
    struct fleet *fleet = *state;

    plant_fit(fleet);
    assert_int_equal(admit(fleet, (struct asks){.word = "suspect", .known = "1 run-a older 1000 0"}).state,
                     1);
    assert_int_equal(admit(fleet, (struct asks){.word = "suspect"}).state, 1);
}

/* ---- the list ------------------------------------------------------------------------------------------ */

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_A_FLUSHED_NODE(a_free_lock_is_granted_with_the_proposed_fence),
        ON_A_FLUSHED_NODE(a_proposal_that_is_not_above_what_is_stored_is_numbered_one_above_it),
        ON_A_FLUSHED_NODE(the_floor_stands_for_a_fence_that_was_lost),
        ON_A_FLUSHED_NODE(a_floor_above_the_stored_fence_counts),
        ON_A_FLUSHED_NODE(a_proposal_far_from_the_clock_gives_way_to_the_clock),
        ON_A_FLUSHED_NODE(a_number_ahead_of_the_clock_is_kept_in_the_floor),
        ON_A_FLUSHED_NODE(large_numbers_lose_no_digit),
        ON_A_FLUSHED_NODE(a_fence_key_lives_for_an_hour_after_its_last_use_give_or_take_ten_minutes),
        ON_A_FLUSHED_NODE(a_floor_stays_less_than_an_hour_behind_the_clock),
        ON_A_FLUSHED_NODE(a_held_lock_is_denied_with_its_fence_its_time_and_its_owner),
        ON_A_FLUSHED_NODE(a_holder_without_an_end_and_with_a_long_name_is_shown_cut),
        ON_A_FLUSHED_NODE(a_key_of_another_type_is_in_the_way_and_nothing_is_written),
        ON_A_FLUSHED_NODE(a_node_that_is_not_what_the_client_takes_it_for_does_not_vote),
        ON_A_FLUSHED_NODE(a_number_without_a_next_one_is_not_handed_out),
        ON_A_FLUSHED_NODE(a_question_that_comes_too_late_is_not_carried_out),
        ON_A_FLUSHED_NODE(raising_lifts_the_fence_while_the_lock_is_ours),
        ON_A_FLUSHED_NODE(raising_never_lowers),
        ON_A_FLUSHED_NODE(raising_is_refused_once_the_lock_is_not_ours),
        ON_A_FLUSHED_NODE(raising_wants_the_epoch_and_a_floor),
        ON_A_FLUSHED_NODE(raising_ahead_of_the_clock_goes_into_the_floor_too),
        ON_A_FLUSHED_NODE(extending_lengthens_and_never_shortens),
        ON_A_FLUSHED_NODE(extending_what_another_holds_changes_nothing),
        ON_A_FLUSHED_NODE(an_expired_lock_is_not_taken_back_by_extending),
        ON_A_FLUSHED_NODE(repair_plants_the_lock_again_where_the_epoch_is_known),
        ON_A_FLUSHED_NODE(an_extension_that_comes_too_late_is_not_carried_out),
        ON_A_FLUSHED_NODE(extending_in_plain_mode_knows_no_epoch_and_no_lateness),
        ON_A_FLUSHED_NODE(repair_in_plain_mode_plants_the_lock_again),
        ON_A_FLUSHED_NODE(a_quarantined_node_extends_without_a_vote),
        ON_A_FLUSHED_NODE(a_quarantined_node_keeps_no_key_alive_for_an_adopter),
        ON_A_FLUSHED_NODE(a_node_with_another_memory_extends_without_a_vote),
        ON_A_FLUSHED_NODE(extending_a_key_of_another_type_is_an_error),
        ON_A_FLUSHED_NODE(releasing_deletes_what_is_ours_and_nothing_else),
        ON_A_FLUSHED_NODE(a_node_without_a_record_is_quarantined),
        ON_A_FLUSHED_NODE(a_node_without_a_record_gets_no_credit),
        ON_A_FLUSHED_NODE(an_unreadable_record_counts_as_none),
        ON_A_FLUSHED_NODE(the_same_run_stays_fit_and_nothing_is_written),
        ON_A_FLUSHED_NODE(waiting_again_writes_nothing_either),
        ON_A_FLUSHED_NODE(another_run_lost_its_data_and_is_quarantined),
        ON_A_FLUSHED_NODE(another_run_of_a_durable_node_goes_on),
        ON_A_FLUSHED_NODE(a_durable_node_that_was_waiting_goes_on_waiting),
        ON_A_FLUSHED_NODE(a_new_history_of_the_same_run_lost_nothing),
        ON_A_FLUSHED_NODE(a_node_that_was_a_replica_is_quarantined_in_full),
        ON_A_FLUSHED_NODE(a_node_that_is_another_master_than_was_greeted_is_not_admitted),
        ON_A_FLUSHED_NODE(time_since_the_restart_is_credited),
        ON_A_FLUSHED_NODE(a_node_that_has_been_up_long_enough_lacks_only_its_floor),
        ON_A_FLUSHED_NODE(a_quarantine_that_was_longer_is_not_cut_by_a_restart),
        ON_A_FLUSHED_NODE(a_longer_term_costs_a_node_that_remembers_nothing),
        ON_A_FLUSHED_NODE(a_longer_term_refuses_nobody_elses_question),
        ON_A_FLUSHED_NODE(a_longer_term_is_counted_from_when_the_node_lost_its_data),
        ON_A_FLUSHED_NODE(a_term_for_another_record_is_not_taken),
        ON_A_FLUSHED_NODE(a_term_that_nobody_announces_any_more_fades),
        ON_A_FLUSHED_NODE(a_term_is_remembered_for_so_long_and_no_longer),
        ON_A_FLUSHED_NODE(terms_that_are_lost_alone_are_made_from_the_record),
        ON_A_FLUSHED_NODE(many_terms_need_no_more_room_than_a_few),
        ON_A_FLUSHED_NODE(old_and_new_clients_read_each_others_records),
        ON_A_FLUSHED_NODE(an_old_client_with_longer_locks_stops_a_fleet_until_a_new_one_comes),
        ON_A_FLUSHED_NODE(a_quarantine_that_an_old_client_ended_is_counted_from_its_end),
        ON_A_FLUSHED_NODE(after_its_quarantine_a_node_lacks_a_floor_and_takes_the_one_it_is_told),
        ON_A_FLUSHED_NODE(a_floor_out_of_range_is_none),
        ON_A_FLUSHED_NODE(a_floor_is_only_ever_raised),
        ON_A_FLUSHED_NODE(a_floor_for_another_record_is_not_taken),
        ON_A_FLUSHED_NODE(a_look_changes_nothing),
        ON_A_FLUSHED_NODE(a_floor_told_during_the_quarantine_is_not_taken),
        ON_A_FLUSHED_NODE(the_operators_word_admits_at_once_with_a_floor_above_every_clock),
        ON_A_FLUSHED_NODE(the_operators_word_ends_a_quarantine),
        ON_A_FLUSHED_NODE(one_suspicion_is_enough),
        ON_A_FLUSHED_NODE(a_suspicion_of_a_record_that_is_gone_changes_nothing),
    };

    return cmocka_run_group_tests(tests, start_one_guarded, stop_guarded);
}
