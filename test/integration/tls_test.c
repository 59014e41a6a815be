/*
 * Nodes behind TLS: the lock works as over TCP, and whoever cannot prove to be the node is refused in clear
 * words.
 */
#include <stdio.h>
#include <string.h>

#include "support/steps.h"

static int start_tls_nodes(void **state)
{
    struct fleet_options options = {.node_count = 3, .transport = FLEET_TLS};

    *state = fleet_start(&options);
    return *state != NULL ? 0 : -1;
}

static int start_tls_nodes_that_ask_for_certificates(void **state)
{
    struct fleet_options options = {
        .node_count = 3, .transport = FLEET_TLS, .config = "tls-auth-clients yes"};

    *state = fleet_start(&options);
    return *state != NULL ? 0 : -1;
}

/* Paths are seen from the node's own folder. */
static int start_tls_nodes_under_another_name(void **state)
{
    struct fleet_options options = {.node_count = 3,
                                    .transport = FLEET_TLS,
                                    .config =
                                        "tls-cert-file ../elsewhere.pem\ntls-key-file ../elsewhere.key"};

    *state = fleet_start(&options);
    return *state != NULL ? 0 : -1;
}

/* Paths of the fleet's files, for as long as the test runs. */
struct files {
    char ca[160];
    char stranger[160];
    char client[160];
    char key[160];
};

static const struct files *files_of(const struct fleet *fleet)
{
    static struct files files;
    const char *folder = fleet_folder(fleet);

    snprintf(files.ca, sizeof(files.ca), "%s/ca.pem", folder);
    snprintf(files.stranger, sizeof(files.stranger), "%s/stranger.pem", folder);
    snprintf(files.client, sizeof(files.client), "%s/client.pem", folder);
    snprintf(files.key, sizeof(files.key), "%s/client.key", folder);
    return &files;
}

static void assert_lock_works(redlock_client *client)
{
    redlock_spec spec = spec_for("tls", LONG_TTL_MS);
    redlock_report report = detailed_report();
    redlock_lock *lock = NULL;
    redlock_lock *none = NULL;

    assert_result(REDLOCK_OK, redlock_acquire(client, &spec, 10000, &lock, &report), &report);
    assert_result(REDLOCK_BUSY, redlock_try_acquire(client, &spec, &none, &report), &report);
    assert_result(REDLOCK_OK, redlock_extend(lock, 0, &report), &report);
    give_back(lock);
}

/* How many nodes were refused, each for a reason that has these words in it. */
static uint32_t count_refused(const redlock_report *report, const char *words)
{
    uint32_t refused = 0;

    for (uint32_t i = 0; i < report->node_count; i++) {
        if (node_of(report, i).verdict != REDLOCK_VERDICT_FAILED)
            continue;
        assert_true(node_of(report, i).detail[0] != '\0');
        if (strstr(node_of(report, i).detail, words) == NULL)
            fail_msg("\"%s\" does not say \"%s\"", node_of(report, i).detail, words);
        refused++;
    }
    return refused;
}

/* Nodes are refused, and the reason given has these words in it. A round ends when no quorum can come of it
 * any more, so not every node is heard in it; and on a busy machine some are not connected yet. */
static void assert_refused(const redlock_options *options, const char *words)
{
    redlock_client *client = open_unadmitted(options);
    redlock_spec spec = spec_for("tls", LONG_TTL_MS);
    redlock_report report = detailed_report();
    redlock_lock *lock = NULL;

    for (int i = 0; i < 100 && (i == 0 || count_refused(&report, words) < report.quorum); i++) {
        assert_result(REDLOCK_NO_QUORUM, redlock_acquire(client, &spec, 300, &lock, &report), &report);
        assert_null(lock);
    }
    assert_true(count_refused(&report, words) >= report.quorum);
    redlock_client_close(client);
}

static void lock_works_over_tls(void **state)
{
    struct fleet *fleet = *state;
    redlock_options options = options_for(fleet_urls(fleet));

    options.tls_ca_file = files_of(fleet)->ca;
    redlock_client *client = open_with(&options);
    assert_lock_works(client);
    redlock_client_close(client);
}

static void host_name_works_over_tls(void **state)
{
    struct fleet *fleet = *state;
    char nodes[512] = "";

    for (int i = 0; i < fleet_size(fleet); i++)
        snprintf(nodes + strlen(nodes), sizeof(nodes) - strlen(nodes), "rediss://localhost:%s,",
                 strrchr(fleet_url(fleet, i), ':') + 1);
    redlock_options options = options_for(nodes);
    options.tls_ca_file = files_of(fleet)->ca;
    redlock_client *client = open_with(&options);
    assert_lock_works(client);
    redlock_client_close(client);
}

static void node_signed_by_a_stranger_is_refused(void **state)
{
    struct fleet *fleet = *state;
    redlock_options options = options_for(fleet_urls(fleet));

    options.tls_ca_file = files_of(fleet)->stranger;
    assert_refused(&options, "certificate");
    /* The system's certificates know nothing of it either. */
    options.tls_ca_file = NULL;
    assert_refused(&options, "certificate");
}

