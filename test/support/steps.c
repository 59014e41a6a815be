/*
 * Steps shared by the integration tests; see steps.h.
 */
#include "support/steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LEFTOVER_WAIT_MS = 10000 };

static int start_fleet(void **state, int node_count, enum fleet_transport transport)
{
    struct fleet_options options = {.node_count = node_count, .transport = transport};

    *state = fleet_start(&options);
    return *state != NULL ? 0 : -1;
}

int start_one_node(void **state)
{
    return start_fleet(state, 1, FLEET_UNIX);
}

int start_three_nodes(void **state)
{
    return start_fleet(state, 3, FLEET_UNIX);
}

int start_five_nodes(void **state)
{
    return start_fleet(state, 5, FLEET_UNIX);
}

int start_five_tcp_nodes(void **state)
{
    return start_fleet(state, 5, FLEET_TCP);
}

int stop_clean(void **state, const char *(*leftovers_of)(struct fleet *fleet, int wait_ms), const char *what)
{
    struct fleet *fleet = *state;

    if (fleet == NULL)
        return -1;
    for (int i = 0; i < fleet_size(fleet); i++)
        fleet_thaw(fleet, i);
    const char *leftovers = leftovers_of(fleet, LEFTOVER_WAIT_MS);
    bool clean = leftovers[0] == '\0';
    if (!clean)
        print_error("%s were left behind:\n%s", what, leftovers);
    fleet_stop(fleet);
    *state = NULL;
    return clean ? 0 : -1;
}

int stop_nodes(void **state)
{
    return stop_clean(state, fleet_leftovers, "keys");
}

int quorum_of(const struct fleet *fleet)
{
    return fleet_size(fleet) / 2 + 1;
}

bool is_guarded(void)
{
    const char *mode = getenv("REDLOCK_TEST_MODE");

    return mode != NULL && strcmp(mode, "guarded") == 0;
}

void admit_new_nodes(redlock_client *client)
{
    if (is_guarded())
        (void)redlock_init_nodes(client, 1, NULL);
}

redlock_options options_for(const char *nodes)
{
    redlock_options options = REDLOCK_OPTIONS_INIT;

    options.nodes = nodes;
    options.host = "test-host";
    options.login = "tester";
    options.mode = is_guarded() ? REDLOCK_GUARDED : REDLOCK_PLAIN;
    options.max_ttl_ms = 300000;        /* above every TTL in these tests */
    options.connect_timeout_ms = 20000; /* a machine under load is slow, not silent */
    options.node_timeout_ms = 5000;
    return options;
}

redlock_client *open_unadmitted(const redlock_options *options)
{
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_client *client = NULL;

    assert_result(REDLOCK_OK, redlock_client_open(options, &client, &report), &report);
    assert_non_null(client);
    return client;
}

redlock_client *open_with(const redlock_options *options)
{
    redlock_client *client = open_unadmitted(options);

    if (options->mode == REDLOCK_GUARDED)
        admit_new_nodes(client);
    return client;
}

redlock_client *open_client(const char *nodes)
{
    redlock_options options = options_for(nodes);

    return open_with(&options);
}

static bool all_nodes_answer(redlock_client *client)
{
    redlock_report report = REDLOCK_REPORT_INIT;

    if (redlock_inspect(client, NULL, 0, &report) != REDLOCK_OK)
        return false;
    return report.free == report.node_count;
}

void await_all_nodes(redlock_client *client)
{
    await(all_nodes_answer(client));
}

redlock_client *open_warm_client(const char *nodes)
{
    redlock_client *client = open_client(nodes);

    await_all_nodes(client);
    return client;
}

redlock_spec spec_for(const char *name, uint32_t ttl_ms)
{
    redlock_spec spec = REDLOCK_SPEC_INIT;

    spec.name = name;
    spec.ttl_ms = ttl_ms;
    return spec;
}

