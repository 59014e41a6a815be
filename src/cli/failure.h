/*
 * What to say when the nodes did not do what was asked, and which exit code that is.
 * An error names what, who, how to see more and how to fix it; it never has one message for four causes.
 */
#ifndef CLI_FAILURE_H
#define CLI_FAILURE_H

#include <redlock.h>

#include "cli/options.h"
#include "cli/session.h"

/* The exit code of a result, before --conflict-exit-code and --skip-ok. */
int cli_failure_code(redlock_result result);

/* Says why a lock was not taken and returns the exit code. Asks the nodes once more who holds it. */
int cli_failure_taking(const struct cli_session *session, const struct cli_options *options, const char *name,
                       const redlock_report *report);

/* The same for anything else that was asked of the nodes about a name (NULL: about none). */
/* "nodes 1, 2 and 3 are out of memory: raise maxmemory there, or remove data"; false when none is. */
bool cli_failure_describe_full(const redlock_report *report, char *text, size_t size);

int cli_failure_asking(const char *name, const redlock_report *report);

/* "web-3 (pid 4242, user deploy, "pg_dump prod")", as far as it is known. */
void cli_failure_describe_holder(const redlock_holder *holder, char *text, size_t size);

/* "web-3 pid 4242 user deploy, since 10:02:11 (12m04s), why "pg_dump prod"", likewise. */
void cli_failure_describe_since(const redlock_holder *who, char *text, size_t size);

#endif
