/*
 * Waiting, at length: what a crowd costs while somebody keeps a lock for ten seconds, and ten thousand
 * hand-overs through a bad network, in which no waiter ever has to find out by itself that the lock is free.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/crowd.h"
#include "support/proxy.h"
#include "support/steps.h"

/* ---- a crowd ------------------------------------------------------------------------------------------- */

enum { CROWD = 100, RENEW_MS = 4500, RENEWALS = 2 };

static void show(const char *what, const struct crowd_result *result)
{
    print_message("# %d %s, %d renewals: %ld commands on the busiest node (%ld looks), %.5f of a core each; "
                  "%ld more until all had it\n",
                  CROWD, what, result->renewals, result->commands, result->looks, result->cpu_share,
                  result->drain);
}

/* Of what a node executed, a script's own calls included: at the first renewal a try, with a look after it,
 * then a look; three commands each; and once a script of seven that shows who waits. */
static void a_hundred_processes_wait_almost_for_free(void **state)
{
    struct crowd_result result = crowd_of_processes(*state, CROWD, RENEW_MS, RENEWALS);

    show("processes", &result);
    assert_int_equal(result.served, CROWD);
    assert_in_range(result.commands, 1, 20 * CROWD);
    assert_in_range(result.looks, CROWD, 4 * CROWD);
    assert_true(result.cpu_share < 0.01);
}

static void a_hundred_threads_wait_as_one(void **state)
{
    struct crowd_result result = crowd_of_threads(*state, CROWD, RENEW_MS, RENEWALS);

    show("threads", &result);
    assert_int_equal(result.served, CROWD);
    assert_in_range(result.commands, 1, 60);
    assert_true(result.cpu_share < 0.01);
}

/* ---- hand-overs ---------------------------------------------------------------------------------------- */

enum { NODES = 3, PROCESSES = 3, THREADS = 4, HANDOVERS = 10000, PATIENCE_MS = 60000, MERCY_S = 150 };

/* Shared with the processes. */
struct relay_race {
    atomic_int handovers, failures, last_failure;
    atomic_int looks;  /* times somebody looked although nobody had told anything */
    atomic_int needed; /* times that was how it found out */
};

static struct relay_race *race;
static char urls[512];

/* One client has one name in play, so one of its callers at most waits for nodes: its lines are told apart by
 * their words. */
static void watch_waiter(void *context, const char *line)
{
    atomic_int *looking = context;

    if (strstr(line, "> look again") != NULL) {
        atomic_fetch_add(&race->looks, 1);
        atomic_store(looking, 1);
    } else if (strstr(line, "> changed") != NULL || strstr(line, "> back") != NULL ||
               strstr(line, "> gone") != NULL || strstr(line, "its turn") != NULL) {
        atomic_store(looking, 0);
    } else if (strstr(line, "] round ") != NULL && atomic_exchange(looking, 0) != 0) {
        atomic_fetch_add(&race->needed, 1);
    }
}

static void *run_laps(void *context)
{
    redlock_spec spec = spec_for("baton", LONG_TTL_MS);

    while (atomic_load(&race->handovers) < HANDOVERS) {
        redlock_lock *lock = NULL;
        redlock_result result = redlock_acquire(context, &spec, PATIENCE_MS, &lock, NULL);

        if (result != REDLOCK_OK) {
            atomic_store(&race->last_failure, (int)result);
            atomic_fetch_add(&race->failures, 1);
            return NULL;
        }
        atomic_fetch_add(&race->handovers, 1);
        redlock_release(lock, NULL); /* what the network swallowed is released later */
        redlock_lock_free(lock);
    }
    return NULL;
}

static int run_team(pid_t parent)
{
    redlock_options options = options_for(urls);
    redlock_client *client = NULL;
    pthread_t threads[THREADS];
    atomic_int looking = 0;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(MERCY_S);
    options.node_timeout_ms = 2000;
    options.trace = watch_waiter;
    options.trace_context = &looking;
    if (getppid() != parent || redlock_client_open(&options, &client, NULL) != REDLOCK_OK)
        return 1;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, run_laps, client) != 0)
            return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    redlock_client_close(client);
    return 0;
}

/* A connection is cut every now and then, and one node after the other dies and comes back. */
static void disturb(struct fleet *fleet, struct proxy **proxies)
{
    unsigned dice = 1;

    for (int turn = 0; atomic_load(&race->handovers) < HANDOVERS && atomic_load(&race->failures) == 0;
         turn++) {
        int victim = rand_r(&dice) % NODES;

        sleep_ms(rand_r(&dice) % 150);
        proxy_cut_after_next(proxies[victim]);
        if (turn % 20 != 19)
            continue;
        fleet_kill(fleet, turn / 20 % NODES);
        sleep_ms(200);
        if (!fleet_restart(fleet, turn / 20 % NODES))
            print_error("a node did not come back\n");
    }
}

static void start_race(struct fleet *fleet, struct proxy **proxies, pid_t *teams)
{
    pid_t parent = getpid();

    race = mmap(NULL, sizeof *race, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(race != MAP_FAILED);
    urls[0] = '\0';
    for (int node = 0; node < NODES; node++) {
        proxies[node] = proxy_start(fleet, node);
        assert_non_null(proxies[node]);
        strcat(strcat(urls, node > 0 ? "," : ""), proxy_url(proxies[node]));
    }
    fflush(NULL);
    for (int i = 0; i < PROCESSES; i++) {
        teams[i] = fork();
        if (teams[i] == 0)
            _exit(run_team(parent));
    }
}

static void no_hand_over_is_missed(void **state)
{
    struct fleet *fleet = *state;
    struct proxy *proxies[NODES];
    pid_t teams[PROCESSES];
    int broken = 0;

    start_race(fleet, proxies, teams);
    disturb(fleet, proxies);
    for (int i = 0; i < PROCESSES; i++) {
        int status = 0;

        waitpid(teams[i], &status, 0);
        broken += status != 0;
    }
    print_message("# %d hand-overs, %d looks without news, %d of them needed\n",
                  atomic_load(&race->handovers), atomic_load(&race->looks), atomic_load(&race->needed));
    for (int node = 0; node < NODES; node++)
        proxy_stop(proxies[node]);
    assert_int_equal(broken, 0);
    assert_result(REDLOCK_OK, (redlock_result)atomic_load(&race->last_failure), NULL);
    assert_true(atomic_load(&race->handovers) >= HANDOVERS);
    assert_int_equal(atomic_load(&race->needed), 0);
    munmap(race, sizeof *race);
}

/* Who waited when a connection was cut may be shown on its node until his time there is up: only locks
 * count. */
static int stop_race(void **state)
{
    struct fleet *fleet = *state;
    int left = 0;

    for (int tries = 0; tries < 1000 && (tries == 0 || left > 0); tries++) {
        left = 0;
        for (int node = 0; node < NODES; node++)
            left += strcmp(fleet_command(fleet, node, "EXISTS", "baton", NULL), "0") != 0;
        sleep_ms(left > 0 ? 10 : 0);
    }
    fleet_stop(fleet);
    /* A client that closes waits for a node that is away no longer than its bound: one may have kept it. */
    return left > 1 ? -1 : 0;
}

static int start_three_durable_nodes(void **state)
{
    struct fleet_options options = {.node_count = NODES, .durable = true};

    *state = fleet_start(&options);
    return *state != NULL ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_NODES(a_hundred_processes_wait_almost_for_free, start_three_nodes),
        ON_NODES(a_hundred_threads_wait_as_one, start_three_nodes),
        cmocka_unit_test_setup_teardown(no_hand_over_is_missed, start_three_durable_nodes, stop_race),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
