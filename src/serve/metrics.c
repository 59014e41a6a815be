/*
 * GET /metrics; see metrics.h. Names of locks are labels only where a setting says so, and then at most
 * SERVE_NAMES_MAX: there is no end to them. docs/metrics.md has every metric; a test compares it with what is
 * written here.
 */
#include "serve/metrics.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "serve/json.h"
#include "serve/names.h"
#include "serve/session_list.h"

#define TEXT_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define OPENMETRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

static void write_head(struct evbuffer *text, const char *name, const char *type, const char *help)
{
    evbuffer_add_printf(text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void write_one(struct evbuffer *text, const char *name, const char *type, const char *help,
                      uint64_t value)
{
    write_head(text, name, type, help);
    evbuffer_add_printf(text, "%s %" PRIu64 "\n", name, value);
}

/* ---- the client ---------------------------------------------------------------------------------------- */

/* Numbers grow while we ask how long they are; the second round has room for that. */
static bool write_client(struct evbuffer *text, const struct serve_server *server)
{
    size_t length = 0, size = 0;
    char *bytes = NULL;
    redlock_result result = REDLOCK_INVALID;

    for (int round = 0; round < 4 && result == REDLOCK_INVALID; round++) {
        free(bytes);
        size = length == 0 ? 65536 : length + 4096;
        bytes = malloc(size);
        result = bytes == NULL ? REDLOCK_NOMEM
                               : redlock_stats_prometheus(server->client, NULL, 0, bytes, size, &length);
    }
    if (result == REDLOCK_OK)
        evbuffer_add(text, bytes, length);
    free(bytes);
    return result == REDLOCK_OK;
}

/* ---- single names -------------------------------------------------------------------------------------- */

/* The text is clean UTF-8: it went through serve_json_text(). */
static void write_label(struct evbuffer *text, const char *value)
{
    for (; value != NULL && *value != '\0'; value++)
        evbuffer_add_printf(text, "%s%c", *value == '"' || *value == '\\' ? "\\" : "", *value);
}

static void write_names(struct evbuffer *text, const struct serve_names *names)
{
    write_head(text, "redlock_name_events_total", "counter",
               "What happened at this instance to locks that --metrics-name matches.");
    for (size_t i = 0; names != NULL && i < names->count; i++) {
        json_t *name = serve_json_text(names->names[i].name, names->names[i].length);
        for (size_t type = 0; type < SERVE_NAME_EVENTS; type++) {
            evbuffer_add_printf(text, "redlock_name_events_total{name=\"");
            write_label(text, json_string_value(name));
            evbuffer_add_printf(text, "\",event=\"%s\"} %" PRIu64 "\n", serve_name_events[type],
                                names->names[i].counts[type]);
        }
        json_decref(name);
    }
    write_one(text, "redlock_name_events_left_out_total", "counter",
              "Events of further names, which are not counted by name: there are 100 already.",
              names == NULL ? 0 : names->left_out);
}

/* ---- the service --------------------------------------------------------------------------------------- */

static void write_service(struct evbuffer *text, const struct serve_server *server)
{
    write_head(text, "redlock_http_requests_total", "counter", "Answers by the first digit of their status.");
    for (int digit = 2; digit <= 5; digit++)
        evbuffer_add_printf(text, "redlock_http_requests_total{code=\"%dxx\"} %" PRIu64 "\n", digit,
                            server->counts.requests[digit]);
    write_one(text, "redlock_resp_commands_total", "counter", "Commands of Redis clients.",
              server->counts.resp_commands);
    write_one(text, "redlock_hang_ups_total", "counter", "Clients that went while they waited for an answer.",
              server->counts.hang_ups);
    write_one(text, "redlock_refused_connections_total", "counter",
              "Connections beyond serve_max_connections.", server->counts.refused_connections);
    write_one(text, "redlock_connections", "gauge", "Clients that are connected.", server->connection_count);
    write_one(text, "redlock_requests_waiting", "gauge", "Requests that wait for a lock.", server->waiting);
    write_one(text, "redlock_sessions", "gauge", "Sessions.", serve_sessions_count(server));
    if (server->settings->metrics_name != NULL)
        write_names(text, server->names);
}

/* ---- the answer ---------------------------------------------------------------------------------------- */

/* OpenMetrics names a counter's family without _total, and ends with a mark. The samples are the same. */
static struct evbuffer *as_openmetrics(struct evbuffer *text)
{
    struct evbuffer *other = evbuffer_new();
    char *line;
    size_t length;

    while (other != NULL && (line = evbuffer_readln(text, &length, EVBUFFER_EOL_LF)) != NULL) {
        bool comment = line[0] == '#';
        char *name_end = comment && length > 7 ? strchr(line + 7, ' ') : NULL;
        if (name_end != NULL && name_end - line > 13 && strncmp(name_end - 6, "_total", 6) == 0)
            evbuffer_add_printf(other, "%.*s%s\n", (int)(name_end - 6 - line), line, name_end);
        else
            evbuffer_add_printf(other, "%s\n", line);
        free(line);
    }
    if (other != NULL)
        evbuffer_add_printf(other, "# EOF\n");
    evbuffer_free(text);
    return other;
}

static bool wants_openmetrics(const struct serve_exchange *exchange)
{
    static const char type[] = "application/openmetrics-text";
    struct serve_text accept = serve_request_field(exchange->request, "accept");

    return accept.bytes != NULL && memmem(accept.bytes, accept.length, type, sizeof type - 1) != NULL;
}

void serve_metrics_show(struct serve_exchange *exchange)
{
    struct evbuffer *text = evbuffer_new();
    bool open = wants_openmetrics(exchange);
    bool whole = text != NULL && write_client(text, exchange->server);

    if (whole)
        write_service(text, exchange->server);
    if (whole && open)
        text = as_openmetrics(text);
    size_t length = text == NULL ? 0 : evbuffer_get_length(text);
    const char *bytes = text == NULL || !whole ? NULL : (const char *)evbuffer_pullup(text, -1);
    if (bytes == NULL)
        serve_answer_problem(exchange->connection, SERVE_OUT_OF_MEMORY, "no memory for the metrics", NULL);
    else
        serve_answer_bytes(exchange->connection, 200, open ? OPENMETRICS_TYPE : TEXT_TYPE, bytes, length,
                           NULL);
    if (text != NULL)
        evbuffer_free(text);
}
