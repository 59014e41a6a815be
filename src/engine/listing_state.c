/*
 * Makes what a list, a watch or a wait remembers; see listing_state.h.
 */
#include "engine/listing_state.h"

#include <string.h>

enum { EVERY_ALONE_MS = 250, EVERY_WALK_MS = 1000 };

static size_t write_pattern(char *pattern, const redlock_lock *lock, const redlock_list_spec *spec)
{
    const struct rl_engine *engine = lock->engine;
    size_t length = rl_page_literal(pattern, engine->config.key_prefix, engine->config.key_prefix_length);
    const char *glob = spec->glob != NULL ? spec->glob : "*";
    size_t glob_length = spec->glob != NULL ? spec->glob_length : 1;

    if (spec->name != NULL) {
        memcpy(pattern, lock->text, lock->key_length); /* it stands for itself */
        return lock->key_length;
    }
    memcpy(pattern + length, glob, glob_length);
    return length + glob_length;
}

bool rl_listing_create(struct rl_operation *operation, const redlock_list_spec *spec)
{
    struct rl_engine *engine = operation->lock->engine;
    char pattern[RL_PAGE_PATTERN_MAX];
    size_t length = write_pattern(pattern, operation->lock, spec);
    struct rl_listing *listing = rl_state_allocate(engine, sizeof *listing + length);
    uint32_t every_ms = spec->every_ms;

    if (listing == NULL)
        return false;
    memset(listing, 0, sizeof *listing);
    memcpy(listing->pattern, pattern, length);
    listing->pattern_length = length;
    listing->operation = operation;
    listing->one_name = spec->name != NULL;
    listing->alone = operation->kind != RL_OPERATION_LIST && spec->name != NULL;
    listing->partial = spec->partial != 0;
    if (every_ms == 0)
        every_ms = listing->alone ? EVERY_ALONE_MS : EVERY_WALK_MS;
    listing->every = rl_span_ms(every_ms);
    listing->give_up_at = RL_TIME_NEVER;
    listing->page = (struct rl_page){.count = RL_PAGE_COUNT,
                                     .pattern = listing->pattern,
                                     .pattern_length = length,
                                     .foreign = spec->foreign != 0 && !listing->one_name};
    operation->page = &listing->page;
    operation->listing = listing;
    rl_list_append(&engine->listings, &listing->link);
    return true;
}
