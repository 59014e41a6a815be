/*
 * Making operations, ending and counting them; see operation.h.
 */
#include "engine/operation.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "engine/stats.h"

/* After a burst of calls no more spares are kept than are in use, and these few: held locks do not pay for
 * how they were taken. */
enum { SPARE_MIN = 16 };

static size_t operation_size(const struct rl_engine *engine)
{
    return sizeof(struct rl_operation) + engine->node_count * sizeof(struct rl_node_record);
}

/* Records of nodes are cleared by the code that begins to use them: there is room for more nodes than most
 * clients have. */
static void clear_operation(struct rl_operation *operation)
{
    memset(operation, 0, offsetof(struct rl_operation, acquire) + offsetof(struct rl_acquire, last));
    memset(&operation->stand, 0, offsetof(struct rl_stand, nodes));
    operation->record.nodes = operation->node_records;
    rl_list_init(&operation->looks);
    operation->record.holder_ttl_left_ms = -2;
}

void rl_operation_clear_record(struct rl_operation *operation)
{
    for (uint32_t node = 0; node < operation->lock->engine->node_count; node++)
        operation->record.nodes[node] =
            (struct rl_node_record){.answer = {.ttl_left_ms = -2}, .latency_us = -1};
    operation->record.timed_out = false;
}

/* NULL: there is none. */
static struct rl_operation *take_spare(struct rl_engine *engine)
{
    struct rl_link *link = rl_list_first(&engine->spare_operations);

    if (link == NULL)
        return NULL;
    rl_list_remove(link);
    engine->spare_operation_count--;
    return RL_CONTAINER(link, struct rl_operation, link);
}

struct rl_operation *rl_operation_create(struct rl_engine *engine, enum rl_operation_kind kind,
                                         redlock_lock *lock)
{
    struct rl_operation *operation;

    assert(lock != NULL);
    if (!rl_state_reserve_timer(engine))
        return NULL;
    operation = take_spare(engine);
    if (operation == NULL)
        operation = rl_state_allocate(engine, operation_size(engine));
    if (operation == NULL) {
        rl_state_unreserve_timer(engine);
        return NULL;
    }
    clear_operation(operation);
    operation->kind = kind;
    operation->lock = lock;
    operation->started = engine->now;
    rl_operation_clear_record(operation);
    rl_list_append(&engine->operations, &operation->link);
    engine->operation_count++;
    return operation;
}

void rl_operation_free(struct rl_engine *engine, struct rl_operation *operation)
{
    rl_list_remove(&operation->link);
    rl_list_remove(&operation->on_lock);
    rl_list_remove(&operation->turned);
    rl_state_unreserve_timer(engine);
    if (operation->lock != NULL)
        rl_lock_unref(operation->lock);
    operation->lock = NULL;
    rl_list_append(&engine->spare_operations, &operation->link);
    engine->operation_count--;
    engine->spare_operation_count++;
    rl_operation_drop_spares(engine, engine->operation_count + SPARE_MIN);
}

void rl_operation_drop_spares(struct rl_engine *engine, uint32_t kept)
{
    while (engine->spare_operation_count > kept) {
        struct rl_operation *operation = take_spare(engine);

        rl_state_release(engine, operation, operation_size(engine));
    }
}

static uint64_t *acquisition_count(redlock_stats *stats, redlock_result result)
{
    switch (result) {
    case REDLOCK_OK:
        return &stats->acquired;
    case REDLOCK_BUSY:
        return &stats->busy;
    case REDLOCK_TIMEOUT:
        return &stats->timeouts;
    case REDLOCK_CANCELED:
        return &stats->canceled;
    case REDLOCK_NO_QUORUM:
        return &stats->no_quorum;
    case REDLOCK_TOO_SLOW:
        return &stats->too_slow;
    case REDLOCK_QUARANTINE:
        return &stats->quarantined;
    case REDLOCK_FORBIDDEN:
        return &stats->forbidden;
    default:
        return &stats->failed;
    }
}

static void count_operation(struct rl_engine *engine, const struct rl_operation *operation)
{
    redlock_stats *stats = &engine->stats;
    struct rl_span took = rl_time_since(engine->now, operation->started);
    bool fine = operation->result == REDLOCK_OK;

    if (operation->kind == RL_OPERATION_ACQUIRE) {
        stats->rounds += operation->acquire.round;
        *acquisition_count(stats, operation->result) += 1;
        rl_stats_add(fine ? &stats->acquire_ok : &stats->acquire_failed, took);
    }
    if (operation->kind == RL_OPERATION_EXTEND || operation->kind == RL_OPERATION_ADOPT) {
        *(fine ? &stats->extended : &stats->extend_failed) += 1;
        rl_stats_add(&stats->extend, took);
    }
    if (operation->kind == RL_OPERATION_RELEASE) {
        *(fine ? &stats->released : &stats->release_failed) += 1;
        rl_stats_add(&stats->release, took);
    }
}

void rl_operation_finish(struct rl_operation *operation, redlock_result result)
{
    struct rl_engine *engine = operation->lock->engine;

    assert(operation->lock != NULL);
    if (operation->done)
        return;
    operation->done = true;
    operation->result = result;
    rl_timers_set(&engine->timers, &operation->timer, RL_TIME_NEVER);
    rl_list_remove(&operation->on_lock);
    rl_list_remove(&operation->settling);
    count_operation(engine, operation);
    rl_list_remove(&operation->link);
    if (operation->parent != NULL) {
        rl_list_append(&operation->parent->looks, &operation->link);
        operation->parent->looking--;
        return;
    }
    rl_list_append(&engine->ended, &operation->link);
}

void rl_operation_begin_again(struct rl_operation *operation, redlock_lock *lock)
{
    struct rl_engine *engine = lock->engine;
    redlock_lock *before = operation->lock;

    assert(operation->done);
    assert(before->stage == RL_LOCK_OVER);
    rl_list_remove(&operation->link);
    rl_list_append(&engine->operations, &operation->link);
    operation->lock = lock;
    operation->done = operation->stands = false;
    rl_operation_clear_record(operation);
    rl_lock_unref(before);
}

void rl_operation_stop_asking(const struct rl_operation *operation)
{
    redlock_lock *lock = operation->lock;

    assert(lock->asking == NULL || lock->asking == operation); /* none while it waits for connections */
    lock->asking = NULL;
    lock->owed = 0;
    rl_list_remove(&lock->link);
}

struct rl_operation *rl_operation_acquiring(const redlock_lock *lock)
{
    return lock->asking != NULL && lock->asking->kind == RL_OPERATION_ACQUIRE ? lock->asking : NULL;
}

struct rl_operation *rl_operation_in_line(const redlock_lock *lock)
{
    struct rl_operation *operation = rl_operation_acquiring(lock);

    return operation != NULL && operation->stands ? operation : NULL;
}

void rl_operation_propose_fence(const struct rl_operation *operation)
{
    redlock_lock *lock = operation->lock;
    int64_t wall_us = rl_state_wall_us(lock->engine);

    lock->fence = wall_us > 0 ? (uint64_t)wall_us : 0;
    if (lock->fence <= operation->seen)
        lock->fence = operation->seen + 1;
}
