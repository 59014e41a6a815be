/*
 * redlock list: every lock that a quorum of nodes has, one line each, as they are found. It takes and changes
 * nothing.
 */
#include <stdio.h>
#include <string.h>

#include "cli/clock.h"
#include "cli/commands.h"
#include "cli/exits.h"
#include "cli/failure.h"
#include "cli/listed.h"
#include "cli/output.h"
#include "cli/session.h"
#include "cli/text.h"

enum { NAME_COLUMNS = 24 };

struct listing {
    uint32_t count;
    bool failed; /* stdout cannot be written to */
};

/* "12m04s", how long it has been held; "-" when that is not told. */
static struct cli_span held_for(const redlock_holder *holder)
{
    struct cli_span none = {"-"};
    int64_t ms = cli_clock_wall() - holder->since_ms;

    return holder->since_ms > 0 ? cli_text_span(ms > 0 ? ms : 0) : none;
}

static struct cli_span time_left(const redlock_listed *lock)
{
    struct cli_span never = {"never"}, unknown = {"-"};

    if (lock->ttl_left_ms >= 0)
        return cli_text_span(lock->ttl_left_ms);
    return lock->ttl_left_ms == -1 ? never : unknown;
}

/* Names are told whole, and the columns behind a long one move: cutting it would name another lock. */
static void print_line(const redlock_listed *lock)
{
    char name[REDLOCK_NAME_MAX + 1], holder[400], fence[24] = "-";

    cli_listed_name(lock->name, lock->name_length, name, sizeof name);
    cli_listed_holder(&lock->holder, holder, sizeof holder);
    if (lock->fence != 0)
        snprintf(fence, sizeof fence, "%llu", (unsigned long long)lock->fence);
    printf("%-*s %7s %6s  %u/%-2u %4u  %-16s  %s%s\n", NAME_COLUMNS, name, held_for(&lock->holder).text,
           time_left(lock).text, lock->votes, lock->node_count, lock->waiting, fence, holder,
           cli_listed_kind(lock).text);
}

static int take_lock(void *context, const redlock_listed *lock)
{
    struct listing *listing = context;

    if (cli_output_is_json()) {
        listing->failed = !cli_output_answer(cli_listed_json(lock)) || !cli_output_flush();
    } else {
        if (listing->count == 0 && !cli_output_is_quiet())
            printf("%-*s %7s %6s  %-4s %4s  %-16s  %s\n", NAME_COLUMNS, "NAME", "HELD", "LEFT", "ON", "WAIT",
                   "FENCE", "HOLDER");
        print_line(lock);
        listing->failed = !cli_output_flush();
    }
    listing->count++;
    return listing->failed;
}

static int list(const struct cli_session *session, const struct cli_options *options)
{
    redlock_report report = cli_session_report(session);
    redlock_list_spec spec = REDLOCK_LIST_SPEC_INIT;
    struct listing listing = {0};

    spec.glob = options->word_count > 0 ? options->words[0] : NULL;
    spec.foreign = options->foreign;
    report.result = redlock_list(session->client, &spec, take_lock, &listing, &report);
    if (listing.failed)
        return cli_output_fail(CLI_EXIT_SYSTEM, "the list could not be printed");
    if (report.result != REDLOCK_OK) {
        cli_output_warn("the list is not complete");
        return cli_failure_asking(session, NULL, &report);
    }
    if (listing.count == 0 && !cli_output_is_json() && spec.glob != NULL)
        cli_output_note("no lock that is held matches %s", spec.glob);
    else if (listing.count == 0 && !cli_output_is_json())
        cli_output_note("no lock is held");
    return CLI_EXIT_OK;
}

int cli_command_list(const struct cli_options *options)
{
    struct cli_session session = {0};
    int code = cli_session_look(&session, options);

    if (code == 0)
        code = list(&session, options);
    cli_session_close(&session);
    return code;
}
