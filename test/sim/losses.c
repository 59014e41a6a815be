/*
 * That a holder learns of a loss at its next renewal: once so many nodes have told one round of it, in time,
 * that they do not have the lock that no quorum can be left, nobody relies on it any more. It reads the
 * replies by itself, before the engine does.
 */
#include <string.h>

#include "engine/vote.h"
#include "sim/world.h"
#include "wire/lock_command.h"

/* The holder whose renewal this is the answer to, if it comes in time; NULL nobody's. */
static struct sim_worker *find_holder(struct sim_world *world, struct sim_client *client,
                                      const struct rl_pending *pending)
{
    for (uint32_t i = 0; i < world->plan.worker_count; i++) {
        struct sim_worker *worker = &client->workers[i];
        const struct rl_lease *lease;

        if (worker->stage != SIM_HELD || worker->lock != pending->subject)
            continue;
        lease = &worker->lock->lease;
        if (pending->question == lease->question &&
            rl_time_before(client->engine.now,
                           rl_time_add(lease->asked, rl_span_ms(world->plan.node_timeout_ms))))
            return worker;
    }
    return NULL;
}

/* 0 another's, -1 not there, -2 planted again: see wire/lua/extend.lua. */
static bool denies(const char *bytes)
{
    if (strncmp(bytes, "*2\r\n", 4) == 0)
        bytes += 4; /* and of several names, which of them */
    return bytes[0] == ':' && (bytes[1] == '0' || (bytes[1] == '-' && (bytes[2] == '1' || bytes[2] == '2')));
}

void sim_losses_reply(struct sim_world *world, struct sim_client *client, uint32_t node, const char *bytes)
{
    const struct rl_exchange *exchange = &client->engine.sessions[node].exchange;
    const struct rl_pending *pending = exchange->pending_count > 0 ? rl_exchange_first(exchange) : NULL;
    struct sim_worker *worker;

    if (pending == NULL || pending->kind != RL_COMMAND_EXTEND || !denies(bytes) ||
        !rl_vote_counts(&client->engine, node))
        return;
    worker = find_holder(world, client, pending);
    if (worker == NULL)
        return;
    if (worker->denied_in != pending->question)
        worker->denied = 0;
    worker->denied_in = pending->question;
    worker->denied |= rl_node_set_one(node);
}

void sim_losses_look(struct sim_world *world, const struct sim_worker *worker)
{
    uint32_t node_count = world->plan.node_count;

    if (worker->stage != SIM_HELD || worker->lock->stage != RL_LOCK_HELD ||
        worker->lock->lease.question != worker->denied_in)
        return;
    if (rl_node_set_count(worker->denied) > node_count - rl_quorum(node_count))
        sim_fail(
            world,
            "loss not told: client %u.%u relies on %c, of which nodes %x told its renewal that it is gone",
            worker->client + 1, worker->index + 1, 'a' + (int)worker->name, worker->denied);
}
