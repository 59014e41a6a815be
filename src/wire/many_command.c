/*
 * Bytes of commands for several locks; see many_command.h and wire/lua/ask_many.lua, hand_on_many.lua.
 */
#include "wire/many_command.h"

#include <assert.h>

const struct rl_script *rl_many_script(const struct rl_kind *lock_kind, enum rl_command_kind kind)
{
    if (kind == RL_COMMAND_ACQUIRE)
        return lock_kind->acquire_many;
    return kind == RL_COMMAND_RELEASE ? lock_kind->release_many : NULL;
}

void rl_many_write_head(struct rl_writer *writer, const struct rl_lock_command *command,
                        const struct rl_script *script, uint32_t count, bool full)
{
    bool acquire = command->kind == RL_COMMAND_ACQUIRE;
    uint32_t arguments = acquire ? 2 + (3 + command->lock_kind->extra_arguments) * count : count;

    assert(script != NULL);
    assert(count >= 1);
    assert(count <= RL_MANY_MAX);
    assert(!acquire || command->lock_kind->makes_keys);
    rl_write_command(writer, 3 + count + arguments);
    rl_write_script(writer, script, full);
    rl_write_integer(writer, count);
}

void rl_many_write_key(struct rl_writer *writer, const struct rl_lock_command *command)
{
    rl_write_bytes(writer, command->key, command->key_length);
}

void rl_many_write_common(struct rl_writer *writer, const struct rl_lock_command *command)
{
    if (command->kind != RL_COMMAND_ACQUIRE)
        return;
    rl_write_text(writer, command->epoch);
    rl_write_integer(writer, command->not_after_us);
}

void rl_many_write_arguments(struct rl_writer *writer, const struct rl_lock_command *command)
{
    rl_write_bytes(writer, command->owner, command->owner_length);
    if (command->kind != RL_COMMAND_ACQUIRE)
        return;
    rl_write_integer(writer, command->ttl_ms);
    rl_write_integer(writer, (int64_t)command->fence);
    if (command->lock_kind->write_arguments != NULL)
        command->lock_kind->write_arguments(writer, command);
}
