/*
 * The doors of the engine; see engine.h. Each does one thing and ends with rl_steps_run().
 */
#include "engine/engine.h"

#include <assert.h>
#include <string.h>

#include "base/bytes.h"
#include "engine/answers.h"
#include "engine/calls.h"
#include "engine/debts.h"
#include "engine/dispatch.h"
#include "engine/hearing.h"
#include "engine/holding.h"
#include "engine/listing.h"
#include "engine/nodes.h"
#include "engine/owned.h"
#include "engine/queue.h"
#include "engine/reaper.h"
#include "engine/reentrant.h"
#include "engine/steps.h"

enum { TIMER_TURNS = 4, PUT_OFF_US = 2000, PUT_OFF_APART_US = 10, DRAIN_TIMEOUTS = 10 };

/* ---- making one ---- */

static void init_lists(struct rl_engine *engine)
{
    rl_list_init(&engine->operations);
    rl_list_init(&engine->rounds);
    rl_list_init(&engine->requested);
    rl_list_init(&engine->settling);
    rl_list_init(&engine->lagging);
    rl_list_init(&engine->ended);
    rl_list_init(&engine->turned);
    rl_list_init(&engine->notices);
    rl_list_init(&engine->spare_operations);
    rl_list_init(&engine->spare_locks);
    rl_list_init(&engine->watching);
    rl_list_init(&engine->listings);
    rl_list_init(&engine->standing);
    rl_list_init(&engine->inside);
}

static void init_sessions(struct rl_engine *engine)
{
    engine->user = rl_answers_user(engine);
    engine->session_config = (struct rl_session_config){
        .user = &engine->user,
        .memory = &engine->host.memory,
        .wants = &engine->wants,
        .prng = &engine->prng,
        .client_name = engine->config.client_name,
        .connect_timeout = engine->config.connect_timeout,
        .node_timeout = engine->config.node_timeout,
    };
}

bool rl_engine_init(struct rl_engine *engine, const struct rl_config *config, const struct rl_host *host,
                    uint32_t node_capacity)
{
    assert(node_capacity >= 1 && node_capacity <= RL_NODES_MAX);
    engine->config = *config;
    engine->host = *host;
    engine->now = (struct rl_time){1}; /* not 0, so that a zeroed time is always in the past */
    engine->node_capacity = node_capacity;
    engine->sessions = rl_state_allocate(engine, node_capacity * sizeof *engine->sessions);
    engine->guards = rl_state_allocate(engine, node_capacity * sizeof *engine->guards);
    engine->node_stats = rl_state_allocate(engine, node_capacity * sizeof *engine->node_stats);
    if (engine->sessions == NULL || engine->guards == NULL || engine->node_stats == NULL) {
        rl_engine_free(engine);
        return false;
    }
    memset(engine->sessions, 0, node_capacity * sizeof *engine->sessions);
    memset(engine->guards, 0, node_capacity * sizeof *engine->guards);
    memset(engine->node_stats, 0, node_capacity * sizeof *engine->node_stats);
    engine->stats.lowest_validity_ms = -1;
    init_lists(engine);
    init_sessions(engine);
    return true;
}

bool rl_engine_add_node(struct rl_engine *engine, const struct rl_node_url *url)
{
    uint32_t node = engine->node_count;

    assert(node < engine->node_capacity);
    if (!rl_session_init(&engine->sessions[node], &engine->session_config, node, url))
        return false;
    engine->node_count++;
    return true;
}

bool rl_engine_seed(struct rl_engine *engine)
{
    uint8_t seed[8];

    if (!rl_state_random(engine, seed, sizeof seed))
        return false;
    engine->prng = rl_prng_seed(rl_number_from_bytes(seed));
    engine->lease_terms = rl_holding_terms(engine);
    rl_queue_init(engine);
    rl_owned_init(engine);
    return rl_hearing_init(engine);
}

void rl_engine_start(struct rl_engine *engine)
{
    if (engine->node_count % 2 == 0)
        rl_state_log(engine, REDLOCK_LOG_WARNING,
                     "%u nodes survive no more failures than %u would: use an odd number", engine->node_count,
                     engine->node_count - 1);
    for (uint32_t node = 0; node < engine->node_count; node++)
        rl_session_wake(&engine->sessions[node], engine->now);
}

/* ---- time ---- */

void rl_engine_look(struct rl_engine *engine, struct rl_time now)
{
    assert(!rl_time_before(now, engine->now));
    engine->now = now;
}

struct rl_time rl_engine_due(const struct rl_engine *engine)
{
    const struct rl_timer *first = rl_timers_first(&engine->timers);
    struct rl_time due = first != NULL ? first->at : RL_TIME_NEVER;

    for (uint32_t node = 0; node < engine->node_count; node++)
        due = rl_time_min(due, rl_session_due(&engine->sessions[node]));
    return rl_time_min(due, rl_debts_due(engine));
}

