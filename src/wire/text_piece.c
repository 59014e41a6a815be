/*
 * Pieces of a text; see text_piece.h.
 */
#include "wire/text_piece.h"

#include <assert.h>
#include <string.h>

int rl_hex_value(char c)
{
    if (rl_is_digit(c))
        return c - '0';
    if (rl_to_lower(c) >= 'a' && rl_to_lower(c) <= 'f')
        return rl_to_lower(c) - 'a' + 10;
    return -1;
}

size_t rl_piece_find(struct rl_piece piece, char c)
{
    const char *at = piece.length > 0 ? memchr(piece.text, c, piece.length) : NULL;

    return at != NULL ? (size_t)(at - piece.text) : piece.length;
}

bool rl_piece_has(struct rl_piece piece, char c)
{
    return rl_piece_find(piece, c) < piece.length;
}

struct rl_piece rl_piece_first(struct rl_piece piece, size_t length)
{
    assert(length <= piece.length);
    return (struct rl_piece){piece.text, length};
}

struct rl_piece rl_piece_rest(struct rl_piece piece, size_t start)
{
    assert(start <= piece.length);
    return (struct rl_piece){piece.text + start, piece.length - start};
}

bool rl_piece_starts(struct rl_piece piece, const char *word)
{
    size_t i;

    for (i = 0; word[i] != '\0'; i++)
        if (i == piece.length || rl_to_lower(piece.text[i]) != word[i])
            return false;
    return true;
}

bool rl_piece_number(struct rl_piece piece, uint32_t max, uint32_t *value)
{
    uint32_t sum = 0;
    size_t i;

    for (i = 0; i < piece.length; i++) {
        if (!rl_is_digit(piece.text[i]))
            return false;
        sum = sum * 10 + (uint32_t)(piece.text[i] - '0');
        if (sum > max)
            return false;
    }
    *value = sum;
    return piece.length > 0;
}

const char *rl_piece_decode(struct rl_piece piece, const char *too_long, char *out, size_t capacity)
{
    size_t length = 0;
    size_t i = 0;

    assert(capacity > 0);
    while (i < piece.length) {
        int byte = (unsigned char)piece.text[i++];

        if (byte == '%') {
            if (piece.length - i < 2 || rl_hex_value(piece.text[i]) < 0 ||
                rl_hex_value(piece.text[i + 1]) < 0)
                return "a % is not followed by two hexadecimal digits (write % itself as %25)";
            byte = rl_hex_value(piece.text[i]) * 16 + rl_hex_value(piece.text[i + 1]);
            i += 2;
        }
        if (byte == 0)
            return "%00 cannot be part of a node's url";
        if (length + 1 >= capacity)
            return too_long;
        out[length++] = (char)byte;
    }
    out[length] = '\0';
    return NULL;
}
