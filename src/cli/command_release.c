/*
 * redlock release: gives back a lock that redlock acquire took. It cannot release somebody else's.
 */
#include <stdio.h>

#include "cli/acquiring.h"
#include "cli/commands.h"
#include "cli/exits.h"
#include "cli/failure.h"
#include "cli/legacy.h"
#include "cli/names.h"
#include "cli/output.h"
#include "cli/owner.h"
#include "cli/session.h"

static int release(const struct cli_session *session, const struct cli_options *options, redlock_kind kind,
                   const char *owner)
{
    redlock_report report = cli_session_report(session);
    redlock_name also[REDLOCK_NAMES_MAX - 1];
    redlock_spec spec = REDLOCK_SPEC_INIT;

    spec.kind = kind;
    spec.permits = (uint32_t)options->slots;
    cli_names_set(&spec, options, also);
    report.result = redlock_release_spec(session->client, &spec, owner, 0, &report);
    if (report.result != REDLOCK_OK)
        return cli_failure_claiming(session, cli_names_of(options, &report),
                                    &(struct cli_claim){.options = options, .owner = owner}, &report);
    if (cli_output_is_json()) {
        json_t *answer = json_pack("{s:o, s:b}", "name", cli_output_string(options->words[0]), "released", 1);
        cli_names_show(answer, options);
        cli_output_answer(answer);
    }
    return cli_output_flush() ? CLI_EXIT_OK : CLI_EXIT_SYSTEM;
}

int cli_command_release(const struct cli_options *options)
{
    struct cli_session session = {0};
    const char *owner = NULL;
    redlock_kind kind = REDLOCK_EXCLUSIVE;
    int code = cli_owner_find(options, &owner);

    if (code == 0)
        code = cli_session_open(&session, options);
    if (code == 0)
        code = cli_acquiring_kind(&session, options, &kind);
    if (code == 0)
        code = cli_names_check(&session, options);
    if (code == 0 && session.config.legacy)
        code = cli_legacy_release(&session, options->words[0], owner);
    else if (code == 0)
        code = release(&session, options, kind, owner);
    cli_session_close(&session);
    return code;
}
