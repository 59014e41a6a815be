/*
 * A caller at guarded nodes; see stand.h. The rules of the hand-over are marked; model/handover.pml has those
 * that safety rests on.
 */
#include "core/stand.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "core/split.h"
#include "core/stand_times.h"
#include "core/validity.h"

enum {
    EXPIRY_MARGIN_MS = 1,
    /* a node that cannot tell it is asked that often; see hand_on.lua for what it has to catch */
    UNTOLD_MS = 200,
    /* of several names: how often each node may hand it one in vain, and how many exchanges it rests then */
    BEARABLE = 4,
    REST_EXCHANGES = 16,
    REST_MOST_MS = 100 /* what it was handed is its own for a second */
};

void rl_stand_init(struct rl_stand *stand, const struct rl_acquire_config *config, struct rl_prng *prng)
{
    assert(config->node_count >= 1);
    assert(config->node_count <= RL_NODES_MAX);
    assert(config->ttl.us > 0);
    memset(stand, 0, offsetof(struct rl_stand, nodes)); /* an attempt clears those */
    stand->config = *config;
    stand->prng = prng;
    stand->backoff = rl_backoff_between(config->retry_min, config->retry_max);
    stand->ticket = config->ticket < RL_TICKET_MAX ? config->ticket : RL_TICKET_MAX;
    stand->outcome = RL_OUTCOME_BUSY;
    stand->asked_by = stand->split_at = stand->watch_at = stand->keep_at = stand->wake_at = RL_TIME_NEVER;
}

/* ---- asking ---- */

static void ask(struct rl_stand *stand, rl_node_set nodes, struct rl_time now, struct rl_effects *effects)
{
    if (nodes == 0)
        return;
    effects->acquire |= nodes;
    if (effects->question == 0)
        effects->question = ++stand->question;
    for (rl_node_set left = nodes; left != 0; left &= left - 1) {
        struct rl_stand_node *node = &stand->nodes[rl_node_set_first(left)];

        /* What it has there it keeps: asking again only confirms it. But what is not the one slot that it
         * wants is given back by this. */
        if (stand->only && (node->state != RL_STAND_HAS || node->slot != stand->wish)) {
            node->state = RL_STAND_ASKED;
            node->valid_from = effects->question;
        }
        if (node->state != RL_STAND_HAS)
            node->state = RL_STAND_ASKED;
        node->look_at = RL_TIME_NEVER;
    }
    stand->asked_by = rl_time_add(now, stand->config.node_timeout);
    if (stand->question == 1)
        stand->asked_by = rl_time_add(stand->asked_by, stand->config.first_wait);
}

/* Rule: each attempt has a fresh owner. What an earlier one was given, or is still given, counts for
 * nothing. */
static void begin_attempt(struct rl_stand *stand, struct rl_time now, struct rl_effects *effects)
{
    stand->phase = RL_STAND_WAITING;
    for (uint32_t node = 0; node < stand->config.node_count; node++)
        stand->nodes[node] = (struct rl_stand_node){.look_at = RL_TIME_NEVER};
    stand->raising = 0;
    stand->fence = 0;
    stand->handed = stand->only = stand->keeps = false;
    stand->handed_in_vain = 0;
    stand->slot = 0;
    if (stand->attempts == 0 && stand->config.wish > 0)
        stand->wish = stand->config.wish;
    else if (stand->config.slots > 0) /* those who come together are to spread */
        stand->wish = (uint32_t)rl_prng_between(stand->prng, 1, stand->config.slots);
    stand->attempts++;
    rl_split_end(stand);
    stand->watch_at = RL_TIME_NEVER;
    stand->keep_at = rl_stand_next_keep(stand, now);
    effects->fresh = true;
    ask(stand, rl_node_set_all(stand->config.node_count), now, effects);
    stand->attempt = stand->question;
}

/* ---- ending ---- */

static void end(struct rl_stand *stand, enum rl_outcome outcome, struct rl_effects *effects)
{
    stand->phase = RL_STAND_ENDED;
    stand->outcome = outcome;
    stand->wake_at = RL_TIME_NEVER;
    effects->done = true;
}

