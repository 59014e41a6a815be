/*
 * The addresses there are. What HTTP does with them is in http.c.
 */
#ifndef SERVE_ROUTES_H
#define SERVE_ROUTES_H

#include "serve/http.h"

extern const struct serve_route serve_routes[];
extern const size_t serve_route_count;

#endif
