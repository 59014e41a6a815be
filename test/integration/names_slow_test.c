/*
 * Several processes take turns at locks with several names, while five real nodes are killed and lose their
 * data. All of them want one name in common, among others and in any order: nobody ever relies on it while
 * another does. The same judge sees it when they have none in common.
 */
#include <stdio.h>

#include "support/guarded.h"
#include "support/holders.h"
#include "support/steps.h"

enum { NODES = 5, KILLS = 60, TTL_MS = 400, QUARANTINED_MS = 1406 };

static int kills;

static void wipe_some(struct fleet *fleet, int turn)
{
    int count = (int[]){1, 2, 3}[turn % 3];

    for (int i = 0; i < count; i++) {
        fleet_kill(fleet, (turn + i) % NODES);
        fleet_wipe(fleet, (turn + i) % NODES);
        kills++;
    }
    for (int i = 0; i < count; i++)
        fleet_restart(fleet, (turn + i) % NODES);
    sleep_ms(count <= 2 ? 500 : QUARANTINED_MS + 200);
}

static bool are_enough(void)
{
    return kills >= KILLS;
}

/* The common one first, last and in the middle, and alone. */
static void want_common(int holder, redlock_spec *spec)
{
    static const redlock_name sets[][2] = {{{.name = "other"}, {.name = "third"}},
                                           {{.name = "held"}, {.name = "third"}},
                                           {{.name = "third"}, {.name = "held"}}};

    if (holder % 4 == 3)
        return;
    spec->name = holder % 4 == 0 ? "held" : "other";
    spec->also = sets[holder % 4];
    spec->also_count = 2;
}

/* One of two sets that have nothing in common. */
static void want_apart(int holder, redlock_spec *spec)
{
    static const redlock_name sets[] = {{.name = "second"}, {.name = "fourth"}};

    spec->name = holder % 2 == 0 ? "first" : "third";
    spec->also = &sets[holder % 2];
    spec->also_count = 1;
}

static struct history *run(struct fleet *fleet, void (*want)(int holder, redlock_spec *spec))
{
    struct holders_config config = {.processes = 6,
                                    .duration_ms = KILLS * 1500, /* on a busy machine */
                                    .ttl_ms = TTL_MS,
                                    .keep_percent = 30,
                                    .node_timeout_ms = 200,
                                    .want = want,
                                    .disturb = wipe_some,
                                    .enough = are_enough};
    struct history *history;

    kills = 0;
    history = holders_run(fleet, &config);
    print_message("# %d kills, %u grants, %u overlaps\n", kills, history_count(history),
                  history_overlaps(history));
    return history;
}

static void nobody_has_a_name_that_another_relies_on(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), TTL_MS);
    struct history *history = run(fleet, want_common);

    assert_true(history_count(history) >= 20);
    assert_int_equal(history_overlaps(history), 0);
    assert_int_equal(history_repeats(history), 0);
    assert_int_equal(history_setbacks(history), 0);
    history_free(history);
    redlock_client_close(client);
}

static void the_judge_sees_those_who_have_no_name_in_common(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), TTL_MS);
    struct history *history = run(fleet, want_apart);

    assert_true(history_overlaps(history) > 0);
    history_free(history);
    redlock_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_GUARDED(nobody_has_a_name_that_another_relies_on, start_five_guarded),
        ON_GUARDED(the_judge_sees_those_who_have_no_name_in_common, start_five_guarded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
