/*
 * The steps that most integration tests are made of: fixtures with real nodes, opening clients, taking and
 * giving back locks, and assertions that show the whole report when they fail. For the main thread only.
 */
#ifndef TEST_SUPPORT_STEPS_H
#define TEST_SUPPORT_STEPS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "redlock.h"
#include "support/check.h"
#include "support/details.h"
#include "support/fleet.h"

/* Long enough for nothing to end by itself during a test; a key that stays is a leak, not a matter of
 * time. */
enum { LONG_TTL_MS = 60000 };

/* Fixtures: *state is a struct fleet. The last one brings every node back, and fails the test when a key is
 * left on any of them. */
int start_one_node(void **state);
int start_three_nodes(void **state);
int start_five_nodes(void **state);
int start_five_tcp_nodes(void **state);
int stop_nodes(void **state);

/* The same for what a test may leave behind at the least: the text that names the leftovers is empty, and
 * `what` says what they are. */
int stop_clean(void **state, const char *(*leftovers_of)(struct fleet *fleet, int wait_ms), const char *what);

/* For a table of struct CMUnitTest: the test with its fixture, and the same test on 1, 3 and 5 nodes. */
#define ON_NODES(test, start)                \
    {                                        \
#test, test, start, stop_nodes, NULL \
    }
#define ON_1_3_5_NODES(test)                                              \
    {#test "_on_1_node", test, start_one_node, stop_nodes, NULL},         \
        {#test "_on_3_nodes", test, start_three_nodes, stop_nodes, NULL}, \
    {                                                                     \
#test "_on_5_nodes", test, start_five_nodes, stop_nodes, NULL     \
    }

/* How many nodes make a quorum of the fleet. */
int quorum_of(const struct fleet *fleet);

/* Options for these nodes with a host and a login of their own ("test-host", "tester"). */
redlock_options options_for(const char *nodes);

/* Tests of what both modes share run in both: the build sets REDLOCK_TEST_MODE for the second run. */
bool is_guarded(void);

/* The nodes of a test are new, or were started anew with nothing held on them: when guarded, they have to be
 * told. */
void admit_new_nodes(redlock_client *client);

/* Opens a client, and fails the test when that fails. */
redlock_client *open_client(const char *nodes);
redlock_client *open_with(const redlock_options *options);

/* The same, and new nodes stay new: admitting them takes as long as nodes that do not answer are waited
 * for. */
redlock_client *open_unadmitted(const redlock_options *options);

/* Opens a client and waits until all its nodes have answered. */
redlock_client *open_warm_client(const char *nodes);
void await_all_nodes(redlock_client *client);

redlock_spec spec_for(const char *name, uint32_t ttl_ms);

/* Tries to get a lock, and fails the test when it is not had. */
redlock_lock *take_lock(redlock_client *client, const char *name, uint32_t ttl_ms);
redlock_lock *take_spec(redlock_client *client, const redlock_spec *spec);

/* Waits for a lock, up to a time that only a broken program needs. */
redlock_lock *await_lock(redlock_client *client, const char *name);

/* Tries once to get a lock, and fails the test unless that fails, and like this. The report, which may be
 * NULL, says how. */
#define assert_not_had(expected, client, name, report) \
    check_not_had(expected, client, name, report, __FILE__, __LINE__)
void check_not_had(redlock_result expected, redlock_client *client, const char *name, redlock_report *report,
                   const char *file, int line);

/* Releases a lock and frees it; fails the test unless the release was confirmed. */
void give_back(redlock_lock *lock);

/* Fails the test, with the report in full, unless the result is the expected one. */
#define assert_result(expected, result, report) check_result(expected, result, report, __FILE__, __LINE__)
void check_result(redlock_result expected, redlock_result result, const redlock_report *report,
                  const char *file, int line);

/* Fails the test unless a report is well-formed, whatever its result. */
void assert_report_is_sound(const redlock_report *report, redlock_result result, const struct fleet *fleet);

/* Fails the test when a text has a control character in it. */
void assert_printable(const char *text);

/* Waits until a condition holds, up to a time that only a broken program needs. */
#define await(condition)                                                        \
    do {                                                                        \
        bool held_ = false;                                                     \
        for (int tries_ = 0; tries_ < 2000 && !(held_ = (condition)); tries_++) \
            sleep_ms(10);                                                       \
        if (!held_)                                                             \
            fail_msg("it never came to: %s", #condition);                       \
    } while (0)

void sleep_ms(int64_t ms);

/* The clock that counts suspended time, which is the one validity is measured by. */
int64_t now_ms(void);

/* For on_lost, where a loss is of no concern. */
void ignore_loss(void *context, redlock_lock *lock, const redlock_report *report);

#endif
