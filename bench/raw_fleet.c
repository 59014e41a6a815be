/*
 * Connecting, greeting, sending and reading for the bare loops; see raw_fleet.h.
 */
#include "raw_fleet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "wire/lock_command.h"
#include "wire/node_url.h"
#include "wire/resp_reader.h"

/* ---- connecting ---- */

static int connect_unix(const struct rl_node_url *url)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    memcpy(address.sun_path, url->path, sizeof address.sun_path);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
        bench_die("%s: %s", url->display, strerror(errno));
    return fd;
}

static int connect_tcp(const struct rl_node_url *url)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(url->port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

    if (inet_pton(AF_INET, url->host, &address.sin_addr) != 1)
        bench_die("%s: give the address as a number", url->display);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
        bench_die("%s: %s", url->display, strerror(errno));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

static void send_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t put = send(fd, bytes, length, MSG_NOSIGNAL);

        if (put < 0)
            bench_die("send: %s", strerror(errno));
        bytes += put;
        length -= (size_t)put;
    }
}

/* Sends one command and waits for the whole reply, which is left at the start of node->in. */
static size_t converse(struct raw_node *node, const struct rl_writer *command)
{
    size_t length = 0, end = 0;

    send_all(node->fd, command->bytes, command->length);
    while (rl_resp_skip(node->in, length, &end) != RL_RESP_OK) {
        ssize_t got = recv(node->fd, node->in + length, sizeof node->in - length, 0);

        if (got <= 0)
            bench_die("recv: the node hung up");
        length += (size_t)got;
    }
    return end;
}

/* The same greeting as the library's: it decides the protocol and which command releases. */
static void greet(struct raw_node *node)
{
    struct rl_greeting greeting = {.user = "", .client_name = "bench"};
    struct rl_handshake handshake;

    rl_handshake_start(&handshake, &greeting);
    while (handshake.step != RL_HANDSHAKE_READY && handshake.step != RL_HANDSHAKE_FAILED) {
        struct rl_writer writer = rl_writer_on(node->out, sizeof node->out);

        rl_handshake_write(&handshake, &writer);
        rl_handshake_read(&handshake, node->in, converse(node, &writer));
    }
    if (handshake.step == RL_HANDSHAKE_FAILED)
        bench_die("%s", handshake.error);
    node->info = handshake.info;
}

/* Sends the whole script once, so that EVALSHA will do. The epoch is no node's and the owner nobody: it
 * changes nothing. */
static void load_script(struct raw_node *node, enum bench_mode mode, enum rl_command_kind kind)
{
    struct rl_lock_command command = {.kind = kind,
                                      .lock_kind = mode == BENCH_GUARDED ? &rl_kind_line : &rl_kind_exclusive,
                                      .key = "bench",
                                      .key_length = 5,
                                      .owner = "-",
                                      .owner_length = 1,
                                      .epoch = "-"};
    struct rl_writer writer = rl_writer_on(node->out, sizeof node->out);

    rl_lock_command_write(&writer, &command, node->info.features, true);
    converse(node, &writer);
}

/* Learns the epoch of a node that may vote. */
static void admit(struct raw_node *node)
{
    struct rl_admission admission = {
        .replid = node->info.replid, .fresh_id = "0000000000000000", .word = "", .known = ""};
    struct rl_writer writer = rl_writer_on(node->out, sizeof node->out);
    struct rl_admitted admitted;

    rl_guard_run(admission.run, node->info.run_id, node->info.replid);
    rl_guard_write_admit(&writer, &admission, true);
    rl_guard_read_admit(node->in, converse(node, &writer), &admitted);
    if (admitted.fitness != RL_FITNESS_FIT)
        bench_die("the nodes may not vote yet: run redlock_bench -m guarded init");
    rl_guard_epoch(node->epoch, admitted.record);
}

static struct raw_node *open_node(const char *text, size_t length, enum bench_mode mode)
{
    struct raw_node *node = bench_allocate(1, sizeof *node);
    struct rl_node_url url;
    const char *wrong = rl_node_url_parse(text, length, &url);

