/*
 * redlock break: ends somebody else's hold by force, after it has said what that means. Exactly the holder
 * that was named: a successor has another id.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/busy.h"
#include "cli/clock.h"
#include "cli/commands.h"
#include "cli/exits.h"
#include "cli/failure.h"
#include "cli/holder.h"
#include "cli/listed.h"
#include "cli/output.h"
#include "cli/session.h"
#include "cli/sharers.h"
#include "cli/slots.h"
#include "cli/suggest.h"
#include "cli/text.h"

enum { LOOK_EVERY_MS = 100, SLACK_MS = 2000 };

static void say_slot(uint32_t slot, const char *words)
{
    char label[16];

    snprintf(label, sizeof label, "slot %u", slot);
    cli_output_hint(label, "%s", words);
}

/* The same of a semaphore: those who have its slots are named. One without any is none, or nobody's. */
static int refuse_unheld_slot(const struct cli_options *options, const struct cli_slots *slots)
{
    const char *name = options->words[0];
    json_t *more = json_pack("{s:o, s:b, s:i}", "name", cli_output_string(name), "broken", 0, "broken_on", 0);

    if (slots->permits > 0)
        cli_slots_add_json(slots, more);
    if (options->slot == CLI_NOT_GIVEN)
        cli_output_fail_with(more, CLI_EXIT_LOST, "no slot of %s is held by %s: nothing was changed", name,
                             options->id);
    else
        cli_output_fail_with(more, CLI_EXIT_LOST, "slot %u of %s is not held by %s: nothing was changed",
                             (unsigned)options->slot, name, options->id);
    cli_slots_each(slots, say_slot);
    cli_output_hint("see", "%s", cli_suggest("status", name, NULL, NULL).text);
    return CLI_EXIT_LOST;
}

/* The hold is not there. It never was, it ended, or somebody else has the lock. */
static int refuse_unheld(const char *name, const char *id, const redlock_report *report)
{
    char holder[400];

    cli_output_fail_with(json_pack("{s:o, s:o, s:b, s:i}", "name", cli_output_string(name), "holder",
                                   cli_output_holder(&report->holder), "broken", 0, "broken_on", 0),
                         CLI_EXIT_LOST, "%s is not held by %s: nothing was changed", name, id);
    if (report->holder.id[0] != '\0') {
        cli_holder_describe_since(&report->holder, holder, sizeof holder);
        cli_output_hint("holder", "%s, id %s", holder, report->holder.id);
    }
    cli_output_hint("see", "%s", cli_suggest("status", name, NULL, NULL).text);
    return CLI_EXIT_LOST;
}

/* The nodes were asked to end it, and none had it: it ended meanwhile, or what they have is no lock of this
 * format. */
static int refuse_unbroken(const struct cli_session *session, const struct cli_options *options)
{
    const char *name = options->words[0], *id = options->id;
    redlock_report now = cli_session_second_report(session);
    redlock_result result = redlock_inspect(session->client, name, 0, &now);
    struct cli_busy_force other;
    struct cli_slots slots;

    if (result == REDLOCK_OK && cli_slots_find(session, name, &now, &slots)) {
        int code = refuse_unheld_slot(options, &slots);

        cli_slots_free(&slots);
        return code;
    }
    if (result != REDLOCK_OK || !cli_holder_is_of_other_format(&now.holder))
        return refuse_unheld(name, id, &now);
    cli_output_fail_with(json_pack("{s:o, s:o, s:b, s:i}", "name", cli_output_string(name), "holder",
                                   cli_output_holder(&now.holder), "broken", 0, "broken_on", 0),
                         CLI_EXIT_LOST,
                         "nothing was broken: %s is another program's key and no lock of this format", name);
    if (cli_busy_suggest_force(session, name, &now.holder, &other))
        cli_output_hint("see", "%s%s", other.command.text, other.remark);
    return CLI_EXIT_LOST;
}

/* Whom it would hit; slot: of a semaphore, else NULL. */
static void explain_hit(const struct cli_options *options, const redlock_report *report,
                        const redlock_slot *slot)
{
    redlock_holder hit;
    char holder[400];

    if (slot != NULL) {
        cli_listed_holder(&slot->holder, holder, sizeof holder);
        fprintf(stderr, "redlock: slot %u of %s is held by %s\n", slot->slot, options->words[0], holder);
    } else if (cli_sharers_find(report, options->id, &hit) || cli_sharers_are_named(report)) {
        cli_listed_holder(&hit, holder, sizeof holder);
        fprintf(stderr, "redlock: %s is held by %s\n", options->words[0], holder);
    } else
        fprintf(stderr, "redlock: %s is shared by %u, too many to say who of them has this id\n",
                options->words[0], report->sharers);
}

