/*
 * Counts the entries of reentrant locks; see reentrant.h. Linear; an owner is inside of few locks at a time.
 */
#include "engine/reentrant.h"

#include <assert.h>
#include <string.h>

#include "base/bytes.h"
#include "engine/queue.h"

static bool is_name(const redlock_lock *lock, const redlock_spec *spec)
{
    size_t prefix = lock->engine->config.key_prefix_length;

    return lock->key_length == prefix + spec->name_length &&
           memcmp(lock->text + prefix, spec->name, spec->name_length) == 0;
}

static bool is_owner(const struct rl_reentry *reentry, const struct rl_reentry *other)
{
    return reentry->identity == other->identity && reentry->by_thread == other->by_thread;
}

redlock_lock *rl_reentrant_find(struct rl_engine *engine, const redlock_spec *spec)
{
    struct rl_reentry wanted = rl_reentry_of(spec);

    for (struct rl_link *link = rl_list_first(&engine->inside); link != NULL;
         link = rl_list_next(&engine->inside, link)) {
        struct rl_reentry *reentry = RL_CONTAINER(link, struct rl_reentry, inside);

        if (reentry->entries > 0 && is_owner(reentry, &wanted) && is_name(reentry->lock, spec))
            return reentry->lock;
    }
    return NULL;
}

/* It is inside from now on, so that others who leave do not give the lock back. */
static void admit(struct rl_operation *operation)
{
    struct rl_reentry *reentry = operation->lock->reentry;

    reentry->entries++;
    reentry->pending++;
    operation->enters = true;
    rl_operation_finish(operation, REDLOCK_OK);
}

struct rl_operation *rl_reentrant_begin(redlock_lock *lock, redlock_request request)
{
    struct rl_operation *operation = rl_operation_create(lock->engine, RL_OPERATION_ACQUIRE, lock);

    if (operation == NULL)
        return NULL;
    rl_lock_ref(lock);
    operation->request = request;
    admit(operation);
    return operation;
}

/* It waits for the end of a lock that its own owner has got: it enters that, and what it has asked for
 * itself, nothing yet, is over. */
static void follow(struct rl_operation *operation, redlock_lock *lock)
{
    redlock_lock *own = operation->lock;

    assert(own != lock);
    assert(own->stage == RL_LOCK_ASKING);
    rl_operation_stop_asking(operation);
    rl_queue_quit(operation);
    own->stage = RL_LOCK_OVER;
    rl_lock_ref(lock);
    operation->lock = lock;
    operation->acquire.phase = RL_ACQUIRE_ENDED;
    admit(operation);
    rl_lock_unref(own);
}

static void take_along(redlock_lock *lock)
{
    struct rl_link *link = rl_list_first(&lock->queue);

    while (link != NULL) {
        struct rl_operation *operation = RL_CONTAINER(link, struct rl_operation, in_queue);

        link = rl_list_next(&lock->queue, link);
        if (operation->lock->reentry != NULL && is_owner(operation->lock->reentry, lock->reentry))
            follow(operation, lock);
    }
}

void rl_reentrant_enter(struct rl_operation *operation)
{
    redlock_lock *lock = operation->lock;
    struct rl_reentry *reentry = lock->reentry;

    if (reentry == NULL)
        return;
    reentry->handles++;
    if (operation->enters)
        reentry->pending--;
    else
        reentry->entries++;
    if (!rl_link_used(&reentry->inside))
        rl_list_append(&lock->engine->inside, &reentry->inside);
    take_along(lock);
}

bool rl_reentrant_miss(struct rl_operation *operation)
{
    struct rl_reentry *reentry = operation->lock->reentry;

    if (!operation->enters)
        return false;
    reentry->pending--;
    if (reentry->entries > 0)
        reentry->entries--;
    return reentry->entries > 0;
}

bool rl_reentrant_leave(redlock_lock *lock)
{
    struct rl_reentry *reentry = lock->reentry;

    if (reentry == NULL || reentry->entries == 0)
        return false;
    reentry->entries--;
    return reentry->entries > 0;
}

bool rl_reentrant_free(redlock_lock *lock)
{
    struct rl_reentry *reentry = lock->reentry;

    if (reentry == NULL || reentry->handles == 0)
        return false;
    reentry->handles--;
    if (reentry->entries > reentry->handles + reentry->pending)
        reentry->entries = reentry->handles + reentry->pending;
    if (reentry->handles > 0)
        return true;
    rl_list_remove(&reentry->inside);
    return false;
}
