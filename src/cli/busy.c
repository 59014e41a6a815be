/*
 * Somebody else holds the lock, or what others left of it is in the way; see busy.h.
 */
#include "cli/busy.h"

#include <stdio.h>
#include <string.h>

#include "cli/clock.h"
#include "cli/holder.h"
#include "cli/output.h"
#include "cli/owners.h"
#include "cli/sharers.h"
#include "cli/slots.h"
#include "cli/suggest.h"
#include "cli/text.h"

#define RENEWED_MS 1000 /* what clocks and round trips may differ by */

struct cli_span cli_busy_waited(const redlock_report *report)
{
    struct cli_span span = {""};

    if (report->waited_ms >= 1000)
        snprintf(span.text, sizeof span.text, " (waited %.20s)", cli_text_span(report->waited_ms).text);
    return span;
}

static void say_sharers(const redlock_report *report)
{
    if (report->sharers > 1)
        cli_output_hint("shared", "by %u; this is one of them:", report->sharers);
}

void cli_busy_say_holder(const redlock_holder *holder)
{
    char text[512];

    if (holder->id[0] == '\0')
        return;
    cli_holder_describe_since(holder, text, sizeof text);
    cli_output_hint("holder", "%s, id %s", text, holder->id);
}

/* "15s TTL, taken 4s ago, ", "15s TTL, renewed 4s ago, ": as far as the owner value tells which TTL it
 * has. */
static void describe_renewal(const redlock_report *report, char *text, size_t size)
{
    const redlock_holder *holder = &report->holder;
    int64_t ago_ms = holder->ttl_ms - report->holder_ttl_left_ms;
    int64_t taken_ms = cli_clock_wall() - holder->since_ms;

    text[0] = '\0';
    if (holder->ttl_ms <= 0 || ago_ms < 0 || report->sharers > 1) /* whose lease ends last is not told */
        return;
    /* A renewal moves the end; without one it is where the taking put it, but for what clocks differ by. */
    bool renewed = taken_ms - ago_ms > RENEWED_MS;
    snprintf(text, size, "TTL %s, %s %s ago, ", cli_text_span(holder->ttl_ms).text,
             renewed ? "renewed" : "taken", cli_text_span(ago_ms).text);
}

void cli_busy_describe_lease(const redlock_report *report, uint32_t node_count, char *text, size_t size)
{
    bool endless = report->holder_ttl_left_ms == -1;
    size_t used;

    text[0] = '\0';
    if (endless)
        snprintf(text, size, "never expires");
    else if (report->holder_ttl_left_ms >= 0) {
        describe_renewal(report, text, size);
        used = strlen(text);
        snprintf(text + used, size - used, "%s left", cli_text_span(report->holder_ttl_left_ms).text);
    }
    used = strlen(text);
    if (node_count > 0 && used > 0)
        snprintf(text + used, size - used, ", %s %u of %u%s", endless ? "on" : "granted by", node_count,
                 report->node_count, endless ? " nodes" : "");
}

/* node_count: how many nodes have its key; 0 not known, for the round that was lost stopped at the first that
 * said no. */
static void say_lease(const redlock_report *report, uint32_t node_count)
{
    char words[160];

    cli_busy_describe_lease(report, node_count, words, sizeof words);
    if (words[0] != '\0')
        cli_output_hint("lease", "%s", words);
}

/* Nobody is known to hold it: whose keys are in the way. */
static void say_owners(const struct cli_owners *owners)
{
    char text[800];

    cli_owners_describe_nobody(owners, text, sizeof text);
    cli_output_hint("holder", "%s", text);
    for (uint32_t i = 0; i < owners->count; i++) {
        cli_owners_describe(&owners->owners[i], text, sizeof text);
        cli_output_hint("owner", "%s", text);
    }
    cli_owners_describe_end(owners, text, sizeof text);
    if (owners->possession == CLI_POSSESSION_SPLIT)
        cli_output_hint("free", "%s", text);
}

