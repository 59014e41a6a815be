/*
 * The guard: which nodes may vote. Every connection begins with an admission (wire/lua/admit.lua); a node
 * that may have lost locks is quarantined, one that may have lost fences learns the highest one from the
 * others ("sweep"), and one whose clock misbehaves does not count.
 */
#include "engine/guard.h"

#include <assert.h>
#include <string.h>

#include "base/format.h"
#include "engine/admission.h"
#include "engine/clocks.h"
#include "engine/vote.h"
#include "wire/error_reply.h"

enum { FLOOR_RETRY_MS = 1000, ASK_EVERY_MS = 1000, PROBE_EVERY_MS = 1000 };

/* The shortest quarantine is longer than a second. */
enum { ADMITTED_WITHIN_MS = 500 };

static struct rl_time after_ms(const struct rl_engine *engine, int64_t ms)
{
    return rl_time_add(engine->now, rl_span_ms(ms));
}

void rl_guard_begin(struct rl_engine *engine)
{
    if (engine->voting)
        return;
    engine->voting = true;
    engine->settled = false; /* being connected is one thing, being admitted another */
}

/* With the version where that is the reason: the node is one of several. */
static void refuse_by_info(struct rl_engine *engine, uint32_t node, enum rl_cause cause, const char *why)
{
    char words[sizeof engine->guards[node].why];
    struct rl_text text = rl_text_on(words, sizeof words);

    if (cause == RL_CAUSE_TOO_OLD) {
        rl_text_add(&text, "its version is ");
        rl_text_add(&text, engine->sessions[node].handshake.info.version_text);
        rl_text_add(&text, ", and ");
    }
    rl_text_add(&text, why);
    rl_admission_refuse(engine, node, cause, words);
}

void rl_guard_ready(struct rl_engine *engine, uint32_t node)
{
    struct rl_session *session = &engine->sessions[node];
    struct rl_node_guard *guard = &engine->guards[node];
    const char *why = "";
    enum rl_cause cause = rl_admission_ruled_out(&session->handshake.info, &why);

    guard->fitness = guard->looked = RL_FITNESS_UNKNOWN;
    guard->cause = RL_CAUSE_NONE;
    guard->epoch[0] = guard->record[0] = '\0';
    guard->announced = (struct rl_time){0};
    guard->again = RL_TIME_NEVER;
    guard->by_info = false;
    if (!engine->config.guarded || session->ineligible != RL_CAUSE_NONE)
        return;
    guard->by_info = cause != RL_CAUSE_NONE;
    if (!engine->voting && !guard->by_info) {
        guard->again = engine->now;
        return;
    }
    if (guard->by_info)
        refuse_by_info(engine, node, cause, why);
    else if (!rl_admission_ask(engine, node, RL_WORD_NONE, NULL, false))
        rl_admission_put_off(engine, node);
}

/* ---- the floor ---- */

static bool still_moving(const struct rl_engine *engine, uint32_t node)
{
    const struct rl_session *session = &engine->sessions[node];

    if (session->state == RL_SESSION_READY)
        return engine->guards[node].asking;
    return session->state != RL_SESSION_RESTING;
}

static bool any_moving(const struct rl_engine *engine)
{
    for (uint32_t node = 0; node < engine->node_count; node++)
        if (still_moving(engine, node))
            return true;
    return false;
}

/* Asks every node anew, so that what they say is younger than the quarantine that has just ended. */
static void begin_sweep(struct rl_engine *engine)
{
    if (engine->sweeping)
        return;
    engine->sweeping = true;
    engine->sweep++;
    engine->sweep_began = engine->now;
    for (uint32_t node = 0; node < engine->node_count; node++)
        engine->guards[node].awaits_floor = engine->guards[node].fitness == RL_FITNESS_FLOORLESS;
    for (uint32_t node = 0; node < engine->node_count; node++)
        if (rl_vote_reachable(engine, node) && !engine->guards[node].by_info)
            rl_admission_ask(engine, node, RL_WORD_NONE, NULL, false);
    if (any_moving(engine))
        return;
    /* Without memory nobody was asked, and no answer would ever end it. */
    engine->sweeping = false;
    for (uint32_t node = 0; node < engine->node_count; node++)
        if (engine->guards[node].fitness == RL_FITNESS_FLOORLESS)
            rl_admission_put_off(engine, node);
}

/* What nodes tell of terms is remembered here, too, and told to those that forgot: it may be that all of them
 * did. */
