/*
 * Asking a node whether it may vote (wire/lua/admit.lua), telling it that its clock stepped, and keeping its
 * vote back; see admission.h.
 */
#include "engine/admission.h"

#include <assert.h>

#include "base/bytes.h"

/* Nodes remember a term for two hours longer than its locks may last: wire/lua/admit.lua. */
enum { FLOOR_RETRY_MS = 1000, ANNOUNCE_EVERY_MS = 1800000 };

static const char *const words[] = {
    [RL_WORD_NONE] = "", [RL_WORD_INIT] = "init", [RL_WORD_SUSPECT] = "suspect", [RL_WORD_LOOK] = "look"};

void rl_admission_refuse(struct rl_engine *engine, uint32_t node, enum rl_cause cause, const char *why)
{
    struct rl_node_guard *guard = &engine->guards[node];
    bool news = guard->told != cause;

    assert(cause != RL_CAUSE_NONE);
    guard->cause = guard->told = cause;
    rl_text_copy(guard->why, sizeof guard->why, why);
    if (news)
        rl_state_log(engine, REDLOCK_LOG_WARNING, "node %u %s does not vote: %s", node + 1,
                     engine->sessions[node].url.display, guard->why);
}

int64_t rl_admission_quarantine_ms(const struct rl_engine *engine)
{
    return rl_span_ms_up(rl_guard_quarantine(engine->config.max_ttl));
}

/* Whole seconds, so one less. What a promoted replica did not receive it cannot have kept, however long
 * ago. */
static int64_t own_memory_ms(const struct rl_node_info *info)
{
    if (info->promoted)
        return -1;
    return info->up_s < 1 ? 0 : (info->up_s - 1) * 1000;
}

/* false: no randomness for a fresh id, and one that is not random could be another's. */
static bool make_admission(struct rl_engine *engine, uint32_t node, enum rl_word word, uint64_t floor,
                           struct rl_admission *admission)
{
    const struct rl_session *session = &engine->sessions[node];
    const struct rl_node_info *info = &session->handshake.info;
    uint8_t random[RL_EPOCH_ID / 2];

    *admission = (struct rl_admission){
        .replid = info->replid,
        .quarantine_ms = rl_admission_quarantine_ms(engine),
        .durable = session->url.durable,
        .up_ms = own_memory_ms(info),
        .word = words[word],
        .floor = floor,
        .known = engine->guards[node].record,
    };
    rl_guard_run(admission->run, info->run_id, info->replid);
    if (!rl_state_random(engine, random, sizeof random))
        return false;
    rl_hex_write(admission->fresh_id, random, sizeof random);
    return true;
}

static bool send_admission(struct rl_engine *engine, uint32_t node, const struct rl_admission *admission,
                           enum rl_word word, redlock_lock *lock, bool full)
{
    struct rl_session *session = &engine->sessions[node];
    struct rl_pending pending = {.subject = lock,
                                 .question = lock != NULL ? lock->owed_question : 0,
                                 .kind = RL_COMMAND_ADMIT,
                                 .replies = 1,
                                 .number = word, /* if need be it is said again as it was */
                                 .sent = engine->now};
    struct rl_writer writer;

    assert(engine->config.guarded);
    if (!rl_exchange_reserve(&session->exchange, RL_COMMAND_ROOM, &writer))
        return false;
    if (rl_script_first_use(&session->carried, &rl_script_admit))
        full = true;
    pending.full = full;
    rl_guard_write_admit(&writer, admission, full);
    rl_exchange_commit(&session->exchange, &writer, &pending);
    if (lock != NULL)
        rl_lock_ref(lock);
    engine->guards[node].asking = true;
    engine->guards[node].asked = engine->now;
    if (word != RL_WORD_LOOK)
        engine->guards[node].announced = engine->now;
    engine->wants.write |= rl_node_set_one(node);
    return true;
}

/* Keys keep their end when they are written to from 6.0 on (KEEPTTL), and a script may write after it looked
 * at the clock. */
enum { OLDEST_VERSION = 60000 };

enum rl_cause rl_admission_ruled_out(const struct rl_node_info *info, const char **why)
{
    if (info->run_id[0] == '\0') {
        *why = "it may not be asked for INFO: grant +info to the user, or use plain mode";
        return RL_CAUSE_RIGHTS;
    }
    if (info->version != 0 && info->version < OLDEST_VERSION) {
        *why = "guarded mode needs Redis 6.0 or later: upgrade it, or use plain mode everywhere";
        return RL_CAUSE_TOO_OLD;
    }
    if (info->cluster) {
        *why = "it is a node of a Redis Cluster, which shares keys out: name masters that stand alone";
        return RL_CAUSE_CLUSTER;
    }
    if (info->evicts) {
        *why = "maxmemory is set and full memory would evict locks: set maxmemory-policy noeviction";
        return RL_CAUSE_EVICTION;
    }
    return RL_CAUSE_NONE;
}

bool rl_admission_ask(struct rl_engine *engine, uint32_t node, enum rl_word word, redlock_lock *lock,
                      bool full)
{
    /* The operator's word comes with a floor by what the nodes said; each adds its own clock. */
    uint64_t floor = lock != NULL ? engine->init_floor : 0;
    struct rl_admission admission;
    const char *why;

    /* Not even the operator's word makes up for a node that drops locks, or that cannot be told from
     * another. */
    if (rl_admission_ruled_out(&engine->sessions[node].handshake.info, &why) != RL_CAUSE_NONE)
        return false;
    return make_admission(engine, node, word, floor, &admission) &&
           send_admission(engine, node, &admission, word, lock, full);
}

bool rl_admission_give_floor(struct rl_engine *engine, uint32_t node, uint64_t floor,
                             const struct rl_terms *terms)
{
    struct rl_admission admission;
    bool made = make_admission(engine, node, RL_WORD_NONE, floor, &admission);

    admission.terms = terms;
    return made && send_admission(engine, node, &admission, RL_WORD_NONE, NULL, false);
}

bool rl_admission_announce(struct rl_engine *engine, uint32_t node)
{
    const struct rl_node_guard *guard = &engine->guards[node];
    bool lately = guard->announced.us != 0 &&
                  rl_time_since(engine->now, guard->announced).us < ANNOUNCE_EVERY_MS * INT64_C(1000);

    return !engine->config.guarded || lately || rl_admission_ask(engine, node, RL_WORD_NONE, NULL, false);
}

void rl_admission_put_off(struct rl_engine *engine, uint32_t node)
{
    engine->guards[node].again = rl_time_add(engine->now, rl_span_ms(FLOOR_RETRY_MS));
    rl_admission_refuse(engine, node, RL_CAUSE_MEMORY, "no memory to ask it whether it may vote");
}

/* A suspicion counts only for the record it is meant for: without one it has to wait for the next
 * admission. */
void rl_admission_accuse(struct rl_engine *engine, uint32_t node)
{
    struct rl_node_guard *guard = &engine->guards[node];
    bool known = guard->fitness == RL_FITNESS_FIT && engine->sessions[node].state == RL_SESSION_READY;

    guard->accused = true;
    if (!known)
        return;
    guard->fitness = RL_FITNESS_UNKNOWN;
    guard->again = engine->now;
    rl_admission_ask(engine, node, RL_WORD_SUSPECT, NULL, false);
}
