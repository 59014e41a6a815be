/*
 * A client's end of its connections, as src/engine/session.c keeps them: tickets in order, silence, giving up on what hangs,
 * coming back. There are no sockets behind it.
 */
#include <string.h>

#include "sim/world.h"

enum { RETRY_MIN_US = 20000, RETRY_MAX_US = 1000000, HUNG_MIN_US = 5000000, HUNG_FACTOR = 10 };

static struct rl_span node_timeout(const struct sim_world *world)
{
    return rl_span_ms(world->plan.node_timeout_ms);
}

/* Buffers grow only now and then: not every command needs memory. */
static bool starves(struct sim_world *world, const struct sim_client *client)
{
    return client->starved_until_us > world->now_us && sim_chance(world, 50);
}

bool sim_connection_send(struct sim_world *world, struct sim_client *client, uint32_t node,
                         const struct rl_writer *bytes, const struct sim_ticket *ticket)
{
    struct sim_connection *connection = &client->connections[node];
    bool loose = world->plan.bug == SIM_BUG_RELEASE_UNORDERED && ticket->kind == RL_COMMAND_RELEASE;

    if (connection->state != SIM_READY || connection->ticket_count == SIM_TICKETS_MAX ||
        starves(world, client))
        return false;
    if (!loose)
        connection->tickets[(connection->first_ticket + connection->ticket_count++) % SIM_TICKETS_MAX] =
            *ticket;
    sim_network_send(world, client, node, bytes, ticket);
    return true;
}

static bool take_ticket(struct sim_connection *connection, struct sim_ticket *ticket)
{
    if (connection->ticket_count == 0)
        return false;
    *ticket = connection->tickets[connection->first_ticket];
    connection->first_ticket = (connection->first_ticket + 1) % SIM_TICKETS_MAX;
    connection->ticket_count--;
    return true;
}

void sim_connection_break(struct sim_world *world, struct sim_client *client, uint32_t node)
{
    struct sim_connection *connection = &client->connections[node];
    bool was_ready = connection->state == SIM_READY;
    struct sim_ticket ticket;

    sim_network_drop(world, client, node);
    connection->state = SIM_RESTING;
    if (connection->backoff.min.us == 0)
        connection->backoff = rl_backoff_between(rl_span_us(RETRY_MIN_US), rl_span_us(RETRY_MAX_US));
    connection->retry_at =
        was_ready ? client->now
                  : rl_time_add(client->now, rl_backoff_next(&connection->backoff, &client->prng));
    while (take_ticket(connection, &ticket))
        sim_answers_dropped(world, client, node, &ticket);
    sim_guard_down(world, client, node);
    sim_dispatch_settle(world, client, node);
    sim_watching_node(world, client, node, RL_EVENT_DOWN);
}

void sim_connection_wake(struct sim_world *world, struct sim_client *client, uint32_t node)
{
    struct sim_connection *connection = &client->connections[node];

    if (connection->state != SIM_RESTING || rl_time_before(client->now, connection->retry_at))
        return;
    connection->state = SIM_OPENING;
    connection->deadline = rl_time_add(client->now, rl_span_ms(world->plan.connect_timeout_ms));
    sim_network_open(world, client, node);
}

void sim_connection_made(struct sim_world *world, struct sim_client *client, uint32_t node, bool made)
{
    struct sim_connection *connection = &client->connections[node];
    const struct sim_node *it = &world->nodes[node];

    if (!made) {
        sim_connection_break(world, client, node);
        return;
    }
    connection->state = SIM_READY;
    connection->boot = it->boot;
    connection->loaded = 0;
    connection->tracking = SIM_TRACKING_OFF;
    connection->ready_us = world->now_us;
    memcpy(connection->run_id, it->run_id, sizeof connection->run_id);
    memcpy(connection->replid, it->replid, sizeof connection->replid);
    connection->promoted = it->promoted;
    if (world->plan.bug == SIM_BUG_PROMOTION_UNSEEN)
        connection->replid[0] = '\0';
    connection->up_s = sim_node_up_s(it, world->now_us);
    rl_backoff_reset(&connection->backoff);
    sim_guard_ready(world, client, node);
    sim_reaper_pay(world, client);
    sim_dispatch_settle(world, client, node);
    sim_wakes_connected(world, client, node);
    if (world->plan.bug != SIM_BUG_NOT_REARMED)
        sim_watching_node(world, client, node, RL_EVENT_UP);
}

void sim_connection_reply(struct sim_world *world, struct sim_client *client, uint32_t node,
                          const char *bytes, size_t length)
{
    struct sim_ticket ticket;

    if (take_ticket(&client->connections[node], &ticket))
        sim_answers_reply(world, client, node, &ticket, bytes, length);
    else
        sim_fail(world, "node %u sent an answer that nothing had asked for", node + 1);
}

bool sim_connection_silent(const struct sim_world *world, const struct sim_client *client, uint32_t node)
{
    const struct sim_connection *connection = &client->connections[node];

    if (connection->state != SIM_READY || connection->ticket_count == 0)
        return false;
    return !rl_time_before(
        client->now, rl_time_add(connection->tickets[connection->first_ticket].sent, node_timeout(world)));
}

struct rl_time sim_connection_due(const struct sim_world *world, const struct sim_client *client,
                                  uint32_t node)
{
    const struct sim_connection *connection = &client->connections[node];
    int64_t hung_us = node_timeout(world).us * HUNG_FACTOR;

    if (connection->state == SIM_RESTING)
        return RL_TIME_NEVER;
    if (connection->state == SIM_OPENING)
        return connection->deadline;
    if (connection->ticket_count == 0)
        return RL_TIME_NEVER;
    return rl_time_add(connection->tickets[connection->first_ticket].sent,
                       rl_span_us(hung_us > HUNG_MIN_US ? hung_us : HUNG_MIN_US));
}
