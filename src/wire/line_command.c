/*
 * The question who waits, and its answer; see line_command.h and wire/lua/line.lua.
 */
#include "wire/line_command.h"

#include <string.h>

#include "wire/guard_command.h"
#include "wire/script.h"

static void write_key(struct rl_writer *writer, const char *key, size_t key_length, const char *part)
{
    char text[RL_KEY_LINE_MAX];

    rl_write_bytes(writer, text, rl_key_line(text, key, key_length, part));
}

void rl_line_write_line(struct rl_writer *writer, const char *key, size_t key_length, bool full)
{
    rl_write_command(writer, 6);
    rl_write_script(writer, &rl_script_line, full);
    rl_write_integer(writer, 2);
    write_key(writer, key, key_length, "line");
    write_key(writer, key, key_length, "waiting");
    rl_write_integer(writer, RL_LINE_NAMED_MAX);
}

/* ---- reading ---- */

struct cursor {
    const char *bytes;
    size_t length, offset;
};

/* A number from 0 to max. */
static bool read_number(struct cursor *cursor, int64_t max, int64_t *number)
{
    struct rl_resp item;

    if (rl_resp_next(cursor->bytes, cursor->length, &cursor->offset, &item) != RL_RESP_OK ||
        item.type != RL_RESP_INTEGER || item.integer < 0 || item.integer > max)
        return false;
    *number = item.integer;
    return true;
}

static bool read_count(struct cursor *cursor, uint32_t *count)
{
    int64_t number;

    if (!read_number(cursor, UINT32_MAX, &number))
        return false;
    *count = (uint32_t)number;
    return true;
}

static bool read_who(struct cursor *cursor, struct rl_waiter *waiter)
{
    struct rl_resp item;

    if (rl_resp_next(cursor->bytes, cursor->length, &cursor->offset, &item) != RL_RESP_OK ||
        item.type != RL_RESP_STRING)
        return false;
    waiter->who = item.text;
    waiter->who_length = item.text_length < RL_OWNER_TAIL_MAX ? item.text_length : RL_OWNER_TAIL_MAX;
    return true;
}

/* An array of waiters, one after the other: ticket and who, or since, count and who. */
static bool read_waiters(struct cursor *cursor, bool counted, struct rl_waiter *waiters, uint32_t *named)
{
    uint32_t each = counted ? 3 : 2;
    struct rl_resp head;

    if (rl_resp_next(cursor->bytes, cursor->length, &cursor->offset, &head) != RL_RESP_OK ||
        head.type != RL_RESP_ARRAY || head.element_count % each != 0 ||
        head.element_count / each > RL_LINE_NAMED_MAX)
        return false;
    *named = head.element_count / each;
    for (uint32_t i = 0; i < *named; i++) {
        int64_t ticket;

        if (!read_number(cursor, INT64_MAX, &ticket))
            return false;
        waiters[i] = (struct rl_waiter){.ticket = (uint64_t)ticket, .count = 1};
        if ((counted && !read_count(cursor, &waiters[i].count)) || !read_who(cursor, &waiters[i]))
            return false;
    }
    return true;
}

bool rl_line_read(const char *bytes, size_t length, struct rl_line *line)
{
    struct cursor cursor = {.bytes = bytes, .length = length};
    struct rl_resp head;

    *line = (struct rl_line){0};
    return rl_resp_next(bytes, length, &cursor.offset, &head) == RL_RESP_OK && head.type == RL_RESP_ARRAY &&
           head.element_count == 5 && read_number(&cursor, INT64_MAX, &line->node_us) &&
           read_count(&cursor, &line->in_line) &&
           read_waiters(&cursor, false, line->line, &line->in_line_named) &&
           read_count(&cursor, &line->waiting) &&
           read_waiters(&cursor, true, line->others, &line->waiting_named);
}
