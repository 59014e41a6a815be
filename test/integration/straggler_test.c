/*
 * Tests of what is still under way when a round is decided: frozen nodes, bytes that arrive late, connections
 * cut at the worst moment. TTLs are long, so a key that stays is an orphan and not a matter of time. The
 * other half shows what leaves orphans: a release on another connection, no not-after, no second release.
 */
#include <hiredis/hiredis.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/guarded.h"
#include "support/scene.h"
#include "support/steps.h"

enum { NODE_TIMEOUT_MS = 200, SETTLE_MS = 10000 };

/* ---- clients of a scene -------------------------------------------------------------------------------- */

static redlock_client *open_patient(const struct scene *scene, redlock_mode mode, uint32_t node_timeout_ms)
{
    redlock_options options = guarded_options(scene->urls, LONG_TTL_MS);
    redlock_client *client;

    options.mode = mode;
    options.node_timeout_ms = node_timeout_ms;
    client = open_with(&options);
    if (mode == REDLOCK_GUARDED)
        admit_all_nodes(client);
    await_all_nodes(client);
    give_back(take_lock(client, "warm", LONG_TTL_MS)); /* scripts are loaded, the clock is known */
    await_all_nodes(client);
    return client;
}

static redlock_client *open_scene(const struct scene *scene, redlock_mode mode)
{
    return open_patient(scene, mode, NODE_TIMEOUT_MS);
}

static void let_go(struct scene *scene)
{
    proxy_hold(scene->proxy, false);
    proxy_deliver(scene->proxy);
    await(proxy_keeps_nothing(scene->proxy));
    fleet_command(scene->fleet, PROXIED, "PING", NULL);
    sleep_ms(50);
}

static void expect_no_orphan(struct fleet *fleet)
{
    const char *leftovers = lock_leftovers(fleet, SETTLE_MS);

    if (leftovers[0] != '\0')
        fail_msg("orphans:\n%s", leftovers);
}

/* ---- frozen nodes -------------------------------------------------------------------------------------- */

static void two_of_five_frozen_nodes_keep_nothing(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    int operations = 0, won = 0;
    char name[32];

    await_all_nodes(client);
    for (int turn = 0; turn < 80; turn++) {
        int first = turn % 5, second = (turn + 1 + turn % 3) % 5;

        fleet_freeze(fleet, first);
        fleet_freeze(fleet, second);
        for (int i = 0; i < 50; i++) {
            redlock_spec spec = spec_for(name, LONG_TTL_MS);
            redlock_lock *lock = NULL;

            snprintf(name, sizeof name, "name %d", operations++);
            if (redlock_acquire(client, &spec, 1000, &lock, NULL) == REDLOCK_OK) {
                redlock_release(lock, NULL);
                won++;
            }
            redlock_lock_free(lock);
        }
        fleet_thaw(fleet, first);
        fleet_thaw(fleet, second);
    }
    print_message("# %d of %d operations won\n", won, operations);
    assert_true(won > operations * 9 / 10);
    expect_no_orphan(fleet);
    redlock_client_close(client);
}

/* ---- late bytes ---------------------------------------------------------------------------------------- */

static void expect_no_orphan_after_a_black_hole(struct scene *scene, redlock_mode mode)
{
    redlock_client *client = open_scene(scene, mode);

    for (int turn = 0; turn < 5; turn++) {
        proxy_hold(scene->proxy, true);
        for (int i = 0; i < 20; i++)
            give_back(await_lock(client, "lock")); /* the others may be slow, too */
        sleep_ms(turn % 2 == 0 ? 2 * NODE_TIMEOUT_MS : 0);
        let_go(scene);
        expect_no_orphan(scene->fleet);
    }
    redlock_client_close(client);
}

static void a_black_hole_that_heals_leaves_no_orphan(void **state)
{
    expect_no_orphan_after_a_black_hole(*state, REDLOCK_GUARDED);
}

static void a_black_hole_that_heals_leaves_no_orphan_in_plain_mode(void **state)
{
    expect_no_orphan_after_a_black_hole(*state, REDLOCK_PLAIN);
}

