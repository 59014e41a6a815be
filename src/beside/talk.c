/*
 * Talks with all nodes at once, for calls that have connections of their own; see talk.h.
 */
#include "beside/talk.h"

#include <string.h>
#include <time.h>

#include "redlock.h"

enum { SLICE_MS = 50 }; /* how soon a closing client is noticed */

struct rl_time rl_talk_now(struct rl_talk *talk)
{
    return rl_clock_now(&talk->clock);
}

static void ring_bell(void *context)
{
    rl_poller_ring(&((struct rl_talk *)context)->poller);
}

static size_t talk_size(uint32_t node_count)
{
    return sizeof(struct rl_talk) + node_count * sizeof(struct rl_talk_node);
}

struct rl_talk *rl_talk_open(redlock_client *client, redlock_result *result)
{
    const struct rl_memory *memory = &client->engine.host.memory;
    uint32_t node_count = client->engine.node_count;
    struct rl_talk *talk = rl_memory_allocate(memory, talk_size(node_count));

    *result = REDLOCK_NOMEM;
    if (talk == NULL)
        return NULL;
    memset(talk, 0, talk_size(node_count));
    talk->client = client;
    talk->node_count = node_count;
    talk->poller.epoll_fd = talk->poller.bell_fd = -1;
    rl_clock_start(&talk->clock);
    talk->means = (struct rl_talk_means){&client->engine.config, memory, &talk->clock};
    for (uint32_t i = 0; i < node_count; i++) {
        talk->nodes[i].means = &talk->means;
        rl_connection_init(&talk->nodes[i].connection, &talk->config, i, &client->engine.sessions[i].url);
    }
    if (!rl_poller_open(&talk->poller)) {
        *result = REDLOCK_SYSTEM;
        rl_talk_close(talk);
        return NULL;
    }
    talk->resolver = rl_resolver_create(memory->allocate, memory->release, memory->context, ring_bell, talk);
    talk->config = (struct rl_connection_config){&talk->poller, talk->resolver, client->tls};
    if (talk->resolver == NULL) {
        rl_talk_close(talk);
        return NULL;
    }
    *result = REDLOCK_OK;
    return talk;
}

void rl_talk_close(struct rl_talk *talk)
{
    if (talk == NULL)
        return;
    for (uint32_t i = 0; i < talk->node_count; i++)
        rl_talk_node_close(&talk->nodes[i]);
    rl_resolver_free(talk->resolver);
    rl_poller_close(&talk->poller);
    rl_memory_release(talk->means.memory, talk, talk_size(talk->node_count));
}

void rl_talk_begin(struct rl_talk *talk)
{
    for (uint32_t i = 0; i < talk->node_count; i++)
        rl_talk_node_begin(&talk->nodes[i]);
}

void rl_talk_write(struct rl_talk *talk, uint32_t node, const struct rl_argument *arguments, uint32_t count)
{
    rl_talk_node_write(&talk->nodes[node], arguments, count);
}

static void take_resolved(struct rl_talk *talk)
{
    struct rl_resolved resolved;

    while (rl_resolver_take(talk->resolver, &resolved))
        rl_talk_node_resolved(&talk->nodes[resolved.tag], &resolved);
}

/* The first deadline of those that are waited for; false: nobody is. */
static bool next_deadline(struct rl_talk *talk, struct rl_time *deadline)
{
    bool waits = false;

    *deadline = RL_TIME_NEVER;
    for (uint32_t i = 0; i < talk->node_count; i++) {
        struct rl_talk_node *node = &talk->nodes[i];

        if (!rl_talk_node_awaited(node))
            continue;
        if (!rl_time_before(rl_talk_now(talk), node->deadline)) {
            rl_talk_node_fail(node, RL_CAUSE_TIMED_OUT,
                              node->greeted ? "no answer within node_timeout_ms"
                                            : "no connection within connect_timeout_ms");
            continue;
        }
        *deadline = rl_time_min(*deadline, node->deadline);
        waits = true;
    }
    return waits;
}

void rl_talk_exchange(struct rl_talk *talk)
{
    struct rl_ready ready[RL_NODES_MAX + 1];
    struct rl_time deadline;

    for (uint32_t i = 0; i < talk->node_count; i++)
        if (talk->nodes[i].asked && !talk->nodes[i].failed)
            rl_talk_node_start(&talk->nodes[i]);
    while (next_deadline(talk, &deadline)) {
        int count = rl_poller_wait(&talk->poller, rl_time_since(deadline, rl_talk_now(talk)), ready,
                                   RL_NODES_MAX + 1);

        for (int i = 0; i < count; i++) {
            if (ready[i].tag == RL_POLLER_BELL)
                take_resolved(talk);
            else
                rl_talk_node_ready(&talk->nodes[ready[i].tag], &ready[i]);
        }
    }
}

static bool is_closing(redlock_client *client)
{
    bool closing;

    pthread_mutex_lock(&client->mutex);
    closing = client->engine.closing;
    pthread_mutex_unlock(&client->mutex);
    return closing;
}

bool rl_talk_rest(struct rl_talk *talk, struct rl_span span)
{
    struct rl_time end = rl_time_add(rl_talk_now(talk), span), now;

    while (rl_time_before(now = rl_talk_now(talk), end)) {
        struct rl_span left = rl_time_since(end, now);
        struct rl_span slice = left.us < SLICE_MS * 1000 ? left : rl_span_ms(SLICE_MS);
        struct timespec pause = {.tv_sec = 0, .tv_nsec = (long)slice.us * 1000};

        if (is_closing(talk->client))
            return false;
        nanosleep(&pause, NULL);
    }
    return !is_closing(talk->client);
}
