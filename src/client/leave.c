/*
 * Leaves; see leave.h.
 */
#include "client/leave.h"

#include "client/background.h"
#include "client/follow.h"
#include "client/poll.h"

void rl_leave(redlock_client *client)
{
    if (--client->callers == 0 && client->engine.closing)
        pthread_cond_broadcast(&client->callers_gone);
    rl_follow_unlock(client);
}

void rl_leave_sending(redlock_client *client)
{
    rl_poll_flush(client);
    rl_background_nudge(client);
    rl_leave(client);
}

/* In one turn of an event loop many calls may follow each other, inside redlock_client_process() and outside:
 * what they ask for goes out together. */
void rl_leave_together(redlock_client *client)
{
    bool loops = client->outer_fd >= 0 && client->engine.wants.write != 0;

    if (!rl_client_processes(client) && !loops) {
        rl_leave_sending(client);
        return;
    }
    if (!rl_client_processes(client))
        rl_background_cork(client);
    rl_leave(client);
}
