/*
 * Requests of many callers that travel in one command, on real nodes: each of them ends as if it had gone
 * alone, also when nodes forget scripts, refuse some of them, are cut off, or must not be believed any more.
 * An event loop is what makes it happen at will: whatever is asked for in one callback goes out together.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/fake_node.h"
#include "support/guarded.h"
#include "support/scene.h"
#include "support/steps.h"
#include "wire/script.h"

enum { MANY = 40, TRIES = 100, PATIENT_MS = 20000, SOON_MS = 1000 };

/* ---- an event loop ------------------------------------------------------------------------------------- */

/* One lock of a crowd of them. Everything happens on this thread. */
struct caller {
    char name[32];
    redlock_lock *lock;
    redlock_result acquired, released;
    uint64_t fence; /* the last it had */
    int calls;      /* callbacks since it last asked */
};

struct loop {
    redlock_client *client;
    int fd;
    struct caller callers[MANY];
    void (*prepare)(struct loop *loop); /* inside the callback, before they ask; NULL nothing */
    void (*act)(struct loop *loop);
    void *scene;
    redlock_lock *door;
};

static void loop_start(struct loop *loop, redlock_client *client)
{
    *loop = (struct loop){.client = client, .fd = redlock_client_fd(client)};
    assert_true(loop->fd >= 0);
    for (int i = 0; i < MANY; i++)
        snprintf(loop->callers[i].name, sizeof loop->callers[i].name, "many:%d", i);
}

static void loop_end(struct loop *loop)
{
    for (int i = 0; i < MANY; i++)
        if (loop->callers[i].lock != NULL)
            redlock_lock_free(loop->callers[i].lock);
    redlock_client_close(loop->client);
}

static bool all_called(const struct loop *loop)
{
    for (int i = 0; i < MANY; i++)
        if (loop->callers[i].calls == 0)
            return false;
    return true;
}

static bool has_acted(const struct loop *loop)
{
    return loop->door != NULL;
}

static void run_until(struct loop *loop, bool (*ended)(const struct loop *loop))
{
    int64_t give_up_ms = now_ms() + 3 * PATIENT_MS;

    while (!ended(loop) && now_ms() < give_up_ms) {
        struct pollfd poller = {.fd = loop->fd, .events = POLLIN};

        if (poll(&poller, 1, 100) >= 0)
            assert_result(REDLOCK_OK, redlock_client_process(loop->client), NULL);
    }
    assert_true(ended(loop));
}

static void on_acquired(void *context, redlock_result result, redlock_lock *lock,
                        const redlock_report *report)
{
    struct caller *caller = context;

    (void)report;
    caller->acquired = result;
    caller->lock = lock;
    caller->calls++;
}

static void on_released(void *context, redlock_result result, const redlock_report *report)
{
    struct caller *caller = context;

    (void)report;
    caller->released = result;
    caller->calls++;
}

static void ask_all(struct loop *loop)
{
    for (int i = 0; i < MANY; i++) {
        struct caller *caller = &loop->callers[i];
        redlock_spec spec = spec_for(caller->name, LONG_TTL_MS);

        assert_result(REDLOCK_OK, redlock_acquire_async(loop->client, &spec, 0, on_acquired, caller, NULL),
                      NULL);
    }
}

static void release_all(struct loop *loop)
{
    for (int i = 0; i < MANY; i++) {
        struct caller *caller = &loop->callers[i];

        if (caller->lock == NULL)
            caller->calls++;
        else
            assert_result(REDLOCK_OK, redlock_release_async(caller->lock, on_released, caller, NULL), NULL);
    }
}

/* Inside a callback all of them ask, or release. */
static void on_door(void *context, redlock_result result, redlock_lock *lock, const redlock_report *report)
{
    struct loop *loop = context;

    assert_result(REDLOCK_OK, result, report);
    loop->door = lock;
    if (loop->prepare != NULL)
        loop->prepare(loop);
    loop->act(loop);
}

static void begin_together(struct loop *loop, void (*act)(struct loop *loop))
{
    redlock_spec spec = spec_for("door", LONG_TTL_MS);

    for (int i = 0; i < MANY; i++)
        loop->callers[i].calls = 0;
    loop->door = NULL;
    loop->act = act;
    assert_result(REDLOCK_OK, redlock_acquire_async(loop->client, &spec, 0, on_door, loop, NULL), NULL);
    run_until(loop, has_acted);
}

