/*
 * A command's way to the nodes: configuration, local nodes when there is none, and the client.
 * It opens and closes; what is asked of the nodes is each command's business.
 */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include <stdbool.h>

#include <redlock.h>

#include "cli/config.h"
#include "cli/local.h"
#include "cli/options.h"

struct cli_session {
    struct cli_config config;
    bool local;             /* the nodes are our own: */
    struct cli_local nodes; /* these */
    redlock_client *client; /* NULL until it is connected */
    redlock_details *details, *more_details;
    unsigned command; /* which one it is opened for: its bit */
    bool one_node;    /* what is done is about one node: how many there are is nothing to warn of */
    uint32_t pid;     /* of the process that a lock is said to be of; 0: this one */
};

/* Reads the configuration and starts local nodes if there is none. Starts no thread. 0, or an exit code after
 * having said what is wrong. Either way cli_session_close() has to be called. */
int cli_session_prepare(struct cli_session *session, const struct cli_options *options);

/* Opens the client, which starts threads, and warns of fleets that are smaller than they look. As above. */
int cli_session_connect(struct cli_session *session, const struct cli_options *options);

/* Both. */
int cli_session_open(struct cli_session *session, const struct cli_options *options);

/* Both, but local nodes that do not run are not started: that is an error. */
int cli_session_look(struct cli_session *session, const struct cli_options *options);

void cli_session_close(struct cli_session *session);

/* A report that has something to say of each node. There is one of the first kind at a time; the second is
 * for a question that is asked to explain what the first one says. */
redlock_report cli_session_report(const struct cli_session *session);
redlock_report cli_session_second_report(const struct cli_session *session);

/* --ttl, else the configuration's, else 15 s. 0, or an exit code after having said what is wrong. */
int cli_session_ttl(const struct cli_session *session, const struct cli_options *options, uint32_t *ttl_ms);

/* 0 when a name fits together with its prefix; else an exit code as above. */
int cli_session_check_name(const struct cli_session *session, const char *name);

#endif
