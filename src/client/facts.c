/*
 * The call that reads what is known of a node itself: from its greeting, from the guard, from TLS, and from an examination.
 */
#include <string.h>

#include "base/bytes.h"
#include "client/client.h"

static void take_greeting(redlock_node_facts *facts, const struct rl_session *session)
{
    const struct rl_node_info *info = &session->handshake.info;

    if (info->version_text[0] == '\0' && info->version == 0)
        return;
    rl_text_copy(facts->server, sizeof facts->server, info->valkey ? "valkey" : "redis");
    rl_text_copy(facts->version, sizeof facts->version, info->version_text);
    facts->role = info->sentinel  ? REDLOCK_ROLE_SENTINEL
                  : info->replica ? REDLOCK_ROLE_REPLICA
                                  : REDLOCK_ROLE_MASTER;
    facts->cluster = info->cluster;
    facts->resp3 = info->resp3;
    facts->uptime_s = info->up_s;
}

/* The longest lock that clients have announced, and the shortest: nodes know a few of them. */
static void take_terms(redlock_node_facts *facts, const struct rl_terms *terms)
{
    for (uint32_t i = 0; i < terms->count; i++) {
        int64_t longest_ms = rl_guard_longest_lock_ms(terms->each[i].quarantine_ms);

        if (longest_ms > facts->longest_ttl_ms)
            facts->longest_ttl_ms = longest_ms;
    }
}

static void take_examination(redlock_node_facts *facts, const struct rl_node_facts *ours)
{
    facts->examined = ours->examined;
    if (!ours->examined)
        return;
    facts->memory_used = ours->memory_used;
    facts->memory_max = ours->memory_max;
    facts->append_only = ours->append_only;
    facts->snapshots = ours->snapshots;
    facts->fence_floor = ours->floor;
    rl_text_copy(facts->memory_policy, sizeof facts->memory_policy, ours->policy);
    rl_text_copy(facts->append_fsync, sizeof facts->append_fsync, ours->fsync);
    if (ours->user[0] != '\0') /* else all that is known is whom the client said to be */
        rl_text_copy(facts->user, sizeof facts->user, ours->user);
    rl_text_copy(facts->missing_rights, sizeof facts->missing_rights, ours->missing);
    rl_text_copy(facts->advisable_rights, sizeof facts->advisable_rights, ours->advisable);
    rl_text_copy(facts->foreign_keys, sizeof facts->foreign_keys, ours->foreign_keys);
}

redlock_result redlock_client_node_facts(redlock_client *client, uint32_t node, redlock_node_facts *facts)
{
    RL_NO_CANCELLATION;
    redlock_node_facts ours = {.size = sizeof ours,
                               .memory_used = -1,
                               .memory_max = -1,
                               .append_only = -1,
                               .snapshots = -1,
                               .clock_offset_us = INT64_MIN};

    if (!rl_sized_ok(facts, sizeof ours))
        return REDLOCK_INVALID;
    if (client == NULL || !rl_client_enter(client))
        return REDLOCK_MISUSE;
    if (node >= client->engine.node_count) {
        rl_client_leave(client);
        return REDLOCK_INVALID;
    }
    take_greeting(&ours, &client->engine.sessions[node]);
    ours.durable = client->engine.sessions[node].url.durable;
    take_terms(&ours, &client->engine.guards[node].terms);
    if (client->engine.guards[node].clock_seen)
        ours.clock_offset_us = client->engine.guards[node].clock_offset_us;
    ours.certificate_ends_s = rl_stream_certificate_end(&client->connections[node].stream);
    rl_text_copy(ours.user, sizeof ours.user, client->engine.sessions[node].url.user);
    if (client->engine.facts != NULL)
        take_examination(&ours, &client->engine.facts[node]);
    rl_sized_write(facts, &ours, sizeof ours);
    rl_client_leave(client);
    return REDLOCK_OK;
}
