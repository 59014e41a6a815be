/*
 * Tests of the guard on real nodes: a node that may have forgotten locks does not vote, says why and for how
 * long, and comes back by itself. Each way to forget is played twice: guarded, and plain, where it puts one
 * lock into two hands.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/guarded.h"
#include "support/steps.h"

enum {
    STORY_TTL_MS = 2000,
    FAILBACK_TTL_MS = 8000, /* memory is copied meanwhile */
    STORY_WAIT_MS = 700,
    ALL_THE_TIME_MS = 60000,
    URLS_MAX = 1024
};

/* ---- a new fleet --------------------------------------------------------------------------------------- */

static void a_new_fleet_is_quarantined_and_says_which_nodes_and_how_long(void **state)
{
    struct fleet *fleet = *state;
    redlock_options options = guarded_options(fleet_urls(fleet), 30000);
    redlock_client *client = open_with(&options);
    redlock_spec spec = spec_for("lock", 10000);
    redlock_report report = detailed_report();
    redlock_lock *lock = NULL;

    await_all_nodes(client);
    assert_result(REDLOCK_QUARANTINE, redlock_try_acquire(client, &spec, &lock, &report), &report);
    assert_null(lock);
    assert_report_is_sound(&report, REDLOCK_QUARANTINE, fleet);
    assert_non_null(strstr(report.line, "nodes 1, 2 and 3 must not vote"));
    for (int i = 0; i < fleet_size(fleet); i++) {
        redlock_node_report node = node_of(&report, (uint32_t)i);
        const char *words = strstr(node.detail, "quarantined for another ");
        int seconds = 0;

        assert_int_equal(node.verdict, REDLOCK_VERDICT_INELIGIBLE);
        assert_int_equal(node.cause, REDLOCK_CAUSE_QUARANTINE);
        assert_int_equal(node.eligible, 0);
        assert_in_range(node.eligible_in_ms, 20000, 32000);
        assert_non_null(words);
        assert_int_equal(sscanf(words, "quarantined for another %d s", &seconds), 1);
        assert_in_range(seconds, 20, 32);
    }
    redlock_client_close(client);
}

static void a_plain_client_does_not_know_that_a_fleet_is_new(void **state)
{
    struct fleet *fleet = *state;
    redlock_options options = options_for(fleet_urls(fleet));
    redlock_client *client;
    redlock_lock *lock;

    options.mode = REDLOCK_PLAIN;
    client = open_with(&options);
    await_all_nodes(client);
    lock = take_lock(client, "lock", 10000);
    assert_int_equal(redlock_lock_fence(lock), 0);
    give_back(lock);
    redlock_client_close(client);
}

static void the_operators_word_ends_the_quarantine(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), 30000);
    redlock_lock *lock = take_lock(client, "lock", 10000);

    assert_true(redlock_lock_fence(lock) > 0);
    give_back(lock);
    /* It was said to the nodes, not to the client. */
    redlock_options options = guarded_options(fleet_urls(fleet), 30000);
    redlock_client *another = open_with(&options);
    give_back(take_lock(another, "lock", 10000));
    redlock_client_close(another);
    redlock_client_close(client);
}

/* A node that answers NOSCRIPT has not refused: the word is said again, and its answer is what counts. */
static void an_init_reaches_a_node_that_lost_its_scripts(void **state)
{
    struct fleet *fleet = *state;
    redlock_options options = guarded_options(fleet_urls(fleet), 30000);
    redlock_client *client = open_with(&options);
    redlock_report report = detailed_report();
    redlock_spec spec = spec_for("lock", 10000);
    redlock_lock *lock = NULL;

    assert_result(REDLOCK_QUARANTINE, redlock_try_acquire(client, &spec, &lock, &report), &report);
    for (int node = 0; node < fleet_size(fleet); node++)
        fleet_command(fleet, node, "SCRIPT", "FLUSH", NULL);
    assert_result(REDLOCK_OK, redlock_init_nodes(client, 0, &report), &report);
    assert_int_equal(report.granted, fleet_size(fleet));
    redlock_client_close(client);
}

static void the_operators_word_is_no_business_of_a_plain_client(void **state)
{
    redlock_options options = options_for(fleet_urls(*state));
    redlock_report report = detailed_report();
    redlock_client *client;

    options.mode = REDLOCK_PLAIN;
    client = open_with(&options);
    assert_result(REDLOCK_MISUSE, redlock_init_nodes(client, 0, &report), &report);
    redlock_client_close(client);
}

/* Waits for a lock and says how long that took. */
static int64_t time_to_lock(redlock_client *client)
{
    redlock_spec spec = spec_for("lock", SHORT_MAX_TTL_MS);
    redlock_report report = detailed_report();
    redlock_lock *lock = NULL;
    int64_t start = now_ms();

    assert_result(REDLOCK_OK, redlock_acquire(client, &spec, ALL_THE_TIME_MS, &lock, &report), &report);
    int64_t took = now_ms() - start;
    redlock_release(lock, NULL);
    redlock_lock_free(lock);
    return took;
}

static void a_new_fleet_admits_itself_after_the_quarantine_and_not_before(void **state)
{
    struct fleet *fleet = *state;
    redlock_options options = guarded_options(fleet_urls(fleet), SHORT_MAX_TTL_MS);
    redlock_client *client = open_with(&options);

    assert_true(time_to_lock(client) >= QUARANTINE_MS);
    await(count_votes(client) == (uint32_t)fleet_size(fleet));
    redlock_client_close(client);
}

static void a_fleet_lost_at_once_comes_back_by_itself_after_the_quarantine(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), SHORT_MAX_TTL_MS);
    redlock_lock *lock = take_lock(client, "lock", SHORT_MAX_TTL_MS);
    uint64_t fence = redlock_lock_fence(lock);

    for (int i = 0; i < fleet_size(fleet); i++) {
        fleet_kill(fleet, i);
        fleet_wipe(fleet, i);
    }
    for (int i = 0; i < fleet_size(fleet); i++)
        assert_true(fleet_restart(fleet, i));
    assert_true(time_to_lock(client) >= SHORT_MAX_TTL_MS);
    redlock_lock_free(lock);
    await(count_votes(client) == (uint32_t)fleet_size(fleet));
    lock = take_lock(client, "lock", SHORT_MAX_TTL_MS);
    assert_true(redlock_lock_fence(lock) > fence);
    give_back(lock);
    redlock_client_close(client);
}

/* ---- ways to forget ------------------------------------------------------------------------------------ */

