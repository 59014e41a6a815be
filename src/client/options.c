/*
 * Options and their defaults; see options.h.
 */
#include "client/options.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/memory.h"

enum {
    DEFAULT_CONNECT_TIMEOUT_MS = 1000,
    DEFAULT_NODE_TIMEOUT_MS = 500,
    DEFAULT_DRIFT_PPM = 10000,
    DEFAULT_RETRY_MIN_MS = 10,
    DEFAULT_RETRY_MAX_MS = 500,
    DEFAULT_MAX_TTL_MS = 60000,
    TIMEOUT_MAX_MS = 600000,
    DRIFT_MAX_PPM = 500000
};

static uint32_t or_default(uint32_t value, uint32_t standard)
{
    return value != 0 ? value : standard;
}

static const char *check_numbers(const redlock_options *options)
{
    if (options->mode != REDLOCK_GUARDED && options->mode != REDLOCK_PLAIN)
        return "mode is neither REDLOCK_GUARDED nor REDLOCK_PLAIN";
    if (options->max_ttl_ms > REDLOCK_TTL_MAX_MS)
        return "max_ttl_ms is above 86400000 (one day)";
    if (options->max_ttl_ms != 0 && options->max_ttl_ms < REDLOCK_TTL_MIN_MS)
        return "max_ttl_ms is below 50";
    if (options->connect_timeout_ms > TIMEOUT_MAX_MS)
        return "connect_timeout_ms is above 600000 (ten minutes)";
    if (options->node_timeout_ms > TIMEOUT_MAX_MS)
        return "node_timeout_ms is above 600000 (ten minutes)";
    if (options->drift_ppm > DRIFT_MAX_PPM)
        return "drift_ppm is above 500000 (half of all time)";
    if (options->retry_max_ms > TIMEOUT_MAX_MS)
        return "retry_max_ms is above 600000 (ten minutes)";
    if (or_default(options->retry_min_ms, DEFAULT_RETRY_MIN_MS) >
        or_default(options->retry_max_ms, DEFAULT_RETRY_MAX_MS))
        return "retry_min_ms is above retry_max_ms";
    return NULL;
}

/* Words end up in commands and owner values: no control bytes, no spaces in the client's name. */
static const char *check_texts(const redlock_options *options)
{
    if (options->client_name != NULL)
        for (const char *at = options->client_name; *at != '\0'; at++)
            if (*at < '!' || *at > '~')
                return "client_name has a space or a byte that is not printable ASCII";
    if (options->client_name != NULL && strlen(options->client_name) > 128)
        return "client_name is longer than 128 bytes";
    if (options->key_prefix != NULL && strlen(options->key_prefix) >= REDLOCK_NAME_MAX)
        return "key_prefix leaves no room for a name";
    if ((options->tls_cert_file == NULL) != (options->tls_key_file == NULL))
        return "tls_cert_file and tls_key_file need each other";
    if (options->allocator != NULL &&
        (options->allocator->allocate == NULL || options->allocator->release == NULL))
        return "allocator lacks one of its two functions";
    return NULL;
}

static void find_host(char *host, size_t size)
{
    if (gethostname(host, size) != 0)
        snprintf(host, size, "?");
    host[size - 1] = '\0';
}

static void find_login(char *login, size_t size)
{
    struct passwd entry, *found = NULL;
    char buffer[4096];

    if (getpwuid_r(geteuid(), &entry, buffer, sizeof buffer, &found) == 0 && found != NULL)
        snprintf(login, size, "%s", found->pw_name);
    else
        snprintf(login, size, "%lu", (unsigned long)geteuid());
}

static const char *copy_text(char **at, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = memcpy(*at, text, size);

    *at += size;
    return copy;
}

/* Owned copies of all texts, in one block. */
static bool copy_texts(struct rl_config *config, const redlock_options *options)
{
    char host_buffer[65], login_buffer[65], *at;
    const char *prefix = options->key_prefix != NULL ? options->key_prefix : "";
    const char *name = options->client_name != NULL ? options->client_name : "redlock";
    const char *host = options->host, *login = options->login;

    if (host == NULL)
        find_host(host_buffer, sizeof host_buffer), host = host_buffer;
    if (login == NULL)
        find_login(login_buffer, sizeof login_buffer), login = login_buffer;
    config->texts_size = strlen(prefix) + strlen(name) + strlen(host) + strlen(login) + 4;
    config->texts = at = config->allocator.allocate(config->allocator.context, config->texts_size);
    if (at == NULL)
        return false;
    config->key_prefix = copy_text(&at, prefix);
    config->key_prefix_length = strlen(prefix);
    config->client_name = copy_text(&at, name);
    config->host = copy_text(&at, host);
    config->login = copy_text(&at, login);
    return true;
}

redlock_result rl_config_make(struct rl_config *config, const redlock_options *options, char *error,
                              size_t error_size)
{
    const char *wrong = check_numbers(options);

    if (wrong == NULL)
        wrong = check_texts(options);
    if (wrong != NULL) {
        snprintf(error, error_size, "%s", wrong);
        return REDLOCK_INVALID;
    }
    *config = (struct rl_config){
        .anonymous = options->anonymous != 0,
        .pid = options->pid != 0 ? options->pid : (uint32_t)getpid(),
        .guarded = options->mode == REDLOCK_GUARDED,
        .max_ttl = rl_span_ms(or_default(options->max_ttl_ms, DEFAULT_MAX_TTL_MS)),
        .drift_ppm = or_default(options->drift_ppm, DEFAULT_DRIFT_PPM),
        .connect_timeout = rl_span_ms(or_default(options->connect_timeout_ms, DEFAULT_CONNECT_TIMEOUT_MS)),
        .node_timeout = rl_span_ms(or_default(options->node_timeout_ms, DEFAULT_NODE_TIMEOUT_MS)),
        .retry_min = rl_span_ms(or_default(options->retry_min_ms, DEFAULT_RETRY_MIN_MS)),
        .retry_max = rl_span_ms(or_default(options->retry_max_ms, DEFAULT_RETRY_MAX_MS)),
        .allocator = options->allocator != NULL ? *options->allocator : rl_system_allocator(),
        .log = options->log,
        .log_context = options->log_context,
        .trace = options->trace,
        .trace_context = options->trace_context,
    };
    if (copy_texts(config, options))
        return REDLOCK_OK;
    snprintf(error, error_size, "out of memory");
    return REDLOCK_NOMEM;
}

void rl_config_free(struct rl_config *config)
{
    if (config->texts != NULL)
        config->allocator.release(config->allocator.context, config->texts, config->texts_size);
    config->texts = NULL;
}
