/*
 * The five private nodes that are used when none are configured: where they are, and how one of them is. Real
 * servers on unix sockets in a directory of the user; local_fleet.c starts and ends them.
 */
#include "cli/local.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/exits.h"
#include "cli/leftover.h"
#include "cli/output.h"
#include "cli/text.h"

#define PING_MS 500

const char *const cli_local_endings[CLI_LOCAL_ENDINGS] = {"sock", "pid", "log"};

/* ---- the directory ------------------------------------------------------------------------------------- */

/* Somebody else's directory, or one that others can enter, could hold servers that lie to us. */
static int check_directory(const char *path)
{
    struct stat info;

    if (lstat(path, &info) != 0)
        return cli_output_fail(CLI_EXIT_SYSTEM, "%s: %s", path, strerror(errno));
    if (S_ISLNK(info.st_mode))
        return cli_output_fail(CLI_EXIT_SYSTEM, "%s is a symbolic link; local nodes need a directory", path);
    if (!S_ISDIR(info.st_mode))
        return cli_output_fail(CLI_EXIT_SYSTEM, "%s is not a directory; local nodes need one", path);
    if (info.st_uid != geteuid())
        return cli_output_fail(CLI_EXIT_SYSTEM, "%s belongs to user %u, not to you; set REDLOCK_LOCAL_DIR",
                               path, (unsigned)info.st_uid);
    if ((info.st_mode & 077) != 0)
        return cli_output_fail(CLI_EXIT_SYSTEM, "%s can be entered by others; chmod 700 it", path);
    return 0;
}

