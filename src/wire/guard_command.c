/*
 * Bytes of the guard's command and the names of its keys; see guard_command.h.
 */
#include "wire/guard_command.h"

#include <string.h>

#include "base/bytes.h"
#include "core/event.h"
#include "wire/error_reply.h"
#include "wire/resp_reader.h"
#include "wire/script.h"

size_t rl_key_fence(char *buffer, const char *key, size_t key_length)
{
    bool tagged = memchr(key, '{', key_length) != NULL;
    size_t length = sizeof RL_KEY_FENCE - 1;

    memcpy(buffer, RL_KEY_FENCE, length);
    if (!tagged)
        buffer[length++] = '{';
    memcpy(buffer + length, key, key_length);
    length += key_length;
    if (!tagged)
        buffer[length++] = '}';
    return length;
}

size_t rl_key_line(char *buffer, const char *key, size_t key_length, const char *part)
{
    bool tagged = memchr(key, '{', key_length) != NULL;
    struct rl_text text = rl_text_on(buffer, RL_KEY_LINE_MAX);

    rl_text_add(&text, RL_KEY_LINE);
    rl_text_add(&text, tagged ? ":" : "{");
    rl_text_add_bytes(&text, key, key_length);
    rl_text_add(&text, tagged ? ":" : "}:");
    rl_text_add(&text, part);
    return text.length;
}

static bool begins_with(const char *key, size_t key_length, const char *word)
{
    size_t length = strlen(word);

    return key_length >= length && memcmp(key, word, length) == 0;
}

bool rl_key_reserved(const char *key, size_t key_length)
{
    return begins_with(key, key_length, RL_KEY_GUARD) || begins_with(key, key_length, RL_KEY_FENCE) ||
           begins_with(key, key_length, RL_KEY_LINE) || begins_with(key, key_length, RL_KEY_MARK);
}

static void add_half(struct rl_text *text, const char *id)
{
    size_t length = strlen(id);

    rl_text_add_bytes(text, id, length < RL_EPOCH_RUN / 2 ? length : RL_EPOCH_RUN / 2);
}

void rl_guard_run(char run[RL_EPOCH_RUN + 1], const char *run_id, const char *replid)
{
    struct rl_text text = rl_text_on(run, RL_EPOCH_RUN + 1);

    add_half(&text, run_id);
    rl_text_add(&text, ".");
    add_half(&text, replid);
}

/* "q:left,q:left" */
static void write_terms(struct rl_writer *writer, const struct rl_terms *terms)
{
    char bytes[RL_TERMS_MAX * 42];
    struct rl_text text = rl_text_on(bytes, sizeof bytes);

    for (uint32_t i = 0; terms != NULL && i < terms->count; i++) {
        rl_text_add(&text, i > 0 ? "," : "");
        rl_text_add_integer(&text, terms->each[i].quarantine_ms);
        rl_text_add(&text, ":");
        rl_text_add_integer(&text, terms->each[i].left_ms);
    }
    rl_write_bytes(writer, bytes, text.length);
}

void rl_guard_write_admit(struct rl_writer *writer, const struct rl_admission *admission, bool full)
{
    char digits[20];

    rl_write_command(writer, 16);
    rl_write_script(writer, &rl_script_admit, full);
    rl_write_text(writer, "3");
    rl_write_text(writer, RL_KEY_EPOCH);
    rl_write_text(writer, RL_KEY_FLOOR);
    rl_write_text(writer, RL_KEY_TERMS);
    rl_write_text(writer, admission->run);
    rl_write_bytes(writer, admission->fresh_id, RL_EPOCH_ID);
    rl_write_integer(writer, admission->quarantine_ms);
    rl_write_text(writer, admission->durable ? "1" : "0");
    rl_write_integer(writer, admission->up_ms);
    rl_write_text(writer, admission->word);
    rl_write_bytes(writer, digits, admission->floor != 0 ? rl_decimal_write(digits, admission->floor) : 0);
    rl_write_text(writer, admission->known);
    rl_write_text(writer, admission->replid);
    write_terms(writer, admission->terms);
}

/* Digits and nothing else, up to a limit; "" is 0. */
static bool read_number(const char *text, size_t length, int64_t most, int64_t *number)
{
    *number = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9' || *number > most / 10)
            return false;
        *number = *number * 10 + (text[i] - '0');
    }
    return *number <= most;
}

