/*
 * An operator ends somebody's hold: exactly that one, on every node, and its holder is told before anybody
 * else can have the lock.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "support/proxy.h"
#include "support/steps.h"

#define NAME "stuck"

/* What a holder is told. */
struct told {
    atomic_int lost;
    atomic_int broken;
    atomic_bool let_go; /* the callback may return */
    int causes;
    char line[320];
};

static void on_lost(void *context, redlock_lock *lock, const redlock_report *report)
{
    struct told *told = context;
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;

    (void)lock;
    for (uint32_t i = 0; redlock_report_node(report, i, &node); i++)
        told->causes += node.cause == REDLOCK_CAUSE_BROKEN;
    snprintf(told->line, sizeof told->line, "%s", report->line);
    atomic_store(&told->broken, (int)report->broken);
    atomic_fetch_add(&told->lost, 1);
    while (!atomic_load(&told->let_go))
        sleep_ms(1);
}

/* A lock that renews itself often. */
static redlock_lock *take_renewed(redlock_client *client, struct told *told)
{
    redlock_spec spec = spec_for(NAME, LONG_TTL_MS);

    spec.auto_extend = 1;
    spec.renew_ms = 100;
    spec.on_lost = on_lost;
    spec.context = told;
    return take_spec(client, &spec);
}

static redlock_break_spec break_of(const redlock_lock *lock)
{
    redlock_break_spec spec = REDLOCK_BREAK_SPEC_INIT;
    static char id[9];

    memcpy(id, redlock_lock_owner(lock, NULL), 8);
    spec.name = NAME;
    spec.id = id;
    spec.grace_ms = LONG_TTL_MS;
    return spec;
}

static void break_now(redlock_client *client, const redlock_lock *lock)
{
    redlock_break_spec spec = break_of(lock);
    redlock_report report = detailed_report();

    spec.grace_ms = REDLOCK_BREAK_NOW;
    assert_result(REDLOCK_OK, redlock_break(client, &spec, &report), &report);
}

static void holder_is_told_before_anybody_else_can_have_it(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_client *other = open_warm_client(fleet_urls(fleet));
    struct told told = {0};
    redlock_lock *lock = take_renewed(client, &told), *next;
    redlock_report report = detailed_report();
    redlock_break_spec spec = break_of(lock);
    uint64_t fence = redlock_lock_fence(lock);

    assert_result(REDLOCK_OK, redlock_break(other, &spec, &report), &report);
    assert_in_range(report.holder_ttl_left_ms, 1, LONG_TTL_MS);
    assert_memory_equal(report.holder.id, redlock_lock_owner(lock, NULL), 8);
    await(atomic_load(&told.lost) == 1);
    assert_int_equal(told.broken, 1);
    assert_true(told.causes >= quorum_of(fleet));
    assert_non_null(strstr(told.line, "an operator has broken it"));
    /* Its callback still runs: nobody gets in. */
    assert_not_had(REDLOCK_BUSY, other, NAME, &report);
    assert_int_equal(report.holder.broken, 1);
    assert_int_equal(report.broken, 1);
    atomic_store(&told.let_go, true);
    next = await_lock(other, NAME);
    if (is_guarded())
        assert_true(redlock_lock_fence(next) > fence);
    assert_int_equal(redlock_lock_validity_ms(lock), 0);
    redlock_lock_free(lock);
    give_back(next);
    redlock_client_close(client);
    redlock_client_close(other);
}

/* A node that refuses connections answers before all others do. What these say is what counts. */
static void holder_is_told_although_a_node_is_down(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_client *other = open_warm_client(fleet_urls(fleet));
    struct told told = {.let_go = true};
    redlock_lock *lock = take_renewed(client, &told);
    redlock_report report = detailed_report();
    redlock_break_spec spec = break_of(lock);

    fleet_kill(fleet, 1);
    assert_result(REDLOCK_OK, redlock_break(other, &spec, &report), &report);
    await(atomic_load(&told.lost) == 1);
    assert_int_equal(told.broken, 1);
    assert_non_null(strstr(told.line, "an operator has broken it"));
    redlock_lock_free(lock);
    give_back(await_lock(other, NAME));
    redlock_client_close(client);
    redlock_client_close(other);
}

