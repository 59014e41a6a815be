/*
 * Carries bytes between the engine and the network: opens and closes connections as the engine wants, writes
 * what it has to say, and brings it what nodes say. Which thread does so is the driver's business.
 */
#ifndef RL_CLIENT_TRANSFER_H
#define RL_CLIENT_TRANSFER_H

#include "client/client.h"

/* Closes and opens connections. */
void rl_transfer_connect(redlock_client *client);

/* Sends what is to be sent, as far as it goes without waiting. */
void rl_transfer_write(redlock_client *client);

/* What the poller said, which nobody looked at for so long. Reads the clock. */
void rl_transfer_ready(redlock_client *client, const struct rl_ready *ready, int count,
                       struct rl_span unseen);

#endif
