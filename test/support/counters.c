/*
 * Processes that count under the lock; see counters.h.
 */
#include "support/counters.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/steps.h"

/* Long enough inside that two at a time would meet, and that the processors are not what all wait for. */
enum { PROCESSES_MAX = 64, MERCY_S = 90, DAWDLE_MS = 5 };

/* What all processes share. The file is the patient; this is the record. */
struct tally {
    atomic_int inside; /* that count */
    atomic_int reading;
    atomic_long reads, beside;
    atomic_int overlaps;
    atomic_int failures;
    atomic_int last_failure;
    atomic_long claimed;
};

struct worker {
    struct tally *tally;
    const char *nodes;
    const char *path;
    int64_t until_ms;
    uint32_t ttl_ms;
    bool reads, cheats;
};

static void note_failure(struct tally *tally, redlock_result result)
{
    atomic_store(&tally->last_failure, (int)result);
    atomic_fetch_add(&tally->failures, 1);
}

static long read_number(const char *path)
{
    char text[32] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return 0;
    if (read(fd, text, sizeof(text) - 1) < 0)
        text[0] = '\0';
    close(fd);
    return atol(text);
}

static void write_number(const char *path, long number)
{
    char text[32];
    int length = snprintf(text, sizeof(text), "%ld\n", number);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0 || write(fd, text, (size_t)length) != length)
        abort();
    close(fd);
}

/* Reads, dawdles and writes: two at a time would lose an increment. */
static void increment(const struct worker *worker)
{
    if (atomic_fetch_add(&worker->tally->inside, 1) > 0 || atomic_load(&worker->tally->reading) > 0)
        atomic_fetch_add(&worker->tally->overlaps, 1);
    long number = read_number(worker->path);
    sleep_ms(DAWDLE_MS);
    write_number(worker->path, number + 1);
    atomic_fetch_sub(&worker->tally->inside, 1);
    atomic_fetch_add(&worker->tally->claimed, 1);
}

/* Looks twice: what is counted meanwhile would show. */
static void look(const struct worker *worker)
{
    struct tally *tally = worker->tally;
    bool beside = atomic_fetch_add(&tally->reading, 1) > 0;
    bool alone = atomic_load(&tally->inside) == 0;
    long number = read_number(worker->path);

    sleep_ms(DAWDLE_MS);
    if (!alone || read_number(worker->path) != number || atomic_load(&tally->inside) > 0)
        atomic_fetch_add(&tally->overlaps, 1);
    atomic_fetch_add(&tally->beside, beside);
    atomic_fetch_add(&tally->reads, 1);
    atomic_fetch_sub(&tally->reading, 1);
}

/* The last wait may end with the run, with the lock still in other hands. */
static void take_turn(const struct worker *worker, redlock_client *client)
{
    redlock_spec spec = spec_for("counter", worker->ttl_ms);
    redlock_lock *lock = NULL;
    int64_t left_ms = worker->until_ms - now_ms();
    redlock_result result;

    if (worker->cheats) {
        look(worker);
        return;
    }
    spec.kind = worker->reads ? REDLOCK_SHARED : REDLOCK_EXCLUSIVE;
    result = redlock_acquire(client, &spec, left_ms > 0 ? left_ms : 0, &lock, NULL);
    if (result == REDLOCK_TIMEOUT || result == REDLOCK_BUSY)
        return;
    if (result != REDLOCK_OK) {
        note_failure(worker->tally, result);
        return;
    }
    if (worker->reads)
        look(worker);
    else
        increment(worker);
    result = redlock_release(lock, NULL);
    if (result != REDLOCK_OK)
        note_failure(worker->tally, result);
    redlock_lock_free(lock);
}

/* In the child; returns its exit status. */
static int work(const struct worker *worker, pid_t parent)
{
    redlock_options options = options_for(worker->nodes);
    redlock_client *client = NULL;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        return 1;
    /* Sixteen processes on two cores, and under a sanitizer at that: slow is not silent. */
    options.node_timeout_ms = 2000;
    if (worker->ttl_ms != LONG_TTL_MS)
        options.max_ttl_ms = worker->ttl_ms;
    if (redlock_client_open(&options, &client, NULL) != REDLOCK_OK)
        return 1;
    admit_new_nodes(client);
    while (now_ms() < worker->until_ms)
        take_turn(worker, client);
    redlock_client_close(client);
    return 0;
}

static int await_children(const pid_t *children, int count)
{
    int crashes = 0;

    for (int i = 0; i < count; i++) {
        int status = 0;
        if (waitpid(children[i], &status, 0) != children[i] || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
            crashes++;
    }
    return crashes;
}

struct counters_result counters_run(struct fleet *fleet, int processes, int duration_ms,
                                    void (*disturb)(struct fleet *fleet, int turn))
{
    return counters_share(fleet, processes, 0, false, LONG_TTL_MS, duration_ms, disturb);
}

struct counters_result counters_share(struct fleet *fleet, int writers, int readers, bool cheat,
                                      uint32_t ttl_ms, int duration_ms,
                                      void (*disturb)(struct fleet *fleet, int turn))
{
    int processes = writers + readers;
    char path[160];
    pid_t children[PROCESSES_MAX];
    pid_t parent = getpid();
    struct counters_result result = {.crashes = 1};
    struct tally *tally =
        mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (tally == MAP_FAILED || processes > PROCESSES_MAX)
        return result;
    snprintf(path, sizeof(path), "%s/counter", fleet_folder(fleet));
    struct worker worker = {.tally = tally,
                            .nodes = fleet_urls(fleet),
                            .path = path,
                            .until_ms = now_ms() + duration_ms,
                            .ttl_ms = ttl_ms};
    fflush(NULL);
    for (int i = 0; i < processes; i++) {
        worker.reads = i >= writers;
        worker.cheats = worker.reads && cheat;
        children[i] = fork();
        if (children[i] == 0) {
            alarm((unsigned)duration_ms / 1000 + MERCY_S);
            _exit(work(&worker, parent));
        }
    }
    for (int turn = 0; disturb != NULL && now_ms() < worker.until_ms; turn++)
        disturb(fleet, turn);
    result.crashes = await_children(children, processes);
    result.claimed = atomic_load(&tally->claimed);
    result.counted = read_number(path);
    result.overlaps = atomic_load(&tally->overlaps);
    result.reads = atomic_load(&tally->reads);
    result.beside = atomic_load(&tally->beside);
    result.failures = atomic_load(&tally->failures);
    result.last_failure = atomic_load(&tally->last_failure);
    munmap(tally, sizeof(*tally));
    return result;
}
