/*
 * The question for a page of locks, and its answer: what a node may say, and what it must not be believed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "support/check.h"
#include "wire/page_command.h"

static enum rl_page_reading read_text(struct rl_page_answer *answer, const char *text)
{
    return rl_page_read(answer, text, strlen(text));
}

static void locks_of_a_page_come_one_by_one(void **state)
{
    struct rl_page_answer answer;
    struct rl_page_entry entry;

    (void)state;
    assert_int_equal(
        read_text(&answer, "*6\r\n:1700000000000000\r\n$2\r\n42\r\n$1\r\na\r\n:0\r\n$3\r\nbcd\r\n:1\r\n"),
        RL_PAGE_WHOLE);
    assert_string_equal(answer.cursor, "42");
    assert_int_equal(answer.left, 2);
    assert_true(rl_page_next(&answer, &entry));
    assert_int_equal(entry.key_length, 1);
    assert_false(entry.foreign);
}

static void what_another_program_made_is_marked(void **state)
{
    static const char reply[] = "*4\r\n:1\r\n$1\r\n0\r\n$3\r\nb\0c\r\n:1\r\n";
    struct rl_page_answer answer;
    struct rl_page_entry entry;

    (void)state;
    assert_int_equal(rl_page_read(&answer, reply, sizeof reply - 1), RL_PAGE_WHOLE);
    assert_string_equal(answer.cursor, "0");
    assert_true(rl_page_next(&answer, &entry));
    assert_memory_equal(entry.key, "b\0c", 3);
    assert_true(entry.foreign);
    assert_false(rl_page_next(&answer, &entry));
}

static void held_slots_of_a_semaphore_come_one_by_one(void **state)
{
    static const uint32_t expected[] = {1, 2, 4};
    struct rl_page_answer answer;
    struct rl_page_entry entry;

    (void)state;
    assert_int_equal(
        read_text(&answer, "*6\r\n:1\r\n$1\r\n0\r\n$1\r\na\r\n$7\r\n4 1-2,4\r\n$1\r\nb\r\n:0\r\n"),
        RL_PAGE_WHOLE);
    for (int i = 0; i < 3; i++) {
        assert_true(rl_page_next(&answer, &entry));
        assert_memory_equal(entry.key, "a", 1);
        assert_int_equal(entry.slot, expected[i]);
        assert_int_equal(entry.permits, 4);
    }
    assert_true(rl_page_next(&answer, &entry));
    assert_memory_equal(entry.key, "b", 1);
    assert_int_equal(entry.slot, 0);
    assert_false(rl_page_next(&answer, &entry));
}

/* What makes no sense is left out, and what comes behind it is not. */
static void slots_that_make_no_sense_are_left_out(void **state)
{
    static const char *const texts[] = {
        "",    "4",    "4 ",    "0 1",   "4 0",   "4 5",           "4 2-1", "4 1-5", "1001 1",
        "4 x", "4 -1", "4 3,9", "4 2,2", "4 3,1", "99999999999 1", "4 1-",  "4 1,"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct rl_page_answer answer;
        struct rl_page_entry entry;
        char reply[96];
        int count = 0;

        snprintf(reply, sizeof reply, "*6\r\n:1\r\n$1\r\n0\r\n$1\r\na\r\n$%zu\r\n%s\r\n$1\r\nb\r\n:0\r\n",
                 strlen(texts[i]), texts[i]);
        assert_int_equal(read_text(&answer, reply), RL_PAGE_WHOLE);
        while (rl_page_next(&answer, &entry)) {
            assert_true(entry.slot <= 4);
            count++;
        }
        assert_memory_equal(entry.key, "b", 1);
        assert_in_range(count, 1, 3);
    }
}

static void every_answer_has_its_meaning(void **state)
{
    static const struct {
        const char *text;
        enum rl_page_reading reading;
    } answers[] = {
        {"*2\r\n:1\r\n$1\r\n0\r\n", RL_PAGE_WHOLE},
        {"*2\r\n:1\r\n$0\r\n\r\n", RL_PAGE_TOO_MUCH},
        {"-NOSCRIPT No matching script\r\n", RL_PAGE_NO_SCRIPT},
        {"-NOPERM this user has no permissions\r\n", RL_PAGE_ERROR},
        {"+OK\r\n", RL_PAGE_NONSENSE},
        {"*1\r\n:1\r\n", RL_PAGE_NONSENSE},
        {"*3\r\n:1\r\n$1\r\n0\r\n$1\r\na\r\n", RL_PAGE_NONSENSE},
        {"*2\r\n$1\r\n1\r\n$1\r\n0\r\n", RL_PAGE_NONSENSE},
        {"*2\r\n:1\r\n$2\r\n-1\r\n", RL_PAGE_NONSENSE},
        {"*2\r\n:1\r\n$21\r\n123456789012345678901\r\n", RL_PAGE_NONSENSE},
        {"", RL_PAGE_NONSENSE},
    };
    struct rl_page_answer answer;

    (void)state;
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++)
        assert_int_equal(read_text(&answer, answers[i].text), answers[i].reading);
}

static void patterns_stand_for_themselves_alone(void **state)
{
    char pattern[64];
    size_t length = rl_page_literal(pattern, "a*[b]?\\c", 8);

    (void)state;
    assert_int_equal(length, 13);
    assert_memory_equal(pattern, "a\\*\\[b\\]\\?\\\\c", 13);
    assert_int_equal(rl_page_literal(pattern, "a\0b", 3), 3);
}

static void changed_answers_are_read_without_harm(void **state)
{
    static const char whole[] = "*6\r\n:17\r\n$2\r\n42\r\n$1\r\na\r\n:0\r\n$2\r\nbc\r\n:1\r\n";
    struct rl_prng prng = rl_prng_seed(1);

    (void)state;
    for (int round = 0; round < 20000; round++) {
        size_t length = (size_t)rl_prng_between(&prng, 1, sizeof whole - 1);
        char *reply = malloc(length);
        struct rl_page_answer answer;
        struct rl_page_entry entry;

        memcpy(reply, whole, length);
        reply[rl_prng_between(&prng, 0, (int64_t)length - 1)] = (char)rl_prng_between(&prng, 0, 255);
        if (rl_page_read(&answer, reply, length) == RL_PAGE_WHOLE)
            while (rl_page_next(&answer, &entry))
                assert_true(entry.key >= reply && entry.key + entry.key_length <= reply + length);
        free(reply);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(locks_of_a_page_come_one_by_one),
        cmocka_unit_test(what_another_program_made_is_marked),
        cmocka_unit_test(held_slots_of_a_semaphore_come_one_by_one),
        cmocka_unit_test(slots_that_make_no_sense_are_left_out),
        cmocka_unit_test(every_answer_has_its_meaning),
        cmocka_unit_test(patterns_stand_for_themselves_alone),
        cmocka_unit_test(changed_answers_are_read_without_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
