/*
 * Crowds; see crowd.h.
 */
#include "support/crowd.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/steps.h"
#include "support/traffic.h"

#define NAME "wanted"

enum { CROWD_MAX = 128, MERCY_S = 150 };

/* Shared with the processes. */
struct scene {
    atomic_int ready, go, served, failed;
    const char *nodes;
};

struct holder {
    redlock_client *client;
    redlock_lock *lock;
    atomic_int renewals;
};

/* ---- who holds it ---- */

static void note_renewal(void *context, redlock_lock *lock, const redlock_report *report)
{
    struct holder *holder = context;

    (void)lock;
    atomic_fetch_add(&holder->renewals, report->result == REDLOCK_OK);
}

static void note_loss(void *context, redlock_lock *lock, const redlock_report *report)
{
    (void)context;
    (void)lock;
    print_error("the holder lost it: %s\n", report->line);
}

static void take(struct holder *holder, struct fleet *fleet, uint32_t renew_ms)
{
    redlock_options options = options_for(fleet_urls(fleet));
    redlock_spec spec = spec_for(NAME, LONG_TTL_MS);

    options.mode = REDLOCK_PLAIN;
    options.node_timeout_ms = 10000;
    holder->client = open_with(&options);
    await_all_nodes(holder->client);
    atomic_store(&holder->renewals, 0);
    spec.auto_extend = 1;
    spec.renew_ms = renew_ms;
    spec.on_lost = note_loss;
    spec.on_renewed = note_renewal;
    spec.context = holder;
    holder->lock = take_spec(holder->client, &spec);
}

/* ---- who wants it ---- */

static void want(struct scene *scene, redlock_client *client)
{
    redlock_spec spec = spec_for(NAME, LONG_TTL_MS);
    redlock_lock *lock = NULL;
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_result result = redlock_acquire(client, &spec, MERCY_S * 1000, &lock, &report);

    if (result == REDLOCK_OK)
        result = redlock_release(lock, &report);
    redlock_lock_free(lock);
    if (result != REDLOCK_OK)
        fprintf(stderr, "one of the crowd: %s\n", report.line);
    atomic_fetch_add(result == REDLOCK_OK ? &scene->served : &scene->failed, 1);
}

static redlock_client *open_patient(const char *nodes)
{
    redlock_options options = options_for(nodes);
    redlock_client *client = NULL;

    options.mode = REDLOCK_PLAIN;
    options.node_timeout_ms = 10000; /* a hundred processes on a few cores: slow is not silent */
    options.connect_timeout_ms = 10000;
    return redlock_client_open(&options, &client, NULL) == REDLOCK_OK ? client : NULL;
}

static int be_one_of_them(struct scene *scene, pid_t parent)
{
    redlock_client *client = open_patient(scene->nodes);

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || client == NULL)
        return 1;
    atomic_fetch_add(&scene->ready, 1);
    while (atomic_load(&scene->go) == 0)
        sleep_ms(20);
    want(scene, client);
    redlock_client_close(client);
    return 0;
}

static void start_processes(struct scene *scene, pid_t *children, int count)
{
    pid_t parent = getpid();

    for (int i = 0; i < count; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            alarm(MERCY_S);
            _exit(be_one_of_them(scene, parent));
        }
    }
    await(atomic_load(&scene->ready) == count);
}

/* ---- what it costs ---- */

static long busiest(struct fleet *fleet, const long *before)
{
    long most = 0;

    for (int node = 0; node < fleet_size(fleet); node++) {
        long calls = traffic_calls(fleet, node, NULL) - before[node];

        most = calls > most ? calls : most;
    }
    return most;
}

static void count_calls(struct fleet *fleet, long *calls)
{
    for (int node = 0; node < fleet_size(fleet); node++)
        calls[node] = traffic_calls(fleet, node, NULL);
}

static long cpu_of(const pid_t *children, int count)
{
    long sum = 0;

    for (int i = 0; i < count; i++)
        sum += traffic_cpu_us(children[i]);
    return sum;
}

