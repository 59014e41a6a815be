/*
 * The bad network; see proxy.h. One process, one poll loop, a handful of connections.
 */
#include "support/proxy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAIRS_MAX = 32, BUFFER_MAX = 1 << 20, LOOK_EVERY_MS = 2 };

enum cut { CUT_NONE, CUT_AFTER, CUT_AND_KEEP };

/* Shared with the process that does the work. */
struct orders {
    atomic_int hold;
    atomic_int cut; /* enum cut; back to none when it has happened */
    atomic_int deliver;
    atomic_long kept; /* bytes */
    atomic_int resets;
};

struct proxy {
    struct orders *orders;
    pid_t pid;
    char url[64];
};

/* One connection: from a client, and on to the node. -1: that end is closed. */
struct pair {
    int client, node;
    bool keeps;  /* until proxy_deliver */
    char *bytes; /* of the client, not forwarded yet */
    size_t length;
};

struct relay {
    struct orders *orders;
    struct sockaddr_un target;
    int listener;
    struct pair pairs[PAIRS_MAX];
};

static void close_end(int *fd, bool reset)
{
    struct linger at_once = {.l_onoff = 1, .l_linger = 0};

    if (*fd >= 0 && reset)
        setsockopt(*fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static bool write_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t sent = send(fd, bytes, length, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        bytes += sent;
        length -= (size_t)sent;
    }
    return true;
}

static void accept_client(struct relay *relay)
{
    int client = accept(relay->listener, NULL, NULL);

    for (int i = 0; i < PAIRS_MAX && client >= 0; i++) {
        struct pair *pair = &relay->pairs[i];

        if (pair->client >= 0 || pair->node >= 0)
            continue;
        pair->client = client;
        pair->node = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        pair->length = 0;
        pair->keeps = false;
        if (connect(pair->node, (const struct sockaddr *)&relay->target, sizeof relay->target) != 0) {
            close_end(&pair->node, false);
            close_end(&pair->client, true);
        }
        return;
    }
    close_end(&client, true);
}

/* What is sent now goes on unless it is to be kept back. */
static void forward(struct relay *relay, struct pair *pair)
{
    bool held =
        atomic_load(&relay->orders->hold) != 0 || (pair->keeps && atomic_load(&relay->orders->deliver) == 0);

    if (pair->length == 0 || held || pair->node < 0)
        return;
    if (!write_all(pair->node, pair->bytes, pair->length))
        close_end(&pair->node, false);
    pair->length = 0;
}

static void carry_out_cut(struct relay *relay, struct pair *pair)
{
    int cut = atomic_load(&relay->orders->cut);

    if (cut == CUT_NONE)
        return;
    pair->keeps = cut == CUT_AND_KEEP;
    close_end(&pair->client, true);
    forward(relay, pair);
    atomic_store(&relay->orders->cut, CUT_NONE);
}

static void read_client(struct relay *relay, struct pair *pair)
{
    ssize_t count = read(pair->client, pair->bytes + pair->length, BUFFER_MAX - pair->length);

    if (count <= 0) {
        atomic_fetch_add(&relay->orders->resets, count < 0 && errno == ECONNRESET);
        close_end(&pair->client, false);
        return;
    }
    pair->length += (size_t)count;
    carry_out_cut(relay, pair);
    forward(relay, pair);
}

static void read_node(struct pair *pair)
{
    static char bytes[65536];
    ssize_t count = read(pair->node, bytes, sizeof bytes);

    if (count <= 0) {
        close_end(&pair->node, false);
        close_end(&pair->client, true);
    } else if (pair->client >= 0 && !write_all(pair->client, bytes, (size_t)count)) {
        close_end(&pair->client, false);
    }
}

/* A client that is gone leaves its node end open until all it said has gone on. */
static long tidy(struct relay *relay)
{
    long kept = 0;

    for (int i = 0; i < PAIRS_MAX; i++) {
        struct pair *pair = &relay->pairs[i];

        forward(relay, pair);
        if (pair->client < 0 && pair->length == 0)
            close_end(&pair->node, false);
        if (pair->node >= 0)
            kept += (long)pair->length;
        else
            close_end(&pair->client, true);
    }
    return kept;
}

static void run_relay(struct relay *relay)
{
    for (;;) {
        struct pollfd watched[1 + 2 * PAIRS_MAX] = {{.fd = relay->listener, .events = POLLIN}};

        for (int i = 0; i < PAIRS_MAX; i++) {
            watched[1 + 2 * i] = (struct pollfd){.fd = relay->pairs[i].client, .events = POLLIN};
            watched[2 + 2 * i] = (struct pollfd){.fd = relay->pairs[i].node, .events = POLLIN};
        }
        poll(watched, 1 + 2 * PAIRS_MAX, LOOK_EVERY_MS);
        for (int i = 0; i < PAIRS_MAX; i++) {
            if (watched[1 + 2 * i].revents != 0 && relay->pairs[i].client >= 0)
                read_client(relay, &relay->pairs[i]);
            if (watched[2 + 2 * i].revents != 0 && relay->pairs[i].node >= 0)
                read_node(&relay->pairs[i]);
        }
        if (watched[0].revents != 0)
            accept_client(relay);
        atomic_store(&relay->orders->kept, tidy(relay));
    }
}

static void become_relay(struct relay *relay, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    for (int i = 0; i < PAIRS_MAX; i++) {
        relay->pairs[i] = (struct pair){.client = -1, .node = -1, .bytes = malloc(BUFFER_MAX)};
        if (relay->pairs[i].bytes == NULL)
            _exit(1);
    }
    run_relay(relay);
}

static int listen_somewhere(char *url, size_t size)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 16) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) != 0)
        return -1;
    snprintf(url, size, "redis://127.0.0.1:%d", ntohs(address.sin_port));
    return fd;
}

