/*
 * What the library says, as JSON; see json.h.
 */
#include "serve/json.h"

#include <string.h>

#include "serve/http_target.h"

/* ---- texts --------------------------------------------------------------------------------------------- */

/* The length of the clean character at the front; 0 when there is none. */
static size_t clean_character(const char *bytes, size_t length)
{
    for (size_t count = 1; count <= 4 && count <= length; count++)
        if (serve_text_is_clean((struct serve_text){bytes, count}))
            return count;
    return 0;
}

json_t *serve_json_text(const char *bytes, size_t length)
{
    char clean[2 * REDLOCK_NAME_MAX];
    size_t used = 0;

    for (size_t i = 0; i < length && used + 4 < sizeof clean;) {
        size_t count = clean_character(bytes + i, length - i);
        if (count == 0)
            clean[used++] = '?';
        else
            memcpy(clean + used, bytes + i, count);
        used += count;
        i += count == 0 ? 1 : count;
    }
    return json_stringn(clean, used);
}

static json_t *text_of(const char *text)
{
    return serve_json_text(text, strlen(text));
}

/* ---- what the library says ----------------------------------------------------------------------------- */

json_t *serve_json_holder(const redlock_holder *holder)
{
    json_t *object = json_object();

    if (holder->id[0] != '\0')
        json_object_set_new(object, "id", text_of(holder->id));
    if (holder->host[0] != '\0')
        json_object_set_new(object, "host", text_of(holder->host));
    if (holder->user[0] != '\0')
        json_object_set_new(object, "user", text_of(holder->user));
    if (holder->why[0] != '\0')
        json_object_set_new(object, "why", text_of(holder->why));
    if (holder->pid != 0)
        json_object_set_new(object, "pid", json_integer(holder->pid));
    if (holder->since_ms != 0)
        json_object_set_new(object, "since_ms", json_integer(holder->since_ms));
    if (holder->broken)
        json_object_set_new(object, "broken", json_true());
    return object;
}

static json_t *json_node(const redlock_node_report *node)
{
    json_t *object = json_pack("{s:o, s:s, s:b}", "url", text_of(node->url), "verdict",
                               redlock_verdict_name(node->verdict), "eligible", (int)node->eligible);

    if (node->cause != REDLOCK_CAUSE_NONE)
        json_object_set_new(object, "cause", json_string(redlock_cause_name(node->cause)));
    if (node->detail[0] != '\0')
        json_object_set_new(object, "detail", text_of(node->detail));
    if (node->latency_us >= 0)
        json_object_set_new(object, "latency_us", json_integer(node->latency_us));
    if (node->eligible_in_ms > 0)
        json_object_set_new(object, "eligible_in_ms", json_integer(node->eligible_in_ms));
    if (node->ttl_left_ms >= 0)
        json_object_set_new(object, "ttl_left_ms", json_integer(node->ttl_left_ms));
    if (node->fence != 0)
        json_object_set_new(object, "fence", json_integer((json_int_t)node->fence));
    return object;
}

json_t *serve_json_nodes(const redlock_report *report)
{
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;
    json_t *list = json_array();

    for (uint32_t i = 0; redlock_report_node(report, i, &node); i++)
        json_array_append_new(list, json_node(&node));
    return list;
}

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

json_t *serve_json_sharers(const redlock_report *report)
{
    json_t *list = json_array();
    redlock_holder sharer;

    for (uint32_t i = 0; redlock_report_sharer(report, i, &sharer); i++)
        json_array_append_new(list, serve_json_holder(&sharer));
    return list;
}

void serve_json_add_slot(json_t *list, const redlock_slot *slot)
{
    size_t place = json_array_size(list);
    json_t *object = json_pack("{s:i, s:o, s:i}", "slot", (int)slot->slot, "holder",
                               serve_json_holder(&slot->holder), "votes", (int)slot->votes);

    if (object != NULL && slot->ttl_left_ms >= 0)
        json_object_set_new(object, "holder_ttl_left_ms", json_integer(slot->ttl_left_ms));
    while (place > 0 && json_integer_value(json_object_get(json_array_get(list, place - 1), "slot")) >
                            (json_int_t)slot->slot)
        place--;
    json_array_insert_new(list, place, object);
}

json_t *serve_json_report(const redlock_report *report)
{
    json_t *object = json_pack("{s:s, s:i, s:i, s:I, s:o}", "result", redlock_result_name(report->result),
                               "granted", (int)report->granted, "quorum", (int)report->quorum, "waited_ms",
                               (json_int_t)report->waited_ms, "nodes", serve_json_nodes(report));

    if (report->holder.id[0] == '\0')
        return object;
    json_object_set_new(object, "holder", serve_json_holder(&report->holder));
    if (report->sharers > 0)
        json_object_set_new(object, "sharers", json_integer(report->sharers));
    if (report->holder_ttl_left_ms >= 0) {
        json_object_set_new(object, "holder_ttl_left_ms", json_integer(report->holder_ttl_left_ms));
        json_object_set_new(object, "retry_after_ms",
                            json_integer(report->holder_ttl_left_ms > 0 ? report->holder_ttl_left_ms : 1));
    }
    return object;
}
