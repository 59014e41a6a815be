/*
 * Reads RESP items one after the other, and skips whole messages, with every length checked before it is
 * used. It keeps no state between calls: an incomplete message is read again from its start when more has
 * arrived.
 */
#include "wire/resp_reader.h"

#include <string.h>

enum { ITEM_MIN = 3 }; /* bytes of the shortest item: "_\r\n", "+\r\n" */

/* Where reading stands. On RL_RESP_MORE, `position` is the least at which the item can end, beyond
 * `length`. */
struct cursor {
    const char *bytes;
    size_t length;
    size_t position;
};

static enum rl_resp_status ask_more(struct cursor *cursor)
{
    cursor->position = cursor->length + 1;
    return RL_RESP_MORE;
}

/* The CRLF that must stand right here. */
static enum rl_resp_status read_line_end(struct cursor *cursor)
{
    const char *at = cursor->bytes + cursor->position;
    size_t left = cursor->length - cursor->position;

    if (left >= 2 && at[0] == '\r' && at[1] == '\n') {
        cursor->position += 2;
        return RL_RESP_OK;
    }
    if (left == 0 || (left == 1 && at[0] == '\r'))
        return ask_more(cursor);
    return RL_RESP_BAD;
}

/* Text up to the first CRLF; a CR or LF alone belongs to it, for error texts quote what they were given. */
static enum rl_resp_status read_line(struct cursor *cursor, struct rl_resp *item)
{
    const char *start = cursor->bytes + cursor->position;
    size_t left = cursor->length - cursor->position;
    const char *end = start + (left < RL_RESP_LINE_MAX + 2 ? left : RL_RESP_LINE_MAX + 2);
    const char *at = start;

    while ((at = memchr(at, '\r', (size_t)(end - at))) != NULL && end - at >= 2) {
        if (at[1] == '\n') {
            item->text = start;
            item->text_length = (size_t)(at - start);
            cursor->position += item->text_length + 2;
            return RL_RESP_OK;
        }
        at++;
    }
    return left < RL_RESP_LINE_MAX + 2 ? ask_more(cursor) : RL_RESP_BAD;
}

/* Decimal digits and CRLF, a value of at most `max`. Leading zeros are fine, as in the protocol. */
static enum rl_resp_status read_digits(struct cursor *cursor, uint64_t max, uint64_t *value)
{
    const uint64_t tenth = max / 10;
    size_t at = cursor->position;
    size_t digit_count;
    uint64_t sum = 0;

    for (; at < cursor->length; at++) {
        unsigned digit = (unsigned)(unsigned char)cursor->bytes[at] - '0';

        if (digit > 9)
            break;
        if (sum >= tenth && (sum > tenth || digit > max % 10))
            return RL_RESP_BAD;
        sum = sum * 10 + digit;
    }
    *value = sum;
    digit_count = at - cursor->position;
    cursor->position = at;
    if (digit_count > RL_RESP_LINE_MAX || (digit_count == 0 && at < cursor->length))
        return RL_RESP_BAD;
    return read_line_end(cursor);
}

static enum rl_resp_status read_integer(struct cursor *cursor, struct rl_resp *item)
{
    char sign = cursor->position < cursor->length ? cursor->bytes[cursor->position] : '\0';
    uint64_t max = sign == '-' ? UINT64_C(1) << 63 : INT64_MAX;
    uint64_t value = 0;
    enum rl_resp_status status;

    if (sign == '-' || sign == '+')
        cursor->position++;
    status = read_digits(cursor, max, &value);
    item->type = RL_RESP_INTEGER;
    /* The lowest number has no positive counterpart: step down to it from the one above. */
    item->integer = sign == '-' && value > 0 ? -(int64_t)(value - 1) - 1 : (int64_t)value;
    return status;
}

/* The "-1" that stands for null where RESP2 has a length. The minus sign has been seen. */
static enum rl_resp_status read_null_length(struct cursor *cursor, struct rl_resp *item)
{
    item->type = RL_RESP_NULL;
    cursor->position++;
    if (cursor->position == cursor->length)
        return ask_more(cursor);
    if (cursor->bytes[cursor->position] != '1')
        return RL_RESP_BAD;
    cursor->position++;
    return read_line_end(cursor);
}

static bool at_minus(const struct cursor *cursor)
{
    return cursor->position < cursor->length && cursor->bytes[cursor->position] == '-';
}

/* A length and that many bytes, whatever they are. */
static enum rl_resp_status read_bulk(struct cursor *cursor, struct rl_resp *item)
{
    uint64_t size = 0;
    enum rl_resp_status status = read_digits(cursor, RL_RESP_MESSAGE_MAX, &size);

