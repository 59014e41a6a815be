/*
 * Releases that are still owed to nodes whose connection broke: sent on the next connection, and once more after the broken
 * connection's last words would be refused as late, in case they reached the node after all. Bounded; a debt ends with the key's own TTL.
 */
#include <string.h>

#include "client/client.h"

enum { AGAIN_AFTER_MS = 1000 };

static struct rl_debt *free_place(redlock_client *client)
{
    for (uint32_t i = 0; i < RL_DEBTS_MAX; i++)
        if (client->debts[i].lock == NULL)
            return &client->debts[i];
    return NULL;
}

static void forgive(redlock_client *client, struct rl_debt *debt)
{
    redlock_lock *lock = debt->lock;

    debt->lock = NULL;
    client->debt_count--;
    rl_lock_unref(lock);
}

static struct rl_debt *find(redlock_client *client, const redlock_lock *lock, uint32_t node,
                            const uint8_t *random)
{
    for (uint32_t i = 0; client->debt_count > 0 && i < RL_DEBTS_MAX; i++)
        if (client->debts[i].lock == lock && client->debts[i].node == node &&
            memcmp(client->debts[i].random, random, RL_OWNER_RANDOM) == 0)
            return &client->debts[i];
    return NULL;
}

/* When the key is gone by itself at the latest. How long somebody else's lives is not known; what was sent last may still arrive. */
static struct rl_time end_of_key(const redlock_lock *lock)
{
    const struct rl_config *config = &lock->client->config;
    struct rl_time end = rl_time_add(lock->client->clock.now, rl_span_ms(lock->ttl_ms));

    if (lock->owner_fixed)
        end = rl_time_max(end, rl_time_add(lock->client->clock.now, config->max_ttl));
    return rl_time_max(end, lock->kept_until);
}

void rl_reaper_add(redlock_lock *lock, uint32_t node, const uint8_t *random, struct rl_span pause)
{
    redlock_client *client = lock->client;
    uint8_t present[RL_OWNER_RANDOM];
    struct rl_debt *debt;
    bool fresh;

    if (client->closed)
        return;
    if (random == NULL) {
        rl_lock_random(lock, present);
        random = present;
    }
    debt = find(client, lock, node, random);
    fresh = debt == NULL;
    if (fresh)
        debt = free_place(client);
    if (debt == NULL) {
        rl_client_log(client, REDLOCK_LOG_WARNING,
                      "node %u %s: too many releases wait for it: a key stays there until its TTL ends",
                      node + 1, client->connections[node].url.display);
        return;
    }
    debt->due = rl_time_add(client->clock.now, pause);
    debt->again = true;
    if (!fresh)
        return;
    debt->lock = lock;
    debt->node = node;
    debt->until = end_of_key(lock);
    memcpy(debt->random, random, sizeof debt->random);
    rl_lock_ref(lock);
    client->debt_count++;
}

bool rl_reaper_waits(const redlock_client *client, uint32_t node)
{
    for (uint32_t i = 0; i < RL_DEBTS_MAX && client->debt_count > 0; i++)
        if (client->debts[i].lock != NULL && client->debts[i].node == node && client->debts[i].again)
            return true;
    return false;
}

static void pay(redlock_client *client, struct rl_debt *debt, struct rl_time now)
{
    if (!rl_time_before(now, debt->until)) {
        forgive(client, debt);
        return;
    }
    if (rl_time_before(now, debt->due) || client->connections[debt->node].state != RL_CONNECTION_READY ||
        rl_connection_silent(&client->connections[debt->node], now))
        return;
    if (!rl_dispatch_send(debt->lock, debt->node, RL_COMMAND_RELEASE, 0, debt->random, false))
        return;
    if (debt->again) {
        debt->again = false;
        debt->due = rl_time_add(now, rl_span_add(client->config.node_timeout, rl_span_ms(AGAIN_AFTER_MS)));
    } else {
        forgive(client, debt);
    }
}

void rl_reaper_pay(redlock_client *client, struct rl_time now)
{
    for (uint32_t i = 0; i < RL_DEBTS_MAX && client->debt_count > 0; i++) {
        struct rl_debt *debt = &client->debts[i];

        if (debt->lock == NULL)
            continue;
        rl_connection_wake(&client->connections[debt->node], now);
        if (debt->lock != NULL)
            pay(client, debt, now);
    }
}

/* When somebody should look again: a debt is due, over, or its node may be tried anew. */
struct rl_time rl_reaper_due(const redlock_client *client)
{
    struct rl_time due = RL_TIME_NEVER;

    for (uint32_t i = 0; i < RL_DEBTS_MAX && client->debt_count > 0; i++) {
        const struct rl_debt *debt = &client->debts[i];
        const struct rl_connection *connection;

        if (debt->lock == NULL)
            continue;
        connection = &client->connections[debt->node];
        due = rl_time_min(due, debt->until);
        if (connection->state == RL_CONNECTION_RESTING)
            due = rl_time_min(due, connection->retry_at);
        else if (connection->state == RL_CONNECTION_READY &&
                 !rl_connection_silent(connection, client->clock.now))
            due = rl_time_min(due, debt->due);
    }
    return due;
}

void rl_reaper_drop_all(redlock_client *client)
{
    for (uint32_t i = 0; i < RL_DEBTS_MAX && client->debt_count > 0; i++)
        if (client->debts[i].lock != NULL)
            forgive(client, &client->debts[i]);
}
