/*
 * What redlock.h promises beside locks: tags travel in owner values, accessors take NULL, reports can be
 * kept, statistics say how things are now. That structs may grow is in test/cli/older_program_test.sh.
 */
#include <string.h>

#include "support/guarded.h"
#include "support/steps.h"

/* ---- tags ---------------------------------------------------------------------------------------------- */

static void fill_tag(unsigned char *tag, size_t length)
{
    for (size_t i = 0; i < length; i++)
        tag[i] = (unsigned char)(i * 37); /* a NUL, a bar, a percent sign and everything else */
}

static void assert_tag(const redlock_holder *holder, const unsigned char *tag, size_t length)
{
    assert_int_equal(holder->tag_length, length);
    assert_memory_equal(holder->tag, tag, length);
    assert_string_equal(holder->why, "with the longest why");
}

static void a_tag_of_any_bytes_is_read_from_the_owner_value(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_spec spec = spec_for("tagged", LONG_TTL_MS);
    unsigned char tag[REDLOCK_TAG_MAX];
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_holder holder;

    fill_tag(tag, sizeof tag);
    spec.tag = tag;
    spec.why = "with the longest why";
    for (size_t length = 0; length <= sizeof tag; length += length < 3 ? 1 : 25) {
        size_t owner_length;

        spec.tag_length = length;
        redlock_lock *lock = take_spec(client, &spec);
        const char *owner = redlock_lock_owner(lock, &owner_length);
        assert_int_equal(owner_length, strlen(owner));
        redlock_holder_parse(owner, owner_length, &holder);
        assert_tag(&holder, tag, length);
        assert_true(holder.since_ms > 0);
        assert_string_equal(holder.user, "tester");
        for (int i = 0; i < fleet_size(fleet); i++)
            await(fleet_key_count(fleet, i) >= 1);
        assert_result(REDLOCK_OK, redlock_inspect(client, "tagged", 0, &report), &report);
        assert_tag(&report.holder, tag, length);
        give_back(lock);
    }
    redlock_client_close(client);
}

static void an_anonymous_owner_value_says_its_tag_and_nothing_else(void **state)
{
    struct fleet *fleet = *state;
    redlock_options options = options_for(fleet_urls(fleet));
    redlock_spec spec = spec_for("anonymous", LONG_TTL_MS);
    redlock_holder holder;
    size_t length;

    options.anonymous = 1;
    spec.tag = "order 7";
    spec.tag_length = strlen("order 7");
    redlock_client *client = open_with(&options);
    redlock_lock *lock = take_spec(client, &spec);
    const char *owner = redlock_lock_owner(lock, &length);
    redlock_holder_parse(owner, length, &holder);
    assert_int_equal(holder.tag_length, spec.tag_length);
    assert_memory_equal(holder.tag, spec.tag, spec.tag_length);
    assert_string_equal(holder.host, "");
    assert_int_equal(length, 32 + strlen("|tag=") + 2 * spec.tag_length);
    give_back(lock);
    redlock_client_close(client);
}

static void a_tag_that_is_too_long_or_not_there_is_refused(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_client(fleet_urls(fleet));
    redlock_spec spec = spec_for("refused", LONG_TTL_MS);
    redlock_report report = REDLOCK_REPORT_INIT;
    char tag[REDLOCK_TAG_MAX + 1] = "";
    redlock_lock *lock = NULL;

    spec.tag = tag;
    spec.tag_length = sizeof tag;
    assert_result(REDLOCK_INVALID, redlock_try_acquire(client, &spec, &lock, &report), &report);
    assert_non_null(strstr(report.line, "tag_length"));
    spec.tag = NULL;
    spec.tag_length = 1;
    assert_result(REDLOCK_INVALID, redlock_try_acquire(client, &spec, &lock, &report), &report);
    assert_non_null(strstr(report.line, "tag"));
    redlock_client_close(client);
}

/* Nothing that a spec asks for is passed over in silence. */
static void what_a_spec_wants_and_cannot_have_is_named(void **state)
{
    redlock_client *client = open_warm_client(fleet_urls(*state));
    static const redlock_name more = {.name = "more"};
    const struct {
        redlock_spec spec;
        const char *named;
    } wanted[] = {
        {{.permits = 2}, "permits"},
        {{.identity = 1}, "identity"},
        {{.reentrant = 1, .kind = REDLOCK_SHARED}, ""},
        {{.reentrant = 1, .also = &more, .also_count = 1}, "also"},
    };

    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        redlock_report report = REDLOCK_REPORT_INIT;
        redlock_spec spec = wanted[i].spec;
        redlock_lock *lock = NULL;

        spec.size = sizeof spec;
        spec.name = "wanted";
        assert_result(REDLOCK_INVALID, redlock_try_acquire(client, &spec, &lock, &report), &report);
        assert_non_null(strstr(report.line, wanted[i].named));
        assert_null(lock);
    }
    redlock_client_close(client);
}

