/*
 * Tests of wire/handshake: the greeting with new, old and refusing nodes, told as dialogues, and what INFO
 * says about a node's fitness to hold locks.
 */
#include "wire/handshake.h"

#include <stdio.h>
#include <string.h>

#include "base/prng.h"
#include "support/check.h"
#include "wire/lock_command.h"
#include "wire/resp_reader.h"

#define HELLO_7 "%3\r\n+server\r\n+redis\r\n+version\r\n+7.0.15\r\n+proto\r\n:3\r\n"
#define RUN "0123456789abcdef0123456789abcdef01234567"

/* ---- dialogues ----------------------------------------------------------------------------------------- */

static const char *said(const struct rl_handshake *handshake)
{
    static char text[1024];
    char bytes[1024];
    struct rl_writer writer = rl_writer_on(bytes, sizeof bytes);
    size_t offset = 0, used = 0;
    struct rl_resp item;

    rl_handshake_write(handshake, &writer);
    assert_false(writer.overflow);
    while (offset < writer.length) {
        assert_int_equal(rl_resp_next(bytes, writer.length, &offset, &item), RL_RESP_OK);
        if (item.type == RL_RESP_STRING)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%.*s", used > 0 ? " " : "",
                                     (int)item.text_length, item.text);
    }
    return text;
}

/* Expects the command, and gives this answer to it. */
static void exchange(struct rl_handshake *handshake, const char *command, const char *answer)
{
    assert_string_equal(said(handshake), command);
    rl_handshake_read(handshake, answer, strlen(answer));
}

static struct rl_handshake begin(const char *user, const char *password, uint32_t db)
{
    struct rl_greeting greeting = {.user = user, .password = password, .client_name = "redlock", .db = db};
    struct rl_handshake handshake;

    rl_handshake_start(&handshake, &greeting);
    return handshake;
}

static void a_new_node_is_greeted_in_two_commands(void **state)
{
    struct rl_handshake handshake = begin("", NULL, 0);

    (void)state;
    exchange(&handshake, "HELLO 3 SETNAME redlock", HELLO_7);
    exchange(&handshake, "INFO", "$0\r\n\r\n");
    assert_int_equal(handshake.step, RL_HANDSHAKE_READY);
    assert_true(handshake.info.resp3);
    assert_int_equal(handshake.info.version, 70015);
    assert_string_equal(handshake.info.run_id, "");
}

static void credentials_and_a_database_are_said_on_the_way(void **state)
{
    struct rl_handshake handshake = begin("app", "secret", 2);

    (void)state;
    exchange(&handshake, "HELLO 3 AUTH app secret SETNAME redlock", HELLO_7);
    exchange(&handshake, "SELECT 2", "+OK\r\n");
    exchange(&handshake, "INFO", "$0\r\n\r\n");
    assert_int_equal(handshake.step, RL_HANDSHAKE_READY);
}

static void a_password_alone_is_the_default_users(void **state)
{
    struct rl_handshake handshake = begin("", "secret", 0);

    (void)state;
    assert_string_equal(said(&handshake), "HELLO 3 AUTH default secret SETNAME redlock");
}

static void a_node_that_does_not_know_hello_is_spoken_to_in_the_old_way(void **state)
{
    static const char *const unknown[] = {"-ERR unknown command `HELLO`\r\n",
                                          "-NOPROTO unsupported protocol version\r\n", "-NOPERM no\r\n",
                                          "-ERR Syntax error in HELLO option\r\n"};

    (void)state;
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        struct rl_handshake handshake = begin("", "secret", 1);

        exchange(&handshake, "HELLO 3 AUTH default secret SETNAME redlock", unknown[i]);
        exchange(&handshake, "AUTH secret", "+OK\r\n");
        exchange(&handshake, "CLIENT SETNAME redlock", "+OK\r\n");
        exchange(&handshake, "SELECT 1", "+OK\r\n");
        exchange(&handshake, "INFO", "$0\r\n\r\n");
        assert_int_equal(handshake.step, RL_HANDSHAKE_READY);
        assert_false(handshake.info.resp3);
    }
}

static void a_name_is_a_courtesy(void **state)
{
    static const char *const refusals[] = {"-ERR unknown subcommand\r\n", "-NOPERM no\r\n"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct rl_handshake handshake = begin("", NULL, 0);

        exchange(&handshake, "HELLO 3 SETNAME redlock", "-ERR unknown command 'HELLO'\r\n");
        exchange(&handshake, "CLIENT SETNAME redlock", refusals[i]);
        assert_string_equal(said(&handshake), "INFO");
    }
}

