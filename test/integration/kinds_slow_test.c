/*
 * What takes a while to see of the kinds of lock, on five real nodes: a writer among many busy readers comes
 * in within two generations of them, and what a killed process had comes back by itself when its lease ends,
 * alone: what others have stays theirs.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/guarded.h"
#include "support/line.h"
#include "support/steps.h"
#include "support/waiters.h"

enum { READERS = 16, CLIENTS = 4, WRITES = 30, STALLED_MS = 2000, BRIEF_MS = 5000, MERCY_S = 120 };

/* ---- readers and a writer ------------------------------------------------------------------------------ */

struct reader {
    pthread_t thread;
    redlock_client *client;
    unsigned number;
};

static atomic_ulong entries; /* of all readers */
static atomic_bool ending;

static void *read_on_and_on(void *context)
{
    const struct reader *reader = context;
    redlock_spec spec = line_spec(REDLOCK_SHARED);
    unsigned random = reader->number;

    while (!atomic_load(&ending)) {
        redlock_lock *lock = NULL;

        if (redlock_acquire(reader->client, &spec, REDLOCK_WAIT_FOREVER, &lock, NULL) != REDLOCK_OK)
            continue;
        atomic_fetch_add(&entries, 1);
        usleep((useconds_t)(rand_r(&random) % 3000));
        (void)!redlock_release(lock, NULL);
        redlock_lock_free(lock);
    }
    return NULL;
}

/* Whether a quorum of nodes has somebody in line who wants the lock alone: records of those who would
 * share it begin with an s. */
static bool writer_stands(struct fleet *fleet)
{
    int count = 0;

    for (int node = 0; node < fleet_size(fleet); node++)
        count += strcmp(fleet_command(
                            fleet, node, "EVAL",
                            "for _, id in ipairs(redis.call('ZRANGE', KEYS[1] .. 'waiters', 0, -1)) do "
                            "local record = redis.call('GET', KEYS[1] .. id) "
                            "if record and string.sub(record, 1, 1) ~= 's' then return 1 end end return 0",
                            "1", "redlock-line:{" WANTED "}:", NULL),
                        "1") == 0;
    return count >= quorum_of(fleet);
}

/* How many readers came in between the writer's standing in line and its having the lock; -1: it had it
 * before that was seen, or the machine stopped for so long that nodes may have given its place away. */
static long readers_before_writer(struct fleet *fleet, redlock_client *client)
{
    redlock_spec spec = line_spec(REDLOCK_EXCLUSIVE);
    int64_t began_ms = now_ms();
    unsigned long before;
    struct waiter writer;
    bool seen;

    start_waiting_for(&writer, client, &spec);
    while (!(seen = writer_stands(fleet)) && !atomic_load(&writer.done))
        continue;
    before = atomic_load(&entries);
    await_end(&writer, REDLOCK_OK);
    unsigned long after = atomic_load(&entries);
    give_back(writer.lock);
    return seen && now_ms() - began_ms < STALLED_MS ? (long)(after - before) : -1;
}

/* One generation is inside when the writer comes, another may be in line before it. A reader that has just
 * come in may not have said so yet. */
static void a_writer_among_busy_readers_waits_for_two_generations_at_most(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *clients[CLIENTS], *writer = line_open(fleet_urls(fleet));
    struct reader readers[READERS];
    long most = 0;
    int judged = 0;

    admit_all_nodes(writer);
    atomic_store(&ending, false);
    for (int i = 0; i < CLIENTS; i++)
        clients[i] = line_open(fleet_urls(fleet));
    for (unsigned i = 0; i < READERS; i++) {
        readers[i] = (struct reader){.client = clients[i % CLIENTS], .number = i};
        assert_int_equal(pthread_create(&readers[i].thread, NULL, read_on_and_on, &readers[i]), 0);
    }
    for (int turn = 0; turn < WRITES; turn++) {
        unsigned long before = atomic_load(&entries);

        await(atomic_load(&entries) >= before + READERS); /* they are all at it */
        long count = readers_before_writer(fleet, writer);
        judged += count >= 0;
        most = count > most ? count : most;
    }
    atomic_store(&ending, true);
    for (int i = 0; i < READERS; i++)
        pthread_join(readers[i].thread, NULL);
    for (int i = 0; i < CLIENTS; i++)
        redlock_client_close(clients[i]);
    redlock_client_close(writer);
    print_message("# %d of %d writers judged, %ld readers before one at most, %lu in all\n", judged, WRITES,
                  most, atomic_load(&entries));
    assert_true(most <= 2 * READERS);
    assert_true(judged > 0);
}

/* ---- a process that is killed -------------------------------------------------------------------------- */

/* Another process that has a lock and renews it until it is killed. */
struct victim {
    pid_t pid;
    int32_t slot;
};

static int be_victim(const char *nodes, const redlock_spec *wanted, int tell, pid_t parent)
{
    redlock_options options = guarded_options(nodes, LONG_TTL_MS);
    redlock_client *client = NULL;
    redlock_spec spec = *wanted;
    redlock_lock *lock = NULL;
    int32_t slot;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(MERCY_S);
    spec.ttl_ms = BRIEF_MS;
    spec.auto_extend = 1;
    spec.on_lost = ignore_loss;
    if (getppid() != parent || redlock_client_open(&options, &client, NULL) != REDLOCK_OK ||
        redlock_acquire(client, &spec, REDLOCK_WAIT_FOREVER, &lock, NULL) != REDLOCK_OK)
        return 1;
    slot = redlock_lock_slot(lock);
    if (write(tell, &slot, sizeof slot) != sizeof slot)
        return 1;
    for (;;)
        pause();
}

