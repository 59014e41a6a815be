/*
 * Holds a lock while CMD runs; see run.h. This file has the order of things, from options to exit code;
 * waiting, supervising and ending CMD have their own.
 */
#include "cli/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/acquiring.h"
#include "cli/clock.h"
#include "cli/environment.h"
#include "cli/exits.h"
#include "cli/failure.h"
#include "cli/held.h"
#include "cli/legacy.h"
#include "cli/names.h"
#include "cli/output.h"
#include "cli/presence.h"
#include "cli/session.h"
#include "cli/supervise.h"
#include "cli/text.h"

#define DEFAULT_GRACE_MS 5000

struct run {
    const struct cli_options *options;
    const struct cli_run_job *job;
    bool lost; /* CMD was stopped because the lock was lost */
    const char *name;
    char *shell_argv[4]; /* for -c */
    redlock_kind kind;
    uint32_t ttl_ms, renew_ms;
    struct cli_events events;
    struct cli_metrics_file metrics;
    struct cli_session session;
    struct cli_signals signals;
    struct cli_terminal terminal;
    struct cli_warden_plan plan;
    struct cli_warden warden;
    struct cli_lease lease;
    bool inside;        /* a run above this one holds NAME, and CMD is to run under that */
    redlock_lock *lock; /* NULL: it is not held, or is a legacy lock, or that of a run above */
    int64_t waited_ms, taken_at_ms;
};

/* ---- checks -------------------------------------------------------------------------------------------- */

static int check_max_time(const struct cli_options *options)
{
    if (options->max_time_ms == 0)
        return cli_output_fail(CLI_EXIT_USAGE, "--max-time must be greater than zero");
    return 0;
}

/* Finds out what CMD is. */
static int check_command(struct run *run)
{
    static char dash_c[] = "-c", sh[] = "/bin/sh";
    const struct cli_options *options = run->options;
    char *shell = getenv("SHELL");

    if (options->shell != NULL && options->word_count > 1)
        return cli_output_fail(CLI_EXIT_USAGE, "-c and CMD exclude each other");
    if (options->shell == NULL && options->word_count < 2) {
        cli_output_fail(CLI_EXIT_USAGE, "%s needs a CMD, as in: redlock %s %s -- CMD", run->job->command,
                        run->job->command, run->name);
        cli_output_hint("see", "redlock help %s", run->job->command);
        return CLI_EXIT_USAGE;
    }
    run->plan.child.argv = options->words + 1;
    if (options->shell != NULL) {
        /* Lives as long as the process; cppcheck does not see that argv is copied. */
        char *text = strdup(options->shell);
        if (text == NULL)
            return cli_output_fail(CLI_EXIT_SYSTEM, "out of memory");
        char *argv[] = {shell == NULL || *shell == '\0' ? sh : shell, dash_c, text, NULL};
        memcpy(run->shell_argv, argv, sizeof argv);
        run->plan.child.argv = run->shell_argv;
        // cppcheck-suppress memleak
    }
    return 0;
}

static int check_times(struct run *run)
{
    const struct cli_options *options = run->options;
    int code = cli_session_ttl(&run->session, options, &run->ttl_ms);

    if (code != 0)
        return code;
    if (options->renew_ms != CLI_NOT_GIVEN && (options->renew_ms == 0 || options->renew_ms >= run->ttl_ms))
        return cli_output_fail(CLI_EXIT_USAGE, "--renew must be greater than zero and less than the TTL (%s)",
                               cli_text_span(run->ttl_ms).text);
    run->renew_ms = options->renew_ms == CLI_NOT_GIVEN ? run->ttl_ms / 3 : (uint32_t)options->renew_ms;
    return 0;
}

/* ---- preparing ----------------------------------------------------------------------------------------- */