/* Ours alone, as check_directory() wants it, without a word. */
static bool is_private(const char *path)
{
    struct stat info;

    return lstat(path, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
           (info.st_mode & 077) == 0;
}

void cli_local_path(const struct cli_local *local, int node, const char *ending, char path[160])
{
    snprintf(path, 160, "%s/node%d.%s", local->directory, node + 1, ending);
}

/* Nodes that were stopped in order leave no file. */
bool cli_local_has_files(const struct cli_local *local)
{
    char path[160];

    for (int node = 0; node < CLI_LOCAL_NODES; node++)
        for (size_t i = 0; i < CLI_LOCAL_ENDINGS; i++) {
            cli_local_path(local, node, cli_local_endings[i], path);
            if (access(path, F_OK) == 0)
                return true;
        }
    return false;
}

/* How much speaks for a place: nodes that run there most, then what nodes leave behind that may have locks to
 * end. */
static int rate_place(const char *path)
{
    struct cli_local local;
    pid_t pid;

    if (strlen(path) + strlen("/node5.sock") >= sizeof local.directory || !is_private(path))
        return 0;
    snprintf(local.directory, sizeof local.directory, "%s", path);
    for (int node = 0; node < CLI_LOCAL_NODES; node++)
        if (cli_local_probe(&local, node, &pid) != CLI_LOCAL_DOWN)
            return 2;
    return cli_local_has_files(&local) || cli_leftover_is_noted(local.directory) ? 1 : 0;
}

/* Root's environment may be that of the user who called su; nor does a place count that others can write
 * to. */
static bool is_own(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
           (info.st_mode & 022) == 0;
}

/* Which places there are depends on whether the user is logged in, but the locks must not: so all of them are
 * looked at, and nodes are only started in the first one when there are none in any. */
static void choose_directory(char *path, size_t size)
{
    const char *chosen = getenv("REDLOCK_LOCAL_DIR"), *runtime = getenv("XDG_RUNTIME_DIR");
    unsigned user = (unsigned)geteuid();
    char places[3][4096] = {"", "", ""}, users[64];
    int best = -1;

    if (chosen != NULL && *chosen != '\0') {
        snprintf(path, size, "%s", chosen);
        return;
    }
    if (runtime != NULL && *runtime == '/' && is_own(runtime))
        snprintf(places[0], sizeof places[0], "%s/redlock", runtime);
    snprintf(users, sizeof users, "/run/user/%u", user);
    if (is_own(users))
        snprintf(places[1], sizeof places[1], "%s/redlock", users);
    snprintf(places[2], sizeof places[2], "/tmp/redlock-%u", user);
    for (int i = 0; i < 3; i++) {
        int rate = places[i][0] == '\0' ? -1 : rate_place(places[i]);
        if (rate <= best)
            continue;
        best = rate;
        snprintf(path, size, "%s", places[i]);
    }
}

int cli_local_open(struct cli_local *local, bool make)
{
    char path[4096];
    struct stat info;

    choose_directory(path, sizeof path);
    size_t length = strlen(path);
    if (path[0] != '/')
        return cli_output_fail(CLI_EXIT_SYSTEM, "%s: the directory of local nodes has to start with /", path);
    if (length + strlen("/node5.sock") >= sizeof local->directory)
        return cli_output_fail(CLI_EXIT_SYSTEM,
                               "%s: too long for the name of a socket; set REDLOCK_LOCAL_DIR", path);
    if (!make && lstat(path, &info) != 0 && errno == ENOENT)
        return -1;
    if (make && mkdir(path, 0700) != 0 && errno != EEXIST)
        return cli_output_fail(CLI_EXIT_SYSTEM, "%s: %s", path, strerror(errno));
    memcpy(local->directory, path, length + 1);
    return check_directory(path);
}

/* ---- one node ------------------------------------------------------------------------------------------ */

int cli_local_connect(const struct cli_local *local, int node)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char path[160];
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    cli_local_path(local, node, "sock", path);
    memcpy(address.sun_path, path, strlen(path) + 1); /* cli_local_open() has checked that it fits */
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool answers_ping(int fd)
{
    static const char ping[] = "PING\r\n";
    struct pollfd polled = {.fd = fd, .events = POLLIN};
    char answer[8] = "";

    return send(fd, ping, sizeof ping - 1, MSG_NOSIGNAL) == (ssize_t)(sizeof ping - 1) &&
           poll(&polled, 1, PING_MS) == 1 && read(fd, answer, sizeof answer - 1) > 0 &&
           strncmp(answer, "+PONG", 5) == 0;
}

/* The kernel knows who listens on a socket: better than a pid file, which may be old. */
enum cli_local_state cli_local_probe(const struct cli_local *local, int node, pid_t *pid)
{
    struct ucred peer = {0};
    socklen_t size = sizeof peer;
    int fd = cli_local_connect(local, node);

    *pid = 0;
    if (fd < 0)
        return CLI_LOCAL_DOWN;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0)
        *pid = peer.pid;
    bool up = answers_ping(fd);
    close(fd);
    return up ? CLI_LOCAL_UP : CLI_LOCAL_SILENT;
}

bool cli_local_is_gone(const struct cli_local *local)
{
    char path[160];
    int there = 0;

    for (int node = 0; node < CLI_LOCAL_NODES; node++) {
        cli_local_path(local, node, "sock", path);
        there += access(path, F_OK) == 0;
    }
    return there < CLI_LOCAL_QUORUM;
}

char *cli_local_url(const struct cli_local *local, int node)
{
    char path[160], *encoded, *url = NULL;

    cli_local_path(local, node, "sock", path);
    encoded = cli_text_percent_encode(path, "/._-~+");
    if (encoded != NULL && asprintf(&url, "unix://%s", encoded) < 0)
        url = NULL;
    free(encoded);
    return url;
}

char *cli_local_urls(const struct cli_local *local)
{
    char *list = strdup("");

    for (int node = 0; node < CLI_LOCAL_NODES && list != NULL; node++) {
        char *url = cli_local_url(local, node), *longer = NULL;
        if (url == NULL || asprintf(&longer, "%s%s%s", list, node == 0 ? "" : " ", url) < 0)
            longer = NULL;
        free(url);
        free(list);
        list = longer;
    }
    return list;
}
