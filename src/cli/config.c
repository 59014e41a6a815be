/*
 * Where the nodes are and how to talk to them: --nodes, REDLOCK_NODES, --config FILE, the user's file, the
 * machine's. It finds and opens the files; what is in them is read by config_file.c. It connects to nothing.
 *
 * A file that nobody named is only read when the nodes are not known yet: a password that was meant for the
 * nodes of /etc/redlock.conf must not be sent to those of --nodes.
 */
#include "cli/config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <redlock.h>

#include "cli/exits.h"
#include "cli/output.h"
#include "cli/text.h"

#define MACHINE_FILE "/etc/redlock.conf"
#define FILE_MAX_BYTES (1U << 20)
#define DEFAULT_MAX_TTL_MS 60000

static int no_memory(void)
{
    return cli_output_fail(CLI_EXIT_SYSTEM, "out of memory");
}

/* ---- one file ------------------------------------------------------------------------------------------ */

/* A file of root's may be meant for its group; one of our own hardly is. */
static void warn_if_public(const char *path)
{
    struct stat info;

    if (stat(path, &info) != 0)
        return;
    if (info.st_mode & S_IROTH)
        cli_output_warn("%s carries a password and can be read by everybody; chmod 600 it", path);
    else if ((info.st_mode & S_IRGRP) && info.st_uid == geteuid() && info.st_uid != 0)
        cli_output_warn("%s carries a password and can be read by its group; chmod 600 it", path);
}

static int take_bytes(const char *path, const char *bytes, size_t length, struct cli_config *config)
{
    struct cli_config_notes notes;
    int code = cli_config_file_read(path, bytes, length, config, &notes);

    if (code == CLI_EXIT_SYSTEM)
        return no_memory();
    if (code != 0)
        return cli_output_fail(code, "%s:%d: %s", path, notes.line, notes.words);
    if (notes.secret)
        warn_if_public(path);
    return 0;
}

/* Reads a stream to its end; a pipe has no size to ask for beforehand. */
static int read_stream(const char *path, FILE *stream, struct cli_config *config)
{
    char *bytes = malloc(FILE_MAX_BYTES + 1);
    size_t length;
    int code;

    if (bytes == NULL)
        return no_memory();
    errno = 0;
    length = fread(bytes, 1, FILE_MAX_BYTES + 1, stream);
    if (ferror(stream))
        code = cli_output_fail(CLI_EXIT_CONFIG, "%s: %s", path, strerror(errno));
    else if (length > FILE_MAX_BYTES)
        code = cli_output_fail(CLI_EXIT_CONFIG, "%s: is too large for a configuration", path);
    else
        code = take_bytes(path, bytes, length, config);
    free(bytes);
    return code;
}

