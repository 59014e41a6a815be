/*
 * Sessions; see sessions.h. A session lives at one instance. When that dies, its client goes on at another one with the same id:
 * it sends the names and tokens it has with its keep-alive.
 */
#include "serve/sessions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/rand.h>

#include "serve/json.h"
#include "serve/locks.h"

#define DEFAULT_TTL_MS 15000
#define LOCKS_MAX 1000 /* of one session */
#define CLAIMS_MAX 100 /* of one keep-alive */
#define ID_LENGTH 32
#define WHO_MAX 32

struct held {
    struct held *next;
    redlock_lock *lock;
    unsigned pending; /* extensions under way */
    bool dropped;     /* to be freed when none is */
};

struct serve_session {
    struct serve_session *next;
    char id[ID_LENGTH + 1];
    char principal[65];
    char who[4 * WHO_MAX + 1];
    uint32_t ttl_ms;
    int64_t ends_ms; /* unless it is kept alive */
    struct held *held;
    size_t held_count;
};

/* ---- the list -------------------------------------------------------------------------------------------- */

static struct serve_session *find(const struct serve_server *server, const char *id, size_t length)
{
    for (struct serve_session *each = server->sessions; each != NULL; each = each->next)
        if (length == ID_LENGTH && memcmp(each->id, id, length) == 0)
            return each;
    return NULL;
}

static void drop(struct held *held)
{
    held->dropped = true;
    if (held->pending > 0)
        return;
    redlock_lock_free(held->lock);
    free(held);
}

static void drop_all(struct serve_session *session)
{
    for (struct held *each = session->held, *next; each != NULL; each = next) {
        next = each->next;
        drop(each);
    }
    session->held = NULL;
    session->held_count = 0;
}

static void remove_session(struct serve_server *server, struct serve_session *session)
{
    struct serve_session **place = &server->sessions;

    while (*place != session)
        place = &(*place)->next;
    *place = session->next;
    drop_all(session);
    free(session);
}

static struct serve_session *add(struct serve_server *server, const char *principal, uint32_t ttl_ms)
{
    struct serve_session *session = calloc(1, sizeof *session);

    if (session == NULL)
        return NULL;
    session->ttl_ms = ttl_ms;
    session->ends_ms = serve_now(server) + ttl_ms;
    snprintf(session->principal, sizeof session->principal, "%s", principal);
    session->next = server->sessions;
    server->sessions = session;
    return session;
}

static struct held *keep(struct serve_session *session, redlock_lock *lock)
{
    struct held *held = session->held_count < LOCKS_MAX ? calloc(1, sizeof *held) : NULL;

    if (held == NULL)
        return NULL;
    held->lock = lock;
    held->next = session->held;
    session->held = held;
    session->held_count++;
    return held;
}

bool serve_sessions_keep(struct serve_server *server, const char *id, redlock_lock *lock)
{
    struct serve_session *session = find(server, id, strlen(id));

    return session != NULL && keep(session, lock) != NULL;
}

static bool is_lock(const redlock_lock *lock, const char *name, size_t name_length, const char *owner,
                    size_t owner_length)
{
    size_t own_name_length, own_owner_length;
    const char *own_name = redlock_lock_name(lock, &own_name_length);
    const char *own_owner = redlock_lock_owner(lock, &own_owner_length);

    return name_length == own_name_length && owner_length == own_owner_length &&
           memcmp(name, own_name, name_length) == 0 && memcmp(owner, own_owner, owner_length) == 0;
}

static struct held **find_held(struct serve_session *session, const char *name, size_t name_length,
                               const char *owner, size_t owner_length)
{
    for (struct held **place = &session->held; *place != NULL; place = &(*place)->next)
        if (is_lock((*place)->lock, name, name_length, owner, owner_length))
            return place;
    return NULL;
}

static void remove_held(struct serve_session *session, struct held **place)
{
    struct held *held = *place;

    *place = held->next;
    session->held_count--;
    drop(held);
}

