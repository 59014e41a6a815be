/*
 * One question put to every node, whose answers are wanted whole: who holds a lock, or may you vote.
 */
#ifndef RL_ENGINE_SURVEY_H
#define RL_ENGINE_SURVEY_H

#include "engine/operation.h"

/* PEEK, EXAMINE, or SEARCH: an init, which goes on with ADMIT when no held lock was seen, or force is set. */
void rl_survey_start(struct rl_operation *operation, enum rl_command_kind kind);
void rl_survey_event(struct rl_operation *operation, const struct rl_event *event);

#endif