    if (wrong != NULL)
        bench_die("node %.*s: %s", (int)length, text, wrong);
    node->fd = url.transport == RL_TRANSPORT_UNIX ? connect_unix(&url) : connect_tcp(&url);
    greet(node);
    load_script(node, mode, RL_COMMAND_RELEASE);
    if (mode == BENCH_GUARDED) {
        load_script(node, mode, RL_COMMAND_ACQUIRE);
        admit(node);
    }
    return node;
}

struct raw_fleet raw_fleet_open(const struct bench *bench)
{
    struct raw_fleet fleet = {.epoll_fd = epoll_create1(EPOLL_CLOEXEC)};
    const char *text, *nodes = bench->nodes;
    size_t length;

    while (fleet.node_count < RAW_NODES_MAX && (text = rl_node_url_next(&nodes, &length)) != NULL) {
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = fleet.node_count};
        struct raw_node *node = open_node(text, length, bench->mode);

        if (fleet.node_count > 0 && strlen(node->epoch) != strlen(fleet.nodes[0]->epoch))
            bench_die("the epochs differ in length");
        epoll_ctl(fleet.epoll_fd, EPOLL_CTL_ADD, node->fd, &event);
        fleet.nodes[fleet.node_count++] = node;
    }
    fleet.quorum = fleet.node_count / 2 + 1;
    return fleet;
}

void raw_fleet_close(struct raw_fleet *fleet)
{
    for (unsigned i = 0; i < fleet->node_count; i++) {
        close(fleet->nodes[i]->fd);
        free(fleet->nodes[i]);
    }
    close(fleet->epoll_fd);
}

/* ---- the exchange ---- */

char *raw_fleet_ask(struct raw_fleet *fleet, unsigned node, const char *text, size_t length,
                    struct raw_ticket ticket)
{
    struct raw_node *to = fleet->nodes[node];
    char *place = to->out + to->out_length;

    if (to->asked - to->answered == RAW_TICKETS || to->out_length + length > sizeof to->out)
        bench_die("node %u is too far behind", node + 1);
    to->tickets[to->asked++ % RAW_TICKETS] = ticket;
    memcpy(place, text, length);
    to->out_length += length;
    return place;
}

void raw_fleet_flush(struct raw_fleet *fleet)
{
    for (unsigned i = 0; i < fleet->node_count; i++) {
        send_all(fleet->nodes[i]->fd, fleet->nodes[i]->out, fleet->nodes[i]->out_length);
        fleet->nodes[i]->out_length = 0;
    }
}

bool raw_fleet_waits(const struct raw_fleet *fleet)
{
    for (unsigned i = 0; i < fleet->node_count; i++)
        if (fleet->nodes[i]->asked != fleet->nodes[i]->answered)
            return true;
    return false;
}

static void take_answers(struct raw_node *node, raw_answer_fn answer, void *context)
{
    ssize_t got = recv(node->fd, node->in + node->in_length, sizeof node->in - node->in_length, 0);
    char *line = node->in, *end;

    if (got <= 0)
        bench_die("recv: the node hung up");
    node->in_length += (size_t)got;
    while ((end = memchr(line, '\n', node->in_length - (size_t)(line - node->in))) != NULL) {
        if (line[0] != '+' && (line[0] != ':' || line[1] != '1'))
            bench_die("unexpected answer %.*s", (int)(end - line - 1), line);
        answer(context, node->tickets[node->answered++ % RAW_TICKETS]);
        line = end + 1;
    }
    node->in_length -= (size_t)(line - node->in);
    memmove(node->in, line, node->in_length);
}

void raw_fleet_wait(struct raw_fleet *fleet, raw_answer_fn answer, void *context)
{
    struct epoll_event events[RAW_NODES_MAX];
    int count = epoll_wait(fleet->epoll_fd, events, RAW_NODES_MAX, -1);

    for (int i = 0; i < count; i++)
        take_answers(fleet->nodes[events[i].data.u32], answer, context);
}
