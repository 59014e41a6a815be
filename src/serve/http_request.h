/*
 * Reads the head of one HTTP/1.1 request out of bytes: pure, bounded, and strict, so that no proxy in front
 * can understand a request differently. It does not read the body, but says how long it is.
 */
#ifndef SERVE_HTTP_REQUEST_H
#define SERVE_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SERVE_HEAD_MAX 16384  /* bytes of request line and fields together */
#define SERVE_TARGET_MAX 4096 /* a name of 1024 bytes, percent-encoded, and a query */
#define SERVE_FIELDS_MAX 64
#define SERVE_BODY_MAX 65536

/* Bytes that belong to somebody else; not terminated. */
struct serve_text {
    const char *bytes;
    size_t length;
};

enum serve_method {
    SERVE_GET,
    SERVE_HEAD,
    SERVE_POST,
    SERVE_PUT,
    SERVE_PATCH,
    SERVE_DELETE,
    SERVE_OTHER_METHOD /* well-formed, but not one of ours */
};

struct serve_field {
    struct serve_text name, value;
};

/* Points into the bytes it was read from. */
struct serve_request {
    enum serve_method method;
    struct serve_text target;
    struct serve_field fields[SERVE_FIELDS_MAX];
    size_t field_count;
    size_t head_length, body_length;
    bool has_body; /* a Content-Length was given, be it 0 */
    bool keep_alive;
    const char *problem; /* what is wrong, when it was refused */
};

enum {
    SERVE_REQUEST_MORE = 0, /* not wrong so far, and not whole */
    SERVE_REQUEST_WHOLE = 1 /* the head is; the body may still be on its way */
};

/* One of the two above, or the HTTP status to refuse the request with; request->problem says why. */
int serve_request_read(const char *bytes, size_t length, struct serve_request *request);

/* The value of a field, whatever the case of its name; NULL bytes when it is not there. */
struct serve_text serve_request_field(const struct serve_request *request, const char *name);

/* True when a text is this word, whatever the case. */
bool serve_text_is(struct serve_text text, const char *word);

/* True when they are the same bytes. */
bool serve_text_equal(struct serve_text one, struct serve_text other);

/* True when a comma-separated list has this word in it, whatever the case. */
bool serve_text_lists(struct serve_text list, const char *word);

#endif
