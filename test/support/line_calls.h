/*
 * Steps for tests of the scripts for those who wait: calls on the first node of a fleet, for a lock called "lock" by waiters
 * called 'a' to 'd', and what the node answers and knows. For the main thread only.
 */
#ifndef TEST_SUPPORT_LINE_CALLS_H
#define TEST_SUPPORT_LINE_CALLS_H

#include <stdint.h>

#include "support/fleet.h"
#include "wire/lock_command.h"

#define LINE "redlock-line:{lock}:line"
#define STATE "redlock-line:{lock}:state"
#define A_LEASE "redlock-line:{lock}:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B_LEASE "redlock-line:{lock}:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define C_LEASE "redlock-line:{lock}:cccccccccccccccccccccccccccccccc"
#define NEVER_LATE INT64_C(9007199254740991)
#define T0 INT64_C(1700000000000000)

enum { LEASE_MS = 10000, GRACE_MS = 5000, ANSWER_MAX = 65536 };

struct rl_place place_of(char name, int64_t ticket);

/* Answers are texts as those of fleet_command, good until the next call. */
const char *send_command(struct fleet *fleet, const struct rl_lock_command *command);
const char *ask_with(struct fleet *fleet, const struct rl_place *place, const char *epoch,
                     int64_t not_after_us);
const char *ask(struct fleet *fleet, char name, int64_t ticket);
const char *ask_settled(struct fleet *fleet, char name, int64_t ticket);
const char *leave(struct fleet *fleet, char name);

/* Somebody holds the lock; nobody does. */
void hold(struct fleet *fleet);
void free_lock(struct fleet *fleet);

/* On a node that may vote, somebody holds the lock and these ask for it, as "abc", with the tickets T0, T0 + 1 and so on. */
void wait_in_line(struct fleet *fleet, const char *names);

/* All of them leave and the lock is free, whoever had it. */
void empty_line(struct fleet *fleet);

/* Makes the offer that stands so much older. */
void age_offer(struct fleet *fleet, int64_t by_us);

void expect_granted(const char *answer);

/* Held by `holder`, or free but offered to another (""): and the asker's place and ticket here. */
void expect_denied(const char *answer, const char *holder, int64_t place, int64_t ticket);

/* The names of those in line, in order, as "abc". */
void expect_line(struct fleet *fleet, const char *names);

void expect_state(struct fleet *fleet, const char *field, const char *value);

/* Nothing is left but what the state knows. */
void expect_nobody(struct fleet *fleet);

#endif
