/*
 * Writes Redis commands (arrays of bulk strings) into a buffer of the caller's. Never writes past its end:
 * a command that does not fit sets `overflow` and the caller throws the whole of it away.
 */
#ifndef RL_WIRE_RESP_WRITER_H
#define RL_WIRE_RESP_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rl_writer {
    char *bytes;
    size_t length; /* written so far */
    size_t capacity;
    bool overflow; /* something did not fit; length stands where it was before that piece */
};

struct rl_writer rl_writer_on(char *bytes, size_t capacity);

void rl_write_command(struct rl_writer *writer, uint32_t argument_count); /* opens a command: *N */
void rl_write_text(struct rl_writer *writer, const char *text);           /* one argument, up to its NUL */
void rl_write_bytes(struct rl_writer *writer, const void *bytes, size_t length);
void rl_write_integer(struct rl_writer *writer, int64_t value);                /* one argument, in decimal */
void rl_write_raw(struct rl_writer *writer, const void *bytes, size_t length); /* as it is, no framing */

#endif
