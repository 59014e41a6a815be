/*
 * The target of a request taken apart: the segments of its path and the parameters of its query, decoded.
 * Pure; which paths there are is routes.c's business.
 */
#ifndef SERVE_HTTP_TARGET_H
#define SERVE_HTTP_TARGET_H

#include <stdbool.h>

#include "serve/http_request.h"

#define SERVE_SEGMENTS_MAX 6
#define SERVE_PARAMETERS_MAX 8

struct serve_target {
    struct serve_text segments[SERVE_SEGMENTS_MAX]; /* "/v1/locks/a%2Fb": "v1", "locks", "a/b" */
    size_t segment_count;
    struct {
        struct serve_text name, value;
    } parameters[SERVE_PARAMETERS_MAX];
    size_t parameter_count;
    char decoded[SERVE_TARGET_MAX + 1]; /* what the texts above point into */
};

/* NULL, or what is wrong with it. More segments than there is room for are counted as one more, which matches
 * no route. */
const char *serve_target_read(struct serve_text text, struct serve_target *target);

/* The value of a parameter; NULL bytes when it is not there. */
struct serve_text serve_target_parameter(const struct serve_target *target, const char *name);

/* True when a text is valid UTF-8 without control characters: fit to be in JSON, a log and a terminal. */
bool serve_text_is_clean(struct serve_text text);

#endif
