/*
 * Counts, fails and checks allocations; see counting_allocator.h. Each block is preceded by a header that
 * says how long it is; malloc gives every block its own fence under a sanitizer.
 */
#include "support/counting_allocator.h"

#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t ALIVE = 0x616c697665626c6b;
static const uint64_t RELEASED = 0x72656c6561736564;

struct block {
    alignas(max_align_t) uint64_t state;
    size_t size;
};

/* With the mutex held. */
static bool must_fail(struct counting_allocator *counting)
{
    counting->requests++;
    if (counting->fail_at == 0 || counting->requests < counting->fail_at)
        return false;
    return counting->fail_after || counting->requests == counting->fail_at;
}

static void *allocate(void *context, size_t size)
{
    struct counting_allocator *counting = context;
    struct block *block = NULL;

    pthread_mutex_lock(&counting->mutex);
    if (!must_fail(counting))
        block = malloc(sizeof(*block) + size);
    if (block == NULL) {
        counting->failed++;
    } else {
        counting->live_blocks++;
        counting->live_bytes += size;
    }
    pthread_mutex_unlock(&counting->mutex);
    if (block == NULL)
        return NULL;
    *block = (struct block){ALIVE, size};
    /* New memory is not zero: whoever relies on that finds out. */
    memset(block + 1, 0xa5, size);
    return block + 1;
}

static void release(void *context, void *memory, size_t size)
{
    struct counting_allocator *counting = context;

    if (memory == NULL)
        return;
    struct block *block = (struct block *)memory - 1;
    pthread_mutex_lock(&counting->mutex);
    if (block->state != ALIVE || block->size != size) {
        counting->mistakes++;
        fprintf(stderr, "# released %zu bytes of a block of %zu, state %llx\n", size, block->size,
                (unsigned long long)block->state);
        pthread_mutex_unlock(&counting->mutex);
        return;
    }
    counting->live_blocks--;
    counting->live_bytes -= size;
    pthread_mutex_unlock(&counting->mutex);
    block->state = RELEASED;
    memset(memory, 0x5a, size);
    free(block);
}

void counting_allocator_init(struct counting_allocator *counting)
{
    *counting = (struct counting_allocator){.allocator = {allocate, release, counting}};
    pthread_mutex_init(&counting->mutex, NULL);
}

void counting_allocator_destroy(struct counting_allocator *counting)
{
    pthread_mutex_destroy(&counting->mutex);
}

void counting_allocator_fail(struct counting_allocator *counting, uint64_t nth, bool all)
{
    pthread_mutex_lock(&counting->mutex);
    counting->fail_at = nth == 0 ? 0 : counting->requests + nth;
    counting->fail_after = all;
    pthread_mutex_unlock(&counting->mutex);
}

struct allocation_counts counting_allocator_counts(struct counting_allocator *counting)
{
    pthread_mutex_lock(&counting->mutex);
    struct allocation_counts counts = {counting->requests, counting->failed, counting->live_blocks,
                                       counting->live_bytes, counting->mistakes};
    pthread_mutex_unlock(&counting->mutex);
    return counts;
}
