/*
 * Tests of wire/many_command: the words of requests for several locks in one command, and the room they take.
 * What each part of an answer means is tested in lock_command_test.c; what the scripts do, in
 * integration/many_scripts_test.c.
 */
#include "wire/many_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "wire/guard_command.h"
#include "wire/hand_over.h"
#include "wire/owner.h"
#include "wire/resp_reader.h"
#include "wire/script.h"

#define EPOCH "1 run id 1000 0"

enum { KEY_MAX = 1024, LARGEST = 1 << 20 };

/* All of it, in the order that the header asks for. */
static void write_many(struct rl_writer *writer, const struct rl_lock_command *commands, uint32_t count,
                       bool full)
{
    rl_many_write_head(writer, &commands[0], rl_many_script(commands[0].lock_kind, commands[0].kind), count,
                       full);
    for (uint32_t i = 0; i < count; i++)
        rl_many_write_key(writer, &commands[i]);
    rl_many_write_common(writer, &commands[0]);
    for (uint32_t i = 0; i < count; i++)
        rl_many_write_arguments(writer, &commands[i]);
}

static bool is_script(const struct rl_resp *item, const struct rl_script *script)
{
    return (item->text_length == 40 && memcmp(item->text, script->digest, 40) == 0) ||
           (item->text_length == script->text_length &&
            memcmp(item->text, script->text, item->text_length) == 0);
}

/* The words of one command, separated by spaces, after checking that they are as many as it says. */
static const char *words_of(const struct rl_lock_command *commands, uint32_t count, bool full)
{
    static char text[4096];
    char bytes[16384];
    struct rl_writer writer = rl_writer_on(bytes, sizeof bytes);
    size_t offset = 0, used = 0;
    struct rl_resp head, item;

    write_many(&writer, commands, count, full);
    assert_false(writer.overflow);
    assert_int_equal(rl_resp_next(bytes, writer.length, &offset, &head), RL_RESP_OK);
    assert_int_equal(head.type, RL_RESP_ARRAY);
    for (uint32_t i = 0; i < head.element_count; i++) {
        assert_int_equal(rl_resp_next(bytes, writer.length, &offset, &item), RL_RESP_OK);
        if (is_script(&item, &rl_script_release_many) || is_script(&item, &rl_script_ask_many) ||
            is_script(&item, &rl_script_hand_on_many))
            used += (size_t)snprintf(text + used, sizeof text - used, " <many>");
        else
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%.*s", used > 0 ? " " : "",
                                     (int)item.text_length, item.text);
    }
    assert_int_equal(offset, writer.length);
    return text;
}

static struct rl_lock_command command_for(enum rl_command_kind kind, const char *key, const char *owner,
                                          uint64_t fence)
{
    return (struct rl_lock_command){.kind = kind,
                                    .lock_kind = &rl_kind_exclusive,
                                    .key = key,
                                    .key_length = strlen(key),
                                    .owner = owner,
                                    .owner_length = strlen(owner),
                                    .ttl_ms = 5000,
                                    .epoch = EPOCH,
                                    .fence = fence,
                                    .not_after_us = (int64_t)fence + 1000};
}

static void releases_are_all_keys_and_then_all_owners(void **state)
{
    struct rl_lock_command commands[] = {command_for(RL_COMMAND_RELEASE, "a", "one", 7),
                                         command_for(RL_COMMAND_RELEASE, "b", "two", 8),
                                         command_for(RL_COMMAND_RELEASE, "c", "three", 9)};

    (void)state;
    assert_string_equal(words_of(commands, 3, false), "EVALSHA <many> 3 a b c one two three");
    assert_string_equal(words_of(commands, 2, true), "EVAL <many> 2 a b one two");
}

static void acquires_share_the_epoch_and_the_not_after_of_the_first(void **state)
{
    struct rl_place place = {.ticket = 5, .settled = true, .lease_ms = 3000, .channel = "redlock:x"};
    struct rl_lock_command commands[] = {command_for(RL_COMMAND_ACQUIRE, "a", "one", 7),
                                         command_for(RL_COMMAND_ACQUIRE, "{b}c", "two", 8)};

    (void)state;
    commands[0].lock_kind = commands[1].lock_kind = &rl_kind_line;
    commands[1].place = &place;
    assert_string_equal(words_of(commands, 2, false),
                        "EVALSHA <many> 2 a {b}c " EPOCH " 1007 one 5000 7  two 5000 8 5 1 3000 redlock:x");
    assert_memory_equal(words_of(commands, 2, true), "EVAL <many> 2 ", 14);
    commands[0].kind = commands[1].kind = RL_COMMAND_RELEASE;
    assert_string_equal(words_of(commands, 2, false), "EVALSHA <many> 2 a {b}c one two");
}

/* ---- room ---------------------------------------------------------------------------------------------- */

/* What the client sets aside for so many of them; see engine/send.c. */
static size_t room_for(uint32_t count)
{
    return RL_MANY_HEAD + count * (size_t)(RL_MANY_EACH + RL_OWNER_MAX + KEY_MAX);
}

static struct rl_lock_command largest(enum rl_command_kind kind)
{
    static char key[KEY_MAX + 1], owner[RL_OWNER_MAX + 1], epoch[RL_EPOCH_MAX + 1];
    static const struct rl_place place = {.ticket = UINT64_MAX,
                                          .lease_ms = UINT32_MAX,
                                          .channel = RL_CHANNEL "01234567012345670123456701234567"};
    struct rl_lock_command command;

    memset(key, 'k', KEY_MAX);
    memset(owner, 'o', RL_OWNER_MAX);
    memset(epoch, 'e', RL_EPOCH_MAX);
    command = command_for(kind, key, owner, UINT64_C(9007199254740991));
    command.lock_kind = &rl_kind_line;
    command.place = &place;
    command.ttl_ms = UINT32_MAX;
    command.not_after_us = INT64_MIN; /* no number is longer */
    command.epoch = epoch;
    return command;
}

static void expect_to_fit(enum rl_command_kind kind, uint32_t count)
{
    static char bytes[LARGEST];
    struct rl_lock_command commands[RL_MANY_MAX];
    struct rl_writer writer = rl_writer_on(bytes, sizeof bytes);

    for (uint32_t i = 0; i < count; i++)
        commands[i] = largest(kind);
    write_many(&writer, commands, count, true);
    assert_false(writer.overflow);
    assert_in_range(writer.length, 1, room_for(count));
}

static void the_longest_requests_with_the_whole_script_fit_in_their_room(void **state)
{
    (void)state;
    for (uint32_t count = 2; count <= RL_MANY_MAX; count++) {
        expect_to_fit(RL_COMMAND_ACQUIRE, count);
        expect_to_fit(RL_COMMAND_RELEASE, count);
    }
}

/* Who enlisted and found no company is written as any other. */
static void so_does_one_that_goes_alone_after_all(void **state)
{
    static const enum rl_command_kind kinds[] = {RL_COMMAND_ACQUIRE, RL_COMMAND_RELEASE};
    char bytes[16384];

    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct rl_lock_command command = largest(kinds[i]);
        struct rl_writer writer = rl_writer_on(bytes, sizeof bytes);

        rl_lock_command_write(&writer, &command, 0, true);
        assert_false(writer.overflow);
        assert_in_range(writer.length, 1, room_for(1));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(releases_are_all_keys_and_then_all_owners),
        cmocka_unit_test(acquires_share_the_epoch_and_the_not_after_of_the_first),
        cmocka_unit_test(the_longest_requests_with_the_whole_script_fit_in_their_room),
        cmocka_unit_test(so_does_one_that_goes_alone_after_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