/* One lock, taken by somebody who reaches nodes 0 and 1 only, while node 0 forgets it. */
struct story {
    redlock_mode mode;
    uint32_t ttl_ms;                      /* 0: STORY_TTL_MS */
    bool late;                            /* the second client connects after the node forgot */
    char urls[URLS_MAX];                  /* of the second client: all three */
    char narrow_urls[URLS_MAX];           /* of the first: node 2 is out of its reach */
    void (*prepare)(struct fleet *fleet); /* before it is taken; may be NULL */
    void (*forget)(struct fleet *fleet);
};

static void set_urls(struct story *story, const char *first, const char *second, const char *third)
{
    snprintf(story->urls, sizeof story->urls, "%s,%s,%s", first, second, third);
    snprintf(story->narrow_urls, sizeof story->narrow_urls, "%s,%s,unix:///nonexistent/socket", first,
             second);
}

static uint32_t story_ttl_ms(const struct story *story)
{
    return story->ttl_ms != 0 ? story->ttl_ms : STORY_TTL_MS;
}

static redlock_client *open_story(const struct story *story, const char *urls)
{
    redlock_options options = guarded_options(urls, story_ttl_ms(story));

    options.mode = story->mode;
    return open_with(&options);
}

/* How many hold the lock at the same time in the end. *other_locks: the rest of the fleet goes on
 * meanwhile. */
static int play_once(const struct story *story, struct fleet *fleet, bool *other_locks)
{
    redlock_client *second = open_story(story, story->urls);
    redlock_client *first = open_story(story, story->narrow_urls);
    redlock_spec spec = spec_for("lock", story_ttl_ms(story));
    redlock_lock *held = NULL, *stolen = NULL, *other = NULL;
    int holders;
    bool stole;

    if (story->mode == REDLOCK_GUARDED)
        admit_all_nodes(second);
    await_all_nodes(second);
    if (story->prepare != NULL)
        story->prepare(fleet);
    held = take_spec(first, &spec);
    story->forget(fleet);
    if (story->late) {
        redlock_client_close(second);
        second = open_story(story, story->urls);
    }
    stole = redlock_acquire(second, &spec, STORY_WAIT_MS, &stolen, NULL) == REDLOCK_OK;
    holders = (redlock_lock_validity_ms(held) > 0) + stole;
    spec.name = "other";
    *other_locks = redlock_acquire(second, &spec, STORY_WAIT_MS, &other, NULL) == REDLOCK_OK;
    for (int i = 0; i < 3; i++) {
        redlock_lock *lock = (redlock_lock *[]){held, stolen, other}[i];

        if (lock != NULL)
            redlock_release(lock, NULL);
        redlock_lock_free(lock);
    }
    redlock_client_close(first);
    redlock_client_close(second);
    return holders;
}

/* A machine that stops for a second may let the first lock end before the second is asked for: play it
 * again. */
static void expect_holders(const struct story *story, struct fleet *fleet, int expected)
{
    bool other_locks = false;
    int holders = 0;

    for (int tries = 0; tries < 5 && holders != expected; tries++) {
        for (int i = 0; i < fleet_size(fleet); i++)
            fleet_command(fleet, i, "FLUSHALL", NULL);
        holders = play_once(story, fleet, &other_locks);
        assert_true(holders <= expected);
    }
    assert_int_equal(holders, expected);
    assert_true(other_locks);
}

static void play(struct fleet *fleet, struct story *story)
{
    set_urls(story, fleet_url(fleet, 0), fleet_url(fleet, 1), fleet_url(fleet, 2));
    story->mode = REDLOCK_GUARDED;
    expect_holders(story, fleet, 1);
    story->mode = REDLOCK_PLAIN;
    expect_holders(story, fleet, 2);
}

static void wipe_node(struct fleet *fleet)
{
    fleet_kill(fleet, 0);
    fleet_wipe(fleet, 0);
    assert_true(fleet_restart(fleet, 0));
}

static void a_wiped_node_does_not_give_a_lock_away_twice(void **state)
{
    play(*state, &(struct story){.forget = wipe_node});
}

static void flush_node(struct fleet *fleet)
{
    fleet_command(fleet, 0, "FLUSHALL", NULL);
}

/* No connection breaks: only the record that is gone tells. */
static void a_flushed_node_does_not_give_a_lock_away_twice(void **state)
{
    play(*state, &(struct story){.forget = flush_node});
}

static void save_node(struct fleet *fleet)
{
    assert_string_equal(fleet_command(fleet, 0, "SAVE", NULL), "OK");
}

static void restore_node(struct fleet *fleet)
{
    fleet_kill(fleet, 0);
    assert_true(fleet_restart(fleet, 0));
}

static void a_node_restored_from_an_old_snapshot_does_not_give_a_lock_away_twice(void **state)
{
    play(*state, &(struct story){.prepare = save_node, .forget = restore_node});
}

/* ---- a promoted replica -------------------------------------------------------------------------------- */

/* A master, its replica, and the path behind which the one takes over from the other. */
static struct fleet *replica_fleet;
static char link_path[128];

static void point_link_at(const struct fleet *fleet)
{
    char target[160];

    snprintf(target, sizeof target, "%s/0/socket", fleet_folder(fleet));
    unlink(link_path);
    assert_int_equal(symlink(target, link_path), 0);
}

static void start_replica(struct fleet *master)
{
    char config[64];
    struct fleet_options options = {.node_count = 1, .transport = FLEET_TCP, .config = config};

    snprintf(config, sizeof config, "replicaof 127.0.0.1 %s", strrchr(fleet_url(master, 0), ':') + 1);
    replica_fleet = fleet_start(&options);
    assert_non_null(replica_fleet);
    await(strstr(fleet_command(replica_fleet, 0, "INFO", "replication", NULL), "master_link_status:up") !=
          NULL);
}

/* The replica has everything up to now, and nothing of what comes: it looks for its master where nobody
 * is. */
static void cut_replica_off(struct fleet *fleet)
{
    assert_string_equal(fleet_command(fleet, 0, "WAIT", "1", "0", NULL), "1");
    assert_string_equal(fleet_command(replica_fleet, 0, "REPLICAOF", "127.0.0.1", "1", NULL), "OK");
}

static void promote_replica(struct fleet *fleet)
{
    fleet_kill(fleet, 0);
    assert_string_equal(fleet_command(replica_fleet, 0, "REPLICAOF", "NO", "ONE", NULL), "OK");
    point_link_at(replica_fleet);
}