static void a_wrong_password_ends_the_greeting_with_its_words(void **state)
{
    struct rl_handshake handshake = begin("app", "wrong", 0);

    (void)state;
    exchange(&handshake, "HELLO 3 AUTH app wrong SETNAME redlock", "-WRONGPASS invalid pair\r\n");
    assert_int_equal(handshake.step, RL_HANDSHAKE_FAILED);
    assert_int_equal(handshake.cause, RL_CAUSE_CREDENTIALS);
    assert_string_equal(handshake.error, "WRONGPASS invalid pair");
}

static void each_refusal_has_its_cause(void **state)
{
    struct rl_handshake handshake = begin("", NULL, 0);

    (void)state;
    exchange(&handshake, "HELLO 3 SETNAME redlock", "-NOAUTH HELLO must be called with\r\n");
    assert_int_equal(handshake.cause, RL_CAUSE_CREDENTIALS);
    handshake = begin("", NULL, 0);
    exchange(&handshake, "HELLO 3 SETNAME redlock", "-LOADING Redis is loading\r\n");
    assert_int_equal(handshake.cause, RL_CAUSE_LOADING);
    handshake = begin("", NULL, 9999);
    exchange(&handshake, "HELLO 3 SETNAME redlock", HELLO_7);
    exchange(&handshake, "SELECT 9999", "-ERR DB index is out of range\r\n");
    assert_int_equal(handshake.step, RL_HANDSHAKE_FAILED);
    handshake = begin("", "secret", 0);
    exchange(&handshake, "HELLO 3 AUTH default secret SETNAME redlock", "-ERR unknown command\r\n");
    exchange(&handshake, "AUTH secret", "-ERR Client sent AUTH, but no password is set\r\n");
    assert_int_equal(handshake.cause, RL_CAUSE_CREDENTIALS);
}

static void what_is_not_a_node_is_told(void **state)
{
    static const char *const odd[] = {"+OK\r\n", ":7\r\n", "$-1\r\n", "HTTP/1.1 400 Bad Request\r\n", ""};

    (void)state;
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        struct rl_handshake handshake = begin("", NULL, 0);

        exchange(&handshake, "HELLO 3 SETNAME redlock", odd[i]);
        assert_int_equal(handshake.step, RL_HANDSHAKE_FAILED);
        assert_int_equal(handshake.cause, RL_CAUSE_PROTOCOL);
        assert_true(handshake.error[0] != '\0');
    }
}

static void without_the_right_to_info_the_connection_is_ready_but_anonymous(void **state)
{
    struct rl_handshake handshake = begin("", NULL, 0);

    (void)state;
    exchange(&handshake, "HELLO 3 SETNAME redlock", HELLO_7);
    exchange(&handshake, "INFO", "-NOPERM no\r\n");
    assert_int_equal(handshake.step, RL_HANDSHAKE_READY);
    assert_string_equal(handshake.info.run_id, "");
}

/* ---- INFO ---------------------------------------------------------------------------------------------- */

static struct rl_node_info info_of(const char *text)
{
    struct rl_handshake handshake = begin("", NULL, 0);
    char bytes[2048];

    exchange(&handshake, "HELLO 3 SETNAME redlock", HELLO_7);
    snprintf(bytes, sizeof bytes, "$%zu\r\n%s\r\n", strlen(text), text);
    exchange(&handshake, "INFO", bytes);
    assert_int_equal(handshake.step, RL_HANDSHAKE_READY);
    return handshake.info;
}

static void info_identifies_the_node(void **state)
{
    struct rl_node_info info = info_of("# Server\r\nredis_version:7.2.4\r\nrun_id:" RUN
                                       "\r\nuptime_in_seconds:86399\r\n# Replication\r\nrole:master\r\n");

    (void)state;
    assert_string_equal(info.run_id, RUN);
    assert_int_equal(info.version, 70204);
    assert_int_equal(info.up_s, 86399);
    assert_false(info.replica);
    assert_false(info.promoted);
    assert_false(info.evicts);
    assert_true(info_of("role:slave\r\n").replica);
}

static void a_field_is_found_only_at_the_start_of_a_line(void **state)
{
    (void)state;
    assert_string_equal(info_of("xrun_id:" RUN "\r\n").run_id, "");
    assert_string_equal(info_of("run_id:short\r\n").run_id, "");
    assert_string_equal(info_of("run_id:" RUN).run_id, RUN); /* the last line needs no end */
    assert_string_equal(info_of("run_id:" RUN "\n").run_id, RUN);
}

