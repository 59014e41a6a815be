/*
 * Tests of base/timers: the heap against a twin that looks at everything every time.
 */
#include "base/timers.h"

#include <stdlib.h>

#include "base/prng.h"
#include "support/check.h"

enum { TIMERS_MAX = 40, STEPS = 400 };

struct pair {
    struct rl_timer timers[TIMERS_MAX];
    struct rl_timer *places[TIMERS_MAX];
    struct rl_timers heap;
    int64_t twin[TIMERS_MAX]; /* when each is due; INT64_MAX not set */
};

static struct pair *make_pair(void)
{
    struct pair *pair = calloc(1, sizeof *pair);

    assert_non_null(pair);
    pair->heap = (struct rl_timers){.heap = pair->places, .capacity = TIMERS_MAX};
    for (int i = 0; i < TIMERS_MAX; i++)
        pair->twin[i] = INT64_MAX;
    return pair;
}

static void set_both(struct pair *pair, int which, int64_t at_us)
{
    rl_timers_set(&pair->heap, &pair->timers[which], (struct rl_time){at_us});
    pair->twin[which] = at_us;
}

static int64_t earliest_of_twin(const struct pair *pair, uint32_t *count)
{
    int64_t earliest = INT64_MAX;

    *count = 0;
    for (int i = 0; i < TIMERS_MAX; i++) {
        *count += pair->twin[i] != INT64_MAX;
        earliest = pair->twin[i] < earliest ? pair->twin[i] : earliest;
    }
    return earliest;
}

static void compare(const struct pair *pair, uint64_t seed, int step)
{
    const struct rl_timer *first = rl_timers_first(&pair->heap);
    uint32_t count;
    int64_t earliest = earliest_of_twin(pair, &count);
    bool same = pair->heap.count == count && (first != NULL) == (count > 0) &&
                (first == NULL || first->at.us == earliest);

    for (uint32_t i = 0; i < pair->heap.count && same; i++)
        same = pair->heap.heap[i]->place == i + 1;
    for (int i = 0; i < TIMERS_MAX && same; i++)
        same = (pair->timers[i].place != 0) == (pair->twin[i] != INT64_MAX);
    if (!same)
        fail_msg("seed %llu step %d", (unsigned long long)seed, step);
}

static void the_earliest_is_always_first_whatever_is_set_moved_or_cleared(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 500; seed++) {
        struct rl_prng prng = rl_prng_seed(seed);
        struct pair *pair = make_pair();
        /* A narrow range has many timers due at the same time. */
        int64_t range = seed % 3 == 0 ? 5 : 1000000;

        for (int step = 0; step < STEPS; step++) {
            bool clears = rl_prng_between(&prng, 0, 2) == 0;

            set_both(pair, (int)rl_prng_between(&prng, 0, TIMERS_MAX - 1),
                     clears ? INT64_MAX : rl_prng_between(&prng, 0, range));
            compare(pair, seed, step);
        }
        free(pair);
    }
}

static void taking_the_first_again_and_again_gives_them_in_order(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 500; seed++) {
        struct rl_prng prng = rl_prng_seed(seed);
        struct pair *pair = make_pair();
        struct rl_timer *first;
        int64_t last = INT64_MIN;
        int count = 0;

        for (int i = 0; i < TIMERS_MAX; i++)
            set_both(pair, i, rl_prng_between(&prng, -1000, 1000));
        while ((first = rl_timers_first(&pair->heap)) != NULL) {
            assert_true(first->at.us >= last);
            last = first->at.us;
            rl_timers_set(&pair->heap, first, RL_TIME_NEVER);
            count++;
        }
        assert_int_equal(count, TIMERS_MAX);
        free(pair);
    }
}

static void clearing_what_is_not_set_changes_nothing(void **state)
{
    struct pair *pair = make_pair();

    (void)state;
    set_both(pair, 3, INT64_MAX);
    assert_null(rl_timers_first(&pair->heap));
    set_both(pair, 4, 9);
    set_both(pair, 3, INT64_MAX);
    assert_ptr_equal(rl_timers_first(&pair->heap), &pair->timers[4]);
    free(pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_earliest_is_always_first_whatever_is_set_moved_or_cleared),
        cmocka_unit_test(taking_the_first_again_and_again_gives_them_in_order),
        cmocka_unit_test(clearing_what_is_not_set_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
