/*
 * The line of a name as scripts of several kinds of locks work with it; see node_hand_on.c. For the models of
 * scripts alone.
 */
#ifndef SIM_NODE_STANDING_H
#define SIM_NODE_STANDING_H

#include "sim/node.h"

/* What a script works with: the line, and what the node stores for the name. */
struct sim_table {
    struct sim_call *call;
    struct sim_standing *line;
    const char *lock, *fence_key, *floor_key, *epoch;
    char random[SIM_ID_SIZE]; /* of the owner that calls */
    struct sim_vote vote;
};

/* What is kept beside a lock is named by the scripts themselves. */
struct sim_line_keys {
    char fence[SIM_KEY_SIZE], order[SIM_KEY_SIZE];
    const char *all[5]; /* lock fence epoch floor order */
};

/* The same call with all these keys before its arguments. */
struct sim_call sim_line_spell_out(const struct sim_call *call, struct sim_line_keys *keys, const char *lock,
                                   const char *const *argv, uint32_t count);

/* KEYS lock fence epoch floor order */
struct sim_table sim_line_lay(struct sim_call *call, const char *owner, const char *const *keys);

struct sim_standing *sim_line_find(struct sim_call *call, const char *order_key);
struct sim_stander *sim_line_stander(struct sim_standing *line, const char *id);
bool sim_line_before(const struct sim_stander *a, const struct sim_stander *b);
struct sim_stander *sim_line_first(struct sim_standing *line);
int64_t sim_line_place(const struct sim_standing *line, const struct sim_stander *stander);
struct sim_stander *sim_line_take_in(struct sim_table *table, const char *const *argv, int64_t ticket,
                                     bool settled, int64_t lease_ms, const char *channel);
void sim_line_forget(struct sim_stander *stander);
void sim_line_write_order(struct sim_table *table, int64_t ticket, const char *id, int64_t given);
void sim_line_end_order(struct sim_table *table);

/* PUBLISH: how many are believed to hear it. */
uint32_t sim_line_publish(struct sim_call *call, const char *channel, const char *message);

#endif
