/*
 * The guard: which nodes may vote. Every connection begins with an admission (wire/lua/admit.lua); a node that may have
 * forgotten locks sits out, one that may have forgotten fences is told the highest one by the others ("sweep"), and one
 * whose clock misbehaves does not count.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "client/client.h"
#include "wire/error_reply.h"

/* A question that changes nothing at the node, and an accusation. */
static const char looks[] = "look", suspects[] = "suspect";

enum { FLOOR_RETRY_MS = 1000, ASK_EVERY_MS = 1000, PROBE_EVERY_MS = 1000 };

/* Nodes remember a term for two hours longer than its locks may last: wire/lua/admit.lua. The shortest quarantine is longer
 * than a second. */
enum { ANNOUNCE_EVERY_MS = 1800000, ADMITTED_WITHIN_MS = 500 };

static struct rl_time after_ms(const redlock_client *client, int64_t ms)
{
    return rl_time_add(client->clock.now, rl_span_ms(ms));
}

void rl_guard_set_unfit(redlock_client *client, uint32_t node, enum rl_cause cause, const char *why)
{
    struct rl_node_guard *guard = &client->guards[node];
    bool news = guard->told != cause;

    guard->cause = guard->told = cause;
    rl_text_copy(guard->why, sizeof guard->why, why);
    if (news)
        rl_client_log(client, REDLOCK_LOG_WARNING, "node %u %s does not vote: %s", node + 1,
                      client->connections[node].url.display, guard->why);
}

/* ---- asking ---- */

/* What a node that forgot one of our locks has to sit out. */
static int64_t own_quarantine_ms(const redlock_client *client)
{
    return rl_span_ms_up(rl_guard_quarantine(client->config.max_ttl));
}

/* Whole seconds, so one less. What a promoted replica did not receive it cannot have kept, however long ago. */
static int64_t own_memory_ms(const struct rl_node_info *info)
{
    if (info->promoted)
        return -1;
    return info->up_s < 1 ? 0 : (info->up_s - 1) * 1000;
}

/* false: no randomness for a fresh id, and one that is not random could be another's. */
static bool make_admission(redlock_client *client, uint32_t node, const char *word, uint64_t floor,
                           struct rl_admission *admission)
{
    const struct rl_connection *connection = &client->connections[node];
    const struct rl_node_info *info = &connection->handshake.info;
    uint8_t random[RL_EPOCH_ID / 2];

    *admission = (struct rl_admission){
        .replid = info->replid,
        .quarantine_ms = own_quarantine_ms(client),
        .durable = connection->url.durable,
        .up_ms = own_memory_ms(info),
        .word = word,
        .floor = floor,
        .known = client->guards[node].record,
    };
    rl_guard_run(admission->run, info->run_id, info->replid);
    if (!rl_client_random(client, random, sizeof random))
        return false;
    rl_hex_write(admission->fresh_id, random, sizeof random);
    return true;
}

static bool send_admission(redlock_client *client, uint32_t node, const struct rl_admission *admission,
                           redlock_lock *lock, bool full)
{
    struct rl_connection *connection = &client->connections[node];
    struct rl_ticket ticket = {.subject = lock,
                               .question = lock != NULL ? 1 : 0,
                               .kind = RL_COMMAND_ADMIT,
                               .replies = 1,
                               .number =
                                   (uint64_t)(uintptr_t)admission->word, /* a literal: said again as it was */
                               .sent = client->clock.now};
    struct rl_writer writer;

    if (!rl_connection_reserve(connection, RL_DISPATCH_ROOM, &writer))
        return false;
    full = full || (connection->loaded & 1U << RL_COMMAND_ADMIT) == 0;
    connection->loaded |= 1U << RL_COMMAND_ADMIT;
    ticket.full = full;
    rl_guard_write_admit(&writer, admission, full);
    rl_connection_commit(connection, &writer, &ticket);
    if (lock != NULL)
        rl_lock_ref(lock);
    client->guards[node].asking = true;
    client->guards[node].asked = client->clock.now;
    if (admission->word != looks)
        client->guards[node].announced = client->clock.now;
    client->dirty |= rl_node_set_one(node);
    return true;
}

