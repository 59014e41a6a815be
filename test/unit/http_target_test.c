/*
 * The target of a request taken apart: segments before decoding, parameters after, and which texts are clean.
 */
#include <string.h>

#include "serve/http_target.h"
#include "support/check.h"

static const char *read_text(const char *text, struct serve_target *target)
{
    return serve_target_read((struct serve_text){text, strlen(text)}, target);
}

static void assert_text(struct serve_text text, const char *wanted)
{
    assert_int_equal(text.length, strlen(wanted));
    assert_memory_equal(text.bytes, wanted, text.length);
}

static void a_slash_that_is_encoded_is_part_of_a_name(void **state)
{
    struct serve_target target;

    (void)state;
    assert_null(read_text("/v1/locks/a%2Fb%20c+d/hold?why=x+y%26z&ttl_ms=5&flag", &target));
    assert_int_equal(target.segment_count, 4);
    assert_text(target.segments[2], "a/b c+d");
    assert_text(target.segments[3], "hold");
    assert_text(serve_target_parameter(&target, "why"), "x y&z");
    assert_text(serve_target_parameter(&target, "ttl_ms"), "5");
    assert_text(serve_target_parameter(&target, "flag"), "");
    assert_null(serve_target_parameter(&target, "tt").bytes);
}

static void empty_segments_are_segments(void **state)
{
    struct serve_target target;

    (void)state;
    assert_null(read_text("/", &target));
    assert_int_equal(target.segment_count, 1);
    assert_text(target.segments[0], "");
    assert_null(read_text("/v1/locks/", &target));
    assert_int_equal(target.segment_count, 3);
    assert_null(read_text("/1/2/3/4/5/6/7/8", &target));
    assert_true(target.segment_count > SERVE_SEGMENTS_MAX);
}

static void what_cannot_be_decoded_is_refused(void **state)
{
    const char *const wrong[] = {"/%", "/%4", "/%4g", "/a%", "/?a=%z", "/?a=1&a=2", "/?a&b&c&d&e&f&g&h&i"};
    struct serve_target target;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_non_null(read_text(wrong[i], &target));
    assert_null(read_text("/%41%7e%00", &target));
    assert_int_equal(target.segments[0].length, 3);
}

static void clean_text_is_utf8_without_controls(void **state)
{
    const char *const clean[] = {"", "a", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x94\x92", "a b", "\xc2\xa0"};
    const char *const dirty[] = {"\x01",
                                 "\x7f",
                                 "\x80",
                                 "\xc3",
                                 "\xc0\xaf",
                                 "\xe0\x80\xaf",
                                 "\xed\xa0\x80",
                                 "\xf4\x90\x80\x80",
                                 "\xf5\x80\x80\x80",
                                 "a\nb",
                                 "\xc2\x85",
                                 "\xe2\x82"};

    (void)state;
    for (size_t i = 0; i < sizeof clean / sizeof clean[0]; i++)
        assert_true(serve_text_is_clean((struct serve_text){clean[i], strlen(clean[i])}));
    for (size_t i = 0; i < sizeof dirty / sizeof dirty[0]; i++)
        assert_false(serve_text_is_clean((struct serve_text){dirty[i], strlen(dirty[i])}));
    assert_false(serve_text_is_clean((struct serve_text){"a\0b", 3}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slash_that_is_encoded_is_part_of_a_name),
        cmocka_unit_test(empty_segments_are_segments),
        cmocka_unit_test(what_cannot_be_decoded_is_refused),
        cmocka_unit_test(clean_text_is_utf8_without_controls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
