/*
 * Puts together what is known of a node; see facts.h.
 */
#include "engine/facts.h"

#include "base/bytes.h"

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
    rl_text_copy(facts->mark_rights, sizeof facts->mark_rights, ours->beside);
    rl_text_copy(facts->foreign_keys, sizeof facts->foreign_keys, ours->foreign_keys);
}

void rl_facts_tell(const struct rl_engine *engine, uint32_t node, redlock_node_facts *facts)
{
    *facts = (redlock_node_facts){.size = sizeof *facts,
                                  .memory_used = -1,
                                  .memory_max = -1,
                                  .append_only = -1,
                                  .snapshots = -1,
                                  .clock_offset_us = INT64_MIN};
    take_greeting(facts, &engine->sessions[node]);
    facts->durable = engine->sessions[node].url.durable;
    take_terms(facts, &engine->guards[node].terms);
    if (engine->guards[node].clock_seen)
        facts->clock_offset_us = engine->guards[node].clock_offset_us;
    rl_text_copy(facts->user, sizeof facts->user, engine->sessions[node].url.user);
    if (engine->facts != NULL)
        take_examination(facts, &engine->facts[node]);
}
