/*
 * The asynchronous twins of adopt, release by owner, inspect and init: what they come to, that each calls
 * back exactly once, on a new client too, and what of them can be cancelled.
 */
#include <pthread.h>
#include <string.h>

#include "support/guarded.h"
#include "support/steps.h"

/* What came of one request. Static in every test, since a failed one leaves its request behind. */
struct outcome {
    atomic_int calls;
    redlock_result result;
    redlock_lock *lock;
    redlock_report report; /* a copy, with its details */
};

static void prepare(struct outcome *outcome)
{
    memset(outcome, 0, sizeof *outcome);
    outcome->report = detailed_report();
}

static void note_done(void *context, redlock_result result, const redlock_report *report)
{
    struct outcome *outcome = context;

    outcome->result = redlock_report_copy(&outcome->report, report) == REDLOCK_OK ? result : REDLOCK_SYSTEM;
    atomic_fetch_add(&outcome->calls, 1);
}

static void note_acquired(void *context, redlock_result result, redlock_lock *lock,
                          const redlock_report *report)
{
    ((struct outcome *)context)->lock = lock;
    note_done(context, result, report);
}

static void assert_outcome(struct outcome *outcome, redlock_result expected, const struct fleet *fleet)
{
    await(atomic_load(&outcome->calls) > 0);
    assert_result(expected, outcome->result, &outcome->report);
    assert_int_equal(atomic_load(&outcome->calls), 1);
    assert_report_is_sound(&outcome->report, expected, fleet);
}

/* A lock that its holder leaves at the nodes, and its owner value. */
static void leave_lock(struct fleet *fleet, const char *name, char owner[REDLOCK_OWNER_MAX + 1])
{
    redlock_client *holder = open_warm_client(fleet_urls(fleet));
    redlock_lock *lock = take_lock(holder, name, LONG_TTL_MS);

    strcpy(owner, redlock_lock_owner(lock, NULL));
    redlock_lock_free(lock);
    redlock_client_close(holder);
}

static void a_lock_is_adopted_by_a_client_that_is_just_connecting(void **state)
{
    static struct outcome outcome;
    struct fleet *fleet = *state;
    char owner[REDLOCK_OWNER_MAX + 1];
    redlock_options options = options_for(fleet_urls(fleet));
    redlock_spec spec = spec_for("handed on", LONG_TTL_MS);
    redlock_client *client = NULL;
    size_t length;

    leave_lock(fleet, "handed on", owner);
    prepare(&outcome);
    assert_result(REDLOCK_OK, redlock_client_open(&options, &client, NULL), NULL);
    assert_result(REDLOCK_OK,
                  redlock_adopt_async(client, &spec, owner, strlen(owner), note_acquired, &outcome, NULL),
                  NULL);
    assert_outcome(&outcome, REDLOCK_OK, fleet);
    assert_non_null(outcome.lock);
    assert_true(redlock_lock_validity_ms(outcome.lock) > 0);
    assert_string_equal(redlock_lock_owner(outcome.lock, &length), owner);
    assert_int_equal(length, strlen(owner));
    give_back(outcome.lock);
    redlock_client_close(client);
}

static void nobody_adopts_what_another_owner_has(void **state)
{
    static struct outcome outcome;
    struct fleet *fleet = *state;
    char owner[REDLOCK_OWNER_MAX + 1];
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_spec spec = spec_for("not ours", LONG_TTL_MS);

    leave_lock(fleet, "not ours", owner);
    prepare(&outcome);
    assert_result(REDLOCK_OK,
                  redlock_adopt_async(client, &spec, "somebody", 0, note_acquired, &outcome, NULL), NULL);
    assert_outcome(&outcome, REDLOCK_NOT_HELD, fleet);
    assert_null(outcome.lock);
    assert_true(outcome.report.not_held >= outcome.report.quorum);
    assert_result(REDLOCK_OK, redlock_release_owner(client, "not ours", 0, owner, 0, NULL), NULL);
    redlock_client_close(client);
}

