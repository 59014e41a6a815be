/*
 * Tests of line.lua on a real node: how those who stand in line for a lock are shown, and those who wait
 * without a line, as older versions do.
 */
#include <stdio.h>
#include <string.h>

#include "support/guarded.h"
#include "support/script_calls.h"
#include "support/steps.h"
#include "wire/lock_command.h"

#define STANDING "redlock-line:{lock}:"
#define WAITING STANDING "waiting"
#define T0 INT64_C(1700000000000000)

enum { LEASE_MS = 10000, ANSWER_MAX = 65536 };

static const char *show(struct fleet *fleet)
{
    static char answer[ANSWER_MAX];
    struct rl_lock_command command = {.kind = RL_COMMAND_LINE, .key = "lock", .key_length = 4};
    char bytes[16384];
    struct rl_writer writer = rl_writer_on(bytes, sizeof bytes);

    rl_lock_command_write(&writer, &command, 0, true);
    assert_false(writer.overflow);
    send_request(fleet, &writer, answer, sizeof answer);
    answer[strlen(answer) - 1] = '\0';
    assert_true(number_at(answer, 0) > T0);
    return strchr(answer, '\n') + 1;
}

/* Somebody waits without a line, as older versions write it down: until when it counts, and since when, how
 * many, and who. */
static void wait_for_it(struct fleet *fleet, char name, int64_t for_ms, int count, const char *who)
{
    char id[33] = "", key[80], lease[800];

    memset(id, name, 32);
    snprintf(key, sizeof key, STANDING "%s", id);
    snprintf(lease, sizeof lease, "%s %d %s", decimal(T0), count, who);
    fleet_command(fleet, 0, "SET", key, lease, "PX", decimal(LEASE_MS), NULL);
    fleet_command(fleet, 0, "ZADD", WAITING, decimal(node_now(fleet) / 1000 + for_ms), id, NULL);
}

/* Somebody stands in line, as ask.lua writes it down. */
static void stand(struct fleet *fleet, int number, int64_t ticket, const char *who)
{
    char id[40], key[80], record[800];

    snprintf(id, sizeof id, "%032d", number);
    snprintf(key, sizeof key, STANDING "%s", id);
    snprintf(record, sizeof record, "1 2 3 redlock:x\n1 run id\n%s%s", id, who);
    fleet_command(fleet, 0, "ZADD", STANDING "waiters", decimal(ticket), id, NULL);
    fleet_command(fleet, 0, "SET", key, record, NULL);
}

/* Of its owner nothing is told by which somebody else could release the lock. Arrays are flat in the answer's
 * text, and an empty one is an empty line. */
static void the_line_is_shown_in_order(void **state)
{
    struct fleet *fleet = *state;

    assert_string_equal(show(fleet), "0\n\n0\n");
    stand(fleet, 2, T0, "|pid=1");
    stand(fleet, 1, T0 + 1, "|pid=1");
    assert_string_equal(show(fleet), "2\n1700000000000000\n|pid=1\n1700000000000001\n|pid=1\n0\n");
    fleet_command(fleet, 0, "DEL", STANDING "00000000000000000000000000000002", NULL);
    assert_string_equal(show(fleet), "1\n1700000000000001\n|pid=1\n0\n");
    fleet_command(fleet, 0, "FLUSHALL", NULL);
}

static void who_waits_without_a_line_is_shown_too(void **state)
{
    struct fleet *fleet = *state;

    wait_for_it(fleet, 'a', LEASE_MS, 2, "|why=tea time");
    assert_string_equal(show(fleet), "0\n\n1\n1700000000000000\n2\n|why=tea time");
    wait_for_it(fleet, 'a', -1, 2, "|why=tea time"); /* it did not say so again in time */
    assert_string_equal(show(fleet), "0\n\n0\n");
    fleet_command(fleet, 0, "FLUSHALL", NULL);
}

static void of_many_the_first_are_named_and_all_are_counted(void **state)
{
    struct fleet *fleet = *state;
    char who[601];

    memset(who, 'x', 600);
    who[600] = '\0';
    for (int i = 0; i < 40; i++) {
        stand(fleet, i, T0 + i, who);
        wait_for_it(fleet, (char)('A' + i), LEASE_MS, 1, who);
    }
    assert_int_equal(number_at(show(fleet), 0), 40);
    assert_int_equal(number_at(show(fleet), 1), T0);
    assert_int_equal(number_at(show(fleet), 2 * RL_LINE_NAMED_MAX - 1), T0 + RL_LINE_NAMED_MAX - 1);
    assert_int_equal(number_at(show(fleet), 2 * RL_LINE_NAMED_MAX + 1), 40);
    assert_int_equal(count_lines(show(fleet)), 2 + 5 * RL_LINE_NAMED_MAX);
    assert_int_equal(strspn(strchr(show(fleet), 'x'), "x"), RL_OWNER_TAIL_MAX);
    fleet_command(fleet, 0, "FLUSHALL", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_A_FLUSHED_NODE(the_line_is_shown_in_order),
        ON_A_FLUSHED_NODE(who_waits_without_a_line_is_shown_too),
        ON_A_FLUSHED_NODE(of_many_the_first_are_named_and_all_are_counted),
    };

    return cmocka_run_group_tests(tests, start_one_guarded, stop_guarded);
}
