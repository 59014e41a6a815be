/*
 * Where the nodes are and how to talk to them: --nodes, REDLOCK_NODES, --config FILE, the user's file, the machine's.
 * It reads and checks; it connects to nothing.
 *
 * A file that nobody named is only read when the nodes are not known yet: a password that was meant for the nodes of
 * /etc/redlock.conf must not be sent to those of --nodes.
 */
#include "cli/config.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <redlock.h>

#include "cli/exits.h"
#include "cli/output.h"
#include "cli/text.h"

#define MACHINE_FILE "/etc/redlock.conf"
#define TIMEOUT_MAX_MS 600000
#define DEFAULT_MAX_TTL_MS 60000
#define BLANKS " \t\r\n"

static int no_memory(void)
{
    return cli_output_fail(CLI_EXIT_SYSTEM, "out of memory");
}

bool cli_config_has_password(const char *nodes)
{
    while (*nodes != '\0') {
        nodes += strspn(nodes, ", \t\r\n");
        size_t length = strcspn(nodes, ", \t\r\n");
        const char *end = nodes + length, *scheme = strstr(nodes, "://");
        const char *start = scheme != NULL && scheme < end ? scheme + 3 : nodes;
        /* Credentials end at the last @ before the path, and a colon in them starts the password. */
        size_t authority = strcspn(start, "/?# \t\r\n,");
        const char *at = memrchr(start, '@', authority);
        if (at != NULL && memchr(start, ':', (size_t)(at - start)) != NULL)
            return true;
        nodes = end;
    }
    return false;
}

/* ---- one file -------------------------------------------------------------------------------------------- */

struct file {
    const char *path;
    int line;
    bool secret; /* it carries a password */
    struct cli_config *config;
};

static int refuse(const struct file *file, const char *key, const char *words)
{
    return cli_output_fail(CLI_EXIT_CONFIG, "%s:%d: %s %s", file->path, file->line, key, words);
}

static int refuse_value(const struct file *file, const char *key, const char *value, const char *problem)
{
    char words[400];

    snprintf(words, sizeof words, "\"%.200s\" %s", value, problem);
    return refuse(file, key, words);
}

/* Reads a duration between two bounds. */
static int set_span(const struct file *file, const char *key, const char *value, int64_t min_ms,
                    int64_t max_ms, uint32_t *ms)
{
    int64_t span = 0;
    const char *problem = cli_text_read_duration(value, &span);

    if (problem == NULL && span < min_ms)
        problem = "is too short";
    if (problem == NULL && span > max_ms)
        problem = "is too long";
    if (problem != NULL)
        return refuse_value(file, key, value, problem);
    *ms = *ms == 0 ? (uint32_t)span : *ms;
    return 0;
}

/* Keeps what was said first: an earlier file wins over a later one. */
static int set_text(const struct file *file, const char *key, const char *value, char **text)
{
    if (*value == '\0')
        return refuse(file, key, "is empty");
    if (*text != NULL)
        return 0;
    *text = strdup(value);
    return *text == NULL ? no_memory() : 0;
}

static int add_nodes(struct file *file, const char *key, const char *value)
{
    char *nodes = file->config->nodes, *longer = NULL;

    if (*value == '\0')
        return refuse(file, key, "is empty");
    file->secret = file->secret || cli_config_has_password(value);
    if (asprintf(&longer, "%s%s%s", nodes == NULL ? "" : nodes, nodes == NULL ? "" : " ", value) < 0)
        return no_memory();
    free(nodes);
    file->config->nodes = longer;
    return 0;
}

static void warn_if_public(const char *path)
{
    struct stat info;

    if (stat(path, &info) == 0 && (info.st_mode & S_IROTH))
        cli_output_warn("%s carries a password and can be read by everybody; chmod 600 it", path);
}

/* Files are named absolutely or from the folder of the configuration. */
static void find_file(const struct file *file, const char *value, char path[PATH_MAX])
{
    const char *slash = strrchr(file->path, '/');

    if (*value == '/' || slash == NULL)
        snprintf(path, PATH_MAX, "%s", value);
    else
        snprintf(path, PATH_MAX, "%.*s%s", (int)(slash - file->path + 1), file->path, value);
}

static int set_path(const struct file *file, const char *key, const char *value, char **text)
{
    char path[PATH_MAX];

    find_file(file, value, path);
    return set_text(file, key, *value == '\0' ? value : path, text);
}

/* Reads the first line of a password file. */
static int read_password(const struct file *file, const char *key, const char *value, char **password)
{
    char path[PATH_MAX], line[1024];
    FILE *stream;

    if (*password != NULL)
        return 0;
    find_file(file, value, path);
    stream = fopen(path, "re");
    if (stream == NULL)
        return refuse_value(file, key, path, strerror(errno));
    bool read = fgets(line, sizeof line, stream) != NULL;
    fclose(stream);
    if (read)
        line[strcspn(line, "\r\n")] = '\0';
    if (!read || *line == '\0')
        return refuse_value(file, key, path, "has no password in its first line");
    warn_if_public(path);
    *password = strdup(line);
    return *password == NULL ? no_memory() : 0;
}

static int set_drift(const struct file *file, const char *key, const char *value, uint32_t *ppm)
{
    uint32_t number = 0;
    const char *problem = cli_text_read_number(value, 500000, &number);

    if (problem == NULL && number == 0)
        problem = "is too small";
    if (problem != NULL)
        return refuse_value(file, key, value, problem);
    *ppm = *ppm == 0 ? number : *ppm;
    return 0;
}

