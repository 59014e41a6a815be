/*
 * What happens to a lock, as JSON lines on the descriptor of --status-fd. It is for programs; words for
 * people are output.c's.
 */
#include "cli/events.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/exits.h"
#include "cli/output.h"

#define PATIENCE_MS 1000

int cli_events_open(struct cli_events *events, int64_t fd, const char *name)
{
    *events = (struct cli_events){.fd = (int)fd, .name = name};
    if (fd < 0)
        return 0;
    int flags = fcntl(events->fd, F_GETFL);
    if (flags < 0)
        return cli_output_fail(CLI_EXIT_USAGE, "--status-fd %d is not an open descriptor", events->fd);
    if ((flags & O_ACCMODE) == O_RDONLY)
        return cli_output_fail(CLI_EXIT_USAGE, "--status-fd %d is not open for writing", events->fd);
    if (fd > STDERR_FILENO)
        fcntl(events->fd, F_SETFD, FD_CLOEXEC);
    return 0;
}

/* A write to a pipe that poll() calls writable does not block for a line this short. */
static bool write_line(int fd, const char *line, size_t length)
{
    while (length > 0) {
        struct pollfd polled = {.fd = fd, .events = POLLOUT};
        if (poll(&polled, 1, PATIENCE_MS) <= 0)
            return false;
        ssize_t written = write(fd, line, length);
        if (written < 0 && errno != EINTR && errno != EAGAIN)
            return false;
        if (written > 0) {
            line += written;
            length -= (size_t)written;
        }
    }
    return true;
}

void cli_events_emit(struct cli_events *events, const char *event, json_t *more)
{
    if (events->fd < 0) {
        json_decref(more);
        return;
    }
    json_t *object = json_pack("{s:s, s:o, s:I}", "event", event, "name", cli_output_string(events->name),
                               "time_ms", (json_int_t)cli_clock_wall());
    if (more != NULL)
        json_object_update(object, more);
    json_decref(more);
    char *line = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    if (line == NULL)
        return;
    size_t length = strlen(line);
    line[length] = '\n'; /* takes the place of the terminating NUL */
    if (!write_line(events->fd, line, length + 1)) {
        cli_output_warn("nobody reads --status-fd %d any more", events->fd);
        events->fd = -1;
    }
    free(line);
}
