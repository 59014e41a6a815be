/*
 * Reads the bytes of a configuration file, line by line; see config_file.h. Only what a line may say is here:
 * which files there are, and what happens to a password file, is config.c's business.
 */
#include "cli/config_file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <redlock.h>

#include "cli/exits.h"
#include "cli/text.h"

#define TIMEOUT_MAX_MS 600000
#define COUNT_MAX 1000000
#define SERVE_SPAN_MAX_MS 86400000
#define SEPARATORS ", \t\n\v\f\r" /* of a list of nodes, as rl_node_url_next() has them */
#define BLANKS " \t\r\n"

struct file {
    const char *path;
    struct cli_config *config;
    struct cli_config_notes *notes;
};

/* Finds the next password in a list of nodes, from its colon to the @ behind it, and moves on past it.
 * Credentials end at the last @ before the path, and a colon in them starts the password. */
static bool next_password(const char **list, const char **colon, const char **at)
{
    while (**list != '\0') {
        const char *node = *list + strspn(*list, SEPARATORS);
        const char *end = node + strcspn(node, SEPARATORS), *scheme = strstr(node, "://");
        const char *start = scheme != NULL && scheme < end ? scheme + 3 : node;
        *list = end;
        *at = memrchr(start, '@', strcspn(start, "/?" SEPARATORS));
        *colon = *at == NULL ? NULL : memchr(start, ':', (size_t)(*at - start));
        if (*colon != NULL)
            return true;
    }
    return false;
}

bool cli_config_has_password(const char *nodes)
{
    const char *colon, *at;

    return next_password(&nodes, &colon, &at);
}

char *cli_config_without_passwords(const char *nodes)
{
    char *copy = strdup(nodes), *to = copy;
    const char *from = nodes, *colon, *at;

    while (copy != NULL && next_password(&nodes, &colon, &at)) {
        to = mempcpy(to, from, (size_t)(colon - from));
        /* With nobody before the colon the @ goes too. */
        from = colon > from && colon[-1] != '/' && strchr(SEPARATORS, colon[-1]) == NULL ? at : at + 1;
    }
    if (copy != NULL)
        strcpy(to, from);
    return copy;
}

static int refuse(const struct file *file, const char *key, const char *words)
{
    snprintf(file->notes->words, sizeof file->notes->words, "%.80s %s", key, words);
    return CLI_EXIT_CONFIG;
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
    return *text == NULL ? CLI_EXIT_SYSTEM : 0;
}

static int add_nodes(const struct file *file, const char *key, const char *value)
{
    char *nodes = file->config->nodes, *longer = NULL;

    if (*value == '\0')
        return refuse(file, key, "is empty");
    file->notes->secret = file->notes->secret || cli_config_has_password(value);
    if (asprintf(&longer, "%s%s%s", nodes == NULL ? "" : nodes, nodes == NULL ? "" : " ", value) < 0)
        return CLI_EXIT_SYSTEM;
    free(nodes);
    file->config->nodes = longer;
    return 0;
}

/* Remembers the line, for what can only be said later. */
static int set_place(const struct file *file, char **place)
{
    if (*place != NULL || asprintf(place, "%s:%d", file->path, file->notes->line) >= 0)
        return 0;
    *place = NULL;
    return CLI_EXIT_SYSTEM;
}

/* Files are named absolutely or from the folder of the configuration. */
static int set_path(const struct file *file, const char *key, const char *value, char **text)
{
    const char *slash = strrchr(file->path, '/');
    int folder = *value == '/' || slash == NULL ? 0 : (int)(slash - file->path + 1);
    char path[PATH_MAX];

    if (*value == '\0')
        return refuse(file, key, "is empty");
    if (snprintf(path, sizeof path, "%.*s%s", folder, file->path, value) >= (int)sizeof path)
        return refuse(file, key, "is too long");
    return set_text(file, key, path, text);
}

