/*
 * Locks that were handed out before all nodes were there. Their handles are kept for a moment, so that the
 * library brings nodes up that are late, as it does for any lock that is held; without one, a lock stays on
 * the nodes that voted for it. A handle that sees the end of its lease lets it be
 * (redlock_spec.keep_on_nodes): its client may have lengthened it elsewhere.
 */
#ifndef SERVE_LATE_H
#define SERVE_LATE_H

#include "serve/server.h"

/* The lock is its client's from now on: frees the handle, now or when the nodes that the report misses have
 * had time to come. */
void serve_late_let_go(struct serve_server *server, redlock_lock *lock, const redlock_report *report);

/* Its client gives it back or lengthens it: what it was must not be brought to any node after that. */
void serve_late_forget(struct serve_server *server, const char *owner, size_t owner_length);

/* Every second; and when it ends, after the client was closed, which gives late nodes time itself. */
void serve_late_tick(struct serve_server *server);
void serve_late_free(struct serve_server *server);

#endif
