/*
 * GET /metrics: counts of the service and of its client, in the text format of Prometheus, or as OpenMetrics for those who ask for
 * it. It counts nothing itself but, where that was asked for, events of single names.
 */
#ifndef SERVE_METRICS_H
#define SERVE_METRICS_H

#include "serve/events.h"
#include "serve/http.h"

void serve_metrics_show(struct serve_exchange *exchange);

/* Counts an event for its name, when the setting metrics_name matches it and there are fewer than 100 such names. */
void serve_metrics_count(struct serve_server *server, const struct serve_event *event);
void serve_metrics_free(struct serve_server *server);

#endif
