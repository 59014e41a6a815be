/*
 * Calls about locks that somebody else made, and about the nodes: adopt, release by owner, inspect, init. Each puts one question,
 * for which a new client's nodes are given the time to connect; a blocking call and its asynchronous twin begin alike.
 */
#include <assert.h>
#include <string.h>

#include "client/client.h"
#include "core/validity.h"

/* ---- beginning ---- */

static struct rl_operation *refuse(redlock_result *result, redlock_report *report, redlock_result why,
                                   const char *words)
{
    *result = why;
    rl_report_error(report, why, "%s", words);
    return NULL;
}

/* The operation takes the lock's only reference. NULL: as in rl_operation_create(), and the lock is gone. */
static struct rl_operation *create(redlock_client *client, enum rl_operation_kind kind, redlock_lock *lock,
                                   redlock_request request)
{
    struct rl_operation *operation = lock != NULL ? rl_operation_create(client, kind, lock) : NULL;

    if (operation != NULL)
        rl_call_mark_async(client, operation, request);
    else if (lock != NULL)
        rl_lock_unref(lock);
    return operation;
}

struct rl_operation *rl_settling_known(redlock_client *client, const struct rl_known_call *call,
                                       redlock_request request, redlock_result *result,
                                       redlock_report *report)
{
    size_t length = call->owner_length;
    struct rl_operation *operation;
    redlock_spec checked;

    *result = rl_call_check_spec(client, call->spec, &checked, report);
    if (*result != REDLOCK_OK)
        return NULL;
    if (call->owner != NULL && length == 0)
        length = strlen(call->owner);
    if (length == 0 || length > REDLOCK_OWNER_MAX || call->owner == NULL)
        return refuse(result, report, REDLOCK_INVALID, "owner is empty or longer than 511 bytes");
    if (!rl_call_start_background(client, &checked, request))
        return refuse(result, report, REDLOCK_SYSTEM, "cannot start a thread: the system refused it");
    operation = create(client, call->kind, rl_call_make_lock(client, &checked, call->owner, length, request),
                       request);
    if (operation == NULL)
        return refuse(result, report, REDLOCK_NOMEM, "out of memory");
    rl_settling_begin(operation, rl_quorum(client->node_count));
    return operation;
}

/* An asynchronous inspection keeps what it finds by itself: its report is made when the callback runs. */
static bool keep_details(redlock_client *client, struct rl_operation *operation, redlock_report *report)
{
    struct rl_record *record = &operation->record;

    if (operation->kind != RL_OPERATION_INSPECT)
        return true;
    record->details = report != NULL ? report->details : NULL;
    if (operation->request != 0) {
        record->details = rl_details_create(&client->config.allocator, client->node_count);
        record->owns_details = record->details != NULL;
    }
    rl_details_forget(record->details);
    return operation->request == 0 || record->owns_details;
}

struct rl_operation *rl_settling_survey(redlock_client *client, enum rl_operation_kind kind,
                                        const redlock_spec *spec, redlock_request request,
                                        redlock_result *result, redlock_report *report)
{
    struct rl_operation *operation;

    *result = REDLOCK_OK;
    if (kind == RL_OPERATION_INIT && !client->config.guarded)
        return refuse(result, report, REDLOCK_MISUSE, "a plain client has no guard to admit nodes to");
    if (client->config.key_prefix_length + spec->name_length > REDLOCK_NAME_MAX)
        return refuse(result, report, REDLOCK_INVALID,
                      "name is too long: prefix and name together may have 1024 bytes");
    if (!rl_call_start_background(client, spec, request))
        return refuse(result, report, REDLOCK_SYSTEM, "cannot start a thread: the system refused it");
    operation = create(client, kind,
                       rl_lock_create(client, spec, spec->name_length, "nobody", strlen("nobody")), request);
    if (operation != NULL && !keep_details(client, operation, report)) {
        client->async_count--;
        rl_operation_free(client, operation);
        operation = NULL;
    }
    if (operation == NULL)
        return refuse(result, report, REDLOCK_NOMEM, "out of memory");
    if (kind == RL_OPERATION_INIT)
        rl_guard_begin(client);
    rl_settling_begin(operation, client->node_count);
    return operation;
}

