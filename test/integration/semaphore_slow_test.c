/*
 * Semaphores on five real nodes that are killed and wiped all the time: never more inside than there are
 * slots, each slot with one holder at a time, whose fences rise. The checker sees one slot too many.
 */
#include "support/guarded.h"
#include "support/permits.h"
#include "support/steps.h"

enum { TTL_MS = 300, PROCESSES = 12 };

/* A node is killed, often with all that it knew, and comes back; one in three times another one follows at
 * once. */
static void kill_and_wipe(struct fleet *fleet, int turn)
{
    int node = turn % fleet_size(fleet), other = (turn + 2) % fleet_size(fleet);

    fleet_kill(fleet, node);
    if (turn % 3 != 0)
        fleet_wipe(fleet, node);
    if (turn % 3 == 1)
        fleet_kill(fleet, other);
    sleep_ms(150);
    assert_true(fleet_restart(fleet, node));
    if (turn % 3 == 1)
        assert_true(fleet_restart(fleet, other));
    sleep_ms(800);
}

static void semaphores_hold_while_nodes_die_and_forget(void **state)
{
    for (uint32_t permits = 2; permits <= 4; permits++) {
        struct permits_result result =
            permits_run(*state, &(struct permits_config){.processes = PROCESSES,
                                                         .permits = permits,
                                                         .duration_ms = 12000,
                                                         .ttl_ms = TTL_MS,
                                                         .disturb = kill_and_wipe});

        print_message("# %u slots: %ld turns, %d inside at once\n", permits, result.turns, result.most);
        assert_int_equal(result.crashes, 0);
        assert_int_equal(result.crowded, 0);
        assert_int_equal(result.doubled, 0);
        assert_int_equal(result.unfenced, 0);
        assert_true(result.turns > 0);
    }
}

static void one_slot_too_many_is_noticed(void **state)
{
    struct permits_result result =
        permits_run(*state, &(struct permits_config){
                                .processes = PROCESSES, .permits = 2, .duration_ms = 3000, .one_more = true});

    assert_int_equal(result.crashes, 0);
    assert_true(result.crowded > 0);
    assert_int_equal(result.most, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_GUARDED(semaphores_hold_while_nodes_die_and_forget, start_five_guarded),
        ON_GUARDED(one_slot_too_many_is_noticed, start_five_guarded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
