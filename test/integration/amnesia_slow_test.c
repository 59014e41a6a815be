/*
 * The experiment behind the guard: nodes are killed and lose their data, two hundred times, while several
 * processes take turns at one lock. Guarded, nobody ever relies on it while another does. Plain, in the same
 * run, they do.
 */
#include <stdio.h>

#include "support/guarded.h"
#include "support/holders.h"
#include "support/steps.h"

enum { NODES = 9, KILLS = 200, TTL_MS = 400, QUARANTINED_MS = 1406, PLAIN_KILLS = 36 };

static int kills;
static int kills_wanted;

static void kill_wiped(struct fleet *fleet, int node)
{
    fleet_kill(fleet, node);
    fleet_wipe(fleet, node);
    kills++;
}

/* A minority, a majority or all at once, in the middle of whatever is going on. Then time enough for a few
 * turns. */
static void wipe_many(struct fleet *fleet, int turn)
{
    int count = (int[]){NODES / 2, NODES / 2 + 1, NODES}[turn % 3];

    for (int i = 0; i < count; i++)
        kill_wiped(fleet, (turn + i) % NODES);
    for (int i = 0; i < count; i++)
        fleet_restart(fleet, (turn + i) % NODES);
    sleep_ms(count <= NODES / 2 ? 500 : QUARANTINED_MS + 200);
}

static bool are_enough(void)
{
    return kills >= kills_wanted;
}

static struct history *run(struct fleet *fleet, redlock_mode mode, int wanted)
{
    struct holders_config config = {.processes = 5,
                                    .duration_ms = wanted * 1500, /* on a busy machine */
                                    .mode = mode,
                                    .ttl_ms = TTL_MS,
                                    .keep_percent = 70,
                                    .node_timeout_ms = 200,
                                    .disturb = wipe_many,
                                    .enough = are_enough};
    struct history *history;

    kills = 0;
    kills_wanted = wanted;
    history = holders_run(fleet, &config);
    print_message("# %d kills, %u grants, %u overlaps\n", kills, history_count(history),
                  history_overlaps(history));
    assert_true(kills >= wanted);
    return history;
}

static void guarded_nodes_never_let_two_in_however_often_they_lose_data(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), TTL_MS);
    struct history *history = run(fleet, REDLOCK_GUARDED, KILLS);

    assert_true(history_count(history) >= 30);
    assert_int_equal(history_overlaps(history), 0);
    assert_int_equal(history_repeats(history), 0);
    assert_int_equal(history_setbacks(history), 0);
    history_free(history);
    redlock_client_close(client);
}

/* A few kills are enough, most of the time. */
static void plain_nodes_let_two_in_when_they_lose_data(void **state)
{
    uint32_t overlaps = 0;

    for (int tries = 0; tries < 8 && overlaps == 0; tries++) {
        struct history *history = run(*state, REDLOCK_PLAIN, PLAIN_KILLS);

        overlaps = history_overlaps(history);
        history_free(history);
    }
    assert_true(overlaps > 0);
}

static int start_many(void **state)
{
    struct fleet_options options = {.node_count = NODES, .transport = FLEET_UNIX};

    *state = fleet_start(&options);
    return *state != NULL ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_GUARDED(guarded_nodes_never_let_two_in_however_often_they_lose_data, start_many),
        ON_GUARDED(plain_nodes_let_two_in_when_they_lose_data, start_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
