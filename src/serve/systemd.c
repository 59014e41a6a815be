/*
 * The two small protocols of systemd; see systemd.h.
 */
#include "serve/systemd.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int serve_systemd_socket_count(void)
{
    const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");

    if (pid == NULL || count == NULL || strtol(pid, NULL, 10) != (long)getpid())
        return 0;
    long number = strtol(count, NULL, 10);
    return number < 0 || number > 64 ? 0 : (int)number;
}

void serve_systemd_socket_name(int number, char name[64])
{
    const char *names = getenv("LISTEN_FDNAMES");

    name[0] = '\0';
    for (int i = 0; names != NULL && i < number; i++) {
        names = strchr(names, ':');
        names += names != NULL;
    }
    if (names != NULL)
        snprintf(name, 64, "%.*s", (int)strcspn(names, ":"), names);
}

void serve_systemd_notify(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = path == NULL ? 0 : strlen(path);

    if (length < 2 || length >= sizeof address.sun_path || (path[0] != '/' && path[0] != '@'))
        return;
    memcpy(address.sun_path, path, length);
    if (path[0] == '@')
        address.sun_path[0] = '\0';
    int socket_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket_fd < 0)
        return;
    (void)sendto(socket_fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&address,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
    close(socket_fd);
}
