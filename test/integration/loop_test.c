/*
 * Programs with an event loop: what they ask for in one turn travels together, and nothing is lost when the
 * loop does not come round. That callbacks run only in redlock_client_process() is in async_test.c.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "support/guarded.h"
#include "support/steps.h"
#include "support/traffic.h"

enum {
    TOGETHER = 64,
    /* a turn may be parted by its own length (CORK_MS) or by a timer of the client that falls into it; not
     * each of so many */
    TURNS = 20
};

struct turn {
    int called;
    redlock_lock *locks[TOGETHER];
};

static void note_acquired(void *context, redlock_result result, redlock_lock *lock,
                          const redlock_report *report)
{
    struct turn *turn = context;

    assert_result(REDLOCK_OK, result, report);
    turn->locks[turn->called++] = lock;
}

static void note_released(void *context, redlock_result result, const redlock_report *report)
{
    assert_result(REDLOCK_OK, result, report);
    ++*(int *)context;
}

static void run_loop_until(redlock_client *client, int fd, const int *called, int wanted)
{
    for (int i = 0; i < 2000 && *called < wanted; i++) {
        struct pollfd poller = {.fd = fd, .events = POLLIN};

        if (poll(&poller, 1, 10) > 0)
            assert_result(REDLOCK_OK, redlock_client_process(client), NULL);
    }
    assert_int_equal(*called, wanted);
}

/* ---- what a node was sent ------------------------------------------------------------------------------ */

static void forget_calls(struct fleet *fleet)
{
    for (int i = 0; i < fleet_size(fleet); i++)
        assert_string_equal(fleet_command(fleet, i, "CONFIG", "RESETSTAT", NULL), "OK");
}

static long script_calls(struct fleet *fleet, int node)
{
    return traffic_calls(fleet, node, "evalsha") + traffic_calls(fleet, node, "eval");
}

/* Redis from 8.4 and Valkey from 9.0 have a command for a release, which needs no company. */
static bool releases_by_script(struct fleet *fleet)
{
    return traffic_calls(fleet, 0, "delex") <= 0 && traffic_calls(fleet, 0, "delifeq") <= 0;
}

static bool travelled_together(struct fleet *fleet)
{
    bool together = true;

    for (int i = 0; i < fleet_size(fleet); i++) {
        long calls = script_calls(fleet, i);

        print_message("# node %d: %ld calls of scripts\n", i, calls);
        together = together && calls == 1;
    }
    return together;
}

/* Whether a new lock is numbered in one round. Nodes that were just admitted have promised a number that is
 * still ahead. */
static bool is_numbered_at_once(redlock_client *client)
{
    static int number;
    redlock_stats stats = REDLOCK_STATS_INIT;
    uint64_t before;
    char name[32];

    assert_result(REDLOCK_OK, redlock_client_stats(client, &stats), NULL);
    before = stats.fence_rounds;
    snprintf(name, sizeof name, "warm:%d", number++);
    give_back(take_lock(client, name, LONG_TTL_MS));
    assert_result(REDLOCK_OK, redlock_client_stats(client, &stats), NULL);
    return stats.fence_rounds == before;
}

/* Takes TOGETHER locks, each begun before the loop has its turn and outside of any callback. */
static void acquire_in_one_turn(redlock_client *client, int fd, struct turn *turn)
{
    char name[32];
    redlock_spec spec = spec_for(name, LONG_TTL_MS);

    turn->called = 0;
    for (int i = 0; i < TOGETHER; i++) {
        snprintf(name, sizeof name, "turn:%d", i);
        assert_result(REDLOCK_OK, redlock_acquire_async(client, &spec, 0, note_acquired, turn, NULL), NULL);
    }
    run_loop_until(client, fd, &turn->called, TOGETHER);
}

/* Gives them back in the same way. */
static void release_in_one_turn(redlock_client *client, int fd, struct turn *turn)
{
    int released = 0;

    for (int i = 0; i < TOGETHER; i++)
        assert_result(REDLOCK_OK, redlock_release_async(turn->locks[i], note_released, &released, NULL),
                      NULL);
    run_loop_until(client, fd, &released, TOGETHER);
    for (int i = 0; i < TOGETHER; i++)
        redlock_lock_free(turn->locks[i]);
}

static void what_is_asked_for_in_one_turn_is_one_command_per_node(void **state)
{
    static struct turn turn;
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    int fd = redlock_client_fd(client);
    bool acquired = false, released = false;

    await(is_numbered_at_once(client));
    for (int i = 0; i < TURNS && !(acquired && released); i++) {
        await(lock_leftovers(fleet, 0)[0] == '\0');
        forget_calls(fleet);
        acquire_in_one_turn(client, fd, &turn);
        acquired = acquired || travelled_together(fleet);
        forget_calls(fleet);
        release_in_one_turn(client, fd, &turn);
        released = released || !releases_by_script(fleet) || travelled_together(fleet);
    }
    assert_true(acquired);
    assert_true(released);
    redlock_client_close(client);
}

/* A loop that is busy with something else, or was left for good. */
static void what_was_asked_for_is_sent_although_the_loop_does_not_come_round(void **state)
{
    static struct turn turn;
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_spec spec = spec_for("no turn", LONG_TTL_MS);
    int fd = redlock_client_fd(client), released = 0;

    memset(&turn, 0, sizeof turn);
    assert_result(REDLOCK_OK, redlock_acquire_async(client, &spec, 0, note_acquired, &turn, NULL), NULL);
    for (int i = 0; i < fleet_size(fleet); i++)
        await(strcmp(fleet_command(fleet, i, "EXISTS", "no turn", NULL), "1") == 0);
    assert_int_equal(turn.called, 0);
    run_loop_until(client, fd, &turn.called, 1);
    assert_result(REDLOCK_OK, redlock_release_async(turn.locks[0], note_released, &released, NULL), NULL);
    for (int i = 0; i < fleet_size(fleet); i++)
        await(strcmp(fleet_command(fleet, i, "EXISTS", "no turn", NULL), "0") == 0);
    assert_int_equal(released, 0);
    run_loop_until(client, fd, &released, 1);
    redlock_lock_free(turn.locks[0]);
    redlock_client_close(client);
}

/* Whoever blocks does not wait for the loop, and takes along what waits for it. */
static void a_blocking_call_sends_what_waits_for_the_loop(void **state)
{
    static struct turn turn;
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_spec spec = spec_for("with it", LONG_TTL_MS);
    int fd = redlock_client_fd(client);

    memset(&turn, 0, sizeof turn);
    assert_result(REDLOCK_OK, redlock_acquire_async(client, &spec, 0, note_acquired, &turn, NULL), NULL);
    give_back(take_lock(client, "blocking", LONG_TTL_MS));
    run_loop_until(client, fd, &turn.called, 1);
    give_back(turn.locks[0]);
    redlock_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_GUARDED(what_is_asked_for_in_one_turn_is_one_command_per_node, start_three_guarded),
        ON_NODES(what_was_asked_for_is_sent_although_the_loop_does_not_come_round, start_three_nodes),
        ON_NODES(a_blocking_call_sends_what_waits_for_the_loop, start_three_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
