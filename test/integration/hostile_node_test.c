/*
 * Nodes that are not what they should be: other protocols, half an answer, an endless one, every class of
 * error. A minority of them costs nothing; a majority gets its true name, and what the good nodes had granted
 * is gone again. What is owed to such nodes is in owed_release_test.c, real nodes that are of no use are in
 * unusable_node_test.c.
 */
#include <string.h>

#include "support/fakes.h"
#include "support/steps.h"

/* One way of being hostile, and what it is called when a majority is like that. */
struct hostility {
    const char *name;
    void (*instruct)(struct fake_node *fake);
    redlock_result result;
    redlock_verdict verdict;
    redlock_cause cause;
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
    {"http", speak_http, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_FAILED, REDLOCK_CAUSE_PROTOCOL, ""},
    {"garbage", speak_garbage, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_FAILED, REDLOCK_CAUSE_PROTOCOL, ""},
    {"late garbage", turn_to_garbage, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_FAILED, REDLOCK_CAUSE_PROTOCOL, ""},
    {"wrong shape", answer_in_the_wrong_shape, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_FAILED,
     REDLOCK_CAUSE_PROTOCOL, ""},
    {"number", answer_with_a_number, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_FAILED, REDLOCK_CAUSE_PROTOCOL, ""},
    {"wrong length", lie_about_lengths, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_FAILED, REDLOCK_CAUSE_PROTOCOL,
     ""},
    {"endless greeting", greet_with_an_endless_text, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_FAILED,
     REDLOCK_CAUSE_PROTOCOL, ""},
    {"endless text", answer_with_an_endless_text, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_FAILED,
     REDLOCK_CAUSE_PROTOCOL, ""},
    {"endless line", answer_with_an_endless_line, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_FAILED,
     REDLOCK_CAUSE_PROTOCOL, ""},
    {"endless depth", answer_with_endless_depth, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_FAILED,
     REDLOCK_CAUSE_PROTOCOL, ""},
    {"endless breadth", answer_with_endless_breadth, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_FAILED,
     REDLOCK_CAUSE_PROTOCOL, ""},
    {"hang up", hang_up_on_hello, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_FAILED, REDLOCK_CAUSE_UNREACHABLE,
     "closed"},
    {"half a greeting", hang_up_in_the_middle_of_hello, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_FAILED,
     REDLOCK_CAUSE_UNREACHABLE, "closed"},
    {"half an answer", hang_up_in_the_middle_of_an_answer, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_FAILED,
     REDLOCK_CAUSE_UNREACHABLE, "closed"},
    {"silence", say_nothing, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_FAILED, REDLOCK_CAUSE_TIMED_OUT,
     "does not answer"},
    {"late silence", fall_silent_after_the_greeting, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_SILENT,
     REDLOCK_CAUSE_TIMED_OUT, ""},
    {"held answer", hold_back_the_answer, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_SILENT, REDLOCK_CAUSE_TIMED_OUT,
     ""},
    {"push only", push_instead_of_answering, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_SILENT,
     REDLOCK_CAUSE_TIMED_OUT, ""},
    {"OOM", run_out_of_memory, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_FAILED, REDLOCK_CAUSE_MEMORY, "OOM"},
    {"LOADING", still_be_loading, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_FAILED, REDLOCK_CAUSE_LOADING,
     "LOADING"},
    {"LOADING at once", be_loading_from_the_start, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_FAILED,
     REDLOCK_CAUSE_LOADING, "LOADING"},
    {"BUSY", be_busy_with_a_script, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_FAILED, REDLOCK_CAUSE_SCRIPT, "BUSY"},
    {"READONLY", be_a_replica, REDLOCK_QUARANTINE, REDLOCK_VERDICT_INELIGIBLE, REDLOCK_CAUSE_REPLICA,
     "READONLY"},
    {"MISCONF", fail_to_persist, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_FAILED, REDLOCK_CAUSE_DISK, "MISCONF"},
    {"NOPERM", refuse_the_command, REDLOCK_FORBIDDEN, REDLOCK_VERDICT_FAILED, REDLOCK_CAUSE_RIGHTS, "NOPERM"},
    {"NOAUTH", ask_for_a_password, REDLOCK_FORBIDDEN, REDLOCK_VERDICT_FAILED, REDLOCK_CAUSE_CREDENTIALS,
     "NOAUTH"},
    {"WRONGPASS", refuse_the_password, REDLOCK_FORBIDDEN, REDLOCK_VERDICT_FAILED, REDLOCK_CAUSE_CREDENTIALS,
     "WRONGPASS"},
    {"MOVED", be_part_of_a_cluster, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_FAILED, REDLOCK_CAUSE_CLUSTER,
     "MOVED"},
    {"other error", fail_in_other_words, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_FAILED, REDLOCK_CAUSE_ERROR,
     "something else altogether"},
    {"empty error", fail_without_words, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_FAILED, REDLOCK_CAUSE_ERROR, ""},
    {"control characters", fail_with_control_characters, REDLOCK_NO_QUORUM, REDLOCK_VERDICT_FAILED,
     REDLOCK_CAUSE_ERROR, "red"},
};

