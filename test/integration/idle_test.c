/*
 * Clients that nobody looks after for a while: what nodes sent meanwhile is read before anybody is called
 * late, and a thread that is cancelled leaves a client that can still be closed.
 */
#include <pthread.h>
#include <stdio.h>

#include "support/steps.h"

enum { IMPATIENT_MS = 60 };

/* ---- greetings that nobody read ------------------------------------------------------------------------ */

/* Short, so that the test need not idle for a second; long enough for a greeting on a busy machine once
 * somebody looks. */
static redlock_options impatient_options(const char *nodes)
{
    redlock_options options = options_for(nodes);

    options.connect_timeout_ms = 10 * IMPATIENT_MS;
    return options;
}

/* Opened, and then left alone for longer than a node may take to be connected to. */
static redlock_client *open_and_idle(const redlock_options *options)
{
    redlock_client *client = NULL;

    assert_result(REDLOCK_OK, redlock_client_open(options, &client, NULL), NULL);
    sleep_ms(12 * IMPATIENT_MS);
    return client;
}

static void admit_once(const char *nodes)
{
    redlock_client_close(open_client(nodes));
}

static void the_first_try_of_an_idle_client_succeeds(void **state)
{
    struct fleet *fleet = *state;
    redlock_options options = impatient_options(fleet_urls(fleet));
    redlock_client *client;

    admit_once(fleet_urls(fleet));
    client = open_and_idle(&options);
    give_back(take_lock(client, "idle", LONG_TTL_MS));
    redlock_client_close(client);
}

static void note_result(void *context, redlock_result result, redlock_lock *lock,
                        const redlock_report *report)
{
    redlock_result *noted = context;

    (void)report;
    *noted = result;
    if (lock != NULL)
        give_back(lock);
}

/* The same for a program with an event loop that has been busy with something else. */
static void the_first_request_of_an_idle_event_loop_succeeds(void **state)
{
    struct fleet *fleet = *state;
    redlock_options options = impatient_options(fleet_urls(fleet));
    redlock_spec spec = spec_for("idle loop", LONG_TTL_MS);
    redlock_result result = REDLOCK_SYSTEM;
    redlock_client *client;

    admit_once(fleet_urls(fleet));
    client = open_and_idle(&options);
    assert_true(redlock_client_fd(client) >= 0);
    assert_int_equal(redlock_acquire_async(client, &spec, 0, note_result, &result, NULL), REDLOCK_OK);
    await((redlock_client_process(client), result != REDLOCK_SYSTEM));
    assert_int_equal(result, REDLOCK_OK);
    redlock_client_close(client);
}

static int start_tls_nodes(void **state)
{
    struct fleet_options options = {.node_count = 3, .transport = FLEET_TLS};

    *state = fleet_start(&options);
    return *state != NULL ? 0 : -1;
}

/* TLS takes more round trips before the first word of the greeting. */
static void the_first_try_of_an_idle_client_with_tls_succeeds(void **state)
{
    struct fleet *fleet = *state;
    redlock_options options = impatient_options(fleet_urls(fleet));
    char authority[256];
    redlock_client *client;

    snprintf(authority, sizeof authority, "%s/ca.pem", fleet_folder(fleet));
    options.tls_ca_file = authority;
    if (is_guarded())
        redlock_client_close(open_with(&options));
    client = open_and_idle(&options);
    give_back(take_lock(client, "idle", LONG_TTL_MS));
    redlock_client_close(client);
}

/* ---- threads that are cancelled ------------------------------------------------------------------------ */

struct waiter {
    redlock_client *client;
    redlock_result result;
    redlock_lock *lock;
};

static void *wait_for_lock(void *context)
{
    struct waiter *waiter = context;
    redlock_spec spec = spec_for("cancelled", LONG_TTL_MS);

    waiter->result = redlock_acquire(waiter->client, &spec, REDLOCK_WAIT_FOREVER, &waiter->lock, NULL);
    pthread_testcancel();
    return NULL;
}

/* How often it was told that somebody holds a lock. Opening a guarded client may find that out too. */
static uint64_t times_told(redlock_client *client)
{
    return node_stats_of(client, 0).held;
}

static void a_cancelled_thread_does_not_keep_the_client_from_closing(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *holder = open_warm_client(fleet_urls(fleet));
    redlock_lock *lock = take_lock(holder, "cancelled", LONG_TTL_MS);
    struct waiter waiter = {.client = open_warm_client(fleet_urls(fleet)), .result = REDLOCK_SYSTEM};
    void *ended_by = NULL;
    pthread_t thread;

    uint64_t before = times_told(waiter.client);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_lock, &waiter), 0);
    await(times_told(waiter.client) > before);
    assert_int_equal(pthread_cancel(thread), 0);
    redlock_client_close(waiter.client);
    assert_int_equal(pthread_join(thread, &ended_by), 0);
    assert_ptr_equal(ended_by, PTHREAD_CANCELED);
    assert_int_equal(waiter.result, REDLOCK_CANCELED); /* the call came back before the thread ended */
    give_back(lock);
    redlock_client_close(holder);
}

/* It is cancelled before it calls: nothing in the call may be what ends it. */
static void *cancelled_beforehand(void *context)
{
    struct waiter *waiter = context;
    redlock_spec spec = spec_for("cancelled", LONG_TTL_MS);

    pthread_cancel(pthread_self());
    waiter->result = redlock_try_acquire(waiter->client, &spec, &waiter->lock, NULL);
    if (waiter->result == REDLOCK_OK)
        waiter->result = redlock_extend(waiter->lock, LONG_TTL_MS, NULL);
    if (waiter->result == REDLOCK_OK)
        waiter->result = redlock_release(waiter->lock, NULL);
    redlock_lock_free(waiter->lock);
    pthread_testcancel();
    return NULL;
}

static void no_call_is_a_cancellation_point(void **state)
{
    struct fleet *fleet = *state;
    struct waiter waiter = {.client = open_client(fleet_urls(fleet)), .result = REDLOCK_SYSTEM};
    void *ended_by = NULL;
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, cancelled_beforehand, &waiter), 0);
    assert_int_equal(pthread_join(thread, &ended_by), 0);
    assert_ptr_equal(ended_by, PTHREAD_CANCELED);
    assert_int_equal(waiter.result, REDLOCK_OK);
    redlock_client_close(waiter.client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_NODES(the_first_try_of_an_idle_client_succeeds, start_five_nodes),
        ON_NODES(the_first_request_of_an_idle_event_loop_succeeds, start_five_tcp_nodes),
        ON_NODES(the_first_try_of_an_idle_client_with_tls_succeeds, start_tls_nodes),
        ON_NODES(a_cancelled_thread_does_not_keep_the_client_from_closing, start_three_nodes),
        ON_NODES(no_call_is_a_cancellation_point, start_three_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
