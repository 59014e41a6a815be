/*
 * The record of an Idempotency-Key, as it is at the nodes. It asks nothing of them: recording.c does.
 *
 * A shared lock or a semaphore would not refuse a repeated request, and would hand out a second permit. So of
 * these a key is recorded as a lock of its own: its record, an exclusive lock whose name is a digest of key
 * and name, is taken once the permit was, and its owner value says which one that is. A request that cannot
 * take the record gives its permit back, and hands out the one that the record names.
 */
#ifndef SERVE_RECORD_H
#define SERVE_RECORD_H

#include "serve/key.h"

#define SERVE_RECORD_NAME_SIZE 64

/* Whether the wish needs a record: it has a key, and its lock would not refuse it. */
bool serve_record_is_needed(const struct serve_wish *wish);

/* The name of the record. */
void serve_record_name(const struct serve_wish *wish, char name[SERVE_RECORD_NAME_SIZE]);

/* The tag of a record that says which lease the wish got; returns its length. 0: its owner value has a form
 * that is not known, and there can be no record. */
size_t serve_record_tag(const struct serve_wish *wish, redlock_lock *lock,
                        unsigned char tag[REDLOCK_TAG_MAX]);

/* A lease as a record tells of it. */
struct serve_recorded {
    bool same_lock; /* it is of the kind that the wish asks for */
    size_t record_length, owner_length;
    uint64_t fence;                                                   /* 0 none */
    char record[REDLOCK_OWNER_MAX + 1], owner[REDLOCK_OWNER_MAX + 1]; /* owner values of both */
};

/* Reads the record out of a report about its name. False when nobody, or something else, is recorded. */
bool serve_record_find(const struct serve_wish *wish, const redlock_report *report,
                       struct serve_recorded *recorded);

/* The same from the owner value of a record. */
bool serve_record_read(const char *record, size_t length, struct serve_recorded *recorded);

#endif