static void node_with_another_name_is_refused(void **state)
{
    struct fleet *fleet = *state;
    redlock_options options = options_for(fleet_urls(fleet));

    options.tls_ca_file = files_of(fleet)->ca;
    assert_refused(&options, "certificate");
}

static void node_that_asks_for_a_certificate_gets_one(void **state)
{
    struct fleet *fleet = *state;
    redlock_options options = options_for(fleet_urls(fleet));

    options.tls_ca_file = files_of(fleet)->ca;
    /* What the refusal is called is up to the TLS library, but there are words for it. */
    assert_refused(&options, "");
    options.tls_cert_file = files_of(fleet)->client;
    options.tls_key_file = files_of(fleet)->key;
    redlock_client *client = open_with(&options);
    assert_lock_works(client);
    redlock_client_close(client);
}

static void tls_to_a_plain_node_is_refused(void **state)
{
    struct fleet *fleet = *state;
    char nodes[512] = "";

    for (int i = 0; i < fleet_size(fleet); i++)
        snprintf(nodes + strlen(nodes), sizeof(nodes) - strlen(nodes), "rediss://127.0.0.1:%s,",
                 strrchr(fleet_url(fleet, i), ':') + 1);
    redlock_options options = options_for(nodes);
    options.connect_timeout_ms = 500; /* such a node waits for the end of a line that never comes */
    redlock_client *client = open_with(&options);
    redlock_spec spec = spec_for("tls", LONG_TTL_MS);
    redlock_lock *lock = NULL;
    assert_result(REDLOCK_NO_QUORUM, redlock_acquire(client, &spec, 300, &lock, NULL), NULL);
    redlock_client_close(client);
}

static void plain_text_to_a_tls_node_is_refused(void **state)
{
    struct fleet *fleet = *state;
    char nodes[512] = "";

    for (int i = 0; i < fleet_size(fleet); i++)
        snprintf(nodes + strlen(nodes), sizeof(nodes) - strlen(nodes), "redis://127.0.0.1:%s,",
                 strrchr(fleet_url(fleet, i), ':') + 1);
    redlock_options options = options_for(nodes);
    assert_refused(&options, "");
}

static void bad_files_are_refused_by_name(void **state)
{
    struct fleet *fleet = *state;
    redlock_options options = options_for(fleet_urls(fleet));
    redlock_report report = detailed_report();
    redlock_client *client = NULL;

    options.tls_ca_file = "/does/not/exist.pem";
    assert_result(REDLOCK_INVALID, redlock_client_open(&options, &client, &report), &report);
    assert_null(client);
    assert_non_null(strstr(report.line, "/does/not/exist.pem"));
    options.tls_ca_file = files_of(fleet)->ca;
    options.tls_cert_file = files_of(fleet)->client;
    assert_result(REDLOCK_INVALID, redlock_client_open(&options, &client, &report), &report);
    assert_non_null(strstr(report.line, "tls_key_file"));
    options.tls_key_file = files_of(fleet)->ca;
    assert_result(REDLOCK_INVALID, redlock_client_open(&options, &client, &report), &report);
}

static void frozen_tls_node_costs_nothing(void **state)
{
    struct fleet *fleet = *state;
    redlock_options options = options_for(fleet_urls(fleet));
    redlock_report report = detailed_report();
    redlock_spec spec = spec_for("frozen", LONG_TTL_MS);
    redlock_lock *lock = NULL;

    options.tls_ca_file = files_of(fleet)->ca;
    redlock_client_close(open_with(&options)); /* the nodes are admitted */
    /* Before the connection there is not even a handshake. */
    fleet_freeze(fleet, 1);
    redlock_client *client = open_unadmitted(&options);
    assert_result(REDLOCK_OK, redlock_try_acquire(client, &spec, &lock, &report), &report);
    assert_int_equal(report.rounds, 1);
    give_back(lock);
    fleet_thaw(fleet, 1);
    await_all_nodes(client);
    redlock_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_NODES(lock_works_over_tls, start_tls_nodes),
        ON_NODES(host_name_works_over_tls, start_tls_nodes),
        ON_NODES(node_signed_by_a_stranger_is_refused, start_tls_nodes),
        ON_NODES(node_with_another_name_is_refused, start_tls_nodes_under_another_name),
        ON_NODES(node_that_asks_for_a_certificate_gets_one, start_tls_nodes_that_ask_for_certificates),
        ON_NODES(tls_to_a_plain_node_is_refused, start_five_tcp_nodes),
        ON_NODES(plain_text_to_a_tls_node_is_refused, start_tls_nodes),
        ON_NODES(bad_files_are_refused_by_name, start_tls_nodes),
        ON_NODES(frozen_tls_node_costs_nothing, start_tls_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
