/*
 * Where the nodes are and how to talk to them: --nodes, REDLOCK_NODES, --config FILE, the user's file, the machine's.
 * It reads and checks; it connects to nothing.
 */
#ifndef CLI_CONFIG_H
#define CLI_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/options.h"

/* Texts are NULL and numbers 0 when nothing was configured. */
struct cli_config {
    char *nodes; /* NULL: the five local ones */
    char *prefix, *user, *password;
    char *tls_ca, *tls_cert, *tls_key;
    uint32_t ttl_ms, max_ttl_ms, connect_timeout_ms, node_timeout_ms, drift_ppm;
    bool plain;
    char *ttl_place; /* file and line of ttl */
};

/* 0, or an exit code after having said what is wrong. Either way cli_config_free() has to be called. */
int cli_config_load(const struct cli_options *options, struct cli_config *config);
void cli_config_free(struct cli_config *config);

/* The longest TTL there may be. */
int64_t cli_config_max_ttl(const struct cli_config *config);

/* True when one of the URLs in a list carries a password. */
bool cli_config_has_password(const char *nodes);

#endif
