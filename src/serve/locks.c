/*
 * The calls about one lock; see locks.h.
 *
 * validity_ms in an answer is what was left when it was written. A client counts it from when it sent its request, which is
 * earlier: so it never relies on a lock for too long, however slow the network. An answer after a long wait may be old news by
 * that count; `confirm` says so.
 */
#include "serve/locks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/sha.h>

#include "serve/events.h"
#include "serve/json.h"
#include "serve/line.h"
#include "serve/sessions.h"

#define DEFAULT_TTL_MS 15000
#define KEY_MAX 255
#define WORDS_SIZE 600

/* ---- names and wishes ------------------------------------------------------------------------------------ */

static bool refuse(struct serve_exchange *exchange, enum serve_problem problem, const char *detail)
{
    serve_answer_problem(exchange->connection, problem, detail, NULL);
    return false;
}

/* The library keeps its own records under these. */
static bool is_reserved(const struct serve_server *server, struct serve_text name)
{
    static const char *const reserved[] = {"redlock-guard:", "redlock-fence:", "redlock-line:"};
    const char *prefix = server->settings->key_prefix == NULL ? "" : server->settings->key_prefix;
    char key[64];

    snprintf(key, sizeof key, "%.40s%.*s", prefix, (int)(name.length < 20 ? name.length : 20), name.bytes);
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++)
        if (strncmp(key, reserved[i], strlen(reserved[i])) == 0)
            return true;
    return false;
}

bool serve_locks_check_name(struct serve_exchange *exchange, struct serve_text name)
{
    const char *prefix = exchange->server->settings->key_prefix;

    if (name.length == 0)
        return refuse(exchange, SERVE_INVALID, "the name of the lock is empty");
    if (name.length + (prefix == NULL ? 0 : strlen(prefix)) > REDLOCK_NAME_MAX)
        return refuse(exchange, SERVE_INVALID,
                      "the name of the lock is longer than 1024 bytes, its prefix included");
    if (!serve_text_is_clean(name))
        return refuse(exchange, SERVE_INVALID,
                      "the name of the lock is not UTF-8 without control characters");
    if (is_reserved(exchange->server, name))
        return refuse(exchange, SERVE_INVALID,
                      "names that begin with redlock-guard:, -fence: or -line: are reserved");
    if (!serve_principal_may_name(exchange->principal, name.bytes, name.length))
        return refuse(exchange, SERVE_FORBIDDEN, "the prefix of these credentials does not cover this name");
    return true;
}

void *serve_wish_new(struct serve_exchange *exchange, const char *why, size_t size, size_t offset)
{
    const char *who = exchange->principal->name;
    size_t name_length = exchange->name.length, why_size = strlen(who) + (why == NULL ? 0 : strlen(why)) + 3;
    char *memory = calloc(1, size + name_length + 1 + why_size), *texts = memory + size;

    if (memory == NULL) {
        refuse(exchange, SERVE_OUT_OF_MEMORY, "no memory for the request");
        return NULL;
    }
    struct serve_wish *wish = (struct serve_wish *)(void *)(memory + offset);
    memcpy(texts, exchange->name.bytes, name_length);
    wish->name = texts;
    wish->name_length = name_length;
    wish->why = texts + name_length + 1;
    snprintf(texts + name_length + 1, why_size, "%s%s%s", who, *who == '\0' || why == NULL ? "" : ": ",
             why == NULL ? "" : why);
    return memory;
}

redlock_spec serve_wish_spec(const struct serve_wish *wish)
{
    redlock_spec spec = REDLOCK_SPEC_INIT;

    spec.kind = wish->kind;
    spec.name = wish->name;
    spec.name_length = wish->name_length;
    spec.ttl_ms = wish->ttl_ms;
    spec.why = wish->why;
    if (wish->has_tag) {
        spec.tag = wish->tag;
        spec.tag_length = sizeof wish->tag;
    }
    return spec;
}

