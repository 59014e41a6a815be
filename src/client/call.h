/*
 * A blocking call, and the lists of threads that sleep in one: types only. Up to three threads follow each
 * other (follow.h); more are a crowd (crowd.h).
 */
#ifndef RL_CLIENT_CALL_H
#define RL_CLIENT_CALL_H

#include <stdatomic.h>

#include "base/list.h"
#include "base/time.h"
#include "redlock.h"

struct rl_operation;

enum rl_post_kind { RL_POST_ACQUIRE, RL_POST_RELEASE, RL_POST_FREE };

/* Something that waits to be carried out, newest first. */
struct rl_post {
    struct rl_post *next;
    enum rl_post_kind kind;
};

/* A blocking call, on its caller's stack. */
struct rl_call {
    struct rl_post post;
    const redlock_spec *spec; /* ACQUIRE */
    int64_t wait_ms;
    redlock_lock **acquired;
    redlock_lock *lock; /* RELEASE */
    redlock_report *report;
    redlock_result result;
    uint32_t wake_slot; /* where its thread sleeps */
    bool follows;       /* its thread sleeps on `state` instead; see sleepers.h */
    bool looks;         /* and comes to look itself when its operation has ended */
    atomic_uint state;  /* how its thread learns that it is over: the only part both look at meanwhile */
};

/* TAKEN: another thread ends it. From then on its own touches nothing of the client any more, which may be
 * gone. */
enum { RL_CALL_AWAKE, RL_CALL_ASLEEP, RL_CALL_TAKEN, RL_CALL_OVER };

enum { RL_CROWD = 4 }; /* as many blocking calls at once are one */

/* Up to 32 threads of a crowd sleep on one futex, so that one system call wakes many of them. Woken one by
 * one, each would push the waker off its core. */
enum { RL_WAKE_GROUPS = 4, RL_WAKE_SLOTS = 32 * RL_WAKE_GROUPS };

struct rl_crowd {
    _Atomic(struct rl_post *) inbox;         /* open only while the carrier serves */
    atomic_bool in_poller;                   /* the carrier may be in the poller, and has to be woken */
    atomic_uint inside;                      /* threads that may still touch any of this */
    atomic_uint wake_groups[RL_WAKE_GROUPS]; /* a number each, which rises with every waking */
    atomic_uint next_wake_slot;

    /* The rest is guarded by the client's mutex. */
    bool wanted, serving;    /* the carrier is asked to serve; is serving */
    uint32_t under_way;      /* calls taken from the inbox and not over */
    uint32_t lonely;         /* calls since there were enough of them at once */
    struct rl_list ended;    /* operations to be reported to their calls */
    struct rl_call *to_wake; /* calls that are over, whose threads do not know it yet */
};

/* Whenever the mutex is free: nothing is in `ended` or `woken`; and if nobody drives, the first of `ready`
 * has been woken to drive, or one of `queued` wakes up in time for what is due soon. */
struct rl_followers {
    struct rl_list ready;  /* operations whose threads sleep, and drive if nobody else does */
    struct rl_list queued; /* operations whose threads sleep, and have nothing to read */
    struct rl_list ended;  /* operations that are over, whose calls have to be ended for their threads */
    struct rl_call *woken; /* calls that are, whose threads do not know it yet */
    /* Its thread wakes up at `timekeeper_wakes` for what is due by then; NULL: no thread does. */
    struct rl_operation *timekeeper;
    struct rl_time timekeeper_wakes;
};

#endif
