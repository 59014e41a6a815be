/*
 * redlock_stats_prometheus(): sized, bounded, and the same numbers as the statistics have. What each metric
 * means is in docs/metrics.md, which test/serve/metrics_test.py compares with a scrape.
 */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/counting_allocator.h"
#include "support/steps.h"

/* The whole text, which the caller frees. */
static char *text_of(redlock_client *client, const redlock_label *labels, uint32_t count)
{
    size_t length = 0;

    assert_result(REDLOCK_INVALID, redlock_stats_prometheus(client, labels, count, NULL, 0, &length), NULL);
    assert_true(length > 0);
    size_t size = length + 4096;
    char *text = malloc(size);
    assert_non_null(text);
    assert_result(REDLOCK_OK, redlock_stats_prometheus(client, labels, count, text, size, &length), NULL);
    assert_int_equal(strlen(text), length);
    return text;
}

/* The value behind a series, as a number; fails when there is none. */
static double value_of(const char *text, const char *series)
{
    char line[400];

    snprintf(line, sizeof line, "\n%s ", series);
    const char *found = strstr(text, line);
    if (found == NULL)
        fail_msg("there is no %s", series);
    return strtod(found + strlen(line), NULL);
}

static size_t count_series(const char *text)
{
    size_t count = 0;

    for (const char *at = text; at != NULL && *at != '\0'; at = strchr(at, '\n') + 1)
        count += *at != '#';
    return count;
}

static void it_has_the_numbers_of_the_statistics(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_spec spec = spec_for("numbers", LONG_TTL_MS);
    redlock_lock *none = NULL;

    redlock_lock *lock = take_spec(client, &spec);
    assert_result(REDLOCK_BUSY, redlock_try_acquire(client, &spec, &none, NULL), NULL);
    assert_result(REDLOCK_OK, redlock_extend(lock, 0, NULL), NULL);
    char *text = text_of(client, NULL, 0);
    redlock_stats stats = REDLOCK_STATS_INIT;
    assert_result(REDLOCK_OK, redlock_client_stats(client, &stats), NULL);
    assert_true(value_of(text, "redlock_nodes") == 3 && value_of(text, "redlock_quorum_size") == 2);
    assert_true(value_of(text, "redlock_held") == 1);
    assert_true(value_of(text, "redlock_acquisitions_total{outcome=\"acquired\"}") == 1);
    assert_true(value_of(text, "redlock_acquisitions_total{outcome=\"busy\"}") == 1);
    assert_true(value_of(text, "redlock_extensions_total{outcome=\"extended\"}") == 1);
    assert_true(value_of(text, "redlock_acquire_duration_seconds_sum{outcome=\"acquired\"}") ==
                (double)stats.acquire_ok.sum_us / 1e6);
    free(text);
    give_back(lock);
    redlock_client_close(client);
}

/* A bucket of the text is the sum of the library's up to its bound. */
static void buckets_are_exact_sums(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_stats stats = REDLOCK_STATS_INIT;
    uint64_t below = 0;

    for (int i = 0; i < 50; i++)
        give_back(take_lock(client, "buckets", LONG_TTL_MS));
    char *text = text_of(client, NULL, 0);
    assert_result(REDLOCK_OK, redlock_client_stats(client, &stats), NULL);
    for (uint32_t bucket = 0; bucket < REDLOCK_HISTOGRAM_BUCKETS - 1; bucket++) {
        uint64_t bound = redlock_histogram_bound_us(bucket);
        char series[120];

        below += stats.acquire_ok.buckets[bucket];
        snprintf(series, sizeof series,
                 "redlock_acquire_duration_seconds_bucket{outcome=\"acquired\",le=\"%llu.%06llu\"}",
                 (unsigned long long)(bound / 1000000), (unsigned long long)(bound % 1000000));
        if (bucket >= 12 && bucket % 2 == 0)
            assert_true(value_of(text, series) == (double)below);
    }
    assert_int_equal(below, 50);
    assert_true(value_of(text, "redlock_acquire_duration_seconds_bucket{outcome=\"acquired\",le=\"+Inf\"}") ==
                50);
    free(text);
    redlock_client_close(client);
}

static void a_thousand_names_add_no_series(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    char *before = text_of(client, NULL, 0);

    for (int i = 0; i < 1000; i++) {
        char name[24];
        snprintf(name, sizeof name, "name-%d", i);
        give_back(take_lock(client, name, LONG_TTL_MS));
    }
    char *after = text_of(client, NULL, 0);
    assert_int_equal(count_series(after), count_series(before));
    assert_null(strstr(after, "name-"));
    free(before);
    free(after);
    redlock_client_close(client);
}

