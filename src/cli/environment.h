/*
 * What CMD finds in its environment: the lock that it runs under, what is held above it, and no passwords. It
 * goes through the warden, which starts CMD; each is false when there is no room or no memory for it.
 */
#ifndef CLI_ENVIRONMENT_H
#define CLI_ENVIRONMENT_H

#include "cli/session.h"
#include "cli/warden.h"

/* Passwords of the nodes are not CMD's business, but which nodes there are is: without REDLOCK_NODES a
 * redlock in CMD would use others. */
bool cli_environment_hide_credentials(struct cli_warden *warden);

/* Whatever the kind of lock; a fence of 0 is none. Inner values win when nested. */
bool cli_environment_lock(struct cli_warden *warden, const char *name, const char *owner, uint64_t fence,
                          uint32_t ttl_ms);

/* Which slot of a semaphore it has; below 0 nothing, so that nobody takes another lock's for it. */
bool cli_environment_slot(struct cli_warden *warden, int32_t slot);

/* The names that are held now, and those above them. */
bool cli_environment_held(struct cli_warden *warden, const struct cli_session *session,
                          const char *const *names, int count, const char *owner, redlock_kind kind);

#endif
