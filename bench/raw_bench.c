/*
 * What it is measured against: a bare epoll loop that sends the very bytes the library sends, made by the library's own
 * wire layer, and waits for N/2+1 answers. No deadlines, no retries, no reports, no threads: it dies of any surprise.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "bench.h"
#include "wire/guard_command.h"
#include "wire/handshake.h"
#include "wire/lock_command.h"
#include "wire/node_url.h"
#include "wire/owner.h"
#include "wire/resp_reader.h"

enum {
    NODES_MAX = 31,
    TTL_MS = 15000,
    NODE_TIMEOUT_US = 500000,
    IN_SIZE = 65536,
    OUT_SIZE = 1048576,
    TICKETS = 65536,
    TEXT_SIZE = 640
};

/* Which client asked, and in which of its rounds: a late answer to an earlier round counts for nothing. */
struct ticket {
    uint32_t client;
    uint32_t round;
};

/* One connection. Tickets are a ring of the questions that were not answered yet, oldest first. */
struct node {
    int fd;
    struct rl_node_info info;
    char epoch[RL_EPOCH_MAX + 1]; /* guarded: the record it was admitted with */
    size_t in_length, out_length;
    uint32_t asked, answered;
    struct ticket tickets[TICKETS];
    char in[IN_SIZE];
    char out[OUT_SIZE];
};

struct fleet {
    int epoll_fd;
    unsigned node_count;
    unsigned quorum;
    struct node *nodes[NODES_MAX];
};

/* What a client says, made once: the same text each time, but for what is stamped on a guarded acquire. */
struct client {
    char acquire[TEXT_SIZE], release[TEXT_SIZE];
    size_t acquire_length, release_length;
    size_t fence_at, epoch_at, not_after_at; /* in acquire; 0: plain */
    uint32_t round;
    unsigned granted;
    bool holds;
    int64_t asked_ns;
};

/* ---- connections ---- */

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
static size_t converse(struct node *node, const struct rl_writer *command)
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
static void greet(struct node *node)
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

/* Sends the whole script once, so that EVALSHA will do. The epoch is no node's and the owner nobody: it changes nothing. */
static void load_script(struct node *node, enum rl_command_kind kind)
{
    struct rl_lock_command command = {
        .kind = kind, .key = "bench", .key_length = 5, .owner = "-", .owner_length = 1, .epoch = "-"};
    struct rl_writer writer = rl_writer_on(node->out, sizeof node->out);

    rl_lock_command_write(&writer, &command, node->info.features, true);
    converse(node, &writer);
}

/* Learns the epoch of a node that may vote. */
static void admit(struct node *node)
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
    memcpy(node->epoch, admitted.epoch, sizeof node->epoch);
}

static struct node *open_node(const char *text, size_t length, enum bench_mode mode)
{
    struct node *node = calloc(1, sizeof *node);
    struct rl_node_url url;
    const char *wrong = rl_node_url_parse(text, length, &url);

    if (wrong != NULL || node == NULL)
        bench_die("node %.*s: %s", (int)length, text, wrong != NULL ? wrong : "out of memory");
    node->fd = url.transport == RL_TRANSPORT_UNIX ? connect_unix(&url) : connect_tcp(&url);
    greet(node);
    load_script(node, RL_COMMAND_RELEASE);
    if (mode == BENCH_GUARDED) {
        load_script(node, RL_COMMAND_ACQUIRE);
        admit(node);
    }
    return node;
}

static struct fleet open_fleet(const struct bench *bench)
{
    struct fleet fleet = {.epoll_fd = epoll_create1(EPOLL_CLOEXEC)};
    const char *text, *nodes = bench->nodes;
    size_t length;

    while (fleet.node_count < NODES_MAX && (text = rl_node_url_next(&nodes, &length)) != NULL) {
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = fleet.node_count};
        struct node *node = open_node(text, length, bench->mode);

        if (fleet.node_count > 0 && strlen(node->epoch) != strlen(fleet.nodes[0]->epoch))
            bench_die("the epochs differ in length");
        epoll_ctl(fleet.epoll_fd, EPOLL_CTL_ADD, node->fd, &event);
        fleet.nodes[fleet.node_count++] = node;
    }
    fleet.quorum = fleet.node_count / 2 + 1;
    return fleet;
}

