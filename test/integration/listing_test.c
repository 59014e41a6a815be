/*
 * Every lock that a quorum knows: lists, watches and waits.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/steps.h"

enum { SEEN_MAX = 256 };

struct seen {
    int count;
    int stop_after; /* 0: never */
    struct {
        char name[64];
        redlock_listed lock;
    } locks[SEEN_MAX];
};

static int note(void *context, const redlock_listed *lock)
{
    struct seen *seen = context;

    assert_true(seen->count < SEEN_MAX);
    snprintf(seen->locks[seen->count].name, sizeof seen->locks[0].name, "%s", lock->name);
    seen->locks[seen->count++].lock = *lock;
    return seen->count == seen->stop_after;
}

static const redlock_listed *find(const struct seen *seen, const char *name)
{
    const redlock_listed *found = NULL;

    for (int i = 0; i < seen->count; i++) {
        if (strcmp(seen->locks[i].name, name) != 0)
            continue;
        assert_null(found); /* once */
        found = &seen->locks[i].lock;
    }
    return found;
}

static struct seen list(redlock_client *client, const redlock_list_spec *spec)
{
    struct seen seen = {0};
    redlock_report report = detailed_report();

    assert_result(REDLOCK_OK, redlock_list(client, spec, note, &seen, &report), &report);
    return seen;
}

static void locks_are_listed_and_nothing_else(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_list_spec spec = REDLOCK_LIST_SPEC_INIT;
    redlock_spec wanted = spec_for("job:1", LONG_TTL_MS);
    redlock_lock *first, *second = take_lock(client, "job:2", LONG_TTL_MS);
    struct seen seen;
    const redlock_listed *one;

    wanted.why = "testing";
    first = take_spec(client, &wanted);
    for (int i = 0; i < fleet_size(fleet); i++) {
        fleet_command(fleet, i, "SET", "a-text", "for ever", NULL);
        fleet_command(fleet, i, "SET", "a-cache", "entry", "PX", "600000", NULL);
        fleet_command(fleet, i, "HSET", "a-hash", "field", "1", NULL);
        fleet_command(fleet, i, "SET", "no-end", "0123456789abcdef0123456789abcdef", NULL);
    }
    seen = list(client, NULL);
    assert_int_equal(seen.count, 2);
    one = find(&seen, "job:1");
    assert_non_null(one);
    assert_memory_equal(one->holder.id, redlock_lock_owner(first, NULL), 8);
    assert_string_equal(one->holder.why, "testing");
    assert_string_equal(one->holder.host, "test-host");
    assert_true(one->votes >= (uint32_t)quorum_of(fleet));
    assert_int_equal(one->node_count, fleet_size(fleet));
    assert_int_equal(one->foreign, 0);
    assert_in_range(one->ttl_left_ms, 1, LONG_TTL_MS);
    if (is_guarded())
        assert_true(one->fence >= redlock_lock_fence(first));
    spec.foreign = 1;
    seen = list(client, &spec);
    assert_int_equal(seen.count, 3);
    assert_int_equal(find(&seen, "a-cache")->foreign, 1);
    for (int i = 0; i < fleet_size(fleet); i++)
        fleet_command(fleet, i, "DEL", "a-text", "a-cache", "a-hash", "no-end", NULL);
    give_back(first);
    give_back(second);
    assert_int_equal(list(client, NULL).count, 0);
    redlock_client_close(client);
}

static void globs_and_prefixes_choose(void **state)
{
    struct fleet *fleet = *state;
    redlock_options options = options_for(fleet_urls(fleet));
    redlock_client *client, *plain = open_warm_client(fleet_urls(fleet));
    redlock_list_spec spec = REDLOCK_LIST_SPEC_INIT;
    const char *names[] = {"a1", "a2", "b1", "star*", "[x]"};
    redlock_lock *locks[5], *outside = take_lock(plain, "a1", LONG_TTL_MS);
    struct seen seen;

    options.key_prefix = "app[*]:";
    client = open_with(&options);
    for (int i = 0; i < 5; i++)
        locks[i] = take_lock(client, names[i], LONG_TTL_MS);
    assert_int_equal(list(client, NULL).count, 5);
    spec.glob = "a*";
    seen = list(client, &spec);
    assert_int_equal(seen.count, 2);
    assert_non_null(find(&seen, "a1"));
    spec.glob = "star\\*";
    assert_int_equal(list(client, &spec).count, 1);
    spec.glob = "\\[x\\]";
    assert_int_equal(list(client, &spec).count, 1);
    spec.glob = "nothing";
    assert_int_equal(list(client, &spec).count, 0);
    assert_int_equal(list(plain, NULL).count, 6);
    for (int i = 0; i < 5; i++)
        give_back(locks[i]);
    give_back(outside);
    redlock_client_close(client);
    redlock_client_close(plain);
}

