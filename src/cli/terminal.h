/*
 * Job control: lends the controlling terminal to CMD's group and stops redlock when CMD is stopped from the
 * keyboard. Without a controlling terminal all of it does nothing.
 */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>

#include "cli/warden.h"

struct cli_terminal {
    int fd;            /* the controlling terminal, -1 when there is none */
    pid_t child_group; /* 0 until CMD runs */
    bool lend;         /* CMD has the terminal from the start; else only once it asks for it */
};

/* CMD gets the terminal at once when stdin and stdout are terminals and we are in its foreground. In a
 * pipeline it has to ask (by being stopped when it reads): `redlock run x -- ls | less` must not take the
 * terminal from less. */
void cli_terminal_open(struct cli_terminal *terminal, bool foreground);

/* CMD was stopped by a signal: lend it the terminal if it asked for that, else stop with it and go on with
 * it. */
void cli_terminal_suspended(const struct cli_terminal *terminal, const struct cli_warden *warden, int number);

/* Stops redlock until somebody continues it. A group that nobody could continue is not stopped. */
void cli_terminal_suspend(void);

/* Redlock was continued: so is CMD, with the terminal if it had it. */
void cli_terminal_continued(const struct cli_terminal *terminal, const struct cli_warden *warden);

/* Takes the terminal back from CMD. */
void cli_terminal_close(struct cli_terminal *terminal);

#endif