static void close_fleet(struct fleet *fleet)
{
    for (unsigned i = 0; i < fleet->node_count; i++) {
        close(fleet->nodes[i]->fd);
        free(fleet->nodes[i]);
    }
    close(fleet->epoll_fd);
}

/* ---- commands ---- */

/* Of the same length as the library's. */
static size_t make_owner(char owner[RL_OWNER_MAX + 1], unsigned number)
{
    struct rl_owner_words words = {
        .host = BENCH_HOST, .user = BENCH_LOGIN, .pid = (uint32_t)getpid(), .since_ms = 1700000000000};

    memset(owner, '0', RL_OWNER_HEX);
    for (char *digit = owner; number > 0; number /= 10)
        *digit++ = (char)('0' + number % 10);
    return RL_OWNER_HEX + rl_owner_tail(owner + RL_OWNER_HEX, &words);
}

static size_t write_command(char *bytes, struct rl_lock_command command, enum rl_command_kind kind,
                            unsigned features)
{
    struct rl_writer writer = rl_writer_on(bytes, TEXT_SIZE);

    command.kind = kind;
    rl_lock_command_write(&writer, &command, features, false);
    if (writer.overflow)
        bench_die("the owner value is too long for this program");
    return writer.length;
}

static size_t write_delete(char *bytes, const char *name)
{
    struct rl_writer writer = rl_writer_on(bytes, TEXT_SIZE);

    rl_write_command(&writer, 2);
    rl_write_text(&writer, "DEL");
    rl_write_text(&writer, name);
    return writer.length;
}

static size_t find(const struct client *client, const char *word)
{
    const char *found = memmem(client->acquire, client->acquire_length, word, strlen(word));

    if (found == NULL)
        bench_die("the acquire script is not called as this program knows it");
    return (size_t)(found - client->acquire);
}

static void make_acquire(struct client *client, struct rl_lock_command command, const struct node *node,
                         enum bench_mode mode)
{
    if (mode == BENCH_GUARDED) {
        command.fence = 1111111111111111;
        command.epoch = node->epoch;
        command.not_after_us = 2222222222222222;
    }
    client->acquire_length = write_command(client->acquire, command, RL_COMMAND_ACQUIRE, node->info.features);
    if (mode == BENCH_GUARDED) {
        client->fence_at = find(client, "1111111111111111");
        client->epoch_at = find(client, node->epoch);
        client->not_after_at = find(client, "2222222222222222");
    }
}

static struct client make_client(const struct fleet *fleet, const struct bench *bench, unsigned number)
{
    char name[BENCH_NAME_SIZE], owner[RL_OWNER_MAX + 1];
    struct rl_lock_command command = {
        .key = name, .owner = owner, .owner_length = make_owner(owner, number), .ttl_ms = TTL_MS};
    const struct node *node = fleet->nodes[0];
    struct client client = {0};

    bench_name(name, number);
    command.key_length = strlen(name);
    make_acquire(&client, command, node, bench->mode);
    if (strcmp(bench->workload, "acquires") == 0)
        client.release_length = write_delete(client.release, name);
    else
        client.release_length =
            write_command(client.release, command, RL_COMMAND_RELEASE, node->info.features);
    return client;
}

/* The proposal is the time, and so is above every earlier one for the name. The nodes' clock is this machine's. */
static void stamp(struct client *client)
{
    struct timespec now;
    uint64_t now_us;

    clock_gettime(CLOCK_REALTIME, &now);
    now_us = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
    rl_decimal_write(client->acquire + client->fence_at, now_us);
    rl_decimal_write(client->acquire + client->not_after_at, now_us + NODE_TIMEOUT_US);
}

/* ---- the loop ---- */

