/*
 * Tests of wire/hand_over and wire/kind_line: the message that hands a lock over, and what is said and heard
 * in line. What the scripts make of it is in integration/hand_on_scripts_test.c.
 */
#include "wire/hand_over.h"

#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "wire/handshake.h"
#include "wire/lock_reply.h"

#define OWNER "0123456789abcdef0123456789abcdef|pid=1"
#define EPOCH "1 run id "

/* A push on our channel with these words. */
static size_t push(char *bytes, size_t size, const char *words)
{
    return (size_t)snprintf(bytes, size, ">3\r\n$7\r\nmessage\r\n$9\r\nredlock:a\r\n$%zu\r\n%s\r\n",
                            strlen(words), words);
}

static bool reads(const char *words, struct rl_hand_over *hand_over)
{
    char bytes[1024];

    return rl_hand_over_read(bytes, push(bytes, sizeof bytes, words), hand_over);
}

static void a_hand_over_says_what_was_given_to_whom_and_when(void **state)
{
    char bytes[1024];
    size_t length =
        push(bytes, sizeof bytes, "1700000000000000 1700000000000007 1000 38 9 " OWNER EPOCH "my lock");
    struct rl_hand_over heard;

    (void)state;
    assert_true(rl_hand_over_read(bytes, length, &heard));
    assert_int_equal(heard.node_us, 1700000000000000);
    assert_int_equal(heard.fence, 1700000000000007);
    assert_int_equal(heard.ttl_ms, 1000);
    assert_int_equal(heard.owner_length, strlen(OWNER));
    assert_memory_equal(heard.owner, OWNER, heard.owner_length);
    assert_int_equal(heard.epoch_length, strlen(EPOCH));
    assert_memory_equal(heard.epoch, EPOCH, heard.epoch_length);
    assert_int_equal(heard.key_length, 7);
    assert_memory_equal(heard.key, "my lock", 7);
}

static void nonsense_hands_nothing_over(void **state)
{
    static const char *const wrong[] = {
        "",
        "1",
        "1 2 3 38 9 " OWNER EPOCH,                           /* no key */
        "1 2 3 38 9 " OWNER,                                 /* cut short */
        "0 2 3 38 9 " OWNER EPOCH "lock",                    /* no time */
        "1 0 3 38 9 " OWNER EPOCH "lock",                    /* no fence */
        "1 -2 3 38 9 " OWNER EPOCH "lock",                   /* */
        "1 9007199254740991 3 38 9 " OWNER EPOCH "lock",     /* above the largest fence */
        "1 99999999999999999999 3 38 9 " OWNER EPOCH "lock", /* beyond any number */
        "1 2 3 31 9 " OWNER EPOCH "lock",                    /* an owner without its random part */
        "1 2 3 512 9 " OWNER EPOCH "lock",                   /* one that is too long */
        "1 2 3 38 999999999 " OWNER EPOCH "lock",            /* longer than the message */
        "1  2 3 38 9 " OWNER EPOCH "lock",
        "a 2 3 38 9 " OWNER EPOCH "lock",
        "1 2 3  38 9 " OWNER EPOCH "lock",
    };
    struct rl_hand_over heard;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (reads(wrong[i], &heard))
            fail_msg("taken for a hand-over: %s", wrong[i]);
}

static void other_pushes_are_none_of_our_business(void **state)
{
    static const char *const other[] = {
        ">3\r\n$9\r\nsubscribe\r\n$9\r\nredlock:a\r\n:1\r\n",
        ">2\r\n$10\r\ninvalidate\r\n*1\r\n$4\r\nlock\r\n",
        ">4\r\n$8\r\npmessage\r\n$1\r\n*\r\n$1\r\na\r\n$1\r\nb\r\n",
        "*3\r\n$7\r\nmessage\r\n$9\r\nredlock:a\r\n$1\r\n1\r\n",
        ">3\r\n$7\r\nmessage\r\n$9\r\nredlock:a\r\n:1\r\n",
    };
    struct rl_hand_over heard;

    (void)state;
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        assert_false(rl_hand_over_read(other[i], strlen(other[i]), &heard));
}

