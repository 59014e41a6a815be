/*
 * A program that was built against an older header, run with the library as it is now: every struct is
 * followed by bytes that are not the library's to read or to write. Usage: program NODES; prints what is
 * wrong.
 */
#include <stdio.h>
#include <string.h>

#include <redlock.h>

enum { POISON = 0xa5, BEHIND = 2048 };

static int failures;

static void check(int good, const char *what)
{
    if (!good) {
        printf("not so: %s\n", what);
        failures++;
    }
}

/* A struct as the program knows it, and what is none of it. */
#define SURROUNDED(type, name)           \
    static struct {                      \
        type it;                         \
        unsigned char behind[BEHIND];    \
    } name;                              \
    memset(&name, POISON, sizeof name);  \
    memset(&name.it, 0, sizeof name.it); \
    name.it.size = sizeof name.it

static int is_untouched(const unsigned char *behind)
{
    for (int i = 0; i < BEHIND; i++)
        if (behind[i] != POISON)
            return 0;
    return 1;
}

static void use_lock(redlock_client *client)
{
    SURROUNDED(redlock_spec, spec);
    SURROUNDED(redlock_report, report);
    SURROUNDED(redlock_node_report, node);
    redlock_lock *lock = NULL;
    uint32_t nodes = 0;

    spec.it.name = "older";
    spec.it.ttl_ms = 10000;
    check(redlock_acquire(client, &spec.it, 1000, &lock, &report.it) == REDLOCK_OK, "it acquires");
    check(report.it.size == sizeof report.it && report.it.result == REDLOCK_OK, "the report says so");
    report.it.details = redlock_details_new(NULL);
    check(redlock_inspect(client, "older", 0, &report.it) == REDLOCK_OK, "it inspects");
    check(strncmp(report.it.holder.id, redlock_lock_owner(lock, NULL), 8) == 0, "the holder is itself");
    check(report.it.holder.tag_length == 0, "without a tag");
    for (; redlock_report_node(&report.it, nodes, &node.it); nodes++)
        check(node.it.verdict == REDLOCK_VERDICT_HELD && node.it.url[0] != '\0', "each node has it");
    check(nodes == report.it.node_count && nodes > 0, "all nodes are told");
    check(redlock_release(lock, &report.it) == REDLOCK_OK, "it releases");
    redlock_lock_free(lock);
    redlock_details_free(report.it.details);
    check(is_untouched(spec.behind) && is_untouched(report.behind) && is_untouched(node.behind),
          "nothing behind a struct is touched");
}

static void use_stats(redlock_client *client)
{
    SURROUNDED(redlock_stats, stats);
    SURROUNDED(redlock_node_stats, node);

    check(redlock_client_stats(client, &stats.it) == REDLOCK_OK && stats.it.acquired == 1, "it counts");
    check(redlock_client_node_stats(client, 0, &node.it) == REDLOCK_OK && node.it.connects >= 1, "nodes too");
    check(is_untouched(stats.behind) && is_untouched(node.behind), "nothing behind statistics is touched");
}

/* A program of the future knows one more field. */
static void come_from_the_future(redlock_client *client)
{
    struct {
        unsigned char known[4096];
        uint64_t unknown;
    } spec;
    redlock_spec now = {.name = "newer"};
    redlock_lock *lock = NULL;

    memset(&spec, 0, sizeof spec);
    memcpy(spec.known, &now, sizeof now);
    *(size_t *)(void *)spec.known = sizeof spec;
    check(redlock_try_acquire(client, (redlock_spec *)(void *)spec.known, &lock, NULL) == REDLOCK_OK,
          "a field that it leaves at zero does not matter");
    redlock_release(lock, NULL);
    redlock_lock_free(lock);
    spec.unknown = 1;
    check(redlock_try_acquire(client, (redlock_spec *)(void *)spec.known, &lock, NULL) == REDLOCK_INVALID,
          "one that it uses is refused");
}

int main(int argc, char **argv)
{
    SURROUNDED(redlock_options, options);
    SURROUNDED(redlock_report, report);
    redlock_client *client = NULL;

    options.it.nodes = argc > 1 ? argv[1] : "";
    if (redlock_client_open(&options.it, &client, &report.it) != REDLOCK_OK) {
        printf("not so: it opens a client\n");
        return 1;
    }
    use_lock(client);
    use_stats(client);
    come_from_the_future(client);
    redlock_client_close(client);
    check(is_untouched(options.behind) && is_untouched(report.behind), "nothing behind options is touched");
    check(redlock_client_open(&(redlock_options){.nodes = argv[1]}, &client, NULL) == REDLOCK_INVALID,
          "a struct without its size is refused");
    return failures == 0 ? 0 : 1;
}
