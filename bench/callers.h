/*
 * What the programs that measure the library share: opening a client, and threads that call it. It sees
 * redlock.h alone, as programs do, and does not say what is measured.
 */
#ifndef BENCH_CALLERS_H
#define BENCH_CALLERS_H

#include <pthread.h>

#include "bench.h"
#include "redlock.h"

/* A client in the mode of the run, or the end of the program. The allocator may be NULL. */
redlock_client *callers_open(const struct bench *bench, const redlock_allocator *allocator);

/* Ends the program unless the result is REDLOCK_OK. */
void callers_must(const char *what, redlock_result result);

/* For locks that renew themselves: none of them is to be lost. */
void callers_on_lost(void *context, redlock_lock *lock, const redlock_report *report);

struct caller {
    pthread_t thread;
    redlock_client *client;
    int64_t until_ns;
    struct bench_samples *samples;
    redlock_spec spec; /* its name is that below, and its ttl that of the run, until `set` says otherwise */
    char name[BENCH_NAME_SIZE];
};

/* Says what a caller is to take. Numbers count over all processes of a run. */
typedef void (*caller_set_fn)(struct caller *caller, const struct bench *bench, unsigned number);
typedef void (*caller_work_fn)(struct caller *caller);

/* Each caller is a thread. The first one is this thread: a lone caller is a program without threads. */
void callers_run(redlock_client *client, const struct bench *bench, int64_t until_ns,
                 struct bench_samples *samples, caller_set_fn set, caller_work_fn work);

/* Acquires, waiting where it has to, and releases, until the time is over. A wait that the end cuts off is
 * kept as one. */
void caller_take_turns(struct caller *caller);

#endif
