/*
 * The calls about a lock that is held: lengthen it, give it back, look at it; see locks.h. Taking one is in
 * take.c.
 */
#include "serve/locks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/body.h"
#include "serve/events.h"
#include "serve/json.h"
#include "serve/late.h"
#include "serve/lease.h"
#include "serve/line.h"
#include "serve/lock_name.h"
#include "serve/sessions.h"
#include "serve/wish.h"

/* ---- lengthening and giving back ----------------------------------------------------------------------- */

/* A call with a token, and, when it fails, the question who holds the lock. */
struct using
{
    struct serve_call call;
    struct serve_wish wish;
    size_t owner_length;
    char owner[REDLOCK_OWNER_MAX + 1];
};

static bool read_token(struct serve_exchange *exchange, struct serve_token *token)
{
    struct serve_text text = serve_request_field(exchange->request, "redlock-token");

    if (text.bytes == NULL)
        return serve_refuse(exchange, SERVE_INVALID,
                            "the Redlock-Token field is missing: send the token of the lease");
    if (!serve_token_read(text.bytes, text.length, token))
        return serve_refuse(exchange, SERVE_NOT_YOURS,
                            "the Redlock-Token field is not a token that was ever handed out");
    for (uint32_t i = 0; i < token->which.also_count; i++)
        if (serve_text_equal(exchange->name, token->which.also[i]))
            return serve_refuse(exchange, SERVE_NOT_YOURS,
                                "the lock was taken under another of its names: use the name in the lease");
    return serve_which_check(exchange, exchange->name, &token->which);
}

static struct using *new_use(struct serve_exchange *exchange)
{
    struct serve_token token;
    struct using *use;

    if (!serve_name_check(exchange, exchange->name) || !read_token(exchange, &token))
        return NULL;
    use = serve_wish_new(exchange, &token.which, NULL, sizeof *use, offsetof(struct using, wish));
    if (use == NULL)
        return NULL;
    use->owner_length = token.owner_length;
    memcpy(use->owner, token.owner, token.owner_length + 1);
    return use;
}

static void tell_use(const struct using *use, const char *type)
{
    char owner[9];

    snprintf(owner, sizeof owner, "%.8s", use->owner);
    struct serve_event event = {.type = type,
                                .name = use->wish.name,
                                .name_length = use->wish.name_length,
                                .owner = owner,
                                .kind = use->wish.kind,
                                .slot = -1};
    serve_events_publish(use->call.server, &event);
    for (uint32_t i = 0; i < use->wish.also_count; i++) {
        event.name = use->wish.also[i].name;
        event.name_length = use->wish.also[i].length;
        serve_events_publish(use->call.server, &event);
    }
}

static const char *describe_unheld(bool foreign, redlock_result result, const redlock_report *report)
{
    if (foreign)
        return "the lock is not held with this token: another owner had it before the token was handed out";
    if (result == REDLOCK_OK && report->holder.id[0] != '\0')
        return "the lock is not held with this token any more: another owner has it now";
    return "the lock is not held with this token any more: it was released or broken, or its time ran out";
}

/* Not this owner's. If the present holder came later, or there is none, the lease has ended: the client ran
 * unlocked. If it was there before, the token cannot be of this lock. */
static void on_explained(void *context, redlock_result result, const redlock_report *report)
{
    struct using *use = context;
    struct serve_connection *connection = use->call.connection;
    redlock_holder own;

    redlock_holder_parse(use->owner, use->owner_length, &own);
    bool alone = use->wish.kind == REDLOCK_EXCLUSIVE; /* others may have had it before, too, if it is not */
    bool foreign = alone && result == REDLOCK_OK && report->holder.id[0] != '\0' &&
                   (own.since_ms == 0 || report->holder.since_ms <= own.since_ms);
    if (!foreign)
        tell_use(use, "lost");
    if (serve_call_end(&use->call)) {
        serve_answer_unheld(connection, foreign ? SERVE_NOT_YOURS : SERVE_LOST,
                            describe_unheld(foreign, result, report), report);
        serve_connection_go_on(connection);
    }
    free(use);
}