static void end_together(struct loop *loop)
{
    run_until(loop, all_called);
    redlock_release(loop->door, NULL);
    redlock_lock_free(loop->door);
}

static void act_together(struct loop *loop, void (*act)(struct loop *loop))
{
    begin_together(loop, act);
    end_together(loop);
}

static void acquire_together(struct loop *loop)
{
    act_together(loop, ask_all);
}

/* Everybody got it, and with a higher fence than before where there are fences. */
static void expect_all_acquired(struct loop *loop, bool guarded)
{
    for (int i = 0; i < MANY; i++) {
        struct caller *caller = &loop->callers[i];

        assert_result(REDLOCK_OK, caller->acquired, NULL);
        assert_int_equal(caller->calls, 1);
        if (guarded)
            assert_true(redlock_lock_fence(caller->lock) > caller->fence);
        caller->fence = redlock_lock_fence(caller->lock);
    }
}

static void release_together(struct loop *loop)
{
    act_together(loop, release_all);
    for (int i = 0; i < MANY; i++) {
        struct caller *caller = &loop->callers[i];

        assert_int_equal(caller->calls, 1);
        if (caller->lock == NULL)
            continue;
        assert_result(REDLOCK_OK, caller->released, NULL);
        redlock_lock_free(caller->lock);
        caller->lock = NULL;
    }
}

/* What a node has not answered yet is read in the loop. */
static bool nothing_is_left(struct loop *loop, struct fleet *fleet)
{
    assert_result(REDLOCK_OK, redlock_client_process(loop->client), NULL);
    return lock_leftovers(fleet, 0)[0] == '\0';
}

static void expect_no_lock_left(struct loop *loop, struct fleet *fleet)
{
    await(nothing_is_left(loop, fleet));
}

/* ---- what a node was sent ------------------------------------------------------------------------------ */

static long calls_of(struct fleet *fleet, const char *command)
{
    char words[64];
    const char *found;

    snprintf(words, sizeof words, "cmdstat_%s:calls=", command);
    found = strstr(fleet_command(fleet, 0, "INFO", "commandstats", NULL), words);
    return found != NULL ? atol(found + strlen(words)) : 0;
}

/* Calls of scripts since the last time. */
static long script_calls(struct fleet *fleet)
{
    long calls = calls_of(fleet, "evalsha") + calls_of(fleet, "eval");

    assert_string_equal(fleet_command(fleet, 0, "CONFIG", "RESETSTAT", NULL), "OK");
    return calls;
}

/* Takes and releases all of them; whether it took far fewer calls than locks. A slow machine asks a node so
 * often whether it is still the same master that fewer acquires go together: then it is tried again. */
static bool travels_together(struct loop *loop, struct fleet *fleet, bool guarded)
{
    long acquires, releases;

    script_calls(fleet);
    acquire_together(loop);
    expect_all_acquired(loop, guarded);
    acquires = script_calls(fleet);
    release_together(loop);
    expect_no_lock_left(loop, fleet);
    releases = script_calls(fleet);
    return acquires < MANY / 2 && releases < MANY / 2;
}

static void expect_to_travel_together(struct loop *loop, struct fleet *fleet, bool guarded)
{
    for (int i = 0; i < TRIES; i++)
        if (travels_together(loop, fleet, guarded))
            return;
    fail_msg("never did %d locks go in fewer than %d calls", MANY, MANY / 2);
}

/* Closing insists on releases that were refused, or may have been overtaken, for node_timeout_ms. */
static redlock_client *open_in(redlock_mode mode, const char *urls, const char *user,
                               uint32_t node_timeout_ms)
{
    redlock_options options = guarded_options(urls, LONG_TTL_MS);
    redlock_client *client;

    options.mode = mode;
    options.node_timeout_ms = node_timeout_ms;
    options.user = user;
    options.password = user;
    client = open_with(&options);
    if (mode == REDLOCK_GUARDED)
        admit_all_nodes(client);
    else
        await_all_nodes(client);
    return client;
}

/* ---- everything is well -------------------------------------------------------------------------------- */

static void locks_of_many_callers_go_in_few_calls(void **state)
{
    struct loop loop;

    loop_start(&loop, open_in(REDLOCK_GUARDED, fleet_urls(*state), NULL, PATIENT_MS));
    for (int i = 0; i < 3; i++)
        expect_to_travel_together(&loop, *state, true);
    loop_end(&loop);
}