static void remember_terms(struct rl_engine *engine, const struct rl_terms *terms)
{
    int64_t passed_ms = rl_span_ms_down(rl_time_since(engine->now, engine->terms_since));

    rl_terms_age(&engine->terms, passed_ms);
    engine->terms_since = rl_time_add(engine->terms_since, rl_span_ms(passed_ms));
    for (uint32_t i = 0; i < terms->count; i++)
        rl_terms_add(&engine->terms, terms->each[i]);
}

/* A node has lost its data: what the others know of terms is heard while they know it, and not only when its
 * quarantine ends. It is heard again whenever that node is asked, for a round that was under way may have
 * announced its term only afterwards. */
static void hear_others(struct rl_engine *engine, uint32_t forgetful)
{
    for (uint32_t node = 0; node < engine->node_count; node++)
        if (node != forgetful && rl_vote_reachable(engine, node) && !engine->guards[node].asking &&
            engine->guards[node].fitness == RL_FITNESS_FIT)
            rl_admission_ask(engine, node, RL_WORD_NONE, NULL, false);
}

static void give_floor(struct rl_engine *engine, bool found, uint64_t floor, const struct rl_terms *terms)
{
    for (uint32_t node = 0; node < engine->node_count; node++) {
        struct rl_node_guard *guard = &engine->guards[node];

        if (guard->fitness != RL_FITNESS_FLOORLESS || !guard->awaits_floor ||
            engine->sessions[node].state != RL_SESSION_READY)
            continue;
        if (found && rl_admission_give_floor(engine, node, floor, terms))
            continue;
        guard->again = after_ms(engine, FLOOR_RETRY_MS);
        rl_admission_refuse(engine, node, RL_CAUSE_FENCES, rl_vote_floorless);
        engine->changed |= rl_node_set_one(node);
    }
}

/* Ends the sweep once nobody is left to be heard. */
static void conclude_sweep(struct rl_engine *engine)
{
    struct rl_guard_view views[RL_NODES_MAX];
    uint64_t floor = 0;
    bool found;

    if (!engine->sweeping || any_moving(engine))
        return;
    for (uint32_t node = 0; node < engine->node_count; node++) {
        const struct rl_node_guard *guard = &engine->guards[node];

        views[node] = (struct rl_guard_view){
            .heard = guard->sweep == engine->sweep, .fitness = guard->fitness, .high = guard->high};
    }
    engine->sweeping = false;
    found = rl_guard_floor(views, engine->node_count, &floor);
    give_floor(engine, found, floor, &engine->terms);
    /* A node that came to lack a floor while the others were being heard needs what they say after that. */
    for (uint32_t node = 0; node < engine->node_count; node++)
        if (engine->guards[node].fitness == RL_FITNESS_FLOORLESS && !engine->guards[node].awaits_floor)
            begin_sweep(engine);
}

/* ---- accusing ---- */

/* A node in quarantine or without a floor needs no accusing any more; one that an operator vouches for,
 * neither. */
static void go_on_accusing(struct rl_engine *engine, uint32_t node, const struct rl_pending *pending)
{
    struct rl_node_guard *guard = &engine->guards[node];
    bool in_vain = pending->number == RL_WORD_SUSPECT; /* its record was another by then */

    if (!guard->accused || guard->asking)
        return;
    guard->accused = guard->fitness == RL_FITNESS_FIT && pending->subject == NULL;
    if (!guard->accused)
        return;
    if (!in_vain) {
        rl_admission_accuse(engine, node);
        return;
    }
    guard->fitness = RL_FITNESS_UNKNOWN;
    guard->again = after_ms(engine, ASK_EVERY_MS);
    rl_admission_refuse(engine, node, RL_CAUSE_CLOCK_STEP, "its clock was set");
}

/* ---- answers ---- */

/* Longer than our own locks need: for whose sake? A node that nobody has asked for a vote since has not
 * written down when it began: a look writes nothing. */
static void describe_quarantine(const struct rl_engine *engine, char *why, size_t size,
                                const struct rl_admitted *admitted, bool looks)
{
    struct rl_text text = rl_text_on(why, size);
    bool begun = !looks || admitted->wait_ms < admitted->quarantine_ms;

    rl_text_format(&text, "restarted or wiped; quarantined for %s%ld s%s", begun ? "another " : "",
                   (long)((admitted->wait_ms + 999) / 1000),
                   begun ? "" : " from when a lock is next asked for");
    if (admitted->quarantine_ms > rl_admission_quarantine_ms(engine))
        rl_text_format(&text, ", as locks of another client last up to %ld s",
                       (long)(rl_guard_longest_lock_ms(admitted->quarantine_ms) / 1000));
}

