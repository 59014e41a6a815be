/*
 * The place of a waiter in the lines that nodes keep: a fair lock is given out in their order, and people see who waits for an
 * ordinary one. Nothing here decides who has the lock.
 */
#ifndef RL_ENGINE_PLACE_H
#define RL_ENGINE_PLACE_H

#include "engine/operation.h"

/* It is going to stand in line, as its kind does. */
void rl_place_begin(struct rl_operation *operation);

/* Whether it is near enough to the front of a node's line to care about the lock itself. */
bool rl_place_near(const struct rl_operation *operation, uint32_t node);

/* Its own lease at the nodes, in a buffer of RL_KEY_LINE_MAX: it is touched when the waiter moves up. */
size_t rl_place_lease_key(const struct rl_operation *operation, char *buffer);

/* Watches that, and asks where it stands. The answer; true: *answer is to be delivered. */
bool rl_place_ask(struct rl_operation *operation, uint32_t node, uint32_t question);
bool rl_place_told(struct rl_operation *operation, uint32_t node, const struct rl_pending *pending,
                   const char *bytes, size_t length, struct rl_answer *answer);

/* Takes what a node said of the line, and makes it mean the same to a waiter in line as to any other. */
void rl_place_answer(struct rl_operation *operation, uint32_t node, const struct rl_pending *pending,
                     struct rl_lock_reply *reply);

enum rl_place_news {
    RL_PLACE_NO_NEWS,
    RL_PLACE_NEWS,      /* *event says what */
    RL_PLACE_LOOK_AGAIN /* it is to be watched once more */
};

/* The lock's key changed at a node, or (moved) its own lease did. */
enum rl_place_news rl_place_changed(struct rl_operation *operation, uint32_t node, bool moved,
                                    struct rl_event *event);

/* Gives the place up everywhere but on nodes that granted the lock, who have done so themselves. */
void rl_place_leave(struct rl_operation *operation);

/* Lets people see that somebody waits for an ordinary lock, or does so no longer. */
void rl_place_show(struct rl_operation *operation, bool leaving);

#endif