static void run_timer(struct rl_engine *engine, struct rl_timer *timer)
{
    struct rl_event event = {.kind = RL_EVENT_TIMER, .now = engine->now};

    /* Operations and locks keep their timers in different places: a timer's owner is told by its mark. */
    if (timer->of_lock)
        rl_holding_event(RL_CONTAINER(timer, redlock_lock, timer), &event);
    else
        rl_steps_operation(RL_CONTAINER(timer, struct rl_operation, timer), &event);
    rl_steps_run(engine);
}

/* Ten thousand renewals that fall due at once would time out together: those that can wait give way. */
static bool put_off(struct rl_engine *engine, struct rl_timer *timer, uint32_t *count)
{
    struct rl_time now = engine->now;

    if (!timer->of_lock || !rl_holding_can_wait(RL_CONTAINER(timer, redlock_lock, timer), now) ||
        !rl_nodes_backlogged(engine))
        return false;
    rl_timers_set(&engine->timers, timer,
                  rl_time_add(now, rl_span_us(PUT_OFF_US + PUT_OFF_APART_US * (int64_t)(*count)++)));
    return true;
}

void rl_engine_tick(struct rl_engine *engine)
{
    struct rl_timer *timer;
    struct rl_time now = engine->now;
    uint32_t count = 0, turns;

    /* What one timer ends may make the next thing due at once, so it may come again at the same time, but not
     * for ever: what is left has its turn after what the nodes said in the meantime. */
    turns = TIMER_TURNS * engine->timers.count;
    while ((timer = rl_timers_first(&engine->timers)) != NULL && !rl_time_before(now, timer->at) &&
           turns-- > 0)
        if (!put_off(engine, timer, &count))
            run_timer(engine, timer);
    for (uint32_t node = 0; node < engine->node_count; node++)
        rl_session_tick(&engine->sessions[node], now);
    rl_reaper_pay(engine, now);
    rl_steps_run(engine);
}

/* ---- nodes ---- */

void rl_engine_resolving(struct rl_engine *engine, uint32_t node, bool resolving)
{
    assert(node < engine->node_count);
    engine->sessions[node].resolving = resolving;
}

void rl_engine_up(struct rl_engine *engine, uint32_t node)
{
    assert(node < engine->node_count);
    rl_session_up(&engine->sessions[node]);
}

void rl_engine_down(struct rl_engine *engine, uint32_t node, enum rl_cause cause, const char *why)
{
    assert(node < engine->node_count);
    rl_session_lost(&engine->sessions[node], cause, why, engine->now);
    rl_steps_run(engine);
}

void rl_engine_unseen(struct rl_engine *engine, uint32_t node, struct rl_span unseen)
{
    struct rl_session *session = &engine->sessions[node];

    if (session->state == RL_SESSION_OPENING || session->state == RL_SESSION_GREETING)
        session->deadline = rl_time_add(session->deadline, unseen);
}

size_t rl_engine_room(struct rl_engine *engine, uint32_t node, char **bytes)
{
    assert(node < engine->node_count);
    return rl_session_room(&engine->sessions[node], engine->now, bytes);
}

void rl_engine_received(struct rl_engine *engine, uint32_t node, size_t length)
{
    assert(node < engine->node_count);
    rl_session_received(&engine->sessions[node], length, engine->now);
    rl_steps_run(engine);
}

void rl_engine_read_all(struct rl_engine *engine, uint32_t node)
{
    assert(node < engine->node_count);
    rl_exchange_settle(&engine->sessions[node].exchange);
}

size_t rl_engine_output(struct rl_engine *engine, uint32_t node, const char **bytes)
{
    assert(node < engine->node_count);
    engine->wants.write &= ~rl_node_set_one(node);
    return rl_session_output(&engine->sessions[node], bytes);
}

void rl_engine_sent(struct rl_engine *engine, uint32_t node, size_t length)
{
    assert(node < engine->node_count);
    rl_exchange_sent(&engine->sessions[node].exchange, length);
}

bool rl_engine_unsent(const struct rl_engine *engine, uint32_t node)
{
    const struct rl_exchange *exchange = &engine->sessions[node].exchange;

    return exchange->out_sent < exchange->out_length;
}

/* ---- calls ---- */

/* Linear in what is under way: cancelling is rare. */
static struct rl_operation *find_operation(struct rl_engine *engine, redlock_request request)
{
    for (struct rl_link *link = rl_list_first(&engine->operations); link != NULL;
         link = rl_list_next(&engine->operations, link)) {
        struct rl_operation *operation = RL_CONTAINER(link, struct rl_operation, link);

        if (operation->request == request && operation->parent == NULL)
            return operation;
    }
    return NULL;
}

static bool can_be_told(const struct rl_operation *operation)
{
    return operation->kind != RL_OPERATION_EXTEND && operation->kind != RL_OPERATION_ADOPT &&
           operation->kind != RL_OPERATION_RELEASE;
}

/* The round of an extension or an adoption goes on: longer than wanted harms nobody. */
static void cancel(struct rl_operation *operation)
{
    struct rl_event event = {.kind = RL_EVENT_CANCEL, .now = operation->lock->engine->now};

    if (can_be_told(operation))
        rl_steps_operation(operation, &event);
    else
        rl_operation_finish(operation, REDLOCK_CANCELED);
}

