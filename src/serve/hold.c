/*
 * GET /v1/locks/{name}/hold; see hold.h. The loop itself renews: when it hangs, the lock ends by its TTL, and
 * nobody was told otherwise.
 */
#include "serve/hold.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/body.h"
#include "serve/events.h"
#include "serve/json.h"
#include "serve/lease.h"
#include "serve/lock_name.h"
#include "serve/wish.h"

struct serve_hold {
    struct serve_call call; /* while it is being taken */
    struct serve_wish wish;
    struct serve_hold *next, *previous; /* once it is held */
    struct serve_connection *connection;
    redlock_lock *lock;
    struct event *timer; /* for the next renewal, or the end */
    int64_t max_hold_ms, ends_ms;
    bool renewing, gone; /* gone: to be freed when the renewal has ended */
};

/* ---- its end ------------------------------------------------------------------------------------------- */

static void unlink_hold(struct serve_hold *hold)
{
    if (hold->next != NULL)
        hold->next->previous = hold->previous;
    if (hold->previous != NULL)
        hold->previous->next = hold->next;
    else
        hold->call.server->holds = hold->next;
}

static void free_hold(struct serve_hold *hold)
{
    if (hold->timer != NULL)
        event_free(hold->timer);
    hold->timer = NULL;
    if (hold->lock != NULL)
        serve_lease_give_back(hold->call.server, hold->lock);
    free(hold);
}

/* The connection is closed: so is the lock. */
static void on_detached(void *attachment)
{
    struct serve_hold *hold = attachment;

    unlink_hold(hold);
    hold->connection = NULL;
    hold->gone = true;
    if (hold->lock != NULL && redlock_lock_validity_ms(hold->lock) > 0)
        serve_lease_tell(hold->call.server, "released", hold->lock, hold->wish.kind, NULL);
    if (!hold->renewing)
        free_hold(hold);
    else
        event_del(hold->timer);
}

/* Says a last word, and closes the stream when it is written. The lock is given back when the connection
 * goes. */
static void finish(struct serve_hold *hold, const char *type, const char *detail)
{
    serve_events_write(hold->connection, NULL, type,
                       json_pack("{s:s, s:s, s:I}", "type", type, "detail", detail, "validity_ms",
                                 (json_int_t)redlock_lock_validity_ms(hold->lock)));
    event_del(hold->timer);
    serve_connection_finish(hold->connection);
}

/* ---- renewal ------------------------------------------------------------------------------------------- */

static void set_timer(struct serve_hold *hold)
{
    int64_t left_ms = redlock_lock_validity_ms(hold->lock), now_ms = serve_now(hold->call.server);
    int64_t span_ms = left_ms < hold->wish.ttl_ms / 2 ? left_ms / 4 : hold->wish.ttl_ms / 3;

    if (span_ms > hold->ends_ms - now_ms)
        span_ms = hold->ends_ms - now_ms;
    span_ms = span_ms < 1 ? 1 : span_ms;
    event_add(hold->timer, &(struct timeval){span_ms / 1000, span_ms % 1000 * 1000});
}

static void on_renewed(void *context, redlock_result result, const redlock_report *report)
{
    struct serve_hold *hold = context;

    hold->renewing = false;
    hold->call.server->outstanding--;
    if (hold->gone) {
        free_hold(hold);
        return;
    }
    if (redlock_lock_validity_ms(hold->lock) == 0) {
        serve_lease_tell(hold->call.server, "lost", hold->lock, hold->wish.kind, NULL);
        finish(hold, "lost", report->line);
        return;
    }
    if (result == REDLOCK_OK) {
        serve_lease_tell(hold->call.server, "renewed", hold->lock, hold->wish.kind, NULL);
        serve_events_write(hold->connection, NULL, "renewed",
                           json_pack("{s:s, s:I}", "type", "renewed", "validity_ms",
                                     (json_int_t)redlock_lock_validity_ms(hold->lock)));
    }
    set_timer(hold);
}

static void on_timer(evutil_socket_t socket, short what, void *context)
{
    struct serve_hold *hold = context;
    redlock_request request;

    (void)socket;
    (void)what;
    if (hold->connection->state != SERVE_STREAMING)
        return;
    if (serve_now(hold->call.server) >= hold->ends_ms) {
        finish(hold, "ended", "max_hold_ms is over");
        return;
    }
    hold->renewing = true;
    hold->call.server->outstanding++;
    if (redlock_extend_async(hold->lock, 0, on_renewed, hold, &request) == REDLOCK_OK)
        return;
    hold->renewing = false;
    hold->call.server->outstanding--;
    serve_lease_tell(hold->call.server, "lost", hold->lock, hold->wish.kind, NULL);
    finish(hold, "lost", "the lease has ended");
}

/* ---- its beginning ------------------------------------------------------------------------------------- */

static void begin(struct serve_hold *hold, redlock_lock *lock, const redlock_report *report)
{
    struct serve_connection *connection = hold->call.connection;
    struct serve_server *server = hold->call.server;

    serve_call_end(&hold->call);
    hold->connection = connection;
    hold->lock = lock;
    hold->ends_ms = serve_now(server) + hold->max_hold_ms;
    hold->next = server->holds;
    if (hold->next != NULL)
        hold->next->previous = hold;
    server->holds = hold;
    connection->attachment = hold;
    connection->detach = on_detached;
    serve_answer_stream(connection);
    serve_events_write(connection, NULL, "acquired",
                       serve_lease_json(lock, report, hold->wish.kind, hold->wish.permits));
    serve_lease_tell(server, "acquired", lock, hold->wish.kind, NULL);
    set_timer(hold);
    serve_connection_go_on(connection);
}

