/*
 * Lists and breaks; see operating.h. A page of a list is the first so many names behind a given one: each
 * walks through the nodes anew, and keeps no more than it answers.
 */
#include "serve/operating.h"

#include <stdlib.h>
#include <string.h>

#include "serve/body.h"
#include "serve/events.h"
#include "serve/json.h"
#include "serve/lock_name.h"
#include "serve/which.h"
#include "serve/wish.h"

#define LISTS_MAX 4 /* at once: each has the nodes walk through all their keys */
#define LIMIT_DEFAULT 100
#define LIMIT_MAX 1000
#define GRACE_MAX_MS 86400000
#define REASON_MAX 50

static void refuse(struct serve_exchange *exchange, enum serve_problem problem, const char *detail)
{
    serve_answer_problem(exchange->connection, problem, detail, NULL);
}

/* ---- lists --------------------------------------------------------------------------------------------- */

struct found {
    json_t *lock;
    size_t length;
    char *name;
};

struct list {
    struct serve_call call;
    const struct serve_principal *principal;
    struct found *found; /* in the order of their names; limit + 1 of them fit */
    size_t count, limit;
    bool only_broken, no_memory;
    size_t after_length;
    char *after;
    char texts[]; /* the glob, and after */
};

static int compare(const char *one, size_t one_length, const char *other, size_t other_length)
{
    int order = memcmp(one, other, one_length < other_length ? one_length : other_length);

    return order != 0 ? order : (one_length > other_length) - (one_length < other_length);
}

static json_t *json_listed(const redlock_listed *lock)
{
    json_t *object = json_pack(
        "{s:o, s:s, s:s, s:o, s:i, s:i, s:i, s:i}", "name", serve_json_text(lock->name, lock->name_length),
        "kind", serve_kind_word(lock->kind), "state", lock->holder.broken ? "broken" : "held", "holder",
        serve_json_holder(&lock->holder), "votes", (int)lock->votes, "nodes", (int)lock->node_count, "quorum",
        (int)lock->quorum, "waiting", (int)lock->waiting);

    if (object != NULL && lock->ttl_left_ms >= 0)
        json_object_set_new(object, "holder_ttl_left_ms", json_integer(lock->ttl_left_ms));
    if (object != NULL && lock->fence != 0)
        json_object_set_new(object, "fence", json_integer((json_int_t)lock->fence));
    if (object != NULL && lock->kind == REDLOCK_SEMAPHORE) {
        json_object_set_new(object, "permits", json_integer(lock->holder.permits));
        json_object_set_new(object, "slots", json_array());
    }
    return object;
}

static void add_slot(json_t *object, const redlock_listed *lock)
{
    redlock_slot slot = {.size = sizeof slot,
                         .slot = lock->holder.slot,
                         .votes = lock->votes,
                         .ttl_left_ms = lock->ttl_left_ms,
                         .holder = lock->holder};

    serve_json_add_slot(json_object_get(object, "slots"), &slot);
}

static void drop(struct found *found)
{
    json_decref(found->lock);
    free(found->name);
}

/* Puts it where its name belongs, if it is among the first ones: one more than is wanted shows that there are
 * more. */
static bool insert(struct list *list, const redlock_listed *lock)
{
    size_t place = list->count;
    struct found found = {
        .lock = json_listed(lock), .length = lock->name_length, .name = malloc(lock->name_length)};

    if (found.lock == NULL || found.name == NULL) {
        drop(&found);
        return false;
    }
    if (lock->kind == REDLOCK_SEMAPHORE)
        add_slot(found.lock, lock);
    memcpy(found.name, lock->name, lock->name_length);
    while (place > 0 &&
           compare(found.name, found.length, list->found[place - 1].name, list->found[place - 1].length) < 0)
        place--;
    if (list->count == list->limit + 1)
        drop(&list->found[--list->count]);
    memmove(&list->found[place + 1], &list->found[place], (list->count - place) * sizeof *list->found);
    list->found[place] = found;
    list->count++;
    return true;
}

static bool is_wanted(const struct list *list, const redlock_listed *lock)
{
    const struct found *last = &list->found[list->limit];

    if (!serve_text_is_clean((struct serve_text){lock->name, lock->name_length}) ||
        !serve_principal_may_name(list->principal, lock->name, lock->name_length))
        return false;
    if (serve_name_is_record(lock->name, lock->name_length) || (list->only_broken && !lock->holder.broken))
        return false;
    if (list->after != NULL && compare(lock->name, lock->name_length, list->after, list->after_length) <= 0)
        return false;
    return list->count <= list->limit || compare(lock->name, lock->name_length, last->name, last->length) < 0;
}

/* The entry of a semaphore of which another slot was listed before; NULL none. Linear: a page has at most
 * 1001 entries. */
static struct found *find_semaphore(struct list *list, const redlock_listed *lock)
{
    for (size_t i = 0; i < list->count && lock->kind == REDLOCK_SEMAPHORE; i++)
        if (compare(list->found[i].name, list->found[i].length, lock->name, lock->name_length) == 0)
            return &list->found[i];
    return NULL;
}