/* Whatever it has or may have at any node: the lock, or a place, which a node that denied it to a caller that
 * does not wait has not given. Nothing is asked behind it unless a fresh attempt begins. */
static void give_back(struct rl_stand *stand, struct rl_effects *effects)
{
    effects->release = rl_node_set_all(stand->config.node_count);
    if (!rl_stand_waits(stand) && stand->phase == RL_STAND_WAITING)
        effects->release &= ~rl_stand_tally(stand).denied;
    effects->acquire = effects->raise = effects->watch = 0;
    effects->question = 0;
}

/* What it had did not become a lock: others want it, too, it took too long, or the nodes failed. */
static void begin_anew(struct rl_stand *stand, struct rl_time now, struct rl_effects *effects)
{
    struct rl_tally tally = rl_stand_tally(stand);
    enum rl_outcome reason = rl_tally_reason(&tally);

    stand->outcome = RL_OUTCOME_BUSY;
    give_back(stand, effects);
    if (rl_stand_waits(stand))
        begin_attempt(stand, now, effects);
    else
        end(stand, reason == RL_OUTCOME_BUSY ? RL_OUTCOME_TOO_SLOW : reason, effects);
}

static void win(struct rl_stand *stand, struct rl_time now, struct rl_effects *effects)
{
    stand->valid_until = rl_stand_valid_until(stand);
    if (rl_time_before(now, stand->valid_until))
        end(stand, RL_OUTCOME_OK, effects);
    else
        begin_anew(stand, now, effects);
}

/* ---- the fence ---- */

/* Fence rule: F is the highest number among the grants, and may be handed out once a quorum stores it while
 * the lock is still ours there. Mostly all grants are equal and this takes no second round. */
static void agree_on_fence(struct rl_stand *stand, struct rl_time now, struct rl_effects *effects)
{
    rl_node_set has = rl_stand_votes(stand);

    for (rl_node_set left = has; left != 0; left &= left - 1)
        if (stand->nodes[rl_node_set_first(left)].fence > stand->fence)
            stand->fence = stand->nodes[rl_node_set_first(left)].fence;
    if (rl_node_set_count(rl_stand_nodes_at_fence(stand)) >= rl_stand_quorum(stand)) {
        win(stand, now, effects);
        return;
    }
    stand->phase = RL_STAND_RAISING;
    stand->raising = has & ~rl_stand_nodes_at_fence(stand);
    stand->asked_by = rl_time_add(now, stand->config.node_timeout);
    assert(effects->acquire == 0);
    effects->raise = stand->raising;
    effects->fence = stand->fence;
    effects->question = ++stand->question;
}

static bool has_quorum(const struct rl_stand *stand)
{
    return rl_node_set_count(rl_stand_votes(stand)) >= rl_stand_quorum(stand);
}

/* ---- counting ---- */

/* Too few nodes to ever make a quorum: it leaves the others' lines, for it would only be in the way there. */
static void give_up_attempt(struct rl_stand *stand, struct rl_time now, struct rl_effects *effects)
{
    struct rl_tally tally = rl_stand_tally(stand);

    stand->outcome = rl_tally_reason(&tally);
    give_back(stand, effects);
    if (stand->outcome == RL_OUTCOME_INVALID || stand->outcome == RL_OUTCOME_FORBIDDEN ||
        stand->outcome == RL_OUTCOME_FOREIGN_TYPE || stand->config.once || !rl_stand_waits(stand)) {
        end(stand, stand->outcome, effects);
        return;
    }
    stand->phase = RL_STAND_RESTING;
    stand->split_at = stand->asked_by = RL_TIME_NEVER;
    stand->keep_at = rl_time_add(now, rl_backoff_next(&stand->backoff, stand->prng));
}