/* The password itself is read where files are opened. */
static int set_password_file(const struct file *file, const char *key, const char *value, char **text)
{
    int code = set_path(file, key, value, text);

    return code != 0 ? code : set_place(file, &file->config->password_place);
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

static int set_count(const struct file *file, const char *key, const char *value, uint32_t *count)
{
    uint32_t number = 0;
    const char *problem = cli_text_read_number(value, COUNT_MAX, &number);

    if (problem == NULL && number == 0)
        problem = "is too small";
    if (problem != NULL)
        return refuse_value(file, key, value, problem);
    *count = *count == 0 ? number : *count;
    return 0;
}

static int set_mode(const struct file *file, const char *key, const char *value)
{
    bool seconds = strcmp(value, "legacy-seconds") == 0, legacy = seconds || strcmp(value, "legacy") == 0;
    bool plain = legacy || strcmp(value, "plain") == 0;

    if (!plain && strcmp(value, "guarded") != 0)
        return refuse_value(file, key, value, "is none of guarded, plain, legacy and legacy-seconds");
    if (!file->config->mode_given) {
        file->config->plain = plain;
        file->config->legacy = legacy;
        file->config->legacy_seconds = seconds;
    }
    file->config->mode_given = true;
    return 0;
}

static int set_format(const struct file *file, const char *key, const char *value)
{
    bool redisson = strcmp(value, "redisson") == 0;

    if (!redisson && strcmp(value, "common") != 0)
        return refuse_value(file, key, value, "is neither common nor redisson");
    if (!file->config->format_given)
        file->config->redisson = redisson;
    file->config->format_given = true;
    return 0;
}

/* Whether nodes must be configured. */
static int set_require_nodes(const struct file *file, const char *key, const char *value)
{
    struct cli_config *config = file->config;
    bool yes = strcmp(value, "yes") == 0;

    if (!yes && strcmp(value, "no") != 0)
        return refuse_value(file, key, value, "is neither yes nor no");
    if (config->require_nodes_given)
        return 0;
    config->require_nodes_given = true;
    config->require_nodes = yes;
    return yes ? set_place(file, &config->require_nodes_place) : 0;
}

static int set_break(const struct file *file, const char *key, const char *value)
{
    bool yes = strcmp(value, "yes") == 0;

    if (!yes && strcmp(value, "no") != 0)
        return refuse_value(file, key, value, "is neither yes nor no");
    file->config->serve.may_break = yes;
    return 0;
}

/* Whether it is too long is known when max_ttl and the mode are, so its place is kept. */
static int set_ttl(const struct file *file, const char *key, const char *value)
{
    struct cli_config *config = file->config;
    int code = set_place(file, &config->ttl_place);

    return code != 0 ? code
                     : set_span(file, key, value, REDLOCK_TTL_MIN_MS, REDLOCK_TTL_MAX_MS, &config->ttl_ms);
}

/* Names the nearest key to one that is not known. */
static int refuse_key(const struct file *file, const char *key)
{
    static const char *const keys[] = {"node",
                                       "nodes",
                                       "prefix",
                                       "user",
                                       "password_file",
                                       "tls_ca",
                                       "tls_cert",
                                       "tls_key",
                                       "ttl",
                                       "max_ttl",
                                       "mode",
                                       "format",
                                       "require_nodes",
                                       "connect_timeout",
                                       "node_timeout",
                                       "drift_ppm",
                                       "serve_listen",
                                       "serve_unix",
                                       "serve_resp",
                                       "serve_access",
                                       "serve_hosts",
                                       "serve_tls_cert",
                                       "serve_tls_key",
                                       "serve_tls_client_ca",
                                       "serve_max_wait",
                                       "serve_max_hold",
                                       "serve_metrics_name",
                                       "serve_break",
                                       "serve_max_connections",
                                       "serve_max_waiters"};
    const char *near = NULL;
    int least = 4;

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        int distance = cli_text_distance(keys[i], key);
        if (distance < least && distance < (int)strlen(keys[i])) {
            near = keys[i];
            least = distance;
        }
    }
    if (near == NULL)
        snprintf(file->notes->words, sizeof file->notes->words, "unknown key \"%.200s\"", key);
    else
        snprintf(file->notes->words, sizeof file->notes->words, "unknown key \"%.200s\"; did you mean %s?",
                 key, near);
    return CLI_EXIT_CONFIG;
}