/* Before the client's threads: the warden is forked here. */
static int prepare_warden(struct run *run)
{
    const struct cli_options *options = run->options;
    struct cli_warden_plan *plan = &run->plan;

    if (!cli_signals_open(&run->signals))
        return cli_output_fail(CLI_EXIT_SYSTEM, "the system refused a descriptor for signals");
    cli_terminal_open(&run->terminal, options->foreground);
    plan->child.foreground = options->foreground;
    plan->child.interactive = run->terminal.lend;
    plan->child.terminal_fd = run->terminal.fd;
    plan->child.caller_group = getpgrp();
    plan->child.signals = &run->signals;
    plan->on_lost = options->on_lost == CLI_NOT_GIVEN ? CLI_ON_LOST_TERM : (enum cli_on_lost)options->on_lost;
    plan->max_time_ms = options->max_time_ms;
    plan->grace_ms = options->grace_ms == CLI_NOT_GIVEN ? DEFAULT_GRACE_MS : options->grace_ms;
    if (!cli_warden_open(plan, &run->warden))
        return cli_output_fail(CLI_EXIT_SYSTEM, "the system refused a process");
    int64_t grace = plan->on_lost == CLI_ON_LOST_KILL ? 0 : plan->grace_ms;
    if (!cli_lease_open(&run->lease, &run->warden, run->ttl_ms, run->renew_ms, grace))
        return cli_output_fail(CLI_EXIT_SYSTEM, "the system refused a descriptor");
    return 0;
}

static int prepare(struct run *run)
{
    int code = cli_events_open(&run->events, run->options->status_fd, run->name);

    if (code == 0)
        code = cli_metrics_file_open(&run->metrics, run->options);
    if (code == 0)
        code = cli_acquiring_check(run->options);
    if (code == 0)
        code = check_max_time(run->options);
    if (code == 0)
        code = check_command(run);
    if (code == 0)
        code = cli_session_prepare(&run->session, run->options);
    if (code == 0)
        code = cli_acquiring_kind(&run->session, run->options, &run->kind);
    if (code == 0)
        code = cli_names_check(&run->session, run->options);
    if (code == 0)
        code = check_times(run);
    if (code == 0)
        code = prepare_warden(run);
    if (code == 0)
        code = cli_session_connect(&run->session, run->options);
    if (code == 0 && run->options->reentrant)
        code = cli_held_enter(&run->session, run->name, &run->inside);
    return code != 0 || run->inside ? code : cli_names_check_held(&run->session, run->options);
}

/* ---- the lock ------------------------------------------------------------------------------------------ */

/* Takes the lock, or says why not. 0 when it is held. */
static int take_lock(struct run *run)
{
    const struct cli_options *options = run->options;
    char why[sizeof((redlock_holder *)NULL)->why]; /* all that an owner value has room for */
    redlock_name also[REDLOCK_NAMES_MAX - 1];
    redlock_spec spec = REDLOCK_SPEC_INIT;
    struct cli_acquiring acquiring = {.session = &run->session,
                                      .spec = &spec,
                                      .wait_ms = options->nonblock ? 0 : options->wait_ms,
                                      .signals = &run->signals,
                                      .events = &run->events};

    spec.kind = run->kind;
    spec.permits = (uint32_t)options->slots;
    cli_names_set(&spec, options, also);
    spec.ttl_ms = run->ttl_ms;
    spec.renew_ms = run->renew_ms;
    spec.auto_extend = 1;
    spec.why = cli_text_fit(options->why, why, sizeof why);
    spec.on_lost = cli_lease_on_lost;
    spec.on_renewed = cli_lease_on_renewed;
    spec.context = &run->lease;
    cli_acquiring_run(&acquiring);
    run->lock = acquiring.lock;
    if (acquiring.signal != 0)
        return CLI_EXIT_SIGNAL + acquiring.signal;
    if (acquiring.lock == NULL)
        return cli_failure_taking(&run->session, options, cli_names_of(options, &acquiring.report),
                                  &acquiring.report);
    run->taken_at_ms = cli_clock_now();
    run->waited_ms = acquiring.report.waited_ms;
    json_t *more = json_pack("{s:I, s:I, s:I, s:i, s:i}", "waited_ms", (json_int_t)acquiring.report.waited_ms,
                             "validity_ms", (json_int_t)redlock_lock_validity_ms(acquiring.lock), "ttl_ms",
                             (json_int_t)run->ttl_ms, "granted", (int)acquiring.report.granted, "nodes",
                             (int)acquiring.report.node_count);
    if (redlock_lock_fence(acquiring.lock) != 0)
        json_object_set_new(more, "fence", json_integer((json_int_t)redlock_lock_fence(acquiring.lock)));
    cli_names_show(more, options);
    if (redlock_lock_slot(acquiring.lock) >= 0)
        json_object_set_new(more, "slot", json_integer(redlock_lock_slot(acquiring.lock)));
    cli_events_emit(&run->events, "acquired", more);
    return 0;
}

