/*
 * Nodes that are not what they should be: other protocols, half an answer, an endless one, every class of error, wrong
 * credentials, the same node twice, keys that are not locks. A minority of them costs nothing; a majority gets its true
 * name, and what the good nodes had granted is gone again.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/fake_node.h"
#include "support/steps.h"

enum { FAKES = 3 };

/* One way of being hostile, and what it is called when a majority is like that. */
struct hostility {
    const char *name;
    void (*instruct)(struct fake_node *fake);
    redlock_result result;
    redlock_verdict verdict;
    const char *detail; /* words that must be in it */
};

/* ---- how to be hostile --------------------------------------------------------------------------------- */

static void speak_http(struct fake_node *fake)
{
    fake_node_reply(fake, "*", "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
}

static void speak_garbage(struct fake_node *fake)
{
    fake_node_reply(fake, "*", "\x16\x03\x01 this is no protocol at all\r\n");
}

static void turn_to_garbage(struct fake_node *fake)
{
    fake_node_reply(fake, "SET", "?what\r\n");
}

static void answer_in_the_wrong_shape(struct fake_node *fake)
{
    fake_node_reply(fake, "SET", "*2\r\n:1\r\n:2\r\n");
}

static void answer_with_a_number(struct fake_node *fake)
{
    fake_node_reply(fake, "SET", ":1\r\n");
}

static void lie_about_lengths(struct fake_node *fake)
{
    fake_node_reply(fake, "SET", "$99999999999999999999\r\nOK\r\n");
}

static void greet_with_an_endless_text(struct fake_node *fake)
{
    fake_node_endless(fake, "HELLO", "$1000000000\r\n", "all work and no play makes jack a dull boy ");
}

static void answer_with_an_endless_text(struct fake_node *fake)
{
    fake_node_endless(fake, "SET", "$1000000000\r\n", "all work and no play makes jack a dull boy ");
}

static void answer_with_an_endless_line(struct fake_node *fake)
{
    fake_node_endless(fake, "SET", "+", "all work and no play makes jack a dull boy ");
}

static void answer_with_endless_depth(struct fake_node *fake)
{
    fake_node_endless(fake, "SET", "", "*1\r\n*1\r\n*1\r\n*1\r\n");
}

static void answer_with_endless_breadth(struct fake_node *fake)
{
    fake_node_endless(fake, "SET", "*1000000000\r\n", ":1\r\n:2\r\n:3\r\n:4\r\n");
}

static void hang_up_on_hello(struct fake_node *fake)
{
    fake_node_cut(fake, "HELLO", 0);
}

static void hang_up_in_the_middle_of_hello(struct fake_node *fake)
{
    fake_node_cut(fake, "HELLO", 20);
}

static void hang_up_in_the_middle_of_an_answer(struct fake_node *fake)
{
    fake_node_cut(fake, "SET", 2);
}

static void say_nothing(struct fake_node *fake)
{
    fake_node_silence(fake, "*");
}

static void fall_silent_after_the_greeting(struct fake_node *fake)
{
    fake_node_silence(fake, "SET");
}

static void hold_back_the_answer(struct fake_node *fake)
{
    fake_node_hold(fake, "SET");
}

static void push_instead_of_answering(struct fake_node *fake)
{
    fake_node_reply(fake, "SET", ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\na\r\n");
}

static void run_out_of_memory(struct fake_node *fake)
{
    fake_node_fail(fake, "SET", "OOM command not allowed when used memory > 'maxmemory'.");
}

static void still_be_loading(struct fake_node *fake)
{
    fake_node_fail(fake, "SET", "LOADING Redis is loading the dataset in memory");
}

static void be_loading_from_the_start(struct fake_node *fake)
{
    fake_node_fail(fake, "*", "LOADING Redis is loading the dataset in memory");
}

static void be_busy_with_a_script(struct fake_node *fake)
{
    fake_node_fail(fake, "SET", "BUSY Redis is busy running a script. You can only call SCRIPT KILL.");
}

static void be_a_replica(struct fake_node *fake)
{
    fake_node_fail(fake, "SET", "READONLY You can't write against a read only replica.");
}

static void fail_to_persist(struct fake_node *fake)
{
    fake_node_fail(fake, "SET",
                   "MISCONF Redis is configured to save RDB snapshots, but it's unable to persist");
}

static void refuse_the_command(struct fake_node *fake)
{
    fake_node_fail(fake, "SET", "NOPERM this user has no permissions to run the 'set' command");
}

static void ask_for_a_password(struct fake_node *fake)
{
    fake_node_fail(fake, "*", "NOAUTH Authentication required.");
}

static void refuse_the_password(struct fake_node *fake)
{
    fake_node_fail(fake, "HELLO", "WRONGPASS invalid username-password pair or user is disabled.");
}

static void be_part_of_a_cluster(struct fake_node *fake)
{
    fake_node_fail(fake, "SET", "MOVED 3999 127.0.0.1:6381");
}

static void fail_in_other_words(struct fake_node *fake)
{
    fake_node_fail(fake, "SET", "ERR something else altogether");
}

static void fail_without_words(struct fake_node *fake)
{
    fake_node_reply(fake, "SET", "-\r\n");
}

static void fail_with_control_characters(struct fake_node *fake)
{
    fake_node_fail(fake, "SET", "ERR \x1b[31mred\x1b[0m and \x07 loud");
}

static const struct hostility hostilities[] = {
    {"http", speak_http, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_BROKEN, ""},
    {"garbage", speak_garbage, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_BROKEN, ""},
    {"late garbage", turn_to_garbage, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_BROKEN, ""},
    {"wrong shape", answer_in_the_wrong_shape, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_BROKEN, ""},
    {"number", answer_with_a_number, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_BROKEN, ""},
    {"wrong length", lie_about_lengths, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_BROKEN, ""},
    {"endless greeting", greet_with_an_endless_text, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_BROKEN, ""},
    {"endless text", answer_with_an_endless_text, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_BROKEN, ""},
    {"endless line", answer_with_an_endless_line, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_BROKEN, ""},
    {"endless depth", answer_with_endless_depth, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_BROKEN, ""},
    {"endless breadth", answer_with_endless_breadth, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_BROKEN, ""},
    {"hang up", hang_up_on_hello, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_BROKEN, "closed"},
    {"half a greeting", hang_up_in_the_middle_of_hello, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_BROKEN, "closed"},
    {"half an answer", hang_up_in_the_middle_of_an_answer, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_BROKEN,
     "closed"},
    {"silence", say_nothing, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_BROKEN, "does not answer"},
    {"late silence", fall_silent_after_the_greeting, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_SILENT, ""},
    {"held answer", hold_back_the_answer, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_SILENT, ""},
    {"push only", push_instead_of_answering, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_SILENT, ""},
    {"OOM", run_out_of_memory, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_BROKEN, "OOM"},
    {"LOADING", still_be_loading, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_BROKEN, "LOADING"},
    {"LOADING at once", be_loading_from_the_start, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_BROKEN, "LOADING"},
    {"BUSY", be_busy_with_a_script, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_BROKEN, "BUSY"},
    {"READONLY", be_a_replica, REDLOCK_QUARANTINE, REDLOCK_VERDICT_UNFIT, "READONLY"},
    {"MISCONF", fail_to_persist, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_BROKEN, "MISCONF"},
    {"NOPERM", refuse_the_command, REDLOCK_DENIED, REDLOCK_VERDICT_BROKEN, "NOPERM"},
    {"NOAUTH", ask_for_a_password, REDLOCK_DENIED, REDLOCK_VERDICT_BROKEN, "NOAUTH"},
    {"WRONGPASS", refuse_the_password, REDLOCK_DENIED, REDLOCK_VERDICT_BROKEN, "WRONGPASS"},
    {"MOVED", be_part_of_a_cluster, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_BROKEN, "MOVED"},
    {"other error", fail_in_other_words, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_BROKEN,
     "something else altogether"},
    {"empty error", fail_without_words, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_BROKEN, ""},
    {"control characters", fail_with_control_characters, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_BROKEN, "red"},
};

enum { HOSTILITIES = sizeof(hostilities) / sizeof(hostilities[0]) };

/* ---- real and fake nodes together ---------------------------------------------------------------------- */

/* URLs of so many fake and then so many real nodes. */
static const char *mixed_urls(struct fake_node *const *fakes, int fake_count, const struct fleet *fleet,
                              int real_count)
{
    static char urls[2048];
    size_t used = 0;

    urls[0] = '\0';
    for (int i = 0; i < fake_count; i++)
        used += (size_t)snprintf(urls + used, sizeof(urls) - used, "%s,", fake_node_url(fakes[i]));
    for (int i = 0; i < real_count; i++)
        used += (size_t)snprintf(urls + used, sizeof(urls) - used, "%s,", fleet_url(fleet, i));
    return urls;
}

static void start_fakes(struct fake_node **fakes, const struct hostility *hostility)
{
    for (int i = 0; i < FAKES; i++) {
        fakes[i] = fake_node_start(i == 0 ? FAKE_TCP : FAKE_UNIX);
        assert_non_null(fakes[i]);
        if (hostility != NULL)
            hostility->instruct(fakes[i]);
    }
}

static void stop_fakes(struct fake_node **fakes)
{
    for (int i = 0; i < FAKES; i++)
        fake_node_stop(fakes[i]);
}

static redlock_client *open_impatient_client(const char *urls)
{
    redlock_options options = options_for(urls);

    options.node_timeout_ms = 300;
    options.connect_timeout_ms = 600;
    return open_with(&options);
}

static void assert_printable(const char *text)
{
    for (const char *at = text; *at != '\0'; at++)
        if ((unsigned char)*at < ' ' || *at == 127)
            fail_msg("\"%s\" has a control character in it", text);
}

static void check_hostile_node(const struct hostility *hostility, const redlock_node_report *node)
{
    if (node->verdict != hostility->verdict)
        fail_msg("%s: verdict is \"%s\" (%s), expected \"%s\"", hostility->name,
                 redlock_verdict_name(node->verdict), node->detail, redlock_verdict_name(hostility->verdict));
    if (strstr(node->detail, hostility->detail) == NULL)
        fail_msg("%s: \"%s\" does not say \"%s\"", hostility->name, node->detail, hostility->detail);
    if (node->detail[0] == '\0' && node->verdict != REDLOCK_VERDICT_SILENT)
        fail_msg("%s: nothing is said about why", hostility->name);
    assert_printable(node->detail);
}

/* Three of five are hostile: it has a name, and the two good ones are left clean. */
static void meet_majority(const struct hostility *hostility, struct fleet *fleet)
{
    struct fake_node *fakes[FAKES];
    redlock_spec spec = spec_for("hostile", LONG_TTL_MS);
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_lock *lock = NULL;

    start_fakes(fakes, hostility);
    redlock_client *client = open_impatient_client(mixed_urls(fakes, FAKES, fleet, 2));
    redlock_result result = redlock_try_acquire(client, &spec, &lock, &report);
    if (result != hostility->result)
        print_error("in case of %s:\n", hostility->name);
    assert_result(hostility->result, result, &report);
    assert_null(lock);
    assert_printable(report.line);
    for (int i = 0; i < FAKES; i++)
        check_hostile_node(hostility, &report.nodes[i]);
    const char *leftovers = fleet_leftovers(fleet, 5000);
    if (leftovers[0] != '\0')
        fail_msg("%s: %s", hostility->name, leftovers);
    redlock_client_close(client);
    stop_fakes(fakes);
}

static void hostile_majority_is_called_by_its_name(void **state)
{
    for (int i = 0; i < HOSTILITIES; i++)
        meet_majority(&hostilities[i], *state);
}

/* Two of five are hostile: the lock is had in one round, and works. */
static void meet_minority(const struct hostility *hostility, struct fleet *fleet)
{
    struct fake_node *fakes[FAKES];
    redlock_spec spec = spec_for("hostile", LONG_TTL_MS);
    redlock_report report = REDLOCK_REPORT_INIT;

    start_fakes(fakes, hostility);
    redlock_client *client = open_impatient_client(mixed_urls(fakes, 2, fleet, 3));
    for (int i = 0; i < 3; i++) {
        redlock_lock *lock = NULL;
        redlock_result result = redlock_try_acquire(client, &spec, &lock, &report);
        if (result != REDLOCK_OK)
            print_error("in case of %s:\n", hostility->name);
        assert_result(REDLOCK_OK, result, &report);
        assert_int_equal(report.rounds, 1);
        assert_result(REDLOCK_OK, redlock_extend(lock, 0, &report), &report);
        give_back(lock);
    }
    redlock_client_close(client);
    stop_fakes(fakes);
}

static void hostile_minority_costs_nothing(void **state)
{
    for (int i = 0; i < HOSTILITIES; i++)
        meet_minority(&hostilities[i], *state);
}

/* ---- odd but fine -------------------------------------------------------------------------------------- */

static void node_that_answers_byte_by_byte_votes(void **state)
{
    struct fake_node *fakes[FAKES];
    struct fleet *fleet = *state;
    redlock_report report = REDLOCK_REPORT_INIT;

    start_fakes(fakes, NULL);
    for (int i = 0; i < FAKES; i++)
        fake_node_trickle(fakes[i], true);
    /* Only together with the slow ones is there a quorum. */
    redlock_client *client = open_client(mixed_urls(fakes, FAKES, fleet, 2));
    for (int i = 0; i < 5; i++) {
        redlock_lock *lock = take_lock(client, "slow", LONG_TTL_MS);
        assert_result(REDLOCK_OK, redlock_extend(lock, 0, &report), &report);
        give_back(lock);
    }
    redlock_client_close(client);
    stop_fakes(fakes);
}

/* A node that was restarted has lost its scripts: it is told again, and the caller notices nothing. */
static void node_without_the_script_is_told_again(void **state)
{
    struct fake_node *fakes[FAKES];
    redlock_report report = REDLOCK_REPORT_INIT;

    (void)state;
    start_fakes(fakes, NULL);
    for (int i = 0; i < FAKES; i++)
        fake_node_fail(fakes[i], "EVALSHA", "NOSCRIPT No matching script. Please use EVAL.");
    redlock_client *client = open_client(mixed_urls(fakes, FAKES, NULL, 0));
    redlock_lock *lock = take_lock(client, "script", LONG_TTL_MS);
    assert_result(REDLOCK_OK, redlock_extend(lock, 0, &report), &report);
    give_back(lock);
    assert_true(fake_node_await(fakes[0], "EVAL", 2));
    redlock_client_close(client);
    stop_fakes(fakes);
}

static void real_node_that_forgot_its_scripts_is_told_again(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));

    for (int i = 0; i < 3; i++) {
        redlock_lock *lock = take_lock(client, "flush", LONG_TTL_MS);
        for (int node = 0; node < fleet_size(fleet); node++)
            fleet_command(fleet, node, "SCRIPT", "FLUSH", NULL);
        assert_result(REDLOCK_OK, redlock_extend(lock, 0, NULL), NULL);
        for (int node = 0; node < fleet_size(fleet); node++)
            fleet_command(fleet, node, "SCRIPT", "FLUSH", NULL);
        give_back(lock);
    }
    redlock_client_close(client);
}

