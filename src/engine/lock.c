/*
 * Making lock objects, their owner values, and their pool; see lock.h.
 */
#include "engine/lock.h"

#include <assert.h>
#include <string.h>

#include "base/bytes.h"

enum { TEXT_STEP = 16, SPARE_MAX = 256 };

const struct rl_kind *rl_lock_kind(const struct rl_engine *engine, redlock_kind kind)
{
    static const struct rl_kind *const kinds[][REDLOCK_SEMAPHORE + 1] = {
        [REDLOCK_FORMAT_COMMON] = {[REDLOCK_EXCLUSIVE] = &rl_kind_exclusive,
                                   [REDLOCK_FAIR] = &rl_kind_line,
                                   [REDLOCK_SEMAPHORE] = &rl_kind_slots},
        [REDLOCK_FORMAT_REDISSON] = {
            [REDLOCK_EXCLUSIVE] = &rl_kind_redisson, [REDLOCK_SHARED] = &rl_kind_redisson_shared}};

    if ((unsigned)kind > REDLOCK_SEMAPHORE)
        return NULL;
    /* Guarded nodes keep one kind, in the order of asking: both names mean it. */
    if (engine->config.format == REDLOCK_FORMAT_COMMON && engine->config.guarded && kind <= REDLOCK_FAIR)
        return &rl_kind_line;
    return kinds[engine->config.format][kind];
}

/* The spare lock that fits best, so that longer names find theirs later; NULL: none has room. */
static redlock_lock *find_spare(struct rl_engine *engine, size_t capacity)
{
    redlock_lock *best = NULL;

    for (struct rl_link *link = rl_list_first(&engine->spare_locks); link != NULL;
         link = rl_list_next(&engine->spare_locks, link)) {
        redlock_lock *lock = RL_CONTAINER(link, redlock_lock, link);

        if (lock->capacity == capacity)
            return lock;
        if (lock->capacity > capacity && (best == NULL || lock->capacity < best->capacity))
            best = lock;
    }
    return best;
}

/* A spare lock with room for so much text, or a new one. */
static redlock_lock *obtain(struct rl_engine *engine, size_t capacity)
{
    redlock_lock *lock = find_spare(engine, capacity);

    if (lock != NULL) {
        rl_list_remove(&lock->link);
        engine->spare_lock_count--;
        capacity = lock->capacity;
    } else {
        lock = rl_state_allocate(engine, sizeof *lock + capacity);
        if (lock == NULL)
            return NULL;
    }
    memset(lock, 0, sizeof *lock);
    lock->capacity = (uint16_t)capacity;
    return lock;
}

/* What of the owner value follows its random part. */
static size_t make_tail(struct rl_engine *engine, const redlock_spec *spec, char *tail)
{
    struct rl_owner_words words = {
        .tag = spec->tag,
        .tag_length = spec->tag_length,
        .host = engine->config.host,
        .user = engine->config.login,
        .why = spec->why,
        .pid = engine->config.pid,
        .since_ms = rl_state_wall_us(engine) / 1000,
        .ttl_ms = spec->ttl_ms,
    };

    return engine->config.anonymous ? rl_owner_tag_field(tail, spec->tag, spec->tag_length)
                                    : rl_owner_tail(tail, &words);
}

static void write_key(redlock_lock *lock, const redlock_spec *spec, size_t name_length)
{
    const struct rl_config *config = &lock->engine->config;

    memcpy(lock->text, config->key_prefix, config->key_prefix_length);
    if (name_length > 0)
        memcpy(lock->text + config->key_prefix_length, spec->name, name_length);
    lock->key_length = (uint16_t)(config->key_prefix_length + name_length);
    lock->text[lock->key_length] = '\0';
}

static char *owner_of(redlock_lock *lock)
{
    return lock->text + lock->key_length + 1;
}

/* With zeros for its random part as long as nothing is asked in its name. */
static void write_owner(redlock_lock *lock, const char *owner, const char *tail)
{
    char *text = owner_of(lock);

    if (owner != NULL) {
        memcpy(text, owner, lock->owner_length);
    } else {
        memset(text, '0', RL_OWNER_HEX);
        memcpy(text + RL_OWNER_HEX, tail, lock->owner_length - (size_t)RL_OWNER_HEX);
    }
    text[lock->owner_length] = '\0';
}

/* Few locks want it, so it lives at the very end of their memory and costs the others nothing. */
static void add_renewal(redlock_lock *lock, redlock_renewed_fn tell)
{
    char *end = (char *)(lock + 1) + lock->capacity;

    lock->renewal = (struct rl_renewal *)(void *)(end - sizeof *lock->renewal);
    *lock->renewal = (struct rl_renewal){.tell = tell};
}