/* Too few nodes are its own. Answers of before a vote was given back do not count. */
static void consider_split(struct rl_stand *stand, struct rl_time now, struct rl_effects *effects)
{
    enum rl_split_advice advice = rl_split_consider(stand, now);
    bool has_none = rl_stand_nodes(stand, RL_STAND_HAS) == 0;

    if (stand->config.several && !has_none)
        stand->keeps = true;
    if (advice == RL_SPLIT_GIVE_WAY) {
        /* Rule: a caller that gives way keeps its place. Nodes hand what it gives back to the one that comes
         * first and, when that one shares the lock, to all others up to the next that does not: so it has to
         * be in line by then, or all those behind it would come in, too. */
        begin_anew(stand, now, effects);
        effects->asks_first = effects->fresh && !RL_PLANTED(&stand->config, RL_PLANTED_LEAVES_TO_GIVE_WAY);
    } else if (advice == RL_SPLIT_YIELD) {
        rl_node_set given_back = rl_split_yield(stand);

        ask(stand, given_back, now, effects);
        for (rl_node_set left = given_back; left != 0; left &= left - 1)
            stand->nodes[rl_node_set_first(left)].valid_from = stand->question;
    } else if ((stand->only || stand->keeps) && has_none && rl_stand_nodes(stand, RL_STAND_ASKED) == 0) {
        /* It has lost what it contended with: any slot will do, and names that nodes have left it are only in
         * the way of others. */
        stand->only = stand->keeps = false;
        ask(stand, rl_stand_nodes(stand, RL_STAND_LINED), now, effects);
    }
}

/* After anything that was learned while it waits. */
static void decide(struct rl_stand *stand, struct rl_time now, struct rl_effects *effects)
{
    rl_node_set out = rl_stand_nodes(stand, RL_STAND_OUT);
    bool in_vain = rl_node_set_count(out) > stand->config.node_count - rl_stand_quorum(stand);

    if (stand->phase != RL_STAND_WAITING)
        return;
    if (rl_stand_nodes(stand, RL_STAND_ASKED) == 0)
        stand->asked_by = RL_TIME_NEVER;
    if (stand->config.slots > 0)
        stand->slot = rl_stand_best_slot(stand);
    /* A wrong configuration is refused as soon as it is known; until then the second name of a server has no
     * vote. */
    if (rl_stand_tally(stand).duplicate != 0 || (in_vain && !rl_stand_reason_open(stand)))
        give_up_attempt(stand, now, effects);
    else if (has_quorum(stand))
        agree_on_fence(stand, now, effects);
    else if (!in_vain)
        consider_split(stand, now, effects);
}

/* Rule: the ticket is the highest that a node gave; once a quorum has taken the caller in, all of them are to
 * go by it. One that leaves no room behind it is a misbehaving node's. */
static void take_place(struct rl_stand *stand, uint32_t number, const struct rl_answer *answer,
                       struct rl_effects *effects)
{
    stand->lined |= rl_node_set_one(number);
    if (stand->settled)
        return;
    if (answer->ticket > stand->ticket && answer->ticket <= RL_TICKET_MAX)
        stand->ticket = answer->ticket;
    stand->settled = effects->lined = rl_node_set_count(stand->lined) >= rl_stand_quorum(stand);
}

static void note_exchange(struct rl_stand_node *node, const struct rl_event *event)
{
    node->last = event->answer;
    node->sent = event->sent;
    node->took = rl_time_since(event->now, event->sent);
    node->node_us = event->answer.node_us;
    node->look_at = RL_TIME_NEVER;
}

/* Rule: a vote for a semaphore names one of its slots, or it is none. */
static bool is_vote(const struct rl_stand *stand, const struct rl_answer *answer)
{
    if (answer->verdict != RL_GRANTED)
        return false;
    return stand->config.slots > 0 ? answer->slot >= 1 && answer->slot <= stand->config.slots
                                   : answer->slot == 0;
}

