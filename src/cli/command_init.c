/*
 * redlock init: the operator's word that no lock is held on the nodes, which admits them to vote at once. It asks first:
 * said wrongly, it can put one lock into two hands.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/exits.h"
#include "cli/failure.h"
#include "cli/output.h"
#include "cli/session.h"

/* Only a person at a terminal can be asked. 0, or an exit code after having said why not. */
static int confirm(const struct cli_session *session)
{
    char answer[16] = "";

    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return cli_output_fail(CLI_EXIT_USAGE, "init needs --yes when nobody can be asked");
    fprintf(stderr, "redlock: no lock may be held by anybody on these %u nodes right now. Is that so? [y/N] ",
            redlock_client_node_count(session->client));
    if (fgets(answer, sizeof answer, stdin) != NULL && (answer[0] == 'y' || answer[0] == 'Y'))
        return 0;
    return cli_output_fail(CLI_EXIT_USAGE, "nothing was changed");
}

static int refuse_plain(void)
{
    cli_output_fail(CLI_EXIT_USAGE, "plain mode is configured, in which nodes need not be admitted");
    cli_output_hint("fix",
                    "leave init out; or, for guarded mode, remove mode = plain from the configuration");
    return CLI_EXIT_USAGE;
}

static int admit(const struct cli_session *session)
{
    redlock_report report = cli_session_report(session);

    report.result = redlock_init_nodes(session->client, &report);
    if (report.result != REDLOCK_OK)
        return cli_failure_asking(NULL, &report);
    if (cli_output_is_json())
        cli_output_answer(json_pack("{s:s, s:i, s:o}", "result", "ok", "admitted", (int)report.granted,
                                    "nodes", cli_output_nodes(&report)));
    else
        cli_output_note("%u of %u nodes may vote", report.granted, report.node_count);
    return CLI_EXIT_OK;
}

int cli_command_init(const struct cli_options *options)
{
    struct cli_session session = {0};
    int code = cli_session_open(&session, options);

    if (code == 0 && session.config.plain)
        code = refuse_plain();
    if (code == 0 && !options->yes)
        code = confirm(&session);
    if (code == 0)
        code = admit(&session);
    cli_session_close(&session);
    return code;
}
