/*
 * Tests of core/guard and wire/guard_command: how long a node sits out, which floor it is told, the bytes of
 * an admission, and answers of any shape. Small fleets are enumerated whole against a twin.
 */
#include "core/guard.h"

#include <stdio.h>
#include <string.h>

#include "base/prng.h"
#include "support/check.h"
#include "wire/guard_command.h"
#include "wire/resp_reader.h"

enum { SECOND = 1000000 };

/* ---- how long ------------------------------------------------------------------------------------------ */

static void the_quarantine_outlasts_the_longest_lock_on_the_slowest_clock(void **state)
{
    (void)state;
    assert_int_equal(rl_guard_quarantine(rl_span_ms(300)).us, 300000 + 3000 + 2000 + 1000000);
    assert_int_equal(rl_guard_quarantine(rl_span_ms(60000)).us, 60000000 + 600000 + 2000 + 1000000);
    assert_true(rl_guard_quarantine(rl_span_ms(86400000)).us <= RL_QUARANTINE_MAX_MS * 1000);
    for (int64_t ttl_ms = 50; ttl_ms <= 86400000; ttl_ms = ttl_ms * 3 / 2)
        assert_true(rl_guard_quarantine(rl_span_ms(ttl_ms)).us > rl_span_ms(ttl_ms).us + 1000000);
}

/* ---- terms --------------------------------------------------------------------------------------------- */

static int64_t longest_after(const struct rl_term *each, size_t count, int64_t after_ms)
{
    int64_t longest = 0;

    for (size_t i = 0; i < count; i++)
        if (each[i].left_ms > after_ms && each[i].quarantine_ms > longest)
            longest = each[i].quarantine_ms;
    return longest;
}

/* A list of everything is the dumb twin: at no time may less be remembered, and not more while there is room
 * for all. */
static void no_term_is_dropped_before_its_time(void **state)
{
    struct rl_prng prng = rl_prng_seed(11);

    (void)state;
    for (int run = 0; run < 2000; run++) {
        struct rl_term all[12];
        struct rl_terms terms = {0};
        size_t count = (size_t)rl_prng_between(&prng, 1, 12);

        for (size_t i = 0; i < count; i++) {
            all[i] = (struct rl_term){rl_prng_between(&prng, 1, 30), rl_prng_between(&prng, 1, 30)};
            rl_terms_add(&terms, all[i]);
            assert_in_range(terms.count, 1, RL_TERMS_MAX);
            for (int64_t after = 0; after < 31; after++) {
                int64_t kept = longest_after(terms.each, terms.count, after);

                assert_true(kept >= longest_after(all, i + 1, after));
                assert_true(i >= RL_TERMS_MAX || kept == longest_after(all, i + 1, after));
            }
        }
        for (uint32_t i = 1; i < terms.count; i++) {
            assert_true(terms.each[i].quarantine_ms < terms.each[i - 1].quarantine_ms);
            assert_true(terms.each[i].left_ms > terms.each[i - 1].left_ms);
        }
    }
}

static void the_part_of_a_record_that_stays_is_told_from_the_rest(void **state)
{
    char epoch[RL_EPOCH_MAX + 1];

    (void)state;
    rl_guard_epoch(epoch, "1 run id 61602 0");
    assert_string_equal(epoch, "1 run id ");
    rl_guard_epoch(epoch, "1 run id");
    assert_string_equal(epoch, "");
    rl_guard_epoch(epoch, "");
    assert_string_equal(epoch, "");
}

static void terms_fade(void **state)
{
    struct rl_terms terms = {.count = 3, .each = {{9000, 60}, {5000, 70}, {1000, 80}}};

    (void)state;
    rl_terms_age(&terms, 59);
    assert_int_equal(terms.count, 3);
    assert_int_equal(terms.each[0].left_ms, 1);
    rl_terms_age(&terms, 1);
    assert_int_equal(terms.count, 2);
    assert_int_equal(terms.each[0].quarantine_ms, 5000);
    assert_int_equal(terms.each[1].left_ms, 20);
    rl_terms_age(&terms, 1000000);
    assert_int_equal(terms.count, 0);
}

/* ---- which floor --------------------------------------------------------------------------------------- */

