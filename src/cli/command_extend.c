/*
 * redlock extend: lengthens a lease that redlock acquire took. It never takes back a lock that has ended.
 */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/exits.h"
#include "cli/failure.h"
#include "cli/output.h"
#include "cli/owner.h"
#include "cli/session.h"
#include "cli/text.h"

static int print_lease(const char *name, uint32_t ttl_ms, long long validity_ms)
{
    char clean[REDLOCK_NAME_MAX + 1];

    if (cli_output_is_json()) {
        cli_output_answer(json_pack("{s:o, s:I, s:I}", "name", cli_output_string(name), "ttl_ms",
                                    (json_int_t)ttl_ms, "validity_ms", (json_int_t)validity_ms));
    } else {
        cli_text_clean(name, clean, sizeof clean);
        printf("name %s\nttl_ms %u\nvalidity_ms %lld\n", clean, ttl_ms, validity_ms);
    }
    return cli_output_flush() ? CLI_EXIT_OK
                              : cli_output_fail(CLI_EXIT_SYSTEM, "the lease could not be printed");
}

static int extend(const struct cli_session *session, const char *name, const char *owner, uint32_t ttl_ms,
                  redlock_lock **lock)
{
    redlock_report report = cli_session_report(session);
    redlock_spec spec = REDLOCK_SPEC_INIT;

    spec.name = name;
    spec.ttl_ms = ttl_ms;
    report.result = redlock_adopt(session->client, &spec, owner, 0, lock, &report);
    if (report.result != REDLOCK_OK)
        return cli_failure_asking(name, &report);
    return print_lease(name, ttl_ms, redlock_lock_validity_ms(*lock));
}

int cli_command_extend(const struct cli_options *options)
{
    struct cli_session session = {0};
    const char *owner = NULL;
    redlock_lock *lock = NULL;
    uint32_t ttl_ms = 0;
    int code = cli_owner_find(options, &owner);

    if (code == 0)
        code = cli_session_open(&session, options);
    if (code == 0)
        code = cli_session_check_name(&session, options->words[0]);
    if (code == 0)
        code = cli_session_ttl(&session, options, &ttl_ms);
    if (code == 0)
        code = extend(&session, options->words[0], owner, ttl_ms, &lock);
    cli_session_close(&session); /* which sees to it that the lock reaches nodes that are late */
    redlock_lock_free(lock);
    return code;
}
