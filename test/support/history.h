/*
 * What many processes write down about the locks they held, and checkers that read it: did two rely on one
 * lock at once, did a fence repeat or go back. Times are of CLOCK_MONOTONIC, which all processes of a machine
 * share.
 */
#ifndef TEST_SUPPORT_HISTORY_H
#define TEST_SUPPORT_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

/* One hold. The holder relied on the lock from `entered` to `left`, and asked for it at `asked`. */
struct hold {
    int64_t asked_us, entered_us, left_us;
    uint64_t fence;
    int holder;
};

struct history;

/* In memory that forked children share; holds beyond the capacity are not kept, and history_full says so. */
struct history *history_create(uint32_t capacity);
void history_free(struct history *history);
void history_add(struct history *history, const struct hold *hold); /* from any process */
uint32_t history_count(const struct history *history);
bool history_full(const struct history *history);

int64_t history_now_us(void);

/* Pairs of different holds that were relied on at the same time. */
uint32_t history_overlaps(const struct history *history);

/* Pairs with one fence. */
uint32_t history_repeats(const struct history *history);

/* Pairs where one was handed out before the other was even asked for, but has the higher fence. */
uint32_t history_setbacks(const struct history *history);

#endif
