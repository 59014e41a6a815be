/*
 * The Lua scripts that run on the nodes, one per file in src/wire/lua, embedded at build time with the digest
 * that EVALSHA wants. What they mean is written in those files; how they are called is in lock_command.
 */
#ifndef RL_WIRE_SCRIPT_H
#define RL_WIRE_SCRIPT_H

#include <stdint.h>

struct rl_script {
    const char *name;
    const char *text;
    uint32_t text_length;
    char digest[41]; /* SHA-1 of text, in hex */
};

extern const struct rl_script rl_script_extend;
extern const struct rl_script rl_script_release;

#endif
