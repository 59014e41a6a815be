/*
 * Processes that hold; see holders.h.
 */
#include "support/holders.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/prng.h"
#include "support/guarded.h"
#include "support/steps.h"

enum { HOLDS_MAX = 20000, PROCESSES_MAX = 16, MERCY_S = 60 };

struct holder {
    const struct holders_config *config;
    struct history *history;
    redlock_client *client;
    const atomic_bool *over; /* shared by all processes */
    struct rl_prng prng;
    int number;
};

/* Relies on the lock for a moment, or for all of its validity, and says from when to when. */
static void hold(struct holder *holder, redlock_lock *lock, int64_t asked_us)
{
    struct hold entry = {.asked_us = asked_us, .holder = holder->number};
    int64_t validity_us = redlock_lock_validity_ms(lock) * 1000;
    int64_t now = history_now_us(), until = now + validity_us;
    bool keeps = rl_prng_between(&holder->prng, 1, 100) <= (int64_t)holder->config->keep_percent;

    entry.entered_us = now;
    entry.fence = holder->config->number != NULL ? holder->config->number(lock) : redlock_lock_fence(lock);
    if (!keeps)
        until = now + rl_prng_between(&holder->prng, 0, validity_us / 10);
    sleep_ms((until - now) / 1000);
    now = history_now_us();
    entry.left_us = now < until ? now : until;
    history_add(holder->history, &entry);
    if (!keeps)
        redlock_release(lock, NULL);
    redlock_lock_free(lock);
}

/* Asks once at a time, so that what is written down as asked was asked then. */
static void live(struct holder *holder, int64_t until_ms)
{
    redlock_spec spec = spec_for("held", holder->config->ttl_ms);

    if (holder->config->want != NULL)
        holder->config->want(holder->number, &spec);
    while (now_ms() < until_ms && !atomic_load(holder->over)) {
        redlock_lock *lock = NULL;
        int64_t asked_us = history_now_us();

        if (redlock_try_acquire(holder->client, &spec, &lock, NULL) == REDLOCK_OK)
            hold(holder, lock, asked_us);
        else
            sleep_ms(rl_prng_between(&holder->prng, 1, 15));
    }
}

/* In the child; returns its exit status. */
static int run_holder(struct fleet *fleet, struct holder *holder, int64_t until_ms, pid_t parent)
{
    redlock_options options = guarded_options(fleet_urls(fleet), holder->config->ttl_ms);

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        return 1;
    if (holder->config->prepare != NULL)
        holder->config->prepare(holder->number);
    options.mode = holder->config->mode;
    options.node_timeout_ms = holder->config->node_timeout_ms;
    holder->prng = rl_prng_seed((uint64_t)holder->number + 1);
    if (redlock_client_open(&options, &holder->client, NULL) != REDLOCK_OK)
        return 1;
    live(holder, until_ms);
    redlock_client_close(holder->client);
    return 0;
}

struct history *holders_run(struct fleet *fleet, const struct holders_config *config)
{
    struct history *history = history_create(HOLDS_MAX);
    int64_t until_ms = now_ms() + config->duration_ms;
    pid_t children[PROCESSES_MAX], parent = getpid();
    int crashes = 0, status;
    atomic_bool *over = mmap(NULL, sizeof *over, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_non_null(history);
    assert_ptr_not_equal(over, MAP_FAILED);
    assert_in_range(config->processes, 1, PROCESSES_MAX);
    fflush(NULL);
    for (int i = 0; i < config->processes; i++) {
        struct holder holder = {.config = config, .history = history, .over = over, .number = i};

        children[i] = fork();
        if (children[i] == 0) {
            alarm((unsigned)config->duration_ms / 1000 + MERCY_S);
            _exit(run_holder(fleet, &holder, until_ms, parent));
        }
    }
    for (int turn = 0; config->disturb != NULL && now_ms() < until_ms && !atomic_load(over); turn++) {
        config->disturb(fleet, turn);
        atomic_store(over, config->enough != NULL && config->enough());
    }
    for (int i = 0; i < config->processes; i++)
        crashes +=
            waitpid(children[i], &status, 0) != children[i] || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    munmap(over, sizeof *over);
    assert_int_equal(crashes, 0);
    assert_false(history_full(history));
    return history;
}
