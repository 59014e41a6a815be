/*
 * One server process of the local nodes: finding the program, starting it detached, ending it by its pid.
 * It knows nothing of directories and of the other four.
 */
#ifndef CLI_SERVER_H
#define CLI_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct cli_server {
    const char *program, *directory;
    char socket_path[160], pid_path[160], log_path[160];
};

/* REDLOCK_SERVER, else redis-server, else valkey-server. 0, or an exit code after having said what to
 * install. */
int cli_server_find(char *program, size_t size);

/* Starts it so that it outlives us and has nothing of ours. It does not answer yet. False with errno. */
bool cli_server_start(const struct cli_server *server);

/* TERM, and KILL for one that does not hear it. True when it has ended. */
bool cli_server_end(pid_t pid);

#endif
