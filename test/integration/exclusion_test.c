/*
 * One holder at a time, on 1, 3 and 5 real nodes: acquiring, waiting, extending, releasing, adopting, and
 * what the report says about each. Faults of nodes are in node_loss_test and hostile_node_test.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/details.h"
#include "support/fake_node.h"
#include "support/steps.h"

/* ---- one client ---------------------------------------------------------------------------------------- */

static void lock_is_a_plain_key_with_a_ttl_on_every_node(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_lock *lock = take_lock(client, "plain", LONG_TTL_MS);
    size_t length = 0;

    for (int i = 0; i < fleet_size(fleet); i++) {
        await(fleet_key_count(fleet, i) >= 1);
        assert_string_equal(fleet_command(fleet, i, "TYPE", "plain", NULL), "string");
        assert_string_equal(fleet_command(fleet, i, "GET", "plain", NULL), redlock_lock_owner(lock, NULL));
        int64_t left_ms = atoll(fleet_command(fleet, i, "PTTL", "plain", NULL));
        assert_in_range(left_ms, 1, LONG_TTL_MS);
        /* The holder never counts on more time than the node grants it. */
        assert_true(redlock_lock_validity_ms(lock) <= left_ms);
    }
    assert_string_equal(redlock_lock_name(lock, &length), "plain");
    assert_int_equal(length, 5);
    give_back(lock);
    redlock_client_close(client);
}

static void report_of_a_won_lock_says_how(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_spec spec = spec_for("won", LONG_TTL_MS);
    redlock_report report = detailed_report();
    redlock_lock *lock = NULL;

    redlock_result result = redlock_try_acquire(client, &spec, &lock, &report);
    assert_result(REDLOCK_OK, result, &report);
    assert_report_is_sound(&report, REDLOCK_OK, fleet);
    assert_true(report.granted >= report.quorum);
    assert_int_equal(report.rounds, 1);
    assert_in_range(report.validity_ms, 1, LONG_TTL_MS - 1);
    assert_true(redlock_lock_validity_ms(lock) <= report.validity_ms);
    assert_true(report.fence == redlock_lock_fence(lock));
    assert_string_equal(report.holder.id, "");
    for (uint32_t i = 0; i < report.node_count; i++)
        if (node_of(&report, i).verdict == REDLOCK_VERDICT_GRANTED)
            assert_true(node_of(&report, i).latency_us >= 0);

    assert_result(REDLOCK_OK, redlock_release(lock, &report), &report);
    assert_report_is_sound(&report, REDLOCK_OK, fleet);
    assert_int_equal(report.validity_ms, 0);
    assert_int_equal(redlock_lock_validity_ms(lock), 0);
    redlock_lock_free(lock);
    redlock_client_close(client);
}

static void released_lock_is_free_at_once(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_client(fleet_urls(fleet));
    redlock_client *other = open_client(fleet_urls(fleet));

    for (int i = 0; i < 20; i++)
        give_back(take_lock(i % 2 == 0 ? client : other, "turns", LONG_TTL_MS));
    redlock_client_close(client);
    redlock_client_close(other);
}

static void release_twice_says_not_held(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_client(fleet_urls(fleet));
    redlock_lock *lock = take_lock(client, "twice", LONG_TTL_MS);

    assert_result(REDLOCK_OK, redlock_release(lock, NULL), NULL);
    assert_result(REDLOCK_NOT_HELD, redlock_release(lock, NULL), NULL);
    assert_result(REDLOCK_NOT_HELD, redlock_extend(lock, 0, NULL), NULL);
    assert_int_equal(redlock_lock_validity_ms(lock), 0);
    redlock_lock_free(lock);
    redlock_client_close(client);
}

static void every_attempt_has_its_own_secret(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_client(fleet_urls(fleet));
    char first[REDLOCK_OWNER_MAX + 1];

    redlock_lock *lock = take_lock(client, "secret", LONG_TTL_MS);
    snprintf(first, sizeof(first), "%s", redlock_lock_owner(lock, NULL));
    give_back(lock);
    lock = take_lock(client, "secret", LONG_TTL_MS);
    assert_string_not_equal(redlock_lock_owner(lock, NULL), first);
    /* What differs must be the random part, not only the time at the end. */
    assert_memory_not_equal(redlock_lock_owner(lock, NULL), first, 16);
    give_back(lock);
    redlock_client_close(client);
}

static void anonymous_owner_says_nothing_about_its_holder(void **state)
{
    struct fleet *fleet = *state;
    redlock_options options = options_for(fleet_urls(fleet));
    redlock_spec spec = spec_for("anonymous", LONG_TTL_MS);
    redlock_holder holder;

    options.anonymous = 1;
    spec.why = "a secret reason";
    redlock_client *client = open_with(&options);
    redlock_lock *lock = take_spec(client, &spec);
    const char *owner = redlock_lock_owner(lock, NULL);
    assert_null(strstr(owner, "test-host"));
    assert_null(strstr(owner, "tester"));
    assert_null(strstr(owner, "reason"));
    redlock_holder_parse(owner, strlen(owner), &holder);
    assert_string_equal(holder.host, "");
    assert_int_equal(holder.pid, 0);
    give_back(lock);
    redlock_client_close(client);
}

