/*
 * Waiting for connections before a question is put; see settling.h.
 */
#include "engine/settling.h"

#include <assert.h>

#include "core/validity.h"
#include "engine/guard.h"
#include "engine/holding.h"
#include "engine/listing.h"
#include "engine/nodes.h"
#include "engine/survey.h"

/* The validity a lock would have if a quorum extended it now: nothing is promised before they did. */
static void presume_held(redlock_lock *lock)
{
    struct rl_time now = lock->engine->now;

    rl_holding_start(lock, now, rl_validity_end(now, lock->lease.config.ttl, lock->engine->config.drift_ppm));
}

static void start_on_lock(struct rl_operation *operation)
{
    redlock_lock *lock = operation->lock;
    bool releases = operation->kind == RL_OPERATION_RELEASE;
    struct rl_event event = {.kind = releases ? RL_EVENT_RELEASE : RL_EVENT_EXTEND,
                             .now = lock->engine->now,
                             .ttl = lock->lease.config.ttl};

    presume_held(lock);
    rl_list_append(&lock->waiting, &operation->on_lock);
    rl_holding_event(lock, &event);
}

void rl_settling_start(struct rl_operation *operation)
{
    struct rl_engine *engine = operation->lock->engine;
    bool looks = operation->kind == RL_OPERATION_INSPECT || operation->kind == RL_OPERATION_EXAMINE;

    assert(!operation->done);
    rl_list_remove(&operation->settling);
    rl_timers_set(&engine->timers, &operation->timer, RL_TIME_NEVER);
    engine->settled = true;
    if (operation->kind == RL_OPERATION_ADOPT || operation->kind == RL_OPERATION_RELEASE) {
        start_on_lock(operation);
        return;
    }
    if (operation->listing != NULL) {
        rl_listing_start(operation);
        return;
    }
    if (looks)
        rl_guard_look(engine);
    rl_survey_start(operation, operation->kind == RL_OPERATION_EXAMINE   ? RL_COMMAND_EXAMINE
                               : operation->kind == RL_OPERATION_INSPECT ? RL_COMMAND_PEEK
                                                                         : RL_COMMAND_SEARCH);
}

/* Whether there is nothing more to wait for. A new client gives the slower nodes a moment too, once enough
 * are there. */
static bool is_settled(struct rl_operation *operation)
{
    struct rl_engine *engine = operation->lock->engine;
    uint32_t on_the_way, arrived = rl_nodes_arrived(engine, &on_the_way);
    struct rl_time moment;

    if (arrived == engine->node_count || on_the_way == 0 || (arrived >= operation->wanted && engine->settled))
        return true;
    if (arrived >= operation->wanted) {
        moment = rl_time_add(engine->now, rl_span_us(engine->config.connect_timeout.us / 10));
        if (rl_time_before(moment, operation->timer.at))
            rl_timers_set(&engine->timers, &operation->timer, moment);
    }
    return false;
}

void rl_settling_begin(struct rl_operation *operation, uint32_t wanted)
{
    struct rl_engine *engine = operation->lock->engine;

    operation->wanted = wanted;
    rl_timers_set(&engine->timers, &operation->timer,
                  rl_time_add(engine->now, engine->config.connect_timeout));
    rl_list_append(&engine->settling, &operation->settling);
    if (is_settled(operation))
        rl_settling_start(operation);
}

bool rl_settling_check(struct rl_engine *engine)
{
    for (struct rl_link *link = rl_list_first(&engine->settling); link != NULL;
         link = rl_list_next(&engine->settling, link)) {
        struct rl_operation *operation = RL_CONTAINER(link, struct rl_operation, settling);

        if (!is_settled(operation))
            continue;
        rl_settling_start(operation); /* which may end others: the list is looked at afresh */
        return true;
    }
    return false;
}