static void on_taken(void *context, redlock_result result, redlock_lock *lock, const redlock_report *report)
{
    struct serve_hold *hold = context;
    struct serve_connection *connection = hold->call.connection;

    if (connection != NULL && result == REDLOCK_OK) {
        begin(hold, lock, report);
        return;
    }
    hold->lock = lock;
    if (serve_call_end(&hold->call)) {
        if (result == REDLOCK_CANCELED)
            serve_answer_problem(connection, SERVE_STOPPING, "this instance is stopping", NULL);
        else
            serve_answer_report(connection, serve_problem_of(result), report, NULL);
        serve_connection_go_on(connection);
    }
    free_hold(hold);
}

static bool read_number(struct serve_exchange *exchange, const char *name, int64_t least, int64_t most,
                        int64_t missing, int64_t *number)
{
    struct serve_text text = serve_target_parameter(exchange->target, name);
    char detail[160];
    bool wrong = text.length == 0 || text.length > 12;

    *number = text.bytes == NULL ? missing : 0;
    for (size_t i = 0; text.bytes != NULL && !wrong && i < text.length; i++) {
        wrong = text.bytes[i] < '0' || text.bytes[i] > '9';
        *number = *number * 10 + (text.bytes[i] - '0');
    }
    if ((text.bytes == NULL && missing >= 0) || (!wrong && *number >= least && *number <= most))
        return true;
    snprintf(detail, sizeof detail, "%s in the query is %s: it is a whole number from %lld to %lld", name,
             text.bytes == NULL ? "missing" : "wrong", (long long)least, (long long)most);
    serve_answer_problem(exchange->connection, SERVE_INVALID, detail, NULL);
    return false;
}

static bool read_wish(struct serve_exchange *exchange, struct serve_hold *hold)
{
    const struct serve_settings *settings = exchange->server->settings;
    uint32_t most = settings->max_ttl_ms;
    int64_t ttl_ms = 0;

    if (!read_number(exchange, "max_hold_ms", 1, settings->max_hold_ms, -1, &hold->max_hold_ms) ||
        !read_number(exchange, "ttl_ms", REDLOCK_TTL_MIN_MS, most,
                     SERVE_DEFAULT_TTL_MS < most ? SERVE_DEFAULT_TTL_MS : most, &ttl_ms) ||
        !read_number(exchange, "wait_ms", 0, settings->max_wait_ms, 0, &hold->wish.wait_ms))
        return false;
    hold->wish.ttl_ms = (uint32_t)ttl_ms;
    if (serve_may_wait(exchange->server))
        return true;
    serve_answer_problem(exchange->connection, SERVE_TOO_MANY,
                         "as many requests wait here as this instance allows", NULL);
    return false;
}

static bool read_why(struct serve_exchange *exchange, char why[101])
{
    struct serve_text text = serve_target_parameter(exchange->target, "why");

    if (text.length > 100 || !serve_text_is_clean(text)) {
        serve_answer_problem(exchange->connection, SERVE_INVALID,
                             "why in the query is not a text of at most 100 bytes without control characters",
                             NULL);
        return false;
    }
    snprintf(why, 101, "%.*s", (int)text.length, text.length == 0 ? "" : text.bytes);
    return true;
}

void serve_hold_open(struct serve_exchange *exchange)
{
    struct serve_hold *hold;
    struct serve_which which;
    char why[101];

    if (!serve_name_check(exchange, exchange->name) || !read_why(exchange, why) ||
        !serve_which_of_query(exchange, &which))
        return;
    hold = serve_wish_new(exchange, &which, why[0] == '\0' ? NULL : why, sizeof *hold,
                          offsetof(struct serve_hold, wish));
    if (hold == NULL)
        return;
    if (!read_wish(exchange, hold)) {
        free(hold);
        return;
    }
    hold->timer = evtimer_new(exchange->server->base, on_timer, hold);
    hold->call.cancelable = true;
    redlock_spec spec = serve_wish_spec(&hold->wish);
    serve_call_begin(&hold->call, exchange->connection, hold->wish.wait_ms > 0);
    redlock_result result = hold->timer == NULL
                                ? REDLOCK_NOMEM
                                : redlock_acquire_async(exchange->server->client, &spec, hold->wish.wait_ms,
                                                        on_taken, hold, &hold->call.request);
    if (result == REDLOCK_OK)
        return;
    serve_call_end(&hold->call);
    serve_answer_problem(exchange->connection, serve_problem_of(result), redlock_result_name(result), NULL);
    free_hold(hold);
}

void serve_holds_stop(struct serve_server *server)
{
    for (struct serve_hold *each = server->holds, *next; each != NULL; each = next) {
        next = each->next;
        if (each->connection->state != SERVE_STREAMING)
            continue;
        finish(each, "stopping", "this instance is stopping: go on with PATCH and your token at another one");
        /* Not given back: the client may rely on it until it ends. */
        if (!each->renewing) {
            redlock_lock_free(each->lock);
            each->lock = NULL;
        }
    }
}
