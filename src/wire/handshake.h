/*
 * What is said before a connection may be used: HELLO with credentials (AUTH and CLIENT SETNAME on nodes that
 * lack it), SELECT, INFO. One command at a time: nothing is sent before the answer to the one before it was
 * read.
 */
#ifndef RL_WIRE_HANDSHAKE_H
#define RL_WIRE_HANDSHAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/event.h"
#include "wire/resp_writer.h"

struct rl_greeting {
    const char *user;     /* empty: the default user */
    const char *password; /* NULL: none */
    const char *client_name;
    uint32_t db;
};

/* What a node can do beyond what all nodes can. */
enum {
    RL_FEATURE_DELEX = 1,  /* DELEX key IFEQ owner: Redis from 8.4 */
    RL_FEATURE_DELIFEQ = 2 /* DELIFEQ key owner: Valkey from 9.0 */
};

/* What a node told about itself. */
struct rl_node_info {
    bool resp3;
    bool valkey;
    bool replica;
    bool cluster;     /* it is a node of a Redis Cluster */
    bool sentinel;    /* it watches nodes, and is none */
    uint32_t version; /* 70015 for 7.0.15 */
    char version_text[16];
    unsigned features; /* RL_FEATURE_ bits */
    bool evicts;       /* memory is limited, and full memory drops keys */
    bool promoted;     /* it was a replica before, so its memory may be another master's */
    int64_t up_s;      /* seconds since it was started, by its own account */
    char run_id[41];   /* empty when it may not be asked */
    char replid[41];   /* of its history as a master: another one after every promotion; empty: unknown */
};

enum rl_handshake_step {
    RL_HANDSHAKE_HELLO,
    RL_HANDSHAKE_AUTH,
    RL_HANDSHAKE_SETNAME,
    RL_HANDSHAKE_SELECT,
    RL_HANDSHAKE_INFO,
    RL_HANDSHAKE_READY,
    RL_HANDSHAKE_FAILED
};

struct rl_handshake {
    struct rl_greeting greeting;
    enum rl_handshake_step step;
    struct rl_node_info info;
    enum rl_cause cause; /* when it failed */
    char error[128];
};

void rl_handshake_start(struct rl_handshake *handshake, const struct rl_greeting *greeting);

/* Writes the command of the present step. */
void rl_handshake_write(const struct rl_handshake *handshake, struct rl_writer *writer);

/* The value of a "field:value" line of INFO; NULL when there is none. The same for a number: 0 when there is
 * none. */
const char *rl_info_find(const char *text, size_t length, const char *field, size_t *value_length);
int64_t rl_info_number(const char *text, size_t length, const char *field);

/* Whether the text of an INFO is of a master with that history. A node that was a replica in between has
 * another one. */
bool rl_info_same_master(const char *text, size_t length, const char *replid);

/* Takes the one reply to it and moves to the next step, to READY or to FAILED. */
void rl_handshake_read(struct rl_handshake *handshake, const char *bytes, size_t length);

#endif
