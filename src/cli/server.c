/*
 * One server process of the local nodes: finding the program, starting it detached, ending it by its pid.
 * It knows nothing of directories and of the other four.
 */
#include "cli/server.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/exits.h"
#include "cli/output.h"

#define TERM_MS 3000
#define KILL_MS 1000

/* Finds a program as the shell would. */
static bool find_program(const char *name, char *found, size_t size)
{
    const char *path = getenv("PATH");

    if (strchr(name, '/') != NULL) {
        snprintf(found, size, "%s", name);
        return access(found, X_OK) == 0;
    }
    for (path = path == NULL ? "/usr/bin:/bin" : path; path != NULL; path = strchr(path, ':')) {
        path += *path == ':';
        snprintf(found, size, "%.*s/%s", (int)strcspn(path, ":"), path, name);
        if (access(found, X_OK) == 0)
            return true;
        if (strchr(path, ':') == NULL)
            break;
    }
    return false;
}

int cli_server_find(char *program, size_t size)
{
    const char *chosen = getenv("REDLOCK_SERVER");

    if (chosen != NULL && *chosen != '\0') {
        if (find_program(chosen, program, size))
            return 0;
        return cli_output_fail(CLI_EXIT_NODES, "REDLOCK_SERVER: %s cannot be executed", chosen);
    }
    if (find_program("redis-server", program, size) || find_program("valkey-server", program, size))
        return 0;
    cli_output_fail(CLI_EXIT_NODES, "there is no redis-server or valkey-server for local nodes");
    cli_output_hint(
        "fix", "install the package redis-server or valkey-server, or name nodes: --nodes, REDLOCK_NODES");
    return CLI_EXIT_NODES;
}

/* Becomes a server that has nothing of ours: no terminal, no descriptor (a pipe held open would keep its
 * reader waiting for ever), no signal mask, no current directory. */
static _Noreturn void become_server(const struct cli_server *server)
{
    sigset_t none;
    int null = open("/dev/null", O_RDWR);

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    umask(077);
    if (null < 0 || chdir(server->directory) != 0)
        _exit(1);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        dup2(null, fd);
    close_range(STDERR_FILENO + 1, ~0u, 0);
    execl(server->program, server->program, "--port", "0", "--unixsocket", server->socket_path,
          "--unixsocketperm", "700", "--save", "", "--appendonly", "no", "--daemonize", "no", "--pidfile",
          server->pid_path, "--logfile", server->log_path, "--dir", server->directory, (char *)NULL);
    _exit(1);
}

/* Forks twice, so that the server belongs to init. */
bool cli_server_start(const struct cli_server *server)
{
    int status = 1;
    pid_t between = fork();

    if (between == 0) {
        setsid();
        pid_t pid = fork();
        if (pid == 0)
            become_server(server);
        _exit(pid < 0);
    }
    return between > 0 && waitpid(between, &status, 0) == between && status == 0;
}

static bool has_ended(int process, int patience_ms)
{
    struct pollfd polled = {.fd = process, .events = POLLIN};

    return poll(&polled, 1, patience_ms) == 1;
}

bool cli_server_end(pid_t pid)
{
    int process = pid > 0 ? pidfd_open(pid, 0) : -1;

    if (process < 0)
        return false;
    pidfd_send_signal(process, SIGTERM, NULL, 0);
    bool ended = has_ended(process, TERM_MS);
    if (!ended) {
        pidfd_send_signal(process, SIGKILL, NULL, 0);
        ended = has_ended(process, KILL_MS);
    }
    close(process);
    return ended;
}
