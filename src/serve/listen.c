/*
 * The sockets that are listened on; see listen.h.
 */
#include "serve/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/listener.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "serve/connection.h"
#include "serve/http.h"
#include "serve/resp.h"
#include "serve/systemd.h"

#define BACKLOG 1024
#define FIRST_HANDED_OVER 3

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un local;
    struct sockaddr_storage room;
};

static void on_accepted(struct evconnlistener *listener, evutil_socket_t socket, struct sockaddr *address,
                        int length, void *context)
{
    struct serve_listener *own = context;

    (void)listener;
    (void)address;
    (void)length;
    if (own->server->connection_count < own->server->settings->max_connections) {
        serve_connection_open(own, socket);
        return;
    }
    own->server->counts.refused_connections++;
    close(socket);
}

/* Without descriptors there is nothing to accept with: rest, instead of turning in circles. The second's
 * timer wakes it up. */
static void on_error(struct evconnlistener *listener, void *context)
{
    const struct serve_listener *own = context;

    serve_say(own->server, SERVE_WARNING, "a connection could not be accepted: %s", strerror(errno));
    evconnlistener_disable(listener);
}

static bool is_loopback(const union address *address)
{
    if (address->any.sa_family == AF_INET)
        return (ntohl(address->v4.sin_addr.s_addr) >> 24) == 127;
    return address->any.sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
}

static void name_host(const union address *address, char host[64])
{
    char text[INET6_ADDRSTRLEN] = "";

    if (address->any.sa_family == AF_INET)
        inet_ntop(AF_INET, &address->v4.sin_addr, text, sizeof text);
    else if (address->any.sa_family == AF_INET6)
        inet_ntop(AF_INET6, &address->v6.sin6_addr, text, sizeof text);
    snprintf(host, 64, address->any.sa_family == AF_INET6 ? "[%s]" : "%s", text);
}

/* Clients of a socket that other machines reach need credentials. */
static bool is_guarded(const struct serve_server *server)
{
    return serve_access_has(&server->access, SERVE_TOKEN) ||
           (server->settings->tls_client_ca != NULL && serve_access_has(&server->access, SERVE_CERTIFICATE));
}

/* Takes over a bound socket that is already listening. */
static bool add_listener(struct serve_server *server, int socket_fd, const struct serve_protocol *protocol,
                         const char *path)
{
    struct serve_listener *own = &server->listeners[server->listener_count];
    union address address = {0};
    socklen_t length = sizeof address;

    if (server->listener_count == SERVE_LISTENERS_MAX || getsockname(socket_fd, &address.any, &length) != 0) {
        serve_say(server, SERVE_ERROR, "at most %d sockets can be listened on", SERVE_LISTENERS_MAX);
        close(socket_fd);
        return false;
    }
    *own = (struct serve_listener){.server = server, .protocol = protocol};
    own->is_unix = address.any.sa_family == AF_UNIX;
    own->is_loopback = is_loopback(&address);
    if (!own->is_unix && !own->is_loopback && !is_guarded(server)) {
        serve_say(
            server, SERVE_ERROR,
            "%s can be reached from other machines: set serve_access with tokens or certificates, or listen on 127.0.0.1",
            path);
        close(socket_fd);
        return false;
    }
    name_host(&address, own->host);
    evutil_make_socket_nonblocking(socket_fd);
    evutil_make_socket_closeonexec(socket_fd);
    own->listener = evconnlistener_new(server->base, on_accepted, own,
                                       LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, socket_fd);
    if (own->listener == NULL) {
        serve_say(server, SERVE_ERROR, "no memory to listen on %s", path);
        close(socket_fd);
        return false;
    }
    evconnlistener_set_error_cb(own->listener, on_error);
    server->listener_count++;
    serve_say(server, SERVE_NOTE, "listening for %s on %s%s", protocol->name, path,
              server->tls != NULL && !own->is_unix ? " (TLS)" : "");
    return true;
}

/* ---- TCP ----------------------------------------------------------------------------------------------- */

/* "PORT", "HOST:PORT" and "[ADDR]:PORT" into host and port. */
static bool split_address(const char *text, char host[256], char port[16])
{
    const char *colon = strrchr(text, ':');
    const char *number = colon == NULL ? text : colon + 1;
    size_t length = colon == NULL ? 0 : (size_t)(colon - text);

    if (length > 1 && text[0] == '[' && text[length - 1] == ']') {
        text++;
        length -= 2;
    }
    if (length >= 256 || strlen(number) == 0 || strlen(number) >= 16 ||
        strspn(number, "0123456789") != strlen(number))
        return false;
    snprintf(host, 256, "%.*s", (int)length, text);
    if (length == 0)
        strcpy(host, "127.0.0.1");
    strcpy(port, number);
    return true;
}

