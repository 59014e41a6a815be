/*
 * Sleeping on a word of memory, and waking the threads that sleep there: what threads use where a condition
 * variable would make each that is woken wait for a mutex.
 */
#ifndef RL_CLIENT_FUTEX_H
#define RL_CLIENT_FUTEX_H

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Sleeps while the word is `value`, until somebody wakes one of `bits` there or, unless it is NULL, until a
 * time of CLOCK_MONOTONIC. It may also return for no reason. */
static inline void rl_futex_sleep(atomic_uint *word, unsigned value, unsigned bits,
                                  const struct timespec *until)
{
    syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, value, until, NULL, bits);
}

/* Wakes all threads that sleep there with any of `bits`. The word itself is not looked at: it may be gone
 * already. */
static inline void rl_futex_wake(atomic_uint *word, unsigned bits)
{
    syscall(SYS_futex, word, FUTEX_WAKE_BITSET | FUTEX_PRIVATE_FLAG, INT_MAX, NULL, NULL, bits);
}

#endif
