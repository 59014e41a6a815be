/*
 * redlock_update(): a key is changed without a lock, and nobody's change is lost; what cannot be changed is
 * left alone, and said.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/counting_allocator.h"
#include "support/proxy.h"
#include "support/steps.h"

enum { PROCESSES = 16, INCREMENTS = 200, LARGE = 1 << 20, ALLOCATIONS_MAX = 200 };

/* What a change is to do, and what it saw. */
struct change {
    struct fleet *fleet; /* whoever changes the key meanwhile */
    struct proxy *proxy; /* cut when the change is made */
    int interfere;       /* so many times */
    bool refuse, remove; /* leaves the key alone; deletes it */
    int calls;
    bool existed;
    char seen[64];
    char next[64];
};

static int increment(void *context, const void *value, size_t length, const void **next, size_t *next_length)
{
    struct change *change = context;

    change->calls++;
    change->existed = value != NULL;
    snprintf(change->seen, sizeof change->seen, "%.*s", (int)length,
             value != NULL ? (const char *)value : "");
    snprintf(change->next, sizeof change->next, "%d", atoi(change->seen) + 1);
    *next = change->remove ? NULL : change->next;
    *next_length = strlen(change->next);
    if (change->interfere-- > 0)
        fleet_command(change->fleet, 0, "INCRBY", "counter", "100", NULL);
    if (change->proxy != NULL)
        proxy_cut_after_next(change->proxy);
    return change->refuse;
}

static redlock_result update(redlock_client *client, struct change *change, uint32_t tries,
                             redlock_report *report)
{
    *report = (redlock_report)REDLOCK_REPORT_INIT;
    return redlock_update(client, 0, "counter", 0, increment, change, tries, report);
}

static int increment_often(const char *nodes)
{
    redlock_client *client = open_client(nodes);
    struct change change = {0};
    redlock_report report;
    int failed = 0;

    for (int i = 0; i < INCREMENTS; i++)
        failed += update(client, &change, 1000, &report) != REDLOCK_OK;
    redlock_client_close(client);
    return failed;
}

static void nothing_is_lost_of_what_many_processes_add(void **state)
{
    pid_t children[PROCESSES];

    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0)
            _exit(increment_often(fleet_url(*state, 0)) != 0);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;

        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    assert_string_equal(fleet_command(*state, 0, "GET", "counter", NULL), "3200");
    fleet_command(*state, 0, "DEL", "counter", NULL);
}

static void absent_key_is_told_apart_from_an_empty_one(void **state)
{
    redlock_client *client = open_client(fleet_url(*state, 0));
    struct change change = {0};
    redlock_report report;

    assert_result(REDLOCK_OK, update(client, &change, 0, &report), &report);
    assert_false(change.existed);
    assert_int_equal(report.rounds, 1);
    assert_string_equal(fleet_command(*state, 0, "GET", "counter", NULL), "1");
    fleet_command(*state, 0, "SET", "counter", "", NULL);
    assert_result(REDLOCK_OK, update(client, &change, 0, &report), &report);
    assert_true(change.existed);
    assert_string_equal(change.seen, "");
    change.remove = true;
    assert_result(REDLOCK_OK, update(client, &change, 0, &report), &report);
    assert_string_equal(fleet_command(*state, 0, "EXISTS", "counter", NULL), "0");
    redlock_client_close(client);
}

static void another_writer_makes_it_try_again(void **state)
{
    redlock_client *client = open_client(fleet_url(*state, 0));
    struct change change = {.fleet = *state, .interfere = 2};
    redlock_report report;

    assert_result(REDLOCK_OK, update(client, &change, 0, &report), &report);
    assert_int_equal(change.calls, 3);
    assert_int_equal(report.rounds, 3);
    assert_string_equal(change.seen, "200");
    assert_string_equal(fleet_command(*state, 0, "GET", "counter", NULL), "201");
    change = (struct change){.fleet = *state, .interfere = 100};
    assert_result(REDLOCK_TIMEOUT, update(client, &change, 4, &report), &report);
    assert_int_equal(change.calls, 4);
    assert_int_equal(report.rounds, 4);
    assert_string_equal(fleet_command(*state, 0, "GET", "counter", NULL), "601");
    fleet_command(*state, 0, "DEL", "counter", NULL);
    redlock_client_close(client);
}

