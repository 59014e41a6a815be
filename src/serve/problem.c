/*
 * What can go wrong with a request, and what to do about it; see problem.h. The OpenAPI file names the same
 * types.
 */
#include "serve/problem.h"

const struct serve_problem_kind serve_problems[SERVE_PROBLEM_COUNT] = {
    [SERVE_MALFORMED] = {"malformed", 400, "the request is not well-formed",
                         "Send a well-formed HTTP/1.1 request with a Content-Length."},
    [SERVE_INVALID] = {"invalid", 400, "a value in the request cannot be used",
                       "Correct the value that the detail names."},
    [SERVE_UNAUTHORIZED] = {"unauthorized", 401, "credentials are missing or wrong",
                            "Send a known token: Authorization: Bearer TOKEN."},
    [SERVE_FORBIDDEN] = {"forbidden", 403, "these credentials do not allow it",
                         "Use a token whose role and prefix cover this request."},
    [SERVE_FOREIGN_ORIGIN] = {"foreign-origin", 403, "a page of another origin sent the request",
                              "Send it from a program; pages of other origins are never served."},
    [SERVE_NOT_FOUND] = {"not-found", 404, "there is nothing at this address",
                         "Look the address up in /v1/openapi.json."},
    [SERVE_METHOD_NOT_ALLOWED] = {"method-not-allowed", 405, "this address does not take that method",
                                  "Use one of the methods in the Allow field."},
    [SERVE_NOT_YOURS] = {"not-yours", 409, "another owner holds the lock",
                         "Check the name and the token; the token was never this lock's latest."},
    [SERVE_NOT_HOLDER] = {"not-holder", 409, "this id does not hold the lock",
                          "Look again who holds it: GET /v1/locks/{name}. Nothing was changed."},
    [SERVE_FOREIGN_TYPE] =
        {"foreign-type", 409, "the key at the nodes is not a lock of this kind",
         "Ask for the kind that it has, choose another name, or remove a key that is left over."},
    [SERVE_LOST] = {"lost", 410, "the lease has ended",
                    "You may have run unlocked since; treat the work as unprotected and acquire again."},
    [SERVE_WRONG_CONTENT_TYPE] = {"wrong-content-type", 415, "the body is not application/json",
                                  "Send JSON with Content-Type: application/json."},
    [SERVE_FOREIGN_HOST] = {"foreign-host", 421, "the Host field names another host",
                            "Use an address this service listens on, or add the name to serve_hosts."},
    [SERVE_KEY_REUSED] = {"key-reused", 422, "the Idempotency-Key was used for another lock",
                          "Use a new key for each lock that you ask for. Nothing was changed."},
    [SERVE_HELD] = {"held", 423, "another owner holds the lock",
                    "Come again later, or give wait_ms to wait in line."},
    [SERVE_TOO_MANY] = {"too-many", 429, "this service has as many requests waiting as it allows",
                        "Come again later, or use another instance."},
    [SERVE_NO_QUORUM] = {"no-quorum", 503, "too few nodes can be reached",
                         "Come again later; GET /v1/nodes says what is wrong with them."},
    [SERVE_QUARANTINE] = {"quarantine", 503, "too few nodes may vote",
                          "Come again when the quarantine is over; GET /v1/nodes says when."},
    [SERVE_TOO_SLOW] = {"too-slow", 503, "the nodes answered too late for any validity to be left",
                        "Ask for a longer ttl_ms, or come again later."},
    [SERVE_NODES_REFUSED] =
        {"nodes-refused", 503, "the nodes refused the credentials of this service",
         "Tell the operator of the service: GET /v1/nodes says what is wrong with each node."},
    [SERVE_STOPPING] = {"stopping", 503, "this instance is stopping",
                        "Come again: another instance, or the next one at this address, takes over."},
    [SERVE_OUT_OF_MEMORY] = {"out-of-memory", 503, "this instance has no memory left",
                             "Come again later, or use another instance."},
};

enum serve_problem serve_problem_of(redlock_result result)
{
    switch (result) {
    case REDLOCK_BUSY:
    case REDLOCK_TIMEOUT:
        return SERVE_HELD;
    case REDLOCK_NOT_HELD:
    case REDLOCK_LOST:
        return SERVE_LOST;
    case REDLOCK_CANCELED:
        return SERVE_STOPPING;
    case REDLOCK_QUARANTINE:
        return SERVE_QUARANTINE;
    case REDLOCK_TOO_SLOW:
        return SERVE_TOO_SLOW;
    case REDLOCK_FORBIDDEN:
        return SERVE_NODES_REFUSED;
    case REDLOCK_FOREIGN_TYPE:
        return SERVE_FOREIGN_TYPE;
    case REDLOCK_INVALID:
    case REDLOCK_MISUSE:
        return SERVE_INVALID;
    case REDLOCK_NOMEM:
        return SERVE_OUT_OF_MEMORY;
    default:
        return SERVE_NO_QUORUM;
    }
}

const char *serve_status_words(int status)
{
    static const struct {
        int status;
        const char *words;
    } known[] = {{200, "OK"},
                 {201, "Created"},
                 {204, "No Content"},
                 {400, "Bad Request"},
                 {401, "Unauthorized"},
                 {403, "Forbidden"},
                 {404, "Not Found"},
                 {405, "Method Not Allowed"},
                 {408, "Request Timeout"},
                 {409, "Conflict"},
                 {410, "Gone"},
                 {411, "Length Required"},
                 {413, "Content Too Large"},
                 {414, "URI Too Long"},
                 {415, "Unsupported Media Type"},
                 {417, "Expectation Failed"},
                 {421, "Misdirected Request"},
                 {422, "Unprocessable Content"},
                 {423, "Locked"},
                 {429, "Too Many Requests"},
                 {431, "Request Header Fields Too Large"},
                 {503, "Service Unavailable"},
                 {505, "HTTP Version Not Supported"}};

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].status == status)
            return known[i].words;
    return "Internal Server Error";
}