/* ---- what all of them do --------------------------------------------------------------------------------- */

json_t *serve_json_lease(redlock_lock *lock, const redlock_report *report)
{
    size_t name_length, owner_length;
    const char *name = redlock_lock_name(lock, &name_length);
    const char *owner = redlock_lock_owner(lock, &owner_length);
    char token[SERVE_TOKEN_SIZE];
    uint64_t fence = redlock_lock_fence(lock);

    serve_token_write(owner, owner_length, token);
    json_t *lease = json_pack("{s:o, s:s, s:I, s:i, s:i, s:I}", "name", serve_json_text(name, name_length),
                              "token", token, "validity_ms", (json_int_t)redlock_lock_validity_ms(lock),
                              "granted", (int)report->granted, "nodes", (int)report->node_count, "waited_ms",
                              (json_int_t)report->waited_ms);
    if (fence != 0)
        json_object_set_new(lease, "fence", json_integer((json_int_t)fence));
    return lease;
}

struct giving_back {
    struct serve_server *server;
    redlock_lock *lock;
};

static void on_given_back(void *context, redlock_result result, const redlock_report *report)
{
    struct giving_back *giving = context;

    (void)result;
    (void)report;
    giving->server->outstanding--;
    redlock_lock_free(giving->lock);
    free(giving);
}

void serve_locks_give_back(struct serve_server *server, redlock_lock *lock)
{
    struct giving_back *giving = malloc(sizeof *giving);
    redlock_request request;

    if (giving != NULL) {
        *giving = (struct giving_back){server, lock};
        server->outstanding++;
        if (redlock_release_async(lock, on_given_back, giving, &request) == REDLOCK_OK)
            return;
        server->outstanding--;
    }
    free(giving);
    redlock_lock_free(lock); /* it ends by itself */
}

void serve_locks_tell(struct serve_server *server, const char *type, redlock_lock *lock, const char *session)
{
    size_t name_length;
    const char *name = redlock_lock_name(lock, &name_length);
    char owner[9];

    snprintf(owner, sizeof owner, "%.8s", redlock_lock_owner(lock, NULL));
    serve_events_publish(server, &(struct serve_event){.type = type,
                                                       .name = name,
                                                       .name_length = name_length,
                                                       .session = session,
                                                       .owner = owner,
                                                       .fence = redlock_lock_fence(lock),
                                                       .validity_ms = redlock_lock_validity_ms(lock)});
}

/* A call could not even begin. */
static void answer_unbegun(struct serve_call *call, redlock_result result)
{
    struct serve_connection *connection = call->connection;

    serve_call_end(call);
    serve_answer_problem(connection, serve_problem_of(result), redlock_result_name(result), NULL);
}

/* ---- taking ---------------------------------------------------------------------------------------------- */

struct taking {
    struct serve_call call;
    struct serve_wish wish;
    char session[33];
    uint64_t fence;           /* of the lease that an earlier request with the same key got; 0 not known */
    struct serve_place place; /* in the line of those who wait for it here */
    struct event *timer;      /* while it stands behind others */
    int64_t until_ms;         /* how long it waits */
    bool tried;               /* with an Idempotency-Key, the nodes were asked once without waiting */
};

static void on_taken(void *context, redlock_result result, redlock_lock *lock, const redlock_report *report);

static void answer_lease(struct taking *taking, redlock_lock *lock, const redlock_report *report)
{
    struct serve_connection *connection = taking->call.connection;
    json_t *lease = serve_json_lease(lock, report);

    if (taking->fence != 0)
        json_object_set_new(lease, "fence", json_integer((json_int_t)taking->fence));
    json_object_set_new(lease, "ttl_ms", json_integer(taking->wish.ttl_ms));
    /* By a count from when the request was sent, a good part of the lease is over. */
    json_object_set_new(lease, "confirm", json_boolean(report->waited_ms > taking->wish.ttl_ms / 4));
    serve_locks_tell(taking->call.server, "acquired", lock, taking->session);
    if (taking->session[0] == '\0' || !serve_sessions_keep(taking->call.server, taking->session, lock))
        redlock_lock_free(lock);
    serve_call_end(&taking->call);
    serve_answer_json(connection, 201, lease, NULL);
    serve_connection_go_on(connection);
    free(taking);
}

