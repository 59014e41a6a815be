/*
 * redlock run: holds a lock while CMD runs. All of that is in run.c.
 */
#include "cli/commands.h"
#include "cli/run.h"

int cli_command_run(const struct cli_options *options)
{
    struct cli_run_job job = {.command = "run"};
    bool lost;

    return cli_run(options, &job, &lost);
}
