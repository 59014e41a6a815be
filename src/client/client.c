/*
 * What a client lends to the other files: memory, clock, chance, words, its mutex; and the parts of the API that only ask.
 */
#include "client/client.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/bytes.h"

void *rl_client_allocate(redlock_client *client, size_t size)
{
    return client->config.allocator.allocate(client->config.allocator.context, size);
}

void rl_client_release(redlock_client *client, void *memory, size_t size)
{
    if (memory != NULL)
        client->config.allocator.release(client->config.allocator.context, memory, size);
}

struct rl_time rl_client_now(redlock_client *client)
{
    return rl_clock_now(&client->clock);
}

/* Every operation and every lock has a place for its timer before it begins: setting one cannot fail. */
bool rl_client_reserve_timer(redlock_client *client)
{
    uint32_t capacity = client->timers.capacity;
    struct rl_timer **larger;

    if (client->timers_reserved == capacity) {
        uint32_t wanted = capacity == 0 ? 64 : capacity * 2;

        larger = rl_client_allocate(client, wanted * sizeof *larger);
        if (larger == NULL)
            return false;
        if (client->timers.count > 0)
            memcpy(larger, client->timers.heap, client->timers.count * sizeof *larger);
        rl_client_release(client, client->timers.heap, capacity * sizeof *larger);
        client->timers.heap = larger;
        client->timers.capacity = wanted;
    }
    client->timers_reserved++;
    return true;
}

void rl_client_unreserve_timer(redlock_client *client)
{
    assert(client->timers_reserved > 0);
    client->timers_reserved--;
}

/* The system's randomness, a pool at a time. Up to 256 bytes come whole, or not at all. */
bool rl_client_random(redlock_client *client, uint8_t *bytes, size_t length)
{
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

void rl_client_log(redlock_client *client, redlock_log_level level, const char *format, ...)
{
    char line[512];
    va_list arguments;

    if (client->config.log == NULL)
        return;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    client->config.log(client->config.log_context, level, line);
}

void rl_client_trace(redlock_client *client, const char *text)
{
    char line[256];

    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        struct rl_text cut = rl_text_on(line, sizeof line);

        rl_text_add_bytes(&cut, text, length);
        if (length > 0)
            client->config.trace(client->config.trace_context, line);
        text += length + (text[length] == '\n');
    }
}

/* ---- coming and going ---- */

bool rl_client_enter(redlock_client *client)
{
    if (client->inherited)
        return false;
    pthread_mutex_lock(&client->mutex);
    if (client->closing) {
        pthread_mutex_unlock(&client->mutex);
        return false;
    }
    client->callers++;
    return true;
}

void rl_client_leave(redlock_client *client)
{
    if (--client->callers == 0 && client->closing)
        pthread_cond_broadcast(&client->callers_gone);
    rl_follow_unlock(client);
}

uint32_t redlock_client_node_count(const redlock_client *client)
{
    return client != NULL ? client->node_count : 0;
}

const char *redlock_client_node_url(const redlock_client *client, uint32_t node)
{
    return client != NULL && node < client->node_count ? client->connections[node].url.display : NULL;
}
