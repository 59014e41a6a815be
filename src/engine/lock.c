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
                                   [REDLOCK_SHARED] = &rl_kind_shared,
                                   [REDLOCK_SEMAPHORE] = &rl_kind_slots},
        [REDLOCK_FORMAT_REDISSON] = {
            [REDLOCK_EXCLUSIVE] = &rl_kind_redisson, [REDLOCK_SHARED] = &rl_kind_redisson_shared}};

    if ((unsigned)kind > REDLOCK_SEMAPHORE)
        return NULL;
    /* Guarded nodes keep one kind that is held alone, in the order of asking: both names mean it. */
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

/* ---- several names ---- */

static int compare_keys(const struct rl_name_key *one, const struct rl_name_key *other)
{
    size_t common = one->length < other->length ? one->length : other->length;
    int order = memcmp(one->key, other->key, common);

    return order != 0 ? order : (one->length > other->length) - (one->length < other->length);
}

/* Among those that are there already, in the order of their bytes: callers that want some of the same names
 * meet in the same line. */
static void insert_key(struct rl_names *names, struct rl_name_key key)
{
    uint32_t place = names->count++;

    assert(names->count <= RL_NAMES_MAX);
    for (; place > 0 && compare_keys(&names->keys[place - 1], &key) > 0; place--)
        names->keys[place] = names->keys[place - 1];
    names->keys[place] = key;
    names->bytes += key.length;
}

static char *add_name(struct rl_lock_names *names, const struct rl_config *config, char *text,
                      const char *name, size_t length)
{
    struct rl_name_key key = {
        .key = text, .length = (uint32_t)(config->key_prefix_length + length), .given = names->keys.count};

    memcpy(text, config->key_prefix, config->key_prefix_length);
    memcpy(text + config->key_prefix_length, name, length);
    text[key.length] = '\0';
    insert_key(&names->keys, key);
    return text + key.length + 1;
}

size_t rl_name_length(const redlock_name *name)
{
    return name->length != 0 || name->name == NULL ? name->length : strlen(name->name);
}

static struct rl_lock_names *make_names(struct rl_engine *engine, const redlock_spec *spec)
{
    const struct rl_config *config = &engine->config;
    size_t size = sizeof(struct rl_lock_names) + config->key_prefix_length + spec->name_length + 1;
    struct rl_lock_names *names;
    char *text;

    for (uint32_t i = 0; i < spec->also_count; i++)
        size += config->key_prefix_length + rl_name_length(&spec->also[i]) + 1;
    names = rl_state_allocate(engine, size);
    if (names == NULL)
        return NULL;
    memset(names, 0, sizeof *names);
    names->size = size;
    text = add_name(names, config, names->text, spec->name, spec->name_length);
    for (uint32_t i = 0; i < spec->also_count; i++)
        text = add_name(names, config, text, spec->also[i].name, rl_name_length(&spec->also[i]));
    return names;
}

struct rl_reentry rl_reentry_of(const redlock_spec *spec)
{
    return (struct rl_reentry){.identity = spec->identity,
                               .by_thread = spec->reentrant == RL_REENTRANT_BY_THREAD};
}

/* What few locks have. */
static void free_extras(redlock_lock *lock)
{
    if (lock->names != NULL)
        rl_state_release(lock->engine, lock->names, lock->names->size);
    lock->names = NULL;
    if (lock->reentry != NULL) {
        rl_list_remove(&lock->reentry->inside);
        rl_state_release(lock->engine, lock->reentry, sizeof *lock->reentry);
    }
    lock->reentry = NULL;
}

/* false: no memory. */
static bool make_extras(redlock_lock *lock, const redlock_spec *spec)
{
    if (spec->also_count > 0)
        lock->names = make_names(lock->engine, spec);
    if (spec->reentrant != 0)
        lock->reentry = rl_state_allocate(lock->engine, sizeof *lock->reentry);
    if (lock->reentry != NULL) {
        *lock->reentry = rl_reentry_of(spec);
        lock->reentry->lock = lock;
    }
    if ((spec->also_count == 0 || lock->names != NULL) && (spec->reentrant == 0 || lock->reentry != NULL))
        return true;
    free_extras(lock);
    return false;
}

bool rl_lock_has_key(const redlock_lock *lock, const char *key, size_t key_length)
{
    const struct rl_names *names = lock->names != NULL ? &lock->names->keys : NULL;

    if (names == NULL)
        return lock->key_length == key_length && memcmp(lock->text, key, key_length) == 0;
    for (uint32_t i = 0; i < names->count; i++)
        if (names->keys[i].length == key_length && memcmp(names->keys[i].key, key, key_length) == 0)
            return true;
    return false;
}

static struct rl_lock_names *copy_names(struct rl_engine *engine, const struct rl_lock_names *names)
{
    struct rl_lock_names *copy = rl_state_allocate(engine, names->size);

    if (copy == NULL)
        return NULL;
    memcpy(copy, names, names->size);
    for (uint32_t i = 0; i < copy->keys.count; i++)
        copy->keys.keys[i].key = copy->text + (names->keys.keys[i].key - names->text);
    return copy;
}

/* false: no memory. Nobody is inside yet. */
static bool copy_extras(redlock_lock *lock, const redlock_lock *before)
{
    if (before->names != NULL)
        lock->names = copy_names(lock->engine, before->names);
    if (before->reentry != NULL)
        lock->reentry = rl_state_allocate(lock->engine, sizeof *lock->reentry);
    if (lock->reentry != NULL)
        *lock->reentry = (struct rl_reentry){
            .lock = lock, .identity = before->reentry->identity, .by_thread = before->reentry->by_thread};
    if ((before->names == NULL) == (lock->names == NULL) &&
        (before->reentry == NULL) == (lock->reentry == NULL))
        return true;
    free_extras(lock);
    return false;
}

/* ---- making one ---- */

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
    rl_list_init(&lock->fellows);
    return lock;
}

/* It was just made, and there is no memory for the rest of it. */
static void drop(redlock_lock *lock)
{
    rl_state_unreserve_timer(lock->engine);
    rl_state_release(lock->engine, lock, sizeof *lock + lock->capacity);
}

redlock_lock *rl_lock_create(struct rl_engine *engine, const redlock_spec *spec, size_t name_length,
                             const char *owner, size_t owner_length)
{
    const struct rl_kind *kind = spec->also_count > 0 ? &rl_kind_names : rl_lock_kind(engine, spec->kind);
    char tail[RL_OWNER_TAIL_MAX + 1];
    size_t text, behind = spec->on_renewed != NULL ? sizeof(struct rl_renewal) : 0;
    redlock_lock *lock;

    if (owner == NULL)
        owner_length = RL_OWNER_HEX + make_tail(engine, spec, tail);
    text = engine->config.key_prefix_length + name_length + owner_length + 2;
    lock = make(engine, kind, (text + TEXT_STEP - 1) / TEXT_STEP * TEXT_STEP + behind);
    if (lock == NULL)
        return NULL;
    if (!make_extras(lock, spec)) {
        drop(lock);
        return NULL;
    }
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
    if (!copy_extras(lock, before)) {
        drop(lock);
        return NULL;
    }
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
    free_extras(lock);
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
