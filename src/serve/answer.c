/*
 * Writes the answer to a request; see answer.h.
 */
#include "serve/answer.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/json.h"

#define PROBLEM_TYPE "application/problem+json"

static void count(struct serve_connection *connection, int status)
{
    if (status >= 100 && status < 600)
        connection->server->counts.requests[status / 100]++;
}

/* One write for both parts where they are small: each is a packet, and a wake-up of the client. */
static void write_parts(struct serve_connection *connection, const char *head, size_t head_length,
                        const char *body, size_t body_length)
{
    char together[4096];

    if (head_length + body_length > sizeof together) {
        serve_connection_write(connection, head, head_length);
        serve_connection_write(connection, body, body_length);
        return;
    }
    memcpy(together, head, head_length);
    if (body_length > 0)
        memcpy(together + head_length, body, body_length);
    serve_connection_write(connection, together, head_length + body_length);
}

void serve_answer_bytes(struct serve_connection *connection, int status, const char *type, const char *bytes,
                        size_t length, const char *fields)
{
    char head[2048];
    char content[160] = "";

    connection->keep_alive = connection->keep_alive && !connection->server->stopping;
    if (status != 204)
        snprintf(content, sizeof content, "Content-Type: %s\r\nContent-Length: %zu\r\n", type, length);
    int head_length = snprintf(
        head, sizeof head,
        "HTTP/1.1 %d %s\r\nDate: %s\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n%s%s%s\r\n",
        status, serve_status_words(status), connection->server->date, content, fields == NULL ? "" : fields,
        connection->keep_alive ? "" : "Connection: close\r\n");
    assert(head_length > 0 && (size_t)head_length < sizeof head); /* no field comes from a request */
    write_parts(connection, head, (size_t)head_length, bytes, status == 204 ? 0 : length);
    count(connection, status);
    if (!connection->keep_alive)
        serve_connection_finish(connection);
}

static void answer_typed(struct serve_connection *connection, int status, const char *type, json_t *body,
                         const char *fields)
{
    static const char no_memory[] = "{\"type\":\"/v1/problems/out-of-memory\",\"status\":503}";
    char *text = body == NULL ? NULL : json_dumps(body, JSON_COMPACT);

    if (text == NULL)
        serve_answer_bytes(connection, 503, PROBLEM_TYPE, no_memory, sizeof no_memory - 1, NULL);
    else
        serve_answer_bytes(connection, status, type, text, strlen(text), fields);
    free(text);
    json_decref(body);
}

void serve_answer_json(struct serve_connection *connection, int status, json_t *body, const char *fields)
{
    answer_typed(connection, status, SERVE_JSON_TYPE, body, fields);
}

/* A client that gets one of these may try again after some time. */
static int retry_after_s(enum serve_problem problem, json_t *more)
{
    json_int_t ms = json_integer_value(json_object_get(more, "retry_after_ms"));

    if (ms > 0)
        return (int)((ms + 999) / 1000);
    return serve_problems[problem].status == 503 || serve_problems[problem].status == 429 ? 1 : 0;
}

void serve_answer_problem_with(struct serve_connection *connection, enum serve_problem problem, int status,
                               const char *detail, json_t *more, const char *fields)
{
    const struct serve_problem_kind *kind = &serve_problems[problem];
    char type[64], lines[256] = "";
    int retry_s = retry_after_s(problem, more);

    snprintf(type, sizeof type, "/v1/problems/%s", kind->name);
    if (retry_s > 0)
        snprintf(lines, sizeof lines, "Retry-After: %d\r\n", retry_s);
    else if (kind->status == 401)
        snprintf(lines, sizeof lines, "WWW-Authenticate: Bearer realm=\"redlock\"\r\n");
    if (fields != NULL)
        snprintf(lines + strlen(lines), sizeof lines - strlen(lines), "%s", fields);
    json_t *body =
        json_pack("{s:s, s:i, s:s, s:o, s:s}", "type", type, "status", status, "title", kind->title, "detail",
                  serve_json_text(detail, strlen(detail)), "fix", kind->fix);
    if (body != NULL && more != NULL)
        json_object_update(body, more);
    json_decref(more);
    answer_typed(connection, status, PROBLEM_TYPE, body, lines);
}

void serve_answer_problem(struct serve_connection *connection, enum serve_problem problem, const char *detail,
                          json_t *more)
{
    serve_answer_problem_with(connection, problem, serve_problems[problem].status, detail, more, NULL);
}

/* Of a name that is in use for another kind of lock, nodes say for which. */
static const char *describe_report(const redlock_report *report, redlock_node_report *node)
{
    static const char error[] = "WRONGTYPE ";

    for (uint32_t i = 0; redlock_report_node(report, i, node); i++)
        if (report->result == REDLOCK_FOREIGN_TYPE && node->cause == REDLOCK_CAUSE_FOREIGN_TYPE)
            return strncmp(node->detail, error, sizeof error - 1) == 0 ? node->detail + sizeof error - 1
                                                                       : node->detail;
    return report->line;
}

void serve_answer_report(struct serve_connection *connection, enum serve_problem problem,
                         const redlock_report *report, json_t *more)
{
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;
    json_t *members = serve_json_report(report);

    if (members != NULL && more != NULL)
        json_object_update(members, more);
    json_decref(more);
    serve_answer_problem(connection, problem, describe_report(report, &node), members);
}

void serve_answer_unheld(struct serve_connection *connection, enum serve_problem problem, const char *detail,
                         const redlock_report *report)
{
    json_t *members = serve_json_report(report);

    if (members != NULL)
        json_object_set_new(members, "result", json_string(redlock_result_name(REDLOCK_NOT_HELD)));
    serve_answer_problem(connection, problem, detail, members);
}

void serve_answer_stream(struct serve_connection *connection)
{
    char head[300];
    int length = snprintf(head, sizeof head,
                          "HTTP/1.1 200 OK\r\nDate: %s\r\nContent-Type: text/event-stream\r\n"
                          "Cache-Control: no-store\r\nX-Accel-Buffering: no\r\nConnection: close\r\n\r\n",
                          connection->server->date);

    bufferevent_write(connection->buffer, head, (size_t)length);
    count(connection, 200);
    connection->state = SERVE_STREAMING;
}
