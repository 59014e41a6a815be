/*
 * Takes a lock in a loop of our own, so that signals end it at once and a waiting user sees the holder.
 * What is done with the lock is the caller's business.
 */
#include "cli/acquiring.h"

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>

#include "cli/clock.h"
#include "cli/exits.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "cli/waiting.h"

int cli_acquiring_check(const struct cli_options *options)
{
    if (options->nonblock && options->wait_ms != CLI_NOT_GIVEN)
        return cli_output_fail(CLI_EXIT_USAGE, "-n and -w exclude each other");
    return 0;
}

static int check_slots(const struct cli_session *session, const struct cli_options *options)
{
    const char *other = options->shared                  ? "--shared"
                        : options->exclusive             ? "--exclusive"
                        : options->kind != CLI_NOT_GIVEN ? "--kind"
                                                         : NULL;

    if (options->slots > REDLOCK_PERMITS_MAX)
        return cli_output_fail(CLI_EXIT_USAGE, "--slots: at most %d", REDLOCK_PERMITS_MAX);
    if (other != NULL)
        return cli_output_fail(CLI_EXIT_USAGE, "--slots and %s exclude each other", other);
    if (!session->config.plain)
        return 0;
    cli_output_fail(CLI_EXIT_USAGE, "--slots: %s",
                    session->config.redisson ? "redlock has no semaphores in Redisson's format"
                    : session->config.legacy ? "a legacy lock has one holder"
                                             : "plain nodes keep no line for the slots");
    cli_output_hint("fix", "leave out %s, or --slots",
                    session->config.redisson ? "--format redisson"
                    : session->config.legacy ? "--legacy"
                    : options->plain         ? "--plain"
                                             : "mode = plain in the configuration");
    return CLI_EXIT_USAGE;
}

static int check_shared(const struct cli_session *session, const struct cli_options *options)
{
    const char *other = options->exclusive                   ? "--exclusive"
                        : options->kind == REDLOCK_FAIR      ? "--kind fair"
                        : options->kind == REDLOCK_EXCLUSIVE ? "--kind exclusive"
                                                             : NULL;

    if (other != NULL)
        return cli_output_fail(CLI_EXIT_USAGE, "--shared and %s exclude each other", other);
    if (session->config.redisson || !session->config.plain)
        return 0;
    cli_output_fail(CLI_EXIT_USAGE, "--shared: plain nodes keep shared locks in Redisson's format only");
    cli_output_hint("fix", "leave out %s, or add --format redisson, on every host that uses this lock",
                    options->plain ? "--plain" : "mode = plain in the configuration");
    return CLI_EXIT_USAGE;
}

int cli_acquiring_kind(const struct cli_session *session, const struct cli_options *options,
                       redlock_kind *kind)
{
    *kind = options->kind == CLI_NOT_GIVEN ? REDLOCK_EXCLUSIVE : (redlock_kind)options->kind;
    if (options->reentrant && (options->shared || options->slots > 0))
        return cli_output_fail(CLI_EXIT_USAGE, "--reentrant and %s exclude each other",
                               options->shared ? "--shared" : "--slots");
    if (options->slots > 0) {
        *kind = REDLOCK_SEMAPHORE;
        return check_slots(session, options);
    }
    if (options->shared) {
        *kind = REDLOCK_SHARED;
        return check_shared(session, options);
    }
    if (*kind != REDLOCK_FAIR || !session->config.plain)
        return 0;
    if (session->config.redisson) {
        cli_output_fail(CLI_EXIT_USAGE,
                        "--kind fair: redlock does not join the queue of Redisson's fair lock");
        cli_output_hint(
            "fix", "leave out --kind fair: Redisson's fair locks and ours exclude each other all the same");
        return CLI_EXIT_USAGE;
    }
    cli_output_fail(CLI_EXIT_USAGE, "--kind fair: plain nodes keep no queue of waiters");
    cli_output_hint("fix", "leave out --kind fair, or %s",
                    options->plain ? "--plain" : "mode = plain in the configuration");
    return CLI_EXIT_USAGE;
}

struct attempt {
    struct cli_acquiring *acquiring;
    redlock_request request;
    bool done;
};

/* Runs inside redlock_client_process(), so on this thread. */
static void take_result(void *context, redlock_result result, redlock_lock *lock,
                        const redlock_report *report)
{
    struct attempt *attempt = context;

    if (redlock_report_copy(&attempt->acquiring->report, report) != REDLOCK_OK)
        attempt->acquiring->report.node_count = 0;
    attempt->acquiring->report.result = result;
    attempt->acquiring->lock = lock;
    attempt->done = true;
}