static void play_promotion(struct fleet *fleet, redlock_mode mode, int expected)
{
    struct story story = {.mode = mode, .prepare = cut_replica_off, .forget = promote_replica};
    char url[160];
    bool other_locks;

    snprintf(link_path, sizeof link_path, "%s/link", fleet_folder(fleet));
    snprintf(url, sizeof url, "unix://%s", link_path);
    point_link_at(fleet);
    start_replica(fleet);
    /* Up for longer than any quarantine: for a promoted node that is no excuse. */
    sleep_ms(mode == REDLOCK_GUARDED ? 2 * STORY_TTL_MS + 1000 : 0);
    set_urls(&story, url, fleet_url(fleet, 1), fleet_url(fleet, 2));
    assert_int_equal(play_once(&story, fleet, &other_locks), expected);
    assert_true(other_locks);
    fleet_stop(replica_fleet);
}

static int start_three_tcp(void **state)
{
    struct fleet_options options = {
        .node_count = 3, .transport = FLEET_TCP, .config = "repl-diskless-sync-delay 0"};

    *state = fleet_start(&options);
    return *state != NULL ? 0 : -1;
}

static void a_promoted_replica_does_not_give_a_lock_away_twice(void **state)
{
    play_promotion(*state, REDLOCK_GUARDED, 1);
}

static void without_the_guard_a_promoted_replica_gives_a_lock_away_twice(void **state)
{
    play_promotion(*state, REDLOCK_PLAIN, 2);
}

/* ---- a master that was a replica for a while ----------------------------------------------------------- */

static void start_another(void)
{
    replica_fleet = fleet_start(&(struct fleet_options){
        .node_count = 1, .transport = FLEET_TCP, .config = "repl-diskless-sync-delay 0"});
    assert_non_null(replica_fleet);
}

static void become_replica(struct fleet *fleet, const struct fleet *master)
{
    const char *port = strrchr(fleet_url(master, 0), ':') + 1;

    assert_string_equal(fleet_command(fleet, 0, "REPLICAOF", "127.0.0.1", port, NULL), "OK");
    await(strstr(fleet_command(fleet, 0, "INFO", "replication", NULL), "master_link_status:up") != NULL);
}

/* Its replica has taken over, so it becomes a replica of that one, and is then made master again. No process
 * ends, no connection breaks, and the record that comes back with the other's memory is its own. */
static void fail_back(struct fleet *fleet)
{
    become_replica(fleet, replica_fleet);
    assert_string_equal(fleet_command(fleet, 0, "GET", "lock", NULL), "(nil)");
    assert_string_equal(fleet_command(fleet, 0, "REPLICAOF", "NO", "ONE", NULL), "OK");
}

static void fail_over(struct fleet *fleet)
{
    become_replica(replica_fleet, fleet);
    assert_string_equal(fleet_command(fleet, 0, "WAIT", "1", "0", NULL), "1");
    assert_string_equal(fleet_command(replica_fleet, 0, "REPLICAOF", "NO", "ONE", NULL), "OK");
}

static void play_failback(struct fleet *fleet, struct story story)
{
    start_another();
    story.ttl_ms = FAILBACK_TTL_MS;
    story.forget = fail_back;
    play(fleet, &story);
    fleet_stop(replica_fleet);
}

static void a_master_that_was_a_replica_for_a_while_does_not_give_a_lock_away_twice(void **state)
{
    play_failback(*state, (struct story){.prepare = fail_over});
}

static void nor_does_it_to_a_client_that_comes_afterwards(void **state)
{
    play_failback(*state, (struct story){.prepare = fail_over, .late = true});
}

/* The memory it takes over is of a node with a record of its own, and it has been up for longer than any
 * quarantine. */
static void a_master_with_the_memory_of_another_one_gets_no_credit_for_its_uptime(void **state)
{
    struct fleet *fleet = *state;
    struct story story = {.ttl_ms = FAILBACK_TTL_MS, .forget = fail_back};
    redlock_client *client;
    bool other_locks;

    start_another();
    client = open_admitted(fleet_url(replica_fleet, 0), FAILBACK_TTL_MS);
    redlock_client_close(client);
    sleep_ms(FAILBACK_TTL_MS + 2500);
    set_urls(&story, fleet_url(fleet, 0), fleet_url(fleet, 1), fleet_url(fleet, 2));
    assert_int_equal(play_once(&story, fleet, &other_locks), 1);
    fleet_stop(replica_fleet);
}

/* That changes its replication id, but not its memory. */
static void a_master_that_gets_its_first_replica_goes_on_voting(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), 30000);

    await(node_votes(client, 0, NULL));
    start_replica(fleet);
    await(node_votes(client, 0, NULL)); /* 30 seconds would not be waited for */
    redlock_client_close(client);
    fleet_stop(replica_fleet);
}

static void a_replica_does_not_vote(void **state)
{
    struct fleet *fleet = *state;
    redlock_options options;
    redlock_client *client;
    char detail[160];

    start_replica(fleet);
    options = guarded_options(fleet_url(replica_fleet, 0), SHORT_MAX_TTL_MS);
    client = open_with(&options);
    assert_false(node_votes(client, 0, detail));
    assert_non_null(strstr(detail, "replica"));
    redlock_client_close(client);
    fleet_stop(replica_fleet);
}

/* ---- memory that comes back ---------------------------------------------------------------------------- */

static void swap_databases(struct fleet *fleet)
{
    assert_string_equal(fleet_command(fleet, 0, "SWAPDB", "0", "1", NULL), "OK");
}

/* Another database takes the place of the one with the record, for long enough to be admitted and to grant a
 * lock. Then the first one is back, with a record that was in order, and without that lock. How many hold
 * it? */
static int play_swap(struct fleet *fleet, redlock_mode mode)
{
    struct story story = {.mode = mode};
    redlock_client *first, *second;
    redlock_spec spec = spec_for("lock", STORY_TTL_MS);
    redlock_lock *held, *stolen = NULL;
    int holders;

    set_urls(&story, fleet_url(fleet, 0), fleet_url(fleet, 1), fleet_url(fleet, 2));
    second = open_story(&story, story.urls);
    if (mode == REDLOCK_GUARDED)
        admit_all_nodes(second);
    await_all_nodes(second);
    await(count_votes(second) == 3);
    swap_databases(fleet);
    await(count_votes(second) == 3);
    first = open_story(&story, story.narrow_urls);
    held = take_spec(first, &spec);
    swap_databases(fleet);
    for (int64_t start = now_ms(); stolen == NULL && now_ms() - start < STORY_WAIT_MS;)
        (void)!redlock_try_acquire(second, &spec, &stolen, NULL);
    holders = (stolen != NULL) + (redlock_lock_validity_ms(held) > 0);
    for (int i = 0; i < 2; i++) {
        redlock_lock *lock = (redlock_lock *[]){held, stolen}[i];

        if (lock != NULL)
            redlock_release(lock, NULL);
        redlock_lock_free(lock);
    }
    redlock_client_close(first);
    redlock_client_close(second);
    fleet_command(fleet, 0, "FLUSHALL", NULL);
    return holders;
}

