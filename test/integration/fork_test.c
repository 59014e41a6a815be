/*
 * A fork with an open client: what the child inherits is inert, closing it harms nobody, and the parent goes
 * on as if nothing had happened.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/steps.h"

/* The thread sanitizer would end a child that starts threads after a fork of a threaded program; ours may. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "die_after_fork=0";
}

/* Runs a function in a child and returns what it returned: 0 is well, anything else is the step that
 * failed. */
static int in_child(int (*steps)(redlock_client *client, redlock_lock *lock), redlock_client *client,
                    redlock_lock *lock)
{
    int status = 0;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        /* A child that hangs is ended by its alarm, and the parent is told. */
        alarm(30);
        _exit(steps(client, lock));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFSIGNALED(status))
        fail_msg("the child was ended by signal %d", WTERMSIG(status));
    return WEXITSTATUS(status);
}

static void ignore_acquired(void *context, redlock_result result, redlock_lock *lock,
                            const redlock_report *report)
{
    (void)context;
    (void)result;
    (void)lock;
    (void)report;
}

static int every_call_is_misuse(redlock_client *client, redlock_lock *lock)
{
    redlock_spec spec = spec_for("child", 1000);
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_stats stats = REDLOCK_STATS_INIT;
    redlock_lock *none = NULL;

    if (redlock_try_acquire(client, &spec, &none, &report) != REDLOCK_MISUSE || none != NULL)
        return 1;
    if (report.result != REDLOCK_MISUSE || report.line[0] == '\0')
        return 2;
    if (redlock_acquire(client, &spec, 1000, &none, NULL) != REDLOCK_MISUSE)
        return 3;
    if (redlock_acquire_async(client, &spec, 1000, ignore_acquired, NULL, NULL) != REDLOCK_MISUSE)
        return 4;
    if (redlock_extend(lock, 0, NULL) != REDLOCK_MISUSE)
        return 5;
    if (redlock_release(lock, NULL) != REDLOCK_MISUSE)
        return 6;
    if (redlock_adopt(client, &spec, "owner", 0, &none, NULL) != REDLOCK_MISUSE)
        return 7;
    if (redlock_inspect(client, "child", 0, &report) != REDLOCK_MISUSE)
        return 8;
    if (redlock_release_owner(client, "child", 0, "owner", 0, NULL) != REDLOCK_MISUSE)
        return 9;
    if (redlock_cancel(client, 1) != REDLOCK_MISUSE)
        return 10;
    if (redlock_client_process(client) != REDLOCK_MISUSE)
        return 11;
    if (redlock_client_stats(client, &stats) != REDLOCK_MISUSE)
        return 12;
    if (redlock_lock_validity_ms(lock) != 0)
        return 13;
    return 0;
}

static int free_everything(redlock_client *client, redlock_lock *lock)
{
    redlock_lock_free(lock);
    redlock_client_close(client);
    return 0;
}

static int close_before_free(redlock_client *client, redlock_lock *lock)
{
    redlock_client_close(client);
    redlock_lock_free(lock);
    return 0;
}

static int do_nothing(redlock_client *client, redlock_lock *lock)
{
    (void)client;
    (void)lock;
    return 0;
}

struct told {
    atomic_int renewed, lost;
};

static void note_lost(void *context, redlock_lock *lock, const redlock_report *report)
{
    (void)lock;
    (void)report;
    atomic_fetch_add(&((struct told *)context)->lost, 1);
}

static void note_renewed(void *context, redlock_lock *lock, const redlock_report *report)
{
    (void)lock;
    if (report->result == REDLOCK_OK)
        atomic_fetch_add(&((struct told *)context)->renewed, 1);
}

/* The parent's lease is renewed as before after the child has done its worst. */
static void assert_parent_survives(struct fleet *fleet, int (*steps)(redlock_client *, redlock_lock *))
{
    static struct told told[16]; /* one per test: a failed one leaves its lease behind */
    static int used;
    struct told *mine = &told[used++];
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_spec spec = spec_for("parent", LONG_TTL_MS);

    spec.auto_extend = 1;
    spec.renew_ms = 100;
    spec.on_lost = note_lost;
    spec.on_renewed = note_renewed;
    spec.context = mine;
    redlock_lock *lock = take_spec(client, &spec);
    await(fleet_key_count(fleet, 0) == 1);
    assert_int_equal(in_child(steps, client, lock), 0);
    int renewed = atomic_load(&mine->renewed);
    await(atomic_load(&mine->renewed) >= renewed + 5);
    assert_true(redlock_lock_validity_ms(lock) > 0);
    assert_int_equal(fleet_key_count(fleet, 0), 1);
    assert_int_equal(atomic_load(&mine->lost), 0);
    assert_result(REDLOCK_OK, redlock_extend(lock, 0, NULL), NULL);
    give_back(lock);
    give_back(take_lock(client, "after", LONG_TTL_MS));
    redlock_client_close(client);
}

