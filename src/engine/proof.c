/*
 * Is it still the same master that answers? The question rides behind an adoption, and an answer that is not
 * the right one keeps the vote, and those behind it, from counting.
 */
#include "engine/proof.h"

#include <assert.h>

bool rl_proof_possible(const struct rl_session *session)
{
    return session->handshake.info.replid[0] != '\0';
}

enum rl_proof rl_proof_read(const struct rl_engine *engine, uint32_t node, const char *bytes, size_t length)
{
    return rl_lock_reply_proof(bytes, length, engine->sessions[node].handshake.info.replid);
}

void rl_proof_failed(struct rl_engine *engine, uint32_t node, enum rl_proof proof, bool voted)
{
    assert(proof != RL_PROOF_SAME);
    /* A node that could answer neither question has not voted. */
    if (proof == RL_PROOF_NONE && !voted)
        return;
    rl_session_break(&engine->sessions[node], RL_CAUSE_EPOCH,
                     proof == RL_PROOF_NONE
                         ? "it cannot be asked whether it is still the master that was greeted"
                         : "it is not the master any more that it was when it was greeted",
                     engine->now);
}
