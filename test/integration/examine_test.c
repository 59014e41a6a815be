/*
 * What nodes say of themselves, by redlock_examine() and redlock_client_node_facts(): true on real nodes, in
 * both modes, and never a trace of the asking at the nodes. Owner values carry the TTL, and an inspection the
 * fence.
 */
#include <stdint.h>
#include <string.h>

#include "support/steps.h"

static redlock_node_facts facts_of(redlock_client *client, uint32_t node)
{
    redlock_node_facts facts = REDLOCK_NODE_FACTS_INIT;

    assert_int_equal(redlock_client_node_facts(client, node, &facts), REDLOCK_OK);
    return facts;
}

static void nodes_are_examined_without_a_trace(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_report report = detailed_report();
    int before[REDLOCK_NODES_MAX];

    for (int i = 0; i < fleet_size(fleet); i++)
        before[i] = fleet_key_count(fleet, i);
    assert_int_equal(facts_of(client, 0).examined, 0);
    fleet_command(fleet, 0, "CONFIG", "SET", "maxmemory", "50mb", NULL);
    assert_result(REDLOCK_OK, redlock_examine(client, &report), &report);
    assert_int_equal(report.granted, fleet_size(fleet));
    for (int i = 0; i < fleet_size(fleet); i++) {
        redlock_node_facts facts = facts_of(client, (uint32_t)i);

        assert_int_equal(facts.examined, 1);
        assert_int_equal(facts.role, REDLOCK_ROLE_MASTER);
        assert_true(facts.version[0] >= '0' && facts.version[0] <= '9');
        assert_int_equal(facts.memory_max, i == 0 ? 50 * 1024 * 1024 : 0);
        assert_true(facts.memory_used > 0);
        assert_string_equal(facts.memory_policy, "noeviction");
        assert_int_equal(facts.append_only, 0);
        assert_int_equal(facts.snapshots, 0);
        assert_string_equal(facts.missing_rights, "");
        assert_string_equal(facts.advisable_rights, "");
        assert_string_equal(facts.foreign_keys, "");
        assert_int_equal(facts.certificate_ends_s, 0);
        assert_true(facts.clock_offset_us > -60000000 && facts.clock_offset_us < 60000000);
        assert_int_equal(fleet_key_count(fleet, i), before[i]);
    }
    redlock_client_close(client);
}

static void nodes_that_do_not_answer_have_not_been_examined(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_report report = detailed_report();

    fleet_freeze(fleet, 1);
    assert_result(REDLOCK_OK, redlock_examine(client, &report), &report);
    assert_int_equal(report.granted, fleet_size(fleet) - 1);
    assert_int_equal(facts_of(client, 1).examined, 0);
    assert_true(facts_of(client, 1).version[0] != '\0'); /* it has greeted us before */
    fleet_thaw(fleet, 1);
    fleet_kill(fleet, 0);
    fleet_kill(fleet, 2);
    assert_result(REDLOCK_NO_QUORUM, redlock_examine(client, &report), &report);
    redlock_client_close(client);
}

static void wrong_arguments_are_refused(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_node_facts facts = REDLOCK_NODE_FACTS_INIT;
    redlock_report report = REDLOCK_REPORT_INIT;

    assert_int_equal(redlock_client_node_facts(client, (uint32_t)fleet_size(fleet), &facts), REDLOCK_INVALID);
    assert_int_equal(redlock_client_node_facts(client, 0, NULL), REDLOCK_INVALID);
    assert_int_equal(redlock_client_node_facts(NULL, 0, &facts), REDLOCK_MISUSE);
    facts.size = 3;
    assert_int_equal(redlock_client_node_facts(client, 0, &facts), REDLOCK_INVALID);
    assert_int_equal(redlock_examine(NULL, &report), REDLOCK_MISUSE);
    report.size = 3;
    assert_int_equal(redlock_examine(client, &report), REDLOCK_INVALID);
    assert_int_equal(redlock_examine(client, NULL), REDLOCK_OK);
    redlock_client_close(client);
}

/* A program that was built when there was less to say gets no more than it has room for. */
static void an_older_program_gets_what_it_knows(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_node_facts facts;

    memset(&facts, 0x55, sizeof facts);
    facts.size = offsetof(redlock_node_facts, role);
    assert_int_equal(redlock_client_node_facts(client, 0, &facts), REDLOCK_OK);
    assert_true(facts.version[0] >= '0' && facts.version[0] <= '9');
    assert_int_equal(facts.role, 0x55555555);
    redlock_client_close(client);
}

static void a_lock_tells_its_ttl_and_its_fence(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_lock *lock = take_lock(client, "told", 30000);
    redlock_report report = detailed_report();

    for (int i = 0; i < fleet_size(fleet); i++)
        await(strcmp(fleet_command(fleet, i, "EXISTS", "told", NULL), "1") == 0);
    assert_result(REDLOCK_OK, redlock_inspect(client, "told", 0, &report), &report);
    assert_int_equal(report.holder.ttl_ms, 30000);
    assert_int_equal(report.fence, redlock_lock_fence(lock));
    give_back(lock);
    assert_result(REDLOCK_OK, redlock_inspect(client, "never taken", 0, &report), &report);
    assert_int_equal(report.fence, 0);
    redlock_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_1_3_5_NODES(nodes_are_examined_without_a_trace),
        ON_NODES(nodes_that_do_not_answer_have_not_been_examined, start_three_nodes),
        ON_NODES(wrong_arguments_are_refused, start_three_nodes),
        ON_NODES(an_older_program_gets_what_it_knows, start_one_node),
        ON_NODES(a_lock_tells_its_ttl_and_its_fence, start_three_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
