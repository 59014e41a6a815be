/*
 * POST /v1/locks/{name}: taking a lock, at once or after having waited; see locks.h.
 *
 * validity_ms in an answer is what was left when it was written. A client counts it from when it sent its
 * request, which is earlier: so it never relies on a lock for too long, however slow the network. An answer
 * after a long wait may be old news by that count; `confirm` says so.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/body.h"
#include "serve/events.h"
#include "serve/json.h"
#include "serve/key.h"
#include "serve/late.h"
#include "serve/lease.h"
#include "serve/line.h"
#include "serve/lock_name.h"
#include "serve/locks.h"
#include "serve/sessions.h"
#include "serve/turn.h"
#include "serve/wish.h"

#define WORDS_SIZE 600
#define RECORD_TRIES 5 /* that several requests with one key may get in each other's way */

struct taking {
    struct serve_call call;
    struct serve_wish wish;
    char session[33];
    uint64_t fence;           /* of the lease that an earlier request with the same key got; 0 not known */
    struct serve_later later; /* until the end of the turn that it came in */
    struct serve_place place; /* in the queue of those that wait for it here */
    struct event *timer;      /* while it stands behind others */
    int64_t until_ms;         /* how long it waits */
    bool tried;               /* with an Idempotency-Key, the nodes were asked once without waiting */
    /* Of a key that has a record: what was taken and is not recorded yet, and what the nodes said then. */
    redlock_lock *lock;
    uint32_t granted;
    int64_t waited_ms;
    unsigned record_tries;
    struct serve_recorded *recorded; /* while its lease is being looked for; NULL not */
};

static void on_taken(void *context, redlock_result result, redlock_lock *lock, const redlock_report *report);

static void answer_lease(struct taking *taking, redlock_lock *lock, const redlock_report *report)
{
    struct serve_connection *connection = taking->call.connection;
    json_t *lease = serve_lease_json(lock, report, taking->wish.kind, taking->wish.permits);

    if (taking->fence != 0)
        json_object_set_new(lease, "fence", json_integer((json_int_t)taking->fence));
    json_object_set_new(lease, "ttl_ms", json_integer(taking->wish.ttl_ms));
    /* By a count from when the request was sent, a good part of the lease is over. */
    json_object_set_new(lease, "confirm", json_boolean(report->waited_ms > taking->wish.ttl_ms / 4));
    serve_lease_tell(taking->call.server, "acquired", lock, taking->wish.kind, taking->session);
    if (taking->session[0] == '\0' || !serve_sessions_keep(taking->call.server, taking->session, lock,
                                                           taking->wish.kind, taking->wish.permits))
        serve_late_let_go(taking->call.server, lock, report);
    serve_call_end(&taking->call);
    serve_answer_json(connection, 201, lease, NULL);
    serve_connection_go_on(connection);
    free(taking);
}

/* Which of several names was in the way; NULL when that is not known, or there is only one. */
static json_t *name_in_the_way(const struct taking *taking, const redlock_report *report)
{
    const struct serve_wish *wish = &taking->wish;
    uint32_t number = wish->also_count == 0 ? 0 : report->name_number;

    if (number == 0 || number > wish->also_count + 1)
        return NULL;
    return json_pack("{s:o}", "name",
                     number == 1
                         ? serve_json_text(wish->name, wish->name_length)
                         : serve_json_text(wish->also[number - 2].name, wish->also[number - 2].length));
}

static void answer_refusal(struct taking *taking, redlock_result result, const redlock_report *report)
{
    struct serve_connection *connection = taking->call.connection;
    enum serve_problem problem = serve_problem_of(result);

    if (serve_call_end(&taking->call)) {
        if (problem == SERVE_STOPPING)
            serve_answer_problem(connection, problem, "this instance is stopping", NULL);
        else
            serve_answer_report(connection, problem, report, name_in_the_way(taking, report));
        serve_connection_go_on(connection);
    }
    free(taking);
}

