/*
 * Operations: calls of the API while they are under way. Carries out what the acquisition wants and hands the lock over to
 * holding.c once it is won; runs surveys, which are one question and no more.
 */
#include <assert.h>
#include <string.h>

#include "base/bytes.h"
#include "client/client.h"
#include "core/trace.h"

/* After a burst of calls no more spares are kept than are in use, and these few: held locks do not pay for how they were taken. */
enum { SPARE_MIN = 16 };

static size_t operation_size(const redlock_client *client)
{
    return sizeof(struct rl_operation) + client->node_count * sizeof(struct rl_node_record);
}

static void clear_operation(redlock_client *client, struct rl_operation *operation)
{
    memset(operation, 0, operation_size(client));
    operation->record.nodes = operation->node_records;
    for (uint32_t node = 0; node < client->node_count; node++)
        operation->record.nodes[node] =
            (struct rl_node_record){.answer = {.ttl_left_ms = -2}, .latency_us = -1};
    operation->record.holder_ttl_left_ms = -2;
}

/* NULL: there is none. */
static struct rl_operation *take_spare(redlock_client *client)
{
    struct rl_link *link = rl_list_first(&client->spare_operations);

    if (link == NULL)
        return NULL;
    rl_list_remove(link);
    client->spare_operation_count--;
    return RL_CONTAINER(link, struct rl_operation, link);
}

struct rl_operation *rl_operation_create(redlock_client *client, enum rl_operation_kind kind,
                                         redlock_lock *lock)
{
    struct rl_operation *operation;

    if (!rl_client_reserve_timer(client))
        return NULL;
    operation = take_spare(client);
    if (operation == NULL)
        operation = rl_client_allocate(client, operation_size(client));
    if (operation == NULL) {
        rl_client_unreserve_timer(client);
        return NULL;
    }
    clear_operation(client, operation);
    operation->kind = kind;
    operation->lock = lock;
    operation->started = rl_client_now(client);
    rl_list_append(&client->operations, &operation->link);
    client->operation_count++;
    return operation;
}

void rl_operation_free(redlock_client *client, struct rl_operation *operation)
{
    rl_list_remove(&operation->link);
    rl_list_remove(&operation->on_lock);
    rl_client_unreserve_timer(client);
    if (operation->lock != NULL)
        rl_lock_unref(operation->lock);
    operation->lock = NULL;
    rl_list_append(&client->spare_operations, &operation->link);
    client->operation_count--;
    client->spare_operation_count++;
    rl_operation_drop_spares(client, client->operation_count + SPARE_MIN);
}

void rl_operation_drop_spares(redlock_client *client, uint32_t kept)
{
    while (client->spare_operation_count > kept) {
        struct rl_operation *operation = take_spare(client);

        rl_client_release(client, operation, operation_size(client));
    }
}

void rl_operation_finish(struct rl_operation *operation, redlock_result result)
{
    redlock_client *client = operation->lock->client;

    if (operation->done)
        return;
    operation->done = true;
    operation->result = result;
    rl_timers_set(&client->timers, &operation->timer, RL_TIME_NEVER);
    rl_list_remove(&operation->on_lock);
    rl_stats_operation(client, operation);
    if (operation->request != 0)
        rl_notify_completion(operation);
    else
        rl_driver_wake(client, operation);
}

/* ---- acquisitions ---- */

/* The next acquisition begins with what this one learned of the nodes' pace and of others who want what we want. */
static void remember_crowd(redlock_client *client, const struct rl_acquire *acquire)
{
    if (acquire->round == 0)
        return;
    client->trip = acquire->trip;
    client->patience = acquire->patience > 0 ? acquire->patience - 1 : 0;
    /* In a race between two one of them comes too late, so winning one counts for more. */
    client->heat = acquire->heat > 3 ? acquire->heat - 3 : 0;
}

