/*
 * Asks for the slots of a semaphore, and describes them; see slots.h.
 */
#include "cli/slots.h"

#include <string.h>

#include "cli/holder.h"
#include "cli/output.h"
#include "cli/text.h"

static int note_slot(void *context, const redlock_slot *slot)
{
    struct cli_slots *slots = context;
    json_t *object = cli_output_holder(&slot->holder);

    if (!json_is_object(object)) {
        json_decref(object);
        object = json_object();
    }
    json_object_set_new(object, "slot", json_integer(slot->slot));
    json_object_set_new(object, "ttl_left_ms", json_integer(slot->ttl_left_ms));
    json_object_set_new(object, "granted_by", json_integer(slot->votes));
    char words[512], clean[512];
    cli_holder_describe(&slot->holder, words, sizeof words);
    cli_text_clean(words, clean, sizeof clean);
    json_object_set_new(object, "words", json_string(clean));
    json_array_append_new(slots->holders, object);
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
    slots->holders = json_array();
    if (slots->holders != NULL &&
        redlock_inspect_slots(session->client, name, 0, note_slot, slots, &slots->permits, &answer) ==
            REDLOCK_OK &&
        slots->permits > 0) {
        slots->held = answer.held;
        return true;
    }
    json_decref(slots->holders);
    return false;
}

void cli_slots_each(const struct cli_slots *slots, void (*say)(uint32_t slot, const char *words))
{
    size_t index;
    json_t *holder;
    char line[800];

    json_array_foreach(slots->holders, index, holder)
    {
        snprintf(line, sizeof line, "%s, id %s, %s left, granted by %d of %u",
                 json_string_value(json_object_get(holder, "words")),
                 json_string_value(json_object_get(holder, "id")),
                 cli_text_span(json_integer_value(json_object_get(holder, "ttl_left_ms"))).text,
                 (int)json_integer_value(json_object_get(holder, "granted_by")), slots->node_count);
        say((uint32_t)json_integer_value(json_object_get(holder, "slot")), line);
    }
}

void cli_slots_add_json(struct cli_slots *slots, json_t *object)
{
    size_t index;
    json_t *holder;

    json_array_foreach(slots->holders, index, holder) json_object_del(holder, "words");
    json_object_set_new(object, "state", json_string(slots->held == slots->permits ? "held" : "free"));
    json_object_set_new(object, "slots", json_integer(slots->permits));
    json_object_set_new(object, "slots_held", json_integer(slots->held));
    json_object_set_new(object, "holder", json_null());
    json_object_set_new(object, "ttl_left_ms", json_null());
    json_object_set_new(object, "holders", slots->holders);
    slots->holders = NULL;
}