static struct rl_lock_command in_line(enum rl_command_kind kind, const struct rl_place *place)
{
    return (struct rl_lock_command){.kind = kind,
                                    .lock_kind = &rl_kind_line,
                                    .key = "lock",
                                    .key_length = 4,
                                    .owner = OWNER,
                                    .owner_length = strlen(OWNER),
                                    .ttl_ms = 1000,
                                    .epoch = EPOCH,
                                    .fence = 7,
                                    .not_after_us = 9,
                                    .place = place};
}

static void assert_ends(const struct rl_writer *writer, const char *words)
{
    size_t length = strlen(words);

    assert_false(writer->overflow);
    assert_true(writer->length >= length);
    assert_memory_equal(writer->bytes + writer->length - length, words, length);
}

static void a_question_says_where_its_caller_stands(void **state)
{
    struct rl_place place = {
        .ticket = 1700000000000000, .settled = true, .lease_ms = 3000, .channel = "redlock:a"};
    struct rl_lock_command command = in_line(RL_COMMAND_ACQUIRE, &place);
    char bytes[4096];
    struct rl_writer writer = rl_writer_on(bytes, sizeof bytes);

    (void)state;
    rl_lock_command_write(&writer, &command, 0, false);
    assert_ends(&writer, "$33\r\n1700000000000000 1 3000 redlock:a\r\n");
    command.place = NULL;
    writer = rl_writer_on(bytes, sizeof bytes);
    rl_lock_command_write(&writer, &command, 0, false);
    assert_ends(&writer, "$1\r\n9\r\n$0\r\n\r\n");
}

/* A command of the node's own would free the lock and hand it to nobody. */
static void a_release_is_always_the_script(void **state)
{
    struct rl_lock_command command = in_line(RL_COMMAND_RELEASE, NULL);
    char bytes[4096];
    struct rl_writer writer = rl_writer_on(bytes, sizeof bytes);

    (void)state;
    rl_lock_command_write(&writer, &command, RL_FEATURE_DELEX | RL_FEATURE_DELIFEQ, false);
    assert_memory_equal(bytes, "*5\r\n$7\r\nEVALSHA\r\n", 17);
    assert_ends(&writer, "$38\r\n" OWNER "\r\n");
}

static enum rl_verdict read_answer(const char *bytes, struct rl_lock_reply *reply)
{
    struct rl_lock_command command = in_line(RL_COMMAND_ACQUIRE, NULL);

    rl_lock_reply_read(&command, bytes, strlen(bytes), reply);
    return reply->answer.verdict;
}

static void a_refusal_tells_the_place_and_whose_turn_it_is(void **state)
{
    struct rl_lock_reply reply;

    (void)state;
    assert_int_equal(read_answer("*8\r\n:0\r\n:5\r\n:6\r\n:100\r\n$3\r\nher\r\n:3\r\n:41\r\n:40\r\n", &reply),
                     RL_DENIED);
    assert_int_equal(reply.answer.rank, 3);
    assert_int_equal(reply.answer.ticket, 41);
    assert_int_equal(reply.answer.holder_ticket, 40);
    assert_int_equal(reply.node_us, 5);
    assert_int_equal(read_answer("*5\r\n:0\r\n:5\r\n:6\r\n:100\r\n$3\r\nher\r\n", &reply), RL_DENIED);
    assert_int_equal(reply.answer.rank, 0);
    assert_int_equal(read_answer("*8\r\n:0\r\n:5\r\n:6\r\n:100\r\n$3\r\nher\r\n:0\r\n:41\r\n:40\r\n", &reply),
                     RL_FAILED);
    assert_int_equal(read_answer("*8\r\n:0\r\n:5\r\n:6\r\n:100\r\n$3\r\nher\r\n:1\r\n:0\r\n:40\r\n", &reply),
                     RL_FAILED);
    assert_int_equal(read_answer("*8\r\n:0\r\n:5\r\n:6\r\n:100\r\n$3\r\nher\r\n:1\r\n:41\r\n:-1\r\n", &reply),
                     RL_FAILED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hand_over_says_what_was_given_to_whom_and_when),
        cmocka_unit_test(nonsense_hands_nothing_over),
        cmocka_unit_test(other_pushes_are_none_of_our_business),
        cmocka_unit_test(a_question_says_where_its_caller_stands),
        cmocka_unit_test(a_release_is_always_the_script),
        cmocka_unit_test(a_refusal_tells_the_place_and_whose_turn_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
