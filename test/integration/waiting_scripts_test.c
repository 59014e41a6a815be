/*
 * Tests of the scripts for those who wait, on a real node: who is told when he has moved up in the line of a fair lock, and
 * how those who wait for it or for an ordinary lock are shown. The line itself is in line_scripts_test.c.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "support/guarded.h"
#include "support/line_calls.h"
#include "support/script_calls.h"
#include "support/steps.h"

#define WAITING "redlock-line:{lock}:waiting"

enum { PATIENCE_MS = 10000 };

/* ---- who is told --------------------------------------------------------------------------------------- */

/* A connection that has the lease of somebody tracked. */
static int track(struct fleet *fleet, const char *lease)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char request[256], reply[8192];
    size_t used = 0;

    assert_int_equal(sscanf(fleet_url(fleet, 0), "unix://%107[^?]", address.sun_path), 1);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    snprintf(request, sizeof request,
             "HELLO 3\r\nCLIENT TRACKING ON OPTIN\r\nCLIENT CACHING YES\r\nGET %s\r\nECHO tracked\r\n",
             lease);
    assert_int_equal(write(fd, request, strlen(request)), (ssize_t)strlen(request));
    do {
        ssize_t got = read(fd, reply + used, sizeof reply - 1 - used);

        assert_true(got > 0);
        used += (size_t)got;
        reply[used] = '\0';
    } while (strstr(reply, "tracked\r\n") == NULL);
    return fd;
}

/* Whether he was told that it was written to; asks for an echo, so that what was sent has arrived. */
static bool was_told(int fd, const char *lease)
{
    char reply[8192] = "";
    size_t used = 0;
    struct pollfd wait = {.fd = fd, .events = POLLIN};

    assert_int_equal(write(fd, "ECHO ready\r\n", 12), 12);
    while (strstr(reply, "ready\r\n") == NULL) {
        ssize_t got;

        assert_int_equal(poll(&wait, 1, PATIENCE_MS), 1);
        got = read(fd, reply + used, sizeof reply - 1 - used);
        assert_true(got > 0);
        used += (size_t)got;
        reply[used] = '\0';
    }
    close(fd);
    return strstr(reply, "invalidate") != NULL && strstr(reply, lease) != NULL;
}

static void the_next_two_are_told_when_the_first_has_the_lock(void **state)
{
    struct fleet *fleet = *state;
    int b, c, d;

    wait_in_line(fleet, "abcd");
    b = track(fleet, B_LEASE);
    c = track(fleet, C_LEASE);
    d = track(fleet, "redlock-line:{lock}:dddddddddddddddddddddddddddddddd");
    free_lock(fleet);
    expect_granted(ask(fleet, 'a', T0));
    assert_true(was_told(b, B_LEASE));
    assert_true(was_told(c, C_LEASE));
    assert_false(was_told(d, "dddd"));
    assert_in_range(ttl_of(fleet, B_LEASE), 1, LEASE_MS);
    empty_line(fleet);
}

static void who_moves_up_because_another_left_is_told(void **state)
{
    struct fleet *fleet = *state;
    int a, c;

    wait_in_line(fleet, "abcd");
    a = track(fleet, A_LEASE);
    c = track(fleet, C_LEASE);
    leave(fleet, 'd');
    assert_false(was_told(a, A_LEASE));
    assert_false(was_told(c, C_LEASE));
    c = track(fleet, C_LEASE);
    leave(fleet, 'b');
    assert_true(was_told(c, C_LEASE));
    empty_line(fleet);
}

static void who_moves_up_because_another_was_dropped_is_told(void **state)
{
    struct fleet *fleet = *state;
    int b, c;

    wait_in_line(fleet, "abcd");
    fleet_command(fleet, 0, "DEL", A_LEASE, NULL);
    b = track(fleet, B_LEASE);
    ask(fleet, 'd', T0 + 3);
    assert_true(was_told(b, B_LEASE));
    free_lock(fleet);
    ask(fleet, 'd', T0 + 3);
    age_offer(fleet, GRACE_MS * INT64_C(1000));
    c = track(fleet, C_LEASE);
    expect_denied(ask(fleet, 'd', T0 + 3), "", 2, T0 + 3);
    assert_true(was_told(c, C_LEASE));
    empty_line(fleet);
}

