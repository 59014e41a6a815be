/*
 * The head of an HTTP request, read strictly: what is taken, what is refused and with which status, and that
 * no byte too few is ever mistaken for a whole request.
 */
#include <stdio.h>
#include <string.h>

#include "serve/http_request.h"
#include "support/check.h"

static int read_text(const char *text, struct serve_request *request)
{
    return serve_request_read(text, strlen(text), request);
}

static void a_request_is_taken_apart(void **state)
{
    const char *text = "POST /v1/locks/a%2Fb?x=1 HTTP/1.1\r\nHost: localhost:7420\r\ncontent-LENGTH: 2\r\n"
                       "X-Empty:\r\nRedlock-Token: \t abc \t\r\n\r\n{}";
    struct serve_request request;

    (void)state;
    assert_int_equal(read_text(text, &request), SERVE_REQUEST_WHOLE);
    assert_int_equal(request.method, SERVE_POST);
    assert_int_equal(request.target.length, strlen("/v1/locks/a%2Fb?x=1"));
    assert_int_equal(request.field_count, 4);
    assert_true(serve_text_is(serve_request_field(&request, "redlock-token"), "ABC"));
    assert_int_equal(serve_request_field(&request, "x-empty").length, 0);
    assert_non_null(serve_request_field(&request, "X-Empty").bytes);
    assert_null(serve_request_field(&request, "accept").bytes);
    assert_int_equal(request.body_length, 2);
    assert_true(request.has_body && request.keep_alive);
    assert_string_equal(text + request.head_length, "{}");
}

static void a_part_of_a_request_is_not_a_request(void **state)
{
    const char *text =
        "DELETE /v1/locks/x HTTP/1.1\r\nHost: a\r\nRedlock-Token: b\r\nConnection: TE, close\r\n\r\n";
    struct serve_request request;

    (void)state;
    for (size_t length = 0; length < strlen(text); length++)
        assert_int_equal(serve_request_read(text, length, &request), SERVE_REQUEST_MORE);
    assert_int_equal(read_text(text, &request), SERVE_REQUEST_WHOLE);
    assert_false(request.keep_alive);
}

#define HOST "Host: a\r\n"

static const struct {
    const char *text;
    int status;
} refused[] = {
    {"GET / HTTP/1.1\nHost: a\n\n", 400},
    {"GET / HTTP/1.1\r\nHost: a\n\r\n", 400},
    {"\r\nGET / HTTP/1.1\r\n" HOST "\r\n", 400},
    {" GET / HTTP/1.1\r\n" HOST "\r\n", 400},
    {"GET  / HTTP/1.1\r\n" HOST "\r\n", 400},
    {"GET / HTTP/1.1 \r\n" HOST "\r\n", 400},
    {"GET /\r\n" HOST "\r\n", 400},
    {"GET /a b HTTP/1.1\r\n" HOST "\r\n", 400},
    {"GET / HTTP/1.0\r\n" HOST "\r\n", 505},
    {"GET / HTTP/2.0\r\n" HOST "\r\n", 505},
    {"GET / http/1.1\r\n" HOST "\r\n", 400},
    {"G\x01T / HTTP/1.1\r\n" HOST "\r\n", 400},
    {"GET http://a/ HTTP/1.1\r\n" HOST "\r\n", 400},
    {"GET * HTTP/1.1\r\n" HOST "\r\n", 400},
    {"GET /#a HTTP/1.1\r\n" HOST "\r\n", 400},
    {"GET /\\a HTTP/1.1\r\n" HOST "\r\n", 400},
    {"GET /\xc3\xa4 HTTP/1.1\r\n" HOST "\r\n", 400},
    {"GET / HTTP/1.1\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost:\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\n" HOST HOST "\r\n", 400},
    {"GET / HTTP/1.1\r\n" HOST "A : b\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\n" HOST ": b\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\n" HOST "A\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\n" HOST "A: b\r\n c\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\n" HOST "A: b\x0b\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\n" HOST "A: b\rc\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\n" HOST "\x80: b\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n", 411},
    {"POST / HTTP/1.1\r\n" HOST "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 411},
    {"POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: identity\r\n\r\n", 411},
    {"POST / HTTP/1.1\r\n" HOST "Content-Length: 3\r\nContent-Length: 3\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\n" HOST "Content-Length: 3, 3\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\n" HOST "Content-Length: -3\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\n" HOST "Content-Length: +3\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\n" HOST "Content-Length: 0x3\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\n" HOST "Content-Length:\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\n" HOST "Content-Length: 65537\r\n\r\n", 413},
    {"POST / HTTP/1.1\r\n" HOST "Content-Length: 99999999999999999999\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\n" HOST "Expect: 100-continue\r\n\r\n", 417},
    {"GET / HTTP/1.1\r\n" HOST "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n", 400},
};

static void what_could_be_understood_in_two_ways_is_refused(void **state)
{
    struct serve_request request;

    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        int status = read_text(refused[i].text, &request);
        if (status != refused[i].status)
            print_error("%d instead of %d for:\n%s", status, refused[i].status, refused[i].text);
        assert_int_equal(status, refused[i].status);
        assert_non_null(request.problem);
    }
}

static void a_nul_is_refused_wherever_it_is(void **state)
{
    const char text[] = "GET /a HTTP/1.1\r\nHost: a\r\nX: b\r\n\r\n";
    struct serve_request request;
    char bytes[sizeof text];

    (void)state;
    for (size_t i = 0; i + 1 < sizeof text; i++) {
        memcpy(bytes, text, sizeof text);
        bytes[i] = '\0';
        int status = serve_request_read(bytes, sizeof text - 1, &request);
        assert_true(status != SERVE_REQUEST_WHOLE);
    }
}

static void a_head_is_bounded(void **state)
{
    static char bytes[2 * SERVE_HEAD_MAX];
    struct serve_request request;
    int used = snprintf(bytes, sizeof bytes, "GET /");

    (void)state;
    memset(bytes + used, 'a', sizeof bytes - (size_t)used);
    assert_int_equal(serve_request_read(bytes, SERVE_HEAD_MAX - 1, &request), SERVE_REQUEST_MORE);
    assert_int_equal(serve_request_read(bytes, SERVE_HEAD_MAX, &request), 414);
    used = snprintf(bytes, sizeof bytes, "GET / HTTP/1.1\r\nHost: a\r\nX: ");
    memset(bytes + used, 'a', sizeof bytes - (size_t)used);
    assert_int_equal(serve_request_read(bytes, SERVE_HEAD_MAX - 1, &request), SERVE_REQUEST_MORE);
    assert_int_equal(serve_request_read(bytes, SERVE_HEAD_MAX, &request), 431);
    used = snprintf(bytes, sizeof bytes, "GET / HTTP/1.1\r\nHost: a\r\n");
    for (int i = 0; i < SERVE_FIELDS_MAX; i++)
        used += snprintf(bytes + used, sizeof bytes - (size_t)used, "X%d: a\r\n", i);
    assert_int_equal(serve_request_read(bytes, (size_t)used, &request), 431);
    used = snprintf(bytes, sizeof bytes, "GET /%0*d HTTP/1.1\r\n" HOST "\r\n", SERVE_TARGET_MAX, 0);
    assert_int_equal(serve_request_read(bytes, (size_t)used, &request), 414);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_taken_apart),
        cmocka_unit_test(a_part_of_a_request_is_not_a_request),
        cmocka_unit_test(what_could_be_understood_in_two_ways_is_refused),
        cmocka_unit_test(a_nul_is_refused_wherever_it_is),
        cmocka_unit_test(a_head_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
