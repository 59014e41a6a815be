/*
 * Takes any bytes for a configuration file and compares with a twin that looks every key up on its own, from
 * the whole text. What is accepted must also be accepted again when it is written down, and mean the same.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/config.h"
#include "cli/exits.h"
#include "cli/text.h"
#include "wire/node_url.h"

#define CHECK(fact) ((fact) ? (void)0 : (fprintf(stderr, "does not hold: %s\n", #fact), abort()))
#define FOLDER "/etc/redlock.d/"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LINES_MAX = 200, SIZE_MAX_TRIED = 8192 };

/* ---- the twin ---- */

struct line {
    char *key, *value; /* key "": nothing there; value NULL: no equals sign */
    bool nul;
};

struct twin {
    char *bytes;
    struct line lines[LINES_MAX];
    int count;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static char *without_blanks(char *text)
{
    while (is_blank(*text))
        text++;
    while (*text != '\0' && is_blank(text[strlen(text) - 1]))
        text[strlen(text) - 1] = '\0';
    return text;
}

static void split_line(struct line *line, char *text, size_t length)
{
    line->nul = strlen(text) != length;
    for (size_t i = 0; i < length; i++)
        if (text[i] == '#' && (i == 0 || text[i - 1] == ' ' || text[i - 1] == '\t'))
            memset(text + i, '\0', length - i);
    line->value = strchr(text, '=');
    if (line->value != NULL)
        *line->value++ = '\0';
    line->key = without_blanks(text);
    line->value = line->value != NULL ? without_blanks(line->value) : NULL;
}

/* Every line ends with a newline, except that the last one need not. */
static bool split(struct twin *twin, const uint8_t *data, size_t size)
{
    char *text = calloc(1, size + 2);

    CHECK(text != NULL);
    memcpy(text, data, size);
    twin->bytes = text;
    twin->count = 0;
    for (char *at = text; at < text + size; twin->count++) {
        char *end = memchr(at, '\n', (size_t)(text + size - at));
        size_t length = end != NULL ? (size_t)(end - at) : (size_t)(text + size - at);

        if (twin->count == LINES_MAX)
            return false;
        at[length] = '\0';
        split_line(&twin->lines[twin->count], at, length);
        at += length + 1;
    }
    return true;
}

/* Which value is allowed for which key: what redlock.conf(5) says. */
static const struct {
    const char *key;
    char kind; /* n node, t text, p path, d duration, i number, m mode */
    int64_t min, max;
} keys[] = {{"node", 'n', 0, 0},
            {"nodes", 'n', 0, 0},
            {"prefix", 't', 0, 0},
            {"user", 't', 0, 0},
            {"password_file", 'p', 0, 0},
            {"tls_ca", 'p', 0, 0},
            {"tls_cert", 'p', 0, 0},
            {"tls_key", 'p', 0, 0},
            {"mode", 'm', 0, 0},
            {"max_ttl", 'd', 50, 86400000},
            {"ttl", 'd', 50, 86400000},
            {"connect_timeout", 'd', 1, 600000},
            {"node_timeout", 'd', 1, 600000},
            {"drift_ppm", 'i', 1, 500000},
            {"serve_listen", 't', 0, 0},
            {"serve_unix", 'p', 0, 0},
            {"serve_resp", 't', 0, 0},
            {"serve_access", 'p', 0, 0},
            {"serve_hosts", 't', 0, 0},
            {"serve_tls_cert", 'p', 0, 0},
            {"serve_tls_key", 'p', 0, 0},
            {"serve_tls_client_ca", 'p', 0, 0},
            {"serve_max_wait", 'd', 1, 86400000},
            {"serve_max_hold", 'd', 1, 86400000},
            {"serve_max_connections", 'i', 1, 1000000},
            {"serve_max_waiters", 'i', 1, 1000000}};

static bool allows(size_t which, const char *value)
{
    int64_t ms = 0;
    uint32_t number = 0;

    switch (keys[which].kind) {
    case 'd':
        return cli_text_read_duration(value, &ms) == NULL && ms >= keys[which].min && ms <= keys[which].max;
    case 'i':
        return cli_text_read_number(value, UINT32_MAX, &number) == NULL && number >= keys[which].min &&
               number <= keys[which].max;
    case 'm':
        return strcmp(value, "plain") == 0 || strcmp(value, "guarded") == 0;
    case 'p':
        return *value != '\0' && strlen(value) + (*value == '/' ? 0 : strlen(FOLDER)) < 4096;
    default:
        return *value != '\0';
    }
}

static bool is_right(const struct line *line)
{
    if (line->nul || (line->value == NULL && *line->key != '\0'))
        return false;
    if (line->value == NULL)
        return true;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcmp(line->key, keys[i].key) == 0)
            return allows(i, line->value);
    return false;
}