static void unasked_pushes_are_passed_over(void **state)
{
    struct fake_node *fakes[FAKES];

    (void)state;
    start_fakes(fakes, NULL);
    redlock_client *client = open_warm_client(mixed_urls(fakes, FAKES, NULL, 0));
    for (int i = 0; i < 10; i++) {
        for (int j = 0; j < FAKES; j++)
            fake_node_push(fakes[j], ">2\r\n$10\r\ninvalidate\r\n*1\r\n$5\r\npush!\r\n>1\r\n+x\r\n");
        give_back(take_lock(client, "push", LONG_TTL_MS));
    }
    redlock_client_close(client);
    stop_fakes(fakes);
}

/* An answer to nothing would be taken for the answer to what is asked next: the connection is of no further use. */
static void unasked_answer_is_not_taken_for_the_next_one(void **state)
{
    struct fake_node *fakes[FAKES];
    redlock_spec spec = spec_for("unasked", LONG_TTL_MS);
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_lock *lock = NULL;

    (void)state;
    start_fakes(fakes, NULL);
    redlock_client *client = open_warm_client(mixed_urls(fakes, FAKES, NULL, 0));
    for (int i = 0; i < FAKES; i++) {
        fake_node_reply(fakes[i], "SET", "_\r\n");
        fake_node_reply(fakes[i], "GETRANGE", "$5\r\nother\r\n");
        fake_node_reply(fakes[i], "PTTL", ":10000\r\n");
        fake_node_push(fakes[i], "+OK\r\n");
    }
    sleep_ms(100);
    /* The lock is in other hands on every node; the stray OK must not turn that into a grant. */
    assert_int_not_equal(redlock_try_acquire(client, &spec, &lock, &report), REDLOCK_OK);
    assert_null(lock);
    for (int i = 0; i < FAKES; i++)
        fake_node_behave(fakes[i]);
    assert_result(REDLOCK_OK, redlock_acquire(client, &spec, 20000, &lock, &report), &report);
    give_back(lock);
    redlock_client_close(client);
    stop_fakes(fakes);
}