json_t *cli_busy_json(const char *name, const redlock_report *report)
{
    json_t *object = json_pack("{s:s, s:I, s:o}", "result", redlock_result_name(report->result), "waited_ms",
                               (json_int_t)report->waited_ms, "nodes", cli_output_nodes(report));

    if (name != NULL)
        json_object_set_new(object, "name", cli_output_string(name));
    if (report->holder.id[0] != '\0') {
        json_object_set_new(object, "holder", cli_output_holder(&report->holder));
        json_object_set_new(object, "ttl_left_ms",
                            report->holder_ttl_left_ms < 0 ? json_null()
                                                           : json_integer(report->holder_ttl_left_ms));
        cli_sharers_add_json(report, object);
    }
    return object;
}

/* Where Redisson's format is not ours, and could be asked for. */
static bool may_be_redisson(const struct cli_config *config)
{
    return !config->redisson && !cli_suggest_repeats_format() && (config->plain || !config->mode_given);
}

bool cli_busy_suggest_force(const struct cli_session *session, const char *name, const redlock_holder *holder,
                            struct cli_busy_force *force)
{
    char quoted[4 * sizeof holder->id + 8], option[sizeof quoted + 8];

    if (!cli_holder_is_of_other_format(holder)) {
        cli_text_quote(holder->id, quoted, sizeof quoted);
        snprintf(option, sizeof option, "--id %s", quoted);
        *force = (struct cli_busy_force){"force", cli_suggest("break", name, option, NULL), ""};
        return true;
    }
    if (!may_be_redisson(&session->config))
        return false;
    *force = (struct cli_busy_force){"or", cli_suggest("status", name, "--format redisson", NULL),
                                     " # if it is a lock of Redisson's"};
    return true;
}

static void say_force(const struct cli_session *session, const char *name, const redlock_holder *holder)
{
    struct cli_busy_force force;

    if (cli_busy_suggest_force(session, name, holder, &force))
        cli_output_hint(force.label, "%s%s", force.command.text, force.remark);
}

/* The round that was lost stopped at the first nodes that said no; whose keys are where is asked anew. False
 * when they cannot be asked, or it is free by now: then all that is known is what the round came to. */
static bool look_for_owners(const struct cli_session *session, const char *name, redlock_report *now,
                            struct cli_owners *owners)
{
    if (cli_output_is_quiet() || redlock_inspect(session->client, name, 0, now) != REDLOCK_OK)
        return false;
    cli_owners_read(owners, now);
    return owners->possession != CLI_POSSESSION_FREE;
}

static void say_slot(uint32_t slot, const char *words)
{
    char label[16];

    snprintf(label, sizeof label, "slot %u", slot);
    cli_output_hint(label, "%s", words);
}

/* All slots of a semaphore are taken, or were when it was asked for one. */
static int say_slots(const char *name, struct cli_slots *slots, const redlock_report *report, json_t *more,
                     int code)
{
    cli_slots_add_json(slots, more);
    cli_output_fail_with(more, code, "%s is busy: %u of %u slots held%s", name, slots->held, slots->permits,
                         cli_busy_waited(report).text);
    cli_slots_each(slots, say_slot);
    cli_slots_free(slots);
    cli_output_hint("see", "%s", cli_suggest("status", name, NULL, NULL).text);
    return code;
}

int cli_busy_say(const struct cli_session *session, const char *name, const redlock_report *report, bool ask,
                 int code)
{
    redlock_report now = cli_session_second_report(session);
    struct cli_owners owners;
    struct cli_slots slots;
    bool seen = ask && look_for_owners(session, name, &now, &owners);
    bool held = seen && owners.possession == CLI_POSSESSION_HELD;

    if (!seen)
        now = *report;
    now.result = report->result;
    now.waited_ms = report->waited_ms;
    json_t *more = cli_busy_json(name, &now);
    if (seen && cli_slots_find(session, name, &now, &slots))
        return say_slots(name, &slots, report, more, code);
    if (seen)
        cli_owners_add_json(&owners, more);
    cli_output_fail_with(more, code, "%s is busy%s", name, cli_busy_waited(report).text);
    if (seen && !held) {
        say_owners(&owners);
    } else {
        say_sharers(&now);
        cli_busy_say_holder(&now.holder);
        say_lease(&now, held ? owners.owners[0].node_count : 0);
    }
    cli_output_hint("see", "%s", cli_suggest("status", name, NULL, NULL).text);
    if (now.holder.broken)
        cli_output_hint("broken", CLI_HOLDER_BROKEN);
    else if (now.holder.id[0] != '\0' && (!seen || held))
        say_force(session, name, &now.holder);
    return code;
}
