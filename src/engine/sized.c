/*
 * Reads and writes structs of callers; see sized.h.
 */
#include "engine/sized.h"

#include <string.h>

#define UNKNOWN_SPEC \
    "the spec is NULL, has a wrong size or wants what this library does not know: start from "

enum { SIZE_MAX_ACCEPTED = 65536 }; /* more is not a newer header but a struct that was never initialised */

static size_t size_of(const void *given)
{
    size_t size;

    memcpy(&size, given, sizeof size);
    return size;
}

bool rl_sized_ok(const void *given, size_t ours)
{
    const unsigned char *bytes = given;
    size_t size;

    if (given == NULL)
        return false;
    size = size_of(given);
    if (size < sizeof size || size > SIZE_MAX_ACCEPTED)
        return false;
    for (size_t i = ours; i < size; i++)
        if (bytes[i] != 0)
            return false; /* something is wanted that this version knows nothing of */
    return true;
}

bool rl_sized_read(void *ours, size_t size, const void *given)
{
    size_t known;

    if (!rl_sized_ok(given, size))
        return false;
    known = size_of(given) < size ? size_of(given) : size;
    memset(ours, 0, size);
    memcpy(ours, given, known);
    memcpy(ours, &size, sizeof size);
    return true;
}

void rl_sized_write(void *given, const void *ours, size_t size)
{
    size_t known = size_of(given) < size ? size_of(given) : size;

    memcpy((char *)given + sizeof size, (const char *)ours + sizeof size, known - sizeof size);
}

/* ---- reports ---- */

bool rl_report_accept(struct rl_report_frame *frame, redlock_report *given)
{
    frame->given = frame->report = given;
    if (given == NULL || given->size == sizeof *given)
        return true;
    if (!rl_sized_read(&frame->copy, sizeof frame->copy, given))
        return false;
    frame->report = &frame->copy;
    return true;
}

redlock_result rl_report_return(const struct rl_report_frame *frame, redlock_result result)
{
    if (frame->report != frame->given)
        rl_sized_write(frame->given, frame->report, sizeof *frame->report);
    return result;
}

/* ---- specs ---- */

const redlock_spec *rl_spec_accept(const redlock_spec *given, redlock_spec *copy)
{
    if (given != NULL && given->size == sizeof *given)
        return given;
    return rl_sized_read(copy, sizeof *copy, given) ? copy : NULL;
}

const redlock_spec *rl_spec_which(const redlock_spec *spec, redlock_spec *which)
{
    if (spec == NULL)
        return NULL;
    *which = (redlock_spec){.size = sizeof *which,
                            .kind = spec->kind,
                            .name = spec->name,
                            .name_length = spec->name_length,
                            .permits = spec->permits,
                            .also = spec->also,
                            .also_count = spec->also_count};
    return which;
}

/* Of bytes that a caller gave, perhaps as a text. */
static size_t length_of(const char *bytes, size_t length)
{
    return bytes != NULL && length == 0 ? strlen(bytes) : length;
}

const char *rl_list_spec_accept(const redlock_list_spec *given, redlock_list_spec *spec)
{
    *spec = (redlock_list_spec)REDLOCK_LIST_SPEC_INIT;
    if (given != NULL && !rl_sized_read(spec, sizeof *spec, given))
        return UNKNOWN_SPEC "REDLOCK_LIST_SPEC_INIT";
    spec->glob_length = length_of(spec->glob, spec->glob_length);
    spec->name_length = length_of(spec->name, spec->name_length);
    return NULL;
}

const char *rl_break_spec_accept(const redlock_break_spec *given, redlock_break_spec *spec)
{
    if (!rl_sized_read(spec, sizeof *spec, given))
        return UNKNOWN_SPEC "REDLOCK_BREAK_SPEC_INIT";
    spec->name_length = length_of(spec->name, spec->name_length);
    spec->id_length = length_of(spec->id, spec->id_length);
    return NULL;
}

redlock_spec rl_spec_of_name(const char *name, size_t name_length)
{
    return (redlock_spec){.size = sizeof(redlock_spec),
                          .name = name,
                          .name_length = name != NULL ? length_of(name, name_length) : 0};
}

redlock_list_spec rl_list_spec_of_name(const char *name, size_t name_length)
{
    redlock_list_spec spec = REDLOCK_LIST_SPEC_INIT;

    spec.name = name != NULL ? name : "";
    spec.name_length = name != NULL ? length_of(name, name_length) : 0;
    return spec;
}
