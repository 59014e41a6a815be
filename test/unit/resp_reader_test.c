/*
 * What the RESP reader makes of good, broken, endless and incomplete input.
 * The comparison with hiredis is in resp_hiredis_test.c; the one with a dumb twin in the fuzz target.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wire/resp_reader.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define LITERAL(text) (text), sizeof(text) - 1

struct message {
    const char *bytes;
    size_t length;
};

/* Whole messages, one of each kind and some of them nested. */
static const struct message good_messages[] = {
    {LITERAL("+OK\r\n")},
    {LITERAL("+\r\n")},
    {LITERAL("-ERR unknown command\r\n")},
    {LITERAL("-ERR said 'a\rb\nc\xff'\r\n")},
    {LITERAL(":0\r\n")},
    {LITERAL(":-42\r\n")},
    {LITERAL(":+42\r\n")},
    {LITERAL(":007\r\n")},
    {LITERAL("$0\r\n\r\n")},
    {LITERAL("$5\r\nhello\r\n")},
    {LITERAL("$6\r\na\r\nb\r\n\r\n")},
    {LITERAL("$-1\r\n")},
    {LITERAL("*-1\r\n")},
    {LITERAL("_\r\n")},
    {LITERAL("#t\r\n")},
    {LITERAL("#f\r\n")},
    {LITERAL(",1.5\r\n")},
    {LITERAL(",10\r\n")},
    {LITERAL(",-1.25e-9\r\n")},
    {LITERAL(",1E+20\r\n")},
    {LITERAL(",inf\r\n")},
    {LITERAL(",-inf\r\n")},
    {LITERAL(",nan\r\n")},
    {LITERAL(",-nan\r\n")},
    {LITERAL("(3492890328409238509324850943850943825024385\r\n")},
    {LITERAL("(-1\r\n")},
    {LITERAL("=15\r\ntxt:Some string\r\n")},
    {LITERAL("=4\r\nmkd:\r\n")},
    {LITERAL("!21\r\nSYNTAX invalid syntax\r\n")},
    {LITERAL("*0\r\n")},
    {LITERAL("~0\r\n")},
    {LITERAL("%0\r\n")},
    {LITERAL(">0\r\n")},
    {LITERAL("*2\r\n:1\r\n$1\r\na\r\n")},
    {LITERAL("*3\r\n*1\r\n:1\r\n*0\r\n*2\r\n_\r\n#t\r\n")},
    {LITERAL("~2\r\n+a\r\n+b\r\n")},
    {LITERAL("%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n:2\r\n")},
    {LITERAL(">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\na\r\n")},
    {LITERAL("|1\r\n+ttl\r\n:3\r\n$1\r\na\r\n")},
    {LITERAL("|0\r\n|1\r\n+a\r\n+b\r\n*1\r\n|1\r\n+c\r\n+d\r\n:1\r\n")},
    {LITERAL("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n")},
};

static const struct message bad_messages[] = {
    {LITERAL("x\r\n")},
    {LITERAL("\r\n")},
    {LITERAL("OK\r\n")},
    {LITERAL(":\r\n")},
    {LITERAL(":-\r\n")},
    {LITERAL(":+-1\r\n")},
    {LITERAL(":--1\r\n")},
    {LITERAL(": 1\r\n")},
    {LITERAL(":1 \r\n")},
    {LITERAL(":1x")},
    {LITERAL(":0x1\r\n")},
    {LITERAL(":1\n")},
    {LITERAL(":1\rx")},
    {LITERAL(":9223372036854775808\r\n")},
    {LITERAL(":-9223372036854775809\r\n")},
    {LITERAL(":99999999999999999999999999\r\n")},
    {LITERAL("$\r\n\r\n")},
    {LITERAL("$?\r\n")},
    {LITERAL("$-2\r\n")},
    {LITERAL("$-\r\n")},
    {LITERAL("$-11\r\n")},
    {LITERAL("$+1\r\na\r\n")},
    {LITERAL("$1a\r\n")},
    {LITERAL("$1\r\nabc")},
    {LITERAL("$1\r\na\n\r")},
    {LITERAL("$1\r\na\rx")},
    {LITERAL("$65537\r\n")},
    {LITERAL("$18446744073709551617\r\n")},
    {LITERAL("*?\r\n")},
    {LITERAL("*-2\r\n")},
    {LITERAL("*65537\r\n")},
    {LITERAL("*4294967297\r\n")},
    {LITERAL("%32769\r\n")},
    {LITERAL("%-1\r\n")},
    {LITERAL("%?\r\n")},
    {LITERAL("~-1\r\n")},
    {LITERAL(">-1\r\n")},
    {LITERAL("|-1\r\n")},
    {LITERAL("!-1\r\n")},
    {LITERAL("=-1\r\n")},
    {LITERAL("=3\r\ntxt\r\n")},
    {LITERAL("=5\r\ntextx\r\n")},
    {LITERAL("_x\r\n")},
    {LITERAL("#\r\n")},
    {LITERAL("#T\r\n")},
    {LITERAL("#tt\r\n")},
    {LITERAL(",\r\n")},
    {LITERAL(",1.\r\n")},
    {LITERAL(",.5\r\n")},
    {LITERAL(",1e\r\n")},
    {LITERAL(",1e+\r\n")},
    {LITERAL(",1.5x\r\n")},
    {LITERAL(",infinity\r\n")},
    {LITERAL(",0x1p3\r\n")},
    {LITERAL("(\r\n")},
    {LITERAL("(-\r\n")},
    {LITERAL("(12a\r\n")},
    {LITERAL("(1.5\r\n")},
    {LITERAL("*1\r\n.\r\n")},
    {LITERAL("*1\r\n>0\r\n")},
    {LITERAL("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*0\r\n")},
};

