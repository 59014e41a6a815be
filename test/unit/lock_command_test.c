/*
 * Tests of wire/lock_command, lock_reply and the kinds: the words of every command, the meaning of every
 * reply, and replies of any shape.
 */
#include "wire/lock_reply.h"

#include <stdio.h>
#include <string.h>

#include "base/prng.h"
#include "support/check.h"
#include "wire/handshake.h"
#include "wire/resp_reader.h"
#include "wire/script.h"

#define EPOCH "1 run id 1000 0"

/* ---- writing ------------------------------------------------------------------------------------------- */

static const char *script_name(const struct rl_resp *item)
{
    static const struct rl_script *const scripts[] = {&rl_script_raise,
                                                      &rl_script_extend,
                                                      &rl_script_release,
                                                      &rl_script_admit,
                                                      &rl_script_line,
                                                      &rl_script_ask,
                                                      &rl_script_hand_on,
                                                      &rl_script_search,
                                                      &rl_script_redisson_acquire,
                                                      &rl_script_redisson_share,
                                                      &rl_script_redisson_extend,
                                                      &rl_script_redisson_extend_shared,
                                                      &rl_script_redisson_release,
                                                      &rl_script_redisson_look,
                                                      &rl_script_redisson_break};

    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++)
        if ((item->text_length == 40 && memcmp(item->text, scripts[i]->digest, 40) == 0) ||
            (item->text_length == scripts[i]->text_length &&
             memcmp(item->text, scripts[i]->text, item->text_length) == 0))
            return scripts[i]->name;
    return NULL;
}

/* The words of what was written, separated by spaces; scripts by name, commands by " ; ". */
static const char *words_of(const struct rl_lock_command *command, unsigned features, bool full)
{
    static char text[4096];
    char bytes[16384];
    struct rl_writer writer = rl_writer_on(bytes, sizeof bytes);
    size_t offset = 0, used = 0;
    struct rl_resp item;

    rl_lock_command_write(&writer, command, features, full);
    assert_false(writer.overflow);
    while (offset < writer.length) {
        assert_int_equal(rl_resp_next(bytes, writer.length, &offset, &item), RL_RESP_OK);
        if (item.type == RL_RESP_ARRAY)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s", used > 0 ? " ;" : "");
        else if (script_name(&item) != NULL)
            used += (size_t)snprintf(text + used, sizeof text - used, " <%s>", script_name(&item));
        else
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%.*s", used > 0 ? " " : "",
                                     (int)item.text_length, item.text);
    }
    return text;
}

static struct rl_lock_command plain(enum rl_command_kind kind)
{
    return (struct rl_lock_command){.kind = kind,
                                    .lock_kind = &rl_kind_exclusive,
                                    .key = "lock",
                                    .key_length = 4,
                                    .owner = "me",
                                    .owner_length = 2,
                                    .ttl_ms = 5000};
}

static struct rl_lock_command guarded(enum rl_command_kind kind)
{
    struct rl_lock_command command = plain(kind);

    command.lock_kind = &rl_kind_line;
    command.epoch = EPOCH;
    command.fence = 1700000000123456;
    command.not_after_us = 1700000000654321;
    return command;
}

static void plain_commands_are_what_every_client_sends(void **state)
{
    struct rl_lock_command acquire = plain(RL_COMMAND_ACQUIRE), extend = plain(RL_COMMAND_EXTEND);
    struct rl_lock_command release = plain(RL_COMMAND_RELEASE), peek = plain(RL_COMMAND_PEEK);

    (void)state;
    assert_string_equal(words_of(&acquire, 0, false), "SET lock me NX PX 5000");
    assert_string_equal(words_of(&extend, 0, false), "EVALSHA <extend> 1 lock me 5000 0");
    assert_string_equal(words_of(&extend, 0, true), "EVAL <extend> 1 lock me 5000 0");
    assert_string_equal(words_of(&release, 0, false), "EVALSHA <release> 1 lock me");
    assert_string_equal(words_of(&peek, 0, false), "GETRANGE lock 0 517 ; PTTL lock");
    peek.nameless = true;
    assert_string_equal(words_of(&peek, 0, false), "SET lock x NX XX ; PTTL lock");
}

/* Told between two answers, a change would be told before anybody knows that the key is watched. */
static void what_is_watched_is_the_last_thing_asked(void **state)
{
    struct rl_lock_command watch = plain(RL_COMMAND_WATCH);

    (void)state;
    assert_string_equal(words_of(&watch, 0, false), "GETRANGE lock 0 517 ; CLIENT CACHING YES ; PTTL lock");
    assert_int_equal(rl_lock_command_replies(&watch), 3);
}

static const char *redisson_words(enum rl_command_kind kind, const struct rl_kind *lock_kind, const char *key)
{
    struct rl_lock_command command = plain(kind);

    command.lock_kind = lock_kind;
    command.key = key;
    command.key_length = strlen(key);
    return words_of(&command, RL_FEATURE_DELEX, false);
}