static void take_vote(struct rl_stand *stand, const struct rl_event *event, struct rl_effects *effects)
{
    struct rl_stand_node *node = &stand->nodes[event->node];
    const struct rl_answer *answer = &event->answer;
    bool heard = node->heard;

    note_exchange(node, event);
    node->heard = false;
    if (answer->verdict == RL_GRANTED && !is_vote(stand, answer))
        node->last = (struct rl_answer){.verdict = RL_FAILED, .cause = RL_CAUSE_PROTOCOL};
    if (is_vote(stand, answer)) {
        rl_split_stop_yielding(stand, event->now);
        node->state = RL_STAND_HAS;
        node->fence = answer->fence;
        node->slot = answer->slot;
        node->given = event->sent;
        node->ends = rl_validity_end(event->sent, stand->config.ttl, stand->config.drift_ppm);
        return;
    }
    node->state = RL_STAND_OUT;
    if (answer->verdict != RL_DENIED || answer->rank == 0 || !rl_stand_waits(stand))
        return;
    node->state = RL_STAND_LINED;
    node->yields = node->yields && answer->holder == 0;
    take_place(stand, event->node, answer, effects);
    if (answer->rank <= RL_STAND_NEAR_FRONT && answer->ttl_left_ms >= 0 &&
        !RL_PLANTED(&stand->config, RL_PLANTED_EXPIRY_UNSEEN))
        node->look_at = rl_time_add(event->now, rl_span_ms(answer->ttl_left_ms + EXPIRY_MARGIN_MS));
    if (!answer->armed) {
        struct rl_span pause = rl_span_ms(rl_prng_between(stand->prng, UNTOLD_MS / 2, UNTOLD_MS));

        node->look_at = rl_time_min(node->look_at, rl_time_add(event->now, pause));
    }
    if (heard) /* behind this answer, but in front of the rest of the reply */
        node->look_at = event->now;
}

/* An answer to the raise, or a late vote. A late grant counts at the fence if its number is the very fence:
 * one above may have been there before, and whoever put it there may have been handed it. So where the lock
 * was given anew meanwhile, with another number, all have to agree once more. */
static void take_raise(struct rl_stand *stand, const struct rl_event *event, struct rl_effects *effects)
{
    struct rl_stand_node *node = &stand->nodes[event->node];
    rl_node_set at, open;

    if (event->question != stand->question) {
        take_vote(stand, event, effects);
        if (node->slot != stand->slot) /* no vote: it gives that one back in the end */
            stand->raising &= ~rl_node_set_one(event->node);
    } else {
        stand->raising &= ~rl_node_set_one(event->node);
        if (event->answer.verdict == RL_GRANTED) {
            node->fence = stand->fence;
        } else if (node->fence <= stand->fence &&
                   node->slot == stand->slot) { /* it slipped away there, or the node did */
            node->state = RL_STAND_OUT;
            node->last = event->answer;
        }
    }
    at = rl_stand_nodes_at_fence(stand);
    open = stand->raising | rl_stand_nodes(stand, RL_STAND_ASKED);
    if (rl_node_set_count(at) >= rl_stand_quorum(stand))
        win(stand, event->now, effects);
    else if (rl_node_set_count(at | open) >= rl_stand_quorum(stand))
        return;
    else if (has_quorum(stand))
        agree_on_fence(stand, event->now, effects);
    else
        begin_anew(stand, event->now, effects);
}

static void take_answer(struct rl_stand *stand, const struct rl_event *event, struct rl_effects *effects)
{
    if (event->question < stand->attempt && !RL_PLANTED(&stand->config, RL_PLANTED_GIVEN_BACK_COUNTS))
        return; /* of an earlier owner */
    if (event->question < stand->nodes[event->node].valid_from)
        return; /* of a vote that was given back since */
    if (stand->phase == RL_STAND_RAISING) {
        take_raise(stand, event, effects);
    } else if (stand->phase == RL_STAND_WAITING) {
        take_vote(stand, event, effects);
        decide(stand, event->now, effects);
    }
}

/* Callers of the same names, each of which is handed another one of them, can send each other round for ever:
 * each finds that the rest is taken, and gives back its own, which goes to the next. It ends when one of them
 * lets the others come to its line before it asks. So one that is handed names again and again and gets no
 * further rests before it asks, for a random time that grows. */
static struct rl_span rest_when_handed(struct rl_stand *stand)
{
    uint32_t times;
    int64_t most_us;

    if (!stand->config.several)
        return rl_span_us(0);
    times = stand->handed_in_vain++ / (BEARABLE * stand->config.node_count);
    most_us = (times < REST_EXCHANGES ? times : REST_EXCHANGES) * rl_stand_exchange(stand).us;
    if (most_us > rl_span_ms(REST_MOST_MS).us)
        most_us = rl_span_ms(REST_MOST_MS).us;
    return rl_span_us(most_us > 0 ? rl_prng_between(stand->prng, 0, most_us) : 0);
}