/* Binary, long, and with everything that a terminal or a pattern would take for something else. */
static void hostile_names_come_as_they_are(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    static const char binary[] = "\x01\xff\r\n\0*[]?\\\x1b[2J";
    char longest[REDLOCK_NAME_MAX];
    redlock_spec specs[2];
    redlock_lock *locks[2];
    struct seen seen = {0};
    redlock_report report = detailed_report();
    int found = 0;

    memset(longest, 'x', sizeof longest);
    specs[0] = spec_for("", LONG_TTL_MS);
    specs[0].name = binary;
    specs[0].name_length = sizeof binary - 1;
    specs[1] = spec_for("", LONG_TTL_MS);
    specs[1].name = longest;
    specs[1].name_length = sizeof longest;
    for (int i = 0; i < 2; i++)
        locks[i] = take_spec(client, &specs[i]);
    assert_result(REDLOCK_OK, redlock_list(client, NULL, note, &seen, &report), &report);
    assert_int_equal(seen.count, 2);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++)
            found += seen.locks[i].lock.name_length == specs[k].name_length;
    assert_int_equal(found, 2);
    for (int i = 0; i < 2; i++)
        give_back(locks[i]);
    redlock_client_close(client);
}

static void minority_is_listed_only_when_wanted(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_list_spec spec = REDLOCK_LIST_SPEC_INIT;
    struct seen seen;

    for (int i = 3; i < 5; i++)
        fleet_command(fleet, i, "SET", "leftover", "0123456789abcdef0123456789abcdef", "PX", "600000", NULL);
    for (int i = 0; i < 3; i++)
        fleet_command(fleet, i, "SET", "held", "fedcba9876543210fedcba9876543210", "PX", "600000", NULL);
    seen = list(client, NULL);
    assert_int_equal(seen.count, 1);
    assert_int_equal(find(&seen, "held")->votes, 3);
    spec.partial = 1;
    seen = list(client, &spec);
    /* Three nodes are walked through: what two have may be on none of these. */
    assert_non_null(find(&seen, "held"));
    if (find(&seen, "leftover") != NULL)
        assert_int_equal(find(&seen, "leftover")->votes, 2);
    for (int i = 0; i < 5; i++)
        fleet_command(fleet, i, "DEL", "leftover", "held", NULL);
    redlock_client_close(client);
}

static void callback_stops_the_list(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_lock *locks[5];
    struct seen seen = {.stop_after = 2};
    redlock_report report = detailed_report();
    char name[16];

    for (int i = 0; i < 5; i++) {
        snprintf(name, sizeof name, "lock-%d", i);
        locks[i] = take_lock(client, name, LONG_TTL_MS);
    }
    assert_result(REDLOCK_CANCELED, redlock_list(client, NULL, note, &seen, &report), &report);
    assert_int_equal(seen.count, 2);
    for (int i = 0; i < 5; i++)
        give_back(locks[i]);
    redlock_client_close(client);
}

/* What the nodes do while they are walked through. */
struct sabotage {
    struct fleet *fleet;
    redlock_client *client;
    int at, victim;
    bool wipes;
    struct seen seen;
};

static int sabotage(void *context, const redlock_listed *lock)
{
    struct sabotage *plan = context;

    note(&plan->seen, lock);
    if (plan->seen.count == plan->at && plan->wipes)
        fleet_wipe(plan->fleet, plan->victim);
    else if (plan->seen.count == plan->at)
        fleet_kill(plan->fleet, plan->victim);
    return 0;
}

