/*
 * redlock serve: the lock service. It finds nodes and settings as every command does, and hands them to
 * src/serve, which may have been left out of the build.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cli/commands.h"
#include "cli/exits.h"
#include "cli/local.h"
#include "cli/output.h"
#include "cli/session.h"

#ifdef WITH_SERVE

#include "serve/serve.h"

#define SOCKET_NAME "serve.sock"

static void say(enum serve_level level, const char *line)
{
    if (level == SERVE_ERROR)
        cli_output_fail(CLI_EXIT_CONFIG, "%s", line);
    else if (level == SERVE_WARNING)
        cli_output_warn("%s", line);
    else
        cli_output_note("%s", line);
}

/* The option, else the configuration's, else the default. */
static const char *choose(const char *option, const char *configured, const char *missing)
{
    if (option != NULL)
        return option;
    return configured != NULL ? configured : missing;
}

/* Beside the local nodes; nothing when their folder cannot be had. */
static const char *default_socket(char path[160])
{
    struct cli_local local;

    if (cli_local_open(&local, true) != 0)
        return NULL;
    snprintf(path, 160, "%s/%s", local.directory, SOCKET_NAME);
    return path;
}

static struct serve_settings settings_of(const struct cli_session *session, const struct cli_options *options,
                                         char path[160])
{
    const struct cli_config *config = &session->config;
    struct serve_settings settings = {.say = say};
    /* Sockets that systemd opened are used in place of all of these. */
    bool chosen = options->listen != NULL || options->unix_path != NULL || config->serve.listen != NULL ||
                  config->serve.unix_path != NULL || getenv("LISTEN_FDS") != NULL;

    settings.listen = choose(options->listen, config->serve.listen, chosen ? NULL : SERVE_DEFAULT_LISTEN);
    settings.unix_path =
        choose(options->unix_path, config->serve.unix_path, chosen ? NULL : default_socket(path));
    settings.resp = choose(options->resp, config->serve.resp, NULL);
    settings.access_file = config->serve.access;
    settings.hosts = config->serve.hosts;
    settings.tls_cert = config->serve.tls_cert;
    settings.tls_key = config->serve.tls_key;
    settings.tls_client_ca = config->serve.tls_client_ca;
    settings.metrics_name = choose(options->metrics_name, config->serve.metrics_name, NULL);
    settings.key_prefix = config->prefix;
    settings.max_ttl_ms = (uint32_t)cli_config_max_ttl(config);
    settings.may_break = config->serve.may_break;
    settings.max_wait_ms = config->serve.max_wait_ms;
    settings.max_hold_ms = config->serve.max_hold_ms;
    settings.max_connections = config->serve.max_connections;
    settings.max_waiters = config->serve.max_waiters;
    return settings;
}

int cli_command_serve(const struct cli_options *options)
{
    static const int codes[] = {[SERVE_ENDED] = CLI_EXIT_OK,
                                [SERVE_BAD_SETTING] = CLI_EXIT_CONFIG,
                                [SERVE_NO_SYSTEM] = CLI_EXIT_SYSTEM};
    struct cli_session session = {0};
    char path[160];
    int code = cli_session_open(&session, options);

    if (code == 0) {
        struct serve_settings settings = settings_of(&session, options, path);
        redlock_client *client = session.client;
        session.client = NULL; /* serve_run() closes it */
        code = codes[serve_run(client, &settings)];
    }
    cli_session_close(&session);
    return code;
}

#else

int cli_command_serve(const struct cli_options *options)
{
    (void)options;
    cli_output_fail(CLI_EXIT_CONFIG, "this redlock was built without its service");
    cli_output_hint("fix", "install libevent (Debian: libevent-dev) and build again: make");
    return CLI_EXIT_CONFIG;
}

#endif
