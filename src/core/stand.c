/*
 * A caller in line; see stand.h. The rules of the hand-over are marked; model/handover.pml has those that safety rests on.
 */
#include "core/stand.h"

#include <assert.h>
#include <string.h>

#include "core/validity.h"

/* A waiter is believed to be there for three seconds; asking again every second or so keeps its place, and finds out about expired
 * locks that nobody else noticed. Only those near the front ask when a lock is about to expire. */
enum {
    KEEP_MS = 1000,
    KEEP_SPREAD_MS = 300,
    NEAR_FRONT = 2,
    EXPIRY_MARGIN_MS = 1,
    SPLIT_MIN_MS = 2,
    SPLIT_MAX_MS = 250
};

void rl_stand_init(struct rl_stand *stand, const struct rl_stand_config *config, struct rl_prng *prng)
{
    assert(config->node_count >= 1);
    assert(config->node_count <= RL_NODES_MAX);
    assert(config->ttl.us > 0);
    memset(stand, 0, sizeof *stand);
    stand->config = *config;
    stand->prng = prng;
    stand->backoff = rl_backoff_between(config->retry_min, config->retry_max);
    stand->ticket = config->ticket;
    stand->outcome = RL_OUTCOME_BUSY;
    stand->asked_by = stand->split_at = stand->keep_at = stand->wake_at = RL_TIME_NEVER;
}

static rl_node_set nodes_in(const struct rl_stand *stand, enum rl_stand_state state)
{
    rl_node_set set = 0;

    for (uint32_t node = 0; node < stand->config.node_count; node++)
        if (stand->nodes[node].state == state)
            set |= rl_node_set_one(node);
    return set;
}

static uint32_t quorum(const struct rl_stand *stand)
{
    return rl_quorum(stand->config.node_count);
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

        /* What it has there it keeps: asking again only confirms it. */
        if (node->state != RL_STAND_HAS)
            node->state = RL_STAND_ASKED;
        node->look_at = RL_TIME_NEVER;
    }
    stand->asked_by = rl_time_add(now, stand->config.node_timeout);
}

static struct rl_time next_keep(struct rl_stand *stand, struct rl_time now)
{
    int64_t spread_us = rl_prng_between(stand->prng, 0, KEEP_SPREAD_MS * 1000);

    return rl_time_add(now, rl_span_us(KEEP_MS * 1000 + spread_us));
}