struct proxy *proxy_start(struct fleet *fleet, int node)
{
    struct proxy *proxy = calloc(1, sizeof *proxy);
    struct relay relay = {.target = {.sun_family = AF_UNIX}};
    pid_t parent = getpid();

    if (proxy == NULL)
        return NULL;
    snprintf(relay.target.sun_path, sizeof relay.target.sun_path, "%s/%d/socket", fleet_folder(fleet), node);
    relay.listener = listen_somewhere(proxy->url, sizeof proxy->url);
    relay.orders =
        mmap(NULL, sizeof *relay.orders, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (relay.listener < 0 || relay.orders == MAP_FAILED) {
        free(proxy);
        return NULL;
    }
    proxy->orders = relay.orders;
    fflush(NULL);
    proxy->pid = fork();
    if (proxy->pid == 0)
        become_relay(&relay, parent);
    close(relay.listener);
    return proxy;
}

void proxy_stop(struct proxy *proxy)
{
    kill(proxy->pid, SIGKILL);
    waitpid(proxy->pid, NULL, 0);
    munmap(proxy->orders, sizeof *proxy->orders);
    free(proxy);
}

const char *proxy_url(const struct proxy *proxy)
{
    return proxy->url;
}

void proxy_hold(struct proxy *proxy, bool hold)
{
    atomic_store(&proxy->orders->hold, hold);
}

void proxy_cut_after_next(struct proxy *proxy)
{
    atomic_store(&proxy->orders->cut, CUT_AFTER);
}

void proxy_cut_and_keep_next(struct proxy *proxy)
{
    atomic_store(&proxy->orders->deliver, 0);
    atomic_store(&proxy->orders->cut, CUT_AND_KEEP);
}

void proxy_deliver(struct proxy *proxy)
{
    atomic_store(&proxy->orders->deliver, 1);
}

bool proxy_has_cut(const struct proxy *proxy)
{
    return atomic_load(&proxy->orders->cut) == CUT_NONE;
}

bool proxy_keeps_nothing(const struct proxy *proxy)
{
    return atomic_load(&proxy->orders->kept) == 0;
}

int proxy_resets(const struct proxy *proxy)
{
    return atomic_load(&proxy->orders->resets);
}
