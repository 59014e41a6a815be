/*
 * Which thread does the I/O. A blocking call drives the connections on its own thread when no other one does;
 * others sleep until their answer is there or it is their turn. The carrier thread drives only what must go
 * on when nobody is calling.
 */
#ifndef RL_CLIENT_DRIVER_H
#define RL_CLIENT_DRIVER_H

#include "client/client.h"

/* Does I/O or sleeps until the operation is done. true: another thread has ended the call; the mutex is not
 * held any more, and neither the operation nor the client is there to be used. NULL instead of a call: that
 * does not happen. */
bool rl_driver_wait(redlock_client *client, struct rl_operation *operation, struct rl_call *call);

/* One turn of I/O: flush, wait at most until `until`, handle what came, run timers. Lets go of the mutex
 * meanwhile. */
void rl_driver_turn(redlock_client *client, struct rl_time until);

/* Before a question is put: waits until so many nodes are connected, or those that are not have failed to, or
 * it is too late. */
void rl_driver_settle(redlock_client *client, uint32_t wanted, struct rl_time until);

void *rl_driver_carry(void *client); /* what the carrier thread runs */

#endif
