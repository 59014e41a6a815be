/*
 * What a watch has seen of each lock, and what a new look at one comes to: the change to be told of. It asks
 * nobody.
 */
#ifndef RL_ENGINE_KNOWN_H
#define RL_ENGINE_KNOWN_H

#include "engine/operation.h"
#include "wire/page_command.h"

/* One lock, as it was last seen. */
struct rl_known {
    struct rl_known *next;
    uint64_t hash;
    uint64_t owner;           /* tells its holder from others; 0 nobody has it */
    struct rl_time ends;      /* when its lease ends, unless it is prolonged: no later than that, */
    struct rl_time ends_from; /* and no earlier; looks take their time */
    uint32_t walk;            /* the walk it was last seen in */
    bool fresh;               /* nothing was seen of it before */
    bool broken, lost, unknown;
    uint16_t key_length;
    uint16_t slot, permits; /* of a semaphore: which one, from 1, of how many; 0 it is none */
    redlock_holder holder;  /* the present one */
    redlock_holder before;  /* the one before the latest change */
    char key[];
};

struct rl_knowns {
    struct rl_known **places;
    uint32_t place_count, count;
};

/* What is known of a lock, or of one slot of a semaphore; NULL: nothing, or no memory when it was to be
 * made. */
struct rl_known *rl_knowns_find(const struct rl_knowns *knowns, const struct rl_page_entry *entry);
struct rl_known *rl_knowns_make(struct rl_engine *engine, struct rl_knowns *knowns,
                                const struct rl_page_entry *entry);

/* A lock that was not seen in this walk; NULL: there is none. */
struct rl_known *rl_knowns_unseen(const struct rl_knowns *knowns, uint32_t walk);

/* Whether any of them is a slot of a semaphore that somebody has. */
bool rl_knowns_have_slots(const struct rl_knowns *knowns);

/* Forgets locks that nobody has. */
void rl_knowns_sweep(struct rl_engine *engine, struct rl_knowns *knowns);
void rl_knowns_free(struct rl_engine *engine, struct rl_knowns *knowns);

/* Takes in what an inspection found; false: nothing has changed that anybody wants to know. alone: the watch
 * began with this name, so that even that it is free is news. */
bool rl_known_compare(struct rl_known *known, const struct rl_operation *look, bool alone,
                      redlock_change *change);

#endif
