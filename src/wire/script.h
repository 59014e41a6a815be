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
    uint32_t number; /* of its own among them, from 0, below RL_SCRIPTS_MAX */
    char digest[41]; /* SHA-1 of text, in hex */
};

/* Scripts that a connection has carried; see rl_script_first_use(). */
typedef uint64_t rl_script_set;
enum {
    RL_SCRIPTS_MAX = 64,
    /* Bytes of a script, but for those of several names: what is sent in one command with others, or may be,
     * is given room for the longest. The build sees to it (tools/embed-lua). */
    RL_SCRIPT_MAX = 14848
};

extern const struct rl_script rl_script_ask;
extern const struct rl_script rl_script_ask_many;
extern const struct rl_script rl_script_share;
extern const struct rl_script rl_script_look;
extern const struct rl_script rl_script_find;
extern const struct rl_script rl_script_hand_on;
extern const struct rl_script rl_script_hand_on_many;
extern const struct rl_script rl_script_ask_names;
extern const struct rl_script rl_script_hand_on_names;
extern const struct rl_script rl_script_extend_names;
extern const struct rl_script rl_script_raise_names;
extern const struct rl_script rl_script_raise;
extern const struct rl_script rl_script_extend;
extern const struct rl_script rl_script_extend_shared;
extern const struct rl_script rl_script_release;
extern const struct rl_script rl_script_search;
extern const struct rl_script rl_script_release_many;
extern const struct rl_script rl_script_admit;
extern const struct rl_script rl_script_line;
extern const struct rl_script rl_script_break;
extern const struct rl_script rl_script_list;
extern const struct rl_script rl_script_slots_ask;
extern const struct rl_script rl_script_slots_hand_on;
extern const struct rl_script rl_script_slots_raise;
extern const struct rl_script rl_script_slots_extend;
extern const struct rl_script rl_script_slots_look;
extern const struct rl_script rl_script_redisson_acquire;
extern const struct rl_script rl_script_redisson_share;
extern const struct rl_script rl_script_redisson_extend;
extern const struct rl_script rl_script_redisson_extend_shared;
extern const struct rl_script rl_script_redisson_release;
extern const struct rl_script rl_script_redisson_look;
extern const struct rl_script rl_script_redisson_break;
extern const struct rl_script rl_script_redisson_list;
extern const struct rl_script rl_script_mark;
extern const struct rl_script rl_script_marked;
extern const struct rl_script rl_script_barrier_arrive;
extern const struct rl_script rl_script_barrier_open;
extern const struct rl_script rl_script_barrier_leave;

/* Writes the first two arguments of its call: EVALSHA and the digest, or EVAL and the whole script. */
void rl_write_script(struct rl_writer *writer, const struct rl_script *script, bool full);

/* The first use of a script on a connection carries it whole; the order of the connection makes it known from
 * then on. Takes it into the set; true: it was not in there. */
bool rl_script_first_use(rl_script_set *carried, const struct rl_script *script);
bool rl_script_is_carried(rl_script_set carried, const struct rl_script *script);

#endif
