/*
 * One owner value, and the wrong kind: whoever adopts or releases a lock as something that it is not gets
 * nothing, and nothing changes at the nodes. Every kind that a lock can have, against every kind that it can
 * be taken for.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/guarded.h"
#include "support/steps.h"

#define NAME "kinds:a"
#define OTHER "kinds:b"

enum { TTL_MS = LONG_TTL_MS / 2 };

/* What a lock can be, and be taken for. */
enum guise { ALONE, SHARED, SLOT, SLOT_OF_OTHERS, BOTH_NAMES, GUISES };

static const redlock_name also = {.name = OTHER};

static redlock_spec spec_of(enum guise guise)
{
    redlock_spec spec = spec_for(NAME, TTL_MS);

    if (guise == SHARED) {
        spec.kind = REDLOCK_SHARED;
    } else if (guise == SLOT || guise == SLOT_OF_OTHERS) {
        spec.kind = REDLOCK_SEMAPHORE;
        spec.permits = guise == SLOT ? 2 : 5;
    } else if (guise == BOTH_NAMES) {
        spec.also = &also;
        spec.also_count = 1;
    }
    return spec;
}

/* Everything that a node has, but for the guard's own keys; and whether a lock's key lives longer than it was
 * taken for. */
static const char *keys_of(struct fleet *fleet, int node)
{
    static const char dump[] =
        "local all = redis.call('KEYS', '*') table.sort(all) local text = '' "
        "for _, key in ipairs(all) do if not string.find(key, '^redlock%-guard:') then "
        "local lock = not string.find(key, 'fence:') and not string.find(key, ':order$') "
        "local longer = lock and redis.call('PTTL', key) > tonumber(ARGV[1]) "
        "text = text .. key .. ' ' .. redis.sha1hex(redis.call('DUMP', key)) .. (longer and ' +' or '') .. '\\n' "
        "end end return text";
    char ttl[12];

    snprintf(ttl, sizeof ttl, "%d", TTL_MS);
    return fleet_command(fleet, node, "EVAL", dump, "0", ttl, NULL);
}

static char *keys_of_all(struct fleet *fleet)
{
    size_t size = 65536, used = 0;
    char *text = calloc(1, size);

    assert_non_null(text);
    for (int node = 0; node < fleet_size(fleet); node++)
        used += (size_t)snprintf(text + used, size - used, "node %d:\n%s\n", node, keys_of(fleet, node));
    assert_true(used < size);
    return text;
}

static void assert_refused(redlock_result result, const char *what, enum guise is, enum guise taken_for)
{
    if (result != REDLOCK_NOT_HELD && result != REDLOCK_FOREIGN_TYPE)
        fail_msg("%s %d as %d: %s", what, is, taken_for, redlock_result_name(result));
}

struct done {
    atomic_bool over;
    redlock_result result;
};

static void note_done(void *context, redlock_result result, const redlock_report *report)
{
    struct done *done = context;

    (void)report;
    done->result = result;
    atomic_store(&done->over, true);
}

static void note_adopted(void *context, redlock_result result, redlock_lock *lock,
                         const redlock_report *report)
{
    redlock_lock_free(lock);
    note_done(context, result, report);
}

static redlock_result release_async(redlock_client *client, const redlock_spec *spec, const char *owner)
{
    struct done done = {.result = REDLOCK_OK};
    redlock_request request;

    assert_int_equal(redlock_release_spec_async(client, spec, owner, 0, note_done, &done, &request),
                     REDLOCK_OK);
    await(atomic_load(&done.over));
    return done.result;
}

static redlock_result adopt_async(redlock_client *client, const redlock_spec *spec, const char *owner)
{
    struct done done = {.result = REDLOCK_OK};
    redlock_request request;

    assert_int_equal(redlock_adopt_async(client, spec, owner, 0, note_adopted, &done, &request), REDLOCK_OK);
    await(atomic_load(&done.over));
    return done.result;
}

static void mistake(struct fleet *fleet, redlock_client *client, const char *owner, enum guise is,
                    enum guise taken_for)
{
    redlock_spec spec = spec_of(taken_for);
    spec.ttl_ms = LONG_TTL_MS;
    char *before = keys_of_all(fleet), *after;
    redlock_lock *none = NULL;

    assert_refused(redlock_adopt(client, &spec, owner, 0, &none, NULL), "adopting", is, taken_for);
    assert_null(none);
    assert_refused(adopt_async(client, &spec, owner), "adopting", is, taken_for);
    assert_refused(redlock_release_spec(client, &spec, owner, 0, NULL), "releasing", is, taken_for);
    assert_refused(release_async(client, &spec, owner), "releasing", is, taken_for);
    await_all_nodes(client); /* what was sent has arrived */
    after = keys_of_all(fleet);
    if (strcmp(before, after) != 0)
        fail_msg("taking %d for %d has changed the nodes from\n%s to\n%s", is, taken_for, before, after);
    free(before);
    free(after);
}

/* A name of several is a lock under its own key: whoever releases it alone has named what it wants. */
static bool is_one_of_them(enum guise is, enum guise taken_for)
{
    return is == BOTH_NAMES && taken_for == ALONE;
}

static void a_lock_taken_for_another_kind_stays_as_it_is(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    redlock_client *other = open_admitted(fleet_urls(fleet), LONG_TTL_MS);

    for (enum guise is = 0; is < GUISES; is++) {
        redlock_spec spec = spec_of(is);
        redlock_lock *lock = take_spec(client, &spec);

        await_all_nodes(client);
        for (enum guise taken_for = 0; taken_for < GUISES; taken_for++)
            if (taken_for != is && !is_one_of_them(is, taken_for))
                mistake(fleet, other, redlock_lock_owner(lock, NULL), is, taken_for);
        give_back(lock);
    }
    redlock_client_close(other);
    redlock_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_GUARDED(a_lock_taken_for_another_kind_stays_as_it_is, start_three_guarded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