static void end_acquisition(struct rl_operation *operation)
{
    redlock_lock *lock = operation->lock;
    const struct rl_acquire *acquire = &operation->acquire;

    if (operation->fair)
        rl_place_leave(operation);
    if (operation->shown)
        rl_place_show(operation, true);
    lock->asking = NULL;
    lock->owed = 0;
    rl_list_remove(&lock->link);
    rl_queue_quit(operation);
    rl_watching_end(operation);
    remember_crowd(lock->client, acquire);
    if (acquire->outcome == RL_OUTCOME_OK) {
        lock->fence = acquire->fence;
        rl_queue_won(lock, acquire);
        rl_holding_start(lock, acquire->asked, acquire->valid_until);
    } else {
        lock->stage = RL_LOCK_OVER;
    }
    rl_operation_finish(operation, (redlock_result)acquire->outcome);
    if (lock->stage == RL_LOCK_OVER)
        rl_queue_leave(lock);
}

/* The proposal: now, by the wall clock, but above every fence met for this name. When all nodes take it as it is, one
 * round is enough. */
static void propose_fence(const struct rl_operation *operation)
{
    redlock_lock *lock = operation->lock;
    int64_t wall_us = rl_clock_wall_us();

    lock->fence = wall_us > 0 ? (uint64_t)wall_us : 0;
    if (lock->fence <= operation->seen)
        lock->fence = operation->seen + 1;
}

/* A round's questions; the fresh owner makes sure that nothing left over from an earlier round can vote against us. */
static void ask_for_lock(struct rl_operation *operation, const struct rl_effects *effects)
{
    redlock_lock *lock = operation->lock;

    for (uint32_t node = 0; node < lock->client->node_count; node++)
        operation->record.nodes[node] =
            (struct rl_node_record){.answer = {.ttl_left_ms = -2}, .latency_us = -1};
    operation->record.timed_out = false;
    lock->touched = lock->stray = 0;
    if (rl_lock_renew_owner(lock)) {
        propose_fence(operation);
        rl_dispatch_ask(lock, effects->acquire, RL_COMMAND_ACQUIRE, effects->question);
    } else {
        rl_acquire_step(&operation->acquire,
                        &(struct rl_event){.kind = RL_EVENT_CANCEL, .now = lock->client->clock.now},
                        &(struct rl_effects){0});
        end_acquisition(operation);
        operation->result = REDLOCK_SYSTEM;
    }
}

static void trace_acquisition(struct rl_operation *operation, const struct rl_event *event,
                              const struct rl_effects *effects)
{
    redlock_client *client = operation->lock->client;
    char bytes[1024];
    struct rl_text text = rl_text_on(bytes, sizeof bytes);

    if (client->config.trace == NULL)
        return;
    if (event->kind == RL_EVENT_START) {
        rl_trace_acquire_start(&text, operation->lock->text, operation->lock->key_length,
                               &operation->acquire);
        rl_text_add(&text, "\n");
    }
    rl_trace_acquire(&text, &operation->acquire, event, effects);
    rl_client_trace(client, bytes);
}

static void step_acquisition(struct rl_operation *operation, const struct rl_event *event)
{
    redlock_lock *lock = operation->lock;
    bool asking = operation->acquire.phase == RL_ACQUIRE_ASKING;
    struct rl_effects effects;

    if (operation->acquire.phase == RL_ACQUIRE_QUEUED && event->kind == RL_EVENT_TIMER)
        rl_queue_explain(operation);
    rl_acquire_step(&operation->acquire, event, &effects);
    trace_acquisition(operation, event, &effects);
    if (asking && event->kind == RL_EVENT_TIMER && effects.release != 0)
        rl_record_silence(lock, &operation->acquire.tally);
    if (effects.release != 0)
        rl_dispatch_release(lock, effects.release, 0);
    if (effects.lost && operation->fair && operation->acquire.outcome != RL_OUTCOME_BUSY)
        rl_place_leave(operation); /* who reaches too few nodes must not be in others' way there */
    if (effects.present)
        rl_place_show(operation, false);
    if (effects.acquire != 0)
        ask_for_lock(operation, &effects);
    if (effects.raise != 0) {
        lock->client->stats.fence_rounds++;
        lock->fence = effects.fence;
        rl_dispatch_ask(lock, effects.raise, RL_COMMAND_RAISE, effects.question);
    }
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
        rl_timers_set(&lock->client->timers, &operation->timer, operation->acquire.wake_at);
}

