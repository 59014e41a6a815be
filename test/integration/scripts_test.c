/*
 * The Lua scripts that take, raise, extend and release, on a real node: every branch, and the shape of every
 * reply. Each rule is shown from both sides: the call that it refuses, and the same call that it lets
 * through. The guard's keys are planted by hand.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/guarded.h"
#include "support/script_calls.h"
#include "support/steps.h"

#define FENCE_KEY "redlock-fence:{lock}"

enum { ANSWER_MAX = 4096 };
#define NEVER_LATE "9007199254740991"

/* ---- calling ------------------------------------------------------------------------------------------- */

static const char *acquire_as(struct fleet *fleet, const char *owner, int64_t fence, const char *epoch,
                              const char *not_after)
{
    const char *words[] = {"lock", owner, "5000", decimal(fence), epoch, not_after, ""};

    return call_script(fleet, &rl_script_ask, "1", words, 7);
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

/* A node restored from an old snapshot has old fences, and a floor that was told to it since: the floor is
 * what holds. */
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

/* What the keys of an hour ago knew the floor knows, and it has no end: so a clock may be set back by any
 * time after that. */
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

/* Without this check two holders' numbers may cross: the theorem wants "still held when the number was
 * stored". */
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

/* A snapshot brought back what was given back: whoever still knows its owner value must not keep it alive
 * until the node votes. */
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
    };

    return cmocka_run_group_tests(tests, start_one_guarded, stop_guarded);
}
