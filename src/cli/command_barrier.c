/*
 * redlock barrier: waits until K parties have come. All of that is done by redlock_barrier(); here are
 * options, signals and words.
 */
#include <stdbool.h>

#include "cli/clock.h"
#include "cli/commands.h"
#include "cli/exits.h"
#include "cli/failure.h"
#include "cli/output.h"
#include "cli/rights.h"
#include "cli/session.h"
#include "cli/signals.h"
#include "cli/suggest.h"
#include "cli/terminal.h"

enum { PATIENCE_MS = 1000 }; /* once all have come, until somebody is told why it does not open */

struct waiting {
    const struct cli_options *options;
    const struct cli_session *session;
    struct cli_signals signals;
    int signal;        /* that ended it */
    bool told;         /* somebody was told how many have come: */
    uint32_t last;     /* so many */
    int64_t all_at_ms; /* when all had come; 0 not yet */
    bool explained;
};

/* All have come, and it does not open: it needs a lock for a moment, and so nodes that may vote. */
static void explain(struct waiting *waiting, uint32_t arrived)
{
    redlock_report report = cli_session_report(waiting->session);
    int64_t now = cli_clock_now();

    if (arrived < waiting->options->parties)
        waiting->all_at_ms = 0;
    else if (waiting->all_at_ms == 0)
        waiting->all_at_ms = now;
    if (waiting->explained || waiting->all_at_ms == 0 || now - waiting->all_at_ms < PATIENCE_MS)
        return;
    waiting->explained = true;
    (void)!redlock_inspect(waiting->session->client, NULL, 0, &report);
    if (report.eligible < report.quorum) {
        cli_output_note("%s: all have come, but %u of %u nodes may vote, and it takes %u to open it",
                        waiting->options->words[0], report.eligible, report.node_count, report.quorum);
        cli_output_hint("see", "redlock status");
    }
}

static int look(void *context, uint32_t arrived)
{
    struct waiting *waiting = context;
    struct cli_signal taken;

    while ((taken = cli_signals_take(&waiting->signals)).number != 0) {
        if (taken.number == SIGTSTP)
            cli_terminal_suspend();
        if (cli_signal_ends(taken.number))
            waiting->signal = taken.number;
    }
    if (waiting->signal == 0 && (!waiting->told || waiting->last != arrived))
        cli_output_note("%s: %u of %lld have come", waiting->options->words[0], arrived,
                        (long long)waiting->options->parties);
    waiting->told = true;
    waiting->last = arrived;
    if (waiting->signal == 0)
        explain(waiting, arrived);
    return waiting->signal;
}

static int say_result(const struct waiting *waiting, const struct cli_session *session,
                      const redlock_report *report)
{
    char fix[CLI_COMMAND_MAX];
    const struct cli_options *options = waiting->options;
    const char *name = options->words[0];

    if (report->result == REDLOCK_OK) {
        if (cli_output_is_json())
            cli_output_answer(json_pack("{s:o, s:I}", "name", cli_output_string(name), "parties",
                                        (json_int_t)options->parties));
        return cli_output_flush() ? CLI_EXIT_OK : CLI_EXIT_SYSTEM;
    }
    if (report->result == REDLOCK_CANCELED && waiting->signal != 0)
        return CLI_EXIT_SIGNAL + waiting->signal;
    int code = cli_failure_code(report->result);
    if (report->result == REDLOCK_TIMEOUT && options->conflict_exit_code != CLI_NOT_GIVEN)
        code = (int)options->conflict_exit_code;
    cli_output_fail(code, "%s: %s", name, report->line);
    if (report->result == REDLOCK_FORBIDDEN && cli_rights_find(session, fix, sizeof fix))
        cli_output_hint("fix", "on each node: %s", fix);
    return code;
}

/* One server that is named twice would be counted twice where parties come: that is a wrong configuration, as
 * for every lock. */
static int check_nodes(const struct cli_session *session, const char *name)
{
    redlock_report report = cli_session_report(session);

    report.result = redlock_inspect(session->client, NULL, 0, &report);
    return report.result == REDLOCK_INVALID ? cli_failure_asking(session, name, &report) : 0;
}

static int wait_for_all(struct waiting *waiting, const struct cli_session *session)
{
    const struct cli_options *options = waiting->options;
    redlock_barrier_spec spec = REDLOCK_BARRIER_SPEC_INIT;
    redlock_report report = cli_session_report(session);

    spec.name = options->words[0];
    spec.parties = (uint32_t)options->parties;
    spec.lease_ms = options->ttl_ms == CLI_NOT_GIVEN ? 0 : (uint32_t)options->ttl_ms;
    waiting->session = session;
    spec.waiting = look;
    spec.context = waiting;
    report.result = redlock_barrier(session->client, &spec, options->wait_ms, &report);
    return say_result(waiting, session, &report);
}

static int check(const struct cli_options *options)
{
    if (options->parties == CLI_NOT_GIVEN) {
        cli_output_fail(CLI_EXIT_USAGE, "barrier needs --parties, as in: %s",
                        cli_suggest("barrier", options->words[0], "--parties 3", NULL).text);
        cli_output_hint("see", "redlock help barrier");
        return CLI_EXIT_USAGE;
    }
    if (options->parties > REDLOCK_PARTIES_MAX)
        return cli_output_fail(CLI_EXIT_USAGE, "--parties: at most %d", REDLOCK_PARTIES_MAX);
    if (options->ttl_ms != CLI_NOT_GIVEN && (options->ttl_ms < 1000 || options->ttl_ms > REDLOCK_TTL_MAX_MS))
        return cli_output_fail(CLI_EXIT_USAGE, "--ttl is not between 1s and 24h");
    return 0;
}

int cli_command_barrier(const struct cli_options *options)
{
    struct waiting waiting = {.options = options, .signals.fd = -1};
    struct cli_session session = {0};
    int code = check(options);

    if (code == 0 && !cli_signals_open(&waiting.signals))
        code = cli_output_fail(CLI_EXIT_SYSTEM, "the system refused a descriptor for signals");
    if (code == 0)
        code = cli_session_open(&session, options);
    if (code == 0)
        code = cli_session_check_name(&session, options->words[0]);
    if (code == 0)
        code = check_nodes(&session, options->words[0]);
    if (code == 0)
        code = wait_for_all(&waiting, &session);
    cli_session_close(&session);
    return code;
}
