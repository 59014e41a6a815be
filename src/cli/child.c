/*
 * CMD and everything it starts: executing it in a process group of its own, signalling it, and ending what is
 * left of it. When and why is decided by the warden, not here.
 */
#include "cli/child.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/exits.h"

/* ---- starting ------------------------------------------------------------------------------------------ */

/* Becomes CMD, or says through the pipe why not. */
static _Noreturn void become(const struct cli_child_plan *plan, int64_t not_after_ms, pid_t parent,
                             int failure)
{
    int error = 0;

    /* The parent may have died before the wish was known to the kernel. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(CLI_EXIT_INTERNAL);
    if (setpgid(0, plan->foreground ? plan->caller_group : 0) != 0)
        error = errno;
    if (plan->interactive && !plan->foreground)
        tcsetpgrp(plan->terminal_fd, getpid());
    cli_signals_restore(plan->signals);
    /* At the last moment: any of the processes up to here may have been stopped for as long as the lease
     * lasts. */
    if (error == 0 && cli_clock_now() >= not_after_ms)
        error = ETIME;
    if (error == 0) {
        execvp(plan->argv[0], plan->argv);
        error = errno;
    }
    (void)!write(failure, &error, sizeof error);
    _exit(CLI_EXIT_NOT_FOUND);
}

int cli_child_start(const struct cli_child_plan *plan, int64_t not_after_ms, pid_t *child)
{
    int failure[2], error = 0;
    pid_t parent = getpid();

    if (pipe2(failure, O_CLOEXEC) != 0)
        return errno;
    pid_t pid = fork();
    if (pid == 0)
        become(plan, not_after_ms, parent, failure[1]);
    error = pid < 0 ? errno : 0;
    close(failure[1]);
    /* A successful exec closes the pipe without a word. */
    if (pid > 0 && read(failure[0], &error, sizeof error) != (ssize_t)sizeof error)
        error = 0;
    close(failure[0]);
    if (pid > 0 && error != 0)
        waitpid(pid, NULL, 0);
    *child = error == 0 ? pid : 0;
    return error;
}

void cli_child_signal(const struct cli_child_plan *plan, pid_t child, int number)
{
    kill(plan->foreground ? child : -child, number);
}

int cli_child_exit_code(int wait_status)
{
    return WIFSIGNALED(wait_status) ? CLI_EXIT_SIGNAL + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

/* ---- ending what is left ------------------------------------------------------------------------------- */

struct process {
    pid_t pid, parent;
    uint64_t started;
    bool dead; /* a zombie */
};

struct process_list {
    struct process *all;
    size_t count, room;
};

/* Reads one process's line of /proc. False when it is gone. */
static bool read_process(const char *pid, struct process *process)
{
    char path[64], text[1024], state;
    int parent;
    unsigned long long started;

    snprintf(path, sizeof path, "/proc/%.16s/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (length <= 0)
        return false;
    text[length] = '\0';
    /* The program's name is in parentheses and may hold anything, so count from the last one. */
    const char *rest = strrchr(text, ')');
    if (rest == NULL ||
        sscanf(rest + 1, " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
               &state, &parent, &started) != 3)
        return false;
    *process = (struct process){(pid_t)atoi(pid), parent, started, state == 'Z' || state == 'X'};
    return true;
}

uint64_t cli_child_start_time(pid_t pid)
{
    struct process process;
    char text[16];

    snprintf(text, sizeof text, "%d", (int)pid);
    return read_process(text, &process) ? process.started : 0;
}

static bool append_process(struct process_list *list, const struct process *process)
{
    if (list->count == list->room) {
        size_t room = list->room == 0 ? 256 : list->room * 2;
        struct process *all = realloc(list->all, room * sizeof *all);
        if (all == NULL)
            return false;
        list->all = all;
        list->room = room;
    }
    list->all[list->count++] = *process;
    return true;
}

static void list_processes(struct process_list *list)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    struct process process;

    list->count = 0;
    while (proc != NULL && (entry = readdir(proc)) != NULL)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && read_process(entry->d_name, &process) &&
            !append_process(list, &process))
            break;
    if (proc != NULL)
        closedir(proc);
}

/* Moves everything below root to the front and returns how many that are. Each one found is asked for its
 * children. */
static size_t gather_below(struct process_list *list, pid_t root, uint64_t since)
{
    pid_t parent = root;
    size_t found = 0;

    for (size_t asked = 0;; asked++) {
        for (size_t i = found; i < list->count; i++) {
            struct process process = list->all[i];
            if (process.parent != parent || process.started < since)
                continue;
            list->all[i] = list->all[found];
            list->all[found++] = process;
        }
        if (asked == found)
            return found;
        parent = list->all[asked].pid;
    }
}

/* Kills the first `count`; returns how many of them lived, and in *refused how many are not ours to kill. */
static int kill_first(const struct process_list *list, size_t count, int *refused)
{
    int alive = 0;

    *refused = 0;
    for (size_t i = 0; i < count; i++) {
        if (list->all[i].dead)
            continue;
        alive++;
        if (kill(list->all[i].pid, SIGKILL) != 0 && errno == EPERM)
            ++*refused;
    }
    return alive;
}

static void reap_all(pid_t leader, int *leader_status)
{
    int status;

    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        if (pid == leader)
            *leader_status = status;
}

int cli_child_sweep(pid_t root, uint64_t since, int64_t give_up_at_ms, pid_t leader, int *leader_status)
{
    struct process_list list = {0};
    struct timespec pause = {.tv_nsec = 1000000};
    int alive, refused;

    for (;;) {
        list_processes(&list);
        alive = kill_first(&list, gather_below(&list, root, since), &refused);
        reap_all(leader, leader_status);
        /* Those of another user stay whatever we do; no need to wait for them. */
        if (alive == refused || cli_clock_now() >= give_up_at_ms)
            break;
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < 16000000)
            pause.tv_nsec *= 2;
    }
    reap_all(leader, leader_status);
    free(list.all);
    return alive;
}