static void redissons_format_has_scripts_and_names_of_its_own(void **state)
{
    const struct rl_kind *alone = &rl_kind_redisson, *shared = &rl_kind_redisson_shared;

    (void)state;
    assert_string_equal(redisson_words(RL_COMMAND_ACQUIRE, alone, "lock"),
                        "EVALSHA <redisson_acquire> 1 lock me 5000");
    assert_string_equal(redisson_words(RL_COMMAND_ACQUIRE, shared, "lock"),
                        "EVALSHA <redisson_share> 1 lock me 5000");
    assert_string_equal(redisson_words(RL_COMMAND_EXTEND, shared, "lock"),
                        "EVALSHA <redisson_extend_shared> 1 lock me 5000 0");
    assert_string_equal(redisson_words(RL_COMMAND_RELEASE, alone, "lock"),
                        "EVALSHA <redisson_release> 3 lock redisson_lock_queue:{lock} "
                        "redisson_lock_timeout:{lock} me");
    assert_string_equal(redisson_words(RL_COMMAND_RELEASE, shared, "a{b}"),
                        "EVALSHA <redisson_release> 3 a{b} redisson_lock_queue:a{b} "
                        "redisson_lock_timeout:a{b} me s");
    assert_string_equal(redisson_words(RL_COMMAND_PEEK, alone, "lock"),
                        "EVAL <redisson_look> 1 lock 0 ; PTTL lock");
    assert_string_equal(redisson_words(RL_COMMAND_WATCH, shared, "lock"),
                        "EVAL <redisson_look> 1 lock 1 ; CLIENT CACHING YES ; PTTL lock");
    assert_string_equal(redisson_words(RL_COMMAND_BREAK, alone, "lock"),
                        "EVALSHA <redisson_break> 3 lock redisson_lock_queue:{lock} "
                        "redisson_lock_timeout:{lock} me 5000");
}

static void native_releases_are_used_where_a_node_has_them(void **state)
{
    struct rl_lock_command release = plain(RL_COMMAND_RELEASE);

    (void)state;
    assert_string_equal(words_of(&release, RL_FEATURE_DELEX, false), "DELEX lock IFEQ me");
    assert_string_equal(words_of(&release, RL_FEATURE_DELIFEQ, false), "DELIFEQ lock me");
}

#define SIDE_KEYS "redlock-fence:{lock} redlock-guard:epoch redlock-guard:floor"

static void guarded_commands_carry_fence_epoch_and_not_after(void **state)
{
    struct rl_lock_command acquire = guarded(RL_COMMAND_ACQUIRE), raise = guarded(RL_COMMAND_RAISE);
    struct rl_lock_command extend = guarded(RL_COMMAND_EXTEND), release = guarded(RL_COMMAND_RELEASE);

    (void)state;
    assert_string_equal(words_of(&acquire, 0, false),
                        "EVALSHA <ask> 1 lock me 5000 1700000000123456 " EPOCH " 1700000000654321 ");
    assert_string_equal(words_of(&raise, 0, true),
                        "EVAL <raise> 4 lock " SIDE_KEYS " me 1700000000123456 " EPOCH);
    assert_string_equal(words_of(&extend, 0, false),
                        "EVALSHA <extend> 2 lock redlock-guard:epoch me 5000 0 " EPOCH " 1700000000654321");
    extend.holds = true;
    assert_string_equal(words_of(&extend, 0, false),
                        "EVALSHA <extend> 2 lock redlock-guard:epoch me 5000 2 " EPOCH " 1700000000654321");
    extend.repair = true;
    assert_string_equal(words_of(&extend, 0, false),
                        "EVALSHA <extend> 2 lock redlock-guard:epoch me 5000 1 " EPOCH " 1700000000654321");
    assert_string_equal(words_of(&release, 0, false), "EVALSHA <hand_on> 1 lock me");
    release.kind = RL_COMMAND_SEARCH;
    assert_string_equal(words_of(&release, 0, false), "EVALSHA <search> 1 redlock-guard:floor");
}

static void a_caller_in_line_says_where_it_stands(void **state)
{
    struct rl_lock_command acquire = guarded(RL_COMMAND_ACQUIRE);
    struct rl_place place = {.ticket = 1700000000000001, .lease_ms = 3000, .channel = "redlock:me"};

    (void)state;
    acquire.place = &place;
    place.settled = true;
    assert_string_equal(words_of(&acquire, 0, true), "EVAL <ask> 1 lock me 5000 1700000000123456 " EPOCH
                                                     " 1700000000654321 1700000000000001 1 3000 redlock:me");
}

static void waiters_are_looked_at(void **state)
{
    struct rl_lock_command line = plain(RL_COMMAND_LINE);

    (void)state;
    assert_string_equal(words_of(&line, 0, false),
                        "EVALSHA <line> 2 redlock-line:{lock}:line redlock-line:{lock}:waiting 32");
}

static void an_acquire_can_be_followed_by_the_question_which_master_it_was(void **state)
{
    struct rl_lock_command acquire = guarded(RL_COMMAND_ACQUIRE);

    (void)state;
    assert_int_equal(rl_lock_command_replies(&acquire), 1);
    acquire.prove = true;
    assert_int_equal(rl_lock_command_replies(&acquire), 2);
    assert_string_equal(words_of(&acquire, 0, false), "EVALSHA <ask> 1 lock me 5000 1700000000123456 " EPOCH
                                                      " 1700000000654321  ; INFO replication");
}