/* The fourth word of a record: "1 run id q until". */
static int64_t read_quarantine(const char *record, size_t length)
{
    size_t start = 0;
    int64_t quarantine_ms;

    for (int word = 0; word < 3; word++) {
        const char *space = memchr(record + start, ' ', length - start);

        if (space == NULL)
            return 0;
        start = (size_t)(space - record) + 1;
    }
    for (size_t end = start; end < length; end++)
        if (record[end] == ' ')
            return read_number(record + start, end - start, RL_QUARANTINE_MAX_MS, &quarantine_ms)
                       ? quarantine_ms
                       : 0;
    return 0;
}

/* A number up to a limit, and what ends it. */
static bool read_part(const char *text, size_t length, char mark, int64_t most, size_t *used, int64_t *number)
{
    const char *end = memchr(text, mark, length);
    size_t digits = end != NULL ? (size_t)(end - text) : length;

    *used = digits + (end != NULL);
    return digits > 0 && read_number(text, digits, most, number);
}

/* What is remembered for longer than any announcement makes it is none of ours. */
static bool read_terms(const char *text, size_t length, struct rl_terms *terms)
{
    size_t used;

    terms->count = 0;
    while (length > 0) {
        struct rl_term term;

        if (!read_part(text, length, ':', RL_QUARANTINE_MAX_MS, &used, &term.quarantine_ms))
            return false;
        text += used;
        length -= used;
        if (!read_part(text, length, ',', 2 * RL_QUARANTINE_MAX_MS, &used, &term.left_ms))
            return false;
        text += used;
        length -= used;
        rl_terms_add(terms, term);
    }
    return true;
}

static bool read_fields(const char *bytes, size_t length, size_t offset, struct rl_admitted *admitted)
{
    static const enum rl_fitness states[] = {RL_FITNESS_UNKNOWN, RL_FITNESS_FIT, RL_FITNESS_QUARANTINED,
                                             RL_FITNESS_FLOORLESS};
    static const char promoted[] = "it is another master than it was when it was greeted";
    struct rl_resp items[6];
    int64_t floor;

    for (int i = 0; i < 6; i++)
        if (rl_resp_next(bytes, length, &offset, &items[i]) != RL_RESP_OK)
            return false;
    if (items[0].type != RL_RESP_INTEGER || items[0].integer < 0 || items[0].integer > 3 ||
        items[1].type != RL_RESP_INTEGER || items[1].integer < 1 || items[1].integer > RL_FENCE_MAX ||
        items[2].type != RL_RESP_STRING || items[2].text_length > RL_EPOCH_MAX ||
        items[3].type != RL_RESP_INTEGER || items[3].integer < 0 || items[3].integer > RL_QUARANTINE_MAX_MS ||
        items[4].type != RL_RESP_STRING ||
        !read_number(items[4].text, items[4].text_length, RL_FENCE_MAX, &floor) ||
        items[5].type != RL_RESP_STRING || !read_terms(items[5].text, items[5].text_length, &admitted->terms))
        return false;
    admitted->fitness = states[items[0].integer];
    admitted->another_master = items[0].integer == 0;
    if (admitted->another_master) {
        admitted->error = promoted;
        admitted->error_length = sizeof promoted - 1;
        return true;
    }
    admitted->node_us = items[1].integer;
    memcpy(admitted->record, items[2].text, items[2].text_length);
    admitted->wait_ms = items[3].integer;
    admitted->floor = (uint64_t)floor;
    admitted->quarantine_ms = read_quarantine(items[2].text, items[2].text_length);
    return true;
}

void rl_guard_epoch(char epoch[RL_EPOCH_MAX + 1], const char *record)
{
    size_t length = 0;
    int spaces = 0;

    while (spaces < 3 && record[length] != '\0')
        spaces += record[length++] == ' ';
    if (spaces < 3)
        length = 0;
    memcpy(epoch, record, length);
    epoch[length] = '\0';
}

void rl_guard_read_admit(const char *bytes, size_t length, struct rl_admitted *admitted)
{
    static const char odd[] = "unexpected kind of reply";
    struct rl_resp head;
    size_t offset = 0;

    *admitted =
        (struct rl_admitted){.fitness = RL_FITNESS_UNKNOWN, .error = odd, .error_length = sizeof odd - 1};
    if (rl_resp_next(bytes, length, &offset, &head) != RL_RESP_OK)
        return;
    if (head.type == RL_RESP_ERROR) {
        admitted->no_script = rl_error_is(head.text, head.text_length, "NOSCRIPT");
        admitted->error = head.text;
        admitted->error_length = head.text_length;
    } else if (head.type == RL_RESP_ARRAY && head.element_count == 6) {
        read_fields(bytes, length, offset, admitted);
    }
}
