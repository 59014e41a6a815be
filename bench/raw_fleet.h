/*
 * The connections of the bare loops: one blocking socket per node, greeted and admitted by the library's own
 * wire layer, with the buffers that the loops fill. No deadlines and no retries: it dies of any surprise.
 */
#ifndef BENCH_RAW_FLEET_H
#define BENCH_RAW_FLEET_H

#include <stdbool.h>
#include <stdint.h>

#include "bench.h"
#include "wire/guard_command.h"
#include "wire/handshake.h"

enum { RAW_NODES_MAX = 31, RAW_IN_SIZE = 65536, RAW_OUT_SIZE = 1048576, RAW_TICKETS = 65536 };

/* Which client asked, and in which of its rounds: a late answer to an earlier round counts for nothing. */
struct raw_ticket {
    uint32_t client;
    uint32_t round;
};

/* One connection. Tickets are a ring of the questions that were not answered yet, oldest first. */
struct raw_node {
    int fd;
    struct rl_node_info info;
    char epoch[RL_EPOCH_MAX + 1]; /* guarded: the record it was admitted with */
    size_t in_length, out_length;
    uint32_t asked, answered;
    struct raw_ticket tickets[RAW_TICKETS];
    char in[RAW_IN_SIZE];
    char out[RAW_OUT_SIZE];
};

struct raw_fleet {
    int epoll_fd;
    unsigned node_count;
    unsigned quorum;
    struct raw_node *nodes[RAW_NODES_MAX];
};

/* Connects to all nodes and gives them the scripts, so that EVALSHA will do. */
struct raw_fleet raw_fleet_open(const struct bench *bench);
void raw_fleet_close(struct raw_fleet *fleet);

/* Puts a question behind what is waiting to be sent to a node; the caller may still write into what is
 * returned. */
char *raw_fleet_ask(struct raw_fleet *fleet, unsigned node, const char *text, size_t length,
                    struct raw_ticket ticket);
void raw_fleet_flush(struct raw_fleet *fleet);
bool raw_fleet_waits(const struct raw_fleet *fleet); /* for answers */

/* Waits, and hands over every answer that came, in order. Each is good and one line: to an acquire +OK or the
 * node's time (it took the proposed fence), to a release :1. */
typedef void (*raw_answer_fn)(void *context, struct raw_ticket ticket);
void raw_fleet_wait(struct raw_fleet *fleet, raw_answer_fn answer, void *context);

#endif
