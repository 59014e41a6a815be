/*
 * The remedy when nodes refuse a user: the rights that it lacks, as the line that grants them, and where its
 * password comes from.
 */
#ifndef CLI_RIGHTS_H
#define CLI_RIGHTS_H

#include <redlock.h>

#include "cli/session.h"

/* The user that a node takes us for: by its own account, else by the configuration. */
const char *cli_rights_user(const struct cli_session *session, const redlock_node_facts *facts);

/* "ACL SETUSER locks +eval '~lock:*'", for a shell or for the prompt of redis-cli, which knows quotes,
 * too. */
void cli_rights_line(const char *user, const char *rights, char *text, size_t size);

/* Asks the nodes which rights are missing for what the session does; false when none is known to be. */
bool cli_rights_find(const struct cli_session *session, char *text, size_t size);

/* What to do about a password that is missing or wrong, by what the nodes said. */
void cli_rights_credentials(const struct cli_session *session, const redlock_report *report, char *text,
                            size_t size);

/* The same by the words of one node. */
void cli_rights_password(const struct cli_session *session, const char *detail, char *text, size_t size);

#endif
