/*
 * The system's memory, for programs that bring no allocator of their own.
 */
#ifndef RL_CLIENT_MEMORY_H
#define RL_CLIENT_MEMORY_H

#include "redlock.h"

redlock_allocator rl_system_allocator(void);

#endif
