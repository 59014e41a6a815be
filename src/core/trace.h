/*
 * Tells one step of an acquisition or a lease in words: times in ms since it began, nodes counted from 1.
 * It only reads what the step left behind; it decides nothing and adds no line when nothing happened.
 */
#ifndef RL_CORE_TRACE_H
#define RL_CORE_TRACE_H

#include <stddef.h>

#include "base/bytes.h"
#include "core/acquire.h"
#include "core/lease.h"
#include "core/stand.h"

/* Each adds zero or more lines: separated by '\n' (also from what the text already holds), none after the
 * last. */

/* The title of an acquisition. */
void rl_trace_acquire_start(struct rl_text *text, const char *name, size_t name_length,
                            const struct rl_acquire *acquire);

/* What rl_acquire_step() was told, and what it made of it. Call it right after the step. */
void rl_trace_acquire(struct rl_text *text, const struct rl_acquire *after, const struct rl_event *event,
                      const struct rl_effects *effects);

/* The same for a caller in line. */
void rl_trace_stand_start(struct rl_text *text, const char *name, size_t name_length,
                          const struct rl_stand *stand);
void rl_trace_stand(struct rl_text *text, const struct rl_stand *after, const struct rl_event *event,
                    const struct rl_effects *effects);

/* The same for rl_lease_step(). */
void rl_trace_lease(struct rl_text *text, const struct rl_lease *after, const struct rl_event *event,
                    const struct rl_effects *effects);

#endif