static void a_lock_is_released_by_its_owner_value(void **state)
{
    static struct outcome wrong, right;
    struct fleet *fleet = *state;
    char owner[REDLOCK_OWNER_MAX + 1];
    redlock_client *client = open_client(fleet_urls(fleet));

    leave_lock(fleet, "by owner", owner);
    prepare(&wrong);
    prepare(&right);
    assert_result(REDLOCK_OK,
                  redlock_release_owner_async(client, "by owner", 0, "somebody", 0, note_done, &wrong, NULL),
                  NULL);
    assert_outcome(&wrong, REDLOCK_NOT_HELD, fleet);
    assert_result(REDLOCK_OK,
                  redlock_release_owner_async(client, "by owner", strlen("by owner"), owner, strlen(owner),
                                              note_done, &right, NULL),
                  NULL);
    assert_outcome(&right, REDLOCK_OK, fleet);
    redlock_client_close(client);
}

/* Owner values of other programs are any bytes. */
static void an_owner_value_may_have_any_bytes(void **state)
{
    static const char value[] = "\0a\xff|b";
    static struct outcome seen, released;
    struct fleet *fleet = *state;
    redlock_client *client = open_client(fleet_urls(fleet));

    for (int i = 0; i < fleet_size(fleet); i++)
        fleet_command_bytes(fleet, i, 5, (const char *[]){"SET", "bytes", value, "PX", "600000"},
                            (const size_t[]){3, 5, sizeof value - 1, 2, 6});
    prepare(&seen);
    prepare(&released);
    assert_result(REDLOCK_OK, redlock_inspect_async(client, "bytes", 0, note_done, &seen, NULL), NULL);
    assert_outcome(&seen, REDLOCK_OK, fleet);
    for (uint32_t i = 0; i < seen.report.node_count; i++) {
        assert_int_equal(node_of(&seen.report, i).verdict, REDLOCK_VERDICT_HELD);
        assert_int_equal(node_of(&seen.report, i).owner_length, sizeof value - 1);
        assert_memory_equal(node_of(&seen.report, i).owner, value, sizeof value);
    }
    assert_result(
        REDLOCK_OK,
        redlock_release_owner_async(client, "bytes", 0, value, sizeof value - 1, note_done, &released, NULL),
        NULL);
    assert_outcome(&released, REDLOCK_OK, fleet);
    redlock_client_close(client);
}

static void a_look_shows_the_holder_and_every_node(void **state)
{
    static struct outcome outcome;
    struct fleet *fleet = *state;
    redlock_client *client = open_client(fleet_urls(fleet));
    redlock_lock *lock = take_lock(client, "looked at", LONG_TTL_MS);

    for (int i = 0; i < fleet_size(fleet); i++)
        await(fleet_key_count(fleet, i) >= 1);
    prepare(&outcome);
    assert_result(REDLOCK_OK, redlock_inspect_async(client, "looked at", 0, note_done, &outcome, NULL), NULL);
    assert_outcome(&outcome, REDLOCK_OK, fleet);
    assert_memory_equal(outcome.report.holder.id, redlock_lock_owner(lock, NULL), 8);
    assert_int_equal(outcome.report.held, fleet_size(fleet));
    for (uint32_t i = 0; i < outcome.report.node_count; i++)
        assert_string_equal(node_of(&outcome.report, i).owner, redlock_lock_owner(lock, NULL));
    give_back(lock);
    redlock_client_close(client);
}

