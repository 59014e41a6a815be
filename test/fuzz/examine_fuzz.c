/*
 * Gives any bytes to the reader of what a node answers about itself: it must come to some picture, with texts
 * that end and can be printed, and read nothing beyond what it was given. The first byte chooses on behalf of
 * whom was asked.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/examine_command.h"

#define CHECK(fact) ((fact) ? (void)0 : (fprintf(stderr, "does not hold: %s\n", #fact), abort()))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text, size_t capacity)
{
    const char *end = memchr(text, '\0', capacity);

    CHECK(end != NULL);
    for (; text < end; text++)
        CHECK((unsigned char)*text >= ' ' && *text != 0x7f);
}

static void check_facts(const struct rl_node_facts *facts)
{
    CHECK(facts->examined);
    CHECK(facts->node_us >= 0 && facts->memory_used >= -1 && facts->memory_max >= -1);
    CHECK(facts->append_only >= -1 && facts->append_only <= 1);
    CHECK(facts->snapshots >= -1 && facts->snapshots <= 1);
    CHECK(facts->refused == RL_CAUSE_NONE || rl_cause_is_inability(facts->refused));
    CHECK((facts->refused == RL_CAUSE_NONE) == (facts->refusal[0] == '\0'));
    check_text(facts->policy, sizeof facts->policy);
    check_text(facts->fsync, sizeof facts->fsync);
    check_text(facts->user, sizeof facts->user);
    check_text(facts->missing, sizeof facts->missing);
    check_text(facts->advisable, sizeof facts->advisable);
    check_text(facts->foreign_keys, sizeof facts->foreign_keys);
    check_text(facts->refusal, sizeof facts->refusal);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char key[] = "lock:redlock-doctor:00", tagged[] = "{a}lock:redlock-doctor:00";
    struct rl_examine_command command = {.key = key, .key_length = sizeof key - 1, .prefix_length = 5};
    struct rl_node_facts facts;

    if (size == 0)
        return 0;
    command.guarded = (data[0] & 1) != 0;
    if ((data[0] & 2) != 0) {
        command.key = tagged;
        command.key_length = sizeof tagged - 1;
        command.prefix_length = 0;
    }
    rl_examine_read(&command, (const char *)data + 1, size - 1, &facts);
    check_facts(&facts);
    return 0;
}