static bool set_environment(struct run *run, const char *owner, uint64_t fence)
{
    return (run->options->pass_credentials || cli_environment_hide_credentials(&run->warden)) &&
           cli_environment_lock(&run->warden, run->name, owner, fence, run->ttl_ms);
}

/* And what is held above it. */
static bool set_held(struct run *run, const char *owner)
{
    const char *held[1 + CLI_ALSO_MAX] = {run->name};

    for (int i = 0; i < run->options->also.count; i++)
        held[1 + i] = run->options->also.items[i];
    return cli_environment_held(&run->warden, &run->session, held, 1 + run->options->also.count, owner,
                                run->kind);
}

/* ---- CMD, under whatever kind of lock ------------------------------------------------------------------ */

/* The lock was given back, or was not: when it turns out that it was gone before, CMD did not run under it to
 * the end. */
static int say_released(struct run *run, redlock_result result, bool lost, int code)
{
    bool gone = result == REDLOCK_LOST || result == REDLOCK_NOT_HELD;

    if (result == REDLOCK_OK)
        cli_events_emit(&run->events, "released",
                        json_pack("{s:I}", "held_ms", (json_int_t)(cli_clock_now() - run->taken_at_ms)));
    else if (!gone)
        cli_output_warn("%s could not be released everywhere (%s); it ends by itself within %s", run->name,
                        redlock_result_name(result), cli_text_span(run->ttl_ms).text);
    if (!gone || lost)
        return code;
    cli_events_emit(&run->events, "lost", NULL);
    if (run->plan.on_lost == CLI_ON_LOST_IGNORE) {
        cli_output_warn("%s was no longer held when CMD ended", run->name);
        return code;
    }
    return cli_output_fail(
        CLI_EXIT_LOST, "%s was no longer held when CMD ended: somebody else may have held it too", run->name);
}

/* Runs CMD to its end, and keeps the lock for as long as it is to be held at least. */
static void supervise(struct run *run, struct cli_supervision *supervision)
{
    *supervision = (struct cli_supervision){.client = run->session.client,
                                            .lock = run->lock,
                                            .name = run->name,
                                            .program = run->plan.child.argv[0],
                                            .signals = &run->signals,
                                            .warden = &run->warden,
                                            .terminal = &run->terminal,
                                            .lease = &run->lease,
                                            .events = &run->events,
                                            .metrics = &run->metrics,
                                            .local = run->session.local ? &run->session.nodes : NULL,
                                            .foreground = run->options->foreground,
                                            .on_lost = run->plan.on_lost};
    cli_supervise_run(supervision);
    cli_terminal_close(&run->terminal);
    run->lost = supervision->lost;
    bool ended_well = supervision->started && !supervision->lost && !supervision->interrupted;
    if (ended_well && supervision->code == 0 && run->job->succeed != NULL)
        supervision->code = run->job->succeed(run->job->context, &run->session);
    if (ended_well && run->options->min_hold_ms > 0)
        cli_supervise_hold(supervision, run->taken_at_ms + run->options->min_hold_ms);
}

/* The exit code of CMD, unless the lock was lost while it ran. */
static int exit_code(const struct run *run, const struct cli_supervision *supervision)
{
    if (!run->lost)
        return supervision->code;
    if (run->plan.on_lost != CLI_ON_LOST_IGNORE)
        /* even if CMD ended by itself before it could be stopped: it did not end under the lock */
        return CLI_EXIT_LOST;
    cli_output_warn("%s was lost while CMD ran; its exit code is passed on as asked", run->name);
    return supervision->code;
}

static int refuse_environment(void)
{
    return cli_output_fail(CLI_EXIT_SYSTEM, "the environment of CMD is too large");
}

static int hold_lock(struct run *run)
{
    const char *owner = redlock_lock_owner(run->lock, NULL);
    struct cli_supervision supervision;
    int code;

    if (!set_environment(run, owner, redlock_lock_fence(run->lock)) ||
        !cli_environment_slot(&run->warden, redlock_lock_slot(run->lock)) || !set_held(run, owner)) {
        redlock_release(run->lock, NULL);
        return refuse_environment();
    }
    if (run->job->begin != NULL && !run->job->begin(run->job->context, &run->session, &code))
        return say_released(run, redlock_release(run->lock, NULL), true, code);
    int shown = run->session.local ? cli_presence_show(run->session.nodes.directory) : -1;
    supervise(run, &supervision);
    code = exit_code(run, &supervision);
    redlock_result result = redlock_release(run->lock, NULL);
    if (shown >= 0)
        close(shown);
    return say_released(run, result, supervision.lost || !supervision.started, code);
}

