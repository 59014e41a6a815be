/*
 * Requests on a connection; see http.h. One is looked at in this order: is it well-formed, is it for us, does
 * it come from a page of another origin, is there such a route, which principal asks, may it, is the body
 * right.
 */
#include "serve/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- principal ----------------------------------------------------------------------------------------- */

/* "host:port", "[::1]:port" and "host" without their port. */
static struct serve_text without_port(struct serve_text host)
{
    const char *bracket = memchr(host.bytes, ']', host.length);
    const char *from = bracket == NULL ? host.bytes : bracket;
    const char *colon = memchr(from, ':', host.length - (size_t)(from - host.bytes));

    return (struct serve_text){host.bytes, colon == NULL ? host.length : (size_t)(colon - host.bytes)};
}

static bool is_configured_host(const char *hosts, struct serve_text host)
{
    for (const char *at = hosts == NULL ? "" : hosts; *at != '\0';) {
        at += strspn(at, ", \t");
        size_t length = strcspn(at, ", \t");
        if (length == host.length && length > 0 && strncasecmp(at, host.bytes, length) == 0)
            return true;
        at += length;
    }
    return false;
}

/* A page whose name was made to lead here (DNS rebinding) still sends its own name. */
static bool is_our_host(const struct serve_connection *connection, struct serve_text field)
{
    struct serve_text host = without_port(field);
    const struct serve_server *server = connection->server;

    if (connection->listener->is_unix || serve_text_is(host, "localhost") ||
        serve_text_is(host, "127.0.0.1") || serve_text_is(host, "[::1]") ||
        is_configured_host(server->settings->hosts, host))
        return true;
    for (size_t i = 0; i < server->listener_count; i++)
        if (server->listeners[i].host[0] != '\0' && serve_text_is(host, server->listeners[i].host))
            return true;
    return false;
}

static bool is_from_foreign_page(const struct serve_request *request)
{
    struct serve_text origin = serve_request_field(request, "origin");
    struct serve_text host = serve_request_field(request, "host");
    struct serve_text site = serve_request_field(request, "sec-fetch-site");
    size_t scheme = origin.length > 8 && strncasecmp(origin.bytes, "https://", 8) == 0 ? 8 : 7;

    if (site.bytes != NULL && !serve_text_is(site, "same-origin") && !serve_text_is(site, "none"))
        return true;
    if (origin.bytes == NULL)
        return false;
    bool same = origin.length == scheme + host.length && strncasecmp(origin.bytes, "http", 4) == 0 &&
                strncasecmp(origin.bytes + scheme, host.bytes, host.length) == 0;
    return !same;
}

/* The principal of a request; NULL: a token that is not known. */
static const struct serve_principal *find_principal(const struct serve_exchange *exchange)
{
    struct serve_text field = serve_request_field(exchange->request, "authorization");

    if (field.bytes == NULL)
        return exchange->connection->principal;
    if (field.length < 8 || strncasecmp(field.bytes, "bearer ", 7) != 0)
        return NULL;
    return serve_access_by_token(&exchange->server->access,
                                 (struct serve_text){field.bytes + 7, field.length - 7});
}

/* ---- routing ------------------------------------------------------------------------------------------- */

/* True when the segments of a target are those of a path; the open one goes to *name. */
static bool matches(const char *path, const struct serve_target *target, struct serve_text *name)
{
    for (size_t i = 0; i < target->segment_count; i++) {
        if (*path++ != '/')
            return false;
        size_t length = strcspn(path, "/");
        if (length == 2 && memcmp(path, "{}", 2) == 0)
            *name = target->segments[i];
        else if (length != target->segments[i].length || memcmp(path, target->segments[i].bytes, length) != 0)
            return false;
        path += length;
    }
    return *path == '\0';
}

/* NULL when there is none; then *allowed names the methods the address takes, empty when there is no such
 * address. */
