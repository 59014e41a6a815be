/*
 * The signals the command reacts to, as a descriptor to poll. They stay blocked in every thread from
 * cli_signals_open() on; CMD gets back the mask and the dispositions the command was started with.
 */
#include "cli/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

static const int handled[] = {SIGINT,  SIGTERM,  SIGHUP,  SIGQUIT, SIGUSR1,
                              SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT, SIGCHLD};

bool cli_signals_open(struct cli_signals *signals)
{
    struct sigaction quiet = {.sa_handler = SIG_IGN}, before;
    sigset_t mask, blocked;

    sigemptyset(&mask);
    sigemptyset(&signals->ignored);
    for (size_t i = 0; i < sizeof handled / sizeof handled[0]; i++) {
        sigaddset(&mask, handled[i]);
        sigaction(handled[i], NULL, &before);
        if (before.sa_handler == SIG_IGN)
            sigaddset(&signals->ignored, handled[i]);
    }
    /* Handing the terminal to CMD and back is done from the background, where it would stop us. */
    blocked = mask;
    sigaddset(&blocked, SIGTTOU);
    sigprocmask(SIG_BLOCK, &blocked, &signals->original_mask);
    /* A reader of stderr or of the status descriptor that goes away must not end the lock. */
    sigaction(SIGPIPE, &quiet, &signals->original_pipe);
    signals->fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    return signals->fd >= 0;
}

/* nohup and a shell's background (&) say so by ignoring HUP, or INT and QUIT. HUP then stays ignored,
 * whichever process sends it; INT and QUIT only when the terminal sends them: somebody who types kill -INT
 * means us. */
static bool is_unwanted(const struct cli_signals *signals, int number, bool from_terminal)
{
    if (!sigismember(&signals->ignored, number))
        return false;
    return number == SIGINT || number == SIGQUIT ? from_terminal : number != SIGCHLD && number != SIGCONT;
}

struct cli_signal cli_signals_take(const struct cli_signals *signals)
{
    struct signalfd_siginfo info;
    struct cli_signal none = {0};

    while (read(signals->fd, &info, sizeof info) == (ssize_t)sizeof info) {
        struct cli_signal taken = {(int)info.ssi_signo, info.ssi_code == SI_KERNEL};
        if (!is_unwanted(signals, taken.number, taken.from_terminal))
            return taken;
    }
    return none;
}

void cli_signals_restore(const struct cli_signals *signals)
{
    sigaction(SIGPIPE, &signals->original_pipe, NULL);
    sigprocmask(SIG_SETMASK, &signals->original_mask, NULL);
}

void cli_signals_close(struct cli_signals *signals)
{
    if (signals->fd < 0)
        return;
    close(signals->fd);
    signals->fd = -1;
    cli_signals_restore(signals);
}

bool cli_signal_ends(int number)
{
    return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
}
