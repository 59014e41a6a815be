/*
 * How a script is called; see script.h. The scripts themselves are generated from src/wire/lua.
 */
#include "wire/script.h"

#include <assert.h>

bool rl_script_is_carried(rl_script_set carried, const struct rl_script *script)
{
    assert(script->number < RL_SCRIPTS_MAX);
    return (carried & (rl_script_set)1 << script->number) != 0;
}

bool rl_script_first_use(rl_script_set *carried, const struct rl_script *script)
{
    bool first = !rl_script_is_carried(*carried, script);

    *carried |= (rl_script_set)1 << script->number;
    return first;
}

void rl_write_script(struct rl_writer *writer, const struct rl_script *script, bool full)
{
    if (full) {
        rl_write_text(writer, "EVAL");
        rl_write_bytes(writer, script->text, script->text_length);
    } else {
        rl_write_text(writer, "EVALSHA");
        rl_write_bytes(writer, script->digest, sizeof script->digest - 1);
    }
}