void serve_sessions_forget(struct serve_server *server, const char *name, size_t name_length,
                           const char *owner, size_t owner_length)
{
    for (struct serve_session *each = server->sessions; each != NULL; each = each->next) {
        struct held **place = find_held(each, name, name_length, owner, owner_length);
        if (place != NULL) {
            remove_held(each, place);
            return;
        }
    }
}

void serve_sessions_free(struct serve_server *server)
{
    while (server->sessions != NULL)
        remove_session(server, server->sessions);
}

size_t serve_sessions_count(const struct serve_server *server)
{
    size_t count = 0;

    for (const struct serve_session *each = server->sessions; each != NULL; each = each->next)
        count++;
    return count;
}

void serve_sessions_tick(struct serve_server *server)
{
    for (struct serve_session *each = server->sessions, *next; each != NULL; each = next) {
        next = each->next;
        /* As long again, so that a late keep-alive hears what it lost. */
        if (server->now_ms > each->ends_ms + each->ttl_ms)
            remove_session(server, each);
    }
}

/* ---- opening and finding --------------------------------------------------------------------------------- */

static bool refuse(struct serve_exchange *exchange, enum serve_problem problem, const char *detail)
{
    serve_answer_problem(exchange->connection, problem, detail, NULL);
    return false;
}

/* A session of somebody else is none. */
static struct serve_session *find_own(const struct serve_exchange *exchange, const char *id, size_t length)
{
    struct serve_session *session = find(exchange->server, id, length);

    return session != NULL && strcmp(session->principal, exchange->principal->name) == 0 ? session : NULL;
}

bool serve_sessions_find(struct serve_exchange *exchange, const char *id, int64_t *ttl_ms)
{
    const struct serve_session *session = find_own(exchange, id, strlen(id));

    if (session == NULL)
        return refuse(exchange, SERVE_NOT_FOUND,
                      "there is no such session: open one, or keep it alive here first");
    if (exchange->server->now_ms >= session->ends_ms)
        return refuse(exchange, SERVE_LOST, "the session was not kept alive in time");
    *ttl_ms = session->ttl_ms;
    return true;
}

const char *serve_sessions_who(const struct serve_exchange *exchange, const char *id)
{
    const struct serve_session *session = find_own(exchange, id, strlen(id));

    return session == NULL ? "" : session->who;
}

static bool read_ttl(struct serve_exchange *exchange, uint32_t missing, uint32_t *ttl_ms)
{
    uint32_t most = exchange->server->settings->max_ttl_ms;
    int64_t number = 0;

    if (!serve_body_number(exchange, "ttl_ms", REDLOCK_TTL_MIN_MS, most, missing < most ? missing : most,
                           &number))
        return false;
    *ttl_ms = (uint32_t)number;
    return true;
}

static json_t *json_session(const struct serve_session *session, json_t *locks)
{
    return json_pack("{s:s, s:i, s:o}", "id", session->id, "ttl_ms", (int)session->ttl_ms, "locks", locks);
}

void serve_sessions_open(struct serve_exchange *exchange)
{
    unsigned char random[ID_LENGTH / 2];
    struct serve_session *session;
    const char *who = NULL;
    uint32_t ttl_ms = 0;

    if (!read_ttl(exchange, DEFAULT_TTL_MS, &ttl_ms) || !serve_body_text(exchange, "who", WHO_MAX, &who))
        return;
    session = RAND_bytes(random, sizeof random) == 1
                  ? add(exchange->server, exchange->principal->name, ttl_ms)
                  : NULL;
    if (session == NULL) {
        refuse(exchange, SERVE_OUT_OF_MEMORY, "no memory for a session");
        return;
    }
    snprintf(session->who, sizeof session->who, "%s", who == NULL ? "" : who);
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(session->id + 2 * i, 3, "%02x", random[i]);
    serve_answer_json(exchange->connection, 201, json_session(session, json_array()), NULL);
}

/* ---- keeping alive --------------------------------------------------------------------------------------- */

