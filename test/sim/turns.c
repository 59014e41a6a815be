/*
 * Who comes first among the workers of one client that want one name, as src/engine/queue.c has it: only the leader deals with
 * the nodes, and the next one's question rides right behind its release.
 */
#include <stdio.h>
#include <string.h>

#include "sim/world.h"

enum { HAND_ON_MIN_MS = 8, HAND_ON_MAX_MS = 512, HAND_ON_MIN_TRIPS = 32, STREAK_TRIPS = 4 };

void sim_turns_init(struct sim_client *client)
{
    client->queue_limit = rl_span_ms(HAND_ON_MIN_MS);
    client->streak_of = UINT32_MAX;
}

static struct sim_worker *leader_of(struct sim_world *world, struct sim_client *client, uint32_t name)
{
    for (uint32_t i = 0; i < world->plan.worker_count; i++)
        if (client->workers[i].leads && client->workers[i].name == name)
            return &client->workers[i];
    return NULL;
}

struct sim_worker *sim_turns_leader(struct sim_world *world, struct sim_client *client, const char *key,
                                    size_t key_length)
{
    char own[16];

    for (uint32_t name = 0; name < world->plan.name_count; name++) {
        size_t length = (size_t)snprintf(own, sizeof own, "lock-%u", name);

        if (length == key_length && memcmp(own, key, length) == 0)
            return leader_of(world, client, name);
    }
    return NULL;
}

static bool owes_courtesy(struct sim_client *client, struct sim_worker *worker)
{
    struct rl_span limit = client->queue_limit;

    if (limit.us < HAND_ON_MIN_TRIPS * client->trip.us)
        limit.us = HAND_ON_MIN_TRIPS * client->trip.us;
    if (rl_time_before(client->now, rl_time_add(worker->queue_since, limit)))
        return false;
    worker->queue_since = client->now;
    if (client->queue_limit.us < rl_span_ms(HAND_ON_MAX_MS).us)
        client->queue_limit.us *= 2;
    return true;
}

/* Whether this name was given back here just now: then it has been with this client since longer. */
static struct rl_time had_since(const struct sim_client *client, uint32_t name)
{
    struct rl_span while_ago = {STREAK_TRIPS * client->trip.us};

    if (name != client->streak_of ||
        rl_time_before(rl_time_add(client->streak_until, while_ago), client->now))
        return client->now;
    return client->streak_since;
}

void sim_turns_join(struct sim_world *world, struct sim_client *client, struct sim_worker *worker, bool waits,
                    struct rl_acquire_config *config)
{
    bool led = leader_of(world, client, worker->name) != NULL;

    worker->place = 0;
    if (!led) {
        worker->leads = config->watch = true;
        worker->queue_since = had_since(client, worker->name);
        config->courtesy = waits && owes_courtesy(client, worker);
    } else if (waits) {
        worker->place = ++client->last_place;
        config->watch = config->queued = true;
        world->stats.queued++;
    }
}

void sim_turns_leave(struct sim_world *world, struct sim_client *client, struct sim_worker *worker)
{
    struct sim_worker *next = NULL;
    struct rl_event event = {.kind = RL_EVENT_TURN, .now = client->now};

    if (!worker->leads)
        return;
    worker->leads = false;
    client->streak_of = worker->name;
    client->streak_since = worker->queue_since;
    client->streak_until = client->now;
    for (uint32_t i = 0; i < world->plan.worker_count; i++) {
        struct sim_worker *other = &client->workers[i];

        if (other->place != 0 && other->name == worker->name && (next == NULL || other->place < next->place))
            next = other;
    }
    if (next == NULL || world->stopping)
        return;
    next->place = 0;
    next->leads = true;
    next->queue_since = worker->queue_since;
    event.courtesy = owes_courtesy(client, next);
    sim_lock_event(world, client, next, &event);
}

void sim_turns_remember(struct sim_client *client, const struct rl_acquire *acquire)
{
    if (acquire->round == 0)
        return;
    client->trip = acquire->trip;
    client->patience = acquire->patience > 0 ? acquire->patience - 1 : 0;
    client->heat = acquire->heat > 3 ? acquire->heat - 3 : 0;
    if (acquire->round > 1)
        client->queue_limit = rl_span_ms(HAND_ON_MIN_MS);
}