    if (status != RL_RESP_OK)
        return status;
    if (cursor->length - cursor->position < size + 2) {
        cursor->position += (size_t)size + 2;
        return RL_RESP_MORE;
    }
    item->text = cursor->bytes + cursor->position;
    item->text_length = (size_t)size;
    cursor->position += (size_t)size;
    return read_line_end(cursor);
}

static enum rl_resp_status read_bulk_or_null(struct cursor *cursor, struct rl_resp *item)
{
    return at_minus(cursor) ? read_null_length(cursor, item) : read_bulk(cursor, item);
}

/* "txt:Some words": three characters name the format, and are cut off. */
static enum rl_resp_status read_verbatim(struct cursor *cursor, struct rl_resp *item)
{
    enum rl_resp_status status = read_bulk(cursor, item);

    if (status != RL_RESP_OK)
        return status;
    if (item->text_length < 4 || item->text[3] != ':')
        return RL_RESP_BAD;
    item->text += 4;
    item->text_length -= 4;
    return RL_RESP_OK;
}

/* `width` is 2 where the number counts pairs. */
static enum rl_resp_status read_count(struct cursor *cursor, enum rl_resp_type type, uint32_t width,
                                      struct rl_resp *item)
{
    uint64_t count = 0;
    enum rl_resp_status status = read_digits(cursor, RL_RESP_ELEMENTS_MAX / width, &count);

    item->type = type;
    item->element_count = (uint32_t)count * width;
    return status;
}

static enum rl_resp_status read_array_or_null(struct cursor *cursor, struct rl_resp *item)
{
    return at_minus(cursor) ? read_null_length(cursor, item) : read_count(cursor, RL_RESP_ARRAY, 1, item);
}

static enum rl_resp_status read_null(struct cursor *cursor, struct rl_resp *item)
{
    item->type = RL_RESP_NULL;
    return read_line_end(cursor);
}

static enum rl_resp_status read_boolean(struct cursor *cursor, struct rl_resp *item)
{
    char letter;

    if (cursor->position == cursor->length)
        return ask_more(cursor);
    letter = cursor->bytes[cursor->position++];
    if (letter != 't' && letter != 'f')
        return RL_RESP_BAD;
    item->type = RL_RESP_BOOLEAN;
    item->integer = letter == 't';
    return read_line_end(cursor);
}

/* How many digits stand at text[from]. */
static size_t count_digits(const char *text, size_t length, size_t from)
{
    size_t at = from;

    while (at < length && text[at] >= '0' && text[at] <= '9')
        at++;
    return at - from;
}

/* Moves past a sign, if there is one, and digits; false when there is no digit. */
static bool pass_number(const char *text, size_t length, size_t *at)
{
    size_t digit_count;

    if (*at < length && (text[*at] == '-' || text[*at] == '+'))
        ++*at;
    digit_count = count_digits(text, length, *at);
    *at += digit_count;
    return digit_count > 0;
}

static bool is_word(const char *text, size_t length, const char *word)
{
    return length == strlen(word) && memcmp(text, word, length) == 0;
}

/* -12.5e+30, inf, -inf, nan; some servers print the sign of a nan. */
static bool is_double(const char *text, size_t length)
{
    size_t at = 0;

    if (is_word(text, length, "inf") || is_word(text, length, "-inf") || is_word(text, length, "nan") ||
        is_word(text, length, "-nan"))
        return true;
    if (!pass_number(text, length, &at))
        return false;
    if (at < length && text[at] == '.') {
        size_t digit_count = count_digits(text, length, at + 1);

        if (digit_count == 0)
            return false;
        at += 1 + digit_count;
    }
    if (at < length && (text[at] == 'e' || text[at] == 'E')) {
        at++;
        if (!pass_number(text, length, &at))
            return false;
    }
    return at == length;
}

static enum rl_resp_status read_double(struct cursor *cursor, struct rl_resp *item)
{
    enum rl_resp_status status = read_line(cursor, item);

    if (status == RL_RESP_OK && !is_double(item->text, item->text_length))
        return RL_RESP_BAD;
    return status;
}

static enum rl_resp_status read_big_number(struct cursor *cursor, struct rl_resp *item)
{
    enum rl_resp_status status = read_line(cursor, item);
    size_t at = 0;

    if (status != RL_RESP_OK)
        return status;
    if (!pass_number(item->text, item->text_length, &at) || at != item->text_length)
        return RL_RESP_BAD;
    return RL_RESP_OK;
}

/* One item, or the head of an aggregate. Streamed types ("$?", "*?") fail as lengths that are no numbers. */
static enum rl_resp_status read_item(struct cursor *cursor, struct rl_resp *item)
{
    char mark;

