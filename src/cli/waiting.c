/*
 * What a waiting person sees: one live line on a terminal; elsewhere a line when waiting starts, one a minute
 * and one when it ends. It asks the nodes who holds the lock; it does not take it.
 */
#include "cli/waiting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/clock.h"
#include "cli/failure.h"
#include "cli/holder.h"
#include "cli/output.h"
#include "cli/owners.h"
#include "cli/sharers.h"
#include "cli/suggest.h"
#include "cli/text.h"
#include "cli/waiters.h"

enum { INIT_MAX = 300 }; /* of a command in a line that is read while waiting */

#define PATIENCE_MS 250  /* a lock that is free is taken by then, and nobody has to be told */
#define ASK_LIVE_MS 1000 /* between questions for the live line */
#define ASK_LOG_MS 60000 /* between log lines */
#define DRAW_MS 100

void cli_waiting_begin(struct cli_waiting *waiting, const struct cli_session *session,
                       const redlock_spec *spec, struct cli_events *events)
{
    int64_t now = cli_clock_now();

    *waiting = (struct cli_waiting){.session = session,
                                    .spec = spec,
                                    .name = spec->name,
                                    .events = events,
                                    .started_ms = now,
                                    .next_ask_ms = now + PATIENCE_MS,
                                    .next_draw_ms = CLI_NEVER};
}

int64_t cli_waiting_due(const struct cli_waiting *waiting)
{
    if (waiting->answered)
        return 0;
    return waiting->next_ask_ms < waiting->next_draw_ms ? waiting->next_ask_ms : waiting->next_draw_ms;
}

static bool speaks_utf8(void)
{
    const char *names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        if (value != NULL && *value != '\0')
            return strcasestr(value, "utf-8") != NULL || strcasestr(value, "utf8") != NULL;
    }
    return false;
}

static void add(char *text, size_t size, const char *words)
{
    size_t used = strlen(text);

    snprintf(text + used, size - used, "%s", words);
}

/* " (a new fleet: redlock init)"; a command that does not fit is left out, for a part of it would be another
 * one. */
static void describe_init(char *text, size_t size)
{
    struct cli_suggested init = cli_suggest("init", NULL, NULL, NULL);
    bool fits = strlen(init.text) <= INIT_MAX;

    snprintf(text, size, " (a new fleet: %.*s)", INIT_MAX, fits ? init.text : "see man redlock, INIT");
}

/* "nightly-backup: 1 of 5 nodes may vote, 3 are needed; node 2 …: restarted or wiped …"; false when enough
 * may. */
static bool describe_ineligible(const struct cli_waiting *waiting, char *text, size_t size)
{
    const redlock_report *report = &waiting->report;
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;
    char full[240], new_fleet[INIT_MAX + 32] = "";

    if (report->eligible >= report->quorum)
        return false;
    if (cli_failure_is_new_fleet(report))
        describe_init(new_fleet, sizeof new_fleet);
    if (cli_failure_describe_full(report, full, sizeof full)) {
        snprintf(text, size, "%s: %s", waiting->name, full);
        return true;
    }
    for (uint32_t i = 0; redlock_report_node(report, i, &node); i++) {
        if (node.eligible || node.detail[0] == '\0')
            continue;
        snprintf(text, size, "%s: %u of %s may vote, %s; node %u %s: %s%s", waiting->name, report->eligible,
                 cli_text_nodes(report->node_count).text, cli_text_needed(report->quorum).text, i + 1,
                 node.url, node.detail, new_fleet);
        return true;
    }
    return false;
}

/* " · 3rd in line, 2 behind", as far as it is known. */
static void add_place(const struct cli_waiting *waiting, const char *dot, char *text, size_t size)
{
    char words[64];

    cli_waiters_describe_us(&waiting->report, words, sizeof words);
    if (words[0] == '\0')
        return;
    add(text, size, dot);
    add(text, size, words);
}

/* Nobody is known to hold it, and it could not be had: others want it at this moment, or what they left is in
 * the way. */
