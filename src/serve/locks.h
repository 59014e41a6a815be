/*
 * The calls about one lock: take it, lengthen it, give it back, look at it. Whatever is known of a lock is in its token and on
 * the nodes, so that any instance can answer.
 */
#ifndef SERVE_LOCKS_H
#define SERVE_LOCKS_H

#include "serve/http.h"

void serve_locks_take(struct serve_exchange *exchange);    /* POST /v1/locks/{name} */
void serve_locks_extend(struct serve_exchange *exchange);  /* PATCH */
void serve_locks_release(struct serve_exchange *exchange); /* DELETE */
void serve_locks_show(struct serve_exchange *exchange);    /* GET */

/* What is asked for with a lock. The texts are in the same piece of memory as the wish. */
struct serve_wish {
    const char *name, *why;
    size_t name_length;
    uint32_t ttl_ms;
    redlock_kind kind;
    int64_t wait_ms;
    bool has_tag;
    unsigned char tag[16]; /* of its Idempotency-Key */
};

/* False after having refused the request: the name is no name, or not for this principal. */
bool serve_locks_check_name(struct serve_exchange *exchange, struct serve_text name);

/* Allocates `size` bytes, which have a wish at `offset`, and room for the texts behind them. Only name and why are filled in:
 * the words are the principal's name and what it gave. NULL after having refused the request. */
void *serve_wish_new(struct serve_exchange *exchange, const char *why, size_t size, size_t offset);

/* The spec of a wish; it points into the wish. */
redlock_spec serve_wish_spec(const struct serve_wish *wish);

/* A lease as JSON. */
json_t *serve_json_lease(redlock_lock *lock, const redlock_report *report);

/* Those who wait, in the order of the report. */
json_t *serve_json_waiters(const redlock_report *report);

/* A lock that nobody can use any more goes back to the nodes. */
void serve_locks_give_back(struct serve_server *server, redlock_lock *lock);

/* Tells listeners what happened to a lock. */
void serve_locks_tell(struct serve_server *server, const char *type, redlock_lock *lock, const char *session);

#endif
