/*
 * FILTER: a program that makes a new value out of an old one, from its stdin to its stdout. Any bytes, but no
 * more than it is given room for. It does not know what the values are for.
 */
#ifndef CLI_FILTER_H
#define CLI_FILTER_H

#include <stdbool.h>
#include <stddef.h>

struct cli_filter {
    char **argv;
    char **environment; /* NULL-terminated */
    size_t most;        /* bytes of the new value */
    /* Filled in: */
    char *value; /* what it printed; used again by the next run */
    size_t length, capacity;
    int wait_status;
    int error;     /* errno of what kept it from starting; 0: it ran */
    bool too_long; /* it printed more than may be, and was killed */
};

/* Runs it to its end. It dies with the calling process. false: no memory, or the system refused something;
 * then it does not run. */
bool cli_filter_run(struct cli_filter *filter, const void *input, size_t length);

void cli_filter_free(struct cli_filter *filter);

#endif
