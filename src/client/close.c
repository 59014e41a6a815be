/*
 * Closing a client: what is under way ends, what is owed to the nodes is sent, and everything is given back.
 * Lock handles may live on; the last of them frees what is left.
 */
#include "client/close.h"

#include <unistd.h>

#include "client/background.h"
#include "client/crowd.h"
#include "client/driver.h"
#include "client/follow.h"
#include "client/fork.h"
#include "client/notify.h"
#include "client/poll.h"
#include "engine/lagging.h"

void rl_client_tear_down(redlock_client *client)
{
    for (uint32_t i = 0; i < client->engine.node_count; i++) {
        if (client->inherited)
            rl_connection_forget(&client->connections[i]);
        else
            rl_connection_close(&client->connections[i], rl_engine_unsent(&client->engine, i));
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
    rl_engine_tear_down(&client->engine);
}

void rl_client_unref(redlock_client *client)
{
    redlock_allocator allocator = client->engine.config.allocator;
    bool last = --client->refs == 0;

    rl_follow_unlock(client);
    if (!last)
        return;
    redlock_details_free(client->notified);
    redlock_details_free(client->processed);
    rl_engine_free(&client->engine);
    allocator.release(allocator.context, client->connections,
                      client->connection_capacity * sizeof *client->connections);
    rl_config_free(&client->engine.config);
    pthread_mutex_destroy(&client->mutex);
    allocator.release(allocator.context, client, sizeof *client);
}

/* Gives releases that are on their way the time to arrive. */
static void drain(redlock_client *client)
{
    struct rl_time began = rl_client_now(client);
    struct rl_span look_every = rl_span_us(client->engine.config.node_timeout.us / 4);

    rl_engine_leave_locks(&client->engine);
    rl_poll_flush(client);
    while (!rl_engine_drained(&client->engine, began))
        rl_driver_turn(client, rl_time_add(client->engine.now, look_every));
}

/* Gives locks that are left at the nodes the time to reach nodes that are late. */
static void bring_up(redlock_client *client)
{
    struct rl_time began = rl_client_now(client);

    rl_engine_bring_up(&client->engine);
    while (rl_lagging_worth(&client->engine, rl_time_since(client->engine.now, began))) {
        int64_t look_us = rl_lagging_patience(&client->engine).us / 4;

        rl_driver_turn(client, rl_time_add(client->engine.now, rl_span_us(look_us)));
    }
}

static void close_ours(redlock_client *client)
{
    rl_client_now(client);
    rl_engine_cancel_all(&client->engine);
    rl_poller_ring(&client->poller);
    rl_follow_pass_on(client);
    while (client->callers > 0)
        pthread_cond_wait(&client->callers_gone, &client->mutex);
    rl_background_stop_carrier(client);
    rl_crowd_end(client);
    rl_background_stop_notifier(client);
    while (rl_notify_run(client, true, true)) /* holders of lost locks are told, even now */
        ;
    bring_up(client);
    drain(client);
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
    rl_engine_close(&client->engine);
    pthread_mutex_unlock(&client->mutex);
    rl_client_tear_down(client);
    pthread_mutex_lock(&client->mutex);
    rl_client_unref(client);
}
