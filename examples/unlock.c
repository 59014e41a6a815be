/*
 * Releases a lock of which only the name and the owner value are known, as redlock acquire prints them.
 * Usage: unlock NAME OWNER [NODES], by default REDLOCK_NODES
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <redlock.h>

static void print_holder(const char *owner)
{
    redlock_holder holder;

    redlock_holder_parse(owner, strlen(owner), &holder);
    printf("taken by %s on %s, pid %u, id %s\n", holder.user, holder.host, holder.pid, holder.id);
}

int main(int argc, char **argv)
{
    redlock_options options = REDLOCK_OPTIONS_INIT;
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_client *client;

    options.nodes = argc > 3 ? argv[3] : getenv("REDLOCK_NODES");
    if (argc < 3 || redlock_client_open(&options, &client, &report) != REDLOCK_OK) {
        fprintf(stderr, "usage: unlock NAME OWNER [NODES]\n%s\n", report.line);
        return 1;
    }
    print_holder(argv[2]);
    redlock_result result = redlock_release_owner(client, argv[1], 0, argv[2], 0, &report);
    fprintf(result == REDLOCK_OK ? stdout : stderr, "%s\n", report.line);
    redlock_client_close(client);
    return result == REDLOCK_OK ? 0 : 1;
}
