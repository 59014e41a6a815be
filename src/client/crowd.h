/*
 * A crowd: many threads in blocking calls at once. They post their calls to one thread that stands at the connections, and
 * sleep until theirs is done, without ever taking the client's mutex. What a call does is in blocking.c.
 */
#ifndef RL_CLIENT_CROWD_H
#define RL_CLIENT_CROWD_H

#include <stdatomic.h>

#include "base/list.h"
#include "redlock.h"

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
    uint32_t bed;      /* where its thread sleeps */
    bool follows;      /* its thread sleeps on `state` instead; see follow.c */
    bool looks;        /* and comes to look itself when its operation has ended */
    atomic_uint state; /* how its thread learns that it is over: the only part both look at meanwhile */
};

/* TAKEN: another thread ends it. From then on its own touches nothing of the client any more, which may be gone. */
enum { RL_CALL_AWAKE, RL_CALL_ASLEEP, RL_CALL_TAKEN, RL_CALL_OVER };

/* Threads sleep in dormitories of 32, on one futex each, so that many of them are woken by one system call. Waked one by
 * one, each would push the waker off its core. */
enum { RL_CROWD = 4 }; /* as many blocking calls at once are one */

enum { RL_DORMITORIES = 4, RL_BEDS = 32 * RL_DORMITORIES };

struct rl_crowd {
    _Atomic(struct rl_post *) inbox;         /* open only while somebody stands */
    atomic_bool dozing;                      /* who stands may be in the poller, and has to be rung for */
    atomic_uint inside;                      /* threads that may still touch any of this */
    atomic_uint dormitories[RL_DORMITORIES]; /* a number that rises with every waking */
    atomic_uint next_bed;

    /* The rest is guarded by the client's mutex. */
    bool wanted, standing;   /* the carrier shall stand; does stand */
    uint32_t under_way;      /* calls taken from the inbox and not over */
    uint32_t lonely;         /* calls since there were enough of them at once */
    struct rl_list ended;    /* operations to be reported to their calls */
    struct rl_call *to_wake; /* calls that are over, whose threads do not know it yet */
};

void rl_crowd_init(struct rl_crowd *crowd);

/* Has the call carried out by whoever stands, and sleeps until it is over. false: nobody stands, nothing happened. Without
 * the mutex. */
bool rl_crowd_call(redlock_client *client, struct rl_call *call);

/* Hands a lock that its caller does not want any more to whoever stands; false as above. Without the mutex. */
bool rl_crowd_free(redlock_client *client, redlock_lock *lock);

/* A thread had to sleep in a call: enough of them are a crowd. */
void rl_crowd_notice(redlock_client *client);

struct rl_operation;

/* An operation that belongs to a call has ended. */
void rl_crowd_ended(redlock_client *client, struct rl_operation *operation);

/* For who stands: opens the inbox; says whether standing on is worth it; takes what is in the inbox and ends what is over;
 * closes it. */
void rl_crowd_open(redlock_client *client);
bool rl_crowd_lasts(redlock_client *client);
void rl_crowd_serve(redlock_client *client);
void rl_crowd_close(redlock_client *client);

/* Around the poller, without the mutex: the threads to be woken; whether to sleep at all. */
struct rl_call *rl_crowd_take_woken(redlock_client *client); /* with the mutex */
void rl_crowd_wake(redlock_client *client, struct rl_call *calls);
bool rl_crowd_doze(redlock_client *client);
void rl_crowd_rise(redlock_client *client);

/* Another thread than the one that stands has been in the poller and may have taken the bell down. */
void rl_crowd_pass_on(redlock_client *client);

/* Nobody posts any more and nobody rings any more; frees what was left in the inbox. The mutex is held. */
void rl_crowd_end(redlock_client *client);

#endif
