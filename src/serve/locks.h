/*
 * The calls about one lock: take it, lengthen it, give it back, look at it. Whatever is known of a lock is in
 * its token and on the nodes, so that any instance can answer.
 */
#ifndef SERVE_LOCKS_H
#define SERVE_LOCKS_H

#include "serve/http.h"

void serve_locks_take(struct serve_exchange *exchange);    /* POST /v1/locks/{name} */
void serve_locks_extend(struct serve_exchange *exchange);  /* PATCH */
void serve_locks_release(struct serve_exchange *exchange); /* DELETE */
void serve_locks_show(struct serve_exchange *exchange);    /* GET */

#endif
