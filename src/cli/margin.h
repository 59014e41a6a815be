/*
 * How many more nodes may fail before no lock can be had: the one line about a fleet that an operator wants
 * first, and the exit code that goes with it. It reads a report; it asks nobody.
 */
#ifndef CLI_MARGIN_H
#define CLI_MARGIN_H

#include <stddef.h>

#include <redlock.h>

/* "5 nodes, 3 needed, 4 eligible: one more may fail" */
void cli_margin_describe(const redlock_report *report, char *text, size_t size);

/* 0 when a lock can be had and one more node may fail, 1 when no further one may, 69 when no lock can be
 * had. */
int cli_margin_code(const redlock_report *report);

#endif
