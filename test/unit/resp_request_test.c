/*
 * A command of a Redis client, read strictly and in bounds.
 */
#include <stdio.h>
#include <string.h>

#include "serve/resp_request.h"
#include "support/check.h"

static const char set_command[] = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\nrest";

static void a_command_is_taken_apart(void **state)
{
    struct serve_command command;

    (void)state;
    assert_int_equal(serve_command_read(set_command, sizeof set_command - 1, &command), SERVE_COMMAND_WHOLE);
    assert_int_equal(command.count, 3);
    assert_true(serve_text_is(command.words[0], "set"));
    assert_int_equal(command.words[2].length, 0);
    assert_string_equal(set_command + command.length, "rest");
}

static void a_part_of_a_command_is_not_a_command(void **state)
{
    struct serve_command command;

    (void)state;
    for (size_t length = 0; length < sizeof set_command - 5; length++)
        assert_int_equal(serve_command_read(set_command, length, &command), SERVE_COMMAND_MORE);
}

static void nonsense_is_refused(void **state)
{
    const char *const wrong[] = {"PING\r\n",         "*0\r\n",
                                 "*-1\r\n",          "*33\r\n",
                                 "*1\r\n+OK\r\n",    "*1\r\n$-1\r\n",
                                 "*1\r\n$99999\r\n", "*1\r\n$2\r\nabc\r\n",
                                 "*1\n$1\r\na\r\n",  "*1\r\r$1\r\na\r\n",
                                 "*12345678901234"};
    struct serve_command command;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        if (serve_command_read(wrong[i], strlen(wrong[i]), &command) != SERVE_COMMAND_WRONG)
            fail_msg("taken: %s", wrong[i]);
        assert_non_null(command.problem);
    }
}

static void a_command_is_bounded(void **state)
{
    static char bytes[3 * SERVE_COMMAND_MAX];
    struct serve_command command;
    int used = snprintf(bytes, sizeof bytes, "*3\r\n$65536\r\n");

    (void)state;
    memset(bytes + used, 'a', SERVE_COMMAND_MAX);
    used += SERVE_COMMAND_MAX;
    used += snprintf(bytes + used, sizeof bytes - (size_t)used, "\r\n$65536\r\n");
    assert_int_equal(serve_command_read(bytes, (size_t)used, &command), SERVE_COMMAND_WRONG);
}

static void numbers_are_digits(void **state)
{
    uint64_t number;

    (void)state;
    assert_true(serve_text_number((struct serve_text){"30000", 5}, 30000, &number));
    assert_int_equal(number, 30000);
    assert_false(serve_text_number((struct serve_text){"30001", 5}, 30000, &number));
    assert_false(serve_text_number((struct serve_text){"", 0}, 10, &number));
    assert_false(serve_text_number((struct serve_text){"-1", 2}, 10, &number));
    assert_false(serve_text_number((struct serve_text){"9999999999999999999", 19}, UINT64_MAX, &number));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_is_taken_apart), cmocka_unit_test(a_part_of_a_command_is_not_a_command),
        cmocka_unit_test(nonsense_is_refused),      cmocka_unit_test(a_command_is_bounded),
        cmocka_unit_test(numbers_are_digits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
