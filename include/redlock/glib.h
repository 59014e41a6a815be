/*
 * A client in a main loop of GLib: callbacks of asynchronous calls run inside it, on its thread. It needs no
 * timer of its own, and nothing of it is in the library. Compile with pkg-config's glib-2.0.
 */
#ifndef REDLOCK_GLIB_H
#define REDLOCK_GLIB_H

#include <glib-unix.h>

#include <redlock.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline gboolean redlock_glib_ready(gint fd, GIOCondition condition, gpointer client)
{
    (void)fd;
    (void)condition;
    (void)redlock_client_process((redlock_client *)client);
    return G_SOURCE_CONTINUE;
}

/* Puts a client into a context (NULL: the default one), before its first asynchronous call. NULL: the system
 * refused. */
static inline GSource *redlock_glib_attach(redlock_client *client, GMainContext *context)
{
    int fd = redlock_client_fd(client);
    GSource *source = fd >= 0 ? g_unix_fd_source_new(fd, G_IO_IN) : NULL;

    if (source == NULL)
        return NULL;
    g_source_set_callback(source, (GSourceFunc)(void (*)(void))redlock_glib_ready, client, NULL);
    (void)g_source_attach(source, context);
    return source;
}

/* Takes it out again, also inside a callback; then close the client, which runs callbacks that are still due.
 * NULL is fine. */
static inline void redlock_glib_detach(GSource *source)
{
    if (source == NULL)
        return;
    g_source_destroy(source);
    g_source_unref(source);
}

#ifdef __cplusplus
}
#endif
#endif
