/*
 * Builds text in a fixed buffer and turns bytes into hex: what snprintf would do, without libc behind it.
 * Text that does not fit is cut; the result always ends in a NUL.
 */
#ifndef RL_BASE_BYTES_H
#define RL_BASE_BYTES_H

#include <stddef.h>
#include <stdint.h>

struct rl_text {
    char *bytes;
    size_t length;
    size_t capacity; /* with the NUL; at least 1 */
};

struct rl_text rl_text_on(char *bytes, size_t capacity);
void rl_text_add(struct rl_text *text, const char *words);
void rl_text_add_bytes(struct rl_text *text, const char *bytes, size_t length);
void rl_text_add_integer(struct rl_text *text, int64_t value);
void rl_text_add_unsigned(struct rl_text *text, uint64_t value);

/* Like add_bytes, but bytes that could upset a terminal or a log become '?'. */
void rl_text_add_printable(struct rl_text *text, const char *bytes, size_t length);

/* Copies a NUL-terminated text into an array, cut to fit. */
void rl_text_copy(char *target, size_t capacity, const char *source);

/* Writes 2 * length lower-case hex digits, without a NUL. */
void rl_hex_write(char *target, const uint8_t *bytes, size_t length);

/* Reads back what it wrote. */
void rl_hex_read(uint8_t *bytes, const char *digits, size_t length);

/* A number as eight bytes, the lowest first: on every machine, for a seed has to be the same run
 * everywhere. */
void rl_number_to_bytes(uint8_t *bytes, uint64_t number);
uint64_t rl_number_from_bytes(const uint8_t *bytes);

/* Tells byte strings apart, for tables and for comparing what was seen with what is seen; never 0. The seed
 * keeps strangers from choosing names that all fall into one place. */
uint64_t rl_hash_bytes(uint64_t seed, const char *bytes, size_t length);

/* Writes value in decimal without a NUL, returns how many digits (at most 20). */
size_t rl_decimal_write(char *target, uint64_t value);

#endif