static bool same_master(const char *bytes)
{
    return rl_lock_reply_proof(bytes, strlen(bytes), "abc") == RL_PROOF_SAME;
}

static void only_the_master_that_was_greeted_has_voted(void **state)
{
    struct rl_lock_reply reply = {.answer = {.verdict = RL_GRANTED, .fence = 7}};

    (void)state;
    assert_true(same_master(":1700000000123456\r\n$19\r\nmaster_replid:abc\r\n\r\n"));
    assert_false(same_master(":1700000000123456\r\n$20\r\nmaster_replid:abcd\r\n\r\n"));
    assert_false(
        same_master(":1700000000123456\r\n$41\r\nmaster_replid:def\r\nmaster_replid2:abc\r\n\r\n\r\n"));
    assert_false(same_master(":1700000000123456\r\n-NOPERM no\r\n"));
    assert_false(same_master(":1700000000123456\r\n"));
    rl_lock_reply_refuse(&reply);
    assert_int_equal(reply.answer.verdict, RL_INELIGIBLE);
    assert_int_equal(reply.answer.cause, RL_CAUSE_EPOCH);
    assert_int_equal(reply.answer.fence, 0);
}

/* ---- reading ------------------------------------------------------------------------------------------- */

struct expected {
    int kind; /* enum rl_command_kind, or PLAIN */
    const char *bytes;
    enum rl_reading reading;
    enum rl_verdict verdict;
    enum rl_cause cause;
    uint64_t fence;
    int64_t ttl_left_ms;
    int64_t node_us;
    const char *owner; /* NULL none */
};

#define ACQ RL_COMMAND_ACQUIRE
#define PLAIN 99  /* an acquire in plain mode */
#define NOBODY 97 /* a peek of no lock */
#define EXT RL_COMMAND_EXTEND
#define REL RL_COMMAND_RELEASE
#define RAI RL_COMMAND_RAISE
#define PEEK RL_COMMAND_PEEK
#define WATCH RL_COMMAND_WATCH
#define LINE RL_COMMAND_LINE
#define SEARCH RL_COMMAND_SEARCH
#define ANSWER RL_READING_ANSWER