/* Whether its memory is what it was before: an epoch that had ended is back, or its floor fell. A server that
 * was swapped for another and back (SWAPDB, a proxy), a snapshot loaded without a restart, keys written by
 * hand. What was locked since then is lost. */
static bool went_back(struct rl_node_guard *guard, const char *epoch, const struct rl_admitted *admitted)
{
    bool same = strcmp(epoch, guard->latest) == 0;
    bool back = same ? admitted->fitness == RL_FITNESS_FIT && admitted->floor < guard->floor_seen
                     : epoch[0] != '\0' && strcmp(epoch, guard->former) == 0;

    if (!same) {
        rl_text_copy(guard->former, sizeof guard->former, guard->latest);
        rl_text_copy(guard->latest, sizeof guard->latest, epoch);
        guard->floor_seen = 0;
    }
    if (admitted->fitness == RL_FITNESS_FIT)
        guard->floor_seen = admitted->floor;
    return back;
}

static void take_admitted(struct rl_engine *engine, uint32_t node, const struct rl_pending *pending,
                          const struct rl_admitted *admitted)
{
    struct rl_node_guard *guard = &engine->guards[node];
    char why[sizeof guard->why], epoch[sizeof guard->epoch];

    guard->fitness = admitted->fitness;
    guard->high = rl_guard_high(admitted->node_us, admitted->floor);
    /* What was asked before the sweep began may be older than what the sweep is for. */
    if (!rl_time_before(pending->sent, engine->sweep_began))
        guard->sweep = engine->sweep;
    guard->terms = admitted->terms;
    remember_terms(engine, &admitted->terms);
    rl_text_copy(guard->record, sizeof guard->record, admitted->record);
    rl_guard_epoch(epoch, admitted->record);
    if (strcmp(epoch, guard->epoch) != 0)
        guard->admitted = engine->now;
    if (admitted->fitness == RL_FITNESS_QUARANTINED)
        hear_others(engine, node);
    rl_text_copy(guard->epoch, sizeof guard->epoch, epoch);
    if (pending->number != RL_WORD_LOOK && went_back(guard, epoch, admitted)) {
        rl_state_log(engine, REDLOCK_LOG_WARNING, "node %u %s: its memory went back to an earlier state",
                     node + 1, engine->sessions[node].url.display);
        guard->accused = true;
    }
    if (admitted->fitness == RL_FITNESS_FIT && (guard->clock_bad || guard->suspected.us != 0)) {
        /* Asked for the time only: what its record says does not correct its clock. */
        if (!rl_cause_is_clock(guard->cause))
            rl_admission_refuse(engine, node, guard->clock_bad ? RL_CAUSE_CLOCK_RATE : RL_CAUSE_CLOCK_STEP,
                                "its clock cannot be trusted");
    } else if (admitted->fitness == RL_FITNESS_FIT) {
        guard->cause = guard->told = RL_CAUSE_NONE;
        guard->why[0] = '\0';
    } else if (admitted->fitness == RL_FITNESS_QUARANTINED) {
        describe_quarantine(engine, why, sizeof why, admitted, pending->number == RL_WORD_LOOK);
        guard->quarantine_ends = after_ms(engine, admitted->wait_ms);
        /* Somebody may give the operator's word before the time is up: ask now and then. */
        guard->again =
            after_ms(engine, admitted->wait_ms < ASK_EVERY_MS ? admitted->wait_ms + 1 : ASK_EVERY_MS);
        rl_admission_refuse(engine, node, RL_CAUSE_QUARANTINE, why);
    }
}

static void take_error(struct rl_engine *engine, uint32_t node, const struct rl_admitted *admitted)
{
    struct rl_answer answer = rl_error_answer(admitted->error, admitted->error_length);
    char why[sizeof engine->guards[node].why];
    struct rl_text text = rl_text_on(why, sizeof why);

    rl_text_add(&text, "it cannot be asked whether it may vote: ");
    rl_text_add_printable(&text, admitted->error, admitted->error_length);
    engine->guards[node].again = after_ms(engine, FLOOR_RETRY_MS);
    rl_admission_refuse(engine, node, answer.cause, why);
}

