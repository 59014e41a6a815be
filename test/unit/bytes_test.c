/*
 * Tests of base/bytes: text that is cut instead of overflowing, numbers and hex as printf would write them.
 */
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/prng.h"
#include "support/check.h"

static void text_that_does_not_fit_is_cut_and_ends_in_nul(void **state)
{
    (void)state;
    for (size_t capacity = 1; capacity <= 12; capacity++) {
        char bytes[16];
        struct rl_text text;

        memset(bytes, '#', sizeof bytes);
        text = rl_text_on(bytes, capacity);
        rl_text_add(&text, "seven");
        rl_text_add(&text, "-");
        rl_text_add_unsigned(&text, 12345);
        assert_int_equal(text.length, capacity - 1 < 11 ? capacity - 1 : 11);
        assert_memory_equal(bytes, "seven-12345", text.length);
        assert_int_equal(bytes[text.length], '\0');
        for (size_t i = capacity; i < sizeof bytes; i++)
            assert_int_equal(bytes[i], '#');
    }
}

static void nothing_at_all_may_be_added(void **state)
{
    char bytes[4];
    struct rl_text text = rl_text_on(bytes, sizeof bytes);

    (void)state;
    rl_text_add_bytes(&text, NULL, 0);
    rl_text_add(&text, "");
    assert_string_equal(bytes, "");
}

static void assert_number(uint64_t value)
{
    char bytes[32], expected[32];
    struct rl_text text = rl_text_on(bytes, sizeof bytes);

    rl_text_add_unsigned(&text, value);
    rl_text_add(&text, " ");
    rl_text_add_integer(&text, (int64_t)value);
    snprintf(expected, sizeof expected, "%llu %lld", (unsigned long long)value, (long long)value);
    assert_true(strncmp(bytes, expected, sizeof bytes - 1) == 0);
}

static void numbers_are_written_as_printf_writes_them(void **state)
{
    struct rl_prng prng = rl_prng_seed(1);

    (void)state;
    for (uint64_t power = 1; power <= UINT64_MAX / 10; power *= 10) {
        assert_number(power - 1);
        assert_number(power);
        assert_number(0 - power);
    }
    assert_number((uint64_t)INT64_MIN);
    assert_number(UINT64_MAX);
    for (int i = 0; i < 10000; i++)
        assert_number(rl_prng_next(&prng) >> (i & 63));
}

static void control_bytes_cannot_reach_a_terminal(void **state)
{
    char bytes[8];

    (void)state;
    for (int byte = 0; byte < 256; byte++) {
        struct rl_text text = rl_text_on(bytes, sizeof bytes);
        char one = (char)byte;

        rl_text_add_printable(&text, &one, 1);
        assert_int_equal(text.length, 1);
        assert_int_equal((unsigned char)bytes[0], byte < 0x20 || byte == 0x7f ? '?' : byte);
    }
}

static void a_copy_is_cut_to_fit(void **state)
{
    char target[4];

    (void)state;
    rl_text_copy(target, sizeof target, "ab");
    assert_string_equal(target, "ab");
    rl_text_copy(target, sizeof target, "abcdef");
    assert_string_equal(target, "abc");
}

static void hex_is_lower_case_and_has_no_nul(void **state)
{
    char target[9] = "########";
    const uint8_t bytes[] = {0x00, 0x9f, 0xff};

    (void)state;
    rl_hex_write(target, bytes, sizeof bytes);
    assert_string_equal(target, "009fff##");
}

static void hex_is_read_back_as_it_was_written(void **state)
{
    uint8_t bytes[256], again[256];
    char digits[512];

    (void)state;
    for (int i = 0; i < 256; i++)
        bytes[i] = (uint8_t)i;
    rl_hex_write(digits, bytes, sizeof bytes);
    rl_hex_read(again, digits, sizeof again);
    assert_memory_equal(again, bytes, sizeof bytes);
}

static void numbers_have_their_lowest_byte_first_on_every_machine(void **state)
{
    uint8_t bytes[8];

    (void)state;
    rl_number_to_bytes(bytes, UINT64_C(0x8877665544332211));
    assert_memory_equal(bytes, "\x11\x22\x33\x44\x55\x66\x77\x88", 8);
    assert_true(rl_number_from_bytes(bytes) == UINT64_C(0x8877665544332211));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_that_does_not_fit_is_cut_and_ends_in_nul),
        cmocka_unit_test(nothing_at_all_may_be_added),
        cmocka_unit_test(numbers_are_written_as_printf_writes_them),
        cmocka_unit_test(control_bytes_cannot_reach_a_terminal),
        cmocka_unit_test(a_copy_is_cut_to_fit),
        cmocka_unit_test(hex_is_lower_case_and_has_no_nul),
        cmocka_unit_test(hex_is_read_back_as_it_was_written),
        cmocka_unit_test(numbers_have_their_lowest_byte_first_on_every_machine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