static void list_is_whole_though_a_node_is_killed_or_wiped(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    char key[16];

    for (int wipes = 1; wipes >= 0; wipes--) {
        struct sabotage plan = {.fleet = fleet, .at = 3, .wipes = wipes};
        redlock_report report = detailed_report();

        for (int i = 0; i < 5; i++)
            for (int k = 0; k < 100; k++) {
                snprintf(key, sizeof key, "lock-%d", k);
                fleet_command(fleet, i, "SET", key, "0123456789abcdef0123456789abcdef", "PX", "600000", NULL);
            }
        assert_result(REDLOCK_OK, redlock_list(client, NULL, sabotage, &plan, &report), &report);
        assert_int_equal(plan.seen.count, 100);
        for (int k = 0; k < 100; k++) {
            snprintf(key, sizeof key, "lock-%d", k);
            assert_non_null(find(&plan.seen, key));
        }
    }
    assert_true(fleet_restart(fleet, 0));
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 100; k++) {
            snprintf(key, sizeof key, "lock-%d", k);
            fleet_command(fleet, i, "DEL", key, NULL);
        }
    redlock_client_close(client);
}

static void list_without_a_quorum_says_so(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    struct seen seen = {0};
    redlock_report report = detailed_report();

    for (int i = 3; i < 5; i++)
        fleet_command(fleet, i, "SET", "held", "fedcba9876543210fedcba9876543210", "PX", "600000", NULL);
    for (int i = 0; i < 3; i++)
        fleet_kill(fleet, i);
    assert_result(REDLOCK_NO_QUORUM, redlock_list(client, NULL, note, &seen, &report), &report);
    assert_int_equal(seen.count, 0);
    redlock_client_close(client);
    client = open_client(fleet_urls(fleet)); /* and before it has met any node */
    assert_result(REDLOCK_NO_QUORUM, redlock_list(client, NULL, note, &seen, &report), &report);
    for (int i = 0; i < 3; i++)
        assert_true(fleet_restart(fleet, i));
    for (int i = 3; i < 5; i++)
        fleet_command(fleet, i, "DEL", "held", NULL);
    redlock_client_close(client);
}

static void list_goes_on_though_the_nodes_lose_the_script(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_lock *lock = take_lock(client, "kept", LONG_TTL_MS);

    assert_int_equal(list(client, NULL).count, 1);
    for (int i = 0; i < fleet_size(fleet); i++)
        assert_string_equal(fleet_command(fleet, i, "SCRIPT", "FLUSH", NULL), "OK");
    assert_int_equal(list(client, NULL).count, 1);
    give_back(lock);
    redlock_client_close(client);
}

/* So many long names that a page of the usual size would be too much for one answer. */
static void list_of_many_long_names_comes_in_smaller_pages(void **state)
{
    enum { NAMES = 120 };
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    char name[1001];

    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    for (int number = 0; number < NAMES; number++) {
        snprintf(name, 8, "%07d", number);
        name[7] = 'n';
        for (int i = 0; i < fleet_size(fleet); i++)
            fleet_command(fleet, i, "SET", name, "fedcba9876543210fedcba9876543210", "PX", "600000", NULL);
    }
    assert_int_equal(list(client, NULL).count, NAMES);
    for (int i = 0; i < fleet_size(fleet); i++)
        fleet_command(fleet, i, "FLUSHDB", NULL);
    redlock_client_close(client);
}

static void list_without_the_right_to_walk_names_the_right(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    struct seen seen = {0};
    redlock_report report = detailed_report();

    for (int i = 0; i < fleet_size(fleet); i++)
        assert_string_equal(fleet_command(fleet, i, "ACL", "SETUSER", "default", "-scan", NULL), "OK");
    assert_result(REDLOCK_FORBIDDEN, redlock_list(client, NULL, note, &seen, &report), &report);
    assert_int_equal(seen.count, 0);
    for (int i = 0; i < fleet_size(fleet); i++)
        fleet_command(fleet, i, "ACL", "SETUSER", "default", "+scan", NULL);
    assert_int_equal(list(client, NULL).count, 0);
    redlock_client_close(client);
}

/* ---- waiting ---- */

static void done(void *context, redlock_result result, const redlock_report *report)
{
    (void)report;
    atomic_store((atomic_int *)context, (int)result + 1);
}

/* A length without a name once made a name of whatever lay behind an empty text. */
static void wait_without_a_name_is_refused_whatever_its_length(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_report report = detailed_report();
    atomic_int ended = 0;

    assert_result(REDLOCK_INVALID, redlock_wait(client, NULL, 0, 0, &report), &report);
    assert_result(REDLOCK_INVALID, redlock_wait(client, NULL, 5, 0, &report), &report);
    assert_int_equal(redlock_wait_async(client, NULL, 5, 0, done, &ended, NULL), REDLOCK_INVALID);
    assert_int_equal(atomic_load(&ended), 0);
    redlock_client_close(client);
}

