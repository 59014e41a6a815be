/*
 * Runs FILTER with pipes for its stdin and stdout, both served at once, so that neither side can wait for the
 * other; see filter.h.
 */
#include "cli/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/exits.h"

enum { PART = 65536 };

/* The ends of the pipes; -1 when closed. */
struct pipes {
    int in[2], out[2], failure[2];
};

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void close_all(struct pipes *pipes)
{
    for (int i = 0; i < 2; i++) {
        close_end(&pipes->in[i]);
        close_end(&pipes->out[i]);
        close_end(&pipes->failure[i]);
    }
}

/* Only what may be called between fork() and exec in a program with threads. */
static _Noreturn void become(const struct cli_filter *filter, const struct pipes *pipes, pid_t parent)
{
    signal(SIGPIPE, SIG_DFL);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent &&
        dup2(pipes->in[0], STDIN_FILENO) >= 0 && dup2(pipes->out[1], STDOUT_FILENO) >= 0)
        execvpe(filter->argv[0], filter->argv, filter->environment);
    int error = errno;
    (void)!write(pipes->failure[1], &error, sizeof error);
    _exit(CLI_EXIT_NOT_FOUND);
}

static bool make_room(struct cli_filter *filter)
{
    size_t capacity = filter->capacity == 0 ? PART : filter->capacity * 2;

    if (filter->capacity - filter->length > 0)
        return true;
    char *value = realloc(filter->value, capacity);
    if (value == NULL)
        return false;
    filter->value = value;
    filter->capacity = capacity;
    return true;
}

/* false: no memory. */
static bool take_output(struct cli_filter *filter, struct pipes *pipes)
{
    if (!make_room(filter))
        return false;
    ssize_t got = read(pipes->out[0], filter->value + filter->length, filter->capacity - filter->length);
    if (got > 0)
        filter->length += (size_t)got;
    else if (got == 0 || (errno != EAGAIN && errno != EINTR))
        close_end(&pipes->out[0]);
    filter->too_long = filter->length > filter->most;
    return true;
}

/* A program that does not want all of its input is fine. */
static void give_input(struct pipes *pipes, const char *input, size_t length, size_t *given)
{
    ssize_t put = write(pipes->in[1], input + *given, length - *given);

    if (put > 0)
        *given += (size_t)put;
    if (*given == length || (put < 0 && errno != EAGAIN && errno != EINTR))
        close_end(&pipes->in[1]);
}

/* Until it has closed its stdout. */
static bool serve(struct cli_filter *filter, struct pipes *pipes, const char *input, size_t length)
{
    size_t given = 0;

    fcntl(pipes->in[1], F_SETFL, O_NONBLOCK);
    fcntl(pipes->out[0], F_SETFL, O_NONBLOCK);
    if (length == 0)
        close_end(&pipes->in[1]);
    while (pipes->out[0] >= 0 && !filter->too_long) {
        struct pollfd polled[] = {{.fd = pipes->out[0], .events = POLLIN},
                                  {.fd = pipes->in[1], .events = POLLOUT}};

        (void)!poll(polled, 2, -1);
        if (polled[0].revents != 0 && !take_output(filter, pipes))
            return false;
        if (polled[1].revents != 0)
            give_input(pipes, input, length, &given);
    }
    return true;
}

static bool start(const struct cli_filter *filter, struct pipes *pipes, pid_t *child)
{
    pid_t parent = getpid();

    if (pipe2(pipes->in, O_CLOEXEC) != 0 || pipe2(pipes->out, O_CLOEXEC) != 0 ||
        pipe2(pipes->failure, O_CLOEXEC) != 0)
        return false;
    *child = fork();
    if (*child == 0)
        become(filter, pipes, parent);
    close_end(&pipes->in[0]);
    close_end(&pipes->out[1]);
    close_end(&pipes->failure[1]);
    return *child > 0;
}

static void await_end(struct cli_filter *filter, pid_t child)
{
    while (waitpid(child, &filter->wait_status, 0) < 0 && errno == EINTR)
        continue;
}

bool cli_filter_run(struct cli_filter *filter, const void *input, size_t length)
{
    struct pipes pipes = {{-1, -1}, {-1, -1}, {-1, -1}};
    pid_t child = 0;

    filter->length = 0;
    filter->error = 0;
    filter->too_long = false;
    signal(SIGPIPE, SIG_IGN);
    if (!start(filter, &pipes, &child)) {
        close_all(&pipes);
        return false;
    }
    /* A successful exec closes the pipe without a word. */
    if (read(pipes.failure[0], &filter->error, sizeof filter->error) != (ssize_t)sizeof filter->error)
        filter->error = 0;
    bool fine = filter->error != 0 || serve(filter, &pipes, input, length);
    if (!fine || filter->too_long)
        kill(child, SIGKILL);
    close_all(&pipes);
    await_end(filter, child);
    return fine;
}

void cli_filter_free(struct cli_filter *filter)
{
    free(filter->value);
    filter->value = NULL;
}
