/*
 * Waiters; see waiters.h.
 */
#include "support/waiters.h"

#include <string.h>

#include "support/traffic.h"

void occupy_for(struct fleet *fleet, const char *ttl_ms)
{
    for (int node = 0; node < fleet_size(fleet); node++)
        if (fleet_pid(fleet, node) != 0)
            fleet_command(fleet, node, "SET", WANTED, "somebody", "PX", ttl_ms, NULL);
}

void occupy(struct fleet *fleet)
{
    occupy_for(fleet, "60000");
}

void vacate(struct fleet *fleet)
{
    for (int node = 0; node < fleet_size(fleet); node++)
        if (fleet_pid(fleet, node) != 0)
            fleet_command(fleet, node, "DEL", WANTED, NULL);
}

bool is_held_everywhere(struct fleet *fleet)
{
    for (int node = 0; node < fleet_size(fleet); node++)
        if (fleet_pid(fleet, node) != 0 &&
            strcmp(fleet_command(fleet, node, "EXISTS", WANTED, NULL), "1") != 0)
            return false;
    return true;
}

struct listener heard = LISTENER_INIT;
static atomic_int places;

redlock_client *open_heard_with(redlock_options *options)
{
    redlock_client *client;

    listener_forget(&heard);
    atomic_store(&places, 0);
    options->log = listener_hear_log;
    options->trace = listener_hear_trace;
    options->log_context = options->trace_context = &heard;
    client = open_with(options);
    await_all_nodes(client);
    return client;
}

redlock_client *open_heard(const char *nodes)
{
    redlock_options options = options_for(nodes);

    options.node_timeout_ms = 5000; /* a machine under load is slow, not silent */
    return open_heard_with(&options);
}

static void note_end(void *context, redlock_result result, redlock_lock *lock, const redlock_report *report)
{
    struct waiter *waiter = context;

    waiter->lock = lock;
    waiter->result = result;
    waiter->report = *report;
    waiter->place = atomic_fetch_add(&places, 1) + 1;
    atomic_store(&waiter->done, 1);
}

void start_waiting_for(struct waiter *waiter, redlock_client *client, const redlock_spec *spec)
{
    memset(waiter, 0, sizeof *waiter);
    waiter->client = client;
    assert_result(
        REDLOCK_OK,
        redlock_acquire_async(client, spec, REDLOCK_WAIT_FOREVER, note_end, waiter, &waiter->request), NULL);
}

void start_waiting(struct waiter *waiter, redlock_client *client)
{
    redlock_spec spec = spec_for(WANTED, LONG_TTL_MS);

    start_waiting_for(waiter, client, &spec);
}

void await_end(struct waiter *waiter, redlock_result expected)
{
    for (int tries = 0; tries < 3000 && !atomic_load(&waiter->done); tries++)
        sleep_ms(10);
    if (!atomic_load(&waiter->done) || waiter->result != expected)
        listener_show(&heard);
    assert_true(atomic_load(&waiter->done));
    assert_result(expected, waiter->result, &waiter->report);
}

void cancel_wait(struct waiter *waiter)
{
    assert_result(REDLOCK_OK, redlock_cancel(waiter->client, waiter->request), NULL);
    await_end(waiter, REDLOCK_CANCELED);
}

redlock_client *wait_behind_somebody(struct fleet *fleet, struct waiter *waiter)
{
    redlock_client *client = open_heard(fleet_urls(fleet));

    occupy(fleet);
    start_waiting(waiter, client);
    await_armed(fleet);
    return client;
}

void have_it_and_close(struct waiter *waiter)
{
    await_end(waiter, REDLOCK_OK);
    give_back(waiter->lock);
    redlock_client_close(waiter->client);
}

/* Every node will tell it. */
void await_armed(struct fleet *fleet)
{
    await(traffic_least_tracked_keys(fleet) == 1);
}

/* Of a caller in line: all that it asked again was what nodes had told it of, and once more where some nodes
 * had given it the lock before others were free. */
static bool asked_when_told(struct fleet *fleet)
{
    int told = listener_count(&heard, "> changed") + listener_count(&heard, "> handed over");

    return told >= quorum_of(fleet) && listener_count(&heard, "ask again") <= told + fleet_size(fleet) &&
           !listener_heard(&heard, "round 2");
}

void assert_woken_by_nodes(struct fleet *fleet)
{
    bool well = is_guarded()
                    ? asked_when_told(fleet)
                    : listener_count_before(&heard, "changed", "round 2") >= quorum_of(fleet) &&
                          !listener_heard(&heard, "look again") && !listener_heard(&heard, "round 3");

    if (!well)
        listener_show(&heard);
    assert_true(well);
}

/* A node forgets the keys themselves when they change next. */
void await_nothing_armed(struct fleet *fleet)
{
    await(traffic_most_tracking(fleet) == 0);
}
