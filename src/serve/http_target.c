/*
 * The target of a request taken apart; see http_target.h. A path is split before it is decoded: a %2F is part
 * of a name.
 */
#include "serve/http_target.h"

#include <string.h>

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Decodes into the space at *room and moves that on. False when a % is not followed by two hexadecimal
 * digits. */
static bool decode(struct serve_text from, bool plus_is_blank, char **room, struct serve_text *to)
{
    char *out = *room;

    to->bytes = out;
    for (size_t i = 0; i < from.length; i++) {
        char c = from.bytes[i];
        if (c == '%') {
            int high = i + 2 < from.length ? hex_digit(from.bytes[i + 1]) : -1;
            int low = i + 2 < from.length ? hex_digit(from.bytes[i + 2]) : -1;
            if (high < 0 || low < 0)
                return false;
            c = (char)(high * 16 + low);
            i += 2;
        } else if (c == '+' && plus_is_blank) {
            c = ' ';
        }
        *out++ = c;
    }
    to->length = (size_t)(out - *room);
    *room = out;
    return true;
}

/* Cuts off the front up to a separator, which is dropped. */
static struct serve_text cut(struct serve_text *rest, char separator)
{
    const char *end = memchr(rest->bytes, separator, rest->length);
    struct serve_text part = {rest->bytes, end == NULL ? rest->length : (size_t)(end - rest->bytes)};
    size_t dropped = part.length + (end != NULL);

    rest->bytes += dropped;
    rest->length -= dropped;
    return part;
}

static const char *read_path(struct serve_text path, struct serve_target *target, char **room)
{
    cut(&path, '/'); /* what is before the first one is empty */
    for (bool more = true; more; target->segment_count++) {
        more = memchr(path.bytes, '/', path.length) != NULL;
        struct serve_text part = cut(&path, '/');
        if (target->segment_count == SERVE_SEGMENTS_MAX) {
            target->segment_count++;
            return NULL;
        }
        if (!decode(part, false, room, &target->segments[target->segment_count]))
            return "the path has a % without two hexadecimal digits behind it";
    }
    return NULL;
}

static const char *read_query(struct serve_text query, struct serve_target *target, char **room)
{
    while (query.length > 0) {
        struct serve_text value = cut(&query, '&'), name = cut(&value, '=');
        if (target->parameter_count == SERVE_PARAMETERS_MAX)
            return "the query has more than 8 parameters";
        size_t index = target->parameter_count;
        if (!decode(name, true, room, &target->parameters[index].name) ||
            !decode(value, true, room, &target->parameters[index].value))
            return "the query has a % without two hexadecimal digits behind it";
        for (size_t i = 0; i < index; i++)
            if (target->parameters[i].name.length == target->parameters[index].name.length &&
                memcmp(target->parameters[i].name.bytes, target->parameters[index].name.bytes,
                       target->parameters[index].name.length) == 0)
                return "a parameter of the query is there twice";
        target->parameter_count++;
    }
    return NULL;
}

const char *serve_target_read(struct serve_text text, struct serve_target *target)
{
    // cppcheck-suppress ctuuninitvar ; it is filled in here
    char *room = target->decoded;
    struct serve_text path = cut(&text, '?');

    target->segment_count = target->parameter_count = 0;
    const char *problem = read_path(path, target, &room);
    return problem != NULL ? problem : read_query(text, target, &room);
}

struct serve_text serve_target_parameter(const struct serve_target *target, const char *name)
{
    for (size_t i = 0; i < target->parameter_count; i++)
        if (target->parameters[i].name.length == strlen(name) &&
            memcmp(target->parameters[i].name.bytes, name, strlen(name)) == 0)
            return target->parameters[i].value;
    return (struct serve_text){NULL, 0};
}

/* How many bytes follow the first one of a character; -1 when none can begin so. */
static int continuation_count(unsigned char first)
{
    if (first < 0x80)
        return 0;
    if (first >= 0xc2 && first <= 0xdf)
        return 1;
    if (first >= 0xe0 && first <= 0xef)
        return 2;
    return first >= 0xf0 && first <= 0xf4 ? 3 : -1;
}

/* Over-long forms, surrogates and numbers beyond Unicode: each shows in the second byte. */
static bool is_bad_second(unsigned char first, unsigned char second)
{
    return (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
           (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
}

bool serve_text_is_clean(struct serve_text text)
{
    const unsigned char *bytes = (const unsigned char *)text.bytes;

    for (size_t i = 0; i < text.length;) {
        int count = continuation_count(bytes[i]);
        if (count < 0 || bytes[i] < 0x20 || bytes[i] == 0x7f || (size_t)count >= text.length - i)
            return false;
        if (count > 0 && is_bad_second(bytes[i], bytes[i + 1]))
            return false;
        for (int k = 1; k <= count; k++)
            if ((bytes[i + (size_t)k] & 0xc0) != 0x80)
                return false;
        if (bytes[i] == 0xc2 && bytes[i + 1] < 0xa0) /* C1 controls */
            return false;
        i += (size_t)count + 1;
    }
    return true;
}
