/*
 * What a client lends to its engine and to the other files: clock, chance, words, its mutex; and the parts of
 * the API that only ask.
 */
#include "client/client.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "client/thread_token.h"

struct rl_time rl_client_now(redlock_client *client)
{
    rl_engine_look(&client->engine, rl_clock_now(&client->clock));
    return client->engine.now;
}

/* ---- what the engine needs ---- */

static int64_t wall_us(void *context)
{
    (void)context;
    return rl_clock_wall_us();
}

/* The system's randomness, a pool at a time. Up to 256 bytes come whole, or not at all. */
static bool draw(void *context, uint8_t *bytes, size_t length)
{
    redlock_client *client = context;

    assert(length <= sizeof client->random);
    if (client->random_left < length) {
        ssize_t got;

        do
            got = getrandom(client->random, sizeof client->random, 0);
        while (got < 0 && errno == EINTR);
        if (got != (ssize_t)sizeof client->random)
            return false;
        client->random_left = sizeof client->random;
    }
    client->random_left -= (uint32_t)length;
    memcpy(bytes, client->random + client->random_left, length);
    return true;
}

static void write_log(void *context, redlock_log_level level, const char *line)
{
    const struct rl_config *config = &((redlock_client *)context)->engine.config;

    config->log(config->log_context, level, line);
}

static void write_trace(void *context, const char *line)
{
    const struct rl_config *config = &((redlock_client *)context)->engine.config;

    config->trace(config->trace_context, line);
}

static void *bind_thread(void *context)
{
    (void)context;
    return rl_thread_token_get();
}

static bool thread_lives(void *context, const void *thread)
{
    (void)context;
    return atomic_load(&((const struct rl_thread_token *)thread)->alive);
}

static void forget_thread(void *context, void *thread)
{
    (void)context;
    rl_thread_token_unref(thread);
}

struct rl_host rl_client_host(redlock_client *client, const struct rl_config *config)
{
    return (struct rl_host){
        .memory = {config->allocator.allocate, config->allocator.release, config->allocator.context},
        .wall_us = wall_us,
        .random = draw,
        .log = config->log != NULL ? write_log : NULL,
        .trace = config->trace != NULL ? write_trace : NULL,
        .thread_bind = bind_thread,
        .thread_lives = thread_lives,
        .thread_forget = forget_thread,
        .context = client,
    };
}

/* ---- coming ---- */

bool rl_client_enter(redlock_client *client)
{
    if (client->inherited)
        return false;
    pthread_mutex_lock(&client->mutex);
    if (client->engine.closing) {
        pthread_mutex_unlock(&client->mutex);
        return false;
    }
    client->callers++;
    return true;
}

uint32_t redlock_client_node_count(const redlock_client *client)
{
    return client != NULL ? client->engine.node_count : 0;
}

const char *redlock_client_node_url(const redlock_client *client, uint32_t node)
{
    return client != NULL && node < client->engine.node_count ? client->engine.sessions[node].url.display
                                                              : NULL;
}
