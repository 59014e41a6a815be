/*
 * Reads the URL of one node into its parts, and says what is wrong with it. Resolves and connects nothing.
 *   redis://[user:pass@]host[:port][/db]   rediss:// (TLS)   valkey:// valkeys:// (aliases)
 *   unix:///path[?db=N] (also unix://user:pass@/path)   host:port   host
 */
#ifndef RL_WIRE_NODE_URL_H
#define RL_WIRE_NODE_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rl_transport { RL_TRANSPORT_TCP, RL_TRANSPORT_TLS, RL_TRANSPORT_UNIX };

struct rl_node_url {
    enum rl_transport transport;
    uint16_t port;      /* default 6379 */
    uint32_t db;        /* default 0, at most 65535 */
    bool durable;       /* its operator says that it keeps its memory over a restart: ?durable=yes */
    bool has_password;  /* an empty password is a password */
    char host[256];     /* without brackets, at most 134 bytes so that display can hold it; empty for unix */
    char path[108];     /* of the unix socket, absolute; empty otherwise */
    char user[128];     /* percent-decoded; empty: the default user */
    char password[512]; /* percent-decoded */
    char display[160];  /* shortest normal form without credentials: equal text, same address and db */
};

/* NULL when text is a good URL, else what is wrong in a few lower-case words, and *url is all zero. The words
 * are static text without a part of the URL in them ("port is not between 1 and 65535"): it may hold a
 * password. */
const char *rl_node_url_parse(const char *text, size_t length, struct rl_node_url *url);

/* Finds the next URL in a list separated by commas and white space: its start and length, or NULL at the end.
 * *cursor moves along and starts as the list. */
const char *rl_node_url_next(const char **cursor, size_t *length);

#endif
