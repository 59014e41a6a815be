/*
 * What is asked for with a lock: its name, which is checked here, and what goes with it. Nothing is asked of
 * the nodes here.
 */
#ifndef SERVE_WISH_H
#define SERVE_WISH_H

#include "serve/http.h"

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
bool serve_wish_check_name(struct serve_exchange *exchange, struct serve_text name);

/* Allocates `size` bytes, which have a wish at `offset`, and room for the texts behind them. Only name and
 * why are filled in: the words are the principal's name and what it gave. NULL after having refused the
 * request. */
void *serve_wish_new(struct serve_exchange *exchange, const char *why, size_t size, size_t offset);

/* The spec of a wish; it points into the wish. */
redlock_spec serve_wish_spec(const struct serve_wish *wish);

#endif