static void no_fence_is_above_the_clock_and_five_seconds_or_the_floor(void **state)
{
    (void)state;
    assert_int_equal(rl_guard_high(INT64_C(1700000000) * SECOND, 0), INT64_C(1700000005) * SECOND);
    assert_int_equal(rl_guard_high(10 * SECOND, 15 * SECOND - 1), 15 * SECOND);
    assert_int_equal(rl_guard_high(10 * SECOND, 15 * SECOND + 1), 15 * SECOND + 1);
    assert_int_equal(rl_guard_high(-7, 0), 5 * SECOND);
    assert_int_equal(rl_guard_high(INT64_MAX, 0), (uint64_t)INT64_MAX + 5 * SECOND);
}

/* Bit k of a word is node k; the definitions, word for word. */
static bool twin_floor(const struct rl_guard_view *views, uint32_t node_count, uint64_t *floor)
{
    uint64_t intact[8], heard[8];
    uint32_t intact_count = 0, heard_count = 0;

    for (uint32_t i = 0; i < node_count; i++)
        if (views[i].heard && views[i].fitness == RL_FITNESS_FIT)
            intact[intact_count++] = views[i].high;
    for (uint32_t i = 0; i < node_count; i++)
        if (views[i].heard)
            heard[heard_count++] = views[i].high;
    *floor = 0;
    if (2 * intact_count > node_count) {
        for (uint32_t i = 0; i < intact_count; i++)
            *floor = intact[i] > *floor ? intact[i] : *floor;
        return true;
    }
    if (heard_count == 0 || heard_count < node_count - 1)
        return false;
    for (uint32_t i = 0; i < heard_count; i++)
        *floor = heard[i] > *floor ? heard[i] : *floor;
    return true;
}

static void compare_floors(const struct rl_guard_view *views, uint32_t node_count)
{
    uint64_t floor = 1, expected = 2;
    bool found = rl_guard_floor(views, node_count, &floor);

    assert_int_equal(found, twin_floor(views, node_count, &expected));
    if (found)
        assert_int_equal(floor, expected);
}

static void every_fleet_of_up_to_six_nodes_finds_the_floor_its_twin_finds(void **state)
{
    (void)state;
    for (uint32_t node_count = 1; node_count <= 6; node_count++) {
        uint32_t combinations = 1;

        for (uint32_t i = 0; i < node_count; i++)
            combinations *= 5;
        for (uint32_t which = 0; which < combinations; which++) {
            struct rl_guard_view views[6];
            uint32_t rest = which;

            for (uint32_t i = 0; i < node_count; i++, rest /= 5)
                views[i] = (struct rl_guard_view){.heard = rest % 5 != 4,
                                                  .fitness = (enum rl_fitness)(rest % 5 % 4),
                                                  .high = 100 + (which * 7 + i * 13) % 29};
            compare_floors(views, node_count);
        }
    }
}

static void a_lone_new_node_starts_by_its_own_clock(void **state)
{
    struct rl_guard_view view = {.heard = true, .fitness = RL_FITNESS_FLOORLESS, .high = 7};
    uint64_t floor;

    (void)state;
    assert_true(rl_guard_floor(&view, 1, &floor));
    assert_int_equal(floor, 7);
    view.heard = false;
    assert_false(rl_guard_floor(&view, 1, &floor));
}

/* Clocks of nodes and what they remember, and nothing else. */
static void the_operators_floor_is_above_all_that_nodes_know_and_no_clock_leads_it_astray(void **state)
{
    const int64_t now = INT64_C(1700000000) * SECOND;
    struct rl_guard_clock clocks[5] = {{true, now, 1},
                                       {true, now + 3 * SECOND, 1},
                                       {true, now - 100 * SECOND, 1},
                                       {true, now + 60 * SECOND, 1},
                                       {false, now + 90 * SECOND, 0}};

    (void)state;
    assert_int_equal(rl_guard_init_floor(clocks, 5), now + 65 * SECOND);
    clocks[3].node_us = now + INT64_C(3600) * SECOND; /* an hour is too much, centuries even more */
    clocks[4] = (struct rl_guard_clock){true, INT64_C(14000000000) * SECOND, 1};
    assert_int_equal(rl_guard_init_floor(clocks, 5), now + INT64_C(3605) * SECOND);
    clocks[3].node_us += 4 * SECOND;
    assert_int_equal(rl_guard_init_floor(clocks, 5), now + 8 * SECOND);
    clocks[2].floor = (uint64_t)now + UINT64_C(9000) * SECOND; /* but what is remembered counts */
    assert_int_equal(rl_guard_init_floor(clocks, 5), now + INT64_C(9000) * SECOND);
    memset(clocks, 0, sizeof clocks);
    assert_int_equal(rl_guard_init_floor(clocks, 5), 5 * SECOND); /* the node's own clock will be higher */
}

