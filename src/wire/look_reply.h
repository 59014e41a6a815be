/*
 * What a node's reply to a look at a lock means: its holder, how many share it, how long it lasts.
 * Votes, extensions and releases are read in lock_reply.c.
 */
#ifndef RL_WIRE_LOOK_REPLY_H
#define RL_WIRE_LOOK_REPLY_H

#include "wire/lock_answer.h"
#include "wire/lock_command.h"

/* Reads the whole reply to PEEK or WATCH into one that is empty but for a failed verdict. */
void rl_look_reply_read(const struct rl_lock_command *command, const char *bytes, size_t length,
                        struct rl_lock_reply *reply);

/* The next of the others who share the lock, from *offset on, which begins with 0; false: there is none. */
bool rl_look_reply_other(const struct rl_lock_reply *reply, size_t *offset, const char **owner,
                         size_t *length);

#endif
