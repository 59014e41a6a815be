/*
 * One lock that was asked for, and the lines about it in the history. It asks for nothing and judges nothing.
 */
#ifndef CHAOS_HOLD_H
#define CHAOS_HOLD_H

#include <redlock.h>
#include <stdbool.h>
#include <stdint.h>

#include "journal.h"
#include "store.h"

/* What all threads of the process share. */
struct process {
    redlock_client *client;
    struct journal journal;
    const char *name, *folder;
};

extern struct process process;

enum { ALSO_MAX = 3 };

/* Places are used again long after the lock is freed: a callback may be late. */
struct hold {
    unsigned number; /* within the process */
    char name[16];
    redlock_lock *lock;
    char also[ALSO_MAX][16]; /* names that it has besides */
    unsigned also_count;
    redlock_name names[ALSO_MAX]; /* the same, for its spec */
    /* What the stores of each name said, or were told last, and whether they let us; of its name first. */
    uint64_t values[1 + ALSO_MAX][STORE_KINDS];
    bool open[1 + ALSO_MAX][STORE_KINDS];
    bool reads;    /* others may be inside with it: it writes nothing */
    bool gives;    /* it may be given away, or gone on with when another gave it away */
    bool reenters; /* its thread may enter it again */
};

void hold_note(const struct hold *hold, const char *word);
void hold_note_number(const struct hold *hold, const char *word, int64_t number);

/* How long it is valid, by this handle, which is written down. */
int64_t hold_note_validity(const struct hold *hold, redlock_lock *lock, const char *word);

/* How a call for it ended; with REDLOCK_OK this is the lock. */
void hold_note_answer(struct hold *hold, redlock_result result, redlock_lock *lock);

/* Callbacks of its spec; their context is the hold. */
void hold_on_lost(void *context, redlock_lock *lock, const redlock_report *report);
void hold_on_renewed(void *context, redlock_lock *lock, const redlock_report *report);

#endif
