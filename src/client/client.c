/*
 * The client: opening, closing, what it lends to the other files (memory, clock, chance, words), and what fork() means.
 */
#include "client/client.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/bytes.h"

/* ---- all clients of this process, for fork() ---- */

static pthread_mutex_t registry_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t registry_once = PTHREAD_ONCE_INIT;
static struct rl_list registry;

#define FOR_ALL_CLIENTS(link) \
    for (struct rl_link *link = rl_list_first(&registry); link != NULL; link = rl_list_next(&registry, link))

/* Before fork(): nobody is in the middle of anything, so that the child's copies can be freed. */
static void before_fork(void)
{
    pthread_mutex_lock(&registry_mutex);
    FOR_ALL_CLIENTS(link)
    pthread_mutex_lock(&RL_CONTAINER(link, redlock_client, registered)->mutex);
}

static void after_fork_in_parent(void)
{
    FOR_ALL_CLIENTS(link)
    pthread_mutex_unlock(&RL_CONTAINER(link, redlock_client, registered)->mutex);
    pthread_mutex_unlock(&registry_mutex);
}

/* The child has neither the threads nor the right to speak on the connections: its handles are inert. */
static void after_fork_in_child(void)
{
    FOR_ALL_CLIENTS(link)
    {
        redlock_client *client = RL_CONTAINER(link, redlock_client, registered);

        client->inherited = true;
        pthread_mutex_init(&client->mutex, NULL);
    }
    pthread_mutex_init(&registry_mutex, NULL);
}

static void make_registry(void)
{
    rl_list_init(&registry);
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

static void enlist(redlock_client *client)
{
    pthread_once(&registry_once, make_registry);
    pthread_mutex_lock(&registry_mutex);
    rl_list_append(&registry, &client->registered);
    pthread_mutex_unlock(&registry_mutex);
}

static void delist(redlock_client *client)
{
    pthread_mutex_lock(&registry_mutex);
    rl_list_remove(&client->registered);
    pthread_mutex_unlock(&registry_mutex);
}

/* ---- what it lends ---- */

void *rl_client_allocate(redlock_client *client, size_t size)
{
    return client->config.allocator.allocate(client->config.allocator.context, size);
}

void rl_client_release(redlock_client *client, void *memory, size_t size)
{
    if (memory != NULL)
        client->config.allocator.release(client->config.allocator.context, memory, size);
}

struct rl_time rl_client_now(redlock_client *client)
{
    return rl_clock_now(&client->clock);
}

/* Every operation and every lock has a place for its timer before it begins: setting one cannot fail. */
bool rl_client_reserve_timer(redlock_client *client)
{
    uint32_t capacity = client->timers.capacity;
    struct rl_timer **larger;

    if (client->timers_reserved == capacity) {
        uint32_t wanted = capacity == 0 ? 64 : capacity * 2;

        larger = rl_client_allocate(client, wanted * sizeof *larger);
        if (larger == NULL)
            return false;
        if (client->timers.count > 0)
            memcpy(larger, client->timers.heap, client->timers.count * sizeof *larger);
        rl_client_release(client, client->timers.heap, capacity * sizeof *larger);
        client->timers.heap = larger;
        client->timers.capacity = wanted;
    }
    client->timers_reserved++;
    return true;
}

void rl_client_unreserve_timer(redlock_client *client)
{
    assert(client->timers_reserved > 0);
    client->timers_reserved--;
}

/* The system's randomness, a pool at a time. */
bool rl_client_random(redlock_client *client, uint8_t *bytes, size_t length)
{
    assert(length <= sizeof client->random);
    if (client->random_left < length) {
        if (getrandom(client->random, sizeof client->random, 0) != (ssize_t)sizeof client->random)
            return false;
        client->random_left = sizeof client->random;
    }
    client->random_left -= (uint32_t)length;
    memcpy(bytes, client->random + client->random_left, length);
    return true;
}

void rl_client_log(redlock_client *client, redlock_log_level level, const char *format, ...)
{
    char line[512];
    va_list arguments;

    if (client->config.log == NULL)
        return;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    client->config.log(client->config.log_context, level, line);
}

void rl_client_trace(redlock_client *client, const char *text)
{
    char line[256];

    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        struct rl_text cut = rl_text_on(line, sizeof line);

        rl_text_add_bytes(&cut, text, length);
        if (length > 0)
            client->config.trace(client->config.trace_context, line);
        text += length + (text[length] == '\n');
    }
}