static void wait_ends_when_it_is_free_and_takes_nothing(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_client *other = open_warm_client(fleet_urls(fleet));
    redlock_report report = detailed_report();
    redlock_lock *lock = take_lock(client, "busy", LONG_TTL_MS);
    atomic_int ended = 0;

    assert_result(REDLOCK_BUSY, redlock_wait(other, "busy", 0, 0, &report), &report);
    assert_memory_equal(report.holder.id, redlock_lock_owner(lock, NULL), 8);
    assert_result(REDLOCK_TIMEOUT, redlock_wait(other, "busy", 0, 50, &report), &report);
    assert_int_equal(redlock_wait_async(other, "busy", 0, REDLOCK_WAIT_FOREVER, done, &ended, NULL),
                     REDLOCK_OK);
    sleep_ms(20);
    assert_int_equal(atomic_load(&ended), 0);
    give_back(lock);
    await(atomic_load(&ended) == REDLOCK_OK + 1);
    assert_result(REDLOCK_OK, redlock_wait(other, "busy", 0, 0, &report), &report);
    give_back(take_lock(client, "busy", LONG_TTL_MS));
    redlock_client_close(client);
    redlock_client_close(other);
}

static void wait_ends_when_a_lease_does(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_report report = detailed_report();

    redlock_lock_free(take_lock(client, "dying", 1000));
    assert_result(REDLOCK_OK, redlock_wait(client, "dying", 0, REDLOCK_WAIT_FOREVER, &report), &report);
    redlock_client_close(client);
}

static void wait_can_be_cancelled(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_lock *lock = take_lock(client, "busy", LONG_TTL_MS);
    atomic_int ended = 0, closed = 0;
    redlock_request request = 0;

    assert_int_equal(redlock_wait_async(client, "busy", 0, REDLOCK_WAIT_FOREVER, done, &ended, &request),
                     REDLOCK_OK);
    assert_int_equal(redlock_cancel(client, request), REDLOCK_OK);
    await(atomic_load(&ended) == REDLOCK_CANCELED + 1);
    assert_int_equal(redlock_wait_async(client, "busy", 0, REDLOCK_WAIT_FOREVER, done, &closed, NULL),
                     REDLOCK_OK);
    give_back(lock);
    lock = take_lock(client, "other", LONG_TTL_MS);
    give_back(lock);
    redlock_client_close(client);
    assert_true(atomic_load(&closed) != 0);
}

/* ---- watching ---- */

struct watched {
    atomic_int count;
    redlock_change changes[SEEN_MAX];
    char names[SEEN_MAX][32];
    char ids[SEEN_MAX][9];
    char before[SEEN_MAX][9];
};

static int watch(void *context, const redlock_event *event)
{
    struct watched *watched = context;
    int i = atomic_load(&watched->count);

    if (i < SEEN_MAX) {
        watched->changes[i] = event->change;
        snprintf(watched->names[i], sizeof watched->names[0], "%s", event->lock.name);
        memcpy(watched->ids[i], event->lock.holder.id, sizeof watched->ids[0]);
        memcpy(watched->before[i], event->before.id, sizeof watched->before[0]);
        atomic_store(&watched->count, i + 1);
    }
    return 0;
}

static bool has_seen(const struct watched *watched, const char *name, redlock_change change)
{
    for (int i = 0; i < atomic_load(&watched->count); i++)
        if (watched->changes[i] == change && strcmp(watched->names[i], name) == 0)
            return true;
    return false;
}

static redlock_request begin_watch(redlock_client *client, const redlock_list_spec *spec,
                                   struct watched *watched, atomic_int *ended)
{
    redlock_request request = 0;

    (void)ended;
    assert_int_equal(redlock_watch_async(client, spec, watch, done, watched, &request), REDLOCK_OK);
    return request;
}

