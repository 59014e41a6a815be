/*
 * The state machine of a session: resting, opening, greeting, ready; see session.h. Buffers and the ring of
 * pending requests are in wire/exchange.c, sockets in net/connection.c.
 */
#include "engine/session.h"

#include <assert.h>

#include "base/bytes.h"

enum {
    RETRY_MIN_US = 20000,
    RETRY_MAX_US = 1000000,
    HUNG_MIN_US = 5000000, /* a connection that says nothing for this long is given up */
    HUNG_FACTOR = 10,      /* or for this many node timeouts, if that is more */
    PUSHED_MAX = 1048576   /* bytes of pushes without a single reply in between: that is a flood */
};

bool rl_session_init(struct rl_session *session, const struct rl_session_config *config, uint32_t node,
                     const struct rl_node_url *url)
{
    session->config = config;
    session->node = node;
    session->url = *url;
    session->state = RL_SESSION_RESTING;
    session->backoff = rl_backoff_between(rl_span_us(RETRY_MIN_US), rl_span_us(RETRY_MAX_US));
    rl_text_copy(session->error, sizeof session->error, "not connected yet");
    session->cause = RL_CAUSE_CONNECTING;
    return rl_exchange_init(&session->exchange, config->memory, config->user->compose);
}

void rl_session_free(struct rl_session *session)
{
    rl_exchange_free(&session->exchange);
}

static void want(rl_node_set *set, const struct rl_session *session)
{
    *set |= rl_node_set_one(session->node);
}

/* Rule: a connection with something unanswered is reset, never just closed: the kernel would go on delivering
 * it. */
void rl_session_break(struct rl_session *session, enum rl_cause cause, const char *why, struct rl_time now)
{
    const struct rl_session_user *user = session->config->user;
    bool was_ready = session->state == RL_SESSION_READY;
    struct rl_pending pending;

    rl_text_copy(session->error, sizeof session->error, why);
    session->cause = cause;
    session->state = RL_SESSION_RESTING;
    session->resolving = false;
    session->exchange.open = false;
    session->config->wants->open &= ~rl_node_set_one(session->node);
    want(&session->config->wants->close, session);
    if (rl_exchange_unfinished(&session->exchange))
        want(&session->config->wants->reset, session);
    rl_exchange_empty(&session->exchange);
    /* The first way back is free, so that a node that just restarted is not missed; later ones are paced. */
    session->retry_at =
        was_ready ? now : rl_time_add(now, rl_backoff_next(&session->backoff, session->config->prng));
    if (was_ready)
        session->disconnects++;
    while (rl_exchange_take(&session->exchange, &pending))
        user->dropped(user->context, session, &pending);
    user->down(user->context, session);
}

static void send_greeting(struct rl_session *session)
{
    struct rl_exchange *exchange = &session->exchange;
    struct rl_writer writer = rl_writer_on(exchange->out, exchange->out_capacity);

    rl_handshake_write(&session->handshake, &writer);
    assert(!writer.overflow);
    exchange->out_length = writer.length;
    exchange->out_sent = 0;
    want(&session->config->wants->write, session);
}

void rl_session_up(struct rl_session *session)
{
    struct rl_greeting greeting = {
        .user = session->url.user,
        .password = session->url.has_password ? session->url.password : NULL,
        .client_name = session->config->client_name,
        .db = session->url.db,
    };

    assert(session->state == RL_SESSION_OPENING);
    session->state = RL_SESSION_GREETING;
    rl_handshake_start(&session->handshake, &greeting);
    send_greeting(session);
}

void rl_session_wake(struct rl_session *session, struct rl_time now)
{
    if (session->state != RL_SESSION_RESTING || rl_time_before(now, session->retry_at))
        return;
    session->state = RL_SESSION_OPENING;
    session->deadline = rl_time_add(now, session->config->connect_timeout);
    want(&session->config->wants->open, session);
}

static void become_ready(struct rl_session *session)
{
    const struct rl_session_user *user = session->config->user;

    session->state = RL_SESSION_READY;
    session->exchange.open = true;
    session->cause = RL_CAUSE_NONE;
    session->error[0] = '\0';
    rl_backoff_reset(&session->backoff);
    user->ready(user->context, session);
}

static void take_greeting(struct rl_session *session, const char *bytes, size_t length, struct rl_time now)
{
    rl_handshake_read(&session->handshake, bytes, length);
    if (session->handshake.step == RL_HANDSHAKE_READY)
        become_ready(session);
    else if (session->handshake.step == RL_HANDSHAKE_FAILED)
        rl_session_break(session, session->handshake.cause, session->handshake.error, now);
    else
        send_greeting(session);
}

static void take_push(struct rl_session *session, const char *bytes, size_t length, struct rl_time now)
{
    const struct rl_session_user *user = session->config->user;

    session->pushed += length;
    if (session->pushed > PUSHED_MAX)
        rl_session_break(session, RL_CAUSE_PROTOCOL, "it floods us with messages that nobody asked for", now);
    else
        user->push(user->context, session, bytes, length);
}

