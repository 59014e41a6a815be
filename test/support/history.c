/*
 * The history and its checkers; see history.h. The checkers look at every pair: there are a few thousand
 * holds at most, and nothing about them can be wrong.
 */
#include "support/history.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <time.h>

struct history {
    size_t size;
    uint32_t capacity;
    atomic_uint added;
    struct hold holds[];
};

struct history *history_create(uint32_t capacity)
{
    size_t size = sizeof(struct history) + capacity * sizeof(struct hold);
    struct history *history = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (history == MAP_FAILED)
        return NULL;
    history->size = size;
    history->capacity = capacity;
    return history;
}

void history_free(struct history *history)
{
    if (history != NULL)
        munmap(history, history->size);
}

void history_add(struct history *history, const struct hold *hold)
{
    uint32_t place = atomic_fetch_add(&history->added, 1);

    if (place < history->capacity)
        history->holds[place] = *hold;
}

uint32_t history_count(const struct history *history)
{
    uint32_t added = atomic_load(&history->added);

    return added < history->capacity ? added : history->capacity;
}

bool history_full(const struct history *history)
{
    return atomic_load(&history->added) > history->capacity;
}

int64_t history_now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static uint32_t count_pairs(const struct history *history,
                            bool (*wrong)(const struct hold *a, const struct hold *b))
{
    uint32_t count = history_count(history), pairs = 0;

    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = i + 1; k < count; k++)
            pairs += wrong(&history->holds[i], &history->holds[k]);
    return pairs;
}

static bool overlap(const struct hold *a, const struct hold *b)
{
    return a->entered_us < b->left_us && b->entered_us < a->left_us;
}

static bool repeat(const struct hold *a, const struct hold *b)
{
    return a->fence == b->fence;
}

static bool set_back(const struct hold *a, const struct hold *b)
{
    return (a->entered_us < b->asked_us && a->fence > b->fence) ||
           (b->entered_us < a->asked_us && b->fence > a->fence);
}

uint32_t history_overlaps(const struct history *history)
{
    return count_pairs(history, overlap);
}

uint32_t history_repeats(const struct history *history)
{
    return count_pairs(history, repeat);
}

uint32_t history_setbacks(const struct history *history)
{
    return count_pairs(history, set_back);
}
