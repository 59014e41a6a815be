/*
 * The system's memory, for programs that bring no allocator of their own.
 */
#include "client/memory.h"

#include <stdlib.h>

#include "engine/details.h"

static void *system_allocate(void *context, size_t size)
{
    (void)context;
    return malloc(size);
}

static void system_release(void *context, void *memory, size_t size)
{
    (void)context;
    (void)size;
    free(memory);
}

redlock_allocator rl_system_allocator(void)
{
    return (redlock_allocator){system_allocate, system_release, NULL};
}

redlock_details *redlock_details_new(const redlock_allocator *allocator)
{
    redlock_allocator chosen = allocator != NULL ? *allocator : rl_system_allocator();

    if (chosen.allocate == NULL || chosen.release == NULL)
        return NULL;
    return rl_details_create(&chosen, REDLOCK_NODES_MAX);
}
