/*
 * A node comes within reach, or is lost: what that means for its vote and for those who wait for it. What it
 * says in between is in answers.c.
 */
#ifndef RL_ENGINE_CONTACT_H
#define RL_ENGINE_CONTACT_H

#include "engine/session.h"

/* As in struct rl_session_user; the context is the engine. A node that is another one under a second name, or
 * a replica, has no vote. */
void rl_contact_ready(void *context, struct rl_session *session);
void rl_contact_down(void *context, struct rl_session *session);

#endif
