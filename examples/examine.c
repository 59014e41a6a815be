/*
 * Asks every node about itself: which server it is, whether it would survive a restart, and which rights are
 * missing.
 * Usage: examine [NODES], by default REDLOCK_NODES
 */
#include <stdio.h>
#include <stdlib.h>

#include <redlock.h>

int main(int argc, char **argv)
{
    redlock_options options = REDLOCK_OPTIONS_INIT;
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_client *client;

    options.nodes = argc > 1 ? argv[1] : getenv("REDLOCK_NODES");
    if (redlock_client_open(&options, &client, &report) != REDLOCK_OK) {
        fprintf(stderr, "examine: %s\n", report.line);
        return 1;
    }
    redlock_result result = redlock_examine(client, &report);
    for (uint32_t i = 0; i < redlock_client_node_count(client); i++) {
        redlock_node_facts facts = REDLOCK_NODE_FACTS_INIT;

        if (redlock_client_node_facts(client, i, &facts) != REDLOCK_OK || !facts.examined)
            continue;
        printf("%s: %s %s, append-only file: %s, missing rights: %s\n", redlock_client_node_url(client, i),
               facts.server, facts.version, facts.append_only == 1 ? "yes" : "no",
               facts.missing_rights[0] != '\0' ? facts.missing_rights : "none");
    }
    fprintf(result == REDLOCK_OK ? stdout : stderr, "examine: %s\n", report.line);
    redlock_client_close(client);
    return result == REDLOCK_OK ? 0 : 1;
}