/* A connection to the node behind the proxy, which knows it. */
static redisContext *connect_raw(const struct scene *scene)
{
    int port = 0;
    redisContext *link;

    assert_int_equal(sscanf(proxy_url(scene->proxy), "redis://127.0.0.1:%d", &port), 1);
    link = redisConnect("127.0.0.1", port);
    assert_non_null(link);
    assert_int_equal(link->err, 0);
    freeReplyObject(redisCommand(link, "PING"));
    return link;
}

static void send_raw(redisContext *link, const char *command)
{
    int done = 0;

    assert_int_equal(redisAppendCommand(link, command), REDIS_OK);
    while (done == 0)
        assert_int_equal(redisBufferWrite(link, &done), REDIS_OK);
}

/* The lock is asked for, and the network keeps the question. */
static redisContext *hold_back_a_set(struct scene *scene)
{
    redisContext *carrier = connect_raw(scene);

    proxy_hold(scene->proxy, true);
    send_raw(carrier, "SET lock me NX PX 60000");
    sleep_ms(20);
    return carrier;
}

/* Planted: what many clients do, and ours must not. */
static void a_release_on_another_connection_leaves_an_orphan(void **state)
{
    struct scene *scene = *state;
    redisContext *carrier = hold_back_a_set(scene);

    fleet_command(scene->fleet, PROXIED, "DEL", "lock", NULL);
    let_go(scene);
    assert_int_equal(count_lock_keys(scene->fleet, PROXIED), 1);
    fleet_command(scene->fleet, PROXIED, "DEL", "lock", NULL);
    redisFree(carrier);
}

static void on_the_same_connection_it_does_not(void **state)
{
    struct scene *scene = *state;
    redisContext *carrier = hold_back_a_set(scene);

    send_raw(carrier, "DEL lock");
    let_go(scene);
    assert_int_equal(count_lock_keys(scene->fleet, PROXIED), 0);
    redisFree(carrier);
}

/* ---- clients that die with words under way ------------------------------------------------------------- */

/* A client in a process of its own, that does one thing when told and is killed after it. */
struct mortal {
    pid_t pid;
    int go, done;
};

static void say(int fd)
{
    if (write(fd, "x", 1) != 1)
        _exit(1);
}

static void hear(int fd)
{
    char byte;

    assert_int_equal(read(fd, &byte, 1), 1);
}

/* In the child: a warm client; the lock too, when it is to be extended. */
static void live_and_die(const struct scene *scene, redlock_mode mode, bool extends, int go, int done)
{
    redlock_client *client = open_scene(scene, mode);
    redlock_lock *lock = extends ? take_lock(client, "lock", 3000) : NULL;
    char byte;

    if (extends)
        await_all_nodes(client); /* node 2 has answered too */
    say(done);
    if (read(go, &byte, 1) != 1)
        _exit(1);
    if (extends)
        redlock_extend(lock, LONG_TTL_MS, NULL);
    else
        lock = take_lock(client, "lock", LONG_TTL_MS);
    say(done);
    for (;;)
        pause();
}

static struct mortal give_birth(const struct scene *scene, redlock_mode mode, bool extends)
{
    struct mortal mortal;
    int go[2], done[2];

    assert_int_equal(pipe(go), 0);
    assert_int_equal(pipe(done), 0);
    fflush(NULL);
    mortal.pid = fork();
    if (mortal.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(60);
        live_and_die(scene, mode, extends, go[0], done[1]);
    }
    close(go[0]);
    close(done[1]);
    mortal.go = go[1];
    mortal.done = done[0];
    hear(mortal.done);
    return mortal;
}

static void end_life(const struct mortal *mortal)
{
    kill(mortal->pid, SIGKILL);
    waitpid(mortal->pid, NULL, 0);
    close(mortal->go);
    close(mortal->done);
}

/* What its last words did to the node once they came through, long after anybody waited for them. */
static void speak_late(struct scene *scene, redlock_mode mode, bool extends)
{
    struct mortal mortal = give_birth(scene, mode, extends);

    proxy_hold(scene->proxy, true);
    say(mortal.go);
    hear(mortal.done);
    end_life(&mortal);
    sleep_ms(3 * NODE_TIMEOUT_MS);
    let_go(scene);
}