/* What INFO alone rules out; NONE when it rules out nothing. */
static enum rl_cause refused_by_info(const struct rl_node_info *info, const char **why)
{
    if (info->run_id[0] == '\0') {
        *why = "it may not be asked for INFO: grant +info to the user, or use plain mode";
        return RL_CAUSE_RIGHTS;
    }
    if (info->evicts) {
        *why = "maxmemory is set and full memory would evict locks: set maxmemory-policy noeviction";
        return RL_CAUSE_EVICTING;
    }
    return RL_CAUSE_NONE;
}

bool rl_guard_admit(redlock_client *client, uint32_t node, const char *word, redlock_lock *lock, bool full)
{
    /* The operator's word comes with a floor by our clock; the node adds its own. */
    uint64_t floor = lock != NULL ? rl_guard_high(rl_clock_wall_us(), 0) : 0;
    struct rl_admission admission;
    const char *why;

    /* Not even the operator's word makes up for a node that drops locks, or that cannot be told from another. */
    if (refused_by_info(&client->connections[node].handshake.info, &why) != RL_CAUSE_NONE)
        return false;
    return make_admission(client, node, word, floor, &admission) &&
           send_admission(client, node, &admission, lock, full);
}

void rl_guard_begin(redlock_client *client)
{
    if (client->voting)
        return;
    client->voting = true;
    client->settled = false; /* being connected is one thing, being admitted another */
}

/* It could not be asked for want of memory: later. */
static void put_off(redlock_client *client, uint32_t node)
{
    client->guards[node].again = after_ms(client, FLOOR_RETRY_MS);
    rl_guard_set_unfit(client, node, RL_CAUSE_MEMORY, "no memory to ask it whether it may vote");
}

void rl_guard_ready(redlock_client *client, uint32_t node)
{
    struct rl_connection *connection = &client->connections[node];
    struct rl_node_guard *guard = &client->guards[node];
    const char *why = "";
    enum rl_cause cause = refused_by_info(&connection->handshake.info, &why);

    guard->fitness = RL_FITNESS_UNKNOWN;
    guard->cause = RL_CAUSE_NONE;
    guard->epoch[0] = guard->record[0] = '\0';
    guard->announced = (struct rl_time){0};
    guard->again = RL_TIME_NEVER;
    guard->by_info = false;
    if (!client->config.guarded || connection->unfit != RL_CAUSE_NONE)
        return;
    guard->by_info = cause != RL_CAUSE_NONE;
    if (!client->voting && !guard->by_info) {
        guard->again = client->clock.now;
        return;
    }
    if (guard->by_info)
        rl_guard_set_unfit(client, node, cause, why);
    else if (!rl_guard_admit(client, node, "", NULL, false))
        put_off(client, node);
}

/* ---- the floor ---- */

static bool still_moving(const redlock_client *client, uint32_t node)
{
    const struct rl_connection *connection = &client->connections[node];

    if (connection->state == RL_CONNECTION_READY)
        return client->guards[node].asking;
    return connection->state != RL_CONNECTION_RESTING;
}

static bool any_moving(const redlock_client *client)
{
    for (uint32_t node = 0; node < client->node_count; node++)
        if (still_moving(client, node))
            return true;
    return false;
}

/* Asks every node anew, so that what they say is younger than the quarantine that has just ended. */
static void begin_sweep(redlock_client *client)
{
    if (client->sweeping)
        return;
    client->sweeping = true;
    client->sweep++;
    client->sweep_began = client->clock.now;
    for (uint32_t node = 0; node < client->node_count; node++)
        client->guards[node].awaits_floor = client->guards[node].fitness == RL_FITNESS_FLOORLESS;
    for (uint32_t node = 0; node < client->node_count; node++) {
        struct rl_connection *connection = &client->connections[node];

        if (connection->state == RL_CONNECTION_READY && connection->unfit == RL_CAUSE_NONE &&
            !client->guards[node].by_info)
            rl_guard_admit(client, node, "", NULL, false);
    }
    if (any_moving(client))
        return;
    /* Without memory nobody was asked, and no answer would ever end it. */
    client->sweeping = false;
    for (uint32_t node = 0; node < client->node_count; node++)
        if (client->guards[node].fitness == RL_FITNESS_FLOORLESS)
            put_off(client, node);
}

