/*
 * What the calls about locks have in common: a lease as JSON, giving one back, telling listeners, the answer
 * to a call that could not begin. Which client asked for what is not known here.
 */
#ifndef SERVE_LEASE_H
#define SERVE_LEASE_H

#include "serve/which.h"

/* A lease as JSON: of a lock of this kind, a semaphore with so many permits. */
json_t *serve_lease_json(redlock_lock *lock, const redlock_report *report, redlock_kind kind,
                         uint32_t permits);

/* A lock that nobody can use any more goes back to the nodes. */
void serve_lease_give_back(struct serve_server *server, redlock_lock *lock);

/* Tells listeners what happened to a lock, for each of its names. */
void serve_lease_tell(struct serve_server *server, const char *type, redlock_lock *lock, redlock_kind kind,
                      const char *session);

/* A call could not even begin. */
void serve_answer_unbegun(struct serve_call *call, redlock_result result);

#endif