static int bind_socket(const struct addrinfo *address)
{
    int socket_fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;

    if (socket_fd < 0)
        return -1;
    (void)setsockopt(socket_fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address->ai_family == AF_INET6)
        (void)setsockopt(socket_fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (bind(socket_fd, address->ai_addr, address->ai_addrlen) == 0 && listen(socket_fd, BACKLOG) == 0)
        return socket_fd;
    int error = errno;
    close(socket_fd);
    errno = error;
    return -1;
}

/* The address as it is, with the port that was really taken. */
static void describe(int socket_fd, char text[128])
{
    union address address = {0};
    socklen_t length = sizeof address;
    char host[64];

    getsockname(socket_fd, &address.any, &length);
    name_host(&address, host);
    snprintf(text, 128, "%s:%u", host,
             ntohs(address.any.sa_family == AF_INET ? address.v4.sin_port : address.v6.sin6_port));
}

static bool open_tcp(struct serve_server *server, const char *text, const struct serve_protocol *protocol)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found = NULL;
    char host[256], port[16], shown[128];

    if (!split_address(text, host, port)) {
        serve_say(server, SERVE_ERROR, "\"%s\" is not an address to listen on: write ADDR:PORT", text);
        return false;
    }
    int status = getaddrinfo(host, port, &hints, &found);
    if (status != 0) {
        serve_say(server, SERVE_ERROR, "%s: %s", text, gai_strerror(status));
        return false;
    }
    int socket_fd = bind_socket(found);
    freeaddrinfo(found);
    if (socket_fd < 0) {
        serve_say(server, SERVE_ERROR, "%s cannot be listened on: %s", text, strerror(errno));
        return false;
    }
    describe(socket_fd, shown);
    return add_listener(server, socket_fd, protocol, shown);
}

static bool open_list(struct serve_server *server, const char *list, const struct serve_protocol *protocol)
{
    char text[300];

    while (list != NULL && *list != '\0') {
        size_t length = strcspn(list, ", \t");
        if (length > 0 && length < sizeof text) {
            snprintf(text, sizeof text, "%.*s", (int)length, list);
            if (!open_tcp(server, text, protocol))
                return false;
        }
        list += length;
        list += strspn(list, ", \t");
    }
    return true;
}

/* ---- unix ---------------------------------------------------------------------------------------------- */

/* A socket that nobody listens on any more was left behind, and may go. */
static bool is_left_over(const struct sockaddr_un *address)
{
    int socket_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool refused = socket_fd >= 0 &&
                   connect(socket_fd, (const struct sockaddr *)address, sizeof *address) != 0 &&
                   errno == ECONNREFUSED;

    close(socket_fd);
    return refused;
}

static bool open_unix(struct serve_server *server, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    /* Peers are told apart by the kernel; the file only has to let in those that the access file names. */
    mode_t mode = serve_access_has(&server->access, SERVE_USER) ? 0666 : 0600;

    if (strlen(path) >= sizeof address.sun_path) {
        serve_say(server, SERVE_ERROR, "%s is too long for a unix socket: at most %zu bytes", path,
                  sizeof address.sun_path - 1);
        return false;
    }
    strcpy(address.sun_path, path);
    if (is_left_over(&address))
        unlink(path);
    int socket_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    mode_t mask = umask(0177);
    bool bound = socket_fd >= 0 && bind(socket_fd, (struct sockaddr *)&address, sizeof address) == 0;
    umask(mask);
    if (!bound || chmod(path, mode) != 0 || listen(socket_fd, BACKLOG) != 0) {
        serve_say(server, SERVE_ERROR, "%s cannot be listened on: %s", path, strerror(errno));
        close(socket_fd);
        return false;
    }
    if (!add_listener(server, socket_fd, &serve_http, path))
        return false;
    snprintf(server->listeners[server->listener_count - 1].path, sizeof server->listeners[0].path, "%s",
             path);
    return true;
}

/* ---- all of them --------------------------------------------------------------------------------------- */

/* A socket named "resp" in its unit file speaks RESP, the others HTTP. */
static bool take_handed_over(struct serve_server *server, int count)
{
    char name[64], shown[96];

    for (int i = 0; i < count; i++) {
        serve_systemd_socket_name(i, name);
        snprintf(shown, sizeof shown, "socket %d%s%s", FIRST_HANDED_OVER + i, name[0] == '\0' ? "" : " ",
                 name);
        if (!add_listener(server, FIRST_HANDED_OVER + i,
                          strcmp(name, "resp") == 0 ? &serve_resp : &serve_http, shown))
            return false;
    }
    return true;
}

bool serve_listen_open(struct serve_server *server)
{
    const struct serve_settings *settings = server->settings;
    int handed_over = serve_systemd_socket_count();

    if (handed_over > 0)
        return take_handed_over(server, handed_over);
    if (!open_list(server, settings->listen, &serve_http) || !open_list(server, settings->resp, &serve_resp))
        return false;
    return settings->unix_path == NULL || open_unix(server, settings->unix_path);
}

void serve_listen_close(struct serve_server *server)
{
    for (size_t i = 0; i < server->listener_count; i++) {
        struct serve_listener *own = &server->listeners[i];
        if (own->listener != NULL)
            evconnlistener_free(own->listener);
        own->listener = NULL;
        if (own->path[0] != '\0')
            unlink(own->path);
        own->path[0] = '\0';
    }
}
