/*
 * Waits for legacy locks, renews them and says what became of them; see legacy.h.
 */
#include "cli/legacy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/clock.h"
#include "cli/exits.h"
#include "cli/failure.h"
#include "cli/output.h"
#include "cli/text.h"

enum { SLICE_MS = 100 }; /* how soon a signal is heeded while it waits */

int cli_legacy_open(struct cli_legacy *legacy, const struct cli_session *session, const char *name,
                    uint32_t ttl_ms)
{
    redlock_legacy_spec spec = REDLOCK_LEGACY_SPEC_INIT;

    spec.name = name;
    spec.ttl_ms = ttl_ms;
    spec.seconds = session->config.legacy_seconds;
    *legacy = (struct cli_legacy){.session = session, .spec = spec};
    if (redlock_client_node_count(session->client) != 1) {
        cli_output_fail(CLI_EXIT_USAGE, "a legacy lock is kept by one node, and %u are configured",
                        redlock_client_node_count(session->client));
        cli_output_hint("fix", "--nodes URL, with the node that the other programs use");
        return CLI_EXIT_USAGE;
    }
    if (spec.seconds && ttl_ms < 1000)
        return cli_output_fail(CLI_EXIT_USAGE, "--ttl is below 1s, and ends are written in seconds");
    return 0;
}

/* ---- taking -------------------------------------------------------------------------------------------- */

static int say_busy(const struct cli_legacy *legacy, const struct cli_options *options,
                    const redlock_report *report, int64_t waited_ms)
{
    int code =
        options->conflict_exit_code != CLI_NOT_GIVEN ? (int)options->conflict_exit_code : CLI_EXIT_BUSY;

    if (options->skip_ok)
        return CLI_EXIT_OK;
    cli_output_fail(code, "%s is busy (waited %s): a legacy lock, which does not say who holds it; %s left",
                    legacy->spec.name, cli_text_span(waited_ms).text,
                    cli_text_span(report->holder_ttl_left_ms).text);
    return code;
}

/* The signal that asks us to end; 0 none came. */
static int ending_signal(const struct cli_signals *signals)
{
    struct cli_signal taken;

    while ((taken = cli_signals_take(signals)).number != 0)
        if (cli_signal_ends(taken.number))
            return taken.number;
    return 0;
}

int cli_legacy_take(struct cli_legacy *legacy, const struct cli_options *options,
                    const struct cli_signals *signals)
{
    redlock_report report = cli_session_report(legacy->session);
    int64_t began = cli_clock_now(), wait_ms = options->nonblock ? 0 : options->wait_ms;
    bool told = false;

    for (;;) {
        int64_t asked = cli_clock_now(), left = wait_ms < 0 ? SLICE_MS : began + wait_ms - asked;
        int64_t slice = left < 0 ? 0 : left < SLICE_MS ? left : SLICE_MS;
        redlock_result result =
            redlock_legacy_acquire(legacy->session->client, &legacy->spec, slice, &legacy->end_ms, &report);
        int signal = ending_signal(signals);

        if (result == REDLOCK_OK && signal != 0)
            redlock_legacy_release(legacy->session->client, &legacy->spec, legacy->end_ms, NULL);
        if (signal != 0)
            return CLI_EXIT_SIGNAL + signal;
        /* Validity was counted while the call was under way: from before it, nothing is relied on for too
         * long. */
        legacy->valid_until_ms = asked + report.validity_ms;
        legacy->taken = result == REDLOCK_OK;
        if (result == REDLOCK_OK)
            return 0;
        if (result != REDLOCK_BUSY && result != REDLOCK_TIMEOUT)
            return cli_output_fail(cli_failure_code(result), "%s: %s", legacy->spec.name, report.line);
        if (wait_ms >= 0 && cli_clock_now() >= began + wait_ms)
            return say_busy(legacy, options, &report, cli_clock_now() - began);
        if (!told)
            cli_output_note("waiting for %s, a legacy lock that is held by another program",
                            legacy->spec.name);
        told = true;
    }
}

/* ---- keeping ------------------------------------------------------------------------------------------- */

/* Without the mutex. False: it is lost. */
static bool renew(struct cli_legacy *legacy, int64_t *next_ms)
{
    redlock_report report = REDLOCK_REPORT_INIT;
    int64_t asked = cli_clock_now();
    redlock_result result =
        redlock_legacy_extend(legacy->session->client, &legacy->spec, &legacy->end_ms, &report);

    if (result == REDLOCK_OK) {
        legacy->valid_until_ms = asked + report.validity_ms;
        *next_ms = asked + legacy->renew_ms;
        cli_lease_renewed(legacy->lease, legacy->valid_until_ms);
        return true;
    }
    *next_ms = cli_clock_now() + legacy->renew_ms / 4;
    if (result != REDLOCK_LOST && result != REDLOCK_NOT_HELD && cli_clock_now() < legacy->valid_until_ms)
        return true;
    cli_lease_lost(legacy->lease);
    return false;
}

