/*
 * What a waiting person sees: one live line on a terminal; elsewhere a line when waiting starts, one a minute
 * and one when it ends. It asks the nodes who holds the lock; it does not take it.
 */
#ifndef CLI_WAITING_H
#define CLI_WAITING_H

#include <stdbool.h>
#include <stdint.h>

#include <redlock.h>

#include "cli/events.h"
#include "cli/session.h"

struct cli_waiting {
    const struct cli_session *session;
    const redlock_spec *spec;  /* what is waited for */
    const char *name;          /* of several names the one that seems to be in the way */
    uint32_t name_number;      /* which that is, from 0 */
    struct cli_events *events; /* may be NULL */
    int64_t started_ms, next_ask_ms, next_draw_ms;
    bool shown;     /* somebody was told that we wait */
    uint32_t place; /* that programs were told last; 0: none */
    bool renewing;  /* the holder's time left went up since it was last asked for */
    unsigned frame;
    redlock_report report;   /* of the last question */
    redlock_request request; /* the one that is under way, if `asking` */
    bool asking, answered;
};

void cli_waiting_begin(struct cli_waiting *waiting, const struct cli_session *session,
                       const redlock_spec *spec, struct cli_events *events);

/* When cli_waiting_tick() is due. */
int64_t cli_waiting_due(const struct cli_waiting *waiting);
void cli_waiting_tick(struct cli_waiting *waiting);

void cli_waiting_end(struct cli_waiting *waiting, bool acquired);

#endif