static void take_reply(struct rl_session *session, const char *bytes, size_t length, struct rl_time now)
{
    const struct rl_session_user *user = session->config->user;
    struct rl_pending pending;

    session->pushed = 0;
    if (session->state == RL_SESSION_GREETING)
        take_greeting(session, bytes, length, now);
    else if (session->exchange.pending_count > session->exchange.enlisted &&
             rl_exchange_take(&session->exchange, &pending))
        user->reply(user->context, session, &pending, bytes, length);
    else
        rl_session_break(session, RL_CAUSE_PROTOCOL, "it sent an answer that nothing had asked for", now);
}

/* An alert of TLS, which a node sends that was not spoken to in it. */
static bool speaks_tls(const struct rl_exchange *exchange)
{
    const char *bytes = exchange->in + exchange->in_taken;

    return exchange->in_length - exchange->in_taken >= 2 && bytes[0] == 0x15 && bytes[1] == 0x03;
}

/* Takes whole messages out of the buffer, one reply at a time. Upcalls may break the connection: look each
 * time. */
static void take_input(struct rl_session *session, struct rl_time now)
{
    size_t start, length;

    while (session->state >= RL_SESSION_GREETING) {
        switch (rl_exchange_next(&session->exchange, &start, &length)) {
        case RL_INPUT_REPLY:
            take_reply(session, session->exchange.in + start, length, now);
            break;
        case RL_INPUT_PUSH:
            take_push(session, session->exchange.in + start, length, now);
            break;
        case RL_INPUT_MORE:
            return;
        case RL_INPUT_BAD:
            if (speaks_tls(&session->exchange))
                rl_session_break(session, RL_CAUSE_TLS, "it speaks TLS: write rediss:// instead of redis://",
                                 now);
            else
                rl_session_break(session, RL_CAUSE_PROTOCOL, "it does not speak the Redis protocol", now);
            return;
        }
    }
}

size_t rl_session_room(struct rl_session *session, struct rl_time now, char **bytes)
{
    size_t room = rl_exchange_room(&session->exchange);

    assert(session->state >= RL_SESSION_GREETING);
    *bytes = session->exchange.in + session->exchange.in_length;
    if (room == 0)
        rl_session_break(session, RL_CAUSE_PROTOCOL, "its answer is too long", now);
    return room;
}

void rl_session_received(struct rl_session *session, size_t length, struct rl_time now)
{
    assert(session->state >= RL_SESSION_GREETING);
    assert(length <= session->exchange.in_capacity - session->exchange.in_length);
    session->exchange.in_length += length;
    session->heard = now;
    take_input(session, now);
}

size_t rl_session_output(struct rl_session *session, const char **bytes)
{
    if (session->state < RL_SESSION_GREETING)
        return 0;
    rl_exchange_compose(&session->exchange);
    *bytes = session->exchange.out + session->exchange.out_sent;
    return session->exchange.out_length - session->exchange.out_sent;
}

static struct rl_span hung_after(const struct rl_session *session)
{
    int64_t us = session->config->node_timeout.us * HUNG_FACTOR;

    return rl_span_us(us > HUNG_MIN_US ? us : HUNG_MIN_US);
}

struct rl_time rl_session_due(const struct rl_session *session)
{
    if (session->state == RL_SESSION_RESTING)
        return RL_TIME_NEVER;
    if (session->state != RL_SESSION_READY)
        return session->deadline;
    if (session->exchange.pending_count == 0)
        return RL_TIME_NEVER;
    return rl_time_add(rl_exchange_first(&session->exchange)->sent, hung_after(session));
}

static const char *late_words(const struct rl_session *session)
{
    if (session->resolving)
        return "the look-up of its name takes too long";
    if (session->url.transport == RL_TRANSPORT_TLS)
        return "no TLS connection within connect_timeout_ms: if it does not speak TLS, write redis://";
    return "no connection within connect_timeout_ms";
}

void rl_session_lost(struct rl_session *session, enum rl_cause cause, const char *why, struct rl_time now)
{
    bool unheard = session->state == RL_SESSION_GREETING && session->handshake.step == RL_HANDSHAKE_HELLO;
    char words[sizeof session->error];
    struct rl_text text = rl_text_on(words, sizeof words);

    rl_text_add(&text, why);
    if (unheard && session->url.transport == RL_TRANSPORT_TCP)
        rl_text_add(&text, " before it said anything: if it speaks TLS, write rediss://");
    rl_session_break(session, cause, words, now);
}

void rl_session_tick(struct rl_session *session, struct rl_time now)
{
    if (rl_time_before(now, rl_session_due(session)))
        return;
    switch (session->state) {
    case RL_SESSION_RESTING:
        return;
    case RL_SESSION_OPENING:
        rl_session_break(session, session->resolving ? RL_CAUSE_RESOLVE : RL_CAUSE_TIMED_OUT,
                         late_words(session), now);
        return;
    case RL_SESSION_GREETING:
        rl_session_break(session, RL_CAUSE_TIMED_OUT, "connected, but it does not answer", now);
        return;
    case RL_SESSION_READY:
        rl_session_break(session, RL_CAUSE_TIMED_OUT, "it stopped answering", now);
        return;
    }
}

bool rl_session_silent(const struct rl_session *session, struct rl_time now)
{
    if (session->state != RL_SESSION_READY || session->exchange.pending_count == 0)
        return false;
    return !rl_time_before(
        now, rl_time_add(rl_exchange_first(&session->exchange)->sent, session->config->node_timeout));
}
