/*
 * The requests that wait here for the same lock, in their order. Only the first deals with the library and
 * the nodes; the others cost a few bytes. It does not know what a waiter is, nor how long it waits.
 */
#ifndef SERVE_LINE_H
#define SERVE_LINE_H

#include "serve/server.h"

struct serve_line;

/* A place in a line; part of what waits. All zero: in none. */
struct serve_place {
    struct serve_place *next, *previous;
    struct serve_line *line;
    void (*go)(void *context); /* it is the first now; may leave at once */
    void *context;
    bool told; /* that it is the first */
};

/* Joins the line of a name. True when it is the first; otherwise go() will be called when it is. False with
 * place->line NULL: no memory for a line. */
bool serve_line_join(struct serve_server *server, const char *name, size_t length, struct serve_place *place,
                     void (*go)(void *context), void *context);

/* Leaves it, if it is in one. The one that becomes the first by that is told, unless the instance is
 * stopping. */
void serve_line_leave(struct serve_server *server, struct serve_place *place);

/* How many are behind the first. */
size_t serve_line_behind(const struct serve_server *server, const char *name, size_t length);

#endif
