/*
 * Tests of wire/tracking: the words that switch telling on and off, and what pushes say, whatever comes.
 */
#include "wire/tracking.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "support/check.h"

#define INVALIDATE "$10\r\ninvalidate\r\n"

static void assert_bytes(const struct rl_writer *writer, const char *expected)
{
    assert_false(writer->overflow);
    assert_int_equal(writer->length, strlen(expected));
    assert_memory_equal(writer->bytes, expected, writer->length);
}

static void telling_is_switched_on_for_named_keys_only_and_off(void **state)
{
    char bytes[256];
    struct rl_writer on = rl_writer_on(bytes, 128), off = rl_writer_on(bytes + 128, 128);

    (void)state;
    rl_write_tracking(&on, true);
    assert_bytes(&on, "*4\r\n$6\r\nCLIENT\r\n$8\r\nTRACKING\r\n$2\r\nON\r\n$5\r\nOPTIN\r\n");
    rl_write_tracking(&off, false);
    assert_bytes(&off, "*3\r\n$6\r\nCLIENT\r\n$8\r\nTRACKING\r\n$3\r\nOFF\r\n");
}

static void the_next_command_is_named(void **state)
{
    char bytes[128];
    struct rl_writer writer = rl_writer_on(bytes, sizeof bytes);

    (void)state;
    rl_write_track_next(&writer);
    assert_bytes(&writer, "*3\r\n$6\r\nCLIENT\r\n$7\r\nCACHING\r\n$3\r\nYES\r\n");
}

/* The keys that a push tells of, each in brackets; "all"; "none": it tells of no change. */
static const char *keys_in(const char *bytes, size_t length)
{
    static char text[4096];
    struct rl_push push;
    const char *key;
    size_t key_length, used = 0;

    text[0] = '\0';
    if (!rl_push_read(&push, bytes, length))
        return "none";
    if (push.all)
        return "all";
    while (rl_push_next_key(&push, &key, &key_length)) {
        assert_true(key >= bytes && key + key_length <= bytes + length);
        used += (size_t)snprintf(text + used, sizeof text - used, "[%.*s]", (int)key_length, key);
    }
    return text;
}

static const struct {
    const char *bytes, *keys;
} pushes[] = {
    {">2\r\n" INVALIDATE "*1\r\n$4\r\nlock\r\n", "[lock]"},
    {">2\r\n" INVALIDATE "*2\r\n$4\r\nlock\r\n$0\r\n\r\n", "[lock][]"},
    {">2\r\n+invalidate\r\n*1\r\n+lock\r\n", "[lock]"},
    {">2\r\n" INVALIDATE "_\r\n", "all"},
    {">2\r\n" INVALIDATE "*-1\r\n", "all"},
    {">2\r\n" INVALIDATE "*0\r\n", ""},
    /* not a word about keys */
    {"", "none"},
    {"+OK\r\n", "none"},
    {"*2\r\n" INVALIDATE "*1\r\n$4\r\nlock\r\n", "none"}, /* a reply, not a push */
    {">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nm\r\n", "none"},
    {">2\r\n$10\r\nInvalidate\r\n*1\r\n$4\r\nlock\r\n", "none"},
    {">2\r\n$11\r\ninvalidate!\r\n*1\r\n$4\r\nlock\r\n", "none"},
    {">3\r\n" INVALIDATE "*1\r\n$4\r\nlock\r\n:1\r\n", "none"},
    {">1\r\n" INVALIDATE, "none"},
    {">2\r\n" INVALIDATE "$4\r\nlock\r\n", "none"},
    {">2\r\n" INVALIDATE ":1\r\n", "none"},
    {">2\r\n:1\r\n*1\r\n$4\r\nlock\r\n", "none"},
    /* odd ones among the keys are passed over */
    {">2\r\n" INVALIDATE "*3\r\n:7\r\n$4\r\nlock\r\n_\r\n", "[lock]"},
    /* cut short: what is there counts */
    {">2\r\n" INVALIDATE "*3\r\n$4\r\nlock\r\n$4\r\nlo", "[lock]"},
    {">2\r\n" INVALIDATE "*60000\r\n$4\r\nlock\r\n", "[lock]"},
};

static void every_push_has_its_meaning(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof pushes / sizeof pushes[0]; i++)
        if (strcmp(keys_in(pushes[i].bytes, strlen(pushes[i].bytes)), pushes[i].keys) != 0)
            fail_msg("%s says %s", pushes[i].bytes, keys_in(pushes[i].bytes, strlen(pushes[i].bytes)));
}

/* On the heap and to the byte, so that the sanitizers see a step beyond it. */
static void read_copy(const char *bytes, size_t length)
{
    char *copy = malloc(length + 1);

    memcpy(copy, bytes, length);
    keys_in(copy, length);
    free(copy);
}

static void changed_pushes_are_read_without_harm(void **state)
{
    struct rl_prng prng = rl_prng_seed(1);
    char bytes[128];

    (void)state;
    for (int round = 0; round < 20000; round++) {
        const char *push = pushes[rl_prng_between(&prng, 0, sizeof pushes / sizeof pushes[0] - 1)].bytes;
        size_t length = strlen(push);

        memcpy(bytes, push, length);
        for (int64_t changes = rl_prng_between(&prng, 0, 3); changes > 0 && length > 0; changes--)
            bytes[rl_prng_between(&prng, 0, (int64_t)length - 1)] = (char)rl_prng_between(&prng, 0, 255);
        read_copy(bytes, (size_t)rl_prng_between(&prng, 0, (int64_t)length));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(telling_is_switched_on_for_named_keys_only_and_off),
        cmocka_unit_test(the_next_command_is_named),
        cmocka_unit_test(every_push_has_its_meaning),
        cmocka_unit_test(changed_pushes_are_read_without_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
