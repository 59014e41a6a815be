/*
 * A client in a loop of libevent: callbacks of asynchronous calls run inside it, on its thread. It needs no
 * timer of its own, and nothing of it is in the library. Compile with pkg-config's libevent_core.
 */
#ifndef REDLOCK_LIBEVENT_H
#define REDLOCK_LIBEVENT_H

#include <event2/event.h>

#include <redlock.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline void redlock_libevent_ready(evutil_socket_t fd, short events, void *client)
{
    (void)fd;
    (void)events;
    (void)redlock_client_process((redlock_client *)client);
}

/* Puts a client into a loop, before its first asynchronous call. The loop goes on until it is taken out.
 * NULL: the system or libevent refused. */
static inline struct event *redlock_libevent_attach(redlock_client *client, struct event_base *base)
{
    int fd = redlock_client_fd(client);
    struct event *event =
        fd >= 0 ? event_new(base, fd, EV_READ | EV_PERSIST, redlock_libevent_ready, client) : NULL;

    if (event != NULL && event_add(event, NULL) != 0) {
        event_free(event);
        event = NULL;
    }
    return event;
}

/* Takes it out again, also inside a callback; then close the client, which runs callbacks that are still due.
 * NULL is fine. */
static inline void redlock_libevent_detach(struct event *event)
{
    if (event != NULL)
        event_free(event);
}

#ifdef __cplusplus
}
#endif
#endif
