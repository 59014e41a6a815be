/*
 * Releases whose answers nobody waits for: they reach every node all the same, whatever becomes of the nodes
 * and of the client meanwhile, and a lock that was lost is not passed off as one that was held.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/steps.h"

static redlock_spec quick_spec(const char *name, uint32_t ttl_ms)
{
    redlock_spec spec = spec_for(name, ttl_ms);

    spec.quick_release = 1;
    return spec;
}

static void await_no_keys(struct fleet *fleet)
{
    for (int i = 0; i < fleet_size(fleet); i++)
        await(fleet_key_count(fleet, i) == 0);
}

static void await_keys(struct fleet *fleet)
{
    for (int i = 0; i < fleet_size(fleet); i++)
        await(fleet_key_count(fleet, i) == 1);
}

/* No node can answer: a release that waited would end with NO_QUORUM. */
static void quick_release_does_not_wait_for_any_node(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_report report = detailed_report();
    redlock_spec spec = quick_spec("quick", LONG_TTL_MS);
    redlock_lock *lock = take_spec(client, &spec);

    await_keys(fleet);
    for (int i = 0; i < fleet_size(fleet); i++)
        fleet_freeze(fleet, i);
    assert_result(REDLOCK_OK, redlock_release(lock, &report), &report);
    assert_report_is_sound(&report, REDLOCK_OK, fleet);
    assert_non_null(strstr(report.line, "not waited for"));
    assert_int_equal(redlock_lock_validity_ms(lock), 0);
    assert_result(REDLOCK_NOT_HELD, redlock_release(lock, &report), &report);
    redlock_lock_free(lock);
    for (int i = 0; i < fleet_size(fleet); i++)
        fleet_thaw(fleet, i);
    await_no_keys(fleet);
    redlock_client_close(client);
}

/* No call is made behind it, and the client is not closed: what was under way has to arrive by itself. */
static void quick_release_reaches_nodes_that_were_away(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_spec spec = quick_spec("away", LONG_TTL_MS);
    redlock_lock *lock = take_spec(client, &spec);
    redlock_client *other = open_warm_client(fleet_urls(fleet));

    await_keys(fleet);
    fleet_freeze(fleet, 0);
    assert_result(REDLOCK_OK, redlock_release(lock, NULL), NULL);
    redlock_lock_free(lock);
    redlock_lock *next = await_lock(other, "away");
    give_back(next);
    fleet_thaw(fleet, 0);
    await_no_keys(fleet);
    redlock_client_close(other);
    redlock_client_close(client);
}

static void closing_the_client_takes_no_quick_release_with_it(void **state)
{
    struct fleet *fleet = *state;

    for (int turn = 0; turn < 20; turn++) {
        redlock_client *client = open_client(fleet_urls(fleet));
        redlock_spec spec = quick_spec("closing", LONG_TTL_MS);
        redlock_lock *lock = take_spec(client, &spec);

        assert_result(REDLOCK_OK, redlock_release(lock, NULL), NULL);
        redlock_lock_free(lock);
        redlock_client_close(client);
    }
    await_no_keys(fleet);
}

static void quick_release_of_what_is_over_says_lost(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_report report = detailed_report();
    redlock_spec spec = quick_spec("over", 300);
    redlock_lock *lock = take_spec(client, &spec);

    await(redlock_lock_validity_ms(lock) == 0);
    sleep_ms(1); /* it was rounded down */
    assert_result(REDLOCK_LOST, redlock_release(lock, &report), &report);
    redlock_lock_free(lock);
    redlock_client_close(client);
}

/* Its own next question travels behind its release, so it never meets its own key. */
static void next_try_of_the_same_client_is_never_busy(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_spec spec = quick_spec("again", LONG_TTL_MS);
    uint64_t fence = 0;

    for (int turn = 0; turn < 300; turn++) {
        redlock_lock *lock = take_spec(client, &spec);

        if (is_guarded())
            assert_true(redlock_lock_fence(lock) > fence);
        fence = redlock_lock_fence(lock);
        assert_result(REDLOCK_OK, redlock_release(lock, NULL), NULL);
        redlock_lock_free(lock);
    }
    redlock_client_close(client);
}

/* ---- a process that ends right behind it ---- */

enum { OTHERS = 5, OTHERS_TTL_MS = 2000 }; /* what they leave behind ends by itself */

static redlock_client *common_client;
static atomic_int in_calls;

