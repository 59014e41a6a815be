/*
 * Job control: lends the controlling terminal to CMD's group and stops redlock when CMD is stopped from the
 * keyboard. Without a controlling terminal all of it does nothing.
 *
 * A stopped redlock renews nothing: when it is not continued in time, the warden ends CMD before the lock
 * ends.
 */
#include "cli/terminal.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

static bool is_ours(const struct cli_terminal *terminal)
{
    return terminal->fd >= 0 && tcgetpgrp(terminal->fd) == getpgrp();
}

static bool is_childs(const struct cli_terminal *terminal)
{
    return terminal->fd >= 0 && terminal->child_group != 0 &&
           tcgetpgrp(terminal->fd) == terminal->child_group;
}

void cli_terminal_open(struct cli_terminal *terminal, bool foreground)
{
    *terminal = (struct cli_terminal){.fd = -1};
    if (foreground)
        return;
    terminal->fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    terminal->lend = is_ours(terminal) && isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
}

void cli_terminal_suspend(void)
{
    sigset_t stop, before;

    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    kill(getpid(), SIGTSTP);
    pthread_sigmask(SIG_UNBLOCK, &stop, &before); /* stopped here */
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void cli_terminal_suspended(const struct cli_terminal *terminal, const struct cli_warden *warden, int number)
{
    bool asks = number == SIGTTIN || number == SIGTTOU;
    bool had_it = is_childs(terminal);

    if (terminal->fd < 0 || (!asks && !had_it))
        return; /* somebody else stopped it, and will continue it */
    if (had_it)
        tcsetpgrp(terminal->fd, getpgrp());
    if (!asks || !is_ours(terminal))
        cli_terminal_suspend();
    if (is_ours(terminal))
        tcsetpgrp(terminal->fd, terminal->child_group);
    cli_warden_forward(warden, SIGCONT);
}

void cli_terminal_continued(const struct cli_terminal *terminal, const struct cli_warden *warden)
{
    if (terminal->lend && terminal->child_group != 0 && is_ours(terminal))
        tcsetpgrp(terminal->fd, terminal->child_group);
    cli_warden_forward(warden, SIGCONT);
}

void cli_terminal_close(struct cli_terminal *terminal)
{
    if (terminal->fd < 0)
        return;
    /* The group may be gone already; then the terminal belongs to nobody until it is taken. */
    if (terminal->child_group != 0 && !is_ours(terminal) && (is_childs(terminal) || terminal->lend))
        tcsetpgrp(terminal->fd, getpgrp());
    close(terminal->fd);
    terminal->fd = -1;
}
