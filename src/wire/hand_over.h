/*
 * What a node tells a waiter that it hands the lock to: a message on the waiter's own channel, pushed on the
 * connection that also carries replies, in order with them. Whether it counts is not decided here.
 */
#ifndef RL_WIRE_HAND_OVER_H
#define RL_WIRE_HAND_OVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/resp_writer.h"

#define RL_CHANNEL "redlock:" /* what all channels begin with */
enum { RL_CHANNEL_MAX = 8 + 2 * 16 };

struct rl_hand_over {
    int64_t node_us; /* when it was given, by the node's clock */
    uint64_t fence;
    int64_t ttl_ms; /* for how long */
    uint32_t slot;  /* which one of a semaphore; 0 it is none */
    /* Pointers into the message. */
    const char *owner;
    size_t owner_length;
    const char *epoch; /* the node's record, as much of it as the waiter knew */
    size_t epoch_length;
    const char *key;
    size_t key_length;
};

void rl_write_subscribe(struct rl_writer *writer, const char *channel);

/* Whether a push tells of that; any other kind is none of our business. */
bool rl_hand_over_read(const char *bytes, size_t length, struct rl_hand_over *hand_over);

#endif
