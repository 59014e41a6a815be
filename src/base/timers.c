/*
 * A binary heap with back-references; see timers.h.
 */
#include "base/timers.h"

#include <assert.h>
#include <stddef.h>

static void put(struct rl_timers *timers, uint32_t index, struct rl_timer *timer)
{
    timers->heap[index] = timer;
    timer->place = index + 1;
}

static void sift_up(struct rl_timers *timers, uint32_t index, struct rl_timer *timer)
{
    while (index > 0) {
        uint32_t parent = (index - 1) / 2;

        if (!rl_time_before(timer->at, timers->heap[parent]->at))
            break;
        put(timers, index, timers->heap[parent]);
        index = parent;
    }
    put(timers, index, timer);
}

static void sift_down(struct rl_timers *timers, uint32_t index, struct rl_timer *timer)
{
    for (;;) {
        uint32_t child = 2 * index + 1;

        if (child >= timers->count)
            break;
        if (child + 1 < timers->count && rl_time_before(timers->heap[child + 1]->at, timers->heap[child]->at))
            child++;
        if (!rl_time_before(timers->heap[child]->at, timer->at))
            break;
        put(timers, index, timers->heap[child]);
        index = child;
    }
    put(timers, index, timer);
}

static void settle(struct rl_timers *timers, uint32_t index, struct rl_timer *timer)
{
    if (index > 0 && rl_time_before(timer->at, timers->heap[(index - 1) / 2]->at))
        sift_up(timers, index, timer);
    else
        sift_down(timers, index, timer);
}

static void clear(struct rl_timers *timers, struct rl_timer *timer)
{
    uint32_t index = timer->place - 1;
    struct rl_timer *last = timers->heap[--timers->count];

    timer->place = 0;
    if (last != timer)
        settle(timers, index, last);
}

void rl_timers_set(struct rl_timers *timers, struct rl_timer *timer, struct rl_time at)
{
    timer->at = at;
    if (at.us == RL_TIME_NEVER.us) {
        if (timer->place != 0)
            clear(timers, timer);
        return;
    }
    if (timer->place == 0) {
        assert(timers->count < timers->capacity);
        sift_up(timers, timers->count++, timer);
    } else {
        settle(timers, timer->place - 1, timer);
    }
}

struct rl_timer *rl_timers_first(const struct rl_timers *timers)
{
    return timers->count > 0 ? timers->heap[0] : NULL;
}