static void a_database_that_was_swapped_there_and_back_does_not_give_a_lock_away_twice(void **state)
{
    struct fleet *fleet = *state;

    assert_int_equal(play_swap(fleet, REDLOCK_GUARDED), 1);
    assert_int_equal(play_swap(fleet, REDLOCK_PLAIN), 2);
}

/* Its keys as they were before it was flushed, put back by a helpful hand. */
static void a_record_restored_by_hand_is_not_believed_by_a_client_that_saw_it_end(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), SHORT_MAX_TTL_MS);
    char record[128], floor[32], detail[160];

    await(count_votes(client) == 3);
    snprintf(record, sizeof record, "%s", fleet_command(fleet, 0, "GET", "redlock-guard:epoch", NULL));
    snprintf(floor, sizeof floor, "%s", fleet_command(fleet, 0, "GET", "redlock-guard:floor", NULL));
    flush_node(fleet);
    await(!node_votes(client, 0, detail) && strstr(detail, "quarantined") != NULL);
    fleet_command(fleet, 0, "SET", "redlock-guard:epoch", record, NULL);
    fleet_command(fleet, 0, "SET", "redlock-guard:floor", floor, NULL);
    await(strcmp(fleet_command(fleet, 0, "GET", "redlock-guard:epoch", NULL), record) != 0 ||
          node_votes(client, 0, NULL));
    assert_string_not_equal(fleet_command(fleet, 0, "GET", "redlock-guard:epoch", NULL), record);
    await(node_votes(client, 0, NULL)); /* after another quarantine */
    redlock_client_close(client);
}

/* The same record, but fences that go back: an old snapshot that was loaded without a restart. */
static void a_floor_that_falls_is_noticed(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), SHORT_MAX_TTL_MS);
    char record[128];

    await(count_votes(client) == 3);
    snprintf(record, sizeof record, "%s", fleet_command(fleet, 0, "GET", "redlock-guard:epoch", NULL));
    fleet_command(fleet, 0, "SET", "redlock-guard:floor", "1700000000000000", NULL);
    fleet_command(fleet, 0, "CLIENT", "KILL", "TYPE", "normal", NULL); /* whoever connects looks at it */
    await(!node_votes(client, 0, NULL) &&
          strncmp(fleet_command(fleet, 0, "GET", "redlock-guard:epoch", NULL), record, 70) != 0);
    redlock_client_close(client);
}

/* ---- nodes that talk nonsense -------------------------------------------------------------------------- */

/* Its record is as it was, but what it says of fences is not to be believed: it is told anew by the
 * others. */
static void a_floor_that_is_no_number_of_ours_spoils_nobodys_fences(void **state)
{
    static const char *const odd[] = {"9007199254740992", "1e300", "-1", "nonsense"};
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), SHORT_MAX_TTL_MS);
    uint64_t fence = 0;

    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        fleet_command(fleet, 0, "SET", "redlock-guard:floor", odd[i], NULL);
        for (int k = 0; k < 3; k++) {
            redlock_lock *lock = take_lock(client, "lock", SHORT_MAX_TTL_MS);

            assert_true(redlock_lock_fence(lock) > fence);
            assert_true(redlock_lock_fence(lock) < UINT64_C(4000000000000000));
            fence = redlock_lock_fence(lock);
            give_back(lock);
        }
        await(node_votes(client, 0, NULL));
    }
    redlock_client_close(client);
}

/* A record says how long the longest lock of any client may be, and what one node says counts for all; but no
 * lock is longer than a day. */
static void a_record_with_a_quarantine_of_centuries_keeps_nobody_else_from_voting(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), SHORT_MAX_TTL_MS);
    redlock_options options = guarded_options(fleet_urls(fleet), SHORT_MAX_TTL_MS);
    redlock_client *another;
    char run[64], record[128];

    assert_int_equal(sscanf(fleet_command(fleet, 0, "GET", "redlock-guard:epoch", NULL), "1 %63s", run), 1);
    snprintf(record, sizeof record, "1 %s deadbeefdeadbeef 9000000000000000 0", run);
    fleet_command(fleet, 0, "SET", "redlock-guard:epoch", record, NULL);
    node_votes(client, 0, NULL);
    fleet_command(fleet, 1, "CLIENT", "KILL", "TYPE", "normal", NULL);
    fleet_command(fleet, 2, "CLIENT", "KILL", "TYPE", "normal", NULL);
    another = open_with(&options);
    await(node_votes(client, 1, NULL) && node_votes(client, 2, NULL));
    await(node_votes(another, 1, NULL) && node_votes(another, 2, NULL));
    await(node_votes(another, 0, NULL)); /* after the quarantine that clients ask for */
    redlock_client_close(another);
    redlock_client_close(client);
}

/* ---- coming back --------------------------------------------------------------------------------------- */

static void a_wiped_node_votes_again_when_its_quarantine_is_over(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), SHORT_MAX_TTL_MS);
    char detail[160];

    await(node_votes(client, 0, NULL));
    wipe_node(fleet);
    int64_t restarted = now_ms();
    /* Reconnecting takes a moment, in which the node is broken; then it is ineligible. The others carry on
     * throughout. */
    while (!node_votes(client, 0, detail)) {
        await(node_votes(client, 1, NULL));
        sleep_ms(5);
    }
    assert_true(now_ms() - restarted >= QUARANTINE_MS);
    redlock_client_close(client);
}

static void a_flushed_node_votes_again_when_its_quarantine_is_over(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), SHORT_MAX_TTL_MS);
    char detail[160];

    await(node_votes(client, 2, NULL));
    int64_t flushed = now_ms();
    fleet_wipe(fleet, 2);
    assert_false(node_votes(client, 2, detail));
    await(!node_votes(client, 2, detail) && strstr(detail, "quarantined") != NULL);
    await(node_votes(client, 2, NULL));
    assert_true(now_ms() - flushed >= QUARANTINE_MS);
    redlock_client_close(client);
}

/* With one node fit and one in quarantine there is no quorum of intact nodes to learn the floor from, and too
 * few clocks. */
