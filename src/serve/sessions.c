/*
 * Sessions; see sessions.h. A session lives at one instance. When that dies, its client goes on at another
 * one with the same id: it sends the names and tokens it has with its keep-alive.
 */
#include "serve/sessions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/rand.h>

#include "serve/body.h"
#include "serve/json.h"
#include "serve/late.h"
#include "serve/lease.h"
#include "serve/lock_name.h"

#define CLAIMS_MAX 100 /* of one keep-alive */

/* ---- opening and finding ------------------------------------------------------------------------------- */

/* A session of somebody else is none. */
static struct serve_session *find_own(const struct serve_exchange *exchange, const char *id, size_t length)
{
    struct serve_session *session = serve_session_find(exchange->server, id, length);

    return session != NULL && strcmp(session->principal, exchange->principal->name) == 0 ? session : NULL;
}

bool serve_sessions_find(struct serve_exchange *exchange, const char *id, uint32_t *ttl_ms)
{
    const struct serve_session *session = find_own(exchange, id, strlen(id));

    if (session == NULL)
        return serve_refuse(exchange, SERVE_NOT_FOUND,
                            "there is no such session: open one, or keep it alive here first");
    if (exchange->server->now_ms >= session->ends_ms)
        return serve_refuse(exchange, SERVE_LOST, "the session was not kept alive in time");
    *ttl_ms = session->ttl_ms;
    return true;
}

const char *serve_sessions_who(const struct serve_exchange *exchange, const char *id)
{
    const struct serve_session *session = find_own(exchange, id, strlen(id));

    return session == NULL ? "" : session->who;
}

static json_t *json_session(const struct serve_session *session, json_t *locks)
{
    return json_pack("{s:s, s:i, s:o}", "id", session->id, "ttl_ms", (int)session->ttl_ms, "locks", locks);
}

void serve_sessions_open(struct serve_exchange *exchange)
{
    unsigned char random[SERVE_SESSION_ID / 2];
    struct serve_session *session;
    const char *who = NULL;
    uint32_t ttl_ms = 0;

    if (!serve_body_ttl(exchange, SERVE_DEFAULT_TTL_MS, &ttl_ms) ||
        !serve_body_text(exchange, "who", SERVE_WHO_MAX, &who))
        return;
    session = RAND_bytes(random, sizeof random) == 1
                  ? serve_session_add(exchange->server, exchange->principal->name, ttl_ms)
                  : NULL;
    if (session == NULL) {
        serve_refuse(exchange, SERVE_OUT_OF_MEMORY, "no memory for a session");
        return;
    }
    snprintf(session->who, sizeof session->who, "%s", who == NULL ? "" : who);
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(session->id + 2 * i, 3, "%02x", random[i]);
    serve_answer_json(exchange->connection, 201, json_session(session, json_array()), NULL);
}

/* ---- keeping alive ------------------------------------------------------------------------------------- */

/* One keep-alive, or the end of a session: done when all its locks are. */
struct round {
    struct serve_call call;
    size_t remaining; /* callbacks, and one more while they are being asked for */
    json_t *locks;
    char session[SERVE_SESSION_ID + 1];
    bool closing;
};

/* One lock of a round. */
struct part {
    struct round *round;
    struct serve_held *held;
    char *name; /* of one that is adopted */
    size_t name_length;
    redlock_kind kind;
    uint32_t permits;
};

static json_t *json_held(const struct serve_held *held, const char *state)
{
    size_t name_length;
    const char *name = redlock_lock_name(held->lock, &name_length);
    char token[SERVE_TOKEN_SIZE];

    serve_token_write(held->lock, held->kind, held->permits, token);
    json_t *object =
        json_pack("{s:o, s:s, s:s, s:I}", "name", serve_json_text(name, name_length), "token", token, "state",
                  state, "validity_ms", (json_int_t)redlock_lock_validity_ms(held->lock));
    if (held->fence != 0)
        json_object_set_new(object, "fence", json_integer((json_int_t)held->fence));
    serve_which_describe(object, held->lock, held->kind, held->permits);
    return object;
}

static void end_part(struct round *round)
{
    struct serve_connection *connection = round->call.connection;

    if (--round->remaining > 0)
        return;
    const struct serve_session *session =
        serve_session_find(round->call.server, round->session, SERVE_SESSION_ID);
    if (serve_call_end(&round->call)) {
        if (round->closing || session == NULL)
            serve_answer_json(
                connection, 200,
                json_pack("{s:s, s:i, s:O}", "id", round->session, "ttl_ms", 0, "locks", round->locks), NULL);
        else
            serve_answer_json(connection, 200, json_session(session, json_incref(round->locks)), NULL);
        serve_connection_go_on(connection);
    }
    json_decref(round->locks);
    free(round);
}

static struct round *begin_round(struct serve_exchange *exchange, const struct serve_session *session,
                                 bool closing)
{
    struct round *round = calloc(1, sizeof *round);

    if (round == NULL || (round->locks = json_array()) == NULL) {
        free(round);
        serve_refuse(exchange, SERVE_OUT_OF_MEMORY, "no memory for the request");
        return NULL;
    }
    memcpy(round->session, session->id, sizeof round->session);
    round->closing = closing;
    round->remaining = 1;
    serve_call_begin(&round->call, exchange->connection, false);
    return round;
}

