/*
 * Tests of the test support: the fleet of real nodes, the scripted node and the counting allocator. A fault
 * that does not happen would make every test built on it meaningless.
 */
#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/check.h"
#include "support/counting_allocator.h"
#include "support/fake_node.h"
#include "support/fleet.h"

/* ---- fleet --------------------------------------------------------------------------------------------- */

static void fleet_answers_and_leaves_nothing_behind(void **state)
{
    struct fleet_options options = {.node_count = 3};
    struct fleet *fleet = fleet_start(&options);
    struct stat status;
    char folder[128];

    (void)state;
    assert_non_null(fleet);
    assert_int_equal(fleet_size(fleet), 3);
    assert_non_null(strchr(fleet_urls(fleet), ','));
    assert_memory_equal(fleet_url(fleet, 0), "unix:///", 8);
    assert_string_equal(fleet_command(fleet, 1, "SET", "a", "1", NULL), "OK");
    assert_string_equal(fleet_command(fleet, 1, "GET", "a", NULL), "1");
    assert_string_equal(fleet_command(fleet, 2, "GET", "a", NULL), "(nil)");
    assert_int_equal(fleet_key_count(fleet, 1), 1);
    assert_int_equal(fleet_key_count(fleet, 2), 0);
    fleet_wipe(fleet, 1);
    assert_string_equal(fleet_leftovers(fleet, 40), "");

    pid_t pid = fleet_pid(fleet, 0);
    strcpy(folder, fleet_folder(fleet));
    fleet_freeze(fleet, 2);
    fleet_stop(fleet);
    assert_int_equal(kill(pid, 0), -1);
    assert_int_equal(stat(folder, &status), -1);
}

static void leftovers_are_named(void **state)
{
    struct fleet_options options = {.node_count = 1};
    struct fleet *fleet = fleet_start(&options);

    (void)state;
    assert_non_null(fleet);
    fleet_command(fleet, 0, "SET", "orphan", "1", NULL);
    assert_string_equal(fleet_leftovers(fleet, 40), "node 0: orphan\n");
    fleet_stop(fleet);
}

static void frozen_node_is_silent_until_it_thaws(void **state)
{
    struct fleet_options options = {.node_count = 1};
    struct fleet *fleet = fleet_start(&options);
    struct timeval briefly = {0, 100000};

    (void)state;
    assert_non_null(fleet);
    const char *path = fleet_url(fleet, 0) + strlen("unix://");
    fleet_freeze(fleet, 0);
    redisContext *link = redisConnectUnixWithTimeout(path, briefly);
    assert_int_equal(link->err, 0);
    redisSetTimeout(link, briefly);
    assert_null(redisCommand(link, "PING"));
    redisFree(link);
    fleet_thaw(fleet, 0);
    assert_string_equal(fleet_command(fleet, 0, "PING", NULL), "PONG");
    fleet_stop(fleet);
}

static void killed_node_loses_its_data_unless_it_is_durable(void **state)
{
    (void)state;
    for (int durable = 0; durable < 2; durable++) {
        struct fleet_options options = {.node_count = 1, .transport = FLEET_TCP, .durable = durable};
        struct fleet *fleet = fleet_start(&options);
        assert_non_null(fleet);
        fleet_command(fleet, 0, "SET", "a", "1", NULL);
        fleet_kill(fleet, 0);
        assert_string_equal(fleet_command(fleet, 0, "PING", NULL), "(no answer)");
        assert_true(fleet_restart(fleet, 0));
        assert_int_equal(fleet_key_count(fleet, 0), durable);
        fleet_kill(fleet, 0);
        fleet_wipe(fleet, 0);
        assert_true(fleet_restart(fleet, 0));
        assert_int_equal(fleet_key_count(fleet, 0), 0);
        fleet_stop(fleet);
    }
}

static void extra_lines_reach_one_node_only(void **state)
{
    struct fleet_options options = {
        .node_count = 2,
        .config = "requirepass secret",
        .node_config = {NULL, "maxmemory 50mb"},
    };
    struct fleet *fleet = fleet_start(&options);

    (void)state;
    assert_non_null(fleet);
    assert_string_equal(fleet_command(fleet, 0, "CONFIG", "GET", "requirepass", NULL), "requirepass\nsecret");
    assert_string_equal(fleet_command(fleet, 0, "CONFIG", "GET", "maxmemory", NULL), "maxmemory\n0");
    assert_string_equal(fleet_command(fleet, 1, "CONFIG", "GET", "maxmemory", NULL), "maxmemory\n52428800");
    fleet_stop(fleet);
}

