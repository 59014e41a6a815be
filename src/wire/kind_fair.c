/*
 * The fair lock: an ordinary one that a node votes for only by the order of a line that it keeps; see wire/lua/acquire_fair.lua. Held,
 * it is like any other.
 */
#include "wire/kind.h"

#include "wire/lock_reply.h"

enum { IN_LINE_ITEMS = 7 };

_Static_assert((int)IN_LINE_ITEMS <= (int)RL_DENIAL_ITEMS_MAX, "a refusal is read whole");

static void write_keys(struct rl_writer *writer, const struct rl_lock_command *command)
{
    rl_line_write_keys(writer, command->key, command->key_length, command->place);
}

static void write_arguments(struct rl_writer *writer, const struct rl_lock_command *command)
{
    const struct rl_place *place = command->place;

    rl_write_text(writer, place->id);
    rl_write_integer(writer, (int64_t)place->ticket);
    rl_write_integer(writer, place->lease_ms);
    rl_write_integer(writer, place->grace_ms);
    rl_write_bytes(writer, place->who, place->who_length);
    rl_write_text(writer, place->settled ? "1" : "0");
}

/* An ordinary refusal, or one with place and ticket behind it. */
static bool read_denial(const struct rl_resp *items, uint32_t count, struct rl_lock_reply *reply)
{
    const struct rl_resp *place = &items[5], *ticket = &items[6];

    if (count == 5)
        return rl_lock_reply_denied(items, reply);
    if (count != IN_LINE_ITEMS || place->type != RL_RESP_INTEGER || place->integer < 1 ||
        place->integer > UINT32_MAX || ticket->type != RL_RESP_INTEGER || ticket->integer < 1 ||
        !rl_lock_reply_denied(items, reply))
        return false;
    reply->answer.rank = (uint32_t)place->integer;
    reply->answer.ticket = (uint64_t)ticket->integer;
    return true;
}

const struct rl_kind rl_kind_fair = {
    .acquire = &rl_script_acquire_fair,
    .raise = &rl_script_raise,
    .extend = &rl_script_extend,
    .release = &rl_script_release,
    .release_many = &rl_script_release_many,
    .break_hold = &rl_script_break,
    .list = &rl_script_list,
    .extra_keys = RL_LINE_KEYS,
    .extra_arguments = 6,
    .write_keys = write_keys,
    .write_arguments = write_arguments,
    .read_denial = read_denial,
    .stands_in_line = true,
    .not_plain = "REDLOCK_FAIR needs the guarded mode: plain nodes keep no line",
};
