/*
 * The keys of a line, a caller's place in it, and the refusal that tells of it; see place.h.
 */
#include "wire/place.h"

#include <assert.h>
#include <string.h>

#include "base/bytes.h"
#include "base/format.h"
#include "wire/guard_command.h"

enum { IN_LINE_ITEMS = 8, PLACE_MAX = 160 };

_Static_assert((int)IN_LINE_ITEMS <= (int)RL_DENIAL_ITEMS_MAX, "a refusal is read whole");

void rl_place_write_order(struct rl_writer *writer, const struct rl_lock_command *command)
{
    char key[RL_KEY_LINE_MAX];

    rl_write_bytes(writer, key, rl_key_line(key, command->key, command->key_length, "order"));
}

void rl_place_write(struct rl_writer *writer, const struct rl_lock_command *command)
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

static bool is_number(const struct rl_resp *item, int64_t least, int64_t most)
{
    return item->type == RL_RESP_INTEGER && item->integer >= least && item->integer <= most;
}

bool rl_place_read_denial(const struct rl_resp *items, uint32_t count, struct rl_lock_reply *reply)
{
    if (count == 5)
        return rl_lock_answer_denied(items, reply);
    if (count != IN_LINE_ITEMS || !is_number(&items[5], 1, UINT32_MAX) ||
        !is_number(&items[6], 1, RL_FENCE_MAX) || !is_number(&items[7], 0, RL_FENCE_MAX) ||
        !rl_lock_answer_denied(items, reply))
        return false;
    reply->answer.rank = (uint32_t)items[5].integer;
    reply->answer.ticket = (uint64_t)items[6].integer;
    reply->answer.holder_ticket = (uint64_t)items[7].integer;
    return true;
}