static void so_do_their_releases_in_plain_mode(void **state)
{
    struct loop loop;

    loop_start(&loop, open_in(REDLOCK_PLAIN, fleet_urls(*state), NULL, PATIENT_MS));
    for (int i = 0; i < 3; i++)
        expect_to_travel_together(&loop, *state, false);
    loop_end(&loop);
}

/* What is in the way of one is in nobody else's. */
static void one_that_is_held_and_one_of_another_type_are_told_so_and_no_other(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *other = open_in(REDLOCK_GUARDED, fleet_urls(fleet), NULL, PATIENT_MS);
    struct loop loop;

    loop_start(&loop, open_in(REDLOCK_GUARDED, fleet_urls(fleet), NULL, PATIENT_MS));
    redlock_lock *held = take_lock(other, "many:7", LONG_TTL_MS);
    fleet_command(fleet, 0, "HSET", "many:11", "field", "value", NULL);
    acquire_together(&loop);
    for (int i = 0; i < MANY; i++) {
        redlock_result expected = i == 7 ? REDLOCK_BUSY : i == 11 ? REDLOCK_FOREIGN_TYPE : REDLOCK_OK;

        assert_result(expected, loop.callers[i].acquired, NULL);
    }
    release_together(&loop);
    give_back(held);
    fleet_command(fleet, 0, "DEL", "many:11", NULL);
    loop_end(&loop);
    redlock_client_close(other);
}

/* ---- scripts that were forgotten ----------------------------------------------------------------------- */

static void forget_scripts(struct loop *loop)
{
    assert_string_equal(fleet_command(loop->scene, 0, "SCRIPT", "FLUSH", NULL), "OK");
}

static void nodes_that_lost_their_scripts_are_sent_them_again(void **state)
{
    struct loop loop;

    loop_start(&loop, open_in(REDLOCK_GUARDED, fleet_urls(*state), NULL, PATIENT_MS));
    expect_to_travel_together(&loop, *state, true);
    loop.scene = *state;
    loop.prepare = forget_scripts;
    for (int i = 0; i < 5; i++) {
        acquire_together(&loop);
        expect_all_acquired(&loop, true);
        release_together(&loop);
        expect_no_lock_left(&loop, *state);
    }
    loop.prepare = NULL;
    expect_to_travel_together(&loop, *state, true);
    loop_end(&loop);
}

/* ---- rights -------------------------------------------------------------------------------------------- */

static struct fleet *start_with_user(const char *user)
{
    char config[256];
    struct fleet_options options = {.node_count = 1, .transport = FLEET_UNIX, .config = config};
    struct fleet *fleet;

    snprintf(config, sizeof config, "user limited on >limited &* %s", user);
    fleet = fleet_start(&options);
    assert_non_null(fleet);
    return fleet;
}

static void without_the_right_to_mget_plain_releases_go_one_by_one(void **state)
{
    struct fleet *fleet = start_with_user("~* +@all -mget");
    struct loop loop;

    (void)state;
    /* Nor to what newer servers have for it; others do not know these words, which does no harm. */
    fleet_command(fleet, 0, "ACL", "SETUSER", "limited", "-delex", NULL);
    fleet_command(fleet, 0, "ACL", "SETUSER", "limited", "-delifeq", NULL);
    loop_start(&loop, open_in(REDLOCK_PLAIN, fleet_url(fleet, 0), "limited", SOON_MS));
    for (int i = 0; i < 2; i++) {
        acquire_together(&loop);
        expect_all_acquired(&loop, false);
        script_calls(fleet);
        release_together(&loop);
        expect_no_lock_left(&loop, fleet);
        assert_true(script_calls(fleet) >= MANY);
    }
    loop_end(&loop);
    fleet_stop(fleet);
}

static void a_name_that_is_forbidden_is_denied_and_harms_no_other(void **state)
{
    struct fleet *fleet = start_with_user("~many:* ~door ~redlock-* +@all");
    struct loop loop;

    (void)state;
    loop_start(&loop, open_in(REDLOCK_GUARDED, fleet_url(fleet, 0), "limited", SOON_MS));
    snprintf(loop.callers[MANY / 2].name, sizeof loop.callers[0].name, "forbidden");
    for (int i = 0; i < 2; i++) {
        acquire_together(&loop);
        for (int j = 0; j < MANY; j++)
            assert_result(j == MANY / 2 ? REDLOCK_FORBIDDEN : REDLOCK_OK, loop.callers[j].acquired, NULL);
        release_together(&loop);
        expect_no_lock_left(&loop, fleet);
    }
    loop_end(&loop);
    fleet_stop(fleet);
}

