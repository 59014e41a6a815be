/*
 * Gives any bytes to the readers of lock replies, lines, pages, admissions, greetings and pushes: they must
 * come to some verdict, point only into what they were given, and read nothing beyond it. The first byte
 * chooses what is read.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/guard_command.h"
#include "wire/handshake.h"
#include "wire/line_command.h"
#include "wire/lock_reply.h"
#include "wire/page_command.h"
#include "wire/resp_reader.h"
#include "wire/tracking.h"

#define CHECK(fact) ((fact) ? (void)0 : (fprintf(stderr, "does not hold: %s\n", #fact), abort()))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Letters, so that a person can write seeds; any other byte chooses too. */
static const char choices[] = "aprekwRmLhtsngS";

static void read_reply(enum rl_command_kind kind, const struct rl_kind *lock_kind, uint64_t proposal,
                       const char *bytes, size_t length)
{
    struct rl_lock_command command = {.kind = kind,
                                      .lock_kind = lock_kind,
                                      .epoch = proposal != 0 ? "epoch" : NULL,
                                      .fence = proposal,
                                      .nameless = lock_kind == NULL};
    struct rl_lock_reply reply;
    size_t end = 0;

    rl_lock_reply_read(&command, bytes, length, &reply);
    CHECK(reply.answer.verdict >= RL_GRANTED && reply.answer.verdict <= RL_FAILED);
    CHECK(reply.answer.cause <= RL_CAUSE_BROKEN);
    CHECK(reply.owner == NULL || reply.owner == rl_foreign_owner ||
          (reply.owner >= bytes && reply.owner + reply.owner_length <= bytes + length));
    /* A plain node knows no fences, and a guarded one does not grant without. */
    CHECK(kind != RL_COMMAND_ACQUIRE || reply.answer.verdict != RL_GRANTED ||
          (reply.answer.fence != 0) == (proposal != 0));
    /* Of well-formed ones, and no others get here in earnest, only these can say yes: a number, words, an
     * array or a set, which is read as one. Of no lock an error is what is expected; to a reader nothing at
     * all says that only readers are there. */
    CHECK(command.nameless || reply.answer.verdict != RL_GRANTED ||
          rl_resp_skip(bytes, length, &end) != RL_RESP_OK || memchr(":+$=*~|", bytes[0], 7) != NULL ||
          (lock_kind == &rl_kind_redisson_shared && bytes[0] == '_'));
}

static void check_waiters(const struct rl_waiter *waiters, uint32_t count, const char *bytes, size_t length)
{
    CHECK(count <= RL_LINE_NAMED_MAX);
    for (uint32_t i = 0; i < count; i++)
        CHECK(waiters[i].who >= bytes && waiters[i].who + waiters[i].who_length <= bytes + length &&
              waiters[i].who_length <= RL_OWNER_TAIL_MAX);
}

static void read_waiters(const char *bytes, size_t length)
{
    struct rl_line line;

    if (!rl_line_read(bytes, length, &line))
        return;
    check_waiters(line.line, line.in_line_named, bytes, length);
    check_waiters(line.others, line.waiting_named, bytes, length);
}

static void read_admission(const char *bytes, size_t length)
{
    struct rl_admitted admitted;

    rl_guard_read_admit(bytes, length, &admitted);
    CHECK(admitted.fitness <= RL_FITNESS_FLOORLESS);
    CHECK(memchr(admitted.record, '\0', sizeof admitted.record) != NULL);
    CHECK(admitted.fitness != RL_FITNESS_UNKNOWN || admitted.error != NULL);
}

static void check_command(const struct rl_handshake *handshake)
{
    char bytes[512];
    struct rl_writer writer = rl_writer_on(bytes, sizeof bytes);
    size_t end = 0;

    rl_handshake_write(handshake, &writer);
    CHECK(!writer.overflow && rl_resp_skip(writer.bytes, writer.length, &end) == RL_RESP_OK &&
          end == writer.length);
}