static void answer_refusal(struct taking *taking, redlock_result result, const redlock_report *report)
{
    struct serve_connection *connection = taking->call.connection;
    enum serve_problem problem = serve_problem_of(result);

    if (serve_call_end(&taking->call)) {
        if (problem == SERVE_STOPPING)
            serve_answer_problem(connection, problem, "this instance is stopping", NULL);
        else
            serve_answer_report(connection, problem, report, NULL);
        serve_connection_go_on(connection);
    }
    free(taking);
}

/* The answer to a repeated request: the lease that the first one got, its time counted anew. */
static void on_taken_again(void *context, redlock_result result, redlock_lock *lock,
                           const redlock_report *report)
{
    struct taking *taking = context;

    if (result == REDLOCK_OK && taking->call.connection != NULL)
        answer_lease(taking, lock, report);
    else {
        redlock_lock_free(lock);
        answer_refusal(taking, result, report);
    }
}

/* Finds the whole owner value that a quorum has, if it carries our tag. */
static bool find_owner(const struct taking *taking, const redlock_report *report, redlock_node_report *node)
{
    redlock_holder holder;

    for (uint32_t i = 0; redlock_report_node(report, i, node); i++) {
        if (node->owner == NULL)
            continue;
        redlock_holder_parse(node->owner, node->owner_length, &holder);
        if (strcmp(holder.id, report->holder.id) == 0 && holder.tag_length == sizeof taking->wish.tag &&
            memcmp(holder.tag, taking->wish.tag, holder.tag_length) == 0)
            return true;
    }
    return false;
}

static void on_looked_up(void *context, redlock_result result, const redlock_report *report)
{
    struct taking *taking = context;
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;
    redlock_spec spec = serve_wish_spec(&taking->wish);

    if (taking->call.connection == NULL || result != REDLOCK_OK || !find_owner(taking, report, &node)) {
        answer_refusal(taking, result == REDLOCK_OK ? REDLOCK_BUSY : result, report);
        return;
    }
    result = redlock_adopt_async(taking->call.server->client, &spec, node.owner, node.owner_length,
                                 on_taken_again, taking, &taking->call.request);
    if (result != REDLOCK_OK)
        answer_refusal(taking, result, report);
}

static bool is_ours_already(const struct taking *taking, const redlock_report *report)
{
    return taking->wish.has_tag && report->holder.tag_length == sizeof taking->wish.tag &&
           memcmp(report->holder.tag, taking->wish.tag, sizeof taking->wish.tag) == 0;
}

static redlock_result ask(struct taking *taking, int64_t wait_ms)
{
    redlock_spec spec = serve_wish_spec(&taking->wish);

    return redlock_acquire_async(taking->call.server->client, &spec, wait_ms, on_taken, taking,
                                 &taking->call.request);
}

/* What this instance handed out under a key, as long as nothing else falls on its place. */
static struct serve_key *key_place(const struct taking *taking)
{
    uint32_t hash;

    memcpy(&hash, taking->wish.tag, sizeof hash);
    return &taking->call.server->keys[hash % SERVE_KEYS_MAX];
}

static void keep_fence(const struct taking *taking, redlock_lock *lock)
{
    struct serve_key *key = key_place(taking);

    memcpy(key->tag, taking->wish.tag, sizeof key->tag);
    snprintf(key->owner, sizeof key->owner, "%.8s", redlock_lock_owner(lock, NULL));
    key->fence = redlock_lock_fence(lock);
}

