/*
 * Bytes of commands for several locks; see many_command.h and wire/lua/ask_many.lua, hand_on_many.lua.
 */
#include "wire/many_command.h"

#include <assert.h>

#include "wire/guard_command.h"

const struct rl_script *rl_many_script(const struct rl_kind *lock_kind, enum rl_command_kind kind)
{
    if (kind == RL_COMMAND_ACQUIRE)
        return lock_kind->acquire_many;
    return kind == RL_COMMAND_RELEASE ? lock_kind->release_many : NULL;
}

/* Whether the node's own keys come first: the guard's. A release that hands nothing on does without. */
static bool names_guard(const struct rl_lock_command *command)
{
    return command->kind == RL_COMMAND_ACQUIRE || command->lock_kind->write_release_keys != NULL;
}

/* The line of a lock is one more key of it. */
static bool names_order(const struct rl_lock_command *command)
{
    return command->lock_kind->write_order != NULL;
}

void rl_many_write_head(struct rl_writer *writer, const struct rl_lock_command *command,
                        const struct rl_script *script, uint32_t count, bool full)
{
    bool acquire = command->kind == RL_COMMAND_ACQUIRE;
    uint32_t each = names_guard(command) ? 2 : 1;
    uint32_t keys = (names_guard(command) ? 2 : 0) + (each + (names_order(command) ? 1 : 0)) * count;
    uint32_t arguments = acquire ? 2 + (3 + command->lock_kind->extra_arguments) * count : count;

    assert(script != NULL);
    assert(count >= 1);
    assert(count <= RL_MANY_MAX);
    rl_write_command(writer, 3 + keys + arguments);
    rl_write_script(writer, script, full);
    rl_write_integer(writer, keys);
    if (names_guard(command)) {
        rl_write_text(writer, RL_KEY_EPOCH);
        rl_write_text(writer, RL_KEY_FLOOR);
    }
}

void rl_many_write_fence(struct rl_writer *writer, const struct rl_lock_command *command)
{
    char fence[RL_KEY_FENCE_MAX];

    if (names_guard(command))
        rl_write_bytes(writer, fence, rl_key_fence(fence, command->key, command->key_length));
}

void rl_many_write_order(struct rl_writer *writer, const struct rl_lock_command *command)
{
    if (names_order(command))
        command->lock_kind->write_order(writer, command);
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
