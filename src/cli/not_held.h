/*
 * What to say when an owner does not hold what it was said to hold: who does, or how it holds it instead.
 */
#ifndef CLI_NOT_HELD_H
#define CLI_NOT_HELD_H

#include <jansson.h>

#include <redlock.h>

#include "cli/options.h"
#include "cli/session.h"

/* What an owner was said to hold: the options of extend and release. */
struct cli_claim {
    const struct cli_options *options;
    const char *owner;
};

/* Says it with exit code 79. subject: "NAME: "; report: of the call that found out; claim NULL: nobody made
 * one. Asks the nodes who holds it now. Takes `more`. */
void cli_not_held_say(const struct cli_session *session, const char *name, const char *subject,
                      const redlock_report *report, const struct cli_claim *claim, json_t *more);

#endif
