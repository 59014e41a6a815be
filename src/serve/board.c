/*
 * The board; see board.h. A look has three parts, one after the other: how the nodes are, which locks there
 * are, and which callers wait for those that somebody waits for. Its outcome is compared with that of the
 * look before, and each watcher gets what changed.
 */
#include "serve/board.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "serve/events.h"
#include "serve/json.h"
#include "serve/line.h"
#include "serve/lock_name.h"
#include "serve/which.h"

#define LOCKS_MAX 20000   /* more are not shown, which is said */
#define CONTENDED_MAX 40  /* names whose waiters are looked up in one look */
#define BACKLOG_MAX 65536 /* bytes on their way to a watcher that do not keep it from being told more */
#define SAME_END_MS 400   /* an expiry that moved by less is the same: clocks and networks wobble */
#define REST_SHARE 3 /* it rests three times as long as a look took, so that large fleets are not kept busy */

struct watcher {
    struct watcher *next;
    struct serve_connection *connection;
    const struct serve_principal *principal;
    bool told; /* it has had the state */
};

struct serve_board {
    struct serve_server *server;
    struct watcher *watchers;
    json_t *locks, *seen; /* by name: as told, and as the look under way has found them */
    json_t *nodes, *fleet;
    size_t asked; /* names whose waiters were looked up in this look */
    bool looking, truncated, complete;
    int64_t began_ms, next_ms;
};

static void look_done(struct serve_board *board);

static int64_t wall_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- nodes --------------------------------------------------------------------------------------------- */

static const char *state_word(const redlock_node_report *node)
{
    if (node->verdict == REDLOCK_VERDICT_SILENT || node->verdict == REDLOCK_VERDICT_FAILED ||
        node->verdict == REDLOCK_VERDICT_PENDING)
        return "down";
    if (node->eligible)
        return "up";
    return node->cause == REDLOCK_CAUSE_QUARANTINE ? "quarantined" : "ineligible";
}

static json_t *json_board_node(const struct serve_board *board, uint32_t number,
                               const redlock_node_report *node)
{
    redlock_node_stats stats = REDLOCK_NODE_STATS_INIT;
    json_t *object = json_pack("{s:o, s:s}", "url", serve_json_text(node->url, strlen(node->url)), "state",
                               state_word(node));

    if (node->cause != REDLOCK_CAUSE_NONE)
        json_object_set_new(object, "cause", json_string(redlock_cause_name(node->cause)));
    if (node->detail[0] != '\0')
        json_object_set_new(object, "detail", serve_json_text(node->detail, strlen(node->detail)));
    if (node->latency_us >= 0)
        json_object_set_new(object, "latency_us", json_integer(node->latency_us));
    if (node->eligible_in_ms > 0)
        json_object_set_new(object, "eligible_at_ms", json_integer(wall_ms() + node->eligible_in_ms));
    if (redlock_client_node_stats(board->server->client, number, &stats) != REDLOCK_OK)
        return object;
    if (stats.clock_offset_us != INT64_MIN)
        json_object_set_new(object, "clock_offset_us", json_integer(stats.clock_offset_us));
    json_object_set_new(object, "failures",
                        json_integer((json_int_t)(stats.failed + stats.silent + stats.ineligible)));
    return object;
}

static void take_nodes(struct serve_board *board, const redlock_report *report)
{
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;
    redlock_stats stats = REDLOCK_STATS_INIT;
    json_t *list = json_array();

    for (uint32_t i = 0; redlock_report_node(report, i, &node); i++)
        json_array_append_new(list, json_board_node(board, i, &node));
    json_decref(board->nodes);
    board->nodes = list;
    (void)redlock_client_stats(board->server->client, &stats);
    json_decref(board->fleet);
    board->fleet = json_pack("{s:i, s:i, s:I, s:I, s:i}", "quorum", (int)report->quorum, "eligible",
                             (int)report->eligible, "acquired", (json_int_t)stats.acquired, "lost",
                             (json_int_t)stats.lost, "requests_waiting", (int)board->server->waiting);
}

/* ---- locks --------------------------------------------------------------------------------------------- */