static void expiry_stays_and_what_is_refused_changes_nothing(void **state)
{
    redlock_client *client = open_client(fleet_url(*state, 0));
    struct change change = {0};
    redlock_report report;

    fleet_command(*state, 0, "SET", "counter", "5", "PX", "600000", NULL);
    assert_result(REDLOCK_OK, update(client, &change, 0, &report), &report);
    assert_in_range(atoi(fleet_command(*state, 0, "PTTL", "counter", NULL)), 1, 600000);
    change.refuse = true;
    assert_result(REDLOCK_CANCELED, update(client, &change, 0, &report), &report);
    assert_string_equal(fleet_command(*state, 0, "GET", "counter", NULL), "6");
    change = (struct change){0};
    fleet_command(*state, 0, "DEL", "counter", NULL);
    fleet_command(*state, 0, "RPUSH", "counter", "x", NULL);
    assert_result(REDLOCK_FOREIGN_TYPE, update(client, &change, 0, &report), &report);
    assert_int_equal(change.calls, 0);
    assert_non_null(strstr(report.line, "holds no string"));
    assert_string_equal(fleet_command(*state, 0, "LLEN", "counter", NULL), "1");
    fleet_command(*state, 0, "DEL", "counter", NULL);
    /* One byte more than may be read, which is no fault of the node. */
    fleet_command(*state, 0, "SETRANGE", "counter", "4194304", "x", NULL);
    assert_result(REDLOCK_FOREIGN_TYPE, update(client, &change, 0, &report), &report);
    assert_int_equal(change.calls, 0);
    assert_non_null(strstr(report.line, "longer than 4 MiB"));
    assert_string_equal(fleet_command(*state, 0, "STRLEN", "counter", NULL), "4194305");
    fleet_command(*state, 0, "DEL", "counter", NULL);
    redlock_client_close(client);
}

/* A value of any bytes, as large as may be read here. */
struct large {
    char *bytes;
    int calls;
    bool same;
};

static int turn_large(void *context, const void *value, size_t length, const void **next, size_t *next_length)
{
    struct large *large = context;

    large->same = value != NULL && length == LARGE && memcmp(value, large->bytes, LARGE) == 0;
    large->calls++;
    *next = large->bytes;
    *next_length = LARGE;
    return 0;
}

static void value_may_be_any_bytes_and_large(void **state)
{
    redlock_client *client = open_client(fleet_url(*state, 0));
    struct large large = {.bytes = malloc(REDLOCK_VALUE_MAX + 1)};
    redlock_report report = REDLOCK_REPORT_INIT;

    assert_non_null(large.bytes);
    for (int i = 0; i < LARGE; i++)
        large.bytes[i] = (char)(i * 7 + i / 251);
    for (int i = 0; i < 2; i++)
        assert_result(REDLOCK_OK, redlock_update(client, 0, "large\0key", 9, turn_large, &large, 0, &report),
                      &report);
    assert_true(large.same);
    assert_string_equal(fleet_command(*state, 0, "STRLEN", "large", NULL), "0");
    fleet_command(*state, 0, "FLUSHALL", NULL);
    free(large.bytes);
    redlock_client_close(client);
}

static void lost_answer_is_not_taken_for_a_yes_or_a_no(void **state)
{
    struct proxy *proxy = proxy_start(*state, 0);
    redlock_client *client = open_client(proxy_url(proxy));
    struct change change = {.proxy = proxy};
    redlock_report report;

    assert_result(REDLOCK_NO_QUORUM, update(client, &change, 0, &report), &report);
    assert_non_null(strstr(report.line, "not known whether the value was stored"));
    assert_int_equal(change.calls, 1);
    redlock_client_close(client);
    proxy_stop(proxy);
    fleet_command(*state, 0, "DEL", "counter", NULL);
}

