/*
 * Reads one command of a Redis client; see resp_request.h. Inline commands, which are for people with telnet,
 * are not read.
 */
#include "serve/resp_request.h"

#include <string.h>

#define NUMBER_DIGITS_MAX 10

struct reader {
    const char *bytes;
    size_t length, place;
    struct serve_command *command;
};

static int refuse(const struct reader *reader, const char *problem)
{
    reader->command->problem = problem;
    return SERVE_COMMAND_WRONG;
}

bool serve_text_number(struct serve_text text, uint64_t most, uint64_t *number)
{
    *number = 0;
    if (text.length == 0 || text.length > 18)
        return false;
    for (size_t i = 0; i < text.length; i++) {
        if (text.bytes[i] < '0' || text.bytes[i] > '9')
            return false;
        *number = *number * 10 + (uint64_t)(text.bytes[i] - '0');
    }
    return *number <= most;
}

/* Reads a line such as "*3" or "$5": its mark, and a number of at most `most`. */
static int read_count(struct reader *reader, char mark, uint64_t most, uint64_t *number)
{
    const char *start = reader->bytes + reader->place;
    size_t left = reader->length - reader->place;
    const char *end = memchr(start, '\r', left < NUMBER_DIGITS_MAX + 2 ? left : NUMBER_DIGITS_MAX + 2);

    if (left > 0 && start[0] != mark)
        return refuse(reader, mark == '*' ? "expected an array of bulk strings" : "expected a bulk string");
    if (end == NULL)
        return left < NUMBER_DIGITS_MAX + 2 ? SERVE_COMMAND_MORE : refuse(reader, "a length is not a number");
    if (!serve_text_number((struct serve_text){start + 1, (size_t)(end - start - 1)}, most, number))
        return refuse(reader, "a length is not a number, or too large");
    if ((size_t)(end - start) + 1 == left)
        return SERVE_COMMAND_MORE;
    if (end[1] != '\n')
        return refuse(reader, "a line does not end in CR LF");
    reader->place += (size_t)(end - start) + 2;
    return SERVE_COMMAND_WHOLE;
}

static int read_word(struct reader *reader, struct serve_text *word)
{
    uint64_t length = 0;
    int status = read_count(reader, '$', SERVE_COMMAND_MAX, &length);

    if (status != SERVE_COMMAND_WHOLE)
        return status;
    if (reader->length - reader->place < length + 2)
        return SERVE_COMMAND_MORE;
    *word = (struct serve_text){reader->bytes + reader->place, (size_t)length};
    if (memcmp(word->bytes + length, "\r\n", 2) != 0)
        return refuse(reader, "a bulk string does not end in CR LF");
    reader->place += (size_t)length + 2;
    return SERVE_COMMAND_WHOLE;
}

int serve_command_read(const char *bytes, size_t length, struct serve_command *command)
{
    struct reader reader = {.bytes = bytes, .length = length, .command = command};
    uint64_t count = 0;

    command->count = command->length = 0;
    command->problem = NULL;
    int status = read_count(&reader, '*', SERVE_WORDS_MAX, &count);
    if (status == SERVE_COMMAND_WHOLE && count == 0)
        return refuse(&reader, "an empty command");
    while (status == SERVE_COMMAND_WHOLE && command->count < count)
        status = read_word(&reader, &command->words[command->count++]);
    command->length = reader.place;
    if (status == SERVE_COMMAND_MORE && length > SERVE_COMMAND_MAX)
        return refuse(&reader, "the command is larger than 64 kB");
    return status;
}