/* Puts a client's next question behind what is waiting to be sent to each node. */
static void ask(struct fleet *fleet, struct client *client, uint32_t number)
{
    const char *text = client->holds ? client->release : client->acquire;
    size_t length = client->holds ? client->release_length : client->acquire_length;

    client->round++;
    client->granted = 0;
    client->asked_ns = client->holds ? 0 : bench_now_ns();
    if (client->fence_at > 0 && !client->holds)
        stamp(client);
    for (unsigned i = 0; i < fleet->node_count; i++) {
        struct node *node = fleet->nodes[i];

        if (node->asked - node->answered == TICKETS || node->out_length + length > sizeof node->out)
            bench_die("node %u is too far behind", i + 1);
        node->tickets[node->asked++ % TICKETS] = (struct ticket){number, client->round};
        memcpy(node->out + node->out_length, text, length);
        if (client->epoch_at > 0 && !client->holds)
            memcpy(node->out + node->out_length + client->epoch_at, node->epoch, strlen(node->epoch));
        node->out_length += length;
    }
}

static void flush(struct fleet *fleet)
{
    for (unsigned i = 0; i < fleet->node_count; i++) {
        send_all(fleet->nodes[i]->fd, fleet->nodes[i]->out, fleet->nodes[i]->out_length);
        fleet->nodes[i]->out_length = 0;
    }
}

struct pass {
    struct fleet *fleet;
    struct client *clients;
    int64_t until_ns;
    struct bench_samples *samples;
};

/* At the quorum the client goes on: from acquired to release, from released to the next acquire. */
static void count_grant(struct pass *pass, struct ticket ticket)
{
    struct client *client = &pass->clients[ticket.client];

    if (ticket.round != client->round || ++client->granted < pass->fleet->quorum)
        return;
    if (!client->holds)
        bench_add(pass->samples, bench_now_ns() - client->asked_ns);
    client->holds = !client->holds;
    if (client->holds || bench_now_ns() < pass->until_ns)
        ask(pass->fleet, client, ticket.client);
    else
        client->round++;
}

/* Every good answer is one line: to an acquire +OK or the node's time (it took the proposed fence), to a release :1. */
static void take_answers(struct pass *pass, struct node *node)
{
    ssize_t got = recv(node->fd, node->in + node->in_length, sizeof node->in - node->in_length, 0);
    char *line = node->in, *end;

    if (got <= 0)
        bench_die("recv: the node hung up");
    node->in_length += (size_t)got;
    while ((end = memchr(line, '\n', node->in_length - (size_t)(line - node->in))) != NULL) {
        if (line[0] != '+' && (line[0] != ':' || line[1] != '1'))
            bench_die("unexpected answer %.*s", (int)(end - line - 1), line);
        count_grant(pass, node->tickets[node->answered++ % TICKETS]);
        line = end + 1;
    }
    node->in_length -= (size_t)(line - node->in);
    memmove(node->in, line, node->in_length);
}

static bool answers_are_due(const struct fleet *fleet)
{
    for (unsigned i = 0; i < fleet->node_count; i++)
        if (fleet->nodes[i]->asked != fleet->nodes[i]->answered)
            return true;
    return false;
}

/* Every client locks and unlocks a name of its own; they share the connections, and one write per node carries the
 * questions of all that are ready. With one client it is a lone caller's loop. */
static void run_pairs(void *subject, const struct bench *bench, int64_t until_ns,
                      struct bench_samples *samples)
{
    struct pass pass = {.fleet = subject, .until_ns = until_ns, .samples = samples};
    struct epoll_event events[NODES_MAX];

    pass.clients = calloc(bench->client_count, sizeof *pass.clients);
    for (unsigned i = 0; i < bench->client_count; i++) {
        pass.clients[i] = make_client(pass.fleet, bench, i);
        ask(pass.fleet, &pass.clients[i], i);
    }
    while (answers_are_due(pass.fleet)) {
        int count;

        flush(pass.fleet);
        count = epoll_wait(pass.fleet->epoll_fd, events, NODES_MAX, -1);
        for (int i = 0; i < count; i++)
            take_answers(&pass, pass.fleet->nodes[events[i].data.u32]);
    }
    free(pass.clients);
}

/* "acquires" releases with DEL, whoever holds it: then the node's statistics tell the two commands apart. */
static const struct bench_workload workloads[] = {{"pairs", run_pairs}, {"acquires", run_pairs}, {0}};

int main(int argc, char **argv)
{
    struct bench bench = bench_options(argc, argv);
    struct fleet fleet = open_fleet(&bench);

    bench_run(&bench, workloads, &fleet);
    close_fleet(&fleet);
    return 0;
}