/* ---- NULL ---------------------------------------------------------------------------------------------- */

static void nothing_crashes_on_null(void **state)
{
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;
    redlock_waiter waiter = REDLOCK_WAITER_INIT;
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_stats stats = REDLOCK_STATS_INIT;
    redlock_node_stats node_stats = REDLOCK_NODE_STATS_INIT;
    redlock_holder holder;
    redlock_lock *lock = NULL;
    size_t length = 7;

    (void)state;
    assert_int_equal(redlock_client_node_count(NULL), 0);
    assert_null(redlock_client_node_url(NULL, 0));
    assert_int_equal(redlock_client_fd(NULL), -1);
    assert_int_equal(redlock_client_process(NULL), REDLOCK_MISUSE);
    assert_int_equal(redlock_client_stats(NULL, &stats), REDLOCK_MISUSE);
    assert_int_equal(redlock_client_stats(NULL, NULL), REDLOCK_INVALID);
    assert_int_equal(redlock_client_node_stats(NULL, 0, &node_stats), REDLOCK_MISUSE);
    assert_int_equal(redlock_client_node_stats(NULL, 0, NULL), REDLOCK_INVALID);
    assert_int_equal(redlock_lock_validity_ms(NULL), 0);
    assert_int_equal(redlock_lock_fence(NULL), 0);
    assert_null(redlock_lock_name(NULL, &length));
    assert_int_equal(length, 0);
    assert_null(redlock_lock_owner(NULL, &length));
    assert_int_equal(redlock_report_node(NULL, 0, &node), 0);
    assert_int_equal(redlock_report_node(&report, 0, &node), 0);
    assert_int_equal(redlock_report_node(&report, 0, NULL), 0);
    assert_int_equal(redlock_report_waiter(NULL, 0, &waiter), 0);
    assert_int_equal(redlock_report_copy(NULL, &report), REDLOCK_INVALID);
    assert_int_equal(redlock_report_copy(&report, NULL), REDLOCK_INVALID);
    assert_int_equal(redlock_adopt(NULL, NULL, NULL, 0, &lock, NULL), REDLOCK_MISUSE);
    assert_int_equal(redlock_adopt(NULL, NULL, NULL, 0, NULL, NULL), REDLOCK_INVALID);
    assert_int_equal(redlock_release_owner(NULL, NULL, 0, NULL, 0, NULL), REDLOCK_MISUSE);
    assert_int_equal(redlock_release_spec(NULL, NULL, NULL, 0, NULL), REDLOCK_MISUSE);
    assert_int_equal(redlock_lock_name_count(NULL), 0);
    assert_null(redlock_lock_name_at(NULL, 0, &length));
    assert_int_equal(redlock_lock_fence_at(NULL, 0), 0);
    assert_int_equal(redlock_lock_entries(NULL), 0);
    assert_int_equal(redlock_lock_slot(NULL), -1);
    assert_int_equal(redlock_cancel(NULL, 1), REDLOCK_MISUSE);
    redlock_holder_parse(NULL, 5, &holder);
    assert_string_equal(holder.id, "");
    redlock_holder_parse("x", 1, NULL);
    redlock_details_free(NULL);
    redlock_lock_free(NULL);
    redlock_client_close(NULL);
}

/* ---- words and numbers --------------------------------------------------------------------------------- */

static void every_cause_and_verdict_has_a_name(void **state)
{
    int causes = 0;

    (void)state;
    for (int i = 0; i < REDLOCK_CAUSES; i++)
        causes += strcmp(redlock_cause_name((redlock_cause)i), "unknown cause") != 0;
    assert_int_equal(causes, REDLOCK_CAUSE_BROKEN + 1);
    for (int i = 0; i <= REDLOCK_VERDICT_NOT_HELD; i++)
        assert_string_not_equal(redlock_verdict_name((redlock_verdict)i), "unknown verdict");
    assert_string_equal(redlock_cause_name((redlock_cause)-1), "unknown cause");
    assert_int_equal(redlock_version_number(), REDLOCK_VERSION_NUMBER);
}