static void answer_failure(struct using *use, redlock_result result, const redlock_report *report)
{
    struct serve_connection *connection = use->call.connection;

    if (connection != NULL && (result == REDLOCK_NOT_HELD || result == REDLOCK_LOST)) {
        if (redlock_inspect_async(use->call.server->client, use->wish.name, use->wish.name_length,
                                  on_explained, use, &use->call.request) == REDLOCK_OK)
            return;
    }
    if (serve_call_end(&use->call)) {
        serve_answer_report(connection, serve_problem_of(result), report, NULL);
        serve_connection_go_on(connection);
    }
    free(use);
}

static void on_extended(void *context, redlock_result result, redlock_lock *lock,
                        const redlock_report *report)
{
    struct using *use = context;
    struct serve_connection *connection = use->call.connection;

    if (result != REDLOCK_OK) {
        answer_failure(use, result, report);
        return;
    }
    json_t *lease = serve_lease_json(lock, report, use->wish.kind, use->wish.permits);
    json_object_set_new(lease, "ttl_ms", json_integer(use->wish.ttl_ms));
    serve_lease_tell(use->call.server, "renewed", lock, use->wish.kind, NULL);
    serve_late_let_go(use->call.server, lock, report);
    if (serve_call_end(&use->call)) {
        serve_answer_json(connection, 200, lease, NULL);
        serve_connection_go_on(connection);
    } else
        json_decref(lease);
    free(use);
}

void serve_locks_extend(struct serve_exchange *exchange)
{
    struct using *use = new_use(exchange);

    if (use == NULL)
        return;
    if (!serve_body_ttl(exchange, SERVE_DEFAULT_TTL_MS, &use->wish.ttl_ms)) {
        free(use);
        return;
    }
    redlock_spec spec = serve_wish_spec(&use->wish);
    serve_late_forget(exchange->server, use->owner, use->owner_length);
    serve_call_begin(&use->call, exchange->connection, false);
    redlock_result result = redlock_adopt_async(exchange->server->client, &spec, use->owner,
                                                use->owner_length, on_extended, use, &use->call.request);
    if (result != REDLOCK_OK) {
        serve_answer_unbegun(&use->call, result);
        free(use);
    }
}

static void on_released(void *context, redlock_result result, const redlock_report *report)
{
    struct using *use = context;
    struct serve_connection *connection = use->call.connection;

    if (result != REDLOCK_OK) {
        answer_failure(use, result, report);
        return;
    }
    tell_use(use, "released");
    if (serve_call_end(&use->call)) {
        serve_answer_bytes(connection, 204, NULL, NULL, 0, NULL);
        serve_connection_go_on(connection);
    }
    free(use);
}

void serve_locks_release(struct serve_exchange *exchange)
{
    struct using *use = new_use(exchange);

    if (use == NULL)
        return;
    serve_sessions_forget(exchange->server, use->wish.name, use->wish.name_length, use->owner,
                          use->owner_length);
    serve_late_forget(exchange->server, use->owner, use->owner_length);
    serve_call_begin(&use->call, exchange->connection, false);
    redlock_spec spec = serve_wish_spec(&use->wish);
    redlock_result result = redlock_release_spec_async(
        exchange->server->client, &spec, use->owner, use->owner_length, on_released, use, &use->call.request);
    if (result != REDLOCK_OK) {
        serve_answer_unbegun(&use->call, result);
        free(use);
    }
}

/* ---- looking ------------------------------------------------------------------------------------------- */

struct looking {
    struct serve_call call;
    struct serve_wish wish;
    json_t *body;  /* what was found so far, while the slots are being looked at */
    json_t *slots; /* a part of it */
};

