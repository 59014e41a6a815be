/*
 * Releases owed to nodes whose connection broke, as src/engine/reaper.c pays them: on the next connection, and once more when
 * the broken one's last words would be refused as late.
 */
#include "sim/world.h"

enum { AGAIN_AFTER_MS = 1000 };

static struct sim_debt *find(struct sim_client *client, uint32_t node, uint32_t attempt)
{
    for (uint32_t i = 0; i < SIM_DEBTS_MAX && client->debt_count > 0; i++)
        if (client->debts[i].attempt == attempt && client->debts[i].node == node)
            return &client->debts[i];
    return NULL;
}

static struct sim_debt *free_place(struct sim_client *client)
{
    for (uint32_t i = 0; i < SIM_DEBTS_MAX; i++)
        if (client->debts[i].attempt == 0)
            return &client->debts[i];
    return NULL;
}

void sim_reaper_add(struct sim_world *world, struct sim_client *client, uint32_t node, uint32_t attempt,
                    struct rl_span pause)
{
    struct sim_debt *debt = find(client, node, attempt);
    bool fresh = debt == NULL;

    if (fresh)
        debt = free_place(client);
    if (debt == NULL)
        return; /* bounded: the key's own TTL ends it */
    debt->due = rl_time_add(client->now, pause);
    debt->again = true;
    if (!fresh)
        return;
    debt->attempt = attempt;
    debt->node = node;
    debt->until = rl_time_add(client->now, rl_span_ms(world->attempts[attempt].ttl_ms));
    client->debt_count++;
}

static void forgive(struct sim_client *client, struct sim_debt *debt)
{
    debt->attempt = 0;
    client->debt_count--;
}

static void pay(struct sim_world *world, struct sim_client *client, struct sim_debt *debt)
{
    struct sim_ticket ticket = {.kind = RL_COMMAND_RELEASE,
                                .worker = (uint8_t)world->attempts[debt->attempt].worker,
                                .last = !debt->again};

    if (!rl_time_before(client->now, debt->until)) {
        forgive(client, debt);
        return;
    }
    if (rl_time_before(client->now, debt->due) || client->connections[debt->node].state != SIM_READY ||
        sim_connection_silent(world, client, debt->node))
        return;
    if (!sim_dispatch_send(world, client, debt->node, debt->attempt, &ticket))
        return;
    if (debt->again) {
        debt->again = false;
        debt->due = rl_time_add(client->now, rl_span_ms(world->plan.node_timeout_ms + AGAIN_AFTER_MS));
    } else {
        forgive(client, debt);
    }
}

void sim_reaper_pay(struct sim_world *world, struct sim_client *client)
{
    for (uint32_t i = 0; i < SIM_DEBTS_MAX && client->debt_count > 0; i++) {
        struct sim_debt *debt = &client->debts[i];

        if (debt->attempt == 0)
            continue;
        sim_connection_wake(world, client, debt->node);
        if (debt->attempt != 0)
            pay(world, client, debt);
    }
}

struct rl_time sim_reaper_due(const struct sim_world *world, const struct sim_client *client)
{
    struct rl_time due = RL_TIME_NEVER;

    for (uint32_t i = 0; i < SIM_DEBTS_MAX && client->debt_count > 0; i++) {
        const struct sim_debt *debt = &client->debts[i];
        const struct sim_connection *connection = &client->connections[debt->node];

        if (debt->attempt == 0)
            continue;
        due = rl_time_min(due, debt->until);
        if (connection->state == SIM_RESTING)
            due = rl_time_min(due, connection->retry_at);
        else if (connection->state == SIM_READY && !sim_connection_silent(world, client, debt->node))
            due = rl_time_min(due, debt->due);
    }
    return due;
}