static redlock_spec spec_of_other(char *name, size_t size, int number)
{
    snprintf(name, size, "%d:%d", (int)getpid(), number);
    return spec_for(name, OTHERS_TTL_MS);
}

static void *wait_for_another(void *context)
{
    char name[32];
    redlock_spec spec = spec_of_other(name, sizeof name, *(int *)context);
    redlock_lock *lock;

    atomic_fetch_add(&in_calls, 1);
    return redlock_acquire(common_client, &spec, REDLOCK_WAIT_FOREVER, &lock, NULL) == REDLOCK_OK ? lock
                                                                                                  : NULL;
}

/* Its other threads are in calls: one of them drives the connections. */
static void release_beside_others_and_end(struct fleet *fleet, const char *name)
{
    redlock_client *holder = open_warm_client(fleet_urls(fleet));
    redlock_spec spec = quick_spec(name, LONG_TTL_MS);
    static int numbers[OTHERS];

    common_client = open_warm_client(fleet_urls(fleet));
    for (int i = 0; i < OTHERS; i++) {
        char text[32];
        redlock_spec other = spec_of_other(text, sizeof text, i);
        pthread_t thread;

        take_spec(holder, &other);
        numbers[i] = i;
        if (pthread_create(&thread, NULL, wait_for_another, &numbers[i]) != 0)
            _exit(1);
    }
    await(atomic_load(&in_calls) == OTHERS);
    redlock_lock *lock = take_spec(common_client, &spec);
    redlock_result result = redlock_release(lock, NULL);
    _exit(result == REDLOCK_OK ? 0 : 1);
}

static int count_copies(struct fleet *fleet, const char *name)
{
    int copies = 0;

    for (int i = 0; i < fleet_size(fleet); i++)
        copies += strcmp(fleet_command(fleet, i, "EXISTS", name, NULL), "1") == 0;
    return copies;
}

/* The thread that drove the connections was to send it, and had not come to it yet. A node that was about to
 * answer something else may drop the connection before it reads the release: there the lock stays. */
static void process_that_ends_behind_a_quick_release_leaves_no_lock(void **state)
{
    struct fleet *fleet = *state;
    int left = 0;

    for (int turn = 0; turn < 20; turn++) {
        char name[16];
        int status;

        snprintf(name, sizeof name, "ends:%d", turn);
        pid_t child = fork();
        if (child == 0)
            release_beside_others_and_end(fleet, name);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        for (int tries = 0; tries < 50 && count_copies(fleet, name) >= quorum_of(fleet); tries++)
            sleep_ms(10);
        left += count_copies(fleet, name) >= quorum_of(fleet);
    }
    for (int i = 0; i < fleet_size(fleet); i++)
        fleet_wipe(fleet, i); /* the others' places in line */
    print_message("# %d of 20 processes left their lock on a quorum\n", left);
    assert_in_range(left, 0, 10);
}

struct ending {
    atomic_int runs;
    redlock_result result;
};

static void note_end(void *context, redlock_result result, const redlock_report *report)
{
    struct ending *ending = context;

    (void)report;
    ending->result = result;
    atomic_fetch_add(&ending->runs, 1);
}

static void asynchronous_quick_release_calls_back_once(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_spec spec = quick_spec("async", LONG_TTL_MS);
    struct ending ending = {.result = REDLOCK_CANCELED};
    redlock_lock *lock = take_spec(client, &spec);

    assert_result(REDLOCK_OK, redlock_release_async(lock, note_end, &ending, NULL), NULL);
    await(atomic_load(&ending.runs) == 1);
    assert_int_equal(ending.result, REDLOCK_OK);
    await_no_keys(fleet);
    redlock_lock_free(lock);
    redlock_client_close(client);
    assert_int_equal(atomic_load(&ending.runs), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_1_3_5_NODES(quick_release_does_not_wait_for_any_node),
        ON_NODES(quick_release_reaches_nodes_that_were_away, start_three_nodes),
        ON_NODES(closing_the_client_takes_no_quick_release_with_it, start_three_nodes),
        ON_NODES(quick_release_of_what_is_over_says_lost, start_three_nodes),
        ON_1_3_5_NODES(next_try_of_the_same_client_is_never_busy),
        ON_NODES(process_that_ends_behind_a_quick_release_leaves_no_lock, start_three_nodes),
        ON_NODES(asynchronous_quick_release_calls_back_once, start_three_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