/* ---- bytes --------------------------------------------------------------------------------------------- */

static void an_admission_says_everything_the_script_wants_to_know(void **state)
{
    static const char *const words[] = {
        "3",    RL_KEY_EPOCH, RL_KEY_FLOOR, RL_KEY_TERMS,   "run", "0123456789abcdef", "1305", "1",
        "4000", "suspect",    "77",         "1 run id 5 0", "abc", "9000:60,5000:70"};
    static const struct rl_terms terms = {.count = 2, .each = {{9000, 60}, {5000, 70}}};
    struct rl_admission admission = {.run = "run",
                                     .replid = "abc",
                                     .fresh_id = "0123456789abcdef",
                                     .quarantine_ms = 1305,
                                     .durable = true,
                                     .up_ms = 4000,
                                     .word = "suspect",
                                     .floor = 77,
                                     .known = "1 run id 5 0",
                                     .terms = &terms};
    char bytes[8192];
    struct rl_writer writer = rl_writer_on(bytes, sizeof bytes);
    struct rl_resp item;
    size_t offset = 0;

    (void)state;
    rl_guard_write_admit(&writer, &admission, false);
    assert_false(writer.overflow);
    assert_int_equal(rl_resp_next(bytes, writer.length, &offset, &item), RL_RESP_OK);
    assert_int_equal(item.element_count, 16);
    assert_int_equal(rl_resp_next(bytes, writer.length, &offset, &item), RL_RESP_OK);
    assert_memory_equal(item.text, "EVALSHA", 7);
    assert_int_equal(rl_resp_next(bytes, writer.length, &offset, &item), RL_RESP_OK);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        assert_int_equal(rl_resp_next(bytes, writer.length, &offset, &item), RL_RESP_OK);
        assert_int_equal(item.text_length, strlen(words[i]));
        assert_memory_equal(item.text, words[i], item.text_length);
    }
    assert_int_equal(offset, writer.length);
}

static void fence_keys_share_the_hash_tag_of_their_lock(void **state)
{
    char key[RL_KEY_FENCE_MAX];

    (void)state;
    assert_memory_equal(key, "redlock-fence:{lock}", rl_key_fence(key, "lock", 4));
    assert_memory_equal(key, "redlock-fence:a{lock}b", rl_key_fence(key, "a{lock}b", 8));
}

static const char *line_key(const char *key, const char *part)
{
    static char buffer[RL_KEY_LINE_MAX + 1];
    size_t length = rl_key_line(buffer, key, strlen(key), part);

    assert_true(length <= RL_KEY_LINE_MAX);
    buffer[length] = '\0';
    return buffer;
}

/* Names may look like the parts of other names: "x" and "{x}:line" must not meet. */
static void keys_of_lines_are_never_those_of_another_lock(void **state)
{
    char longest[1025], expected[RL_KEY_LINE_MAX];

    (void)state;
    assert_string_equal(line_key("lock", "line"), "redlock-line:{lock}:line");
    assert_string_equal(line_key("a{lock}b", "line"), "redlock-line::a{lock}b:line");
    assert_string_equal(line_key("{lock}", "line"), "redlock-line::{lock}:line");
    assert_string_equal(line_key("{lock}:line", "state"), "redlock-line::{lock}:line:state");
    memset(longest, 'x', 1024);
    longest[1024] = '\0';
    snprintf(expected, sizeof expected, "redlock-line:{%s}:0123456789abcdef0123456789abcdef", longest);
    assert_string_equal(line_key(longest, "0123456789abcdef0123456789abcdef"), expected);
}

static void reserved_keys_are_told_from_others(void **state)
{
    (void)state;
    assert_true(rl_key_reserved(RL_KEY_EPOCH, strlen(RL_KEY_EPOCH)));
    assert_true(rl_key_reserved(RL_KEY_FLOOR, strlen(RL_KEY_FLOOR)));
    assert_true(rl_key_reserved("redlock-fence:", 14));
    assert_true(rl_key_reserved("redlock-line:{lock}:line", 24));
    assert_true(rl_key_reserved("redlock-mark:once:job", 21));
    assert_false(rl_key_reserved("redlock-fence", 13));
    assert_false(rl_key_reserved("app:redlock-guard:", 18));
    assert_false(rl_key_reserved("", 0));
}

