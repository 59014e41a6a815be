/*
 * Takes any bytes for a command of a Redis client. What is taken reads the same when it is written again from
 * its words, and every shorter piece of it is only a part.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/resp_request.h"

#define CHECK(fact) ((fact) ? (void)0 : (fprintf(stderr, "does not hold: %s\n", #fact), abort()))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t write_command(const struct serve_command *command, char *to, size_t room)
{
    size_t used = (size_t)snprintf(to, room, "*%zu\r\n", command->count);

    for (size_t i = 0; i < command->count; i++) {
        used += (size_t)snprintf(to + used, room - used, "$%zu\r\n", command->words[i].length);
        memcpy(to + used, command->words[i].bytes, command->words[i].length);
        used += command->words[i].length;
        memcpy(to + used, "\r\n", 2);
        used += 2;
    }
    return used;
}

static void check_again(const struct serve_command *command, size_t size)
{
    size_t room = size + 64 + 24 * command->count;
    char *bytes = malloc(room);
    struct serve_command again;

    CHECK(bytes != NULL);
    size_t length = write_command(command, bytes, room);
    CHECK(serve_command_read(bytes, length, &again) == SERVE_COMMAND_WHOLE && again.length == length);
    CHECK(again.count == command->count);
    for (size_t i = 0; i < again.count; i++)
        CHECK(again.words[i].length == command->words[i].length &&
              memcmp(again.words[i].bytes, command->words[i].bytes, again.words[i].length) == 0);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct serve_command command, part;
    char *bytes = malloc(size + 1);

    CHECK(bytes != NULL);
    if (size > 0)
        memcpy(bytes, data, size);
    int status = serve_command_read(bytes, size, &command);
    CHECK((command.problem != NULL) == (status == SERVE_COMMAND_WRONG));
    if (status == SERVE_COMMAND_WHOLE) {
        CHECK(command.length <= size && command.count > 0 && command.count <= SERVE_WORDS_MAX);
        check_again(&command, size);
        for (size_t length = 0; length < command.length; length += 1 + length / 8)
            CHECK(serve_command_read(bytes, length, &part) == SERVE_COMMAND_MORE);
    }
    free(bytes);
    return 0;
}
