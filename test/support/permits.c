/*
 * Processes that share a semaphore; see permits.h.
 */
#include "support/permits.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/steps.h"

enum { PROCESSES_MAX = 64, SLOTS_MAX = 64, MERCY_S = 90, MARGIN_MS = 2, FREE = -1 };

/* What all processes share: what each relies on, and until when. */
struct place {
    atomic_uint turn; /* how often it was inside, this time included */
    atomic_int slot;  /* FREE: on none */
    _Atomic int64_t until_ms;
};

struct board {
    struct place processes[PROCESSES_MAX];
    _Atomic uint64_t fences[SLOTS_MAX];
    atomic_int crowded, doubled, unfenced, most, failures;
    atomic_long turns;
};

struct party {
    struct board *board;
    const struct permits_config *config;
    const char *nodes;
    int number;
    int64_t until_ms;
};

static void note_most(struct board *board, int inside)
{
    int most = atomic_load(&board->most);

    while (inside > most && !atomic_compare_exchange_weak(&board->most, &most, inside))
        continue;
}

/* Which turn another one is inside with, and in which slot; 0: it is not inside, or no longer relies on
 * it. */
static unsigned turn_inside(const struct party *party, int number, int *slot)
{
    struct place *place = &party->board->processes[number];
    unsigned turn = atomic_load(&place->turn);

    *slot = atomic_load(&place->slot);
    if (number == party->number || *slot == FREE || atomic_load(&place->until_ms) <= now_ms())
        return 0;
    return turn;
}

/* One that is inside with the same turn in both looks was inside in between: those are inside together. */
static void look_around(const struct party *party, int slot)
{
    struct board *board = party->board;
    unsigned turns[PROCESSES_MAX];
    int inside = 1, doubled = 0, other;

    for (int i = 0; i < party->config->processes; i++)
        turns[i] = turn_inside(party, i, &other);
    for (int i = 0; i < party->config->processes; i++) {
        if (turns[i] == 0 || turn_inside(party, i, &other) != turns[i])
            continue;
        inside++;
        doubled += other == slot;
    }
    if (atomic_load(&board->processes[party->number].until_ms) <= now_ms())
        return;
    note_most(board, inside);
    atomic_fetch_add(&board->crowded, inside > (int)party->config->permits);
    atomic_fetch_add(&board->doubled, doubled > 0);
}

static void check_fence(struct board *board, const redlock_lock *lock)
{
    _Atomic uint64_t *last = &board->fences[redlock_lock_slot(lock)];

    if (atomic_exchange(last, redlock_lock_fence(lock)) >= redlock_lock_fence(lock))
        atomic_fetch_add(&board->unfenced, 1);
}

static void rely_on(const struct party *party, const redlock_lock *lock)
{
    struct board *board = party->board;
    int64_t began_ms = now_ms(), left_ms = redlock_lock_validity_ms(lock);

    if (left_ms <= MARGIN_MS)
        return;
    atomic_fetch_add(&board->processes[party->number].turn, 1);
    atomic_store(&board->processes[party->number].until_ms, began_ms + left_ms - MARGIN_MS);
    atomic_store(&board->processes[party->number].slot, redlock_lock_slot(lock));
    check_fence(board, lock);
    look_around(party, redlock_lock_slot(lock));
    usleep((useconds_t)(rand() % 10000));
    look_around(party, redlock_lock_slot(lock));
    atomic_store(&board->processes[party->number].slot, FREE);
    atomic_fetch_add(&board->turns, 1);
}

static void take_turn(const struct party *party, redlock_client *client, uint32_t ttl_ms)
{
    redlock_spec spec = spec_for("permits", ttl_ms);
    redlock_lock *lock = NULL;
    int64_t left_ms = party->until_ms - now_ms();
    redlock_result result;

    spec.kind = REDLOCK_SEMAPHORE;
    spec.permits = party->config->permits + (party->config->one_more ? 1 : 0);
    result = redlock_acquire(client, &spec, left_ms > 0 ? left_ms : 0, &lock, NULL);
    if (result == REDLOCK_OK) {
        rely_on(party, lock);
        (void)!redlock_release(lock, NULL);
        redlock_lock_free(lock);
    } else if (result != REDLOCK_TIMEOUT && result != REDLOCK_BUSY && party->config->disturb == NULL &&
               now_ms() < party->until_ms) { /* when time is over, nodes may not have answered yet */
        fprintf(stderr, "# %s\n", redlock_result_name(result));
        atomic_fetch_add(&party->board->failures, 1);
    }
}

static int take_part(const struct party *party, pid_t parent)
{
    uint32_t ttl_ms = party->config->ttl_ms != 0 ? party->config->ttl_ms : LONG_TTL_MS;
    redlock_options options = options_for(party->nodes);
    redlock_client *client = NULL;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        return 1;
    srand((unsigned)party->number);
    options.mode = REDLOCK_GUARDED;
    options.max_ttl_ms = ttl_ms;
    if (party->config->disturb == NULL) /* slow is not silent */
        options.node_timeout_ms = options.connect_timeout_ms = 5000;
    if (redlock_client_open(&options, &client, NULL) != REDLOCK_OK)
        return 1;
    while (now_ms() < party->until_ms)
        take_turn(party, client, ttl_ms);
    redlock_client_close(client);
    return 0;
}

static void admit(const char *nodes, uint32_t ttl_ms)
{
    redlock_options options = options_for(nodes);
    redlock_client *client = NULL;

    options.mode = REDLOCK_GUARDED;
    options.max_ttl_ms = ttl_ms != 0 ? ttl_ms : LONG_TTL_MS;
    client = open_with(&options);
    assert_result(REDLOCK_OK, redlock_init_nodes(client, 1, NULL), NULL);
    redlock_client_close(client);
}

struct permits_result permits_run(struct fleet *fleet, const struct permits_config *config)
{
    pid_t children[PROCESSES_MAX], parent = getpid();
    struct board *board =
        mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct permits_result result = {.crashes = 0};
    struct party party = {board, config, fleet_urls(fleet), 0, 0};

    if (board == MAP_FAILED || config->processes > PROCESSES_MAX || config->permits >= SLOTS_MAX)
        return (struct permits_result){.crashes = 1};
    admit(fleet_urls(fleet), config->ttl_ms);
    party.until_ms = now_ms() + config->duration_ms;
    for (int i = 0; i < config->processes; i++)
        atomic_store(&board->processes[i].slot, FREE);
    fflush(NULL);
    for (int i = 0; i < config->processes; i++) {
        party.number = i;
        children[i] = fork();
        if (children[i] == 0) {
            alarm((unsigned)config->duration_ms / 1000 + MERCY_S);
            _exit(take_part(&party, parent));
        }
    }
    for (int turn = 0; config->disturb != NULL && now_ms() < party.until_ms; turn++)
        config->disturb(fleet, turn);
    for (int i = 0; i < config->processes; i++) {
        int status = 0;

        if (waitpid(children[i], &status, 0) != children[i] || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
            result.crashes++;
    }
    result.turns = atomic_load(&board->turns);
    result.crowded = atomic_load(&board->crowded);
    result.doubled = atomic_load(&board->doubled);
    result.unfenced = atomic_load(&board->unfenced);
    result.most = atomic_load(&board->most);
    result.failures = atomic_load(&board->failures);
    munmap(board, sizeof *board);
    return result;
}
