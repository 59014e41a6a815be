/*
 * Tests of the scripts for those who wait, on a real node: the line of a fair lock with every branch of its gate, leaving
 * it, who waits for an ordinary lock, and who is told when he has moved up. The guard's keys are planted by hand.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "support/guarded.h"
#include "support/script_calls.h"
#include "support/steps.h"
#include "wire/lock_command.h"

#define LINE "redlock-line:{lock}:line"
#define STATE "redlock-line:{lock}:state"
#define WAITING "redlock-line:{lock}:waiting"
#define A_LEASE "redlock-line:{lock}:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B_LEASE "redlock-line:{lock}:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define C_LEASE "redlock-line:{lock}:cccccccccccccccccccccccccccccccc"
#define NEVER_LATE INT64_C(9007199254740991)
#define T0 INT64_C(1700000000000000)

enum { LEASE_MS = 10000, GRACE_MS = 5000, ANSWER_MAX = 65536, PATIENCE_MS = 10000 };

/* ---- asking -------------------------------------------------------------------------------------------- */

/* Waiters are called 'a', 'b', 'c'. */
static struct rl_place place_of(char name, int64_t ticket)
{
    struct rl_place place = {.ticket = (uint64_t)ticket,
                             .lease_ms = LEASE_MS,
                             .grace_ms = GRACE_MS,
                             .who = "|pid=1",
                             .who_length = 6};

    memset(place.id, name, RL_WAITER_ID);
    return place;
}

static const char *send_command(struct fleet *fleet, const struct rl_lock_command *command)
{
    static char answer[ANSWER_MAX];
    char bytes[16384];
    struct rl_writer writer = rl_writer_on(bytes, sizeof bytes);

    rl_lock_command_write(&writer, command, 0, true);
    assert_false(writer.overflow);
    send_request(fleet, &writer, answer, sizeof answer);
    answer[strlen(answer) - 1] = '\0';
    return answer;
}

static const char *ask_with(struct fleet *fleet, const struct rl_place *place, const char *epoch,
                            int64_t not_after_us)
{
    struct rl_lock_command command = {.kind = RL_COMMAND_ACQUIRE,
                                      .key = "lock",
                                      .key_length = 4,
                                      .owner = place->id,
                                      .owner_length = RL_WAITER_ID,
                                      .ttl_ms = LONG_TTL_MS,
                                      .epoch = epoch,
                                      .fence = (uint64_t)node_now(fleet),
                                      .not_after_us = not_after_us,
                                      .place = place};

    return send_command(fleet, &command);
}

static const char *ask(struct fleet *fleet, char name, int64_t ticket)
{
    struct rl_place place = place_of(name, ticket);

    return ask_with(fleet, &place, EPOCH, NEVER_LATE);
}

static const char *ask_settled(struct fleet *fleet, char name, int64_t ticket)
{
    struct rl_place place = place_of(name, ticket);

    place.settled = true;
    return ask_with(fleet, &place, EPOCH, NEVER_LATE);
}

static const char *leave(struct fleet *fleet, char name)
{
    struct rl_place place = place_of(name, 0);
    struct rl_lock_command command = {
        .kind = RL_COMMAND_LEAVE, .key = "lock", .key_length = 4, .place = &place};

    return send_command(fleet, &command);
}

static void hold(struct fleet *fleet)
{
    fleet_command(fleet, 0, "SET", "lock", "holder", "PX", "60000", NULL);
}

static void free_lock(struct fleet *fleet)
{
    fleet_command(fleet, 0, "DEL", "lock", NULL);
}

/* ---- what is expected ---------------------------------------------------------------------------------- */

static void expect_granted(const char *answer)
{
    if (count_lines(answer) != 1 || number_at(answer, 0) < T0)
        fail_msg("not a grant: %s", answer);
}

/* Held by `holder`, or free but offered to another (""): and the asker's place and ticket here. */
static void expect_denied(const char *answer, const char *holder, int64_t place, int64_t ticket)
{
    const char *at = answer;

    if (count_lines(answer) != 7 || number_at(answer, 0) != 0 || number_at(answer, 5) != place ||
        number_at(answer, 6) != ticket)
        fail_msg("expected place %" PRId64 " and ticket %" PRId64 ": %s", place, ticket, answer);
    assert_in_range(number_at(answer, 3), 1, holder[0] != '\0' ? 60000 : GRACE_MS);
    for (int i = 0; i < 4; i++)
        at = strchr(at, '\n') + 1;
    assert_int_equal(strcspn(at, "\n"), strlen(holder));
    assert_memory_equal(at, holder, strlen(holder));
}

