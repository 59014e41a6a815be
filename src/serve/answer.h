/*
 * The answer to an HTTP request: each of these writes the one that a request gets, and counts it. What it
 * says is decided elsewhere.
 */
#ifndef SERVE_ANSWER_H
#define SERVE_ANSWER_H

#include <jansson.h>

#include "serve/connection.h"
#include "serve/problem.h"

#define SERVE_JSON_TYPE "application/json"

/* `fields` are further header lines, each with CR LF, or NULL; likewise below. */
void serve_answer_bytes(struct serve_connection *connection, int status, const char *type, const char *bytes,
                        size_t length, const char *fields);

/* Takes the reference to body over; NULL body: no memory. */
void serve_answer_json(struct serve_connection *connection, int status, json_t *body, const char *fields);

/* `more` are further members, whose reference it takes over, or NULL. */
void serve_answer_problem(struct serve_connection *connection, enum serve_problem problem, const char *detail,
                          json_t *more);

/* The same with header fields, and with another status than the problem's own. */
void serve_answer_problem_with(struct serve_connection *connection, enum serve_problem problem, int status,
                               const char *detail, json_t *more, const char *fields);

/* The lock is not held by the owner that the request names. The report is that of a look at the lock, which
 * went well. */
void serve_answer_unheld(struct serve_connection *connection, enum serve_problem problem, const char *detail,
                         const redlock_report *report);

/* What came of a call that did not end well, in the report's words. */
void serve_answer_report(struct serve_connection *connection, enum serve_problem problem,
                         const redlock_report *report, json_t *more);

/* Begins an event stream: the connection is the caller's from here on. */
void serve_answer_stream(struct serve_connection *connection);

#endif
