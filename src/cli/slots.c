/*
 * Asks for the slots of a semaphore, and describes them; see slots.h.
 */
#include "cli/slots.h"

#include <stdlib.h>
#include <string.h>

#include "cli/clock.h"
#include "cli/holder.h"
#include "cli/output.h"
#include "cli/text.h"

/* 0: there was memory for it. */
static int note_slot(void *context, const redlock_slot *slot)
{
    struct cli_slots *slots = context;
    redlock_slot *more = realloc(slots->list, (slots->count + 1) * sizeof *more);

    if (more == NULL)
        return 1;
    more[slots->count++] = *slot;
    slots->list = more;
    return 0;
}

/* Where it is a semaphore the name's own key is of another type, which inspections call foreign. */
bool cli_slots_find(const struct cli_session *session, const char *name, const redlock_report *report,
                    struct cli_slots *slots)
{
    redlock_report answer = REDLOCK_REPORT_INIT;

    *slots = (struct cli_slots){.node_count = report->node_count};
    if (name == NULL || session->config.plain || !cli_holder_is_of_other_format(&report->holder))
        return false;
    if (redlock_inspect_slots(session->client, name, 0, note_slot, slots, &slots->permits, &answer) ==
            REDLOCK_OK &&
        slots->permits > 0) {
        slots->held = answer.held;
        return true;
    }
    cli_slots_free(slots);
    return false;
}

void cli_slots_free(struct cli_slots *slots)
{
    free(slots->list);
    slots->list = NULL;
    slots->count = 0;
}

const redlock_slot *cli_slots_held_by(const struct cli_slots *slots, const char *id)
{
    for (uint32_t i = 0; i < slots->count; i++)
        if (strncmp(slots->list[i].holder.id, id, strlen(slots->list[i].holder.id)) == 0)
            return &slots->list[i];
    return NULL;
}

/* ", for 12m04s", as far as its holder says when it came. */
static struct cli_span held_for(const redlock_holder *holder)
{
    struct cli_span words = {""};
    int64_t ms = cli_clock_wall() - holder->since_ms;

    if (holder->since_ms > 0)
        snprintf(words.text, sizeof words.text, ", for %.20s", cli_text_span(ms > 0 ? ms : 0).text);
    return words;
}

void cli_slots_each(const struct cli_slots *slots, void (*say)(uint32_t slot, const char *words))
{
    char holder[512], line[800], clean[800];

    for (uint32_t i = 0; i < slots->count; i++) {
        const redlock_slot *slot = &slots->list[i];

        cli_holder_describe(&slot->holder, holder, sizeof holder);
        snprintf(line, sizeof line, "%s%s, id %s, %s left, granted by %u of %u%s", holder,
                 held_for(&slot->holder).text, slot->holder.id, cli_text_span(slot->ttl_left_ms).text,
                 slot->votes, slots->node_count, slot->holder.broken ? ", broken by an operator" : "");
        cli_text_clean(line, clean, sizeof clean);
        say(slot->slot, clean);
    }
}

static json_t *slot_json(const redlock_slot *slot)
{
    json_t *object = cli_output_holder(&slot->holder);

    if (!json_is_object(object)) {
        json_decref(object);
        object = json_object();
    }
    json_object_set_new(object, "slot", json_integer(slot->slot));
    json_object_set_new(object, "ttl_left_ms", json_integer(slot->ttl_left_ms));
    json_object_set_new(object, "granted_by", json_integer(slot->votes));
    return object;
}

void cli_slots_add_json(const struct cli_slots *slots, json_t *object)
{
    json_t *holders = json_array();

    for (uint32_t i = 0; i < slots->count; i++)
        json_array_append_new(holders, slot_json(&slots->list[i]));
    json_object_set_new(object, "kind", json_string("semaphore"));
    json_object_set_new(object, "state", json_string(slots->held == slots->permits ? "held" : "free"));
    /* The name's own key has no owner. */
    json_object_set_new(object, "owners", json_array());
    json_object_set_new(object, "granted_by", json_integer(0));
    json_object_set_new(object, "slots", json_integer(slots->permits));
    json_object_set_new(object, "slots_held", json_integer(slots->held));
    json_object_set_new(object, "holder", json_null());
    json_object_set_new(object, "ttl_left_ms", json_null());
    json_object_set_new(object, "holders", holders);
}
