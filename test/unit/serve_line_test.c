/*
 * Tests of the lines of the service: who is the next, and that thousands who leave as soon as it is their
 * turn need no more stack than one.
 */
#include "support/check.h"

#ifdef WITH_SERVE

#include <stdlib.h>

#include "serve/line.h"

enum { CROWD = 200000 };

static struct serve_server server;
static int told;

static void count(void *context)
{
    *(int *)context = ++told;
}

static void turn_goes_to_the_next_when_the_first_leaves(void **state)
{
    struct serve_place places[3] = {{0}};
    int turns[3] = {0};

    (void)state;
    told = 0;
    assert_true(serve_line_join(&server, "a", 1, &places[0], count, &turns[0]));
    assert_false(serve_line_join(&server, "a", 1, &places[1], count, &turns[1]));
    assert_false(serve_line_join(&server, "a", 1, &places[2], count, &turns[2]));
    assert_int_equal(serve_line_behind(&server, "a", 1), 2);
    serve_line_leave(&server, &places[1]); /* was not the first */
    assert_int_equal(told, 0);
    serve_line_leave(&server, &places[0]);
    assert_int_equal(turns[2], 1);
    serve_line_leave(&server, &places[2]);
    assert_int_equal(told, 1);
    assert_int_equal(serve_line_behind(&server, "a", 1), 0);
}

static void leave_at_once(void *context)
{
    told++;
    serve_line_leave(&server, context);
}

/* As when there is no memory for what the next one would ask. */
static void all_may_leave_as_soon_as_it_is_their_turn(void **state)
{
    struct serve_place *places = calloc(CROWD, sizeof *places);

    (void)state;
    assert_non_null(places);
    told = 0;
    for (int i = 0; i < CROWD; i++)
        assert_int_equal(serve_line_join(&server, "b", 1, &places[i], leave_at_once, &places[i]), i == 0);
    serve_line_leave(&server, &places[0]);
    assert_int_equal(told, CROWD - 1);
    assert_int_equal(serve_line_behind(&server, "b", 1), 0);
    free(places);
}

static struct serve_place late;

static void leave_and_come_again(void *context)
{
    serve_line_leave(&server, context);
    assert_true(serve_line_join(&server, "c", 1, &late, count, &told)); /* knows that it is the first */
}

static void one_that_joins_while_the_turn_is_passed_on_is_told_once(void **state)
{
    struct serve_place places[2] = {{0}};

    (void)state;
    told = 0;
    serve_line_join(&server, "c", 1, &places[0], count, &told);
    serve_line_join(&server, "c", 1, &places[1], leave_and_come_again, &places[1]);
    serve_line_leave(&server, &places[0]);
    assert_int_equal(told, 0);
    serve_line_leave(&server, &late);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(turn_goes_to_the_next_when_the_first_leaves),
        cmocka_unit_test(all_may_leave_as_soon_as_it_is_their_turn),
        cmocka_unit_test(one_that_joins_while_the_turn_is_passed_on_is_told_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

#include "support/no_service.h"

#endif