/* While a question is under way there its answer will say the same, or it is asked once more. Where it cannot
 * be known that the node may vote, or for when the grant is, or that is not for long enough, the lock is
 * asked for: to its owner it is granted again, for the whole of its ttl. So it is where the node was not
 * known to have it in line. */
static void take_handed(struct rl_stand *stand, const struct rl_event *event, struct rl_effects *effects)
{
    struct rl_stand_node *node = &stand->nodes[event->node];
    struct rl_span rest;
    bool dated = node->node_us != 0 && event->answer.node_us >= node->node_us;
    struct rl_time given = dated ? rl_stand_handed_at(stand, node, event) : event->now;

    node->heard = node->state == RL_STAND_ASKED;
    if (stand->phase == RL_STAND_RAISING && node->state == RL_STAND_LINED &&
        event->answer.slot != stand->slot) {
        node->state = RL_STAND_HAS; /* no vote, as above: it is given back in the end */
        node->slot = event->answer.slot;
    }
    if (stand->phase != RL_STAND_WAITING || !rl_stand_waits(stand) || node->state == RL_STAND_ASKED ||
        node->state == RL_STAND_HAS)
        return;
    stand->handed = true;
    rl_split_stop_yielding(stand, event->now);
    if (node->state == RL_STAND_LINED && event->eligible && dated &&
        rl_stand_lasts(stand, event->ttl, given, event->now)) {
        node->state = RL_STAND_HAS;
        node->fence = event->answer.fence;
        node->slot = event->answer.slot;
        node->given = given;
        node->ends = rl_validity_end(given, event->ttl, stand->config.drift_ppm);
        node->look_at = RL_TIME_NEVER;
    } else if ((rest = rest_when_handed(stand)).us > 0) {
        node->look_at = rl_time_min(node->look_at, rl_time_add(event->now, rest));
    } else {
        ask(stand, rl_node_set_one(event->node), event->now, effects);
    }
    decide(stand, event->now, effects);
}

/* ---- watching ---- */

static void take_watched(struct rl_stand *stand, const struct rl_event *event, struct rl_effects *effects)
{
    struct rl_stand_node *node = &stand->nodes[event->node];
    const struct rl_answer *answer = &event->answer;

    if (stand->phase != RL_STAND_WAITING || node->state != RL_STAND_LINED)
        return;
    if (answer->verdict == RL_GRANTED) { /* free */
        ask(stand, rl_node_set_one(event->node), event->now, effects);
        decide(stand, event->now, effects);
    } else if (answer->verdict == RL_DENIED && answer->ttl_left_ms >= 0) {
        node->look_at = rl_time_min(
            node->look_at, rl_time_add(event->now, rl_span_ms(answer->ttl_left_ms + EXPIRY_MARGIN_MS)));
    }
}

static void take_changed(struct rl_stand *stand, const struct rl_event *event, struct rl_effects *effects)
{
    struct rl_stand_node *node = &stand->nodes[event->node];

    node->watched = false;
    if (stand->phase != RL_STAND_WAITING || node->state != RL_STAND_LINED)
        return;
    ask(stand, rl_node_set_one(event->node), event->now, effects);
    decide(stand, event->now, effects);
}

/* ---- time and nodes ---- */

static void drop_silent(struct rl_stand *stand, rl_node_set silent)
{
    for (rl_node_set left = silent; left != 0; left &= left - 1)
        stand->nodes[rl_node_set_first(left)].state = RL_STAND_OUT;
}

