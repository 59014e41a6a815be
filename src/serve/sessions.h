/*
 * Sessions: locks that are kept alive together. A keep-alive lengthens all of them and says what became of
 * each; without one they end by themselves, each at its time, and are never released early: their client may
 * still rely on what it was told.
 */
#ifndef SERVE_SESSIONS_H
#define SERVE_SESSIONS_H

#include "serve/http.h"
#include "serve/session_list.h"

void serve_sessions_open(struct serve_exchange *exchange);       /* POST /v1/sessions */
void serve_sessions_keep_alive(struct serve_exchange *exchange); /* POST /v1/sessions/{id}/keepalive */
void serve_sessions_close(struct serve_exchange *exchange);      /* DELETE /v1/sessions/{id} */

/* True when the principal has such a session; *ttl_ms is that of its locks. False after having refused the
 * request. */
bool serve_sessions_find(struct serve_exchange *exchange, const char *id, uint32_t *ttl_ms);

/* Whom a session of the principal is for, in its own words; empty when it did not say, or when there is no
 * such session. */
const char *serve_sessions_who(const struct serve_exchange *exchange, const char *id);

#endif
