/*
 * Steps for tests that call the scripts on the first node of a fleet: the call, its answer as text, and the
 * guard's keys planted by hand, so that the node may vote. For the main thread only.
 */
#ifndef TEST_SUPPORT_SCRIPT_CALLS_H
#define TEST_SUPPORT_SCRIPT_CALLS_H

#include <stdint.h>

#include "support/fleet.h"
#include "wire/resp_writer.h"
#include "wire/script.h"

#define EPOCH "1 run id 1000 0"
#define EPOCH_KEY "redlock-guard:epoch"
#define FLOOR_KEY "redlock-guard:floor"
#define TERMS_KEY "redlock-guard:terms"

enum { SECOND_US = 1000000, REQUEST_WORDS_MAX = 24 };

/* Answers are texts as those of fleet_command. */
const char *call_script(struct fleet *fleet, const struct rl_script *script, const char *key_count,
                        const char **words, int word_count);

/* Sends commands as our library writes them; the answer of each ends with a line end. */
void send_request(struct fleet *fleet, const struct rl_writer *request, char *text, size_t size);

/* The number in one line of an answer, from 0; fails the test when there is no such line. */
int64_t number_at(const char *answer, int line);
int count_lines(const char *answer);

/* A number as text; good for the next seven calls. */
const char *decimal(int64_t number);

int64_t node_now(struct fleet *fleet); /* us */
void plant(struct fleet *fleet, const char *key, const char *value);
void assert_value(struct fleet *fleet, const char *key, const char *value);
int64_t ttl_of(struct fleet *fleet, const char *key);

/* A node that may vote and has granted nothing yet. */
void plant_guard(struct fleet *fleet);

/* Fixtures of one test: it begins on an empty node and leaves no lock behind. */
int flush_node(void **state);
int expect_no_lock(void **state);

#define ON_A_FLUSHED_NODE(test)                       \
    {                                                 \
#test, test, flush_node, expect_no_lock, NULL \
    }

#endif
