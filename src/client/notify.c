/*
 * Runs the callers' callbacks, without the mutex, one at a time, each exactly once: on the notifier thread, or inside
 * redlock_client_process(). A slow callback holds up other callbacks, never a renewal.
 */
#include <string.h>
#include <unistd.h>

#include "client/client.h"
#include "engine/listing.h"
#include "engine/report.h"

void rl_notify_ring(redlock_client *client)
{
    uint64_t one = 1;
    ssize_t put = write(client->ready_fd, &one, sizeof one);

    (void)put; /* full means that it is readable already */
}

static void complete(redlock_client *client, struct rl_operation *operation)
{
    rl_list_append(&client->completions, &operation->link);
    client->async_count--;
    if (client->outer_fd >= 0 && !client->processing)
        rl_notify_ring(client);
    else if (client->outer_fd < 0)
        pthread_cond_signal(&client->notifier_wake);
}

void rl_notify_attend(redlock_client *client)
{
    struct rl_engine *engine = &client->engine;
    struct rl_link *link;

    while ((link = rl_list_first(&engine->turned)) != NULL) {
        rl_list_remove(link);
        rl_follow_turned(client, RL_CONTAINER(link, struct rl_operation, turned));
    }
    while ((link = rl_list_first(&engine->ended)) != NULL) {
        struct rl_operation *operation = RL_CONTAINER(link, struct rl_operation, link);

        rl_list_remove(link);
        if (operation->request != 0)
            complete(client, operation);
        else
            rl_driver_wake(client, operation);
    }
    if (!rl_list_empty(&engine->notices))
        pthread_cond_signal(&client->notifier_wake);
}

/* The lock of a won acquisition goes to the callback; from then on the caller has a handle. */
static void run_completion(redlock_client *client, struct rl_operation *operation)
{
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_details *own = operation->record.details; /* of an inspection: it found owners and waiters */
    bool won = operation->result == REDLOCK_OK;
    redlock_lock *lock = NULL;

    rl_list_remove(&operation->link);
    if (operation->listing != NULL && rl_listing_tell(client, operation)) {
        client->async_count++; /* it goes on */
        rl_notify_attend(client);
        rl_driver_flush(client);
        rl_driver_nudge(client);
        return;
    }
    if (operation->kind == RL_OPERATION_ADOPT || (operation->kind == RL_OPERATION_ACQUIRE && won))
        lock = rl_begin_hand_out(operation);
    if (won && operation->acquired != NULL && lock == NULL) {
        rl_driver_flush(client); /* it is released, and the next one asks */
        rl_driver_nudge(client);
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

static redlock_renewed_fn renewed_callback(const redlock_lock *lock)
{
    return lock->renewal != NULL ? lock->renewal->tell : NULL;
}

static void run_notice(redlock_client *client, redlock_lock *lock)
{
    redlock_report report = {.size = sizeof report, .details = client->notified};
    bool lost = lock->lost_due && !lock->renewed_due;
    redlock_lost_fn callback = lost ? lock->on_lost : renewed_callback(lock);

    *(lost ? &lock->lost_due : &lock->renewed_due) = false;
    if (!lock->lost_due && !lock->renewed_due)
        rl_list_remove(&lock->notice);
    if (callback == NULL)
        return;
    if (lost)
        rl_report_renewal(&report, lock, REDLOCK_LOST, &lock->lease.tally);
    else
        rl_report_renewal(&report, lock, (redlock_result)lock->renewal->outcome, &lock->renewal->tally);
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
        rl_driver_flush(client);
        rl_driver_nudge(client);
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

static void *notify(void *context)
{
    redlock_client *client = context;

    pthread_mutex_lock(&client->mutex);
    while (!client->engine.closing)
        if (!rl_notify_run(client, client->outer_fd < 0, true))
            pthread_cond_wait(&client->notifier_wake, &client->mutex);
    rl_follow_unlock(client);
    return NULL;
}

bool rl_notify_start(redlock_client *client)
{
    if (!client->notifier_running)
        client->notifier_running = rl_driver_start_thread(client, &client->notifier, notify);
    return client->notifier_running;
}

void rl_notify_stop(redlock_client *client)
{
    if (!client->notifier_running)
        return;
    pthread_cond_broadcast(&client->notifier_wake);
    pthread_mutex_unlock(&client->mutex);
    pthread_join(client->notifier, NULL);
    pthread_mutex_lock(&client->mutex);
    client->notifier_running = false;
}
