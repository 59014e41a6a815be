/*
 * Frames command arguments as RESP bulk strings in a bounded buffer, each piece whole or not at all.
 * It does not count arguments: a caller that opens a command writes as many as it said.
 */
#include "wire/resp_writer.h"

#include <string.h>

enum { DIGITS_MAX = 20 }; /* of a 64-bit number, and its sign */

/* Writes value in decimal so that it ends at `end`; returns where it starts. */
static char *format_decimal(uint64_t value, char *end)
{
    do {
        *--end = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    return end;
}

/* Makes room for one piece; NULL when it does not fit, or when an earlier one did not. */
static char *reserve_bytes(struct rl_writer *writer, size_t length)
{
    char *room = writer->bytes + writer->length;

    if (writer->overflow || length > writer->capacity - writer->length) {
        writer->overflow = true;
        return NULL;
    }
    writer->length += length;
    return room;
}

static char *put_bytes(char *at, const void *bytes, size_t length)
{
    if (length > 0)
        memcpy(at, bytes, length);
    return at + length;
}

static size_t count_digits(uint64_t value)
{
    size_t count = 1;

    for (; value >= 10; value /= 10)
        count++;
    return count;
}

/* The head of an array or a bulk string: its mark, a number of so many digits, and CRLF. Written in place,
 * for every argument of every command has one. */
static char *put_head(char *at, char mark, uint64_t number, size_t digit_count)
{
    *at = mark;
    at += 1 + digit_count;
    format_decimal(number, at);
    at[0] = '\r';
    at[1] = '\n';
    return at + 2;
}

struct rl_writer rl_writer_on(char *bytes, size_t capacity)
{
    return (struct rl_writer){.bytes = bytes, .capacity = capacity};
}

void rl_write_command(struct rl_writer *writer, uint32_t argument_count)
{
    size_t digit_count = count_digits(argument_count);
    char *at = reserve_bytes(writer, digit_count + 3);

    if (at != NULL)
        put_head(at, '*', argument_count, digit_count);
}

void rl_write_text(struct rl_writer *writer, const char *text)
{
    rl_write_bytes(writer, text, strlen(text));
}

void rl_write_bytes(struct rl_writer *writer, const void *bytes, size_t length)
{
    size_t digit_count = count_digits(length);
    char *at;

    /* More than the whole buffer: refused before the sum below could wrap around. */
    if (length > writer->capacity) {
        writer->overflow = true;
        return;
    }
    at = reserve_bytes(writer, digit_count + length + 5);
    if (at == NULL)
        return;
    at = put_bytes(put_head(at, '$', length, digit_count), bytes, length);
    at[0] = '\r';
    at[1] = '\n';
}

void rl_write_integer(struct rl_writer *writer, int64_t value)
{
    char digits[DIGITS_MAX];
    char *end = digits + DIGITS_MAX;
    /* Negated as unsigned: the lowest number has no positive counterpart. */
    char *first = format_decimal(value < 0 ? 0 - (uint64_t)value : (uint64_t)value, end);

    if (value < 0)
        *--first = '-';
    rl_write_bytes(writer, first, (size_t)(end - first));
}

void rl_write_raw(struct rl_writer *writer, const void *bytes, size_t length)
{
    char *at = reserve_bytes(writer, length);

    if (at != NULL)
        put_bytes(at, bytes, length);
}
