/*
 * Names of locks: what one may be, and who may use it. Nothing is asked of the nodes here.
 */
#ifndef SERVE_LOCK_NAME_H
#define SERVE_LOCK_NAME_H

#include "serve/http.h"

#define SERVE_KEY_PREFIX "redlock-key:" /* of the names under which Idempotency-Keys are recorded */

/* Whether it is not for clients, on any port: the library keeps its own records under such names, and the
 * service those of Idempotency-Keys. */
bool serve_name_is_reserved(const struct serve_server *server, struct serve_text name);

/* False after having refused the request: the name is no name, or not for this principal. */
bool serve_name_check(struct serve_exchange *exchange, struct serve_text name);

/* The same for a name of `also`, counted from 1. */
bool serve_name_check_also(struct serve_exchange *exchange, struct serve_text name, unsigned number);

/* Whether a name is one that this service keeps records under, and shows nobody. */
bool serve_name_is_record(const char *name, size_t length);

#endif
