/*
 * One runaway node among real ones: whatever it sends and however much of it, locks are renewed, losses are
 * reported and other callers do not notice.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/fake_node.h"
#include "support/steps.h"

enum { TTL_MS = 10000, RENEW_MS = 300, RENEWALS = 6, GARBAGE = 30000, FLOOD = 16000 };

#define PUSH ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\na\r\n"

struct told {
    atomic_int renewed, lost;
};

static void on_renewed(void *context, redlock_lock *lock, const redlock_report *report)
{
    struct told *told = context;

    (void)lock;
    if (report->result == REDLOCK_OK)
        atomic_fetch_add(&told->renewed, 1);
}

static void on_lost(void *context, redlock_lock *lock, const redlock_report *report)
{
    struct told *told = context;

    (void)lock;
    (void)report;
    atomic_fetch_add(&told->lost, 1);
}

static redlock_client *open_with_fake(const struct fleet *fleet, const struct fake_node *fake)
{
    char urls[1024];
    redlock_options options = options_for(urls);

    snprintf(urls, sizeof urls, "%s,%s", fleet_urls(fleet), fake_node_url(fake));
    options.mode = REDLOCK_PLAIN;
    return open_with(&options);
}

/* Pushes may come at any time, so they may be all that comes, as fast as they can be read. */
static void a_flood_of_pushes_keeps_no_lock_from_being_renewed(void **state)
{
    static char flood[FLOOD];
    struct fleet *fleet = fleet_start(&(struct fleet_options){.node_count = 2});
    struct fake_node *fake = fake_node_start(FAKE_TCP);
    redlock_client *client = open_with_fake(fleet, fake);
    redlock_spec spec = spec_for("lock", TTL_MS);
    struct told told = {0};
    redlock_lock *lock;

    (void)state;
    await_all_nodes(client);
    for (size_t length = 0; length + sizeof PUSH <= sizeof flood; length += sizeof PUSH - 1)
        memcpy(flood + length, PUSH, sizeof PUSH);
    fake_node_endless(fake, "EVAL", "", flood);
    fake_node_endless(fake, "EVALSHA", "", flood);
    spec.auto_extend = 1;
    spec.renew_ms = RENEW_MS;
    spec.on_renewed = on_renewed;
    spec.on_lost = on_lost;
    spec.context = &told;
    lock = take_spec(client, &spec);
    await(atomic_load(&told.renewed) >= RENEWALS);
    assert_true(redlock_lock_validity_ms(lock) > 0);
    assert_int_equal(atomic_load(&told.lost), 0);
    give_back(lock);
    redlock_client_close(client);
    fake_node_stop(fake);
    fleet_stop(fleet);
}

/* Nonsense breaks the connection, that ends the round, its release wants the connection back, and it is being
 * made anew: all of it while the nonsense is being read. */
static void a_connection_that_breaks_while_it_is_read_is_not_read_on(void **state)
{
    static char garbage[GARBAGE + 1];
    struct fake_node *fake = fake_node_start(FAKE_TCP);
    redlock_options options = options_for(fake_node_url(fake));
    redlock_spec spec = spec_for("lock", TTL_MS);
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_client *client;
    redlock_lock *lock = NULL;

    (void)state;
    options.mode = REDLOCK_PLAIN;
    client = open_with(&options);
    await_all_nodes(client);
    memset(garbage, '?', GARBAGE);
    fake_node_reply(fake, "SET", garbage);
    fake_node_shut(fake);
    assert_result(REDLOCK_NO_QUORUM, redlock_try_acquire(client, &spec, &lock, &report), &report);
    assert_null(lock);
    redlock_client_close(client);
    fake_node_stop(fake);
}

/* Nodes that take no packets: the wait is over long before their connections are given up, and counts from
 * the call on. */
static void a_wait_bounds_the_first_connections_too(void **state)
{
    enum { CONNECT_MS = 60000 };
    struct fake_node *fake = fake_node_start(FAKE_TCP);
    redlock_options options = options_for(fake_node_url(fake));
    redlock_spec spec = spec_for("lock", TTL_MS);
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_lock *lock = NULL;
    redlock_client *client;

    (void)state;
    fake_node_shut(fake);
    options.mode = REDLOCK_PLAIN;
    options.connect_timeout_ms = CONNECT_MS;
    options.node_timeout_ms = 100;
    client = open_with(&options);
    for (int64_t wait_ms = 1; wait_ms < 1000; wait_ms += 500) {
        assert_result(REDLOCK_NO_QUORUM, redlock_acquire(client, &spec, wait_ms, &lock, &report), &report);
        assert_in_range(report.waited_ms, wait_ms, CONNECT_MS / 2);
    }
    redlock_client_close(client);
    fake_node_stop(fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_flood_of_pushes_keeps_no_lock_from_being_renewed),
        cmocka_unit_test(a_connection_that_breaks_while_it_is_read_is_not_read_on),
        cmocka_unit_test(a_wait_bounds_the_first_connections_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