/* ---- surveys: inspection and init, one question to every node and no more ---- */

static void step_survey(struct rl_operation *operation, const struct rl_event *event)
{
    struct rl_tally *tally = &operation->tally;
    redlock_lock *lock = operation->lock;
    uint32_t able;

    if (event->kind == RL_EVENT_ANSWER)
        rl_tally_add(tally, event->node, &event->answer);
    able = rl_node_set_count(tally->granted | tally->denied);
    /* Everybody is heard, for the picture is wanted whole; only time ends it early. */
    if (rl_node_set_count(rl_tally_answered(tally)) < tally->node_count && event->kind == RL_EVENT_ANSWER)
        return;
    if (event->kind == RL_EVENT_TIMER && rl_time_before(event->now, operation->timer.at))
        return;
    if (event->kind == RL_EVENT_TIMER)
        rl_record_silence(lock, tally);
    lock->asking = NULL;
    lock->owed = 0;
    lock->stage = RL_LOCK_OVER;
    rl_list_remove(&lock->link);
    if (event->kind == RL_EVENT_CANCEL)
        rl_operation_finish(operation, REDLOCK_CANCELED);
    else if (tally->duplicate != 0)
        rl_operation_finish(operation, REDLOCK_INVALID);
    else if (able >= rl_quorum(tally->node_count))
        rl_operation_finish(operation, REDLOCK_OK);
    else
        rl_operation_finish(operation, (redlock_result)rl_tally_reason(tally));
}

static void step(struct rl_operation *operation, const struct rl_event *event)
{
    if (operation->kind == RL_OPERATION_ACQUIRE)
        step_acquisition(operation, event);
    else
        step_survey(operation, event);
}

void rl_operation_event(struct rl_operation *operation, const struct rl_event *event)
{
    redlock_lock *lock = operation->lock;
    struct rl_event refusal;

    step(operation, event);
    /* Nodes that could not even be asked answer after the question has gone to all the others. */
    while (!operation->done && rl_dispatch_take_instant(lock, &refusal))
        step(operation, &refusal);
    lock->instant = 0;
}

void rl_operation_start_acquire(struct rl_operation *operation, const struct rl_acquire_config *config)
{
    redlock_client *client = operation->lock->client;
    struct rl_event event = {.kind = RL_EVENT_START, .now = operation->started};

    operation->lock->asking = operation;
    rl_acquire_init(&operation->acquire, config, &client->prng);
    rl_operation_event(operation, &event);
}

/* Before the question that ends the survey, so that its answer is there by then. */
static void ask_who_waits(redlock_lock *lock)
{
    for (uint32_t node = 0; node < lock->client->node_count; node++)
        if (!rl_connection_silent(&lock->client->connections[node], lock->client->clock.now))
            rl_dispatch_send(lock, node, RL_COMMAND_LINE, 0, NULL, false);
}

void rl_operation_start_survey(struct rl_operation *operation, enum rl_command_kind kind)
{
    redlock_client *client = operation->lock->client;
    redlock_lock *lock = operation->lock;
    struct rl_event refusal;

    lock->asking = operation;
    operation->tally = rl_tally_start(client->node_count);
    rl_timers_set(&client->timers, &operation->timer,
                  rl_time_add(operation->started, client->config.node_timeout));
    if (kind == RL_COMMAND_PEEK && lock->key_length > 0)
        ask_who_waits(lock);
    rl_dispatch_ask(lock, rl_node_set_all(client->node_count), kind, 1);
    if (rl_dispatch_take_instant(lock, &refusal))
        rl_operation_event(operation, &refusal);
}
