/*
 * Subscribing to the client's own channel; see hearing.h.
 */
#include "engine/hearing.h"

#include "base/bytes.h"
#include "wire/examine_command.h"
#include "wire/hand_over.h"
#include "wire/lock_command.h"
#include "wire/resp_reader.h"

enum { SUBSCRIBE_ROOM = 128 };

bool rl_hearing_init(struct rl_engine *engine)
{
    uint8_t random[16];
    char digits[2 * sizeof random];
    struct rl_text text = rl_text_on(engine->channel, sizeof engine->channel);

    if (!rl_state_random(engine, random, sizeof random))
        return false;
    rl_hex_write(digits, random, sizeof random);
    rl_text_add(&text, RL_CHANNEL);
    rl_text_add_bytes(&text, digits, sizeof digits);
    return true;
}

static void note_refusal(struct rl_engine *engine, uint32_t node, const char *why)
{
    struct rl_session *session = &engine->sessions[node];

    session->hearing = RL_HEARING_REFUSED;
    rl_state_log(engine, REDLOCK_LOG_INFO,
                 "node %u %s cannot tell when it hands a lock over, so it is asked now and then: %s",
                 node + 1, session->url.display, why);
}

void rl_hearing_begin(struct rl_engine *engine, uint32_t node)
{
    struct rl_session *session = &engine->sessions[node];
    struct rl_pending pending = {
        .kind = RL_COMMAND_SUBSCRIBE, .replies = 1, .by_push = 1, .sent = engine->now};
    struct rl_writer writer;

    if (session->hearing != RL_HEARING_OFF)
        return;
    /* Only RESP3 has room for what nobody asked for. */
    if (!session->handshake.info.resp3) {
        note_refusal(engine, node, "it does not speak RESP3");
        return;
    }
    if (!rl_exchange_reserve(&session->exchange, SUBSCRIBE_ROOM, &writer))
        return;
    rl_write_subscribe(&writer, engine->channel);
    session->hearing_right = NULL;
    rl_exchange_commit(&session->exchange, &writer, &pending);
    session->hearing = RL_HEARING_ON;
    engine->wants.write |= rl_node_set_one(node);
}

const char *rl_hearing_channel(const struct rl_engine *engine, uint32_t node)
{
    return engine->sessions[node].hearing == RL_HEARING_ON ? engine->channel : "";
}

void rl_hearing_reply(struct rl_engine *engine, uint32_t node, const char *bytes, size_t length)
{
    struct rl_resp item;
    size_t offset = 0;
    char words[96];
    struct rl_text text = rl_text_on(words, sizeof words);

    if (rl_resp_next(bytes, length, &offset, &item) != RL_RESP_OK || item.type == RL_RESP_PUSH)
        return;
    engine->sessions[node].hearing_right = rl_examine_subscribe_right(bytes, length);
    if (item.type == RL_RESP_ERROR)
        rl_text_add_printable(&text, item.text, item.text_length);
    else
        rl_text_add(&text, "it answered something else than was asked");
    note_refusal(engine, node, words);
}