static void new_nodes_are_admitted(void **state)
{
    static struct outcome outcome;
    struct fleet *fleet = *state;
    redlock_options options = guarded_options(fleet_urls(fleet), LONG_TTL_MS);
    redlock_client *client = NULL;

    prepare(&outcome);
    assert_result(REDLOCK_OK, redlock_client_open(&options, &client, NULL), NULL);
    assert_result(REDLOCK_OK, redlock_init_nodes_async(client, 0, note_done, &outcome, NULL), NULL);
    assert_outcome(&outcome, REDLOCK_OK, fleet);
    assert_int_equal(outcome.report.granted, fleet_size(fleet));
    assert_int_equal(outcome.report.eligible, fleet_size(fleet));
    give_back(take_lock(client, "admitted", LONG_TTL_MS));
    redlock_client_close(client);
}

/* ---- what goes wrong ----------------------------------------------------------------------------------- */

static void bad_arguments_never_call_back(void **state)
{
    struct fleet *fleet = *state;
    redlock_options options = options_for(fleet_urls(fleet));
    redlock_spec spec = spec_for("bad", LONG_TTL_MS), nameless = REDLOCK_SPEC_INIT;
    redlock_client *client = NULL;

    options.mode = REDLOCK_PLAIN;
    assert_result(REDLOCK_OK, redlock_client_open(&options, &client, NULL), NULL);
    assert_result(REDLOCK_INVALID, redlock_adopt_async(client, &spec, "x", 0, NULL, NULL, NULL), NULL);
    assert_result(REDLOCK_INVALID, redlock_adopt_async(client, &spec, "", 0, note_acquired, NULL, NULL),
                  NULL);
    assert_result(REDLOCK_INVALID, redlock_adopt_async(client, &spec, NULL, 5, note_acquired, NULL, NULL),
                  NULL);
    assert_result(REDLOCK_INVALID, redlock_adopt_async(client, &nameless, "x", 0, note_acquired, NULL, NULL),
                  NULL);
    assert_result(REDLOCK_MISUSE, redlock_adopt_async(NULL, &spec, "x", 0, note_acquired, NULL, NULL), NULL);
    assert_result(REDLOCK_INVALID,
                  redlock_release_owner_async(client, "x", 0, NULL, 0, note_done, NULL, NULL), NULL);
    assert_result(REDLOCK_INVALID, redlock_release_owner_async(client, "x", 0, "y", 0, NULL, NULL, NULL),
                  NULL);
    assert_result(REDLOCK_INVALID, redlock_inspect_async(client, "x", 0, NULL, NULL, NULL), NULL);
    assert_result(REDLOCK_INVALID,
                  redlock_inspect_async(client, "x", REDLOCK_NAME_MAX + 1, note_done, NULL, NULL), NULL);
    assert_result(REDLOCK_MISUSE, redlock_init_nodes_async(client, 0, note_done, NULL, NULL), NULL);
    redlock_client_close(client);
}

static void without_a_quorum_each_says_so_once(void **state)
{
    static struct outcome adopted, released, seen;
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_spec spec = spec_for("alone", LONG_TTL_MS);

    prepare(&adopted);
    prepare(&released);
    prepare(&seen);
    fleet_kill(fleet, 0);
    fleet_kill(fleet, 1);
    assert_result(REDLOCK_OK, redlock_adopt_async(client, &spec, "me", 0, note_acquired, &adopted, NULL),
                  NULL);
    assert_result(REDLOCK_OK,
                  redlock_release_owner_async(client, "alone", 0, "me", 0, note_done, &released, NULL), NULL);
    assert_result(REDLOCK_OK, redlock_inspect_async(client, "alone", 0, note_done, &seen, NULL), NULL);
    assert_outcome(&adopted, REDLOCK_NO_QUORUM, fleet);
    assert_outcome(&released, REDLOCK_NO_QUORUM, fleet);
    assert_outcome(&seen, REDLOCK_NO_QUORUM, fleet);
    assert_null(adopted.lock);
    redlock_client_close(client);
}

