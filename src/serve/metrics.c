/*
 * GET /metrics; see metrics.h. Names of locks are never labels: there is no end to them.
 */
#include "serve/metrics.h"

#include <inttypes.h>
#include <string.h>

#include "serve/sessions.h"

#define FAILURES "redlock_node_failures_total"

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

/* Every second bucket of the library's: each bound is twice the one before, from some 64 us to some four minutes. */
static void write_durations(struct evbuffer *text, const char *outcome, const redlock_histogram *histogram)
{
    static const uint32_t first = 12, last = 56, step = 2;
    uint64_t below = 0;
    uint32_t counted = 0;

    for (uint32_t bucket = first; bucket <= last; bucket += step) {
        for (; counted <= bucket; counted++)
            below += histogram->buckets[counted];
        evbuffer_add_printf(
            text, "redlock_acquire_duration_seconds_bucket{outcome=\"%s\",le=\"%.6f\"} %" PRIu64 "\n",
            outcome, (double)redlock_histogram_bound_us(bucket) / 1e6, below);
    }
    evbuffer_add_printf(text,
                        "redlock_acquire_duration_seconds_bucket{outcome=\"%s\",le=\"+Inf\"} %" PRIu64 "\n"
                        "redlock_acquire_duration_seconds_sum{outcome=\"%s\"} %.6f\n"
                        "redlock_acquire_duration_seconds_count{outcome=\"%s\"} %" PRIu64 "\n",
                        outcome, histogram->count, outcome, (double)histogram->sum_us / 1e6, outcome,
                        histogram->count);
}

static void write_client(struct evbuffer *text, const struct serve_server *server)
{
    redlock_stats stats = REDLOCK_STATS_INIT;

    if (redlock_client_stats(server->client, &stats) != REDLOCK_OK)
        return;
    uint32_t nodes = redlock_client_node_count(server->client);
    write_head(text, "redlock_acquire_duration_seconds", "histogram",
               "From asking for a lock to the outcome.");
    write_durations(text, "acquired", &stats.acquire_ok);
    write_durations(text, "failed", &stats.acquire_failed);
    write_one(text, "redlock_nodes", "gauge", "Nodes that are configured.", nodes);
    write_one(text, "redlock_quorum_size", "gauge", "Nodes that have to grant a lock.", nodes / 2 + 1);
    write_one(text, "redlock_nodes_connected", "gauge", "Nodes that are connected.", stats.connected);
    write_one(text, "redlock_nodes_eligible", "gauge", "Nodes that may vote.", stats.eligible);
    write_one(text, "redlock_acquired_total", "counter", "Locks that were acquired.", stats.acquired);
    write_one(text, "redlock_released_total", "counter", "Locks that were released.", stats.released);
    write_one(text, "redlock_lost_total", "counter", "Locks that were lost.", stats.lost);
    write_one(text, "redlock_fence_rounds_total", "counter",
              "Acquisitions that needed a second round for the fence.", stats.fence_rounds);
}

/* A URL may have anything in it that a label must not. */
static void write_label(struct evbuffer *text, const char *value)
{
    for (; *value != '\0'; value++)
        if (*value == '"' || *value == '\\')
            evbuffer_add_printf(text, "\\%c", *value);
        else
            evbuffer_add(text, value, 1);
}

static void write_failures(struct evbuffer *text, const struct serve_server *server)
{
    redlock_node_stats stats = REDLOCK_NODE_STATS_INIT;

    write_head(text, FAILURES, "counter", "Answers of a node that did not count, by what was wrong.");
    for (uint32_t node = 0; redlock_client_node_stats(server->client, node, &stats) == REDLOCK_OK; node++)
        for (uint32_t cause = 1; cause < REDLOCK_CAUSES; cause++) {
            if (stats.causes[cause] == 0)
                continue;
            evbuffer_add_printf(text, FAILURES "{node=\"");
            write_label(text, redlock_client_node_url(server->client, node));
            evbuffer_add_printf(text, "\",reason=\"%s\"} %" PRIu64 "\n",
                                redlock_cause_name((redlock_cause)cause), stats.causes[cause]);
        }
}

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
    write_one(text, "redlock_waiting", "gauge", "Requests that wait for a lock.", server->waiting);
    write_one(text, "redlock_sessions", "gauge", "Sessions.", serve_sessions_count(server));
    write_head(text, "redlock_build_info", "gauge", "The version, as a label.");
    evbuffer_add_printf(text, "redlock_build_info{version=\"%s\"} 1\n", redlock_version());
}

void serve_metrics_show(struct serve_exchange *exchange)
{
    struct evbuffer *text = evbuffer_new();

    if (text != NULL) {
        write_client(text, exchange->server);
        write_failures(text, exchange->server);
        write_service(text, exchange->server);
    }
    size_t length = text == NULL ? 0 : evbuffer_get_length(text);
    const char *bytes = text == NULL ? NULL : (const char *)evbuffer_pullup(text, -1);
    if (bytes == NULL)
        serve_answer_problem(exchange->connection, SERVE_OUT_OF_MEMORY, "no memory for the metrics", NULL);
    else
        serve_answer_bytes(exchange->connection, 200, "text/plain; version=0.0.4; charset=utf-8", bytes,
                           length, NULL);
    if (text != NULL)
        evbuffer_free(text);
}
