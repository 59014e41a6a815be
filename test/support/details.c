/*
 * Reports that say something of every node; see details.h.
 */
#include "support/details.h"

#include <pthread.h>
#include <stdlib.h>

#include "support/check.h"

static redlock_details **kept;
static size_t kept_count;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void __attribute__((destructor)) free_kept(void)
{
    for (size_t i = 0; i < kept_count; i++)
        redlock_details_free(kept[i]);
    free(kept);
}

redlock_report detailed_report(void)
{
    redlock_report report = REDLOCK_REPORT_INIT;

    report.details = redlock_details_new(NULL);
    assert_non_null(report.details);
    pthread_mutex_lock(&mutex);
    kept = realloc(kept, (kept_count + 1) * sizeof(redlock_details *));
    if (kept != NULL)
        kept[kept_count++] = report.details;
    pthread_mutex_unlock(&mutex);
    assert_non_null(kept);
    return report;
}

redlock_node_report node_of(const redlock_report *report, uint32_t node)
{
    redlock_node_report said = REDLOCK_NODE_REPORT_INIT;

    assert_int_equal(redlock_report_node(report, node, &said), 1);
    return said;
}

redlock_waiter waiter_of(const redlock_report *report, uint32_t waiter)
{
    redlock_waiter said = REDLOCK_WAITER_INIT;

    assert_int_equal(redlock_report_waiter(report, waiter, &said), 1);
    return said;
}

redlock_node_stats node_stats_of(redlock_client *client, uint32_t node)
{
    redlock_node_stats stats = REDLOCK_NODE_STATS_INIT;

    assert_int_equal(redlock_client_node_stats(client, node, &stats), REDLOCK_OK);
    return stats;
}

uint64_t waiting_of(redlock_client *client)
{
    redlock_stats stats = REDLOCK_STATS_INIT;

    assert_int_equal(redlock_client_stats(client, &stats), REDLOCK_OK);
    return stats.waiting;
}