/* The proposal is 77, but for plain acquires. */
static const struct expected replies[] = {
    /* plain acquire */
    {PLAIN, "+OK\r\n", ANSWER, RL_GRANTED, RL_CAUSE_NONE, 0, -2, 0, NULL},
    {PLAIN, "$-1\r\n", ANSWER, RL_DENIED, RL_CAUSE_NONE, 0, -2, 0, NULL},
    {PLAIN, "_\r\n", ANSWER, RL_DENIED, RL_CAUSE_NONE, 0, -2, 0, NULL},
    {PLAIN, "-READONLY no\r\n", ANSWER, RL_INELIGIBLE, RL_CAUSE_REPLICA, 0, -2, 0, NULL},
    {PLAIN, "-WRONGTYPE no\r\n", ANSWER, RL_DENIED, RL_CAUSE_FOREIGN_TYPE, 0, -2, 0, NULL},
    {PLAIN, "-NOSCRIPT no\r\n", RL_READING_NO_SCRIPT, RL_FAILED, RL_CAUSE_ERROR, 0, -2, 0, NULL},
    {PLAIN, "+QUEUED\r\n", ANSWER, RL_FAILED, RL_CAUSE_PROTOCOL, 0, -2, 0, NULL},
    {PLAIN, ":1700\r\n", ANSWER, RL_FAILED, RL_CAUSE_PROTOCOL, 0, -2, 0, NULL},
    /* guarded acquire */
    {ACQ, "+OK\r\n", ANSWER, RL_FAILED, RL_CAUSE_PROTOCOL, 0, -2, 0, NULL},
    {ACQ, "$-1\r\n", ANSWER, RL_FAILED, RL_CAUSE_PROTOCOL, 0, -2, 0, NULL},
    {ACQ, "*3\r\n:1\r\n:1700\r\n:0\r\n", ANSWER, RL_FAILED, RL_CAUSE_PROTOCOL, 0, -2, 1700, NULL},
    {ACQ, ":1700\r\n", ANSWER, RL_GRANTED, RL_CAUSE_NONE, 77, -2, 1700, NULL},
    {ACQ, "*3\r\n:1\r\n:1700\r\n:99\r\n", ANSWER, RL_GRANTED, RL_CAUSE_NONE, 99, -2, 1700, NULL},
    {ACQ, "*5\r\n:0\r\n:1700\r\n:99\r\n:4200\r\n$3\r\nyou\r\n", ANSWER, RL_DENIED, RL_CAUSE_NONE, 99, 4200,
     1700, "you"},
    {ACQ, "*5\r\n:0\r\n:1700\r\n:99\r\n:-1\r\n$0\r\n\r\n", ANSWER, RL_DENIED, RL_CAUSE_NONE, 99, -1, 1700,
     ""},
    /* a key that outlives everybody: what is added to its time does not overflow */
    {ACQ, "*5\r\n:0\r\n:1700\r\n:99\r\n:9223372036854775807\r\n$3\r\nyou\r\n", ANSWER, RL_DENIED,
     RL_CAUSE_NONE, 99, RL_TTL_LEFT_MAX_MS, 1700, "you"},
    {ACQ, "*5\r\n:0\r\n:1700\r\n:99\r\n:-3\r\n$3\r\nyou\r\n", ANSWER, RL_FAILED, RL_CAUSE_PROTOCOL, 0, -2,
     1700, NULL},
    {PEEK, "$3\r\nyou\r\n:9223372036854775807\r\n", ANSWER, RL_DENIED, RL_CAUSE_NONE, 0, RL_TTL_LEFT_MAX_MS,
     0, "you"},
    /* a fence that has a next one, and those that have none */
    {ACQ, "*3\r\n:1\r\n:1700\r\n:9007199254740990\r\n", ANSWER, RL_GRANTED, RL_CAUSE_NONE, RL_FENCE_MAX, -2,
     1700, NULL},
    {ACQ, "*3\r\n:1\r\n:1700\r\n:9007199254740991\r\n", ANSWER, RL_FAILED, RL_CAUSE_PROTOCOL, 0, -2, 1700,
     NULL},
    {ACQ, "*5\r\n:0\r\n:1700\r\n:9007199254740991\r\n:4200\r\n$3\r\nyou\r\n", ANSWER, RL_FAILED,
     RL_CAUSE_PROTOCOL, 0, -2, 1700, NULL},
    {ACQ, "*5\r\n:0\r\n:1700\r\n:-1\r\n:4200\r\n$3\r\nyou\r\n", ANSWER, RL_FAILED, RL_CAUSE_PROTOCOL, 0, -2,
     1700, NULL},
    /* times that no clock shows before 2255 */
    {ACQ, ":9007199254740991\r\n", ANSWER, RL_FAILED, RL_CAUSE_PROTOCOL, 0, -2, 0, NULL},
    {ACQ, "*2\r\n:-4\r\n:-9223372036854775808\r\n", ANSWER, RL_FAILED, RL_CAUSE_PROTOCOL, 0, -2, 0, NULL},
    {ACQ, "*3\r\n:1\r\n:9223372036854775807\r\n:99\r\n", ANSWER, RL_FAILED, RL_CAUSE_PROTOCOL, 0, -2, 0,
     NULL},
    {EXT, ":9007199254740991\r\n", ANSWER, RL_FAILED, RL_CAUSE_PROTOCOL, 0, -2, 0, NULL},
    {ACQ, "*2\r\n:-3\r\n:1700\r\n", ANSWER, RL_INELIGIBLE, RL_CAUSE_EPOCH, 0, -2, 1700, NULL},
    {ACQ, "*2\r\n:-4\r\n:1700\r\n", ANSWER, RL_FAILED, RL_CAUSE_LATE, 0, -2, 1700, NULL},
    {ACQ, ":0\r\n", ANSWER, RL_FAILED, RL_CAUSE_PROTOCOL, 0, -2, 0, NULL},
    {ACQ, ":-3\r\n", ANSWER, RL_FAILED, RL_CAUSE_PROTOCOL, 0, -2, 0, NULL},
    {ACQ, "*0\r\n", ANSWER, RL_FAILED, RL_CAUSE_PROTOCOL, 0, -2, 0, NULL},
    {ACQ, "*1\r\n:1\r\n", ANSWER, RL_FAILED, RL_CAUSE_PROTOCOL, 0, -2, 0, NULL},
    {ACQ, "%1\r\n:1\r\n:2\r\n", ANSWER, RL_FAILED, RL_CAUSE_PROTOCOL, 0, -2, 0, NULL},
    /* of one in line */
    {ACQ, "*8\r\n:0\r\n:1700\r\n:99\r\n:4200\r\n$3\r\nyou\r\n:2\r\n:1699\r\n:1698\r\n", ANSWER, RL_DENIED,
     RL_CAUSE_NONE, 99, 4200, 1700, "you"},
    {ACQ, "*8\r\n:0\r\n:1700\r\n:99\r\n:4200\r\n$3\r\nyou\r\n:0\r\n:1699\r\n:0\r\n", ANSWER, RL_FAILED,
     RL_CAUSE_PROTOCOL, 0, -2, 1700, NULL},
    {ACQ, "*8\r\n:0\r\n:1700\r\n:99\r\n:4200\r\n$3\r\nyou\r\n:2\r\n:9007199254740991\r\n:0\r\n", ANSWER,
     RL_FAILED, RL_CAUSE_PROTOCOL, 0, -2, 1700, NULL},
    {ACQ, "*8\r\n:0\r\n:1700\r\n:99\r\n:4200\r\n$3\r\nyou\r\n:2\r\n:0\r\n:0\r\n", ANSWER, RL_FAILED,
     RL_CAUSE_PROTOCOL, 0, -2, 1700, NULL},
    {ACQ, "*8\r\n:0\r\n:1700\r\n:99\r\n:4200\r\n$3\r\nyou\r\n:2\r\n$1\r\n9\r\n:0\r\n", ANSWER, RL_FAILED,
     RL_CAUSE_PROTOCOL, 0, -2, 1700, NULL},
    {ACQ, "*6\r\n:0\r\n:1700\r\n:99\r\n:4200\r\n$3\r\nyou\r\n:2\r\n", ANSWER, RL_FAILED, RL_CAUSE_PROTOCOL, 0,
     -2, 1700, NULL},
    /* those who wait */
    {LINE, "*5\r\n:1700\r\n:1\r\n*2\r\n:9\r\n$1\r\nx\r\n:0\r\n*0\r\n", ANSWER, RL_GRANTED, RL_CAUSE_NONE, 0,
     -2, 1700, NULL},
    {LINE, ":1\r\n", ANSWER, RL_FAILED, RL_CAUSE_PROTOCOL, 0, -2, 0, NULL},
    {LINE, "-NOPERM no\r\n", ANSWER, RL_FAILED, RL_CAUSE_RIGHTS, 0, -2, 0, NULL},
    /* is anything held */
    {SEARCH, "*3\r\n:1\r\n:1700\r\n:99\r\n", ANSWER, RL_GRANTED, RL_CAUSE_NONE, 99, -2, 1700, NULL},
    {SEARCH, "*6\r\n:0\r\n:1700\r\n:99\r\n:4200\r\n$3\r\nyou\r\n$1\r\nx\r\n", ANSWER, RL_DENIED,
     RL_CAUSE_NONE, 99, 4200, 1700, "you"},
    {SEARCH, "*3\r\n:0\r\n:1700\r\n:99\r\n", ANSWER, RL_FAILED, RL_CAUSE_PROTOCOL, 0, -2, 0, NULL},
    {SEARCH, "*3\r\n:1\r\n:0\r\n:99\r\n", ANSWER, RL_FAILED, RL_CAUSE_PROTOCOL, 0, -2, 0, NULL},
    {SEARCH, "*5\r\n:0\r\n:1700\r\n:99\r\n:4200\r\n$3\r\nyou\r\n", ANSWER, RL_FAILED, RL_CAUSE_PROTOCOL, 0,
     -2, 0, NULL},
    {SEARCH, ":1\r\n", ANSWER, RL_FAILED, RL_CAUSE_PROTOCOL, 0, -2, 0, NULL},
    /* raise, extend and release */
    {RAI, ":1700\r\n", ANSWER, RL_GRANTED, RL_CAUSE_NONE, 0, -2, 1700, NULL},
    {RAI, ":0\r\n", ANSWER, RL_DENIED, RL_CAUSE_NONE, 0, -2, 0, NULL},
    {RAI, ":-3\r\n", ANSWER, RL_INELIGIBLE, RL_CAUSE_EPOCH, 0, -2, 0, NULL},
    {EXT, ":1700\r\n", ANSWER, RL_GRANTED, RL_CAUSE_NONE, 0, -2, 1700, NULL},
    {EXT, ":1\r\n", ANSWER, RL_GRANTED, RL_CAUSE_NONE, 0, -2, 0, NULL},
    {EXT, ":0\r\n", ANSWER, RL_DENIED, RL_CAUSE_NONE, 0, -2, 0, NULL},
    {EXT, ":-1\r\n", ANSWER, RL_DENIED, RL_CAUSE_NONE, 0, -2, 0, NULL},
    {EXT, ":-4\r\n", ANSWER, RL_FAILED, RL_CAUSE_LATE, 0, -2, 0, NULL},
    {EXT, ":-2\r\n", ANSWER, RL_DENIED, RL_CAUSE_NONE, 0, -2, 0, NULL},
    {EXT, ":-5\r\n", ANSWER, RL_DENIED, RL_CAUSE_BROKEN, 0, -2, 0, NULL},
    {EXT, ":-6\r\n", ANSWER, RL_FAILED, RL_CAUSE_PROTOCOL, 0, -2, 0, NULL},
    {EXT, "+OK\r\n", ANSWER, RL_FAILED, RL_CAUSE_PROTOCOL, 0, -2, 0, NULL},
    {EXT, "-NOSCRIPT no\r\n", RL_READING_NO_SCRIPT, RL_FAILED, RL_CAUSE_ERROR, 0, -2, 0, NULL},
    {EXT, "-ERR unknown command 'X'\r\n", ANSWER, RL_FAILED, RL_CAUSE_ERROR, 0, -2, 0, NULL},
    {REL, ":1\r\n", ANSWER, RL_GRANTED, RL_CAUSE_NONE, 0, -2, 0, NULL},
    {REL, ":0\r\n", ANSWER, RL_DENIED, RL_CAUSE_NONE, 0, -2, 0, NULL},
    {REL, ":-1\r\n", ANSWER, RL_DENIED, RL_CAUSE_NONE, 0, -2, 0, NULL},
    {REL, ":-5\r\n", ANSWER, RL_DENIED, RL_CAUSE_BROKEN, 0, -2, 0, NULL},
    {REL, "-ERR unknown command 'DELEX'\r\n", RL_READING_NO_COMMAND, RL_FAILED, RL_CAUSE_ERROR, 0, -2, 0,
     NULL},
    {REL, "-NOPERM this user may not\r\n", RL_READING_NO_COMMAND, RL_FAILED, RL_CAUSE_RIGHTS, 0, -2, 0, NULL},
    {REL, "|1\r\n+ttl\r\n:9\r\n:1\r\n", ANSWER, RL_GRANTED, RL_CAUSE_NONE, 0, -2, 0, NULL},
    /* who holds it */
    {PEEK, "$0\r\n\r\n:-2\r\n", ANSWER, RL_GRANTED, RL_CAUSE_NONE, 0, -2, 0, NULL},
    {PEEK, "$3\r\nyou\r\n:4200\r\n", ANSWER, RL_DENIED, RL_CAUSE_NONE, 0, 4200, 0, "you"},
    {PEEK, "$10\r\nbroken|you\r\n:4200\r\n", ANSWER, RL_DENIED, RL_CAUSE_NONE, 0, 4200, 0, "you"},
    {PEEK, "$0\r\n\r\n:-1\r\n", ANSWER, RL_DENIED, RL_CAUSE_NONE, 0, -1, 0, ""},
    {PEEK, "-WRONGTYPE no\r\n:-1\r\n", ANSWER, RL_DENIED, RL_CAUSE_FOREIGN_TYPE, 0, -1, 0, NULL},
    {PEEK, "-NOPERM no\r\n-NOPERM no\r\n", ANSWER, RL_FAILED, RL_CAUSE_RIGHTS, 0, -2, 0, NULL},
    {PEEK, "$3\r\nyou\r\n:-3\r\n", ANSWER, RL_FAILED, RL_CAUSE_PROTOCOL, 0, -2, 0, NULL},
    {PEEK, "$3\r\nyou\r\n+x\r\n", ANSWER, RL_FAILED, RL_CAUSE_PROTOCOL, 0, -2, 0, NULL},
    {PEEK, ":0\r\n:5\r\n", ANSWER, RL_FAILED, RL_CAUSE_PROTOCOL, 0, -2, 0, NULL},
    {PEEK, ":1001\r\n:5\r\n", ANSWER, RL_FAILED, RL_CAUSE_PROTOCOL, 0, -2, 0, NULL},
    /* a semaphore of four slots */
    {PEEK, ":4\r\n:5\r\n", ANSWER, RL_DENIED, RL_CAUSE_NONE, 0, 5, 0, "foreign"},
    /* whether it could store a lock */
    {NOBODY, "-ERR syntax error\r\n:-2\r\n", ANSWER, RL_GRANTED, RL_CAUSE_NONE, 0, -2, 0, NULL},
    {NOBODY, "-ERR syntax error\r\n:4200\r\n", ANSWER, RL_GRANTED, RL_CAUSE_NONE, 0, -2, 0, NULL},
    {NOBODY, "-OOM command not allowed\r\n:-2\r\n", ANSWER, RL_GRANTED, RL_CAUSE_MEMORY, 0, -2, 0, NULL},
    {NOBODY, "-MISCONF no disk\r\n:-2\r\n", ANSWER, RL_GRANTED, RL_CAUSE_DISK, 0, -2, 0, NULL},
    {NOBODY, "-NOREPLICAS Not enough\r\n:-2\r\n", ANSWER, RL_GRANTED, RL_CAUSE_DISK, 0, -2, 0, NULL},
    {NOBODY, "-NOPERM no\r\n:-2\r\n", ANSWER, RL_FAILED, RL_CAUSE_RIGHTS, 0, -2, 0, NULL},
    {NOBODY, "-ERR syntax error\r\n+x\r\n", ANSWER, RL_FAILED, RL_CAUSE_PROTOCOL, 0, -2, 0, NULL},
    /* who holds it, and to be told */
    {WATCH, "$0\r\n\r\n+OK\r\n:-2\r\n", ANSWER, RL_GRANTED, RL_CAUSE_NONE, 0, -2, 0, NULL},
    {WATCH, "$3\r\nyou\r\n+OK\r\n:4200\r\n", ANSWER, RL_DENIED, RL_CAUSE_NONE, 0, 4200, 0, "you"},
    {WATCH, "$3\r\nyou\r\n-ERR not tracking\r\n:4200\r\n", ANSWER, RL_DENIED, RL_CAUSE_NONE, 0, 4200, 0,
     "you"},
    {WATCH, "-WRONGTYPE no\r\n+OK\r\n:-1\r\n", ANSWER, RL_DENIED, RL_CAUSE_FOREIGN_TYPE, 0, -1, 0, NULL},
    {WATCH, "-NOPERM no\r\n+OK\r\n-NOPERM no\r\n", ANSWER, RL_FAILED, RL_CAUSE_RIGHTS, 0, -2, 0, NULL},
    {WATCH, "$3\r\nyou\r\n+OK\r\n:-3\r\n", ANSWER, RL_FAILED, RL_CAUSE_PROTOCOL, 0, -2, 0, NULL},
    {WATCH, "$3\r\nyou\r\n:4200\r\n", ANSWER, RL_FAILED, RL_CAUSE_PROTOCOL, 0, -2, 0, NULL},
};

