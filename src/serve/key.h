/*
 * Idempotency-Keys: how the lease that a key got is found again, at any instance. It asks nothing of the
 * nodes.
 *
 * The owner value of an exclusive lock carries the key's digest behind a mark (tag.h), and a repeated request
 * meets it when the lock refuses it. A shared lock or a semaphore would not refuse it, and would hand out a
 * second permit. So of these a key is recorded as a lock of its own: its record, an exclusive lock whose name
 * is a digest of key and name, is taken once the permit was, and its owner value says which one that is. A
 * request that cannot take the record gives its permit back, and hands out the one that the record names.
 */
#ifndef SERVE_KEY_H
#define SERVE_KEY_H

#include "serve/wish.h"

#define SERVE_KEY_NAME_SIZE 64

/* Reads the Idempotency-Key of a request into the wish, of which name and kind are known. False after having
 * refused the request. */
bool serve_key_read(struct serve_exchange *exchange, struct serve_wish *wish);

/* A digest of the key and of whose it is, of 16 bytes. The wish has a key. */
const unsigned char *serve_key_digest(const struct serve_wish *wish);

/* Whether the owner had the same key; and, if so, whether for the same lock. */
bool serve_key_is_same(const struct serve_wish *wish, const redlock_holder *holder);
bool serve_key_is_same_lock(const struct serve_wish *wish, const redlock_holder *holder);

/* Whether the wish needs a record: it has a key, and its lock would not refuse it. */
bool serve_key_needs_record(const struct serve_wish *wish);

/* The name of the record. */
void serve_key_record_name(const struct serve_wish *wish, char name[SERVE_KEY_NAME_SIZE]);

/* The tag of a record that says which lease the wish got; returns its length. 0: its owner value has a form
 * that is not known, and there can be no record. */
size_t serve_key_record_tag(const struct serve_wish *wish, redlock_lock *lock,
                            unsigned char tag[REDLOCK_TAG_MAX]);

/* A lease as a record tells of it. */
struct serve_recorded {
    bool same_lock; /* it is of the kind that the wish asks for */
    size_t record_length, owner_length;
    uint64_t fence;                                                   /* 0 none */
    char record[REDLOCK_OWNER_MAX + 1], owner[REDLOCK_OWNER_MAX + 1]; /* owner values of both */
};

/* Reads the record out of a report about its name. False when nobody, or something else, is recorded. */
bool serve_key_recorded(const struct serve_wish *wish, const redlock_report *report,
                        struct serve_recorded *recorded);

/* The same from the owner value of a record. */
bool serve_key_read_record(const char *record, size_t length, struct serve_recorded *recorded);

#endif