static void tls_nodes_have_certificates(void **state)
{
    struct fleet_options options = {.node_count = 1, .transport = FLEET_TLS};
    struct fleet *fleet = fleet_start(&options);
    char path[160];

    (void)state;
    assert_non_null(fleet);
    assert_memory_equal(fleet_url(fleet, 0), "rediss://127.0.0.1:", 19);
    snprintf(path, sizeof(path), "%s/ca.pem", fleet_folder(fleet));
    assert_int_equal(access(path, R_OK), 0);
    assert_string_equal(fleet_command(fleet, 0, "PING", NULL), "PONG");
    fleet_stop(fleet);
}

/* ---- fake node ----------------------------------------------------------------------------------------- */

static redisContext *connect_fake(const struct fake_node *fake)
{
    const char *url = fake_node_url(fake);
    struct timeval timeout = {20, 0}; /* for a machine that is busy: no test here waits for it to pass */
    redisContext *link = strncmp(url, "unix://", 7) == 0
                             ? redisConnectUnixWithTimeout(url + 7, timeout)
                             : redisConnectWithTimeout("127.0.0.1", atoi(url + 18), timeout);

    assert_non_null(link);
    assert_int_equal(link->err, 0);
    redisSetTimeout(link, timeout);
    return link;
}

/* Sends one command and compares the text of its answer; NULL: there must be none. */
static void assert_says(redisContext *link, const char *command, const char *expected)
{
    redisReply *reply = redisCommand(link, command);

    if (expected == NULL) {
        assert_null(reply);
        return;
    }
    assert_non_null(reply);
    assert_string_equal(reply->str, expected);
    freeReplyObject(reply);
}

static void fake_node_answers_like_a_free_one(void **state)
{
    (void)state;
    for (enum fake_transport transport = FAKE_UNIX; transport <= FAKE_TCP; transport++) {
        struct fake_node *fake = fake_node_start(transport);
        assert_non_null(fake);
        redisContext *link = connect_fake(fake);
        assert_says(link, "PING", "PONG");
        assert_says(link, "SET a b NX PX 100", "OK");
        assert_says(link, "WHAT", "ERR unknown command 'WHAT'");
        redisReply *reply = redisCommand(link, "HELLO 2");
        assert_int_equal(reply->elements, 14);
        freeReplyObject(reply);
        assert_string_equal(fake_node_transcript(fake), "PING\nSET a b NX PX 100\nWHAT\nHELLO 2\n");
        assert_int_equal(fake_node_received(fake, "SET"), 1);
        assert_int_equal(fake_node_received(fake, "*"), 4);
        redisFree(link);
        fake_node_stop(fake);
    }
}

static void fake_node_follows_its_rules(void **state)
{
    struct fake_node *fake = fake_node_start(FAKE_UNIX);

    (void)state;
    assert_non_null(fake);
    redisContext *link = connect_fake(fake);
    fake_node_fail(fake, "*", "LOADING wait");
    fake_node_fail(fake, "SET", "OOM no");
    assert_says(link, "SET a b", "OOM no");
    assert_says(link, "PING", "LOADING wait");
    fake_node_behave(fake);
    assert_says(link, "PING", "PONG");
    fake_node_trickle(fake, true);
    assert_says(link, "PING", "PONG");
    fake_node_silence(fake, "PING");
    redisAppendCommand(link, "PING");
    assert_says(link, "SELECT 0", "OK");
    assert_int_equal(fake_node_received(fake, "PING"), 4);
    redisFree(link);
    fake_node_stop(fake);
}

static void fake_node_keeps_an_answer_until_told(void **state)
{
    struct fake_node *fake = fake_node_start(FAKE_UNIX);

    (void)state;
    assert_non_null(fake);
    fake_node_hold(fake, "SET");
    redisContext *link = connect_fake(fake);
    redisContext *other = connect_fake(fake);
    int done = 0;
    redisAppendCommand(link, "SET a b");
    redisAppendCommand(link, "PING");
    redisBufferWrite(link, &done);
    assert_true(fake_node_await(fake, "SET", 1));
    assert_says(other, "PING", "PONG");
    assert_int_equal(fake_node_received(fake, "PING"), 1);
    fake_node_resume(fake);
    redisReply *reply = NULL;
    assert_int_equal(redisGetReply(link, (void **)&reply), REDIS_OK);
    assert_string_equal(reply->str, "OK");
    freeReplyObject(reply);
    assert_int_equal(redisGetReply(link, (void **)&reply), REDIS_OK);
    assert_string_equal(reply->str, "PONG");
    freeReplyObject(reply);
    assert_string_equal(fake_node_transcript(fake), "SET a b\nPING\nPING\n");
    redisFree(link);
    redisFree(other);
    fake_node_stop(fake);
}