/* The first value of a key, NULL there is none. */
static const char *first(const struct twin *twin, const char *key)
{
    for (int i = 0; i < twin->count; i++)
        if (twin->lines[i].value != NULL && strcmp(twin->lines[i].key, key) == 0)
            return twin->lines[i].value;
    return NULL;
}

/* ---- the comparison ---- */

static void check_text(const char *text, const char *wanted)
{
    CHECK((text == NULL) == (wanted == NULL));
    CHECK(text == NULL || strcmp(text, wanted) == 0);
}

static void check_path(const char *path, const char *wanted)
{
    char resolved[4200];

    if (wanted != NULL)
        snprintf(resolved, sizeof resolved, "%s%s", *wanted == '/' ? "" : FOLDER, wanted);
    check_text(path, wanted != NULL ? resolved : NULL);
}

static void check_span(uint32_t ms, const char *wanted)
{
    int64_t span = 0;

    CHECK(wanted == NULL || cli_text_read_duration(wanted, &span) == NULL);
    CHECK(ms == span);
}

static void check_count(uint32_t count, const char *wanted)
{
    CHECK(count == (wanted != NULL ? strtoul(wanted, NULL, 10) : 0));
}

/* All node lines, one after the other. */
static void check_nodes(const struct twin *twin, const char *nodes)
{
    static char wanted[2 * SIZE_MAX_TRIED];
    size_t used = 0;

    wanted[0] = '\0';
    for (int i = 0; i < twin->count; i++) {
        const struct line *line = &twin->lines[i];

        if (strcmp(line->key, "node") == 0 || strcmp(line->key, "nodes") == 0)
            used += (size_t)sprintf(wanted + used, "%s%s", used > 0 ? " " : "", line->value);
    }
    check_text(nodes, used > 0 ? wanted : NULL);
}

static void compare(const struct twin *twin, const struct cli_config *config)
{
    const char *drift = first(twin, "drift_ppm"), *mode = first(twin, "mode");

    check_nodes(twin, config->nodes);
    check_text(config->prefix, first(twin, "prefix"));
    check_text(config->user, first(twin, "user"));
    check_path(config->password_file, first(twin, "password_file"));
    check_path(config->tls_ca, first(twin, "tls_ca"));
    check_path(config->tls_cert, first(twin, "tls_cert"));
    check_path(config->tls_key, first(twin, "tls_key"));
    check_span(config->ttl_ms, first(twin, "ttl"));
    check_span(config->max_ttl_ms, first(twin, "max_ttl"));
    check_span(config->connect_timeout_ms, first(twin, "connect_timeout"));
    check_span(config->node_timeout_ms, first(twin, "node_timeout"));
    check_text(config->serve.listen, first(twin, "serve_listen"));
    check_path(config->serve.unix_path, first(twin, "serve_unix"));
    check_text(config->serve.resp, first(twin, "serve_resp"));
    check_path(config->serve.access, first(twin, "serve_access"));
    check_text(config->serve.hosts, first(twin, "serve_hosts"));
    check_path(config->serve.tls_cert, first(twin, "serve_tls_cert"));
    check_path(config->serve.tls_key, first(twin, "serve_tls_key"));
    check_path(config->serve.tls_client_ca, first(twin, "serve_tls_client_ca"));
    check_span(config->serve.max_wait_ms, first(twin, "serve_max_wait"));
    check_span(config->serve.max_hold_ms, first(twin, "serve_max_hold"));
    check_count(config->serve.max_connections, first(twin, "serve_max_connections"));
    check_count(config->serve.max_waiters, first(twin, "serve_max_waiters"));
    CHECK(config->drift_ppm == (drift != NULL ? strtoul(drift, NULL, 10) : 0));
    CHECK(config->plain == (mode != NULL && strcmp(mode, "plain") == 0));
    CHECK((config->ttl_place != NULL) == (config->ttl_ms != 0));
    CHECK((config->password_place != NULL) == (config->password_file != NULL));
    CHECK(config->password == NULL);
}