static void clear_locks(struct scene *scene)
{
    for (int i = 0; i < 3; i++)
        fleet_command(scene->fleet, i, "DEL", "lock", NULL);
}

static int64_t ttl_on(struct scene *scene, int node)
{
    return strtoll(fleet_command(scene->fleet, node, "PTTL", "lock", NULL), NULL, 10);
}

static void an_acquire_that_comes_too_late_is_refused(void **state)
{
    struct scene *scene = *state;

    speak_late(scene, REDLOCK_GUARDED, false);
    assert_int_equal(count_lock_keys(scene->fleet, 0), 1);
    assert_int_equal(count_lock_keys(scene->fleet, PROXIED), 0);
    clear_locks(scene);
}

static void without_a_not_after_it_is_carried_out(void **state)
{
    struct scene *scene = *state;

    speak_late(scene, REDLOCK_PLAIN, false);
    assert_int_equal(count_lock_keys(scene->fleet, PROXIED), 1);
    clear_locks(scene);
}

static void an_extension_that_comes_too_late_is_refused(void **state)
{
    struct scene *scene = *state;

    speak_late(scene, REDLOCK_GUARDED, true);
    assert_true(ttl_on(scene, 0) > 3000);
    assert_true(ttl_on(scene, PROXIED) <= 3000);
    clear_locks(scene);
}

static void without_a_not_after_it_is_carried_out_too(void **state)
{
    struct scene *scene = *state;

    speak_late(scene, REDLOCK_PLAIN, true);
    assert_true(ttl_on(scene, PROXIED) > 3000);
    clear_locks(scene);
}

/* ---- connections that are cut -------------------------------------------------------------------------- */

/* The answer to an acquire is lost with its connection; the lock is released while the node has yet to come
 * back. */
static void lose_the_answer(struct scene *scene, redlock_mode mode)
{
    redlock_client *client = open_scene(scene, mode);

    for (int i = 0; i < 10; i++) {
        redlock_lock *lock;

        proxy_cut_after_next(scene->proxy);
        lock = take_lock(client, "lock", LONG_TTL_MS);
        await(proxy_has_cut(scene->proxy));
        if (i % 2 == 0)
            sleep_ms(20);
        redlock_release(lock, NULL);
        redlock_lock_free(lock);
        expect_no_orphan(scene->fleet);
        await_all_nodes(client);
    }
    redlock_client_close(client);
}

static void a_connection_cut_right_after_the_acquire_leaves_no_orphan(void **state)
{
    lose_the_answer(*state, REDLOCK_GUARDED);
}

static void a_connection_cut_right_after_the_acquire_leaves_no_orphan_in_plain_mode(void **state)
{
    lose_the_answer(*state, REDLOCK_PLAIN);
}

/* The release has gone out, enough nodes have confirmed it, and its caller has left when the connection to
 * the last one breaks. Nobody calls any more. */
static void lose_the_release(struct scene *scene, redlock_mode mode)
{
    redlock_client *client = open_scene(scene, mode);

    for (int i = 0; i < 3; i++) {
        redlock_lock *lock = take_lock(client, "lock", LONG_TTL_MS);

        await(count_lock_keys(scene->fleet, PROXIED) == 1);
        await_all_nodes(client);
        proxy_hold(scene->proxy, true);
        give_back(lock);
        await(!proxy_keeps_nothing(scene->proxy));
        proxy_cut_now(scene->proxy);
        proxy_hold(scene->proxy, false);
        expect_no_orphan(scene->fleet);
        await_all_nodes(client);
    }
    redlock_client_close(client);
}

static void a_release_that_is_lost_after_its_caller_has_left_is_sent_again(void **state)
{
    lose_the_release(*state, REDLOCK_GUARDED);
}

static void a_release_that_is_lost_after_its_caller_has_left_is_sent_again_in_plain_mode(void **state)
{
    lose_the_release(*state, REDLOCK_PLAIN);
}

