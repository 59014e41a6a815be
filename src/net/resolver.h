/*
 * Looks host names up on a thread of its own, so that a slow name server never holds up a lock. It caches
 * nothing: the name is asked for again at every reconnect.
 */
#ifndef RL_NET_RESOLVER_H
#define RL_NET_RESOLVER_H

#include <stdbool.h>
#include <stddef.h>

#include "net/stream.h"

enum { RL_RESOLVED_MAX = 8 };

struct rl_resolved {
    unsigned tag; /* as given to ask */
    int count;    /* addresses found; 0: error says why */
    struct rl_address addresses[RL_RESOLVED_MAX];
    char error[128];
};

struct rl_resolver;

/* allocate/release: where its memory comes from (release gets the size that was asked for), but for what
 * its thread may still need after rl_resolver_free: that is malloc's, so that the allocator may end with
 * the resolver. notify runs on the resolver's thread when an answer is there; it must only wake somebody
 * up. NULL: no memory. No thread is started before the first question. */
struct rl_resolver *rl_resolver_create(void *(*allocate)(void *context, size_t size),
                                       void (*release)(void *context, void *memory, size_t size),
                                       void *allocator, void (*notify)(void *context), void *context);

/* Does not wait for a look-up that hangs: the thread finishes and cleans up on its own, and notify will not
 * run again. Waits for a notify that is running, so the caller must hold nothing that notify takes. NULL is
 * fine. */
void rl_resolver_free(struct rl_resolver *resolver);

/* After fork(), in the child: frees what can be freed without touching thread or mutex. */
void rl_resolver_forget(struct rl_resolver *resolver);

/* Queues a question about a host name of at most 255 bytes; false: the system gives no thread. At most one
 * per tag is under way (tags are node numbers, below 31); asking again under the same tag replaces it and
 * its answer is dropped. */
bool rl_resolver_ask(struct rl_resolver *resolver, unsigned tag, const char *host, unsigned short port);

/* Takes one answer; false when there is none. Callable from any thread. */
bool rl_resolver_take(struct rl_resolver *resolver, struct rl_resolved *resolved);

#endif
