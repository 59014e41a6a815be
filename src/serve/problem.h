/*
 * What can go wrong with a request, as RFC 9457 has it: a type, a status, a title, and what to do about it.
 * It sends nothing.
 */
#ifndef SERVE_PROBLEM_H
#define SERVE_PROBLEM_H

#include <stddef.h>

#include <redlock.h>

enum serve_problem {
    SERVE_MALFORMED,
    SERVE_INVALID,
    SERVE_UNAUTHORIZED,
    SERVE_FORBIDDEN,
    SERVE_FOREIGN_ORIGIN,
    SERVE_NOT_FOUND,
    SERVE_METHOD_NOT_ALLOWED,
    SERVE_NOT_YOURS,
    SERVE_NOT_HOLDER,
    SERVE_FOREIGN_TYPE,
    SERVE_LOST,
    SERVE_WRONG_CONTENT_TYPE,
    SERVE_FOREIGN_HOST,
    SERVE_KEY_REUSED,
    SERVE_HELD,
    SERVE_TOO_MANY,
    SERVE_NO_QUORUM,
    SERVE_QUARANTINE,
    SERVE_TOO_SLOW,
    SERVE_NODES_REFUSED,
    SERVE_STOPPING,
    SERVE_OUT_OF_MEMORY,
    SERVE_PROBLEM_COUNT
};

struct serve_problem_kind {
    const char *name; /* the type is /v1/problems/NAME */
    int status;
    const char *title;
    const char *fix; /* what to do, as a sentence */
};

extern const struct serve_problem_kind serve_problems[SERVE_PROBLEM_COUNT];

/* What a result other than REDLOCK_OK is to a client of the service. */
enum serve_problem serve_problem_of(redlock_result result);

/* "Not Found" for 404; never NULL. */
const char *serve_status_words(int status);

#endif