/* ---- two clients --------------------------------------------------------------------------------------- */

static void second_client_learns_the_holder(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_client *other = open_warm_client(fleet_urls(fleet));
    redlock_spec spec = spec_for("busy", LONG_TTL_MS);
    redlock_report report = detailed_report();
    redlock_lock *none = (redlock_lock *)&report;

    spec.why = "nightly backup";
    redlock_lock *lock = take_spec(client, &spec);
    assert_result(REDLOCK_BUSY, redlock_try_acquire(other, &spec, &none, &report), &report);
    assert_null(none);
    assert_report_is_sound(&report, REDLOCK_BUSY, fleet);
    assert_true(report.held >= report.quorum);
    assert_int_equal(report.validity_ms, 0);
    assert_int_equal(report.rounds, 1);
    assert_memory_equal(report.holder.id, redlock_lock_owner(lock, NULL), 8);
    assert_string_equal(report.holder.host, "test-host");
    assert_string_equal(report.holder.user, "tester");
    assert_string_equal(report.holder.why, "nightly backup");
    assert_int_equal(report.holder.pid, getpid());
    assert_true(report.holder.since_ms > 1500000000000);
    assert_in_range(report.holder_ttl_left_ms, 1, LONG_TTL_MS);
    assert_non_null(strstr(report.line, "busy"));
    give_back(lock);
    give_back(take_spec(other, &spec));
    redlock_client_close(client);
    redlock_client_close(other);
}

static void report_never_shows_enough_to_forge_a_release(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_client(fleet_urls(fleet));
    redlock_client *other = open_client(fleet_urls(fleet));
    redlock_spec spec = spec_for("forge", LONG_TTL_MS);
    redlock_report report = detailed_report();
    redlock_lock *none = NULL;
    char secret[17] = "";

    redlock_lock *lock = take_spec(client, &spec);
    memcpy(secret, redlock_lock_owner(lock, NULL), 16);
    assert_result(REDLOCK_BUSY, redlock_try_acquire(other, &spec, &none, &report), &report);
    assert_null(strstr(report.line, secret));
    for (uint32_t i = 0; i < report.node_count; i++) {
        assert_null(strstr(node_of(&report, i).detail, secret));
        assert_null(node_of(&report, i).owner);
    }
    give_back(lock);
    redlock_client_close(client);
    redlock_client_close(other);
}

static void same_client_excludes_itself(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_client(fleet_urls(fleet));
    redlock_spec spec = spec_for("self", LONG_TTL_MS);
    redlock_lock *none = NULL;

    redlock_lock *lock = take_spec(client, &spec);
    assert_result(REDLOCK_BUSY, redlock_try_acquire(client, &spec, &none, NULL), NULL);
    give_back(lock);
    redlock_client_close(client);
}

struct waiter {
    redlock_client *client;
    int64_t wait_ms;
    redlock_result result;
    redlock_lock *lock;
    redlock_report report;
    atomic_int ended;
};

static void *wait_for_lock(void *context)
{
    struct waiter *waiter = context;
    redlock_spec spec = spec_for("wait", LONG_TTL_MS);

    waiter->report.size = sizeof(waiter->report);
    waiter->result = redlock_acquire(waiter->client, &spec, waiter->wait_ms, &waiter->lock, &waiter->report);
    atomic_store(&waiter->ended, 1);
    return NULL;
}

static void waiting_gets_the_lock_after_its_release(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_client(fleet_urls(fleet));
    static struct waiter waiter;
    pthread_t thread;

    waiter = (struct waiter){.client = open_client(fleet_urls(fleet)), .wait_ms = REDLOCK_WAIT_FOREVER};
    redlock_lock *lock = take_lock(client, "wait", LONG_TTL_MS);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_lock, &waiter), 0);
    await(node_stats_of(waiter.client, 0).held > 0);
    assert_int_equal(atomic_load(&waiter.ended), 0);
    give_back(lock);
    pthread_join(thread, NULL);
    assert_result(REDLOCK_OK, waiter.result, &waiter.report);
    assert_report_is_sound(&waiter.report, REDLOCK_OK, fleet);
    assert_true(waiter.report.waited_ms > 0);
    assert_true(waiter.report.rounds > 1 || is_guarded()); /* in line one question is enough */
    give_back(waiter.lock);
    redlock_client_close(client);
    redlock_client_close(waiter.client);
}