static void give_floor(redlock_client *client, bool found, uint64_t floor, const struct rl_terms *terms)
{
    for (uint32_t node = 0; node < client->node_count; node++) {
        struct rl_node_guard *guard = &client->guards[node];
        struct rl_admission admission;

        if (guard->fitness != RL_FITNESS_FLOORLESS || !guard->awaits_floor ||
            client->connections[node].state != RL_CONNECTION_READY)
            continue;
        if (found) {
            bool made = make_admission(client, node, "", floor, &admission);

            admission.terms = terms;
            if (made && send_admission(client, node, &admission, NULL, false))
                continue;
        }
        guard->again = after_ms(client, FLOOR_RETRY_MS);
        rl_guard_set_unfit(
            client, node, RL_CAUSE_FLOOR,
            "it forgot its fences, and too few nodes can be reached to learn the highest one (all but one are needed)");
        rl_dispatch_settle(client, node);
    }
}

/* Ends the sweep once nobody is left to be heard. */
static void conclude_sweep(redlock_client *client)
{
    struct rl_guard_view views[RL_NODES_MAX];
    struct rl_terms terms = {0};
    uint64_t floor = 0;
    bool found;

    if (!client->sweeping || any_moving(client))
        return;
    for (uint32_t node = 0; node < client->node_count; node++) {
        const struct rl_node_guard *guard = &client->guards[node];

        views[node] = (struct rl_guard_view){
            .heard = guard->sweep == client->sweep, .fitness = guard->fitness, .high = guard->high};
        for (uint32_t i = 0; views[node].heard && i < guard->terms.count; i++)
            rl_terms_add(&terms, guard->terms.each[i]);
    }
    client->sweeping = false;
    found = rl_guard_floor(views, client->node_count, &floor);
    give_floor(client, found, floor, &terms);
    /* A node that came to lack a floor while the others were being heard needs what they say after that. */
    for (uint32_t node = 0; node < client->node_count; node++)
        if (client->guards[node].fitness == RL_FITNESS_FLOORLESS && !client->guards[node].awaits_floor)
            begin_sweep(client);
}

/* ---- accusing ---- */

/* A suspicion counts only for the record it is meant for: without one it has to wait for the next admission. */
void rl_guard_accuse(redlock_client *client, uint32_t node)
{
    struct rl_node_guard *guard = &client->guards[node];
    bool known = guard->fitness == RL_FITNESS_FIT && client->connections[node].state == RL_CONNECTION_READY;

    guard->accused = true;
    if (!known)
        return;
    guard->fitness = RL_FITNESS_UNKNOWN;
    guard->again = client->clock.now;
    rl_guard_admit(client, node, suspects, NULL, false);
}

/* A node that sits out or lacks a floor needs no accusing any more; one that an operator vouches for, neither. */
static void go_on_accusing(redlock_client *client, uint32_t node, const struct rl_ticket *ticket)
{
    struct rl_node_guard *guard = &client->guards[node];
    bool in_vain = ticket->number == (uint64_t)(uintptr_t)suspects; /* its record was another by then */

    if (!guard->accused || guard->asking)
        return;
    guard->accused = guard->fitness == RL_FITNESS_FIT && ticket->subject == NULL;
    if (!guard->accused)
        return;
    if (!in_vain) {
        rl_guard_accuse(client, node);
        return;
    }
    guard->fitness = RL_FITNESS_UNKNOWN;
    guard->again = after_ms(client, ASK_EVERY_MS);
    rl_guard_set_unfit(client, node, RL_CAUSE_CLOCK_STEP, "its clock was set");
}

/* ---- answers ---- */

/* Longer than our own locks need: for whose sake? */
static void describe_quarantine(const redlock_client *client, char *why, size_t size,
                                const struct rl_admitted *admitted)
{
    int64_t wait_s = (admitted->wait_ms + 999) / 1000;

    if (admitted->quarantine_ms > own_quarantine_ms(client))
        snprintf(why, size,
                 "restarted or wiped; quarantined for another %" PRId64
                 " s, as locks of another client last up to %" PRId64 " s",
                 wait_s, rl_guard_longest_lock_ms(admitted->quarantine_ms) / 1000);
    else
        snprintf(why, size,
                 "restarted or wiped; quarantined for another %" PRId64 " s (a new fleet: redlock init)",
                 wait_s);
}

