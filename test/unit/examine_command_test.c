/*
 * The batch of questions about a node itself: as many replies are read as commands are written, rights that
 * are refused are named in the words that would grant them, and no reply upsets it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wire/examine_command.h"
#include "wire/resp_reader.h"

enum { ROOM = 65536, COMMANDS_MAX = 64 };

static const char key[] = "lock:redlock-doctor:00";
static const struct rl_examine_command guarded = {key, sizeof key - 1, 5, true};
static const struct rl_examine_command plain = {key, sizeof key - 1, 5, false};

/* The commands of a batch as text, words with blanks between them. */
struct batch {
    uint32_t count;
    char commands[COMMANDS_MAX][200];
};

static void read_batch(const struct rl_examine_command *command, struct batch *batch)
{
    static char bytes[ROOM];
    struct rl_writer writer = rl_writer_on(bytes, rl_examine_room(command));
    size_t offset = 0;
    struct rl_resp item;

    rl_examine_write(&writer, command);
    assert_false(writer.overflow);
    batch->count = 0;
    while (offset < writer.length) {
        char *text = batch->commands[batch->count++];
        assert_true(batch->count <= COMMANDS_MAX);
        text[0] = '\0';
        assert_int_equal(rl_resp_next(bytes, writer.length, &offset, &item), RL_RESP_OK);
        for (uint32_t i = item.element_count; i > 0; i--) {
            assert_int_equal(rl_resp_next(bytes, writer.length, &offset, &item), RL_RESP_OK);
            snprintf(text + strlen(text), 200 - strlen(text), "%s%.*s", text[0] == '\0' ? "" : " ",
                     (int)item.text_length, item.text);
        }
    }
}

/* What a node answers to one command. */
typedef const char *(*answer_fn)(const char *command);

static void examine(const struct rl_examine_command *command, answer_fn answer, struct rl_node_facts *facts)
{
    static struct batch batch;
    static char replies[ROOM];

    read_batch(command, &batch);
    replies[0] = '\0';
    for (uint32_t i = 0; i < batch.count; i++)
        strcat(replies, answer(batch.commands[i]));
    rl_examine_read(command, replies, strlen(replies), facts);
}