static void handles_are_inert_in_the_child(void **state)
{
    assert_parent_survives(*state, every_call_is_misuse);
}

static void free_and_close_in_the_child_harm_nobody(void **state)
{
    assert_parent_survives(*state, free_everything);
}

static void close_before_free_in_the_child_harms_nobody(void **state)
{
    assert_parent_survives(*state, close_before_free);
}

static void child_that_does_nothing_harms_nobody(void **state)
{
    assert_parent_survives(*state, do_nothing);
}

/* ---- a client of the child's own ----------------------------------------------------------------------- */

static const char *inherited_nodes;

static int open_another(redlock_client *client, redlock_lock *lock)
{
    redlock_options options = options_for(inherited_nodes);
    redlock_spec spec = spec_for("own", LONG_TTL_MS);
    redlock_client *own = NULL;
    redlock_lock *taken = NULL;

    redlock_lock_free(lock);
    redlock_client_close(client);
    if (redlock_client_open(&options, &own, NULL) != REDLOCK_OK)
        return 1;
    if (redlock_acquire(own, &spec, 10000, &taken, NULL) != REDLOCK_OK)
        return 2;
    spec.name = "parent";
    redlock_lock *none = NULL;
    if (redlock_try_acquire(own, &spec, &none, NULL) != REDLOCK_BUSY)
        return 3;
    if (redlock_release(taken, NULL) != REDLOCK_OK)
        return 4;
    redlock_lock_free(taken);
    redlock_client_close(own);
    return 0;
}

static void child_opens_a_client_of_its_own(void **state)
{
    struct fleet *fleet = *state;

#if defined(__SANITIZE_THREAD__)
    print_message(
        "# the thread sanitizer cannot follow a thread that a forked child starts where its parent has one\n");
    skip();
#endif
    inherited_nodes = fleet_urls(fleet);
    assert_parent_survives(fleet, open_another);
}

/* ---- a fork in the middle of things -------------------------------------------------------------------- */

struct worker {
    redlock_client *client;
    atomic_int stop;
    atomic_int failures;
};

static void *lock_and_release(void *context)
{
    struct worker *worker = context;
    redlock_spec spec = spec_for("worker", LONG_TTL_MS);

    while (atomic_load(&worker->stop) == 0) {
        redlock_lock *lock = NULL;
        if (redlock_acquire(worker->client, &spec, 20000, &lock, NULL) != REDLOCK_OK ||
            redlock_release(lock, NULL) != REDLOCK_OK)
            atomic_fetch_add(&worker->failures, 1);
        redlock_lock_free(lock);
    }
    return NULL;
}

/* Another thread is inside the library, perhaps with a mutex in its hand, when the child is made. */
static void fork_while_a_thread_is_inside_harms_nobody(void **state)
{
    struct fleet *fleet = *state;
    struct worker worker = {.client = open_warm_client(fleet_urls(fleet))};
    redlock_lock *lock = take_lock(worker.client, "mine", LONG_TTL_MS);
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, lock_and_release, &worker), 0);
    for (int i = 0; i < 30; i++) {
        assert_int_equal(in_child(i % 2 == 0 ? every_call_is_misuse : free_everything, worker.client, lock),
                         0);
        assert_true(redlock_lock_validity_ms(lock) > 0);
    }
    atomic_store(&worker.stop, 1);
    pthread_join(thread, NULL);
    assert_int_equal(atomic_load(&worker.failures), 0);
    give_back(lock);
    redlock_client_close(worker.client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_NODES(handles_are_inert_in_the_child, start_three_nodes),
        ON_NODES(free_and_close_in_the_child_harm_nobody, start_three_nodes),
        {"free_and_close_in_the_child_harm_nobody_over_tcp", free_and_close_in_the_child_harm_nobody,
         start_five_tcp_nodes, stop_nodes, NULL},
        ON_NODES(close_before_free_in_the_child_harms_nobody, start_three_nodes),
        ON_NODES(child_that_does_nothing_harms_nobody, start_three_nodes),
        ON_NODES(child_opens_a_client_of_its_own, start_three_nodes),
        ON_NODES(fork_while_a_thread_is_inside_harms_nobody, start_three_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