/* A lock of a kind with room for so much text and a renewal, with one reference; NULL: no memory. */
static redlock_lock *make(struct rl_engine *engine, const struct rl_kind *kind, size_t capacity)
{
    redlock_lock *lock;

    if (!rl_state_reserve_timer(engine))
        return NULL;
    lock = obtain(engine, capacity);
    if (lock == NULL) {
        rl_state_unreserve_timer(engine);
        return NULL;
    }
    lock->engine = engine;
    lock->kind = kind;
    lock->refs = 1;
    lock->timer.of_lock = true;
    rl_list_init(&lock->waiting);
    rl_list_init(&lock->queue);
    return lock;
}

redlock_lock *rl_lock_create(struct rl_engine *engine, const redlock_spec *spec, size_t name_length,
                             const char *owner, size_t owner_length)
{
    const struct rl_kind *kind = rl_lock_kind(engine, spec->kind);
    char tail[RL_OWNER_TAIL_MAX + 1];
    size_t text, behind = spec->on_renewed != NULL ? sizeof(struct rl_renewal) : 0;
    redlock_lock *lock;

    if (owner == NULL)
        owner_length = RL_OWNER_HEX + make_tail(engine, spec, tail);
    text = engine->config.key_prefix_length + name_length + owner_length + 2;
    lock = make(engine, kind, (text + TEXT_STEP - 1) / TEXT_STEP * TEXT_STEP + behind);
    if (lock == NULL)
        return NULL;
    lock->slots = kind->has_slots ? (uint16_t)spec->permits : 0;
    write_key(lock, spec, name_length);
    lock->owner_length = (uint16_t)owner_length;
    lock->owner_fixed = owner != NULL;
    write_owner(lock, owner, tail);
    lock->on_lost = spec->on_lost;
    if (spec->on_renewed != NULL)
        add_renewal(lock, spec->on_renewed);
    lock->context = spec->context;
    return lock;
}

redlock_lock *rl_lock_again(redlock_lock *before)
{
    redlock_lock *lock = make(before->engine, before->kind, before->capacity);

    assert(!before->owner_fixed);
    if (lock == NULL)
        return NULL;
    memcpy(lock->text, before->text, (size_t)before->key_length + before->owner_length + 2);
    lock->slots = before->slots;
    lock->key_length = before->key_length;
    lock->owner_length = before->owner_length;
    lock->on_lost = before->on_lost;
    if (before->renewal != NULL)
        add_renewal(lock, before->renewal->tell);
    lock->context = before->context;
    lock->ttl_ms = before->ttl_ms;
    lock->lease.config = before->lease.config;
    lock->thread = before->thread;
    before->thread = NULL;
    return lock;
}

bool rl_lock_renew_owner(redlock_lock *lock)
{
    uint8_t random[RL_OWNER_RANDOM];

    if (lock->owner_fixed)
        return true;
    if (!rl_state_random(lock->engine, random, sizeof random))
        return false;
    rl_hex_write(owner_of(lock), random, sizeof random);
    return true;
}

void rl_lock_random(const redlock_lock *lock, uint8_t *random)
{
    memset(random, 0, RL_OWNER_RANDOM);
    if (!lock->owner_fixed)
        rl_hex_read(random, rl_lock_owner(lock), RL_OWNER_RANDOM);
}

size_t rl_lock_owner_text(const redlock_lock *lock, const uint8_t *random, char *buffer)
{
    memcpy(buffer, rl_lock_owner(lock), lock->owner_length + (size_t)1);
    if (!lock->owner_fixed && random != NULL)
        rl_hex_write(buffer, random, RL_OWNER_RANDOM);
    return lock->owner_length;
}

bool rl_lock_is_nameless(const redlock_lock *lock)
{
    return lock->key_length == lock->engine->config.key_prefix_length;
}

void rl_lock_ref(redlock_lock *lock)
{
    lock->refs++;
}

void rl_lock_unref(redlock_lock *lock)
{
    struct rl_engine *engine = lock->engine;

    assert(lock->refs > 0);
    if (--lock->refs > 0)
        return;
    assert(!lock->leads || engine->inert);
    assert(!lock->owned || engine->inert);
    rl_timers_set(&engine->timers, &lock->timer, RL_TIME_NEVER);
    rl_state_unreserve_timer(engine);
    rl_list_remove(&lock->link);
    rl_list_remove(&lock->notice);
    rl_lock_unbind(lock);
    if (engine->spare_lock_count < SPARE_MAX && !engine->closed) {
        rl_list_append(&engine->spare_locks, &lock->link);
        engine->spare_lock_count++;
        return;
    }
    rl_state_release(engine, lock, sizeof *lock + lock->capacity);
}

void rl_lock_unbind(redlock_lock *lock)
{
    if (lock->thread != NULL)
        lock->engine->host.thread_forget(lock->engine->host.context, lock->thread);
    lock->thread = NULL;
}

void rl_lock_drop_spares(struct rl_engine *engine)
{
    struct rl_link *link;

    while ((link = rl_list_first(&engine->spare_locks)) != NULL) {
        redlock_lock *lock = RL_CONTAINER(link, redlock_lock, link);

        rl_list_remove(link);
        rl_state_release(engine, lock, sizeof *lock + lock->capacity);
    }
    engine->spare_lock_count = 0;
}
