/*
 * Starts, admits and ends the five private nodes, one process at a time; see local.h. Which of them answers a
 * lock is the library's business.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <redlock.h>

#include "cli/clock.h"
#include "cli/exits.h"
#include "cli/leftover.h"
#include "cli/local.h"
#include "cli/output.h"
#include "cli/presence.h"
#include "cli/server.h"

#define READY_MS 10000 /* a loaded machine may need that; it usually takes some 50 ms */

/* ---- one at a time ------------------------------------------------------------------------------------- */

/* Only one process at a time starts or ends nodes. The last one out removes the file, so a process that
 * waited for it looks whether it is still the one in the directory. Returns its descriptor, or -1. */
static int take_lock(const struct cli_local *local)
{
    char path[160];

    snprintf(path, sizeof path, "%s/lock", local->directory);
    for (;;) {
        struct stat ours, there;
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0 && errno == ENOENT && mkdir(local->directory, 0700) == 0)
            continue; /* it was removed together with the nodes */
        if (fd < 0)
            return -1;
        int locked;
        do
            locked = flock(fd, LOCK_EX);
        while (locked != 0 && errno == EINTR);
        if (locked == 0 && fstat(fd, &ours) == 0 && stat(path, &there) == 0 && ours.st_ino == there.st_ino)
            return fd;
        close(fd);
        if (locked != 0)
            return -1;
    }
}

/* Waits for the process that starts or ends nodes at the moment. */
static void await_others(const struct cli_local *local)
{
    char path[160];

    snprintf(path, sizeof path, "%s/lock", local->directory);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return;
    while (flock(fd, LOCK_SH) != 0 && errno == EINTR)
        continue;
    close(fd);
}

static int fail_lock(const struct cli_local *local)
{
    return cli_output_fail(CLI_EXIT_SYSTEM, "%s/lock: %s", local->directory, strerror(errno));
}

/* ---- all of them --------------------------------------------------------------------------------------- */

static int wait_until_up(const struct cli_local *local)
{
    int64_t give_up_at = cli_clock_now() + READY_MS;
    struct timespec pause = {.tv_nsec = 2000000};
    pid_t pid;

    for (int node = 0; node < CLI_LOCAL_NODES;) {
        if (cli_local_probe(local, node, &pid) == CLI_LOCAL_UP) {
            node++;
        } else if (cli_clock_now() >= give_up_at) {
            cli_output_fail(CLI_EXIT_NODES, "local node %d does not answer", node + 1);
            cli_output_hint("see", "%s/node%d.log", local->directory, node + 1);
            return CLI_EXIT_NODES;
        } else {
            nanosleep(&pause, NULL);
            pause.tv_nsec += pause.tv_nsec < 20000000 ? pause.tv_nsec / 4 : 0;
        }
    }
    return 0;
}

int cli_local_count_up(const struct cli_local *local)
{
    int up = 0;
    pid_t pid;

    for (int node = 0; node < CLI_LOCAL_NODES; node++)
        up += cli_local_probe(local, node, &pid) == CLI_LOCAL_UP;
    return up;
}

static int start_node(const struct cli_local *local, int node, const char *program)
{
    struct cli_server server = {.program = program, .directory = local->directory};

    cli_local_path(local, node, "sock", server.socket_path);
    cli_local_path(local, node, "pid", server.pid_path);
    cli_local_path(local, node, "log", server.log_path);
    if (cli_server_start(&server))
        return 0;
    return cli_output_fail(CLI_EXIT_SYSTEM, "local node %d could not be started: %s", node + 1,
                           strerror(errno));
}

/* Servers that listen where nobody finds them: their files were removed, by a log-out for example. They end,
 * so that holders of locks there notice, and nobody goes on beside new nodes. */
static int end_unreachable(const struct cli_local *local)
{
    char path[160];
    int ended = 0;
    pid_t pid;

    for (int node = 0; node < CLI_LOCAL_NODES; node++) {
        cli_local_path(local, node, "sock", path);
        if (cli_local_probe(local, node, &pid) == CLI_LOCAL_DOWN)
            ended += cli_presence_end_server(path);
    }
    return ended;
}

/* Nobody holds a lock on nodes that were here before: there were none, or they were stopped in order, which
 * leaves a note until when their locks last. Nodes that died have lost theirs. With the lock held, before any
 * node is started. */
