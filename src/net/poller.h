/*
 * Waits for any of a client's descriptors (epoll), and lets other threads end the wait. It does not read or
 * write them, but for the bell's own.
 */
#ifndef RL_NET_POLLER_H
#define RL_NET_POLLER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"

enum { RL_POLLER_BELL = 0xffff }; /* tag of the bell */

struct rl_poller {
    int epoll_fd;
    int bell_fd;
};

struct rl_ready {
    uint32_t tag;
    bool readable; /* or broken: reading will tell */
    bool writable;
};

/* false: the system refused; nothing is left open. */
bool rl_poller_open(struct rl_poller *poller);
void rl_poller_close(struct rl_poller *poller);

/* Watches fd for RL_WANT_ bits under a tag; `known` tells whether it is watched already. */
bool rl_poller_watch(struct rl_poller *poller, int fd, unsigned wants, uint32_t tag, bool known);
void rl_poller_forget(struct rl_poller *poller, int fd);

/* Waits until something is ready or the time is over; returns how many entries were filled in. Callable by
 * several threads at once. Takes the bell down when it rang. */
int rl_poller_wait(struct rl_poller *poller, struct rl_span timeout, struct rl_ready *ready, int capacity);

/* Ends a wait, now or the next one. Callable from any thread. */
void rl_poller_ring(struct rl_poller *poller);

#endif
