/*
 * The exclusive lock of callers that stand in line at the nodes, where a release hands it on in the same step; see wire/lua/ask.lua and
 * hand_on.lua. What a node says when it hands it on is in hand_over.h.
 */
#include "wire/kind.h"

#include <assert.h>
#include <string.h>

#include "base/bytes.h"
#include "base/format.h"
#include "wire/guard_command.h"
#include "wire/lock_reply.h"

enum { IN_LINE_ITEMS = 8, PLACE_MAX = 160 };

_Static_assert((int)IN_LINE_ITEMS <= (int)RL_DENIAL_ITEMS_MAX, "a refusal is read whole");

static void write_order_key(struct rl_writer *writer, const struct rl_lock_command *command)
{
    char key[RL_KEY_LINE_MAX];

    rl_write_bytes(writer, key, rl_key_line(key, command->key, command->key_length, "order"));
}

void rl_kind_write_place(struct rl_writer *writer, const struct rl_lock_command *command)
{
    const struct rl_place *place = command->place;
    char bytes[PLACE_MAX];
    struct rl_text text = rl_text_on(bytes, sizeof bytes);

    if (place != NULL) {
        assert(strlen(place->channel) < PLACE_MAX / 2);
        rl_text_add_unsigned(&text, place->ticket);
        rl_text_format(&text, " %u %u ",
                       (place->settled ? 1U : 0U) + (place->yields ? 2U : 0U) + (place->keeps ? 4U : 0U),
                       place->lease_ms);
        rl_text_add(&text, place->channel);
    }
    rl_write_bytes(writer, bytes, text.length);
}

static void write_release_keys(struct rl_writer *writer, const struct rl_lock_command *command)
{
    char key[RL_KEY_FENCE_MAX];

    write_order_key(writer, command);
    rl_write_text(writer, RL_KEY_EPOCH);
    rl_write_bytes(writer, key, rl_key_fence(key, command->key, command->key_length));
    rl_write_text(writer, RL_KEY_FLOOR);
}

static bool is_number(const struct rl_resp *item, int64_t least, int64_t most)
{
    return item->type == RL_RESP_INTEGER && item->integer >= least && item->integer <= most;
}

bool rl_kind_read_denial(const struct rl_resp *items, uint32_t count, struct rl_lock_reply *reply)
{
    if (count == 5)
        return rl_lock_reply_denied(items, reply);
    if (count != IN_LINE_ITEMS || !is_number(&items[5], 1, UINT32_MAX) ||
        !is_number(&items[6], 1, INT64_MAX) || !is_number(&items[7], 0, INT64_MAX) ||
        !rl_lock_reply_denied(items, reply))
        return false;
    reply->answer.rank = (uint32_t)items[5].integer;
    reply->answer.ticket = (uint64_t)items[6].integer;
    reply->answer.holder_ticket = (uint64_t)items[7].integer;
    return true;
}

const struct rl_kind rl_kind_line = {
    .acquire = &rl_script_ask,
    .acquire_many = &rl_script_ask_many,
    .raise = &rl_script_raise,
    .extend = &rl_script_extend,
    .release = &rl_script_hand_on,
    .release_many = &rl_script_hand_on_many,
    .break_hold = &rl_script_break,
    .list = &rl_script_list,
    .extra_keys = 1,
    .extra_arguments = 1,
    .write_keys = write_order_key,
    .write_arguments = rl_kind_write_place,
    .write_order = write_order_key,
    .release_keys = 4,
    .write_release_keys = write_release_keys,
    .read_denial = rl_kind_read_denial,
    .stands_in_line = true,
    .not_plain = "REDLOCK_FAIR needs the guarded mode: plain nodes keep no line",
};