static void waiting_gets_the_lock_after_its_expiry(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_client(fleet_urls(fleet));
    redlock_client *other = open_client(fleet_urls(fleet));
    redlock_spec spec = spec_for("expiry", LONG_TTL_MS);
    redlock_report report = detailed_report();
    redlock_lock *second = NULL;

    redlock_lock *first = take_lock(client, "expiry", 500);
    assert_result(REDLOCK_OK, redlock_acquire(other, &spec, 20000, &second, &report), &report);
    /* Whoever gets it next gets it only after the first one knows that it is over. */
    assert_int_equal(redlock_lock_validity_ms(first), 0);
    assert_result(REDLOCK_LOST, redlock_release(first, NULL), NULL);
    redlock_lock_free(first);
    give_back(second);
    redlock_client_close(client);
    redlock_client_close(other);
}

static void wait_that_runs_out_says_timeout(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_client(fleet_urls(fleet));
    redlock_client *other = open_client(fleet_urls(fleet));
    redlock_spec spec = spec_for("timeout", LONG_TTL_MS);
    redlock_report report = detailed_report();
    redlock_lock *none = NULL;

    redlock_lock *lock = take_spec(client, &spec);
    assert_result(REDLOCK_TIMEOUT, redlock_acquire(other, &spec, 300, &none, &report), &report);
    assert_null(none);
    assert_report_is_sound(&report, REDLOCK_TIMEOUT, fleet);
    assert_true(report.waited_ms >= 300);
    assert_memory_equal(report.holder.id, redlock_lock_owner(lock, NULL), 8);
    assert_result(REDLOCK_BUSY, redlock_acquire(other, &spec, 0, &none, &report), &report);
    give_back(lock);
    redlock_client_close(client);
    redlock_client_close(other);
}

/* Own leftovers of the last attempt must not vote against the retry: each round has a fresh owner, and the
 * one before it was released. */
static void every_round_of_a_wait_has_its_own_secret(void **state)
{
    redlock_spec spec = spec_for("rounds", LONG_TTL_MS);
    redlock_lock *none = NULL;
    unsigned sets = 0;
    char last[64] = "";

    if (is_guarded())
        skip(); /* it reads the owner out of SET */
    (void)state;
    struct fake_node *fake = fake_node_start(FAKE_UNIX);
    assert_non_null(fake);
    fake_node_reply(fake, "SET", "_\r\n");
    fake_node_reply(fake, "CLIENT", "-ERR it tells nobody anything\r\n"); /* so it is asked again */
    fake_node_reply(fake, "GETRANGE", "$5\r\nother\r\n");
    fake_node_reply(fake, "PTTL", ":20000\r\n");
    redlock_client *client = open_client(fake_node_url(fake));
    assert_result(REDLOCK_TIMEOUT, redlock_acquire(client, &spec, 1000, &none, NULL), NULL);
    redlock_client_close(client);

    for (const char *at = fake_node_transcript(fake); (at = strstr(at, "SET rounds ")) != NULL; at++) {
        char owner[64];
        assert_int_equal(sscanf(at, "SET rounds %32s", owner), 1);
        assert_string_not_equal(owner, last);
        snprintf(last, sizeof(last), "%s", owner);
        sets++;
    }
    assert_true(sets >= 2);
    fake_node_stop(fake);
}

/* ---- time ---------------------------------------------------------------------------------------------- */

/* Waits until nothing is left of a lock's validity; 0 may still mean half a millisecond. */
static void await_end(const redlock_lock *lock)
{
    await(redlock_lock_validity_ms(lock) == 0);
    sleep_ms(5);
}

static void extend_lengthens_the_lease_on_every_node(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_lock *lock = take_lock(client, "extend", 10000);
    redlock_report report = detailed_report();

    assert_result(REDLOCK_OK, redlock_extend(lock, LONG_TTL_MS, &report), &report);
    assert_report_is_sound(&report, REDLOCK_OK, fleet);
    assert_in_range(report.validity_ms, 10001, LONG_TTL_MS - 1);
    assert_in_range(redlock_lock_validity_ms(lock), 10001, LONG_TTL_MS - 1);
    for (int i = 0; i < fleet_size(fleet); i++)
        await(atoll(fleet_command(fleet, i, "PTTL", "extend", NULL)) > 10000);
    give_back(lock);
    redlock_client_close(client);
}

static void extend_without_a_ttl_uses_that_of_the_spec(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_client(fleet_urls(fleet));
    redlock_lock *lock = take_lock(client, "spec-ttl", 20000);

    sleep_ms(300);
    int64_t before_ms = redlock_lock_validity_ms(lock);
    assert_result(REDLOCK_OK, redlock_extend(lock, 0, NULL), NULL);
    assert_in_range(redlock_lock_validity_ms(lock), before_ms + 1, 20000);
    give_back(lock);
    redlock_client_close(client);
}