static void watch_of_a_name_tells_its_life(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_client *other = open_warm_client(fleet_urls(fleet));
    static struct watched watched;
    redlock_list_spec spec = REDLOCK_LIST_SPEC_INIT;
    redlock_break_spec breaks = REDLOCK_BREAK_SPEC_INIT;
    redlock_report report = detailed_report();
    redlock_lock *lock;
    char id[9] = "";

    memset(&watched, 0, sizeof watched);
    spec.name = "life";
    begin_watch(other, &spec, &watched, NULL);
    await(has_seen(&watched, "life", REDLOCK_CHANGE_FREE));
    lock = take_lock(client, "life", LONG_TTL_MS / 2);
    await(has_seen(&watched, "life", REDLOCK_CHANGE_ACQUIRED));
    assert_memory_equal(watched.ids[atomic_load(&watched.count) - 1], redlock_lock_owner(lock, NULL), 8);
    sleep_ms(100);
    assert_result(REDLOCK_OK, redlock_extend(lock, LONG_TTL_MS, &report), &report);
    await(has_seen(&watched, "life", REDLOCK_CHANGE_EXTENDED));
    give_back(lock);
    await(has_seen(&watched, "life", REDLOCK_CHANGE_RELEASED));
    redlock_lock_free(take_lock(client, "life", 3000));
    await(has_seen(&watched, "life", REDLOCK_CHANGE_EXPIRED));
    lock = await_lock(client, "life");
    memcpy(id, redlock_lock_owner(lock, NULL), 8);
    await(strcmp(watched.ids[atomic_load(&watched.count) - 1], id) == 0);
    breaks.name = "life";
    breaks.id = id;
    breaks.grace_ms = LONG_TTL_MS;
    assert_result(REDLOCK_OK, redlock_break(client, &breaks, &report), &report);
    await(has_seen(&watched, "life", REDLOCK_CHANGE_BROKEN));
    assert_result(REDLOCK_NOT_HELD, redlock_release(lock, &report), &report);
    redlock_lock_free(lock);
    redlock_client_close(client);
    redlock_client_close(other);
}

static void watch_of_all_tells_what_came_and_went(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_client *other = open_warm_client(fleet_urls(fleet));
    static struct watched watched;
    redlock_list_spec spec = REDLOCK_LIST_SPEC_INIT;
    redlock_lock *first = take_lock(client, "first", LONG_TTL_MS), *second;

    memset(&watched, 0, sizeof watched);
    spec.every_ms = 10;
    begin_watch(other, &spec, &watched, NULL);
    await(has_seen(&watched, "first", REDLOCK_CHANGE_HELD));
    second = take_lock(client, "second", LONG_TTL_MS);
    await(has_seen(&watched, "second", REDLOCK_CHANGE_ACQUIRED));
    give_back(first);
    await(has_seen(&watched, "first", REDLOCK_CHANGE_RELEASED));
    first = take_lock(client, "first", LONG_TTL_MS);
    await(has_seen(&watched, "first", REDLOCK_CHANGE_ACQUIRED));
    for (int i = 0; i < 2; i++)
        fleet_kill(fleet, i);
    await(has_seen(&watched, "", REDLOCK_CHANGE_UNKNOWN));
    for (int i = 0; i < 2; i++)
        assert_true(fleet_restart(fleet, i));
    await(has_seen(&watched, "", REDLOCK_CHANGE_SEEN));
    redlock_lock_free(first);
    redlock_lock_free(second);
    for (int i = 0; i < 3; i++)
        fleet_command(fleet, i, "DEL", "first", "second", NULL);
    redlock_client_close(client);
    redlock_client_close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_1_3_5_NODES(locks_are_listed_and_nothing_else),
        ON_NODES(globs_and_prefixes_choose, start_three_nodes),
        ON_NODES(hostile_names_come_as_they_are, start_three_nodes),
        ON_NODES(minority_is_listed_only_when_wanted, start_five_nodes),
        ON_NODES(callback_stops_the_list, start_three_nodes),
        ON_NODES(list_is_whole_though_a_node_is_killed_or_wiped, start_five_nodes),
        ON_NODES(list_without_a_quorum_says_so, start_five_nodes),
        ON_NODES(list_goes_on_though_the_nodes_lose_the_script, start_three_nodes),
        ON_NODES(list_of_many_long_names_comes_in_smaller_pages, start_three_nodes),
        ON_NODES(list_without_the_right_to_walk_names_the_right, start_three_nodes),
        ON_1_3_5_NODES(wait_without_a_name_is_refused_whatever_its_length),
        ON_1_3_5_NODES(wait_ends_when_it_is_free_and_takes_nothing),
        ON_NODES(wait_ends_when_a_lease_does, start_three_nodes),
        ON_NODES(wait_can_be_cancelled, start_three_nodes),
        ON_NODES(watch_of_a_name_tells_its_life, start_three_nodes),
        ON_NODES(watch_of_all_tells_what_came_and_went, start_three_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
