/*
 * Releases that are owed: whatever became of a round, a node that may have kept the key is told to forget it,
 * on a new connection, once it is ready to listen, and before the client is closed. With fake nodes, that
 * fail at the right moment.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "support/fakes.h"
#include "support/steps.h"

/* ---- how they fail ------------------------------------------------------------------------------------- */

static void hold_back_the_answer(struct fake_node *fake)
{
    fake_node_hold(fake, "SET");
}

static void hang_up_on_set(struct fake_node *fake)
{
    fake_node_cut(fake, "SET", 0);
}

static void hang_up_on_hello(struct fake_node *fake)
{
    fake_node_cut(fake, "HELLO", 0);
}

static void refuse_releases(struct fake_node *fake)
{
    fake_node_fail(fake, "EVAL", "LOADING Redis is loading the dataset in memory");
    fake_node_fail(fake, "EVALSHA", "LOADING Redis is loading the dataset in memory");
}

/* A client that all of them have answered, and that gives them so much time. */
static redlock_client *open_patient_client(struct fake_node *const *fakes, uint32_t node_timeout_ms)
{
    redlock_options options = options_for(fake_urls(fakes));

    options.node_timeout_ms = node_timeout_ms;
    redlock_client *client = open_with(&options);
    await_all_nodes(client);
    return client;
}

static unsigned releases_of(struct fake_node *fake)
{
    return fake_node_received(fake, "EVAL") + fake_node_received(fake, "EVALSHA");
}

/* ---- what is undone ------------------------------------------------------------------------------------ */

/* The grant comes when nobody waits for it any more; what it planted is removed behind it. */
static void late_grant_is_released(void **state)
{
    struct fake_node *fakes[FAKES];
    struct fleet *fleet = *state;

    start_fakes(fakes);
    redlock_client *client = open_warm_client(mixed_urls(fakes, FAKES, fleet, 2));
    instruct_all(fakes, hold_back_the_answer);
    assert_not_had(REDLOCK_NO_QUORUM, client, "late", NULL);
    instruct_all(fakes, fake_node_resume);
    for (int i = 0; i < FAKES; i++) {
        await(releases_of(fakes[i]) >= 1);
        const char *transcript = fake_node_transcript(fakes[i]);
        assert_true(strstr(transcript, "SET late ") < strstr(transcript, "EVAL"));
    }
    redlock_client_close(client);
    stop_fakes(fakes);
}

static void *resume_later(void *context)
{
    struct fake_node **fakes = context;

    sleep_ms(500);
    instruct_all(fakes, fake_node_resume);
    return NULL;
}

/* A quorum grants it, but when the answers come the time they grant has run out: nobody may be given that
 * lock. */
static void grants_that_come_after_the_ttl_are_too_slow(void **state)
{
    struct fake_node *fakes[FAKES];
    redlock_spec spec = spec_for("too-slow", 300);
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_lock *lock = NULL;
    pthread_t thread;

    (void)state;
    start_fakes(fakes);
    redlock_client *client = open_patient_client(fakes, 10000);
    instruct_all(fakes, hold_back_the_answer);
    assert_int_equal(pthread_create(&thread, NULL, resume_later, fakes), 0);
    redlock_result result = redlock_try_acquire(client, &spec, &lock, &report);
    pthread_join(thread, NULL);
    assert_result(REDLOCK_TOO_SLOW, result, &report);
    assert_null(lock);
    assert_int_equal(report.validity_ms, 0);
    for (int i = 0; i < FAKES; i++)
        await(releases_of(fakes[i]) >= 1);
    redlock_client_close(client);
    stop_fakes(fakes);
}

/* An error is an answer, but not a promise that nothing was done. A plain no is. */
static void lost_round_is_undone_on_every_node_that_may_have_it(void **state)
{
    struct fake_node *fakes[FAKES];
    redlock_spec spec = spec_for("undone", LONG_TTL_MS);
    redlock_lock *lock = NULL;

    (void)state;
    start_fakes(fakes);
    redlock_client *client = open_warm_client(fake_urls(fakes));
    fake_node_fail(fakes[1], "SET", "ERR nobody knows what happened");
    fake_node_reply(fakes[2], "SET", "_\r\n");
    assert_int_not_equal(redlock_try_acquire(client, &spec, &lock, NULL), REDLOCK_OK);
    for (int i = 0; i < FAKES; i++)
        await(i == 2 || releases_of(fakes[i]) >= 1);
    redlock_client_close(client);
    assert_int_equal(releases_of(fakes[2]), 0);
    stop_fakes(fakes);
}

/* Whether the node kept the key is not known when the connection ends in the middle: the release follows on a
 * new one. */
