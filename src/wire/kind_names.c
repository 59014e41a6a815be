/*
 * Several names as one lock: taken, kept and given back together, under the keys that each would have alone.
 * See wire/lua/ask_names.lua; their callers stand in the line of the name that is in the way.
 */
#include <assert.h>

#include "wire/guard_command.h"
#include "wire/place.h"

enum { ERROR_ITEMS = 4, PLAIN_ITEMS = 5, IN_LINE_ITEMS = 8 };

_Static_assert((int)IN_LINE_ITEMS < (int)RL_DENIAL_ITEMS_MAX,
               "a refusal is read whole, with the name behind it");

/* Opens the call of its script; so many keys of each name, and the arguments, follow. */
static void open_script(struct rl_writer *writer, const struct rl_lock_command *command, bool full,
                        uint32_t node_keys, uint32_t each, uint32_t argument_count)
{
    uint32_t keys = node_keys + each * command->names->count;

    rl_write_command(writer, 3 + keys + argument_count);
    rl_write_script(writer, rl_lock_command_script(command), full);
    rl_write_integer(writer, keys);
    rl_write_text(writer, RL_KEY_EPOCH);
    if (node_keys > 1)
        rl_write_text(writer, RL_KEY_FLOOR);
}

static void write_fences(struct rl_writer *writer, const struct rl_names *names)
{
    char key[RL_KEY_FENCE_MAX];

    for (uint32_t i = 0; i < names->count; i++)
        rl_write_bytes(writer, key, rl_key_fence(key, names->keys[i].key, names->keys[i].length));
}

static void write_orders(struct rl_writer *writer, const struct rl_names *names)
{
    char key[RL_KEY_LINE_MAX];

    for (uint32_t i = 0; i < names->count; i++)
        rl_write_bytes(writer, key, rl_key_line(key, names->keys[i].key, names->keys[i].length, "order"));
}

static void write_locks(struct rl_writer *writer, const struct rl_names *names)
{
    for (uint32_t i = 0; i < names->count; i++)
        rl_write_bytes(writer, names->keys[i].key, names->keys[i].length);
}

static void write_acquire(struct rl_writer *writer, const struct rl_lock_command *command, bool full)
{
    open_script(writer, command, full, 2, 3, 6);
    write_fences(writer, command->names);
    write_orders(writer, command->names);
    write_locks(writer, command->names);
    rl_write_bytes(writer, command->owner, command->owner_length);
    rl_write_integer(writer, command->ttl_ms);
    rl_write_integer(writer, (int64_t)command->fence);
    rl_write_text(writer, command->epoch);
    rl_write_integer(writer, command->not_after_us);
    rl_place_write(writer, command);
}

static void write_raise(struct rl_writer *writer, const struct rl_lock_command *command, bool full)
{
    open_script(writer, command, full, 2, 2, 3);
    write_fences(writer, command->names);
    write_locks(writer, command->names);
    rl_write_bytes(writer, command->owner, command->owner_length);
    rl_write_integer(writer, (int64_t)command->fence);
    rl_write_text(writer, command->epoch);
}

static void write_extend(struct rl_writer *writer, const struct rl_lock_command *command, bool full)
{
    open_script(writer, command, full, 1, 1, 5);
    write_locks(writer, command->names);
    rl_write_bytes(writer, command->owner, command->owner_length);
    rl_write_integer(writer, command->ttl_ms);
    rl_write_text(writer, command->repair ? "1" : command->holds ? "2" : "0");
    rl_write_text(writer, command->epoch);
    rl_write_integer(writer, command->not_after_us);
}

static void write_release(struct rl_writer *writer, const struct rl_lock_command *command, bool full)
{
    open_script(writer, command, full, 2, 3, 2);
    write_fences(writer, command->names);
    write_orders(writer, command->names);
    write_locks(writer, command->names);
    rl_write_bytes(writer, command->owner, command->owner_length);
    rl_write_text(writer, command->whole ? "1" : "0");
}

static void write_names(struct rl_writer *writer, const struct rl_lock_command *command, bool full)
{
    assert(command->names != NULL);
    assert(command->epoch != NULL);
    if (command->kind == RL_COMMAND_ACQUIRE)
        write_acquire(writer, command, full);
    else if (command->kind == RL_COMMAND_RAISE)
        write_raise(writer, command, full);
    else if (command->kind == RL_COMMAND_EXTEND)
        write_extend(writer, command, full);
    else
        write_release(writer, command, full);
}

/* A refusal as of one name, or the words of an error, and behind it which of them was in the way. */
static bool read_denial(const struct rl_resp *items, uint32_t count, struct rl_lock_reply *reply)
{
    const struct rl_resp *name;

    if (count != ERROR_ITEMS && count != PLAIN_ITEMS + 1 && count != IN_LINE_ITEMS + 1)
        return false;
    name = &items[count - 1];
    if (name->type != RL_RESP_INTEGER || name->integer < 1 || name->integer > RL_NAMES_MAX)
        return false;
    if (count == ERROR_ITEMS && items[2].type != RL_RESP_STRING)
        return false;
    if (count == ERROR_ITEMS)
        rl_lock_answer_error(reply, &items[2]);
    else if (!rl_place_read_denial(items, count - 1, reply))
        return false;
    reply->answer.name = (uint32_t)name->integer;
    return true;
}

const struct rl_kind rl_kind_names = {
    .acquire = &rl_script_ask_names,
    .raise = &rl_script_raise_names,
    .extend = &rl_script_extend_names,
    .release = &rl_script_hand_on_names,
    .write = write_names,
    .read_denial = read_denial,
    .stands_in_line = true,
    .not_plain = "also needs the guarded mode: plain nodes take one name at a time",
};