/* ---- coming and going ---- */

bool rl_client_enter(redlock_client *client)
{
    if (client->inherited)
        return false;
    pthread_mutex_lock(&client->mutex);
    if (client->closing) {
        pthread_mutex_unlock(&client->mutex);
        return false;
    }
    client->callers++;
    return true;
}

void rl_client_leave(redlock_client *client)
{
    if (--client->callers == 0 && client->closing)
        pthread_cond_broadcast(&client->callers_gone);
    pthread_mutex_unlock(&client->mutex);
}

/* ---- opening ---- */

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
            if (strcmp(client->connections[other].url.display, url.display) == 0)
                return "is named twice: each node may vote only once";
        if (!url.has_password && options->password != NULL) {
            url.has_password = true;
            rl_text_copy(url.password, sizeof url.password, options->password);
            if (url.user[0] == '\0' && options->user != NULL)
                rl_text_copy(url.user, sizeof url.user, options->user);
        }
        if (!rl_connection_init(&client->connections[*node], &client->connection_config, *node, &url))
            return "out of memory";
        client->node_count = *node + 1;
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
    for (uint32_t i = 0; i < client->node_count; i++)
        if (client->connections[i].url.transport == RL_TRANSPORT_TLS)
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

static void init_lists(redlock_client *client)
{
    rl_list_init(&client->operations);
    rl_list_init(&client->rounds);
    rl_list_init(&client->completions);
    rl_list_init(&client->notices);
    rl_list_init(&client->spare_operations);
    rl_list_init(&client->spare_locks);
    rl_list_init(&client->followers);
}

static void init_connection_config(redlock_client *client)
{
    rl_dispatch_users(client);
    client->connection_config = (struct rl_connection_config){
        .user = &client->user,
        .poller = &client->poller,
        .prng = &client->prng,
        .client_name = client->config.client_name,
        .connect_timeout = client->config.connect_timeout,
        .node_timeout = client->config.node_timeout,
    };
}

/* A client without connections: nothing in it can fail later for want of these. */
static redlock_client *create(const struct rl_config *config, uint32_t node_count)
{
    redlock_allocator allocator = config->allocator;
    redlock_client *client = allocator.allocate(allocator.context, sizeof *client);

    if (client == NULL)
        return NULL;
    memset(client, 0, sizeof *client);
    client->config = *config;
    client->connections = rl_client_allocate(client, node_count * sizeof *client->connections);
    client->guards = rl_client_allocate(client, node_count * sizeof *client->guards);
    if (client->connections == NULL || client->guards == NULL) {
        rl_client_release(client, client->guards, node_count * sizeof *client->guards);
        rl_client_release(client, client->connections, node_count * sizeof *client->connections);
        allocator.release(allocator.context, client, sizeof *client);
        return NULL;
    }
    memset(client->connections, 0, node_count * sizeof *client->connections);
    memset(client->guards, 0, node_count * sizeof *client->guards);
    client->connection_capacity = node_count;
    client->refs = 1;
    client->outer_fd = client->timer_fd = client->ready_fd = -1;
    client->poller.epoll_fd = client->poller.bell_fd = -1;
    client->stats.size = sizeof client->stats;
    init_lists(client);
    init_conditions(client);
    init_connection_config(client);
    rl_clock_start(&client->clock);
    return client;
}

static void free_spares(redlock_client *client)
{
    struct rl_link *link;

    while ((link = rl_list_first(&client->spare_operations)) != NULL) {
        struct rl_operation *operation = RL_CONTAINER(link, struct rl_operation, link);

        rl_list_remove(link);
        pthread_cond_destroy(&operation->wake);
        rl_client_release(client, operation,
                          sizeof *operation + client->node_count * sizeof(struct rl_node_record));
    }
    while ((link = rl_list_first(&client->spare_locks)) != NULL) {
        redlock_lock *lock = RL_CONTAINER(link, redlock_lock, link);

        rl_list_remove(link);
        rl_client_release(client, lock, sizeof *lock + lock->capacity);
    }
}

