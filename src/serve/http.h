/*
 * HTTP on a connection: requests are read, checked and handed to a route; answers are written. What a route does is not here.
 */
#ifndef SERVE_HTTP_H
#define SERVE_HTTP_H

#include <jansson.h>

#include "serve/connection.h"
#include "serve/http_target.h"
#include "serve/problem.h"

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

/* ---- answers: each is the one answer to a request. `fields` are further header lines, each with CR LF, or NULL. */

void serve_answer_bytes(struct serve_connection *connection, int status, const char *type, const char *bytes,
                        size_t length, const char *fields);

/* Takes the reference to body over; NULL body: no memory. */
void serve_answer_json(struct serve_connection *connection, int status, json_t *body, const char *fields);

/* `more` are further members, whose reference it takes over, or NULL. */
void serve_answer_problem(struct serve_connection *connection, enum serve_problem problem, const char *detail,
                          json_t *more);

/* The same without further members, for a request that is no good; false, so that a check can end with it. */
bool serve_refuse(struct serve_exchange *exchange, enum serve_problem problem, const char *detail);

/* The lock is not held by whom the request names. The report is that of looking who has it, and went well. */
void serve_answer_unheld(struct serve_connection *connection, enum serve_problem problem, const char *detail,
                         const redlock_report *report);

/* What came of a call that did not end well, in the report's words. */
void serve_answer_report(struct serve_connection *connection, enum serve_problem problem,
                         const redlock_report *report, json_t *more);

/* Begins an event stream: the connection is the caller's from here on. */
void serve_answer_stream(struct serve_connection *connection);

#endif
