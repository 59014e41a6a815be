/*
 * Admits the nodes of a new fleet, on which no lock can be held yet, and says what has come of each.
 * Usage: init [NODES], by default REDLOCK_NODES
 */
#include <stdio.h>
#include <stdlib.h>

#include <redlock.h>

static void print_node(const redlock_node_report *node)
{
    if (node->eligible)
        printf("  %s: may vote\n", node->url);
    else
        printf("  %s: %s, %s\n", node->url, redlock_verdict_name(node->verdict), node->detail);
}

int main(int argc, char **argv)
{
    redlock_options options = REDLOCK_OPTIONS_INIT;
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;
    redlock_client *client;

    options.nodes = argc > 1 ? argv[1] : getenv("REDLOCK_NODES");
    options.max_ttl_ms = 30000; /* the same in every client: no lock here lives longer */
    if (redlock_client_open(&options, &client, &report) != REDLOCK_OK) {
        fprintf(stderr, "init: %s\n", report.line);
        return 1;
    }
    /* Only because these nodes were set up a moment ago: with a lock out there, two could hold it. */
    report.details = redlock_details_new(NULL);
    redlock_result result = redlock_init_nodes(client, 0, &report);
    for (uint32_t i = 0; redlock_report_node(&report, i, &node); i++)
        print_node(&node);
    fprintf(result == REDLOCK_OK ? stdout : stderr, "init: %s\n", report.line);
    redlock_details_free(report.details);
    redlock_client_close(client);
    return result == REDLOCK_OK ? 0 : 1;
}
