/*
 * What lies between clients and nodes: each connection keeps its order in both directions; it may be slow, cut for a while, or
 * break, and then what was under way is lost or arrives late. Nodes answer in here; clients have their own files.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/world.h"

int64_t sim_delay(struct sim_world *world)
{
    const struct sim_plan *plan = &world->plan;
    int64_t delay = sim_draw(world, plan->delay_min_us, plan->delay_max_us);

    if (sim_plan_has(plan, SIM_FAULT_DELAY) && !world->stopping && world->now_us < plan->faults_end_us &&
        sim_chance(world, 3)) {
        delay += sim_draw(world, 0, 2 * plan->node_timeout_ms * 1000);
        world->stats.faults[SIM_FAULT_DELAY]++;
    }
    return delay;
}

void sim_network_free(struct sim_world *world, struct sim_message *message)
{
    world->messages_alive--;
    free(message);
}

static struct sim_message *make_message(struct sim_world *world, const char *bytes, size_t length)
{
    struct sim_message *message = malloc(sizeof *message + length);

    if (message == NULL)
        abort();
    *message = (struct sim_message){.length = (uint32_t)length};
    memcpy(message->bytes, bytes, length);
    world->messages_alive++;
    world->stats.messages++;
    return message;
}

/* What a slow node takes longer: sometimes too long for whoever waits. */
static int64_t slowness(struct sim_world *world, uint32_t node)
{
    if (world->nodes[node].slow_until_us <= world->now_us)
        return 0;
    return sim_draw(world, 0, 1500 * world->plan.node_timeout_ms);
}

/* Puts it at the end of the link; it arrives after everything sent before it. */
static void put(struct sim_world *world, struct sim_link *link, struct sim_message *message,
                struct sim_event event)
{
    if (link->first == NULL)
        link->first = message;
    else
        link->last->next = message;
    link->last = message;
    event.at_us = world->now_us + sim_delay(world) + slowness(world, event.node);
    if (event.at_us < link->last_us)
        event.at_us = link->last_us;
    link->last_us = event.at_us;
    sim_queue_push(&world->queue, event);
}

static struct sim_message *take(struct sim_link *link)
{
    struct sim_message *message = link->first;

    link->first = message->next;
    return message;
}

void sim_network_send(struct sim_world *world, struct sim_client *client, uint32_t node,
                      const struct rl_writer *bytes, const struct sim_ticket *ticket)
{
    struct sim_connection *connection = &client->connections[node];
    struct sim_message *message = make_message(world, bytes->bytes, bytes->length);
    struct sim_event event = {.client = client->index, .node = node, .generation = connection->generation};

    message->attempt = ticket->attempt;
    message->kind = ticket->kind;
    message->last = ticket->last;
    if (world->plan.bug == SIM_BUG_RELEASE_UNORDERED && ticket->kind == RL_COMMAND_RELEASE) {
        event.kind = SIM_STRAY;
        event.at_us = world->now_us + sim_delay(world);
        event.message = message;
        sim_queue_push(&world->queue, event);
        return;
    }
    event.kind = SIM_TO_NODE;
    put(world, &connection->to_node, message, event);
}

void sim_network_open(struct sim_world *world, struct sim_client *client, uint32_t node)
{
    struct sim_connection *connection = &client->connections[node];

    /* Two ways there and back: one to connect, one to greet. */
    sim_queue_push(&world->queue,
                   (struct sim_event){.kind = SIM_CONNECTED,
                                      .at_us = world->now_us + 2 * sim_delay(world) + 2 * sim_delay(world),
                                      .client = client->index,
                                      .node = node,
                                      .generation = ++connection->generation});
}

static void empty(struct sim_world *world, struct sim_link *link)
{
    while (link->first != NULL)
        sim_network_free(world, take(link));
}

