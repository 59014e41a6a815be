/*
 * The waiters for a lock, as far as the nodes know of them: how many, who and since when, for people and for
 * programs. Nothing here waits.
 */
#ifndef CLI_WAITERS_H
#define CLI_WAITERS_H

#include <jansson.h>
#include <stdbool.h>

#include <redlock.h>

/* From now on this process asks in the name of another one. */
void cli_waiters_set_us(uint32_t pid);

/* Whether somebody the nodes know of is this very process, or what it asks for. */
bool cli_waiters_is_us(const redlock_holder *who);

/* How many of the waiters are not us. */
uint32_t cli_waiters_count_others(const redlock_report *report);

/* Our place in line, 1 being the next; 0: nobody knows, or it is behind all that are named. */
uint32_t cli_waiters_place(const redlock_report *report);

/* "3rd in line, 2 behind", or how many wait where there is no line; "" when nobody but us is known to. */
void cli_waiters_describe_us(const redlock_report *report, char *text, size_t size);

/* Prints them to stdout, those in line in their order; nothing when nobody waits. */
void cli_waiters_print(const redlock_report *report);

/* All that are named, as an array. */
json_t *cli_waiters_json(const redlock_report *report);

#endif
