/*
 * Streams over TCP and unix sockets, and the entry points common to all streams. It hands bytes on to
 * stream_tls.c where a stream has TLS, and knows nothing of what TLS does with them.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/stream.h"
#include "net/stream_tls.h"

static enum rl_io fail_with_errno(struct rl_stream *stream, int error_number)
{
    rl_stream_set_errno(stream, error_number);
    return RL_IO_FAILED;
}

bool rl_address_numeric(struct rl_address *address, const char *host, unsigned short port)
{
    memset(address, 0, sizeof *address);
    struct sockaddr_in *ipv4 = (struct sockaddr_in *)&address->storage;
    if (inet_pton(AF_INET, host, &ipv4->sin_addr) == 1) {
        ipv4->sin_family = AF_INET;
        ipv4->sin_port = htons(port);
        address->length = sizeof *ipv4;
        return true;
    }
    struct sockaddr_in6 *ipv6 = (struct sockaddr_in6 *)&address->storage;
    if (inet_pton(AF_INET6, host, &ipv6->sin6_addr) == 1) {
        ipv6->sin6_family = AF_INET6;
        ipv6->sin6_port = htons(port);
        address->length = sizeof *ipv6;
        return true;
    }
    return false;
}

void rl_address_unix(struct rl_address *address, const char *path)
{
    memset(address, 0, sizeof *address);
    struct sockaddr_un *local = (struct sockaddr_un *)&address->storage;
    local->sun_family = AF_UNIX;
    size_t length = strlen(path);
    if (length >= sizeof local->sun_path)
        return; /* its length stays 0, which no good address has */
    memcpy(local->sun_path, path, length + 1);
    address->length = sizeof *local;
}

void rl_stream_init(struct rl_stream *stream)
{
    *stream = (struct rl_stream){.fd = -1};
}

/* Requests are small and wait for their answers, so they must leave at once; keep-alive finds a node that
 * vanished while nothing was asked. A system that refuses either still gives a working stream. */
static void set_tcp_options(int fd)
{
    int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
}

/* A connect that a signal interrupted goes on by itself, like one that is in progress. */
static bool start_connect(struct rl_stream *stream, const struct rl_address *address)
{
    if (connect(stream->fd, (const struct sockaddr *)&address->storage, address->length) == 0 ||
        errno == EINPROGRESS || errno == EINTR)
        return true;
    if (errno == EAGAIN && address->storage.ss_family == AF_UNIX)
        /* Such a socket is not on its way and nothing would tell when to try again: the caller's back-off
         * does. */
        snprintf(stream->error, sizeof stream->error, "too many connections wait at the socket");
    else
        fail_with_errno(stream, errno);
    return false;
}

bool rl_stream_open(struct rl_stream *stream, const struct rl_address *address, struct ssl_ctx_st *tls,
                    const char *server_name)
{
    assert(stream->fd == -1);
    assert(stream->ssl == NULL);
    stream->error[0] = '\0';
    stream->cause = RL_CAUSE_UNREACHABLE;
    if (address->length == 0) {
        snprintf(stream->error, sizeof stream->error, "socket path is too long");
        return false;
    }
    sa_family_t family = address->storage.ss_family;
    stream->fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (stream->fd == -1) {
        fail_with_errno(stream, errno);
        return false;
    }
    if (family != AF_UNIX)
        set_tcp_options(stream->fd);
    if (!start_connect(stream, address) || (tls != NULL && !rl_tls_attach(stream, tls, server_name))) {
        rl_stream_abort(stream);
        return false;
    }
    stream->connecting = true;
    stream->wants = RL_WANT_WRITE;
    return true;
}

/* SO_ERROR is 0 both on success and while the connect is under way; only poll tells these apart. */
static enum rl_io finish_connect(struct rl_stream *stream)
{
    struct pollfd question = {.fd = stream->fd, .events = POLLOUT};
    if (poll(&question, 1, 0) <= 0) {
        stream->wants = RL_WANT_WRITE;
        return RL_IO_AGAIN;
    }
    int error_number = 0;
    socklen_t size = sizeof error_number;
    if (getsockopt(stream->fd, SOL_SOCKET, SO_ERROR, &error_number, &size) == -1)
        error_number = errno;
    return error_number == 0 ? RL_IO_DONE : fail_with_errno(stream, error_number);
}

