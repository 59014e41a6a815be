/*
 * Keys that have a record; see recording.h.
 */
#include "serve/recording.h"

#include <stdlib.h>

#include "serve/late.h"
#include "serve/lease.h"
#include "serve/waiting.h"

#define RECORD_TRIES 5 /* that several requests with one key may get in each other's way */

/* What was taken goes back, and the request is refused. */
static void refuse_taken(struct serve_taking *taking, redlock_result result, const redlock_report *report)
{
    serve_lease_give_back(taking->call.server, taking->lock);
    taking->lock = NULL;
    serve_taking_refuse(taking, result, report);
}

static void on_recorded(void *context, redlock_result result, redlock_lock *record,
                        const redlock_report *report)
{
    struct serve_taking *taking = context;
    redlock_report first = *report;

    if (taking->call.connection == NULL) {
        if (record != NULL)
            serve_lease_give_back(taking->call.server, record);
        serve_taking_abandon(taking, taking->lock);
    } else if (result == REDLOCK_OK) {
        redlock_lock_free(record); /* it stays at the nodes until its time is over */
        first.granted = taking->granted;
        first.waited_ms = taking->waited_ms;
        serve_taking_answer(taking, taking->lock, &first);
    } else if (result == REDLOCK_BUSY && ++taking->record_tries < RECORD_TRIES) {
        /* Another request with this key has a permit: that one counts. */
        serve_lease_give_back(taking->call.server, taking->lock);
        taking->lock = NULL;
        serve_recording_look(taking);
    } else
        refuse_taken(taking, result, report);
}

void serve_recording_keep(struct serve_taking *taking, redlock_lock *lock, const redlock_report *report)
{
    unsigned char tag[REDLOCK_TAG_MAX];
    char name[SERVE_RECORD_NAME_SIZE];
    redlock_spec spec = REDLOCK_SPEC_INIT;

    taking->lock = lock;
    taking->granted = report->granted;
    taking->waited_ms = report->waited_ms;
    serve_record_name(&taking->wish, name);
    spec.name = name;
    spec.ttl_ms = taking->call.server->settings->max_ttl_ms;
    spec.why = taking->wish.why;
    spec.tag = tag;
    spec.tag_length = serve_record_tag(&taking->wish, lock, tag);
    redlock_result result = redlock_acquire_async(taking->call.server->client, &spec, 0, on_recorded, taking,
                                                  &taking->call.request);
    if (result != REDLOCK_OK)
        refuse_taken(taking, result, report);
}

/* Nothing is recorded under the key: the lock is asked for. */
static void start(struct serve_taking *taking, const redlock_report *report)
{
    redlock_result result =
        taking->wish.wait_ms > 0 ? serve_waiting_begin(taking) : serve_taking_ask(taking, 0);

    if (result == REDLOCK_OK)
        return;
    serve_line_leave(taking->call.server, &taking->place);
    serve_taking_refuse(taking, result, report);
}

static void on_record_dropped(void *context, redlock_result result, const redlock_report *report)
{
    struct serve_taking *taking = context;

    (void)result; /* whether it was there is asked again when it is taken */
    if (taking->call.connection == NULL)
        serve_taking_abandon(taking, NULL);
    else
        start(taking, report);
}

/* What was recorded has ended: so does the record. */
static void drop_record(struct serve_taking *taking, const redlock_report *report)
{
    struct serve_recorded *recorded = taking->recorded;
    char name[SERVE_RECORD_NAME_SIZE];

    taking->recorded = NULL;
    serve_record_name(&taking->wish, name);
    redlock_result result = redlock_release_owner_async(taking->call.server->client, name, 0,
                                                        recorded->record, recorded->record_length,
                                                        on_record_dropped, taking, &taking->call.request);
    free(recorded);
    if (result != REDLOCK_OK)
        serve_taking_refuse(taking, result, report);
}

static void on_resumed(void *context, redlock_result result, redlock_lock *lock, const redlock_report *report)
{
    struct serve_taking *taking = context;

    if (taking->call.connection == NULL) {
        redlock_lock_free(lock);
        serve_taking_abandon(taking, NULL);
    } else if (result == REDLOCK_NOT_HELD || result == REDLOCK_LOST)
        drop_record(taking, report);
    else {
        taking->fence = taking->recorded->fence;
        free(taking->recorded);
        taking->recorded = NULL;
        serve_taking_answer_again(taking, result, lock, report);
    }
}

static void on_record_seen(void *context, redlock_result result, const redlock_report *report)
{
    struct serve_taking *taking = context;
    struct serve_recorded *recorded = result == REDLOCK_OK ? malloc(sizeof *recorded) : NULL;
    redlock_spec spec = serve_wish_spec(&taking->wish);

    if (taking->call.connection == NULL) {
        free(recorded);
        serve_taking_abandon(taking, NULL);
    } else if (recorded == NULL)
        serve_taking_refuse(taking, result == REDLOCK_OK ? REDLOCK_NOMEM : result, report);
    else if (!serve_record_find(&taking->wish, report, recorded)) {
        free(recorded);
        start(taking, report);
    } else if (!recorded->same_lock) {
        free(recorded);
        serve_taking_refuse_reused(taking);
    } else {
        taking->recorded = recorded;
        serve_late_forget(taking->call.server, recorded->owner, recorded->owner_length);
        result = redlock_adopt_async(taking->call.server->client, &spec, recorded->owner,
                                     recorded->owner_length, on_resumed, taking, &taking->call.request);
        if (result == REDLOCK_OK)
            return;
        free(recorded);
        taking->recorded = NULL;
        serve_taking_refuse(taking, result, report);
    }
}

void serve_recording_look(struct serve_taking *taking)
{
    struct serve_connection *connection = taking->call.connection;
    char name[SERVE_RECORD_NAME_SIZE];

    serve_record_name(&taking->wish, name);
    redlock_result result = redlock_inspect_async(taking->call.server->client, name, 0, on_record_seen,
                                                  taking, &taking->call.request);
    if (result == REDLOCK_OK)
        return;
    serve_answer_unbegun(&taking->call, result);
    serve_connection_go_on(connection);
    free(taking);
}