static int on_listed(void *context, const redlock_listed *lock)
{
    struct list *list = context;
    struct found *semaphore;

    if (!is_wanted(list, lock))
        return 0;
    semaphore = find_semaphore(list, lock);
    if (semaphore != NULL)
        add_slot(semaphore->lock, lock);
    else if (!insert(list, lock))
        list->no_memory = true;
    return list->no_memory;
}

static void free_list(struct list *list)
{
    for (size_t i = 0; i < list->count; i++)
        drop(&list->found[i]);
    free(list->found);
    free(list);
}

static json_t *json_page(const struct list *list)
{
    size_t shown = list->count < list->limit ? list->count : list->limit;
    json_t *locks = json_array(), *page = json_pack("{s:o}", "locks", locks);

    for (size_t i = 0; i < shown; i++)
        json_array_append(locks, list->found[i].lock);
    if (list->count > list->limit)
        json_object_set_new(page, "next",
                            json_stringn(list->found[shown - 1].name, list->found[shown - 1].length));
    return page;
}

static void on_all_listed(void *context, redlock_result result, const redlock_report *report)
{
    struct list *list = context;
    struct serve_connection *connection = list->call.connection;

    list->call.server->lists--;
    if (serve_call_end(&list->call)) {
        if (list->no_memory)
            serve_answer_problem(connection, SERVE_OUT_OF_MEMORY, "the list does not fit", NULL);
        else if (result == REDLOCK_OK)
            serve_answer_json(connection, 200, json_page(list), NULL);
        else
            serve_answer_report(connection, serve_problem_of(result), report, NULL);
        serve_connection_go_on(connection);
    }
    free_list(list);
}

/* False after having refused the request. */
static bool read_limit(struct serve_exchange *exchange, size_t *limit)
{
    struct serve_text text = serve_target_parameter(exchange->target, "limit");
    size_t number = 0;

    *limit = LIMIT_DEFAULT;
    if (text.bytes == NULL)
        return true;
    for (size_t i = 0; i < text.length; i++) {
        if (text.bytes[i] < '0' || text.bytes[i] > '9' || number > LIMIT_MAX) {
            number = 0;
            break;
        }
        number = number * 10 + (size_t)(text.bytes[i] - '0');
    }
    *limit = number;
    if (number >= 1 && number <= LIMIT_MAX)
        return true;
    refuse(exchange, SERVE_INVALID, "limit is not a number from 1 to 1000");
    return false;
}

static bool read_state(struct serve_exchange *exchange, bool *only_broken)
{
    struct serve_text text = serve_target_parameter(exchange->target, "state");

    *only_broken = text.bytes != NULL && text.length == 6 && memcmp(text.bytes, "broken", 6) == 0;
    if (text.bytes == NULL || *only_broken || (text.length == 4 && memcmp(text.bytes, "held", 4) == 0))
        return true;
    refuse(exchange, SERVE_INVALID, "state is neither held nor broken");
    return false;
}

/* A glob in which the prefix stands for itself alone; returns its length. */
static size_t write_glob(char *glob, struct serve_text prefix)
{
    static const char special[] = {'*', '?', '[', ']', '\\', '^', '-'};
    size_t length = 0;

    for (size_t i = 0; i < prefix.length; i++) {
        if (memchr(special, prefix.bytes[i], sizeof special) != NULL)
            glob[length++] = '\\';
        glob[length++] = prefix.bytes[i];
    }
    glob[length++] = '*';
    return length;
}

static struct list *new_list(struct serve_exchange *exchange, struct serve_text prefix,
                             struct serve_text after, redlock_list_spec *spec)
{
    struct list *list = calloc(1, sizeof *list + 2 * prefix.length + 1 + after.length);

    if (list == NULL)
        return NULL;
    spec->glob = list->texts;
    spec->glob_length = write_glob(list->texts, prefix);
    if (after.bytes != NULL) {
        list->after = list->texts + spec->glob_length;
        list->after_length = after.length;
        memcpy(list->after, after.bytes, after.length);
    }
    list->principal = exchange->principal;
    return list;
}

static redlock_result begin_list(struct serve_exchange *exchange, struct list *list,
                                 const redlock_list_spec *spec)
{
    list->found = calloc(list->limit + 2, sizeof *list->found);
    if (list->found == NULL)
        return REDLOCK_NOMEM;
    serve_call_begin(&list->call, exchange->connection, false);
    list->call.cancelable = true;
    exchange->server->lists++;
    return redlock_list_async(exchange->server->client, spec, on_listed, on_all_listed, list,
                              &list->call.request);
}

