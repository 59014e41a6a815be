/*
 * The queue of callers inside this process that want one name. Only its leader, which asks for the lock or
 * has it, deals with the nodes; the others queue behind it in order, and the next one's question rides right
 * behind the leader's release. A semaphore has as many leaders as slots: one of them is in the table and has
 * the queue, and the others are its fellows.
 */
#include "engine/queue.h"

#include <assert.h>
#include <string.h>

#include "base/bytes.h"

enum { PLACES_MIN = 16, HAND_ON_MS = 100 };

/* ---- the table of leaders ---- */

static redlock_lock **place_of(struct rl_engine *engine, const char *key, size_t key_length)
{
    struct rl_queues *queues = &engine->queues;

    return &queues->leaders[rl_hash_bytes(queues->seed, key, key_length) & (queues->places - 1)];
}

redlock_lock *rl_queue_leader(struct rl_engine *engine, const char *key, size_t key_length, uint16_t slots)
{
    redlock_lock *lock = engine->queues.places > 0 ? *place_of(engine, key, key_length) : NULL;

    while (lock != NULL && (lock->slots != slots || lock->key_length != key_length ||
                            memcmp(lock->text, key, key_length) != 0))
        lock = lock->next_leader;
    return lock;
}

static redlock_lock *leader_for(const redlock_lock *lock)
{
    return rl_queue_leader(lock->engine, lock->text, lock->key_length, lock->slots);
}

static void insert(struct rl_engine *engine, redlock_lock *lock)
{
    redlock_lock **place = place_of(engine, lock->text, lock->key_length);

    lock->next_leader = *place;
    *place = lock;
}

/* Twice the places. Without memory for them chains grow instead, and without any table nobody leads. */
static void grow(struct rl_engine *engine)
{
    uint32_t before = engine->queues.places, after = before > 0 ? 2 * before : PLACES_MIN;
    redlock_lock **old = engine->queues.leaders, **larger = rl_state_allocate(engine, after * sizeof *larger);

    if (larger == NULL)
        return;
    memset(larger, 0, after * sizeof *larger);
    engine->queues.leaders = larger;
    engine->queues.places = after;
    for (uint32_t i = 0; i < before; i++)
        for (redlock_lock *lock = old[i], *next; lock != NULL; lock = next) {
            next = lock->next_leader;
            insert(engine, lock);
        }
    if (old != NULL)
        rl_state_release(engine, old, before * sizeof *old);
}

static void enter_table(redlock_lock *lock)
{
    struct rl_engine *engine = lock->engine;

    if (engine->queues.count >= engine->queues.places)
        grow(engine);
    if (engine->queues.places == 0)
        return;
    insert(engine, lock);
    engine->queues.count++;
    lock->leads = true;
}

static void leave_table(redlock_lock *lock)
{
    redlock_lock **place = place_of(lock->engine, lock->text, lock->key_length);

    while (*place != lock)
        place = &(*place)->next_leader;
    *place = lock->next_leader;
    lock->next_leader = NULL;
    lock->engine->queues.count--;
}

/* Of a semaphore beside others that do, perhaps. */
static void lead(redlock_lock *lock)
{
    redlock_lock *leader = leader_for(lock);

    assert(!lock->leads);
    if (leader == NULL) {
        enter_table(lock);
        return;
    }
    assert(leader->fellow_count + 1 < leader->slots);
    rl_list_append(&leader->fellows, &lock->fellow);
    leader->fellow_count++;
    lock->leads = true;
}

/* The first of its fellows takes its place in the table, and with it the others and the queue. */
static redlock_lock *pass_lead(redlock_lock *lock)
{
    struct rl_link *link = rl_list_first(&lock->fellows);
    redlock_lock *heir = RL_CONTAINER(link, redlock_lock, fellow);

    rl_list_remove(link);
    rl_list_move_all(&heir->fellows, &lock->fellows);
    rl_list_move_all(&heir->queue, &lock->queue);
    heir->fellow_count = lock->fellow_count - 1;
    heir->queue_since = lock->queue_since;
    lock->fellow_count = 0;
    enter_table(heir);
    return heir;
}

/* Answers the lock that has the queue of its name from then on: itself, if no other one leads. */
static redlock_lock *step_down(redlock_lock *lock)
{
    redlock_lock *leader = leader_for(lock);

    assert(lock->leads);
    lock->leads = false;
    if (leader != lock) {
        rl_list_remove(&lock->fellow);
        leader->fellow_count--;
        return leader;
    }
    leave_table(lock);
    return lock->fellow_count > 0 ? pass_lead(lock) : lock;
}

void rl_queue_init(struct rl_engine *engine)
{
    rl_list_init(&engine->queues.turns);
    engine->queues.seed = rl_prng_next(&engine->prng);
}

void rl_queue_free(struct rl_engine *engine)
{
    if (engine->queues.leaders != NULL)
        rl_state_release(engine, engine->queues.leaders,
                         engine->queues.places * sizeof *engine->queues.leaders);
    engine->queues.leaders = NULL;
    engine->queues.places = 0;
}

/* ---- the queue ---- */

/* A name that is handed on inside for long would shut other processes out: they get a chance now and then.
 * Guarded nodes see to that themselves. */