static enum rl_resp_status skip_all(const char *bytes, size_t length, size_t *end)
{
    /* A copy of exactly this size, so that the sanitizer sees a read beyond it. */
    char *copy = malloc(length > 0 ? length : 1);
    enum rl_resp_status status;

    assert_non_null(copy);
    memcpy(copy, bytes, length);
    *end = 0;
    status = rl_resp_skip(copy, length, end);
    free(copy);
    return status;
}

static struct rl_resp read_one(const char *bytes, size_t length)
{
    struct rl_resp item;
    size_t offset = 0;

    assert_int_equal(rl_resp_next(bytes, length, &offset, &item), RL_RESP_OK);
    assert_int_equal(offset, length);
    return item;
}

static void assert_text(struct rl_resp item, enum rl_resp_type type, const char *text)
{
    assert_int_equal(item.type, type);
    assert_int_equal(item.text_length, strlen(text));
    assert_memory_equal(item.text, text, item.text_length);
}

static void a_whole_message_is_skipped_to_its_last_byte(void **state)
{
    size_t i, end;

    (void)state;
    for (i = 0; i < COUNT(good_messages); i++) {
        const struct message *message = &good_messages[i];

        assert_int_equal(skip_all(message->bytes, message->length, &end), RL_RESP_OK);
        assert_int_equal(end, message->length);
    }
}

static void every_truncation_of_a_good_message_asks_for_more(void **state)
{
    size_t i, length, end;

    (void)state;
    for (i = 0; i < COUNT(good_messages); i++) {
        for (length = 0; length < good_messages[i].length; length++) {
            enum rl_resp_status status = skip_all(good_messages[i].bytes, length, &end);

            if (status != RL_RESP_MORE || end != 0)
                fail_msg("message %zu cut at %zu: status %d, offset %zu", i, length, (int)status, end);
        }
    }
}

static void what_follows_a_message_is_left_alone(void **state)
{
    char bytes[256];
    size_t i, end;

    (void)state;
    for (i = 0; i < COUNT(good_messages); i++) {
        size_t length = good_messages[i].length;

        memcpy(bytes, good_messages[i].bytes, length);
        memcpy(bytes + length, "\xff", 1);
        assert_int_equal(skip_all(bytes, length + 1, &end), RL_RESP_OK);
        assert_int_equal(end, length);
    }
}

static void what_is_not_resp_is_refused(void **state)
{
    size_t i, end;

    (void)state;
    for (i = 0; i < COUNT(bad_messages); i++) {
        if (skip_all(bad_messages[i].bytes, bad_messages[i].length, &end) != RL_RESP_BAD || end != 0)
            fail_msg("accepted: %s", bad_messages[i].bytes);
    }
}

static void a_refused_message_stays_refused_as_it_grows(void **state)
{
    size_t i, length, end;

    (void)state;
    for (i = 0; i < COUNT(bad_messages); i++) {
        bool refused = false;

        for (length = 0; length <= bad_messages[i].length; length++) {
            enum rl_resp_status status = skip_all(bad_messages[i].bytes, length, &end);

            assert_int_not_equal(status, RL_RESP_OK);
            assert_true(!refused || status == RL_RESP_BAD);
            refused = status == RL_RESP_BAD;
        }
        assert_true(refused);
    }
}