static unsigned releases_of(struct fake_node *fake)
{
    return fake_node_received(fake, "EVAL") + fake_node_received(fake, "EVALSHA");
}

/* The grant comes when nobody waits for it any more; what it planted is removed behind it. */
static void late_grant_is_released(void **state)
{
    struct fake_node *fakes[FAKES];
    struct fleet *fleet = *state;
    redlock_spec spec = spec_for("late", LONG_TTL_MS);
    redlock_lock *lock = NULL;

    start_fakes(fakes, NULL);
    redlock_client *client = open_warm_client(mixed_urls(fakes, FAKES, fleet, 2));
    for (int i = 0; i < FAKES; i++)
        fake_node_hold(fakes[i], "SET");
    assert_result(REDLOCK_NO_QUORUM, redlock_try_acquire(client, &spec, &lock, NULL), NULL);
    for (int i = 0; i < FAKES; i++)
        fake_node_resume(fakes[i]);
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
    for (int i = 0; i < FAKES; i++)
        fake_node_resume(fakes[i]);
    return NULL;
}

/* A quorum grants it, but when the answers come the time they grant has run out: nobody may be given that lock. */
static void grants_that_come_after_the_ttl_are_too_slow(void **state)
{
    struct fake_node *fakes[FAKES];
    redlock_spec spec = spec_for("too-slow", 300);
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_lock *lock = NULL;
    pthread_t thread;

    (void)state;
    start_fakes(fakes, NULL);
    redlock_options options = options_for(mixed_urls(fakes, FAKES, NULL, 0));
    options.node_timeout_ms = 10000;
    redlock_client *client = open_with(&options);
    await_all_nodes(client);
    for (int i = 0; i < FAKES; i++)
        fake_node_hold(fakes[i], "SET");
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
    start_fakes(fakes, NULL);
    redlock_client *client = open_warm_client(mixed_urls(fakes, FAKES, NULL, 0));
    fake_node_fail(fakes[1], "SET", "ERR nobody knows what happened");
    fake_node_reply(fakes[2], "SET", "_\r\n");
    assert_int_not_equal(redlock_try_acquire(client, &spec, &lock, NULL), REDLOCK_OK);
    for (int i = 0; i < FAKES; i++)
        await(i == 2 || releases_of(fakes[i]) >= 1);
    redlock_client_close(client);
    assert_int_equal(releases_of(fakes[2]), 0);
    stop_fakes(fakes);
}

