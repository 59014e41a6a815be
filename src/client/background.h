/*
 * What goes on without a caller: starts the client's own threads, wakes them or other threads concerned when
 * something has to be done earlier, and rings for event loops. What those threads do is in driver.c and
 * notify.c.
 */
#ifndef RL_CLIENT_BACKGROUND_H
#define RL_CLIENT_BACKGROUND_H

#include "client/client.h"

bool rl_background_start_carrier(redlock_client *client);
bool rl_background_start_notifier(redlock_client *client);
void rl_background_stop_carrier(redlock_client *client);
void rl_background_stop_notifier(redlock_client *client);

/* Whether the carrier has I/O to do that no blocking caller looks after. */
bool rl_background_unattended(const redlock_client *client);

/* Until when the carrier may sleep. */
struct rl_time rl_background_rest(const redlock_client *client);

/* After anything that may need the background: wakes the threads concerned. */
void rl_background_nudge(redlock_client *client);

/* Has an event loop call redlock_client_process(). */
void rl_background_ring_loop(redlock_client *client);

/* Event loops: what was asked for goes out with the next redlock_client_process(), or without it a little
 * later. */
void rl_background_cork(redlock_client *client);

#endif
