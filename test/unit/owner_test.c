/*
 * Tests of wire/owner: what is written is read back, foreign values are read as far as they go, and nothing
 * in them can break a line on a terminal.
 */
#include "wire/owner.h"

#include <stdio.h>
#include <string.h>

#include "base/prng.h"
#include "support/check.h"

#define RANDOM_PART "00112233445566778899aabbccddeeff"

static size_t write_owner(char owner[RL_OWNER_MAX + 1], const struct rl_owner_words *words)
{
    memcpy(owner, RANDOM_PART, RL_OWNER_HEX);
    return RL_OWNER_HEX + rl_owner_tail(owner + RL_OWNER_HEX, words);
}

static void assert_field(const char *owner, const char *field, const char *expected)
{
    char text[200];

    rl_owner_field(owner, strlen(owner), field, text, sizeof text);
    assert_string_equal(text, expected);
}

static void an_owner_value_says_who_where_when_and_why(void **state)
{
    struct rl_owner_words words = {.host = "web-3",
                                   .user = "deploy",
                                   .why = "pg_dump prod",
                                   .pid = 4242,
                                   .since_ms = 1700000000123,
                                   .ttl_ms = 15000};
    char owner[RL_OWNER_MAX + 1];

    (void)state;
    write_owner(owner, &words);
    assert_string_equal(owner, RANDOM_PART
                        "|host=web-3|pid=4242|user=deploy|since=1700000000123|ttl=15000|why=pg_dump prod");
    assert_field(owner, "host", "web-3");
    assert_field(owner, "user", "deploy");
    assert_field(owner, "why", "pg_dump prod");
    assert_int_equal(rl_owner_number(owner, strlen(owner), "pid"), 4242);
    assert_int_equal(rl_owner_number(owner, strlen(owner), "since"), 1700000000123);
}

static void what_is_not_known_is_left_out(void **state)
{
    struct rl_owner_words words = {.host = "", .pid = 1};
    char owner[RL_OWNER_MAX + 1];

    (void)state;
    write_owner(owner, &words);
    assert_string_equal(owner, RANDOM_PART "|pid=1|since=0");
    assert_field(owner, "host", "");
    assert_field(owner, "why", "");
}

static void bars_percents_and_control_bytes_survive_the_way(void **state)
{
    struct rl_owner_words words = {.why = "100% | sure\n\x7f", .host = "a|host=b"};
    char owner[RL_OWNER_MAX + 1];

    (void)state;
    write_owner(owner, &words);
    assert_non_null(strstr(owner, "|why=100%25 %7c sure%0a%7f"));
    assert_field(owner, "host", "a|host=b");
    /* Decoded for people: what would move their cursor is shown otherwise. */
    char why[64];
    rl_owner_field(owner, strlen(owner), "why", why, sizeof why);
    assert_int_equal(strncmp(why, "100% | sure", 11), 0);
    for (const char *at = why; *at != '\0'; at++)
        assert_true((unsigned char)*at >= 0x20 && *at != 0x7f);
}

static void long_words_are_cut_and_all_of_it_fits(void **state)
{
    char longest[1000], owner[RL_OWNER_MAX + 1];
    struct rl_owner_words words = {
        .host = longest, .user = longest, .why = longest, .pid = UINT32_MAX, .since_ms = INT64_MAX};
    size_t length;

    (void)state;
    for (int byte = 'x'; byte >= 0x01; byte -= 'x' - 0x01) {
        memset(longest, byte, sizeof longest - 1);
        longest[sizeof longest - 1] = '\0';
        length = write_owner(owner, &words);
        assert_in_range(length, RL_OWNER_HEX, RL_OWNER_MAX);
        assert_int_equal(strlen(owner), length);
    }
}