static void release_follows_on_a_new_connection(void **state)
{
    struct fake_node *fakes[FAKES];
    unsigned before[FAKES]; /* looking at a node asks whether it may be written to */

    (void)state;
    start_fakes(fakes);
    redlock_client *client = open_warm_client(fake_urls(fakes));
    for (int i = 0; i < FAKES; i++)
        before[i] = fake_node_received(fakes[i], "SET");
    instruct_all(fakes, hang_up_on_set);
    assert_not_had(REDLOCK_NO_QUORUM, client, "follow", NULL);
    for (int i = 0; i < FAKES; i++) {
        await(fake_node_received(fakes[i], "SET") == before[i] + 1);
        await(releases_of(fakes[i]) >= 1);
    }
    redlock_client_close(client);
    stop_fakes(fakes);
}

/* The node is back, but the client has not noticed yet, when it is closed: what it still owes the node is
 * paid first. */
static void close_pays_what_is_owed_to_a_node_that_is_coming_back(void **state)
{
    struct fake_node *fakes[FAKES];

    (void)state;
    start_fakes(fakes);
    redlock_client *client = open_patient_client(fakes, 4000);
    instruct_all(fakes, hang_up_on_set);
    instruct_all(fakes, hang_up_on_hello);
    assert_not_had(REDLOCK_NO_QUORUM, client, "owed", NULL);
    /* Some attempts to come back have failed by now, and the pause between them has grown. */
    sleep_ms(400);
    instruct_all(fakes, fake_node_behave);
    redlock_client_close(client);
    for (int i = 0; i < FAKES; i++)
        assert_in_range(releases_of(fakes[i]), 1, 100);
    stop_fakes(fakes);
}

/* Releases that undo nothing would pile up at a node that is away, and push out those that are owed to it. */
static void a_silent_node_that_was_asked_nothing_is_sent_no_release(void **state)
{
    struct fake_node *fakes[FAKES];

    (void)state;
    start_fakes(fakes);
    redlock_client *client = open_patient_client(fakes, 1000);
    hold_back_the_answer(fakes[0]);
    redlock_lock *first = take_lock(client, "first", LONG_TTL_MS);
    sleep_ms(1500); /* from then on it is silent: nothing new is asked of it */
    give_back(take_lock(client, "second", LONG_TTL_MS));
    give_back(first);
    fake_node_resume(fakes[0]);
    await(releases_of(fakes[0]) >= 1);
    redlock_client_close(client);
    const char *transcript = fake_node_transcript(fakes[0]);
    assert_non_null(strstr(transcript, "first"));
    assert_null(strstr(transcript, "second"));
    stop_fakes(fakes);
}

/* A node that has just come back greets its clients and executes nothing yet: such an answer to a release
 * leaves the key where it is, so the release is still owed. */
static void release_that_a_node_was_not_ready_for_is_sent_again(void **state)
{
    struct fake_node *fakes[FAKES];
    redlock_report report = REDLOCK_REPORT_INIT;
    unsigned before[FAKES];

    (void)state;
    start_fakes(fakes);
    redlock_client *client = open_warm_client(fake_urls(fakes));
    redlock_lock *lock = take_lock(client, "loading", LONG_TTL_MS);
    instruct_all(fakes, refuse_releases);
    assert_result(REDLOCK_NO_QUORUM, redlock_release(lock, &report), &report);
    redlock_lock_free(lock);
    for (int i = 0; i < FAKES; i++) {
        before[i] = releases_of(fakes[i]);
        fake_node_behave(fakes[i]);
    }
    for (int i = 0; i < FAKES; i++)
        await(releases_of(fakes[i]) > before[i]);
    redlock_client_close(client);
    stop_fakes(fakes);
}

/* What nodes had received by the time they had loaded everything. */
struct loading {
    struct fake_node **fakes;
    unsigned before[FAKES];
};

static void *finish_loading(void *context)
{
    struct loading *loading = context;

    sleep_ms(500);
    for (int i = 0; i < FAKES; i++) {
        loading->before[i] = releases_of(loading->fakes[i]);
        fake_node_behave(loading->fakes[i]);
    }
    return NULL;
}

static void close_insists_while_a_node_is_loading(void **state)
{
    struct fake_node *fakes[FAKES];
    struct loading loading = {.fakes = fakes};
    pthread_t thread;

    (void)state;
    start_fakes(fakes);
    redlock_client *client = open_patient_client(fakes, 5000);
    instruct_all(fakes, hang_up_on_set);
    instruct_all(fakes, refuse_releases);
    assert_not_had(REDLOCK_NO_QUORUM, client, "insist", NULL);
    assert_int_equal(pthread_create(&thread, NULL, finish_loading, &loading), 0);
    redlock_client_close(client);
    pthread_join(thread, NULL);
    for (int i = 0; i < FAKES; i++)
        assert_in_range(releases_of(fakes[i]), loading.before[i] + 1, 1000);
    stop_fakes(fakes);
}

