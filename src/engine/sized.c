/*
 * Reads and writes structs of callers; see sized.h.
 */
#include "engine/sized.h"

#include <string.h>

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
