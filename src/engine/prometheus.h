/*
 * Statistics in the text format of Prometheus. Every family is written whatever was counted, so that the
 * number of series depends on the nodes alone. It counts nothing; stats.c does.
 */
#ifndef RL_ENGINE_PROMETHEUS_H
#define RL_ENGINE_PROMETHEUS_H

#include "engine/state.h"

/* What is written: statistics that do not change meanwhile. */
struct rl_snapshot {
    const struct rl_engine *engine; /* for the names of its nodes, which never change */
    redlock_stats client;
    uint32_t node_count;
    redlock_node_stats nodes[];
};

/* Whether these can be labels of every series. */
bool rl_prometheus_labels_ok(const redlock_label *labels, uint32_t count);

/* The length of the text; as much of it is written as fits with a NUL. */
size_t rl_prometheus_write(const struct rl_snapshot *snapshot, const redlock_label *labels,
                           uint32_t label_count, char *bytes, size_t size);

#endif