/* The names of those in line, in order, as "abc". */
static void expect_line(struct fleet *fleet, const char *names)
{
    const char *at = fleet_command(fleet, 0, "ZRANGE", LINE, "0", "-1", NULL);
    char found[16] = "";

    for (size_t i = 0; *at != '\0' && i < sizeof found - 1; i++) {
        found[i] = *at;
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    assert_string_equal(found, names);
}

static void expect_state(struct fleet *fleet, const char *field, const char *value)
{
    assert_string_equal(fleet_command(fleet, 0, "HGET", STATE, field, NULL), value);
}

/* Nothing is left but what the state knows. */
static void expect_nobody(struct fleet *fleet)
{
    assert_string_equal(fleet_command(fleet, 0, "EXISTS", LINE, A_LEASE, B_LEASE, C_LEASE, NULL), "0");
    expect_state(fleet, "offer", "(nil)");
    expect_state(fleet, "since", "(nil)");
}

/* ---- being taken in ------------------------------------------------------------------------------------ */

static void a_free_lock_that_nobody_waits_for_is_granted_at_once(void **state)
{
    struct fleet *fleet = *state;

    plant_guard(fleet);
    expect_granted(ask(fleet, 'a', T0));
    assert_value(fleet, "lock", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    assert_in_range(ttl_of(fleet, "lock"), 1, LONG_TTL_MS);
    expect_nobody(fleet);
    expect_state(fleet, "high", decimal(T0));
    assert_in_range(ttl_of(fleet, STATE), 60001, 10 * LEASE_MS);
    free_lock(fleet);
}

/* The gate is before the vote, not instead of it. */
static void a_grant_is_numbered_as_any_other(void **state)
{
    struct fleet *fleet = *state;
    int64_t ahead;
    const char *answer;

    plant_guard(fleet);
    ahead = node_now(fleet) + 4 * SECOND_US;
    plant(fleet, "redlock-fence:{lock}", decimal(ahead));
    answer = ask(fleet, 'a', T0);
    assert_int_equal(count_lines(answer), 3);
    assert_int_equal(number_at(answer, 0), 1);
    assert_int_equal(number_at(answer, 2), ahead + 1);
    free_lock(fleet);
}

static void whoever_finds_it_held_is_taken_in_with_a_lease(void **state)
{
    struct fleet *fleet = *state;

    plant_guard(fleet);
    hold(fleet);
    expect_denied(ask(fleet, 'a', T0), "holder", 1, T0);
    expect_line(fleet, "a");
    assert_string_equal(fleet_command(fleet, 0, "ZSCORE", LINE, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", NULL),
                        decimal(T0));
    assert_value(fleet, A_LEASE, "|pid=1");
    assert_in_range(ttl_of(fleet, A_LEASE), 1, LEASE_MS);
    assert_in_range(ttl_of(fleet, LINE), 60001, 10 * LEASE_MS);
    assert_in_range(ttl_of(fleet, STATE), 60001, 10 * LEASE_MS);
    assert_value(fleet, "lock", "holder");
    leave(fleet, 'a');
    free_lock(fleet);
}

static void asking_again_renews_the_lease_and_keeps_the_place(void **state)
{
    struct fleet *fleet = *state;

    plant_guard(fleet);
    hold(fleet);
    ask(fleet, 'a', T0);
    ask(fleet, 'b', T0 + 1);
    fleet_command(fleet, 0, "PEXPIRE", A_LEASE, "1000", NULL);
    expect_denied(ask(fleet, 'a', T0), "holder", 1, T0);
    assert_in_range(ttl_of(fleet, A_LEASE), 1001, LEASE_MS);
    expect_line(fleet, "ab");
    leave(fleet, 'a');
    leave(fleet, 'b');
    free_lock(fleet);
}

static void a_line_lives_for_a_minute_at_least(void **state)
{
    struct fleet *fleet = *state;
    struct rl_place place = place_of('a', T0);

    plant_guard(fleet);
    hold(fleet);
    place.lease_ms = 1000;
    ask_with(fleet, &place, EPOCH, NEVER_LATE);
    assert_in_range(ttl_of(fleet, LINE), 10001, 60000);
    assert_in_range(ttl_of(fleet, STATE), 10001, 60000);
    leave(fleet, 'a');
    free_lock(fleet);
}

static void a_clock_that_is_behind_wins_nothing(void **state)
{
    struct fleet *fleet = *state;

    plant_guard(fleet);
    hold(fleet);
    expect_denied(ask(fleet, 'a', T0), "holder", 1, T0);
    expect_denied(ask(fleet, 'b', T0 - 50000), "holder", 2, T0 + 1);
    expect_denied(ask(fleet, 'c', T0 - 2000), "holder", 3, T0 + 2);
    expect_line(fleet, "abc");
    expect_state(fleet, "high", decimal(T0 + 2));
    leave(fleet, 'a');
    leave(fleet, 'b');
    leave(fleet, 'c');
    /* What was taken in once counts, even when nobody waits any more. */
    expect_denied(ask(fleet, 'a', T0 - 2000), "holder", 1, T0 + 3);
    leave(fleet, 'a');
    free_lock(fleet);
}

/* Who came at the same moment may reach other nodes the other way round: there the tickets decide, so here too. */
static void who_comes_at_the_same_moment_is_sorted_by_ticket(void **state)
{
    struct fleet *fleet = *state;

    plant_guard(fleet);
    hold(fleet);
    expect_denied(ask(fleet, 'a', T0), "holder", 1, T0);
    expect_denied(ask(fleet, 'b', T0 - 1999), "holder", 1, T0 - 1999);
    expect_line(fleet, "ba");
    leave(fleet, 'a');
    leave(fleet, 'b');
    free_lock(fleet);
}

static void a_ticket_may_rise_but_does_not_fall(void **state)
{
    struct fleet *fleet = *state;

    plant_guard(fleet);
    hold(fleet);
    ask(fleet, 'a', T0);
    ask(fleet, 'b', T0 + 1);
    expect_denied(ask(fleet, 'a', T0 + 2), "holder", 2, T0 + 2);
    expect_denied(ask(fleet, 'a', T0), "holder", 2, T0 + 2);
    expect_state(fleet, "high", decimal(T0 + 2));
    leave(fleet, 'a');
    leave(fleet, 'b');
    free_lock(fleet);
}

static void a_settled_ticket_counts_as_it_is(void **state)
{
    struct fleet *fleet = *state;

    plant_guard(fleet);
    hold(fleet);
    ask(fleet, 'a', T0);
    ask(fleet, 'b', T0 + 10);
    /* Not known here, although a quorum knew it. */
    expect_denied(ask_settled(fleet, 'c', T0 + 5), "holder", 2, T0 + 5);
    expect_state(fleet, "high", decimal(T0 + 10));
    /* Taken in here with another number than the one that was settled. */
    expect_denied(ask_settled(fleet, 'b', T0 + 1), "holder", 2, T0 + 1);
    expect_line(fleet, "abc");
    leave(fleet, 'a');
    leave(fleet, 'b');
    leave(fleet, 'c');
    free_lock(fleet);
}

/* ---- the free lock ------------------------------------------------------------------------------------- */

static void a_free_lock_is_granted_to_the_first_and_to_nobody_else(void **state)
{
    struct fleet *fleet = *state;

    plant_guard(fleet);
    hold(fleet);
    ask(fleet, 'a', T0);
    ask(fleet, 'b', T0 + 1);
    free_lock(fleet);
    expect_denied(ask(fleet, 'b', T0 + 1), "", 2, T0 + 1);
    expect_denied(ask(fleet, 'c', T0 + 2), "", 3, T0 + 2);
    assert_value(fleet, "lock", "(nil)");
    expect_granted(ask(fleet, 'a', T0));
    expect_line(fleet, "bc");
    assert_value(fleet, A_LEASE, "(nil)");
    expect_state(fleet, "offer", "(nil)");
    free_lock(fleet);
    expect_granted(ask(fleet, 'b', T0 + 1));
    free_lock(fleet);
    expect_granted(ask(fleet, 'c', T0 + 2));
    expect_nobody(fleet);
    free_lock(fleet);
}

/* A loser gives back at once and keeps his ticket: he had it before those who came meanwhile. */
static void who_won_too_few_nodes_comes_back_to_the_front(void **state)
{
    struct fleet *fleet = *state;

    plant_guard(fleet);
    hold(fleet);
    ask(fleet, 'a', T0);
    ask(fleet, 'b', T0 + 1);
    free_lock(fleet);
    expect_granted(ask(fleet, 'a', T0));
    free_lock(fleet);
    expect_granted(ask_settled(fleet, 'a', T0));
    free_lock(fleet);
    leave(fleet, 'b');
}

static void a_dead_head_is_dropped(void **state)
{
    struct fleet *fleet = *state;
    struct rl_place brief = place_of('a', T0);

    plant_guard(fleet);
    hold(fleet);
    brief.lease_ms = 1;
    ask_with(fleet, &brief, EPOCH, NEVER_LATE);
    while (ttl_of(fleet, A_LEASE) != -2)
        ;
    expect_denied(ask(fleet, 'b', T0 + 1), "holder", 1, T0 + 1);
    expect_line(fleet, "b");
    expect_denied(ask(fleet, 'c', T0 + 2), "holder", 2, T0 + 2);
    free_lock(fleet);
    fleet_command(fleet, 0, "DEL", B_LEASE, NULL);
    expect_granted(ask(fleet, 'c', T0 + 2));
    expect_nobody(fleet);
    free_lock(fleet);
}

static void the_last_of_a_line_of_dead_ones_leaves_it_empty(void **state)
{
    struct fleet *fleet = *state;

    plant_guard(fleet);
    hold(fleet);
    ask(fleet, 'a', T0);
    ask(fleet, 'b', T0 + 1);
    fleet_command(fleet, 0, "DEL", A_LEASE, B_LEASE, NULL);
    free_lock(fleet);
    expect_granted(ask(fleet, 'c', T0 + 2));
    expect_nobody(fleet);
    free_lock(fleet);
}

/* Makes the offer that stands so much older. */
static void age_offer(struct fleet *fleet, int64_t by_us)
{
    int64_t since = number_at(fleet_command(fleet, 0, "HGET", STATE, "since", NULL), 0);

    fleet_command(fleet, 0, "HSET", STATE, "since", decimal(since - by_us), NULL);
}

static void a_head_that_does_not_take_it_is_skipped_after_the_grace(void **state)
{
    struct fleet *fleet = *state;

    plant_guard(fleet);
    hold(fleet);
    ask(fleet, 'a', T0);
    ask(fleet, 'b', T0 + 1);
    ask(fleet, 'c', T0 + 2);
    free_lock(fleet);
    expect_denied(ask(fleet, 'c', T0 + 2), "", 3, T0 + 2);
    age_offer(fleet, (GRACE_MS - 2000) * INT64_C(1000));
    expect_denied(ask(fleet, 'c', T0 + 2), "", 3, T0 + 2);
    assert_in_range(number_at(ask(fleet, 'c', T0 + 2), 3), 1, 2000);
    age_offer(fleet, 2000 * INT64_C(1000));
    /* It is offered to the next, with a grace of his own. */
    expect_denied(ask(fleet, 'c', T0 + 2), "", 2, T0 + 2);
    expect_line(fleet, "bc");
    assert_value(fleet, A_LEASE, "(nil)");
    assert_in_range(number_at(ask(fleet, 'c', T0 + 2), 3), 2001, GRACE_MS);
    /* Who was skipped and is alive comes back with his settled ticket. */
    expect_granted(ask_settled(fleet, 'a', T0));
    free_lock(fleet);
    expect_granted(ask(fleet, 'b', T0 + 1));
    free_lock(fleet);
    leave(fleet, 'c');
}

static void who_skips_the_head_and_is_next_has_the_lock(void **state)
{
    struct fleet *fleet = *state;

    plant_guard(fleet);
    hold(fleet);
    ask(fleet, 'a', T0);
    ask(fleet, 'b', T0 + 1);
    free_lock(fleet);
    ask(fleet, 'b', T0 + 1);
    age_offer(fleet, GRACE_MS * INT64_C(1000));
    expect_granted(ask(fleet, 'b', T0 + 1));
    expect_nobody(fleet);
    free_lock(fleet);
}

/* Otherwise an offer from before the last holder would cost the head his place. */
static void an_offer_ends_when_the_lock_is_taken(void **state)
{
    struct fleet *fleet = *state;

    plant_guard(fleet);
    hold(fleet);
    ask(fleet, 'a', T0);
    ask(fleet, 'b', T0 + 1);
    free_lock(fleet);
    ask(fleet, 'b', T0 + 1);
    age_offer(fleet, GRACE_MS * INT64_C(1000));
    hold(fleet);
    expect_denied(ask(fleet, 'b', T0 + 1), "holder", 2, T0 + 1);
    expect_state(fleet, "offer", "(nil)");
    free_lock(fleet);
    expect_denied(ask(fleet, 'b', T0 + 1), "", 2, T0 + 1);
    /* Nobody of the line was there to see it taken: the fence tells. */
    age_offer(fleet, GRACE_MS * INT64_C(1000));
    fleet_command(fleet, 0, "SET", "redlock-fence:{lock}", decimal(node_now(fleet)), NULL);
    expect_denied(ask(fleet, 'b', T0 + 1), "", 2, T0 + 1);
    assert_in_range(number_at(ask(fleet, 'b', T0 + 1), 3), GRACE_MS / 2, GRACE_MS);
    leave(fleet, 'a');
    leave(fleet, 'b');
}

static void an_offer_from_the_future_begins_anew(void **state)
{
    struct fleet *fleet = *state;

    plant_guard(fleet);
    hold(fleet);
    ask(fleet, 'a', T0);
    ask(fleet, 'b', T0 + 1);
    free_lock(fleet);
    ask(fleet, 'b', T0 + 1);
    age_offer(fleet, -3600 * INT64_C(1000000));
    expect_denied(ask(fleet, 'b', T0 + 1), "", 2, T0 + 1);
    leave(fleet, 'a');
    leave(fleet, 'b');
}

/* ---- what is refused ----------------------------------------------------------------------------------- */

static void who_is_refused_is_not_taken_in(void **state)
{
    struct fleet *fleet = *state;
    struct rl_place place = place_of('a', T0);
    const char *answer;

    plant_guard(fleet);
    hold(fleet);
    answer = ask_with(fleet, &place, "1 other id 1000 0", NEVER_LATE);
    assert_int_equal(count_lines(answer), 2);
    assert_int_equal(number_at(answer, 0), -3);
    answer = ask_with(fleet, &place, EPOCH, node_now(fleet) - 1);
    assert_int_equal(count_lines(answer), 2);
    assert_int_equal(number_at(answer, 0), -4);
    free_lock(fleet);
    fleet_command(fleet, 0, "HSET", "lock", "field", "value", NULL);
    assert_int_equal(strncmp(ask(fleet, 'a', T0), "WRONGTYPE", 9), 0);
    expect_nobody(fleet);
    expect_state(fleet, "high", "(nil)");
    free_lock(fleet);
    expect_granted(ask(fleet, 'a', T0));
    free_lock(fleet);
}

static void a_holder_with_a_long_name_and_no_end_is_shown_cut(void **state)
{
    struct fleet *fleet = *state;
    char owner[601], answer[ANSWER_MAX];

    plant_guard(fleet);
    memset(owner, 'x', 600);
    owner[600] = '\0';
    plant(fleet, "lock", owner);
    snprintf(answer, sizeof answer, "%s", ask(fleet, 'a', T0));
    assert_int_equal(number_at(answer, 3), -1);
    assert_int_equal(strspn(strchr(answer, 'x'), "x"), 511);
    leave(fleet, 'a');
    free_lock(fleet);
}

/* ---- leaving ------------------------------------------------------------------------------------------- */

static void who_leaves_is_gone_at_once(void **state)
{
    struct fleet *fleet = *state;

    plant_guard(fleet);
    hold(fleet);
    ask(fleet, 'a', T0);
    ask(fleet, 'b', T0 + 1);
    free_lock(fleet);
    ask(fleet, 'b', T0 + 1);
    assert_string_equal(leave(fleet, 'a'), "1");
    assert_string_equal(leave(fleet, 'a'), "0");
    expect_line(fleet, "b");
    expect_state(fleet, "offer", "(nil)");
    expect_granted(ask(fleet, 'b', T0 + 1));
    assert_string_equal(leave(fleet, 'b'), "0");
    expect_nobody(fleet);
    expect_state(fleet, "high", decimal(T0 + 1));
    free_lock(fleet);
}

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

static void wait_in_line(struct fleet *fleet)
{
    plant_guard(fleet);
    hold(fleet);
    ask(fleet, 'a', T0);
    ask(fleet, 'b', T0 + 1);
    ask(fleet, 'c', T0 + 2);
    ask(fleet, 'd', T0 + 3);
}

static void empty_line(struct fleet *fleet)
{
    for (char name = 'a'; name <= 'd'; name++)
        leave(fleet, name);
    free_lock(fleet);
}

static void the_next_two_are_told_when_the_first_has_the_lock(void **state)
{
    struct fleet *fleet = *state;
    int b, c, d;

    wait_in_line(fleet);
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

    wait_in_line(fleet);
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

    wait_in_line(fleet);
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

/* Arrays are flat in the answer's text, and an empty one is an empty line. */
static void the_line_is_shown_in_order(void **state)
{
    struct fleet *fleet = *state;

    plant_guard(fleet);
    assert_string_equal(show(fleet), "0\n\n0\n");
    hold(fleet);
    ask(fleet, 'b', T0);
    ask(fleet, 'a', T0 + 1);
    assert_string_equal(show(fleet), "2\n1700000000000000\n|pid=1\n1700000000000001\n|pid=1\n0\n");
    fleet_command(fleet, 0, "DEL", B_LEASE, NULL);
    assert_string_equal(show(fleet), "1\n1700000000000001\n|pid=1\n0\n");
    leave(fleet, 'a');
    leave(fleet, 'b');
    free_lock(fleet);
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
    plant_guard(fleet);
    hold(fleet);
    for (int i = 0; i < 40; i++) {
        struct rl_place place = place_of('a', T0 + i);

        place.who = who;
        place.who_length = 600;
        snprintf(place.id, sizeof place.id, "%032d", i);
        ask_with(fleet, &place, EPOCH, NEVER_LATE);
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
        ON_A_FLUSHED_NODE(a_free_lock_that_nobody_waits_for_is_granted_at_once),
        ON_A_FLUSHED_NODE(a_grant_is_numbered_as_any_other),
        ON_A_FLUSHED_NODE(whoever_finds_it_held_is_taken_in_with_a_lease),
        ON_A_FLUSHED_NODE(asking_again_renews_the_lease_and_keeps_the_place),
        ON_A_FLUSHED_NODE(a_line_lives_for_a_minute_at_least),
        ON_A_FLUSHED_NODE(a_clock_that_is_behind_wins_nothing),
        ON_A_FLUSHED_NODE(who_comes_at_the_same_moment_is_sorted_by_ticket),
        ON_A_FLUSHED_NODE(a_ticket_may_rise_but_does_not_fall),
        ON_A_FLUSHED_NODE(a_settled_ticket_counts_as_it_is),
        ON_A_FLUSHED_NODE(a_free_lock_is_granted_to_the_first_and_to_nobody_else),
        ON_A_FLUSHED_NODE(who_won_too_few_nodes_comes_back_to_the_front),
        ON_A_FLUSHED_NODE(a_dead_head_is_dropped),
        ON_A_FLUSHED_NODE(the_last_of_a_line_of_dead_ones_leaves_it_empty),
        ON_A_FLUSHED_NODE(a_head_that_does_not_take_it_is_skipped_after_the_grace),
        ON_A_FLUSHED_NODE(who_skips_the_head_and_is_next_has_the_lock),
        ON_A_FLUSHED_NODE(an_offer_ends_when_the_lock_is_taken),
        ON_A_FLUSHED_NODE(an_offer_from_the_future_begins_anew),
        ON_A_FLUSHED_NODE(who_is_refused_is_not_taken_in),
        ON_A_FLUSHED_NODE(a_holder_with_a_long_name_and_no_end_is_shown_cut),
        ON_A_FLUSHED_NODE(who_leaves_is_gone_at_once),
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
