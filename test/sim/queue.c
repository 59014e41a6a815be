/*
 * What is going to happen, earliest first; see world.h. Things due at the same time happen in the order in
 * which they were planned, so that a seed repeats its run exactly.
 */
#include <stdlib.h>

#include "sim/world.h"

static bool earlier(const struct sim_event *a, const struct sim_event *b)
{
    return a->at_us != b->at_us ? a->at_us < b->at_us : a->serial < b->serial;
}

static void grow(struct sim_queue *queue)
{
    queue->capacity = queue->capacity == 0 ? 256 : 2 * queue->capacity;
    queue->heap = realloc(queue->heap, queue->capacity * sizeof *queue->heap);
    if (queue->heap == NULL)
        abort();
}

void sim_queue_push(struct sim_queue *queue, struct sim_event event)
{
    uint32_t at = queue->count;

    if (queue->count == queue->capacity)
        grow(queue);
    queue->count++;
    event.serial = ++queue->serial;
    while (at > 0 && earlier(&event, &queue->heap[(at - 1) / 2])) {
        queue->heap[at] = queue->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    queue->heap[at] = event;
}

bool sim_queue_pop(struct sim_queue *queue, struct sim_event *event)
{
    struct sim_event last;
    uint32_t at = 0;

    if (queue->count == 0)
        return false;
    *event = queue->heap[0];
    last = queue->heap[--queue->count];
    for (;;) {
        uint32_t child = 2 * at + 1;

        if (child >= queue->count)
            break;
        if (child + 1 < queue->count && earlier(&queue->heap[child + 1], &queue->heap[child]))
            child++;
        if (!earlier(&queue->heap[child], &last))
            break;
        queue->heap[at] = queue->heap[child];
        at = child;
    }
    queue->heap[at] = last;
    return true;
}