/* Fork before there are threads. */
static struct victim start_victim(struct fleet *fleet, const redlock_spec *spec)
{
    struct victim victim;
    pid_t parent = getpid();
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    victim.pid = fork();
    if (victim.pid == 0)
        _exit(be_victim(fleet_urls(fleet), spec, ends[1], parent));
    assert_true(victim.pid > 0);
    close(ends[1]);
    assert_int_equal(read(ends[0], &victim.slot, sizeof victim.slot), sizeof victim.slot);
    close(ends[0]);
    return victim;
}

static void kill_victim(const struct victim *victim)
{
    int status;

    kill(victim->pid, SIGKILL);
    assert_int_equal(waitpid(victim->pid, &status, 0), victim->pid);
    assert_true(WIFSIGNALED(status));
}

static void admit_and_close(struct fleet *fleet)
{
    redlock_client_close(open_admitted(fleet_urls(fleet), LONG_TTL_MS));
}

static redlock_lock *await_spec(redlock_client *client, const redlock_spec *spec)
{
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_lock *lock = NULL;

    assert_result(REDLOCK_OK, redlock_acquire(client, spec, 2 * LONG_TTL_MS, &lock, &report), &report);
    return lock;
}

static void a_killed_process_gives_its_slot_back_and_no_other(void **state)
{
    struct fleet *fleet = *state;
    redlock_spec spec = line_spec(REDLOCK_SEMAPHORE);
    redlock_lock *own, *next, *third = NULL;

    spec.permits = 2;
    admit_and_close(fleet);
    struct victim victim = start_victim(fleet, &spec);
    redlock_client *client = line_open(fleet_urls(fleet));
    own = take_spec(client, &spec);
    assert_int_not_equal(redlock_lock_slot(own), victim.slot);
    assert_result(REDLOCK_BUSY, redlock_try_acquire(client, &spec, &third, NULL), NULL);
    kill_victim(&victim);
    next = await_spec(client, &spec);
    assert_int_equal(redlock_lock_slot(next), victim.slot);
    assert_true(redlock_lock_validity_ms(own) > 0);
    assert_result(REDLOCK_BUSY, redlock_try_acquire(client, &spec, &third, NULL), NULL);
    give_back(next);
    give_back(own);
    redlock_client_close(client);
    /* One that was late may still have had what the killed one held. */
    for (int node = 0; node < fleet_size(fleet); node++)
        await(count_lock_keys(fleet, node) == 0);
}

static void a_killed_reader_leaves_and_the_others_stay(void **state)
{
    struct fleet *fleet = *state;
    redlock_spec spec = line_spec(REDLOCK_SHARED), alone = line_spec(REDLOCK_EXCLUSIVE);
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_lock *own, *writer = NULL;

    admit_and_close(fleet);
    struct victim victim = start_victim(fleet, &spec);
    redlock_client *client = line_open(fleet_urls(fleet));
    own = take_spec(client, &spec);
    kill_victim(&victim);
    do {
        sleep_ms(20);
        assert_result(REDLOCK_OK, redlock_inspect(client, WANTED, 0, &report), &report);
    } while (report.sharers != 1);
    assert_true(redlock_lock_validity_ms(own) > 0);
    assert_result(REDLOCK_BUSY, redlock_try_acquire(client, &alone, &writer, NULL), NULL);
    give_back(own);
    give_back(await_spec(client, &alone));
    redlock_client_close(client);
}

static void a_killed_process_gives_all_its_names_back_and_no_other(void **state)
{
    struct fleet *fleet = *state;
    static const redlock_name also[] = {{.name = "second"}, {.name = "third"}};
    redlock_spec spec = line_spec(REDLOCK_EXCLUSIVE), single = line_spec(REDLOCK_EXCLUSIVE);
    redlock_lock *own, *other = NULL;

    spec.also = also;
    spec.also_count = 2;
    admit_and_close(fleet);
    struct victim victim = start_victim(fleet, &spec);
    redlock_client *client = line_open(fleet_urls(fleet));
    own = take_lock(client, "fourth", LONG_TTL_MS);
    kill_victim(&victim);
    for (int i = 0; i < 2; i++) { /* each of them for itself, and then all together */
        single.name = also[i].name;
        give_back(await_spec(client, &single));
    }
    give_back(await_spec(client, &spec));
    single.name = "fourth";
    assert_result(REDLOCK_BUSY, redlock_try_acquire(client, &single, &other, NULL), NULL);
    assert_true(redlock_lock_validity_ms(own) > 0);
    give_back(own);
    redlock_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_GUARDED(a_killed_process_gives_its_slot_back_and_no_other, start_five_guarded),
        ON_GUARDED(a_killed_reader_leaves_and_the_others_stay, start_five_guarded),
        ON_GUARDED(a_killed_process_gives_all_its_names_back_and_no_other, start_five_guarded),
        ON_GUARDED(a_writer_among_busy_readers_waits_for_two_generations_at_most, start_five_guarded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
