/*
 * Tells whether the thread that acquired a lock still lives: a token that dies with it. Locks look at it
 * before they renew themselves; nothing here knows of locks.
 */
#ifndef RL_CLIENT_THREAD_TOKEN_H
#define RL_CLIENT_THREAD_TOKEN_H

#include <stdatomic.h>

/* Lives as long as the process thread that acquired its locks. */
struct rl_thread_token {
    atomic_uint refs;
    atomic_bool alive;
};

struct rl_thread_token *rl_thread_token_get(void); /* a new reference to this thread's; NULL: no memory */
void rl_thread_token_unref(struct rl_thread_token *token);

#endif
