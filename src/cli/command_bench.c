/*
 * redlock bench: what this fleet does from this host, in some ten seconds: a bare round of questions, one
 * caller that takes and releases a lock again and again, and several at once. It takes locks of names that
 * nobody else has.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/commands.h"
#include "cli/exits.h"
#include "cli/failure.h"
#include "cli/margin.h"
#include "cli/output.h"
#include "cli/session.h"
#include "cli/text.h"

#define DEFAULT_TIME_MS 10000
#define LEAST_TIME_MS 300
#define WAIT_MS 10000

enum { CALLERS = 16, SAMPLES_MAX = 65536 };

/* What one caller saw. */
struct caller {
    const struct cli_session *session;
    pthread_t thread;
    bool locks; /* takes and releases a lock; else asks all nodes once */
    char name[64];
    int64_t until_us, took_us; /* when to end; how long all of it took together */
    uint64_t done;
    redlock_result result; /* of the call that failed; REDLOCK_OK none did */
    uint32_t sample_count;
    uint32_t samples[SAMPLES_MAX]; /* microseconds, of the first so many */
};

/* What several saw together. */
struct figures {
    double per_second;
    int64_t median_us, slow_us;
};

static redlock_result pair_once(struct caller *caller)
{
    redlock_spec spec = REDLOCK_SPEC_INIT;
    redlock_lock *lock = NULL;

    spec.name = caller->name;
    redlock_result result = redlock_acquire(caller->session->client, &spec, WAIT_MS, &lock, NULL);
    if (result != REDLOCK_OK)
        return result;
    result = redlock_release(lock, NULL);
    redlock_lock_free(lock);
    return result;
}

static int compare(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

    return left < right ? -1 : left > right;
}

/* Asks every node once. A lock is there when a quorum has answered, so that is what it took. */
static redlock_result ask_once(const struct caller *caller, int64_t *took_us)
{
    redlock_report report = cli_session_report(caller->session);
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;
    uint32_t latencies[REDLOCK_NODES_MAX] = {0};
    uint32_t answered = 0;
    redlock_result result = redlock_inspect(caller->session->client, NULL, 0, &report);

    for (uint32_t i = 0; redlock_report_node(&report, i, &node); i++)
        if (node.latency_us >= 0)
            latencies[answered++] = (uint32_t)node.latency_us;
    qsort(latencies, answered, sizeof latencies[0], compare);
    if (answered >= report.quorum && report.quorum > 0)
        *took_us = latencies[report.quorum - 1];
    return result;
}

static void *call(void *context)
{
    struct caller *caller = context;
    int64_t before_us = cli_clock_now_us();

    while (caller->result == REDLOCK_OK && before_us < caller->until_us) {
        int64_t bare_us = 0;
        caller->result = caller->locks ? pair_once(caller) : ask_once(caller, &bare_us);
        int64_t after_us = cli_clock_now_us(), took_us = caller->locks ? after_us - before_us : bare_us;
        if (caller->sample_count < SAMPLES_MAX)
            caller->samples[caller->sample_count++] = (uint32_t)took_us;
        caller->done += caller->result == REDLOCK_OK;
        caller->took_us += took_us;
        before_us = after_us;
    }
    return NULL;
}

static struct figures sum_up(const struct caller *callers, int count)
{
    struct figures figures = {.median_us = -1, .slow_us = -1};
    uint32_t *all = malloc((size_t)count * SAMPLES_MAX * sizeof *all);
    size_t total = 0;

    for (int i = 0; i < count; i++) {
        if (callers[i].took_us > 0)
            figures.per_second += (double)callers[i].done * 1e6 / (double)callers[i].took_us;
        for (uint32_t k = 0; all != NULL && k < callers[i].sample_count; k++)
            all[total++] = callers[i].samples[k];
    }
    if (total > 0) {
        qsort(all, total, sizeof *all, compare);
        figures.median_us = all[total / 2];
        figures.slow_us = all[total * 99 / 100];
    }
    free(all);
    return figures;
}

/* Lets so many callers at it for a while. 0, or an exit code after having said what is wrong. */
static int measure(const struct cli_session *session, int count, bool locks, int64_t time_ms,
                   struct figures *figures)
{
    struct caller *callers = calloc((size_t)count, sizeof *callers);
    int64_t until_us = cli_clock_now_us() + time_ms * 1000;
    redlock_report report = cli_session_report(session);
    int started = 0, code = 0;

