/*
 * Runs callbacks; see notify.h.
 */
#include "client/notify.h"

#include "client/attend.h"
#include "client/background.h"
#include "client/end.h"
#include "client/follow.h"
#include "client/poll.h"
#include "engine/finds.h"
#include "engine/listing.h"
#include "engine/notices.h"

bool rl_notify_listing(redlock_client *client, struct rl_operation *operation)
{
    redlock_event event;

    while (rl_finds_next(operation, &event)) {
        bool goes_on;

        rl_follow_pass_on(client); /* nobody waits for a callback */
        rl_follow_unlock(client);
        goes_on = rl_finds_tell(operation, &event);
        pthread_mutex_lock(&client->mutex);
        if (!goes_on)
            operation->listing->stopped = true;
    }
    rl_client_now(client);
    return rl_engine_resume(operation);
}

/* What seemed to have ended goes on. */
static void go_on(redlock_client *client)
{
    client->async_count++;
    rl_attend(client);
    rl_poll_flush(client);
    rl_background_nudge(client);
}

/* The lock of a won acquisition goes to the callback; from then on the caller has a handle. */
static void run_completion(redlock_client *client, struct rl_operation *operation)
{
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_details *own = operation->record.details; /* of an inspection: it found owners and waiters */
    bool won = operation->result == REDLOCK_OK;
    redlock_lock *lock = NULL;

    rl_list_remove(&operation->link);
    if (operation->listing != NULL && rl_notify_listing(client, operation)) {
        go_on(client);
        return;
    }
    if (operation->kind == RL_OPERATION_ADOPT || (operation->kind == RL_OPERATION_ACQUIRE && won))
        lock = rl_end_hand_out(operation);
    if (!operation->done) {
        go_on(client);
        return;
    }
    if (won && operation->acquired != NULL && lock == NULL) {
        rl_poll_flush(client); /* it is released, and the next one asks */
        rl_background_nudge(client);
    }
    report.details = own != NULL ? own : rl_client_processes(client) ? client->processed : client->notified;
    rl_listing_report(&report, operation);
    rl_follow_unlock(client);
    if (operation->acquired != NULL)
        operation->acquired(operation->context, operation->result, lock, &report);
    else
        operation->finished(operation->context, operation->result, &report);
    redlock_details_free(own);
    pthread_mutex_lock(&client->mutex);
    rl_listing_free(operation);
    rl_operation_free(&client->engine, operation);
}

static void run_notice(redlock_client *client, redlock_lock *lock)
{
    redlock_report report = {.size = sizeof report, .details = client->notified};
    bool lost;
    redlock_lost_fn callback = rl_notices_take(lock, &report, &lost);

    if (callback == NULL)
        return;
    rl_lock_ref(lock);
    lock->calling = true;
    rl_follow_unlock(client);
    callback(lock->context, lock, &report);
    pthread_mutex_lock(&client->mutex);
    lock->calling = false;
    pthread_cond_broadcast(&client->callback_ended);
    if (lost && lock->let_go != 0) {
        rl_client_now(client);
        rl_engine_loss_told(lock);
        rl_poll_flush(client);
        rl_background_nudge(client);
    }
    rl_lock_unref(lock);
}

bool rl_notify_run(redlock_client *client, bool completions, bool notices)
{
    struct rl_link *link;

    rl_follow_pass_on(client); /* nobody waits for a callback */
    link = notices ? rl_list_first(&client->engine.notices) : NULL;
    if (link != NULL) {
        run_notice(client, RL_CONTAINER(link, redlock_lock, notice));
        return true;
    }
    link = completions ? rl_list_first(&client->completions) : NULL;
    if (link == NULL)
        return false;
    run_completion(client, RL_CONTAINER(link, struct rl_operation, link));
    return true;
}

void *rl_notify_loop(void *context)
{
    redlock_client *client = context;

    pthread_mutex_lock(&client->mutex);
    while (!client->engine.closing)
        if (!rl_notify_run(client, client->outer_fd < 0, true))
            pthread_cond_wait(&client->notifier_wake, &client->mutex);
    rl_follow_unlock(client);
    return NULL;
}