/* One keep-alive, or the end of a session: done when all its locks are. */
struct round {
    struct serve_call call;
    size_t remaining; /* callbacks, and one more while they are being asked for */
    json_t *locks;
    char session[ID_LENGTH + 1];
    bool closing;
};

/* One lock of a round. */
struct part {
    struct round *round;
    struct held *held;
    char *name; /* of one that is adopted */
    size_t name_length;
};

static json_t *json_held(redlock_lock *lock, const char *state)
{
    size_t name_length, owner_length;
    const char *name = redlock_lock_name(lock, &name_length);
    const char *owner = redlock_lock_owner(lock, &owner_length);
    char token[SERVE_TOKEN_SIZE];
    uint64_t fence = redlock_lock_fence(lock);

    serve_token_write(owner, owner_length, token);
    json_t *object =
        json_pack("{s:o, s:s, s:s, s:I}", "name", serve_json_text(name, name_length), "token", token, "state",
                  state, "validity_ms", (json_int_t)redlock_lock_validity_ms(lock));
    if (fence != 0)
        json_object_set_new(object, "fence", json_integer((json_int_t)fence));
    return object;
}

static void end_part(struct round *round)
{
    struct serve_connection *connection = round->call.connection;

    if (--round->remaining > 0)
        return;
    const struct serve_session *session = find(round->call.server, round->session, ID_LENGTH);
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
        refuse(exchange, SERVE_OUT_OF_MEMORY, "no memory for the request");
        return NULL;
    }
    memcpy(round->session, session->id, sizeof round->session);
    round->closing = closing;
    round->remaining = 1;
    serve_call_begin(&round->call, exchange->connection, false);
    return round;
}