/* Whether the node kept the key is not known when the connection ends in the middle: the release follows on a new one. */
static void release_follows_on_a_new_connection(void **state)
{
    struct fake_node *fakes[FAKES];
    redlock_spec spec = spec_for("follow", LONG_TTL_MS);
    redlock_lock *lock = NULL;

    (void)state;
    start_fakes(fakes, NULL);
    redlock_client *client = open_warm_client(mixed_urls(fakes, FAKES, NULL, 0));
    for (int i = 0; i < FAKES; i++)
        fake_node_cut(fakes[i], "SET", 0);
    assert_result(REDLOCK_NO_QUORUM, redlock_try_acquire(client, &spec, &lock, NULL), NULL);
    for (int i = 0; i < FAKES; i++) {
        await(fake_node_received(fakes[i], "SET") == 1);
        await(releases_of(fakes[i]) >= 1);
    }
    redlock_client_close(client);
    stop_fakes(fakes);
}

/* The node is back, but the client has not noticed yet, when it is closed: what it still owes the node is paid first. */
static void close_pays_what_is_owed_to_a_node_that_is_coming_back(void **state)
{
    struct fake_node *fakes[FAKES];
    redlock_spec spec = spec_for("owed", LONG_TTL_MS);
    redlock_lock *lock = NULL;

    (void)state;
    start_fakes(fakes, NULL);
    redlock_options options = options_for(mixed_urls(fakes, FAKES, NULL, 0));
    options.node_timeout_ms = 4000;
    redlock_client *client = open_with(&options);
    await_all_nodes(client);
    for (int i = 0; i < FAKES; i++) {
        fake_node_cut(fakes[i], "SET", 0);
        fake_node_cut(fakes[i], "HELLO", 0);
    }
    assert_result(REDLOCK_NO_QUORUM, redlock_try_acquire(client, &spec, &lock, NULL), NULL);
    /* Some attempts to come back have failed by now, and the pause between them has grown. */
    sleep_ms(400);
    for (int i = 0; i < FAKES; i++)
        fake_node_behave(fakes[i]);
    redlock_client_close(client);
    for (int i = 0; i < FAKES; i++)
        assert_in_range(releases_of(fakes[i]), 1, 100);
    stop_fakes(fakes);
}