/* Planted: a client that is content with its connection being gone. */
static void without_a_release_on_the_next_connection_the_key_stays(void **state)
{
    struct scene *scene = *state;
    redisContext *carrier = connect_raw(scene);
    redisReply *reply;

    proxy_cut_after_next(scene->proxy);
    reply = redisCommand(carrier, "SET lock me NX PX 60000");
    assert_null(reply);
    await(proxy_has_cut(scene->proxy));
    await(count_lock_keys(scene->fleet, PROXIED) == 1);
    sleep_ms(500);
    assert_int_equal(count_lock_keys(scene->fleet, PROXIED), 1);
    redisFree(carrier);
    clear_locks(scene);
}

/* The cut connection's last words reach the node after the release on the new one: the second release is for
 * them. */
static void words_that_come_after_the_first_release_leave_no_orphan(void **state)
{
    struct scene *scene = *state;
    redlock_client *client = open_scene(scene, REDLOCK_GUARDED);

    for (int i = 0; i < 4; i++) {
        redlock_lock *lock;

        proxy_cut_and_keep_next(scene->proxy);
        lock = take_lock(client, "lock", LONG_TTL_MS);
        await(proxy_has_cut(scene->proxy));
        redlock_release(lock, NULL);
        redlock_lock_free(lock);
        sleep_ms(i % 2 == 0 ? NODE_TIMEOUT_MS / 2 : 2 * NODE_TIMEOUT_MS);
        let_go(scene);
        expect_no_orphan(scene->fleet);
        await_all_nodes(client);
    }
    redlock_client_close(client);
}

/* The node is back before the lock is given up, so the release goes out in the usual way, and finds nothing.
 * Only then do the cut connection's last words arrive, and not too late to be carried out: somebody has to
 * come back for them. */
static void words_that_come_after_a_release_on_the_next_connection_leave_no_orphan(void **state)
{
    struct scene *scene = *state;
    redlock_client *client = open_patient(scene, REDLOCK_GUARDED, 2000);
    redlock_lock *lock;

    proxy_cut_and_keep_next(scene->proxy);
    lock = take_lock(client, "lock", LONG_TTL_MS);
    await(proxy_has_cut(scene->proxy));
    await_all_nodes(client);
    give_back(lock);
    let_go(scene);
    expect_no_orphan(scene->fleet);
    redlock_client_close(client);
}

/* ---- nodes that are admitted late ---------------------------------------------------------------------- */

/* A try for a lock, on a thread of its own. */
struct attempt_made {
    redlock_client *client;
    redlock_report report;
    redlock_result result;
};

static void *try_once(void *context)
{
    struct attempt_made *attempt = context;
    redlock_spec spec = spec_for("lock", LONG_TTL_MS);
    redlock_lock *lock = NULL;

    attempt->result = redlock_try_acquire(attempt->client, &spec, &lock, &attempt->report);
    redlock_lock_free(lock);
    return NULL;
}

/* One node is frozen, another comes back in the middle of the round and is admitted 600 ms after it began. It
 * grants the lock, but a node that forgot in this round could be back by then without having heard of our
 * term. */
static void a_node_that_is_admitted_late_in_a_round_does_not_vote_in_it(void **state)
{
    struct scene *scene = *state;
    struct attempt_made attempt = {.client = open_patient(scene, REDLOCK_GUARDED, 10000),
                                   .report = detailed_report()};
    pthread_t thread;

    proxy_hold(scene->proxy, true);
    proxy_cut_now(scene->proxy);
    for (int i = 0; i < 2; i++) /* the client notices, and is on its way back */
        give_back(take_lock(attempt.client, "other", LONG_TTL_MS));
    await(!proxy_keeps_nothing(scene->proxy));
    fleet_freeze(scene->fleet, 1);
    assert_int_equal(pthread_create(&thread, NULL, try_once, &attempt), 0);
    await(count_lock_keys(scene->fleet, 0) == 1); /* the round has begun */
    sleep_ms(600);
    proxy_hold(scene->proxy, false);
    pthread_join(thread, NULL);
    assert_int_equal(attempt.result, REDLOCK_QUARANTINE); /* too few that may vote */
    assert_string_equal(node_of(&attempt.report, PROXIED).detail,
                        "it was admitted too late in this round to vote in it");
    give_back(take_lock(attempt.client, "lock", LONG_TTL_MS)); /* in the next round it votes */
    fleet_thaw(scene->fleet, 1);
    expect_no_orphan(scene->fleet);
    redlock_client_close(attempt.client);
}

