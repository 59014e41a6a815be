/*
 * Opening a client: from options to connections on their way. Nothing is waited for.
 */
#include <string.h>

#include "client/close.h"
#include "client/crowd.h"
#include "client/driver.h"
#include "client/fork.h"
#include "client/notify.h"
#include "client/options.h"
#include "client/poll.h"
#include "client/sleepers.h"
#include "engine/details.h"
#include "engine/fleet.h"
#include "engine/report.h"
#include "engine/sized.h"

static void ring_bell(void *context)
{
    rl_poller_ring(&((redlock_client *)context)->poller);
}

static void init_conditions(redlock_client *client)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&client->carrier_wake, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_cond_init(&client->notifier_wake, NULL);
    pthread_cond_init(&client->callback_ended, NULL);
    pthread_cond_init(&client->callers_gone, NULL);
    pthread_mutex_init(&client->mutex, NULL);
}

/* A client without connections: nothing in it can fail later for want of these. */
static redlock_client *create(const struct rl_config *config, uint32_t node_count)
{
    redlock_allocator allocator = config->allocator;
    redlock_client *client = allocator.allocate(allocator.context, sizeof *client);
    size_t size = node_count * sizeof *client->connections;
    struct rl_host host;

    if (client == NULL)
        return NULL;
    memset(client, 0, sizeof *client);
    host = rl_client_host(client, config);
    client->connections = allocator.allocate(allocator.context, size);
    client->processed = rl_details_create(&allocator, node_count);
    client->notified = rl_details_create(&allocator, node_count);
    if (client->connections == NULL || client->processed == NULL || client->notified == NULL ||
        !rl_engine_init(&client->engine, config, &host, node_count)) {
        redlock_details_free(client->notified);
        redlock_details_free(client->processed);
        rl_memory_release(&host.memory, client->connections, size);
        allocator.release(allocator.context, client, sizeof *client);
        return NULL;
    }
    memset(client->connections, 0, size);
    client->connection_capacity = node_count;
    client->connection_config.poller = &client->poller;
    client->refs = 1;
    client->outer_fd = client->timer_fd = client->ready_fd = -1;
    client->poller.epoll_fd = client->poller.bell_fd = -1;
    rl_list_init(&client->completions);
    rl_sleepers_init(&client->followers);
    rl_crowd_init(&client->crowd);
    client->own_threads = (struct rl_own_threads){rl_driver_carry, rl_notify_loop};
    init_conditions(client);
    rl_clock_start(&client->clock);
    return client;
}

/* Also of nodes before one that is wrong: what is torn down is as if it had been opened. */
static redlock_result open_nodes(redlock_client *client, const redlock_options *options,
                                 redlock_report *report)
{
    redlock_result result = rl_fleet_add(&client->engine, options, report);

    for (uint32_t node = 0; node < client->engine.node_count; node++)
        rl_connection_init(&client->connections[node], &client->connection_config, node,
                           &client->engine.sessions[node].url);
    return result;
}

static redlock_result open_system(redlock_client *client, const redlock_options *options,
                                  redlock_report *report)
{
    const struct rl_memory *memory = &client->engine.host.memory;
    char error[256];

    if (!rl_poller_open(&client->poller))
        return rl_report_error(report, REDLOCK_SYSTEM, "cannot open epoll: too many open files?");
    if (!rl_engine_seed(&client->engine))
        return rl_report_error(report, REDLOCK_SYSTEM, "the system has no randomness to give");
    client->resolver =
        rl_resolver_create(memory->allocate, memory->release, memory->context, ring_bell, client);
    if (client->resolver == NULL)
        return rl_report_error(report, REDLOCK_NOMEM, "out of memory");
    client->connection_config.resolver = client->resolver;
    if (!rl_fleet_needs_tls(&client->engine))
        return REDLOCK_OK;
    client->tls = rl_tls_create(options->tls_ca_file, options->tls_cert_file, options->tls_key_file, error,
                                sizeof error);
    client->connection_config.tls = client->tls;
    return client->tls != NULL ? REDLOCK_OK : rl_report_error(report, REDLOCK_INVALID, "%s", error);
}

static void abandon(redlock_client *client)
{
    client->engine.closed = true;
    rl_client_tear_down(client);
    pthread_mutex_lock(&client->mutex);
    rl_client_unref(client);
}

static void start_connecting(redlock_client *client)
{
    pthread_mutex_lock(&client->mutex);
    client->last_turn = rl_client_now(client);
    rl_engine_start(&client->engine);
    rl_poll_flush(client);
    pthread_mutex_unlock(&client->mutex);
}

static redlock_result open_client(const redlock_options *options, redlock_client **client,
                                  redlock_report *report)
{
    RL_NO_CANCELLATION;
    struct rl_config config;
    const char *wrong;
    uint32_t node_count = rl_fleet_count(options, report);
    redlock_result result;

    if (node_count == 0)
        return REDLOCK_INVALID;
    result = rl_options_take(&config, options, &wrong);
    if (result != REDLOCK_OK)
        return rl_report_error(report, result, "%s", wrong);
    *client = create(&config, node_count);
    if (*client == NULL) {
        rl_config_free(&config);
        return rl_report_error(report, REDLOCK_NOMEM, "out of memory");
    }
    result = open_nodes(*client, options, report);
    if (result == REDLOCK_OK)
        result = open_system(*client, options, report);
    if (result != REDLOCK_OK) {
        abandon(*client);
        *client = NULL;
        return result;
    }
    rl_fork_enlist(*client);
    start_connecting(*client);
    rl_report_open(report, &(*client)->engine);
    return REDLOCK_OK;
}

redlock_result redlock_client_open(const redlock_options *options, redlock_client **client,
                                   redlock_report *report)
{
    struct rl_report_frame frame;
    redlock_options known;
    redlock_result result = REDLOCK_INVALID;

    if (client == NULL || !rl_report_accept(&frame, report))
        return REDLOCK_INVALID;
    *client = NULL;
    if (rl_sized_read(&known, sizeof known, options))
        result = open_client(&known, client, frame.report);
    else
        rl_report_error(
            frame.report, result,
            "options.size is not sizeof(redlock_options), or newer options want what this library "
            "does not know: start from REDLOCK_OPTIONS_INIT");
    return rl_report_return(&frame, result);
}
