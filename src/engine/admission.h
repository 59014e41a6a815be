/*
 * One node's admission: asking it whether it may vote, or telling it why it may not. When to do so is decided
 * in guard.c and clocks.c.
 */
#ifndef RL_ENGINE_ADMISSION_H
#define RL_ENGINE_ADMISSION_H

#include "engine/lock.h"

/* What is said with the question: the operator's word that no lock is held, that its clock stepped, or that
 * it is not to change anything. */
enum rl_word { RL_WORD_NONE, RL_WORD_INIT, RL_WORD_SUSPECT, RL_WORD_LOOK };

/* Asks the node to be admitted. lock: the one that is told (INIT), NULL none. false: it cannot be asked. */
bool rl_admission_ask(struct rl_engine *engine, uint32_t node, enum rl_word word, redlock_lock *lock,
                      bool full);

/* The same, with the highest fence and the terms that the others know of. */
bool rl_admission_give_floor(struct rl_engine *engine, uint32_t node, uint64_t floor,
                             const struct rl_terms *terms);

/* Has the node told how long this client's locks may be (its term), ahead of what is sent to it next; nothing
 * happens when it was told within the last half an hour. A node that lost its data has to know for how long
 * it is quarantined. false: no memory, or it cannot be admitted. */
bool rl_admission_announce(struct rl_engine *engine, uint32_t node);

/* How long a node that lost one of our locks is quarantined. */
int64_t rl_admission_quarantine_ms(const struct rl_engine *engine);

/* What INFO alone rules out; NONE when it rules out nothing. */
enum rl_cause rl_admission_ruled_out(const struct rl_node_info *info, const char **why);

/* It does not vote, and why. */
void rl_admission_refuse(struct rl_engine *engine, uint32_t node, enum rl_cause cause, const char *why);

/* It could not be asked for want of memory: later. */
void rl_admission_put_off(struct rl_engine *engine, uint32_t node);

/* Its clock stepped: it is to be quarantined, for everybody. Goes on until the node has taken note, over
 * breaks of the connection too. */
void rl_admission_accuse(struct rl_engine *engine, uint32_t node);

#endif