static void extend_never_shortens(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_lock *lock = take_lock(client, "shorten", LONG_TTL_MS);

    assert_result(REDLOCK_OK, redlock_extend(lock, 1000, NULL), NULL);
    assert_in_range(redlock_lock_validity_ms(lock), 20000, LONG_TTL_MS);
    for (int i = 0; i < fleet_size(fleet); i++) {
        await(fleet_key_count(fleet, i) == 1);
        assert_in_range(atoll(fleet_command(fleet, i, "PTTL", "shorten", NULL)), 20000, LONG_TTL_MS);
    }
    give_back(lock);
    redlock_client_close(client);
}

static void expired_lock_is_lost_and_not_taken_back(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_client(fleet_urls(fleet));
    redlock_lock *lock = take_lock(client, "expired", 500);
    redlock_report report = detailed_report();

    await_end(lock);
    assert_result(REDLOCK_LOST, redlock_extend(lock, LONG_TTL_MS, &report), &report);
    assert_int_equal(redlock_lock_validity_ms(lock), 0);
    /* LONG_TTL_MS had it been taken back. */
    assert_string_equal(fleet_leftovers(fleet, 5000), "");
    assert_result(REDLOCK_LOST, redlock_extend(lock, LONG_TTL_MS, NULL), NULL);
    assert_result(REDLOCK_LOST, redlock_release(lock, &report), &report);
    redlock_lock_free(lock);
    redlock_client_close(client);
}

/* Validity ends before the keys do. In between the keys are still there, and extending must not use them. */
static void extend_after_validity_does_not_use_keys_that_are_still_there(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_client(fleet_urls(fleet));
    redlock_lock *lock = take_lock(client, "linger", 1000);

    for (int i = 0; i < fleet_size(fleet); i++)
        await(strcmp(fleet_command(fleet, i, "PEXPIRE", "linger", "60000", NULL), "1") == 0);
    await_end(lock);
    assert_result(REDLOCK_LOST, redlock_extend(lock, LONG_TTL_MS, NULL), NULL);
    assert_int_equal(redlock_lock_validity_ms(lock), 0);
    /* The release of a lost lock still cleans up what is its own. */
    assert_result(REDLOCK_LOST, redlock_release(lock, NULL), NULL);
    assert_string_equal(fleet_leftovers(fleet, 5000), "");
    redlock_lock_free(lock);
    redlock_client_close(client);
}

static void late_release_does_not_touch_the_next_holder(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_client(fleet_urls(fleet));
    redlock_client *other = open_warm_client(fleet_urls(fleet));
    redlock_spec spec = spec_for("late", LONG_TTL_MS);
    redlock_lock *second = NULL;

    redlock_lock *first = take_lock(client, "late", 500);
    assert_string_equal(fleet_leftovers(fleet, 5000), ""); /* it has ended everywhere */
    assert_result(REDLOCK_OK, redlock_acquire(other, &spec, 20000, &second, NULL), NULL);
    for (int i = 0; i < fleet_size(fleet); i++)
        await(strcmp(fleet_command(fleet, i, "GET", "late", NULL), redlock_lock_owner(second, NULL)) == 0);
    assert_result(REDLOCK_LOST, redlock_release(first, NULL), NULL);
    assert_result(REDLOCK_LOST, redlock_extend(first, 0, NULL), NULL);
    redlock_lock_free(first);
    redlock_client_close(client);
    for (int i = 0; i < fleet_size(fleet); i++)
        assert_string_equal(fleet_command(fleet, i, "GET", "late", NULL), redlock_lock_owner(second, NULL));
    give_back(second);
    redlock_client_close(other);
}

static void stolen_lock_is_not_held_and_stays_with_the_thief(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_lock *lock = take_lock(client, "stolen", LONG_TTL_MS);
    redlock_report report = detailed_report();

    for (int i = 0; i < fleet_size(fleet); i++)
        await(fleet_key_count(fleet, i) >= 1);
    for (int i = 0; i < fleet_size(fleet); i++)
        fleet_command(fleet, i, "SET", "stolen", "thief", NULL);
    assert_result(REDLOCK_NOT_HELD, redlock_extend(lock, 0, &report), &report);
    assert_report_is_sound(&report, REDLOCK_NOT_HELD, fleet);
    assert_int_equal(redlock_lock_validity_ms(lock), 0);
    assert_int_not_equal(redlock_release(lock, NULL), REDLOCK_OK);
    redlock_lock_free(lock);
    redlock_client_close(client);
    for (int i = 0; i < fleet_size(fleet); i++) {
        assert_string_equal(fleet_command(fleet, i, "GET", "stolen", NULL), "thief");
        fleet_command(fleet, i, "DEL", "stolen", NULL);
    }
}

static void deleted_lock_is_not_held_on_release(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_lock *lock = take_lock(client, "deleted", LONG_TTL_MS);

    for (int i = 0; i < fleet_size(fleet); i++)
        await(strcmp(fleet_command(fleet, i, "DEL", "deleted", NULL), "1") == 0);
    assert_result(REDLOCK_NOT_HELD, redlock_release(lock, NULL), NULL);
    redlock_lock_free(lock);
    redlock_client_close(client);
}

