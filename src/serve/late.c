/*
 * Keeps handles for nodes that are late; see late.h.
 */
#include "serve/late.h"

#include <stdlib.h>
#include <string.h>

#define KEEP_MS 5000 /* for a connection and an admission */
/* Before the end of its lease; they are looked at once a second. One that sees the end is counted as a lock
 * that was lost, and nobody lost it. */
#define MARGIN_MS 1500
#define KEPT_MAX 1024

struct serve_late {
    struct serve_late *next;
    redlock_lock *lock;
    int64_t until_ms;
};

static void count_nodes(struct serve_server *server)
{
    redlock_stats stats = REDLOCK_STATS_INIT;

    server->complete = redlock_client_stats(server->client, &stats) == REDLOCK_OK &&
                       stats.connected == redlock_client_node_count(server->client);
}

/* A node that has not answered when the lock was won is connected, and was asked, or it is late. */
static bool misses_nodes(struct serve_server *server, const redlock_report *report)
{
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;
    bool missing = false;

    if (report->granted == report->node_count)
        return false;
    if (!server->complete)
        count_nodes(server);
    for (uint32_t i = 0; redlock_report_node(report, i, &node); i++)
        missing = missing || node.verdict == REDLOCK_VERDICT_FAILED || node.verdict == REDLOCK_VERDICT_SILENT;
    return missing || !server->complete;
}

void serve_late_let_go(struct serve_server *server, redlock_lock *lock, const redlock_report *report)
{
    struct serve_late *late = NULL;
    int64_t keep_ms = redlock_lock_validity_ms(lock) - MARGIN_MS;

    keep_ms = keep_ms < KEEP_MS ? keep_ms : KEEP_MS;
    if (keep_ms > 0 && server->late_count < KEPT_MAX && misses_nodes(server, report))
        late = malloc(sizeof *late);
    if (late == NULL) {
        redlock_lock_free(lock);
        return;
    }
    *late = (struct serve_late){server->late, lock, serve_now(server) + keep_ms};
    server->late = late;
    server->late_count++;
}

static void drop(struct serve_server *server, struct serve_late **place)
{
    struct serve_late *late = *place;

    *place = late->next;
    server->late_count--;
    redlock_lock_free(late->lock);
    free(late);
}

static bool is_of(const struct serve_late *late, const char *owner, size_t owner_length)
{
    size_t length;
    const char *text = redlock_lock_owner(late->lock, &length);

    return length == owner_length && memcmp(text, owner, length) == 0;
}

/* Linear: there are none, but for some seconds after nodes were away. */
void serve_late_forget(struct serve_server *server, const char *owner, size_t owner_length)
{
    for (struct serve_late **place = &server->late; *place != NULL;) {
        if (is_of(*place, owner, owner_length))
            drop(server, place);
        else
            place = &(*place)->next;
    }
}

void serve_late_tick(struct serve_server *server)
{
    int64_t now_ms = serve_now(server);

    count_nodes(server);
    for (struct serve_late **place = &server->late; *place != NULL;) {
        if ((*place)->until_ms <= now_ms)
            drop(server, place);
        else
            place = &(*place)->next;
    }
}

void serve_late_free(struct serve_server *server)
{
    while (server->late != NULL)
        drop(server, &server->late);
}
