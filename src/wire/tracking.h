/*
 * How a node is made to tell when a key changes: client tracking, switched on per connection and armed per
 * key, and the pushes by which it tells. Which keys are worth watching is not decided here.
 */
#ifndef RL_WIRE_TRACKING_H
#define RL_WIRE_TRACKING_H

#include <stdbool.h>

#include "wire/resp_writer.h"

/* CLIENT TRACKING ON OPTIN: nothing is tracked but what is asked for by name. Or OFF: nothing is told any
 * more. The node keeps what was armed until it has changed, so after ON it may be told once more; that is old
 * news to us. */
void rl_write_tracking(struct rl_writer *writer, bool on);

/* CLIENT CACHING YES: the next command's key is tracked until it has changed once. */
void rl_write_track_next(struct rl_writer *writer);

/* Walks over a push message. */
struct rl_push {
    const char *bytes;
    size_t length, offset;
    uint32_t left; /* keys still to come */
    bool all;      /* every key may have changed: the node was flushed */
};

/* Whether a push tells that keys have changed; any other kind is none of our business. */
bool rl_push_read(struct rl_push *push, const char *bytes, size_t length);

/* The next key that has changed; false: there are no more. */
bool rl_push_next_key(struct rl_push *push, const char **key, size_t *key_length);

#endif
