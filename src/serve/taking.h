/*
 * A request for a lock that is under way: what it wants, how it asks the nodes, and how it is answered. What
 * comes after what is not decided here: take.c does that, waiting.c for those that wait, recording.c for keys
 * that have a record.
 */
#ifndef SERVE_TAKING_H
#define SERVE_TAKING_H

#include "serve/line.h"
#include "serve/record.h"
#include "serve/turn.h"

struct serve_taking {
    struct serve_call call;
    struct serve_wish wish;
    redlock_acquired_fn taken; /* the nodes have answered */
    char session[33];
    uint64_t fence;           /* of the lease that an earlier request with the same key got; 0 not known */
    struct serve_later later; /* until the end of the turn that it came in */
    struct serve_place place; /* in the queue of those that wait for it here */
    struct event *timer;      /* while it stands behind others */
    int64_t until_ms;         /* how long it waits */
    bool tried;               /* with an Idempotency-Key, the nodes were asked once without waiting */
    /* Of a key that has a record: what was taken and is not recorded yet, and what the nodes said then. */
    redlock_lock *lock;
    uint32_t granted;
    int64_t waited_ms;
    unsigned record_tries;
    struct serve_recorded *recorded; /* while its lease is being looked for; NULL not */
};

/* Asks the nodes for the lock; `taken` hears of it. */
redlock_result serve_taking_ask(struct serve_taking *taking, int64_t wait_ms);

/* Each of these is the end of it. Its client hears: the lease, which is in the client's hands from then on; a
 * refusal; that the key was used for another lock, which is left alone. */
void serve_taking_answer(struct serve_taking *taking, redlock_lock *lock, const redlock_report *report);
void serve_taking_refuse(struct serve_taking *taking, redlock_result result, const redlock_report *report);
void serve_taking_refuse_reused(struct serve_taking *taking);

/* The answer to a repeated request: the lease that the first one got, its time counted anew. For
 * redlock_adopt_async(). */
void serve_taking_answer_again(void *context, redlock_result result, redlock_lock *lock,
                               const redlock_report *report);

/* Nobody needs to hear of the end: the client is gone. The lock, if there is one, goes back. */
void serve_taking_abandon(struct serve_taking *taking, redlock_lock *lock);

#endif