bool rl_guard_reply(struct rl_engine *engine, uint32_t node, const struct rl_pending *pending,
                    const char *bytes, size_t length)
{
    struct rl_node_guard *guard = &engine->guards[node];
    redlock_lock *lock = pending->subject;
    struct rl_admitted admitted;

    assert(engine->config.guarded);
    assert(node < engine->node_count);
    rl_guard_read_admit(bytes, length, &admitted);
    guard->asking = rl_time_before(pending->sent, guard->asked); /* another one may be on its way */
    if (admitted.no_script && !pending->full) {
        if (rl_admission_ask(engine, node, (enum rl_word)pending->number, lock, true))
            return false;
        rl_admission_put_off(engine, node);
    } else if (admitted.another_master) {
        /* What it told about itself when it was greeted is not true any more. */
        rl_session_break(&engine->sessions[node], RL_CAUSE_EPOCH, admitted.error, engine->now);
        return true;
    } else if (admitted.fitness == RL_FITNESS_UNKNOWN)
        take_error(engine, node, &admitted);
    else
        take_admitted(engine, node, pending, &admitted);
    if (admitted.node_us != 0)
        rl_clocks_note(engine, node, rl_time_since(engine->now, pending->sent), admitted.node_us);
    if (pending->number == RL_WORD_LOOK) {
        /* For people to read; its vote has to be asked for. */
        guard->looked = admitted.fitness;
        guard->fitness = RL_FITNESS_UNKNOWN;
        guard->again = engine->now;
        return true;
    }
    if (admitted.node_us != 0)
        rl_clocks_look(engine, node, pending->sent, admitted.node_us);
    if (admitted.fitness != RL_FITNESS_UNKNOWN)
        go_on_accusing(engine, node, pending);
    if (guard->fitness == RL_FITNESS_FLOORLESS && !guard->asking && !engine->sweeping)
        begin_sweep(engine);
    conclude_sweep(engine);
    if (!guard->asking && guard->fitness != RL_FITNESS_FLOORLESS)
        engine->changed |= rl_node_set_one(node);
    return true;
}

void rl_guard_dropped(struct rl_engine *engine, uint32_t node)
{
    engine->guards[node].asking = false;
}

void rl_guard_down(struct rl_engine *engine, uint32_t node)
{
    engine->guards[node].asking = false;
    engine->guards[node].fitness = engine->guards[node].looked = RL_FITNESS_UNKNOWN;
    engine->guards[node].cause = RL_CAUSE_NONE;
    engine->guards[node].sweep = 0;
    conclude_sweep(engine);
}

void rl_guard_refused(struct rl_engine *engine, uint32_t node)
{
    struct rl_node_guard *guard = &engine->guards[node];

    if (!guard->asking)
        rl_admission_ask(engine, node, RL_WORD_NONE, NULL, false);
}

/* ---- looking ---- */

void rl_guard_look(struct rl_engine *engine)
{
    for (uint32_t node = 0; node < engine->node_count; node++) {
        const struct rl_node_guard *guard = &engine->guards[node];

        if (engine->config.guarded && rl_vote_reachable(engine, node) && !guard->by_info && !guard->asking &&
            guard->fitness == RL_FITNESS_UNKNOWN)
            rl_admission_ask(engine, node, RL_WORD_LOOK, NULL, false);
    }
}

bool rl_guard_in_time(const struct rl_engine *engine, uint32_t node, struct rl_time round_began)
{
    return !engine->config.guarded ||
           rl_time_since(engine->guards[node].admitted, round_began).us <= ADMITTED_WITHIN_MS * INT64_C(1000);
}

/* ---- the right to vote ---- */

enum rl_right rl_guard_right(struct rl_engine *engine, uint32_t node)
{
    struct rl_node_guard *guard = &engine->guards[node];
    /* Its record is in order, its clock is not: it is asked for the time now and then. */
    bool in_doubt = guard->clock_bad || (guard->suspected.us != 0 && guard->fitness == RL_FITNESS_FIT);

    assert(node < engine->node_count);
    if (rl_vote_counts(engine, node))
        return RL_MAY_VOTE;
    if (!rl_vote_reachable(engine, node) || !engine->voting)
        return RL_MAY_NOT_VOTE; /* before anybody has asked for a vote nodes are not bothered */
    assert(engine->config.guarded);
    if (guard->asking || (guard->fitness == RL_FITNESS_FLOORLESS && engine->sweeping))
        return RL_MAY_VOTE_SOON;
    if (in_doubt && rl_time_before(guard->probed, engine->now)) {
        guard->probed = after_ms(engine, PROBE_EVERY_MS);
        rl_admission_ask(engine, node, RL_WORD_NONE, NULL, false); /* its answer has the time in it */
        return RL_MAY_NOT_VOTE;
    }
    if (rl_time_before(engine->now, guard->again) || in_doubt)
        return RL_MAY_NOT_VOTE;
    if (guard->fitness == RL_FITNESS_FLOORLESS)
        begin_sweep(engine);
    else
        rl_admission_ask(engine, node, RL_WORD_NONE, NULL, false);
    return guard->asking ? RL_MAY_VOTE_SOON : RL_MAY_NOT_VOTE;
}
