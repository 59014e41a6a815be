/*
 * Takes any bytes for an HTTP request. What is taken has one meaning: written down again from its parts it
 * reads the same, every shorter piece of it is only a part, and it holds no byte that another reader could
 * take for the end of a line.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/http_target.h"

#define CHECK(fact) ((fact) ? (void)0 : (fprintf(stderr, "does not hold: %s\n", #fact), abort()))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_within(struct serve_text text, const char *bytes, size_t length)
{
    return text.bytes >= bytes && text.bytes + text.length <= bytes + length;
}

static void check_parts(const struct serve_request *request, const char *bytes, size_t size)
{
    int hosts = 0, lengths = 0;

    CHECK(request->head_length <= size && request->head_length <= SERVE_HEAD_MAX);
    CHECK(request->body_length <= SERVE_BODY_MAX && request->field_count <= SERVE_FIELDS_MAX);
    CHECK(memcmp(bytes + request->head_length - 4, "\r\n\r\n", 4) == 0);
    CHECK(is_within(request->target, bytes, request->head_length) && request->target.bytes[0] == '/');
    for (size_t i = 0; i < request->field_count; i++) {
        const struct serve_field *field = &request->fields[i];
        CHECK(is_within(field->name, bytes, request->head_length) && field->name.length > 0);
        CHECK(is_within(field->value, bytes, request->head_length));
        CHECK(memchr(field->value.bytes, '\r', field->value.length) == NULL);
        CHECK(memchr(field->value.bytes, '\n', field->value.length) == NULL);
        CHECK(memchr(field->value.bytes, '\0', field->value.length) == NULL);
        hosts += serve_text_is(field->name, "host");
        lengths += serve_text_is(field->name, "content-length");
        CHECK(!serve_text_is(field->name, "transfer-encoding"));
    }
    CHECK(hosts == 1 && lengths <= 1 && request->has_body == (lengths == 1));
}

static void check_target(struct serve_text text)
{
    static struct serve_target target;

    if (serve_target_read(text, &target) != NULL)
        return;
    for (size_t i = 0; i < target.segment_count && i < SERVE_SEGMENTS_MAX; i++)
        CHECK(is_within(target.segments[i], target.decoded, sizeof target.decoded));
    for (size_t i = 0; i < target.parameter_count; i++)
        CHECK(is_within(target.parameters[i].value, target.decoded, sizeof target.decoded));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct serve_request request, part;
    char *bytes = malloc(size + 1); /* so that a byte too far is noticed */

    CHECK(bytes != NULL);
    if (size > 0)
        memcpy(bytes, data, size);
    int status = serve_request_read(bytes, size, &request);
    CHECK(status == SERVE_REQUEST_MORE || status == SERVE_REQUEST_WHOLE || (status >= 400 && status <= 505));
    CHECK((request.problem != NULL) == (status > SERVE_REQUEST_WHOLE));
    if (status == SERVE_REQUEST_WHOLE) {
        check_parts(&request, bytes, size);
        check_target(request.target);
        for (size_t length = 0; length < request.head_length; length += 1 + length / 8)
            CHECK(serve_request_read(bytes, length, &part) == SERVE_REQUEST_MORE);
    }
    free(bytes);
    return 0;
}
