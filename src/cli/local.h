/*
 * The five private nodes that are used when none are configured: real servers on unix sockets in a directory
 * of the user. They are started and ended here; which of them answers a lock is the library's business.
 */
#ifndef CLI_LOCAL_H
#define CLI_LOCAL_H

#include <stdbool.h>
#include <sys/types.h>

enum { CLI_LOCAL_NODES = 5, CLI_LOCAL_QUORUM = 3 };

enum cli_local_state {
    CLI_LOCAL_DOWN,   /* nobody listens there */
    CLI_LOCAL_SILENT, /* somebody listens, but does not answer PING */
    CLI_LOCAL_UP
};

struct cli_local {
    char directory[108]; /* longer ones leave no room for a socket's name */
};

/* Finds the directory, makes it if `make`, and checks that it is ours alone. 0, or an exit code after having
 * said what is wrong; -1 when it is not there and was not to be made. */
int cli_local_open(struct cli_local *local, bool make);

/* How one node is (from 0), and the pid of its server; 0 when it is down. */
enum cli_local_state cli_local_probe(const struct cli_local *local, int node, pid_t *pid);

/* Starts nodes that are down and waits until all answer. 0 and how many were started, or an exit code after
 * having said what is wrong. With `on_demand` nothing is started while a quorum answers: a server that comes
 * back has lost the locks it granted, and two of those could grant a held lock again. Safe for any number of
 * processes at once. */
int cli_local_start(const struct cli_local *local, bool on_demand, int *started);

/* How many of them answer. */
int cli_local_count_up(const struct cli_local *local);

/* Ends all nodes and removes their files. 0 and how many were ended, or an exit code as above. */
int cli_local_stop(const struct cli_local *local, int *ended);

/* Whether the sockets of a quorum are gone, and with them the directory perhaps: nobody finds these nodes any
 * more, so the next process may start others. */
bool cli_local_is_gone(const struct cli_local *local);

/* The URL of one node. The caller frees it; NULL without memory. */
char *cli_local_url(const struct cli_local *local, int node);

/* All five of them as one list for the library. The caller frees it; NULL without memory. */
char *cli_local_urls(const struct cli_local *local);

/* ---- for local_fleet.c alone: the files of a node and a connection to it ---- */

/* How the names of a node's files end. */
enum { CLI_LOCAL_ENDINGS = 3 };
extern const char *const cli_local_endings[CLI_LOCAL_ENDINGS];

void cli_local_path(const struct cli_local *local, int node, const char *ending, char path[160]);

/* Whether any node has any. Nodes that were stopped in order leave none. */
bool cli_local_has_files(const struct cli_local *local);

/* A connection that does not block, or -1. */
int cli_local_connect(const struct cli_local *local, int node);

#endif
