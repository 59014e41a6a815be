/*
 * POST /v1/locks/{name}: takes a lock, at once or after having waited; see locks.h. A request with an
 * Idempotency-Key that meets its own lock gets the lease that the first one got.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/body.h"
#include "serve/key.h"
#include "serve/late.h"
#include "serve/lease.h"
#include "serve/lock_name.h"
#include "serve/locks.h"
#include "serve/recording.h"
#include "serve/sessions.h"
#include "serve/waiting.h"

#define WORDS_SIZE 600

/* ---- meeting its own lock ------------------------------------------------------------------------------ */

/* Finds the whole owner value that a quorum has, if it carries our tag. */
static bool find_owner(const struct serve_taking *taking, const redlock_report *report,
                       redlock_node_report *node)
{
    redlock_holder holder;

    for (uint32_t i = 0; redlock_report_node(report, i, node); i++) {
        if (node->owner == NULL)
            continue;
        redlock_holder_parse(node->owner, node->owner_length, &holder);
        if (strcmp(holder.id, report->holder.id) == 0 && serve_key_is_same_lock(&taking->wish, &holder))
            return true;
    }
    return false;
}

static void on_looked_up(void *context, redlock_result result, const redlock_report *report)
{
    struct serve_taking *taking = context;
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;
    redlock_spec spec = serve_wish_spec(&taking->wish);

    if (taking->call.connection == NULL || result != REDLOCK_OK || !find_owner(taking, report, &node)) {
        serve_taking_refuse(taking, result == REDLOCK_OK ? REDLOCK_BUSY : result, report);
        return;
    }
    serve_late_forget(taking->call.server, node.owner, node.owner_length);
    result = redlock_adopt_async(taking->call.server->client, &spec, node.owner, node.owner_length,
                                 serve_taking_answer_again, taking, &taking->call.request);
    if (result != REDLOCK_OK)
        serve_taking_refuse(taking, result, report);
}

/* The fence of the lock that is in the way: nodes that refuse say the highest number they know for the name,
 * and while it is held that is its own, if a quorum says the same. 0 when they differ. */
static uint64_t agreed_fence(const redlock_report *report)
{
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT, other = REDLOCK_NODE_REPORT_INIT;

    for (uint32_t i = 0; redlock_report_node(report, i, &node); i++) {
        uint32_t count = 0;
        for (uint32_t k = 0; redlock_report_node(report, k, &other); k++)
            count += other.verdict == REDLOCK_VERDICT_HELD && other.fence == node.fence;
        if (node.verdict == REDLOCK_VERDICT_HELD && count >= report->quorum)
            return node.fence;
    }
    return 0;
}

/* Somebody else has it, or we do by an earlier request, or it is worth waiting now. */
static void go_on_busy(struct serve_taking *taking, redlock_result result, const redlock_report *report)
{
    redlock_client *client = taking->call.server->client;

    bool ours = serve_key_is_same_lock(&taking->wish, &report->holder);

    if (!ours && serve_key_is_same(&taking->wish, &report->holder)) {
        serve_taking_refuse_reused(taking);
        return;
    }
    if (ours &&
        (taking->fence = serve_key_recall_fence(taking->call.server, &taking->wish, &report->holder)) == 0)
        taking->fence = agreed_fence(report);
    if (ours && redlock_inspect_async(client, taking->wish.name, taking->wish.name_length, on_looked_up,
                                      taking, &taking->call.request) == REDLOCK_OK)
        return;
    if (!taking->tried && taking->wish.wait_ms > 0) {
        taking->tried = true;
        result = serve_waiting_begin(taking);
        if (result == REDLOCK_OK)
            return;
        serve_line_leave(taking->call.server, &taking->place);
    }
    serve_taking_refuse(taking, result, report);
}

/* ---- the beginning ------------------------------------------------------------------------------------- */