/* As much of a command as its reply is read by. */
static struct rl_lock_command asked(int kind)
{
    return (struct rl_lock_command){.kind = kind == PLAIN    ? RL_COMMAND_ACQUIRE
                                            : kind == NOBODY ? RL_COMMAND_PEEK
                                                             : (enum rl_command_kind)kind,
                                    .nameless = kind == NOBODY,
                                    .lock_kind = kind == PLAIN ? &rl_kind_exclusive : &rl_kind_line,
                                    .epoch = kind == PLAIN ? NULL : EPOCH,
                                    .fence = 77};
}

static bool is_as_expected(const struct expected *expected)
{
    struct rl_lock_reply reply;
    struct rl_lock_command command = asked(expected->kind);
    enum rl_reading reading = rl_lock_reply_read(&command, expected->bytes, strlen(expected->bytes), &reply);
    bool same_owner =
        (reply.owner != NULL) == (expected->owner != NULL) &&
        (reply.owner == NULL || (reply.owner_length == strlen(expected->owner) &&
                                 memcmp(reply.owner, expected->owner, reply.owner_length) == 0));
    bool explained = reply.answer.cause == RL_CAUSE_NONE || reply.error_length > 0;

    return reading == expected->reading && reply.answer.verdict == expected->verdict &&
           reply.answer.cause == expected->cause && reply.answer.fence == expected->fence &&
           reply.answer.ttl_left_ms == expected->ttl_left_ms && reply.node_us == expected->node_us &&
           same_owner && explained;
}

