/*
 * What a Redis lock library asks for, done with locks on all nodes; see resp_locks.h. A call that wants to
 * release or extend by a value first finds the owner value it is in: one question to the nodes, then one
 * deed.
 */
#include "serve/resp_locks.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/late.h"
#include "serve/lease.h"
#include "serve/tag.h"

struct deed {
    struct serve_call call;
    struct serve_resp_wish wish;
};

/* ---- answers ------------------------------------------------------------------------------------------- */

static void write_line(struct serve_connection *connection, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void write_line(struct serve_connection *connection, const char *format, ...)
{
    char line[512];
    va_list arguments;

    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line - 2, format, arguments);
    va_end(arguments);
    size_t used = (size_t)length < sizeof line - 2 ? (size_t)length : sizeof line - 3;
    memcpy(line + used, "\r\n", 2);
    serve_connection_write(connection, line, used + 2);
}

void serve_resp_error(struct serve_connection *connection, const char *words)
{
    write_line(connection, "-%s", words);
}

void serve_resp_number(struct serve_connection *connection, int64_t number)
{
    write_line(connection, ":%" PRId64, number);
}

void serve_resp_nil(struct serve_connection *connection)
{
    const struct serve_resp_client *client = connection->attachment;

    write_line(connection, "%s", client != NULL && client->version == 3 ? "_" : "$-1");
}

void serve_resp_status(struct serve_connection *connection, const char *words)
{
    write_line(connection, "+%s", words);
}

void serve_resp_text(struct serve_connection *connection, const char *bytes, size_t length)
{
    write_line(connection, "$%zu", length);
    serve_connection_write(connection, bytes, length);
    serve_connection_write(connection, "\r\n", 2);
}

/* The answer when it was done, or when it could not be: `found` is what the nodes have, if anything. */
static void answer(struct deed *deed, bool done, int64_t number)
{
    struct serve_connection *connection = deed->call.connection;

    if (!serve_call_end(&deed->call))
        return;
    if (deed->wish.form == SERVE_FORM_OK_OR_NIL && done)
        serve_resp_status(connection, "OK");
    else if (deed->wish.form == SERVE_FORM_OK_OR_NIL)
        serve_resp_nil(connection);
    else
        serve_resp_number(connection, done ? 1 : number);
    serve_connection_go_on(connection);
}

static void answer_failure(struct deed *deed, const redlock_report *report)
{
    struct serve_connection *connection = deed->call.connection;
    char words[360];

    if (!serve_call_end(&deed->call))
        return;
    snprintf(words, sizeof words, "ERR redlock: %s", report->line);
    words[strcspn(words, "\r\n")] = '\0';
    serve_resp_error(connection, words);
    serve_connection_go_on(connection);
}

/* ---- deeds --------------------------------------------------------------------------------------------- */

static void on_taken(void *context, redlock_result result, redlock_lock *lock, const redlock_report *report)
{
    struct deed *deed = context;

    if (result == REDLOCK_OK && deed->call.connection == NULL) {
        serve_lease_give_back(deed->call.server, lock); /* the client hung up */
        serve_call_end(&deed->call);
    } else if (result == REDLOCK_OK) {
        serve_lease_tell(deed->call.server, "acquired", lock, REDLOCK_EXCLUSIVE, NULL);
        serve_late_let_go(deed->call.server, lock, report);
        answer(deed, true, 1);
    } else if (result == REDLOCK_BUSY || result == REDLOCK_TIMEOUT)
        answer(deed, false, deed->wish.otherwise);
    else
        answer_failure(deed, report);
    free(deed);
}

static redlock_result take(struct deed *deed)
{
    redlock_spec spec = REDLOCK_SPEC_INIT;

    spec.name = deed->wish.name.bytes;
    spec.name_length = deed->wish.name.length;
    spec.ttl_ms = (uint32_t)deed->wish.ms;
    spec.tag = deed->wish.value.bytes;
    spec.tag_length = deed->wish.value.length;
    spec.keep_on_nodes = 1; /* its client may lengthen it at another instance */
    return redlock_acquire_async(deed->call.server->client, &spec, 0, on_taken, deed, &deed->call.request);
}

static void on_extended(void *context, redlock_result result, redlock_lock *lock,
                        const redlock_report *report)
{
    struct deed *deed = context;

    if (result == REDLOCK_OK) {
        serve_lease_tell(deed->call.server, "renewed", lock, REDLOCK_EXCLUSIVE, NULL);
        serve_late_let_go(deed->call.server, lock, report);
        answer(deed, true, 1);
    } else if (result == REDLOCK_NOT_HELD || result == REDLOCK_LOST)
        answer(deed, false, deed->wish.otherwise);
    else
        answer_failure(deed, report);
    free(deed);
}

static void on_released(void *context, redlock_result result, const redlock_report *report)
{
    struct deed *deed = context;

    if (result == REDLOCK_OK)
        answer(deed, true, 1);
    else if (result == REDLOCK_NOT_HELD || result == REDLOCK_LOST)
        answer(deed, false, deed->wish.otherwise);
    else
        answer_failure(deed, report);
    free(deed);
}

static redlock_result extend(struct deed *deed, const redlock_node_report *node, int64_t left_ms)
{
    uint64_t most = deed->call.server->settings->max_ttl_ms;
    uint64_t ms = deed->wish.ms + (deed->wish.adds && left_ms > 0 ? (uint64_t)left_ms : 0);
    redlock_spec spec = REDLOCK_SPEC_INIT;

    spec.name = deed->wish.name.bytes;
    spec.name_length = deed->wish.name.length;
    spec.ttl_ms = (uint32_t)(ms < most ? ms : most);
    spec.keep_on_nodes = 1;
    serve_late_forget(deed->call.server, node->owner, node->owner_length);
    return redlock_adopt_async(deed->call.server->client, &spec, node->owner, node->owner_length, on_extended,
                               deed, &deed->call.request);
}

