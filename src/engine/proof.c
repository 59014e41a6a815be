/*
 * Is it still the same master that answers? A promotion breaks no connection: the question which master it is
 * rides behind an acquire or an adoption now and then, and an answer that is not the right one keeps the
 * vote, and those behind it, from counting.
 */
#include "engine/proof.h"

#include <assert.h>

enum { PROOF_LASTS_US = 10000 };

bool rl_proof_due(const struct rl_engine *engine, uint32_t node)
{
    struct rl_time until = rl_time_add(engine->guards[node].proved, rl_span_us(PROOF_LASTS_US));

    return engine->sessions[node].handshake.info.replid[0] != '\0' && !rl_time_before(engine->now, until);
}

void rl_proof_asked(struct rl_engine *engine, uint32_t node)
{
    engine->guards[node].proved = engine->now;
}

enum rl_proof rl_proof_read(const struct rl_engine *engine, uint32_t node, const char *bytes, size_t length)
{
    return rl_lock_reply_proof(bytes, length, engine->sessions[node].handshake.info.replid);
}

/* Whether votes are on their way that rely on a question which was asked before them. */
static bool expects_votes(struct rl_session *session)
{
    for (uint32_t i = 0; i < session->exchange.pending_count; i++) {
        uint8_t kind = rl_exchange_recent(&session->exchange, session->exchange.pending_count, i)->kind;

        if (kind == RL_COMMAND_ACQUIRE || kind == RL_COMMAND_EXTEND)
            return true;
    }
    return false;
}

void rl_proof_failed(struct rl_engine *engine, uint32_t node, enum rl_proof proof, bool voted)
{
    struct rl_session *session = &engine->sessions[node];

    assert(proof != RL_PROOF_SAME);
    engine->guards[node].proved = (struct rl_time){0};
    /* A node that could answer neither question has not voted, and is asked again with the next one. */
    if (proof == RL_PROOF_NONE && !voted && !expects_votes(session))
        return;
    rl_session_break(session, RL_CAUSE_EPOCH,
                     proof == RL_PROOF_NONE
                         ? "it cannot be asked whether it is still the master that was greeted"
                         : "it is not the master any more that it was when it was greeted",
                     engine->now);
}
