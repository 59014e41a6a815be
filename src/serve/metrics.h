/*
 * GET /metrics: counts of the service and of its client, in the text format of Prometheus, or as OpenMetrics
 * for scrapers that ask for it. It counts nothing itself; names.h has the events of single names.
 */
#ifndef SERVE_METRICS_H
#define SERVE_METRICS_H

#include "serve/http.h"

void serve_metrics_show(struct serve_exchange *exchange);

#endif
