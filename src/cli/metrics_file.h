/*
 * --metrics-file: what the client has counted, in a file for the textfile collector of Prometheus' node
 * exporter. Whatever goes wrong with the file, the lock is none the worse for it.
 */
#ifndef CLI_METRICS_FILE_H
#define CLI_METRICS_FILE_H

#include <stdbool.h>

#include <redlock.h>

#include "cli/options.h"

struct cli_metrics_file {
    const char *path; /* NULL: nobody wants it */
    char key[64];     /* of the label; empty: none */
    const char *value;
    bool warned;
    int64_t written_ms; /* when it was last tried */
};

/* Checks the options. 0, or an exit code after having said what is wrong. */
int cli_metrics_file_open(struct cli_metrics_file *file, const struct cli_options *options);

/* Replaces the file, at most once a second while the command goes on. exit_code: of the command, which is
 * about to end; -1: it goes on. */
void cli_metrics_file_write(struct cli_metrics_file *file, redlock_client *client, int exit_code);

#endif
