/*
 * Attends to what has come out of the engine; see attend.h.
 */
#include "client/attend.h"

#include "client/background.h"
#include "client/sleepers.h"

static void complete(redlock_client *client, struct rl_operation *operation)
{
    rl_list_append(&client->completions, &operation->link);
    client->async_count--;
    if (client->outer_fd >= 0 && !client->processing)
        rl_background_ring_loop(client);
    else if (client->outer_fd < 0)
        pthread_cond_signal(&client->notifier_wake);
}

/* The thread that stands at the connections ends it. */
static void give_to_crowd(redlock_client *client, struct rl_operation *operation)
{
    rl_list_append(&client->crowd.ended, &operation->following);
    if (atomic_exchange(&client->crowd.in_poller, false))
        rl_poller_ring(&client->poller);
}

static void wake_caller(redlock_client *client, struct rl_operation *operation)
{
    if (operation->call != NULL && !operation->call->follows) {
        give_to_crowd(client, operation);
    } else if (!rl_link_used(&operation->following)) {
        if (client->pollers > 0)
            rl_poller_ring(
                &client->poller); /* its thread may be in the poller, and another one took its answer */
    } else {
        rl_sleepers_ended(client, operation);
    }
}

void rl_attend(redlock_client *client)
{
    struct rl_engine *engine = &client->engine;
    struct rl_link *link;

    while ((link = rl_list_first(&engine->turned)) != NULL) {
        rl_list_remove(link);
        rl_sleepers_turned(client, RL_CONTAINER(link, struct rl_operation, turned));
    }
    while ((link = rl_list_first(&engine->ended)) != NULL) {
        struct rl_operation *operation = RL_CONTAINER(link, struct rl_operation, link);

        rl_list_remove(link);
        if (operation->request != 0)
            complete(client, operation);
        else
            wake_caller(client, operation);
    }
    if (!rl_list_empty(&engine->notices))
        pthread_cond_signal(&client->notifier_wake);
}