static json_t *json_detail(const struct looking *looking, const redlock_report *report)
{
    bool held = report->holder.id[0] != '\0';
    size_t behind = serve_line_behind(looking->call.server, looking->wish.name, looking->wish.name_length);
    json_t *body = json_pack("{s:o, s:s, s:o, s:i, s:o}", "name",
                             serve_json_text(looking->wish.name, looking->wish.name_length), "state",
                             held ? "held" : "free", "nodes", serve_json_nodes(report), "waiting",
                             (int)(report->waiting + behind), "waiters", serve_json_waiters(report));

    if (held) {
        json_object_set_new(
            body, "kind",
            json_string(serve_kind_word(report->sharers > 0 ? REDLOCK_SHARED : REDLOCK_EXCLUSIVE)));
        json_object_set_new(body, "holder", serve_json_holder(&report->holder));
    }
    if (held && report->sharers > 0) {
        json_object_set_new(body, "sharers", json_integer(report->sharers));
        json_object_set_new(body, "sharing", serve_json_sharers(report));
    }
    if (held && report->holder_ttl_left_ms >= 0)
        json_object_set_new(body, "holder_ttl_left_ms", json_integer(report->holder_ttl_left_ms));
    return body;
}

static void end_looking(struct looking *looking, redlock_result result, const redlock_report *report)
{
    struct serve_connection *connection = looking->call.connection;

    if (serve_call_end(&looking->call)) {
        if (result == REDLOCK_OK)
            serve_answer_json(connection, 200, json_incref(looking->body), NULL);
        else
            serve_answer_report(connection, serve_problem_of(result), report, NULL);
        serve_connection_go_on(connection);
    }
    json_decref(looking->body);
    free(looking);
}

static int on_slot(void *context, const redlock_slot *slot)
{
    struct looking *looking = context;

    serve_json_add_slot(looking->slots, slot);
    json_object_set_new(looking->body, "permits", json_integer(slot->holder.permits));
    return 0;
}

/* What is said of a semaphore itself is that of its first slot. */
static void on_slots(void *context, redlock_result result, const redlock_report *report)
{
    struct looking *looking = context;
    json_t *first = json_array_get(looking->slots, 0);
    json_t *left_ms = json_object_get(first, "holder_ttl_left_ms");

    if (first != NULL) {
        json_object_set_new(looking->body, "state", json_string("held"));
        json_object_set_new(looking->body, "kind", json_string("semaphore"));
        json_object_set(looking->body, "holder", json_object_get(first, "holder"));
        json_object_set(looking->body, "slots", looking->slots);
        if (left_ms != NULL)
            json_object_set(looking->body, "holder_ttl_left_ms", left_ms);
    }
    json_decref(looking->slots);
    end_looking(looking, result, report);
}

/* Nodes have something there that is nobody's own hold: it may be a semaphore, whose slots several hold. */
static bool may_have_slots(const redlock_report *report)
{
    return report->sharers == 0 && report->held > 0 &&
           (report->holder.since_ms == 0 || report->holder.permits > 0);
}

static void on_shown(void *context, redlock_result result, const redlock_report *report)
{
    struct looking *looking = context;

    looking->body = result == REDLOCK_OK ? json_detail(looking, report) : NULL;
    if (result == REDLOCK_OK && looking->call.connection != NULL && may_have_slots(report)) {
        looking->slots = json_array();
        result = redlock_inspect_slots_async(looking->call.server->client, looking->wish.name,
                                             looking->wish.name_length, on_slot, on_slots, looking,
                                             &looking->call.request);
        if (result == REDLOCK_OK)
            return;
        json_decref(looking->slots);
    }
    end_looking(looking, result, report);
}

void serve_locks_show(struct serve_exchange *exchange)
{
    struct looking *looking;

    if (!serve_name_check(exchange, exchange->name))
        return;
    looking = serve_wish_new(exchange, NULL, NULL, sizeof *looking, offsetof(struct looking, wish));
    if (looking == NULL)
        return;
    serve_call_begin(&looking->call, exchange->connection, false);
    redlock_result result =
        redlock_inspect_async(exchange->server->client, looking->wish.name, looking->wish.name_length,
                              on_shown, looking, &looking->call.request);
    if (result != REDLOCK_OK) {
        serve_answer_unbegun(&looking->call, result);
        free(looking);
    }
}
