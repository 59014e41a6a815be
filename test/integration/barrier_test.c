/*
 * redlock_barrier(), redlock_mark() and redlock_legacy_acquire() and their like on real nodes: nobody goes on early, whoever crashes; a note outlives a minority of
 * nodes; a lock of the oldest kind is shared with programs that do the same.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/counting_allocator.h"
#include "support/steps.h"

enum { PARTIES = 3, MEETINGS = 8, LEASE_MS = 1000, ALLOCATIONS_MAX = 200 };

/* What processes tell each other. */
struct board {
    atomic_int
        arrived[MEETINGS]; /* parties that have come to each meeting, before they say so to the nodes */
    atomic_int early;      /* that went on before all had */
    atomic_int failed;
};

static struct board *make_board(void)
{
    struct board *board =
        mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(board, MAP_FAILED);
    return board;
}

static redlock_client *open_guarded(const char *nodes)
{
    redlock_options options = options_for(nodes);

    options.mode = REDLOCK_GUARDED;
    return open_with(&options);
}

static redlock_barrier_spec meeting(const char *name, uint32_t parties)
{
    redlock_barrier_spec spec = REDLOCK_BARRIER_SPEC_INIT;

    spec.name = name;
    spec.parties = parties;
    spec.lease_ms = LEASE_MS;
    return spec;
}

static void meet_often(const char *nodes, struct board *board)
{
    redlock_client *client = open_guarded(nodes);
    redlock_barrier_spec spec = meeting("meeting", PARTIES);

    for (int i = 0; i < MEETINGS; i++) {
        atomic_fetch_add(&board->arrived[i], 1);
        if (redlock_barrier(client, &spec, REDLOCK_WAIT_FOREVER, NULL) != REDLOCK_OK)
            atomic_fetch_add(&board->failed, 1);
        if (atomic_load(&board->arrived[i]) < PARTIES)
            atomic_fetch_add(&board->early, 1);
    }
    redlock_client_close(client);
}

static pid_t start_process(void (*work)(const char *nodes, struct board *board), const char *nodes,
                           struct board *board)
{
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        work(nodes, board);
        _exit(0);
    }
    return child;
}