static void take_admitted(redlock_client *client, uint32_t node, const struct rl_ticket *ticket,
                          const struct rl_admitted *admitted)
{
    struct rl_node_guard *guard = &client->guards[node];
    char why[sizeof guard->why], epoch[sizeof guard->epoch];

    guard->fitness = admitted->fitness;
    guard->high = rl_guard_high(admitted->node_us, admitted->floor);
    /* What was asked before the sweep began may be older than what the sweep is for. */
    if (!rl_time_before(ticket->sent, client->sweep_began))
        guard->sweep = client->sweep;
    guard->terms = admitted->terms;
    rl_text_copy(guard->record, sizeof guard->record, admitted->record);
    rl_guard_epoch(epoch, admitted->record);
    if (strcmp(epoch, guard->epoch) != 0)
        guard->admitted = client->clock.now;
    rl_text_copy(guard->epoch, sizeof guard->epoch, epoch);
    if (admitted->fitness == RL_FITNESS_FIT && (guard->clock_bad || guard->suspected.us != 0)) {
        /* Asked for the time only: what its record says does not mend its clock. */
        if (!rl_cause_is_clock(guard->cause))
            rl_guard_set_unfit(client, node, guard->clock_bad ? RL_CAUSE_CLOCK_RATE : RL_CAUSE_CLOCK_STEP,
                               "its clock cannot be trusted");
    } else if (admitted->fitness == RL_FITNESS_FIT) {
        guard->cause = guard->told = RL_CAUSE_NONE;
        guard->why[0] = '\0';
    } else if (admitted->fitness == RL_FITNESS_QUARANTINED) {
        describe_quarantine(client, why, sizeof why, admitted);
        guard->quarantine_ends = after_ms(client, admitted->wait_ms);
        /* Somebody may give the operator's word before the time is up: ask now and then. */
        guard->again =
            after_ms(client, admitted->wait_ms < ASK_EVERY_MS ? admitted->wait_ms + 1 : ASK_EVERY_MS);
        rl_guard_set_unfit(client, node, RL_CAUSE_QUARANTINE, why);
    }
}

static void take_error(redlock_client *client, uint32_t node, const struct rl_admitted *admitted)
{
    struct rl_answer answer = rl_error_answer(admitted->error, admitted->error_length);
    char why[sizeof client->guards[node].why];
    struct rl_text text = rl_text_on(why, sizeof why);

    rl_text_add(&text, "it cannot be asked whether it may vote: ");
    rl_text_add_printable(&text, admitted->error, admitted->error_length);
    client->guards[node].again = after_ms(client, FLOOR_RETRY_MS);
    rl_guard_set_unfit(client, node, answer.cause, why);
}

bool rl_guard_reply(redlock_client *client, uint32_t node, const struct rl_ticket *ticket, const char *bytes,
                    size_t length)
{
    struct rl_node_guard *guard = &client->guards[node];
    redlock_lock *lock = ticket->subject;
    struct rl_admitted admitted;

    rl_guard_read_admit(bytes, length, &admitted);
    guard->asking = rl_time_before(ticket->sent, guard->asked); /* another one may be on its way */
    if (admitted.no_script && !ticket->full) {
        if (rl_guard_admit(client, node, (const char *)(uintptr_t)ticket->number, lock, true))
            return false;
        put_off(client, node);
    } else if (admitted.another_master) {
        /* What it told about itself when it was greeted is not true any more. */
        rl_connection_break(&client->connections[node], RL_CAUSE_EPOCH, admitted.error, client->clock.now);
        return true;
    } else if (admitted.fitness == RL_FITNESS_UNKNOWN)
        take_error(client, node, &admitted);
    else
        take_admitted(client, node, ticket, &admitted);
    if (ticket->number == (uint64_t)(uintptr_t)looks) {
        /* For people to read; whoever wants its vote has to ask for that. */
        guard->fitness = RL_FITNESS_UNKNOWN;
        guard->again = client->clock.now;
        return true;
    }
    if (admitted.node_us != 0)
        rl_guard_clock(client, node, ticket->sent, admitted.node_us);
    if (admitted.fitness != RL_FITNESS_UNKNOWN)
        go_on_accusing(client, node, ticket);
    if (guard->fitness == RL_FITNESS_FLOORLESS && !guard->asking && !client->sweeping)
        begin_sweep(client);
    conclude_sweep(client);
    if (!guard->asking && guard->fitness != RL_FITNESS_FLOORLESS)
        rl_dispatch_settle(client, node);
    return true;
}

