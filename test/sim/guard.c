/*
 * Which nodes may vote, as src/engine/guard.c has it: admissions, floors that others tell, and the right to vote. The bytes are
 * real, and so is the arithmetic of the floor.
 */
#include <stdio.h>
#include <string.h>

#include "sim/world.h"

enum { FLOOR_RETRY_MS = 1000, ASK_EVERY_MS = 1000, PROBE_EVERY_MS = 1000 };

static struct rl_time after_ms(const struct sim_client *client, int64_t ms)
{
    return rl_time_add(client->now, rl_span_ms(ms));
}

static struct rl_admission make_admission(struct sim_world *world, struct sim_client *client, uint32_t node,
                                          const char *word, uint64_t floor)
{
    const struct sim_plan *plan = &world->plan;
    const struct sim_connection *connection = &client->connections[node];
    struct rl_admission admission = {
        .replid = connection->replid,
        .quarantine_ms = rl_span_ms_up(rl_guard_quarantine(rl_span_ms(plan->max_ttl_ms))),
        .durable = plan->durable,
        .up_ms = connection->promoted   ? -1
                 : connection->up_s < 1 ? 0
                                        : (connection->up_s - 1) * 1000,
        .word = word,
        .floor = floor,
        .known = client->guards[node].epoch,
    };

    snprintf(admission.fresh_id, sizeof admission.fresh_id, "%016llx",
             (unsigned long long)rl_prng_next(&world->prng));
    rl_guard_run(admission.run, connection->run_id, connection->replid);
    return admission;
}

static bool send_admission(struct sim_world *world, struct sim_client *client, uint32_t node,
                           const struct rl_admission *admission, bool full)
{
    struct sim_connection *connection = &client->connections[node];
    char bytes[8192];
    struct rl_writer writer = rl_writer_on(bytes, sizeof bytes);
    struct sim_ticket ticket = {.kind = RL_COMMAND_ADMIT, .word = admission->word, .sent = client->now};

    ticket.full = full || (connection->loaded & 1U << RL_COMMAND_ADMIT) == 0;
    rl_guard_write_admit(&writer, admission, ticket.full);
    if (!sim_connection_send(world, client, node, &writer, &ticket))
        return false;
    connection->loaded |= 1U << RL_COMMAND_ADMIT;
    client->guards[node].asking = true;
    return true;
}

bool sim_guard_admit(struct sim_world *world, struct sim_client *client, uint32_t node, const char *word,
                     bool full)
{
    struct rl_admission admission = make_admission(world, client, node, word, 0);

    return send_admission(world, client, node, &admission, full);
}

static void put_off(struct sim_client *client, uint32_t node)
{
    client->guards[node].again = after_ms(client, FLOOR_RETRY_MS);
    client->guards[node].cause = RL_CAUSE_MEMORY;
}

void sim_guard_ready(struct sim_world *world, struct sim_client *client, uint32_t node)
{
    struct sim_guard *guard = &client->guards[node];

    guard->fitness = RL_FITNESS_UNKNOWN;
    guard->cause = RL_CAUSE_NONE;
    guard->epoch[0] = '\0';
    guard->again = RL_TIME_NEVER;
    if (!sim_guard_admit(world, client, node, "", false))
        put_off(client, node);
}

/* ---- the floor ---- */

static bool still_moving(const struct sim_client *client, uint32_t node)
{
    if (client->connections[node].state == SIM_READY)
        return client->guards[node].asking;
    return client->connections[node].state != SIM_RESTING;
}

static bool any_moving(const struct sim_world *world, const struct sim_client *client)
{
    for (uint32_t node = 0; node < world->plan.node_count; node++)
        if (still_moving(client, node))
            return true;
    return false;
}

static void begin_sweep(struct sim_world *world, struct sim_client *client)
{
    if (client->sweeping)
        return;
    client->sweeping = true;
    client->sweep++;
    for (uint32_t node = 0; node < world->plan.node_count; node++)
        client->guards[node].awaits_floor = client->guards[node].fitness == RL_FITNESS_FLOORLESS;
    for (uint32_t node = 0; node < world->plan.node_count; node++)
        if (client->connections[node].state == SIM_READY)
            sim_guard_admit(world, client, node, "", false);
    if (any_moving(world, client))
        return;
    client->sweeping = false;
    for (uint32_t node = 0; node < world->plan.node_count; node++)
        if (client->guards[node].fitness == RL_FITNESS_FLOORLESS)
            put_off(client, node);
}

static void give_floor(struct sim_world *world, struct sim_client *client, bool found, uint64_t floor,
                       const struct rl_terms *terms)
{
    for (uint32_t node = 0; node < world->plan.node_count; node++) {
        struct sim_guard *guard = &client->guards[node];
        struct rl_admission admission;

        if (guard->fitness != RL_FITNESS_FLOORLESS || !guard->awaits_floor ||
            client->connections[node].state != SIM_READY)
            continue;
        if (found) {
            admission = make_admission(world, client, node, "", floor);
            admission.terms = terms;
            if (send_admission(world, client, node, &admission, false))
                continue;
        }
        guard->again = after_ms(client, FLOOR_RETRY_MS);
        guard->cause = RL_CAUSE_FLOOR;
        sim_dispatch_settle(world, client, node);
    }
}

