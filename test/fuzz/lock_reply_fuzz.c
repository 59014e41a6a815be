/*
 * Gives any bytes to the readers of lock replies, admissions and greetings: they must come to some verdict, point only into what
 * they were given, and read nothing beyond it. The first byte chooses the question that is answered.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/guard_command.h"
#include "wire/handshake.h"
#include "wire/lock_command.h"
#include "wire/resp_reader.h"

#define CHECK(fact) ((fact) ? (void)0 : (fprintf(stderr, "does not hold: %s\n", #fact), abort()))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CHOICE_HANDSHAKE = RL_COMMAND_ADMIT + 1, CHOICE_PLAIN_ACQUIRE, CHOICES };

static void read_reply(enum rl_command_kind kind, uint64_t proposal, const char *bytes, size_t length)
{
    struct rl_lock_reply reply;
    size_t end = 0;

    rl_lock_command_read(kind, proposal, bytes, length, &reply);
    CHECK(reply.answer.verdict >= RL_GRANTED && reply.answer.verdict <= RL_BROKEN);
    CHECK(reply.answer.cause <= RL_CAUSE_ERROR);
    CHECK(reply.owner == NULL ||
          (reply.owner >= bytes && reply.owner + reply.owner_length <= bytes + length));
    /* A plain node knows no fences, and a guarded one does not grant without. */
    CHECK(kind != RL_COMMAND_ACQUIRE || reply.answer.verdict != RL_GRANTED ||
          (reply.answer.fence != 0) == (proposal != 0));
    /* Of well-formed ones, and no others get here in earnest, only these can say yes: a number, words, an array or a set, which is read
     * as one. */
    CHECK(reply.answer.verdict != RL_GRANTED || rl_resp_skip(bytes, length, &end) != RL_RESP_OK ||
          memchr(":+$=*~|", bytes[0], 7) != NULL);
}

static void read_admission(const char *bytes, size_t length)
{
    struct rl_admitted admitted;

    rl_guard_read_admit(bytes, length, &admitted);
    CHECK(admitted.fitness <= RL_FITNESS_FLOORLESS);
    CHECK(memchr(admitted.epoch, '\0', sizeof admitted.epoch) != NULL);
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data + 1;
    unsigned choice = size > 0 ? data[0] % CHOICES : 0;

    if (size == 0)
        return 0;
    if (choice == CHOICE_HANDSHAKE)
        greet(bytes, size - 1);
    else if (choice == CHOICE_PLAIN_ACQUIRE)
        read_reply(RL_COMMAND_ACQUIRE, 0, bytes, size - 1);
    else if (choice == RL_COMMAND_ADMIT)
        read_admission(bytes, size - 1);
    else
        read_reply((enum rl_command_kind)choice, 77, bytes, size - 1);
    return 0;
}