static void too_few_nodes_to_learn_the_fences_from_are_named_as_the_reason(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), SHORT_MAX_TTL_MS);
    char detail[160];

    for (int i = 2; i < 5; i++) {
        fleet_kill(fleet, i);
        fleet_wipe(fleet, i);
    }
    assert_true(fleet_restart(fleet, 2));
    await(!node_votes(client, 2, detail) && strstr(detail, "lost its fencing tokens") != NULL);
    /* All but one are enough. */
    assert_true(fleet_restart(fleet, 3));
    await(node_votes(client, 2, NULL) && node_votes(client, 3, NULL));
    redlock_client_close(client);
}

/* ---- nodes that remember ------------------------------------------------------------------------------- */

static struct fleet *start_durable(void)
{
    struct fleet_options options = {.node_count = 3, .transport = FLEET_UNIX, .durable = true};
    struct fleet *fleet = fleet_start(&options);

    assert_non_null(fleet);
    return fleet;
}

static void join_urls(struct fleet *fleet, const char *query, char urls[URLS_MAX])
{
    size_t used = 0;

    for (int i = 0; i < fleet_size(fleet); i++)
        used += (size_t)snprintf(urls + used, URLS_MAX - used, "%s%s%s", i > 0 ? "," : "",
                                 fleet_url(fleet, i), query);
}

/* Takes a lock, restarts all nodes, and says what another client gets. */
static redlock_result result_after_restart(const char *query)
{
    struct fleet *fleet = start_durable();
    char urls[URLS_MAX];
    redlock_spec spec = spec_for("lock", LONG_TTL_MS);
    redlock_lock *lock = NULL, *held;
    redlock_client *client, *another;
    redlock_options options;
    redlock_result result;

    join_urls(fleet, query, urls);
    client = open_admitted(urls, LONG_TTL_MS);
    held = take_lock(client, "lock", LONG_TTL_MS);
    for (int i = 0; i < 3; i++) {
        fleet_kill(fleet, i);
        assert_true(fleet_restart(fleet, i));
    }
    options = guarded_options(urls, LONG_TTL_MS);
    another = open_with(&options);
    result = redlock_try_acquire(another, &spec, &lock, NULL);
    assert_null(lock);
    redlock_client_close(another);
    redlock_release(held, NULL);
    redlock_lock_free(held);
    redlock_client_close(client);
    fleet_stop(fleet);
    return result;
}

static void a_node_declared_durable_goes_on_after_a_restart(void **state)
{
    (void)state;
    assert_int_equal(result_after_restart("?durable=yes"), REDLOCK_BUSY);
}

/* Settings read after a crash prove nothing: without the operator's word it sits out though it has
 * everything. */
static void undeclared_the_same_node_is_quarantined(void **state)
{
    (void)state;
    assert_int_equal(result_after_restart(""), REDLOCK_QUARANTINE);
}

/* ---- nodes that cannot be trusted or asked ------------------------------------------------------------- */

/* The report of a client on a fleet of one node with these settings, after the operator's word. */
static redlock_result report_of(const char *config, redlock_mode mode, const char *user,
                                redlock_report *report)
{
    struct fleet_options fleet_options = {.node_count = 1, .transport = FLEET_UNIX, .config = config};
    struct fleet *fleet = fleet_start(&fleet_options);
    redlock_options options;
    redlock_spec spec = spec_for("lock", 10000);
    redlock_lock *lock = NULL;
    redlock_client *client;
    redlock_result result;

    assert_non_null(fleet);
    options = guarded_options(fleet_url(fleet, 0), LONG_TTL_MS);
    options.mode = mode;
    options.user = user;
    options.password = user;
    client = open_with(&options);
    if (mode == REDLOCK_GUARDED)
        redlock_init_nodes(client, 0, NULL);
    result = redlock_try_acquire(client, &spec, &lock, report);
    if (lock != NULL)
        give_back(lock);
    redlock_client_close(client);
    fleet_stop(fleet);
    return result;
}

static void a_node_that_may_evict_locks_is_refused_with_the_setting_to_change(void **state)
{
    redlock_report report = detailed_report();
    redlock_result result =
        report_of("maxmemory 50mb\nmaxmemory-policy allkeys-lru", REDLOCK_GUARDED, NULL, &report);

    (void)state;
    assert_result(REDLOCK_QUARANTINE, result, &report);
    assert_int_equal(node_of(&report, 0).verdict, REDLOCK_VERDICT_INELIGIBLE);
    assert_non_null(strstr(node_of(&report, 0).detail, "maxmemory-policy noeviction"));
    assert_non_null(strstr(report.line, "noeviction"));
}

static void limited_memory_without_eviction_is_fine(void **state)
{
    redlock_report report = detailed_report();

    (void)state;
    assert_result(REDLOCK_OK,
                  report_of("maxmemory 50mb\nmaxmemory-policy noeviction", REDLOCK_GUARDED, NULL, &report),
                  &report);
    assert_result(REDLOCK_OK, report_of("maxmemory-policy allkeys-lru", REDLOCK_GUARDED, NULL, &report),
                  &report);
}

#define WITHOUT_INFO "user limited on >limited ~* &* +@all -info"

static void a_missing_right_to_info_is_named(void **state)
{
    redlock_report report = detailed_report();
    redlock_result result = report_of(WITHOUT_INFO, REDLOCK_GUARDED, "limited", &report);

    (void)state;
    assert_result(REDLOCK_FORBIDDEN, result, &report);
    assert_non_null(strstr(node_of(&report, 0).detail, "+info"));
    assert_non_null(strstr(report.line, "+info"));
}

static void plain_mode_does_without_info(void **state)
{
    redlock_report report = detailed_report();

    (void)state;
    assert_result(REDLOCK_OK, report_of(WITHOUT_INFO, REDLOCK_PLAIN, "limited", &report), &report);
}

static void a_missing_right_to_scripts_is_named(void **state)
{
    redlock_report report = detailed_report();
    redlock_result result =
        report_of("user limited on >limited ~* &* +@all -@scripting", REDLOCK_GUARDED, "limited", &report);

    (void)state;
    assert_result(REDLOCK_FORBIDDEN, result, &report);
    assert_non_null(strstr(node_of(&report, 0).detail, "NOPERM"));
}

/* ---- what clients agree on ----------------------------------------------------------------------------- */

/* Takes and gives back a lock at once, whatever others do meanwhile: one refused question would show. */
static void expect_undisturbed(redlock_client *client)
{
    redlock_report report = detailed_report();
    redlock_spec spec = spec_for("undisturbed", SHORT_MAX_TTL_MS);
    redlock_lock *lock = NULL;

    assert_result(REDLOCK_OK, redlock_try_acquire(client, &spec, &lock, &report), &report);
    for (uint32_t node = 0; node < report.node_count; node++)
        assert_int_not_equal(node_of(&report, node).verdict, REDLOCK_VERDICT_INELIGIBLE);
    give_back(lock);
}

