/*
 * redlock wait: blocks until a lock is free, and does not take it: when it returns, somebody else may have it
 * again.
 */
#include "cli/commands.h"
#include "cli/exits.h"
#include "cli/failure.h"
#include "cli/output.h"
#include "cli/session.h"

/* A caller that waits for ever is told when the lock cannot be seen. */
static void warn_if_blind(const struct cli_session *session, const char *name)
{
    redlock_report report = cli_session_report(session);

    if (redlock_wait(session->client, name, 0, 0, &report) == REDLOCK_NO_QUORUM)
        cli_output_warn("it cannot be seen whether the lock is free, and this waits until it can: %s",
                        report.line);
}

static int wait_for(const struct cli_session *session, const struct cli_options *options)
{
    redlock_report report = cli_session_report(session);
    const char *name = options->words[0];
    int64_t wait_ms = options->nonblock ? 0 : options->wait_ms; /* not given is REDLOCK_WAIT_FOREVER */

    if (wait_ms == REDLOCK_WAIT_FOREVER)
        warn_if_blind(session, name);
    report.result = redlock_wait(session->client, name, 0, wait_ms, &report);
    if (report.result != REDLOCK_OK)
        return cli_failure_taking(session, options, name, &report);
    if (cli_output_is_json())
        cli_output_answer(json_pack("{s:o, s:b, s:I}", "name", cli_output_string(name), "free", 1,
                                    "waited_ms", (json_int_t)report.waited_ms));
    return cli_output_flush() ? CLI_EXIT_OK : CLI_EXIT_SYSTEM;
}

int cli_command_wait(const struct cli_options *options)
{
    struct cli_session session = {0};
    int code = cli_session_look(&session, options);

    _Static_assert(CLI_NOT_GIVEN == REDLOCK_WAIT_FOREVER, "without --wait it waits for ever");
    if (code == 0)
        code = cli_session_check_name(&session, options->words[0]);
    if (code == 0)
        code = wait_for(&session, options);
    cli_session_close(&session);
    return code;
}
