/*
 * Bytes of the hand-over's messages; see hand_over.h and wire/lua/parts/hand_on.lua.
 */
#include "wire/hand_over.h"

#include <string.h>

#include "core/event.h"
#include "wire/owner.h"
#include "wire/resp_reader.h"

void rl_write_subscribe(struct rl_writer *writer, const char *channel)
{
    rl_write_command(writer, 2);
    rl_write_text(writer, "SUBSCRIBE");
    rl_write_text(writer, channel);
}

/* A number from 0 to max, and the blank behind it. */
static bool read_number(const char **at, const char *end, int64_t max, int64_t *number)
{
    const char *first = *at;

    *number = 0;
    for (; *at < end && **at >= '0' && **at <= '9'; ++*at) {
        int digit = **at - '0';

        if (*number > (max - digit) / 10)
            return false;
        *number = *number * 10 + digit;
    }
    return *at > first && *at < end && *(*at)++ == ' ';
}

static bool read_words(const char *text, size_t length, struct rl_hand_over *hand_over)
{
    const char *at = text, *end = text + length;
    int64_t fence, owner_length, epoch_length, slot = 0;

    if (at < end && *at == 's' && (++at, !read_number(&at, end, RL_SLOTS_MAX, &slot) || slot == 0))
        return false;
    hand_over->slot = (uint32_t)slot;
    if (!read_number(&at, end, RL_FENCE_MAX, &hand_over->node_us) ||
        !read_number(&at, end, RL_FENCE_MAX, &fence) ||
        !read_number(&at, end, INT32_MAX, &hand_over->ttl_ms) ||
        !read_number(&at, end, RL_OWNER_MAX, &owner_length) ||
        !read_number(&at, end, INT32_MAX, &epoch_length) || owner_length < RL_OWNER_HEX ||
        owner_length + epoch_length >= end - at || fence == 0 || hand_over->node_us == 0)
        return false;
    hand_over->fence = (uint64_t)fence;
    hand_over->owner = at;
    hand_over->owner_length = (size_t)owner_length;
    hand_over->epoch = at + owner_length;
    hand_over->epoch_length = (size_t)epoch_length;
    hand_over->key = hand_over->epoch + epoch_length;
    hand_over->key_length = (size_t)(end - hand_over->key);
    return true;
}

bool rl_hand_over_read(const char *bytes, size_t length, struct rl_hand_over *hand_over)
{
    static const char message[] = "message";
    struct rl_resp head, kind, channel, text;
    size_t offset = 0;

    return rl_resp_next(bytes, length, &offset, &head) == RL_RESP_OK && head.type == RL_RESP_PUSH &&
           head.element_count == 3 && rl_resp_next(bytes, length, &offset, &kind) == RL_RESP_OK &&
           kind.type == RL_RESP_STRING && kind.text_length == sizeof message - 1 &&
           memcmp(kind.text, message, sizeof message - 1) == 0 &&
           rl_resp_next(bytes, length, &offset, &channel) == RL_RESP_OK && channel.type == RL_RESP_STRING &&
           rl_resp_next(bytes, length, &offset, &text) == RL_RESP_OK && text.type == RL_RESP_STRING &&
           read_words(text.text, text.text_length, hand_over);
}
