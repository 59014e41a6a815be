/*
 * Answers in: brings replies, silences and breaks of connections back to the operation or the lease they
 * belong to, and sees to what a broken connection may have left behind.
 */
#ifndef RL_ENGINE_ANSWERS_H
#define RL_ENGINE_ANSWERS_H

#include "engine/state.h"

/* What sessions of an engine are to call. */
struct rl_session_user rl_answers_user(struct rl_engine *engine);

#endif
