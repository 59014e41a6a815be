/*
 * One of those that wait at a barrier, as the nodes know it: it arrives and stays there, sees how many have
 * come, leaves, or opens the barrier for a number of them. When it does which of these is decided in
 * barrier.c.
 */
#ifndef RL_BESIDE_ATTENDANT_H
#define RL_BESIDE_ATTENDANT_H

#include "beside/ask_all.h"
#include "core/gathering.h"

struct rl_attendant {
    struct rl_ask_all ask;
    uint32_t parties; /* that it waits for, itself included */
    uint32_t lease_ms;
    int64_t came_ms; /* by the wall clock: parties that came first go first, more or less */
    char id[RL_PARTY_ID + 1];
    struct rl_attendance own;
    rl_node_set heard;      /* nodes that answered the last look */
    rl_node_set not_let_in; /* of these: where others wait for another number of parties, */
    uint32_t others_want;   /* this one */
    uint32_t counts[RL_NODES_MAX];
    struct rl_gathering gathering;
    const char *chosen[RL_PARTIES_MAX];
};

/* Becomes one that no node has seen; false: the system has no randomness. */
bool rl_attendant_draw_id(struct rl_attendant *attendant);

/* Arrives, or stays, and learns how many wait; which ones, up to so many names, if more than 0 are wanted. */
void rl_attendant_look(struct rl_attendant *attendant, uint32_t names);

/* How many wait, by the last look. */
uint32_t rl_attendant_waiting(const struct rl_attendant *attendant);

/* Leaves where no opening counts on it; everywhere, when it has gone through. */
void rl_attendant_leave(struct rl_attendant *attendant, bool through);

/* Looks once more and opens the barrier if all have come. With the barrier's lock held, so that not all of
 * them do it at once. */
void rl_attendant_open(struct rl_attendant *attendant);

#endif
