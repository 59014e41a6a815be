/*
 * The loop of the bad network; see relay.h. One poll loop, a handful of connections.
 */
#include "support/relay.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { PAIRS_MAX = 64, BUFFER_MAX = 1 << 20, LOOK_EVERY_MS = 2 };

/* One connection: from a client, and on to the node. -1: that end is closed. */
struct pair {
    int client, node;
    bool keeps;  /* until it is ordered to deliver */
    char *bytes; /* of the client, not forwarded yet */
    size_t length;
    int64_t since_ms;      /* when the first of them came */
    int64_t answer_due_ms; /* not before is the node's answer read; 0: there is none */
};

struct relay {
    struct relay_orders *orders;
    struct sockaddr_un target;
    int listener;
    struct pair pairs[PAIRS_MAX];
};

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

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
    int client = accept4(relay->listener, NULL, NULL, SOCK_CLOEXEC), yes = 1;

    if (client >= 0)
        setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    for (int i = 0; i < PAIRS_MAX && client >= 0; i++) {
        struct pair *pair = &relay->pairs[i];

        if (pair->client >= 0 || pair->node >= 0)
            continue;
        pair->client = client;
        pair->node = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        pair->length = 0;
        pair->keeps = false;
        pair->answer_due_ms = 0;
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
    struct relay_orders *orders = relay->orders;
    int delay_ms = atomic_load(&orders->delay_ms);
    bool held = atomic_load(&orders->hold) != 0 || (pair->keeps && atomic_load(&orders->deliver) == 0) ||
                (delay_ms > 0 && now_ms() - pair->since_ms < delay_ms);

    if (pair->length == 0 || held || pair->node < 0)
        return;
    if (!write_all(pair->node, pair->bytes, pair->length))
        close_end(&pair->node, false);
    pair->length = 0;
}

static void carry_out_cut(struct relay *relay, struct pair *pair)
{
    int cut = atomic_load(&relay->orders->cut);

    if (cut == RELAY_CUT_NONE || cut == RELAY_CUT_NOW)
        return;
    pair->keeps = cut == RELAY_CUT_AND_KEEP;
    close_end(&pair->client, true);
    forward(relay, pair);
    atomic_store(&relay->orders->cut, RELAY_CUT_NONE);
}

static void cut_all(struct relay *relay)
{
    if (atomic_load(&relay->orders->cut) != RELAY_CUT_NOW)
        return;
    for (int i = 0; i < PAIRS_MAX; i++) {
        close_end(&relay->pairs[i].client, true);
        close_end(&relay->pairs[i].node, true);
        relay->pairs[i].length = 0;
    }
    atomic_store(&relay->orders->cut, RELAY_CUT_NONE);
}

static void read_client(struct relay *relay, struct pair *pair)
{
    ssize_t count = read(pair->client, pair->bytes + pair->length, BUFFER_MAX - pair->length);

    if (count <= 0) {
        atomic_fetch_add(&relay->orders->resets, count < 0 && errno == ECONNRESET);
        close_end(&pair->client, false);
        return;
    }
    if (pair->length == 0)
        pair->since_ms = now_ms();
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

/* An answer that is to be late stays where it is, in the node's socket. */
static void take_answer(struct relay *relay, struct pair *pair)
{
    int delay_ms = atomic_load(&relay->orders->answer_delay_ms);

    if (pair->answer_due_ms == 0)
        pair->answer_due_ms = now_ms() + delay_ms;
    if (now_ms() < pair->answer_due_ms)
        return;
    pair->answer_due_ms = 0;
    read_node(pair);
}

static int watched_node(const struct relay *relay, const struct pair *pair)
{
    return atomic_load(&relay->orders->mute) != 0 || now_ms() < pair->answer_due_ms ? -1 : pair->node;
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

static _Noreturn void carry_on(struct relay *relay)
{
    for (;;) {
        struct pollfd watched[1 + 2 * PAIRS_MAX] = {{.fd = relay->listener, .events = POLLIN}};

        for (int i = 0; i < PAIRS_MAX; i++) {
            watched[1 + 2 * i] = (struct pollfd){.fd = relay->pairs[i].client, .events = POLLIN};
            watched[2 + 2 * i] =
                (struct pollfd){.fd = watched_node(relay, &relay->pairs[i]), .events = POLLIN};
        }
        poll(watched, 1 + 2 * PAIRS_MAX, LOOK_EVERY_MS);
        cut_all(relay);
        for (int i = 0; i < PAIRS_MAX; i++) {
            if (watched[1 + 2 * i].revents != 0 && relay->pairs[i].client >= 0)
                read_client(relay, &relay->pairs[i]);
            if (watched[2 + 2 * i].revents != 0 && relay->pairs[i].node >= 0)
                take_answer(relay, &relay->pairs[i]);
        }
        if (watched[0].revents != 0)
            accept_client(relay);
        atomic_store(&relay->orders->kept, tidy(relay));
    }
}

int relay_listen(const char *address, int *port)
{
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_port = htons((uint16_t)*port)};
    socklen_t length = sizeof place;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;

    if (fd < 0 || inet_pton(AF_INET, address, &place.sin_addr) != 1 ||
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
        bind(fd, (const struct sockaddr *)&place, sizeof place) != 0 || listen(fd, PAIRS_MAX) != 0 ||
        getsockname(fd, (struct sockaddr *)&place, &length) != 0)
        return -1;
    *port = ntohs(place.sin_port);
    return fd;
}

_Noreturn void relay_run(int listener, const char *socket_path, struct relay_orders *orders)
{
    static struct relay relay;

    relay.orders = orders;
    relay.listener = listener;
    relay.target.sun_family = AF_UNIX;
    snprintf(relay.target.sun_path, sizeof relay.target.sun_path, "%s", socket_path);
    for (int i = 0; i < PAIRS_MAX; i++) {
        relay.pairs[i] = (struct pair){.client = -1, .node = -1, .bytes = malloc(BUFFER_MAX)};
        if (relay.pairs[i].bytes == NULL)
            _exit(1);
    }
    carry_on(&relay);
}
