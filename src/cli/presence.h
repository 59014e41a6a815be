/*
 * What shows that local nodes were in use although their files are gone: holders that still run, and servers
 * that still listen. Both are found in the kernel's list of sockets; neither needs a file.
 */
#ifndef CLI_PRESENCE_H
#define CLI_PRESENCE_H

#include <stdbool.h>

/* Shows, for as long as this process has the descriptor open, that it holds a lock on the nodes of a
 * directory. -1 when the system refuses: then only nobody knows. */
int cli_presence_show(const char *directory);

/* Whether anybody shows that. */
bool cli_presence_seen(const char *directory);

/* Ends the server that listens on a socket whose file is gone, so that nobody can reach it any more but those
 * who are connected. The caller has found that nobody answers at this path. Returns whether there is or was
 * one. */
bool cli_presence_end_server(const char *socket_path);

#endif