/* ---- a legacy lock ------------------------------------------------------------------------------------- */

/* CMD runs under it: the end of the lock is in place of an owner, and there is no fence. */
static int hold_legacy(struct run *run, struct cli_legacy *legacy)
{
    struct cli_supervision supervision;
    char owner[24];
    bool kept = false;

    snprintf(owner, sizeof owner, "%lld", (long long)legacy->end_ms);
    bool fits = set_environment(run, owner, 0);
    if (fits)
        kept = cli_legacy_keep(legacy, &run->lease, run->renew_ms);
    if (!kept) {
        redlock_legacy_release(run->session.client, &legacy->spec, legacy->end_ms, NULL);
        return fits ? cli_output_fail(CLI_EXIT_SYSTEM, "the system refused a thread") : refuse_environment();
    }
    supervise(run, &supervision);
    int code = exit_code(run, &supervision);
    redlock_result result = cli_legacy_end(legacy);
    return say_released(run, result, supervision.lost || !supervision.started, code);
}

static int run_legacy(struct run *run)
{
    struct cli_legacy legacy;
    int code = cli_legacy_open(&legacy, &run->session, run->name, run->ttl_ms);

    if (code == 0)
        code = cli_legacy_take(&legacy, run->options, &run->signals);
    if (!legacy.taken)
        return code;
    run->taken_at_ms = cli_clock_now();
    cli_events_emit(&run->events, "acquired",
                    json_pack("{s:I, s:I}", "ttl_ms", (json_int_t)run->ttl_ms, "validity_ms",
                              (json_int_t)(legacy.valid_until_ms - run->taken_at_ms)));
    return hold_legacy(run, &legacy);
}

/* ---- inside of another run ----------------------------------------------------------------------------- */

/* The run above renews its lock, and stops everything below it when that is lost. CMD finds the environment
 * that this process has. */
static int run_inside(struct run *run)
{
    struct cli_supervision supervision;

    if (!run->options->pass_credentials && !cli_environment_hide_credentials(&run->warden))
        return refuse_environment();
    run->taken_at_ms = cli_clock_now();
    cli_events_emit(&run->events, "entered", NULL);
    cli_lease_arm_until(&run->lease, CLI_NEVER);
    supervise(run, &supervision);
    cli_events_emit(&run->events, "left", NULL);
    return supervision.code;
}

/* ---- the end ------------------------------------------------------------------------------------------- */

static void say_summary(const struct run *run, int code)
{
    if (!cli_output_is_json())
        return;
    cli_output_summary(json_pack("{s:s, s:o, s:i, s:I, s:I}", "level", "summary", "name",
                                 cli_output_string(run->name), "exit_code", code, "waited_ms",
                                 (json_int_t)run->waited_ms, "held_ms",
                                 (json_int_t)(cli_clock_now() - run->taken_at_ms)));
}

static void clean_up(struct run *run)
{
    /* The client first: from then on no callback comes. The warden ends CMD if that still runs. */
    cli_session_close(&run->session);
    redlock_lock_free(run->lock);
    cli_warden_close(&run->warden);
    cli_lease_close(&run->lease);
    cli_terminal_close(&run->terminal);
    cli_signals_close(&run->signals);
    free(run->shell_argv[2]);
}

int cli_run(const struct cli_options *options, const struct cli_run_job *job, bool *lost)
{
    struct run run = {.options = options,
                      .job = job,
                      .name = options->words[0],
                      .events.fd = -1,
                      .signals.fd = -1,
                      .terminal.fd = -1,
                      .lease.fd = -1};
    int code = prepare(&run);

    if (code == 0 && run.inside)
        code = run_inside(&run);
    else if (code == 0 && run.session.config.legacy)
        code = run_legacy(&run);
    else if (code == 0)
        code = take_lock(&run);
    if (run.lock != NULL) {
        code = hold_lock(&run);
        say_summary(&run, code);
    }
    cli_metrics_file_write(&run.metrics, run.session.client, code);
    clean_up(&run);
    *lost = run.lost;
    return code;
}