static struct rl_admitted read_admission(const char *bytes)
{
    struct rl_admitted admitted;

    rl_guard_read_admit(bytes, strlen(bytes), &admitted);
    return admitted;
}

static void answers_are_read_as_the_script_gives_them(void **state)
{
    struct rl_admitted fit = read_admission(
        "*6\r\n:1\r\n:1700000000123456\r\n$5\r\n1 a b\r\n:0\r\n$16\r\n1700000000000001\r\n$21\r\n61602:7000,1305:90000\r\n");
    struct rl_admitted waits = read_admission("*6\r\n:2\r\n:9\r\n$1\r\nx\r\n:1305\r\n$0\r\n\r\n$0\r\n\r\n");

    (void)state;
    assert_int_equal(fit.fitness, RL_FITNESS_FIT);
    assert_int_equal(fit.node_us, 1700000000123456);
    assert_string_equal(fit.record, "1 a b");
    assert_int_equal(fit.floor, 1700000000000001);
    assert_int_equal(fit.terms.count, 2);
    assert_int_equal(fit.terms.each[0].quarantine_ms, 61602);
    assert_int_equal(fit.terms.each[1].left_ms, 90000);
    assert_int_equal(waits.fitness, RL_FITNESS_QUARANTINED);
    assert_int_equal(waits.wait_ms, 1305);
    assert_int_equal(waits.floor, 0);
    assert_int_equal(read_admission("*6\r\n:3\r\n:9\r\n$1\r\nx\r\n:0\r\n$0\r\n\r\n$0\r\n\r\n").fitness,
                     RL_FITNESS_FLOORLESS);
}

static void errors_keep_their_words_and_a_missing_script_is_told(void **state)
{
    struct rl_admitted lacks = read_admission("-NOSCRIPT No matching script.\r\n");
    struct rl_admitted refuses = read_admission("-NOPERM no\r\n");

    (void)state;
    assert_true(lacks.no_script);
    assert_int_equal(lacks.fitness, RL_FITNESS_UNKNOWN);
    assert_false(refuses.no_script);
    assert_memory_equal(refuses.error, "NOPERM no", refuses.error_length);
}

static void answers_of_another_shape_admit_nobody(void **state)
{
    static const char *const odd[] = {
        "",
        "+OK\r\n",
        ":1\r\n",
        "*-1\r\n",
        "*0\r\n",
        "*4\r\n:1\r\n:9\r\n$1\r\nx\r\n:0\r\n",
        "*6\r\n:0\r\n:9\r\n$1\r\nx\r\n:0\r\n$0\r\n\r\n$0\r\n\r\n",
        "*6\r\n:4\r\n:9\r\n$1\r\nx\r\n:0\r\n$0\r\n\r\n$0\r\n\r\n",
        "*6\r\n$1\r\n1\r\n:9\r\n$1\r\nx\r\n:0\r\n$0\r\n\r\n$0\r\n\r\n",
        "*6\r\n:1\r\n:9\r\n:7\r\n:0\r\n$0\r\n\r\n$0\r\n\r\n",
        "*6\r\n:1\r\n:9\r\n$1\r\nx\r\n:0\r\n:0\r\n$0\r\n\r\n",
        "*6\r\n:1\r\n:9\r\n$1\r\nx\r\n:0\r\n$2\r\n-1\r\n$0\r\n\r\n",
        "*6\r\n:1\r\n:9223372036854775807\r\n$1\r\nx\r\n:0\r\n$0\r\n\r\n$0\r\n\r\n",
        "*6\r\n:1\r\n:-1\r\n$1\r\nx\r\n:0\r\n$0\r\n\r\n$0\r\n\r\n",
        "*6\r\n:2\r\n:9\r\n$1\r\nx\r\n:9223372036854775807\r\n$0\r\n\r\n$0\r\n\r\n",
        "*6\r\n:2\r\n:9\r\n$1\r\nx\r\n:-1\r\n$0\r\n\r\n$0\r\n\r\n",
        "*6\r\n:1\r\n:9\r\n$1\r\nx\r\n:0\r\n$16\r\n9007199254740991\r\n$0\r\n\r\n",
        "*6\r\n:1\r\n:9\r\n$1\r\nx\r\n:0\r\n$30\r\n100000000000000000000000000001\r\n$0\r\n\r\n",
        "*6\r\n:1\r\n:9\r\n$1\r\nx\r\n:0\r\n$0\r\n\r\n:0\r\n",
        "*6\r\n:1\r\n:9\r\n$1\r\nx\r\n:0\r\n$0\r\n\r\n$1\r\n5\r\n",
        "*6\r\n:1\r\n:9\r\n$1\r\nx\r\n:0\r\n$0\r\n\r\n$2\r\n5:\r\n",
        "*6\r\n:1\r\n:9\r\n$1\r\nx\r\n:0\r\n$0\r\n\r\n$4\r\n5:-1\r\n",
        "*6\r\n:1\r\n:9\r\n$1\r\nx\r\n:0\r\n$0\r\n\r\n$11\r\n172800001:1\r\n",
        "*6\r\n:1\r\n:9\r\n$1\r\nx\r\n:0\r\n$0\r\n\r\n$11\r\n5:345600001\r\n",
        "*6\r\n:1\r\n:9\r\n$1\r\nx\r\n:0\r\n",
    };
    char longest[300];

    (void)state;
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        assert_int_equal(read_admission(odd[i]).fitness, RL_FITNESS_UNKNOWN);
        assert_true(read_admission(odd[i]).error_length > 0);
    }
    /* A record longer than any of ours. */
    snprintf(longest, sizeof longest, "*6\r\n:1\r\n:9\r\n$128\r\n%0128d\r\n:0\r\n$0\r\n\r\n$0\r\n\r\n", 1);
    assert_int_equal(read_admission(longest).fitness, RL_FITNESS_UNKNOWN);
}

