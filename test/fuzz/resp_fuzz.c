/*
 * Gives the RESP reader any bytes and compares it with a twin that is as dumb as can be: recursive, one byte
 * at a time, leaving by longjmp. Both must take the same decision and end at the same byte; what a message
 * means is not compared.
 */
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/resp_reader.h"

#define CHECK(fact) ((fact) ? (void)0 : (fprintf(stderr, "does not hold: %s\n", #fact), abort()))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- the twin ------------------------------------------------------------------------------------------ */

struct twin {
    const uint8_t *bytes;
    size_t length;
    size_t at;
    size_t owed;   /* items that are announced and have not begun */
    jmp_buf leave; /* with the status, plus one */
};

static _Noreturn void leave_twin(struct twin *twin, enum rl_resp_status status)
{
    longjmp(twin->leave, (int)status + 1);
}

/* Refuses a message that is sure to take more than it may; each item owed takes three bytes at the least. */
static void check_size(struct twin *twin, size_t end)
{
    if (end + 3 * twin->owed > RL_RESP_MESSAGE_MAX)
        leave_twin(twin, RL_RESP_BAD);
}

static uint8_t peek_byte(struct twin *twin, size_t distance)
{
    if (twin->at + distance < twin->length)
        return twin->bytes[twin->at + distance];
    check_size(twin, twin->length + 1);
    leave_twin(twin, RL_RESP_MORE);
}

static void expect_byte(struct twin *twin, uint8_t byte)
{
    if (peek_byte(twin, 0) != byte)
        leave_twin(twin, RL_RESP_BAD);
    twin->at++;
}

static void expect_line_end(struct twin *twin)
{
    expect_byte(twin, '\r');
    expect_byte(twin, '\n');
}

static void refuse_unless(struct twin *twin, int fact)
{
    if (!fact)
        leave_twin(twin, RL_RESP_BAD);
}

static int is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

/* Digits up to a line end, not above max. 128 bits, so that nothing needs care. */
static unsigned long long twin_number(struct twin *twin, unsigned long long max)
{
    __extension__ unsigned __int128 value = 0;
    size_t digit_count = 0;

    refuse_unless(twin, is_digit(peek_byte(twin, 0)));
    while (twin->at < twin->length && is_digit(twin->bytes[twin->at])) {
        value = value * 10 + (twin->bytes[twin->at++] - '0');
        digit_count++;
        refuse_unless(twin, value <= max && digit_count <= RL_RESP_LINE_MAX);
    }
    expect_line_end(twin);
    return (unsigned long long)value;
}

/* Text up to CRLF, copied for those who want to look at it. */
static void twin_line(struct twin *twin, char text[RL_RESP_LINE_MAX + 1])
{
    size_t length = 0;

    for (;;) {
        /* Both bytes must be there before the line can be judged. */
        uint8_t second = peek_byte(twin, 1);
        uint8_t first = peek_byte(twin, 0);

        if (first == '\r' && second == '\n')
            break;
        refuse_unless(twin, length < RL_RESP_LINE_MAX);
        text[length++] = first == '\0' ? '?' : (char)first;
        twin->at++;
    }
    text[length] = '\0';
    twin->at += 2;
}

static size_t twin_bulk(struct twin *twin, size_t *start)
{
    size_t size = (size_t)twin_number(twin, RL_RESP_MESSAGE_MAX);

    *start = twin->at;
    check_size(twin, twin->at + size + 2);
    if (twin->at + size + 2 > twin->length)
        leave_twin(twin, RL_RESP_MORE);
    twin->at += size;
    expect_line_end(twin);
    return size;
}

static int twin_is_null(struct twin *twin)
{
    if (peek_byte(twin, 0) != '-')
        return 0;
    twin->at++;
    expect_byte(twin, '1');
    expect_line_end(twin);
    return 1;
}

/* A double: strtod reads it to the end, and the words and forms of C that RESP does not have are ruled
 * out. */
static void twin_double(struct twin *twin)
{
    char text[RL_RESP_LINE_MAX + 1];
    const char *mantissa = text;
    char *end;

    twin_line(twin, text);
    if (strcmp(text, "inf") == 0 || strcmp(text, "-inf") == 0 || strcmp(text, "nan") == 0 ||
        strcmp(text, "-nan") == 0)
        return;
    refuse_unless(twin, text[0] != '\0' && text[strspn(text, "0123456789+-.eE")] == '\0');
    strtod(text, &end);
    refuse_unless(twin, *end == '\0');
    mantissa += text[0] == '-' || text[0] == '+';
    refuse_unless(twin, is_digit((uint8_t)mantissa[0]));
    end = strchr(mantissa, '.');
    refuse_unless(twin, end == NULL || is_digit((uint8_t)end[1]));
}

static void twin_big_number(struct twin *twin)
{
    char text[RL_RESP_LINE_MAX + 1];
    const char *digits = text;

    twin_line(twin, text);
    digits += digits[0] == '-' || digits[0] == '+';
    refuse_unless(twin, digits[0] != '\0' && digits[strspn(digits, "0123456789")] == '\0');
}

static void twin_message(struct twin *twin, int depth);

