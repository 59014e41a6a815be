/*
 * What lies between clients and nodes: each connection keeps its order in both directions; it may be slow,
 * cut for a while, or break, and then what was under way is lost or arrives late. Nodes answer in here;
 * clients have their own files.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/world.h"
#include "wire/resp_reader.h"
#include "wire/script.h"

enum { REPLIES_SIZE = 65536 };

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
    struct sim_message *message = malloc(sizeof *message + length + 1); /* and a NUL, for who reads numbers */

    if (message == NULL)
        abort();
    *message = (struct sim_message){.length = (uint32_t)length};
    memcpy(message->bytes, bytes, length);
    message->bytes[length] = '\0';
    world->messages_alive++;
    world->stats.messages++;
    return message;
}

static int64_t latest(int64_t a_us, int64_t b_us)
{
    return a_us > b_us ? a_us : b_us;
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

/* ---- what the engine wants ---- */

/* Where the command that begins here ends. */
static size_t end_of_command(const char *bytes, size_t length, size_t at)
{
    if (rl_resp_skip(bytes, length, &at) != RL_RESP_OK)
        abort(); /* the engine wrote something that is not a command */
    return at;
}

static bool contains(const char *bytes, size_t length, const char *text, size_t text_length)
{
    for (size_t i = 0; i + text_length <= length; i++)
        if (memcmp(bytes + i, text, text_length) == 0)
            return true;
    return false;
}

/* For how many locks it is a release; 0 it is none. */
static uint32_t count_releases(const char *bytes, size_t length)
{
    const struct rl_script *one = &rl_script_release, *many = &rl_script_release_many;
    struct rl_resp head;
    size_t offset = 0;

    if (contains(bytes, length, one->digest, sizeof one->digest - 1) ||
        contains(bytes, length, one->text, one->text_length))
        return 1;
    if (!contains(bytes, length, many->digest, sizeof many->digest - 1) &&
        !contains(bytes, length, many->text, many->text_length))
        return 0;
    rl_resp_next(bytes, length, &offset, &head);
    return (head.element_count - 3) / 2;
}

/* Planted bug: releases travel on a connection of their own. What is left in their place is answered as they
 * would be. */
static size_t take_releases_out(struct sim_world *world, const struct sim_event *event, const char *bytes,
                                size_t length, char *rest)
{
    size_t at = 0, kept = 0;

    while (at < length) {
        size_t end = end_of_command(bytes, length, at);
        uint32_t releases = count_releases(bytes + at, end - at);
        struct sim_event alone = *event;

        if (releases > 0) {
            kept += (size_t)sprintf(rest + kept, "*2\r\n$4\r\nNOOP\r\n$2\r\n%02u\r\n", releases);
            alone.kind = SIM_STRAY;
            alone.own = true;
            alone.at_us = world->now_us + sim_delay(world);
            alone.message = make_message(world, bytes + at, end - at);
            sim_queue_push(&world->queue, alone);
        } else {
            memcpy(rest + kept, bytes + at, end - at);
            kept += end - at;
        }
        at = end;
    }
    return kept;
}

static void send(struct sim_world *world, struct sim_client *client, uint32_t node)
{
    struct sim_connection *connection = &client->connections[node];
    struct sim_event event = {
        .kind = SIM_TO_NODE, .client = client->index, .node = node, .generation = connection->generation};
    const char *bytes;
    size_t length = rl_engine_output(&client->engine, node, &bytes);
    static char rest[2 * REPLIES_SIZE];

    if (length == 0 || connection->state != SIM_OPEN)
        return;
    if (world->plan.bug == SIM_BUG_RELEASE_UNORDERED && length < REPLIES_SIZE)
        put(world, &connection->to_node,
            make_message(world, rest, take_releases_out(world, &event, bytes, length, rest)), event);
    else
        put(world, &connection->to_node, make_message(world, bytes, length), event);
    rl_engine_sent(&client->engine, node, length);
}

static void open(struct sim_world *world, struct sim_client *client, uint32_t node)
{
    struct sim_connection *connection = &client->connections[node];

    connection->state = SIM_OPENING;
    sim_queue_push(&world->queue, (struct sim_event){.kind = SIM_CONNECTED,
                                                     .at_us = world->now_us + 2 * sim_delay(world),
                                                     .client = client->index,
                                                     .node = node,
                                                     .generation = ++connection->generation});
}

static uint32_t take_first(rl_node_set *nodes)
{
    uint32_t node = rl_node_set_first(*nodes);

    *nodes &= *nodes - 1;
    return node;
}

void sim_network_carry(struct sim_world *world, struct sim_client *client)
{
    struct rl_wants *wants = &client->engine.wants;

    while (wants->close != 0)
        sim_network_drop(world, client, take_first(&wants->close));
    wants->reset = 0;
    while (wants->open != 0)
        open(world, client, take_first(&wants->open));
    while (wants->write != 0)
        send(world, client, rl_node_set_first(wants->write));
}

static void empty(struct sim_world *world, struct sim_link *link)
{
    while (link->first != NULL)
        sim_network_free(world, take(link));
}

/* Of what was written at once only the first commands may arrive. */
static void cut_short(struct sim_world *world, struct sim_message *message)
{
    size_t at = 0;

    while (at < message->length && sim_chance(world, 60))
        at = end_of_command(message->bytes, message->length, at);
    if (at > 0)
        message->length = (uint32_t)at;
}

/* Some of what is under way is on the node's side already, and reaches it although nobody waits for the
 * answer. */
static void let_stray(struct sim_world *world, struct sim_link *link, struct sim_event event)
{
    int64_t at_us = world->now_us;

    while (link->first != NULL && sim_chance(world, 70)) {
        at_us += sim_delay(world);
        at_us += sim_chance(world, 30) ? sim_draw(world, 0, 1500000) : 0;
        event.at_us = at_us;
        event.message = take(link);
        cut_short(world, event.message);
        sim_queue_push(&world->queue, event);
        world->stats.faults[SIM_FAULT_STRAY]++;
    }
}

/* A node hears of a connection's end like of anything else: until then it believes that its subscriber hears
 * it. */
static void leave_ghost(struct sim_world *world, const struct sim_client *client, uint32_t index)
{
    struct sim_connection *connection = &world->clients[client->index].connections[index];
    struct sim_node *node = &world->nodes[index];
    int64_t at_us = world->now_us;

    if (!node->up || connection->boot != node->boot || node->channels[client->index + 1][0] == '\0' ||
        world->stopping)
        return;
    memcpy(node->ghosts[client->index + 1], node->channels[client->index + 1], sizeof node->ghosts[0]);
    connection->ghost = connection->generation;
    at_us = latest(at_us, latest(node->frozen_until_us, connection->to_node.cut_until_us));
    if (at_us != INT64_MAX)
        at_us += sim_delay(world);
    sim_queue_push(&world->queue, (struct sim_event){.kind = SIM_HANG_UP,
                                                     .at_us = at_us,
                                                     .client = client->index,
                                                     .node = index,
                                                     .generation = connection->generation});
}

static void hang_up(struct sim_world *world, const struct sim_event *event)
{
    if (world->clients[event->client].connections[event->node].ghost == event->generation)
        world->nodes[event->node].ghosts[event->client + 1][0] = '\0';
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
    leave_ghost(world, client, node);
    sim_tracking_forget(&world->nodes[node], client->index + 1);
    connection->to_node.last_us = connection->to_client.last_us = 0;
    connection->ready_us = 0;
    connection->state = SIM_CLOSED;
    connection->generation++;
}

/* ---- at the nodes ---- */

static struct rl_writer execute(struct sim_world *world, uint32_t node, const struct sim_message *message)
{
    static char bytes[REPLIES_SIZE];
    struct rl_writer reply = rl_writer_on(bytes, sizeof bytes);
    struct sim_node *it = &world->nodes[node];

    sim_node_run(it, sim_clock_at(&it->clock, world->now_us), message->bytes, message->length, &reply);
    if (reply.overflow)
        abort();
    return reply;
}

/* A node has something to say that nobody asked for: it goes behind all replies that were sent before. */
static void send_push(struct sim_world *world, const struct sim_node *node, uint32_t peer, const char *bytes,
                      size_t length)
{
    struct sim_client *client = &world->clients[peer - 1];
    uint32_t index = (uint32_t)(node - world->nodes);
    struct sim_connection *connection = &client->connections[index];
    struct sim_message *message;

    if (!node->up || connection->state != SIM_OPEN || connection->boot != node->boot)
        return;
    message = make_message(world, bytes, length);
    message->push = true;
    put(world, &connection->to_client, message,
        (struct sim_event){.kind = SIM_TO_CLIENT,
                           .client = client->index,
                           .node = index,
                           .generation = connection->generation});
}

void sim_network_tell(void *context, struct sim_node *node, uint32_t peer, const char *key)
{
    struct sim_world *world = context;
    char bytes[SIM_REPLY_SIZE];
    struct rl_writer push = rl_writer_on(bytes, sizeof bytes);

    sim_say(world, "node %u tells client %u of %s", (uint32_t)(node - world->nodes) + 1, peer,
            key != NULL ? key : "everything");
    rl_write_raw(&push, ">2\r\n$10\r\ninvalidate\r\n", 21);
    if (key != NULL) {
        sim_reply_array(&push, 1);
        sim_reply_text(&push, key);
    } else {
        rl_write_raw(&push, "_\r\n", 3);
    }
    send_push(world, node, peer, push.bytes, push.length);
}

void sim_network_publish(void *context, struct sim_node *node, uint32_t peer, const char *bytes,
                         size_t length)
{
    struct sim_world *world = context;

    sim_say(world, "node %u hands a lock to client %u", (uint32_t)(node - world->nodes) + 1, peer);
    send_push(world, node, peer, bytes, length);
}

void sim_network_arm_late(void *context, struct sim_node *node, uint32_t peer, const char *key)
{
    struct sim_world *world = context;
    uint32_t index = (uint32_t)(node - world->nodes);

    sim_queue_push(&world->queue,
                   (struct sim_event){.kind = SIM_ARM,
                                      .at_us = world->now_us + 2 * sim_delay(world),
                                      .client = peer - 1,
                                      .node = index,
                                      .generation = world->clients[peer - 1].connections[index].generation,
                                      .message = make_message(world, key, strlen(key) + 1)});
}

static void arrive(struct sim_world *world, const struct sim_event *event)
{
    struct sim_client *client = &world->clients[event->client];
    struct sim_connection *connection = &client->connections[event->node];
    struct sim_node *node = &world->nodes[event->node];
    struct sim_event later = *event;
    struct sim_message *message;
    struct rl_writer reply;

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
        reply = execute(world, event->node, message);
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
    if (node->up && (node->boot == event->generation || event->own)) {
        if (!event->own)
            sim_say(world, "node %u  > carries out what a broken connection of client %u left behind",
                    event->node + 1, event->client + 1);
        world->straying = !event->own;
        execute(world, event->node, event->message);
        world->straying = false;
        node->tracking.pending = 0;
    }
    sim_network_free(world, event->message);
}

static void arm(struct sim_world *world, const struct sim_event *event)
{
    if (world->clients[event->client].connections[event->node].generation == event->generation)
        sim_tracking_arm(&world->nodes[event->node], event->client + 1, event->message->bytes);
    sim_network_free(world, event->message);
}

/* ---- at the clients ---- */

static rl_node_set ineligible_nodes(const struct sim_world *world, const struct sim_client *client)
{
    rl_node_set ineligible = 0;

    for (uint32_t node = 0; node < world->plan.node_count; node++)
        if (client->engine.guards[node].fitness != RL_FITNESS_FIT)
            ineligible |= rl_node_set_one(node);
    return ineligible;
}

/* Bytes come as the network likes it: reply by reply, so that what each of them does can be judged, and
 * sometimes in two parts. */
static void receive(struct sim_world *world, struct sim_client *client, uint32_t node, const char *bytes,
                    size_t length)
{
    struct rl_engine *engine = &client->engine;
    uint32_t generation = client->connections[node].generation;
    size_t begun = 0; /* how much is still to come of a reply that came in two parts */

    while (length > 0 && !rl_node_set_has(engine->wants.close, node)) {
        char *to;
        size_t room = rl_engine_room(engine, node, &to), part = begun;
        rl_node_set ineligible;

        if (room == 0)
            return;
        if (begun == 0 && rl_resp_skip(bytes, length, &part) != RL_RESP_OK)
            part = length;
        else if (begun == 0)
            sim_losses_reply(world, client, node, bytes);
        begun = part;
        part = part < room ? part : room;
        if (part > 1 && sim_chance(world, 5))
            part = (size_t)sim_draw(world, 1, (int64_t)part - 1);
        begun -= part;
        ineligible = ineligible_nodes(world, client);
        for (uint32_t i = 0; i < world->plan.worker_count; i++)
            sim_judge_before_reply(&client->workers[i]);
        memcpy(to, bytes, part);
        rl_engine_received(engine, node, part);
        for (uint32_t i = 0; i < world->plan.worker_count; i++)
            sim_judge_votes(world, &client->workers[i], ineligible);
        bytes += part;
        length -= part;
    }
    if (client->connections[node].generation == generation && !rl_node_set_has(engine->wants.close, node))
        rl_engine_read_all(engine, node);
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
    world->stats.pushes += message->push;
    client->door = message->push ? RL_EVENT_CHANGED : RL_EVENT_ANSWER;
    if (!message->push || world->plan.bug != SIM_BUG_PUSH_DROPPED ||
        client->engine.sessions[event->node].exchange.pending_count == 0)
        receive(world, client, event->node, message->bytes, message->length);
    sim_network_free(world, message);
    sim_client_attend(world, client);
}

/* Whether it has to wait for somebody who is stopped, or for a way that is cut. */
static bool held_up(struct sim_world *world, const struct sim_event *event, int64_t until_us)
{
    struct sim_event later = *event;

    if (until_us <= world->now_us)
        return false;
    later.at_us = until_us;
    sim_queue_push(&world->queue, later);
    return true;
}

static void connect(struct sim_world *world, const struct sim_event *event)
{
    struct sim_client *client = &world->clients[event->client];
    struct sim_connection *connection = &client->connections[event->node];
    struct sim_node *node = &world->nodes[event->node];

    if (event->generation != connection->generation || connection->state != SIM_OPENING ||
        held_up(world, event,
                latest(latest(client->paused_until_us, node->frozen_until_us),
                       latest(connection->to_node.cut_until_us, connection->to_client.cut_until_us))))
        return;
    sim_client_look(world, client);
    client->door = RL_EVENT_UP;
    if (node->up) {
        connection->state = SIM_OPEN;
        connection->boot = node->boot;
        rl_engine_up(&client->engine, event->node);
    } else {
        rl_engine_down(&client->engine, event->node, RL_CAUSE_REFUSED, "connection refused");
    }
    sim_client_attend(world, client);
}

static void notice(struct sim_world *world, const struct sim_event *event)
{
    struct sim_client *client = &world->clients[event->client];

    if (event->generation != client->connections[event->node].generation ||
        held_up(world, event, client->paused_until_us))
        return;
    sim_client_look(world, client);
    client->door = RL_EVENT_DOWN;
    if (client->connections[event->node].state != SIM_CLOSED)
        rl_engine_down(&client->engine, event->node, RL_CAUSE_UNREACHABLE, "the node closed the connection");
    sim_client_attend(world, client);
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
    case SIM_HANG_UP:
        hang_up(world, event);
        return;
    case SIM_ARM:
        arm(world, event);
        return;
    case SIM_WAKE:
    case SIM_START:
    case SIM_FAULT:
    case SIM_FOREIGN:
        return;
    }
}
