/*
 * Wall clocks of nodes that can be set wrong while they run: by a jump, or by a rate. It works through a
 * library that is preloaded into redis-server; see test/shim/clock_shim.c.
 */
#ifndef TEST_SUPPORT_NODE_CLOCK_H
#define TEST_SUPPORT_NODE_CLOCK_H

#include <stdint.h>

#include "support/fleet.h"

/* As fleet_start; all programs that this process starts from now on get the library. NULL: it was not
 * built. */
struct fleet *fleet_start_with_clocks(const struct fleet_options *options);

void node_clock_step(struct fleet *fleet, int node, int64_t step_us);

/* From now on it gains so much; 0: it goes on at the right rate from where it is. */
void node_clock_slew(struct fleet *fleet, int node, int64_t rate_ppm);

#endif