    if (cursor->position >= cursor->length)
        return ask_more(cursor);
    mark = cursor->bytes[cursor->position++];
    *item = (struct rl_resp){.type = mark == '-' || mark == '!' ? RL_RESP_ERROR : RL_RESP_STRING};
    switch (mark) {
    case '$':
        return read_bulk_or_null(cursor, item);
    case ':':
        return read_integer(cursor, item);
    case '+':
        return read_line(cursor, item);
    case '*':
        return read_array_or_null(cursor, item);
    case '-':
        return read_line(cursor, item);
    case '!':
        return read_bulk(cursor, item);
    case '=':
        return read_verbatim(cursor, item);
    case '_':
        return read_null(cursor, item);
    case '#':
        return read_boolean(cursor, item);
    case ',':
        return read_double(cursor, item);
    case '(':
        return read_big_number(cursor, item);
    case '~':
        return read_count(cursor, RL_RESP_ARRAY, 1, item);
    case '%':
        return read_count(cursor, RL_RESP_MAP, 2, item);
    case '>':
        return read_count(cursor, RL_RESP_PUSH, 1, item);
    case '|':
        return read_count(cursor, RL_RESP_ATTRIBUTE, 2, item);
    default:
        return RL_RESP_BAD;
    }
}

enum rl_resp_status rl_resp_next(const char *bytes, size_t length, size_t *offset, struct rl_resp *item)
{
    struct cursor cursor = {bytes, length, *offset};
    enum rl_resp_status status = read_item(&cursor, item);

    if (status == RL_RESP_BAD || cursor.position - *offset > RL_RESP_MESSAGE_MAX)
        return RL_RESP_BAD;
    if (status == RL_RESP_OK)
        *offset = cursor.position;
    return status;
}

/* What is still to come of a message, while it is being skipped. */
struct nesting {
    uint32_t depth;                       /* aggregates that are open */
    uint32_t left[RL_RESP_DEPTH_MAX + 1]; /* items to come in each of them; left[0]: the message itself */
    uint32_t owed;                        /* the sum of left */
};

static bool is_aggregate(enum rl_resp_type type)
{
    return type == RL_RESP_ARRAY || type == RL_RESP_MAP || type == RL_RESP_PUSH || type == RL_RESP_ATTRIBUTE;
}

/* Counts an item that was read; false when it has no business there. */
static bool count_item(struct nesting *nesting, const struct rl_resp *item)
{
    /* An attribute is not the item that was awaited: that one follows it. */
    if (item->type != RL_RESP_ATTRIBUTE) {
        nesting->left[nesting->depth]--;
        nesting->owed--;
    }
    if (is_aggregate(item->type)) {
        /* A push travels between messages, never within one. */
        if (nesting->depth == RL_RESP_DEPTH_MAX || (item->type == RL_RESP_PUSH && nesting->depth > 0))
            return false;
        nesting->left[++nesting->depth] = item->element_count;
        nesting->owed += item->element_count;
    }
    while (nesting->depth > 0 && nesting->left[nesting->depth] == 0)
        nesting->depth--;
    return true;
}

enum rl_resp_status rl_resp_skip(const char *bytes, size_t length, size_t *offset)
{
    struct cursor cursor = {bytes, length, *offset};
    struct nesting nesting = {.depth = 0, .left = {1}, .owed = 1};

    while (nesting.owed > 0) {
        struct rl_resp item;
        enum rl_resp_status status = read_item(&cursor, &item);
        size_t size_min;

        if (status == RL_RESP_BAD || (status == RL_RESP_OK && !count_item(&nesting, &item)))
            return RL_RESP_BAD;
        /* What was read or announced, and the least that the items still owed will take. */
        size_min = cursor.position - *offset + (size_t)nesting.owed * ITEM_MIN;
        if (status == RL_RESP_MORE)
            size_min -= ITEM_MIN;
        if (size_min > RL_RESP_MESSAGE_MAX)
            return RL_RESP_BAD;
        if (status == RL_RESP_MORE)
            return RL_RESP_MORE;
    }
    *offset = cursor.position;
    return RL_RESP_OK;
}

struct rl_resp rl_resp_item(const char *bytes, size_t length, size_t *offset)
{
    struct rl_resp item = {.type = RL_RESP_NULL};

    while (rl_resp_next(bytes, length, offset, &item) == RL_RESP_OK && item.type == RL_RESP_ATTRIBUTE)
        for (uint32_t i = 0; i < item.element_count; i++)
            if (rl_resp_skip(bytes, length, offset) != RL_RESP_OK)
                return item;
    return item;
}