static void describe_unheld(const struct cli_waiting *waiting, const struct cli_owners *owners,
                            const char *dot, char *text, size_t size)
{
    char words[100];

    cli_owners_describe_nobody(owners, words, sizeof words);
    if (owners->possession == CLI_POSSESSION_FREE)
        snprintf(text, size, "%s is wanted by others too", waiting->name);
    else if (owners->possession == CLI_POSSESSION_UNKNOWN)
        snprintf(text, size, "whether %s is held is %s", waiting->name, words);
    else
        snprintf(text, size, "%s is held by %s", waiting->name, words);
    if (owners->possession == CLI_POSSESSION_SPLIT) {
        cli_owners_describe_end(owners, words, sizeof words);
        add(text, size, dot);
        add(text, size, "free ");
        add(text, size, words);
    }
    add_place(waiting, dot, text, size);
}

/* Whether slots are waited for, and nodes have some: their common key is none that names a holder. */
static bool awaits_slot(const struct cli_waiting *waiting)
{
    return waiting->spec->kind == REDLOCK_SEMAPHORE && cli_holder_is_of_other_format(&waiting->report.holder);
}

/* "nightly-backup is held by web-3 (…) for 12m04s · 11s left, renewing · 3rd in line", or why nobody can
 * tell. */
static void describe(const struct cli_waiting *waiting, const char *dot, char *text, size_t size)
{
    const redlock_report *report = &waiting->report;
    struct cli_owners owners;
    char holder[400];

    if (report->result != REDLOCK_OK) {
        snprintf(text, size, "%s", report->line);
        return;
    }
    if (describe_ineligible(waiting, text, size))
        return;
    cli_owners_read(&owners, report);
    if (owners.possession != CLI_POSSESSION_HELD) {
        describe_unheld(waiting, &owners, dot, text, size);
        return;
    }
    if (awaits_slot(waiting)) {
        snprintf(text, size, "%s: all %u slots are held", waiting->name, waiting->spec->permits);
        add_place(waiting, dot, text, size);
        return;
    }
    cli_sharers_describe(report, holder, sizeof holder);
    snprintf(text, size, "%s is held by %s", waiting->name, holder);
    if (report->holder.since_ms > 0) {
        add(text, size, " for ");
        add(text, size, cli_text_span(cli_clock_wall() - report->holder.since_ms).text);
    }
    if (report->holder_ttl_left_ms >= 0) {
        add(text, size, dot);
        add(text, size, cli_text_span(report->holder_ttl_left_ms).text);
        add(text, size, waiting->renewing ? " left, renewing" : " left");
    }
    add_place(waiting, dot, text, size);
}

static void draw(struct cli_waiting *waiting, int64_t now)
{
    static const char *const braille[] = {"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"};
    static const char *const plain[] = {"|", "/", "-", "\\"};
    bool utf8 = speaks_utf8();
    const char *dot = utf8 ? " · " : " - ";
    const char *frame = utf8 ? braille[waiting->frame % 10] : plain[waiting->frame % 4];
    char words[800], clean[800], line[900];

    describe(waiting, dot, words, sizeof words);
    cli_text_clean(words, clean, sizeof clean);
    /* How long comes first: a narrow terminal cuts the end. */
    snprintf(line, sizeof line, "%s %s %s", frame, cli_text_clock(now - waiting->started_ms).text, clean);
    cli_output_draw(line);
    waiting->frame++;
    waiting->next_draw_ms = now + DRAW_MS;
}

/* Our own grants, of an attempt that is still under way: they are taken back, or the wait is over. */
static bool sees_ourselves(const redlock_report *report)
{
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;
    redlock_holder who;

    if (report->holder.id[0] != '\0')
        return cli_waiters_is_us(&report->holder);
    for (uint32_t i = 0; redlock_report_node(report, i, &node); i++) {
        redlock_holder_parse(node.owner, node.owner_length, &who);
        if (cli_waiters_is_us(&who))
            return true;
    }
    return false;
}

/* Runs inside redlock_client_process(). */
static void take_answer(void *context, redlock_result result, const redlock_report *report)
{
    struct cli_waiting *waiting = context;
    int64_t before = waiting->report.holder_ttl_left_ms;
    char id[sizeof waiting->report.holder.id];

    memcpy(id, waiting->report.holder.id, sizeof id);
    waiting->report = cli_session_second_report(waiting->session);
    if (redlock_report_copy(&waiting->report, report) != REDLOCK_OK)
        waiting->report.node_count = 0;
    waiting->report.result = result;
    if (strcmp(id, waiting->report.holder.id) != 0)
        waiting->renewing = false;
    else if (waiting->report.holder_ttl_left_ms > before)
        waiting->renewing = true;
    waiting->asking = false;
    waiting->answered = true;
}