static void lock_ends_at_its_maximum_hold_time(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_client(fleet_urls(fleet));
    redlock_spec spec = spec_for("max-hold", LONG_TTL_MS);

    spec.max_hold_ms = 500;
    redlock_lock *lock = take_spec(client, &spec);
    assert_true(redlock_lock_validity_ms(lock) <= 500);
    await_end(lock);
    assert_result(REDLOCK_LOST, redlock_extend(lock, 0, NULL), NULL);
    assert_result(REDLOCK_LOST, redlock_release(lock, NULL), NULL);
    assert_string_equal(fleet_leftovers(fleet, 5000), "");
    redlock_lock_free(lock);
    redlock_client_close(client);
}

static void extensions_are_limited(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_client(fleet_urls(fleet));
    redlock_spec spec = spec_for("limited", 20000);

    spec.max_extensions = 2;
    redlock_lock *lock = take_spec(client, &spec);
    assert_result(REDLOCK_OK, redlock_extend(lock, 0, NULL), NULL);
    assert_result(REDLOCK_OK, redlock_extend(lock, 0, NULL), NULL);
    int64_t before_ms = redlock_lock_validity_ms(lock);
    assert_result(REDLOCK_MISUSE, redlock_extend(lock, LONG_TTL_MS, NULL), NULL);
    /* Refused, not lost: the time it had is still its own. */
    assert_in_range(redlock_lock_validity_ms(lock), 1, before_ms);
    give_back(lock);
    redlock_client_close(client);
}

/* ---- adopting and inspecting --------------------------------------------------------------------------- */

static void lock_is_adopted_by_its_owner_value(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_client *heir = open_warm_client(fleet_urls(fleet));
    redlock_spec spec = spec_for("heritage", LONG_TTL_MS);
    redlock_report report = detailed_report();
    redlock_lock *adopted = NULL;
    char owner[REDLOCK_OWNER_MAX + 1];

    redlock_lock *lock = take_lock(client, "heritage", 20000);
    snprintf(owner, sizeof(owner), "%s", redlock_lock_owner(lock, NULL));
    for (int i = 0; i < fleet_size(fleet); i++)
        await(fleet_key_count(fleet, i) == 1);
    redlock_lock_free(lock);
    redlock_client_close(client);

    assert_result(REDLOCK_NOT_HELD, redlock_adopt(heir, &spec, "somebody else", 0, &adopted, &report),
                  &report);
    assert_null(adopted);
    assert_result(REDLOCK_OK, redlock_adopt(heir, &spec, owner, 0, &adopted, &report), &report);
    assert_report_is_sound(&report, REDLOCK_OK, fleet);
    assert_string_equal(redlock_lock_owner(adopted, NULL), owner);
    assert_in_range(redlock_lock_validity_ms(adopted), 20001, LONG_TTL_MS);
    assert_result(REDLOCK_OK, redlock_extend(adopted, 0, NULL), NULL);
    give_back(adopted);
    assert_result(REDLOCK_NOT_HELD, redlock_adopt(heir, &spec, owner, 0, &adopted, &report), &report);
    redlock_client_close(heir);
}

static uint64_t losses_of(redlock_client *client)
{
    redlock_stats stats = REDLOCK_STATS_INIT;

    assert_result(REDLOCK_OK, redlock_client_stats(client, &stats), NULL);
    return stats.lost;
}

/* The handle of the first one sees the end of what it knows of, as soon as its client looks at the clock.
 * What it told the nodes then is before what it asks them afterwards. */
static void lock_that_is_kept_on_nodes_stays_with_its_heir(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_client *heir = open_warm_client(fleet_urls(fleet));
    redlock_spec spec = spec_for("kept", 8000);
    redlock_report report = detailed_report();
    redlock_lock *adopted = NULL;

    spec.keep_on_nodes = 1;
    redlock_lock *lock = take_spec(client, &spec);
    spec.ttl_ms = LONG_TTL_MS;
    assert_result(REDLOCK_OK,
                  redlock_adopt(heir, &spec, redlock_lock_owner(lock, NULL), 0, &adopted, &report), &report);
    await(redlock_inspect(client, "kept", 0, &report) == REDLOCK_OK && losses_of(client) == 1);
    assert_int_equal(redlock_lock_validity_ms(lock), 0);
    assert_result(REDLOCK_OK, redlock_inspect(client, "kept", 0, &report), &report);
    assert_memory_equal(report.holder.id, redlock_lock_owner(lock, NULL), 8);
    assert_int_equal(report.free, 0);
    redlock_lock_free(lock);
    redlock_client_close(client);
    give_back(adopted);
    redlock_client_close(heir);
}