/* What became of a lock goes into the answer; one that was lost is told of once. */
static void report_held(struct round *round, struct serve_held *held)
{
    struct serve_session *session = serve_session_find(round->call.server, round->session, SERVE_SESSION_ID);
    bool lost = redlock_lock_validity_ms(held->lock) == 0;
    size_t name_length, owner_length;
    const char *name = redlock_lock_name(held->lock, &name_length);
    const char *owner = redlock_lock_owner(held->lock, &owner_length);

    json_array_append_new(round->locks, json_held(held, lost ? "lost" : "held"));
    serve_lease_tell(round->call.server, lost ? "lost" : "renewed", held->lock, held->kind, round->session);
    if (lost && session != NULL && !held->dropped) {
        struct serve_held **place = serve_held_find(session, name, name_length, owner, owner_length);
        if (place != NULL)
            serve_held_remove(session, place);
    }
}

static void on_renewed(void *context, redlock_result result, const redlock_report *report)
{
    struct part *part = context;
    struct round *round = part->round;

    (void)result; /* a round that failed leaves the validity that there was */
    (void)report;
    if (!part->held->dropped)
        report_held(round, part->held);
    if (--part->held->pending == 0 && part->held->dropped)
        serve_held_drop(part->held);
    free(part);
    end_part(round);
}

static void renew(struct round *round, struct serve_held *held)
{
    struct part *part = malloc(sizeof *part);
    redlock_request request;

    if (part != NULL) {
        *part = (struct part){.round = round, .held = held};
        held->pending++;
        round->remaining++;
        if (redlock_extend_async(held->lock, 0, on_renewed, part, &request) == REDLOCK_OK)
            return;
        held->pending--;
        round->remaining--;
        free(part);
    }
    report_held(round, held);
}

static void on_adopted(void *context, redlock_result result, redlock_lock *lock, const redlock_report *report)
{
    struct part *part = context;
    struct round *round = part->round;
    struct serve_session *session = serve_session_find(round->call.server, round->session, SERVE_SESSION_ID);
    struct serve_held *held = result == REDLOCK_OK && session != NULL
                                  ? serve_session_keep(session, lock, part->kind, part->permits)
                                  : NULL;

    if (held != NULL)
        report_held(round, held);
    else {
        json_array_append_new(
            round->locks,
            json_pack("{s:o, s:s, s:i, s:s}", "name", serve_json_text(part->name, part->name_length), "state",
                      result == REDLOCK_NOT_HELD || result == REDLOCK_LOST ? "lost" : "unknown",
                      "validity_ms", 0, "detail", report->line));
        redlock_lock_free(lock);
    }
    free(part->name);
    free(part);
    end_part(round);
}

/* A lock as a client names it in its keep-alive. */
struct claim {
    struct serve_text name;
    struct serve_token token;
};

static redlock_spec spec_of(const struct serve_session *session, const struct claim *claim,
                            redlock_name also[SERVE_ALSO_MAX])
{
    const struct serve_which *which = &claim->token.which;
    redlock_spec spec = REDLOCK_SPEC_INIT;

    spec.name = claim->name.bytes;
    spec.name_length = claim->name.length;
    spec.ttl_ms = session->ttl_ms;
    spec.kind = which->kind;
    spec.permits = which->permits;
    spec.also = which->also_count == 0 ? NULL : also;
    spec.also_count = which->also_count;
    spec.keep_on_nodes = 1;
    for (uint32_t i = 0; i < which->also_count; i++)
        also[i] = (redlock_name){which->also[i].bytes, which->also[i].length};
    return spec;
}

static void adopt(struct round *round, const struct serve_session *session, const struct claim *claim)
{
    struct part *part = calloc(1, sizeof *part);
    redlock_name also[SERVE_ALSO_MAX];
    redlock_spec spec = spec_of(session, claim, also);
    redlock_request request;

    if (part == NULL || (part->name = strndup(claim->name.bytes, claim->name.length)) == NULL) {
        free(part);
        return;
    }
    part->round = round;
    part->name_length = claim->name.length;
    part->kind = spec.kind;
    part->permits = spec.permits;
    round->remaining++;
    serve_late_forget(round->call.server, claim->token.owner, claim->token.owner_length);
    if (redlock_adopt_async(round->call.server->client, &spec, claim->token.owner, claim->token.owner_length,
                            on_adopted, part, &request) == REDLOCK_OK)
        return;
    round->remaining--;
    free(part->name);
    free(part);
}