static void node_that_is_away_is_named(void **state)
{
    redlock_client *client = open_client(fleet_url(*state, 0));
    struct change change = {0};
    redlock_report report;

    fleet_kill(*state, 0);
    assert_result(REDLOCK_NO_QUORUM, update(client, &change, 0, &report), &report);
    assert_non_null(strstr(report.line, "node 1 "));
    assert_int_equal(change.calls, 0);
    redlock_client_close(client);
    assert_true(fleet_restart(*state, 0));
}

static void wrong_arguments_are_refused(void **state)
{
    redlock_client *client = open_client(fleet_url(*state, 0));
    struct change change = {0};
    redlock_report report = REDLOCK_REPORT_INIT;

    assert_result(REDLOCK_INVALID, redlock_update(client, 1, "counter", 0, increment, &change, 0, &report),
                  &report);
    assert_result(REDLOCK_INVALID, redlock_update(client, 0, NULL, 0, increment, &change, 0, &report),
                  &report);
    assert_result(REDLOCK_INVALID, redlock_update(client, 0, "", 0, increment, &change, 0, &report), &report);
    assert_result(REDLOCK_INVALID, redlock_update(client, 0, "counter", 0, NULL, &change, 0, &report),
                  &report);
    assert_result(REDLOCK_INVALID,
                  redlock_update(client, 0, "redlock-guard:epoch", 0, increment, &change, 0, &report),
                  &report);
    assert_result(REDLOCK_MISUSE, redlock_update(NULL, 0, "counter", 0, increment, &change, 0, &report),
                  &report);
    report.size = 1;
    assert_int_equal(redlock_update(client, 0, "counter", 0, increment, &change, 0, &report),
                     REDLOCK_INVALID);
    assert_int_equal(change.calls, 0);
    redlock_client_close(client);
}

static void lack_of_memory_leaves_nothing_behind(void **state)
{
    struct counting_allocator counting;
    redlock_options options = options_for(fleet_url(*state, 0));
    struct change change = {0};
    redlock_report report;
    uint64_t nth = 1;
    bool failed = true;

    counting_allocator_init(&counting);
    options.allocator = &counting.allocator;
    redlock_client *client = open_with(&options);
    await_all_nodes(client);
    uint64_t before = counting_allocator_counts(&counting).live_bytes;
    for (; failed && nth < ALLOCATIONS_MAX; nth++) {
        uint64_t failures = counting_allocator_counts(&counting).failed;

        counting_allocator_fail(&counting, nth, false);
        redlock_result result = update(client, &change, 0, &report);
        failed = counting_allocator_counts(&counting).failed > failures;
        assert_true(result == REDLOCK_OK ||
                    (failed && (result == REDLOCK_NOMEM || result == REDLOCK_NO_QUORUM)));
        assert_int_equal(counting_allocator_counts(&counting).live_bytes, before);
    }
    assert_false(failed);
    assert_true(nth > 4);
    redlock_client_close(client);
    assert_int_equal(counting_allocator_counts(&counting).live_blocks, 0);
    assert_int_equal(counting_allocator_counts(&counting).mistakes, 0);
    counting_allocator_destroy(&counting);
    fleet_command(*state, 0, "DEL", "counter", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_NODES(nothing_is_lost_of_what_many_processes_add, start_one_node),
        ON_NODES(absent_key_is_told_apart_from_an_empty_one, start_one_node),
        ON_NODES(another_writer_makes_it_try_again, start_one_node),
        ON_NODES(expiry_stays_and_what_is_refused_changes_nothing, start_one_node),
        ON_NODES(value_may_be_any_bytes_and_large, start_one_node),
        ON_NODES(lost_answer_is_not_taken_for_a_yes_or_a_no, start_one_node),
        ON_NODES(node_that_is_away_is_named, start_one_node),
        ON_NODES(wrong_arguments_are_refused, start_one_node),
        ON_NODES(lack_of_memory_leaves_nothing_behind, start_one_node),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
