/*
 * What to say when the nodes did not do what was asked, and which exit code that is.
 * An error names what, who, how to see more and how to fix it; it never has one message for four causes.
 */
#ifndef CLI_FAILURE_H
#define CLI_FAILURE_H

#include <redlock.h>

#include "cli/not_held.h"
#include "cli/options.h"
#include "cli/session.h"

/* The exit code of a result, before --conflict-exit-code and --skip-ok. */
int cli_failure_code(redlock_result result);

/* The same by all that the nodes said: a server that is named twice is a wrong configuration, not a wrong
 * usage. */
int cli_failure_report_code(const redlock_report *report);

/* Says why a lock was not taken and returns the exit code. Asks the nodes once more who holds it. */
int cli_failure_taking(const struct cli_session *session, const struct cli_options *options, const char *name,
                       const redlock_report *report);

/* Whether all that could be seen is a fleet that nobody has used yet: then, and only then, redlock init may
 * be the remedy. */
bool cli_failure_is_new_fleet(const redlock_report *report);

/* How long a quarantined node still has to wait, in seconds begun: as many as its own words name. */
int64_t cli_failure_quarantine_ms(const redlock_node_report *node);

/* "nodes 1, 2 and 3 are out of memory: raise maxmemory there, or remove data"; false when none is. */
bool cli_failure_describe_full(const redlock_report *report, char *text, size_t size);

/* The same for anything else that was asked of the nodes about a name (NULL: about none). */
int cli_failure_asking(const struct cli_session *session, const char *name, const redlock_report *report);

/* The same for a lock that an owner was said to hold. */
int cli_failure_claiming(const struct cli_session *session, const char *name, const struct cli_claim *claim,
                         const redlock_report *report);

/* The same where each node has been shown already. */
int cli_failure_shown(const struct cli_session *session, const char *name, const redlock_report *report);

#endif