static void refuse_releases(struct fake_node *fake)
{
    fake_node_fail(fake, "EVAL", "LOADING Redis is loading the dataset in memory");
    fake_node_fail(fake, "EVALSHA", "LOADING Redis is loading the dataset in memory");
}

/* A node that has just come back greets its clients and executes nothing yet: such an answer to a release leaves the key
 * where it is, so the release is still owed. */
static void release_that_a_node_was_not_ready_for_is_sent_again(void **state)
{
    struct fake_node *fakes[FAKES];
    redlock_report report = REDLOCK_REPORT_INIT;
    unsigned before[FAKES];

    (void)state;
    start_fakes(fakes, NULL);
    redlock_client *client = open_warm_client(mixed_urls(fakes, FAKES, NULL, 0));
    redlock_lock *lock = take_lock(client, "loading", LONG_TTL_MS);
    for (int i = 0; i < FAKES; i++)
        refuse_releases(fakes[i]);
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
    redlock_spec spec = spec_for("insist", LONG_TTL_MS);
    redlock_lock *lock = NULL;
    pthread_t thread;

    (void)state;
    start_fakes(fakes, NULL);
    redlock_options options = options_for(mixed_urls(fakes, FAKES, NULL, 0));
    options.node_timeout_ms = 5000;
    redlock_client *client = open_with(&options);
    await_all_nodes(client);
    for (int i = 0; i < FAKES; i++) {
        fake_node_cut(fakes[i], "SET", 0);
        refuse_releases(fakes[i]);
    }
    assert_result(REDLOCK_NO_QUORUM, redlock_try_acquire(client, &spec, &lock, NULL), NULL);
    assert_int_equal(pthread_create(&thread, NULL, finish_loading, &loading), 0);
    redlock_client_close(client);
    pthread_join(thread, NULL);
    for (int i = 0; i < FAKES; i++)
        assert_in_range(releases_of(fakes[i]), loading.before[i] + 1, 1000);
    stop_fakes(fakes);
}

/* ---- memory, replicas ---------------------------------------------------------------------------------- */

static void full_nodes_grant_nothing_but_still_extend_and_release(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_spec spec = spec_for("new", LONG_TTL_MS);
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_lock *none = NULL;

    redlock_lock *lock = take_lock(client, "old", LONG_TTL_MS);
    for (int i = 0; i < fleet_size(fleet); i++)
        fleet_command(fleet, i, "CONFIG", "SET", "maxmemory", "1", NULL);
    assert_result(REDLOCK_NO_QUORUM, redlock_try_acquire(client, &spec, &none, &report), &report);
    uint32_t full = 0;
    for (uint32_t i = 0; i < report.node_count; i++)
        full += strstr(report.nodes[i].detail, "OOM") != NULL;
    assert_in_range(full, report.quorum, report.node_count);
    assert_result(REDLOCK_OK, redlock_extend(lock, 2 * LONG_TTL_MS, &report), &report);
    give_back(lock);
    redlock_client_close(client);
}