redlock_lock *take_spec(redlock_client *client, const redlock_spec *spec)
{
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_lock *lock = NULL;

    assert_result(REDLOCK_OK, redlock_try_acquire(client, spec, &lock, &report), &report);
    assert_non_null(lock);
    return lock;
}

redlock_lock *take_lock(redlock_client *client, const char *name, uint32_t ttl_ms)
{
    redlock_spec spec = spec_for(name, ttl_ms);

    return take_spec(client, &spec);
}

redlock_lock *await_lock(redlock_client *client, const char *name)
{
    redlock_spec spec = spec_for(name, LONG_TTL_MS);
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_lock *lock = NULL;

    assert_result(REDLOCK_OK, redlock_acquire(client, &spec, 20000, &lock, &report), &report);
    assert_non_null(lock);
    return lock;
}

void check_not_had(redlock_result expected, redlock_client *client, const char *name, redlock_report *report,
                   const char *file, int line)
{
    redlock_spec spec = spec_for(name, LONG_TTL_MS);
    redlock_lock *lock = NULL;

    check_result(expected, redlock_try_acquire(client, &spec, &lock, report), report, file, line);
    assert_null(lock);
}

void give_back(redlock_lock *lock)
{
    redlock_report report = REDLOCK_REPORT_INIT;

    assert_result(REDLOCK_OK, redlock_release(lock, &report), &report);
    redlock_lock_free(lock);
}

void check_result(redlock_result expected, redlock_result result, const redlock_report *report,
                  const char *file, int line)
{
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;

    if (result == expected)
        return;
    print_error("expected \"%s\", got \"%s\"", redlock_result_name(expected), redlock_result_name(result));
    if (report != NULL) {
        print_error(": %s\n", report->line);
        for (uint32_t i = 0; redlock_report_node(report, i, &node); i++)
            print_error("  node %u %s: %s (%s) %s\n", i, node.url, redlock_verdict_name(node.verdict),
                        redlock_cause_name(node.cause), node.detail);
    }
    print_error("\n");
    _fail(file, line);
}

void assert_report_is_sound(const redlock_report *report, redlock_result result, const struct fleet *fleet)
{
    uint32_t verdicts[REDLOCK_VERDICT_NOT_HELD + 1] = {0};
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;

    assert_int_equal(report->size, sizeof(redlock_report));
    assert_int_equal(report->result, result);
    assert_int_equal(report->node_count, fleet_size(fleet));
    assert_int_equal(report->quorum, quorum_of(fleet));
    for (uint32_t i = 0; redlock_report_node(report, i, &node); i++) {
        assert_string_equal(node.url, fleet_url(fleet, (int)i));
        verdicts[node.verdict]++;
    }
    if (report->details != NULL) {
        assert_int_equal(redlock_report_node(report, report->node_count - 1, &node), 1);
        assert_int_equal(redlock_report_node(report, report->node_count, &node), 0);
        assert_int_equal(report->granted, verdicts[REDLOCK_VERDICT_GRANTED]);
        assert_int_equal(report->held, verdicts[REDLOCK_VERDICT_HELD]);
        assert_int_equal(report->free, verdicts[REDLOCK_VERDICT_FREE]);
        assert_int_equal(report->not_held, verdicts[REDLOCK_VERDICT_NOT_HELD]);
    }
    assert_in_range(report->eligible, 0, report->node_count);
    assert_true(report->line[0] != '\0');
    assert_null(strchr(report->line, '\n'));
    assert_true(report->waited_ms >= 0);
}

void assert_printable(const char *text)
{
    for (const char *at = text; *at != '\0'; at++)
        if ((unsigned char)*at < ' ' || *at == 127)
            fail_msg("\"%s\" has a control character in it", text);
}

void sleep_ms(int64_t ms)
{
    nanosleep(&(struct timespec){(time_t)(ms / 1000), (long)(ms % 1000) * 1000000L}, NULL);
}

int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void ignore_loss(void *context, redlock_lock *lock, const redlock_report *report)
{
    (void)context;
    (void)lock;
    (void)report;
}