static void messages_in_one_buffer_are_skipped_one_by_one(void **state)
{
    static const char bytes[] = "+OK\r\n:1\r\n*2\r\n:2\r\n:3\r\n$3\r\nab";
    const size_t length = sizeof(bytes) - 1;
    size_t offset = 0;

    (void)state;
    assert_int_equal(rl_resp_skip(bytes, length, &offset), RL_RESP_OK);
    assert_int_equal(offset, 5);
    assert_int_equal(rl_resp_skip(bytes, length, &offset), RL_RESP_OK);
    assert_int_equal(offset, 9);
    assert_int_equal(rl_resp_skip(bytes, length, &offset), RL_RESP_OK);
    assert_int_equal(offset, 21);
    assert_int_equal(rl_resp_skip(bytes, length, &offset), RL_RESP_MORE);
    assert_int_equal(offset, 21);
}

static void texts_point_into_the_buffer(void **state)
{
    static const char bytes[] = "$5\r\nhello\r\n";
    struct rl_resp item = read_one(LITERAL(bytes));

    (void)state;
    assert_ptr_equal(item.text, bytes + 4);
    assert_text(item, RL_RESP_STRING, "hello");
    assert_text(read_one(LITERAL("+OK\r\n")), RL_RESP_STRING, "OK");
    assert_text(read_one(LITERAL("-ERR a\rb\r\n")), RL_RESP_ERROR, "ERR a\rb");
    assert_text(read_one(LITERAL("!5\r\nERR a\r\n")), RL_RESP_ERROR, "ERR a");
    assert_text(read_one(LITERAL("=8\r\ntxt:text\r\n")), RL_RESP_STRING, "text");
    assert_text(read_one(LITERAL(",-1.5e3\r\n")), RL_RESP_STRING, "-1.5e3");
    assert_text(read_one(LITERAL("(12345678901234567890\r\n")), RL_RESP_STRING, "12345678901234567890");
}

static void integers_reach_both_ends_of_their_range(void **state)
{
    (void)state;
    assert_int_equal(read_one(LITERAL(":0\r\n")).type, RL_RESP_INTEGER);
    assert_true(read_one(LITERAL(":0\r\n")).integer == 0);
    assert_true(read_one(LITERAL(":-0\r\n")).integer == 0);
    assert_true(read_one(LITERAL(":-1\r\n")).integer == -1);
    assert_true(read_one(LITERAL(":+0012\r\n")).integer == 12);
    assert_true(read_one(LITERAL(":9223372036854775807\r\n")).integer == INT64_MAX);
    assert_true(read_one(LITERAL(":-9223372036854775807\r\n")).integer == -INT64_MAX);
    assert_true(read_one(LITERAL(":-9223372036854775808\r\n")).integer == INT64_MIN);
}

static void nulls_and_booleans_are_told_apart(void **state)
{
    (void)state;
    assert_int_equal(read_one(LITERAL("$-1\r\n")).type, RL_RESP_NULL);
    assert_int_equal(read_one(LITERAL("*-1\r\n")).type, RL_RESP_NULL);
    assert_int_equal(read_one(LITERAL("_\r\n")).type, RL_RESP_NULL);
    assert_int_equal(read_one(LITERAL("#t\r\n")).type, RL_RESP_BOOLEAN);
    assert_int_equal(read_one(LITERAL("#t\r\n")).integer, 1);
    assert_int_equal(read_one(LITERAL("#f\r\n")).integer, 0);
}

static void aggregates_say_how_many_items_follow(void **state)
{
    static const struct {
        struct message head;
        enum rl_resp_type type;
        uint32_t element_count;
    } heads[] = {
        {{LITERAL("*0\r\n")}, RL_RESP_ARRAY, 0},       {{LITERAL("*65536\r\n")}, RL_RESP_ARRAY, 65536},
        {{LITERAL("~3\r\n")}, RL_RESP_ARRAY, 3},       {{LITERAL("%2\r\n")}, RL_RESP_MAP, 4},
        {{LITERAL("%32768\r\n")}, RL_RESP_MAP, 65536}, {{LITERAL(">2\r\n")}, RL_RESP_PUSH, 2},
        {{LITERAL("|1\r\n")}, RL_RESP_ATTRIBUTE, 2},
    };
    size_t i;

    (void)state;
    for (i = 0; i < COUNT(heads); i++) {
        struct rl_resp item = read_one(heads[i].head.bytes, heads[i].head.length);

        assert_int_equal(item.type, heads[i].type);
        assert_int_equal(item.element_count, heads[i].element_count);
    }
}