/* One hold of a lock: of the lock itself, of a slot. */
static void describe_hold(json_t *object, const redlock_listed *lock)
{
    json_object_set_new(object, "holder", serve_json_holder(&lock->holder));
    json_object_set_new(object, "votes", json_integer(lock->votes));
    json_object_del(object, "ends_ms");
    json_object_del(object, "broken");
    if (lock->ttl_left_ms >= 0)
        json_object_set_new(object, "ends_ms", json_integer(wall_ms() + lock->ttl_left_ms));
    if (lock->holder.broken)
        json_object_set_new(object, "broken", json_true());
}

static json_t *new_entry(const struct serve_board *board, const redlock_listed *lock)
{
    size_t behind = serve_line_behind(board->server, lock->name, lock->name_length);
    json_t *entry = json_pack("{s:s, s:i, s:i}", "kind", serve_kind_word(lock->kind), "nodes",
                              (int)lock->node_count, "waiting", (int)(lock->waiting + behind));

    describe_hold(entry, lock);
    if (lock->fence != 0)
        json_object_set_new(entry, "fence", json_integer((json_int_t)lock->fence));
    if (lock->kind != REDLOCK_SEMAPHORE)
        return entry;
    json_object_set_new(entry, "permits", json_integer(lock->holder.permits));
    json_object_set_new(entry, "slots", json_object());
    json_object_set_new(entry, "first", json_integer(lock->holder.slot));
    return entry;
}

/* Slots come one by one, in any order; what is said of the semaphore itself is that of the first. */
static void add_slot(json_t *entry, const redlock_listed *lock)
{
    json_t *slot = json_object();
    char number[16];

    snprintf(number, sizeof number, "%u", lock->holder.slot);
    describe_hold(slot, lock);
    json_object_set_new(json_object_get(entry, "slots"), number, slot);
    if ((json_int_t)lock->holder.slot > json_integer_value(json_object_get(entry, "first")))
        return;
    json_object_set_new(entry, "first", json_integer(lock->holder.slot));
    describe_hold(entry, lock);
}

static int on_listed(void *context, const redlock_listed *lock)
{
    struct serve_board *board = context;

    if (board->server->stopping)
        return 1;
    if (json_object_size(board->seen) >= LOCKS_MAX) {
        board->truncated = true;
        return 1;
    }
    if (serve_name_is_record(lock->name, lock->name_length))
        return 0;
    /* A name is any bytes; the board knows it by what can be shown. */
    json_t *name = serve_json_text(lock->name, lock->name_length);
    json_t *entry = json_object_get(board->seen, json_string_value(name));
    if (entry == NULL || json_object_get(entry, "slots") == NULL) {
        entry = new_entry(board, lock);
        json_object_set_new(board->seen, json_string_value(name), entry);
    }
    if (lock->kind == REDLOCK_SEMAPHORE)
        add_slot(entry, lock);
    json_decref(name);
    return 0;
}

/* ---- waiters ------------------------------------------------------------------------------------------- */

static void ask_waiters(struct serve_board *board);

struct waiters_question {
    struct serve_board *board;
    json_t *entry;
};

/* By id, since nodes name them in any order. */
static void describe_sharers(json_t *entry, const redlock_report *report)
{
    json_t *sharing = json_object();
    redlock_holder sharer;

    for (uint32_t i = 0; redlock_report_sharer(report, i, &sharer); i++) {
        json_t *holder = serve_json_holder(&sharer);
        json_object_set_new(sharing, json_string_value(json_object_get(holder, "id")), holder);
    }
    json_object_set_new(entry, "sharers", json_integer(report->sharers));
    json_object_set_new(entry, "sharing", sharing);
}

static void on_waiters(void *context, redlock_result result, const redlock_report *report)
{
    struct waiters_question *question = context;
    struct serve_board *board = question->board;

    board->server->outstanding--;
    if (result == REDLOCK_OK && report->waiter_count > 0)
        json_object_set_new(question->entry, "waiters", serve_json_waiters(report));
    if (result == REDLOCK_OK && report->sharers > 0)
        describe_sharers(question->entry, report);
    json_decref(question->entry);
    free(question);
    ask_waiters(board);
}

/* The next name, in the order of the table, that somebody waits for or several may share, and that was not
 * asked about yet in this look. */