static void every_reply_has_its_meaning(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof replies / sizeof replies[0]; i++)
        if (!is_as_expected(&replies[i]))
            fail_msg("kind %d: %s", replies[i].kind, replies[i].bytes);
}

static struct rl_answer watched(const char *bytes)
{
    struct rl_lock_command command = asked(RL_COMMAND_WATCH);
    struct rl_lock_reply reply;

    rl_lock_reply_read(&command, bytes, strlen(bytes), &reply);
    return reply.answer;
}

static void a_node_is_armed_when_it_said_so_and_not_else(void **state)
{
    (void)state;
    assert_true(watched("$3\r\nyou\r\n+OK\r\n:4200\r\n").armed);
    assert_true(watched("-WRONGTYPE no\r\n+OK\r\n:-1\r\n").armed);
    assert_false(watched("$3\r\nyou\r\n-ERR not tracking\r\n:4200\r\n").armed);
    assert_false(watched("-WRONGTYPE no\r\n-NOPERM no\r\n:-1\r\n").armed);
    assert_false(watched("$3\r\nyou\r\n:1\r\n:4200\r\n").armed);
}

/* Other readers are not in a reader's way; to everybody else nothing at all is no answer. */
static void a_node_that_only_readers_have_is_free_to_a_reader(void **state)
{
    struct rl_lock_command look = {.kind = RL_COMMAND_PEEK, .lock_kind = &rl_kind_redisson_shared};
    struct rl_lock_reply reply;

    (void)state;
    rl_lock_reply_read(&look, "$-1\r\n:4200\r\n", 12, &reply);
    assert_int_equal(reply.answer.verdict, RL_GRANTED);
    rl_lock_reply_read(&look, "$3\r\nyou\r\n:4200\r\n", 16, &reply);
    assert_int_equal(reply.answer.verdict, RL_DENIED);
    look.lock_kind = &rl_kind_redisson;
    rl_lock_reply_read(&look, "$-1\r\n:4200\r\n", 12, &reply);
    assert_int_equal(reply.answer.cause, RL_CAUSE_PROTOCOL);
}