/* The answer comes later: nodes that take their time must not hold up the end of the wait. */
static void ask(struct cli_waiting *waiting, int64_t now)
{
    waiting->asking = redlock_inspect_async(waiting->session->client, waiting->name, 0, take_answer, waiting,
                                            &waiting->request) == REDLOCK_OK;
    waiting->next_ask_ms = waiting->asking ? CLI_NEVER : now + ASK_LIVE_MS;
}

static void stop_asking(struct cli_waiting *waiting)
{
    if (waiting->asking)
        redlock_cancel(waiting->session->client, waiting->request);
    while (waiting->asking)
        redlock_client_process(waiting->session->client);
}

/* That we wait, and whenever our place in line is found to be another one. */
static void tell_program(struct cli_waiting *waiting)
{
    uint32_t place = cli_waiters_place(&waiting->report);
    json_t *more;

    if (waiting->events == NULL || (waiting->shown && place == waiting->place))
        return;
    more = json_pack("{s:o, s:s, s:I, s:o}", "holder",
                     awaits_slot(waiting) ? json_null() : cli_output_holder(&waiting->report.holder),
                     "result", redlock_result_name(waiting->report.result), "others",
                     (json_int_t)cli_waiters_count_others(&waiting->report), "place",
                     place > 0 ? json_integer(place) : json_null());
    if (waiting->spec->kind == REDLOCK_SEMAPHORE)
        json_object_set_new(more, "slots", json_integer(waiting->spec->permits));
    cli_events_emit(waiting->events, waiting->shown ? "moved" : "waiting", more);
    waiting->place = place;
}

/* Of several names one that is free is not the one that is waited for: looks at the next, until all have been
 * looked at. */
static bool looks_further(struct cli_waiting *waiting, int64_t now)
{
    struct cli_owners owners;

    if (waiting->spec->also_count == 0 || waiting->report.result != REDLOCK_OK)
        return false;
    cli_owners_read(&owners, &waiting->report);
    if (owners.possession != CLI_POSSESSION_FREE)
        return false;
    waiting->name_number = (waiting->name_number + 1) % (waiting->spec->also_count + 1);
    waiting->name =
        waiting->name_number == 0 ? waiting->spec->name : waiting->spec->also[waiting->name_number - 1].name;
    waiting->next_ask_ms = waiting->name_number == 0 ? now + PATIENCE_MS : now;
    return true;
}

void cli_waiting_tick(struct cli_waiting *waiting)
{
    int64_t now = cli_clock_now();
    bool answered = waiting->answered;
    char text[800];

    waiting->answered = false;
    if (!answered && now >= waiting->next_ask_ms)
        ask(waiting, now);
    if (answered && sees_ourselves(&waiting->report)) { /* nobody to tell about */
        waiting->next_ask_ms = now + PATIENCE_MS;
        return;
    }
    if (answered && looks_further(waiting, now))
        return;
    if (answered)
        waiting->next_ask_ms = now + (cli_output_is_live() ? ASK_LIVE_MS : ASK_LOG_MS);
    if (!answered && !waiting->shown) /* nothing is known yet */
        return;
    if (answered)
        tell_program(waiting);
    if (cli_output_is_live()) {
        draw(waiting, now);
    } else if (answered) {
        describe(waiting, ", ", text, sizeof text);
        if (waiting->shown)
            cli_output_note("%s; waited %s", text, cli_text_span(now - waiting->started_ms).text);
        else
            cli_output_note("%s; waiting", text);
    }
    waiting->shown = true;
}

void cli_waiting_end(struct cli_waiting *waiting, bool acquired)
{
    stop_asking(waiting);
    cli_output_draw("");
    if (acquired && waiting->shown)
        cli_output_note("%s acquired after %s", waiting->spec->name,
                        cli_text_span(cli_clock_now() - waiting->started_ms).text);
}