static bool is_others_turn(const struct rl_engine *engine, redlock_lock *lock)
{
    if (rl_time_before(engine->now, rl_time_add(lock->queue_since, rl_span_ms(HAND_ON_MS))))
        return false;
    lock->queue_since = engine->now;
    return true;
}

void rl_queue_join(struct rl_operation *operation, bool waits, struct rl_acquire_config *config)
{
    redlock_lock *lock = operation->lock;
    struct rl_engine *engine = lock->engine;
    redlock_lock *leader = leader_for(lock);

    if (leader == NULL || leader->fellow_count + 1 < leader->slots) {
        lead(lock);
        lock->queue_since = engine->now;
        config->watch = lock->leads;
    } else if (waits) {
        rl_list_append(&leader->queue, &operation->in_queue);
        engine->queues.blocked += operation->request == 0;
        config->watch = config->queued = true;
    }
}

bool rl_queue_holds(const struct rl_operation *operation)
{
    return operation->kind == RL_OPERATION_ACQUIRE && !operation->stands &&
           operation->acquire.phase == RL_ACQUIRE_QUEUED;
}

void rl_queue_quit(struct rl_operation *operation)
{
    struct rl_engine *engine = operation->lock->engine;

    if (rl_link_used(&operation->in_queue))
        engine->queues.blocked -= operation->request == 0;
    rl_list_remove(&operation->in_queue);
}

struct rl_operation *rl_queue_next(struct rl_engine *engine, bool *others_first)
{
    struct rl_link *link = rl_list_first(&engine->queues.turns);
    struct rl_operation *operation;

    if (link == NULL)
        return NULL;
    operation = RL_CONTAINER(link, struct rl_operation, in_queue);
    rl_queue_quit(operation);
    rl_list_append(&engine->turned, &operation->turned);
    *others_first = is_others_turn(engine, operation->lock);
    return operation;
}

/* The first of the queue asks; what is left of it goes along, unless there are other leaders. Of a semaphore
 * it would like the slot that has just come free. */
static void hand_on(redlock_lock *keeper, const redlock_lock *from)
{
    struct rl_engine *engine = keeper->engine;
    struct rl_link *link = rl_list_first(&keeper->queue);
    struct rl_operation *next = RL_CONTAINER(link, struct rl_operation, in_queue);
    redlock_lock *lock = next->lock;

    rl_list_remove(link);
    if (!keeper->leads)
        rl_list_move_all(&lock->queue, &keeper->queue);
    lead(lock);
    lock->queue_since = keeper->queue_since;
    next->acquire.config.wish = from->slot;
    rl_list_append(&engine->queues.turns, &next->in_queue);
}

void rl_queue_leave(redlock_lock *lock)
{
    struct rl_engine *engine = lock->engine;
    redlock_lock *keeper;
    struct rl_link *link;

    if (!lock->leads || engine->queues.places == 0)
        return;
    keeper = step_down(lock);
    if (!rl_list_empty(&keeper->queue) && !engine->closing &&
        !(RL_PLANTED(engine, RL_PLANTED_QUEUE_FORGOTTEN) && lock->fence == 0)) {
        hand_on(keeper, lock);
        return;
    }
    while ((link = rl_list_first(&keeper->queue)) != NULL) /* the client closes: all are being cancelled */
        rl_queue_quit(RL_CONTAINER(link, struct rl_operation, in_queue));
}

/* ---- what to tell those whose time ran out in the queue ---- */

static void borrow_record(struct rl_operation *operation, const struct rl_operation *from)
{
    memcpy(operation->node_records, from->node_records,
           operation->lock->engine->node_count * sizeof *from->node_records);
    operation->record.holder = from->record.holder;
    operation->record.named = from->record.named;
    operation->record.holder_ttl_left_ms = from->record.holder_ttl_left_ms;
    operation->acquire.outcome = from->acquire.outcome;
}

/* The leader of this process has it: the nodes that granted it would have said no. */
static void describe_leader(struct rl_operation *operation, const redlock_lock *leader)
{
    struct rl_record *record = &operation->record;
    int64_t left_ms = rl_span_ms_down(rl_time_since(leader->lease.valid_until, leader->engine->now));

    redlock_holder_parse(rl_lock_owner(leader), leader->owner_length, &record->holder);
    record->named = 0; /* it is ours, and no node had to name it */
    record->holder_ttl_left_ms = left_ms > 0 ? left_ms : 0;
    for (uint32_t node = 0; node < leader->engine->node_count; node++)
        if (rl_node_set_has(leader->maybe_stored, node))
            record->nodes[node].answer = (struct rl_answer){.verdict = RL_DENIED, .ttl_left_ms = left_ms};
}

void rl_queue_explain(struct rl_operation *operation)
{
    const redlock_lock *lock = operation->lock;
    const redlock_lock *leader = leader_for(lock);

    if (leader == NULL || leader == lock)
        return;
    if (leader->stage == RL_LOCK_HELD)
        describe_leader(operation, leader);
    else if (rl_operation_acquiring(leader) != NULL)
        borrow_record(operation, leader->asking);
    if (rl_operation_in_line(leader) != NULL)
        operation->acquire.outcome = rl_stand_reason_behind(&leader->asking->stand, leader->engine->now);
}