static void any_bytes_are_read_without_harm(void **state)
{
    static const char good[] =
        "*6\r\n:1\r\n:1700000000123456\r\n$5\r\n1 a b\r\n:0\r\n$16\r\n1700000000000001\r\n$21\r\n61602:7000,1305:90000\r\n";
    struct rl_prng prng = rl_prng_seed(5);

    (void)state;
    for (int i = 0; i < 200000; i++) {
        size_t length = (size_t)rl_prng_between(&prng, 1, sizeof good - 1);
        char *bytes = test_malloc(length);
        struct rl_admitted admitted;

        memcpy(bytes, good, length);
        for (int64_t changes = rl_prng_between(&prng, 0, 3); changes > 0; changes--)
            bytes[rl_prng_between(&prng, 0, (int64_t)length - 1)] =
                "\r\n*:$-0123456789\xff_,#%"[rl_prng_between(&prng, 0, 20)];
        rl_guard_read_admit(bytes, length, &admitted);
        assert_in_range(admitted.fitness, RL_FITNESS_UNKNOWN, RL_FITNESS_FLOORLESS);
        assert_in_range(strlen(admitted.record), 0, RL_EPOCH_MAX);
        test_free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_quarantine_outlasts_the_longest_lock_on_the_slowest_clock),
        cmocka_unit_test(no_term_is_dropped_before_its_time),
        cmocka_unit_test(terms_fade),
        cmocka_unit_test(the_operators_floor_is_above_all_that_nodes_know_and_no_clock_leads_it_astray),
        cmocka_unit_test(the_part_of_a_record_that_stays_is_told_from_the_rest),
        cmocka_unit_test(no_fence_is_above_the_clock_and_five_seconds_or_the_floor),
        cmocka_unit_test(every_fleet_of_up_to_six_nodes_finds_the_floor_its_twin_finds),
        cmocka_unit_test(a_lone_new_node_starts_by_its_own_clock),
        cmocka_unit_test(an_admission_says_everything_the_script_wants_to_know),
        cmocka_unit_test(fence_keys_share_the_hash_tag_of_their_lock),
        cmocka_unit_test(keys_of_lines_are_never_those_of_another_lock),
        cmocka_unit_test(reserved_keys_are_told_from_others),
        cmocka_unit_test(answers_are_read_as_the_script_gives_them),
        cmocka_unit_test(errors_keep_their_words_and_a_missing_script_is_told),
        cmocka_unit_test(answers_of_another_shape_admit_nobody),
        cmocka_unit_test(any_bytes_are_read_without_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
