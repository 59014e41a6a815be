/*
 * Idempotency-Keys: how the lease that a key got is found again, at any instance. It asks nothing of the
 * nodes.
 *
 * The owner value of an exclusive lock carries the key's digest behind a mark (tag.h), and a repeated request
 * meets it when the lock refuses it. Shared locks and semaphores would not refuse it: see record.h.
 */
#ifndef SERVE_KEY_H
#define SERVE_KEY_H

#include "serve/tag.h"
#include "serve/wish.h"

enum {
    SERVE_KEY_BYTES = 16,      /* digest of principal and key */
    SERVE_KEY_WHICH_BYTES = 8, /* digest of which lock it is; not there for an exclusive one of one name */
    SERVE_KEY_TAG_MAX = SERVE_TAG_MARK_LENGTH + SERVE_KEY_BYTES + SERVE_KEY_WHICH_BYTES
};

/* Reads the Idempotency-Key of a request into the wish, of which name and kind are known. False after having
 * refused the request. */
bool serve_key_read(struct serve_exchange *exchange, struct serve_wish *wish);

/* A digest of the key and of whose it is, SERVE_KEY_BYTES of it. The wish has a key. */
const unsigned char *serve_key_digest(const struct serve_wish *wish);

/* Whether the owner had the same key; and, if so, whether for the same lock. */
bool serve_key_is_same(const struct serve_wish *wish, const redlock_holder *holder);
bool serve_key_is_same_lock(const struct serve_wish *wish, const redlock_holder *holder);

/* What this instance handed out under a key, as long as nothing else falls on its place; 0 not known. */
void serve_key_keep_fence(struct serve_server *server, const struct serve_wish *wish, redlock_lock *lock);
uint64_t serve_key_recall_fence(struct serve_server *server, const struct serve_wish *wish,
                                const redlock_holder *holder);

#endif