/* ---- waiting for the nodes ---- */

/* The validity a lock would have if a quorum extended it now: nothing is promised before they did. */
static void presume_held(redlock_lock *lock)
{
    struct rl_time now = rl_client_now(lock->client);

    rl_holding_start(lock, now, rl_validity_end(now, lock->lease.config.ttl, lock->client->config.drift_ppm));
}

static void start_known(struct rl_operation *operation)
{
    redlock_lock *lock = operation->lock;
    bool releases = operation->kind == RL_OPERATION_RELEASE;
    struct rl_event event = {.kind = releases ? RL_EVENT_RELEASE : RL_EVENT_EXTEND,
                             .now = rl_client_now(lock->client),
                             .ttl = lock->lease.config.ttl};

    presume_held(lock);
    rl_list_append(&lock->waiting, &operation->on_lock);
    rl_holding_event(lock, &event);
}

void rl_settling_start(struct rl_operation *operation)
{
    redlock_client *client = operation->lock->client;

    assert(!operation->done);
    rl_list_remove(&operation->settling);
    rl_timers_set(&client->timers, &operation->timer, RL_TIME_NEVER);
    client->settled = true;
    if (operation->kind == RL_OPERATION_ADOPT || operation->kind == RL_OPERATION_RELEASE) {
        start_known(operation);
        return;
    }
    if (operation->kind == RL_OPERATION_INSPECT)
        rl_guard_look(client);
    rl_operation_start_survey(operation,
                              operation->kind == RL_OPERATION_INSPECT ? RL_COMMAND_PEEK : RL_COMMAND_ADMIT);
}

/* Whether there is nothing more to wait for. A new client gives the slower nodes a moment too, once enough are there. */
static bool is_settled(struct rl_operation *operation)
{
    redlock_client *client = operation->lock->client;
    uint32_t on_the_way, ready = rl_driver_count_ready(client, &on_the_way);
    struct rl_time moment;

    if (ready == client->node_count || on_the_way == 0 || (ready >= operation->wanted && client->settled))
        return true;
    if (ready >= operation->wanted) {
        moment = rl_time_add(client->clock.now, rl_span_us(client->config.connect_timeout.us / 10));
        if (rl_time_before(moment, operation->timer.at))
            rl_timers_set(&client->timers, &operation->timer, moment);
    }
    return false;
}

void rl_settling_begin(struct rl_operation *operation, uint32_t wanted)
{
    redlock_client *client = operation->lock->client;

    rl_driver_refresh(client);
    operation->wanted = wanted;
    rl_timers_set(&client->timers, &operation->timer,
                  rl_time_add(client->clock.now, client->config.connect_timeout));
    rl_list_append(&client->settling, &operation->settling);
    if (is_settled(operation))
        rl_settling_start(operation);
}

/* Starting one may break a connection and come back here; so the list is looked at afresh each time. */
void rl_settling_check(redlock_client *client)
{
    struct rl_link *link = rl_list_first(&client->settling);

    while (link != NULL) {
        struct rl_operation *operation = RL_CONTAINER(link, struct rl_operation, settling);

        link = rl_list_next(&client->settling, link);
        if (!is_settled(operation))
            continue;
        rl_settling_start(operation);
        link = rl_list_first(&client->settling);
    }
}

/* ---- ending ---- */

redlock_lock *rl_settling_adopted(struct rl_operation *operation)
{
    redlock_lock *lock = operation->lock;

    if (operation->result == REDLOCK_OK)
        return rl_call_hand_out(operation);
    if (lock->stage == RL_LOCK_HELD)
        rl_holding_abandon(lock); /* the nodes could not be asked: it is not ours to end */
    if (operation->result == REDLOCK_LOST)
        operation->result = REDLOCK_NOT_HELD;
    return NULL;
}