static const struct serve_route *find_route(const struct serve_server *server, enum serve_method method,
                                            const struct serve_target *target, struct serve_text *name,
                                            char allowed[64])
{
    static const char *const names[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"};

    allowed[0] = '\0';
    *name = (struct serve_text){"", 0};
    if (target->segment_count > SERVE_SEGMENTS_MAX)
        return NULL;
    for (size_t i = 0; i < server->route_count; i++) {
        const struct serve_route *route = &server->routes[i];

        if (!matches(route->path, target, name))
            continue;
        if (route->method == method)
            return route;
        snprintf(allowed + strlen(allowed), 64 - strlen(allowed), "%s%s", allowed[0] == '\0' ? "" : ", ",
                 names[route->method]);
    }
    return NULL;
}

static bool lists_word(const char *list, const char *word, size_t length)
{
    for (; list != NULL && *list != '\0'; list += strspn(list, " ")) {
        size_t part = strcspn(list, " ");
        if (part == length && memcmp(list, word, length) == 0)
            return true;
        list += part;
    }
    return false;
}

bool serve_refuse(struct serve_exchange *exchange, enum serve_problem problem, const char *detail)
{
    serve_answer_problem(exchange->connection, problem, detail, NULL);
    return false;
}

static bool check_parameters(struct serve_exchange *exchange, const struct serve_route *route)
{
    char detail[160];

    for (size_t i = 0; i < exchange->target->parameter_count; i++) {
        struct serve_text name = exchange->target->parameters[i].name;
        if (lists_word(route->parameters, name.bytes, name.length))
            continue;
        snprintf(detail, sizeof detail, "the query has an unknown parameter \"%.*s\"; known are: %s",
                 (int)(name.length < 60 ? name.length : 60), name.bytes, route->parameters);
        return serve_refuse(exchange, SERVE_INVALID, detail);
    }
    return true;
}

static bool check_members(struct serve_exchange *exchange, const struct serve_route *route)
{
    char detail[240];
    const char *key;
    json_t *value;

    json_object_foreach(exchange->body, key, value)
    {
        if (lists_word(route->members, key, strlen(key)))
            continue;
        snprintf(detail, sizeof detail, "the body has an unknown member \"%.60s\"; known are: %s", key,
                 route->members == NULL ? "none" : route->members);
        return serve_refuse(exchange, SERVE_INVALID, detail);
    }
    return true;
}

static bool read_body(struct serve_exchange *exchange, const struct serve_route *route)
{
    const struct serve_request *request = exchange->request;
    struct serve_text type = serve_request_field(request, "content-type");
    const char *semicolon = type.bytes == NULL ? NULL : memchr(type.bytes, ';', type.length);
    json_error_t error;
    char detail[200];

    if (semicolon != NULL)
        type.length = (size_t)(semicolon - type.bytes);
    while (type.length > 0 && type.bytes[type.length - 1] == ' ')
        type.length--;
    if (request->body_length == 0) {
        exchange->body = json_object();
        return exchange->body != NULL ||
               serve_refuse(exchange, SERVE_OUT_OF_MEMORY, "no memory for the request");
    }
    if (!serve_text_is(type, SERVE_JSON_TYPE))
        return serve_refuse(exchange, SERVE_WRONG_CONTENT_TYPE,
                            "the Content-Type of the body is not application/json");
    exchange->body = json_loadb(exchange->bytes + request->head_length, request->body_length,
                                JSON_REJECT_DUPLICATES, &error);
    if (exchange->body == NULL) {
        snprintf(detail, sizeof detail, "the body is not JSON: %s", error.text);
        return serve_refuse(exchange, SERVE_INVALID, detail);
    }
    if (!json_is_object(exchange->body))
        return serve_refuse(exchange, SERVE_INVALID, "the body is not a JSON object");
    return check_members(exchange, route);
}

static bool check_role(struct serve_exchange *exchange, const struct serve_route *route)
{
    bool shown = serve_request_field(exchange->request, "authorization").bytes != NULL;

    exchange->principal = find_principal(exchange);
    if (route->role == SERVE_NOBODY)
        return true;
    if (exchange->principal == NULL)
        return serve_refuse(exchange, SERVE_UNAUTHORIZED,
                            shown ? "the credentials are not known" : "no credentials were sent");
    if (exchange->principal->role < route->role)
        return serve_refuse(exchange, SERVE_FORBIDDEN, "the role of these credentials does not allow it");
    return true;
}

static bool check_origin(struct serve_exchange *exchange)
{
    if (!is_our_host(exchange->connection, serve_request_field(exchange->request, "host")))
        return serve_refuse(exchange, SERVE_FOREIGN_HOST,
                            "the Host field names a host that is not served here");
    if (is_from_foreign_page(exchange->request))
        return serve_refuse(exchange, SERVE_FOREIGN_ORIGIN, "the Origin field names another origin");
    return true;
}

static void handle(struct serve_exchange *exchange)
{
    char allowed[64], line[96];
    const struct serve_route *route;

    if (!check_origin(exchange))
        return;
    route =
        find_route(exchange->server, exchange->request->method, exchange->target, &exchange->name, allowed);
    if (route == NULL && allowed[0] != '\0') {
        snprintf(line, sizeof line, "Allow: %s\r\n", allowed);
        serve_answer_problem_with(exchange->connection, SERVE_METHOD_NOT_ALLOWED, 405,
                                  "this address does not take that method", NULL, line);
        return;
    }
    if (route == NULL) {
        serve_refuse(exchange, SERVE_NOT_FOUND, "there is nothing at this address");
        return;
    }
    if (check_role(exchange, route) && check_parameters(exchange, route) && read_body(exchange, route))
        route->handle(exchange);
    json_decref(exchange->body);
}

/* ---- reading ------------------------------------------------------------------------------------------- */

static void refuse_malformed(struct serve_connection *connection, int status, const char *problem)
{
    connection->keep_alive = false;
    serve_answer_problem_with(connection, SERVE_MALFORMED, status, problem, NULL, NULL);
}

static void dispatch(struct serve_connection *connection, const struct serve_request *request,
                     const char *bytes)
{
    struct serve_target target;
    struct serve_exchange exchange = {.server = connection->server,
                                      .connection = connection,
                                      .request = request,
                                      .target = &target,
                                      .bytes = bytes};
    const char *problem = serve_target_read(request->target, &target);

    connection->keep_alive = request->keep_alive;
    if (problem != NULL)
        refuse_malformed(connection, 400, problem);
    else if (connection->server->stopping) {
        connection->keep_alive = false;
        serve_refuse(&exchange, SERVE_STOPPING, "this instance is stopping");
    } else
        handle(&exchange);
}

static bool read_request(struct serve_connection *connection)
{
    struct evbuffer *input = bufferevent_get_input(connection->buffer);
    size_t length = evbuffer_get_length(input);
    struct serve_request request;

    /* Nothing new can be said before the body is whole, or before another line is. */
    if (length < connection->needed)
        return false;
    const char *bytes = (const char *)evbuffer_pullup(input, -1);
    size_t seen = connection->seen < length ? connection->seen : 0;
    if (bytes != NULL && connection->needed == 0 && length < SERVE_HEAD_MAX &&
        memchr(bytes + seen, '\n', length - seen) == NULL) {
        connection->seen = length;
        return false;
    }
    if (bytes == NULL) {
        refuse_malformed(connection, 503, "no memory for the request");
        return false;
    }
    int status = serve_request_read(bytes, length, &request);
    size_t whole = request.head_length + request.body_length;
    if (status > SERVE_REQUEST_WHOLE) {
        refuse_malformed(connection, status, request.problem);
        return false;
    }
    if (status == SERVE_REQUEST_MORE || length < whole) {
        connection->seen = length;
        connection->needed = status == SERVE_REQUEST_MORE ? 0 : whole;
        return false;
    }
    connection->seen = connection->needed = 0;
    dispatch(connection, &request, bytes);
    evbuffer_drain(input, whole);
    return true;
}

static void be_late(struct serve_connection *connection)
{
    refuse_malformed(connection, 408, "the request was not whole after 10 s");
}

static void stop(struct serve_connection *connection)
{
    serve_connection_close(connection);
}

const struct serve_protocol serve_http = {
    .name = "HTTP",
    .read = read_request,
    .late = be_late,
    .stop = stop,
    .input_max = SERVE_HEAD_MAX + SERVE_BODY_MAX,
    .idle_ms = 75000,
};
