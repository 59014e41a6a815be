/*
 * Watching a lock's key, as src/engine/watching.c does it: nodes are asked to tell when it changes, and what they tell goes to
 * whoever waits for it.
 */
#include <string.h>

#include "sim/world.h"
#include "wire/resp_reader.h"
#include "wire/tracking.h"

/* ---- switching it on and off ---- */

static bool switch_tracking(struct sim_world *world, struct sim_client *client, uint32_t node, bool on)
{
    char bytes[128];
    struct rl_writer writer = rl_writer_on(bytes, sizeof bytes);
    struct sim_ticket ticket = {.kind = RL_COMMAND_TRACK, .sent = client->now};

    rl_write_tracking(&writer, on);
    if (!sim_connection_send(world, client, node, &writer, &ticket))
        return false;
    client->connections[node].tracking = on ? SIM_TRACKING_ON : SIM_TRACKING_OFF;
    return true;
}

static bool can_tell(struct sim_world *world, struct sim_client *client, uint32_t node)
{
    struct sim_connection *connection = &client->connections[node];

    if (rl_node_set_has(world->plan.old, node))
        connection->tracking = SIM_TRACKING_REFUSED;
    return connection->tracking == SIM_TRACKING_ON ||
           (connection->tracking == SIM_TRACKING_OFF && switch_tracking(world, client, node, true));
}

bool sim_watching_send(struct sim_world *world, struct sim_client *client, struct sim_worker *worker,
                       uint32_t node, uint32_t question)
{
    bool armed = can_tell(world, client, node), late = world->plan.bug == SIM_BUG_ARM_AFTER_LOOK;
    enum rl_command_kind kind = armed && !late ? RL_COMMAND_WATCH : RL_COMMAND_PEEK;

    if (!sim_dispatch_question(world, client, worker, node, kind, question))
        return false;
    sim_wakes_asked(worker, node, armed);
    return true;
}

/* Planted bug: the look has been answered, and now the node is asked to tell. */
void sim_watching_arm_late(struct sim_world *world, struct sim_client *client, uint32_t node,
                           const struct sim_ticket *ticket, struct rl_answer *answer)
{
    struct sim_worker *worker = &client->workers[ticket->worker];

    if (ticket->kind != RL_COMMAND_PEEK || worker->stage != SIM_ASKING || ticket->lock != worker->lock ||
        worker->acquire.phase != RL_ACQUIRE_WAITING || client->connections[node].tracking != SIM_TRACKING_ON)
        return;
    sim_dispatch_question(world, client, worker, node, RL_COMMAND_WATCH, 0);
    answer->armed = true;
}

void sim_watching_tracked(struct sim_client *client, uint32_t node, const char *bytes, size_t length)
{
    struct rl_resp item;
    size_t offset = 0;

    if (rl_resp_next(bytes, length, &offset, &item) == RL_RESP_OK && item.type == RL_RESP_ERROR)
        client->connections[node].tracking = SIM_TRACKING_REFUSED;
}

/* ---- who watches ---- */

void sim_watching_end(struct sim_world *world, struct sim_client *client, struct sim_worker *worker)
{
    bool armed = worker->watching && worker->acquire.outcome != RL_OUTCOME_OK;

    worker->watching = false;
    for (uint32_t i = 0; i < world->plan.worker_count; i++)
        armed = armed && !client->workers[i].watching;
    for (uint32_t node = 0; armed && node < world->plan.node_count; node++)
        if (client->connections[node].tracking == SIM_TRACKING_ON)
            switch_tracking(world, client, node, false);
}

static void tell(struct sim_world *world, struct sim_client *client, struct sim_worker *worker, uint32_t node,
                 enum rl_event_kind kind)
{
    struct rl_event event = {.kind = kind, .now = client->now, .node = node};

    sim_lock_event(world, client, worker, &event);
}

static void tell_all(struct sim_world *world, struct sim_client *client, uint32_t node,
                     enum rl_event_kind kind)
{
    for (uint32_t i = 0; i < world->plan.worker_count; i++)
        if (client->workers[i].watching)
            tell(world, client, &client->workers[i], node, kind);
}

void sim_watching_node(struct sim_world *world, struct sim_client *client, uint32_t node,
                       enum rl_event_kind kind)
{
    if (kind == RL_EVENT_DOWN)
        client->connections[node].tracking = SIM_TRACKING_OFF;
    tell_all(world, client, node, kind);
}

void sim_watching_push(struct sim_world *world, struct sim_client *client, uint32_t node, const char *bytes,
                       size_t length)
{
    struct rl_push push;
    const char *key;
    size_t key_length;

    world->stats.pushes++;
    if (!rl_push_read(&push, bytes, length)) {
        sim_fail(world, "node %u told something that was not understood: %.*s", node + 1, (int)length, bytes);
        return;
    }
    if (world->plan.bug == SIM_BUG_PUSH_DROPPED && client->connections[node].ticket_count > 0)
        return;
    if (push.all)
        tell_all(world, client, node, RL_EVENT_CHANGED);
    while (rl_push_next_key(&push, &key, &key_length)) {
        struct sim_worker *leader = sim_turns_leader(world, client, key, key_length);

        if (leader != NULL && leader->stage == SIM_ASKING)
            tell(world, client, leader, node, RL_EVENT_CHANGED);
    }
}