/* However long everything else is, and however much of it has to be encoded. */
static void a_tag_is_never_cut_nor_is_what_stands_before_why(void **state)
{
    char longest[1000], owner[RL_OWNER_MAX + 1];
    uint8_t tag[RL_OWNER_TAG_MAX], read[RL_OWNER_TAG_MAX];
    struct rl_owner_words words = {.tag = tag,
                                   .tag_length = sizeof tag,
                                   .host = longest,
                                   .user = longest,
                                   .why = longest,
                                   .pid = UINT32_MAX,
                                   .since_ms = INT64_C(999999999999999999)};

    (void)state;
    memset(longest, '|', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    for (size_t i = 0; i < sizeof tag; i++)
        tag[i] = (uint8_t)(i * 3);
    assert_in_range(write_owner(owner, &words), RL_OWNER_HEX, RL_OWNER_MAX);
    assert_int_equal(rl_owner_tag(owner, strlen(owner), read), sizeof tag);
    assert_memory_equal(read, tag, sizeof tag);
    assert_int_equal(rl_owner_number(owner, strlen(owner), "pid"), UINT32_MAX);
    assert_int_equal(rl_owner_number(owner, strlen(owner), "since"), words.since_ms);
    assert_non_null(strstr(owner, "|why=%7c"));
}

static size_t tag_of(const char *owner)
{
    uint8_t tag[RL_OWNER_TAG_MAX];

    return rl_owner_tag(owner, strlen(owner), tag);
}

static void what_is_not_a_tag_is_none(void **state)
{
    char longer[4 * RL_OWNER_TAG_MAX] = "x|tag=";

    (void)state;
    assert_int_equal(tag_of("x"), 0);
    assert_int_equal(tag_of("x|tag="), 0);
    assert_int_equal(tag_of("x|tag=abc"), 0);
    assert_int_equal(tag_of("x|tag=zz"), 0);
    assert_int_equal(tag_of("x|tag=AB"), 0);
    assert_int_equal(tag_of("x|tag=00ff|host=a"), 2);
    memset(longer + strlen(longer), 'a', 2 * RL_OWNER_TAG_MAX + 2);
    assert_int_equal(tag_of(longer), 0);
}

static void foreign_values_are_read_as_far_as_they_go(void **state)
{
    (void)state;
    assert_field("", "host", "");
    assert_field("5f2a", "host", "");
    assert_field("x|host", "host", "");
    assert_field("x|host=", "host", "");
    assert_field("x|hostile=y|host=z", "host", "z");
    assert_field("x|host=a|host=b", "host", "a");
    assert_field("x|host=%4", "host", "%4");
    assert_field("x|host=%zz%41", "host", "%zzA");
    assert_int_equal(rl_owner_number("x|pid=12a", 9, "pid"), 0);
    assert_int_equal(rl_owner_number("x|pid=", 6, "pid"), 0);
    assert_int_equal(rl_owner_number("x|pid=-5", 8, "pid"), 0);
    assert_int_equal(rl_owner_number("x|pid=999999999999999999", 24, "pid"), 999999999999999999);
    assert_int_equal(rl_owner_number("x|pid=9999999999999999999", 25, "pid"), 0);
}

static void any_bytes_can_be_looked_at(void **state)
{
    static const char alphabet[] = "|=%%|host=pid0123abf\n\0\xff|";
    struct rl_prng prng = rl_prng_seed(11);
    uint8_t tag[RL_OWNER_TAG_MAX];
    char text[20];

    (void)state;
    for (int i = 0; i < 200000; i++) {
        size_t length = (size_t)rl_prng_between(&prng, 0, 60);
        char *bytes = test_malloc(length + 1);

        for (size_t k = 0; k < length; k++)
            bytes[k] = alphabet[rl_prng_between(&prng, 0, sizeof alphabet - 2)];
        rl_owner_field(bytes, length, "host", text, sizeof text);
        assert_true(strlen(text) < sizeof text);
        assert_true(rl_owner_number(bytes, length, "pid") >= 0);
        assert_in_range(rl_owner_tag(bytes, length, tag), 0, sizeof tag);
        test_free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_owner_value_says_who_where_when_and_why),
        cmocka_unit_test(what_is_not_known_is_left_out),
        cmocka_unit_test(bars_percents_and_control_bytes_survive_the_way),
        cmocka_unit_test(long_words_are_cut_and_all_of_it_fits),
        cmocka_unit_test(a_tag_is_never_cut_nor_is_what_stands_before_why),
        cmocka_unit_test(what_is_not_a_tag_is_none),
        cmocka_unit_test(foreign_values_are_read_as_far_as_they_go),
        cmocka_unit_test(any_bytes_can_be_looked_at),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