redlock_result rl_engine_cancel(struct rl_engine *engine, redlock_request request)
{
    struct rl_operation *operation = request != 0 ? find_operation(engine, request) : NULL;

    if (operation == NULL)
        return rl_listing_stop(engine, request) ? REDLOCK_OK : REDLOCK_NOT_HELD;
    if (operation->kind == RL_OPERATION_RELEASE || operation->kind == RL_OPERATION_BREAK || operation->breaks)
        return REDLOCK_MISUSE;
    cancel(operation);
    rl_steps_run(engine);
    return REDLOCK_OK;
}

void rl_engine_cancel_all(struct rl_engine *engine)
{
    struct rl_link *link;

    engine->closing = true;
    while ((link = rl_list_first(&engine->operations)) != NULL)
        cancel(RL_CONTAINER(link, struct rl_operation, link));
    rl_steps_run(engine);
}

bool rl_engine_resume(struct rl_operation *operation)
{
    struct rl_engine *engine = operation->lock->engine;
    bool resumed = rl_listing_resume(operation);

    rl_steps_run(engine);
    return resumed;
}

bool rl_engine_free_entry(redlock_lock *lock)
{
    if (!rl_reentrant_free(lock))
        return false;
    rl_lock_unref(lock);
    return true;
}

void rl_engine_free_handle(redlock_lock *lock)
{
    struct rl_engine *engine = lock->engine;

    rl_holding_free(lock);
    rl_steps_run(engine);
}

void rl_engine_loss_told(redlock_lock *lock)
{
    rl_holding_let_go(lock);
    rl_steps_run(lock->engine);
}

/* ---- the end ---- */

void rl_engine_bring_up(struct rl_engine *engine)
{
    for (struct rl_link *link = rl_list_first(&engine->lagging); link != NULL;
         link = rl_list_next(&engine->lagging, link)) {
        redlock_lock *lock = RL_CONTAINER(link, redlock_lock, lagging);

        rl_dispatch_mend(lock, lock->lease.behind);
    }
}

void rl_engine_leave_locks(struct rl_engine *engine)
{
    struct rl_timer *timer;

    while ((timer = rl_timers_first(&engine->timers)) != NULL) {
        if (timer->of_lock)
            rl_holding_abandon(RL_CONTAINER(timer, redlock_lock, timer));
        else
            rl_timers_set(&engine->timers, timer, RL_TIME_NEVER);
    }
    rl_reaper_pay(engine, engine->now);
}

/* A node that works off what piled up on a busy machine answers now and then, and is waited for as long as it
 * does. */
static bool node_drained(const struct rl_engine *engine, const struct rl_session *session,
                         struct rl_time began)
{
    struct rl_span patience = engine->config.node_timeout;
    struct rl_time now = engine->now;

    if (session->exchange.pending_count == 0 && !rl_debts_waits(engine, session->node))
        return true;
    if (session->state != RL_SESSION_READY || session->exchange.pending_count == 0)
        return !rl_time_before(now, rl_time_add(began, patience));
    return (rl_session_silent(session, now) && !rl_time_before(now, rl_time_add(session->heard, patience))) ||
           rl_time_since(now, began).us >= DRAIN_TIMEOUTS * patience.us;
}

bool rl_engine_drained(const struct rl_engine *engine, struct rl_time began)
{
    assert(!rl_time_before(engine->now, began));
    for (uint32_t node = 0; node < engine->node_count; node++)
        if (!node_drained(engine, &engine->sessions[node], began))
            return false;
    return true;
}

void rl_engine_close(struct rl_engine *engine)
{
    struct rl_pending pending;

    engine->closing = engine->closed = true;
    if (!engine->inert)
        rl_debts_drop_all(engine);
    for (uint32_t node = 0; node < engine->node_count; node++)
        while (rl_exchange_take(&engine->sessions[node].exchange, &pending))
            if (pending.subject != NULL)
                rl_lock_unref(pending.subject);
}

void rl_engine_tear_down(struct rl_engine *engine)
{
    for (uint32_t node = 0; node < engine->node_count; node++)
        rl_session_free(&engine->sessions[node]);
    rl_operation_drop_spares(engine, 0);
    rl_lock_drop_spares(engine);
    rl_queue_free(engine);
    rl_owned_free(engine);
}

void rl_engine_free(struct rl_engine *engine)
{
    rl_state_release(engine, engine->timers.heap, engine->timers.capacity * sizeof(struct rl_timer *));
    rl_state_release(engine, engine->node_stats, engine->node_capacity * sizeof *engine->node_stats);
    rl_state_release(engine, engine->facts, engine->node_capacity * sizeof *engine->facts);
    rl_state_release(engine, engine->guards, engine->node_capacity * sizeof *engine->guards);
    rl_state_release(engine, engine->sessions, engine->node_capacity * sizeof *engine->sessions);
}