/* What only a working client needs. Lock handles may live on after this. */
static void tear_down(redlock_client *client)
{
    for (uint32_t i = 0; i < client->node_count; i++) {
        if (client->inherited)
            rl_connection_forget(&client->connections[i]);
        else
            rl_connection_finish(&client->connections[i]);
    }
    if (client->resolver != NULL) {
        if (client->inherited)
            rl_resolver_forget(client->resolver);
        else
            rl_resolver_free(client->resolver);
    }
    if (client->tls != NULL && !client->inherited)
        rl_tls_free(client->tls);
    rl_poller_close(&client->poller);
    if (client->outer_fd >= 0) {
        close(client->outer_fd);
        close(client->timer_fd);
        close(client->ready_fd);
    }
    free_spares(client);
}

void rl_client_unref(redlock_client *client)
{
    redlock_allocator allocator = client->config.allocator;
    bool last = --client->refs == 0;

    pthread_mutex_unlock(&client->mutex);
    if (!last)
        return;
    rl_client_release(client, client->timers.heap, client->timers.capacity * sizeof(struct rl_timer *));
    rl_client_release(client, client->guards, client->connection_capacity * sizeof *client->guards);
    rl_client_release(client, client->connections, client->connection_capacity * sizeof *client->connections);
    rl_config_free(&client->config);
    pthread_mutex_destroy(&client->mutex);
    allocator.release(allocator.context, client, sizeof *client);
}

static redlock_result abandon_open(redlock_client *client, redlock_report *report, redlock_result result,
                                   const char *words)
{
    rl_report_error(report, result, "%s", words);
    client->closed = true;
    tear_down(client);
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
    char error[256];
    uint64_t seed;

    if (!rl_poller_open(&client->poller))
        return abandon_open(client, report, REDLOCK_SYSTEM, "cannot open epoll: too many open files?");
    if (!rl_client_random(client, (uint8_t *)&seed, sizeof seed))
        return abandon_open(client, report, REDLOCK_SYSTEM, "the system has no randomness to give");
    client->prng = rl_prng_seed(seed);
    client->resolver =
        rl_resolver_create(client->user.allocate, client->user.release, client, ring_bell, client);
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
    if (client->node_count % 2 == 0)
        rl_client_log(client, REDLOCK_LOG_WARNING,
                      "%u nodes survive no more failures than %u would: use an odd number",
                      client->node_count, client->node_count - 1);
    for (uint32_t i = 0; i < client->node_count; i++)
        rl_connection_wake(&client->connections[i], rl_client_now(client));
    rl_driver_flush(client);
    pthread_mutex_unlock(&client->mutex);
}

