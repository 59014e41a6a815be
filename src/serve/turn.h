/*
 * One turn of the loop: requests that are to be put to the nodes at its end, together. Locks are asked for
 * after those of the same turn were given back, so that each kind of question travels as one command. What is
 * asked is not known here.
 */
#ifndef SERVE_TURN_H
#define SERVE_TURN_H

#include "serve/server.h"

/* Part of what waits for the end of the turn. All zero: it does not. */
struct serve_later {
    struct serve_later *next, **place; /* place NULL: in no turn */
    void (*begin)(void *context);
    void *context;
};

/* begin() runs at the end of this turn. */
void serve_turn_add(struct serve_server *server, struct serve_later *later, void (*begin)(void *context),
                    void *context);

/* It does not, if it has not yet. */
void serve_turn_leave(struct serve_server *server, struct serve_later *later);

/* The turn is over: begins what waited, and has it sent. */
void serve_turn_end(struct serve_server *server);

#endif