static uint64_t recall_fence(const struct taking *taking, const redlock_report *report)
{
    const struct serve_key *key = key_place(taking);
    bool same = memcmp(key->tag, taking->wish.tag, sizeof key->tag) == 0 &&
                strcmp(key->owner, report->holder.id) == 0;

    return same ? key->fence : 0;
}

/* The fence of the lock that is in the way: nodes that refuse say the highest number they know for the name, and while it is
 * held that is its own, if a quorum says the same. 0 when they differ. */
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

/* ---- waiting ---- */

static void stop_timer(struct taking *taking)
{
    if (taking->timer != NULL)
        event_free(taking->timer);
    taking->timer = NULL;
    taking->call.dismiss = NULL;
}

static void give_up(struct taking *taking, redlock_result result)
{
    struct serve_connection *connection = taking->call.connection;

    stop_timer(taking);
    serve_line_leave(taking->call.server, &taking->place);
    if (serve_call_end(&taking->call)) {
        serve_answer_problem(connection, serve_problem_of(result), redlock_result_name(result), NULL);
        serve_connection_go_on(connection);
    }
    free(taking);
}

/* Nothing was asked of the nodes yet: the client is gone, or the instance stops. */
static void on_dismissed(struct serve_call *call)
{
    give_up((struct taking *)(void *)call, REDLOCK_CANCELED);
}

/* It is the first of those who wait here. */
static void on_first(void *context)
{
    struct taking *taking = context;
    int64_t left_ms = taking->until_ms - serve_now(taking->call.server);

    stop_timer(taking);
    redlock_result result = ask(taking, left_ms < 0 ? 0 : left_ms);
    if (result == REDLOCK_OK)
        return;
    give_up(taking, result);
}

/* Its time is over behind others: it asks once more for itself, to hear who holds the lock. */
static void on_late(evutil_socket_t socket, short what, void *context)
{
    struct taking *taking = context;

    (void)socket;
    (void)what;
    stop_timer(taking);
    serve_line_leave(taking->call.server, &taking->place);
    redlock_result result = ask(taking, 0);
    if (result != REDLOCK_OK)
        give_up(taking, result);
}

static bool start_timer(struct taking *taking)
{
    int64_t span_ms = taking->wish.wait_ms;

    taking->timer = evtimer_new(taking->call.server->base, on_late, taking);
    taking->call.dismiss = on_dismissed;
    return taking->timer != NULL &&
           event_add(taking->timer, &(struct timeval){span_ms / 1000, span_ms % 1000 * 1000}) == 0;
}

/* Waits in the line of this instance. A fair lock is given out in the order of all instances: each waiter stands in the line of
 * the nodes itself. */
static redlock_result wait_for(struct taking *taking)
{
    struct serve_server *server = taking->call.server;

    if (taking->wish.kind == REDLOCK_FAIR)
        return ask(taking, taking->wish.wait_ms);
    taking->until_ms = serve_now(server) + taking->wish.wait_ms;
    if (serve_line_join(server, taking->wish.name, taking->wish.name_length, &taking->place, on_first,
                        taking) ||
        taking->place.line == NULL)
        return ask(taking, taking->wish.wait_ms);
    if (start_timer(taking))
        return REDLOCK_OK;
    stop_timer(taking);
    serve_line_leave(server, &taking->place);
    return REDLOCK_NOMEM;
}

/* Somebody else has it, or we do by an earlier request, or it is worth waiting now. */
static void go_on_busy(struct taking *taking, redlock_result result, const redlock_report *report)
{
    redlock_client *client = taking->call.server->client;

    if (is_ours_already(taking, report) && (taking->fence = recall_fence(taking, report)) == 0)
        taking->fence = agreed_fence(report);
    if (is_ours_already(taking, report) &&
        redlock_inspect_async(client, taking->wish.name, taking->wish.name_length, on_looked_up, taking,
                              &taking->call.request) == REDLOCK_OK)
        return;
    if (!taking->tried && taking->wish.wait_ms > 0) {
        taking->tried = true;
        result = wait_for(taking);
        if (result == REDLOCK_OK)
            return;
        serve_line_leave(taking->call.server, &taking->place);
    }
    answer_refusal(taking, result, report);
}

