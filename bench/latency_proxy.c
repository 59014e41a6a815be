/*
 * A network with a round trip time: it forwards bytes between clients and nodes and delivers every byte a
 * fixed time after it came, in order, in both directions. One thread for all nodes; it knows nothing of what
 * it carries.
 *
 * Usage: latency_proxy DELAY-US PORT:NODE-PORT... It says "ready" and forwards until its standard input ends.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "bench.h"

enum { RING_SIZE = 1 << 18, EVENTS = 64, DUE_MAX = 1 << 16, LISTENERS_MAX = 64 };

/* One end of a forwarded connection, and what came in there and has to go out at the other end. Counters only
 * grow; their place in the ring is the remainder. */
struct end {
    int fd;
    int target_port; /* a listener's; 0 for the ends of a connection */
    struct end *other;
    unsigned wanted; /* EPOLLIN, EPOLLOUT */
    bool ended;      /* nothing more will come in */
    bool closed;
    uint64_t received, ripe, sent;
    char *ring;
};

/* Since the delay is one for all, what came first is due first: a queue is enough. */
struct due {
    int64_t at_ns;
    struct end *end;
    uint64_t up_to;
};

struct proxy {
    int epoll_fd, timer_fd;
    int64_t delay_ns;
    uint64_t first, last;
    struct due queue[DUE_MAX];
};

static void want(struct proxy *proxy, struct end *end, unsigned events, bool set)
{
    unsigned wanted = set ? end->wanted | events : end->wanted & ~events;
    struct epoll_event event = {.events = wanted, .data.ptr = end};

    if (wanted == end->wanted)
        return;
    end->wanted = wanted;
    epoll_ctl(proxy->epoll_fd, EPOLL_CTL_MOD, end->fd, &event);
}

/* ---- connections ---- */

static int new_socket(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

static struct sockaddr_in loopback(int port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static struct end *add_end(struct proxy *proxy, int fd)
{
    struct end *end = bench_allocate(1, sizeof *end);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = end};

    end->fd = fd;
    end->wanted = EPOLLIN;
    epoll_ctl(proxy->epoll_fd, EPOLL_CTL_ADD, fd, &event);
    return end;
}

static void listen_on(struct proxy *proxy, const char *pair)
{
    const char *colon = strchr(pair, ':');
    struct sockaddr_in address = loopback(atoi(pair));
    int fd = new_socket();

    if (colon == NULL || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 512) != 0)
        bench_die("cannot listen on %s", pair);
    add_end(proxy, fd)->target_port = atoi(colon + 1);
}

static void accept_client(struct proxy *proxy, const struct end *listener)
{
    struct sockaddr_in address = loopback(listener->target_port);
    int client_fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC), node_fd = new_socket(), on = 1;
    struct end *client, *node;

    if (client_fd < 0 || connect(node_fd, (struct sockaddr *)&address, sizeof address) != 0) {
        close(node_fd);
        if (client_fd >= 0)
            close(client_fd);
        return;
    }
    setsockopt(client_fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    client = add_end(proxy, client_fd);
    node = add_end(proxy, node_fd);
    client->ring = bench_allocate(1, RING_SIZE);
    node->ring = bench_allocate(1, RING_SIZE);
    client->other = node;
    node->other = client;
}

/* The structs stay: the queue may still point at them. */
static void close_both(struct end *end)
{
    for (int i = 0; i < 2; i++, end = end->other) {
        if (!end->closed)
            close(end->fd);
        free(end->ring);
        end->ring = NULL;
        end->closed = true;
    }
}

/* ---- bytes ---- */