static void conclude_sweep(struct sim_world *world, struct sim_client *client)
{
    struct rl_guard_view views[SIM_NODES_MAX];
    struct rl_terms terms = {0};
    uint64_t floor = 0;
    bool found;

    if (!client->sweeping || any_moving(world, client))
        return;
    for (uint32_t node = 0; node < world->plan.node_count; node++) {
        const struct sim_guard *guard = &client->guards[node];

        views[node] = (struct rl_guard_view){
            .heard = guard->sweep == client->sweep, .fitness = guard->fitness, .high = guard->high};
        for (uint32_t i = 0; views[node].heard && i < guard->terms.count; i++)
            rl_terms_add(&terms, guard->terms.each[i]);
    }
    client->sweeping = false;
    found = rl_guard_floor(views, world->plan.node_count, &floor);
    give_floor(world, client, found, floor, &terms);
    for (uint32_t node = 0; node < world->plan.node_count; node++)
        if (client->guards[node].fitness == RL_FITNESS_FLOORLESS && !client->guards[node].awaits_floor)
            begin_sweep(world, client);
}

/* ---- answers ---- */

static void take_admitted(struct sim_world *world, struct sim_client *client, uint32_t node,
                          const struct rl_admitted *admitted)
{
    struct sim_guard *guard = &client->guards[node];

    guard->fitness = admitted->fitness;
    guard->high = rl_guard_high(admitted->node_us, admitted->floor);
    guard->sweep = client->sweep;
    memcpy(guard->epoch, admitted->record, sizeof guard->epoch);
    guard->terms = admitted->terms;
    if (admitted->fitness == RL_FITNESS_FIT) {
        guard->cause = guard->clock_bad || guard->suspected.us != 0 ? RL_CAUSE_CLOCK_STEP : RL_CAUSE_NONE;
    } else if (admitted->fitness == RL_FITNESS_QUARANTINED) {
        guard->again =
            after_ms(client, admitted->wait_ms < ASK_EVERY_MS ? admitted->wait_ms + 1 : ASK_EVERY_MS);
        guard->cause = RL_CAUSE_QUARANTINE;
        sim_say(world, "client %u > node %u sits out for %lld ms", client->index + 1, node + 1,
                (long long)admitted->wait_ms);
    }
}

void sim_guard_reply(struct sim_world *world, struct sim_client *client, uint32_t node,
                     const struct sim_ticket *ticket, const char *bytes, size_t length)
{
    struct sim_guard *guard = &client->guards[node];
    struct rl_admitted admitted;

    rl_guard_read_admit(bytes, length, &admitted);
    guard->asking = false;
    if (admitted.no_script && !ticket->full) {
        if (sim_guard_admit(world, client, node, ticket->word, true))
            return;
        put_off(client, node);
    } else if (admitted.another_master) {
        sim_connection_break(world, client, node);
        return;
    } else if (admitted.fitness == RL_FITNESS_UNKNOWN)
        sim_fail(world, "node %u answered an admission with: %.*s", node + 1, (int)length, bytes);
    else
        take_admitted(world, client, node, &admitted);
    if (admitted.node_us != 0)
        sim_clocks_look(world, client, node, ticket->sent, admitted.node_us);
    if (guard->fitness == RL_FITNESS_FLOORLESS && !guard->asking && !client->sweeping)
        begin_sweep(world, client);
    conclude_sweep(world, client);
    if (!guard->asking && guard->fitness != RL_FITNESS_FLOORLESS)
        sim_dispatch_settle(world, client, node);
}

void sim_guard_down(struct sim_world *world, struct sim_client *client, uint32_t node)
{
    client->guards[node].asking = false;
    client->guards[node].fitness = RL_FITNESS_UNKNOWN;
    client->guards[node].cause = RL_CAUSE_NONE;
    client->guards[node].sweep = 0;
    conclude_sweep(world, client);
}

enum sim_right sim_guard_right(struct sim_world *world, struct sim_client *client, uint32_t node)
{
    struct sim_guard *guard = &client->guards[node];
    bool in_doubt = guard->clock_bad || (guard->suspected.us != 0 && guard->fitness == RL_FITNESS_FIT);

    if (guard->fitness == RL_FITNESS_FIT && guard->cause == RL_CAUSE_NONE)
        return SIM_MAY_VOTE;
    if (guard->asking || (guard->fitness == RL_FITNESS_FLOORLESS && client->sweeping))
        return SIM_MAY_VOTE_SOON;
    if (in_doubt && rl_time_before(guard->probed, client->now)) {
        guard->probed = after_ms(client, PROBE_EVERY_MS);
        sim_guard_admit(world, client, node, "", false);
        return SIM_MAY_NOT_VOTE;
    }
    if (rl_time_before(client->now, guard->again) || in_doubt)
        return SIM_MAY_NOT_VOTE;
    if (guard->fitness == RL_FITNESS_FLOORLESS)
        begin_sweep(world, client);
    else
        sim_guard_admit(world, client, node, "", false);
    return guard->asking ? SIM_MAY_VOTE_SOON : SIM_MAY_NOT_VOTE;
}