enum rl_io rl_stream_continue(struct rl_stream *stream)
{
    assert(stream->fd != -1);
    if (!stream->connecting)
        return RL_IO_DONE;
    enum rl_io result = RL_IO_DONE;
    if (stream->ssl == NULL || !rl_tls_begun(stream))
        result = finish_connect(stream);
    if (result == RL_IO_DONE && stream->ssl != NULL)
        result = rl_tls_handshake(stream);
    if (result == RL_IO_DONE) {
        stream->connecting = false;
        stream->wants = 0;
    }
    return result;
}

/* What a failed recv or send comes to. */
static enum rl_io judge_errno(struct rl_stream *stream, unsigned wants)
{
    if (errno != EAGAIN && errno != EWOULDBLOCK)
        return fail_with_errno(stream, errno);
    stream->wants = wants;
    return RL_IO_AGAIN;
}

enum rl_io rl_stream_read(struct rl_stream *stream, char *bytes, size_t capacity, size_t *got)
{
    assert(stream->fd != -1);
    assert(!stream->connecting);
    assert(capacity > 0);
    *got = 0;
    if (stream->ssl != NULL)
        return rl_tls_read(stream, bytes, capacity, got);
    ssize_t count;
    do
        count = recv(stream->fd, bytes, capacity, 0);
    while (count == -1 && errno == EINTR);
    if (count == -1)
        return judge_errno(stream, RL_WANT_READ);
    if (count == 0) {
        snprintf(stream->error, sizeof stream->error, "connection closed by the peer");
        return RL_IO_CLOSED;
    }
    *got = (size_t)count;
    return RL_IO_DONE;
}

bool rl_stream_pending(const struct rl_stream *stream)
{
    return stream->ssl != NULL && rl_tls_pending(stream);
}

enum rl_io rl_stream_write(struct rl_stream *stream, const char *bytes, size_t length, size_t *put)
{
    assert(stream->fd != -1);
    assert(!stream->connecting);
    assert(length > 0);
    *put = 0;
    if (stream->ssl != NULL)
        return rl_tls_write(stream, bytes, length, put);
    ssize_t count;
    do
        count = send(stream->fd, bytes, length, MSG_NOSIGNAL);
    while (count == -1 && errno == EINTR);
    if (count == -1)
        return judge_errno(stream, RL_WANT_WRITE);
    *put = (size_t)count;
    return RL_IO_DONE;
}

/* Closes the socket and leaves a closed stream that still knows its last error. */
static void close_socket(struct rl_stream *stream)
{
    assert(stream->ssl == NULL);
    close(stream->fd);
    stream->fd = -1;
    stream->wants = 0;
    stream->connecting = false;
}

/* The system answers close() with a reset, and drops what was not delivered yet, when received bytes were
 * left unread. Bounded, since the peer may go on sending. */
static void discard_unread(int fd)
{
    char bytes[4096];
    for (int i = 0; i < 64; i++) {
        if (recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) <= 0)
            return;
    }
}

void rl_stream_close(struct rl_stream *stream)
{
    if (stream->fd == -1)
        return;
    if (stream->ssl != NULL)
        rl_tls_detach(stream, true);
    discard_unread(stream->fd);
    close_socket(stream);
}

void rl_stream_abort(struct rl_stream *stream)
{
    if (stream->fd == -1)
        return;
    if (stream->ssl != NULL)
        rl_tls_detach(stream, false);
    struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    (void)setsockopt(stream->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close_socket(stream);
}

/* The socket is shared with the parent: only this copy of the descriptor may go. Freeing TLS would take
 * locks of OpenSSL that a thread of the parent may have held at the fork. */
void rl_stream_forget(struct rl_stream *stream)
{
    if (stream->fd == -1)
        return;
    stream->ssl = NULL;
    close_socket(stream);
}
