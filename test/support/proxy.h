/*
 * A bad network between a client and one node: a process of its own that forwards bytes, or keeps them back
 * and delivers them late, or cuts a connection at the worst moment. It knows nothing of what it carries.
 *
 * Start it before any thread: it is a fork of this process.
 */
#ifndef TEST_SUPPORT_PROXY_H
#define TEST_SUPPORT_PROXY_H

#include <stdbool.h>

#include "support/fleet.h"

struct proxy;

struct proxy *proxy_start(struct fleet *fleet, int node); /* NULL: the system refused something */
void proxy_stop(struct proxy *proxy);
const char *proxy_url(const struct proxy *proxy);

/* Keeps back what is sent to the node, and lets it go again, in order, even of clients that are gone by
 * then. */
void proxy_hold(struct proxy *proxy, bool hold);

/* The same for what the node answers. */
void proxy_mute(struct proxy *proxy, bool mute);

/* The next bytes of a client are the last of its connection: they reach the node, but its answer reaches
 * nobody. */
void proxy_cut_after_next(struct proxy *proxy);

/* The same, but they reach the node only when proxy_deliver is called. New connections work meanwhile. */
void proxy_cut_and_keep_next(struct proxy *proxy);
void proxy_deliver(struct proxy *proxy);

/* Cuts all connections; what was kept back is lost. Returns when that has happened. */
void proxy_cut_now(struct proxy *proxy);

bool proxy_has_cut(const struct proxy *proxy);       /* what was ordered has happened */
bool proxy_keeps_nothing(const struct proxy *proxy); /* every byte has gone on */
int proxy_resets(const struct proxy *proxy);         /* connections that clients ended with a reset */

#endif
