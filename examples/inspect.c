/*
 * Says who holds a name and what each node knows of it. It takes nothing.
 * Usage: inspect NAME [NODES], by default REDLOCK_NODES
 */
#include <stdio.h>
#include <stdlib.h>

#include <redlock.h>

static void print_holder(const char *name, const redlock_report *report)
{
    const redlock_holder *holder = &report->holder;

    if (holder->id[0] == '\0')
        printf("%s is not held by a quorum of nodes\n", name);
    else
        printf("%s is held by %s on %s, pid %u, \"%s\", id %s\n", name, holder->user, holder->host,
               holder->pid, holder->why, holder->id);
}

int main(int argc, char **argv)
{
    redlock_options options = REDLOCK_OPTIONS_INIT;
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;
    redlock_client *client;

    options.nodes = argc > 2 ? argv[2] : getenv("REDLOCK_NODES");
    if (argc < 2 || redlock_client_open(&options, &client, &report) != REDLOCK_OK) {
        fprintf(stderr, "usage: inspect NAME [NODES]\n%s\n", report.line);
        return 1;
    }
    report.details = redlock_details_new(NULL); /* room for what is said of each node */
    redlock_result result = redlock_inspect(client, argv[1], 0, &report);
    for (uint32_t i = 0; redlock_report_node(&report, i, &node); i++)
        printf("  %s: %s %s\n", node.url, redlock_verdict_name(node.verdict), node.detail);
    if (result == REDLOCK_OK)
        print_holder(argv[1], &report);
    else
        fprintf(stderr, "inspect: %s\n", redlock_result_name(result));
    redlock_details_free(report.details);
    redlock_client_close(client);
    return result == REDLOCK_OK ? 0 : 1;
}
