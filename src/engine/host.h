/*
 * What an engine needs of the program around it: memory, the wall clock, random numbers, a log. It asks for
 * nothing else; time comes in with every call.
 */
#ifndef RL_ENGINE_HOST_H
#define RL_ENGINE_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"
#include "redlock.h"

struct rl_host {
    struct rl_memory memory;
    int64_t (*wall_us)(void *context); /* since 1970: for people and fence proposals, never for durations */
    bool (*random)(void *context, uint8_t *bytes, size_t length);
    void (*log)(void *context, redlock_log_level level, const char *line); /* NULL: nobody reads it */
    void (*trace)(void *context, const char *line);                        /* likewise */
    /* Locks may be bound to the thread that asks for them, of which only the host knows: who that is (NULL:
     * no memory), whether it lives, and that a lock is no longer bound to it. */
    void *(*thread_bind)(void *context);
    bool (*thread_lives)(void *context, const void *thread);
    void (*thread_forget)(void *context, void *thread);
    void *context;
};

#endif
