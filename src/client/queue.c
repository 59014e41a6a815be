/*
 * The queue of callers inside this process that want one name. Only its leader, who asks for the lock or has it, deals with the
 * nodes; the others queue behind it in order, and the next one's question rides right behind the leader's release.
 */
#include <string.h>

#include "base/bytes.h"
#include "client/client.h"

enum { PLACES_MIN = 16, HAND_ON_MIN_MS = 20, HAND_ON_MAX_MS = 160, HAND_ON_MIN_TRIPS = 32, STREAK_TRIPS = 4 };

/* ---- the table of leaders ---- */

static redlock_lock **place_of(redlock_client *client, const char *key, size_t key_length)
{
    struct rl_queues *queues = &client->queues;

    return &queues->leaders[rl_hash_bytes(queues->seed, key, key_length) & (queues->places - 1)];
}

redlock_lock *rl_queue_leader(redlock_client *client, const char *key, size_t key_length)
{
    redlock_lock *lock = client->queues.places > 0 ? *place_of(client, key, key_length) : NULL;

    while (lock != NULL && (lock->key_length != key_length || memcmp(lock->text, key, key_length) != 0))
        lock = lock->next_leader;
    return lock;
}

static void insert(redlock_client *client, redlock_lock *lock)
{
    redlock_lock **place = place_of(client, lock->text, lock->key_length);

    lock->next_leader = *place;
    *place = lock;
}

/* Twice the places. Without memory for them chains grow instead, and without any table nobody leads. */
static void grow(redlock_client *client)
{
    uint32_t before = client->queues.places, after = before > 0 ? 2 * before : PLACES_MIN;
    redlock_lock **old = client->queues.leaders,
                 **larger = rl_client_allocate(client, after * sizeof *larger);

    if (larger == NULL)
        return;
    memset(larger, 0, after * sizeof *larger);
    client->queues.leaders = larger;
    client->queues.places = after;
    for (uint32_t i = 0; i < before; i++)
        for (redlock_lock *lock = old[i], *next; lock != NULL; lock = next) {
            next = lock->next_leader;
            insert(client, lock);
        }
    if (old != NULL)
        rl_client_release(client, old, before * sizeof *old);
}

static void lead(redlock_lock *lock)
{
    redlock_client *client = lock->client;

    if (client->queues.count >= client->queues.places)
        grow(client);
    if (client->queues.places == 0)
        return;
    insert(client, lock);
    client->queues.count++;
    lock->leads = true;
}

static void step_down(redlock_lock *lock)
{
    redlock_lock **place = place_of(lock->client, lock->text, lock->key_length);

    while (*place != lock)
        place = &(*place)->next_leader;
    *place = lock->next_leader;
    lock->next_leader = NULL;
    lock->client->queues.count--;
    lock->leads = false;
}

void rl_queue_init(redlock_client *client)
{
    rl_list_init(&client->queues.turns);
    client->queues.seed = rl_prng_next(&client->prng);
    client->queues.limit = rl_span_ms(HAND_ON_MIN_MS);
}

void rl_queue_free(redlock_client *client)
{
    if (client->queues.leaders != NULL)
        rl_client_release(client, client->queues.leaders,
                          client->queues.places * sizeof *client->queues.leaders);
    client->queues.leaders = NULL;
    client->queues.places = 0;
}

/* ---- the queue ---- */

/* A name that is handed on inside for long, or asked for again and again, would shut other processes out. They get a
 * chance now and then, more seldom where it turned out that nobody took it. */
static bool owes_courtesy(redlock_client *client, redlock_lock *lock)
{
    struct rl_span limit = client->queues.limit;

    if (limit.us < HAND_ON_MIN_TRIPS * client->trip.us)
        limit.us = HAND_ON_MIN_TRIPS * client->trip.us;
    if (rl_time_before(client->clock.now, rl_time_add(lock->queue_since, limit)))
        return false;
    lock->queue_since = client->clock.now;
    if (client->queues.limit.us < rl_span_ms(HAND_ON_MAX_MS).us)
        client->queues.limit.us *= 2;
    return true;
}

/* Whether this name was given back here just now: then it has been with this process since longer. */
static struct rl_time had_since(redlock_client *client, uint64_t name)
{
    struct rl_span while_ago = {STREAK_TRIPS * client->trip.us};

    if (name != client->queues.streak_of ||
        rl_time_before(rl_time_add(client->queues.streak_until, while_ago), client->clock.now))
        return client->clock.now;
    return client->queues.streak_since;
}

void rl_queue_join(struct rl_operation *operation, bool waits, struct rl_acquire_config *config)
{
    redlock_lock *lock = operation->lock;
    redlock_client *client = lock->client;
    redlock_lock *leader = rl_queue_leader(client, lock->text, lock->key_length);

    if (leader == NULL) {
        lead(lock);
        lock->queue_since =
            had_since(client, rl_hash_bytes(client->queues.seed, lock->text, lock->key_length));
        config->watch = lock->leads;
        config->courtesy = waits && lock->leads && owes_courtesy(client, lock);
    } else if (waits) {
        rl_list_append(&leader->queue, &operation->in_queue);
        client->queues.blocked += operation->request == 0;
        config->watch = config->queued = true;
    }
}

