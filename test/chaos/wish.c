/*
 * Kinds of lock, drawn at random; see wish.h.
 */
#include "wish.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "draw.h"

enum { SEMAPHORES = 2, ALL_THREADS = 1 };

static void draw_name(struct hold *hold, uint64_t *random, unsigned count)
{
    snprintf(hold->name, sizeof hold->name, "n%u", (unsigned)draw_between(random, 1, count));
}

static void share(struct hold *hold, redlock_spec *spec)
{
    spec->kind = REDLOCK_SHARED;
    hold->reads = true;
    hold_note(hold, "shared");
}

/* The first semaphore has two slots, the second three, for all processes. */
static void want_slot(struct hold *hold, redlock_spec *spec, uint64_t *random)
{
    unsigned number = (unsigned)draw_between(random, 1, SEMAPHORES);

    snprintf(hold->name, sizeof hold->name, "s%u", number);
    spec->kind = REDLOCK_SEMAPHORE;
    spec->permits = number + 1;
    hold->reads = true;
    hold->gives = true;
    hold_note_number(hold, "slots", spec->permits);
}

static bool has_name(const struct hold *hold, const char *name)
{
    bool found = strcmp(hold->name, name) == 0;

    for (unsigned i = 0; i < hold->also_count; i++)
        found = found || strcmp(hold->also[i], name) == 0;
    return found;
}

/* Up to three more, each of them once. */
static void want_more_names(struct hold *hold, redlock_spec *spec, uint64_t *random, unsigned count)
{
    for (uint64_t tries = draw_between(random, 1, ALSO_MAX); tries > 0; tries--) {
        char *name = hold->also[hold->also_count];

        snprintf(name, sizeof hold->also[0], "n%u", (unsigned)draw_between(random, 1, count));
        if (has_name(hold, name))
            continue;
        hold->names[hold->also_count++].name = name;
        journal_add(&process.journal, "also %" PRId64 " %u %s", journal_now_us(), hold->number, name);
    }
    spec->also = hold->also_count > 0 ? hold->names : NULL;
    spec->also_count = hold->also_count;
}

/* A thread is an owner, and all threads together are another one. The latter share a handle: a callback
 * would be told of the hold that was first inside, which may be over by then. */
static void enter(struct hold *hold, redlock_spec *spec, unsigned thread, bool all_threads)
{
    spec->reentrant = 1;
    hold->reenters = !all_threads;
    hold->reads = all_threads;
    if (all_threads) {
        spec->identity = ALL_THREADS;
        spec->auto_extend = 0;
        spec->on_lost = NULL;
        spec->on_renewed = NULL;
    }
    hold_note_number(hold, "reentrant", all_threads ? 0 : (int64_t)thread + 1);
}

void wish_draw(struct hold *hold, redlock_spec *spec, uint64_t *random, unsigned count, unsigned thread,
               bool by_callback)
{
    uint64_t chance = draw_between(random, 1, 12);

    draw_name(hold, random, count);
    if (chance <= 3)
        share(hold, spec);
    else if (chance <= 5)
        want_slot(hold, spec, random);
    else if (chance <= 7)
        want_more_names(hold, spec, random, count);
    else if (chance <= 9)
        enter(hold, spec, thread, by_callback || draw_one_in(random, 2));
    else
        hold->gives = true;
    spec->name = hold->name;
}

void wish_draw_plain(struct hold *hold, redlock_spec *spec, uint64_t *random, unsigned count)
{
    draw_name(hold, random, count);
    hold->gives = true;
    spec->name = hold->name;
}

void wish_again(struct hold *hold, redlock_spec *spec, const struct hold *outer, unsigned thread)
{
    snprintf(hold->name, sizeof hold->name, "%s", outer->name);
    spec->name = hold->name;
    enter(hold, spec, thread, false);
    hold->reads = true;
}