static void owner_value_is_enough_to_release(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_client *other = open_warm_client(fleet_urls(fleet));
    redlock_spec spec = spec_for("by-owner", LONG_TTL_MS);
    redlock_report report = detailed_report();

    redlock_lock *lock = take_lock(client, "by-owner", LONG_TTL_MS);
    for (int i = 0; i < fleet_size(fleet); i++)
        await(fleet_key_count(fleet, i) == 1);
    assert_result(REDLOCK_NOT_HELD, redlock_release_owner(other, "by-owner", 0, "nobody", 0, &report),
                  &report);
    assert_result(REDLOCK_OK,
                  redlock_release_owner(other, "by-owner", 0, redlock_lock_owner(lock, NULL), 0, &report),
                  &report);
    assert_report_is_sound(&report, REDLOCK_OK, fleet);
    assert_string_equal(fleet_leftovers(fleet, 5000), "");
    assert_result(REDLOCK_NOT_HELD,
                  redlock_release_owner(other, "by-owner", 0, redlock_lock_owner(lock, NULL), 0, NULL), NULL);
    redlock_lock_free(lock);
    lock = take_lock(client, "by-owner", LONG_TTL_MS);
    assert_result(REDLOCK_OK, redlock_release_spec(other, &spec, redlock_lock_owner(lock, NULL), 0, &report),
                  &report);
    assert_result(REDLOCK_NOT_HELD, redlock_release(lock, NULL), NULL);
    redlock_lock_free(lock);
    redlock_client_close(client);
    redlock_client_close(other);
}

/* ---- names and arguments ------------------------------------------------------------------------------- */

static void prefix_is_put_before_every_name(void **state)
{
    struct fleet *fleet = *state;
    redlock_options options = options_for(fleet_urls(fleet));
    size_t length = 0;

    options.key_prefix = "redlock:";
    redlock_client *client = open_with(&options);
    redlock_client *plain = open_client(fleet_urls(fleet));
    redlock_lock *lock = take_lock(client, "prefixed", LONG_TTL_MS);
    assert_string_equal(redlock_lock_name(lock, &length), "prefixed");
    assert_int_equal(length, 8);
    assert_string_equal(fleet_command(fleet, 0, "GET", "redlock:prefixed", NULL),
                        redlock_lock_owner(lock, NULL));
    assert_string_equal(fleet_command(fleet, 0, "GET", "prefixed", NULL), "(nil)");
    /* Another prefix is another lock; the full name without one is the same. */
    give_back(take_lock(plain, "prefixed", LONG_TTL_MS));
    redlock_spec spec = spec_for("redlock:prefixed", LONG_TTL_MS);
    redlock_lock *none = NULL;
    assert_result(REDLOCK_BUSY, redlock_try_acquire(plain, &spec, &none, NULL), NULL);
    assert_result(REDLOCK_OK, redlock_extend(lock, 0, NULL), NULL);
    give_back(lock);
    redlock_client_close(client);
    redlock_client_close(plain);
}

static void name_may_be_any_bytes(void **state)
{
    static const char name[] = "\0a b\r\n\xff*{x}\0";
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_spec spec = spec_for(name, LONG_TTL_MS);
    redlock_report report = detailed_report();
    redlock_lock *none = NULL;
    size_t length = 0;

    spec.name_length = sizeof(name) - 1;
    redlock_lock *lock = take_spec(client, &spec);
    assert_memory_equal(redlock_lock_name(lock, &length), name, sizeof(name) - 1);
    assert_int_equal(length, sizeof(name) - 1);
    await(strcmp(fleet_command_bytes(fleet, 0, 2, (const char *[]){"GET", name},
                                     (const size_t[]){3, sizeof(name) - 1}),
                 redlock_lock_owner(lock, NULL)) == 0);
    assert_result(REDLOCK_BUSY, redlock_try_acquire(client, &spec, &none, &report), &report);
    assert_null(strchr(report.line, '\n'));
    assert_result(REDLOCK_OK, redlock_extend(lock, 0, NULL), NULL);
    give_back(lock);
    redlock_client_close(client);
}

static void name_has_a_maximum_length(void **state)
{
    struct fleet *fleet = *state;
    redlock_options options = options_for(fleet_urls(fleet));
    redlock_report report = detailed_report();
    redlock_lock *lock = NULL;
    char name[REDLOCK_NAME_MAX + 1];

    memset(name, 'n', sizeof(name));
    options.key_prefix = "12345678";
    redlock_client *client = open_with(&options);
    redlock_spec spec = spec_for(name, LONG_TTL_MS);
    spec.name_length = REDLOCK_NAME_MAX - 8;
    give_back(take_spec(client, &spec));
    spec.name_length++;
    assert_result(REDLOCK_INVALID, redlock_try_acquire(client, &spec, &lock, &report), &report);
    assert_null(lock);
    assert_non_null(strstr(report.line, "name"));
    redlock_client_close(client);
}

