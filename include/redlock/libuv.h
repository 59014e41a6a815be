/*
 * A client in a loop of libuv: callbacks of asynchronous calls run inside it, on its thread. It needs no
 * timer of its own, and nothing of it is in the library. Compile with pkg-config's libuv.
 */
#ifndef REDLOCK_LIBUV_H
#define REDLOCK_LIBUV_H

#include <stdlib.h>

#include <redlock.h>
#include <uv.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline void redlock_libuv_ready(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    (void)redlock_client_process((redlock_client *)poll->data);
}

static inline void redlock_libuv_closed(uv_handle_t *poll)
{
    free(poll);
}

/* Puts a client into a loop, before its first asynchronous call. The loop goes on until it is taken out;
 * uv_unref() changes that. NULL: the system or libuv refused. */
static inline uv_poll_t *redlock_libuv_attach(redlock_client *client, uv_loop_t *loop)
{
    int fd = redlock_client_fd(client);
    uv_poll_t *poll = fd >= 0 ? (uv_poll_t *)calloc(1, sizeof *poll) : NULL;

    if (poll == NULL || uv_poll_init(loop, poll, fd) != 0) {
        free(poll);
        return NULL;
    }
    poll->data = client;
    if (uv_poll_start(poll, UV_READABLE, redlock_libuv_ready) != 0) {
        uv_close((uv_handle_t *)poll, redlock_libuv_closed);
        return NULL;
    }
    return poll;
}

/* Takes it out again, also inside a callback; then close the client, which runs callbacks that are still due.
 * The loop frees the handle when it turns next. NULL is fine. */
static inline void redlock_libuv_detach(uv_poll_t *poll)
{
    if (poll == NULL)
        return;
    (void)uv_poll_stop(poll);
    uv_close((uv_handle_t *)poll, redlock_libuv_closed);
}

#ifdef __cplusplus
}
#endif
#endif
