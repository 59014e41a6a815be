/*
 * Where memory comes from: two functions that the caller gives. Nothing of ours calls malloc by itself below
 * the client.
 */
#ifndef RL_BASE_MEMORY_H
#define RL_BASE_MEMORY_H

#include <stddef.h>

struct rl_memory {
    void *(*allocate)(void *context, size_t size); /* NULL: there is none */
    void (*release)(void *context, void *memory, size_t size);
    void *context;
};

static inline void *rl_memory_allocate(const struct rl_memory *memory, size_t size)
{
    return memory->allocate(memory->context, size);
}

/* NULL is fine. */
static inline void rl_memory_release(const struct rl_memory *memory, void *bytes, size_t size)
{
    if (bytes != NULL)
        memory->release(memory->context, bytes, size);
}

#endif
