/*
 * The lock object: its name, its owner value, its references and its pool; and the accessors of the API. What happens to
 * a lock over time is in operation.c (until it is held) and holding.c (from then on).
 */
#include <assert.h>
#include <string.h>

#include "base/bytes.h"
#include "client/client.h"

enum { TEXT_STEP = 16, SPARE_MAX = 256 };

/* The spare lock that fits best, so that longer names find theirs later; NULL: none has room. */
static redlock_lock *find_spare(redlock_client *client, size_t capacity)
{
    redlock_lock *best = NULL;

    for (struct rl_link *link = rl_list_first(&client->spare_locks); link != NULL;
         link = rl_list_next(&client->spare_locks, link)) {
        redlock_lock *lock = RL_CONTAINER(link, redlock_lock, link);

        if (lock->capacity == capacity)
            return lock;
        if (lock->capacity > capacity && (best == NULL || lock->capacity < best->capacity))
            best = lock;
    }
    return best;
}

/* A spare lock with room for so much text, or a new one. */
static redlock_lock *obtain(redlock_client *client, size_t capacity)
{
    redlock_lock *lock = find_spare(client, capacity);

    if (lock != NULL) {
        rl_list_remove(&lock->link);
        client->spare_lock_count--;
        capacity = lock->capacity;
    } else {
        lock = rl_client_allocate(client, sizeof *lock + capacity);
        if (lock == NULL)
            return NULL;
    }
    memset(lock, 0, sizeof *lock);
    lock->capacity = (uint16_t)capacity;
    return lock;
}

/* What of the owner value follows its random part. */
static size_t make_tail(redlock_client *client, const redlock_spec *spec, char *tail)
{
    struct rl_owner_words words = {
        .tag = spec->tag,
        .tag_length = spec->tag_length,
        .host = client->config.host,
        .user = client->config.login,
        .why = spec->why,
        .pid = client->config.pid,
        .since_ms = rl_clock_wall_us() / 1000,
    };

    return client->config.anonymous ? rl_owner_tag_field(tail, spec->tag, spec->tag_length)
                                    : rl_owner_tail(tail, &words);
}