static void arm(struct proxy *proxy)
{
    struct itimerspec when = {0};

    if (proxy->first == proxy->last)
        return;
    when.it_value.tv_sec = proxy->queue[proxy->first % DUE_MAX].at_ns / 1000000000;
    when.it_value.tv_nsec = proxy->queue[proxy->first % DUE_MAX].at_ns % 1000000000;
    timerfd_settime(proxy->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

/* What has been received by now is due after the delay. */
static void schedule(struct proxy *proxy, struct end *end)
{
    if (proxy->last - proxy->first == DUE_MAX)
        bench_die("too much is on its way at once");
    proxy->queue[proxy->last % DUE_MAX] = (struct due){bench_now_ns() + proxy->delay_ns, end, end->received};
    if (proxy->last++ == proxy->first)
        arm(proxy);
}

static void receive(struct proxy *proxy, struct end *end)
{
    size_t at = end->received % RING_SIZE, space = RING_SIZE - (size_t)(end->received - end->sent);
    ssize_t got;

    if (space > RING_SIZE - at)
        space = RING_SIZE - at;
    if (space == 0) {
        want(proxy, end, EPOLLIN, false);
        return;
    }
    got = recv(end->fd, end->ring + at, space, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN)
        return;
    if (got > 0) {
        end->received += (uint64_t)got;
    } else { /* its last words are on their way still */
        end->ended = true;
        epoll_ctl(proxy->epoll_fd, EPOLL_CTL_DEL, end->fd, NULL);
    }
    schedule(proxy, end);
}

/* Sends what is ripe to the other end; false when that is full. What nobody reads any more is dropped. */
static bool send_ripe(struct end *end)
{
    while (end->sent < end->ripe) {
        size_t at = end->sent % RING_SIZE, length = (size_t)(end->ripe - end->sent);
        ssize_t put;

        if (length > RING_SIZE - at)
            length = RING_SIZE - at;
        put = send(end->other->fd, end->ring + at, length, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (put < 0 && errno == EAGAIN)
            return false;
        end->sent += put < 0 ? length : (uint64_t)put;
    }
    return true;
}

static void deliver(struct proxy *proxy, struct end *end)
{
    bool all;

    if (end->closed)
        return;
    all = send_ripe(end);
    want(proxy, end->other, EPOLLOUT, !all);
    want(proxy, end, EPOLLIN, true);
    if (end->ended && end->sent == end->received)
        close_both(end);
}

static void deliver_ripe(struct proxy *proxy)
{
    int64_t now_ns = bench_now_ns();
    uint64_t rings;

    if (read(proxy->timer_fd, &rings, sizeof rings) < 0 && errno != EAGAIN)
        bench_die("timer: %s", strerror(errno));
    while (proxy->first != proxy->last && proxy->queue[proxy->first % DUE_MAX].at_ns <= now_ns) {
        struct due due = proxy->queue[proxy->first++ % DUE_MAX];

        due.end->ripe = due.up_to;
        deliver(proxy, due.end);
    }
    arm(proxy);
}

/* ---- the loop ---- */

/* False when standard input ended. */
static bool serve(struct proxy *proxy, const struct epoll_event *event)
{
    struct end *end = event->data.ptr;

    if (end == NULL) {
        deliver_ripe(proxy);
        return true;
    }
    if (end->fd == STDIN_FILENO)
        return false;
    if (end->target_port != 0) {
        accept_client(proxy, end);
        return true;
    }
    if (!end->closed && event->events & EPOLLOUT)
        deliver(proxy, end->other);
    if (!end->closed && event->events & ~(unsigned)EPOLLOUT)
        receive(proxy, end);
    return true;
}

int main(int argc, char **argv)
{
    static struct proxy proxy;
    struct epoll_event timer = {.events = EPOLLIN}, events[EVENTS];
    bool goes_on = true;

    if (argc < 3 || argc > LISTENERS_MAX)
        bench_die("usage: latency_proxy DELAY-US PORT:NODE-PORT...");
    prctl(PR_SET_TIMERSLACK, 1);
    proxy.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    proxy.timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    proxy.delay_ns = atoll(argv[1]) * 1000;
    epoll_ctl(proxy.epoll_fd, EPOLL_CTL_ADD, proxy.timer_fd, &timer);
    add_end(&proxy, STDIN_FILENO);
    for (int i = 2; i < argc; i++)
        listen_on(&proxy, argv[i]);
    printf("ready\n");
    fflush(stdout);
    while (goes_on) {
        int count = epoll_wait(proxy.epoll_fd, events, EVENTS, -1);

        for (int i = 0; i < count && goes_on; i++)
            goes_on = serve(&proxy, &events[i]);
    }
    printf("{\"cpu_s\": %.6f}\n", bench_cpu_s());
    return 0;
}
