/*
 * What to say when somebody else holds the lock: who, since when, for how long, and how to see more or to
 * force it. It asks the nodes whose keys are where, and decides nothing.
 */
#ifndef CLI_BUSY_H
#define CLI_BUSY_H

#include <jansson.h>
#include <redlock.h>

#include "cli/session.h"
#include "cli/suggest.h"
#include "cli/text.h"

/* Says that the name is busy, and returns the code. ask: the nodes may be asked once more who has it. */
int cli_busy_say(const struct cli_session *session, const char *name, const redlock_report *report, bool ask,
                 int code);

/* The line "holder"; nothing when nobody is known to be it. */
void cli_busy_say_holder(const redlock_holder *holder);

/* "TTL 15s, renewed 4s ago, 11s left, granted by 5 of 5", as far as it is known; empty when nothing is.
 * node_count 0: on how many nodes it is is not known. */
void cli_busy_describe_lease(const redlock_report *report, uint32_t node_count, char *text, size_t size);

struct cli_busy_force {
    const char *label;
    struct cli_suggested command;
    const char *remark;
};

/* The command that ends the hold by force; or, of a key that break cannot end as it is in another format, the
 * one that says whose it may be. False: there is none. */
bool cli_busy_suggest_force(const struct cli_session *session, const char *name, const redlock_holder *holder,
                            struct cli_busy_force *force);

/* " (waited 30s)", or nothing when we did not. */
struct cli_span cli_busy_waited(const redlock_report *report);

/* What a report says of a name (NULL: of none), its nodes and its holder. */
json_t *cli_busy_json(const char *name, const redlock_report *report);

#endif