static void clients_with_longer_locks_cost_no_node_its_vote(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *brief = open_admitted(fleet_urls(fleet), SHORT_MAX_TTL_MS);
    redlock_options options = guarded_options(fleet_urls(fleet), 86400000);
    redlock_client *lasting, *careful;

    await_all_nodes(brief);
    await(count_votes(brief) == (uint32_t)fleet_size(fleet));
    expect_undisturbed(brief);
    lasting = open_with(&options);
    give_back(take_lock(lasting, "lock", 10000));
    expect_undisturbed(brief);
    options.max_ttl_ms = SHORT_MAX_TTL_MS;
    options.drift_ppm = 200000;
    careful = open_with(&options);
    give_back(take_lock(careful, "lock", SHORT_MAX_TTL_MS));
    expect_undisturbed(brief);
    expect_undisturbed(lasting);
    redlock_client_close(careful);
    redlock_client_close(lasting);
    redlock_client_close(brief);
}

/* A lock of somebody with a longer max_ttl, who is not there when the node forgets. All that is left of him
 * is what the other nodes know. */
static void a_restarted_node_learns_from_the_others_how_long_locks_may_last(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *brief = open_admitted(fleet_urls(fleet), SHORT_MAX_TTL_MS);
    char narrow[URLS_MAX];
    redlock_options options = guarded_options(narrow, 30000);
    redlock_client *lasting;
    redlock_spec spec = spec_for("lock", 30000);
    redlock_lock *held = NULL, *stolen = NULL;
    char detail[160] = "";

    snprintf(narrow, sizeof narrow, "%s,%s,unix:///nonexistent/socket", fleet_url(fleet, 0),
             fleet_url(fleet, 1));
    lasting = open_with(&options);
    held = take_spec(lasting, &spec);
    assert_int_equal(redlock_lock_validity_ms(held) > 0, 1);
    redlock_lock_free(held); /* it stays at the nodes */
    redlock_client_close(lasting);
    wipe_node(fleet);
    /* First it sits out what the others need; then they tell it that this is not enough. */
    await(!node_votes(brief, 0, detail) && strstr(detail, "locks of another client last up to 30 s") != NULL);
    assert_in_range(atoi(strstr(detail, "another ") + 8), 5, 31);
    spec.ttl_ms = SHORT_MAX_TTL_MS;
    assert_int_equal(redlock_acquire(brief, &spec, STORY_WAIT_MS, &stolen, NULL), REDLOCK_TIMEOUT);
    assert_int_equal(count_votes(brief), 2); /* the others go on */
    redlock_client_close(brief);
    for (int node = 0; node < fleet_size(fleet); node++)
        fleet_command(fleet, node, "DEL", "lock", NULL);
}

/* Then every node forgets, while only somebody with shorter locks is there. It has heard of the longer ones
 * from the nodes, as long as they knew, and tells it to all of them. */
static void a_client_remembers_how_long_locks_may_last_when_all_nodes_forgot(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *brief = open_admitted(fleet_urls(fleet), SHORT_MAX_TTL_MS);
    redlock_client *lasting = open_admitted(fleet_urls(fleet), 30000);
    redlock_spec spec = spec_for("lock", 30000);
    redlock_lock *stolen = NULL;
    char detail[160] = "";

    redlock_lock_free(take_spec(lasting, &spec)); /* it stays at the nodes */
    redlock_client_close(lasting);
    wipe_node(fleet);
    await(!node_votes(brief, 0, detail) && strstr(detail, "locks of another client last up to 30 s") != NULL);
    for (int node = 0; node < fleet_size(fleet); node++)
        fleet_wipe(fleet, node);
    for (uint32_t node = 0; node < (uint32_t)fleet_size(fleet); node++)
        await(!node_votes(brief, node, detail) &&
              strstr(detail, "locks of another client last up to 30 s") != NULL);
    spec.ttl_ms = SHORT_MAX_TTL_MS;
    assert_int_equal(redlock_acquire(brief, &spec, STORY_WAIT_MS, &stolen, NULL), REDLOCK_QUARANTINE);
    redlock_client_close(brief);
}

/* A term that is announced when a node has already lost its data, and not to that node: it is heard from the
 * others while that one is quarantined, so that it is known when they lose theirs, too. */
static void a_term_that_comes_after_the_first_loss_is_remembered_too(void **state)
{
    enum { BRIEF_MS = 2000, HEARD_AGAIN_MS = 2200 };
    struct fleet *fleet = *state;
    redlock_client *brief = open_admitted(fleet_urls(fleet), BRIEF_MS), *lasting;
    char urls[URLS_MAX], detail[160] = "";
    redlock_options options = guarded_options(urls, 30000);

    snprintf(urls, sizeof urls, "unix:///nonexistent/socket,%s,%s", fleet_url(fleet, 1), fleet_url(fleet, 2));
    wipe_node(fleet);
    await(!node_votes(brief, 0, NULL));
    lasting = open_with(&options);
    redlock_lock_free(take_lock(lasting, "lock", 30000)); /* it stays at the nodes */
    redlock_client_close(lasting);
    for (int64_t until_ms = now_ms() + HEARD_AGAIN_MS; now_ms() < until_ms; sleep_ms(20))
        node_votes(brief, 0, NULL);
    for (int node = 0; node < fleet_size(fleet); node++)
        fleet_wipe(fleet, node);
    for (uint32_t node = 0; node < (uint32_t)fleet_size(fleet); node++)
        await(!node_votes(brief, node, detail) &&
              strstr(detail, "locks of another client last up to 30 s") != NULL);
    redlock_client_close(brief);
}

/* And nobody sits out longer than needed once nobody uses such locks: here the time is over at once. */
static void a_term_that_faded_keeps_no_node_from_voting(void **state)
{
    struct fleet *fleet = *state;
    redlock_options options = guarded_options(fleet_urls(fleet), 30000);
    redlock_client *lasting = open_admitted(fleet_urls(fleet), 30000), *brief;

    give_back(take_lock(lasting, "lock", 30000));
    redlock_client_close(lasting);
    for (int node = 0; node < fleet_size(fleet); node++)
        fleet_command(fleet, node, "SET", "redlock-guard:terms", "31302:1", NULL);
    options.max_ttl_ms = SHORT_MAX_TTL_MS;
    brief = open_with(&options);
    await(count_votes(brief) == (uint32_t)fleet_size(fleet));
    wipe_node(fleet);
    await(node_votes(brief, 0, NULL));
    redlock_client_close(brief);
}