/* ---- a node that is busy for a moment ------------------------------------------------------------------ */

static int count_text(const char *text, const char *words)
{
    int count = 0;

    for (const char *at = text; (at = strstr(at, words)) != NULL; at++)
        count++;
    return count;
}

/* It would have said the same to each of them: they are not asked again one by one, then or later. */
static void a_busy_node_does_not_part_them(void **state)
{
    struct fake_node *fake = fake_node_start(FAKE_UNIX);
    struct loop loop;
    int alone, together;

    (void)state;
    assert_non_null(fake);
    loop_start(&loop, open_in(REDLOCK_PLAIN, fake_node_url(fake), NULL, PATIENT_MS));
    acquire_together(&loop);
    release_together(&loop); /* both scripts are known by now */
    acquire_together(&loop);
    fake_node_fail(fake, "EVALSHA", "BUSY Redis is busy running a script. You can only call SCRIPT KILL.");
    act_together(&loop, release_all);
    fake_node_behave(fake);
    loop_end(&loop); /* sends again what was not executed */
    alone = count_text(fake_node_transcript(fake), rl_script_release.digest);
    together = count_text(fake_node_transcript(fake), rl_script_release_many.digest);
    assert_in_range(alone, 0, MANY / 2);
    assert_true(together >= 2);
    fake_node_stop(fake);
}

#define HELLO_OF_8_4                                                                                               \
    "%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n8.4.0\r\n$5\r\nproto\r\n:3\r\n$2\r\nid\r\n:1\r\n" \
    "$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n"

/* A node that is as new as it says, but had the command taken away: no script of ours was sent there yet. */
static void a_node_without_its_native_release_gets_the_whole_script(void **state)
{
    struct fake_node *fake = fake_node_start(FAKE_UNIX);
    struct loop loop;

    (void)state;
    assert_non_null(fake);
    fake_node_reply(fake, "HELLO", HELLO_OF_8_4);
    fake_node_fail(fake, "INFO", "NOPERM this user has no permissions to run the 'info' command");
    fake_node_fail(fake, "DELEX", "ERR unknown command 'DELEX', with args beginning with: ");
    fake_node_fail(fake, "EVALSHA", "NOSCRIPT No matching script. Please use EVAL.");
    loop_start(&loop, open_in(REDLOCK_PLAIN, fake_node_url(fake), NULL, PATIENT_MS));
    acquire_together(&loop); /* and a release behind it */
    assert_int_equal(fake_node_received(fake, "DELEX"), 1);
    assert_int_equal(fake_node_received(fake, "EVAL"), 1);
    assert_int_equal(fake_node_received(fake, "EVALSHA"), 0);
    release_together(&loop);
    loop_end(&loop);
    fake_node_stop(fake);
}

/* ---- connections that are cut -------------------------------------------------------------------------- */

static void cut_after_next(struct loop *loop)
{
    proxy_cut_after_next(((struct scene *)loop->scene)->proxy);
}

/* The last words of a connection are for all of them: they are carried out, and nobody is told. */
static void lose_the_answers(struct scene *scene, redlock_mode mode)
{
    struct loop loop;

    loop_start(&loop, open_in(mode, scene->urls, NULL, SOON_MS));
    loop.scene = scene;
    for (int i = 0; i < 6; i++) {
        loop.prepare = i % 2 == 0 ? cut_after_next : NULL;
        acquire_together(&loop);
        expect_all_acquired(&loop, mode == REDLOCK_GUARDED);
        loop.prepare = i % 3 == 0 ? cut_after_next : NULL;
        release_together(&loop);
        await(proxy_has_cut(scene->proxy));
        expect_no_lock_left(&loop, scene->fleet);
        await_all_nodes(loop.client);
    }
    loop_end(&loop);
}

static void a_cut_connection_leaves_nothing_of_any_of_them(void **state)
{
    lose_the_answers(*state, REDLOCK_GUARDED);
}

static void a_cut_connection_leaves_nothing_of_any_of_them_in_plain_mode(void **state)
{
    lose_the_answers(*state, REDLOCK_PLAIN);
}

/* ---- nodes that must not be believed any more ---------------------------------------------------------- */

/* The first of those who ask next is the one who asks, too, which master it is: the last time was a while
 * ago. */
