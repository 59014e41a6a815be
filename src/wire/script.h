/*
 * The Lua scripts that run on the nodes, one per file in src/wire/lua, embedded at build time with the digest
 * that EVALSHA wants. What they mean is written in those files; how they are called is in lock_command.
 */
#ifndef RL_WIRE_SCRIPT_H
#define RL_WIRE_SCRIPT_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/resp_writer.h"

struct rl_script {
    const char *name;
    const char *text;
    uint32_t text_length;
    char digest[41]; /* SHA-1 of text, in hex */
};

extern const struct rl_script rl_script_acquire;
extern const struct rl_script rl_script_acquire_many;
extern const struct rl_script rl_script_acquire_fair;
extern const struct rl_script rl_script_raise;
extern const struct rl_script rl_script_extend;
extern const struct rl_script rl_script_release;
extern const struct rl_script rl_script_search;
extern const struct rl_script rl_script_release_many;
extern const struct rl_script rl_script_admit;
extern const struct rl_script rl_script_leave;
extern const struct rl_script rl_script_present;
extern const struct rl_script rl_script_line;
extern const struct rl_script rl_script_break;
extern const struct rl_script rl_script_list;

/* Writes the first two arguments of its call: EVALSHA and the digest, or EVAL and the whole script. */
void rl_write_script(struct rl_writer *writer, const struct rl_script *script, bool full);

#endif
