/*
 * What to do about a node whose clock misbehaves: it does not vote, and when the others agree that it is the
 * node's clock and not ours, the node is told, so that everybody learns that its locks may have ended early.
 * core/clock_watch measures.
 */
#include "engine/clocks.h"

#include <assert.h>

#include "base/format.h"
#include "engine/admission.h"

static void begin_suspicion(struct rl_engine *engine, uint32_t node, enum rl_cause cause, const char *why)
{
    rl_admission_refuse(engine, node, cause, why);
    engine->guards[node].suspected = engine->now;
    /* Fresh looks at the others tell whose clock it was. */
    for (uint32_t other = 0; other < engine->node_count; other++)
        if (other != node && engine->sessions[other].state == RL_SESSION_READY &&
            engine->guards[other].fitness == RL_FITNESS_FIT && !engine->guards[other].asking)
            rl_admission_ask(engine, other, RL_WORD_NONE, NULL, false);
}

static uint32_t count_suspected(const struct rl_engine *engine)
{
    uint32_t count = 0;

    for (uint32_t node = 0; node < engine->node_count; node++)
        count += engine->guards[node].suspected.us != 0;
    return count;
}

/* Nodes whose clocks were seen to be good after this one was not. */
static uint32_t count_witnesses(const struct rl_engine *engine, uint32_t suspect)
{
    uint32_t count = 0;

    for (uint32_t node = 0; node < engine->node_count; node++)
        count += node != suspect && engine->guards[node].suspected.us == 0 &&
                 !rl_time_before(engine->guards[node].seen_good, engine->guards[suspect].suspected);
    return count;
}

/* Most nodes cannot have jumped together: our own clock did. They are watched anew, and nobody is accused. */
static void acquit_all(struct rl_engine *engine)
{
    rl_state_log(engine, REDLOCK_LOG_WARNING,
                 "the clocks of most nodes jumped at once: it was this machine's clock");
    for (uint32_t node = 0; node < engine->node_count; node++) {
        struct rl_node_guard *guard = &engine->guards[node];

        guard->suspected = (struct rl_time){0};
        guard->clock_bad = false;
        guard->watch.anchored = false;
        if (rl_cause_is_clock(guard->cause))
            guard->cause = RL_CAUSE_NONE;
    }
}

/* Keys that a fast or jumping clock let expire are lost locks: the node is quarantined, for everybody. */
static void accuse(struct rl_engine *engine, uint32_t node)
{
    struct rl_node_guard *guard = &engine->guards[node];

    assert(guard->suspected.us != 0);
    guard->suspected = (struct rl_time){0};
    rl_admission_accuse(engine, node);
    if (!guard->clock_bad)
        guard->cause = RL_CAUSE_NONE; /* what the admission answers counts from here on */
}

static void judge(struct rl_engine *engine)
{
    uint32_t quorum = rl_quorum(engine->node_count);
    uint32_t suspected = count_suspected(engine);

    if (suspected == 0)
        return;
    if (suspected >= quorum && engine->node_count > 1) {
        acquit_all(engine);
        return;
    }
    for (uint32_t node = 0; node < engine->node_count; node++)
        if (engine->guards[node].suspected.us != 0 && count_witnesses(engine, node) + 1 >= quorum)
            accuse(engine, node);
}

static void describe(const struct rl_clock_watch *watch, enum rl_clock_state state, char *why, size_t size)
{
    struct rl_text text = rl_text_on(why, size);

    if (state == RL_CLOCK_STEP)
        rl_text_format(&text, "its clock jumped by %+ld ms", (long)(watch->step_us / 1000));
    else
        rl_text_format(&text, "its clock runs at another rate than ours: %+ld ppm", (long)watch->rate_ppm);
}

bool rl_clocks_look(struct rl_engine *engine, uint32_t node, struct rl_time sent, int64_t node_us)
{
    struct rl_node_guard *guard = &engine->guards[node];
    bool was_bad = guard->clock_bad;
    enum rl_clock_state state;
    char why[sizeof guard->why];

    if (!engine->config.guarded)
        return true;
    state = rl_clock_watch_add(&guard->watch, sent, engine->now, node_us, engine->config.drift_ppm);
    guard->clock_bad = state == RL_CLOCK_RATE;
    if (state == RL_CLOCK_GOOD)
        guard->seen_good = sent;
    else if (!was_bad || state == RL_CLOCK_STEP) {
        describe(&guard->watch, state, why, sizeof why);
        begin_suspicion(engine, node, state == RL_CLOCK_STEP ? RL_CAUSE_CLOCK_STEP : RL_CAUSE_CLOCK_RATE,
                        why);
    }
    if (was_bad && state == RL_CLOCK_GOOD && rl_cause_is_clock(guard->cause) && guard->suspected.us == 0)
        guard->cause = RL_CAUSE_NONE;
    judge(engine);
    return state == RL_CLOCK_GOOD && guard->suspected.us == 0;
}

/* It looked at its clock half-way between question and answer, as far as we know. */
void rl_clocks_note(struct rl_engine *engine, uint32_t node, struct rl_span latency, int64_t node_us)
{
    engine->guards[node].clock_offset_us = node_us - (rl_state_wall_us(engine) - latency.us / 2);
    engine->guards[node].clock_seen = true;
}
