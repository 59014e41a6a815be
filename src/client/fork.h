/*
 * What fork() means: all clients of the process are known here, nobody is in the middle of anything while it
 * forks, and in the child their handles are inert.
 */
#ifndef RL_CLIENT_FORK_H
#define RL_CLIENT_FORK_H

#include "client/client.h"

void rl_fork_enlist(redlock_client *client); /* from now on it is known to fork(); not with its mutex held */
void rl_fork_delist(redlock_client *client);

#endif
