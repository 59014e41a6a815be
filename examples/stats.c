/*
 * Takes and releases a lock a hundred times and prints what the client counted, node by node.
 * Usage: stats [NODES], by default REDLOCK_NODES
 */
#include <stdio.h>
#include <stdlib.h>

#include <redlock.h>

static void print_nodes(redlock_client *client)
{
    redlock_node_stats node = REDLOCK_NODE_STATS_INIT;

    for (uint32_t i = 0; redlock_client_node_stats(client, i, &node) == REDLOCK_OK; i++) {
        uint64_t mean_us = node.latency.count == 0 ? 0 : node.latency.sum_us / node.latency.count;

        printf("  %s: %llu granted, %llu failed, %llu us on average\n", redlock_client_node_url(client, i),
               (unsigned long long)node.granted, (unsigned long long)node.failed,
               (unsigned long long)mean_us);
    }
}

int main(int argc, char **argv)
{
    redlock_options options = REDLOCK_OPTIONS_INIT;
    redlock_spec spec = REDLOCK_SPEC_INIT;
    redlock_stats stats = REDLOCK_STATS_INIT;
    redlock_client *client;

    options.nodes = argc > 1 ? argv[1] : getenv("REDLOCK_NODES");
    if (redlock_client_open(&options, &client, NULL) != REDLOCK_OK)
        return 1;
    spec.name = "stats";
    for (int i = 0; i < 100; i++) {
        redlock_lock *lock;

        if (redlock_acquire(client, &spec, 1000, &lock, NULL) != REDLOCK_OK)
            break;
        redlock_release(lock, NULL);
        redlock_lock_free(lock);
    }
    redlock_result result = redlock_client_stats(client, &stats);
    printf("redlock %s: %llu acquired, %llu released, %llu held now\n", redlock_version(),
           (unsigned long long)stats.acquired, (unsigned long long)stats.released,
           (unsigned long long)stats.held);
    print_nodes(client);
    redlock_client_close(client);
    return result == REDLOCK_OK && stats.acquired == 100 ? 0 : 1;
}