static void wait_on(struct rl_stand *stand, struct rl_time now, struct rl_effects *effects)
{
    rl_node_set wanted = rl_stand_take_expired(stand, now);

    if (!rl_time_before(now, stand->asked_by)) {
        drop_silent(stand, rl_stand_nodes(stand, RL_STAND_ASKED));
        stand->asked_by = RL_TIME_NEVER;
    }
    wanted |= rl_split_look(stand, now);
    if (!rl_time_before(now, stand->keep_at)) {
        stand->keep_at = rl_stand_next_keep(stand, now);
        wanted = rl_node_set_all(stand->config.node_count);
    }
    if (!rl_time_before(now, stand->watch_at)) {
        stand->watch_at = RL_TIME_NEVER;
        effects->watch = rl_stand_nodes_to_watch(stand) & ~wanted;
        for (rl_node_set left = effects->watch; left != 0; left &= left - 1)
            stand->nodes[rl_node_set_first(left)].watched = true;
    }
    if (rl_stand_waits(stand))
        ask(stand, wanted, now, effects);
    decide(stand, now, effects);
}

static void give_up(struct rl_stand *stand, struct rl_time now, struct rl_effects *effects)
{
    enum rl_outcome outcome = rl_stand_reason(stand, now);

    give_back(stand, effects);
    end(stand, outcome == RL_OUTCOME_BUSY && !stand->config.once ? RL_OUTCOME_TIMEOUT : outcome, effects);
}

static void take_timer(struct rl_stand *stand, struct rl_time now, struct rl_effects *effects)
{
    if (!rl_time_before(now, rl_stand_deadline(stand))) {
        give_up(stand, now, effects);
        return;
    }
    if (stand->phase == RL_STAND_RESTING && !rl_time_before(now, stand->keep_at))
        begin_attempt(stand, now, effects);
    else if (stand->phase == RL_STAND_RAISING && !rl_time_before(now, stand->asked_by)) {
        drop_silent(stand, stand->raising | rl_stand_nodes(stand, RL_STAND_ASKED));
        begin_anew(stand, now, effects);
    } else if (stand->phase == RL_STAND_WAITING)
        wait_on(stand, now, effects);
}

/* A connection came: its place may be gone, and what was handed over meanwhile was not heard. One that went
 * takes nothing along that the node has granted. */
static void take_node(struct rl_stand *stand, const struct rl_event *event, struct rl_effects *effects)
{
    struct rl_stand_node *node = &stand->nodes[event->node];

    if (stand->phase != RL_STAND_WAITING)
        return;
    if (event->kind == RL_EVENT_UP && (node->state == RL_STAND_ASKED || !rl_stand_waits(stand)))
        return; /* it is owed the question, and gets it now; or it was not asked, and will not be */
    if (event->kind == RL_EVENT_UP)
        ask(stand, rl_node_set_one(event->node), event->now, effects);
    else if (node->state != RL_STAND_HAS)
        *node = (struct rl_stand_node){.state = RL_STAND_OUT, .look_at = RL_TIME_NEVER, .last = node->last};
    decide(stand, event->now, effects);
}

void rl_stand_step(struct rl_stand *stand, const struct rl_event *event, struct rl_effects *effects)
{
    *effects = (struct rl_effects){0};
    if (stand->phase == RL_STAND_ENDED)
        return;
    switch (event->kind) {
    case RL_EVENT_START:
        stand->started = stand->config.began.us != 0 ? stand->config.began : event->now;
        begin_attempt(stand, event->now, effects);
        break;
    case RL_EVENT_ANSWER:
        take_answer(stand, event, effects);
        break;
    case RL_EVENT_HANDED:
        take_handed(stand, event, effects);
        break;
    case RL_EVENT_WATCHED:
        take_watched(stand, event, effects);
        break;
    case RL_EVENT_CHANGED:
        take_changed(stand, event, effects);
        break;
    case RL_EVENT_TIMER:
        take_timer(stand, event->now, effects);
        break;
    case RL_EVENT_UP:
    case RL_EVENT_DOWN:
        take_node(stand, event, effects);
        break;
    case RL_EVENT_CANCEL:
        give_back(stand, effects);
        end(stand, RL_OUTCOME_CANCELED, effects);
        break;
    case RL_EVENT_TURN:
    case RL_EVENT_MISSED:
    case RL_EVENT_EXTEND:
    case RL_EVENT_RELEASE:
    case RL_EVENT_ABANDON:
        assert(!"a caller in line is neither queued nor a lease");
    }
    rl_stand_plan_watch(stand, event->now);
    rl_stand_set_wake(stand);
}