void serve_operating_list(struct serve_exchange *exchange)
{
    struct serve_text prefix = serve_target_parameter(exchange->target, "prefix");
    struct serve_text after = serve_target_parameter(exchange->target, "after");
    redlock_list_spec spec = REDLOCK_LIST_SPEC_INIT;
    redlock_result result = REDLOCK_NOMEM;
    bool only_broken;
    struct list *list;
    size_t limit;

    if (!read_limit(exchange, &limit) || !read_state(exchange, &only_broken))
        return;
    if (prefix.length > REDLOCK_NAME_MAX / 2) {
        refuse(exchange, SERVE_INVALID, "prefix is longer than 512 bytes");
        return;
    }
    if (after.length > REDLOCK_NAME_MAX) {
        refuse(exchange, SERVE_INVALID, "after is longer than 1024 bytes, which no name is");
        return;
    }
    if (exchange->server->lists >= LISTS_MAX) {
        refuse(exchange, SERVE_TOO_MANY, "as many lists as this service allows are under way");
        return;
    }
    list = new_list(exchange, prefix, after, &spec);
    if (list != NULL) {
        list->limit = limit;
        list->only_broken = only_broken;
        result = begin_list(exchange, list, &spec);
    }
    if (result == REDLOCK_OK)
        return;
    if (list != NULL && list->call.connection != NULL) {
        serve_call_end(&list->call);
        exchange->server->lists--;
    }
    refuse(exchange, serve_problem_of(result), redlock_result_name(result));
    if (list != NULL)
        free_list(list);
}

/* ---- breaks -------------------------------------------------------------------------------------------- */

struct breaking {
    struct serve_call call;
    struct serve_wish wish; /* its words are the principal and the reason */
};

static json_t *json_broken(const struct breaking *breaking, const redlock_report *report)
{
    return json_pack("{s:o, s:o, s:i, s:i, s:I}", "name",
                     serve_json_text(breaking->wish.name, breaking->wish.name_length), "holder",
                     serve_json_holder(&report->holder), "broken_on", (int)report->granted, "nodes",
                     (int)report->node_count, "free_in_ms", (json_int_t)report->holder_ttl_left_ms);
}

static void tell(const struct breaking *breaking, const redlock_report *report)
{
    serve_events_publish(breaking->call.server,
                         &(struct serve_event){.type = "broken",
                                               .name = breaking->wish.name,
                                               .name_length = breaking->wish.name_length,
                                               .owner = report->holder.id,
                                               .detail = breaking->wish.why});
}

static void on_broken(void *context, redlock_result result, const redlock_report *report)
{
    struct breaking *breaking = context;
    struct serve_connection *connection = breaking->call.connection;

    bool broken = result == REDLOCK_OK && report->granted > 0;

    if (broken)
        tell(breaking, report);
    if (serve_call_end(&breaking->call)) {
        if (broken)
            serve_answer_json(connection, 200, json_broken(breaking, report), NULL);
        else if (result == REDLOCK_NOT_HELD)
            serve_answer_unheld(connection, SERVE_NOT_HOLDER, "no holder with this id was seen", report);
        else if (result == REDLOCK_OK) /* it ended meanwhile, or is another program's key in another format */
            serve_answer_unheld(connection, SERVE_NOT_HOLDER,
                                "nothing was broken: no node has a lock of this format with this id", report);
        else
            serve_answer_report(connection, serve_problem_of(result), report, NULL);
        serve_connection_go_on(connection);
    }
    free(breaking);
}

static void begin_break(struct serve_exchange *exchange, redlock_break_spec *spec, const char *reason)
{
    struct breaking *breaking =
        serve_wish_new(exchange, NULL, reason, sizeof *breaking, offsetof(struct breaking, wish));
    redlock_result result;

    if (breaking == NULL)
        return;
    spec->name = breaking->wish.name;
    spec->name_length = breaking->wish.name_length;
    serve_call_begin(&breaking->call, exchange->connection, false);
    result =
        redlock_break_async(exchange->server->client, spec, on_broken, breaking, &breaking->call.request);
    if (result == REDLOCK_OK)
        return;
    serve_call_end(&breaking->call);
    refuse(exchange, serve_problem_of(result), redlock_result_name(result));
    free(breaking);
}

void serve_operating_break(struct serve_exchange *exchange)
{
    redlock_break_spec spec = REDLOCK_BREAK_SPEC_INIT;
    const char *reason = NULL;

    if (!exchange->server->settings->may_break) {
        refuse(exchange, SERVE_FORBIDDEN,
               "locks are not broken here unless the configuration says serve_break = yes");
        return;
    }
    if (!serve_name_check(exchange, exchange->name) ||
        !serve_body_text(exchange, "id", REDLOCK_OWNER_MAX, &spec.id) ||
        !serve_body_text(exchange, "reason", REASON_MAX, &reason) ||
        !serve_body_number(exchange, "grace_ms", 0, GRACE_MAX_MS, -1, &spec.grace_ms))
        return;
    if (spec.id == NULL || spec.id[0] == '\0') {
        refuse(exchange, SERVE_INVALID, "id is missing: the holder's, as GET /v1/locks/{name} has it");
        return;
    }
    /* Not given is the library's default, 0 is at once. */
    spec.grace_ms = spec.grace_ms == -1 ? 0 : spec.grace_ms == 0 ? REDLOCK_BREAK_NOW : spec.grace_ms;
    begin_break(exchange, &spec, reason);
}
