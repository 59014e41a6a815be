/*
 * What the service says of itself and its nodes; see info.h.
 */
#include "serve/info.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/events.h"
#include "serve/json.h"
#include "serve/openapi.h"

#define LOOK_EVERY_S 5

/* ---- health and nodes ---------------------------------------------------------------------------------- */

void serve_info_alive(struct serve_exchange *exchange)
{
    serve_answer_json(exchange->connection, 200, json_pack("{s:s}", "status", "alive"), NULL);
}

struct asking {
    struct serve_call call;
    bool ready; /* GET /readyz: whether a quorum may vote */
};

static json_t *json_fleet(const redlock_report *report)
{
    return json_pack("{s:b, s:i, s:i, s:o}", "ready", report->eligible >= report->quorum, "quorum",
                     (int)report->quorum, "eligible", (int)report->eligible, "nodes",
                     serve_json_nodes(report));
}

static void on_asked(void *context, redlock_result result, const redlock_report *report)
{
    struct asking *asking = context;
    struct serve_connection *connection = asking->call.connection;
    bool voting = result == REDLOCK_OK && report->eligible >= report->quorum;

    if (serve_call_end(&asking->call)) {
        if (asking->ready && voting)
            serve_answer_json(connection, 200, json_pack("{s:s}", "status", "ready"), NULL);
        else if (asking->ready)
            serve_answer_problem(connection, result == REDLOCK_OK ? SERVE_QUARANTINE : SERVE_NO_QUORUM,
                                 result == REDLOCK_OK ? "too few nodes may vote" : report->line, NULL);
        else
            serve_answer_json(connection, 200, json_fleet(report), NULL);
        serve_connection_go_on(connection);
    }
    free(asking);
}

static void ask(struct serve_exchange *exchange, bool ready)
{
    struct asking *asking = calloc(1, sizeof *asking);

    if (asking == NULL) {
        serve_answer_problem(exchange->connection, SERVE_OUT_OF_MEMORY, "no memory for the request", NULL);
        return;
    }
    asking->ready = ready;
    serve_call_begin(&asking->call, exchange->connection, false);
    redlock_result result =
        redlock_inspect_async(exchange->server->client, NULL, 0, on_asked, asking, &asking->call.request);
    if (result == REDLOCK_OK)
        return;
    serve_call_end(&asking->call);
    serve_answer_problem(exchange->connection, serve_problem_of(result), redlock_result_name(result), NULL);
    free(asking);
}

void serve_info_ready(struct serve_exchange *exchange)
{
    ask(exchange, true);
}

void serve_info_nodes(struct serve_exchange *exchange)
{
    ask(exchange, false);
}

/* ---- changes of nodes ---------------------------------------------------------------------------------- */

enum node_state { NODE_UNKNOWN, NODE_UP, NODE_DOWN, NODE_QUARANTINED };

static enum node_state state_of(const redlock_node_report *node)
{
    if (node->verdict == REDLOCK_VERDICT_SILENT || node->verdict == REDLOCK_VERDICT_FAILED ||
        node->verdict == REDLOCK_VERDICT_PENDING)
        return NODE_DOWN;
    return node->eligible ? NODE_UP : NODE_QUARANTINED;
}

static void on_looked(void *context, redlock_result result, const redlock_report *report)
{
    static const char *const types[] = {"", "node_up", "node_down", "node_quarantined"};
    struct serve_server *server = context;
    unsigned char *known = server->node_states;
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;
    char detail[160];

    (void)result;
    server->outstanding--;
    server->looking = false;
    for (uint32_t i = 0; i < REDLOCK_NODES_MAX && redlock_report_node(report, i, &node); i++) {
        enum node_state state = state_of(&node);
        if (state == known[i])
            continue;
        snprintf(detail, sizeof detail, "%.80s%s%.60s", node.url, node.detail[0] == '\0' ? "" : ": ",
                 node.detail);
        if (known[i] != NODE_UNKNOWN || state != NODE_UP)
            serve_events_publish(server, &(struct serve_event){.type = types[state], .detail = detail});
        known[i] = (unsigned char)state;
    }
}

void serve_info_tick(struct serve_server *server)
{
    redlock_request request;

    if (server->looking || server->stopping || server->seconds % LOOK_EVERY_S != 0)
        return;
    if (redlock_inspect_async(server->client, NULL, 0, on_looked, server, &request) != REDLOCK_OK)
        return;
    server->looking = true;
    server->outstanding++;
}

/* ---- texts --------------------------------------------------------------------------------------------- */

void serve_info_openapi(struct serve_exchange *exchange)
{
    serve_answer_bytes(exchange->connection, 200, "application/json", serve_openapi, serve_openapi_length,
                       NULL);
}

void serve_info_problem(struct serve_exchange *exchange)
{
    for (size_t i = 0; i < SERVE_PROBLEM_COUNT; i++) {
        const struct serve_problem_kind *kind = &serve_problems[i];
        if (strlen(kind->name) != exchange->name.length ||
            memcmp(kind->name, exchange->name.bytes, exchange->name.length) != 0)
            continue;
        serve_answer_json(exchange->connection, 200,
                          json_pack("{s:s, s:i, s:s, s:s}", "type", kind->name, "status", kind->status,
                                    "title", kind->title, "fix", kind->fix),
                          NULL);
        return;
    }
    serve_answer_problem(exchange->connection, SERVE_NOT_FOUND, "there is no such type of problem", NULL);
}