static void on_taken(void *context, redlock_result result, redlock_lock *lock, const redlock_report *report)
{
    struct taking *taking = context;
    bool busy = result == REDLOCK_BUSY || result == REDLOCK_TIMEOUT;

    serve_line_leave(taking->call.server, &taking->place);
    if (taking->call.connection == NULL) {
        /* The client hung up. What it may have won meanwhile goes to the next one. */
        if (lock != NULL)
            serve_locks_give_back(taking->call.server, lock);
        serve_call_end(&taking->call);
        free(taking);
    } else if (result == REDLOCK_OK) {
        if (taking->wish.has_tag)
            keep_fence(taking, lock);
        answer_lease(taking, lock, report);
    } else if (busy && taking->wish.has_tag)
        go_on_busy(taking, result, report);
    else
        answer_refusal(taking, result, report);
}

/* The same key of somebody else is another key. */
static bool read_key(struct serve_exchange *exchange, struct serve_wish *wish)
{
    struct serve_text key = serve_request_field(exchange->request, "idempotency-key");
    unsigned char digest[SHA256_DIGEST_LENGTH];
    char text[KEY_MAX + 128];

    if (key.bytes == NULL)
        return true;
    for (size_t i = 0; i < key.length; i++)
        if (key.bytes[i] <= ' ' || key.bytes[i] > '~')
            return refuse(exchange, SERVE_INVALID,
                          "the Idempotency-Key has a character in it that is not visible ASCII");
    if (key.length == 0 || key.length > KEY_MAX)
        return refuse(exchange, SERVE_INVALID, "the Idempotency-Key is empty or longer than 255 bytes");
    int length =
        snprintf(text, sizeof text, "%s\n%.*s", exchange->principal->name, (int)key.length, key.bytes);
    SHA256((const unsigned char *)text, (size_t)length, digest);
    memcpy(wish->tag, digest, sizeof wish->tag);
    wish->has_tag = true;
    return true;
}

static bool read_kind(struct serve_exchange *exchange, redlock_kind *kind)
{
    const char *text = NULL;

    if (!serve_body_text(exchange, "kind", 32, &text))
        return false;
    *kind = text != NULL && strcmp(text, "fair") == 0 ? REDLOCK_FAIR : REDLOCK_EXCLUSIVE;
    if (text == NULL || *kind == REDLOCK_FAIR || strcmp(text, "exclusive") == 0)
        return true;
    return refuse(exchange, SERVE_INVALID, "kind is not exclusive or fair");
}

