/*
 * Checks options, and keeps them with defaults filled in; see config.h.
 */
#include "engine/config.h"

#include <assert.h>
#include <string.h>

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
    if (options->format != REDLOCK_FORMAT_COMMON && options->format != REDLOCK_FORMAT_REDISSON)
        return "format is neither REDLOCK_FORMAT_COMMON nor REDLOCK_FORMAT_REDISSON";
    if (options->format == REDLOCK_FORMAT_REDISSON && options->mode != REDLOCK_PLAIN)
        return "REDLOCK_FORMAT_REDISSON needs REDLOCK_PLAIN: Redisson knows no fence and no guard";
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

const char *rl_config_check(const redlock_options *options)
{
    const char *wrong = check_numbers(options);

    return wrong != NULL ? wrong : check_texts(options);
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
    const char *prefix = options->key_prefix != NULL ? options->key_prefix : "";
    const char *name = options->client_name != NULL ? options->client_name : "redlock";
    char *at;

    config->texts_size = strlen(prefix) + strlen(name) + strlen(options->host) + strlen(options->login) + 4;
    config->texts = at = config->allocator.allocate(config->allocator.context, config->texts_size);
    if (at == NULL)
        return false;
    config->key_prefix = copy_text(&at, prefix);
    config->key_prefix_length = strlen(prefix);
    config->client_name = copy_text(&at, name);
    config->host = copy_text(&at, options->host);
    config->login = copy_text(&at, options->login);
    return true;
}

bool rl_config_make(struct rl_config *config, const redlock_options *options)
{
    assert(options->host != NULL && options->login != NULL && options->allocator != NULL);
    *config = (struct rl_config){
        .anonymous = options->anonymous != 0,
        .pid = options->pid,
        .guarded = options->mode == REDLOCK_GUARDED,
        .format = options->format,
        .max_ttl = rl_span_ms(or_default(options->max_ttl_ms, DEFAULT_MAX_TTL_MS)),
        .drift_ppm = or_default(options->drift_ppm, DEFAULT_DRIFT_PPM),
        .connect_timeout = rl_span_ms(or_default(options->connect_timeout_ms, DEFAULT_CONNECT_TIMEOUT_MS)),
        .node_timeout = rl_span_ms(or_default(options->node_timeout_ms, DEFAULT_NODE_TIMEOUT_MS)),
        .retry_min = rl_span_ms(or_default(options->retry_min_ms, DEFAULT_RETRY_MIN_MS)),
        .retry_max = rl_span_ms(or_default(options->retry_max_ms, DEFAULT_RETRY_MAX_MS)),
        .allocator = *options->allocator,
        .log = options->log,
        .log_context = options->log_context,
        .trace = options->trace,
        .trace_context = options->trace_context,
    };
    return copy_texts(config, options);
}

void rl_config_free(struct rl_config *config)
{
    if (config->texts != NULL)
        config->allocator.release(config->allocator.context, config->texts, config->texts_size);
    config->texts = NULL;
}
