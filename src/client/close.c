/*
 * Closing a client: what is under way ends, what is owed to the nodes is sent, and everything is given back. Lock handles may
 * live on; the last of them frees what is left.
 */
#include <unistd.h>

#include "client/client.h"

static void free_spares(redlock_client *client)
{
    struct rl_link *link;

    rl_operation_drop_spares(client, 0);
    while ((link = rl_list_first(&client->spare_locks)) != NULL) {
        redlock_lock *lock = RL_CONTAINER(link, redlock_lock, link);

        rl_list_remove(link);
        rl_client_release(client, lock, sizeof *lock + lock->capacity);
    }
}

/* What only a working client needs. Lock handles may live on after this. */
void rl_client_tear_down(redlock_client *client)
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
    rl_queue_free(client);
}

void rl_client_free_nodes(redlock_client *client)
{
    uint32_t count = client->connection_capacity;

    redlock_details_free(client->notified);
    redlock_details_free(client->processed);
    rl_client_release(client, client->node_stats, count * sizeof *client->node_stats);
    rl_client_release(client, client->guards, count * sizeof *client->guards);
    rl_client_release(client, client->connections, count * sizeof *client->connections);
}

void rl_client_unref(redlock_client *client)
{
    redlock_allocator allocator = client->config.allocator;
    bool last = --client->refs == 0;

    rl_follow_unlock(client);
    if (!last)
        return;
    rl_client_release(client, client->timers.heap, client->timers.capacity * sizeof(struct rl_timer *));
    rl_client_free_nodes(client);
    rl_config_free(&client->config);
    pthread_mutex_destroy(&client->mutex);
    allocator.release(allocator.context, client, sizeof *client);
}

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
    rl_follow_pass_on(client);
    while (client->callers > 0)
        pthread_cond_wait(&client->callers_gone, &client->mutex);
    rl_driver_stop(client);
    rl_crowd_end(client);
    rl_notify_stop(client);
    while (rl_notify_run(client, true, true)) /* who lost a lock is told, even now */
        ;
    leave_locks(client);
    drain(client);
    client->closed = true;
    rl_reaper_drop_all(client);
}

void redlock_client_close(redlock_client *client)
{
    RL_NO_CANCELLATION;
    if (client == NULL)
        return;
    rl_fork_delist(client);
    pthread_mutex_lock(&client->mutex);
    if (!client->inherited)
        close_ours(client);
    client->closing = client->closed = true;
    drop_tickets(client);
    pthread_mutex_unlock(&client->mutex);
    rl_client_tear_down(client);
    pthread_mutex_lock(&client->mutex);
    rl_client_unref(client);
}