static void replicas_do_not_vote(void **state)
{
    struct fleet *fleet = *state;
    redlock_spec spec = spec_for("replica", LONG_TTL_MS);
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_lock *lock = NULL;
    const char *port = strrchr(fleet_url(fleet, 0), ':') + 1;

    for (int i = 1; i < fleet_size(fleet); i++)
        assert_string_equal(fleet_command(fleet, i, "REPLICAOF", "127.0.0.1", port, NULL), "OK");
    redlock_client *client = open_client(fleet_urls(fleet));
    assert_result(REDLOCK_QUARANTINE, redlock_try_acquire(client, &spec, &lock, &report), &report);
    for (int i = 1; i < fleet_size(fleet); i++) {
        if (report.nodes[i].verdict == REDLOCK_VERDICT_PENDING)
            continue; /* the round was over before it answered */
        assert_int_equal(report.nodes[i].verdict, REDLOCK_VERDICT_UNFIT);
        assert_true(report.nodes[i].detail[0] != '\0');
    }
    for (int i = 1; i < fleet_size(fleet); i++)
        fleet_command(fleet, i, "REPLICAOF", "NO", "ONE", NULL);
    assert_result(REDLOCK_OK, redlock_acquire(client, &spec, 20000, &lock, &report), &report);
    give_back(lock);
    redlock_client_close(client);
}

/* ---- credentials --------------------------------------------------------------------------------------- */

static int start_nodes_with_passwords(void **state)
{
    struct fleet_options options = {
        .node_count = 3,
        .transport = FLEET_TCP,
        .config = "requirepass sesame\n"
                  "user reader on >read-only ~* +get +ping +hello +info\n"
                  "user locker on >c0mpl!cated:@/%pass ~* &* +@all",
    };

    *state = fleet_start(&options);
    return *state != NULL ? 0 : -1;
}

/* The nodes' URLs with credentials in them. */
static const char *urls_with(const struct fleet *fleet, const char *credentials)
{
    static char urls[1024];
    size_t used = 0;

    for (int i = 0; i < fleet_size(fleet); i++)
        used += (size_t)snprintf(urls + used, sizeof(urls) - used, "redis://%s@%s ", credentials,
                                 fleet_url(fleet, i) + strlen("redis://"));
    return urls;
}

static void assert_denied(const redlock_options *options, const char *words)
{
    redlock_client *client = open_with(options);
    redlock_spec spec = spec_for("denied", LONG_TTL_MS);
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_lock *lock = NULL;
    int said = 0;

    assert_result(REDLOCK_DENIED, redlock_acquire(client, &spec, 5000, &lock, &report), &report);
    assert_null(lock);
    assert_null(strstr(report.line, "hush"));
    for (uint32_t i = 0; i < report.node_count; i++) {
        said += strstr(report.nodes[i].detail, words) != NULL;
        assert_null(strstr(report.nodes[i].detail, "hush"));
        assert_null(strstr(report.nodes[i].url, "hush"));
    }
    if (said < 2)
        fail_msg("\"%s\" is said by %d nodes only: %s", words, said, report.line);
    redlock_client_close(client);
}

static void wrong_credentials_are_denied(void **state)
{
    struct fleet *fleet = *state;
    redlock_options options = options_for(fleet_urls(fleet));

    assert_denied(&options, "NOAUTH");
    options.password = "hush-wrong";
    assert_denied(&options, "WRONGPASS");
    options = options_for(urls_with(fleet, "nobody:hush-wrong"));
    assert_denied(&options, "WRONGPASS");
    options = options_for(urls_with(fleet, "reader:read-only"));
    assert_denied(&options, "NOPERM");
}

static void right_credentials_are_welcome(void **state)
{
    struct fleet *fleet = *state;
    redlock_options options = options_for(fleet_urls(fleet));

    options.password = "sesame";
    redlock_client *client = open_with(&options);
    give_back(take_lock(client, "welcome", LONG_TTL_MS));
    redlock_client_close(client);

    options = options_for(urls_with(fleet, ":sesame"));
    client = open_with(&options);
    give_back(take_lock(client, "welcome", LONG_TTL_MS));
    redlock_client_close(client);

    options = options_for(urls_with(fleet, "locker:c0mpl%21cated%3A%40%2F%25pass"));
    client = open_with(&options);
    give_back(take_lock(client, "welcome", LONG_TTL_MS));
    redlock_client_close(client);
}

/* Nothing is left undone when a password was wrong on some nodes only. */
static void wrong_password_on_a_minority_costs_nothing(void **state)
{
    struct fleet *fleet = *state;
    char nodes[512];

    snprintf(nodes, sizeof(nodes), "redis://:hush-wrong@%s,redis://:sesame@%s,redis://:sesame@%s",
             fleet_url(fleet, 0) + 8, fleet_url(fleet, 1) + 8, fleet_url(fleet, 2) + 8);
    redlock_client *client = open_client(nodes);
    give_back(take_lock(client, "some", LONG_TTL_MS));
    redlock_client_close(client);
}