static void write_text(FILE *to, const char *key, const char *value)
{
    if (value != NULL)
        fprintf(to, "%s=%s\n", key, value);
}

static void write_span(FILE *to, const char *key, uint32_t ms)
{
    if (ms != 0)
        fprintf(to, "%s =\t%ums # as it was\r\n", key, ms);
}

/* Commas part them as well as blanks do, and no # behind one begins a comment. */
static void write_nodes(FILE *to, const char *nodes)
{
    fputs("nodes=", to);
    for (; *nodes != '\0'; nodes++)
        fputc(*nodes == ' ' || *nodes == '\t' ? ',' : *nodes, to);
    fputc('\n', to);
}

static char *write_down(const struct cli_config *config)
{
    char *bytes = NULL;
    size_t size;
    FILE *to = open_memstream(&bytes, &size);

    CHECK(to != NULL);
    if (config->nodes != NULL)
        write_nodes(to, config->nodes);
    write_text(to, "prefix", config->prefix);
    write_text(to, "user", config->user);
    write_text(to, "password_file", config->password_file);
    write_text(to, "tls_ca", config->tls_ca);
    write_text(to, "tls_cert", config->tls_cert);
    write_text(to, "tls_key", config->tls_key);
    write_text(to, "mode", config->plain ? "plain" : "guarded");
    write_span(to, "ttl", config->ttl_ms);
    write_span(to, "max_ttl", config->max_ttl_ms);
    write_span(to, "connect_timeout", config->connect_timeout_ms);
    write_span(to, "node_timeout", config->node_timeout_ms);
    if (config->drift_ppm != 0)
        fprintf(to, "drift_ppm = %u", config->drift_ppm); /* the last line may lack its end */
    fclose(to);
    return bytes;
}

static void check_again(const struct cli_config *config)
{
    char *bytes = write_down(config), *twice;
    struct cli_config again = {0};
    struct cli_config_notes notes;

    CHECK(cli_config_file_read("elsewhere/redlock.conf", bytes, strlen(bytes), &again, &notes) == 0);
    twice = write_down(&again);
    CHECK(strcmp(bytes, twice) == 0);
    free(bytes);
    free(twice);
    cli_config_free(&again);
}

/* A password that a URL carries is seen by whoever decides whether others may see it. */
static void check_secret(const char *nodes, bool secret)
{
    const char *cursor = nodes, *url;
    size_t length;

    while (nodes != NULL && (url = rl_node_url_next(&cursor, &length)) != NULL) {
        struct rl_node_url parsed;

        CHECK(rl_node_url_parse(url, length, &parsed) != NULL || parsed.password[0] == '\0' || secret);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct twin twin;
    struct cli_config config = {0};
    struct cli_config_notes notes;
    int wrong = 0;

    if (size > SIZE_MAX_TRIED)
        return 0;
    int code = cli_config_file_read(FOLDER "redlock.conf", (const char *)data, size, &config, &notes);
    if (split(&twin, data, size)) {
        while (wrong < twin.count && is_right(&twin.lines[wrong]))
            wrong++;
        CHECK(code == (wrong == twin.count ? 0 : CLI_EXIT_CONFIG));
        CHECK(notes.line == (code == 0 ? twin.count : wrong + 1));
        CHECK((notes.words[0] != '\0') == (code != 0) && strchr(notes.words, '\n') == NULL);
    }
    if (code == 0 && twin.count < LINES_MAX) {
        compare(&twin, &config);
        check_again(&config);
        check_secret(config.nodes, notes.secret);
    }
    free(twin.bytes);
    cli_config_free(&config);
    return 0;
}
