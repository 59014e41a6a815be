/*
 * A fleet of real redis-server processes for tests, in a private folder, with faults that can be switched on
 * and off. It does not use our library: its own commands travel over hiredis, on a unix socket every node
 * has.
 *
 * Use it from the main thread only: the nodes die with the thread that started them, and nothing here is
 * locked. A forked child must leave it alone.
 */
#ifndef TEST_SUPPORT_FLEET_H
#define TEST_SUPPORT_FLEET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { FLEET_NODES_MAX = 9 };

enum fleet_transport { FLEET_UNIX, FLEET_TCP, FLEET_TLS };

struct fleet_options {
    int node_count;
    enum fleet_transport transport; /* what the node URLs name */
    bool durable;                   /* append-only file, synced on every write: a killed node remembers */
    const char *config;             /* further lines for the redis.conf of every node */
    const char *node_config[FLEET_NODES_MAX]; /* and of one node */
};

struct fleet;

/* The version of redis-server, as it is found in PATH: major * 100 + minor. Valkey counts as what it can do
 * of Redis, at least. 0 when there is none. What an older one cannot do is a skip, and a configuration is
 * written as it knows it. */
enum { FLEET_REDIS_6_2 = 602, FLEET_REDIS_7_0 = 700, FLEET_REDIS_7_2 = 702 };
int fleet_server_version(void);

/* Starts the nodes and waits until all of them answer. NULL, with words on stderr, when that fails. */
struct fleet *fleet_start(const struct fleet_options *options);

/* Ends every node, frozen or not, and removes the folder. NULL is fine. */
void fleet_stop(struct fleet *fleet);

int fleet_size(const struct fleet *fleet);
const char *fleet_urls(const struct fleet *fleet); /* all of them, separated by commas */
const char *fleet_url(const struct fleet *fleet, int node);
const char *fleet_folder(const struct fleet *fleet);  /* certificates are in it: see certificates.h */
pid_t fleet_pid(const struct fleet *fleet, int node); /* 0 while it is killed */

/* Stops the process and lets it go on. Both return when the node has really stopped, or goes on. */
void fleet_freeze(struct fleet *fleet, int node);
void fleet_thaw(struct fleet *fleet, int node);

/* Ends the process without a chance to say goodbye. A frozen node dies too. */
void fleet_kill(struct fleet *fleet, int node);

/* Starts a killed node again at the same address and waits until it answers. */
bool fleet_restart(struct fleet *fleet, int node);

/* Makes a node forget all keys: a running one at once, a killed one loses its files. */
void fleet_wipe(struct fleet *fleet, int node);

/* Sends one command, ends with NULL, and returns the answer as text: "(nil)" for nothing, array elements one
 * per line, "(no answer)" when there was none. It belongs to the fleet until the next command to the same
 * node. */
__attribute__((sentinel)) const char *fleet_command(struct fleet *fleet, int node, ...);
const char *fleet_command_bytes(struct fleet *fleet, int node, int count, const char **words,
                                const size_t *lengths);

/* How many keys a node holds that have not expired; -1 when it does not answer. */
int fleet_key_count(struct fleet *fleet, int node);

/* Waits at most wait_ms for releases that are still under way and returns what remains, as "node 1: key"
 * lines; "" when no running node holds any key. It belongs to the fleet until the next call. */
const char *fleet_leftovers(struct fleet *fleet, int wait_ms);

#endif