/* ---- the same node twice ------------------------------------------------------------------------------- */

/* It is noticed at once, or as soon as both of its names have answered; a quorum of others is fine until then. */
static void assert_duplicate(const char *nodes, const char *first, const char *second)
{
    redlock_options options = options_for(nodes);
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_client *client = NULL;
    redlock_spec spec = spec_for("twice", LONG_TTL_MS);

    redlock_result result = redlock_client_open(&options, &client, &report);
    for (int i = 0; i < 500 && result == REDLOCK_OK; i++) {
        redlock_lock *lock = NULL;
        result = redlock_acquire(client, &spec, 0, &lock, &report);
        if (result == REDLOCK_OK)
            give_back(lock);
        sleep_ms(10);
    }
    redlock_client_close(client);
    assert_result(REDLOCK_INVALID, result, &report);
    if (strstr(report.line, first) == NULL || strstr(report.line, second) == NULL)
        fail_msg("\"%s\" does not name both %s and %s", report.line, first, second);
}

static void two_names_of_one_node_are_refused(void **state)
{
    struct fleet *fleet = *state;
    char nodes[512];
    char other[128];

    /* Another spelling of the same address. */
    snprintf(other, sizeof(other), "redis://localhost:%s", strrchr(fleet_url(fleet, 0), ':') + 1);
    snprintf(nodes, sizeof(nodes), "%s,%s,%s", fleet_url(fleet, 0), other, fleet_url(fleet, 1));
    assert_duplicate(nodes, fleet_url(fleet, 0), other);
    /* Another road to it. */
    snprintf(other, sizeof(other), "unix://%s/0/socket", fleet_folder(fleet));
    snprintf(nodes, sizeof(nodes), "%s,%s,%s", fleet_url(fleet, 0), other, fleet_url(fleet, 1));
    assert_duplicate(nodes, fleet_url(fleet, 0), other);
    /* Another database of it. */
    snprintf(other, sizeof(other), "%s/1", fleet_url(fleet, 0));
    snprintf(nodes, sizeof(nodes), "%s,%s,%s", fleet_url(fleet, 0), other, fleet_url(fleet, 1));
    assert_duplicate(nodes, fleet_url(fleet, 0), other);
    /* The only one. */
    snprintf(nodes, sizeof(nodes), "%s,%s", fleet_url(fleet, 0), other);
    assert_duplicate(nodes, fleet_url(fleet, 0), other);
}

static void other_database_is_another_lock(void **state)
{
    struct fleet *fleet = *state;
    char nodes[512] = "";

    for (int i = 0; i < fleet_size(fleet); i++)
        snprintf(nodes + strlen(nodes), sizeof(nodes) - strlen(nodes), "%s/3 ", fleet_url(fleet, i));
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_client *other = open_warm_client(nodes);
    redlock_lock *lock = take_lock(client, "database", LONG_TTL_MS);
    redlock_lock *twin = take_lock(other, "database", LONG_TTL_MS);
    await(fleet_key_count(fleet, 0) == 1);
    assert_string_equal(fleet_command(fleet, 0, "GET", "database", NULL), redlock_lock_owner(lock));
    give_back(twin);
    assert_string_equal(fleet_command(fleet, 0, "GET", "database", NULL), redlock_lock_owner(lock));
    give_back(lock);
    redlock_client_close(client);
    redlock_client_close(other);
}

/* ---- keys that are not locks --------------------------------------------------------------------------- */

static void assert_foreign_type(struct fleet *fleet, redlock_client *client, const char *type)
{
    redlock_spec spec = spec_for("foreign", LONG_TTL_MS);
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_lock *lock = NULL;

    assert_result(REDLOCK_FOREIGN_TYPE, redlock_try_acquire(client, &spec, &lock, &report), &report);
    assert_report_is_sound(&report, REDLOCK_FOREIGN_TYPE, fleet);
    assert_null(lock);
    assert_result(REDLOCK_FOREIGN_TYPE, redlock_acquire(client, &spec, 300, &lock, &report), &report);
    for (int i = 0; i < fleet_size(fleet); i++) {
        assert_string_equal(fleet_command(fleet, i, "TYPE", "foreign", NULL), type);
        fleet_command(fleet, i, "DEL", "foreign", NULL);
    }
    give_back(take_spec(client, &spec));
    assert_string_equal(fleet_leftovers(fleet, 5000), "");
}

static void key_of_another_type_is_not_a_lock(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));

    for (int i = 0; i < fleet_size(fleet); i++)
        fleet_command(fleet, i, "HSET", "foreign", "uuid:1", "1", NULL);
    assert_foreign_type(fleet, client, "hash");
    for (int i = 0; i < fleet_size(fleet); i++)
        fleet_command(fleet, i, "RPUSH", "foreign", "a", "b", NULL);
    assert_foreign_type(fleet, client, "list");
    redlock_client_close(client);
}