/* What became of a lock goes into the answer; one that was lost is told of once. */
static void report_held(struct round *round, struct held *held)
{
    struct serve_session *session = find(round->call.server, round->session, ID_LENGTH);
    bool lost = redlock_lock_validity_ms(held->lock) == 0;
    size_t name_length, owner_length;
    const char *name = redlock_lock_name(held->lock, &name_length);
    const char *owner = redlock_lock_owner(held->lock, &owner_length);

    json_array_append_new(round->locks, json_held(held->lock, lost ? "lost" : "held"));
    serve_locks_tell(round->call.server, lost ? "lost" : "renewed", held->lock, round->session);
    if (lost && session != NULL && !held->dropped) {
        struct held **place = find_held(session, name, name_length, owner, owner_length);
        if (place != NULL)
            remove_held(session, place);
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
        drop(part->held);
    free(part);
    end_part(round);
}

static void renew(struct round *round, struct held *held)
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
    struct serve_session *session = find(round->call.server, round->session, ID_LENGTH);
    struct held *held = result == REDLOCK_OK && session != NULL ? keep(session, lock) : NULL;

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

static void adopt(struct round *round, const struct serve_session *session, struct serve_text name,
                  const char *owner, size_t owner_length)
{
    struct part *part = calloc(1, sizeof *part);
    redlock_spec spec = REDLOCK_SPEC_INIT;
    redlock_request request;

    if (part == NULL || (part->name = strndup(name.bytes, name.length)) == NULL) {
        free(part);
        return;
    }
    part->round = round;
    part->name_length = name.length;
    spec.name = name.bytes;
    spec.name_length = name.length;
    spec.ttl_ms = session->ttl_ms;
    round->remaining++;
    if (redlock_adopt_async(round->call.server->client, &spec, owner, owner_length, on_adopted, part,
                            &request) == REDLOCK_OK)
        return;
    round->remaining--;
    free(part->name);
    free(part);
}

/* A lock as a client names it in its keep-alive. */
struct claim {
    struct serve_text name;
    char owner[REDLOCK_OWNER_MAX + 1];
    size_t owner_length;
};

static bool read_claim(struct serve_exchange *exchange, json_t *entry, struct claim *claim)
{
    const char *token = json_string_value(json_object_get(entry, "token"));
    const char *name = json_string_value(json_object_get(entry, "name"));

    if (name == NULL || token == NULL || json_object_size(entry) != 2)
        return refuse(exchange, SERVE_INVALID, "an entry of locks is not {\"name\": ..., \"token\": ...}");
    if (!serve_token_read(token, strlen(token), claim->owner, &claim->owner_length))
        return refuse(exchange, SERVE_NOT_YOURS, "a token in locks is not one that was ever handed out");
    claim->name = (struct serve_text){name, strlen(name)};
    return serve_locks_check_name(exchange, claim->name);
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
        return refuse(exchange, SERVE_INVALID, "locks is not a list of at most 100 entries");
    json_array_foreach(locks, index, entry) if (!read_claim(exchange, entry, &claim)) return false;
    return true;
}

static bool is_id(struct serve_text text)
{
    for (size_t i = 0; i < text.length; i++)
        if (strchr("0123456789abcdef", text.bytes[i]) == NULL)
            return false;
    return text.length == ID_LENGTH;
}

/* The session, or a new one under an id that another instance gave out. NULL after having refused the request. */
static struct serve_session *find_or_resume(struct serve_exchange *exchange, json_t *locks)
{
    struct serve_session *session = find_own(exchange, exchange->name.bytes, exchange->name.length);
    uint32_t ttl_ms = 0;

    if (!read_ttl(exchange, session == NULL ? DEFAULT_TTL_MS : session->ttl_ms, &ttl_ms))
        return NULL;
    if (session == NULL && (locks == NULL || !is_id(exchange->name) ||
                            find(exchange->server, exchange->name.bytes, exchange->name.length) != NULL)) {
        refuse(
            exchange, SERVE_NOT_FOUND,
            "there is no such session here: to go on with one of another instance, send its locks with their tokens");
        return NULL;
    }
    if (session == NULL && (session = add(exchange->server, exchange->principal->name, ttl_ms)) == NULL) {
        refuse(exchange, SERVE_OUT_OF_MEMORY, "no memory for a session");
        return NULL;
    }
    memcpy(session->id, exchange->name.bytes, ID_LENGTH);
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
    for (struct held *each = session->held, *next; each != NULL; each = next) {
        next = each->next;
        renew(round, each);
    }
    json_array_foreach(locks, index, entry) if (read_claim(exchange, entry, &claim) &&
                                                find_held(session, claim.name.bytes, claim.name.length,
                                                          claim.owner, claim.owner_length) == NULL)
        adopt(round, session, claim.name, claim.owner, claim.owner_length);
    end_part(round);
}

/* ---- ending ---------------------------------------------------------------------------------------------- */

static void on_released(void *context, redlock_result result, const redlock_report *report)
{
    struct part *part = context;
    struct round *round = part->round;

    (void)report;
    json_array_append_new(round->locks,
                          json_held(part->held->lock, result == REDLOCK_OK ? "released" : "lost"));
    serve_locks_tell(round->call.server, result == REDLOCK_OK ? "released" : "lost", part->held->lock,
                     round->session);
    part->held->pending--;
    drop(part->held);
    free(part);
    end_part(round);
}

void serve_sessions_close(struct serve_exchange *exchange)
{
    struct serve_session *session = find_own(exchange, exchange->name.bytes, exchange->name.length);
    struct round *round = session == NULL ? NULL : begin_round(exchange, session, true);
    redlock_request request;

    if (session == NULL)
        refuse(exchange, SERVE_NOT_FOUND, "there is no such session here");
    if (round == NULL)
        return;
    while (session->held != NULL) {
        struct held *held = session->held;
        struct part *part = malloc(sizeof *part);

        session->held = held->next;
        held->dropped = true;
        if (part == NULL) {
            drop(held);
            continue;
        }
        *part = (struct part){.round = round, .held = held};
        held->pending++;
        round->remaining++;
        if (redlock_release_async(held->lock, on_released, part, &request) != REDLOCK_OK)
            on_released(part, REDLOCK_NOT_HELD, NULL);
    }
    remove_session(exchange->server, session);
    end_part(round);
}