    if (callers == NULL)
        return cli_output_fail(CLI_EXIT_SYSTEM, "out of memory");
    for (; started < count; started++) {
        struct caller *caller = &callers[started];
        caller->session = session;
        caller->locks = locks;
        caller->until_us = until_us;
        snprintf(caller->name, sizeof caller->name, "redlock-bench:%d:%d", (int)getpid(), started);
        if (pthread_create(&caller->thread, NULL, call, caller) != 0)
            break;
    }
    for (int i = 0; i < started; i++)
        pthread_join(callers[i].thread, NULL);
    for (int i = 0; i < started && code == 0; i++) {
        if (callers[i].result == REDLOCK_OK)
            continue;
        redlock_inspect(session->client, callers[i].name, 0, &report);
        report.result = callers[i].result;
        code = cli_failure_asking(session, callers[i].name, &report);
    }
    if (code == 0 && started < count)
        code = cli_output_fail(CLI_EXIT_SYSTEM, "the system refused a thread");
    if (code == 0)
        *figures = sum_up(callers, count);
    free(callers);
    return code;
}

/* How many pairs a second come to those that a bare loop could do, which asks every node and needs the
 * answers of a quorum: a lock and its release are two such rounds. By the median: what else the machine does
 * in between is nobody's. */
static double of_bare(double pairs_per_second, const struct figures *bare)
{
    return pairs_per_second * 2 * (double)bare->median_us / 1e6;
}

static double one_of_bare(const struct figures *one, const struct figures *bare)
{
    return one->median_us > 0 ? of_bare(1e6 / (double)one->median_us, bare) : 0;
}

static void print_row(const char *what, const struct figures *figures, const char *unit)
{
    printf("  %-10s p50 %5s p99 %5s %6.0f %s", what, cli_text_latency(figures->median_us).text,
           cli_text_latency(figures->slow_us).text, figures->per_second, unit);
}

static void print_words(const redlock_report *report, const struct figures *bare, const struct figures *one,
                        const struct figures *many)
{
    char margin[120], callers[24];

    cli_margin_describe(report, margin, sizeof margin);
    snprintf(callers, sizeof callers, "%d callers", CALLERS);
    printf("%s\n", margin);
    print_row("round trip", bare, "rounds a second\n");
    print_row("one caller", one, "pairs a second");
    printf(", %.2f of a bare loop\n", one_of_bare(one, bare));
    print_row(callers, many, "pairs a second");
    printf(", %.3g times a bare loop\n", of_bare(many->per_second, bare));
    printf("A round asks every node and ends when a quorum has answered. A pair takes and\n"
           "releases a lock: two rounds. A bare loop does one round after the other, alone.\n");
}

static json_t *figures_json(const struct figures *figures)
{
    return json_pack("{s:f, s:I, s:I}", "per_second", figures->per_second, "p50_us",
                     (json_int_t)figures->median_us, "p99_us", (json_int_t)figures->slow_us);
}

static int run(const struct cli_session *session, int64_t time_ms)
{
    redlock_report report = cli_session_report(session);
    struct figures bare = {0}, one = {0}, many = {0};
    char margin[120];
    int code = measure(session, 1, true, 1, &one); /* connects, and has the nodes admitted */

    if (code == 0)
        code = measure(session, 1, false, time_ms * 3 / 10, &bare);
    if (code == 0)
        code = measure(session, 1, true, time_ms * 3 / 10, &one);
    if (code == 0)
        code = measure(session, CALLERS, true, time_ms * 4 / 10, &many);
    if (code != 0)
        return code;
    redlock_inspect(session->client, NULL, 0, &report);
    cli_margin_describe(&report, margin, sizeof margin);
    if (cli_output_is_json()) {
        json_t *object = json_pack("{s:s, s:i, s:o, s:o, s:o, s:f, s:f}", "summary", margin, "callers",
                                   CALLERS, "rounds", figures_json(&bare), "one_caller", figures_json(&one),
                                   "many_callers", figures_json(&many), "one_of_bare",
                                   one_of_bare(&one, &bare), "many_of_bare", of_bare(many.per_second, &bare));
        cli_output_answer(object);
    } else {
        print_words(&report, &bare, &one, &many);
    }
    return cli_output_flush() ? CLI_EXIT_OK
                              : cli_output_fail(CLI_EXIT_SYSTEM, "the figures could not be printed");
}

int cli_command_bench(const struct cli_options *options)
{
    int64_t time_ms = options->bench_ms == CLI_NOT_GIVEN ? DEFAULT_TIME_MS : options->bench_ms;
    struct cli_session session = {0};

    if (time_ms < LEAST_TIME_MS)
        return cli_output_fail(CLI_EXIT_USAGE, "--for is too short: at least %dms", LEAST_TIME_MS);
    int code = cli_session_open(&session, options);
    if (code == 0)
        code = run(&session, time_ms);
    cli_session_close(&session);
    return code;
}