static void now_lets_others_in_at_once(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_client *other = open_warm_client(fleet_urls(fleet));
    redlock_lock *lock = take_lock(client, NAME, LONG_TTL_MS), *next;
    redlock_report report = detailed_report();
    uint64_t fence = redlock_lock_fence(lock);

    break_now(other, lock);
    next = take_lock(other, NAME, LONG_TTL_MS);
    if (is_guarded())
        assert_true(redlock_lock_fence(next) > fence);
    assert_result(REDLOCK_NOT_HELD, redlock_release(lock, &report), &report);
    redlock_lock_free(lock);
    give_back(next);
    redlock_client_close(client);
    redlock_client_close(other);
}

static void marks_end_by_themselves(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_client *other = open_warm_client(fleet_urls(fleet));
    redlock_lock *lock = take_lock(client, NAME, LONG_TTL_MS), *next;
    redlock_report report = detailed_report();
    redlock_break_spec spec = break_of(lock);

    spec.grace_ms = 200;
    assert_result(REDLOCK_OK, redlock_break(other, &spec, &report), &report);
    next = await_lock(other, NAME);
    give_back(next);
    redlock_lock_free(lock);
    redlock_client_close(client);
    redlock_client_close(other);
}

static void successor_is_never_hit(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_lock *lock = take_lock(client, NAME, LONG_TTL_MS), *next;
    redlock_report report = detailed_report();
    redlock_break_spec spec = break_of(lock);

    give_back(lock);
    next = await_lock(client, NAME);
    assert_result(REDLOCK_NOT_HELD, redlock_break(client, &spec, &report), &report);
    assert_memory_equal(report.holder.id, redlock_lock_owner(next, NULL), 8);
    assert_result(REDLOCK_OK, redlock_extend(next, 0, &report), &report);
    give_back(next);
    assert_result(REDLOCK_NOT_HELD, redlock_break(client, &spec, &report), &report);
    assert_string_equal(report.holder.id, "");
    redlock_client_close(client);
}

static void release_and_extension_say_that_it_was_broken(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_client *other = open_warm_client(fleet_urls(fleet));
    redlock_report report = detailed_report();

    for (int extend = 0; extend < 2; extend++) {
        redlock_lock *lock = take_lock(client, NAME, LONG_TTL_MS);
        redlock_break_spec spec = break_of(lock);
        redlock_result result;

        assert_result(REDLOCK_OK, redlock_break(other, &spec, &report), &report);
        result = extend ? redlock_extend(lock, 0, &report) : redlock_release(lock, &report);
        assert_result(REDLOCK_NOT_HELD, result, &report);
        assert_int_equal(report.broken, 1);
        redlock_lock_free(lock);
        lock = await_lock(other, NAME); /* the holder knows: others need not wait for the end of the marks */
        give_back(lock);
    }
    redlock_client_close(client);
    redlock_client_close(other);
}

/* ---- votes that are under way -------------------------------------------------------------------------- */

enum { PROXIES = 3 };

/* A client behind a bad network, and the lock that it asks for; NULL: where fences have to be agreed on
 * first, it finds out before it wins. */
struct asking {
    struct proxy *proxies[PROXIES];
    redlock_client *client;
    struct told told;
    atomic_int called;
    redlock_result result;
    redlock_lock *lock;
};

static void take_answer(void *context, redlock_result result, redlock_lock *lock,
                        const redlock_report *report)
{
    struct asking *asking = context;

    (void)report;
    asking->result = result;
    asking->lock = lock;
    atomic_store(&asking->called, 1);
}

static void await_answer(struct asking *asking)
{
    await(atomic_load(&asking->called) == 1);
    assert_result(asking->lock != NULL ? REDLOCK_OK : REDLOCK_TOO_SLOW, asking->result, NULL);
}