static void twin_elements(struct twin *twin, int depth, unsigned long long count)
{
    twin->owed += count;
    check_size(twin, twin->at);
    while (count-- > 0) {
        twin->owed--;
        twin_message(twin, depth + 1);
    }
}

static void twin_aggregate(struct twin *twin, int depth, unsigned width)
{
    unsigned long long pair_count = twin_number(twin, RL_RESP_ELEMENTS_MAX / width);

    refuse_unless(twin, depth < RL_RESP_DEPTH_MAX);
    twin_elements(twin, depth, pair_count * width);
}

static void twin_integer(struct twin *twin)
{
    uint8_t sign = peek_byte(twin, 0);

    twin->at += sign == '-' || sign == '+';
    twin_number(twin, sign == '-' ? 9223372036854775808ULL : 9223372036854775807ULL);
}

static void twin_verbatim(struct twin *twin)
{
    size_t start;
    size_t size = twin_bulk(twin, &start);

    refuse_unless(twin, size >= 4 && twin->bytes[start + 3] == ':');
}

static void twin_boolean(struct twin *twin)
{
    refuse_unless(twin, peek_byte(twin, 0) == 't' || peek_byte(twin, 0) == 'f');
    twin->at++;
    expect_line_end(twin);
}

static void twin_attribute(struct twin *twin, int depth)
{
    unsigned long long pair_count = twin_number(twin, RL_RESP_ELEMENTS_MAX / 2);

    refuse_unless(twin, depth < RL_RESP_DEPTH_MAX);
    /* The value it belongs to is owed while the attribute is read. */
    twin->owed++;
    twin_elements(twin, depth, pair_count * 2);
    twin->owed--;
    twin_message(twin, depth);
}

static void twin_message(struct twin *twin, int depth)
{
    char text[RL_RESP_LINE_MAX + 1];
    size_t start;

    switch (peek_byte(twin, 0)) {
    case '+':
    case '-':
        twin->at++;
        twin_line(twin, text);
        break;
    case ':':
        twin->at++;
        twin_integer(twin);
        break;
    case '$':
        twin->at++;
        if (!twin_is_null(twin))
            twin_bulk(twin, &start);
        break;
    case '!':
        twin->at++;
        twin_bulk(twin, &start);
        break;
    case '=':
        twin->at++;
        twin_verbatim(twin);
        break;
    case '_':
        twin->at++;
        expect_line_end(twin);
        break;
    case '#':
        twin->at++;
        twin_boolean(twin);
        break;
    case ',':
        twin->at++;
        twin_double(twin);
        break;
    case '(':
        twin->at++;
        twin_big_number(twin);
        break;
    case '*':
        twin->at++;
        if (!twin_is_null(twin))
            twin_aggregate(twin, depth, 1);
        break;
    case '>':
        twin->at++;
        start = (size_t)twin_number(twin, RL_RESP_ELEMENTS_MAX);
        refuse_unless(twin, depth == 0);
        twin_elements(twin, depth, start);
        break;
    case '~':
        twin->at++;
        twin_aggregate(twin, depth, 1);
        break;
    case '%':
        twin->at++;
        twin_aggregate(twin, depth, 2);
        break;
    case '|':
        twin->at++;
        twin_attribute(twin, depth);
        break;
    default:
        leave_twin(twin, RL_RESP_BAD);
    }
    check_size(twin, twin->at);
}

static enum rl_resp_status skip_with_twin(const uint8_t *bytes, size_t length, size_t *end)
{
    struct twin twin = {.bytes = bytes, .length = length};
    int left = setjmp(twin.leave);

    if (left != 0)
        return (enum rl_resp_status)(left - 1);
    twin_message(&twin, 0);
    *end = twin.at;
    return RL_RESP_OK;
}

/* ---- the comparison ------------------------------------------------------------------------------------ */

/* The items of a message that skip() accepted cover it without a gap. */
static void check_items(const char *bytes, size_t length, size_t end)
{
    size_t offset = 0;

    while (offset < end) {
        struct rl_resp item;

        CHECK(rl_resp_next(bytes, length, &offset, &item) == RL_RESP_OK);
        CHECK(item.text_length == 0 ||
              (item.text >= bytes && item.text + item.text_length <= bytes + offset));
    }
    CHECK(offset == end);
}

/* Compares both on the first bytes of the input, and tells what they said. */
static enum rl_resp_status compare_readers(const uint8_t *data, size_t size)
{
    size_t end = 0, twin_end = 0;
    enum rl_resp_status status = rl_resp_skip((const char *)data, size, &end);

    CHECK(status == skip_with_twin(data, size, &twin_end));
    CHECK(end == twin_end);
    CHECK(end <= size);
    if (status == RL_RESP_OK)
        check_items((const char *)data, size, end);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum rl_resp_status last = RL_RESP_MORE;
    size_t length;

    compare_readers(data, size);
    /* As it arrives, byte by byte: what has been decided once stays decided. */
    for (length = 0; length <= size && length <= 128; length++) {
        enum rl_resp_status status = compare_readers(data, length);

        CHECK(last == RL_RESP_MORE || status == last);
        last = status;
    }
    return 0;
}