static const char *next_contended(struct serve_board *board, json_t **entry)
{
    const char *name;

    json_object_foreach(board->seen, name, *entry)
    {
        bool waited = json_integer_value(json_object_get(*entry, "waiting")) > 0;
        bool shared = strcmp(json_string_value(json_object_get(*entry, "kind")), "shared") == 0;
        if ((waited || shared) && json_object_get(*entry, "asked") == NULL)
            return name;
    }
    return NULL;
}

static void ask_waiters(struct serve_board *board)
{
    struct waiters_question *question;
    redlock_request request;
    json_t *entry = NULL;
    const char *name =
        board->server->stopping || board->asked >= CONTENDED_MAX ? NULL : next_contended(board, &entry);

    if (name == NULL || (question = malloc(sizeof *question)) == NULL) {
        look_done(board);
        return;
    }
    board->asked++;
    json_object_set_new(entry, "asked", json_true());
    *question = (struct waiters_question){board, json_incref(entry)};
    if (redlock_inspect_async(board->server->client, name, 0, on_waiters, question, &request) == REDLOCK_OK) {
        board->server->outstanding++;
        return;
    }
    json_decref(entry);
    free(question);
    look_done(board);
}

/* ---- telling ------------------------------------------------------------------------------------------- */

static bool may_see(const struct watcher *watcher, const char *name)
{
    return serve_principal_may_name(watcher->principal, name, strlen(name));
}

/* What this watcher may see of a table. */
static json_t *visible(const struct watcher *watcher, json_t *locks)
{
    json_t *part = json_object(), *entry;
    const char *name;

    json_object_foreach(locks, name, entry)
    {
        if (may_see(watcher, name))
            json_object_set(part, name, entry);
    }
    return part;
}

/* A watcher that is slow to read misses changes, and gets the state again once it has read what is on its
 * way. */
static bool is_behind(const struct watcher *watcher)
{
    return evbuffer_get_length(bufferevent_get_output(watcher->connection->buffer)) > BACKLOG_MAX;
}

static void tell(struct serve_board *board, struct watcher *watcher, json_t *changes)
{
    if (is_behind(watcher)) {
        watcher->told = false;
        return;
    }
    json_t *locks = visible(watcher, watcher->told ? changes : board->locks);
    json_t *data = json_pack("{s:I, s:O, s:O, s:b, s:b, s:o}", "at_ms", (json_int_t)wall_ms(), "nodes",
                             board->nodes, "fleet", board->fleet, "complete", (int)board->complete,
                             "truncated", (int)board->truncated, "locks", locks);

    if (data != NULL && !watcher->told) {
        json_object_set_new(data, "instance", json_string(board->server->id));
        json_object_set_new(data, "version", json_string(redlock_version()));
        json_object_set_new(
            data, "may_break",
            json_boolean(board->server->settings->may_break && watcher->principal->role >= SERVE_ADMIN));
    }
    serve_events_write(watcher->connection, NULL, watcher->told ? "change" : "state", data);
    watcher->told = true;
}

/* An expiry that only wobbled is the one that was told. */
static void keep_end(json_t *old, json_t *new)
{
    json_t *before = json_object_get(old, "ends_ms"), *after = json_object_get(new, "ends_ms");

    if (before != NULL && after != NULL &&
        llabs(json_integer_value(before) - json_integer_value(after)) <= SAME_END_MS)
        json_object_set(new, "ends_ms", before);
}

/* True when nothing else is different either. */
static bool is_same(json_t *old, json_t *new)
{
    json_t *slots = json_object_get(new, "slots"), *slot;
    const char *number;

    json_object_del(new, "asked");
    json_object_del(new, "first");
    keep_end(old, new);
    json_object_foreach(slots, number, slot)
        keep_end(json_object_get(json_object_get(old, "slots"), number), slot);
    return old != NULL && json_equal(old, new);
}

/* Name: how it is now, or null when it is gone. */
static json_t *compare(struct serve_board *board)
{
    json_t *changes = json_object(), *entry;
    const char *name;

    json_object_foreach(board->seen, name, entry)
    {
        if (!is_same(json_object_get(board->locks, name), entry))
            json_object_set(changes, name, entry);
    }
    json_object_foreach(board->locks, name, entry)
    {
        if (json_object_get(board->seen, name) == NULL)
            json_object_set_new(changes, name, json_null());
    }
    return changes;
}