static bool read_claim(struct serve_exchange *exchange, json_t *entry, struct claim *claim)
{
    const char *token = json_string_value(json_object_get(entry, "token"));
    const char *name = json_string_value(json_object_get(entry, "name"));

    if (name == NULL || token == NULL || json_object_size(entry) != 2)
        return serve_refuse(exchange, SERVE_INVALID,
                            "an entry of locks is not {\"name\": ..., \"token\": ...}");
    if (!serve_token_read(token, strlen(token), &claim->token))
        return serve_refuse(exchange, SERVE_NOT_YOURS,
                            "a token in locks is not one that was ever handed out");
    claim->name = (struct serve_text){name, strlen(name)};
    return serve_name_check(exchange, claim->name) &&
           serve_which_check(exchange, claim->name, &claim->token.which);
}

/* All of them, before anything is asked of the nodes. */
static bool check_claims(struct serve_exchange *exchange, json_t *locks)
{
    struct claim claim;
    size_t index;
    json_t *entry;

    if (locks == NULL)
        return true;
    if (!json_is_array(locks) || json_array_size(locks) > CLAIMS_MAX)
        return serve_refuse(exchange, SERVE_INVALID, "locks is not a list of at most 100 entries");
    json_array_foreach(locks, index, entry) if (!read_claim(exchange, entry, &claim)) return false;
    return true;
}

static bool is_id(struct serve_text text)
{
    for (size_t i = 0; i < text.length; i++)
        if (strchr("0123456789abcdef", text.bytes[i]) == NULL)
            return false;
    return text.length == SERVE_SESSION_ID;
}

/* The session, or a new one under an id that another instance gave out. NULL after having refused the
 * request. */
static struct serve_session *find_or_resume(struct serve_exchange *exchange, json_t *locks)
{
    struct serve_session *session = find_own(exchange, exchange->name.bytes, exchange->name.length);
    uint32_t ttl_ms = 0;

    if (!serve_body_ttl(exchange, session == NULL ? SERVE_DEFAULT_TTL_MS : session->ttl_ms, &ttl_ms))
        return NULL;
    if (session == NULL &&
        (locks == NULL || !is_id(exchange->name) ||
         serve_session_find(exchange->server, exchange->name.bytes, exchange->name.length) != NULL)) {
        serve_refuse(
            exchange, SERVE_NOT_FOUND,
            "there is no such session here: to go on with one of another instance, send its locks with their tokens");
        return NULL;
    }
    if (session == NULL &&
        (session = serve_session_add(exchange->server, exchange->principal->name, ttl_ms)) == NULL) {
        serve_refuse(exchange, SERVE_OUT_OF_MEMORY, "no memory for a session");
        return NULL;
    }
    memcpy(session->id, exchange->name.bytes, SERVE_SESSION_ID);
    session->ttl_ms = ttl_ms;
    session->ends_ms = serve_now(exchange->server) + ttl_ms;
    return session;
}

void serve_sessions_keep_alive(struct serve_exchange *exchange)
{
    json_t *locks = json_object_get(exchange->body, "locks"), *entry;
    struct serve_session *session;
    struct round *round;
    struct claim claim;
    size_t index;

    if (!check_claims(exchange, locks))
        return;
    session = find_or_resume(exchange, locks);
    round = session == NULL ? NULL : begin_round(exchange, session, false);
    if (round == NULL)
        return;
    for (struct serve_held *each = session->held, *next; each != NULL; each = next) {
        next = each->next;
        renew(round, each);
    }
    json_array_foreach(locks, index,
                       entry) if (read_claim(exchange, entry, &claim) &&
                                  serve_held_find(session, claim.name.bytes, claim.name.length,
                                                  claim.token.owner, claim.token.owner_length) == NULL)
        adopt(round, session, &claim);
    end_part(round);
}

/* ---- ending -------------------------------------------------------------------------------------------- */

static void on_released(void *context, redlock_result result, const redlock_report *report)
{
    struct part *part = context;
    struct round *round = part->round;

    (void)report;
    json_array_append_new(round->locks, json_held(part->held, result == REDLOCK_OK ? "released" : "lost"));
    serve_lease_tell(round->call.server, result == REDLOCK_OK ? "released" : "lost", part->held->lock,
                     part->held->kind, round->session);
    part->held->pending--;
    serve_held_drop(part->held);
    free(part);
    end_part(round);
}

void serve_sessions_close(struct serve_exchange *exchange)
{
    struct serve_session *session = find_own(exchange, exchange->name.bytes, exchange->name.length);
    struct round *round = session == NULL ? NULL : begin_round(exchange, session, true);
    redlock_request request;

    if (session == NULL)
        serve_refuse(exchange, SERVE_NOT_FOUND, "there is no such session here");
    if (round == NULL)
        return;
    while (session->held != NULL) {
        struct serve_held *held = session->held;
        struct part *part = malloc(sizeof *part);

        session->held = held->next;
        held->dropped = true;
        if (part == NULL) {
            serve_held_drop(held);
            continue;
        }
        *part = (struct part){.round = round, .held = held};
        held->pending++;
        round->remaining++;
        if (redlock_release_async(held->lock, on_released, part, &request) != REDLOCK_OK)
            on_released(part, REDLOCK_NOT_HELD, NULL);
    }
    serve_session_remove(exchange->server, session);
    end_part(round);
}