/* Some of what is under way is on the node's side already, and reaches it although nobody waits for the answer. */
static void let_stray(struct sim_world *world, struct sim_link *link, struct sim_event event)
{
    int64_t at_us = world->now_us;

    while (link->first != NULL && sim_chance(world, 70)) {
        at_us += sim_delay(world);
        at_us += sim_chance(world, 30) ? sim_draw(world, 0, 1500000) : 0;
        event.at_us = at_us;
        event.message = take(link);
        sim_queue_push(&world->queue, event);
        world->stats.faults[SIM_FAULT_STRAY]++;
    }
}

void sim_network_drop(struct sim_world *world, struct sim_client *client, uint32_t node)
{
    struct sim_connection *connection = &client->connections[node];

    if (sim_plan_has(&world->plan, SIM_FAULT_STRAY))
        let_stray(world, &connection->to_node,
                  (struct sim_event){.kind = SIM_STRAY,
                                     .client = client->index,
                                     .node = node,
                                     .generation = world->nodes[node].boot});
    empty(world, &connection->to_node);
    empty(world, &connection->to_client);
    sim_tracking_forget(&world->nodes[node], client->index + 1);
    connection->to_node.last_us = connection->to_client.last_us = 0;
    connection->generation++;
}

/* The node carries out what arrived; NULL reply: nobody waits for it. */
static void execute(struct sim_world *world, uint32_t node, struct sim_message *message,
                    struct rl_writer *reply)
{
    struct sim_node *it = &world->nodes[node];

    sim_node_run(it, sim_clock_at(&it->clock, world->now_us), message->bytes, message->length, reply);
    /* A refusal such as NOSCRIPT means that nothing was carried out. */
    if (reply->length > 0 && reply->bytes[0] != '-')
        sim_judge_settled(world, node, message);
}

/* A node has something to say that nobody asked for: it goes behind all replies that were sent before. */
void sim_network_tell(void *context, struct sim_node *node, uint32_t peer, const char *key)
{
    struct sim_world *world = context;
    struct sim_client *client = &world->clients[peer - 1];
    uint32_t index = (uint32_t)(node - world->nodes);
    struct sim_connection *connection = &client->connections[index];
    char bytes[SIM_REPLY_SIZE];
    struct rl_writer push = rl_writer_on(bytes, sizeof bytes);
    struct sim_message *message;

    if (!node->up || connection->state != SIM_READY || connection->boot != node->boot)
        return;
    rl_write_raw(&push, ">2\r\n$10\r\ninvalidate\r\n", 21);
    if (key != NULL) {
        sim_reply_array(&push, 1);
        sim_reply_text(&push, key);
    } else {
        rl_write_raw(&push, "_\r\n", 3);
    }
    message = make_message(world, push.bytes, push.length);
    message->push = true;
    put(world, &connection->to_client, message,
        (struct sim_event){.kind = SIM_TO_CLIENT,
                           .client = client->index,
                           .node = index,
                           .generation = connection->generation});
}

static void arrive(struct sim_world *world, const struct sim_event *event)
{
    struct sim_client *client = &world->clients[event->client];
    struct sim_connection *connection = &client->connections[event->node];
    struct sim_node *node = &world->nodes[event->node];
    struct sim_event later = *event;
    char bytes[SIM_REPLY_SIZE];
    struct rl_writer reply = rl_writer_on(bytes, sizeof bytes);
    struct sim_message *message;

    if (event->generation != connection->generation)
        return;
    later.at_us = node->frozen_until_us > connection->to_node.cut_until_us ? node->frozen_until_us
                                                                           : connection->to_node.cut_until_us;
    if (later.at_us > world->now_us) {
        sim_queue_push(&world->queue, later);
        return;
    }
    message = take(&connection->to_node);
    if (node->up && connection->boot == node->boot) {
        node->tracking.peer = client->index + 1;
        execute(world, event->node, message, &reply);
        later.kind = SIM_TO_CLIENT;
        put(world, &connection->to_client, make_message(world, reply.bytes, reply.length), later);
        sim_tracking_tell_own(node);
        /* Nodes look for what has ended now and then, and not for all of it. */
        if (sim_chance(world, 2))
            sim_node_expire(node, sim_clock_at(&node->clock, world->now_us));
    }
    sim_network_free(world, message);
}