static void items_of_a_message_are_read_in_a_row(void **state)
{
    static const char bytes[] = "*2\r\n%1\r\n+a\r\n:1\r\n$-1\r\n";
    static const enum rl_resp_type types[] = {RL_RESP_ARRAY, RL_RESP_MAP, RL_RESP_STRING, RL_RESP_INTEGER,
                                              RL_RESP_NULL};
    struct rl_resp item;
    size_t offset = 0;
    size_t i;

    (void)state;
    for (i = 0; i < COUNT(types); i++) {
        assert_int_equal(rl_resp_next(LITERAL(bytes), &offset, &item), RL_RESP_OK);
        assert_int_equal(item.type, types[i]);
    }
    assert_int_equal(rl_resp_next(LITERAL(bytes), &offset, &item), RL_RESP_MORE);
    assert_int_equal(offset, sizeof(bytes) - 1);
}

static void an_attribute_and_its_value_are_one_message(void **state)
{
    static const char bytes[] = "|1\r\n+a\r\n+b\r\n:1\r\n:2\r\n";
    size_t offset = 0;

    (void)state;
    assert_int_equal(rl_resp_skip(LITERAL(bytes), &offset), RL_RESP_OK);
    assert_int_equal(offset, 16);
}

/* Feeds a head and then the same byte over and over, and returns after how many bytes it is refused. */
static size_t bytes_until_refused(const char *head, char filler)
{
    const size_t capacity = 2 * RL_RESP_MESSAGE_MAX;
    char *bytes = malloc(capacity);
    size_t length = strlen(head);
    size_t offset = 0;

    assert_non_null(bytes);
    memcpy(bytes, head, length);
    memset(bytes + length, filler, capacity - length);
    while (length < capacity && rl_resp_skip(bytes, length, &offset) == RL_RESP_MORE)
        length++;
    assert_int_equal(rl_resp_skip(bytes, length, &offset), RL_RESP_BAD);
    free(bytes);
    return length;
}

static void an_endless_line_is_refused(void **state)
{
    static const char *const heads[] = {"+", "-", ":", ":-", ",", "(", "$", "*", "%", "*3\r\n+"};
    size_t i;

    (void)state;
    for (i = 0; i < COUNT(heads); i++)
        assert_in_range(bytes_until_refused(heads[i], '0'), 1, RL_RESP_LINE_MAX + 8);
    assert_in_range(bytes_until_refused("-", '\r'), 1, RL_RESP_LINE_MAX + 8);
}

static void a_line_may_be_as_long_as_the_limit(void **state)
{
    char bytes[RL_RESP_LINE_MAX + 4];
    size_t offset = 0;

    (void)state;
    memset(bytes, 'a', sizeof(bytes));
    bytes[0] = '+';
    memcpy(bytes + 1 + RL_RESP_LINE_MAX, "\r\n", 2);
    assert_int_equal(rl_resp_skip(bytes, RL_RESP_LINE_MAX + 3, &offset), RL_RESP_OK);
    assert_int_equal(offset, RL_RESP_LINE_MAX + 3);
    memcpy(bytes + 1 + RL_RESP_LINE_MAX, "a\r\n", 3);
    offset = 0;
    assert_int_equal(rl_resp_skip(bytes, RL_RESP_LINE_MAX + 4, &offset), RL_RESP_BAD);
}

/* A bulk string that makes a message of `size` bytes in all; the caller frees it. */
static char *make_bulk(size_t size)
{
    char *bytes = malloc(size);
    int head_length;

    assert_non_null(bytes);
    memset(bytes, 'a', size);
    head_length = snprintf(bytes, size, "$%zu\r\n", size - 10);
    assert_int_equal(head_length, 8);
    bytes[head_length] = 'a';
    memcpy(bytes + size - 2, "\r\n", 2);
    return bytes;
}

static void a_message_may_be_as_long_as_the_limit_and_no_longer(void **state)
{
    char *bytes = make_bulk(RL_RESP_MESSAGE_MAX);
    size_t offset = 0;

    (void)state;
    assert_int_equal(rl_resp_skip(bytes, 8, &offset), RL_RESP_MORE);
    assert_int_equal(rl_resp_skip(bytes, RL_RESP_MESSAGE_MAX - 1, &offset), RL_RESP_MORE);
    assert_int_equal(rl_resp_skip(bytes, RL_RESP_MESSAGE_MAX, &offset), RL_RESP_OK);
    free(bytes);
    bytes = make_bulk(RL_RESP_MESSAGE_MAX + 1);
    offset = 0;
    assert_int_equal(rl_resp_skip(bytes, RL_RESP_MESSAGE_MAX + 1, &offset), RL_RESP_BAD);
    assert_int_equal(rl_resp_skip(bytes, 8, &offset), RL_RESP_BAD);
    assert_int_equal(rl_resp_skip(bytes, 7, &offset), RL_RESP_MORE);
    free(bytes);
}

