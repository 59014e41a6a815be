/*
 * Carries out what an acquisition at plain nodes wants, and hands the lock over to holding.c once it is won;
 * see acquisition.h.
 */
#include "engine/acquisition.h"

#include <assert.h>

#include "base/bytes.h"
#include "core/trace.h"
#include "engine/dispatch.h"
#include "engine/holding.h"
#include "engine/queue.h"
#include "engine/record.h"
#include "engine/watching.h"

/* Nodes that were not asked for it, or said no. One that has not answered yet most likely has it; if not,
 * that is told later. */
static rl_node_set nodes_without(const redlock_lock *lock, const struct rl_acquire *acquire)
{
    rl_node_set open = lock->maybe_stored & ~rl_tally_answered(&acquire->tally);

    return rl_node_set_all(lock->engine->node_count) & ~acquire->tally.granted & ~open;
}

static void end_acquisition(struct rl_operation *operation)
{
    redlock_lock *lock = operation->lock;
    const struct rl_acquire *acquire = &operation->acquire;
    rl_node_set behind = nodes_without(lock, acquire);

    assert(acquire->phase == RL_ACQUIRE_ENDED);
    assert(lock->asking == operation);
    rl_operation_stop_asking(operation);
    rl_queue_quit(operation);
    rl_watching_end(operation);
    if (acquire->outcome == RL_OUTCOME_OK) {
        lock->fence = 0;
        rl_holding_start(lock, acquire->asked, acquire->valid_until);
        rl_holding_missed(lock, behind);
        rl_dispatch_mend(lock,
                         behind & ~rl_tally_answered(&acquire->tally)); /* some may have come meanwhile */
    } else {
        lock->stage = RL_LOCK_OVER;
    }
    rl_operation_finish(operation, (redlock_result)acquire->outcome);
    if (lock->stage == RL_LOCK_OVER)
        rl_queue_leave(lock);
}

/* A round's questions; the fresh owner makes sure that nothing left over from an earlier round can vote
 * against us. */
static void ask_for_lock(struct rl_operation *operation, const struct rl_effects *effects)
{
    redlock_lock *lock = operation->lock;

    rl_operation_clear_record(operation);
    lock->maybe_stored = lock->stray = 0;
    if (rl_lock_renew_owner(lock)) {
        rl_dispatch_ask(lock, effects->acquire, RL_COMMAND_ACQUIRE, effects->question);
    } else {
        rl_acquire_step(&operation->acquire,
                        &(struct rl_event){.kind = RL_EVENT_CANCEL, .now = lock->engine->now},
                        &(struct rl_effects){0});
        end_acquisition(operation);
        operation->result = REDLOCK_SYSTEM;
    }
}

static void trace_acquisition(struct rl_operation *operation, const struct rl_event *event,
                              const struct rl_effects *effects)
{
    struct rl_engine *engine = operation->lock->engine;
    char bytes[1024];
    struct rl_text text = rl_text_on(bytes, sizeof bytes);

    if (event->kind == RL_EVENT_START) {
        rl_trace_acquire_start(&text, operation->lock->text, operation->lock->key_length,
                               &operation->acquire);
        rl_text_add(&text, "\n");
    }
    rl_trace_acquire(&text, &operation->acquire, event, effects);
    rl_state_trace(engine, bytes);
}

static void step(struct rl_operation *operation, const struct rl_event *event)
{
    redlock_lock *lock = operation->lock;
    bool asking = operation->acquire.phase == RL_ACQUIRE_ASKING;
    struct rl_effects effects;

    if (operation->acquire.phase == RL_ACQUIRE_QUEUED && event->kind == RL_EVENT_TIMER)
        rl_queue_explain(operation);
    rl_acquire_step(&operation->acquire, event, &effects);
    if (lock->engine->host.trace != NULL)
        trace_acquisition(operation, event, &effects);
    if (asking && event->kind == RL_EVENT_TIMER && effects.release != 0)
        rl_record_silence(lock, &operation->acquire.tally);
    if (effects.release != 0)
        rl_dispatch_release(lock, effects.release, 0);
    if (effects.acquire != 0)
        ask_for_lock(operation, &effects);
    if (effects.peek != 0)
        rl_dispatch_ask(lock, effects.peek, RL_COMMAND_PEEK, effects.question);
    if (effects.watch != 0) {
        rl_watching_begin(operation);
        rl_dispatch_ask(lock, effects.watch, RL_COMMAND_WATCH, effects.question);
    }
    if (operation->done)
        return;
    if (effects.done)
        end_acquisition(operation);
    else
        rl_timers_set(&lock->engine->timers, &operation->timer, operation->acquire.wake_at);
}

void rl_acquisition_event(struct rl_operation *operation, const struct rl_event *event)
{
    redlock_lock *lock = operation->lock;
    struct rl_event refusal;

    assert(operation->kind == RL_OPERATION_ACQUIRE);
    step(operation, event);
    /* Nodes that could not even be asked answer after the question has gone to all the others. */
    while (!operation->done && rl_dispatch_take_refused(lock, &refusal))
        step(operation, &refusal);
    lock->refused_locally = 0;
}

void rl_acquisition_start(struct rl_operation *operation, const struct rl_acquire_config *config)
{
    struct rl_engine *engine = operation->lock->engine;
    struct rl_event event = {.kind = RL_EVENT_START, .now = engine->now};

    assert(operation->kind == RL_OPERATION_ACQUIRE);
    assert(operation->lock->asking == NULL);
    assert(operation->lock->stage == RL_LOCK_ASKING);
    operation->lock->asking = operation;
    rl_acquire_init(&operation->acquire, config, &engine->prng);
    rl_acquisition_event(operation, &event);
}
