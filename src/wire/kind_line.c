/*
 * Locks of callers that stand in one line at the nodes, where a release hands them on in the same step: held
 * alone, or shared. See wire/lua/ask.lua, share.lua and hand_on.lua. What a node says when it hands it on is
 * in hand_over.h.
 */
#include "wire/place.h"

const struct rl_kind rl_kind_line = {
    .acquire = &rl_script_ask,
    .acquire_many = &rl_script_ask_many,
    .look = &rl_script_look,
    .find = &rl_script_find,
    .raise = &rl_script_raise,
    .extend = &rl_script_extend,
    .release = &rl_script_hand_on,
    .release_many = &rl_script_hand_on_many,
    .break_hold = &rl_script_break,
    .list = &rl_script_list,
    .extra_keys = 1,
    .extra_arguments = 1,
    .write_keys = rl_place_write_order,
    .write_arguments = rl_place_write,
    .write_order = rl_place_write_order,
    .release_keys = 4,
    .write_release_keys = rl_place_write_release_keys,
    .read_denial = rl_place_read_denial,
    .stands_in_line = true,
    .not_plain = "REDLOCK_FAIR needs the guarded mode: plain nodes keep no line",
};

/* What it gives back is shared; see wire/lua/hand_on.lua. */
static void write_shared(struct rl_writer *writer, const struct rl_lock_command *command)
{
    (void)command;
    rl_write_text(writer, "s");
}

const struct rl_kind rl_kind_shared = {
    .acquire = &rl_script_share,
    .look = &rl_script_look,
    .find = &rl_script_find,
    .raise = &rl_script_raise,
    .extend = &rl_script_extend_shared,
    .numbers_repairs = true,
    .release_arguments = 1,
    .write_release_arguments = write_shared,
    .release = &rl_script_hand_on,
    .break_hold = &rl_script_break,
    .list = &rl_script_list,
    .extra_keys = 1,
    .extra_arguments = 1,
    .write_keys = rl_place_write_order,
    .write_arguments = rl_place_write,
    .release_keys = 4,
    .write_release_keys = rl_place_write_release_keys,
    .read_denial = rl_place_read_denial,
    .stands_in_line = true,
    .is_shared = true,
    .not_plain =
        "REDLOCK_SHARED needs the guarded mode, or REDLOCK_FORMAT_REDISSON: plain nodes keep no line",
};