/* Rule: each attempt has a fresh owner. What an earlier one was given, or is still given, counts for nothing. */
static void begin_attempt(struct rl_stand *stand, struct rl_time now, struct rl_effects *effects)
{
    stand->phase = RL_STAND_WAITING;
    for (uint32_t node = 0; node < stand->config.node_count; node++)
        stand->nodes[node] = (struct rl_stand_node){.look_at = RL_TIME_NEVER};
    stand->raising = stand->raised = 0;
    stand->fence = 0;
    stand->looked = false;
    stand->split_at = RL_TIME_NEVER;
    stand->patience = rl_span_ms(SPLIT_MIN_MS);
    stand->keep_at = next_keep(stand, now);
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

/* Whatever it has or may have at any node: the lock, or a place. Nothing is asked behind it unless a fresh attempt begins. */
static void give_back(struct rl_stand *stand, struct rl_effects *effects)
{
    effects->release = rl_node_set_all(stand->config.node_count);
    effects->acquire = 0;
    effects->question = 0;
    effects->raise = 0;
}

static void begin_anew(struct rl_stand *stand, struct rl_time now, struct rl_effects *effects)
{
    give_back(stand, effects);
    begin_attempt(stand, now, effects);
}

/* Rule: a lock is valid for as long as a quorum of its keys lives: until the quorum-th latest of their ends. */
static struct rl_time valid_until(const struct rl_stand *stand)
{
    struct rl_time latest[RL_NODES_MAX];
    uint32_t count = 0;

    /* Insertion into falling order; there are at most 31 nodes. */
    for (rl_node_set left = nodes_in(stand, RL_STAND_HAS); left != 0; left &= left - 1) {
        struct rl_time ends = stand->nodes[rl_node_set_first(left)].ends;
        uint32_t place = count++;

        for (; place > 0 && rl_time_before(latest[place - 1], ends); place--)
            latest[place] = latest[place - 1];
        latest[place] = ends;
    }
    // cppcheck-suppress uninitvar ; a quorum is at least one, so that one was filled in
    return count >= quorum(stand) ? latest[quorum(stand) - 1] : (struct rl_time){0};
}

static void win(struct rl_stand *stand, struct rl_time now, struct rl_effects *effects)
{
    stand->valid_until = valid_until(stand);
    if (rl_time_before(now, stand->valid_until))
        end(stand, RL_OUTCOME_OK, effects);
    else
        begin_anew(stand, now, effects);
}

/* ---- the fence ---- */

static rl_node_set nodes_at_fence(const struct rl_stand *stand)
{
    rl_node_set at = stand->raised;

    for (rl_node_set left = nodes_in(stand, RL_STAND_HAS); left != 0; left &= left - 1)
        if (stand->nodes[rl_node_set_first(left)].fence == stand->fence)
            at |= rl_node_set_one(rl_node_set_first(left));
    return at & nodes_in(stand, RL_STAND_HAS);
}

/* Fence rule, as in acquire.c: the highest number of the grants, once a quorum stores it while the lock is still ours there. */
static void agree_on_fence(struct rl_stand *stand, struct rl_time now, struct rl_effects *effects)
{
    rl_node_set has = nodes_in(stand, RL_STAND_HAS);

    for (rl_node_set left = has; left != 0; left &= left - 1)
        if (stand->nodes[rl_node_set_first(left)].fence > stand->fence)
            stand->fence = stand->nodes[rl_node_set_first(left)].fence;
    if (rl_node_set_count(nodes_at_fence(stand)) >= quorum(stand)) {
        win(stand, now, effects);
        return;
    }
    stand->phase = RL_STAND_RAISING;
    stand->raising = has & ~nodes_at_fence(stand);
    stand->asked_by = rl_time_add(now, stand->config.node_timeout);
    assert(effects->acquire == 0);
    effects->raise = stand->raising;
    effects->fence = stand->fence;
    effects->question = ++stand->question;
}

/* ---- counting ---- */

static bool has_quorum(const struct rl_stand *stand)
{
    return rl_node_set_count(nodes_in(stand, RL_STAND_HAS)) >= quorum(stand);
}

/* Too few nodes to ever make a quorum: it leaves the others' lines, for it would only be in the way there. */
static void give_up_attempt(struct rl_stand *stand, struct rl_time now, struct rl_effects *effects)
{
    struct rl_tally tally = rl_tally_start(stand->config.node_count);

    for (uint32_t node = 0; node < stand->config.node_count; node++)
        rl_tally_add(&tally, node, &stand->nodes[node].last);
    stand->outcome = rl_tally_reason(&tally);
    give_back(stand, effects);
    if (stand->outcome == RL_OUTCOME_INVALID || stand->outcome == RL_OUTCOME_FORBIDDEN ||
        stand->outcome == RL_OUTCOME_FOREIGN_TYPE) {
        end(stand, stand->outcome, effects);
        return;
    }
    stand->phase = RL_STAND_RESTING;
    stand->split_at = stand->asked_by = RL_TIME_NEVER;
    stand->keep_at = rl_time_add(now, rl_backoff_next(&stand->backoff, stand->prng));
}

/* At how many nodes somebody has the lock who has it at this one. */
static uint32_t count_held_alike(const struct rl_stand *stand, uint32_t number)
{
    uint64_t holder = stand->nodes[number].last.holder;
    uint32_t count = 0;

    for (rl_node_set left = nodes_in(stand, RL_STAND_LINED); left != 0; left &= left - 1)
        count += stand->nodes[rl_node_set_first(left)].last.holder == holder;
    return holder != 0 ? count : 0;
}

/* Rule: of a lock that is split the later ticket gives way; and everybody gives way to one that has a quorum, which then gets the rest, too. The
 * same ticket as its own is an earlier attempt's of itself, or of somebody who came in the same microsecond: both begin anew. */
static bool must_give_way(const struct rl_stand *stand)
{
    for (rl_node_set left = nodes_in(stand, RL_STAND_LINED); left != 0; left &= left - 1) {
        uint32_t node = rl_node_set_first(left);
        uint64_t theirs = stand->nodes[node].last.holder_ticket;

        if ((theirs != 0 && theirs <= stand->ticket) || count_held_alike(stand, node) >= quorum(stand))
            return true;
    }
    return false;
}

/* Some nodes are its own, and too few. What is under way may make them enough; then it looks who has the others. */
static void consider_split(struct rl_stand *stand, struct rl_time now, struct rl_effects *effects)
{
    bool open = nodes_in(stand, RL_STAND_ASKED) != 0;

    if (nodes_in(stand, RL_STAND_HAS) == 0 || open) {
        stand->split_at = RL_TIME_NEVER;
        return;
    }
    if (stand->looked && must_give_way(stand)) {
        begin_anew(stand, now, effects);
        return;
    }
    stand->looked = false;
    if (stand->split_at.us == RL_TIME_NEVER.us) {
        stand->split_at = rl_time_add(now, stand->patience);
        stand->patience.us *= 2;
        if (stand->patience.us > rl_span_ms(SPLIT_MAX_MS).us)
            stand->patience = rl_span_ms(SPLIT_MAX_MS);
    }
}

/* After anything that was learned while it waits. */
static void decide(struct rl_stand *stand, struct rl_time now, struct rl_effects *effects)
{
    rl_node_set out = nodes_in(stand, RL_STAND_OUT);

    if (stand->phase != RL_STAND_WAITING)
        return;
    if (nodes_in(stand, RL_STAND_ASKED) == 0)
        stand->asked_by = RL_TIME_NEVER;
    if (has_quorum(stand))
        agree_on_fence(stand, now, effects);
    else if (rl_node_set_count(out) > stand->config.node_count - quorum(stand))
        give_up_attempt(stand, now, effects);
    else
        consider_split(stand, now, effects);
}

/* Rule: the ticket is the highest that a node gave; once a quorum has taken the caller in, all of them are to go by it. */
static void take_place(struct rl_stand *stand, uint32_t number, const struct rl_answer *answer)
{
    stand->lined |= rl_node_set_one(number);
    if (!stand->settled && answer->ticket > stand->ticket)
        stand->ticket = answer->ticket;
    if (rl_node_set_count(stand->lined) >= quorum(stand))
        stand->settled = true;
}

static void note_exchange(struct rl_stand_node *node, const struct rl_event *event)
{
    node->last = event->answer;
    node->sent = event->sent;
    node->node_us = event->answer.node_us;
    node->look_at = RL_TIME_NEVER;
}

static void take_vote(struct rl_stand *stand, const struct rl_event *event)
{
    struct rl_stand_node *node = &stand->nodes[event->node];
    const struct rl_answer *answer = &event->answer;

    note_exchange(node, event);
    if (answer->verdict == RL_GRANTED) {
        node->state = RL_STAND_HAS;
        node->fence = answer->fence;
        node->ends = rl_validity_end(event->sent, stand->config.ttl, stand->config.drift_ppm);
        return;
    }
    node->state = RL_STAND_OUT;
    if (answer->verdict != RL_DENIED || answer->rank == 0)
        return;
    node->state = RL_STAND_LINED;
    take_place(stand, event->node, answer);
    if (answer->rank <= NEAR_FRONT && answer->ttl_left_ms >= 0)
        node->look_at = rl_time_add(event->now, rl_span_ms(answer->ttl_left_ms + EXPIRY_MARGIN_MS));
}

/* While the fence is raised: a late grant counts if its number is the very fence; a node that has it no more does not. */
static void take_late_vote(struct rl_stand *stand, const struct rl_event *event)
{
    struct rl_stand_node *node = &stand->nodes[event->node];
    bool granted = event->answer.verdict == RL_GRANTED;

    if (granted && node->state != RL_STAND_HAS && event->answer.fence != stand->fence) {
        node->state = RL_STAND_OUT;
    } else if (!granted || node->state != RL_STAND_HAS) {
        take_vote(stand, event);
        if (!granted)
            stand->raised &= ~rl_node_set_one(event->node);
    }
}

static void take_raise(struct rl_stand *stand, const struct rl_event *event, struct rl_effects *effects)
{
    rl_node_set one = rl_node_set_one(event->node);
    rl_node_set open;

    if (event->question != stand->question) {
        take_late_vote(stand, event);
    } else {
        stand->raising &= ~one;
        if (event->answer.verdict == RL_GRANTED)
            stand->raised |= one;
        else
            stand->nodes[event->node].state = RL_STAND_OUT; /* it slipped away there, or the node did */
    }
    open = stand->raising | nodes_in(stand, RL_STAND_ASKED);
    if (rl_node_set_count(nodes_at_fence(stand)) >= quorum(stand))
        win(stand, event->now, effects);
    else if (rl_node_set_count(nodes_at_fence(stand) | open) < quorum(stand))
        begin_anew(stand, event->now, effects);
}

static void take_answer(struct rl_stand *stand, const struct rl_event *event, struct rl_effects *effects)
{
    if (event->question < stand->attempt)
        return; /* of an earlier owner */
    if (stand->phase == RL_STAND_RAISING) {
        take_raise(stand, event, effects);
    } else if (stand->phase == RL_STAND_WAITING) {
        take_vote(stand, event);
        decide(stand, event->now, effects);
    }
}

/* Rule: a grant that was handed over counts from when the node gave it. By the node's clock that was so long after the last exchange; by
 * ours it was no less than that, but for the drift. */
static struct rl_time handed_until(const struct rl_stand *stand, const struct rl_stand_node *node,
                                   const struct rl_event *event)
{
    int64_t passed_us = event->answer.node_us - node->node_us;
    int64_t drift_us = rl_validity_drift(rl_span_us(passed_us), stand->config.drift_ppm).us;
    int64_t least_us = passed_us > drift_us ? passed_us - drift_us : 0;

    return rl_validity_end(rl_time_add(node->sent, rl_span_us(least_us)), event->ttl,
                           stand->config.drift_ppm);
}

/* While a question is under way there its answer will say the same: the connection keeps them in order. Where it cannot be known that
 * the node may vote, or for when the grant is, the lock is asked for: to its owner it is granted again, for the whole of its ttl. */
static void take_handed(struct rl_stand *stand, const struct rl_event *event, struct rl_effects *effects)
{
    struct rl_stand_node *node = &stand->nodes[event->node];

    if (stand->phase != RL_STAND_WAITING || node->state != RL_STAND_LINED)
        return;
    if (!event->eligible || node->node_us == 0 || event->answer.node_us < node->node_us ||
        event->ttl.us < stand->config.ttl.us) {
        ask(stand, rl_node_set_one(event->node), event->now, effects);
    } else {
        node->state = RL_STAND_HAS;
        node->fence = event->answer.fence;
        node->ends = handed_until(stand, node, event);
        node->look_at = RL_TIME_NEVER;
    }
    decide(stand, event->now, effects);
}

/* ---- time and nodes ---- */

/* Nodes where somebody's lock has expired. If it was its own, it may not be any more. */
static rl_node_set take_expired(struct rl_stand *stand, struct rl_time now)
{
    rl_node_set set = 0;

    for (uint32_t number = 0; number < stand->config.node_count; number++) {
        struct rl_stand_node *node = &stand->nodes[number];
        bool ended = node->state == RL_STAND_HAS && !rl_time_before(now, node->ends);

        if (ended)
            node->state = RL_STAND_OUT;
        if (ended || !rl_time_before(now, node->look_at))
            set |= rl_node_set_one(number);
    }
    return set;
}

static void wait_on(struct rl_stand *stand, struct rl_time now, struct rl_effects *effects)
{
    rl_node_set wanted = take_expired(stand, now);

    if (!rl_time_before(now, stand->asked_by)) {
        for (rl_node_set left = nodes_in(stand, RL_STAND_ASKED); left != 0; left &= left - 1)
            stand->nodes[rl_node_set_first(left)].state = RL_STAND_OUT;
        stand->asked_by = RL_TIME_NEVER;
    }
    if (!rl_time_before(now, stand->split_at)) {
        stand->split_at = RL_TIME_NEVER;
        stand->looked = true;
        wanted |= nodes_in(stand, RL_STAND_HAS) | nodes_in(stand, RL_STAND_LINED);
    }
    if (!rl_time_before(now, stand->keep_at)) {
        stand->keep_at = next_keep(stand, now);
        wanted = rl_node_set_all(stand->config.node_count);
    }
    ask(stand, wanted, now, effects);
    decide(stand, now, effects);
}

static void take_timer(struct rl_stand *stand, struct rl_time now, struct rl_effects *effects)
{
    if (!rl_time_before(now, stand->config.give_up_at)) {
        give_back(stand, effects);
        end(stand, stand->outcome == RL_OUTCOME_BUSY ? RL_OUTCOME_TIMEOUT : stand->outcome, effects);
        return;
    }
    if (stand->phase == RL_STAND_RESTING && !rl_time_before(now, stand->keep_at)) {
        stand->outcome = RL_OUTCOME_BUSY;
        begin_attempt(stand, now, effects);
    } else if (stand->phase == RL_STAND_RAISING && !rl_time_before(now, stand->asked_by)) {
        begin_anew(stand, now, effects);
    } else if (stand->phase == RL_STAND_WAITING) {
        wait_on(stand, now, effects);
    }
}

/* A connection came: its place may be gone, and what was handed over meanwhile was not heard. One that went takes nothing along that the
 * node has granted. */
static void take_node(struct rl_stand *stand, const struct rl_event *event, struct rl_effects *effects)
{
    struct rl_stand_node *node = &stand->nodes[event->node];

    if (stand->phase != RL_STAND_WAITING)
        return;
    if (event->kind == RL_EVENT_UP)
        ask(stand, rl_node_set_one(event->node), event->now, effects);
    else if (node->state != RL_STAND_HAS)
        *node = (struct rl_stand_node){.state = RL_STAND_OUT, .look_at = RL_TIME_NEVER, .last = node->last};
    decide(stand, event->now, effects);
}

static void set_wake(struct rl_stand *stand)
{
    struct rl_time at = rl_time_min(stand->config.give_up_at, stand->keep_at);

    if (stand->phase == RL_STAND_ENDED)
        return;
    at = rl_time_min(at, rl_time_min(stand->asked_by, stand->split_at));
    for (uint32_t node = 0; node < stand->config.node_count && stand->phase == RL_STAND_WAITING; node++) {
        at = rl_time_min(at, stand->nodes[node].look_at);
        if (stand->nodes[node].state == RL_STAND_HAS)
            at = rl_time_min(at, stand->nodes[node].ends);
    }
    stand->wake_at = at;
}

void rl_stand_step(struct rl_stand *stand, const struct rl_event *event, struct rl_effects *effects)
{
    *effects = (struct rl_effects){0};
    if (stand->phase == RL_STAND_ENDED)
        return;
    switch (event->kind) {
    case RL_EVENT_START:
        begin_attempt(stand, event->now, effects);
        break;
    case RL_EVENT_ANSWER:
        take_answer(stand, event, effects);
        break;
    case RL_EVENT_HANDED:
        take_handed(stand, event, effects);
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
    case RL_EVENT_CHANGED:
    case RL_EVENT_MISSED:
    case RL_EVENT_EXTEND:
    case RL_EVENT_RELEASE:
    case RL_EVENT_ABANDON:
        assert(!"a caller in line is neither queued nor a lease");
    }
    set_wake(stand);
}

uint32_t rl_stand_place(const struct rl_stand *stand)
{
    uint32_t places[RL_NODES_MAX], count = 0;

    for (rl_node_set left = nodes_in(stand, RL_STAND_LINED); left != 0; left &= left - 1) {
        uint32_t rank = stand->nodes[rl_node_set_first(left)].last.rank, place = count++;

        for (; place > 0 && rank < places[place - 1]; place--)
            places[place] = places[place - 1];
        places[place] = rank;
    }
    return count > 0 ? places[count / 2] : 0;
}
