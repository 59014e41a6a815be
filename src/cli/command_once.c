/*
 * redlock once: runs CMD at most once a period over all hosts. That it was done is noted at the nodes, by
 * their clocks, while the lock is held; a host's own clock counts for nothing.
 */
#include "cli/clock.h"
#include "cli/commands.h"
#include "cli/exits.h"
#include "cli/failure.h"
#include "cli/output.h"
#include "cli/run.h"
#include "cli/suggest.h"
#include "cli/text.h"

enum { EVERY_MIN_MS = 1000, EARLY_MAX_MS = 1000, KEPT_LONGER_MS = 60000 };
#define EVERY_MAX_MS (INT64_C(366) * 86400000)

struct once {
    const char *name;
    int64_t every_ms;
    int64_t early_ms; /* how much too early counts as in time: a cron job is not on time to the millisecond */
    int64_t started_ms; /* when CMD was started */
    int64_t late_ms;    /* how late that was; below 0: how early. 0 when it was not in time anyway */
};

/* Twice the period, so that it is known how long ago it was when the next one begins. */
static redlock_result note(const struct once *once, const struct cli_session *session, int64_t age_ms,
                           redlock_report *report)
{
    return redlock_mark(session->client, once->name, 0, age_ms, 2 * once->every_ms + KEPT_LONGER_MS, report);
}

/* It was done in this period. Nodes that do not know that, since they were away or forgot, are told. */
static bool skip(const struct once *once, const struct cli_session *session, int64_t age_ms,
                 const redlock_report *report)
{
    if (report->held < report->node_count)
        note(once, session, age_ms, NULL);
    cli_output_note("%s was done %s ago, and is to be done once in %s: nothing to do", once->name,
                    cli_text_span(age_ms < 0 ? 0 : age_ms).text, cli_text_span(once->every_ms).text);
    if (cli_output_is_json())
        cli_output_answer(json_pack("{s:o, s:b, s:I}", "name", cli_output_string(once->name), "skipped", 1,
                                    "age_ms", (json_int_t)age_ms));
    return false;
}

static bool begin(void *context, const struct cli_session *session, int *code)
{
    struct once *once = context;
    redlock_report report = cli_session_report(session);
    int64_t age_ms = 0;

    *code = CLI_EXIT_OK;
    report.result = redlock_marked(session->client, once->name, 0, &age_ms, &report);
    if (report.result != REDLOCK_OK && report.result != REDLOCK_NOT_HELD) {
        *code = cli_output_fail(cli_failure_code(report.result),
                                "it cannot be seen whether %s was done already, so it is not run: %s",
                                once->name, report.line);
        return false;
    }
    bool known = report.result == REDLOCK_OK;
    if (known && age_ms < once->every_ms - once->early_ms)
        return skip(once, session, age_ms, &report);
    /* Periods follow each other without a gap as long as calls come in time; else this one begins now. */
    int64_t late_ms = known ? age_ms - once->every_ms : 0;
    once->late_ms = known && late_ms <= once->early_ms ? late_ms : 0;
    once->started_ms = cli_clock_now();
    return true;
}

static int succeed(void *context, const struct cli_session *session)
{
    struct once *once = context;
    redlock_report report = cli_session_report(session);
    redlock_result result = note(once, session, cli_clock_now() - once->started_ms + once->late_ms, &report);

    if (result == REDLOCK_OK)
        return CLI_EXIT_OK;
    return cli_output_fail(cli_failure_code(result),
                           "%s was done, but that could not be noted, and so it may be done again: %s",
                           once->name, report.line);
}

static int check_period(const struct cli_options *options)
{
    int64_t every_ms = options->every_ms;

    if (every_ms == CLI_NOT_GIVEN) {
        cli_output_fail(CLI_EXIT_USAGE, "once needs --every, as in: %s",
                        cli_suggest("once", options->words[0], "--every 1h", "CMD").text);
        cli_output_hint("see", "redlock help once");
        return CLI_EXIT_USAGE;
    }
    if (every_ms < EVERY_MIN_MS || every_ms > EVERY_MAX_MS)
        return cli_output_fail(CLI_EXIT_USAGE, "--every is not between 1s and 8784h (366 days)");
    return 0;
}

int cli_command_once(const struct cli_options *options)
{
    struct once once = {.name = options->words[0],
                        .every_ms = options->every_ms,
                        .early_ms =
                            options->every_ms / 10 < EARLY_MAX_MS ? options->every_ms / 10 : EARLY_MAX_MS};
    struct cli_run_job job = {.command = "once", .begin = begin, .succeed = succeed, .context = &once};
    bool lost;
    int code = check_period(options);

    return code != 0 ? code : cli_run(options, &job, &lost);
}