/* Reads a file. One that nobody named may be missing. */
static int read_file(const char *path, bool named, struct cli_config *config)
{
    FILE *stream = fopen(path, "re");
    int code;

    if (stream == NULL && !named && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    if (stream == NULL) {
        cli_output_fail(CLI_EXIT_CONFIG, "%s: %s", path, strerror(errno));
        if (named)
            cli_output_hint("fix",
                            "name a file that you may read, with lines such as: node = redis://host:6379");
        return CLI_EXIT_CONFIG;
    }
    code = read_stream(path, stream, config);
    fclose(stream);
    return code;
}

static int refuse_password_file(const struct cli_config *config, const char *problem)
{
    return cli_output_fail(CLI_EXIT_CONFIG, "%s: password_file \"%.200s\" %s", config->password_place,
                           config->password_file, problem);
}

/* Reads the first line of the password file. */
static int read_password(struct cli_config *config)
{
    char line[1024];
    FILE *stream;

    if (config->password_file == NULL)
        return 0;
    stream = fopen(config->password_file, "re");
    if (stream == NULL)
        return refuse_password_file(config, strerror(errno));
    bool read = fgets(line, sizeof line, stream) != NULL;
    fclose(stream);
    if (read)
        line[strcspn(line, "\r\n")] = '\0';
    if (!read || *line == '\0')
        return refuse_password_file(config, "has no password in its first line");
    warn_if_public(config->password_file);
    config->password = strdup(line);
    return config->password == NULL ? no_memory() : 0;
}

/* ---- all sources in their order ------------------------------------------------------------------------ */

static int take_nodes(const char *nodes, struct cli_config *config)
{
    config->nodes = strdup(nodes);
    return config->nodes == NULL ? no_memory() : 0;
}

/* --nodes, then REDLOCK_NODES. */
static int nodes_from_caller(const struct cli_options *options, struct cli_config *config)
{
    const char *environment = getenv("REDLOCK_NODES");

    if (options->nodes != NULL) {
        if (options->nodes[strspn(options->nodes, ", \t")] == '\0')
            return cli_output_fail(CLI_EXIT_USAGE, "--nodes is empty");
        if (cli_config_has_password(options->nodes)) {
            cli_output_fail(CLI_EXIT_USAGE,
                            "--nodes carries a password, which every user of this machine can read");
            cli_output_hint("fix",
                            "put it into REDLOCK_PASSWORD, into REDLOCK_NODES or into a file (--config)");
            return CLI_EXIT_USAGE;
        }
        return take_nodes(options->nodes, config);
    }
    if (environment == NULL)
        return 0;
    /* Falling back to local nodes here would make a lock across machines silently a lock on one. */
    if (environment[strspn(environment, ", \t\r\n")] == '\0')
        return cli_output_fail(CLI_EXIT_CONFIG,
                               "REDLOCK_NODES is set but empty; unset it to use local nodes");
    return take_nodes(environment, config);
}

/* A file named by --config: its other settings count even when its nodes are overruled. */
static int read_named_file(const char *path, struct cli_config *config)
{
    char *overruling = config->nodes;

    config->nodes = NULL;
    int code = read_file(path, true, config);
    if (code == 0 && overruling == NULL && config->nodes == NULL)
        code = cli_output_fail(CLI_EXIT_CONFIG,
                               "%s names no nodes; add lines such as: node = redis://host:6379", path);
    if (overruling != NULL) {
        free(config->nodes);
        config->nodes = overruling;
    }
    return code;
}

/* False: this user has none. */
static bool find_users_file(char path[PATH_MAX])
{
    const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

    if (base != NULL && *base == '/')
        snprintf(path, PATH_MAX, "%s/redlock/redlock.conf", base);
    else if (home != NULL && *home == '/')
        snprintf(path, PATH_MAX, "%s/.config/redlock/redlock.conf", home);
    else
        return false;
    return true;
}

void cli_config_suggest_nodes(void)
{
    char path[PATH_MAX];

    cli_output_hint("fix", "set REDLOCK_NODES, or write lines such as node = redis://host:6379 into %s",
                    find_users_file(path) ? path : MACHINE_FILE);
}

static int read_users_file(struct cli_config *config)
{
    char path[PATH_MAX];

    return find_users_file(path) ? read_file(path, false, config) : 0;
}

static int take_password(struct cli_config *config)
{
    const char *password = getenv("REDLOCK_PASSWORD");

    if (password == NULL || *password == '\0')
        return 0;
    free(config->password);
    config->password = strdup(password);
    return config->password == NULL ? no_memory() : 0;
}

static int take_prefix(const struct cli_options *options, struct cli_config *config)
{
    if (options->prefix == NULL)
        return 0;
    free(config->prefix);
    config->prefix = strdup(options->prefix);
    return config->prefix == NULL ? no_memory() : 0;
}

int64_t cli_config_max_ttl(const struct cli_config *config)
{
    if (config->plain)
        return REDLOCK_TTL_MAX_MS;
    return config->max_ttl_ms != 0 ? config->max_ttl_ms : DEFAULT_MAX_TTL_MS;
}

static int check_ttl(const struct cli_config *config)
{
    int64_t most = cli_config_max_ttl(config);

    if (config->ttl_ms <= most)
        return 0;
    return cli_output_fail(CLI_EXIT_CONFIG, "%s: ttl is above max_ttl (%s)", config->ttl_place,
                           cli_text_span(most).text);
}

/* Redisson's format is one of plain nodes: choosing it chooses the mode, unless somebody chose another. */
static int settle_format(const struct cli_options *options, struct cli_config *config)
{
    config->legacy_seconds = config->legacy_seconds || options->legacy_seconds;
    config->legacy = config->legacy || options->legacy || options->legacy_seconds;
    config->plain = config->plain || options->plain || config->legacy;
    if (options->format != CLI_NOT_GIVEN)
        config->redisson = options->format == REDLOCK_FORMAT_REDISSON;
    if (config->redisson && config->legacy) {
        cli_output_fail(CLI_EXIT_CONFIG, "legacy locks and Redisson's format exclude each other");
        cli_output_hint("fix", "leave out the one or the other");
        return CLI_EXIT_CONFIG;
    }
    if (config->redisson && !config->plain && config->mode_given) {
        cli_output_fail(
            CLI_EXIT_CONFIG,
            "the configuration has mode = guarded, and Redisson's format knows no fence and no guard");
        cli_output_hint("fix", "leave out mode = guarded, or give --plain to say that you know");
        return CLI_EXIT_CONFIG;
    }
    config->plain = config->plain || config->redisson;
    return 0;
}

int cli_config_load(const struct cli_options *options, struct cli_config *config)
{
    *config = (struct cli_config){0};
    int code = nodes_from_caller(options, config);

    if (code == 0 && options->config != NULL)
        code = read_named_file(options->config, config);
    if (code == 0 && config->nodes == NULL)
        code = read_users_file(config);
    if (code == 0 && config->nodes == NULL)
        code = read_file(MACHINE_FILE, false, config);
    if (code == 0)
        code = read_password(config);
    if (code == 0)
        code = take_password(config);
    if (code == 0)
        code = settle_format(options, config);
    if (code == 0)
        code = check_ttl(config);
    return code != 0 ? code : take_prefix(options, config);
}

void cli_config_free(struct cli_config *config)
{
    char *texts[] = {config->nodes,
                     config->prefix,
                     config->user,
                     config->password,
                     config->password_file,
                     config->password_place,
                     config->tls_ca,
                     config->tls_cert,
                     config->tls_key,
                     config->ttl_place,
                     config->require_nodes_place,
                     config->serve.listen,
                     config->serve.unix_path,
                     config->serve.resp,
                     config->serve.access,
                     config->serve.hosts,
                     config->serve.tls_cert,
                     config->serve.tls_key,
                     config->serve.tls_client_ca,
                     config->serve.metrics_name};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        free(texts[i]);
    *config = (struct cli_config){0};
}