static void end_well(pid_t child)
{
    int status;

    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void forget_barriers(struct fleet *fleet)
{
    for (int i = 0; i < fleet_size(fleet); i++)
        fleet_command(fleet, i, "DEL", "redlock-mark:barrier:meeting", "redlock-mark:once:job", NULL);
}

static void admit(struct fleet *fleet)
{
    redlock_client *client = open_guarded(fleet_urls(fleet));

    assert_int_equal(redlock_init_nodes(client, 0, NULL), REDLOCK_OK);
    redlock_client_close(client);
}

/* ---- barriers ---- */

static void nobody_goes_on_before_all_have_come_meeting_after_meeting(void **state)
{
    struct board *board = make_board();
    pid_t children[PARTIES];

    admit(*state);
    for (int i = 0; i < PARTIES; i++)
        children[i] = start_process(meet_often, fleet_urls(*state), board);
    for (int i = 0; i < PARTIES; i++)
        end_well(children[i]);
    assert_int_equal(atomic_load(&board->early), 0);
    assert_int_equal(atomic_load(&board->failed), 0);
    forget_barriers(*state);
    munmap(board, sizeof *board);
}

static void come_once(const char *nodes, struct board *board)
{
    redlock_client *client = open_guarded(nodes);
    redlock_barrier_spec spec = meeting("meeting", 2);

    atomic_fetch_add(&board->arrived[0], 1);
    if (redlock_barrier(client, &spec, REDLOCK_WAIT_FOREVER, NULL) != REDLOCK_OK)
        atomic_fetch_add(&board->failed, 1);
    redlock_client_close(client);
}

static bool is_there(struct fleet *fleet)
{
    /* Its record, and nobody else's. */
    return strcmp(fleet_command(fleet, 0, "HLEN", "redlock-mark:barrier:meeting", NULL), "1") == 0;
}

static void party_that_died_does_not_count_once_its_lease_has_ended(void **state)
{
    struct board *board = make_board();
    redlock_client *client;
    redlock_barrier_spec spec = meeting("meeting", 2);
    redlock_report report = REDLOCK_REPORT_INIT;
    int status;

    admit(*state);
    pid_t child = start_process(come_once, fleet_urls(*state), board);
    await(is_there(*state));
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    sleep_ms(2 * LEASE_MS); /* by the nodes' clocks: nothing can be waited for here */
    client = open_guarded(fleet_urls(*state));
    assert_result(REDLOCK_TIMEOUT, redlock_barrier(client, &spec, 500, &report), &report);
    assert_int_equal(report.waiting, 1);
    child = start_process(come_once, fleet_urls(*state), board);
    assert_result(REDLOCK_OK, redlock_barrier(client, &spec, 60000, &report), &report);
    end_well(child);
    assert_int_equal(atomic_load(&board->failed), 0);
    redlock_client_close(client);
    forget_barriers(*state);
    munmap(board, sizeof *board);
}

static void minority_of_nodes_may_be_away(void **state)
{
    struct board *board = make_board();
    redlock_client *client;
    redlock_barrier_spec spec = meeting("meeting", 2);
    redlock_report report = REDLOCK_REPORT_INIT;

    admit(*state);
    fleet_kill(*state, 0);
    pid_t child = start_process(come_once, fleet_urls(*state), board);
    client = open_guarded(fleet_urls(*state));
    assert_result(REDLOCK_OK, redlock_barrier(client, &spec, 60000, &report), &report);
    end_well(child);
    fleet_kill(*state, 1);
    assert_result(REDLOCK_NO_QUORUM, redlock_barrier(client, &spec, 300, &report), &report);
    redlock_client_close(client);
    assert_true(fleet_restart(*state, 0));
    assert_true(fleet_restart(*state, 1));
    forget_barriers(*state);
    munmap(board, sizeof *board);
}

static int give_up(void *context, uint32_t arrived)
{
    *(uint32_t *)context = arrived;
    return 1;
}

static void party_that_gives_up_is_not_counted(void **state)
{
    redlock_client *client;
    redlock_barrier_spec spec = meeting("meeting", 2);
    redlock_report report = REDLOCK_REPORT_INIT;
    uint32_t arrived = 0;

    admit(*state);
    client = open_guarded(fleet_urls(*state));
    spec.waiting = give_up;
    spec.context = &arrived;
    for (int i = 0; i < 3; i++)
        assert_result(REDLOCK_CANCELED, redlock_barrier(client, &spec, REDLOCK_WAIT_FOREVER, &report),
                      &report);
    assert_int_equal(arrived, 1);
    assert_string_equal(fleet_command(*state, 0, "HLEN", "redlock-mark:barrier:meeting", NULL), "0");
    spec = meeting("meeting", 1);
    assert_result(REDLOCK_OK, redlock_barrier(client, &spec, 0, &report), &report);
    redlock_client_close(client);
    forget_barriers(*state);
}

static void wrong_barriers_are_refused(void **state)
{
    redlock_client *client;
    redlock_options options = options_for(fleet_urls(*state));
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_barrier_spec spec = meeting("meeting", 0);

    client = open_guarded(fleet_urls(*state));
    assert_result(REDLOCK_INVALID, redlock_barrier(client, &spec, 0, &report), &report);
    spec = meeting("meeting", REDLOCK_PARTIES_MAX + 1);
    assert_result(REDLOCK_INVALID, redlock_barrier(client, &spec, 0, &report), &report);
    spec = meeting("", 2);
    assert_result(REDLOCK_INVALID, redlock_barrier(client, &spec, 0, &report), &report);
    spec = meeting("meeting", 2);
    assert_result(REDLOCK_INVALID, redlock_barrier(client, &spec, -2, &report), &report);
    assert_result(REDLOCK_INVALID, redlock_barrier(client, NULL, 0, &report), &report);
    assert_result(REDLOCK_MISUSE, redlock_barrier(NULL, &spec, 0, &report), &report);
    spec.lease_ms = 10;
    assert_result(REDLOCK_INVALID, redlock_barrier(client, &spec, 0, &report), &report);
    redlock_client_close(client);
    options.mode = REDLOCK_PLAIN;
    client = open_with(&options);
    spec = meeting("meeting", 2);
    assert_result(REDLOCK_INVALID, redlock_barrier(client, &spec, 0, &report), &report);
    redlock_client_close(client);
}

/* ---- marks ---- */

static void note_is_known_as_long_as_a_quorum_has_it(void **state)
{
    redlock_client *client = open_guarded(fleet_urls(*state));
    redlock_report report = REDLOCK_REPORT_INIT;
    int64_t age_ms = -1;

    assert_result(REDLOCK_NOT_HELD, redlock_marked(client, "job", 0, &age_ms, &report), &report);
    assert_result(REDLOCK_OK, redlock_mark(client, "job", 0, 5000, 600000, &report), &report);
    assert_result(REDLOCK_OK, redlock_marked(client, "job", 0, &age_ms, &report), &report);
    assert_in_range(age_ms, 5000, 200000);
    assert_int_equal(report.held, fleet_size(*state));
    /* An older one does not make it older. */
    assert_result(REDLOCK_OK, redlock_mark(client, "job", 0, 400000, 600000, &report), &report);
    assert_result(REDLOCK_OK, redlock_marked(client, "job", 0, &age_ms, &report), &report);
    assert_in_range(age_ms, 5000, 399999);
    /* Nodes that forgot do not make it undone. */
    fleet_command(*state, 0, "DEL", "redlock-mark:once:job", NULL);
    assert_result(REDLOCK_OK, redlock_marked(client, "job", 0, &age_ms, &report), &report);
    assert_int_equal(report.held, fleet_size(*state) - 1);
    fleet_kill(*state, 1);
    fleet_kill(*state, 2);
    assert_result(REDLOCK_NO_QUORUM, redlock_marked(client, "job", 0, &age_ms, &report), &report);
    assert_result(REDLOCK_NO_QUORUM, redlock_mark(client, "job", 0, 0, 1000, &report), &report);
    assert_result(REDLOCK_INVALID, redlock_mark(client, "job", 0, 0, 0, &report), &report);
    assert_result(REDLOCK_INVALID, redlock_mark(client, "", 0, 0, 1, &report), &report);
    assert_true(fleet_restart(*state, 1));
    assert_true(fleet_restart(*state, 2));
    redlock_client_close(client);
    forget_barriers(*state);
}

static void lack_of_memory_leaves_nothing_behind(void **state)
{
    struct counting_allocator counting;
    redlock_options options = options_for(fleet_urls(*state));
    redlock_barrier_spec spec = meeting("meeting", 1);
    bool failed = true;
    uint64_t nth = 1;

    admit(*state);
    counting_allocator_init(&counting);
    options.allocator = &counting.allocator;
    options.mode = REDLOCK_GUARDED;
    redlock_client *client = open_with(&options);
    await_all_nodes(client);
    for (; failed && nth < ALLOCATIONS_MAX; nth++) {
        uint64_t failures = counting_allocator_counts(&counting).failed;
        int64_t age_ms;

        counting_allocator_fail(&counting, nth, false);
        (void)!redlock_marked(client, "job", 0, &age_ms, NULL);
        redlock_result result = redlock_barrier(client, &spec, 5000, NULL);
        failed = counting_allocator_counts(&counting).failed > failures;
        assert_true(result == REDLOCK_OK || failed);
    }
    counting_allocator_fail(&counting, 0, false);
    assert_false(failed);
    redlock_client_close(client);
    assert_int_equal(counting_allocator_counts(&counting).live_blocks, 0);
    assert_int_equal(counting_allocator_counts(&counting).mistakes, 0);
    counting_allocator_destroy(&counting);
    forget_barriers(*state);
}

/* ---- locks of the oldest kind ---- */

static redlock_legacy_spec legacy_for(uint32_t ttl_ms)
{
    redlock_legacy_spec spec = REDLOCK_LEGACY_SPEC_INIT;

    spec.name = "old";
    spec.ttl_ms = ttl_ms;
    return spec;
}

static int64_t wall_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void legacy_lock_is_the_time_of_its_end(void **state)
{
    redlock_options options = options_for(fleet_urls(*state));
    redlock_legacy_spec spec = legacy_for(LONG_TTL_MS);
    redlock_report report = REDLOCK_REPORT_INIT;
    int64_t end_ms = 0, other_ms = 0;

    options.mode = REDLOCK_PLAIN;
    redlock_client *client = open_with(&options);
    assert_result(REDLOCK_OK, redlock_legacy_acquire(client, &spec, 0, &end_ms, &report), &report);
    assert_true(report.validity_ms > 0);
    assert_int_equal(strtoll(fleet_command(*state, 0, "GET", "old", NULL), NULL, 10), end_ms);
    assert_result(REDLOCK_BUSY, redlock_legacy_acquire(client, &spec, 0, &other_ms, &report), &report);
    assert_result(REDLOCK_TIMEOUT, redlock_legacy_acquire(client, &spec, 50, &other_ms, &report), &report);
    other_ms = end_ms;
    assert_result(REDLOCK_OK, redlock_legacy_extend(client, &spec, &end_ms, &report), &report);
    assert_true(end_ms >= other_ms);
    assert_result(REDLOCK_OK, redlock_legacy_release(client, &spec, end_ms, &report), &report);
    assert_string_equal(fleet_command(*state, 0, "EXISTS", "old", NULL), "0");
    assert_result(REDLOCK_NOT_HELD, redlock_legacy_release(client, &spec, end_ms, &report), &report);
    assert_result(REDLOCK_LOST, redlock_legacy_release(client, &spec, 1, &report), &report);
    redlock_client_close(client);
}

static void legacy_lock_that_has_ended_is_taken_over_whatever_its_unit(void **state)
{
    redlock_options options = options_for(fleet_urls(*state));
    redlock_legacy_spec spec = legacy_for(LONG_TTL_MS);
    redlock_report report = REDLOCK_REPORT_INIT;
    char text[40];
    int64_t end_ms = 0;

    options.mode = REDLOCK_PLAIN;
    redlock_client *client = open_with(&options);
    const int64_t ended_ms = wall_ms() - 5000, held_ms = wall_ms() + LONG_TTL_MS;
    const char *const fractions[] = {"", "", ".25"}; /* milliseconds, seconds, seconds as Python has them */
    for (int i = 0; i < 3; i++) {
        snprintf(text, sizeof text, "%lld%s", (long long)(i == 0 ? held_ms : held_ms / 1000), fractions[i]);
        fleet_command(*state, 0, "SET", "old", text, NULL);
        assert_result(REDLOCK_BUSY, redlock_legacy_acquire(client, &spec, 0, &end_ms, &report), &report);
        assert_string_equal(fleet_command(*state, 0, "GET", "old", NULL), text);
        snprintf(text, sizeof text, "%lld%s", (long long)(i == 0 ? ended_ms : ended_ms / 1000), fractions[i]);
        fleet_command(*state, 0, "SET", "old", text, NULL);
        assert_result(REDLOCK_OK, redlock_legacy_acquire(client, &spec, 0, &end_ms, &report), &report);
        assert_result(REDLOCK_OK, redlock_legacy_release(client, &spec, end_ms, &report), &report);
    }
    fleet_command(*state, 0, "SET", "old", "somebody", NULL);
    assert_result(REDLOCK_FOREIGN_TYPE, redlock_legacy_acquire(client, &spec, 0, &end_ms, &report), &report);
    fleet_command(*state, 0, "DEL", "old", NULL);
    fleet_command(*state, 0, "RPUSH", "old", "x", NULL);
    assert_result(REDLOCK_FOREIGN_TYPE, redlock_legacy_acquire(client, &spec, 0, &end_ms, &report), &report);
    fleet_command(*state, 0, "DEL", "old", NULL);
    spec.seconds = 1;
    assert_result(REDLOCK_OK, redlock_legacy_acquire(client, &spec, 0, &end_ms, &report), &report);
    assert_int_equal(strlen(fleet_command(*state, 0, "GET", "old", NULL)), 10);
    assert_result(REDLOCK_OK, redlock_legacy_release(client, &spec, end_ms, &report), &report);
    spec.ttl_ms = 500;
    assert_result(REDLOCK_INVALID, redlock_legacy_acquire(client, &spec, 0, &end_ms, &report), &report);
    redlock_client_close(client);
}

static void legacy_lock_needs_exactly_one_node(void **state)
{
    redlock_client *client = open_guarded(fleet_urls(*state));
    redlock_legacy_spec spec = legacy_for(LONG_TTL_MS);
    redlock_report report = REDLOCK_REPORT_INIT;
    int64_t end_ms;

    assert_result(REDLOCK_INVALID, redlock_legacy_acquire(client, &spec, 0, &end_ms, &report), &report);
    assert_result(REDLOCK_INVALID, redlock_legacy_acquire(client, NULL, 0, &end_ms, &report), &report);
    assert_result(REDLOCK_MISUSE, redlock_legacy_acquire(NULL, &spec, 0, &end_ms, &report), &report);
    redlock_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_NODES(nobody_goes_on_before_all_have_come_meeting_after_meeting, start_three_nodes),
        ON_NODES(party_that_died_does_not_count_once_its_lease_has_ended, start_three_nodes),
        ON_NODES(minority_of_nodes_may_be_away, start_three_nodes),
        ON_NODES(party_that_gives_up_is_not_counted, start_three_nodes),
        ON_NODES(wrong_barriers_are_refused, start_three_nodes),
        ON_NODES(note_is_known_as_long_as_a_quorum_has_it, start_three_nodes),
        ON_NODES(lack_of_memory_leaves_nothing_behind, start_three_nodes),
        ON_NODES(legacy_lock_is_the_time_of_its_end, start_one_node),
        ON_NODES(legacy_lock_that_has_ended_is_taken_over_whatever_its_unit, start_one_node),
        ON_NODES(legacy_lock_needs_exactly_one_node, start_three_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
