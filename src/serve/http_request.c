/*
 * Reads the head of one HTTP/1.1 request; see http_request.h. RFC 9112 leaves a reader some freedom to be
 * lenient; none of it is used, for each lenience is a way to smuggle a request past whatever stands in front.
 */
#include "serve/http_request.h"

#include <string.h>

#define STATUS_BAD_REQUEST 400
#define STATUS_LENGTH_REQUIRED 411
#define STATUS_CONTENT_TOO_LARGE 413
#define STATUS_URI_TOO_LONG 414
#define STATUS_EXPECTATION_FAILED 417
#define STATUS_FIELDS_TOO_LARGE 431
#define STATUS_VERSION_NOT_SUPPORTED 505

/* Fields that must not come twice: a reader that takes the first and one that takes the last would differ. */
static const char *const single_fields[] = {
    "host",   "content-length", "content-type",  "expect",        "authorization", "idempotency-key",
    "origin", "redlock-token",  "last-event-id", "sec-fetch-site"};

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool serve_text_equal(struct serve_text one, struct serve_text other)
{
    return one.length == other.length && memcmp(one.bytes, other.bytes, one.length) == 0;
}

bool serve_text_is(struct serve_text text, const char *word)
{
    if (text.bytes == NULL)
        return false;
    for (size_t i = 0; i < text.length; i++)
        if (word[i] == '\0' || lower(text.bytes[i]) != lower(word[i]))
            return false;
    return word[text.length] == '\0';
}

static struct serve_text trim(struct serve_text text)
{
    while (text.length > 0 && (text.bytes[0] == ' ' || text.bytes[0] == '\t')) {
        text.bytes++;
        text.length--;
    }
    while (text.length > 0 && (text.bytes[text.length - 1] == ' ' || text.bytes[text.length - 1] == '\t'))
        text.length--;
    return text;
}

bool serve_text_lists(struct serve_text list, const char *word)
{
    while (list.length > 0) {
        const char *comma = memchr(list.bytes, ',', list.length);
        size_t length = comma == NULL ? list.length : (size_t)(comma - list.bytes);

        if (serve_text_is(trim((struct serve_text){list.bytes, length}), word))
            return true;
        length += comma != NULL;
        list.bytes += length;
        list.length -= length;
    }
    return false;
}

struct serve_text serve_request_field(const struct serve_request *request, const char *name)
{
    for (size_t i = 0; i < request->field_count; i++)
        if (serve_text_is(request->fields[i].name, name))
            return request->fields[i].value;
    return (struct serve_text){NULL, 0};
}

/* ---- characters ---------------------------------------------------------------------------------------- */

static bool is_alphanumeric(char c)
{
    return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9');
}

