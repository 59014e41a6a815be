/*
 * The line of a lock, at length: processes that want one lock again and again get it equally often, also when
 * their clocks differ, some of them stop or are killed, and nodes fail meanwhile; and never two have it at
 * once.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/guarded.h"
#include "support/history.h"
#include "support/line.h"
#include "support/steps.h"
#include "support/waiters.h"

enum { CONTENDERS = 6, HANDOVERS = 600, HOLDS_MAX = 4 * HANDOVERS, MERCY_S = 150 };

/* ---- a wall clock that is wrong for a whole process ---------------------------------------------------- */

static int64_t skew_ms;

/* Takes the place of libc's in this program; a process sets its own skew before it has threads. */
int clock_gettime(clockid_t which, struct timespec *at)
{
    if (syscall(SYS_clock_gettime, which, at) != 0)
        return -1;
    if (which == CLOCK_REALTIME && skew_ms != 0) {
        int64_t ms = (int64_t)at->tv_sec * 1000 + at->tv_nsec / 1000000 + skew_ms;

        at->tv_nsec = ms % 1000 * 1000000 + at->tv_nsec % 1000000;
        at->tv_sec = ms / 1000;
    }
    return 0;
}

/* ---- contenders ---------------------------------------------------------------------------------------- */

/* Shared with the processes. */
struct contest {
    atomic_int ready, go, handovers;
    atomic_int had[CONTENDERS + 1], failures;
};

static struct contest *contest;
static struct history *history;

static bool hold_once(redlock_client *client, int contender)
{
    redlock_spec spec = line_spec(REDLOCK_FAIR);
    struct hold hold = {.asked_us = history_now_us(), .holder = contender};
    redlock_lock *lock = NULL;

    spec.ttl_ms = 2000; /* one is killed now and then */
    if (redlock_acquire(client, &spec, 60000, &lock, NULL) != REDLOCK_OK)
        return false;
    hold.entered_us = history_now_us();
    hold.fence = redlock_lock_fence(lock);
    atomic_fetch_add(&contest->had[contender], 1);
    atomic_fetch_add(&contest->handovers, 1);
    hold.left_us = history_now_us();
    history_add(history, &hold);
    redlock_release(lock, NULL); /* what a node that is down cannot be told ends there by itself */
    redlock_lock_free(lock);
    return true;
}

static int contend(const char *nodes, int contender)
{
    redlock_options options = guarded_options(nodes, LONG_TTL_MS);
    redlock_client *client = NULL;

    options.node_timeout_ms = 2000;
    if (redlock_client_open(&options, &client, NULL) != REDLOCK_OK)
        return 1;
    await_all_nodes(client);
    atomic_fetch_add(&contest->ready, 1);
    while (atomic_load(&contest->go) == 0)
        sleep_ms(1);
    while (atomic_load(&contest->handovers) < HANDOVERS)
        if (!hold_once(client, contender))
            atomic_fetch_add(&contest->failures, 1);
    redlock_client_close(client);
    return 0;
}

static pid_t start_contender(struct fleet *fleet, int contender, int64_t its_skew_ms)
{
    pid_t parent = getpid(), pid;

    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(MERCY_S);
        skew_ms = its_skew_ms;
        _exit(getppid() == parent ? contend(fleet_urls(fleet), contender) : 1);
    }
    return pid;
}

static void begin_contest(void)
{
    contest = mmap(NULL, sizeof *contest, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(contest != MAP_FAILED);
    history = history_create(HOLDS_MAX);
    assert_non_null(history);
}

/* Waits for the end of all, and judges: of those from `first` on, the least has had it at least `tenths`
 * tenths as often as anybody. */
static void end_contest(const pid_t *pids, int first, int tenths)
{
    int least = HANDOVERS, most = 0, broken = 0, status;

    for (int i = 0; i < CONTENDERS; i++) {
        waitpid(pids[i], &status, 0);
        broken += status != 0;
    }
    for (int i = 0; i < CONTENDERS; i++) {
        int had = atomic_load(&contest->had[i]);

        least = i >= first && had < least ? had : least;
        most = had > most ? had : most;
    }
    print_message("# %d hand-overs: least %d, most %d\n", atomic_load(&contest->handovers), least, most);
    assert_int_equal(broken, 0);
    assert_int_equal(atomic_load(&contest->failures), 0);
    assert_int_equal(history_overlaps(history), 0);
    assert_int_equal(history_repeats(history), 0);
    assert_int_equal(history_setbacks(history), 0);
    assert_true(10 * least >= tenths * most);
    history_free(history);
    munmap(contest, sizeof *contest);
}

static void run_contest(struct fleet *fleet, const int64_t *skews_ms)
{
    pid_t pids[CONTENDERS];

    begin_contest();
    for (int i = 0; i < CONTENDERS; i++)
        pids[i] = start_contender(fleet, i, skews_ms[i]);
    await(atomic_load(&contest->ready) == CONTENDERS);
    atomic_store(&contest->go, 1);
    end_contest(pids, 0, 8);
    await(line_is_gone(fleet));
}

static void everybody_gets_it_equally_often(void **state)
{
    static const int64_t right[CONTENDERS] = {0};

    run_contest(*state, right);
}

/* Without the nodes' high-water mark the one whose clock is behind would win nearly always. */
static void nobody_gets_it_more_often_for_a_wrong_clock(void **state)
{
    static const int64_t wrong[CONTENDERS] = {0, -50, 50, 0, -2000, 2000};

    run_contest(*state, wrong);
}

static void end(pid_t pid)
{
    if (pid <= 0)
        return;
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* Three are stopped again and again, which costs them turns; a seventh is killed where it stands, a node
 * dies. The others neither lose turns for that nor are overtaken by anybody who goes on. */
static void stopped_and_killed_contenders_harm_nobody_else(void **state)
{
    enum { STOPPED = CONTENDERS / 2, KILLS = 6 };
    static const int64_t wrong[CONTENDERS] = {0, -50, 50, 0, -50, 50};
    struct fleet *fleet = *state;
    pid_t pids[CONTENDERS], victim = 0;

    begin_contest();
    for (int i = 0; i < CONTENDERS; i++)
        pids[i] = start_contender(fleet, i, wrong[i]);
    await(atomic_load(&contest->ready) == CONTENDERS);
    atomic_store(&contest->go, 1);
    for (int turn = 0; atomic_load(&contest->handovers) < HANDOVERS / 2; turn++) {
        end(victim);
        victim = turn < KILLS ? start_contender(fleet, CONTENDERS, 0) : 0;
        if (turn == KILLS / 2)
            fleet_kill(fleet, 1);
        kill(pids[turn % STOPPED], SIGSTOP);
        sleep_ms(20);
        kill(pids[turn % STOPPED], SIGCONT);
        sleep_ms(100);
    }
    end(victim);
    end_contest(pids, STOPPED, 5); /* a busy machine may stop others as well, for as long */
    vacate(fleet);                 /* one that was killed may have had it, */
    line_clear(fleet);             /* or stand in line yet */
}

static int start_admitted(void **state)
{
    if (start_five_guarded(state) != 0)
        return -1;
    redlock_client_close(open_admitted(fleet_urls(*state), LONG_TTL_MS));
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_GUARDED(everybody_gets_it_equally_often, start_admitted),
        ON_GUARDED(nobody_gets_it_more_often_for_a_wrong_clock, start_admitted),
        ON_GUARDED(stopped_and_killed_contenders_harm_nobody_else, start_admitted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
