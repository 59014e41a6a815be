/*
 * The loop of a bad network: takes connections from a listener and passes their bytes on to a node's unix
 * socket, or does not, as the orders say. It knows nothing of what it carries, and starts no process; proxy.h
 * and chaos/relay.c do.
 */
#ifndef TEST_SUPPORT_RELAY_H
#define TEST_SUPPORT_RELAY_H

#include <stdatomic.h>

enum relay_cut {
    RELAY_CUT_NONE,
    /* a client's next bytes are its last: they reach the node, but its answer reaches nobody */
    RELAY_CUT_AFTER,
    RELAY_CUT_AND_KEEP, /* the same, but they reach the node only once it is ordered to deliver */
    RELAY_CUT_NOW       /* all connections at once; what was kept back is lost */
};

/* May change while it runs. All zero: everything goes on at once. */
struct relay_orders {
    atomic_int hold;            /* 1: keep back what is sent to the node */
    atomic_int mute;            /* 1: keep back what the node answers */
    atomic_int delay_ms;        /* what is sent to the node comes so much later */
    atomic_int answer_delay_ms; /* and what it answers */
    atomic_int cut;             /* enum relay_cut; back to none when it has happened */
    atomic_int deliver;         /* 1: what was cut and kept goes on */
    atomic_long kept;           /* told by the relay: bytes that have not gone on */
    atomic_int resets;          /* told by the relay: connections that clients ended with a reset */
};

/* A listening socket; port 0: any, and the one it became is written back. -1: the system refused it. */
int relay_listen(const char *address, int *port);

/* Does not return. */
_Noreturn void relay_run(int listener, const char *socket_path, struct relay_orders *orders);

#endif