static struct rl_answer voted_on_slots(const char *bytes)
{
    struct rl_lock_command command = asked(ACQ);
    struct rl_lock_reply reply;

    command.lock_kind = &rl_kind_slots;
    command.slots = 2;
    rl_lock_reply_read(&command, bytes, strlen(bytes), &reply);
    return reply.answer;
}

static void a_vote_for_a_slot_that_is_not_there_is_none(void **state)
{
    (void)state;
    assert_int_equal(voted_on_slots("*4\r\n:1\r\n:5\r\n:7\r\n:2\r\n").verdict, RL_GRANTED);
    assert_int_equal(voted_on_slots("*4\r\n:1\r\n:5\r\n:7\r\n:3\r\n").cause, RL_CAUSE_PROTOCOL);
    assert_int_equal(voted_on_slots("*4\r\n:1\r\n:5\r\n:7\r\n:0\r\n").cause, RL_CAUSE_PROTOCOL);
    assert_int_equal(voted_on_slots("*4\r\n:1\r\n:5\r\n:7\r\n$1\r\n1\r\n").cause, RL_CAUSE_PROTOCOL);
    assert_int_equal(voted_on_slots("*3\r\n:1\r\n:5\r\n:7\r\n").cause, RL_CAUSE_PROTOCOL);
    assert_int_equal(voted_on_slots(":1700000000000000\r\n").cause, RL_CAUSE_PROTOCOL);
}

static void holders_are_told_apart_by_their_owner_values(void **state)
{
    uint64_t you = watched("$3\r\nyou\r\n+OK\r\n:4200\r\n").holder;

    (void)state;
    assert_true(you != 0);
    assert_true(watched("$3\r\nyou\r\n+OK\r\n:9\r\n").holder == you);
    assert_true(watched("$3\r\nyov\r\n+OK\r\n:4200\r\n").holder != you);
    assert_true(watched("$0\r\n\r\n+OK\r\n:-2\r\n").holder == 0);
}

