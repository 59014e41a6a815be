/*
 * People stand in line on real nodes, and a node is restarted, forgets them, or cannot tell them anything:
 * the order is kept, everybody has the lock once, and only the node that cannot tell is asked now and then.
 */
#include <stdio.h>
#include <string.h>

#include "support/guarded.h"
#include "support/line.h"
#include "support/steps.h"
#include "support/waiters.h"

enum { NODES = 3, WAITERS = 4 };

static struct fleet *start_fleet(const struct fleet_options *options)
{
    struct fleet *fleet = fleet_start(options);

    assert_non_null(fleet);
    return fleet;
}

/* One of our own has it, so that it is handed on. */
static redlock_lock *stand_behind(struct fleet *fleet, redlock_client *holder, struct waiter *waiters)
{
    redlock_lock *lock = take_lock(holder, WANTED, LONG_TTL_MS);
    redlock_spec spec = line_spec(REDLOCK_EXCLUSIVE);

    for (int i = 0; i < WAITERS; i++) {
        start_waiting_for(&waiters[i], line_open(fleet_urls(fleet)), &spec);
        await(line_is(fleet, i + 1));
    }
    return lock;
}

/* Each of them has it once, in this order, and nobody before its turn. */
static void expect_order(struct waiter *waiters)
{
    for (int i = 0; i < WAITERS; i++) {
        await_end(&waiters[i], REDLOCK_OK);
        for (int later = i + 1; later < WAITERS; later++)
            assert_int_equal(atomic_load(&waiters[later].done), 0);
        give_back(waiters[i].lock);
        redlock_client_close(waiters[i].client);
    }
}

/* Those in line are there again as soon as their connections are, whatever the node remembers of them. */
static void a_node_that_comes_back_finds_the_same_order(void **state)
{
    struct fleet *fleet = start_fleet(&(struct fleet_options){.node_count = NODES, .durable = true});
    redlock_client *holder = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    struct waiter waiters[WAITERS];
    redlock_lock *lock = stand_behind(fleet, holder, waiters);

    (void)state;
    fleet_kill(fleet, 1);
    assert_true(fleet_restart(fleet, 1));
    await(line_is(fleet, WAITERS));
    give_back(lock);
    expect_order(waiters);
    redlock_client_close(holder);
    await(line_is_gone(fleet));
    fleet_stop(fleet);
}

/* One that forgot does not vote, and the others know the order. */
static void a_node_that_forgot_its_line_changes_no_order(void **state)
{
    struct fleet *fleet = start_fleet(&(struct fleet_options){.node_count = NODES});
    redlock_client *holder = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    struct waiter waiters[WAITERS];
    redlock_lock *lock = stand_behind(fleet, holder, waiters);

    (void)state;
    fleet_kill(fleet, 0);
    assert_true(fleet_restart(fleet, 0));
    redlock_release(lock, NULL); /* which that node knows nothing of */
    redlock_lock_free(lock);
    expect_order(waiters);
    redlock_client_close(holder);
    fleet_stop(fleet);
}

/* ---- what was handed over ---- */

static bool is_at(struct fleet *fleet, int node, const char *owner)
{
    return strcmp(fleet_command(fleet, node, "GET", WANTED, NULL), owner) == 0;
}

/* One that has the lock, or gives it away, and one that waits for it. */
struct pair {
    struct fleet *fleet;
    redlock_client *holder, *client;
    struct waiter waiter;
};

static struct pair open_pair(void)
{
    struct pair pair = {.fleet = start_fleet(&(struct fleet_options){.node_count = NODES})};

    pair.holder = open_admitted(fleet_urls(pair.fleet), LONG_TTL_MS);
    pair.client = line_open(fleet_urls(pair.fleet));
    return pair;
}

static void close_pair(struct pair *pair)
{
    redlock_client_close(pair->holder);
    redlock_client_close(pair->client);
    fleet_stop(pair->fleet);
}

static void wait_in_line(struct pair *pair, const redlock_spec *spec)
{
    start_waiting_for(&pair->waiter, pair->client, spec);
    await(line_is(pair->fleet, 1));
}

static redlock_spec renewing_spec(void)
{
    redlock_spec spec = spec_for(WANTED, LONG_TTL_MS);

    spec.auto_extend = 1;
    spec.on_lost = ignore_loss;
    return spec;
}

/* A node that handed a lock to one that renews it remembers that, and has something to write down when it is
 * given back. */
static void full_nodes_release_what_they_handed_over(void **state)
{
    struct pair pair = open_pair();
    redlock_lock *lock = take_lock(pair.holder, WANTED, LONG_TTL_MS);
    redlock_spec spec = renewing_spec();

    (void)state;
    wait_in_line(&pair, &spec);
    give_back(lock);
    await_end(&pair.waiter, REDLOCK_OK);
    for (int node = 0; node < NODES; node++)
        fleet_command(pair.fleet, node, "CONFIG", "SET", "maxmemory", "1", NULL);
    give_back(pair.waiter.lock);
    for (int node = 0; node < NODES; node++)
        await(is_at(pair.fleet, node, "(nil)"));
    close_pair(&pair);
}

/* A process that leaves a lock to another one must not take it away from there: a node that was late hands it
 * over to the one that left. */
