/*
 * The lock object: its name, its owner value, its references and its pool. What happens to a lock over time
 * is in acquisition.c (until it is held) and holding.c (from then on).
 */
#ifndef RL_ENGINE_LOCK_H
#define RL_ENGINE_LOCK_H

#include "engine/state.h"
#include "wire/lock_reply.h"

enum rl_lock_stage {
    RL_LOCK_ASKING, /* being acquired, adopted or inspected */
    RL_LOCK_HELD,   /* the lease decides what that means */
    RL_LOCK_OVER    /* released, lost, never acquired */
};

/* A renewal that its caller is to be told of. */
struct rl_renewal {
    redlock_renewed_fn tell;
    struct rl_tally tally;
    enum rl_outcome outcome;
};

/* The names of a lock that has several; its own text has the first that was given. */
struct rl_lock_names {
    size_t size; /* of all of it, in bytes */
    struct rl_names keys;
    char text[]; /* of each: key, NUL */
};

/* Of a lock that its owner may enter again; see reentrant.c. */
struct rl_reentry {
    struct rl_link inside; /* in engine->inside while there are handles */
    redlock_lock *lock;
    uint64_t identity;
    bool by_thread; /* the identity is a thread's number, and not one that callers gave */
    uint32_t entries, handles;
    uint32_t pending; /* of the entries: whose caller has not got its handle yet */
};

enum {
    RL_REENTRANT_BY_THREAD = 2
}; /* redlock_spec.reentrant: the client has put the thread's number into identity */

struct rl_operation;

/* Widest first: there may be a hundred thousand of them. */
struct redlock_lock {
    struct rl_engine *engine;
    const struct rl_kind *kind;
    struct rl_lock_names *names; /* NULL: it has one */
    struct rl_reentry *reentry;  /* NULL: it is not reentrant */
    /* in engine->rounds or requested while nodes are owed or asked, or in engine->spare_locks */
    struct rl_link link;
    struct rl_link lagging;      /* in engine->lagging while it is held and nodes are behind */
    struct rl_link notice;       /* in engine->notices; the client's while its handle is being freed */
    struct rl_operation *asking; /* ASKING: the operation */
    struct rl_list waiting;      /* operations that wait for an extension round or for the release */
    struct rl_lease lease;
    struct rl_timer timer;
    uint64_t fence; /* handed out with it; while it is asked for: the proposal, then the one to raise to */
    redlock_lost_fn on_lost;
    struct rl_renewal *renewal; /* the latest; NULL: nobody wants to be told */
    void *context;
    void *thread;               /* the host's word for the thread it is bound to; NULL: to none */
    redlock_lock *next_leader;  /* in the table of leaders; see queue.c */
    redlock_lock *next_owned;   /* in the table of owners; see owned.c */
    struct rl_list queue;       /* operations that want the same name after it */
    struct rl_list fellows;     /* of a semaphore, of its leader in the table: the others that lead, */
    struct rl_link fellow;      /* which are in there */
    struct rl_time queue_since; /* since when the name is handed on inside this process */
    struct rl_time kept_until;  /* every key that was sent for it has ended by itself by then */
    uint32_t refs;              /* handle, operations, pending requests, reaper */
    rl_node_set maybe_stored;   /* nodes that were sent something that may have left a key there */
    rl_node_set stray;  /* nodes where a broken connection's last words about this owner may still arrive */
    rl_node_set owed;   /* nodes that still have to be sent the present question */
    rl_node_set let_go; /* nodes to release it on once its loss has been told */
    rl_node_set broken_on;       /* nodes that said that an operator has broken it */
    rl_node_set refused_locally; /* nodes that cannot be asked: their answers wait to be counted */
    uint32_t owed_question;
    /* of several names: the one that a node said is in the way or gone, from 1 as they were given; 0 none */
    uint32_t name_number;
    uint32_t ttl_ms;
    uint16_t capacity;   /* of text, and of the renewal behind it */
    uint16_t key_length; /* prefix and name */
    uint16_t owner_length;
    uint16_t slots; /* of a semaphore; 0 it is none */
    uint16_t slot;  /* the one that it has, from 1; 0 it has none, or it is not known which */
    uint16_t fellow_count;
    uint16_t debt_count; /* releases of it that nodes are owed */
    enum rl_command_kind owed_kind : 8;
    enum rl_lock_stage stage : 8;
    bool handle;                /* the caller has it and has not freed it */
    bool owner_fixed;           /* adopted: the owner value is not ours to make */
    bool lost_due, renewed_due; /* callbacks to run */
    bool calling;               /* the client's: a callback of it runs now */
    bool kept_on_nodes;         /* left at the nodes on purpose: nobody cleans up after it */
    bool timed_out;             /* its latest round ended because time did */
    bool leads;                 /* others of its name queue until it has left; see queue.c */
    bool owned;                 /* it is in the table of owners */
    char text[];                /* key, NUL, owner, NUL */
};

/* The kind that a number of redlock_kind stands for in the client's format; NULL none. */
const struct rl_kind *rl_lock_kind(const struct rl_engine *engine, redlock_kind kind);

/* A lock in stage ASKING with one reference; NULL: no memory. */
redlock_lock *rl_lock_create(struct rl_engine *engine, const redlock_spec *spec, size_t name_length,
                             const char *owner, size_t owner_length);

/* The same lock for another try of its caller; what is still answered about the one before, which is over, is
 * not about this one. It takes over the thread that the lock is bound to. NULL: no memory. */
redlock_lock *rl_lock_again(redlock_lock *before);

void rl_lock_ref(redlock_lock *lock);
void rl_lock_unref(redlock_lock *lock);
void rl_lock_drop_spares(struct rl_engine *engine);

/* Draws a fresh owner for the next attempt. */
bool rl_lock_renew_owner(redlock_lock *lock);

/* The random part of the present owner, RL_OWNER_RANDOM bytes; zeros where it is not ours. */
void rl_lock_random(const redlock_lock *lock, uint8_t *random);

/* The owner value that goes with a random part (an earlier attempt's perhaps; NULL the present one's), in
 * buffer of RL_OWNER_MAX + 1. */
size_t rl_lock_owner_text(const redlock_lock *lock, const uint8_t *random, char *buffer);

/* The present owner value. */
static inline const char *rl_lock_owner(const redlock_lock *lock)
{
    return lock->text + lock->key_length + 1;
}

/* Whether it stands for no lock at all, but for the nodes themselves: it has the prefix and no name. */
bool rl_lock_is_nameless(const redlock_lock *lock);

/* Who wants a reentrant lock. */
struct rl_reentry rl_reentry_of(const redlock_spec *spec);

/* The length of one of the names that a caller gave. */
size_t rl_name_length(const redlock_name *name);

/* Whether a key is its own, or that of one of its names. */
bool rl_lock_has_key(const redlock_lock *lock, const char *key, size_t key_length);

/* It is bound to no thread any more. */
void rl_lock_unbind(redlock_lock *lock);

#endif