/* Watches them wait for so many renewals. */
static void measure_wait(struct fleet *fleet, struct holder *holder, const pid_t *processes, int count,
                         int renewals, struct crowd_result *result)
{
    long before[FLEET_NODES_MAX], looks = traffic_calls_of_all(fleet, "client|caching");
    int first = atomic_load(&holder->renewals);
    int64_t since_ms = now_ms();
    long cpu_us = cpu_of(processes, count);

    count_calls(fleet, before);
    for (int tries = 0; tries < 2000 && atomic_load(&holder->renewals) < first + renewals; tries++)
        sleep_ms(50);
    /* A lock that was lost is not renewed any more. */
    assert_in_range(atomic_load(&holder->renewals) - first, renewals, INT_MAX);
    sleep_ms(300); /* what the last renewal sets off belongs to it */
    cpu_us = cpu_of(processes, count) - cpu_us;
    result->cpu_share = (double)cpu_us / 1000 / (double)(now_ms() - since_ms);
    result->commands = busiest(fleet, before);
    result->looks = (traffic_calls_of_all(fleet, "client|caching") - looks) / fleet_size(fleet);
    result->renewals = atomic_load(&holder->renewals) - first;
}

static void let_go(struct fleet *fleet, struct holder *holder, struct scene *scene, int count,
                   struct crowd_result *result)
{
    long before[FLEET_NODES_MAX];

    count_calls(fleet, before);
    give_back(holder->lock);
    for (int tries = 0; tries < 6000 && atomic_load(&scene->served) + atomic_load(&scene->failed) < count;
         tries++)
        sleep_ms(10);
    result->served = atomic_load(&scene->served);
    result->drain = busiest(fleet, before);
    redlock_client_close(holder->client);
}

static struct scene *make_scene(struct fleet *fleet)
{
    struct scene *scene =
        mmap(NULL, sizeof *scene, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_true(scene != MAP_FAILED);
    scene->nodes = fleet_urls(fleet);
    return scene;
}

static long fewest_tracking(struct fleet *fleet)
{
    long fewest = traffic_tracking(fleet, 0);

    for (int node = 1; node < fleet_size(fleet); node++)
        fewest = traffic_tracking(fleet, node) < fewest ? traffic_tracking(fleet, node) : fewest;
    return fewest;
}

struct crowd_result crowd_of_processes(struct fleet *fleet, int count, uint32_t renew_ms, int renewals)
{
    struct crowd_result result = {0};
    struct scene *scene = make_scene(fleet);
    pid_t children[CROWD_MAX];
    struct holder holder;

    assert_in_range(count, 1, CROWD_MAX);
    fflush(NULL);
    start_processes(scene, children, count);
    take(&holder, fleet, renew_ms);
    atomic_store(&scene->go, 1);
    await(fewest_tracking(fleet) == count);
    measure_wait(fleet, &holder, children, count, renewals, &result);
    result.cpu_share /= count;
    let_go(fleet, &holder, scene, count, &result);
    for (int i = 0; i < count; i++) {
        int status = 0;

        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    munmap(scene, sizeof *scene);
    return result;
}

struct thread_scene {
    struct scene *scene;
    redlock_client *client;
};

static void *want_in_thread(void *context)
{
    struct thread_scene *of = context;

    atomic_fetch_add(&of->scene->ready, 1);
    want(of->scene, of->client);
    return NULL;
}

struct crowd_result crowd_of_threads(struct fleet *fleet, int count, uint32_t renew_ms, int renewals)
{
    struct crowd_result result = {0};
    struct scene *scene = make_scene(fleet);
    struct thread_scene of = {scene, open_patient(fleet_urls(fleet))};
    pthread_t threads[CROWD_MAX];
    struct holder holder;
    pid_t self = getpid();

    assert_in_range(count, 1, CROWD_MAX);
    assert_non_null(of.client);
    take(&holder, fleet, renew_ms);
    for (int i = 0; i < count; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, want_in_thread, &of), 0);
    await(atomic_load(&scene->ready) == count);
    await(fewest_tracking(fleet) == 1);
    measure_wait(fleet, &holder, &self, 1, renewals, &result);
    result.cpu_share /= count;
    let_go(fleet, &holder, scene, count, &result);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    redlock_client_close(of.client);
    munmap(scene, sizeof *scene);
    return result;
}