static void assert_invalid_spec(redlock_client *client, const redlock_spec *spec, const char *named)
{
    redlock_report report = detailed_report();
    redlock_lock *lock = NULL;

    assert_result(REDLOCK_INVALID, redlock_try_acquire(client, spec, &lock, &report), &report);
    assert_null(lock);
    assert_int_equal(report.result, REDLOCK_INVALID);
    if (strstr(report.line, named) == NULL)
        fail_msg("\"%s\" does not name %s", report.line, named);
}

static void lost_nobody(void *context, redlock_lock *lock, const redlock_report *report)
{
    (void)context;
    (void)lock;
    (void)report;
}

static void bad_specs_are_refused_by_name(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_client(fleet_urls(fleet));
    redlock_spec spec = spec_for("bad", REDLOCK_TTL_MIN_MS - 1);

    assert_invalid_spec(client, &spec, "ttl_ms");
    spec.ttl_ms = REDLOCK_TTL_MAX_MS + 1;
    assert_invalid_spec(client, &spec, "ttl_ms");
    spec.ttl_ms = UINT32_MAX;
    assert_invalid_spec(client, &spec, "ttl_ms");
    spec = spec_for(NULL, 1000);
    assert_invalid_spec(client, &spec, "name");
    spec = spec_for("", 1000);
    assert_invalid_spec(client, &spec, "name");
    spec = spec_for("bad", 1000);
    spec.auto_extend = 1;
    assert_invalid_spec(client, &spec, "on_lost");
    spec.on_lost = lost_nobody;
    spec.renew_ms = 1000;
    assert_invalid_spec(client, &spec, "renew_ms");
    spec = spec_for("bad", 1000);
    spec.max_hold_ms = -1;
    assert_invalid_spec(client, &spec, "max_hold_ms");
    spec = spec_for("bad", 1000);
    spec.size = 0;
    assert_invalid_spec(client, &spec, "size");
    redlock_client_close(client);
}

static void ttl_zero_means_the_default(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_client(fleet_urls(fleet));
    redlock_lock *lock = take_lock(client, "default", 0);

    assert_in_range(redlock_lock_validity_ms(lock), 5000, 15000);
    assert_in_range(atoll(fleet_command(fleet, 0, "PTTL", "default", NULL)), 5000, 15000);
    give_back(lock);
    redlock_client_close(client);
}

static void shortest_ttl_works(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_spec spec = spec_for("short", REDLOCK_TTL_MIN_MS);
    redlock_report report = detailed_report();
    redlock_lock *lock = NULL;

    /* A machine that is busy with other things may really be too slow for it now and then. */
    redlock_result result = redlock_acquire(client, &spec, 10000, &lock, &report);
    assert_result(REDLOCK_OK, result, &report);
    assert_in_range(report.validity_ms, 0, REDLOCK_TTL_MIN_MS);
    result = redlock_release(lock, NULL);
    assert_true(result == REDLOCK_OK || result == REDLOCK_LOST);
    redlock_lock_free(lock);
    redlock_client_close(client);
}

static void longest_ttl_works(void **state)
{
    struct fleet *fleet = *state;

    if (is_guarded())
        skip(); /* max_ttl_ms is below it */
    redlock_client *client = open_client(fleet_urls(fleet));
    redlock_lock *lock = take_lock(client, "long", REDLOCK_TTL_MAX_MS);

    assert_in_range(redlock_lock_validity_ms(lock), REDLOCK_TTL_MAX_MS / 2, REDLOCK_TTL_MAX_MS);
    assert_in_range(atoll(fleet_command(fleet, 0, "PTTL", "long", NULL)), REDLOCK_TTL_MAX_MS / 2,
                    REDLOCK_TTL_MAX_MS);
    give_back(lock);
    redlock_client_close(client);
}

static void assert_invalid_options(const redlock_options *options, const char *named)
{
    redlock_report report = detailed_report();
    redlock_client *client = (redlock_client *)&report;

    assert_result(REDLOCK_INVALID, redlock_client_open(options, &client, &report), &report);
    assert_null(client);
    if (strstr(report.line, named) == NULL)
        fail_msg("\"%s\" does not name %s", report.line, named);
}

static void bad_options_are_refused_by_name(void **state)
{
    redlock_options options = options_for(NULL);

    (void)state;
    assert_invalid_options(&options, "nodes");
    options.nodes = " , ";
    assert_invalid_options(&options, "nodes");
    options.nodes = "http://example.com";
    assert_invalid_options(&options, "node 1");
    options.nodes = "redis://a:70000";
    assert_invalid_options(&options, "port");
    options.nodes = "redis://127.0.0.1:1,redis://127.0.0.1:1";
    assert_invalid_options(&options, "twice");
    options = options_for("redis://127.0.0.1:1");
    options.drift_ppm = 1000000;
    assert_invalid_options(&options, "drift_ppm");
    options = options_for("redis://127.0.0.1:1");
    options.retry_min_ms = 1000;
    options.retry_max_ms = 10;
    assert_invalid_options(&options, "retry_m");
    options = options_for("redis://127.0.0.1:1");
    options.size = 0;
    assert_invalid_options(&options, "size");
}

