/*
 * Writes the environment of CMD; see environment.h.
 */
#include "cli/environment.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/config_file.h"
#include "cli/held.h"

bool cli_environment_hide_credentials(struct cli_warden *warden)
{
    const char *nodes = getenv("REDLOCK_NODES");
    bool kept = cli_warden_set_variable(warden, "REDLOCK_PASSWORD", NULL);

    if (nodes != NULL && cli_config_has_password(nodes)) {
        char *bare = cli_config_without_passwords(nodes);
        kept = kept && bare != NULL && cli_warden_set_variable(warden, "REDLOCK_NODES", bare);
        free(bare);
    }
    return kept;
}

bool cli_environment_lock(struct cli_warden *warden, const char *name, const char *owner, uint64_t fence,
                          uint32_t ttl_ms)
{
    char number[24], ttl[16];

    snprintf(number, sizeof number, "%llu", (unsigned long long)fence);
    snprintf(ttl, sizeof ttl, "%u", ttl_ms);
    return cli_warden_set_variable(warden, "REDLOCK_NAME", name) &&
           cli_warden_set_variable(warden, "REDLOCK_OWNER", owner) &&
           cli_warden_set_variable(warden, "REDLOCK_FENCE", fence != 0 ? number : NULL) &&
           cli_warden_set_variable(warden, "REDLOCK_TTL_MS", ttl);
}

bool cli_environment_slot(struct cli_warden *warden, int32_t slot)
{
    char number[16];

    snprintf(number, sizeof number, "%d", slot);
    return cli_warden_set_variable(warden, "REDLOCK_SLOT", slot >= 0 ? number : NULL);
}

bool cli_environment_held(struct cli_warden *warden, const struct cli_session *session,
                          const char *const *names, int count, const char *owner, redlock_kind kind)
{
    struct cli_fleet fleet = cli_held_fleet(session->client, session->config.prefix);
    char *held = NULL, *places = NULL;
    bool fits = cli_held_extend(names, count, &fleet, owner, kind, &held, &places) &&
                cli_warden_set_variable(warden, "REDLOCK_HELD", held) &&
                cli_warden_set_variable(warden, "REDLOCK_HELD_ON", places);

    free(held);
    free(places);
    return fits;
}