static void only_limited_memory_with_an_evicting_policy_evicts(void **state)
{
    (void)state;
    assert_true(info_of("maxmemory:50000\r\nmaxmemory_policy:allkeys-lru\r\n").evicts);
    assert_true(info_of("maxmemory:50000\r\nmaxmemory_policy:volatile-ttl\r\n").evicts);
    assert_true(info_of("maxmemory:50000\r\nmaxmemory_policy:noevictions\r\n").evicts);
    assert_true(info_of("maxmemory:50000\r\n").evicts);
    assert_false(info_of("maxmemory:50000\r\nmaxmemory_policy:noeviction\r\n").evicts);
    assert_false(info_of("maxmemory:0\r\nmaxmemory_policy:allkeys-lru\r\n").evicts);
    assert_false(info_of("maxmemory_human:9\r\nmaxmemory_policy:allkeys-lru\r\n").evicts);
}

static void a_second_replication_id_tells_a_promoted_replica(void **state)
{
    (void)state;
    assert_false(info_of("master_replid2:0000000000000000000000000000000000000000\r\n").promoted);
    assert_true(info_of("master_replid2:0000000000000000000000000000000000000001\r\n").promoted);
    assert_false(info_of("master_replid:" RUN "\r\n").promoted);
    assert_string_equal(info_of("master_replid:" RUN "\r\n").replid, RUN);
    assert_string_equal(info_of("master_replid2:" RUN "\r\n").replid, "");
    /* The second id is dropped after a while; what came in from a master is still counted. */
    assert_true(info_of("total_net_repl_input_bytes:1\r\n").promoted);
    assert_false(info_of("total_net_repl_input_bytes:0\r\n").promoted);
}

static void native_releases_are_known_by_version(void **state)
{
    (void)state;
    assert_int_equal(info_of("redis_version:8.3.9\r\n").features, 0);
    assert_int_equal(info_of("redis_version:8.4.0\r\n").features, RL_FEATURE_DELEX);
    assert_int_equal(info_of("redis_version:7.2.4\r\nvalkey_version:8.1.0\r\n").features, 0);
    assert_int_equal(info_of("redis_version:7.2.4\r\nvalkey_version:9.0.0\r\n").features, RL_FEATURE_DELIFEQ);
}

static void any_bytes_are_taken_without_harm(void **state)
{
    static const char *const good[] = {HELLO_7, "-ERR unknown command 'HELLO'\r\n", "+OK\r\n",
                                       "$70\r\nrun_id:" RUN "\r\nuptime_in_seconds:7\r\n\r\n"};
    static const char alphabet[] = "\r\n*:$-+_%|>0123456789abc\xff";
    struct rl_prng prng = rl_prng_seed(13);

    (void)state;
    for (int i = 0; i < 100000; i++) {
        struct rl_handshake handshake = begin("", i % 2 == 0 ? "secret" : NULL, i % 3 == 0);

        for (int turn = 0; turn < 8 && handshake.step < RL_HANDSHAKE_READY; turn++) {
            const char *text = good[rl_prng_between(&prng, 0, 3)];
            size_t length = strlen(text);
            char *bytes = test_malloc(length);

            memcpy(bytes, text, length);
            for (int64_t changes = rl_prng_between(&prng, 0, 3); changes > 0; changes--)
                bytes[rl_prng_between(&prng, 0, (int64_t)length - 1)] =
                    alphabet[rl_prng_between(&prng, 0, sizeof alphabet - 2)];
            rl_handshake_read(&handshake, bytes, length);
            test_free(bytes);
        }
        assert_true(handshake.step >= RL_HANDSHAKE_READY); /* no answer sends it round in circles */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_node_is_greeted_in_two_commands),
        cmocka_unit_test(credentials_and_a_database_are_said_on_the_way),
        cmocka_unit_test(a_password_alone_is_the_default_users),
        cmocka_unit_test(a_node_that_does_not_know_hello_is_spoken_to_in_the_old_way),
        cmocka_unit_test(a_name_is_a_courtesy),
        cmocka_unit_test(a_wrong_password_ends_the_greeting_with_its_words),
        cmocka_unit_test(each_refusal_has_its_cause),
        cmocka_unit_test(what_is_not_a_node_is_told),
        cmocka_unit_test(without_the_right_to_info_the_connection_is_ready_but_anonymous),
        cmocka_unit_test(info_identifies_the_node),
        cmocka_unit_test(a_field_is_found_only_at_the_start_of_a_line),
        cmocka_unit_test(only_limited_memory_with_an_evicting_policy_evicts),
        cmocka_unit_test(a_second_replication_id_tells_a_promoted_replica),
        cmocka_unit_test(native_releases_are_known_by_version),
        cmocka_unit_test(any_bytes_are_taken_without_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