static void a_denial_in_line_tells_the_place_and_the_tickets(void **state)
{
    static const char held[] = "*8\r\n:0\r\n:1700\r\n:99\r\n:4200\r\n$3\r\nyou\r\n:2\r\n:1699\r\n:1698\r\n";
    static const char ordinary[] = "*5\r\n:0\r\n:1700\r\n:99\r\n:4200\r\n$3\r\nyou\r\n";
    struct rl_lock_command command = asked(ACQ);
    struct rl_lock_reply reply;

    (void)state;
    rl_lock_reply_read(&command, held, sizeof held - 1, &reply);
    assert_int_equal(reply.answer.verdict, RL_DENIED);
    assert_int_equal(reply.answer.rank, 2);
    assert_int_equal(reply.answer.ticket, 1699);
    assert_int_equal(reply.answer.holder_ticket, 1698);
    rl_lock_reply_read(&command, ordinary, sizeof ordinary - 1, &reply);
    assert_int_equal(reply.answer.verdict, RL_DENIED);
    assert_int_equal(reply.answer.rank, 0);
    assert_int_equal(reply.answer.ticket, 0);
}

/* Whatever it reads, a verdict says so and every pointer is inside the reply or static words. */
static void check_reply(const char *bytes, size_t length, enum rl_command_kind kind)
{
    struct rl_lock_command command = asked(kind);
    struct rl_lock_reply reply;
    enum rl_reading reading;

    reading = rl_lock_reply_read(&command, bytes, length, &reply);
    assert_in_range(reading, RL_READING_ANSWER, RL_READING_NO_COMMAND);
    assert_in_range(reply.answer.verdict, RL_GRANTED, RL_FAILED);
    assert_in_range(reply.answer.cause, RL_CAUSE_NONE, RL_CAUSE_BROKEN);
    if (reply.owner != NULL && reply.owner != rl_foreign_owner)
        assert_true(reply.owner >= bytes && reply.owner + reply.owner_length <= bytes + length);
}

static void changed_replies_are_read_without_harm(void **state)
{
    static const char alphabet[] = "\r\n*:$-+_,#%|>~!=(0123456789abc\xff";
    struct rl_prng prng = rl_prng_seed(9);

    (void)state;
    for (int i = 0; i < 300000; i++) {
        const struct expected *good =
            &replies[rl_prng_between(&prng, 0, sizeof replies / sizeof replies[0] - 1)];
        size_t length = strlen(good->bytes);
        char *bytes = test_malloc(length);

        memcpy(bytes, good->bytes, length);
        for (int64_t changes = rl_prng_between(&prng, 0, 4); changes > 0; changes--)
            bytes[rl_prng_between(&prng, 0, (int64_t)length - 1)] =
                alphabet[rl_prng_between(&prng, 0, sizeof alphabet - 2)];
        if (i % 3 == 0)
            length = (size_t)rl_prng_between(&prng, 0, (int64_t)length);
        check_reply(bytes, length, (enum rl_command_kind)rl_prng_between(&prng, ACQ, LINE));
        test_free(bytes);
    }
}

static void random_bytes_are_read_without_harm(void **state)
{
    struct rl_prng prng = rl_prng_seed(10);

    (void)state;
    for (int i = 0; i < 200000; i++) {
        size_t length = (size_t)rl_prng_between(&prng, 0, 40);
        char *bytes = test_malloc(length + 1);

        for (size_t k = 0; k < length; k++)
            bytes[k] = (char)rl_prng_between(&prng, 0, 255);
        check_reply(bytes, length, (enum rl_command_kind)rl_prng_between(&prng, ACQ, LINE));
        test_free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_commands_are_what_every_client_sends),
        cmocka_unit_test(what_is_watched_is_the_last_thing_asked),
        cmocka_unit_test(redissons_format_has_scripts_and_names_of_its_own),
        cmocka_unit_test(a_node_that_only_readers_have_is_free_to_a_reader),
        cmocka_unit_test(native_releases_are_used_where_a_node_has_them),
        cmocka_unit_test(guarded_commands_carry_fence_epoch_and_not_after),
        cmocka_unit_test(a_caller_in_line_says_where_it_stands),
        cmocka_unit_test(waiters_are_looked_at),
        cmocka_unit_test(an_acquire_can_be_followed_by_the_question_which_master_it_was),
        cmocka_unit_test(only_the_master_that_was_greeted_has_voted),
        cmocka_unit_test(every_reply_has_its_meaning),
        cmocka_unit_test(a_node_is_armed_when_it_said_so_and_not_else),
        cmocka_unit_test(a_vote_for_a_slot_that_is_not_there_is_none),
        cmocka_unit_test(holders_are_told_apart_by_their_owner_values),
        cmocka_unit_test(a_denial_in_line_tells_the_place_and_the_tickets),
        cmocka_unit_test(changed_replies_are_read_without_harm),
        cmocka_unit_test(random_bytes_are_read_without_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