static bool is_among(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

static bool is_token_character(char c)
{
    return is_alphanumeric(c) || is_among(c, "!#$%&'*+-.^_`|~");
}

static bool is_target_character(char c)
{
    return is_alphanumeric(c) || is_among(c, "-._~%!$&'()*+,;=:@/?");
}

static bool is_value_character(char c)
{
    return c == '\t' || ((unsigned char)c >= 0x20 && c != 0x7f);
}

static bool is_host_character(char c)
{
    return is_alphanumeric(c) || is_among(c, "-._~%!$&'()*+,;=:[]");
}

static bool all_are(struct serve_text text, bool (*is)(char c))
{
    for (size_t i = 0; i < text.length; i++)
        if (!is(text.bytes[i]))
            return false;
    return true;
}

/* ---- lines --------------------------------------------------------------------------------------------- */

static int refuse(struct serve_request *request, int status, const char *problem)
{
    request->problem = problem;
    return status;
}

/* Takes the next line off the front, without its end. MORE when it has none yet; a line ends in CR LF and in
 * nothing else. */
static int take_line(struct serve_request *request, struct serve_text *rest, struct serve_text *line)
{
    const char *newline = memchr(rest->bytes, '\n', rest->length);

    if (newline == NULL)
        return SERVE_REQUEST_MORE;
    size_t length = (size_t)(newline - rest->bytes);
    if (length == 0 || newline[-1] != '\r')
        return refuse(request, STATUS_BAD_REQUEST, "a line ends in LF without CR");
    *line = (struct serve_text){rest->bytes, length - 1};
    rest->bytes += length + 1;
    rest->length -= length + 1;
    return SERVE_REQUEST_WHOLE;
}

static enum serve_method find_method(struct serve_text word)
{
    static const char *const names[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strlen(names[i]) == word.length && memcmp(names[i], word.bytes, word.length) == 0)
            return (enum serve_method)i;
    return SERVE_OTHER_METHOD;
}

static int read_request_line(struct serve_request *request, struct serve_text line)
{
    const char *first = memchr(line.bytes, ' ', line.length);
    const char *last =
        first == NULL ? NULL : memchr(first + 1, ' ', (size_t)(line.bytes + line.length - first - 1));

    if (last == NULL)
        return refuse(request, STATUS_BAD_REQUEST, "the request line is not METHOD TARGET HTTP/1.1");
    struct serve_text method = {line.bytes, (size_t)(first - line.bytes)};
    struct serve_text target = {first + 1, (size_t)(last - first - 1)};
    struct serve_text version = {last + 1, (size_t)(line.bytes + line.length - last - 1)};
    if (method.length == 0 || !all_are(method, is_token_character))
        return refuse(request, STATUS_BAD_REQUEST, "the method is not a token");
    if (target.length > SERVE_TARGET_MAX)
        return refuse(request, STATUS_URI_TOO_LONG, "the target is longer than 4096 bytes");
    if (target.length == 0 || target.bytes[0] != '/' || !all_are(target, is_target_character))
        return refuse(request, STATUS_BAD_REQUEST, "the target is not a path of URI characters");
    if (version.length != 8 || memcmp(version.bytes, "HTTP/", 5) != 0)
        return refuse(request, STATUS_BAD_REQUEST, "the request line is not METHOD TARGET HTTP/1.1");
    if (memcmp(version.bytes, "HTTP/1.1", 8) != 0)
        return refuse(request, STATUS_VERSION_NOT_SUPPORTED, "only HTTP/1.1 is spoken here");
    request->method = find_method(method);
    request->target = target;
    return SERVE_REQUEST_WHOLE;
}

static int read_field(struct serve_request *request, struct serve_text line)
{
    const char *colon = memchr(line.bytes, ':', line.length);

    if (line.bytes[0] == ' ' || line.bytes[0] == '\t')
        return refuse(request, STATUS_BAD_REQUEST, "a field is folded over two lines");
    if (colon == NULL)
        return refuse(request, STATUS_BAD_REQUEST, "a field has no colon");
    if (request->field_count == SERVE_FIELDS_MAX)
        return refuse(request, STATUS_FIELDS_TOO_LARGE, "more than 64 fields");
    struct serve_field *field = &request->fields[request->field_count];
    field->name = (struct serve_text){line.bytes, (size_t)(colon - line.bytes)};
    field->value = trim((struct serve_text){colon + 1, line.length - field->name.length - 1});
    if (field->name.length == 0 || !all_are(field->name, is_token_character))
        return refuse(request, STATUS_BAD_REQUEST, "the name of a field is not a token");
    if (!all_are(field->value, is_value_character))
        return refuse(request, STATUS_BAD_REQUEST, "a field has a control character in it");
    for (size_t i = 0; i < sizeof single_fields / sizeof single_fields[0]; i++)
        if (serve_text_is(field->name, single_fields[i]) &&
            serve_request_field(request, single_fields[i]).bytes != NULL)
            return refuse(request, STATUS_BAD_REQUEST, "a field that may be there once is there twice");
    request->field_count++;
    return SERVE_REQUEST_WHOLE;
}

/* ---- what the fields mean together --------------------------------------------------------------------- */

static int read_body_length(struct serve_request *request)
{
    struct serve_text text = serve_request_field(request, "content-length");
    size_t number = 0;

    if (text.bytes == NULL)
        return SERVE_REQUEST_WHOLE;
    if (text.length == 0 || text.length > 19)
        return refuse(request, STATUS_BAD_REQUEST, "the Content-Length is not a number");
    for (size_t i = 0; i < text.length; i++) {
        if (text.bytes[i] < '0' || text.bytes[i] > '9')
            return refuse(request, STATUS_BAD_REQUEST, "the Content-Length is not a number");
        number = number * 10 + (size_t)(text.bytes[i] - '0');
    }
    if (number > SERVE_BODY_MAX)
        return refuse(request, STATUS_CONTENT_TOO_LARGE, "the body is larger than 64 kB");
    request->has_body = true;
    request->body_length = number;
    return SERVE_REQUEST_WHOLE;
}

static int check_fields(struct serve_request *request)
{
    struct serve_text host = serve_request_field(request, "host");

    if (host.bytes == NULL || host.length == 0 || !all_are(host, is_host_character))
        return refuse(request, STATUS_BAD_REQUEST, "the Host field is missing or not a host");
    if (serve_request_field(request, "transfer-encoding").bytes != NULL)
        return refuse(request, STATUS_LENGTH_REQUIRED, "send a Content-Length, not a Transfer-Encoding");
    if (serve_request_field(request, "expect").bytes != NULL)
        return refuse(request, STATUS_EXPECTATION_FAILED, "send the body without Expect");
    request->keep_alive = true;
    for (size_t i = 0; i < request->field_count; i++)
        if (serve_text_is(request->fields[i].name, "connection") &&
            serve_text_lists(request->fields[i].value, "close"))
            request->keep_alive = false;
    return read_body_length(request);
}

static int read_lines(const char *bytes, size_t length, struct serve_request *request)
{
    struct serve_text rest = {bytes, length}, line;
    int status = take_line(request, &rest, &line);

    if (status == SERVE_REQUEST_WHOLE)
        status = read_request_line(request, line);
    while (status == SERVE_REQUEST_WHOLE) {
        status = take_line(request, &rest, &line);
        if (status == SERVE_REQUEST_WHOLE && line.length == 0)
            break;
        if (status == SERVE_REQUEST_WHOLE)
            status = read_field(request, line);
    }
    request->head_length = (size_t)(rest.bytes - bytes);
    return status == SERVE_REQUEST_WHOLE ? check_fields(request) : status;
}

int serve_request_read(const char *bytes, size_t length, struct serve_request *request)
{
    size_t looked_at = length < SERVE_HEAD_MAX ? length : SERVE_HEAD_MAX;

    request->field_count = 0;
    request->head_length = request->body_length = 0;
    request->has_body = request->keep_alive = false;
    request->problem = NULL;
    if (length == 0)
        return SERVE_REQUEST_MORE;
    int status = read_lines(bytes, looked_at, request);
    if (status != SERVE_REQUEST_MORE || length < SERVE_HEAD_MAX)
        return status;
    if (memchr(bytes, '\n', looked_at) == NULL)
        return refuse(request, STATUS_URI_TOO_LONG, "the request line is longer than 16 kB");
    return refuse(request, STATUS_FIELDS_TOO_LARGE, "the head is larger than 16 kB");
}
