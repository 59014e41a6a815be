/*
 * redlock_barrier() and redlock_mark() on real nodes: nobody goes on early, whoever crashes and whatever
 * nodes forget; a note outlives a minority of nodes.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/counting_allocator.h"
#include "support/steps.h"

enum { PARTIES = 3, MEETINGS = 8, BRIEF_LEASE_MS = 1000, ALLOCATIONS_MAX = 200 };

/* What processes tell each other. */
struct board {
    /* parties that have come to each meeting, before they say so to the nodes */
    atomic_int arrived[MEETINGS];
    atomic_int early; /* that went on before all had */
    atomic_int failed;
    atomic_int result; /* of the one that came last */
    uint32_t lease_ms; /* that it is to have, if not the usual one */
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
    spec.lease_ms = LONG_TTL_MS; /* nobody is taken for dead because the machine is busy */
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

/* What most stories need: nodes that may vote, one that comes to the barrier, and a board for those that come
 * in other processes. */
struct story {
    struct fleet *fleet;
    struct board *board;
    redlock_client *client;
    redlock_barrier_spec spec;
    redlock_report report;
};

static struct story begin(struct fleet *fleet, uint32_t parties)
{
    admit(fleet);
    return (struct story){.fleet = fleet,
                          .board = make_board(),
                          .client = open_guarded(fleet_urls(fleet)),
                          .spec = meeting("meeting", parties),
                          .report = REDLOCK_REPORT_INIT};
}

static void end(struct story *story)
{
    redlock_client_close(story->client);
    forget_barriers(story->fleet);
    munmap(story->board, sizeof *story->board);
}

static void expect(redlock_result expected, struct story *story, int64_t wait_ms)
{
    assert_result(expected, redlock_barrier(story->client, &story->spec, wait_ms, &story->report),
                  &story->report);
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

    if (board->lease_ms != 0)
        spec.lease_ms = board->lease_ms;
    atomic_fetch_add(&board->arrived[0], 1);
    atomic_store(&board->result, redlock_barrier(client, &spec, REDLOCK_WAIT_FOREVER, NULL));
    if (atomic_load(&board->result) != REDLOCK_OK)
        atomic_fetch_add(&board->failed, 1);
    redlock_client_close(client);
}

/* Has a node run a script on the barrier. */
static const char *at_node(struct fleet *fleet, int node, const char *script)
{
    return fleet_command(fleet, node, "EVAL", script, "1", "redlock-mark:barrier:meeting", NULL);
}

static bool is_alone_at(struct fleet *fleet, int node)
{
    return strcmp(
               at_node(
                   fleet, node,
                   "local n = 0 for _, id in ipairs(redis.call('HKEYS', KEYS[1])) do n = n + (#id == 24 and 1 or 0) end "
                   "return n"),
               "1") == 0;
}

static bool is_alone(struct fleet *fleet)
{
    for (int i = 0; i < fleet_size(fleet); i++)
        if (fleet_pid(fleet, i) != 0 && !is_alone_at(fleet, i))
            return false;
    return true;
}

/* By each node's clock. */
static bool leases_are_over(struct fleet *fleet)
{
    for (int i = 0; i < fleet_size(fleet); i++)
        if (strcmp(
                at_node(
                    fleet, i,
                    "local now = redis.call('TIME')[1] * 1000 for _, value in ipairs(redis.call('HVALS', KEYS[1])) do "
                    "if tonumber(string.match(value, '^%d+')) >= now then return 0 end end return 1"),
                "1") != 0)
            return false;
    return true;
}

/* Starts one of two, and sees it arrive everywhere. */
static pid_t start_first(struct fleet *fleet, struct board *board)
{
    pid_t child = start_process(come_once, fleet_urls(fleet), board);

    await(is_alone(fleet));
    return child;
}

static void party_that_died_does_not_count_once_its_lease_has_ended(void **state)
{
    struct story story = begin(*state, 2);
    int status;

    story.board->lease_ms = BRIEF_LEASE_MS;
    pid_t child = start_first(*state, story.board);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    await(leases_are_over(*state));
    story.board->lease_ms = 0;
    expect(REDLOCK_TIMEOUT, &story, 500);
    assert_int_equal(story.report.waiting, 1);
    child = start_process(come_once, fleet_urls(*state), story.board);
    expect(REDLOCK_OK, &story, 60000);
    end_well(child);
    assert_int_equal(atomic_load(&story.board->failed), 0);
    end(&story);
}

static void minority_of_nodes_may_be_away(void **state)
{
    struct story story = begin(*state, 2);

    fleet_kill(*state, 0);
    pid_t child = start_process(come_once, fleet_urls(*state), story.board);
    expect(REDLOCK_OK, &story, 60000);
    end_well(child);
    fleet_kill(*state, 1);
    expect(REDLOCK_NO_QUORUM, &story, 300);
    assert_true(fleet_restart(*state, 0));
    assert_true(fleet_restart(*state, 1));
    end(&story);
}

static int give_up(void *context, uint32_t arrived)
{
    *(uint32_t *)context = arrived;
    return 1;
}

static void party_that_gives_up_is_not_counted(void **state)
{
    struct story story = begin(*state, 2);
    uint32_t arrived = 0;

    story.spec.waiting = give_up;
    story.spec.context = &arrived;
    for (int i = 0; i < 3; i++)
        expect(REDLOCK_CANCELED, &story, REDLOCK_WAIT_FOREVER);
    assert_int_equal(arrived, 1);
    assert_string_equal(fleet_command(*state, 0, "HLEN", "redlock-mark:barrier:meeting", NULL), "0");
    story.spec = meeting("meeting", 1);
    expect(REDLOCK_OK, &story, 0);
    end(&story);
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
    spec = meeting("meeting", 1);
    assert_result(REDLOCK_OK, redlock_barrier(client, &spec, 60000, &report), &report);
    redlock_client_close(client);
    forget_barriers(*state);
}

static void another_number_of_parties_is_refused_and_both_are_named(void **state)
{
    struct story story = begin(*state, 3);

    pid_t child = start_first(*state, story.board);
    expect(REDLOCK_INVALID, &story, REDLOCK_WAIT_FOREVER);
    assert_non_null(strstr(story.report.line, "waits for 3 parties, and others wait for 2"));
    assert_true(is_alone(*state));
    story.spec.parties = 2;
    expect(REDLOCK_OK, &story, 60000);
    end_well(child);
    assert_int_equal(atomic_load(&story.board->result), REDLOCK_OK);
    end(&story);
}

/* ---- what nodes forget ---- */

static void arrival_that_nodes_lost_is_not_counted_a_second_time(void **state)
{
    struct story story = begin(*state, 2);

    pid_t child = start_first(*state, story.board);
    kill(child, SIGSTOP);
    expect(REDLOCK_OK, &story, 60000); /* counts on it */
    forget_barriers(*state);
    kill(child, SIGCONT);
    end_well(child);
    assert_int_equal(atomic_load(&story.board->result), REDLOCK_LOST);
    expect(REDLOCK_TIMEOUT, &story, 100);
    assert_int_equal(story.report.waiting, 1);
    end(&story);
}

static void party_goes_through_by_an_opening_that_it_slept_through(void **state)
{
    struct story story = begin(*state, 2);

    pid_t child = start_first(*state, story.board);
    kill(child, SIGSTOP);
    expect(REDLOCK_OK, &story, 60000);
    at_node(*state, 0, "return redis.call('DEL', KEYS[1])"); /* two of three still know */
    kill(child, SIGCONT);
    end_well(child);
    assert_int_equal(atomic_load(&story.board->result), REDLOCK_OK);
    end(&story);
}

/* Comes back under a fresh id, since what the node had put it in is not known. */
static void party_comes_again_when_it_is_certain_that_nobody_counts_on_it(void **state)
{
    static const char *const faults[] = {
        "return redis.call('DEL', KEYS[1])", /* the node forgot */
        "for _, id in ipairs(redis.call('HKEYS', KEYS[1])) do if #id == 24 then redis.call('HSET', KEYS[1], id, "
        "string.gsub(redis.call('HGET', KEYS[1], id), ' 0 ', ' 77 ')) end end" /* an opener died after its first node */
    };
    struct story story = begin(*state, 2);

    for (int i = 0; i < 2; i++) {
        pid_t child = start_first(*state, story.board);

        at_node(*state, 0, faults[i]);
        expect(REDLOCK_OK, &story, 60000);
        end_well(child);
        assert_int_equal(atomic_load(&story.board->result), REDLOCK_OK);
        forget_barriers(*state);
    }
    end(&story);
}

/* ---- a crowd ---- */

static void more_may_wait_than_one_answer_names(void **state)
{
    struct story story = begin(*state, REDLOCK_PARTIES_MAX);

    for (int i = 0; i < fleet_size(*state); i++)
        at_node(
            *state, i,
            "local ends = (redis.call('TIME')[1] + 600) * 1000 for i = 1, 1500 do redis.call('HSET', KEYS[1], "
            "string.format('f%023d', i), string.format('%.0f 0 500', ends)) end");
    expect(REDLOCK_OK, &story, 60000);
    story.spec.waiting = give_up;
    uint32_t arrived = 0;
    story.spec.context = &arrived;
    at_node(*state, 0, "return redis.call('DEL', KEYS[1])");
    at_node(*state, 1, "return redis.call('DEL', KEYS[1])");
    expect(REDLOCK_CANCELED, &story, 60000);
    assert_int_equal(arrived, 1); /* what one node of three says does not count */
    end(&story);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_NODES(nobody_goes_on_before_all_have_come_meeting_after_meeting, start_three_nodes),
        ON_NODES(party_that_died_does_not_count_once_its_lease_has_ended, start_three_nodes),
        ON_NODES(minority_of_nodes_may_be_away, start_three_nodes),
        ON_NODES(party_that_gives_up_is_not_counted, start_three_nodes),
        ON_NODES(wrong_barriers_are_refused, start_three_nodes),
        ON_NODES(another_number_of_parties_is_refused_and_both_are_named, start_three_nodes),
        ON_NODES(arrival_that_nodes_lost_is_not_counted_a_second_time, start_three_nodes),
        ON_NODES(party_goes_through_by_an_opening_that_it_slept_through, start_three_nodes),
        ON_NODES(party_comes_again_when_it_is_certain_that_nobody_counts_on_it, start_three_nodes),
        ON_NODES(more_may_wait_than_one_answer_names, start_three_nodes),
        ON_NODES(note_is_known_as_long_as_a_quorum_has_it, start_three_nodes),
        ON_NODES(lack_of_memory_leaves_nothing_behind, start_three_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