static void fake_node_cuts_and_hangs_up_and_never_ends(void **state)
{
    struct fake_node *fake = fake_node_start(FAKE_UNIX);

    (void)state;
    assert_non_null(fake);
    fake_node_cut(fake, "PING", 3);
    redisContext *link = connect_fake(fake);
    assert_says(link, "PING", NULL);
    assert_int_equal(link->err, REDIS_ERR_EOF);
    redisFree(link);

    link = connect_fake(fake);
    assert_says(link, "SELECT 0", "OK");
    fake_node_hang_up(fake);
    char bytes[64];
    assert_int_equal(read(link->fd, bytes, sizeof(bytes)), 0);
    redisFree(link);

    fake_node_endless(fake, "GET", "$100000000\r\n", "0123456789abcdef");
    link = connect_fake(fake);
    assert_int_equal(write(link->fd, "*1\r\n$3\r\nGET\r\n", 13), 13);
    size_t total = 0;
    char *heap = malloc(65536);
    while (total < 4000000) {
        ssize_t got = read(link->fd, heap, 65536);
        assert_true(got > 0);
        total += (size_t)got;
    }
    free(heap);
    redisFree(link);
    fake_node_stop(fake);
}

static void fake_node_pushes_unasked(void **state)
{
    struct fake_node *fake = fake_node_start(FAKE_TCP);

    (void)state;
    assert_non_null(fake);
    redisContext *link = connect_fake(fake);
    assert_says(link, "PING", "PONG");
    fake_node_push(fake, "+hey\r\n");
    redisReply *reply = NULL;
    assert_int_equal(redisGetReply(link, (void **)&reply), REDIS_OK);
    assert_string_equal(reply->str, "hey");
    freeReplyObject(reply);
    redisFree(link);
    fake_node_stop(fake);
}

/* ---- allocator ----------------------------------------------------------------------------------------- */

static void allocator_counts_and_fails_the_nth(void **state)
{
    struct counting_allocator counting;

    (void)state;
    counting_allocator_init(&counting);
    const redlock_allocator *allocator = &counting.allocator;
    counting_allocator_fail(&counting, 2, false);
    void *first = allocator->allocate(allocator->context, 10);
    assert_non_null(first);
    assert_null(allocator->allocate(allocator->context, 20));
    void *third = allocator->allocate(allocator->context, 30);
    assert_non_null(third);
    struct allocation_counts counts = counting_allocator_counts(&counting);
    assert_int_equal(counts.requests, 3);
    assert_int_equal(counts.failed, 1);
    assert_int_equal(counts.live_blocks, 2);
    assert_int_equal(counts.live_bytes, 40);
    counting_allocator_fail(&counting, 1, true);
    assert_null(allocator->allocate(allocator->context, 1));
    assert_null(allocator->allocate(allocator->context, 1));

    allocator->release(allocator->context, third, 29);
    assert_int_equal(counting_allocator_counts(&counting).mistakes, 1);
    allocator->release(allocator->context, third, 30);
    allocator->release(allocator->context, first, 10);
    allocator->release(allocator->context, NULL, 0);
    counts = counting_allocator_counts(&counting);
    assert_int_equal(counts.live_blocks, 0);
    assert_int_equal(counts.live_bytes, 0);
    assert_int_equal(counts.mistakes, 1);
    counting_allocator_destroy(&counting);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fleet_answers_and_leaves_nothing_behind),
        cmocka_unit_test(leftovers_are_named),
        cmocka_unit_test(frozen_node_is_silent_until_it_thaws),
        cmocka_unit_test(killed_node_loses_its_data_unless_it_is_durable),
        cmocka_unit_test(extra_lines_reach_one_node_only),
        cmocka_unit_test(tls_nodes_have_certificates),
        cmocka_unit_test(fake_node_answers_like_a_free_one),
        cmocka_unit_test(fake_node_follows_its_rules),
        cmocka_unit_test(fake_node_keeps_an_answer_until_told),
        cmocka_unit_test(fake_node_cuts_and_hangs_up_and_never_ends),
        cmocka_unit_test(fake_node_pushes_unasked),
        cmocka_unit_test(allocator_counts_and_fails_the_nth),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
