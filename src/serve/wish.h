/*
 * What is asked for with a lock: its name, which lock that is, and what goes with it. Nothing is asked of the
 * nodes here.
 */
#ifndef SERVE_WISH_H
#define SERVE_WISH_H

#include "serve/which.h"

#define SERVE_TAG_MAX 64

/* What is asked for with a lock. The texts are in the same piece of memory as the wish. */
struct serve_wish {
    const char *name, *why;
    size_t name_length;
    uint32_t ttl_ms;
    redlock_kind kind;
    uint32_t permits, also_count;
    const redlock_name *also;
    int64_t wait_ms;
    size_t tag_length;                /* 0: it has no Idempotency-Key */
    unsigned char tag[SERVE_TAG_MAX]; /* of its Idempotency-Key: see key.h */
};

/* Allocates `size` bytes, which have a wish at `offset`, and room for the texts behind them. Only name, why
 * and which lock it is are filled in (NULL: an exclusive one): the words are the principal's name and what it
 * gave. NULL after having refused the request. */
void *serve_wish_new(struct serve_exchange *exchange, const struct serve_which *which, const char *why,
                     size_t size, size_t offset);

/* The spec of a wish; it points into the wish. */
redlock_spec serve_wish_spec(const struct serve_wish *wish);

#endif
