/*
 * The exit codes of the command: scripts depend on each of them. Which result of the library becomes which
 * code is decided in failure.c, not here.
 */
#ifndef CLI_EXITS_H
#define CLI_EXITS_H

enum cli_exit {
    CLI_EXIT_OK = 0,
    /* status --check, doctor: it works, but something is not as it should be; a question's answer is no */
    CLI_EXIT_WARNING = 1,
    CLI_EXIT_USAGE = 64,
    CLI_EXIT_DATA = 65,  /* update: the key holds no string, or a value is too long */
    CLI_EXIT_NODES = 69, /* no quorum of nodes could be reached; never "busy" */
    CLI_EXIT_INTERNAL = 70,
    CLI_EXIT_SYSTEM = 71,
    CLI_EXIT_BUSY = 75,
    CLI_EXIT_DENIED = 77,
    CLI_EXIT_CONFIG = 78,
    CLI_EXIT_LOST = 79,
    CLI_EXIT_MAX_TIME = 124,
    CLI_EXIT_CANNOT_EXECUTE = 126,
    CLI_EXIT_NOT_FOUND = 127,
    CLI_EXIT_SIGNAL = 128 /* plus the number of the signal */
};

#endif