enum { HOSTILITIES = sizeof(hostilities) / sizeof(hostilities[0]) };

/* ---- real and fake nodes together ---------------------------------------------------------------------- */

/* Nothing but the end of patience ends the wait for a silent node; one that answers may be slow to do so. */
static redlock_client *open_client_among(const char *urls, const struct hostility *hostility,
                                         uint32_t node_timeout_ms)
{
    redlock_options options = options_for(urls);

    options.node_timeout_ms = node_timeout_ms;
    if (hostility->instruct == say_nothing)
        options.connect_timeout_ms = 600;
    return open_with(&options);
}

static void check_hostile_node(const struct hostility *hostility, redlock_node_report node)
{
    if (node.verdict != hostility->verdict)
        fail_msg("%s: verdict is \"%s\" (%s), expected \"%s\"", hostility->name,
                 redlock_verdict_name(node.verdict), node.detail, redlock_verdict_name(hostility->verdict));
    if (node.cause != hostility->cause)
        fail_msg("%s: cause is \"%s\" (%s), expected \"%s\"", hostility->name, redlock_cause_name(node.cause),
                 node.detail, redlock_cause_name(hostility->cause));
    if (strstr(node.detail, hostility->detail) == NULL)
        fail_msg("%s: \"%s\" does not say \"%s\"", hostility->name, node.detail, hostility->detail);
    if (node.detail[0] == '\0' && node.verdict != REDLOCK_VERDICT_SILENT)
        fail_msg("%s: nothing is said about why", hostility->name);
    assert_printable(node.detail);
}

/* Three of five are hostile: it has a name, and the two good ones are left clean. */
static void meet_majority(const struct hostility *hostility, struct fleet *fleet)
{
    struct fake_node *fakes[FAKES];
    redlock_spec spec = spec_for("hostile", LONG_TTL_MS);
    redlock_report report = detailed_report();
    redlock_lock *lock = NULL;

    start_fakes(fakes);
    instruct_all(fakes, hostility->instruct);
    bool silent = hostility->verdict == REDLOCK_VERDICT_SILENT;
    redlock_client *client =
        open_client_among(mixed_urls(fakes, FAKES, fleet, 2), hostility, silent ? 300 : 5000);
    redlock_result result = redlock_try_acquire(client, &spec, &lock, &report);
    if (result != hostility->result)
        print_error("in case of %s:\n", hostility->name);
    assert_result(hostility->result, result, &report);
    assert_null(lock);
    assert_printable(report.line);
    for (int i = 0; i < FAKES; i++)
        check_hostile_node(hostility, node_of(&report, i));
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
    redlock_report report = detailed_report();

    start_fakes(fakes);
    instruct_all(fakes, hostility->instruct);
    redlock_client *client = open_client_among(mixed_urls(fakes, 2, fleet, 3), hostility, 2000);
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
    redlock_report report = detailed_report();

    start_fakes(fakes);
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
    redlock_report report = detailed_report();

    (void)state;
    start_fakes(fakes);
    for (int i = 0; i < FAKES; i++)
        fake_node_fail(fakes[i], "EVALSHA", "NOSCRIPT No matching script. Please use EVAL.");
    redlock_client *client = open_client(fake_urls(fakes));
    redlock_lock *lock = take_lock(client, "script", LONG_TTL_MS);
    assert_result(REDLOCK_OK, redlock_extend(lock, 0, &report), &report);
    give_back(lock);
    assert_true(fake_node_await(fakes[0], "EVAL", 2));
    redlock_client_close(client);
    stop_fakes(fakes);
}

