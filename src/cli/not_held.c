/*
 * Why an owner does not hold what it was said to hold; see not_held.h.
 */
#include "cli/not_held.h"

#include <stdio.h>

#include "cli/busy.h"
#include "cli/exits.h"
#include "cli/output.h"
#include "cli/sharers.h"
#include "cli/slots.h"
#include "cli/suggest.h"

/* One that does not hold it, as far as was seen. */
struct unheld {
    const struct cli_session *session;
    const char *name, *subject;
    const struct cli_claim *claim;
    json_t *more;
};

static void say_other_way(const struct unheld *unheld, const char *way)
{
    cli_output_fail_with(unheld->more, CLI_EXIT_LOST, "%snot held by this owner in this way: it %s",
                         unheld->subject, way);
}

/* The slot that the owner has although it said something else, or that it has none. */
static void say_slot(const struct unheld *unheld, const struct cli_slots *slots)
{
    const struct cli_options *options = unheld->claim->options;
    const redlock_slot *own = cli_slots_held_by(slots, unheld->claim->owner);
    char way[64];

    if (own == NULL || options->slots == (int64_t)slots->permits) {
        cli_output_fail_with(unheld->more, CLI_EXIT_LOST,
                             "%snot held by this owner: none of the %u slots is its own", unheld->subject,
                             slots->permits);
        return;
    }
    snprintf(way, sizeof way, "has slot %u of %u", own->slot, slots->permits);
    say_other_way(unheld, way);
    if (options->shared)
        cli_output_hint("fix", "give --slots %u instead of --shared", slots->permits);
    else
        cli_output_hint("fix", "%s --slots %u", options->slots > 0 ? "give" : "add", slots->permits);
}

static void say_shares(const struct unheld *unheld)
{
    say_other_way(unheld, "shares it");
    cli_output_hint("fix", "%s",
                    unheld->claim->options->slots > 0 ? "give --shared instead of --slots" : "add --shared");
}

static void say_alone(const struct unheld *unheld)
{
    say_other_way(unheld, "has it alone");
    cli_output_hint("fix", "leave out %s", unheld->claim->options->shared ? "--shared" : "--slots");
}

/* Whether the owner has it in another way than its options say, or the name is a semaphore: then that is
 * said. Redisson's format does not tell who shares a lock. */
static bool say_kind(const struct unheld *unheld, const redlock_report *now)
{
    const struct cli_options *options = unheld->claim->options;
    struct cli_slots slots;
    bool shares = now->sharers > 0;

    if (unheld->session->config.plain)
        return false;
    if (cli_slots_find(unheld->session, unheld->name, now, &slots)) {
        say_slot(unheld, &slots);
        cli_slots_free(&slots);
        return true;
    }
    if (!cli_sharers_have(now, unheld->claim->owner))
        return false;
    if (shares && !options->shared)
        say_shares(unheld);
    else if (!shares && (options->shared || options->slots > 0))
        say_alone(unheld);
    else
        return false;
    return true;
}

/* The holder that has it instead, or nobody: the owner may have ended, or never have been this one. */
static void say_holder(const struct unheld *unheld, const redlock_holder *other, bool broken)
{
    cli_output_fail_with(unheld->more, CLI_EXIT_LOST, "%snot held by this owner: %s", unheld->subject,
                         broken          ? "an operator has broken it"
                         : other != NULL ? "another one has it"
                                         : "it ended, was released, or is another's value");
    if (other != NULL)
        cli_busy_say_holder(other);
}

void cli_not_held_say(const struct cli_session *session, const char *name, const char *subject,
                      const redlock_report *report, const struct cli_claim *claim, json_t *more)
{
    const struct unheld unheld = {session, name, subject, claim, more};
    redlock_report now = cli_session_second_report(session);
    bool broken = report->broken != 0;
    bool held = redlock_inspect(session->client, name, 0, &now) == REDLOCK_OK && now.holder.id[0] != '\0' &&
                !now.holder.broken;

    if (!held || broken || claim == NULL || !say_kind(&unheld, &now))
        say_holder(&unheld, held ? &now.holder : NULL, broken);
    cli_output_hint("see", "%s", cli_suggest("status", name, NULL, NULL).text);
}