static int set_key(const struct file *file, const char *key, const char *value)
{
    struct cli_config *config = file->config;
    const struct {
        const char *key;
        char **text;
        int (*set)(const struct file *file, const char *key, const char *value, char **text);
    } texts[] = {{"prefix", &config->prefix, set_text},
                 {"user", &config->user, set_text},
                 {"tls_ca", &config->tls_ca, set_path},
                 {"tls_cert", &config->tls_cert, set_path},
                 {"tls_key", &config->tls_key, set_path},
                 {"password_file", &config->password_file, set_password_file},
                 {"serve_listen", &config->serve.listen, set_text},
                 {"serve_unix", &config->serve.unix_path, set_path},
                 {"serve_resp", &config->serve.resp, set_text},
                 {"serve_access", &config->serve.access, set_path},
                 {"serve_hosts", &config->serve.hosts, set_text},
                 {"serve_metrics_name", &config->serve.metrics_name, set_text},
                 {"serve_tls_cert", &config->serve.tls_cert, set_path},
                 {"serve_tls_key", &config->serve.tls_key, set_path},
                 {"serve_tls_client_ca", &config->serve.tls_client_ca, set_path}};

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
        return set_mode(file, key, value);
    if (strcmp(key, "format") == 0)
        return set_format(file, key, value);
    if (strcmp(key, "require_nodes") == 0)
        return set_require_nodes(file, key, value);
    if (strcmp(key, "connect_timeout") == 0)
        return set_span(file, key, value, 1, TIMEOUT_MAX_MS, &config->connect_timeout_ms);
    if (strcmp(key, "node_timeout") == 0)
        return set_span(file, key, value, 1, TIMEOUT_MAX_MS, &config->node_timeout_ms);
    if (strcmp(key, "drift_ppm") == 0)
        return set_drift(file, key, value, &config->drift_ppm);
    if (strcmp(key, "serve_break") == 0)
        return set_break(file, key, value);
    if (strcmp(key, "serve_max_wait") == 0)
        return set_span(file, key, value, 1, SERVE_SPAN_MAX_MS, &config->serve.max_wait_ms);
    if (strcmp(key, "serve_max_hold") == 0)
        return set_span(file, key, value, 1, SERVE_SPAN_MAX_MS, &config->serve.max_hold_ms);
    if (strcmp(key, "serve_max_connections") == 0)
        return set_count(file, key, value, &config->serve.max_connections);
    if (strcmp(key, "serve_max_waiters") == 0)
        return set_count(file, key, value, &config->serve.max_waiters);
    return refuse_key(file, key);
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

static int read_line(const struct file *file, char *line)
{
    cut_comment(line);
    char *key = trim(line);
    char *equals = strchr(key, '=');

    if (*key == '\0')
        return 0;
    if (equals == NULL)
        return refuse(file, "this", "is not a \"key = value\" line");
    *equals = '\0';
    return set_key(file, trim(key), trim(equals + 1));
}

/* Reads lines out of bytes that it may write to. */
static int read_lines(const struct file *file, char *bytes, size_t length)
{
    char *line = bytes, *past = bytes + length;
    int code = 0;

    while (code == 0 && line < past) {
        char *newline = memchr(line, '\n', (size_t)(past - line));
        char *end = newline != NULL ? newline : past;

        *end = '\0';
        file->notes->line++;
        code = strlen(line) == (size_t)(end - line) ? read_line(file, line)
                                                    : refuse(file, "this line", "has a NUL in it");
        line = end + 1;
    }
    return code;
}

int cli_config_file_read(const char *path, const char *bytes, size_t length, struct cli_config *config,
                         struct cli_config_notes *notes)
{
    // cppcheck-suppress ctuuninitvar ; notes are filled in here
    const struct file file = {path, config, notes};
    char *copy = malloc(length + 1);
    int code;

    *notes = (struct cli_config_notes){0};
    if (copy == NULL)
        return CLI_EXIT_SYSTEM;
    memcpy(copy, bytes, length);
    code = read_lines(&file, copy, length);
    free(copy);
    return code;
}