void rl_guard_dropped(redlock_client *client, uint32_t node)
{
    client->guards[node].asking = false;
}

void rl_guard_down(redlock_client *client, uint32_t node)
{
    client->guards[node].asking = false;
    client->guards[node].fitness = RL_FITNESS_UNKNOWN;
    client->guards[node].cause = RL_CAUSE_NONE;
    client->guards[node].sweep = 0;
    client->guards[node].proved = (struct rl_time){0};
    conclude_sweep(client);
}

void rl_guard_refused(redlock_client *client, uint32_t node)
{
    struct rl_node_guard *guard = &client->guards[node];

    if (!guard->asking)
        rl_guard_admit(client, node, "", NULL, false);
}

/* ---- looking ---- */

void rl_guard_look(redlock_client *client)
{
    for (uint32_t node = 0; node < client->node_count; node++) {
        const struct rl_node_guard *guard = &client->guards[node];

        if (client->config.guarded && client->connections[node].state == RL_CONNECTION_READY &&
            client->connections[node].unfit == RL_CAUSE_NONE && !guard->by_info && !guard->asking &&
            guard->fitness == RL_FITNESS_UNKNOWN)
            rl_guard_admit(client, node, looks, NULL, false);
    }
}

/* ---- the term ---- */

bool rl_guard_announce(redlock_client *client, uint32_t node)
{
    const struct rl_node_guard *guard = &client->guards[node];
    bool lately = guard->announced.us != 0 &&
                  rl_time_since(client->clock.now, guard->announced).us < ANNOUNCE_EVERY_MS * INT64_C(1000);

    return !client->config.guarded || lately || rl_guard_admit(client, node, "", NULL, false);
}

bool rl_guard_in_time(const redlock_client *client, uint32_t node, struct rl_time round_began)
{
    return !client->config.guarded ||
           rl_time_since(client->guards[node].admitted, round_began).us <= ADMITTED_WITHIN_MS * INT64_C(1000);
}

/* ---- the right to vote ---- */

enum rl_right rl_guard_right(redlock_client *client, uint32_t node)
{
    struct rl_node_guard *guard = &client->guards[node];
    /* Its record is in order, its clock is not: it is asked for the time now and then. */
    bool in_doubt = guard->clock_bad || (guard->suspected.us != 0 && guard->fitness == RL_FITNESS_FIT);

    if (!client->config.guarded)
        return RL_MAY_VOTE;
    if (!client->voting)
        return RL_MAY_NOT_VOTE; /* nobody has asked for a vote: do not bother the nodes */
    if (guard->fitness == RL_FITNESS_FIT && guard->cause == RL_CAUSE_NONE)
        return RL_MAY_VOTE;
    if (guard->asking || (guard->fitness == RL_FITNESS_FLOORLESS && client->sweeping))
        return RL_MAY_VOTE_SOON;
    if (in_doubt && rl_time_before(guard->probed, client->clock.now)) {
        guard->probed = after_ms(client, PROBE_EVERY_MS);
        rl_guard_admit(client, node, "", NULL, false); /* its answer has the time in it */
        return RL_MAY_NOT_VOTE;
    }
    if (rl_time_before(client->clock.now, guard->again) || in_doubt)
        return RL_MAY_NOT_VOTE;
    if (guard->fitness == RL_FITNESS_FLOORLESS)
        begin_sweep(client);
    else
        rl_guard_admit(client, node, "", NULL, false);
    return guard->asking ? RL_MAY_VOTE_SOON : RL_MAY_NOT_VOTE;
}