static void a_look_and_an_adoption_can_be_cancelled_and_a_release_cannot(void **state)
{
    static struct outcome adopted, released, seen;
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_spec spec = spec_for("cancelled", LONG_TTL_MS);
    redlock_request adopting, releasing, looking;

    prepare(&adopted);
    prepare(&released);
    prepare(&seen);
    for (int i = 0; i < fleet_size(fleet); i++)
        fleet_freeze(fleet, i);
    assert_result(
        REDLOCK_OK,
        redlock_release_owner_async(client, "cancelled", 0, "me", 0, note_done, &released, &releasing), NULL);
    assert_result(REDLOCK_OK, redlock_adopt_async(client, &spec, "me", 0, note_acquired, &adopted, &adopting),
                  NULL);
    assert_result(REDLOCK_OK, redlock_inspect_async(client, "cancelled", 0, note_done, &seen, &looking),
                  NULL);
    assert_result(REDLOCK_OK, redlock_cancel(client, adopting), NULL);
    assert_result(REDLOCK_OK, redlock_cancel(client, looking), NULL);
    assert_result(REDLOCK_MISUSE, redlock_cancel(client, releasing), NULL);
    assert_outcome(&adopted, REDLOCK_CANCELED, fleet);
    assert_outcome(&seen, REDLOCK_CANCELED, fleet);
    assert_outcome(&released, REDLOCK_NO_QUORUM, fleet);
    assert_result(REDLOCK_NOT_HELD, redlock_cancel(client, adopting), NULL);
    for (int i = 0; i < fleet_size(fleet); i++)
        fleet_thaw(fleet, i);
    redlock_client_close(client);
}

/* Nothing listens where these nodes should be, and nothing refuses either: the calls are still waiting for
 * connections. */
static void close_calls_back_what_waits_for_connections(void **state)
{
    static struct outcome adopted, released, seen;
    struct fleet *fleet = *state;
    redlock_options options = options_for(fleet_urls(fleet));
    redlock_spec spec = spec_for("closed", LONG_TTL_MS);
    redlock_client *client = NULL;

    prepare(&adopted);
    prepare(&released);
    prepare(&seen);
    for (int i = 0; i < fleet_size(fleet); i++)
        fleet_freeze(fleet, i);
    options.connect_timeout_ms = 600000;
    assert_result(REDLOCK_OK, redlock_client_open(&options, &client, NULL), NULL);
    assert_result(REDLOCK_OK, redlock_adopt_async(client, &spec, "me", 0, note_acquired, &adopted, NULL),
                  NULL);
    assert_result(REDLOCK_OK,
                  redlock_release_owner_async(client, "closed", 0, "me", 0, note_done, &released, NULL),
                  NULL);
    assert_result(REDLOCK_OK, redlock_inspect_async(client, "closed", 0, note_done, &seen, NULL), NULL);
    redlock_client_close(client);
    assert_outcome(&adopted, REDLOCK_CANCELED, fleet);
    assert_outcome(&released, REDLOCK_CANCELED, fleet);
    assert_outcome(&seen, REDLOCK_CANCELED, fleet);
    for (int i = 0; i < fleet_size(fleet); i++)
        fleet_thaw(fleet, i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_1_3_5_NODES(a_lock_is_adopted_by_a_client_that_is_just_connecting),
        ON_NODES(nobody_adopts_what_another_owner_has, start_three_nodes),
        ON_NODES(a_lock_is_released_by_its_owner_value, start_three_nodes),
        ON_NODES(an_owner_value_may_have_any_bytes, start_three_nodes),
        ON_NODES(a_look_shows_the_holder_and_every_node, start_five_nodes),
        ON_GUARDED(new_nodes_are_admitted, start_five_guarded),
        ON_NODES(bad_arguments_never_call_back, start_one_node),
        ON_NODES(without_a_quorum_each_says_so_once, start_three_nodes),
        ON_NODES(a_look_and_an_adoption_can_be_cancelled_and_a_release_cannot, start_three_nodes),
        ON_NODES(close_calls_back_what_waits_for_connections, start_three_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