/* A client that only extends tells the nodes how long its locks may be, too. */
static void adopting_a_lock_announces_its_term(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *brief = open_admitted(fleet_urls(fleet), 10000);
    redlock_options options = guarded_options(fleet_urls(fleet), 30000);
    redlock_client *lasting = open_with(&options);
    redlock_spec spec = spec_for("lock", 30000);
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_lock *held = take_lock(brief, "lock", 10000), *adopted = NULL;
    const char *owner;
    size_t owner_length;

    spec.auto_extend = 0;
    owner = redlock_lock_owner(held, &owner_length);
    assert_result(REDLOCK_OK, redlock_adopt(lasting, &spec, owner, owner_length, &adopted, &report), &report);
    for (int node = 0; node < fleet_size(fleet); node++)
        assert_non_null(strstr(fleet_command(fleet, node, "GET", "redlock-guard:epoch", NULL), " 31302 0"));
    redlock_release(adopted, NULL);
    redlock_lock_free(adopted);
    redlock_lock_free(held);
    redlock_client_close(lasting);
    redlock_client_close(brief);
}

static void a_lock_longer_than_max_ttl_is_refused(void **state)
{
    redlock_client *client = open_admitted(fleet_urls(*state), 1000);
    redlock_spec spec = spec_for("lock", 1001);
    redlock_report report = detailed_report();
    redlock_lock *lock = NULL;

    assert_result(REDLOCK_INVALID, redlock_try_acquire(client, &spec, &lock, &report), &report);
    assert_non_null(strstr(report.line, "max_ttl_ms"));
    lock = take_lock(client, "lock", 1000);
    assert_result(REDLOCK_INVALID, redlock_extend(lock, 1001, &report), &report);
    give_back(lock);
    redlock_client_close(client);
}

/* A release names no TTL, and an acquisition need not: the default must not be in the way of a short
 * max_ttl. */
static void a_short_max_ttl_needs_no_ttl_to_be_named(void **state)
{
    redlock_client *client = open_admitted(fleet_urls(*state), 1000);
    redlock_spec spec = spec_for("lock", 0);
    redlock_report report = detailed_report();
    redlock_lock *lock = NULL;
    size_t length;

    assert_result(REDLOCK_OK, redlock_try_acquire(client, &spec, &lock, &report), &report);
    assert_in_range(redlock_lock_validity_ms(lock), 1, 1000);
    const char *owner = redlock_lock_owner(lock, &length);
    assert_result(REDLOCK_OK, redlock_release_owner(client, "lock", 4, owner, length, &report), &report);
    redlock_lock_free(lock);
    redlock_client_close(client);
}

static void expect_reserved(const char *urls, const char *prefix, const char *name, redlock_result expected)
{
    redlock_options options = guarded_options(urls, 1000);
    redlock_spec spec = spec_for(name, 1000);
    redlock_report report = detailed_report();
    redlock_lock *lock = NULL;
    redlock_client *client;

    options.key_prefix = prefix;
    client = open_with(&options);
    admit_all_nodes(client);
    assert_result(expected, redlock_try_acquire(client, &spec, &lock, &report), &report);
    if (expected == REDLOCK_INVALID)
        assert_non_null(strstr(report.line, "reserved"));
    else
        give_back(lock);
    redlock_client_close(client);
}

static void names_that_the_guard_needs_are_refused(void **state)
{
    const char *urls = fleet_urls(*state);

    expect_reserved(urls, NULL, "redlock-guard:epoch", REDLOCK_INVALID);
    expect_reserved(urls, NULL, "redlock-guard:", REDLOCK_INVALID);
    expect_reserved(urls, NULL, "redlock-fence:{lock}", REDLOCK_INVALID);
    expect_reserved(urls, NULL, "redlock-line:{lock}:line", REDLOCK_INVALID);
    expect_reserved(urls, "redlock-", "guard:floor", REDLOCK_INVALID);
    expect_reserved(urls, "app:", "redlock-guard:epoch", REDLOCK_OK);
    expect_reserved(urls, NULL, "redlock-guard", REDLOCK_OK);
}

/* A node has one memory, whoever uses it. */
static void a_node_has_one_record_whatever_the_prefix(void **state)
{
    struct fleet *fleet = *state;
    redlock_options options = guarded_options(fleet_urls(fleet), 1000);
    redlock_client *client = open_admitted(fleet_urls(fleet), 1000);
    redlock_client *prefixed;

    options.key_prefix = "app:";
    prefixed = open_with(&options);
    await(node_votes(prefixed, 0, NULL));
    fleet_wipe(fleet, 0);
    assert_false(node_votes(prefixed, 0, NULL));
    assert_false(node_votes(client, 0, NULL));
    redlock_client_close(prefixed);
    redlock_client_close(client);
}

/* ---- for people ---------------------------------------------------------------------------------------- */

static void an_inspection_says_why_a_node_does_not_vote(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), 30000);
    redlock_report report = detailed_report();

    assert_result(REDLOCK_OK, redlock_inspect(client, NULL, 0, &report), &report);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(node_of(&report, i).eligible, 1);
        assert_string_equal(node_of(&report, i).detail, "");
    }
    fleet_wipe(fleet, 1);
    node_votes(client, 1, NULL);
    assert_result(REDLOCK_OK, redlock_inspect(client, "lock", 4, &report), &report);
    assert_int_equal(node_of(&report, 0).eligible, 1);
    assert_int_equal(node_of(&report, 1).eligible, 0);
    assert_int_equal(node_of(&report, 1).cause, REDLOCK_CAUSE_QUARANTINE);
    assert_true(node_of(&report, 1).eligible_in_ms > 0);
    assert_int_equal(node_of(&report, 2).eligible, 1);
    redlock_client_close(client);
}

/* Somebody who only looks is told too, without having asked for a lock before. */
static void an_inspection_of_a_new_fleet_says_that_it_does_not_vote(void **state)
{
    struct fleet *fleet = *state;
    redlock_options options = guarded_options(fleet_urls(fleet), 30000);
    redlock_client *client = open_with(&options);
    redlock_report report = detailed_report();

    await_all_nodes(client);
    assert_result(REDLOCK_OK, redlock_inspect(client, NULL, 0, &report), &report);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(node_of(&report, i).eligible, 0);
        assert_int_equal(node_of(&report, i).cause, REDLOCK_CAUSE_QUARANTINE);
    }
    redlock_client_close(client);
}