static void more_nodes_than_the_maximum_are_refused(void **state)
{
    char nodes[(REDLOCK_NODES_MAX + 1) * 32] = "";
    redlock_options options = options_for(nodes);
    size_t used = 0;

    (void)state;
    for (int i = 0; i <= REDLOCK_NODES_MAX; i++)
        used += (size_t)snprintf(nodes + used, sizeof(nodes) - used, "redis://127.0.0.1:%d ", i + 1);
    assert_invalid_options(&options, "nodes");
}

static void client_knows_its_nodes_but_not_their_passwords(void **state)
{
    redlock_client *client =
        open_client("redis://joe:sesame@127.0.0.1:1, unix:///does/not/exist 127.0.0.1:2");

    (void)state;
    assert_int_equal(redlock_client_node_count(client), 3);
    assert_string_equal(redlock_client_node_url(client, 0), "redis://127.0.0.1:1");
    assert_string_equal(redlock_client_node_url(client, 1), "unix:///does/not/exist");
    assert_string_equal(redlock_client_node_url(client, 2), "redis://127.0.0.1:2");
    redlock_client_close(client);
}

static void results_and_verdicts_have_names(void **state)
{
    (void)state;
    assert_string_equal(redlock_version(), REDLOCK_VERSION);
    assert_string_equal(redlock_result_name(REDLOCK_BUSY), "busy");
    assert_string_equal(redlock_result_name(REDLOCK_NO_QUORUM), "no quorum");
    assert_string_equal(redlock_verdict_name(REDLOCK_VERDICT_GRANTED), "granted");
    assert_string_equal(redlock_verdict_name(REDLOCK_VERDICT_SILENT), "silent");
    assert_non_null(redlock_result_name((redlock_result)999));
    assert_non_null(redlock_verdict_name((redlock_verdict)999));
    redlock_client_close(NULL);
    redlock_lock_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_1_3_5_NODES(lock_is_a_plain_key_with_a_ttl_on_every_node),
        ON_1_3_5_NODES(report_of_a_won_lock_says_how),
        ON_1_3_5_NODES(released_lock_is_free_at_once),
        ON_NODES(release_twice_says_not_held, start_three_nodes),
        ON_NODES(every_attempt_has_its_own_secret, start_three_nodes),
        ON_NODES(anonymous_owner_says_nothing_about_its_holder, start_one_node),
        ON_1_3_5_NODES(second_client_learns_the_holder),
        ON_NODES(report_never_shows_enough_to_forge_a_release, start_three_nodes),
        ON_1_3_5_NODES(same_client_excludes_itself),
        ON_1_3_5_NODES(waiting_gets_the_lock_after_its_release),
        ON_1_3_5_NODES(waiting_gets_the_lock_after_its_expiry),
        ON_NODES(wait_that_runs_out_says_timeout, start_three_nodes),
        cmocka_unit_test(every_round_of_a_wait_has_its_own_secret),
        ON_1_3_5_NODES(extend_lengthens_the_lease_on_every_node),
        ON_NODES(extend_without_a_ttl_uses_that_of_the_spec, start_three_nodes),
        ON_NODES(extend_never_shortens, start_three_nodes),
        ON_1_3_5_NODES(expired_lock_is_lost_and_not_taken_back),
        ON_NODES(extend_after_validity_does_not_use_keys_that_are_still_there, start_one_node),
        ON_1_3_5_NODES(late_release_does_not_touch_the_next_holder),
        ON_1_3_5_NODES(stolen_lock_is_not_held_and_stays_with_the_thief),
        ON_NODES(deleted_lock_is_not_held_on_release, start_three_nodes),
        ON_NODES(lock_ends_at_its_maximum_hold_time, start_three_nodes),
        ON_NODES(extensions_are_limited, start_three_nodes),
        ON_1_3_5_NODES(lock_is_adopted_by_its_owner_value),
        ON_NODES(lock_that_is_kept_on_nodes_stays_with_its_heir, start_three_nodes),
        ON_1_3_5_NODES(owner_value_is_enough_to_release),
        ON_NODES(prefix_is_put_before_every_name, start_one_node),
        ON_NODES(name_may_be_any_bytes, start_three_nodes),
        ON_NODES(name_has_a_maximum_length, start_one_node),
        ON_NODES(bad_specs_are_refused_by_name, start_one_node),
        ON_NODES(ttl_zero_means_the_default, start_one_node),
        ON_NODES(shortest_ttl_works, start_three_nodes),
        ON_NODES(longest_ttl_works, start_one_node),
        cmocka_unit_test(bad_options_are_refused_by_name),
        cmocka_unit_test(more_nodes_than_the_maximum_are_refused),
        cmocka_unit_test(client_knows_its_nodes_but_not_their_passwords),
        cmocka_unit_test(results_and_verdicts_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
