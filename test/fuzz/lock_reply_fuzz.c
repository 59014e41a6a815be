/*
 * Gives any bytes to the readers of lock replies and admissions: they must come to some verdict, point only into what they
 * were given, and read nothing beyond it. The first byte chooses the question that is answered.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/guard_command.h"
#include "wire/lock_command.h"
#include "wire/resp_reader.h"

#define CHECK(fact) ((fact) ? (void)0 : (fprintf(stderr, "does not hold: %s\n", #fact), abort()))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_reply(enum rl_command_kind kind, const char *bytes, size_t length)
{
    struct rl_lock_reply reply;
    size_t end = 0;

    rl_lock_command_read(kind, true, 77, bytes, length, &reply);
    CHECK(reply.answer.verdict >= RL_GRANTED && reply.answer.verdict <= RL_BROKEN);
    CHECK(reply.answer.cause <= RL_CAUSE_ERROR);
    CHECK(reply.owner == NULL ||
          (reply.owner >= bytes && reply.owner + reply.owner_length <= bytes + length));
    /* Of well-formed ones, and no others get here in earnest, only these can say yes: a number, words, an array. */
    CHECK(reply.answer.verdict != RL_GRANTED || rl_resp_skip(bytes, length, &end) != RL_RESP_OK ||
          memchr(":+$=*|", bytes[0], 6) != NULL);
}

static void read_admission(const char *bytes, size_t length)
{
    struct rl_admitted admitted;

    rl_guard_read_admit(bytes, length, &admitted);
    CHECK(admitted.fitness <= RL_FITNESS_FLOORLESS);
    CHECK(memchr(admitted.epoch, '\0', sizeof admitted.epoch) != NULL);
    CHECK(admitted.fitness != RL_FITNESS_UNKNOWN || admitted.error != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (data[0] % 6 == RL_COMMAND_ADMIT)
        read_admission((const char *)data + 1, size - 1);
    else
        read_reply((enum rl_command_kind)(data[0] % 6), (const char *)data + 1, size - 1);
    return 0;
}