static void a_message_that_announces_too_much_is_refused_at_once(void **state)
{
    size_t end;

    (void)state;
    /* Each fits by itself, together they do not. */
    assert_int_equal(skip_all(LITERAL("*2\r\n$65000\r\n"), &end), RL_RESP_MORE);
    assert_int_equal(skip_all(LITERAL("*2\r\n+a\r\n$65536\r\n"), &end), RL_RESP_BAD);
    /* An item takes three bytes at the least. */
    assert_int_equal(skip_all(LITERAL("*21842\r\n"), &end), RL_RESP_MORE);
    assert_int_equal(skip_all(LITERAL("*21843\r\n"), &end), RL_RESP_BAD);
    assert_int_equal(skip_all(LITERAL("*3\r\n*10000\r\n"), &end), RL_RESP_MORE);
    assert_int_equal(skip_all(LITERAL("*10000\r\n*10000\r\n*10000\r\n"), &end), RL_RESP_BAD);
    assert_int_equal(skip_all(LITERAL("%10922\r\n"), &end), RL_RESP_BAD);
}

static void a_message_of_endless_small_items_is_refused(void **state)
{
    const size_t capacity = 2 * RL_RESP_MESSAGE_MAX;
    char *bytes = malloc(capacity);
    size_t length;
    size_t offset = 0;

    (void)state;
    assert_non_null(bytes);
    for (length = 0; length + 4 <= capacity; length += 4)
        memcpy(bytes + length, "|0\r\n", 4);
    assert_int_equal(rl_resp_skip(bytes, RL_RESP_MESSAGE_MAX / 2, &offset), RL_RESP_MORE);
    assert_int_equal(rl_resp_skip(bytes, RL_RESP_MESSAGE_MAX + 1, &offset), RL_RESP_BAD);
    free(bytes);
}

static void the_largest_array_is_accepted(void **state)
{
    enum { ITEM_COUNT = 21842 };
    char *bytes = malloc(RL_RESP_MESSAGE_MAX);
    size_t length = (size_t)snprintf(bytes, 16, "*%d\r\n", ITEM_COUNT);
    size_t offset = 0;
    int i;

    (void)state;
    for (i = 0; i < ITEM_COUNT; i++, length += 3)
        memcpy(bytes + length, "_\r\n", 3);
    assert_int_equal(rl_resp_skip(bytes, length - 1, &offset), RL_RESP_MORE);
    assert_int_equal(rl_resp_skip(bytes, length, &offset), RL_RESP_OK);
    assert_int_equal(offset, length);
    free(bytes);
}

static void next_asks_for_more_and_stays(void **state)
{
    size_t i, length;

    (void)state;
    for (i = 0; i < COUNT(good_messages); i++) {
        /* The first item ends at the latest with the message. */
        for (length = 0; length < good_messages[i].length; length++) {
            struct rl_resp item;
            size_t offset = 0;
            enum rl_resp_status status = rl_resp_next(good_messages[i].bytes, length, &offset, &item);

            assert_int_not_equal(status, RL_RESP_BAD);
            assert_true(status == RL_RESP_OK ? offset <= length : offset == 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_message_is_skipped_to_its_last_byte),
        cmocka_unit_test(every_truncation_of_a_good_message_asks_for_more),
        cmocka_unit_test(what_follows_a_message_is_left_alone),
        cmocka_unit_test(what_is_not_resp_is_refused),
        cmocka_unit_test(a_refused_message_stays_refused_as_it_grows),
        cmocka_unit_test(messages_in_one_buffer_are_skipped_one_by_one),
        cmocka_unit_test(texts_point_into_the_buffer),
        cmocka_unit_test(integers_reach_both_ends_of_their_range),
        cmocka_unit_test(nulls_and_booleans_are_told_apart),
        cmocka_unit_test(aggregates_say_how_many_items_follow),
        cmocka_unit_test(items_of_a_message_are_read_in_a_row),
        cmocka_unit_test(an_attribute_and_its_value_are_one_message),
        cmocka_unit_test(an_endless_line_is_refused),
        cmocka_unit_test(a_line_may_be_as_long_as_the_limit),
        cmocka_unit_test(a_message_may_be_as_long_as_the_limit_and_no_longer),
        cmocka_unit_test(a_message_that_announces_too_much_is_refused_at_once),
        cmocka_unit_test(a_message_of_endless_small_items_is_refused),
        cmocka_unit_test(the_largest_array_is_accepted),
        cmocka_unit_test(next_asks_for_more_and_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