/* What it means, before it is done. */
static void explain(const struct cli_session *session, const struct cli_options *options,
                    const redlock_report *report, const redlock_slot *slot)
{
    explain_hit(options, report, slot);
    if (options->now)
        fprintf(stderr, "  Others can have the lock at once. If the holder is still alive, it does not know\n"
                        "  and goes on until it renews: two may work at the same time.\n");
    else
        fprintf(stderr, "  The holder is told when it next renews, and others get the lock then. A holder\n"
                        "  that does not ask in time (stopped, cut off) is not told before: two may work\n"
                        "  at the same time.\n");
    fprintf(stderr, session->config.plain
                        ? "  Plain mode has no fence that would keep the first one out.\n"
                        : "  Only a resource that checks the fence keeps the first one out then.\n");
}

static int confirm(const struct cli_session *session, const struct cli_options *options,
                   const redlock_report *report, const redlock_slot *slot)
{
    char answer[16] = "";

    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
        cli_output_fail(CLI_EXIT_USAGE, "break needs --yes when nobody can be asked");
        return CLI_EXIT_USAGE;
    }
    explain(session, options, report, slot);
    fprintf(stderr, "  Break it? [y/N] ");
    if (fgets(answer, sizeof answer, stdin) != NULL && (answer[0] == 'y' || answer[0] == 'Y'))
        return 0;
    return cli_output_fail(CLI_EXIT_WARNING, "nothing was changed");
}

static redlock_break_spec spec_of(const struct cli_options *options)
{
    redlock_break_spec spec = REDLOCK_BREAK_SPEC_INIT;

    spec.name = options->words[0];
    spec.id = options->id;
    spec.slot_number = options->slot == CLI_NOT_GIVEN ? 0 : (uint32_t)options->slot + 1;
    spec.grace_ms = options->now                         ? REDLOCK_BREAK_NOW
                    : options->grace_ms == CLI_NOT_GIVEN ? 0
                                                         : options->grace_ms;
    return spec;
}

/* Whether none of those that an inspection found has this id. Where they are too many to be named, it is
 * broken once more: that changes nothing of what was broken, and finds it however many there are. */
static bool has_let_go(const struct cli_session *session, const struct cli_options *options,
                       const redlock_report *report, const char *id)
{
    redlock_break_spec spec = spec_of(options);
    struct cli_slots slots;
    bool held;

    if (cli_slots_find(session, spec.name, report, &slots)) {
        held = cli_slots_held_by(&slots, id) != NULL;
        cli_slots_free(&slots);
        return !held;
    }
    if (cli_sharers_have(report, id))
        return false;
    return cli_sharers_are_named(report) || redlock_break(session->client, &spec, NULL) == REDLOCK_NOT_HELD;
}

