/*
 * What the command writer puts into its buffer, and that it never writes past the end of it.
 * Whether a server understands it is for the integration tests.
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
#include "wire/resp_writer.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void assert_written(const struct rl_writer *writer, const char *text)
{
    assert_false(writer->overflow);
    assert_int_equal(writer->length, strlen(text));
    assert_memory_equal(writer->bytes, text, writer->length);
}

static void write_sample(struct rl_writer *writer)
{
    rl_write_command(writer, 4);
    rl_write_text(writer, "SET");
    rl_write_bytes(writer, "a\0b", 3);
    rl_write_integer(writer, -15000);
    rl_write_text(writer, "");
}

static void a_command_is_an_array_of_bulk_strings(void **state)
{
    static const char expected[] = "*4\r\n$3\r\nSET\r\n$3\r\na\0b\r\n$6\r\n-15000\r\n$0\r\n\r\n";
    char bytes[128];
    struct rl_writer writer = rl_writer_on(bytes, sizeof(bytes));

    (void)state;
    write_sample(&writer);
    assert_false(writer.overflow);
    assert_int_equal(writer.length, sizeof(expected) - 1);
    assert_memory_equal(bytes, expected, sizeof(expected) - 1);
}

static void a_command_can_be_read_back(void **state)
{
    char bytes[128];
    struct rl_writer writer = rl_writer_on(bytes, sizeof(bytes));
    size_t offset = 0;

    (void)state;
    write_sample(&writer);
    assert_int_equal(rl_resp_skip(bytes, writer.length, &offset), RL_RESP_OK);
    assert_int_equal(offset, writer.length);
}

static void integers_are_written_in_decimal(void **state)
{
    static const int64_t values[] = {0,         7,         10,           -1, -10, 99, 100, 1234567890123,
                                     INT64_MAX, INT64_MIN, INT64_MIN + 1};
    size_t i;

    (void)state;
    for (i = 0; i < COUNT(values); i++) {
        char bytes[64], digits[32], expected[64];
        struct rl_writer writer = rl_writer_on(bytes, sizeof(bytes));
        int digit_count = snprintf(digits, sizeof(digits), "%lld", (long long)values[i]);

        snprintf(expected, sizeof(expected), "$%d\r\n%s\r\n", digit_count, digits);
        rl_write_integer(&writer, values[i]);
        assert_written(&writer, expected);
    }
}

static void heads_with_many_digits_are_written_whole(void **state)
{
    char bytes[32];
    struct rl_writer writer = rl_writer_on(bytes, sizeof(bytes));

    (void)state;
    rl_write_command(&writer, UINT32_MAX);
    assert_written(&writer, "*4294967295\r\n");
}

static void raw_bytes_get_no_frame(void **state)
{
    char bytes[32];
    struct rl_writer writer = rl_writer_on(bytes, sizeof(bytes));

    (void)state;
    rl_write_raw(&writer, "PING", 4);
    rl_write_raw(&writer, NULL, 0);
    rl_write_raw(&writer, "\r\n", 2);
    assert_written(&writer, "PING\r\n");
}

static void an_empty_argument_needs_no_bytes(void **state)
{
    char bytes[32];
    struct rl_writer writer = rl_writer_on(bytes, sizeof(bytes));

    (void)state;
    rl_write_bytes(&writer, NULL, 0);
    assert_written(&writer, "$0\r\n\r\n");
}

/* Writes the sample into every size of buffer that is too small, allocated to the byte for the sanitizer. */
static void whatever_does_not_fit_is_left_out_whole(void **state)
{
    char whole[128];
    struct rl_writer writer = rl_writer_on(whole, sizeof(whole));
    size_t needed, capacity;

    (void)state;
    write_sample(&writer);
    needed = writer.length;
    for (capacity = 0; capacity <= needed; capacity++) {
        char *bytes = malloc(capacity > 0 ? capacity : 1);

        assert_non_null(bytes);
        writer = rl_writer_on(bytes, capacity);
        write_sample(&writer);
        assert_int_equal(writer.overflow, capacity < needed);
        assert_true(writer.length <= capacity);
        assert_memory_equal(bytes, whole, writer.length);
        /* Only whole pieces are there. */
        assert_true(writer.length == 0 || bytes[writer.length - 1] == '\n');
        free(bytes);
    }
}

static void nothing_is_written_after_an_overflow(void **state)
{
    char bytes[16];
    struct rl_writer writer = rl_writer_on(bytes, sizeof(bytes));

    (void)state;
    rl_write_command(&writer, 1);
    rl_write_text(&writer, "this is too long");
    assert_true(writer.overflow);
    assert_int_equal(writer.length, 4);
    rl_write_text(&writer, "a");
    rl_write_raw(&writer, "a", 1);
    assert_true(writer.overflow);
    assert_int_equal(writer.length, 4);
}

static void a_length_near_the_end_of_all_numbers_does_not_wrap(void **state)
{
    char bytes[16];
    struct rl_writer writer = rl_writer_on(bytes, sizeof(bytes));

    (void)state;
    rl_write_bytes(&writer, bytes, SIZE_MAX - 5);
    assert_true(writer.overflow);
    assert_int_equal(writer.length, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_is_an_array_of_bulk_strings),
        cmocka_unit_test(a_command_can_be_read_back),
        cmocka_unit_test(integers_are_written_in_decimal),
        cmocka_unit_test(heads_with_many_digits_are_written_whole),
        cmocka_unit_test(raw_bytes_get_no_frame),
        cmocka_unit_test(an_empty_argument_needs_no_bytes),
        cmocka_unit_test(whatever_does_not_fit_is_left_out_whole),
        cmocka_unit_test(nothing_is_written_after_an_overflow),
        cmocka_unit_test(a_length_near_the_end_of_all_numbers_does_not_wrap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