static void hold_and_wait(struct loop *loop)
{
    proxy_hold(((struct scene *)loop->scene)->proxy, true);
    sleep_ms(50);
}

/* It gets its first replica, and with it another history. */
static struct fleet *change_history(struct fleet *fleet)
{
    char config[64];
    struct fleet_options options = {.node_count = 1, .transport = FLEET_TCP, .config = config};
    struct fleet *replica;

    snprintf(config, sizeof config, "replicaof 127.0.0.1 %s", strrchr(fleet_url(fleet, 0), ':') + 1);
    replica = fleet_start(&options);
    assert_non_null(replica);
    await(strstr(fleet_command(replica, 0, "INFO", "replication", NULL), "master_link_status:up") != NULL);
    return replica;
}

/* The node looks whether it is still the same master, and gives none of them when it is not. */
static void many_locks_are_not_given_by_another_master(void **state)
{
    struct scene *scene = *state;
    struct fleet *replica;
    struct loop loop;

    loop_start(&loop, open_in(REDLOCK_GUARDED, scene->urls, NULL, PATIENT_MS));
    loop.scene = scene;
    loop.prepare = hold_and_wait;
    begin_together(&loop, ask_all);
    replica = change_history(scene->fleet);
    proxy_hold(scene->proxy, false);
    end_together(&loop);
    for (int i = 0; i < MANY; i++)
        assert_int_not_equal(loop.callers[i].acquired, REDLOCK_OK);
    expect_no_lock_left(&loop, scene->fleet);
    loop_end(&loop);
    fleet_stop(replica);
}

static void ask_briefly(struct loop *loop, int i, redlock_acquired_fn done, void *context)
{
    redlock_spec spec = spec_for(loop->callers[i].name, SHORT_MAX_TTL_MS);

    assert_result(REDLOCK_OK, redlock_acquire_async(loop->client, &spec, 0, done, context, NULL), NULL);
}

/* The first was refused, and the node is being asked whether it may vote. The others ask before the answer to
 * that is read, and are written afterwards. */
static void on_refused(void *context, redlock_result result, redlock_lock *lock, const redlock_report *report)
{
    struct loop *loop = context;

    on_acquired(&loop->callers[0], result, lock, report);
    for (int i = 1; i < MANY; i++) {
        if (i == MANY - 1)
            sleep_ms(20);
        ask_briefly(loop, i, on_acquired, &loop->callers[i]);
    }
}

/* The node was flushed, which breaks no connection, and has to sit out. Nothing that was asked of it
 * meanwhile is a vote. */
static void a_vote_of_a_node_that_was_found_ineligible_meanwhile_does_not_count(void **state)
{
    redlock_client *client = open_admitted(fleet_urls(*state), SHORT_MAX_TTL_MS);
    struct loop loop;

    await(node_votes(client, 0, NULL));
    loop_start(&loop, client);
    fleet_command(*state, 0, "FLUSHALL", NULL);
    ask_briefly(&loop, 0, on_refused, &loop);
    run_until(&loop, all_called);
    for (int i = 0; i < MANY; i++)
        assert_int_not_equal(loop.callers[i].acquired, REDLOCK_OK);
    loop_end(&loop);
}

/* ---- main ---------------------------------------------------------------------------------------------- */

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_GUARDED(locks_of_many_callers_go_in_few_calls, start_three_guarded),
        ON_GUARDED(so_do_their_releases_in_plain_mode, start_three_guarded),
        ON_GUARDED(one_that_is_held_and_one_of_another_type_are_told_so_and_no_other, start_one_guarded),
        ON_GUARDED(nodes_that_lost_their_scripts_are_sent_them_again, start_three_guarded),
        cmocka_unit_test(without_the_right_to_mget_plain_releases_go_one_by_one),
        cmocka_unit_test(a_name_that_is_forbidden_is_denied_and_harms_no_other),
        cmocka_unit_test(a_busy_node_does_not_part_them),
        cmocka_unit_test(a_node_without_its_native_release_gets_the_whole_script),
        ON_SCENE(a_cut_connection_leaves_nothing_of_any_of_them, start_scene),
        ON_SCENE(a_cut_connection_leaves_nothing_of_any_of_them_in_plain_mode, start_scene),
        ON_SCENE(many_locks_are_not_given_by_another_master, start_promotable),
        ON_GUARDED(a_vote_of_a_node_that_was_found_ineligible_meanwhile_does_not_count, start_one_guarded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