/* ---- reports ------------------------------------------------------------------------------------------- */

static void a_copy_of_a_report_keeps_what_was_said_of_the_nodes(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_report report = detailed_report(), copy = detailed_report(), bare = REDLOCK_REPORT_INIT;
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;

    assert_result(REDLOCK_OK, redlock_inspect(client, "copied", 0, &report), &report);
    assert_int_equal(redlock_report_copy(&copy, &report), REDLOCK_OK);
    assert_int_equal(redlock_report_copy(&bare, &report), REDLOCK_OK);
    assert_result(REDLOCK_OK, redlock_inspect(client, NULL, 0, &report), &report);
    assert_report_is_sound(&copy, REDLOCK_OK, fleet);
    assert_int_equal(copy.free, fleet_size(fleet));
    assert_string_equal(bare.line, copy.line);
    assert_int_equal(redlock_report_node(&bare, 0, &node), 0);
    redlock_client_close(client);
}

/* ---- statistics ---------------------------------------------------------------------------------------- */

static redlock_stats stats_of(redlock_client *client)
{
    redlock_stats stats = REDLOCK_STATS_INIT;

    assert_result(REDLOCK_OK, redlock_client_stats(client, &stats), NULL);
    return stats;
}

static void forget_result(void *context, redlock_result result, redlock_lock *lock,
                          const redlock_report *report)
{
    (void)context;
    (void)result;
    (void)lock;
    (void)report;
}

static void statistics_say_how_things_are_now(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    redlock_spec spec = spec_for("renewed", LONG_TTL_MS);
    redlock_request request = 0;
    redlock_stats stats;

    spec.auto_extend = 1;
    spec.renew_ms = 100;
    spec.unbound = 1;
    spec.on_lost = ignore_loss;
    assert_int_equal(stats_of(client).lowest_validity_ms, -1);
    redlock_lock *lock = take_spec(client, &spec);
    await(stats_of(client).renewed >= 2);
    assert_result(REDLOCK_OK,
                  redlock_acquire_async(client, &spec, REDLOCK_WAIT_FOREVER, forget_result, NULL, &request),
                  NULL);
    await(stats_of(client).waiting == 1);
    stats = stats_of(client);
    assert_int_equal(stats.held, 1);
    assert_int_equal(stats.connected, fleet_size(fleet));
    assert_int_equal(stats.eligible, fleet_size(fleet));
    assert_int_equal(stats.extended, 0);
    assert_true(stats.renew.count >= 2);
    assert_in_range(stats.lowest_validity_ms, 0, LONG_TTL_MS);
    for (uint32_t i = 0; i < 3; i++) {
        redlock_node_stats node = node_stats_of(client, i);

        assert_int_equal(node.connected, 1);
        assert_int_equal(node.eligible, 1);
        /* It is this machine's clock; what is off is how long an answer took. */
        assert_true(node.clock_offset_us > -INT64_C(60000000) && node.clock_offset_us < INT64_C(60000000));
    }
    assert_result(REDLOCK_OK, redlock_cancel(client, request), NULL);
    await(stats_of(client).waiting == 0);
    give_back(lock);
    fleet_kill(fleet, 2);
    await(stats_of(client).connected == 2);
    give_back(take_lock(client, "without it", LONG_TTL_MS));
    await(node_stats_of(client, 2).causes[REDLOCK_CAUSE_REFUSED] >= 1 ||
          node_stats_of(client, 2).causes[REDLOCK_CAUSE_UNREACHABLE] >= 1);
    assert_int_equal(node_stats_of(client, 2).connected, 0);
    assert_int_equal(node_stats_of(client, 2).eligible, 0);
    redlock_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_NODES(a_tag_of_any_bytes_is_read_from_the_owner_value, start_three_nodes),
        ON_NODES(an_anonymous_owner_value_says_its_tag_and_nothing_else, start_one_node),
        ON_NODES(a_tag_that_is_too_long_or_not_there_is_refused, start_one_node),
        ON_NODES(what_a_spec_wants_and_cannot_have_is_named, start_one_node),
        cmocka_unit_test(nothing_crashes_on_null),
        cmocka_unit_test(every_cause_and_verdict_has_a_name),
        ON_NODES(a_copy_of_a_report_keeps_what_was_said_of_the_nodes, start_three_nodes),
        ON_GUARDED(statistics_say_how_things_are_now, start_three_guarded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