static void foreign_lock_without_an_end_is_busy(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_spec spec = spec_for("endless", LONG_TTL_MS);
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_lock *lock = NULL;

    for (int i = 0; i < fleet_size(fleet); i++)
        fleet_command(fleet, i, "SET", "endless", "somebody-else", NULL);
    assert_result(REDLOCK_BUSY, redlock_try_acquire(client, &spec, &lock, &report), &report);
    assert_report_is_sound(&report, REDLOCK_BUSY, fleet);
    assert_string_equal(report.holder.id, "somebody");
    assert_int_equal(report.holder_ttl_left_ms, -1);
    /* A node that said no after the round was decided was not asked for more. */
    uint32_t endless = 0;
    for (uint32_t i = 0; i < report.node_count; i++)
        endless += report.nodes[i].ttl_left_ms == -1;
    assert_in_range(endless, report.quorum, report.node_count);
    /* Held without an end never means that it ends now. */
    assert_result(REDLOCK_TIMEOUT, redlock_acquire(client, &spec, 300, &lock, &report), &report);
    assert_result(REDLOCK_OK, redlock_inspect(client, "endless", 0, &report), &report);
    assert_int_equal(report.holder_ttl_left_ms, -1);
    for (int i = 0; i < fleet_size(fleet); i++) {
        assert_string_equal(fleet_command(fleet, i, "GET", "endless", NULL), "somebody-else");
        fleet_command(fleet, i, "DEL", "endless", NULL);
    }
    redlock_client_close(client);
}

/* Binary owner values of other clients, and very long ones, are looked at and left alone. */
static void strange_owner_values_are_shown_safely(void **state)
{
    static const char binary[] = "\x01\x02\xff\x00|host=\x1b[31m|pid=99999999999999999999|why=\r\n";
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_spec spec = spec_for("strange", LONG_TTL_MS);
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_lock *lock = NULL;
    static char longest[1 << 20];

    memset(longest, 'x', sizeof(longest));
    for (int pass = 0; pass < 2; pass++) {
        const char *value = pass == 0 ? binary : longest;
        size_t length = pass == 0 ? sizeof(binary) - 1 : sizeof(longest);
        for (int i = 0; i < fleet_size(fleet); i++)
            fleet_command_bytes(fleet, i, 3, (const char *[]){"SET", "strange", value},
                                (const size_t[]){3, 7, length});
        assert_result(REDLOCK_BUSY, redlock_try_acquire(client, &spec, &lock, &report), &report);
        assert_printable(report.line);
        assert_printable(report.holder.host);
        assert_printable(report.holder.why);
        assert_printable(report.holder.id);
        assert_result(REDLOCK_OK, redlock_inspect(client, "strange", 0, &report), &report);
        for (uint32_t i = 0; i < report.node_count; i++)
            assert_true(strlen(report.nodes[i].owner) <= REDLOCK_OWNER_MAX);
    }
    for (int i = 0; i < fleet_size(fleet); i++)
        fleet_command(fleet, i, "DEL", "strange", NULL);
    redlock_client_close(client);
}

static int start_three_tcp_nodes(void **state)
{
    struct fleet_options options = {.node_count = 3, .transport = FLEET_TCP};

    *state = fleet_start(&options);
    return *state != NULL ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_NODES(hostile_majority_is_called_by_its_name, start_three_nodes),
        ON_NODES(hostile_minority_costs_nothing, start_three_nodes),
        ON_NODES(node_that_answers_byte_by_byte_votes, start_three_nodes),
        cmocka_unit_test(node_without_the_script_is_told_again),
        ON_NODES(real_node_that_forgot_its_scripts_is_told_again, start_three_nodes),
        cmocka_unit_test(unasked_pushes_are_passed_over),
        cmocka_unit_test(unasked_answer_is_not_taken_for_the_next_one),
        ON_NODES(late_grant_is_released, start_three_nodes),
        cmocka_unit_test(grants_that_come_after_the_ttl_are_too_slow),
        cmocka_unit_test(lost_round_is_undone_on_every_node_that_may_have_it),
        cmocka_unit_test(release_follows_on_a_new_connection),
        cmocka_unit_test(close_pays_what_is_owed_to_a_node_that_is_coming_back),
        cmocka_unit_test(release_that_a_node_was_not_ready_for_is_sent_again),
        cmocka_unit_test(close_insists_while_a_node_is_loading),
        ON_NODES(full_nodes_grant_nothing_but_still_extend_and_release, start_three_nodes),
        ON_NODES(replicas_do_not_vote, start_three_tcp_nodes),
        ON_NODES(wrong_credentials_are_denied, start_nodes_with_passwords),
        ON_NODES(right_credentials_are_welcome, start_nodes_with_passwords),
        ON_NODES(wrong_password_on_a_minority_costs_nothing, start_nodes_with_passwords),
        ON_NODES(two_names_of_one_node_are_refused, start_three_tcp_nodes),
        ON_NODES(other_database_is_another_lock, start_three_tcp_nodes),
        ON_NODES(key_of_another_type_is_not_a_lock, start_three_nodes),
        ON_NODES(foreign_lock_without_an_end_is_busy, start_three_nodes),
        ON_NODES(strange_owner_values_are_shown_safely, start_three_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
