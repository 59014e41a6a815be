/*
 * The signals the command reacts to, as a descriptor to poll. They stay blocked in every thread from
 * cli_signals_open() on; CMD gets back the mask and the dispositions the command was started with.
 */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

struct cli_signals {
    int fd;                 /* -1 before it is open */
    sigset_t original_mask; /* what CMD gets back */
    struct sigaction original_pipe;
    sigset_t ignored; /* was ignored when we were started, as by nohup or in a shell's background */
};

struct cli_signal {
    int number;         /* 0 when there is none */
    bool from_terminal; /* the whole foreground group got it, not only we */
};

/* Blocks the signals and opens the descriptor. Before any thread is started. False when the system
 * refuses. */
bool cli_signals_open(struct cli_signals *signals);

/* Takes the next signal without waiting. Those that were meant to be ignored are left out. */
struct cli_signal cli_signals_take(const struct cli_signals *signals);

/* Lets go of the descriptor, and unblocks what was not blocked before. Nothing when it is not open. */
void cli_signals_close(struct cli_signals *signals);

/* Gives a process that is about to execute CMD what the command was started with. */
void cli_signals_restore(const struct cli_signals *signals);

/* Does this signal ask a waiting command to end? */
bool cli_signal_ends(int number);

#endif
