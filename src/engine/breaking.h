/*
 * Breaking: whose hold an operator wants to be ended, by what the nodes said, and what is owed afterwards.
 * The questions are put by survey.c.
 */
#ifndef RL_ENGINE_BREAKING_H
#define RL_ENGINE_BREAKING_H

#include "engine/operation.h"

/* An inspection to find it has ended: makes the operation a BREAK of that owner. Else nobody, or more than
 * one, has that id. */
redlock_result rl_breaking_begin(struct rl_operation *operation);

/* All nodes were asked to break it. done: a quorum has. */
void rl_breaking_end(struct rl_operation *operation, bool done);

#endif
