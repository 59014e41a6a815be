/*
 * Reads one command of a Redis client out of bytes: an array of texts. Pure and bounded; what the command
 * means is not its business.
 */
#ifndef SERVE_RESP_REQUEST_H
#define SERVE_RESP_REQUEST_H

#include "serve/http_request.h"

#define SERVE_WORDS_MAX 32
#define SERVE_COMMAND_MAX 65536 /* bytes of one command */

/* Points into the bytes it was read from. */
struct serve_command {
    struct serve_text words[SERVE_WORDS_MAX];
    size_t count;
    size_t length;       /* of the whole command in bytes */
    const char *problem; /* what is wrong, when it is */
};

enum { SERVE_COMMAND_WRONG = -1, SERVE_COMMAND_MORE = 0, SERVE_COMMAND_WHOLE = 1 };

int serve_command_read(const char *bytes, size_t length, struct serve_command *command);

/* A number from 0 to most; false when a text is none. */
bool serve_text_number(struct serve_text text, uint64_t most, uint64_t *number);

#endif
