/*
 * The names that are held above us: REDLOCK_HELD lists them (percent-encoded, with blanks between them), and
 * REDLOCK_HELD_ON says in the same order on which nodes, by which owner and how. It decides only whether that
 * is still true.
 */
#ifndef CLI_HELD_H
#define CLI_HELD_H

#include <stdbool.h>

#include <redlock.h>

#include "cli/session.h"

/* A short text that is the same for the same nodes, in whatever order, and the same prefix. */
struct cli_fleet {
    char text[17];
};

struct cli_fleet cli_held_fleet(const redlock_client *client, const char *prefix);

/* 0, or an exit code after having said that a process above us holds this name on these nodes: waiting for it
 * would never end. Asks the nodes when the environment says so. */
int cli_held_check(const struct cli_session *session, const char *name);

/* Whether a process above us holds it, so that we are inside of its lock. 0, or an exit code after having
 * said that this process has it together with others, while we want it alone. */
int cli_held_enter(const struct cli_session *session, const char *name, bool *inside);

/* The values for CMD: what is held above us and these, which one owner has, as locks of this kind. The caller
 * frees both; false without memory. */
bool cli_held_extend(const char *const *held, int count, const struct cli_fleet *fleet, const char *owner,
                     redlock_kind kind, char **names, char **places);

#endif
