/*
 * Tests of wire/line_command: the answer that names who waits, whole, cut and wrong. The words of its
 * commands are tested with those of the others, in lock_command_test.
 */
#include "wire/line_command.h"

#include <stdio.h>
#include <string.h>

#include "support/check.h"

static bool reads(const char *bytes, struct rl_line *line)
{
    return rl_line_read(bytes, strlen(bytes), line);
}

static void expect_waiter(const struct rl_waiter *waiter, uint64_t ticket, uint32_t count, const char *who)
{
    assert_int_equal(waiter->ticket, ticket);
    assert_int_equal(waiter->count, count);
    assert_int_equal(waiter->who_length, strlen(who));
    assert_memory_equal(waiter->who, who, strlen(who));
}

static void waiters_of_both_kinds_are_told_apart(void **state)
{
    struct rl_line line;

    (void)state;
    assert_true(reads("*5\r\n:1700\r\n:40\r\n*4\r\n:11\r\n$6\r\n|pid=1\r\n:12\r\n$0\r\n\r\n"
                      ":50\r\n*3\r\n:13\r\n:7\r\n$6\r\n|pid=2\r\n",
                      &line));
    assert_int_equal(line.node_us, 1700);
    assert_int_equal(line.in_line, 40);
    assert_int_equal(line.in_line_named, 2);
    expect_waiter(&line.line[0], 11, 1, "|pid=1");
    expect_waiter(&line.line[1], 12, 1, "");
    assert_int_equal(line.waiting, 50);
    assert_int_equal(line.waiting_named, 1);
    expect_waiter(&line.others[0], 13, 7, "|pid=2");
    assert_true(reads("*5\r\n:1700\r\n:0\r\n*0\r\n:0\r\n*0\r\n", &line));
    assert_int_equal(line.in_line_named + line.waiting_named, 0);
}

/* Writes a line of so many, whose first one has a name of so many bytes. */
static void make_line(char *bytes, int count, int who_length)
{
    int used = sprintf(bytes, "*5\r\n:1700\r\n:%d\r\n*%d\r\n", count, 2 * count);

    for (int i = 0; i < count; i++)
        used += sprintf(bytes + used, ":%d\r\n$%d\r\n%0*d\r\n", i, who_length, who_length, 7);
    sprintf(bytes + used, ":0\r\n*0\r\n");
}

static void as_many_are_named_as_there_is_room_for(void **state)
{
    char bytes[65536];
    struct rl_line line;

    (void)state;
    make_line(bytes, RL_LINE_NAMED_MAX, RL_OWNER_TAIL_MAX);
    assert_true(reads(bytes, &line));
    assert_int_equal(line.in_line_named, RL_LINE_NAMED_MAX);
    assert_int_equal(line.line[RL_LINE_NAMED_MAX - 1].who_length, RL_OWNER_TAIL_MAX);
    make_line(bytes, RL_LINE_NAMED_MAX + 1, 3);
    assert_false(reads(bytes, &line));
}

static void a_long_name_is_cut(void **state)
{
    char bytes[65536];
    struct rl_line line;

    (void)state;
    make_line(bytes, 1, RL_OWNER_TAIL_MAX + 1);
    assert_true(reads(bytes, &line));
    assert_int_equal(line.line[0].who_length, RL_OWNER_TAIL_MAX);
}

static void what_is_not_a_line_is_refused(void **state)
{
    static const char *const others[] = {
        "",
        ":1\r\n",
        "*4\r\n:1700\r\n:0\r\n*0\r\n:0\r\n",
        "*5\r\n:-1\r\n:0\r\n*0\r\n:0\r\n*0\r\n",
        "*5\r\n:1700\r\n:-1\r\n*0\r\n:0\r\n*0\r\n",
        "*5\r\n:1700\r\n:4294967296\r\n*0\r\n:0\r\n*0\r\n",
        "*5\r\n:1700\r\n:1\r\n*1\r\n:11\r\n:0\r\n*0\r\n",
        "*5\r\n:1700\r\n:1\r\n*2\r\n$1\r\n1\r\n$1\r\nx\r\n:0\r\n*0\r\n",
        "*5\r\n:1700\r\n:1\r\n*2\r\n:11\r\n:12\r\n:0\r\n*0\r\n",
        "*5\r\n:1700\r\n:0\r\n*0\r\n:1\r\n*2\r\n:13\r\n$1\r\nx\r\n",
        "*5\r\n:1700\r\n:0\r\n*0\r\n:1\r\n*3\r\n:13\r\n$1\r\nx\r\n$1\r\nx\r\n",
        "*5\r\n:1700\r\n:0\r\n*0\r\n:1\r\n*3\r\n:13\r\n:1\r\n",
    };
    struct rl_line line;

    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (reads(others[i], &line))
            fail_msg("taken for a line: %s", others[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiters_of_both_kinds_are_told_apart),
        cmocka_unit_test(as_many_are_named_as_there_is_room_for),
        cmocka_unit_test(a_long_name_is_cut),
        cmocka_unit_test(what_is_not_a_line_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
