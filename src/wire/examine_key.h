/*
 * The keys that locks live by, as an examination tries rights on them: those of a lock that nobody has, and
 * those of the guard. What is asked of them, and what an answer means, is in examine_command.h.
 */
#ifndef RL_WIRE_EXAMINE_KEY_H
#define RL_WIRE_EXAMINE_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/guard_command.h"

/* What is asked on behalf of whom. The key is one that no lock has: rights are tried on it, and by commands
 * that fail for another reason when they are allowed, so that nothing is ever stored. */
struct rl_examine_command {
    const char *key;
    size_t key_length;
    size_t prefix_length; /* how much of the key all locks of this client begin with */
    bool guarded;
};

enum rl_examine_which {
    RL_EXAMINE_LOCK_KEY,
    RL_EXAMINE_EPOCH,
    RL_EXAMINE_FLOOR,
    RL_EXAMINE_TERMS,
    RL_EXAMINE_CHECKED,
    RL_EXAMINE_LINES,
    RL_EXAMINE_FENCE,
    RL_EXAMINE_TAGGED_FENCE,
    RL_EXAMINE_LINE,
    RL_EXAMINE_TAGGED_LINE,
    RL_EXAMINE_MARK,
    RL_EXAMINE_BARRIER,
    RL_EXAMINE_KEYS
};

enum { RL_EXAMINE_TAG_ROOM = 4 };

struct rl_examine_key {
    char bytes[RL_KEY_LINE_MAX + RL_EXAMINE_TAG_ROOM];
    size_t length;
    /* what comes before the name of a lock, and that name's prefix; 0: it is one key, the same for all */
    size_t common;
};

/* How many there are, from the first on: plain mode has the keys of the locks and no others. */
uint32_t rl_examine_key_count(const struct rl_examine_command *command);

struct rl_examine_key rl_examine_key_make(const struct rl_examine_command *command,
                                          enum rl_examine_which which);

#endif