static void on_taken(void *context, redlock_result result, redlock_lock *lock, const redlock_report *report)
{
    struct serve_taking *taking = context;
    bool busy = result == REDLOCK_BUSY || result == REDLOCK_TIMEOUT;

    serve_line_leave(taking->call.server, &taking->place);
    if (taking->call.connection == NULL)
        /* The client hung up. What it may have won meanwhile goes to the next one. */
        serve_taking_abandon(taking, lock);
    else if (result == REDLOCK_OK && serve_record_is_needed(&taking->wish))
        serve_recording_keep(taking, lock, report);
    else if (result == REDLOCK_OK) {
        if (taking->wish.tag_length > 0)
            serve_key_keep_fence(taking->call.server, &taking->wish, lock);
        serve_taking_answer(taking, lock, report);
    } else if (busy && taking->wish.tag_length > 0)
        go_on_busy(taking, result, report);
    else
        serve_taking_refuse(taking, result, report);
}

static bool read_wish(struct serve_exchange *exchange, struct serve_wish *wish, const char *session)
{
    const struct serve_settings *settings = exchange->server->settings;
    uint32_t missing = SERVE_DEFAULT_TTL_MS;

    if (session != NULL && !serve_sessions_find(exchange, session, &missing))
        return false;
    return serve_body_ttl(exchange, missing, &wish->ttl_ms) &&
           serve_body_number(exchange, "wait_ms", 0, settings->max_wait_ms, 0, &wish->wait_ms) &&
           serve_key_read(exchange, wish);
}

/* What others are shown: whom its session is for, and what for. */
static const char *words_of(const struct serve_exchange *exchange, const char *session, const char *why,
                            char words[WORDS_SIZE])
{
    const char *who = session == NULL ? "" : serve_sessions_who(exchange, session);

    snprintf(words, WORDS_SIZE, "%s%s%s", who, *who == '\0' || why == NULL ? "" : ": ",
             why == NULL ? "" : why);
    return words[0] == '\0' ? NULL : words;
}

/* The first question to the nodes, at the end of the turn. */
static void begin(void *context)
{
    struct serve_taking *taking = context;
    struct serve_connection *connection = taking->call.connection;
    bool waits = taking->wish.wait_ms > 0 && taking->wish.tag_length == 0;

    taking->call.dismiss = NULL;
    redlock_result result = waits ? serve_waiting_begin(taking) : serve_taking_ask(taking, 0);
    if (result == REDLOCK_OK)
        return;
    serve_line_leave(taking->call.server, &taking->place);
    serve_answer_unbegun(&taking->call, result);
    serve_connection_go_on(connection);
    free(taking);
}

void serve_locks_take(struct serve_exchange *exchange)
{
    const char *why = NULL, *session = NULL;
    struct serve_which which;
    struct serve_taking *taking;
    char words[WORDS_SIZE];

    if (!serve_name_check(exchange, exchange->name) || !serve_body_text(exchange, "why", 100, &why) ||
        !serve_body_text(exchange, "session", 32, &session) || !serve_which_of_body(exchange, &which))
        return;
    why = words_of(exchange, session, why, words);
    taking = serve_wish_new(exchange, &which, why, sizeof *taking, offsetof(struct serve_taking, wish));
    if (taking == NULL)
        return;
    if (!read_wish(exchange, &taking->wish, session)) {
        free(taking);
        return;
    }
    bool waits = taking->wish.wait_ms > 0;
    if (waits && !serve_may_wait(exchange->server)) {
        serve_refuse(exchange, SERVE_TOO_MANY, "as many requests wait here as this instance allows");
        free(taking);
        return;
    }
    snprintf(taking->session, sizeof taking->session, "%s", session == NULL ? "" : session);
    taking->taken = on_taken;
    taking->call.cancelable = true;
    serve_call_begin(&taking->call, exchange->connection, waits);
    if (serve_record_is_needed(&taking->wish)) {
        taking->tried = true;
        serve_recording_look(taking);
        return;
    }
    taking->call.dismiss = serve_waiting_dismiss;
    serve_turn_add(exchange->server, &taking->later, begin, taking);
}
