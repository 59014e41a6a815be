/*
 * Bytes of client tracking; see tracking.h.
 */
#include "wire/tracking.h"

#include <string.h>

#include "wire/resp_reader.h"

void rl_write_tracking(struct rl_writer *writer, bool on)
{
    rl_write_command(writer, on ? 4 : 3);
    rl_write_text(writer, "CLIENT");
    rl_write_text(writer, "TRACKING");
    rl_write_text(writer, on ? "ON" : "OFF");
    if (on)
        rl_write_text(writer, "OPTIN");
}

void rl_write_track_next(struct rl_writer *writer)
{
    rl_write_command(writer, 3);
    rl_write_text(writer, "CLIENT");
    rl_write_text(writer, "CACHING");
    rl_write_text(writer, "YES");
}

bool rl_push_read(struct rl_push *push, const char *bytes, size_t length)
{
    static const char invalidate[] = "invalidate";
    struct rl_resp head, kind, keys;

    *push = (struct rl_push){.bytes = bytes, .length = length};
    if (rl_resp_next(bytes, length, &push->offset, &head) != RL_RESP_OK || head.type != RL_RESP_PUSH ||
        head.element_count != 2)
        return false;
    if (rl_resp_next(bytes, length, &push->offset, &kind) != RL_RESP_OK || kind.type != RL_RESP_STRING ||
        kind.text_length != sizeof invalidate - 1 ||
        memcmp(kind.text, invalidate, sizeof invalidate - 1) != 0)
        return false;
    if (rl_resp_next(bytes, length, &push->offset, &keys) != RL_RESP_OK)
        return false;
    push->all = keys.type == RL_RESP_NULL;
    push->left = keys.type == RL_RESP_ARRAY ? keys.element_count : 0;
    return push->all || keys.type == RL_RESP_ARRAY;
}

bool rl_push_next_key(struct rl_push *push, const char **key, size_t *key_length)
{
    struct rl_resp item;

    while (push->left > 0) {
        push->left--;
        if (rl_resp_next(push->bytes, push->length, &push->offset, &item) != RL_RESP_OK)
            return false;
        if (item.type != RL_RESP_STRING)
            continue;
        *key = item.text;
        *key_length = item.text_length;
        return true;
    }
    return false;
}
