/*
 * Waiting for a lock: in the line of this instance, whose first stands in the line of the nodes, for as long
 * as the request says.
 */
#ifndef SERVE_WAITING_H
#define SERVE_WAITING_H

#include "serve/taking.h"

/* Anything but REDLOCK_OK: it does not wait, and may still be in the line. */
redlock_result serve_waiting_begin(struct serve_taking *taking);

/* Nothing was asked of the nodes yet: the client is gone, or the instance stops. */
void serve_waiting_dismiss(struct serve_call *call);

#endif