/* The key was used for another lock, which is left alone. */
static void answer_reused(struct taking *taking)
{
    struct serve_connection *connection = taking->call.connection;

    if (serve_call_end(&taking->call)) {
        serve_answer_problem(connection, SERVE_KEY_REUSED,
                             "an earlier request with this Idempotency-Key asked for another kind of lock, "
                             "other permits or other names: send a new key",
                             NULL);
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
        if (strcmp(holder.id, report->holder.id) == 0 && serve_key_is_same_lock(&taking->wish, &holder))
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
    serve_late_forget(taking->call.server, node.owner, node.owner_length);
    result = redlock_adopt_async(taking->call.server->client, &spec, node.owner, node.owner_length,
                                 on_taken_again, taking, &taking->call.request);
    if (result != REDLOCK_OK)
        answer_refusal(taking, result, report);
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

    memcpy(&hash, serve_key_digest(&taking->wish), sizeof hash);
    return &taking->call.server->keys[hash % SERVE_KEYS_MAX];
}

static void keep_fence(const struct taking *taking, redlock_lock *lock)
{
    struct serve_key *key = key_place(taking);

    memcpy(key->digest, serve_key_digest(&taking->wish), sizeof key->digest);
    snprintf(key->owner, sizeof key->owner, "%.8s", redlock_lock_owner(lock, NULL));
    key->fence = redlock_lock_fence(lock);
}

static uint64_t recall_fence(const struct taking *taking, const redlock_report *report)
{
    const struct serve_key *key = key_place(taking);
    bool same = memcmp(key->digest, serve_key_digest(&taking->wish), sizeof key->digest) == 0 &&
                strcmp(key->owner, report->holder.id) == 0;

    return same ? key->fence : 0;
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
    serve_turn_leave(taking->call.server, &taking->later);
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

/* It is the first that waits here. */
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

/* Waits in the line of this instance, whose first stands in the line of the nodes. */
static redlock_result wait_for(struct taking *taking)
{
    struct serve_server *server = taking->call.server;

    taking->until_ms = serve_now(server) + taking->wish.wait_ms;
    /* One that wants several names may wait for another one of them: it does not hold up those behind it. */
    if (taking->wish.also_count > 0)
        return ask(taking, taking->wish.wait_ms);
    if (serve_line_join(server, taking->wish.name, taking->wish.name_length, &taking->place, on_first,
                        taking) ||
        taking->place.line == NULL)
        return ask(taking, taking->wish.wait_ms);
    if (start_timer(taking)) {
        serve_events_publish(server, &(struct serve_event){.type = "waiting",
                                                           .name = taking->wish.name,
                                                           .name_length = taking->wish.name_length,
                                                           .session = taking->session,
                                                           .kind = taking->wish.kind,
                                                           .slot = -1});
        return REDLOCK_OK;
    }
    stop_timer(taking);
    serve_line_leave(server, &taking->place);
    return REDLOCK_NOMEM;
}

/* Somebody else has it, or we do by an earlier request, or it is worth waiting now. */
static void go_on_busy(struct taking *taking, redlock_result result, const redlock_report *report)
{
    redlock_client *client = taking->call.server->client;

    bool ours = serve_key_is_same_lock(&taking->wish, &report->holder);

    if (!ours && serve_key_is_same(&taking->wish, &report->holder)) {
        answer_reused(taking);
        return;
    }
    if (ours && (taking->fence = recall_fence(taking, report)) == 0)
        taking->fence = agreed_fence(report);
    if (ours && redlock_inspect_async(client, taking->wish.name, taking->wish.name_length, on_looked_up,
                                      taking, &taking->call.request) == REDLOCK_OK)
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

/* ---- keys that have a record ---- */

static void look_at_record(struct taking *taking);

/* Nobody needs to hear of the end: the client is gone. */
static void abandon(struct taking *taking, redlock_lock *lock)
{
    if (lock != NULL)
        serve_lease_give_back(taking->call.server, lock);
    serve_call_end(&taking->call);
    free(taking->recorded);
    free(taking);
}

/* What was taken goes back, and the request is refused. */
static void refuse_taken(struct taking *taking, redlock_result result, const redlock_report *report)
{
    serve_lease_give_back(taking->call.server, taking->lock);
    taking->lock = NULL;
    answer_refusal(taking, result, report);
}

static void on_recorded(void *context, redlock_result result, redlock_lock *record,
                        const redlock_report *report)
{
    struct taking *taking = context;
    redlock_report first = *report;

    if (taking->call.connection == NULL) {
        if (record != NULL)
            serve_lease_give_back(taking->call.server, record);
        abandon(taking, taking->lock);
    } else if (result == REDLOCK_OK) {
        redlock_lock_free(record); /* it stays at the nodes until its time is over */
        first.granted = taking->granted;
        first.waited_ms = taking->waited_ms;
        answer_lease(taking, taking->lock, &first);
    } else if (result == REDLOCK_BUSY && ++taking->record_tries < RECORD_TRIES) {
        /* Another request with this key has a permit: that one counts. */
        serve_lease_give_back(taking->call.server, taking->lock);
        taking->lock = NULL;
        look_at_record(taking);
    } else
        refuse_taken(taking, result, report);
}

/* The permit was granted: the key is recorded before anybody hears of it. */
static void record(struct taking *taking, redlock_lock *lock, const redlock_report *report)
{
    unsigned char tag[REDLOCK_TAG_MAX];
    char name[SERVE_KEY_NAME_SIZE];
    redlock_spec spec = REDLOCK_SPEC_INIT;

    taking->lock = lock;
    taking->granted = report->granted;
    taking->waited_ms = report->waited_ms;
    serve_key_record_name(&taking->wish, name);
    spec.name = name;
    spec.ttl_ms = taking->call.server->settings->max_ttl_ms;
    spec.why = taking->wish.why;
    spec.tag = tag;
    spec.tag_length = serve_key_record_tag(&taking->wish, lock, tag);
    redlock_result result = redlock_acquire_async(taking->call.server->client, &spec, 0, on_recorded, taking,
                                                  &taking->call.request);
    if (result != REDLOCK_OK)
        refuse_taken(taking, result, report);
}

/* Nothing is recorded under the key: the lock is asked for. */
static void start(struct taking *taking, const redlock_report *report)
{
    redlock_result result = taking->wish.wait_ms > 0 ? wait_for(taking) : ask(taking, 0);

    if (result == REDLOCK_OK)
        return;
    serve_line_leave(taking->call.server, &taking->place);
    answer_refusal(taking, result, report);
}

static void on_record_dropped(void *context, redlock_result result, const redlock_report *report)
{
    struct taking *taking = context;

    (void)result; /* whether it was there is asked again when it is taken */
    if (taking->call.connection == NULL)
        abandon(taking, NULL);
    else
        start(taking, report);
}

/* What was recorded has ended: so does the record. */
static void drop_record(struct taking *taking, const redlock_report *report)
{
    struct serve_recorded *recorded = taking->recorded;
    char name[SERVE_KEY_NAME_SIZE];

    taking->recorded = NULL;
    serve_key_record_name(&taking->wish, name);
    redlock_result result = redlock_release_owner_async(taking->call.server->client, name, 0,
                                                        recorded->record, recorded->record_length,
                                                        on_record_dropped, taking, &taking->call.request);
    free(recorded);
    if (result != REDLOCK_OK)
        answer_refusal(taking, result, report);
}

static void on_resumed(void *context, redlock_result result, redlock_lock *lock, const redlock_report *report)
{
    struct taking *taking = context;

    if (taking->call.connection == NULL) {
        redlock_lock_free(lock);
        abandon(taking, NULL);
    } else if (result == REDLOCK_NOT_HELD || result == REDLOCK_LOST)
        drop_record(taking, report);
    else {
        taking->fence = taking->recorded->fence;
        free(taking->recorded);
        taking->recorded = NULL;
        on_taken_again(taking, result, lock, report);
    }
}

static void on_record_seen(void *context, redlock_result result, const redlock_report *report)
{
    struct taking *taking = context;
    struct serve_recorded *recorded = result == REDLOCK_OK ? malloc(sizeof *recorded) : NULL;
    redlock_spec spec = serve_wish_spec(&taking->wish);

    if (taking->call.connection == NULL) {
        free(recorded);
        abandon(taking, NULL);
    } else if (recorded == NULL)
        answer_refusal(taking, result == REDLOCK_OK ? REDLOCK_NOMEM : result, report);
    else if (!serve_key_recorded(&taking->wish, report, recorded)) {
        free(recorded);
        start(taking, report);
    } else if (!recorded->same_lock) {
        free(recorded);
        answer_reused(taking);
    } else {
        taking->recorded = recorded;
        serve_late_forget(taking->call.server, recorded->owner, recorded->owner_length);
        result = redlock_adopt_async(taking->call.server->client, &spec, recorded->owner,
                                     recorded->owner_length, on_resumed, taking, &taking->call.request);
        if (result == REDLOCK_OK)
            return;
        free(recorded);
        taking->recorded = NULL;
        answer_refusal(taking, result, report);
    }
}

static void look_at_record(struct taking *taking)
{
    struct serve_connection *connection = taking->call.connection;
    char name[SERVE_KEY_NAME_SIZE];

    serve_key_record_name(&taking->wish, name);
    redlock_result result = redlock_inspect_async(taking->call.server->client, name, 0, on_record_seen,
                                                  taking, &taking->call.request);
    if (result == REDLOCK_OK)
        return;
    serve_answer_unbegun(&taking->call, result);
    serve_connection_go_on(connection);
    free(taking);
}

/* ---- the beginning ---- */

static void on_taken(void *context, redlock_result result, redlock_lock *lock, const redlock_report *report)
{
    struct taking *taking = context;
    bool busy = result == REDLOCK_BUSY || result == REDLOCK_TIMEOUT;

    serve_line_leave(taking->call.server, &taking->place);
    if (taking->call.connection == NULL)
        /* The client hung up. What it may have won meanwhile goes to the next one. */
        abandon(taking, lock);
    else if (result == REDLOCK_OK && serve_key_needs_record(&taking->wish))
        record(taking, lock, report);
    else if (result == REDLOCK_OK) {
        if (taking->wish.tag_length > 0)
            keep_fence(taking, lock);
        answer_lease(taking, lock, report);
    } else if (busy && taking->wish.tag_length > 0)
        go_on_busy(taking, result, report);
    else
        answer_refusal(taking, result, report);
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
    struct taking *taking = context;
    struct serve_connection *connection = taking->call.connection;
    bool waits = taking->wish.wait_ms > 0 && taking->wish.tag_length == 0;

    taking->call.dismiss = NULL;
    redlock_result result = waits ? wait_for(taking) : ask(taking, 0);
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
    struct taking *taking;
    char words[WORDS_SIZE];

    if (!serve_name_check(exchange, exchange->name) || !serve_body_text(exchange, "why", 100, &why) ||
        !serve_body_text(exchange, "session", 32, &session) || !serve_which_of_body(exchange, &which))
        return;
    why = words_of(exchange, session, why, words);
    taking = serve_wish_new(exchange, &which, why, sizeof *taking, offsetof(struct taking, wish));
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
    taking->call.cancelable = true;
    serve_call_begin(&taking->call, exchange->connection, waits);
    if (serve_key_needs_record(&taking->wish)) {
        taking->tried = true;
        look_at_record(taking);
        return;
    }
    taking->call.dismiss = on_dismissed;
    serve_turn_add(exchange->server, &taking->later, begin, taking);
}