static void a_real_node_that_lost_its_scripts_is_sent_them_again(void **state)
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
    start_fakes(fakes);
    redlock_client *client = open_warm_client(fake_urls(fakes));
    for (int i = 0; i < 10; i++) {
        for (int j = 0; j < FAKES; j++)
            fake_node_push(fakes[j], ">2\r\n$10\r\ninvalidate\r\n*1\r\n$5\r\npush!\r\n>1\r\n+x\r\n");
        give_back(take_lock(client, "push", LONG_TTL_MS));
    }
    redlock_client_close(client);
    stop_fakes(fakes);
}

/* An answer to nothing would be taken for the answer to what is asked next: the connection is of no further
 * use. */
static void unasked_answer_is_not_taken_for_the_next_one(void **state)
{
    struct fake_node *fakes[FAKES];
    redlock_spec spec = spec_for("unasked", LONG_TTL_MS);
    redlock_report report = detailed_report();
    redlock_lock *lock = NULL;

    (void)state;
    start_fakes(fakes);
    redlock_client *client = open_warm_client(fake_urls(fakes));
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
    instruct_all(fakes, fake_node_behave);
    give_back(await_lock(client, "unasked"));
    redlock_client_close(client);
    stop_fakes(fakes);
}

/* What undoes the lost round is not on its way yet when the second answer is read. */
static void an_answer_too_many_meets_nothing_that_was_not_sent(void **state)
{
    struct fake_node *fakes[FAKES];

    (void)state;
    start_fakes(fakes);
    redlock_client *client = open_warm_client(fake_urls(fakes));
    for (int i = 0; i < FAKES; i++)
        fake_node_reply(fakes[i], "SET", "-ERR nope\r\n+OK\r\n");
    assert_not_had(REDLOCK_NO_QUORUM, client, "surplus", NULL);
    instruct_all(fakes, fake_node_behave);
    give_back(await_lock(client, "surplus"));
    redlock_client_close(client);
    stop_fakes(fakes);
}

/* A node that greets us and is gone before it is asked for its vote: what is to be written then fails while
 * the caller is about to wait for the last node on its way. It must not wait for nothing. */
static void a_write_that_fails_keeps_nobody_waiting(void **state)
{
    struct fake_node *fake = fake_node_start(FAKE_UNIX);
    redlock_options options = options_for(fake_node_url(fake));
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_spec spec = spec_for("lock", LONG_TTL_MS);
    redlock_lock *lock = NULL;

    (void)state;
    options.mode = REDLOCK_GUARDED;
    options.connect_timeout_ms = 600 * 1000; /* so that nothing but the failure itself can end it */
    for (int i = 0; i < 50; i++) {
        redlock_client *client = open_with(&options);

        redlock_inspect(client, "lock", 0, &report); /* now it is greeted, and not yet asked for its vote */
        fake_node_hang_up(fake);
        assert_int_not_equal(redlock_try_acquire(client, &spec, &lock, &report), REDLOCK_OK);
        redlock_client_close(client);
    }
    fake_node_stop(fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_NODES(hostile_majority_is_called_by_its_name, start_three_nodes),
        ON_NODES(hostile_minority_costs_nothing, start_three_nodes),
        ON_NODES(node_that_answers_byte_by_byte_votes, start_three_nodes),
        cmocka_unit_test(node_without_the_script_is_told_again),
        ON_NODES(a_real_node_that_lost_its_scripts_is_sent_them_again, start_three_nodes),
        cmocka_unit_test(unasked_pushes_are_passed_over),
        cmocka_unit_test(unasked_answer_is_not_taken_for_the_next_one),
        cmocka_unit_test(an_answer_too_many_meets_nothing_that_was_not_sent),
        cmocka_unit_test(a_write_that_fails_keeps_nobody_waiting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