/* ---- a look -------------------------------------------------------------------------------------------- */

static void look_done(struct serve_board *board)
{
    int64_t now_ms = serve_now(board->server);

    /* Too few nodes answered: what was found is not all there is, and what is missing may be there. */
    if (!board->complete && board->locks != NULL)
        json_object_update_missing(board->seen, board->locks);
    json_t *changes = compare(board);
    json_decref(board->locks);
    board->locks = board->seen;
    board->seen = NULL;
    for (struct watcher *each = board->watchers; each != NULL; each = each->next)
        tell(board, each, changes);
    json_decref(changes);
    board->looking = false;
    board->next_ms = now_ms + REST_SHARE * (now_ms - board->began_ms);
}

static void on_all_listed(void *context, redlock_result result, const redlock_report *report)
{
    struct serve_board *board = context;

    (void)report;
    board->server->outstanding--;
    board->complete = result == REDLOCK_OK || board->truncated;
    ask_waiters(board);
}

static void on_nodes(void *context, redlock_result result, const redlock_report *report)
{
    struct serve_board *board = context;
    redlock_list_spec spec = REDLOCK_LIST_SPEC_INIT;
    redlock_request request;

    (void)result;
    board->server->outstanding--;
    take_nodes(board, report);
    if (!board->server->stopping && redlock_list_async(board->server->client, &spec, on_listed, on_all_listed,
                                                       board, &request) == REDLOCK_OK) {
        board->server->outstanding++;
        return;
    }
    board->complete = false;
    look_done(board);
}

static void look(struct serve_board *board)
{
    redlock_request request;

    board->seen = json_object();
    board->asked = 0;
    board->truncated = false;
    board->began_ms = serve_now(board->server);
    if (board->seen == NULL ||
        redlock_inspect_async(board->server->client, NULL, 0, on_nodes, board, &request) != REDLOCK_OK) {
        json_decref(board->seen);
        board->seen = NULL;
        return;
    }
    board->looking = true;
    board->server->outstanding++;
}

void serve_board_tick(struct serve_server *server)
{
    struct serve_board *board = server->board;

    if (board == NULL || server->stopping)
        return;
    for (struct watcher *each = board->watchers; each != NULL && board->locks != NULL; each = each->next)
        if (!each->told)
            tell(board, each, NULL);
    if (board->looking || serve_now(server) < board->next_ms)
        return;
    if (board->watchers != NULL)
        look(board);
    else {
        /* What is known grows old: the next watcher gets a fresh look. */
        json_decref(board->locks);
        board->locks = NULL;
    }
}

/* ---- watchers ------------------------------------------------------------------------------------------ */

static void leave(void *attachment)
{
    struct watcher *watcher = attachment;
    struct watcher **place = &watcher->connection->server->board->watchers;

    while (*place != watcher)
        place = &(*place)->next;
    *place = watcher->next;
    free(watcher);
}

void serve_board_watch(struct serve_exchange *exchange)
{
    struct serve_server *server = exchange->server;
    struct watcher *watcher = calloc(1, sizeof *watcher);

    if (server->board == NULL && (server->board = calloc(1, sizeof *server->board)) != NULL)
        server->board->server = server;
    if (watcher == NULL || server->board == NULL) {
        free(watcher);
        serve_answer_problem(exchange->connection, SERVE_OUT_OF_MEMORY, "no memory for a stream", NULL);
        return;
    }
    *watcher = (struct watcher){.next = server->board->watchers,
                                .connection = exchange->connection,
                                .principal = exchange->principal};
    server->board->watchers = watcher;
    exchange->connection->attachment = watcher;
    exchange->connection->detach = leave;
    serve_answer_stream(exchange->connection);
    bufferevent_write(exchange->connection->buffer, "retry: 1000\n\n", 13);
    /* What is known already it is told within a second, outside of its turn: that may be more than an answer
     * may have. */
    if (server->board->locks == NULL && !server->board->looking)
        look(server->board);
}

void serve_board_free(struct serve_server *server)
{
    struct serve_board *board = server->board;

    if (board == NULL)
        return;
    json_decref(board->locks);
    json_decref(board->seen);
    json_decref(board->nodes);
    json_decref(board->fleet);
    free(board);
    server->board = NULL;
}
