/*
 * Words for those who share a lock; see sharers.h.
 */
#include "cli/sharers.h"

#include <stdio.h>
#include <string.h>

#include "cli/holder.h"
#include "cli/output.h"
#include "cli/text.h"

static bool is_named(const redlock_holder *holder, const char *id)
{
    return holder->id[0] != '\0' && strncmp(holder->id, id, strlen(holder->id)) == 0;
}

bool cli_sharers_find(const redlock_report *report, const char *id, redlock_holder *found)
{
    for (uint32_t i = 0; redlock_report_sharer(report, i, found); i++)
        if (is_named(found, id))
            return true;
    *found = report->holder;
    return is_named(found, id);
}

bool cli_sharers_have(const redlock_report *report, const char *id)
{
    redlock_holder found;

    return cli_sharers_find(report, id, &found);
}

bool cli_sharers_are_named(const redlock_report *report)
{
    redlock_holder last;

    return report->sharers <= 1 || redlock_report_sharer(report, report->sharers - 1, &last);
}

void cli_sharers_describe(const redlock_report *report, char *text, size_t size)
{
    size_t used = 0;

    if (report->sharers > 1) {
        snprintf(text, size, "%u that share it, such as ", report->sharers);
        used = strlen(text);
    }
    cli_holder_describe(&report->holder, text + used, size - used);
}

void cli_sharers_print(const redlock_report *report)
{
    redlock_holder sharer;
    char words[512], clean[512];
    uint32_t named = 0;

    for (; report->sharers > 1 && redlock_report_sharer(report, named, &sharer); named++) {
        cli_holder_describe_since(&sharer, words, sizeof words);
        cli_text_clean(words, clean, sizeof clean);
        printf("  shared  by %s, id %s\n", clean, sharer.id);
    }
    if (named > 0 && named < report->sharers)
        printf("  shared  and by %u more\n", report->sharers - named);
}

void cli_sharers_add_json(const redlock_report *report, json_t *object)
{
    json_t *sharers = json_array();
    redlock_holder sharer;

    for (uint32_t i = 0; redlock_report_sharer(report, i, &sharer); i++)
        json_array_append_new(sharers, cli_output_holder(&sharer));
    if (report->holder.id[0] != '\0')
        json_object_set_new(object, "kind", json_string(report->sharers > 0 ? "shared" : "exclusive"));
    if (report->sharers > 0) {
        json_object_set_new(object, "sharer_count", json_integer(report->sharers));
        json_object_set(object, "sharers", sharers);
    }
    json_decref(sharers);
}