static void write_key(redlock_lock *lock, const redlock_spec *spec, size_t name_length)
{
    const struct rl_config *config = &lock->client->config;

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

redlock_lock *rl_lock_create(redlock_client *client, const redlock_spec *spec, size_t name_length,
                             const char *owner, size_t owner_length)
{
    char tail[RL_OWNER_TAIL_MAX + 1];
    size_t text, behind = spec->on_renewed != NULL ? sizeof(struct rl_renewal) : 0;
    redlock_lock *lock;

    if (owner == NULL)
        owner_length = RL_OWNER_HEX + make_tail(client, spec, tail);
    text = client->config.key_prefix_length + name_length + owner_length + 2;
    if (!rl_client_reserve_timer(client))
        return NULL;
    lock = obtain(client, (text + TEXT_STEP - 1) / TEXT_STEP * TEXT_STEP + behind);
    if (lock == NULL) {
        rl_client_unreserve_timer(client);
        return NULL;
    }
    lock->client = client;
    lock->refs = 1;
    lock->timer.of_lock = true;
    rl_list_init(&lock->waiting);
    rl_list_init(&lock->queue);
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

bool rl_lock_renew_owner(redlock_lock *lock)
{
    uint8_t random[RL_OWNER_RANDOM];

    if (lock->owner_fixed)
        return true;
    if (!rl_client_random(lock->client, random, sizeof random))
        return false;
    rl_hex_write(owner_of(lock), random, sizeof random);
    return true;
}

void rl_lock_random(const redlock_lock *lock, uint8_t *random)
{
    memset(random, 0, RL_OWNER_RANDOM);
    if (!lock->owner_fixed)
        rl_hex_read(random, lock->text + lock->key_length + 1, RL_OWNER_RANDOM);
}

size_t rl_lock_owner_text(const redlock_lock *lock, const uint8_t *random, char *buffer)
{
    memcpy(buffer, lock->text + lock->key_length + 1, lock->owner_length + (size_t)1);
    if (!lock->owner_fixed && random != NULL)
        rl_hex_write(buffer, random, RL_OWNER_RANDOM);
    return lock->owner_length;
}

void rl_lock_ref(redlock_lock *lock)
{
    lock->refs++;
}

void rl_lock_unref(redlock_lock *lock)
{
    redlock_client *client = lock->client;

    assert(lock->refs > 0);
    if (--lock->refs > 0)
        return;
    assert(!lock->leads || client->inherited);
    rl_timers_set(&client->timers, &lock->timer, RL_TIME_NEVER);
    rl_client_unreserve_timer(client);
    rl_list_remove(&lock->link);
    rl_list_remove(&lock->notice);
    rl_thread_token_unref(lock->thread);
    lock->thread = NULL;
    if (client->spare_lock_count < SPARE_MAX && !client->closed) {
        rl_list_append(&client->spare_locks, &lock->link);
        client->spare_lock_count++;
        return;
    }
    rl_client_release(client, lock, sizeof *lock + lock->capacity);
}

/* ---- accessors ---- */

int64_t redlock_lock_validity_ms(const redlock_lock *lock)
{
    redlock_client *client = lock != NULL ? lock->client : NULL;
    int64_t left = 0;

    if (client == NULL || !rl_client_enter(client))
        return 0;
    if (lock->stage == RL_LOCK_HELD) {
        struct rl_time now = rl_client_now(client);

        if (rl_lease_held(&lock->lease, now))
            left = rl_span_ms_down(rl_time_since(lock->lease.valid_until, now));
    }
    rl_client_leave(client);
    return left;
}

uint64_t redlock_lock_fence(const redlock_lock *lock)
{
    return lock != NULL ? lock->fence : 0;
}

const char *redlock_lock_name(const redlock_lock *lock, size_t *length)
{
    size_t prefix = lock != NULL ? lock->client->config.key_prefix_length : 0;

    if (length != NULL)
        *length = lock != NULL ? lock->key_length - prefix : 0;
    return lock != NULL ? lock->text + prefix : NULL;
}

const char *redlock_lock_owner(const redlock_lock *lock, size_t *length)
{
    if (length != NULL)
        *length = lock != NULL ? lock->owner_length : 0;
    return lock != NULL ? lock->text + lock->key_length + 1 : NULL;
}

/* After this no callback of it runs: waits for one that does, unless it is the one calling. */
static void end_callbacks(redlock_lock *lock)
{
    redlock_client *client = lock->client;
    bool from_callback = client->notifier_running && pthread_equal(client->notifier, pthread_self());

    while (lock->calling && !from_callback)
        pthread_cond_wait(&client->callback_ended, &client->mutex);
    lock->on_lost = NULL;
    lock->renewal = NULL;
    rl_list_remove(&lock->notice);
    rl_holding_let_go(lock); /* nobody is left to be told */
}

void rl_lock_let_go(redlock_lock *lock)
{
    if (lock->stage == RL_LOCK_HELD && !lock->client->inherited)
        rl_holding_abandon(lock);
    lock->handle = false;
    rl_lock_unref(lock);
}

void redlock_lock_free(redlock_lock *lock)
{
    RL_NO_CANCELLATION;
    redlock_client *client;
    bool matters;

    if (lock == NULL)
        return;
    client = lock->client;
    if (rl_crowd_free(client, lock))
        return;
    pthread_mutex_lock(&client->mutex);
    matters = lock->stage == RL_LOCK_HELD || lock->let_go != 0;
    if (!client->inherited)
        end_callbacks(lock);
    rl_lock_let_go(lock);
    if (matters && !client->inherited && !client->closing) {
        rl_driver_flush(client); /* it is released, or the next one asks */
        rl_driver_nudge(client);
    }
    rl_client_unref(client); /* lets go of the mutex */
}
