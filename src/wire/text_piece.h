/*
 * Pieces of a text that is taken apart, such as a URL: found, compared and read without being copied. They
 * are not terminated, and belong to the text.
 */
#ifndef RL_WIRE_TEXT_PIECE_H
#define RL_WIRE_TEXT_PIECE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rl_piece {
    const char *text;
    size_t length;
};

static inline bool rl_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline char rl_to_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* The value of a hexadecimal digit, or -1. */
int rl_hex_value(char c);

/* Where c first stands in the piece, or its length; and whether it is in there. */
size_t rl_piece_find(struct rl_piece piece, char c);
bool rl_piece_has(struct rl_piece piece, char c);

/* Its first bytes, and those from `start` on. */
struct rl_piece rl_piece_first(struct rl_piece piece, size_t length);
struct rl_piece rl_piece_rest(struct rl_piece piece, size_t start);

/* Whether the piece begins with a word, in capitals or not. The word is in lower case. */
bool rl_piece_starts(struct rl_piece piece, const char *word);

/* Digits only, at least one, at most max. */
bool rl_piece_number(struct rl_piece piece, uint32_t max, uint32_t *value);

/* Undoes percent-encoding into a terminated string. Returns NULL, or why that cannot be done; `too_long` when
 * there is no room. */
const char *rl_piece_decode(struct rl_piece piece, const char *too_long, char *out, size_t capacity);

#endif
