/*
 * HTTP on a connection: requests are read, checked and handed to a route. What a route does is not here, and
 * answers are in answer.h.
 */
#ifndef SERVE_HTTP_H
#define SERVE_HTTP_H

#include "serve/answer.h"
#include "serve/http_target.h"

extern const struct serve_protocol serve_http;

/* A request that is being handled. It is gone when the handler returns. */
struct serve_exchange {
    struct serve_server *server;
    struct serve_connection *connection;
    const struct serve_request *request;
    const struct serve_target *target;
    const char *bytes; /* the request begins there, and its body behind its head */
    const struct serve_principal *principal;
    struct serve_text name; /* the segment of the path that a route leaves open; empty when there is none */
    json_t *body;           /* an object; empty when there was no body */
};

struct serve_route {
    enum serve_method method;
    const char *path;       /* "{}" is the segment that is left open */
    enum serve_role role;   /* that is needed; SERVE_NOBODY: none */
    const char *parameters; /* of the query, separated by blanks */
    const char *members;    /* of the body, likewise; NULL: it takes none */
    void (*handle)(struct serve_exchange *exchange);
};

/* The answer to a request that is no good, a problem without further members; false, so that a check can end
 * with it. */
bool serve_refuse(struct serve_exchange *exchange, enum serve_problem problem, const char *detail);

#endif