/* A signal that asks us to end cancels the request once; its callback still comes. */
static void heed_signals(struct attempt *attempt)
{
    struct cli_acquiring *acquiring = attempt->acquiring;
    struct cli_signal taken;

    while ((taken = cli_signals_take(acquiring->signals)).number != 0) {
        if (taken.number == SIGTSTP)
            cli_terminal_suspend();
        if (!cli_signal_ends(taken.number) || acquiring->signal != 0)
            continue;
        acquiring->signal = taken.number;
        redlock_cancel(acquiring->session->client, attempt->request);
    }
}

static void wait_for_result(struct attempt *attempt, struct cli_waiting *waiting, int client_fd)
{
    const struct cli_acquiring *acquiring = attempt->acquiring;
    struct pollfd polled[] = {{.fd = client_fd, .events = POLLIN},
                              {.fd = acquiring->signals->fd, .events = POLLIN}};

    while (!attempt->done) {
        bool waits = acquiring->wait_ms != 0 && acquiring->signal == 0;
        int64_t due = waits ? cli_waiting_due(waiting) : CLI_NEVER;
        (void)!poll(polled, 2, cli_clock_timeout(due, cli_clock_now()));
        redlock_client_process(acquiring->session->client);
        heed_signals(attempt);
        if (!attempt->done && acquiring->signal == 0 && waits && cli_clock_now() >= cli_waiting_due(waiting))
            cli_waiting_tick(waiting);
    }
    /* One that came together with the lock still counts: CMD has not started. */
    heed_signals(attempt);
}

static void give_back(struct cli_acquiring *acquiring)
{
    redlock_release(acquiring->lock, NULL);
    redlock_lock_free(acquiring->lock);
    acquiring->lock = NULL;
}

enum { EXTEND_AGAIN_MS = 20 };

/* A lock that renews itself may be valid for a second at first. What is to be started relies on it for
 * longer, and is stopped long before validity ends: so it is had for its whole TTL first. */
static void have_whole(struct cli_acquiring *acquiring)
{
    const redlock_spec *spec = acquiring->spec;
    int64_t waited_ms = acquiring->report.waited_ms;
    redlock_result result;

    if (!spec->auto_extend || redlock_lock_validity_ms(acquiring->lock) >= (int64_t)spec->ttl_ms / 2)
        return;
    while ((result = redlock_extend(acquiring->lock, spec->ttl_ms, &acquiring->report)) ==
               REDLOCK_NO_QUORUM &&
           redlock_lock_validity_ms(acquiring->lock) > 0)
        (void)!poll(NULL, 0, EXTEND_AGAIN_MS);
    acquiring->report.result = result;
    acquiring->report.waited_ms = waited_ms;
    if (result != REDLOCK_OK)
        give_back(acquiring);
}

void cli_acquiring_run(struct cli_acquiring *acquiring)
{
    struct attempt attempt = {.acquiring = acquiring};
    struct cli_waiting waiting;
    int client_fd = redlock_client_fd(acquiring->session->client);

    acquiring->lock = NULL;
    acquiring->signal = 0;
    acquiring->report = cli_session_report(acquiring->session);
    cli_waiting_begin(&waiting, acquiring->session, acquiring->spec, acquiring->events);
    redlock_result result =
        client_fd < 0 ? REDLOCK_SYSTEM
                      : redlock_acquire_async(acquiring->session->client, acquiring->spec, acquiring->wait_ms,
                                              take_result, &attempt, &attempt.request);
    if (result != REDLOCK_OK) {
        acquiring->report.result = result;
        /* A server that is named twice, or what was asked for; all else that can be wrong with a lock is
         * checked before. */
        bool twice = result == REDLOCK_INVALID &&
                     redlock_inspect(acquiring->session->client, NULL, 0, &acquiring->report) == result;
        acquiring->report.result = result;
        if (result == REDLOCK_INVALID && !twice && acquiring->spec->auto_extend)
            snprintf(acquiring->report.line, sizeof acquiring->report.line,
                     "--renew is too close to the TTL: the lock would be lost before it is renewed");
        return;
    }
    wait_for_result(&attempt, &waiting, client_fd);
    cli_waiting_end(&waiting, acquiring->lock != NULL && acquiring->signal == 0);
    if (acquiring->lock != NULL && acquiring->signal != 0)
        give_back(acquiring);
    if (acquiring->lock != NULL)
        have_whole(acquiring);
}