/* ---- who waits ----------------------------------------------------------------------------------------- */

static const char *show(struct fleet *fleet)
{
    struct rl_lock_command command = {.kind = RL_COMMAND_LINE, .key = "lock", .key_length = 4};
    const char *answer = send_command(fleet, &command);

    assert_true(number_at(answer, 0) > T0);
    return strchr(answer, '\n') + 1;
}

static const char *present(struct fleet *fleet, char name, uint32_t count, const char *who)
{
    struct rl_place place = place_of(name, T0);
    struct rl_lock_command command = {
        .kind = RL_COMMAND_PRESENT, .key = "lock", .key_length = 4, .place = &place};

    place.count = count;
    place.leaving = count == 0;
    place.who = who;
    place.who_length = strlen(who);
    return send_command(fleet, &command);
}

#define STANDING "redlock-line:{lock}:"

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

/* Of its owner nothing is told by which somebody else could release the lock. Arrays are flat in the answer's text, and an empty one is an empty line. */
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

static void who_waits_for_an_ordinary_lock_is_shown_too(void **state)
{
    struct fleet *fleet = *state;

    assert_true(number_at(present(fleet, 'a', 2, "|why=tea time"), 0) > T0);
    assert_string_equal(show(fleet), "0\n\n1\n1700000000000000\n2\n|why=tea time");
    present(fleet, 'a', 3, "");
    assert_string_equal(show(fleet), "0\n\n1\n1700000000000000\n3\n");
    assert_in_range(ttl_of(fleet, WAITING), 1, LEASE_MS);
    assert_in_range(ttl_of(fleet, A_LEASE), 1, LEASE_MS);
    assert_string_equal(present(fleet, 'a', 0, ""), "1");
    assert_string_equal(present(fleet, 'a', 0, ""), "0");
    assert_string_equal(show(fleet), "0\n\n0\n");
    expect_nobody(fleet);
    assert_value(fleet, WAITING, "(nil)");
}

static void who_did_not_say_it_again_in_time_waits_no_longer(void **state)
{
    struct fleet *fleet = *state;

    present(fleet, 'a', 1, "");
    fleet_command(fleet, 0, "ZADD", WAITING, "XX", decimal(node_now(fleet) / 1000 - 1),
                  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", NULL);
    assert_string_equal(show(fleet), "0\n\n0\n");
    present(fleet, 'b', 1, "");
    assert_string_equal(fleet_command(fleet, 0, "ZRANGE", WAITING, "0", "-1", NULL),
                        "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb");
    present(fleet, 'a', 0, "");
    present(fleet, 'b', 0, "");
}

static void a_list_is_kept_as_long_as_its_longest_lease(void **state)
{
    struct fleet *fleet = *state;

    present(fleet, 'a', 1, "");
    fleet_command(fleet, 0, "PEXPIRE", WAITING, "50000", NULL);
    present(fleet, 'b', 1, "");
    assert_in_range(ttl_of(fleet, WAITING), LEASE_MS + 1, 50000);
    present(fleet, 'a', 0, "");
    present(fleet, 'b', 0, "");
}

static void of_many_the_first_are_named_and_all_are_counted(void **state)
{
    struct fleet *fleet = *state;
    char who[601];

    memset(who, 'x', 600);
    who[600] = '\0';
    for (int i = 0; i < 40; i++) {
        stand(fleet, i, T0 + i, who);
        present(fleet, (char)('A' + i), 1, who);
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
        ON_A_FLUSHED_NODE(the_next_two_are_told_when_the_first_has_the_lock),
        ON_A_FLUSHED_NODE(who_moves_up_because_another_left_is_told),
        ON_A_FLUSHED_NODE(who_moves_up_because_another_was_dropped_is_told),
        ON_A_FLUSHED_NODE(the_line_is_shown_in_order),
        ON_A_FLUSHED_NODE(who_waits_for_an_ordinary_lock_is_shown_too),
        ON_A_FLUSHED_NODE(who_did_not_say_it_again_in_time_waits_no_longer),
        ON_A_FLUSHED_NODE(a_list_is_kept_as_long_as_its_longest_lease),
        ON_A_FLUSHED_NODE(of_many_the_first_are_named_and_all_are_counted),
    };

    return cmocka_run_group_tests(tests, start_one_guarded, stop_guarded);
}
