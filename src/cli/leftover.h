/*
 * Locks that were still held when the local nodes were stopped: keeps until when, so that nodes started after
 * them do not give the same locks away too early. It knows only times, not names.
 */
#ifndef CLI_LEFTOVER_H
#define CLI_LEFTOVER_H

#include <stdbool.h>
#include <stdint.h>

/* Asks a node, over a socket that is connected to it, how long the longest of its locks still lasts; 0 when
 * there is none or it does not answer. */
int64_t cli_leftover_ask(int fd);

/* Writes down that locks may be held until then (cli_clock_now()). Nothing is written for 0. */
void cli_leftover_keep(const char *directory, int64_t until_ms);

/* Whether anything is written down: then the nodes were stopped in order. */
bool cli_leftover_is_noted(const char *directory);

/* Waits until what was written down is over, saying so, and removes it. */
void cli_leftover_wait(const char *directory);

#endif
