/*
 * GET /v1/locks/{name}/hold: the connection is the lock. It is renewed while the stream is open, and released
 * when it closes.
 */
#ifndef SERVE_HOLD_H
#define SERVE_HOLD_H

#include "serve/http.h"

void serve_hold_open(struct serve_exchange *exchange);

/* The instance stops: each client is told how long its lock will still be there, and may go on with its token
 * elsewhere. */
void serve_holds_stop(struct serve_server *server);

#endif