static void *keep(void *context)
{
    struct cli_legacy *legacy = context;
    int64_t next_ms = cli_clock_now() + legacy->renew_ms;

    pthread_mutex_lock(&legacy->mutex);
    while (!legacy->over && !legacy->gone) {
        cli_clock_wait(&legacy->wake, &legacy->mutex, &legacy->over, next_ms - cli_clock_now());
        if (legacy->over)
            break;
        pthread_mutex_unlock(&legacy->mutex);
        bool held = renew(legacy, &next_ms);
        pthread_mutex_lock(&legacy->mutex);
        legacy->gone = !held;
    }
    pthread_mutex_unlock(&legacy->mutex);
    return NULL;
}

bool cli_legacy_keep(struct cli_legacy *legacy, struct cli_lease *lease, uint32_t renew_ms)
{
    legacy->lease = lease;
    legacy->renew_ms = renew_ms;
    pthread_mutex_init(&legacy->mutex, NULL);
    cli_clock_condition(&legacy->wake);
    cli_lease_arm_until(lease, legacy->valid_until_ms);
    return pthread_create(&legacy->thread, NULL, keep, legacy) == 0;
}

redlock_result cli_legacy_end(struct cli_legacy *legacy)
{
    pthread_mutex_lock(&legacy->mutex);
    legacy->over = true;
    pthread_cond_broadcast(&legacy->wake);
    pthread_mutex_unlock(&legacy->mutex);
    pthread_join(legacy->thread, NULL);
    pthread_cond_destroy(&legacy->wake);
    pthread_mutex_destroy(&legacy->mutex);
    if (legacy->gone || cli_clock_now() >= legacy->valid_until_ms)
        return REDLOCK_LOST;
    return redlock_legacy_release(legacy->session->client, &legacy->spec, legacy->end_ms, NULL);
}

/* ---- acquire, extend, release -------------------------------------------------------------------------- */

static int print_lease(const struct cli_legacy *legacy)
{
    long long validity = legacy->valid_until_ms - cli_clock_now();

    if (cli_output_is_json())
        cli_output_answer(json_pack("{s:o, s:I, s:I, s:I}", "name", cli_output_string(legacy->spec.name),
                                    "owner", (json_int_t)legacy->end_ms, "ttl_ms",
                                    (json_int_t)legacy->spec.ttl_ms, "validity_ms", (json_int_t)validity));
    else
        printf("name %s\nowner %lld\nttl_ms %u\nvalidity_ms %lld\n", legacy->spec.name,
               (long long)legacy->end_ms, legacy->spec.ttl_ms, validity);
    return cli_output_flush() ? CLI_EXIT_OK
                              : cli_output_fail(CLI_EXIT_SYSTEM, "the lease could not be printed");
}

int cli_legacy_acquire(const struct cli_session *session, const struct cli_options *options,
                       const struct cli_signals *signals, uint32_t ttl_ms)
{
    struct cli_legacy legacy;
    int code = cli_legacy_open(&legacy, session, options->words[0], ttl_ms);

    if (code == 0)
        code = cli_legacy_take(&legacy, options, signals);
    if (legacy.taken) {
        code = print_lease(&legacy);
        if (code != 0)
            redlock_legacy_release(session->client, &legacy.spec, legacy.end_ms, NULL);
    }
    return code;
}

/* The owner of a legacy lock is its end. */
static int read_end(const char *owner, int64_t *end_ms)
{
    char *rest;

    errno = 0;
    *end_ms = strtoll(owner, &rest, 10);
    if (*rest == '\0' && *end_ms > 0 && errno == 0)
        return 0;
    return cli_output_fail(CLI_EXIT_USAGE,
                           "the owner of a legacy lock is the number that acquire --legacy printed");
}

static int say_failure(const char *name, const redlock_report *report)
{
    return cli_output_fail(cli_failure_code(report->result), "%s: %s", name, report->line);
}

int cli_legacy_extend(const struct cli_session *session, const char *name, const char *owner, uint32_t ttl_ms)
{
    struct cli_legacy legacy;
    redlock_report report = cli_session_report(session);
    int code = cli_legacy_open(&legacy, session, name, ttl_ms);

    if (code == 0)
        code = read_end(owner, &legacy.end_ms);
    if (code != 0)
        return code;
    int64_t asked = cli_clock_now();
    report.result = redlock_legacy_extend(session->client, &legacy.spec, &legacy.end_ms, &report);
    if (report.result != REDLOCK_OK)
        return say_failure(name, &report);
    legacy.valid_until_ms = asked + report.validity_ms;
    return print_lease(&legacy);
}

int cli_legacy_release(const struct cli_session *session, const char *name, const char *owner)
{
    struct cli_legacy legacy;
    redlock_report report = cli_session_report(session);
    int code = cli_legacy_open(&legacy, session, name, 1000);

    if (code == 0)
        code = read_end(owner, &legacy.end_ms);
    if (code != 0)
        return code;
    report.result = redlock_legacy_release(session->client, &legacy.spec, legacy.end_ms, &report);
    return report.result == REDLOCK_OK ? CLI_EXIT_OK : say_failure(name, &report);
}
