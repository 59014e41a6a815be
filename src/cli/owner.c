/*
 * The owner value that extend and release need: from --owner-token or, inside redlock run, from
 * REDLOCK_OWNER. Whether it holds anything is for the nodes to say.
 */
#include "cli/owner.h"

#include <stdlib.h>
#include <string.h>

#include <redlock.h>

#include "cli/exits.h"
#include "cli/output.h"

int cli_owner_find(const struct cli_options *options, const char **owner)
{
    *owner = options->owner != NULL ? options->owner : getenv("REDLOCK_OWNER");
    if (*owner == NULL || **owner == '\0')
        return cli_output_fail(CLI_EXIT_USAGE,
                               "the owner is missing: --owner-token or REDLOCK_OWNER, as acquire printed it");
    if (strlen(*owner) > REDLOCK_OWNER_MAX)
        return cli_output_fail(CLI_EXIT_USAGE, "the owner is too long: at most %d bytes", REDLOCK_OWNER_MAX);
    return 0;
}
