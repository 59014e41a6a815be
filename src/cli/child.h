/*
 * CMD and everything it starts: executing it in a process group of its own, signalling it, and ending what is
 * left of it. When and why is decided by the warden, not here.
 */
#ifndef CLI_CHILD_H
#define CLI_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/signals.h"

/* What is to be executed, and how; the same for the whole life of the command. */
struct cli_child_plan {
    char **argv;
    bool foreground;  /* stay in the caller's group */
    bool interactive; /* make its group the terminal's foreground group before it starts */
    int terminal_fd;  /* the controlling terminal, -1 when there is none */
    pid_t caller_group;
    const struct cli_signals *signals;
};

/* Starts it. 0 and its pid, or the errno of what failed; ENOENT means CMD is not there, ETIME that it was
 * not_after_ms (cli_clock_now) already. The environment is the calling process's. It is killed when the
 * calling process dies. */
int cli_child_start(const struct cli_child_plan *plan, int64_t not_after_ms, pid_t *child);

/* Signals its group, or with `foreground` only itself: the group there is the caller's. */
void cli_child_signal(const struct cli_child_plan *plan, pid_t child, int number);

/* Kills everything below `root` (which has to be the calling process) that was started at or after `since`,
 * in clock ticks after boot, and reaps it; again and again until nothing is left or give_up_at_ms.
 * Descendants that called setsid() or were re-parented are found too. When CMD itself (`leader`) is reaped
 * here, *leader_status is its wait status. Returns how many are still there: another user's, or stuck in the
 * kernel. */
int cli_child_sweep(pid_t root, uint64_t since, int64_t give_up_at_ms, pid_t leader, int *leader_status);

/* When a process was started, in clock ticks after boot; 0 when it is not there. */
uint64_t cli_child_start_time(pid_t pid);

/* The exit code a shell would show for a wait status. */
int cli_child_exit_code(int wait_status);

#endif
