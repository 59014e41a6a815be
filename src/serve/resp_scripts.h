/*
 * The scripts of the Redis lock libraries that are known, by their SHA-1, and what each means. No script is
 * ever run: one that is not known is refused.
 */
#ifndef SERVE_RESP_SCRIPTS_H
#define SERVE_RESP_SCRIPTS_H

#include "serve/http_request.h"

/* What is done with a lock, and what is answered when the value does not match. */
enum serve_meaning {
    SERVE_MEANS_RELEASE,         /* value: 1, else 0 */
    SERVE_MEANS_RELEASE_OR_GONE, /* value: 1; -1 when nobody has it, else 0 */
    SERVE_MEANS_EXTEND,          /* value, ms: 1, else 0 */
    SERVE_MEANS_EXTEND_BY, /* value, ms, "0" adds to what is left, anything else replaces it: 1, else 0 */
    SERVE_MEANS_EXTEND_OR_TAKE, /* value, ms: 1, else 0 */
    SERVE_MEANS_TAKE,           /* value, ms: 1, else 0 */
    SERVE_MEANS_LOCK,           /* value, ms, "yes" takes a free one too: OK, else nil */
    SERVE_MEANS_OBTAIN,         /* value, length of its random part, ms: OK, else nil */
    SERVE_MEANS_LEFT,           /* value: ms left, else 0 */
    SERVE_MEANS_LEFT_OR_MINUS_3 /* value: ms left, else -3 */
};

struct serve_script {
    const char *digest;  /* 40 hexadecimal digits */
    const char *library; /* whose it is */
    enum serve_meaning meaning;
    size_t values; /* behind the key */
};

/* NULL when none has this digest. */
const struct serve_script *serve_script_find(struct serve_text digest);

/* The SHA-1 of a text, as 40 hexadecimal digits. */
void serve_script_digest(struct serve_text text, char digest[41]);

#endif