static void connect_by_proxies(struct asking *asking, struct fleet *fleet)
{
    char urls[512] = "";

    for (int node = 0; node < PROXIES; node++) {
        asking->proxies[node] = proxy_start(fleet, node);
        assert_non_null(asking->proxies[node]);
        strcat(strcat(urls, node > 0 ? "," : ""), proxy_url(asking->proxies[node]));
    }
    redlock_options options = options_for(urls);
    options.node_timeout_ms = LONG_TTL_MS / 3; /* what is held up on the way is late, not lost */
    asking->client = open_with(&options);
    await_all_nodes(asking->client);
    give_back(take_lock(asking->client, "another", LONG_TTL_MS)); /* admitted, and every script is there */
}

static void ask(struct asking *asking)
{
    redlock_spec spec = spec_for(NAME, LONG_TTL_MS);

    spec.auto_extend = 1;
    spec.renew_ms = 100;
    spec.unbound = 1;
    spec.on_lost = on_lost;
    spec.context = &asking->told;
    assert_result(REDLOCK_OK, redlock_acquire_async(asking->client, &spec, 0, take_answer, asking, NULL),
                  NULL);
}

static bool is_there(struct fleet *fleet, int node)
{
    return strcmp(fleet_command(fleet, node, "EXISTS", NAME, NULL), "1") == 0;
}

static void break_by_value_at(redlock_client *breaker, struct fleet *fleet, int node)
{
    redlock_break_spec spec = REDLOCK_BREAK_SPEC_INIT;
    redlock_report report = detailed_report();
    char owner[REDLOCK_OWNER_MAX + 1];

    snprintf(owner, sizeof owner, "%s", fleet_command(fleet, node, "GET", NAME, NULL));
    spec.name = NAME;
    spec.id = owner;
    spec.grace_ms = LONG_TTL_MS;
    assert_result(REDLOCK_OK, redlock_break(breaker, &spec, &report), &report);
}

/* Nobody gets in before it is told; and then with a higher fence. */
static void expect_to_be_told(struct asking *asking, redlock_client *breaker)
{
    uint64_t fence = asking->lock != NULL ? redlock_lock_fence(asking->lock) : 0;
    redlock_lock *next;

    if (asking->lock != NULL) {
        await(atomic_load(&asking->told.lost) == 1);
        assert_int_equal(asking->told.broken, 1);
        assert_not_had(REDLOCK_BUSY, breaker, NAME, NULL);
        atomic_store(&asking->told.let_go, true);
    }
    next = await_lock(breaker, NAME);
    if (is_guarded())
        assert_true(redlock_lock_fence(next) > fence);
    give_back(next);
    redlock_lock_free(asking->lock);
}

static void disconnect(struct asking *asking)
{
    redlock_client_close(asking->client);
    for (int node = 0; node < PROXIES; node++)
        proxy_stop(asking->proxies[node]);
}

/* Every node has voted, and no vote has arrived. The caller wins a lock that is broken, and hears of it when
 * it renews; others are kept out until then. */
static void lock_that_is_broken_before_it_is_won_is_lost_at_its_first_renewal(void **state)
{
    struct fleet *fleet = *state;
    struct asking asking = {0};

    connect_by_proxies(&asking, fleet);
    redlock_client *breaker = open_warm_client(fleet_urls(fleet));
    for (int node = 0; node < PROXIES; node++)
        proxy_mute(asking.proxies[node], true);
    ask(&asking);
    for (int node = 0; node < PROXIES; node++)
        await(is_there(fleet, node));
    break_by_value_at(breaker, fleet, 0);
    assert_not_had(REDLOCK_BUSY, breaker, NAME, NULL);
    for (int node = 0; node < PROXIES; node++)
        proxy_mute(asking.proxies[node], false);
    await_answer(&asking);
    expect_to_be_told(&asking, breaker);
    disconnect(&asking);
    redlock_client_close(breaker);
}

/* One node has voted when the break comes, and the other votes arrive after it: a quorum has given the lock
 * to this caller after all, and nobody else has it. It is a hold like any other, and ends when it is
 * broken. */
