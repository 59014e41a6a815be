/*
 * Waits two seconds for a lock and, when that is not enough, says what was in the way.
 * Usage: wait [NODES], by default REDLOCK_NODES
 */
#include <stdio.h>
#include <stdlib.h>

#include <redlock.h>

static void explain_holder(const redlock_report *report)
{
    const redlock_holder *holder = &report->holder;

    fprintf(stderr, "wait: nightly-report is still held after %lld ms\n", (long long)report->waited_ms);
    if (holder->host[0] != '\0')
        fprintf(stderr, "  by %s on %s, pid %u: %s\n", holder->user, holder->host, holder->pid, holder->why);
    if (report->holder_ttl_left_ms >= 0)
        fprintf(stderr, "  free in %lld ms unless it is renewed\n", (long long)report->holder_ttl_left_ms);
}

static void explain_nodes(const redlock_report *report)
{
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;

    fprintf(stderr, "wait: too few nodes, %u are needed\n", report->quorum);
    for (uint32_t i = 0; redlock_report_node(report, i, &node); i++)
        fprintf(stderr, "  %s: %s %s\n", node.url, redlock_verdict_name(node.verdict), node.detail);
}

int main(int argc, char **argv)
{
    redlock_options options = REDLOCK_OPTIONS_INIT;
    redlock_spec spec = REDLOCK_SPEC_INIT;
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_client *client;
    redlock_lock *lock = NULL;

    report.details = redlock_details_new(NULL); /* to have each node explained */
    options.nodes = argc > 1 ? argv[1] : getenv("REDLOCK_NODES");
    redlock_result result = redlock_client_open(&options, &client, &report);
    spec.name = "nightly-report";
    spec.why = "report of the night"; /* shown to those who wait for us */
    if (result == REDLOCK_OK)
        result = redlock_acquire(client, &spec, 2000, &lock, &report);

    if (result == REDLOCK_OK)
        printf("acquired after %u rounds\n", report.rounds);
    else if (result == REDLOCK_TIMEOUT)
        explain_holder(&report);
    else if (result == REDLOCK_NO_QUORUM)
        explain_nodes(&report);
    else
        fprintf(stderr, "wait: %s\n", report.line);

    if (lock != NULL && redlock_release(lock, &report) != REDLOCK_OK)
        fprintf(stderr, "wait: %s\n", report.line);
    redlock_lock_free(lock);
    redlock_client_close(client);
    redlock_details_free(report.details);
    return result == REDLOCK_OK ? 0 : 1;
}