static int set_mode(const struct file *file, const char *key, const char *value, bool *plain)
{
    if (strcmp(value, "plain") != 0 && strcmp(value, "guarded") != 0)
        return refuse_value(file, key, value, "is neither guarded nor plain");
    *plain = *plain || strcmp(value, "plain") == 0;
    return 0;
}

/* Whether it is too long is known when max_ttl and the mode are, so its place is kept. */
static int set_ttl(const struct file *file, const char *key, const char *value)
{
    struct cli_config *config = file->config;

    if (config->ttl_place == NULL && asprintf(&config->ttl_place, "%s:%d", file->path, file->line) < 0) {
        config->ttl_place = NULL;
        return no_memory();
    }
    return set_span(file, key, value, REDLOCK_TTL_MIN_MS, REDLOCK_TTL_MAX_MS, &config->ttl_ms);
}

static int set_key(struct file *file, const char *key, const char *value)
{
    struct cli_config *config = file->config;
    const struct {
        const char *key;
        char **text;
        int (*set)(const struct file *file, const char *key, const char *value, char **text);
    } texts[] = {
        {"prefix", &config->prefix, set_text},   {"user", &config->user, set_text},
        {"tls_ca", &config->tls_ca, set_path},   {"tls_cert", &config->tls_cert, set_path},
        {"tls_key", &config->tls_key, set_path}, {"password_file", &config->password, read_password}};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (strcmp(key, texts[i].key) == 0)
            return texts[i].set(file, key, value, texts[i].text);
    if (strcmp(key, "node") == 0 || strcmp(key, "nodes") == 0)
        return add_nodes(file, key, value);
    if (strcmp(key, "ttl") == 0)
        return set_ttl(file, key, value);
    if (strcmp(key, "max_ttl") == 0)
        return set_span(file, key, value, REDLOCK_TTL_MIN_MS, REDLOCK_TTL_MAX_MS, &config->max_ttl_ms);
    if (strcmp(key, "mode") == 0)
        return set_mode(file, key, value, &config->plain);
    if (strcmp(key, "connect_timeout") == 0)
        return set_span(file, key, value, 1, TIMEOUT_MAX_MS, &config->connect_timeout_ms);
    if (strcmp(key, "node_timeout") == 0)
        return set_span(file, key, value, 1, TIMEOUT_MAX_MS, &config->node_timeout_ms);
    if (strcmp(key, "drift_ppm") == 0)
        return set_drift(file, key, value, &config->drift_ppm);
    return cli_output_fail(CLI_EXIT_CONFIG, "%s:%d: \"%s\" is not a key that is known", file->path,
                           file->line, key);
}

/* Cuts blanks off both ends. */
static char *trim(char *text)
{
    text += strspn(text, BLANKS);
    size_t length = strlen(text);
    while (length > 0 && strchr(BLANKS, text[length - 1]) != NULL)
        length--;
    text[length] = '\0';
    return text;
}

/* A comment starts at the first # of a line, or at one behind a blank: # may be part of a value. */
static void cut_comment(char *line)
{
    for (char *c = line; *c != '\0'; c++)
        if (*c == '#' && (c == line || c[-1] == ' ' || c[-1] == '\t')) {
            *c = '\0';
            return;
        }
}

static int read_line(struct file *file, char *line)
{
    cut_comment(line);
    char *key = trim(line);
    char *equals = strchr(key, '=');

    if (*key == '\0')
        return 0;
    if (equals == NULL)
        return cli_output_fail(CLI_EXIT_CONFIG, "%s:%d: this is not a \"key = value\" line", file->path,
                               file->line);
    *equals = '\0';
    return set_key(file, trim(key), trim(equals + 1));
}

/* Reads a file. One that nobody named may be missing. */
static int read_file(const char *path, bool named, struct cli_config *config)
{
    struct file file = {.path = path, .config = config};
    FILE *stream = fopen(path, "re");
    char *line = NULL;
    size_t size = 0;
    int code = 0;

    if (stream == NULL && !named && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    if (stream == NULL)
        return cli_output_fail(CLI_EXIT_CONFIG, "%s: %s", path, strerror(errno));
    errno = 0;
    while (code == 0 && getline(&line, &size, stream) >= 0) {
        file.line++;
        code = read_line(&file, line);
    }
    if (code == 0 && ferror(stream))
        code = cli_output_fail(CLI_EXIT_CONFIG, "%s: %s", path, strerror(errno));
    free(line);
    fclose(stream);
    if (code == 0 && file.secret)
        warn_if_public(path);
    return code;
}

/* ---- all sources in their order --------------------------------------------------------------------------- */

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

static int read_users_file(struct cli_config *config)
{
    const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    char path[PATH_MAX];

    if (base != NULL && *base == '/')
        snprintf(path, sizeof path, "%s/redlock/redlock.conf", base);
    else if (home != NULL && *home == '/')
        snprintf(path, sizeof path, "%s/.config/redlock/redlock.conf", home);
    else
        return 0;
    return read_file(path, false, config);
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
        code = take_password(config);
    config->plain = config->plain || options->plain;
    if (code == 0)
        code = check_ttl(config);
    return code != 0 ? code : take_prefix(options, config);
}

void cli_config_free(struct cli_config *config)
{
    char *texts[] = {config->nodes,  config->prefix,   config->user,    config->password,
                     config->tls_ca, config->tls_cert, config->tls_key, config->ttl_place};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        free(texts[i]);
    *config = (struct cli_config){0};
}
