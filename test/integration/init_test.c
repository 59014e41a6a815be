/*
 * Tests of the operator's word: what fences go on from after it, whatever clock the operator's machine has,
 * and that it is not taken while a lock can be seen to be held.
 */
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "support/guarded.h"
#include "support/steps.h"

enum { HOUR_S = 3600, TTL_MS = 20000, URLS_MAX = 1024 };
#define CENTURIES_S INT64_C(12622780800)
#define ONE_HOUR_US UINT64_C(3600000000)

/* ---- this process's wall clock, which may be wrong ----------------------------------------------------- */

static time_t wall_error_s;

int clock_gettime(clockid_t which, struct timespec *at)
{
    int result = (int)syscall(SYS_clock_gettime, which, at);

    if (which == CLOCK_REALTIME)
        at->tv_sec += wall_error_s;
    return result;
}

static uint64_t now_us(void)
{
    struct timespec now;

    syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* ---- fences ------------------------------------------------------------------------------------------- */

static uint64_t next_fence(redlock_client *client)
{
    redlock_lock *lock = take_lock(client, "name", SHORT_MAX_TTL_MS);
    uint64_t fence = redlock_lock_fence(lock);

    give_back(lock);
    return fence;
}

static void forget_everything(struct fleet *fleet)
{
    for (int node = 0; node < fleet_size(fleet); node++)
        fleet_command(fleet, node, "FLUSHALL", NULL);
}

/* An hour ahead, or centuries: what it leaves behind is no higher than what a right clock would have left. So
 * nothing is lower when the fleet forgets it. */
static void an_operator_with_a_wrong_clock_moves_no_fence(void **state)
{
    static const time_t errors_s[] = {HOUR_S, CENTURIES_S, -HOUR_S, -CENTURIES_S / 8};
    struct fleet *fleet = *state;
    uint64_t last = 0;

    for (size_t i = 0; i < sizeof errors_s / sizeof errors_s[0]; i++) {
        redlock_client *client;
        uint64_t fence;

        wall_error_s = errors_s[i];
        client = open_admitted(fleet_urls(fleet), SHORT_MAX_TTL_MS);
        wall_error_s = 0;
        fence = next_fence(client);
        assert_true(fence > last);
        assert_true(fence < now_us() + ONE_HOUR_US / 2);
        last = fence;
        forget_everything(fleet);
        redlock_client_close(client);
    }
}

/* Two nodes of three know a number far ahead of all clocks. The third is new, and an operator admits it: a
 * quorum with it in it goes on from that number. */
static void an_init_beside_nodes_that_remember_does_not_undercut_them(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), SHORT_MAX_TTL_MS);
    char ahead[32], urls[URLS_MAX];
    redlock_options options = guarded_options(urls, SHORT_MAX_TTL_MS);
    redlock_client *narrow;

    snprintf(ahead, sizeof ahead, "%llu", (unsigned long long)(now_us() + 24 * ONE_HOUR_US));
    for (int node = 1; node < 3; node++)
        fleet_command(fleet, node, "SET", "redlock-guard:floor", ahead, NULL);
    fleet_wipe(fleet, 0);
    admit_all_nodes(client);
    assert_string_equal(fleet_command(fleet, 0, "GET", "redlock-guard:floor", NULL), ahead);
    /* Now it is alone with one that is new as well. */
    fleet_wipe(fleet, 1);
    admit_all_nodes(client);
    snprintf(urls, sizeof urls, "%s,%s,unix:///nonexistent/socket", fleet_url(fleet, 0), fleet_url(fleet, 1));
    narrow = open_with(&options);
    assert_true(next_fence(narrow) > now_us() + 23 * ONE_HOUR_US);
    redlock_client_close(narrow);
    redlock_client_close(client);
}

/* ---- held locks ---------------------------------------------------------------------------------------- */

/* A lock on two of three nodes; the third was lost and is new, and somebody says that the fleet is. */
static void an_init_is_refused_while_a_lock_is_seen_to_be_held(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), TTL_MS);
    redlock_report report = detailed_report();
    redlock_lock *lock;
    bool said = false;

    await_all_nodes(client);
    lock = take_lock(client, "precious", TTL_MS);
    fleet_wipe(fleet, 0);
    assert_result(REDLOCK_BUSY, redlock_init_nodes(client, 0, &report), &report);
    assert_true(report.held >= 1);
    assert_int_equal(report.holder.pid, getpid());
    for (uint32_t node = 0; node < report.node_count; node++)
        said = said || strcmp(node_of(&report, node).detail, "it has the lock \"precious\"") == 0;
    assert_true(said);
    assert_false(node_votes(client, 0, NULL)); /* nothing was changed */
    assert_result(REDLOCK_OK, redlock_init_nodes(client, 1, &report), &report);
    assert_int_equal(report.granted, 3);
    await(node_votes(client, 0, NULL));
    give_back(lock);
    assert_result(REDLOCK_OK, redlock_init_nodes(client, 0, &report), &report);
    redlock_client_close(client);
}

/* It is looked for under every prefix, for a node has one memory; what has no end or does not look like ours
 * is no lock. */
static void locks_of_every_prefix_are_seen_and_nothing_else(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), TTL_MS);
    redlock_options options = guarded_options(fleet_urls(fleet), TTL_MS);
    redlock_report report = detailed_report();
    redlock_client *another;
    redlock_lock *lock;

    fleet_command(fleet, 0, "SET", "cached", "0123456789abcdef0123456789abcdef|x", NULL);
    fleet_command(fleet, 0, "SET", "session", "0123456789abcdef", "EX", "100", NULL);
    fleet_command(fleet, 0, "HSET", "hash", "field", "value", NULL);
    assert_result(REDLOCK_OK, redlock_init_nodes(client, 0, &report), &report);
    fleet_command(fleet, 0, "DEL", "cached", "session", "hash", NULL);
    options.key_prefix = "app:";
    another = open_with(&options);
    lock = take_lock(another, "name", TTL_MS);
    assert_result(REDLOCK_BUSY, redlock_init_nodes(client, 0, &report), &report);
    give_back(lock);
    redlock_client_close(another);
    redlock_client_close(client);
}

/* Many keys of others, and one of ours among them. */
static void a_lock_among_many_keys_is_seen(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), TTL_MS);
    redlock_report report = detailed_report();
    redlock_lock *lock = take_lock(client, "name", TTL_MS);

    for (int node = 0; node < fleet_size(fleet); node++)
        assert_string_equal(
            fleet_command(fleet, node, "EVAL",
                          "for i = 1, 20000 do redis.call('SET', 'key' .. i, i) end return 'OK'", "0", NULL),
            "OK");
    assert_result(REDLOCK_BUSY, redlock_init_nodes(client, 0, &report), &report);
    give_back(lock);
    forget_everything(fleet);
    redlock_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_GUARDED(an_operator_with_a_wrong_clock_moves_no_fence, start_three_guarded),
        ON_GUARDED(an_init_beside_nodes_that_remember_does_not_undercut_them, start_three_guarded),
        ON_GUARDED(an_init_is_refused_while_a_lock_is_seen_to_be_held, start_three_guarded),
        ON_GUARDED(locks_of_every_prefix_are_seen_and_nothing_else, start_three_guarded),
        ON_GUARDED(a_lock_among_many_keys_is_seen, start_three_guarded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