static void votes_that_come_after_a_break_are_a_hold_that_can_be_broken(void **state)
{
    struct fleet *fleet = *state;
    struct asking asking = {0};

    connect_by_proxies(&asking, fleet);
    redlock_client *breaker = open_warm_client(fleet_urls(fleet));
    for (int node = 1; node < PROXIES; node++)
        proxy_hold(asking.proxies[node], true);
    ask(&asking);
    await(is_there(fleet, 0));
    break_by_value_at(breaker, fleet, 0);
    for (int node = 1; node < PROXIES; node++)
        proxy_hold(asking.proxies[node], false);
    await_answer(&asking);
    if (asking.lock != NULL) {
        assert_not_had(REDLOCK_BUSY, breaker, NAME, NULL);
        assert_int_equal(atomic_load(&asking.told.lost), 0);
        break_by_value_at(breaker, fleet, 1);
    }
    expect_to_be_told(&asking, breaker);
    disconnect(&asking);
    redlock_client_close(breaker);
}

/* A lock that three of five nodes have is broken there; nodes that are away hear of it when they are back. */
static void nodes_that_were_away_are_told_when_they_are_back(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_client *other = open_warm_client(fleet_urls(fleet));
    redlock_lock *lock = take_lock(client, NAME, LONG_TTL_MS);

    for (int i = 0; i < 5; i++)
        await(strcmp(fleet_command(fleet, i, "EXISTS", NAME, NULL), "1") == 0);
    fleet_freeze(fleet, 3);
    fleet_freeze(fleet, 4);
    break_now(other, lock);
    for (int i = 0; i < 3; i++)
        assert_string_equal(fleet_command(fleet, i, "EXISTS", NAME, NULL), "0");
    fleet_thaw(fleet, 3);
    fleet_thaw(fleet, 4);
    for (int i = 3; i < 5; i++)
        await(strcmp(fleet_command(fleet, i, "EXISTS", NAME, NULL), "0") == 0);
    redlock_lock_free(lock);
    redlock_client_close(client);
    redlock_client_close(other);
}

static void holder_keeps_it_where_too_few_nodes_can_be_told(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_lock *lock = take_lock(client, NAME, LONG_TTL_MS);
    redlock_break_spec spec = break_of(lock);
    redlock_report report = detailed_report();
    redlock_client *other;
    char urls[2000];

    /* The operator sees two of five nodes. */
    snprintf(urls, sizeof urls, "%s,%s,unix:///nowhere/a,unix:///nowhere/b,unix:///nowhere/c",
             fleet_url(fleet, 0), fleet_url(fleet, 1));
    other = open_client(urls);
    spec.grace_ms = REDLOCK_BREAK_NOW;
    assert_result(REDLOCK_NO_QUORUM, redlock_break(other, &spec, &report), &report);
    assert_result(REDLOCK_OK, redlock_extend(lock, 0, &report), &report);
    give_back(lock);
    redlock_client_close(client);
    redlock_client_close(other);
}

static void another_program_s_lock_is_broken_by_its_value(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_break_spec spec = REDLOCK_BREAK_SPEC_INIT;
    redlock_report report = detailed_report();

    spec.name = NAME;
    spec.grace_ms = REDLOCK_BREAK_NOW;
    for (int whole = 0; whole < 2; whole++) {
        for (int i = 0; i < 3; i++)
            fleet_command(fleet, i, "SET", NAME, "aB3/xyz+their-own-value", NULL); /* it never expires */
        spec.id = whole ? "aB3/xyz+their-own-value" : "aB3/xyz+";
        assert_result(REDLOCK_OK, redlock_break(client, &spec, &report), &report);
        assert_int_equal(report.granted, 3);
        for (int i = 0; i < 3; i++)
            assert_string_equal(fleet_command(fleet, i, "EXISTS", NAME, NULL), "0");
    }
    redlock_client_close(client);
}

