/*
 * Tests of wire/error_reply: each class of error has its own cause, and words inside other words are not
 * mistaken for it.
 */
#include "wire/error_reply.h"

#include <string.h>

#include "base/prng.h"
#include "support/check.h"

static const struct {
    const char *text;
    enum rl_cause cause;
    enum rl_verdict verdict;
} replies[] = {
    {"NOAUTH Authentication required.", RL_CAUSE_CREDENTIALS, RL_FAILED},
    {"WRONGPASS invalid username-password pair or user is disabled.", RL_CAUSE_CREDENTIALS, RL_FAILED},
    {"NOPERM this user has no permissions to run the 'set' command", RL_CAUSE_RIGHTS, RL_FAILED},
    {"WRONGTYPE Operation against a key holding the wrong kind of value", RL_CAUSE_FOREIGN_TYPE, RL_DENIED},
    {"READONLY You can't write against a read only replica.", RL_CAUSE_REPLICA, RL_INELIGIBLE},
    {"OOM command not allowed when used memory > 'maxmemory'.", RL_CAUSE_MEMORY, RL_FAILED},
    {"LOADING Redis is loading the dataset in memory", RL_CAUSE_LOADING, RL_FAILED},
    {"MASTERDOWN Link with MASTER is down", RL_CAUSE_LOADING, RL_FAILED},
    {"BUSY Redis is busy running a script.", RL_CAUSE_SCRIPT, RL_FAILED},
    {"MISCONF Redis is configured to save RDB snapshots", RL_CAUSE_DISK, RL_FAILED},
    {"NOREPLICAS Not enough good replicas to write.", RL_CAUSE_DISK, RL_FAILED},
    {"MOVED 3999 127.0.0.1:6381", RL_CAUSE_CLUSTER, RL_FAILED},
    {"ASK 3999 127.0.0.1:6381", RL_CAUSE_CLUSTER, RL_FAILED},
    {"CROSSSLOT Keys in request don't hash to the same slot", RL_CAUSE_CLUSTER, RL_FAILED},
    {"CLUSTERDOWN The cluster is down", RL_CAUSE_CLUSTER, RL_FAILED},
    {"TRYAGAIN Multiple keys request during rehashing of slot", RL_CAUSE_CLUSTER, RL_FAILED},
    {"OOM", RL_CAUSE_MEMORY, RL_FAILED},
    /* A right that a script lacks, in the words of 7.0 and of newer ones. */
    {"ERR The user executing the script can't run this command or subcommand script: 0c, on @user_script:9.",
     RL_CAUSE_RIGHTS, RL_FAILED},
    {"ERR ACL failure in script: User locks has no permissions to run the 'zrem' command script: 0c, on @user_script:1.",
     RL_CAUSE_RIGHTS, RL_FAILED},
    /* From inside a script, as older nodes say it. */
    {"ERR Error running script (call to f_0c): @user_script:9: WRONGTYPE Operation against",
     RL_CAUSE_FOREIGN_TYPE, RL_DENIED},
    {"ERR Error running script (call to f_bf): @user_script:1: @user_script: 1: -OOM command not allowed when",
     RL_CAUSE_MEMORY, RL_FAILED},
    {"ERR Error running script (call to f_2a): @user_script:15: @user_script: 15: The user executing the script can't run this command",
     RL_CAUSE_RIGHTS, RL_FAILED},
    {"ERR Error running script (call to f_2a): @user_script:1: somebody says: The user executing the script can't",
     RL_CAUSE_ERROR, RL_FAILED},
    {"ERR @user_script: 3: -READONLY You can't", RL_CAUSE_REPLICA, RL_INELIGIBLE},
    {"ERR @user_script: 3: -", RL_CAUSE_ERROR, RL_FAILED},
    /* Others, and words that only look like one. */
    {"ERR unknown command 'SET'", RL_CAUSE_ERROR, RL_FAILED},
    {"OOMPH", RL_CAUSE_ERROR, RL_FAILED},
    {"BUSYGROUP Consumer Group name already exists", RL_CAUSE_ERROR, RL_FAILED},
    {"BUSYKEY Target key name already exists.", RL_CAUSE_ERROR, RL_FAILED},
    {"ERR not LOADING anything", RL_CAUSE_ERROR, RL_FAILED},
    {"", RL_CAUSE_ERROR, RL_FAILED},
    {" OOM", RL_CAUSE_ERROR, RL_FAILED},
};

static void every_known_error_has_its_cause_and_verdict(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof replies / sizeof replies[0]; i++) {
        struct rl_answer answer = rl_error_answer(replies[i].text, strlen(replies[i].text));

        if (answer.cause != replies[i].cause || answer.verdict != replies[i].verdict)
            fail_msg("\"%s\": cause %d verdict %d", replies[i].text, answer.cause, answer.verdict);
        assert_int_equal(answer.ttl_left_ms, -2);
        assert_int_equal(answer.fence, 0);
    }
}

static void words_of_an_error_come_behind_its_place_in_a_script(void **state)
{
    static const char *const texts[][2] = {
        {"ERR Error running script (call to f_2a): @user_script:15: @user_script: 15: no right", "no right"},
        {"ERR Error running script (call to f_2a): @user_script:9: WRONGTYPE", "WRONGTYPE"},
        {"ERR Error running script (call to f_2a): @user_script:9:", NULL},
        {"ERR no right script: 2a, on @user_script:9.", NULL},
        {"ERR Error running script ", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const char *text = texts[i][0], *words = texts[i][1] != NULL ? texts[i][1] : text;

        assert_string_equal(text + rl_error_place(text, strlen(text)), words);
    }
}

static void a_word_counts_only_as_a_whole_and_within_the_length(void **state)
{
    (void)state;
    assert_true(rl_error_is("NOSCRIPT No matching script", 27, "NOSCRIPT"));
    assert_true(rl_error_is("NOSCRIPT", 8, "NOSCRIPT"));
    assert_false(rl_error_is("NOSCRIPT", 7, "NOSCRIPT"));
    assert_false(rl_error_is("NOSCRIPTS", 9, "NOSCRIPT"));
    assert_false(rl_error_is("", 0, "NOSCRIPT"));
}

/* Cut and changed as a broken node might: nothing is read beyond the end, which the sanitizers watch. */
static void any_bytes_are_some_error(void **state)
{
    struct rl_prng prng = rl_prng_seed(3);

    (void)state;
    for (int i = 0; i < 200000; i++) {
        const char *text = replies[rl_prng_between(&prng, 0, sizeof replies / sizeof replies[0] - 1)].text;
        size_t length = (size_t)rl_prng_between(&prng, 0, (int64_t)strlen(text));
        char *exact = test_malloc(length + 1);

        memcpy(exact, text, length);
        if (length > 0)
            exact[rl_prng_between(&prng, 0, (int64_t)length - 1)] = (char)rl_prng_between(&prng, 0, 255);
        assert_in_range(rl_error_cause(exact, length), RL_CAUSE_CREDENTIALS, RL_CAUSE_ERROR);
        test_free(exact);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_known_error_has_its_cause_and_verdict),
        cmocka_unit_test(words_of_an_error_come_behind_its_place_in_a_script),
        cmocka_unit_test(a_word_counts_only_as_a_whole_and_within_the_length),
        cmocka_unit_test(any_bytes_are_some_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