/* ---- resets -------------------------------------------------------------------------------------------- */

/* A connection that says nothing for five seconds is given up, and with a reset: closed in the usual way, the
 * kernel would go on delivering what was said on it. */
static void a_silent_connection_is_given_up_with_a_reset(void **state)
{
    struct scene *scene = *state;
    redlock_client *client = open_scene(scene, REDLOCK_GUARDED);
    redlock_spec spec = spec_for("lock", LONG_TTL_MS);
    redlock_lock *lock;

    assert_int_equal(proxy_resets(scene->proxy), 0);
    proxy_hold(scene->proxy, true);
    for (int i = 0; i < 3000 && proxy_resets(scene->proxy) == 0; i++) {
        if (redlock_try_acquire(client, &spec, &lock, NULL) == REDLOCK_OK) { /* the others may be late */
            redlock_release(lock, NULL);
            redlock_lock_free(lock);
        }
        sleep_ms(10);
    }
    assert_true(proxy_resets(scene->proxy) > 0);
    let_go(scene);
    expect_no_orphan(scene->fleet);
    redlock_client_close(client);
}

/* An extension never shortens a key: a short one does not make the release that is owed end any sooner. */
static void a_short_extension_forgives_no_release(void **state)
{
    struct scene *scene = *state;
    redlock_client *client = open_scene(scene, REDLOCK_GUARDED);
    redlock_lock *lock = take_lock(client, "shortened", LONG_TTL_MS);

    await(count_lock_keys(scene->fleet, PROXIED) == 1);
    assert_int_equal(redlock_extend(lock, REDLOCK_TTL_MIN_MS, NULL), REDLOCK_OK);
    proxy_cut_and_keep_next(scene->proxy); /* what is cut is never delivered */
    proxy_hold(scene->proxy, true);
    give_back(lock);
    await(proxy_has_cut(scene->proxy));
    sleep_ms(6 * REDLOCK_TTL_MIN_MS); /* that extension is over, the key is not */
    assert_int_equal(count_lock_keys(scene->fleet, PROXIED), 1);
    proxy_hold(scene->proxy, false);
    expect_no_orphan(scene->fleet);
    redlock_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_GUARDED(two_of_five_frozen_nodes_keep_nothing, start_five_guarded),
        ON_SCENE(a_black_hole_that_heals_leaves_no_orphan, start_scene),
        ON_SCENE(a_black_hole_that_heals_leaves_no_orphan_in_plain_mode, start_scene),
        ON_SCENE(a_release_on_another_connection_leaves_an_orphan, start_scene),
        ON_SCENE(on_the_same_connection_it_does_not, start_scene),
        ON_SCENE(an_acquire_that_comes_too_late_is_refused, start_scene),
        ON_SCENE(without_a_not_after_it_is_carried_out, start_scene),
        ON_SCENE(an_extension_that_comes_too_late_is_refused, start_scene),
        ON_SCENE(without_a_not_after_it_is_carried_out_too, start_scene),
        ON_SCENE(a_connection_cut_right_after_the_acquire_leaves_no_orphan, start_scene),
        ON_SCENE(a_connection_cut_right_after_the_acquire_leaves_no_orphan_in_plain_mode, start_scene),
        ON_SCENE(a_release_that_is_lost_after_its_caller_has_left_is_sent_again, start_scene),
        ON_SCENE(a_release_that_is_lost_after_its_caller_has_left_is_sent_again_in_plain_mode, start_scene),
        ON_SCENE(without_a_release_on_the_next_connection_the_key_stays, start_scene),
        ON_SCENE(words_that_come_after_the_first_release_leave_no_orphan, start_scene),
        ON_SCENE(words_that_come_after_a_release_on_the_next_connection_leave_no_orphan, start_scene),
        ON_SCENE(a_node_that_is_admitted_late_in_a_round_does_not_vote_in_it, start_scene),
        ON_SCENE(a_short_extension_forgives_no_release, start_scene),
        ON_SCENE(a_silent_connection_is_given_up_with_a_reset, start_scene),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