bool rl_queue_holds(const struct rl_operation *operation)
{
    return operation->kind == RL_OPERATION_ACQUIRE && operation->acquire.phase == RL_ACQUIRE_QUEUED;
}

void rl_queue_quit(struct rl_operation *operation)
{
    redlock_client *client = operation->lock->client;

    if (rl_link_used(&operation->in_queue))
        client->queues.blocked -= operation->request == 0;
    rl_list_remove(&operation->in_queue);
}

static void take_turns(redlock_client *client)
{
    struct rl_link *link;

    /* One may end at once and make room for the next: in a loop, not in each other. */
    client->queues.turning = true;
    while ((link = rl_list_first(&client->queues.turns)) != NULL) {
        struct rl_operation *operation = RL_CONTAINER(link, struct rl_operation, in_queue);
        struct rl_event event = {.kind = RL_EVENT_TURN, .now = client->clock.now};

        rl_queue_quit(operation);
        event.courtesy = owes_courtesy(client, operation->lock);
        rl_follow_turned(client, operation);
        rl_operation_event(operation, &event);
    }
    client->queues.turning = false;
}

static void hand_on(redlock_lock *from)
{
    redlock_client *client = from->client;
    struct rl_link *link = rl_list_first(&from->queue);
    struct rl_operation *next = RL_CONTAINER(link, struct rl_operation, in_queue);
    redlock_lock *lock = next->lock;

    rl_list_remove(link);
    rl_list_move_all(&lock->queue, &from->queue);
    lead(lock);
    lock->queue_since = from->queue_since;
    rl_list_append(&client->queues.turns, &next->in_queue);
    if (!client->queues.turning)
        take_turns(client);
}

void rl_queue_leave(redlock_lock *lock)
{
    redlock_client *client = lock->client;
    struct rl_link *link;

    if (!lock->leads || client->queues.places == 0)
        return;
    step_down(lock);
    client->queues.streak_of = rl_hash_bytes(client->queues.seed, lock->text, lock->key_length);
    client->queues.streak_since = lock->queue_since;
    client->queues.streak_until = client->clock.now;
    if (!rl_list_empty(&lock->queue) && !client->closing)
        hand_on(lock);
    while ((link = rl_list_first(&lock->queue)) != NULL) /* the client closes: they are all being cancelled */
        rl_queue_quit(RL_CONTAINER(link, struct rl_operation, in_queue));
}

/* Somebody else had it meanwhile: this process has had it from now on only, and others are worth giving a chance. */
void rl_queue_won(redlock_lock *lock, const struct rl_acquire *acquire)
{
    if (acquire->round == 1 && acquire->wait.holder == 0)
        return;
    lock->queue_since = lock->client->clock.now;
    lock->client->queues.limit = rl_span_ms(HAND_ON_MIN_MS);
}

/* ---- what to tell those whose time ran out in the queue ---- */

static void borrow_record(struct rl_operation *operation, const struct rl_operation *from)
{
    memcpy(operation->node_records, from->node_records,
           operation->lock->client->node_count * sizeof *from->node_records);
    operation->record.holder = from->record.holder;
    operation->record.named = from->record.named;
    operation->record.holder_ttl_left_ms = from->record.holder_ttl_left_ms;
    operation->acquire.outcome = from->acquire.outcome;
}

/* The leader of this process has it: the nodes that granted it would have said no. */
static void describe_leader(struct rl_operation *operation, const redlock_lock *leader)
{
    struct rl_record *record = &operation->record;
    int64_t left_ms = rl_span_ms_down(rl_time_since(leader->lease.valid_until, leader->client->clock.now));

    redlock_holder_parse(redlock_lock_owner(leader, NULL), leader->owner_length, &record->holder);
    record->named = 0; /* it is ours, and no node had to name it */
    record->holder_ttl_left_ms = left_ms > 0 ? left_ms : 0;
    for (uint32_t node = 0; node < leader->client->node_count; node++)
        if (rl_node_set_has(leader->touched, node))
            record->nodes[node].answer = (struct rl_answer){.verdict = RL_DENIED, .ttl_left_ms = left_ms};
}

void rl_queue_explain(struct rl_operation *operation)
{
    const redlock_lock *lock = operation->lock;
    const redlock_lock *leader = rl_queue_leader(lock->client, lock->text, lock->key_length);

    if (leader == NULL || leader == lock)
        return;
    if (leader->stage == RL_LOCK_HELD)
        describe_leader(operation, leader);
    else if (leader->asking != NULL && leader->asking->kind == RL_OPERATION_ACQUIRE)
        borrow_record(operation, leader->asking);
}
