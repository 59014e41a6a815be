/*
 * The names of a lock that has several: NAME and those of --also. What they have in common with one name is
 * elsewhere.
 */
#ifndef CLI_NAMES_H
#define CLI_NAMES_H

#include <redlock.h>

#include "cli/options.h"
#include "cli/output.h"
#include "cli/session.h"

/* Whether all names can be locked, together. 0, or an exit code after having said what is wrong. */
int cli_names_check(const struct cli_session *session, const struct cli_options *options);

/* Whether a process above us holds one of them; as cli_held_check(). */
int cli_names_check_held(const struct cli_session *session, const struct cli_options *options);

/* Puts them into a spec; `also` has to live as long as that. */
void cli_names_set(redlock_spec *spec, const struct cli_options *options,
                   redlock_name also[REDLOCK_NAMES_MAX - 1]);

/* The name that a report is about: the one that was in the way, or is gone; else NAME. */
const char *cli_names_of(const struct cli_options *options, const redlock_report *report);

/* Adds "also", with the names beside NAME, if there are any. */
void cli_names_show(json_t *object, const struct cli_options *options);

/* The same as lines "also NAME". */
void cli_names_print(const struct cli_options *options);

#endif
