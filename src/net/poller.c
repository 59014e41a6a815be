/*
 * epoll and an eventfd; see poller.h.
 */
#include "net/poller.h"

#include <errno.h>
#include <limits.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "net/stream.h"

enum { READY_MAX = 32 };

bool rl_poller_open(struct rl_poller *poller)
{
    poller->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    poller->bell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (poller->epoll_fd >= 0 && poller->bell_fd >= 0 &&
        rl_poller_watch(poller, poller->bell_fd, RL_WANT_READ, RL_POLLER_BELL, false))
        return true;
    rl_poller_close(poller);
    return false;
}

void rl_poller_close(struct rl_poller *poller)
{
    if (poller->bell_fd >= 0)
        close(poller->bell_fd);
    if (poller->epoll_fd >= 0)
        close(poller->epoll_fd);
    poller->epoll_fd = poller->bell_fd = -1;
}

bool rl_poller_watch(struct rl_poller *poller, int fd, unsigned wants, uint32_t tag, bool known)
{
    struct epoll_event event = {.data.u32 = tag};

    if ((wants & RL_WANT_READ) != 0)
        event.events |= EPOLLIN;
    if ((wants & RL_WANT_WRITE) != 0)
        event.events |= EPOLLOUT;
    return epoll_ctl(poller->epoll_fd, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event) == 0;
}

void rl_poller_forget(struct rl_poller *poller, int fd)
{
    epoll_ctl(poller->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

static int timeout_ms(struct rl_span timeout)
{
    int64_t ms = rl_span_ms_up(timeout);

    if (ms < 0)
        return 0;
    return ms > INT_MAX ? -1 : (int)ms;
}

static void take_bell_down(struct rl_poller *poller)
{
    uint64_t rings;
    ssize_t got = read(poller->bell_fd, &rings, sizeof rings);

    (void)got; /* empty is fine: another thread was quicker */
}

int rl_poller_wait(struct rl_poller *poller, struct rl_span timeout, struct rl_ready *ready, int capacity)
{
    struct epoll_event events[READY_MAX];
    int count = epoll_wait(poller->epoll_fd, events, capacity < READY_MAX ? capacity : READY_MAX,
                           timeout_ms(timeout));

    for (int i = 0; i < count; i++) {
        if (events[i].data.u32 == RL_POLLER_BELL)
            take_bell_down(poller);
        ready[i].tag = events[i].data.u32;
        ready[i].readable = (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0;
        ready[i].writable = (events[i].events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0;
    }
    return count > 0 ? count : 0; /* an interrupted wait is a short wait */
}

void rl_poller_ring(struct rl_poller *poller)
{
    uint64_t one = 1;
    ssize_t put = write(poller->bell_fd, &one, sizeof one);

    (void)put; /* full means that it rings already */
}