static void stray(struct sim_world *world, const struct sim_event *event)
{
    struct sim_node *node = &world->nodes[event->node];
    char bytes[SIM_REPLY_SIZE];
    struct rl_writer reply = rl_writer_on(bytes, sizeof bytes);
    bool own_connection =
        world->plan.bug == SIM_BUG_RELEASE_UNORDERED && event->message->kind == RL_COMMAND_RELEASE;

    if (node->frozen_until_us == INT64_MAX) {
        sim_network_free(world, event->message);
        return;
    }
    if (node->frozen_until_us > world->now_us) {
        struct sim_event later = *event;

        later.at_us = node->frozen_until_us;
        sim_queue_push(&world->queue, later);
        return;
    }
    if (node->up && (node->boot == event->generation || own_connection)) {
        if (!own_connection)
            sim_say(world, "node %u  > carries out a stray %d of attempt %u", event->node + 1,
                    event->message->kind, event->message->attempt);
        execute(world, event->node, event->message, &reply);
    }
    sim_network_free(world, event->message);
}

static void deliver(struct sim_world *world, const struct sim_event *event)
{
    struct sim_client *client = &world->clients[event->client];
    struct sim_connection *connection = &client->connections[event->node];
    struct sim_event later = *event;
    struct sim_message *message;

    if (event->generation != connection->generation)
        return;
    later.at_us = client->paused_until_us > connection->to_client.cut_until_us
                      ? client->paused_until_us
                      : connection->to_client.cut_until_us;
    if (later.at_us > world->now_us) {
        sim_queue_push(&world->queue, later);
        return;
    }
    message = take(&connection->to_client);
    sim_client_look(world, client);
    if (message->push)
        sim_watching_push(world, client, event->node, message->bytes, message->length);
    else
        sim_connection_reply(world, client, event->node, message->bytes, message->length);
    sim_network_free(world, message);
    sim_client_plan_wake(world, client);
}

static void connect(struct sim_world *world, const struct sim_event *event)
{
    struct sim_client *client = &world->clients[event->client];
    struct sim_connection *connection = &client->connections[event->node];
    struct sim_node *node = &world->nodes[event->node];
    struct sim_event later = *event;

    if (event->generation != connection->generation || connection->state != SIM_OPENING)
        return;
    later.at_us = client->paused_until_us;
    if (connection->to_node.cut_until_us > later.at_us)
        later.at_us = connection->to_node.cut_until_us;
    if (connection->to_client.cut_until_us > later.at_us)
        later.at_us = connection->to_client.cut_until_us;
    if (node->frozen_until_us > later.at_us)
        later.at_us = node->frozen_until_us;
    if (later.at_us > world->now_us) {
        sim_queue_push(&world->queue, later);
        return;
    }
    sim_client_look(world, client);
    sim_connection_made(world, client, event->node, node->up);
    sim_client_plan_wake(world, client);
}

static void notice(struct sim_world *world, const struct sim_event *event)
{
    struct sim_client *client = &world->clients[event->client];
    struct sim_event later = *event;

    if (event->generation != client->connections[event->node].generation)
        return;
    if (client->paused_until_us > world->now_us) {
        later.at_us = client->paused_until_us;
        sim_queue_push(&world->queue, later);
        return;
    }
    sim_client_look(world, client);
    if (client->connections[event->node].state != SIM_RESTING)
        sim_connection_break(world, client, event->node);
    sim_client_plan_wake(world, client);
}

void sim_network_event(struct sim_world *world, const struct sim_event *event)
{
    switch (event->kind) {
    case SIM_TO_NODE:
        arrive(world, event);
        return;
    case SIM_TO_CLIENT:
        deliver(world, event);
        return;
    case SIM_STRAY:
        stray(world, event);
        return;
    case SIM_CONNECTED:
        connect(world, event);
        return;
    case SIM_DOWN:
        notice(world, event);
        return;
    case SIM_WAKE:
    case SIM_START:
    case SIM_FAULT:
        return;
    }
}
