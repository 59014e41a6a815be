/*
 * A million keys and ten thousand locks on every node: a list meets every lock, and no command of it keeps a
 * node for long. The nodes' own slow log is the judge.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/steps.h"

enum { KEYS = 1000000, LOCKS = 10000, SLOW_US = 5000, APPEALS = 10, WORDS_MAX = 32 };

/* Keys of all sorts of a busy server, and locks among them, made by the nodes themselves. */
static const char fill[] =
    "for i = ARGV[1] + 0, ARGV[2] + 0 do\n"
    "    if i % 100 == 0 then\n"
    "        redis.call('SET', 'lock:' .. (i / 100), '0123456789abcdef0123456789abcdef|host=h|pid=1', 'PX', 3600000)\n"
    "    elseif i % 4 == 0 then\n"
    "        redis.call('HSET', 'hash:' .. i, 'field', i)\n"
    "    elseif i % 4 == 1 then\n"
    "        redis.call('SET', 'cache:' .. i, string.rep('x', 60), 'PX', 3600000)\n"
    "    else\n"
    "        redis.call('SET', 'key:' .. i, i)\n"
    "    end\n"
    "end\n"
    "return redis.call('DBSIZE')";

static int start_big_nodes(void **state)
{
    struct fleet_options options = {.node_count = 3};

    *state = fleet_start(&options);
    return *state == NULL;
}

/* There is too much on them to look for leftovers. */
static int stop_big_nodes(void **state)
{
    fleet_stop(*state);
    return 0;
}

static void fill_nodes(struct fleet *fleet)
{
    char first[16], last[16];

    for (int node = 0; node < fleet_size(fleet); node++) {
        for (int i = 0; i < KEYS; i += 50000) {
            snprintf(first, sizeof first, "%d", i);
            snprintf(last, sizeof last, "%d", i + 49999);
            fleet_command(fleet, node, "EVAL", fill, "0", first, last, NULL);
        }
        assert_string_equal(fleet_command(fleet, node, "DBSIZE", NULL), "1000000");
    }
}

struct seen {
    int count;
    unsigned char met[LOCKS];
};

static int meet(void *context, const redlock_listed *lock)
{
    struct seen *seen = context;
    int number = atoi(lock->name + strlen("lock:"));

    assert_in_range(number, 0, LOCKS - 1);
    seen->met[number]++;
    seen->count++;
    return 0;
}

static void list_all(redlock_client *client)
{
    redlock_report report = detailed_report();
    static struct seen seen;

    memset(&seen, 0, sizeof seen);
    assert_result(REDLOCK_OK, redlock_list(client, NULL, meet, &seen, &report), &report);
    assert_int_equal(seen.count, LOCKS);
    for (int i = 0; i < LOCKS; i++)
        assert_int_equal(seen.met[i], 1);
}

static void empty_slow_logs(struct fleet *fleet)
{
    char limit[16];

    snprintf(limit, sizeof limit, "%d", SLOW_US);
    for (int node = 0; node < fleet_size(fleet); node++) {
        fleet_command(fleet, node, "CONFIG", "SET", "slowlog-log-slower-than", limit, NULL);
        fleet_command(fleet, node, "SLOWLOG", "RESET", NULL);
        fleet_command(fleet, node, "CONFIG", "RESETSTAT", NULL);
    }
}

/* How long the scripts took, by the nodes that tell (Redis from 7.0, Valkey); for people to read. */
static void show_latencies(struct fleet *fleet)
{
    static const char field[] = "latency_percentiles_usec_evalsha:";

    for (int node = 0; node < fleet_size(fleet); node++) {
        const char *found = strstr(fleet_command(fleet, node, "INFO", "latencystats", NULL), field);

        if (found != NULL)
            print_message("# node %d: %.*s us\n", node + 1, (int)strcspn(found + sizeof field - 1, "\r\n"),
                          found + sizeof field - 1);
    }
}

/* One command of a slow log. */
struct slow {
    const char *words[WORDS_MAX];
    size_t lengths[WORDS_MAX];
    int count;
};

/* An entry is a number, a time, a duration, the words of the command, and the address and the name of the
 * client. */
static bool next_slow(char **lines, struct slow *slow)
{
    slow->count = 0;
    for (int i = 0; i < 3; i++)
        if (strsep(lines, "\n") == NULL || *lines == NULL)
            return false;
    while (*lines != NULL && slow->count < WORDS_MAX) {
        char *word = strsep(lines, "\n");

        if (word[0] == '/' && strcmp(word + strlen(word) - 2, ":0") == 0)
            break; /* the address of a client that came by a unix socket */
        slow->words[slow->count] = word;
        slow->lengths[slow->count++] = strlen(word);
    }
    strsep(lines, "\n");
    return slow->count > 0;
}

/* The slow log measures by the wall: a node that a busy machine does not let run is slow, too. What is slow
 * by itself is so every time. */
static bool is_always_slow(struct fleet *fleet, int node, struct slow *slow)
{
    for (int i = 0; i < APPEALS; i++) {
        fleet_command(fleet, node, "SLOWLOG", "RESET", NULL);
        fleet_command_bytes(fleet, node, slow->count, slow->words, slow->lengths);
        if (strcmp(fleet_command(fleet, node, "SLOWLOG", "LEN", NULL), "0") == 0)
            return false;
    }
    return true;
}

static void assert_nothing_is_slow(struct fleet *fleet)
{
    for (int node = 0; node < fleet_size(fleet); node++) {
        char *log = strdup(fleet_command(fleet, node, "SLOWLOG", "GET", "128", NULL)), *lines = log;
        struct slow slow;

        while (next_slow(&lines, &slow))
            if (is_always_slow(fleet, node, &slow))
                fail_msg("node %d: %s takes longer than 5 ms", node + 1, slow.words[0]);
        free(log);
    }
}

static void no_command_of_a_list_keeps_a_node_for_5_ms(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_client(fleet_urls(fleet));

    fill_nodes(fleet);
    empty_slow_logs(fleet);
    list_all(client);
    show_latencies(fleet);
    assert_nothing_is_slow(fleet);
    redlock_client_close(client);
}

/* The judge itself: what really takes long is found. */
static void a_slow_command_is_found(void **state)
{
    struct fleet *fleet = *state;
    char *log, *lines;
    struct slow slow;

    empty_slow_logs(fleet);
    fleet_command(fleet, 0, "KEYS", "no-such-key", NULL);
    lines = log = strdup(fleet_command(fleet, 0, "SLOWLOG", "GET", "128", NULL));
    assert_true(next_slow(&lines, &slow));
    assert_string_equal(slow.words[0], "KEYS");
    assert_true(is_always_slow(fleet, 0, &slow));
    free(log);
}

static int count_held(void *context, const redlock_event *event)
{
    int *count = context;

    assert_int_equal(event->change, REDLOCK_CHANGE_HELD);
    return ++*count == LOCKS;
}

static void watch_begins_with_all_of_them_and_keeps_no_node_either(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_client(fleet_urls(fleet));
    redlock_report report = detailed_report();
    int count = 0;

    empty_slow_logs(fleet);
    assert_result(REDLOCK_CANCELED, redlock_watch(client, NULL, count_held, &count, &report), &report);
    show_latencies(fleet);
    assert_nothing_is_slow(fleet);
    redlock_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_command_of_a_list_keeps_a_node_for_5_ms),
        cmocka_unit_test(a_slow_command_is_found),
        cmocka_unit_test(watch_begins_with_all_of_them_and_keeps_no_node_either),
    };

    return cmocka_run_group_tests(tests, start_big_nodes, stop_big_nodes);
}