/* Each reply moves it on, until it is over; the bits of the first byte choose what there is to say. */
static void greet(const char *bytes, size_t length)
{
    struct rl_greeting greeting = {.user = "me", .client_name = "redlock"};
    struct rl_handshake handshake;
    size_t at = 1;

    if (length == 0)
        return;
    greeting.password = (bytes[0] & 1) != 0 ? "sesame" : NULL;
    greeting.db = (bytes[0] & 2) != 0 ? 5 : 0;
    rl_handshake_start(&handshake, &greeting);
    while (handshake.step < RL_HANDSHAKE_READY && at < length) {
        enum rl_handshake_step before = handshake.step;
        size_t end = 0;

        check_command(&handshake);
        if (rl_resp_skip(bytes + at, length - at, &end) != RL_RESP_OK)
            end = length - at;
        rl_handshake_read(&handshake, bytes + at, end);
        CHECK(handshake.step > before);
        at += end;
    }
    CHECK((handshake.step == RL_HANDSHAKE_FAILED) == (handshake.cause != RL_CAUSE_NONE));
    CHECK(memchr(handshake.error, '\0', sizeof handshake.error) != NULL);
    CHECK(handshake.info.run_id[40] == '\0' && handshake.info.up_s >= 0);
    CHECK(handshake.step == RL_HANDSHAKE_READY || handshake.info.features == 0);
}

/* A push tells of keys that are in it, no more of them than it says. */
static void read_push(const char *bytes, size_t length)
{
    struct rl_push push;
    const char *key;
    size_t key_length;
    uint32_t count;

    if (!rl_push_read(&push, bytes, length))
        return;
    CHECK(!push.all || push.left == 0);
    for (count = push.left; rl_push_next_key(&push, &key, &key_length); count--)
        CHECK(count > 0 && key >= bytes && key + key_length <= bytes + length);
}

/* A page names keys that are in it, no more of them than it says, and where the next one begins. */
static void read_page(const char *bytes, size_t length)
{
    struct rl_page_answer answer;
    struct rl_page_entry entry;
    uint32_t count;

    if (rl_page_read(&answer, bytes, length) != RL_PAGE_WHOLE)
        return;
    CHECK(memchr(answer.cursor, '\0', sizeof answer.cursor) != NULL);
    for (count = answer.left; rl_page_next(&answer, &entry); count--)
        CHECK(count > 0 && entry.key >= bytes && entry.key + entry.key_length <= bytes + length);
}

static void read_any(char choice, const char *bytes, size_t length)
{
    static const struct {
        char choice;
        enum rl_command_kind kind;
    } kinds[] = {{'a', RL_COMMAND_ACQUIRE}, {'r', RL_COMMAND_RAISE}, {'e', RL_COMMAND_EXTEND},
                 {'k', RL_COMMAND_PEEK},    {'w', RL_COMMAND_WATCH}, {'R', RL_COMMAND_RELEASE},
                 {'L', RL_COMMAND_LINE},    {'s', RL_COMMAND_SEARCH}};

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (kinds[i].choice == choice)
            read_reply(kinds[i].kind, &rl_kind_line, 77, bytes, length);
    if (choice == 'p')
        read_reply(RL_COMMAND_ACQUIRE, &rl_kind_exclusive, 0, bytes, length);
    if (choice == 'S')
        read_reply(RL_COMMAND_WATCH, &rl_kind_redisson_shared, 0, bytes, length);
    if (choice == 'n')
        read_reply(RL_COMMAND_PEEK, NULL, 77, bytes, length);
    if (choice == 'g')
        read_page(bytes, length);
    if (choice == 'L')
        read_waiters(bytes, length);
    if (choice == 'm')
        read_admission(bytes, length);
    if (choice == 'h')
        greet(bytes, length);
    if (choice == 't')
        read_push(bytes, length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char choice;

    if (size == 0)
        return 0;
    choice = (char)data[0];
    if (memchr(choices, choice, sizeof choices - 1) == NULL)
        choice = choices[data[0] % (sizeof choices - 1)];
    read_any(choice, (const char *)data + 1, size - 1);
    return 0;
}
