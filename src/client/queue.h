/*
 * The queues of callers inside this process, one for each name that more than one of them wants. Who drives the connections
 * meanwhile is not decided here.
 */
#ifndef RL_CLIENT_QUEUE_H
#define RL_CLIENT_QUEUE_H

#include "base/list.h"
#include "base/time.h"
#include "redlock.h"

struct rl_acquire;
struct rl_acquire_config;
struct rl_operation;

struct rl_queues {
    redlock_lock **leaders; /* table of `places` chains: the lock of each name that others queue behind */
    uint32_t places, count;
    uint64_t seed;
    struct rl_list turns; /* acquisitions whose turn has come */
    bool turning;
    uint32_t blocked;     /* blocking calls that wait in here for others of this process */
    struct rl_span limit; /* how long a name may be handed on inside before others get a chance */
    uint64_t streak_of;   /* the name that this process had last, hashed; since when, and until when */
    struct rl_time streak_since, streak_until;
};

void rl_queue_init(redlock_client *client);
void rl_queue_free(redlock_client *client);

/* The lock of a name that others of this process queue behind; NULL none. */
redlock_lock *rl_queue_leader(redlock_client *client, const char *key, size_t key_length);

/* Becomes the leader of its name, or queues behind it; says so in the acquisition's configuration. */
void rl_queue_join(struct rl_operation *operation, bool waits, struct rl_acquire_config *config);

/* Whether it waits for others of this process: then no node has anything to tell it. */
bool rl_queue_holds(const struct rl_operation *operation);

/* The operation has ended, wherever it was. */
void rl_queue_quit(struct rl_operation *operation);

/* The lock has ended or is being released: the next in line may ask, right behind the release. */
void rl_queue_leave(redlock_lock *lock);

/* What a caller whose time ran out in the queue can be told: what its leader knows. */
void rl_queue_explain(struct rl_operation *operation);

/* It was won: was anybody else there first? */
void rl_queue_won(redlock_lock *lock, const struct rl_acquire *acquire);

#endif