/* ---- repair -------------------------------------------------------------------------------------------- */

static void a_minority_that_lost_the_lock_is_given_it_again(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), 30000);
    redlock_lock *lock = take_lock(client, "repaired", 30000);

    await(count_lock_keys(fleet, 0) + count_lock_keys(fleet, 1) + count_lock_keys(fleet, 2) == 3);
    fleet_command(fleet, 0, "DEL", "repaired", NULL);
    assert_result(REDLOCK_OK, redlock_extend(lock, 0, NULL), NULL);
    await(count_lock_keys(fleet, 0) == 1);
    give_back(lock);
    redlock_client_close(client);
}

/* Gone from a quorum, somebody else may have had it and given it back: nothing on the nodes would tell. Once
 * a renewal planted it again on all of them, and its holder never knew. */
static void a_lock_that_a_quorum_lost_is_lost_though_nobody_has_it(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), 30000);
    redlock_lock *lock = take_lock(client, "gone", 30000);

    await(count_lock_keys(fleet, 0) + count_lock_keys(fleet, 1) + count_lock_keys(fleet, 2) == 3);
    fleet_command(fleet, 0, "DEL", "gone", NULL);
    fleet_command(fleet, 1, "DEL", "gone", NULL);
    assert_result(REDLOCK_NOT_HELD, redlock_extend(lock, 0, NULL), NULL);
    assert_int_equal(redlock_lock_validity_ms(lock), 0);
    assert_result(REDLOCK_LOST, redlock_release(lock, NULL), NULL);
    redlock_lock_free(lock);
    redlock_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_GUARDED(a_minority_that_lost_the_lock_is_given_it_again, start_three_guarded),
        ON_GUARDED(a_lock_that_a_quorum_lost_is_lost_though_nobody_has_it, start_three_guarded),
        ON_GUARDED(a_new_fleet_is_quarantined_and_says_which_nodes_and_how_long, start_three_guarded),
        ON_GUARDED(a_plain_client_does_not_know_that_a_fleet_is_new, start_three_guarded),
        ON_GUARDED(the_operators_word_ends_the_quarantine, start_three_guarded),
        ON_GUARDED(an_init_reaches_a_node_that_lost_its_scripts, start_three_guarded),
        ON_GUARDED(the_operators_word_is_no_business_of_a_plain_client, start_three_guarded),
        ON_GUARDED(a_new_fleet_admits_itself_after_the_quarantine_and_not_before, start_three_guarded),
        ON_GUARDED(a_fleet_lost_at_once_comes_back_by_itself_after_the_quarantine, start_five_guarded),
        ON_GUARDED(a_wiped_node_does_not_give_a_lock_away_twice, start_three_guarded),
        ON_GUARDED(a_flushed_node_does_not_give_a_lock_away_twice, start_three_guarded),
        ON_GUARDED(a_node_restored_from_an_old_snapshot_does_not_give_a_lock_away_twice, start_three_guarded),
        ON_GUARDED(a_promoted_replica_does_not_give_a_lock_away_twice, start_three_tcp),
        ON_GUARDED(without_the_guard_a_promoted_replica_gives_a_lock_away_twice, start_three_tcp),
        ON_GUARDED(a_master_that_was_a_replica_for_a_while_does_not_give_a_lock_away_twice, start_three_tcp),
        ON_GUARDED(nor_does_it_to_a_client_that_comes_afterwards, start_three_tcp),
        ON_GUARDED(a_master_with_the_memory_of_another_one_gets_no_credit_for_its_uptime, start_three_tcp),
        ON_GUARDED(a_master_that_gets_its_first_replica_goes_on_voting, start_three_tcp),
        ON_GUARDED(a_replica_does_not_vote, start_three_tcp),
        ON_GUARDED(a_floor_that_is_no_number_of_ours_spoils_nobodys_fences, start_three_guarded),
        ON_GUARDED(a_record_with_a_quarantine_of_centuries_keeps_nobody_else_from_voting,
                   start_three_guarded),
        ON_GUARDED(a_wiped_node_votes_again_when_its_quarantine_is_over, start_three_guarded),
        ON_GUARDED(a_flushed_node_votes_again_when_its_quarantine_is_over, start_three_guarded),
        ON_GUARDED(too_few_nodes_to_learn_the_fences_from_are_named_as_the_reason, start_five_guarded),
        cmocka_unit_test(a_node_declared_durable_goes_on_after_a_restart),
        cmocka_unit_test(undeclared_the_same_node_is_quarantined),
        cmocka_unit_test(a_node_that_may_evict_locks_is_refused_with_the_setting_to_change),
        cmocka_unit_test(limited_memory_without_eviction_is_fine),
        cmocka_unit_test(a_missing_right_to_info_is_named),
        cmocka_unit_test(plain_mode_does_without_info),
        cmocka_unit_test(a_missing_right_to_scripts_is_named),
        ON_GUARDED(a_database_that_was_swapped_there_and_back_does_not_give_a_lock_away_twice,
                   start_three_guarded),
        ON_GUARDED(a_record_restored_by_hand_is_not_believed_by_a_client_that_saw_it_end,
                   start_three_guarded),
        ON_GUARDED(a_floor_that_falls_is_noticed, start_three_guarded),
        ON_GUARDED(clients_with_longer_locks_cost_no_node_its_vote, start_three_guarded),
        ON_GUARDED(a_restarted_node_learns_from_the_others_how_long_locks_may_last, start_three_guarded),
        ON_GUARDED(a_client_remembers_how_long_locks_may_last_when_all_nodes_forgot, start_three_guarded),
        ON_GUARDED(a_term_that_comes_after_the_first_loss_is_remembered_too, start_three_guarded),
        ON_GUARDED(a_term_that_faded_keeps_no_node_from_voting, start_three_guarded),
        ON_GUARDED(adopting_a_lock_announces_its_term, start_three_guarded),
        ON_GUARDED(a_lock_longer_than_max_ttl_is_refused, start_three_guarded),
        ON_GUARDED(a_short_max_ttl_needs_no_ttl_to_be_named, start_three_guarded),
        ON_GUARDED(names_that_the_guard_needs_are_refused, start_three_guarded),
        ON_GUARDED(a_node_has_one_record_whatever_the_prefix, start_three_guarded),
        ON_GUARDED(an_inspection_says_why_a_node_does_not_vote, start_three_guarded),
        ON_GUARDED(an_inspection_of_a_new_fleet_says_that_it_does_not_vote, start_three_guarded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