/* ---- commands that a user may not say ------------------------------------------------------------------ */

/* A server that has a command for it, and what it says to a user who may not use that; NULL: everybody
 * may. */
struct native {
    const char *info, *command, *refusal;
};

static void pretend_to_be(struct fake_node *fake, const struct native *native, int number)
{
    char text[256], reply[300];

    snprintf(text, sizeof text, "%srun_id:%040d\r\nrole:master\r\n", native->info, number);
    snprintf(reply, sizeof reply, "$%zu\r\n%s\r\n", strlen(text), text);
    fake_node_reply(fake, "INFO", reply);
    if (native->refusal != NULL)
        fake_node_fail(fake, native->command, native->refusal);
}

/* The documented rights do not name the commands of the latest servers: the script does the same. */
static void assert_gives_way_to_the_script(const struct native *native)
{
    struct fake_node *fakes[FAKES];
    redlock_client *client;

    start_fakes(fakes);
    for (int i = 0; i < FAKES; i++)
        pretend_to_be(fakes[i], native, i + 1);
    client = open_warm_client(fake_urls(fakes));
    for (int round = 0; round < 2; round++) {
        give_back(take_lock(client, "native", LONG_TTL_MS));
        await_all_nodes(client); /* by now the last of them too has told what is not allowed */
    }
    redlock_client_close(client);
    for (int i = 0; i < FAKES; i++) {
        assert_int_equal(fake_node_received(fakes[i], native->command), 1);
        assert_int_equal(releases_of(fakes[i]), 2);
    }
    stop_fakes(fakes);
}

static void a_delex_that_is_not_allowed_gives_way_to_the_script(void **state)
{
    (void)state;
    assert_gives_way_to_the_script(
        &(struct native){"redis_version:8.4.0\r\n", "DELEX",
                         "NOPERM User locker has no permissions to run the 'delex' command"});
}

static void a_delifeq_that_is_not_allowed_gives_way_to_the_script(void **state)
{
    (void)state;
    assert_gives_way_to_the_script(
        &(struct native){"redis_version:7.2.4\r\nvalkey_version:9.0.0\r\n", "DELIFEQ",
                         "NOPERM User locker has no permissions to run the 'delifeq' command"});
}

/* The native commands know nothing of the mark that a break leaves: without the script it would keep others
 * out until it ends. */
static void a_native_release_that_finds_another_value_is_followed_by_the_script(void **state)
{
    static const struct native natives[] = {
        {"redis_version:8.4.0\r\n", "DELEX", NULL},
        {"redis_version:7.2.4\r\nvalkey_version:9.0.0\r\n", "DELIFEQ", NULL}};

    (void)state;
    for (size_t n = 0; n < 2; n++) {
        struct fake_node *fakes[FAKES];
        redlock_report report = detailed_report();

        start_fakes(fakes);
        for (int i = 0; i < FAKES; i++) {
            pretend_to_be(fakes[i], &natives[n], i + 1);
            fake_node_reply(fakes[i], natives[n].command, ":0\r\n");
            fake_node_reply(fakes[i], "EVAL", ":-5\r\n");
        }
        redlock_client *client = open_warm_client(fake_urls(fakes));
        redlock_lock *lock = take_lock(client, "native", LONG_TTL_MS);
        assert_result(REDLOCK_NOT_HELD, redlock_release(lock, &report), &report);
        assert_int_equal(report.broken, 1);
        redlock_lock_free(lock);
        redlock_client_close(client);
        for (int i = 0; i < FAKES; i++)
            assert_int_equal(fake_node_received(fakes[i], natives[n].command), 1);
        stop_fakes(fakes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_NODES(late_grant_is_released, start_three_nodes),
        cmocka_unit_test(grants_that_come_after_the_ttl_are_too_slow),
        cmocka_unit_test(lost_round_is_undone_on_every_node_that_may_have_it),
        cmocka_unit_test(release_follows_on_a_new_connection),
        cmocka_unit_test(close_pays_what_is_owed_to_a_node_that_is_coming_back),
        cmocka_unit_test(a_silent_node_that_was_asked_nothing_is_sent_no_release),
        cmocka_unit_test(release_that_a_node_was_not_ready_for_is_sent_again),
        cmocka_unit_test(close_insists_while_a_node_is_loading),
        cmocka_unit_test(a_delex_that_is_not_allowed_gives_way_to_the_script),
        cmocka_unit_test(a_delifeq_that_is_not_allowed_gives_way_to_the_script),
        cmocka_unit_test(a_native_release_that_finds_another_value_is_followed_by_the_script),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