static redlock_result release(struct deed *deed, const redlock_node_report *node)
{
    serve_late_forget(deed->call.server, node->owner, node->owner_length);
    return redlock_release_owner_async(deed->call.server->client, deed->wish.name.bytes,
                                       deed->wish.name.length, node->owner, node->owner_length, on_released,
                                       deed, &deed->call.request);
}

/* ---- looking first ------------------------------------------------------------------------------------- */

/* The first node that has the owner value which a quorum has. */
static bool find_holder(const redlock_report *report, redlock_node_report *node)
{
    redlock_holder holder;

    for (uint32_t i = 0; report->holder.id[0] != '\0' && redlock_report_node(report, i, node); i++) {
        if (node->owner == NULL)
            continue;
        redlock_holder_parse(node->owner, node->owner_length, &holder);
        if (strcmp(holder.id, report->holder.id) == 0)
            return true;
    }
    return false;
}

/* A lock that an Idempotency-Key got is no client's here, even if only the beginning of a value counts. */
static bool is_same(const struct serve_resp_wish *wish, const redlock_holder *holder)
{
    size_t length = wish->same_bytes == 0 ? wish->value.length : wish->same_bytes;

    if (serve_tag_is_of_key(holder->tag, holder->tag_length))
        return false;
    if (length > wish->value.length || (wish->same_bytes == 0 && holder->tag_length != length))
        return false;
    return holder->tag_length >= length && memcmp(holder->tag, wish->value.bytes, length) == 0;
}

static void answer_look(struct deed *deed, const redlock_report *report)
{
    struct serve_connection *connection = deed->call.connection;
    const redlock_holder *holder = &report->holder;
    const struct serve_resp_wish *wish = &deed->wish;
    bool held = holder->id[0] != '\0';
    int64_t left_ms = report->holder_ttl_left_ms;

    if (!serve_call_end(&deed->call))
        return;
    if (wish->form == SERVE_FORM_VALUE && !held)
        serve_resp_nil(connection);
    else if (wish->form == SERVE_FORM_VALUE && holder->tag_length > 0 &&
             !serve_tag_is_of_key(holder->tag, holder->tag_length))
        serve_resp_text(connection, (const char *)holder->tag, holder->tag_length);
    else if (wish->form == SERVE_FORM_VALUE)
        serve_resp_text(connection, holder->id, strlen(holder->id));
    else if (wish->form == SERVE_FORM_NUMBER)
        serve_resp_number(connection, held);
    else if (!held)
        serve_resp_number(connection, wish->when_free);
    else if (wish->value.length > 0 && !is_same(wish, holder))
        serve_resp_number(connection, wish->otherwise);
    else
        serve_resp_number(connection, wish->seconds && left_ms > 0 ? (left_ms + 999) / 1000 : left_ms);
    serve_connection_go_on(connection);
}

static void on_looked(void *context, redlock_result result, const redlock_report *report)
{
    struct deed *deed = context;
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;
    enum serve_resp_action action = deed->wish.action;
    bool held = result == REDLOCK_OK && find_holder(report, &node),
         same = held && is_same(&deed->wish, &report->holder);
    redlock_result asked = REDLOCK_NOT_HELD;

    if (result != REDLOCK_OK)
        answer_failure(deed, report);
    else if (action == SERVE_LOOK)
        answer_look(deed, report);
    else {
        if (same && action == SERVE_RELEASE)
            asked = release(deed, &node);
        else if (same)
            asked = extend(deed, &node, report->holder_ttl_left_ms);
        else if (!held && action == SERVE_EXTEND_OR_TAKE)
            asked = take(deed);
        if (asked == REDLOCK_OK)
            return;
        answer(deed, false, held ? deed->wish.otherwise : deed->wish.when_free);
    }
    free(deed);
}

/* ---- beginning ----------------------------------------------------------------------------------------- */

static struct deed *new_deed(const struct serve_resp_wish *wish)
{
    struct deed *deed = calloc(1, sizeof *deed + wish->name.length + wish->value.length + 2);
    char *texts = deed == NULL ? NULL : (char *)(deed + 1);

    if (deed == NULL)
        return NULL;
    deed->wish = *wish;
    memcpy(texts, wish->name.bytes, wish->name.length);
    deed->wish.name.bytes = texts;
    if (wish->value.length > 0)
        memcpy(texts + wish->name.length + 1, wish->value.bytes, wish->value.length);
    deed->wish.value.bytes = texts + wish->name.length + 1;
    return deed;
}

void serve_resp_carry_out(struct serve_connection *connection, const struct serve_resp_wish *wish)
{
    struct deed *deed = new_deed(wish);

    if (deed == NULL) {
        serve_resp_error(connection, "ERR redlock: out of memory");
        return;
    }
    deed->call.cancelable = wish->action == SERVE_TAKE;
    serve_call_begin(&deed->call, connection, false);
    redlock_result result =
        wish->action == SERVE_TAKE
            ? take(deed)
            : redlock_inspect_async(connection->server->client, deed->wish.name.bytes, deed->wish.name.length,
                                    on_looked, deed, &deed->call.request);
    if (result == REDLOCK_OK)
        return;
    serve_call_end(&deed->call);
    char words[100];
    snprintf(words, sizeof words, "ERR redlock: %s", redlock_result_name(result));
    serve_resp_error(connection, words);
    free(deed);
}
