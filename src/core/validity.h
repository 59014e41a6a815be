/*
 * How long a holder may rely on a lock: its TTL, less the time it took to get it, less what clocks may be
 * wrong by. Every rounding goes against the holder.
 */
#ifndef RL_CORE_VALIDITY_H
#define RL_CORE_VALIDITY_H

#include "base/time.h"

/* What clocks may disagree by over a TTL: ttl * drift_ppm / 1e6, rounded up, plus 2 ms (the nodes' expiry
 * works in whole milliseconds, and so may the TTL they were told). */
struct rl_span rl_validity_drift(struct rl_span ttl, uint32_t drift_ppm);

/* The end of validity of a lease that was asked for at `asked` (before the first byte was sent). May be in
 * the past. */
struct rl_time rl_validity_end(struct rl_time asked, struct rl_span ttl, uint32_t drift_ppm);

#endif