static bool begins(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static const char *healthy(const char *command)
{
    if (begins(command, "INFO"))
        return "$78\r\nused_memory:1000\r\nmaxmemory:5000\r\nmaxmemory_policy:noeviction\r\naof_enabled:1\r\n\r\n";
    if (begins(command, "TIME"))
        return "*2\r\n$10\r\n1700000000\r\n$6\r\n123456\r\n";
    if (begins(command, "CONFIG GET save"))
        return "%1\r\n$4\r\nsave\r\n$7\r\n3600 1 \r\n";
    if (begins(command, "CONFIG GET appendfsync"))
        return "*2\r\n$11\r\nappendfsync\r\n$8\r\neverysec\r\n";
    if (begins(command, "ACL WHOAMI"))
        return "$5\r\nlocks\r\n";
    if (begins(command, "GETRANGE redlock-guard:floor"))
        return "$16\r\n1700000000000000\r\n";
    return "-ERR syntax error\r\n";
}

static const char *restricted(const char *command)
{
    if (begins(command, "CONFIG") || begins(command, "ACL"))
        return "-NOPERM this user has no permissions to run the 'config|get' command\r\n";
    if (begins(command, "PUBLISH"))
        return "-NOPERM No permissions to access a channel\r\n";
    if (begins(command, "ZADD") || begins(command, "EVALSHA") || begins(command, "CLIENT CACHING"))
        return "-NOPERM this user has no permissions to run the 'x' command\r\n";
    if (strstr(command, "redlock-fence:{") != NULL || begins(command, "SET redlock-guard:terms"))
        return "-NOPERM this user has no permissions to access one of the keys used as arguments\r\n";
    if (begins(command, "GETRANGE redlock-guard:epoch"))
        return "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n";
    return healthy(command);
}

static const char *refusing(const char *command)
{
    return strchr(command, ' ') != NULL && strstr(command, "lock") != NULL
               ? "-NOPERM No permissions to access a key\r\n"
               : "-NOPERM User x has no permissions\r\n";
}

static void as_many_replies_are_read_as_commands_are_written(void **state)
{
    struct batch batch;

    (void)state;
    read_batch(&guarded, &batch);
    assert_int_equal(batch.count, rl_examine_replies(&guarded));
    read_batch(&plain, &batch);
    assert_int_equal(batch.count, rl_examine_replies(&plain));
}

/* Rule: whatever is allowed must fail, or do nothing to a key that is not there. */
static void nothing_is_ever_stored(void **state)
{
    struct batch batch;

    (void)state;
    read_batch(&guarded, &batch);
    for (uint32_t i = 0; i < batch.count; i++) {
        const char *one = batch.commands[i];
        if (begins(one, "SET "))
            assert_non_null(strstr(one, " NX XX")); /* which exclude each other */
        if (begins(one, "ZADD ") || begins(one, "PEXPIRE "))
            assert_non_null(strstr(one, " x")); /* no number */
        if (begins(one, "DEL "))
            assert_non_null(strstr(one, key));
    }
}

static void a_healthy_node_is_read(void **state)
{
    struct rl_node_facts facts;

    (void)state;
    examine(&guarded, healthy, &facts);
    assert_true(facts.examined);
    assert_int_equal(facts.node_us, 1700000000123456);
    assert_int_equal(facts.memory_used, 1000);
    assert_int_equal(facts.memory_max, 5000);
    assert_string_equal(facts.policy, "noeviction");
    assert_int_equal(facts.append_only, 1);
    assert_int_equal(facts.snapshots, 1);
    assert_string_equal(facts.fsync, "everysec");
    assert_string_equal(facts.user, "locks");
    assert_int_equal(facts.floor, 1700000000000000);
    assert_string_equal(facts.missing, "");
    assert_string_equal(facts.advisable, "");
    assert_string_equal(facts.foreign_keys, "");
}

static const char *right_for(const char *reply)
{
    return rl_examine_subscribe_right(reply, strlen(reply));
}

static void the_right_to_subscribe_is_named_once(void **state)
{
    struct rl_node_facts facts;

    (void)state;
    assert_null(right_for(">3\r\n$9\r\nsubscribe\r\n$9\r\nredlock:a\r\n:1\r\n"));
    assert_null(right_for("-ERR unknown command 'SUBSCRIBE'\r\n"));
    assert_null(right_for("-NOPERM"));
    assert_string_equal(right_for("-NOPERM User x has no permissions to run the 'subscribe' command\r\n"),
                        "+subscribe");
    examine(&guarded, restricted, &facts);
    rl_examine_advise(&facts, right_for("-NOPERM No permissions to access a channel\r\n"));
    assert_string_equal(facts.advisable, "+client|caching &redlock:*");
    rl_examine_advise(&facts, "+subscribe");
    assert_string_equal(facts.advisable, "+client|caching &redlock:* +subscribe");
}

static void rights_that_are_missing_are_named_as_they_are_granted(void **state)
{
    struct rl_node_facts facts;

    (void)state;
    examine(&guarded, restricted, &facts);
    assert_string_equal(facts.missing, "+evalsha +zadd ~redlock-guard:terms ~redlock-fence:{lock:*");
    assert_string_equal(facts.advisable, "+client|caching &redlock:*");
    assert_string_equal(facts.foreign_keys, "redlock-guard:epoch");
    assert_int_equal(facts.snapshots, -1);
    assert_string_equal(facts.user, "");
    examine(&plain, restricted, &facts);
    assert_string_equal(facts.missing, "+evalsha");
}

static void a_node_that_allows_nothing_lacks_everything(void **state)
{
    struct rl_node_facts facts;

    (void)state;
    examine(&guarded, refusing, &facts);
    assert_true(begins(facts.missing, "+info +eval +evalsha +time "));
    assert_non_null(strstr(
        facts.missing,
        " ~lock:* ~redlock-guard:epoch ~redlock-guard:floor ~redlock-guard:terms ~redlock-guard:checked ~redlock-guard:lines "
        "~redlock-fence:{lock:* ~redlock-fence:lock:* ~redlock-line:{lock:* "
        "~redlock-line::lock:*"));
    assert_int_equal(facts.node_us, 0);
    assert_int_equal(facts.memory_used, -1);
}

/* Whatever comes: less than was asked for, other types, other bytes. */
static void no_reply_upsets_it(void **state)
{
    static struct batch batch;
    static char replies[ROOM], copy[ROOM];
    struct rl_node_facts facts;
    size_t length;

    (void)state;
    read_batch(&guarded, &batch);
    for (uint32_t i = 0; i < batch.count; i++)
        strcat(replies, restricted(batch.commands[i]));
    length = strlen(replies);
    for (size_t cut = 0; cut <= length; cut++)
        rl_examine_read(&guarded, replies, cut, &facts);
    srand(1);
    for (int i = 0; i < 20000; i++) {
        memcpy(copy, replies, length);
        for (int k = 0; k < 3; k++)
            copy[(size_t)rand() % length] = (char)rand();
        rl_examine_read(&guarded, copy, length, &facts);
        assert_true(strlen(facts.missing) < sizeof facts.missing);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_replies_are_read_as_commands_are_written),
        cmocka_unit_test(nothing_is_ever_stored),
        cmocka_unit_test(a_healthy_node_is_read),
        cmocka_unit_test(rights_that_are_missing_are_named_as_they_are_granted),
        cmocka_unit_test(the_right_to_subscribe_is_named_once),
        cmocka_unit_test(a_node_that_allows_nothing_lacks_everything),
        cmocka_unit_test(no_reply_upsets_it),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
