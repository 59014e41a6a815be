/*
 * What a configuration file says: the bytes of one, line by line, into settings. It opens nothing and prints
 * nothing, so that any bytes can be tried on it.
 */
#ifndef CLI_CONFIG_FILE_H
#define CLI_CONFIG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Texts are NULL and numbers 0 when nothing was configured. */
struct cli_config {
    char *nodes; /* NULL: the five local ones */
    char *prefix, *user, *password;
    char *password_file, *tls_ca, *tls_cert, *tls_key;
    uint32_t ttl_ms, max_ttl_ms, connect_timeout_ms, node_timeout_ms, drift_ppm;
    bool plain, mode_given;
    bool redisson, format_given; /* the format of locks */
    bool legacy, legacy_seconds; /* then plain, too */
    bool require_nodes, require_nodes_given;
    char *ttl_place, *password_place, *require_nodes_place; /* file and line of these */
    struct {
        char *listen, *unix_path, *resp, *access, *hosts, *metrics_name, *tls_cert, *tls_key, *tls_client_ca;
        uint32_t max_wait_ms, max_hold_ms, max_connections, max_waiters;
        bool may_break;
    } serve; /* keys that begin with serve_: of redlock serve */
};

/* What there is to say about a file that was read. */
struct cli_config_notes {
    bool secret;     /* it carries a password */
    int line;        /* the last one that was read; the wrong one, if there is one */
    char words[512]; /* what is wrong with it */
};

/* Adds what a file of this name says; what is there already stays, except that nodes add up. 0,
 * CLI_EXIT_CONFIG for a line that is wrong (see the notes), CLI_EXIT_SYSTEM without memory. What was
 * allocated is freed by cli_config_free(). */
int cli_config_file_read(const char *path, const char *bytes, size_t length, struct cli_config *config,
                         struct cli_config_notes *notes);

/* True when one of the URLs in a list carries a password. */
bool cli_config_has_password(const char *nodes);

/* The same list without them. The caller frees it; NULL without memory. */
char *cli_config_without_passwords(const char *nodes);

#endif