static bool read_wish(struct serve_exchange *exchange, struct serve_wish *wish, const char *session)
{
    const struct serve_settings *settings = exchange->server->settings;
    int64_t missing = DEFAULT_TTL_MS < settings->max_ttl_ms ? DEFAULT_TTL_MS : settings->max_ttl_ms;
    int64_t ttl_ms = 0;

    if (session != NULL && !serve_sessions_find(exchange, session, &missing))
        return false;
    if (!serve_body_number(exchange, "ttl_ms", REDLOCK_TTL_MIN_MS, settings->max_ttl_ms, missing, &ttl_ms) ||
        !serve_body_number(exchange, "wait_ms", 0, settings->max_wait_ms, 0, &wish->wait_ms) ||
        !read_kind(exchange, &wish->kind) || !read_key(exchange, wish))
        return false;
    wish->ttl_ms = (uint32_t)ttl_ms;
    return true;
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

void serve_locks_take(struct serve_exchange *exchange)
{
    const char *why = NULL, *session = NULL;
    struct taking *taking;
    char words[WORDS_SIZE];

    if (!serve_locks_check_name(exchange, exchange->name) || !serve_body_text(exchange, "why", 100, &why) ||
        !serve_body_text(exchange, "session", 32, &session))
        return;
    why = words_of(exchange, session, why, words);
    taking = serve_wish_new(exchange, why, sizeof *taking, offsetof(struct taking, wish));
    if (taking == NULL)
        return;
    if (!read_wish(exchange, &taking->wish, session)) {
        free(taking);
        return;
    }
    bool waits = taking->wish.wait_ms > 0;
    if (waits && !serve_may_wait(exchange->server)) {
        refuse(exchange, SERVE_TOO_MANY, "as many requests wait here as this instance allows");
        free(taking);
        return;
    }
    snprintf(taking->session, sizeof taking->session, "%s", session == NULL ? "" : session);
    taking->call.cancelable = true;
    serve_call_begin(&taking->call, exchange->connection, waits);
    redlock_result result = waits && !taking->wish.has_tag ? wait_for(taking) : ask(taking, 0);
    if (result != REDLOCK_OK) {
        serve_line_leave(exchange->server, &taking->place);
        answer_unbegun(&taking->call, result);
        free(taking);
    }
}

/* ---- lengthening and giving back ------------------------------------------------------------------------- */

/* A call with a token, and, when it fails, the question who holds the lock. */
struct using
{
    struct serve_call call;
    struct serve_wish wish;
    size_t owner_length;
    char owner[REDLOCK_OWNER_MAX + 1];
};

static bool read_token(struct serve_exchange *exchange, struct using *use)
{
    struct serve_text token = serve_request_field(exchange->request, "redlock-token");

    if (token.bytes == NULL)
        return refuse(exchange, SERVE_INVALID,
                      "the Redlock-Token field is missing: send the token of the lease");
    if (!serve_token_read(token.bytes, token.length, use->owner, &use->owner_length))
        return refuse(exchange, SERVE_NOT_YOURS,
                      "the Redlock-Token field is not a token that was ever handed out");
    return true;
}

static struct using *new_use(struct serve_exchange *exchange)
{
    struct using *use;

    if (!serve_locks_check_name(exchange, exchange->name))
        return NULL;
    use = serve_wish_new(exchange, NULL, sizeof *use, offsetof(struct using, wish));
    if (use == NULL)
        return NULL;
    if (read_token(exchange, use))
        return use;
    free(use);
    return NULL;
}

static void tell_use(const struct using *use, const char *type)
{
    char owner[9];

    snprintf(owner, sizeof owner, "%.8s", use->owner);
    serve_events_publish(use->call.server, &(struct serve_event){.type = type,
                                                                 .name = use->wish.name,
                                                                 .name_length = use->wish.name_length,
                                                                 .owner = owner});
}

/* Not this owner's. If the one who has it now came later, or nobody has it, the lease has ended: the client ran unlocked. If it
 * was there before, the token cannot be of this lock. */
static void on_explained(void *context, redlock_result result, const redlock_report *report)
{
    struct using *use = context;
    struct serve_connection *connection = use->call.connection;
    redlock_holder own;

    redlock_holder_parse(use->owner, use->owner_length, &own);
    bool foreign = result == REDLOCK_OK && report->holder.id[0] != '\0' &&
                   (own.since_ms == 0 || report->holder.since_ms <= own.since_ms);
    if (!foreign)
        tell_use(use, "lost");
    if (serve_call_end(&use->call)) {
        serve_answer_report(connection, foreign ? SERVE_NOT_YOURS : SERVE_LOST, report, NULL);
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
    json_t *lease = serve_json_lease(lock, report);
    json_object_set_new(lease, "ttl_ms", json_integer(use->wish.ttl_ms));
    serve_locks_tell(use->call.server, "renewed", lock, NULL);
    redlock_lock_free(lock);
    if (serve_call_end(&use->call)) {
        serve_answer_json(connection, 200, lease, NULL);
        serve_connection_go_on(connection);
    } else
        json_decref(lease);
    free(use);
}

void serve_locks_extend(struct serve_exchange *exchange)
{
    uint32_t max_ms = exchange->server->settings->max_ttl_ms;
    int64_t ttl_ms = 0, missing = DEFAULT_TTL_MS < max_ms ? DEFAULT_TTL_MS : max_ms;
    struct using *use = new_use(exchange);

    if (use == NULL)
        return;
    if (!serve_body_number(exchange, "ttl_ms", REDLOCK_TTL_MIN_MS, max_ms, missing, &ttl_ms)) {
        free(use);
        return;
    }
    use->wish.ttl_ms = (uint32_t)ttl_ms;
    redlock_spec spec = serve_wish_spec(&use->wish);
    serve_call_begin(&use->call, exchange->connection, false);
    redlock_result result = redlock_adopt_async(exchange->server->client, &spec, use->owner,
                                                use->owner_length, on_extended, use, &use->call.request);
    if (result != REDLOCK_OK) {
        answer_unbegun(&use->call, result);
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
    serve_call_begin(&use->call, exchange->connection, false);
    redlock_result result =
        redlock_release_owner_async(exchange->server->client, use->wish.name, use->wish.name_length,
                                    use->owner, use->owner_length, on_released, use, &use->call.request);
    if (result != REDLOCK_OK) {
        answer_unbegun(&use->call, result);
        free(use);
    }
}

/* ---- looking --------------------------------------------------------------------------------------------- */

struct looking {
    struct serve_call call;
    struct serve_wish wish;
};

json_t *serve_json_waiters(const redlock_report *report)
{
    redlock_waiter waiter = REDLOCK_WAITER_INIT;
    json_t *list = json_array();

    for (uint32_t i = 0; redlock_report_waiter(report, i, &waiter); i++) {
        json_t *object = serve_json_holder(&waiter.who);
        json_object_set_new(object, "count", json_integer(waiter.count));
        if (waiter.place != 0)
            json_object_set_new(object, "place", json_integer(waiter.place));
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *json_detail(const struct looking *looking, const redlock_report *report)
{
    bool held = report->holder.id[0] != '\0';
    size_t behind = serve_line_behind(looking->call.server, looking->wish.name, looking->wish.name_length);
    json_t *body = json_pack("{s:o, s:s, s:o, s:i, s:o}", "name",
                             serve_json_text(looking->wish.name, looking->wish.name_length), "state",
                             held ? "held" : "free", "nodes", serve_json_nodes(report), "waiting",
                             (int)(report->waiting + behind), "waiters", serve_json_waiters(report));

    if (held)
        json_object_set_new(body, "holder", serve_json_holder(&report->holder));
    if (held && report->holder_ttl_left_ms >= 0)
        json_object_set_new(body, "holder_ttl_left_ms", json_integer(report->holder_ttl_left_ms));
    return body;
}

static void on_shown(void *context, redlock_result result, const redlock_report *report)
{
    struct looking *looking = context;
    struct serve_connection *connection = looking->call.connection;

    if (serve_call_end(&looking->call)) {
        if (result == REDLOCK_OK)
            serve_answer_json(connection, 200, json_detail(looking, report), NULL);
        else
            serve_answer_report(connection, serve_problem_of(result), report, NULL);
        serve_connection_go_on(connection);
    }
    free(looking);
}

void serve_locks_show(struct serve_exchange *exchange)
{
    struct looking *looking;

    if (!serve_locks_check_name(exchange, exchange->name))
        return;
    looking = serve_wish_new(exchange, NULL, sizeof *looking, offsetof(struct looking, wish));
    if (looking == NULL)
        return;
    serve_call_begin(&looking->call, exchange->connection, false);
    redlock_result result =
        redlock_inspect_async(exchange->server->client, looking->wish.name, looking->wish.name_length,
                              on_shown, looking, &looking->call.request);
    if (result != REDLOCK_OK) {
        answer_unbegun(&looking->call, result);
        free(looking);
    }
}