static void a_buffer_is_never_overrun(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    char *whole = text_of(client, NULL, 0), *text = malloc(strlen(whole) + 64);
    size_t length = 0, sizes[] = {1, 2, 100, strlen(whole) / 2, strlen(whole)};

    assert_non_null(text);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        memset(text, '~', strlen(whole) + 64);
        assert_result(REDLOCK_INVALID, redlock_stats_prometheus(client, NULL, 0, text, sizes[i], &length),
                      NULL);
        assert_int_equal(text[sizes[i]], '~');
        assert_int_equal(text[sizes[i] - 1], '\0');
        assert_true(length >= sizes[i]);
    }
    free(text);
    free(whole);
    redlock_client_close(client);
}

static void labels_are_checked_and_escaped(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    const redlock_label good[] = {{"task", "a\"b\\c\nd"}, {"team", ""}};
    const redlock_label bad[] = {{"", "x"},  {"1st", "x"},   {"a-b", "x"},   {"node", "x"},
                                 {"le", ""}, {"__name", ""}, {"task", NULL}, {NULL, "x"}};
    const redlock_label twice[] = {{"task", "a"}, {"task", "b"}};
    char text[64];
    size_t length = 0;

    char *whole = text_of(client, good, 2);
    assert_true(value_of(whole, "redlock_nodes{task=\"a\\\"b\\\\c\\nd\",team=\"\"}") == 3);
    assert_non_null(
        strstr(whole, "redlock_acquire_duration_seconds_bucket{task=\"a\\\"b\\\\c\\nd\",team=\"\",outcome="));
    free(whole);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_result(REDLOCK_INVALID,
                      redlock_stats_prometheus(client, &bad[i], 1, text, sizeof text, &length), NULL);
        assert_int_equal(length, 0);
    }
    assert_result(REDLOCK_INVALID, redlock_stats_prometheus(client, twice, 2, text, sizeof text, &length),
                  NULL);
    assert_result(REDLOCK_INVALID, redlock_stats_prometheus(client, NULL, 1, text, sizeof text, &length),
                  NULL);
    assert_result(REDLOCK_INVALID, redlock_stats_prometheus(client, NULL, 0, text, sizeof text, NULL), NULL);
    assert_result(REDLOCK_INVALID, redlock_stats_prometheus(client, NULL, 0, NULL, 10, &length), NULL);
    assert_result(REDLOCK_MISUSE, redlock_stats_prometheus(NULL, NULL, 0, text, sizeof text, &length), NULL);
    redlock_client_close(client);
}

static void without_memory_it_says_so(void **state)
{
    struct fleet *fleet = *state;
    struct counting_allocator counting;
    redlock_options options = options_for(fleet_urls(fleet));
    char text[64];
    size_t length = 0;

    counting_allocator_init(&counting);
    options.allocator = &counting.allocator;
    redlock_client *client = open_with(&options);
    await_all_nodes(client);
    counting_allocator_fail(&counting, 1, true);
    assert_result(REDLOCK_NOMEM, redlock_stats_prometheus(client, NULL, 0, text, sizeof text, &length), NULL);
    counting_allocator_fail(&counting, 0, false);
    free(text_of(client, NULL, 0));
    redlock_client_close(client);
    assert_int_equal(counting_allocator_counts(&counting).live_blocks, 0);
    counting_allocator_destroy(&counting);
}

/* Numbers have a point whatever the program's locale. */
static void the_locale_does_not_matter(void **state)
{
    static const char *const locales[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "ru_RU.UTF-8"};
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    bool set = false;

    for (size_t i = 0; i < sizeof locales / sizeof locales[0] && !set; i++)
        set = setlocale(LC_NUMERIC, locales[i]) != NULL;
    char *text = text_of(client, NULL, 0);
    setlocale(LC_NUMERIC, "C");
    assert_null(strstr(text, "0,0"));
    free(text);
    redlock_client_close(client);
    if (!set)
        skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_NODES(it_has_the_numbers_of_the_statistics, start_three_nodes),
        ON_NODES(buckets_are_exact_sums, start_three_nodes),
        ON_NODES(a_thousand_names_add_no_series, start_three_nodes),
        ON_NODES(a_buffer_is_never_overrun, start_three_nodes),
        ON_NODES(labels_are_checked_and_escaped, start_three_nodes),
        ON_NODES(without_memory_it_says_so, start_three_nodes),
        ON_NODES(the_locale_does_not_matter, start_three_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
