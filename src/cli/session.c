/*
 * A command's way to the nodes: configuration, local nodes when there is none, and the client.
 * It opens and closes; what is asked of the nodes is each command's business.
 */
#include "cli/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/exits.h"
#include "cli/output.h"
#include "cli/text.h"

#define DEFAULT_TTL_MS 15000

/* A lock that was meant for several machines must not silently become one on this one. */
static int refuse_local_nodes(const char *place)
{
    if (place != NULL)
        cli_output_fail(CLI_EXIT_CONFIG, "no nodes are configured, and %s has require_nodes = yes", place);
    else
        cli_output_fail(CLI_EXIT_CONFIG, "no nodes are configured, and --require-nodes was given");
    cli_config_suggest_nodes();
    cli_output_hint("see", "man redlock.conf");
    return CLI_EXIT_CONFIG;
}

/* Looking starts nothing: where no nodes are there is nothing to see. */
static int refuse_to_start(void)
{
    cli_output_fail(CLI_EXIT_NODES, "no nodes are configured, and no local nodes run");
    cli_config_suggest_nodes();
    cli_output_hint("or", "redlock local start (locks for this user on this machine only)");
    return CLI_EXIT_NODES;
}

static void say_local(const struct cli_local *local, int started, bool takes)
{
    if (started == CLI_LOCAL_NODES)
        cli_output_note("no nodes configured: started five local nodes in %s (redlock local stop ends them)",
                        local->directory);
    else if (started > 0)
        cli_output_note("started %d of five local nodes in %s again", started, local->directory);
    cli_output_note(takes ? "no nodes configured: this lock holds for this user on this machine only"
                          : "no nodes configured: these are the locks of this user on this machine only");
}

/* No nodes are configured: uses our own, and says so. */
static int use_local_nodes(struct cli_session *session, bool start)
{
    struct cli_local local;
    int started = 0;
    int code = cli_local_open(&local, start);

    if (code == 0 && start)
        code = cli_local_start(&local, true, &started);
    else if (code < 0 || (code == 0 && cli_local_count_up(&local) == 0))
        code = refuse_to_start();
    if (code != 0)
        return code;
    say_local(&local, started, start);
    session->config.nodes = cli_local_urls(&local);
    session->local = true;
    session->nodes = local;
    return session->config.nodes == NULL ? cli_output_fail(CLI_EXIT_SYSTEM, "out of memory") : 0;
}

/* Other programs do not know of local nodes. */
static int refuse_legacy_nodes(void)
{
    cli_output_fail(CLI_EXIT_CONFIG,
                    "no node is configured, and a legacy lock is on the one that other programs use");
    cli_output_hint("fix", "--nodes URL, or set REDLOCK_NODES");
    return CLI_EXIT_CONFIG;
}

/* Only some commands know what to do with locks that have no owner. */
static int check_legacy(const struct cli_options *options)
{
    if (options->command & (CLI_RUN | CLI_ACQUIRE | CLI_EXTEND | CLI_RELEASE | CLI_UPDATE))
        return 0;
    cli_output_fail(CLI_EXIT_CONFIG,
                    "mode = legacy is configured, and only run, acquire, extend and release know such locks");
    cli_output_hint("fix", "use --config with a file that has another mode");
    return CLI_EXIT_CONFIG;
}

static int prepare(struct cli_session *session, const struct cli_options *options, bool start)
{
    *session = (struct cli_session){.command = options->command};
    int code = cli_config_load(options, &session->config);

    session->one_node = session->config.legacy;
    if (code == 0 && session->config.legacy)
        code = check_legacy(options);
    if (code != 0 || session->config.nodes != NULL)
        return code;
    if (session->config.legacy)
        return refuse_legacy_nodes();
    if (options->require_nodes || session->config.require_nodes)
        return refuse_local_nodes(options->require_nodes ? NULL : session->config.require_nodes_place);
    return use_local_nodes(session, start);
}

int cli_session_prepare(struct cli_session *session, const struct cli_options *options)
{
    return prepare(session, options, true);
}

static void warn_of_fleet(const struct cli_session *session)
{
    uint32_t count = redlock_client_node_count(session->client);

    if (session->one_node)
        return;
    if (count == 1)
        cli_output_warn(
            "a single node: when it fails nobody can lock, and when it loses its data two can hold a lock");
    else if (count % 2 == 0)
        cli_output_warn("%u nodes: an even number survives no more failures than %u", count, count - 1);
}

