/*
 * Sessions: locks that are kept alive together. A keep-alive lengthens all of them and says what became of each; without one
 * they end by themselves, each at its time, and are never released early: their client may still rely on what it was told.
 */
#ifndef SERVE_SESSIONS_H
#define SERVE_SESSIONS_H

#include "serve/http.h"

void serve_sessions_open(struct serve_exchange *exchange);       /* POST /v1/sessions */
void serve_sessions_keep_alive(struct serve_exchange *exchange); /* POST /v1/sessions/{id}/keepalive */
void serve_sessions_close(struct serve_exchange *exchange);      /* DELETE /v1/sessions/{id} */

/* True when the principal has such a session; *ttl_ms is that of its locks. False after having refused the request. */
bool serve_sessions_find(struct serve_exchange *exchange, const char *id, int64_t *ttl_ms);

/* Whom a session of the principal is for, in its own words; empty when it did not say, or when there is no such session. */
const char *serve_sessions_who(const struct serve_exchange *exchange, const char *id);

/* Keeps a lock that was taken within a session. False when the session has ended meanwhile: the lock is still the caller's. */
bool serve_sessions_keep(struct serve_server *server, const char *id, redlock_lock *lock);

/* A lock is being released by its token: whichever session had it does not renew it any more. */
void serve_sessions_forget(struct serve_server *server, const char *name, size_t name_length,
                           const char *owner, size_t owner_length);

/* Ends sessions whose time is up, and tells of locks that were lost. Called once a second. */
void serve_sessions_tick(struct serve_server *server);

/* Frees all of them; their locks end by themselves. */
void serve_sessions_free(struct serve_server *server);

size_t serve_sessions_count(const struct serve_server *server);

#endif