static bool is_new_start(const struct cli_local *local)
{
    bool files = cli_local_has_files(local);
    int unreachable = end_unreachable(local); /* which may leave new files */

    if (unreachable > 0) {
        cli_output_note("ended %d local nodes that went on without their files in %s", unreachable,
                        local->directory);
        return false;
    }
    if (files || cli_local_count_up(local) > 0)
        return false;
    if (cli_leftover_is_noted(local->directory) || !cli_presence_seen(local->directory))
        return true;
    cli_output_note("a redlock run that holds a lock on earlier local nodes in %s is still running",
                    local->directory);
    return false;
}

/* With the lock held. */
static int start_missing(const struct cli_local *local, int *started)
{
    char server[4096];
    pid_t pid;
    int code = cli_server_find(server, sizeof server);

    for (int node = 0; node < CLI_LOCAL_NODES && code == 0; node++) {
        if (cli_local_probe(local, node, &pid) != CLI_LOCAL_DOWN)
            continue;
        code = start_node(local, node, server);
        *started += code == 0;
    }
    return code != 0 ? code : wait_until_up(local);
}

static int admit(const struct cli_local *local)
{
    redlock_options settings = REDLOCK_OPTIONS_INIT;
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_client *client = NULL;
    char *urls = cli_local_urls(local);

    settings.nodes = urls;
    redlock_result result = urls == NULL ? REDLOCK_NOMEM : redlock_client_open(&settings, &client, &report);
    if (result == REDLOCK_OK)
        result = redlock_init_nodes(client, 0, &report);
    redlock_client_close(client);
    free(urls);
    if (result != REDLOCK_OK)
        return cli_output_fail(CLI_EXIT_NODES, "the local nodes could not be admitted: %s", report.line);
    return 0;
}

/* With the lock held. Admission belongs to the start of all five, and to nothing that could vanish meanwhile:
 * nodes that come later, or after somebody was interrupted here, are quarantined like any other. */
static int start_with_lock(const struct cli_local *local, bool on_demand, int *started)
{
    int up = cli_local_count_up(local);

    if (up == CLI_LOCAL_NODES || (on_demand && up >= CLI_LOCAL_QUORUM))
        return 0;
    bool is_new = is_new_start(local);
    if (is_new)
        cli_leftover_wait(local->directory);
    int code = start_missing(local, started);
    return code == 0 && is_new && *started == CLI_LOCAL_NODES ? admit(local) : code;
}

int cli_local_start(const struct cli_local *local, bool on_demand, int *started)
{
    *started = 0;
    if (cli_local_count_up(local) == CLI_LOCAL_NODES) {
        await_others(local); /* they may not be admitted yet */
        if (cli_local_count_up(local) == CLI_LOCAL_NODES)
            return 0;
    }
    int lock = take_lock(local);
    if (lock < 0)
        return fail_lock(local);
    int code = start_with_lock(local, on_demand, started);
    close(lock);
    return code;
}

static void remove_files(const struct cli_local *local, int node)
{
    char path[160];

    for (size_t i = 0; i < CLI_LOCAL_ENDINGS; i++) {
        cli_local_path(local, node, cli_local_endings[i], path);
        unlink(path);
    }
}

/* Until when the longest lock of a node lasts; 0 when it has none. */
static int64_t ask_leftover(const struct cli_local *local, int node)
{
    int fd = cli_local_connect(local, node);
    int64_t left = fd < 0 ? 0 : cli_leftover_ask(fd);

    if (fd >= 0)
        close(fd);
    return left == 0 ? 0 : cli_clock_now() + left;
}

/* Ends one node and returns until when its locks last. */
static int64_t end_node(const struct cli_local *local, int node, int *ended)
{
    pid_t pid;
    int64_t until = 0;

    if (cli_local_probe(local, node, &pid) != CLI_LOCAL_DOWN) {
        until = ask_leftover(local, node);
        *ended += cli_server_end(pid);
    }
    remove_files(local, node);
    return until;
}

/* Each node is asked right before it ends, one after the other: whatever a quorum grants meanwhile is still
 * seen at the next one. */
int cli_local_stop(const struct cli_local *local, int *ended)
{
    char path[160];
    int64_t until = 0;
    int lock = take_lock(local);

    *ended = 0;
    if (lock < 0)
        return fail_lock(local);
    for (int node = 0; node < CLI_LOCAL_NODES; node++) {
        int64_t node_until = end_node(local, node, ended);
        until = node_until > until ? node_until : until;
    }
    cli_leftover_keep(local->directory, until);
    snprintf(path, sizeof path, "%s/lock", local->directory);
    unlink(path);
    rmdir(local->directory); /* stays when somebody keeps other things there */
    close(lock);
    return 0;
}
