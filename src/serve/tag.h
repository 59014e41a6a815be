/*
 * The tag of an owner value: the few bytes by which a lock is found again. Of a request with an
 * Idempotency-Key it is a mark and a digest; of a client of the RESP port it is the value that the client
 * chose, which therefore never begins with the mark.
 */
#ifndef SERVE_TAG_H
#define SERVE_TAG_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define SERVE_TAG_MARK "redlock-key:"

enum { SERVE_TAG_MARK_LENGTH = sizeof SERVE_TAG_MARK - 1 };

/* Whether it is the tag of a request with an Idempotency-Key. */
static inline bool serve_tag_is_of_key(const void *tag, size_t length)
{
    return length >= SERVE_TAG_MARK_LENGTH && memcmp(tag, SERVE_TAG_MARK, SERVE_TAG_MARK_LENGTH) == 0;
}

#endif
