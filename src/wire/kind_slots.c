/*
 * A semaphore: so many slots, each an ordinary lock under a key of its own, and one line for all of them; see
 * wire/lua/slots_ask.lua. A vote is for one slot, and its answer names it; what counts as a quorum is in
 * core/stand.c.
 */
#include "wire/kind.h"

#include <assert.h>

#include "wire/guard_command.h"
#include "wire/lock_reply.h"
#include "wire/place.h"

/* The number of slots, and one of them. */
static void write_slot(struct rl_writer *writer, const struct rl_lock_command *command)
{
    assert(command->slots >= 1);
    assert(command->slot <= command->slots);
    rl_write_integer(writer, command->slots);
    rl_write_integer(writer, command->slot);
}

static void write_vote(struct rl_writer *writer, const struct rl_lock_command *command)
{
    assert(command->slot >= 1);
    rl_place_write(writer, command);
    write_slot(writer, command);
    rl_write_text(writer, command->only_slot ? "1" : "0");
}

static void write_release(struct rl_writer *writer, const struct rl_lock_command *command)
{
    write_slot(writer, command);
    rl_write_integer(writer, command->kept_slot);
}

const struct rl_kind rl_kind_slots = {
    .acquire = &rl_script_slots_ask,
    .raise = &rl_script_slots_raise,
    .extend = &rl_script_slots_extend,
    .release = &rl_script_slots_hand_on,
    .break_hold = &rl_script_break,
    .list = &rl_script_list,
    .makes_keys = true,
    .extra_arguments = 4,
    .write_arguments = write_vote,
    .release_keys = 1,
    .write_release_keys = rl_place_write_order,
    .release_arguments = 3,
    .write_release_arguments = write_release,
    .change_keys = 1,
    .write_change_keys = rl_place_write_order,
    .change_arguments = 2,
    .write_change = write_slot,
    .read_denial = rl_place_read_denial,
    .stands_in_line = true,
    .is_shared = true,
    .has_slots = true,
    .not_plain = "REDLOCK_SEMAPHORE needs the guarded mode: plain nodes keep no line",
};