redlock_result redlock_client_open(const redlock_options *options, redlock_client **client,
                                   redlock_report *report)
{
    struct rl_config config;
    char error[256];
    redlock_result result;
    uint32_t node_count;

    if (client == NULL || !rl_call_check_report(report))
        return REDLOCK_INVALID;
    *client = NULL;
    if (options == NULL || options->size != sizeof *options) {
        rl_report_error(report, REDLOCK_INVALID,
                        "options.size is not sizeof(redlock_options): start from REDLOCK_OPTIONS_INIT");
        return REDLOCK_INVALID;
    }
    node_count = options->nodes != NULL ? count_urls(options->nodes) : 0;
    if (node_count < 1 || node_count > REDLOCK_NODES_MAX) {
        rl_report_error(report, REDLOCK_INVALID, "%u nodes given: 1 to %d are allowed", node_count,
                        REDLOCK_NODES_MAX);
        return REDLOCK_INVALID;
    }
    result = rl_config_make(&config, options, error, sizeof error);
    if (result != REDLOCK_OK) {
        rl_report_error(report, result, "%s", error);
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
    enlist(*client);
    start_connecting(*client);
    rl_report_open(report, *client);
    return REDLOCK_OK;
}

/* ---- closing ---- */

static void cancel_all(redlock_client *client)
{
    struct rl_link *link = rl_list_first(&client->operations);

    while (link != NULL) {
        struct rl_operation *operation = RL_CONTAINER(link, struct rl_operation, link);
        struct rl_event event = {.kind = RL_EVENT_CANCEL, .now = rl_client_now(client)};

        if (operation->done) {
            link = rl_list_next(&client->operations, link);
            continue;
        }
        if (operation->kind == RL_OPERATION_ACQUIRE || operation->kind == RL_OPERATION_INSPECT ||
            operation->kind == RL_OPERATION_INIT)
            rl_operation_event(operation, &event);
        else
            rl_operation_finish(operation, REDLOCK_CANCELED);
        link = rl_list_first(&client->operations);
    }
}

/* Whether everything that must reach this node has, or cannot be hurried by waiting. */
static bool node_settled(const redlock_client *client, const struct rl_connection *connection)
{
    if (connection->state == RL_CONNECTION_READY && rl_connection_silent(connection, client->clock.now))
        return true;
    return connection->ticket_count == 0 && !rl_reaper_waits(client, connection->node);
}

static bool settled(const redlock_client *client)
{
    for (uint32_t i = 0; i < client->node_count; i++)
        if (!node_settled(client, &client->connections[i]))
            return false;
    return true;
}

/* Gives releases that are on their way the time to arrive. */
static void drain(redlock_client *client)
{
    struct rl_time until = rl_time_add(rl_client_now(client), client->config.node_timeout);

    rl_reaper_pay(client, client->clock.now);
    rl_driver_flush(client);
    while (!settled(client) && rl_time_before(client->clock.now, until))
        rl_driver_turn(client, until);
}

/* Locks still held are left at the nodes: whoever wanted them gone has released them. */
static void leave_locks(redlock_client *client)
{
    struct rl_timer *timer;

    while ((timer = rl_timers_first(&client->timers)) != NULL) {
        if (timer->of_lock)
            rl_holding_abandon(RL_CONTAINER(timer, redlock_lock, timer));
        else
            rl_timers_set(&client->timers, timer, RL_TIME_NEVER);
    }
}

/* References that tickets hold on locks go with the connections. */
static void drop_tickets(redlock_client *client)
{
    struct rl_ticket ticket;

    for (uint32_t i = 0; i < client->node_count; i++)
        while (rl_connection_take_ticket(&client->connections[i], &ticket))
            if (ticket.subject != NULL)
                rl_lock_unref(ticket.subject);
}

static void close_ours(redlock_client *client)
{
    client->closing = true;
    cancel_all(client);
    rl_poller_ring(&client->poller);
    while (client->callers > 0)
        pthread_cond_wait(&client->callers_gone, &client->mutex);
    rl_driver_stop(client);
    rl_notify_stop(client);
    while (rl_notify_run(client, true, false))
        ;
    leave_locks(client);
    drain(client);
    client->closed = true;
    rl_reaper_drop_all(client);
}

void redlock_client_close(redlock_client *client)
{
    if (client == NULL)
        return;
    delist(client);
    pthread_mutex_lock(&client->mutex);
    if (!client->inherited)
        close_ours(client);
    client->closing = client->closed = true;
    drop_tickets(client);
    pthread_mutex_unlock(&client->mutex);
    tear_down(client);
    pthread_mutex_lock(&client->mutex);
    rl_client_unref(client);
}

uint32_t redlock_client_node_count(const redlock_client *client)
{
    return client->node_count;
}

const char *redlock_client_node_url(const redlock_client *client, uint32_t node)
{
    return node < client->node_count ? client->connections[node].url.display : NULL;
}

redlock_result redlock_client_stats(redlock_client *client, redlock_stats *stats)
{
    if (stats == NULL || stats->size != sizeof *stats)
        return REDLOCK_INVALID;
    if (client == NULL || !rl_client_enter(client))
        return REDLOCK_MISUSE;
    rl_driver_refresh(client); /* answers that came while nobody looked count too */
    *stats = client->stats;
    rl_client_leave(client);
    return REDLOCK_OK;
}