/* Until the holder has let go, or the time in which it might have is over. */
static bool await_end(const struct cli_session *session, const struct cli_options *options,
                      const redlock_report *broken)
{
    redlock_report report = cli_session_second_report(session);
    int64_t until = cli_clock_now() + broken->holder_ttl_left_ms + SLACK_MS;
    struct timespec pause = {.tv_nsec = LOOK_EVERY_MS * 1000000L};

    while (cli_clock_now() < until) {
        if (redlock_inspect(session->client, options->words[0], 0, &report) == REDLOCK_OK &&
            has_let_go(session, options, &report, broken->holder.id))
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

static int say_done(const struct cli_session *session, const struct cli_options *options,
                    const redlock_report *report)
{
    const char *name = options->words[0];
    bool grace = report->holder_ttl_left_ms > 0;
    bool ended;

    if (grace)
        cli_output_note("%s is broken; waiting up to %s for its holder to hear of it", name,
                        cli_text_span(report->holder_ttl_left_ms).text);
    ended = !grace || await_end(session, options, report);
    if (cli_output_is_json())
        cli_output_answer(json_pack("{s:o, s:o, s:b, s:b, s:i, s:i}", "name", cli_output_string(name),
                                    "holder", cli_output_holder(&report->holder), "broken", 1, "ended",
                                    (int)ended, "broken_on", (int)report->granted, "nodes",
                                    (int)report->node_count));
    else if (ended)
        cli_output_note("%s is not held by %s any more", name, report->holder.id);
    else
        cli_output_warn("some nodes may still have %s as held by %s; it ends by itself there", name,
                        report->holder.id);
    return cli_output_flush() ? CLI_EXIT_OK : CLI_EXIT_SYSTEM;
}

static int break_hold(const struct cli_session *session, const struct cli_options *options)
{
    redlock_break_spec spec = spec_of(options);
    redlock_report report = cli_session_report(session);

    report.result = redlock_break(session->client, &spec, &report);
    if (report.result == REDLOCK_NOT_HELD && report.holder.id[0] != '\0' &&
        !cli_holder_is_of_other_format(&report.holder) && options->slot == CLI_NOT_GIVEN)
        return refuse_unheld(spec.name, spec.id, &report);
    if (report.result == REDLOCK_INVALID && cli_failure_report_code(&report) == CLI_EXIT_USAGE)
        return cli_output_fail(CLI_EXIT_USAGE,
                               "more than one owner has the id %s: give its whole owner value", spec.id);
    if (report.result != REDLOCK_OK && report.result != REDLOCK_NOT_HELD)
        return cli_failure_asking(session, spec.name, &report);
    if (report.result == REDLOCK_NOT_HELD || report.granted == 0)
        return refuse_unbroken(session, options);
    return say_done(session, options, &report);
}

static int ask_about_slot(const struct cli_session *session, const struct cli_options *options,
                          const redlock_report *report, const struct cli_slots *slots)
{
    const redlock_slot *slot = cli_slots_held_by(slots, options->id);

    if (slot == NULL || (options->slot != CLI_NOT_GIVEN && slot->slot != (uint32_t)options->slot))
        return refuse_unheld_slot(options, slots);
    return options->yes ? 0 : confirm(session, options, report, slot);
}

/* The hold that it would end is looked up before the user is asked, and so is which slot it is. */
static int look_and_ask(const struct cli_session *session, const struct cli_options *options)
{
    redlock_report report = cli_session_report(session);
    struct cli_slots slots;

    report.result = redlock_inspect(session->client, options->words[0], 0, &report);
    if (report.result != REDLOCK_OK)
        return cli_failure_asking(session, options->words[0], &report);
    if (cli_slots_find(session, options->words[0], &report, &slots)) {
        int code = ask_about_slot(session, options, &report, &slots);

        cli_slots_free(&slots);
        return code;
    }
    if (options->slot != CLI_NOT_GIVEN)
        return refuse_unheld_slot(options, &slots);
    if (report.holder.id[0] != '\0' && !cli_sharers_have(&report, options->id) &&
        cli_sharers_are_named(&report))
        return refuse_unheld(options->words[0], options->id, &report);
    return confirm(session, options, &report, NULL);
}

static int check(const struct cli_options *options)
{
    if (options->id == NULL || options->id[0] == '\0') {
        cli_output_fail(CLI_EXIT_USAGE, "break needs --id ID, so that it cannot hit a successor");
        cli_output_hint("see", "%s # says who holds it, and its id",
                        cli_suggest("status", options->words[0], NULL, NULL).text);
        return CLI_EXIT_USAGE;
    }
    if (options->now && options->grace_ms != CLI_NOT_GIVEN)
        return cli_output_fail(CLI_EXIT_USAGE, "--now and --grace exclude each other");
    if (options->slot >= REDLOCK_PERMITS_MAX)
        return cli_output_fail(CLI_EXIT_USAGE, "--slot: from 0 to %d", REDLOCK_PERMITS_MAX - 1);
    if (options->grace_ms == 0)
        return cli_output_fail(CLI_EXIT_USAGE, "--grace must be greater than zero; --now means without one");
    return 0;
}

int cli_command_break(const struct cli_options *options)
{
    struct cli_session session = {0};
    int code = check(options);

    if (code == 0)
        code = cli_session_look(&session, options);
    if (code == 0)
        code = cli_session_check_name(&session, options->words[0]);
    if (code == 0 && (!options->yes || options->slot != CLI_NOT_GIVEN))
        code = look_and_ask(&session, options);
    if (code == 0)
        code = break_hold(&session, options);
    cli_session_close(&session);
    return code;
}
