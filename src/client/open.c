/*
 * Opening a client: from options to connections on their way. Nothing is waited for.
 */
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/bytes.h"
#include "client/close.h"
#include "client/crowd.h"
#include "client/driver.h"
#include "client/fork.h"
#include "client/notify.h"
#include "client/options.h"
#include "client/poll.h"
#include "client/sleepers.h"
#include "engine/details.h"
#include "engine/report.h"
#include "engine/sized.h"

static const char *parse_nodes(redlock_client *client, const redlock_options *options, uint32_t *node)
{
    const char *cursor = options->nodes, *text, *wrong;
    size_t length;

    for (*node = 0; (text = rl_node_url_next(&cursor, &length)) != NULL; ++*node) {
        struct rl_node_url url;

        wrong = rl_node_url_parse(text, length, &url);
        if (wrong != NULL)
            return wrong;
        for (uint32_t other = 0; other < *node; other++)
            if (strcmp(client->engine.sessions[other].url.display, url.display) == 0)
                return "is named twice: each node may vote only once";
        if (!url.has_password && options->password != NULL) {
            url.has_password = true;
            rl_text_copy(url.password, sizeof url.password, options->password);
            if (url.user[0] == '\0' && options->user != NULL)
                rl_text_copy(url.user, sizeof url.user, options->user);
        }
        if (!rl_engine_add_node(&client->engine, &url))
            return "out of memory";
        rl_connection_init(&client->connections[*node], &client->connection_config, *node,
                           &client->engine.sessions[*node].url);
    }
    return NULL;
}

static uint32_t count_urls(const char *nodes)
{
    uint32_t count = 0;
    size_t length;

    while (rl_node_url_next(&nodes, &length) != NULL)
        count++;
    return count;
}

static bool wants_tls(const redlock_client *client)
{
    for (uint32_t i = 0; i < client->engine.node_count; i++)
        if (client->engine.sessions[i].url.transport == RL_TRANSPORT_TLS)
            return true;
    return false;
}

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

static redlock_result abandon_open(redlock_client *client, redlock_report *report, redlock_result result,
                                   const char *words)
{
    rl_report_error(report, result, "%s", words);
    client->engine.closed = true;
    rl_client_tear_down(client);
    pthread_mutex_lock(&client->mutex);
    rl_client_unref(client);
    return result;
}

static redlock_result open_nodes(redlock_client *client, const redlock_options *options,
                                 redlock_report *report)
{
    char words[320];
    uint32_t node = 0;
    const char *wrong = parse_nodes(client, options, &node);

    if (wrong != NULL && strcmp(wrong, "out of memory") == 0)
        return abandon_open(client, report, REDLOCK_NOMEM, wrong);
    if (wrong != NULL) {
        snprintf(words, sizeof words, "node %u: %s", node + 1, wrong);
        return abandon_open(client, report, REDLOCK_INVALID, words);
    }
    return REDLOCK_OK;
}

static redlock_result open_system(redlock_client *client, const redlock_options *options,
                                  redlock_report *report)
{
    const struct rl_memory *memory = &client->engine.host.memory;
    char error[256];

    if (!rl_poller_open(&client->poller))
        return abandon_open(client, report, REDLOCK_SYSTEM, "cannot open epoll: too many open files?");
    if (!rl_engine_seed(&client->engine))
        return abandon_open(client, report, REDLOCK_SYSTEM, "the system has no randomness to give");
    client->resolver =
        rl_resolver_create(memory->allocate, memory->release, memory->context, ring_bell, client);
    if (client->resolver == NULL)
        return abandon_open(client, report, REDLOCK_NOMEM, "out of memory");
    client->connection_config.resolver = client->resolver;
    if (!wants_tls(client))
        return REDLOCK_OK;
    client->tls = rl_tls_create(options->tls_ca_file, options->tls_cert_file, options->tls_key_file, error,
                                sizeof error);
    client->connection_config.tls = client->tls;
    return client->tls != NULL ? REDLOCK_OK : abandon_open(client, report, REDLOCK_INVALID, error);
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
    uint32_t node_count = options->nodes != NULL ? count_urls(options->nodes) : 0;
    redlock_result result;

    if (node_count < 1 || node_count > REDLOCK_NODES_MAX) {
        rl_report_error(report, REDLOCK_INVALID, "%u nodes given: 1 to %d are allowed", node_count,
                        REDLOCK_NODES_MAX);
        return REDLOCK_INVALID;
    }
    result = rl_options_take(&config, options, &wrong);
    if (result != REDLOCK_OK) {
        rl_report_error(report, result, "%s", wrong);
        return result;
    }
    *client = create(&config, node_count);
    if (*client == NULL) {
        rl_config_free(&config);
        rl_report_error(report, REDLOCK_NOMEM, "out of memory");
        return REDLOCK_NOMEM;
    }
    result = open_nodes(*client, options, report);
    if (result == REDLOCK_OK)
        result = open_system(*client, options, report);
    if (result != REDLOCK_OK) {
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
