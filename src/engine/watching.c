/*
 * Asks nodes to tell when a lock's key changes; see watching.h.
 */
#include "engine/watching.h"

#include <assert.h>

#include "base/bytes.h"
#include "engine/send.h"
#include "wire/resp_reader.h"
#include "wire/tracking.h"

enum { TRACKING_ROOM = 128 };

/* ---- switching it on and off ---- */

static bool switch_tracking(struct rl_engine *engine, uint32_t node, bool on)
{
    struct rl_session *session = &engine->sessions[node];
    struct rl_pending pending = {.kind = RL_COMMAND_TRACK, .replies = 1, .sent = engine->now};
    struct rl_writer writer;

    assert(node < engine->node_count);
    if (!rl_exchange_reserve(&session->exchange, TRACKING_ROOM, &writer))
        return false;
    rl_write_tracking(&writer, on);
    rl_exchange_commit(&session->exchange, &writer, &pending);
    session->tracking = on ? RL_TRACKING_ON : RL_TRACKING_OFF;
    engine->wants.write |= rl_node_set_one(node);
    return true;
}

static void note_refusal(struct rl_engine *engine, uint32_t node, const char *why)
{
    struct rl_session *session = &engine->sessions[node];

    session->tracking = RL_TRACKING_REFUSED;
    rl_state_log(engine, REDLOCK_LOG_INFO, "node %u %s does not notify of releases, so it is polled: %s",
                 node + 1, session->url.display, why);
}

/* Only RESP3 has room for what nobody asked for. */
static bool can_tell(struct rl_engine *engine, uint32_t node)
{
    struct rl_session *session = &engine->sessions[node];

    if (!session->handshake.info.resp3 && session->tracking == RL_TRACKING_OFF)
        note_refusal(engine, node, "it does not speak RESP3");
    return session->tracking == RL_TRACKING_ON ||
           (session->tracking == RL_TRACKING_OFF && switch_tracking(engine, node, true));
}

bool rl_watching_send(redlock_lock *lock, uint32_t node, uint32_t question)
{
    bool tells = can_tell(lock->engine, node);

    return rl_send_command(lock, node, tells ? RL_COMMAND_WATCH : RL_COMMAND_PEEK, question, NULL, false);
}

void rl_watching_tracked(struct rl_engine *engine, uint32_t node, const char *bytes, size_t length)
{
    struct rl_resp item;
    size_t offset = 0;
    char words[96];
    struct rl_text text = rl_text_on(words, sizeof words);

    if (rl_resp_next(bytes, length, &offset, &item) != RL_RESP_OK || item.type != RL_RESP_ERROR)
        return;
    rl_text_add_printable(&text, item.text, item.text_length);
    note_refusal(engine, node, words);
}

/* ---- who watches ---- */

void rl_watching_begin(struct rl_operation *operation)
{
    if (!rl_link_used(&operation->watching))
        rl_list_append(&operation->lock->engine->watching, &operation->watching);
}

/* Nodes need not tell of anything any more, if nobody wants to know. */
static void stop_telling(struct rl_engine *engine)
{
    if (!rl_list_empty(&engine->watching) || engine->observers > 0)
        return;
    for (uint32_t node = 0; node < engine->node_count; node++)
        if (engine->sessions[node].tracking == RL_TRACKING_ON)
            switch_tracking(engine, node, false);
}

/* What was armed and has not been told yet is forgotten with the last waiter, unless the lock was won: then
 * its own doings have set it off. */
void rl_watching_end(struct rl_operation *operation)
{
    struct rl_engine *engine = operation->lock->engine;
    bool armed = rl_link_used(&operation->watching) && operation->acquire.outcome != RL_OUTCOME_OK;

    rl_list_remove(&operation->watching);
    if (armed)
        stop_telling(engine);
}

void rl_watching_join(struct rl_engine *engine)
{
    engine->observers++;
}

void rl_watching_leave(struct rl_engine *engine)
{
    engine->observers--;
    stop_telling(engine);
}