static void id_that_names_two_is_refused(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_break_spec spec = REDLOCK_BREAK_SPEC_INIT;
    redlock_report report = detailed_report();

    fleet_command(fleet, 0, "SET", NAME, "12345678-one", "PX", "600000", NULL);
    fleet_command(fleet, 1, "SET", NAME, "12345678-two", "PX", "600000", NULL);
    spec.name = NAME;
    spec.id = "12345678";
    assert_result(REDLOCK_INVALID, redlock_break(client, &spec, &report), &report);
    assert_string_equal(fleet_command(fleet, 0, "GET", NAME, NULL), "12345678-one");
    spec.id = "12345678-two";
    spec.grace_ms = REDLOCK_BREAK_NOW;
    assert_result(REDLOCK_OK, redlock_break(client, &spec, &report), &report);
    assert_string_equal(fleet_command(fleet, 0, "GET", NAME, NULL), "12345678-one");
    assert_string_equal(fleet_command(fleet, 1, "EXISTS", NAME, NULL), "0");
    fleet_command(fleet, 0, "DEL", NAME, NULL);
    redlock_client_close(client);
}

static void wrong_arguments_are_named(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_break_spec spec = REDLOCK_BREAK_SPEC_INIT;
    redlock_report report = detailed_report();

    assert_result(REDLOCK_INVALID, redlock_break(client, NULL, &report), &report);
    spec.name = NAME;
    assert_result(REDLOCK_INVALID, redlock_break(client, &spec, &report), &report);
    assert_non_null(strstr(report.line, "id is empty"));
    spec.id = "12345678";
    spec.grace_ms = -2;
    assert_result(REDLOCK_INVALID, redlock_break(client, &spec, &report), &report);
    assert_non_null(strstr(report.line, "grace_ms"));
    spec.grace_ms = 0;
    spec.name = "redlock-guard:epoch";
    assert_result(REDLOCK_INVALID, redlock_break(client, &spec, &report), &report);
    assert_int_equal(redlock_break(NULL, &spec, &report), REDLOCK_MISUSE);
    redlock_client_close(client);
}

static void done(void *context, redlock_result result, const redlock_report *report)
{
    (void)report;
    atomic_store((atomic_int *)context, (int)result + 1);
}

static void twin_calls_back_once_and_cannot_be_cancelled(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_lock *lock = take_lock(client, NAME, LONG_TTL_MS);
    redlock_break_spec spec = break_of(lock);
    atomic_int ended = 0;
    redlock_request request = 0;
    redlock_result result;

    spec.grace_ms = REDLOCK_BREAK_NOW;
    assert_int_equal(redlock_break_async(client, &spec, done, &ended, &request), REDLOCK_OK);
    result = redlock_cancel(client, request);
    assert_true(result == REDLOCK_MISUSE || result == REDLOCK_NOT_HELD);
    await(atomic_load(&ended) == REDLOCK_OK + 1);
    redlock_lock_free(lock);
    redlock_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_1_3_5_NODES(holder_is_told_before_anybody_else_can_have_it),
        ON_1_3_5_NODES(now_lets_others_in_at_once),
        ON_NODES(holder_is_told_although_a_node_is_down, start_five_nodes),
        ON_NODES(marks_end_by_themselves, start_three_nodes),
        ON_NODES(successor_is_never_hit, start_three_nodes),
        ON_NODES(release_and_extension_say_that_it_was_broken, start_three_nodes),
        ON_NODES(lock_that_is_broken_before_it_is_won_is_lost_at_its_first_renewal, start_three_nodes),
        ON_NODES(votes_that_come_after_a_break_are_a_hold_that_can_be_broken, start_three_nodes),
        ON_NODES(nodes_that_were_away_are_told_when_they_are_back, start_five_nodes),
        ON_NODES(holder_keeps_it_where_too_few_nodes_can_be_told, start_five_nodes),
        ON_NODES(another_program_s_lock_is_broken_by_its_value, start_three_nodes),
        ON_NODES(id_that_names_two_is_refused, start_three_nodes),
        ON_NODES(wrong_arguments_are_named, start_one_node),
        ON_NODES(twin_calls_back_once_and_cannot_be_cancelled, start_three_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
