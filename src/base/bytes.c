/*
 * Text in fixed buffers; see bytes.h. No formats, no locale, no allocation.
 */
#include "base/bytes.h"

#include <assert.h>
#include <string.h>

struct rl_text rl_text_on(char *bytes, size_t capacity)
{
    assert(capacity > 0);
    bytes[0] = '\0';
    return (struct rl_text){bytes, 0, capacity};
}

void rl_text_add_bytes(struct rl_text *text, const char *bytes, size_t length)
{
    size_t room = text->capacity - 1 - text->length;
    size_t taken = length < room ? length : room;

    if (taken > 0)
        memcpy(text->bytes + text->length, bytes, taken);
    text->length += taken;
    text->bytes[text->length] = '\0';
}

void rl_text_add(struct rl_text *text, const char *words)
{
    rl_text_add_bytes(text, words, strlen(words));
}

size_t rl_decimal_write(char *target, uint64_t value)
{
    char reversed[20];
    size_t count = 0;

    do {
        reversed[count++] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    for (size_t i = 0; i < count; i++)
        target[i] = reversed[count - 1 - i];
    return count;
}

void rl_text_add_unsigned(struct rl_text *text, uint64_t value)
{
    char digits[20];

    rl_text_add_bytes(text, digits, rl_decimal_write(digits, value));
}

void rl_text_add_integer(struct rl_text *text, int64_t value)
{
    if (value < 0)
        rl_text_add(text, "-");
    rl_text_add_unsigned(text, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void rl_text_add_printable(struct rl_text *text, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        char shown = byte < 0x20 || byte == 0x7f ? '?' : bytes[i];

        rl_text_add_bytes(text, &shown, 1);
    }
}

void rl_text_copy(char *target, size_t capacity, const char *source)
{
    struct rl_text text = rl_text_on(target, capacity);

    rl_text_add(&text, source);
}

void rl_hex_write(char *target, const uint8_t *bytes, size_t length)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < length; i++) {
        target[2 * i] = digits[bytes[i] >> 4];
        target[2 * i + 1] = digits[bytes[i] & 15];
    }
}

static uint8_t digit_value(char digit)
{
    return (uint8_t)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

void rl_hex_read(uint8_t *bytes, const char *digits, size_t length)
{
    for (size_t i = 0; i < length; i++)
        bytes[i] = (uint8_t)(digit_value(digits[2 * i]) << 4 | digit_value(digits[2 * i + 1]));
}

/* FNV-1a, with the high bits folded into the low ones that tables use. */
void rl_number_to_bytes(uint8_t *bytes, uint64_t number)
{
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(number >> 8 * i);
}

uint64_t rl_number_from_bytes(const uint8_t *bytes)
{
    uint64_t number = 0;

    for (int i = 0; i < 8; i++)
        number |= (uint64_t)bytes[i] << 8 * i;
    return number;
}

uint64_t rl_hash_bytes(uint64_t seed, const char *bytes, size_t length)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ seed;

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
    hash ^= hash >> 32;
    return hash != 0 ? hash : 1;
}
