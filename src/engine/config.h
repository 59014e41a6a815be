/*
 * What a client was opened with: options, checked and with defaults filled in. Node URLs are not among them.
 */
#ifndef RL_ENGINE_CONFIG_H
#define RL_ENGINE_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"
#include "redlock.h"

/* Texts are owned. */
struct rl_config {
    char *texts; /* one block for all of them */
    size_t texts_size;
    const char *key_prefix;
    size_t key_prefix_length;
    const char *client_name;
    const char *host;
    const char *login;
    uint32_t pid; /* a forked child cannot use the client, so it stays true */
    bool anonymous;
    bool guarded;
    redlock_format format;
    struct rl_span max_ttl;
    uint32_t drift_ppm;
    struct rl_span connect_timeout;
    struct rl_span node_timeout;
    struct rl_span retry_min;
    struct rl_span retry_max;
    redlock_allocator allocator;
    void (*log)(void *context, redlock_log_level level, const char *line);
    void *log_context;
    void (*trace)(void *context, const char *line);
    void *trace_context;
};

/* What is wrong with options, and with which; NULL nothing. */
const char *rl_config_check(const redlock_options *options);

/* Copies options that were checked and name a host, a login, a process and an allocator; false: no memory,
 * and nothing is kept. */
bool rl_config_make(struct rl_config *config, const redlock_options *options);
void rl_config_free(struct rl_config *config);

#endif