static void a_lock_that_was_left_is_not_given_back(void **state)
{
    struct pair pair = open_pair();
    redlock_lock *lock = take_lock(pair.holder, WANTED, LONG_TTL_MS);
    redlock_spec spec = spec_for(WANTED, LONG_TTL_MS);
    char owner[REDLOCK_OWNER_MAX + 1];

    (void)state;
    wait_in_line(&pair, &spec);
    fleet_freeze(pair.fleet, 2);
    redlock_release(lock, NULL);
    redlock_lock_free(lock);
    await_end(&pair.waiter, REDLOCK_OK);
    snprintf(owner, sizeof owner, "%s", redlock_lock_owner(pair.waiter.lock, NULL));
    redlock_lock_free(pair.waiter.lock);
    fleet_thaw(pair.fleet, 2);
    await(is_at(pair.fleet, 2, owner));
    give_back(take_lock(pair.client, "another", LONG_TTL_MS)); /* behind whatever it has told the node */
    await_all_nodes(pair.client);
    for (int node = 0; node < NODES; node++)
        assert_true(is_at(pair.fleet, node, owner));
    close_pair(&pair);
}

/* A node lost the holder's key, and gave its vote to one that waits: the holder gets it back, for it may need
 * it when others die. */
static void a_holder_gets_the_node_that_lost_its_key(void **state)
{
    struct pair pair = open_pair();
    redlock_spec spec = renewing_spec();
    char owner[REDLOCK_OWNER_MAX + 1];

    (void)state;
    spec.renew_ms = 200;
    redlock_lock *lock = take_spec(pair.holder, &spec);
    snprintf(owner, sizeof owner, "%s", redlock_lock_owner(lock, NULL));
    await(is_at(pair.fleet, 2, owner));
    spec = spec_for(WANTED, LONG_TTL_MS);
    wait_in_line(&pair, &spec);
    for (int i = 0; i < 3; i++) {
        fleet_command(pair.fleet, 2, "DEL", WANTED, NULL);
        await(is_at(pair.fleet, 2, owner));
    }
    give_back(lock);
    await_end(&pair.waiter, REDLOCK_OK);
    give_back(pair.waiter.lock);
    close_pair(&pair);
}

/* ---- nodes that cannot tell ---- */

#define NO_RESP3 "rename-command HELLO \"\"\n"
#define NO_SUBSCRIBE "user default on nopass ~* &* +@all -subscribe\n"
#define NO_CHANNEL "user default on nopass ~* resetchannels +@all\n"
#define NO_PUBLISH "user default on nopass ~* &* +@all -publish\n"

/* The last nodes cannot tell: says how often these alone, and others alone, were asked again until the lock
 * was had. */
static void expect_handed_on(const char *config, int deaf_count, bool is_known)
{
    struct fleet_options fleet_options = {.node_count = NODES};
    struct waiter waiter;

    for (int i = 0; i < deaf_count; i++)
        fleet_options.node_config[NODES - 1 - i] = config;
    struct fleet *fleet = start_fleet(&fleet_options);
    redlock_client *holder = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    redlock_lock *lock = take_lock(holder, WANTED, LONG_TTL_MS);
    redlock_options options = guarded_options(fleet_urls(fleet), LONG_TTL_MS);
    redlock_client *client;

    options.node_timeout_ms = 5000;
    client = open_heard_with(&options);
    start_waiting(&waiter, client);
    await(line_is(fleet, 1));
    if (is_known && deaf_count == 1)
        await(listener_count(&heard, "ask again 3") >= 3);
    assert_int_equal(listener_count(&heard, "ask again 2"), 0);
    give_back(lock);
    await_end(&waiter, REDLOCK_OK);
    if (deaf_count < quorum_of(fleet))
        assert_true(listener_heard(&heard, "handed over"));
    if (is_known)
        assert_int_equal(listener_count(&heard, "cannot tell when it hands a lock over"), deaf_count);
    give_back(waiter.lock);
    redlock_client_close(client);
    redlock_client_close(holder);
    await(line_is_gone(fleet));
    fleet_stop(fleet);
}

static void a_node_without_resp3_is_asked_and_only_it(void **state)
{
    (void)state;
    expect_handed_on(NO_RESP3, 1, true);
}

static void a_node_that_forbids_to_subscribe_is_asked_and_only_it(void **state)
{
    (void)state;
    expect_handed_on(NO_SUBSCRIBE, 1, true);
}

static void nodes_that_forbid_the_channel_are_asked(void **state)
{
    (void)state;
    if (fleet_server_version() < FLEET_REDIS_6_2)
        skip(); /* it knows no rights for channels */
    expect_handed_on(NO_CHANNEL, NODES, true);
}

/* The waiter cannot know it: it hears that the key is gone, as of other programs' releases. */
static void where_nobody_may_publish_a_release_is_noticed(void **state)
{
    (void)state;
    expect_handed_on(NO_PUBLISH, NODES, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_that_comes_back_finds_the_same_order),
        cmocka_unit_test(a_node_that_forgot_its_line_changes_no_order),
        cmocka_unit_test(full_nodes_release_what_they_handed_over),
        cmocka_unit_test(a_lock_that_was_left_is_not_given_back),
        cmocka_unit_test(a_holder_gets_the_node_that_lost_its_key),
        cmocka_unit_test(a_node_without_resp3_is_asked_and_only_it),
        cmocka_unit_test(a_node_that_forbids_to_subscribe_is_asked_and_only_it),
        cmocka_unit_test(nodes_that_forbid_the_channel_are_asked),
        cmocka_unit_test(where_nobody_may_publish_a_release_is_noticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
