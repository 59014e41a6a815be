/*
 * Requests of one kind for several locks as one command: the node reads one call, looks at its own state
 * once, and answers a list. What each part of the list means is said in lock_command.h; it is what the
 * request alone would have been answered.
 */
#ifndef RL_WIRE_MANY_COMMAND_H
#define RL_WIRE_MANY_COMMAND_H

#include "wire/lock_command.h"

enum {
    RL_MANY_MAX = 64, /* requests in one command: a node is not kept from others for long */
    /* bytes that a command takes at most beside its requests, be it for one or for many, */
    RL_MANY_HEAD = RL_SCRIPT_MAX + 512,
    RL_MANY_EACH = 320 /* and a request beside its owner and its key */
};

/* The script for several of them; NULL: there is none for this command on locks of this kind. What goes
 * together has one script. */
const struct rl_script *rl_many_script(const struct rl_kind *lock_kind, enum rl_command_kind kind);

/* Releases by script, and guarded acquires. In this order: the head, the
 * keys of all, what they have in common (epoch and not_after_us), the arguments of each. full: with the whole
 * script. */
void rl_many_write_head(struct rl_writer *writer, const struct rl_lock_command *command,
                        const struct rl_script *script, uint32_t count, bool full);
void rl_many_write_key(struct rl_writer *writer, const struct rl_lock_command *command);
void rl_many_write_common(struct rl_writer *writer, const struct rl_lock_command *command);
void rl_many_write_arguments(struct rl_writer *writer, const struct rl_lock_command *command);

#endif
