/*
 * Writing and reading of owner values; see owner.h. Bars, percent signs and control bytes are
 * percent-encoded.
 */
#include "wire/owner.h"

#include <assert.h>
#include <string.h>

#include "base/bytes.h"

/* Encoded. With the longest tag they leave half of a why; without one everything fits. */
enum { HOST_MAX = 64, USER_MAX = 32, WHY_MAX = 128 };

_Static_assert((int)RL_OWNER_TAIL_MAX >=
                   5 + 2 * RL_OWNER_TAG_MAX + 6 + HOST_MAX + 15 + 6 + USER_MAX + 27 + 15,
               "what comes before why is never cut");

_Static_assert(sizeof RL_OWNER_MARK - 1 == RL_OWNER_MARK_LENGTH, "the mark is as long as it is said to be");

bool rl_owner_unmark(const char **owner, size_t *length)
{
    if (*length < RL_OWNER_MARK_LENGTH || memcmp(*owner, RL_OWNER_MARK, RL_OWNER_MARK_LENGTH) != 0)
        return false;
    *owner += RL_OWNER_MARK_LENGTH;
    *length -= RL_OWNER_MARK_LENGTH;
    return true;
}

uint32_t rl_owner_unshare(const char **owner, size_t *length)
{
    static const char word[] = "shared|";
    size_t at = sizeof word - 1;
    uint32_t count = 0;

    if (*length < at || memcmp(*owner, word, at) != 0)
        return 0;
    for (; at < *length && (*owner)[at] >= '0' && (*owner)[at] <= '9' && count < 100000000; at++)
        count = 10 * count + (uint32_t)((*owner)[at] - '0');
    if (count == 0 || at == *length || (*owner)[at] != '|')
        return 0;
    *owner += at + 1;
    *length -= at + 1;
    return count;
}

static void add_encoded(struct rl_text *text, const char *words, size_t max)
{
    size_t end = text->length + max;

    for (size_t i = 0; words[i] != '\0' && text->length < end; i++) {
        uint8_t byte = (uint8_t)words[i];
        char encoded[3] = {'%'};

        if (byte >= 0x20 && byte != 0x7f && byte != '|' && byte != '%') {
            rl_text_add_bytes(text, &words[i], 1);
        } else if (text->length + 3 < text->capacity && text->length + 3 <= end) {
            rl_hex_write(encoded + 1, &byte, 1);
            rl_text_add_bytes(text, encoded, 3);
        }
    }
}

static void add_field(struct rl_text *text, const char *field, const char *words, size_t max)
{
    if (words == NULL || words[0] == '\0')
        return;
    rl_text_add(text, field);
    add_encoded(text, words, max);
}

size_t rl_owner_tag_field(char *tail, const void *tag, size_t tag_length)
{
    static const char field[] = "|tag=";
    size_t start = sizeof field - 1;

    assert(tag_length <= RL_OWNER_TAG_MAX);
    tail[0] = '\0';
    if (tag_length == 0)
        return 0;
    memcpy(tail, field, start);
    rl_hex_write(tail + start, tag, tag_length);
    tail[start + 2 * tag_length] = '\0';
    return start + 2 * tag_length;
}

size_t rl_owner_tail(char *tail, const struct rl_owner_words *words)
{
    struct rl_text text = rl_text_on(tail, RL_OWNER_TAIL_MAX + 1);

    text.length = rl_owner_tag_field(tail, words->tag, words->tag_length);
    add_field(&text, "|host=", words->host, HOST_MAX);
    rl_text_add(&text, "|pid=");
    rl_text_add_unsigned(&text, words->pid);
    add_field(&text, "|user=", words->user, USER_MAX);
    rl_text_add(&text, "|since=");
    rl_text_add_integer(&text, words->since_ms);
    if (words->ttl_ms != 0) {
        rl_text_add(&text, "|ttl=");
        rl_text_add_unsigned(&text, words->ttl_ms);
    }
    add_field(&text, "|why=", words->why, WHY_MAX);
    return text.length;
}

/* The bytes of a field's value, still encoded; NULL when the field is not there. */
static const char *find_field(const char *owner, size_t length, const char *field, size_t *value_length)
{
    size_t field_length = strlen(field);
    const char *end = owner + length;
    const char *bar = memchr(owner, '|', length);

    while (bar != NULL) {
        const char *start = bar + 1;
        const char *next = memchr(start, '|', (size_t)(end - start));
        const char *stop = next != NULL ? next : end;

        if ((size_t)(stop - start) > field_length && memcmp(start, field, field_length) == 0 &&
            start[field_length] == '=') {
            *value_length = (size_t)(stop - start) - field_length - 1;
            return start + field_length + 1;
        }
        bar = next;
    }
    return NULL;
}

static int hex_digit(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    if (digit >= 'a' && digit <= 'f')
        return digit - 'a' + 10;
    return -1;
}

void rl_owner_field(const char *owner, size_t length, const char *field, char *text, size_t capacity)
{
    struct rl_text decoded = rl_text_on(text, capacity);
    size_t value_length = 0;
    const char *value = find_field(owner, length, field, &value_length);

    for (size_t i = 0; value != NULL && i < value_length; i++) {
        bool escaped = value[i] == '%' && i + 2 < value_length && hex_digit(value[i + 1]) >= 0 &&
                       hex_digit(value[i + 2]) >= 0;
        char byte = escaped ? (char)(hex_digit(value[i + 1]) * 16 + hex_digit(value[i + 2])) : value[i];

        rl_text_add_printable(&decoded, &byte, 1);
        i += escaped ? 2 : 0;
    }
}

size_t rl_owner_tag(const char *owner, size_t length, uint8_t *tag)
{
    size_t digits = 0;
    const char *value = find_field(owner, length, "tag", &digits);

    if (value == NULL || digits % 2 != 0 || digits > 2 * RL_OWNER_TAG_MAX)
        return 0;
    for (size_t i = 0; i < digits; i++)
        if (hex_digit(value[i]) < 0)
            return 0;
    rl_hex_read(tag, value, digits / 2);
    return digits / 2;
}

int64_t rl_owner_number(const char *owner, size_t length, const char *field)
{
    size_t value_length = 0;
    const char *value = find_field(owner, length, field, &value_length);
    int64_t number = 0;

    if (value == NULL || value_length > 18)
        return 0;
    for (size_t i = 0; i < value_length; i++) {
        if (value[i] < '0' || value[i] > '9')
            return 0;
        number = number * 10 + (value[i] - '0');
    }
    return number;
}