int cli_session_connect(struct cli_session *session, const struct cli_options *options)
{
    const struct cli_config *config = &session->config;
    char who[sizeof((redlock_holder *)NULL)->user];
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_options settings = REDLOCK_OPTIONS_INIT;

    settings.nodes = config->nodes;
    settings.key_prefix = config->prefix;
    /* Local nodes have no password, and would refuse one. */
    settings.user = session->local ? NULL : config->user;
    settings.password = session->local ? NULL : config->password;
    settings.tls_ca_file = config->tls_ca;
    settings.tls_cert_file = config->tls_cert;
    settings.tls_key_file = config->tls_key;
    settings.login = cli_text_fit(options->who, who, sizeof who);
    settings.connect_timeout_ms = config->connect_timeout_ms;
    settings.node_timeout_ms = config->node_timeout_ms;
    settings.drift_ppm = config->drift_ppm;
    settings.max_ttl_ms = config->max_ttl_ms;
    settings.mode = config->plain ? REDLOCK_PLAIN : REDLOCK_GUARDED;
    settings.format = config->redisson ? REDLOCK_FORMAT_REDISSON : REDLOCK_FORMAT_COMMON;
    settings.pid = session->pid;
    settings.log = cli_output_log;
    if (options->verbose)
        settings.trace = cli_output_trace;
    redlock_result result = redlock_client_open(&settings, &session->client, &report);
    if (session->details == NULL)
        session->details = redlock_details_new(NULL);
    if (session->more_details == NULL)
        session->more_details = redlock_details_new(NULL);
    if (result == REDLOCK_OK) {
        warn_of_fleet(session);
        return 0;
    }
    session->client = NULL;
    if (result == REDLOCK_INVALID)
        return cli_output_fail(CLI_EXIT_CONFIG, "%s", report.line);
    return cli_output_fail(CLI_EXIT_SYSTEM, "the client could not be opened: %s", report.line);
}

int cli_session_open(struct cli_session *session, const struct cli_options *options)
{
    int code = cli_session_prepare(session, options);

    return code != 0 ? code : cli_session_connect(session, options);
}

int cli_session_look(struct cli_session *session, const struct cli_options *options)
{
    int code = prepare(session, options, false);

    return code != 0 ? code : cli_session_connect(session, options);
}

redlock_report cli_session_report(const struct cli_session *session)
{
    redlock_report report = REDLOCK_REPORT_INIT;

    report.details = session->details;
    return report;
}

redlock_report cli_session_second_report(const struct cli_session *session)
{
    redlock_report report = REDLOCK_REPORT_INIT;

    report.details = session->more_details;
    return report;
}

void cli_session_close(struct cli_session *session)
{
    if (session->client != NULL)
        redlock_client_close(session->client);
    redlock_details_free(session->details);
    redlock_details_free(session->more_details);
    session->client = NULL;
    session->details = session->more_details = NULL;
    cli_config_free(&session->config);
}

int cli_session_ttl(const struct cli_session *session, const struct cli_options *options, uint32_t *ttl_ms)
{
    int64_t ttl = options->ttl_ms, most = cli_config_max_ttl(&session->config);

    if (ttl == CLI_NOT_GIVEN && session->config.ttl_ms != 0)
        ttl = session->config.ttl_ms;
    else if (ttl == CLI_NOT_GIVEN)
        ttl = DEFAULT_TTL_MS < most ? DEFAULT_TTL_MS : most;
    if (ttl < REDLOCK_TTL_MIN_MS)
        return cli_output_fail(CLI_EXIT_USAGE, "--ttl is too short: at least %dms", REDLOCK_TTL_MIN_MS);
    if (ttl > REDLOCK_TTL_MAX_MS)
        return cli_output_fail(CLI_EXIT_USAGE, "--ttl is too long: at most %dh",
                               REDLOCK_TTL_MAX_MS / 3600000);
    if (ttl > most) {
        cli_output_fail(CLI_EXIT_USAGE,
                        "--ttl is above max_ttl, which is how long a node that lost its data is quarantined");
        cli_output_hint(
            "fix", "make it shorter: it says how soon a dead holder is noticed, not how long CMD may run");
        cli_output_hint("or", "raise max_ttl in the configuration of every client (60s)");
        return CLI_EXIT_USAGE;
    }
    *ttl_ms = (uint32_t)ttl;
    return 0;
}

int cli_session_check_name(const struct cli_session *session, const char *name)
{
    static const char *const reserved[] = {
        "redlock-guard:", "redlock-fence:", "redlock-line:", "redlock-mark:"};
    const char *prefix = session->config.prefix == NULL ? "" : session->config.prefix;
    char key[REDLOCK_NAME_MAX + 1];

    if (snprintf(key, sizeof key, "%s%s", prefix, name) > REDLOCK_NAME_MAX)
        return cli_output_fail(CLI_EXIT_USAGE, "the name is too long: with its prefix at most %d bytes",
                               REDLOCK_NAME_MAX);
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++) {
        if (strncmp(key, reserved[i], strlen(reserved[i])) != 0)
            continue;
        cli_output_fail(CLI_EXIT_USAGE, "%s: names that begin with %s are reserved for what nodes remember",
                        key, reserved[i]);
        cli_output_hint("fix", "choose another name or --prefix");
        return CLI_EXIT_USAGE;
    }
    return 0;
}
