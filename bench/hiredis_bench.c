/*
 * The bare loop once more, on hiredis: its asynchronous connections, its reader and its callbacks, on an
 * epoll loop of thirty lines, sending the same bytes. It shows what a client costs that takes hiredis for
 * granted.
 */
#include <hiredis/async.h>
#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "bench.h"
#include "raw_fleet.h"
#include "raw_words.h"
#include "wire/node_url.h"

struct link {
    redisAsyncContext *context;
    unsigned wanted; /* EPOLLIN, EPOLLOUT */
    int epoll_fd;
};

struct hub {
    struct raw_fleet fleet; /* scripts, epochs and quorum were settled on these connections */
    int epoll_fd;
    unsigned due; /* answers */
    struct link links[RAW_NODES_MAX];
};

/* ---- hiredis on epoll ---- */

static void want(struct link *link, unsigned events)
{
    struct epoll_event event = {.events = events, .data.ptr = link};

    if (events == link->wanted)
        return;
    link->wanted = events;
    epoll_ctl(link->epoll_fd, EPOLL_CTL_MOD, link->context->c.fd, &event);
}

static void want_read(void *link)
{
    want(link, ((struct link *)link)->wanted | EPOLLIN);
}

static void stop_read(void *link)
{
    want(link, ((struct link *)link)->wanted & ~(unsigned)EPOLLIN);
}

static void want_write(void *link)
{
    want(link, ((struct link *)link)->wanted | EPOLLOUT);
}

static void stop_write(void *link)
{
    want(link, ((struct link *)link)->wanted & ~(unsigned)EPOLLOUT);
}

static redisAsyncContext *connect_to(const char *text, size_t length)
{
    redisAsyncContext *context;
    struct rl_node_url url;

    if (rl_node_url_parse(text, length, &url) != NULL)
        bench_die("node %.*s is no URL", (int)length, text);
    context = url.transport == RL_TRANSPORT_UNIX ? redisAsyncConnectUnix(url.path)
                                                 : redisAsyncConnect(url.host, url.port);
    if (context == NULL || context->err != 0)
        bench_die("hiredis cannot connect to %s", url.display);
    return context;
}

static void attach(struct hub *hub, struct link *link)
{
    struct epoll_event event = {.data.ptr = link};
    redisAsyncContext *context = link->context;

    link->epoll_fd = hub->epoll_fd;
    epoll_ctl(hub->epoll_fd, EPOLL_CTL_ADD, context->c.fd, &event);
    context->ev.data = link;
    context->ev.addRead = want_read;
    context->ev.delRead = stop_read;
    context->ev.addWrite = want_write;
    context->ev.delWrite = stop_write;
    want_write(link);
}

static void open_links(struct hub *hub, const char *nodes)
{
    const char *text;
    size_t length;

    hub->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    for (struct link *link = hub->links; (text = rl_node_url_next(&nodes, &length)) != NULL; link++) {
        link->context = connect_to(text, length);
        attach(hub, link);
    }
}

static void run_events(struct hub *hub)
{
    struct epoll_event events[RAW_NODES_MAX];
    int count = epoll_wait(hub->epoll_fd, events, RAW_NODES_MAX, -1);

    for (int i = 0; i < count; i++) {
        struct link *link = events[i].data.ptr;

        if (events[i].events & EPOLLOUT)
            redisAsyncHandleWrite(link->context);
        if (events[i].events & ~(unsigned)EPOLLOUT)
            redisAsyncHandleRead(link->context);
    }
}

/* ---- the loop ---- */

struct client {
    struct hub *hub;
    struct raw_words words;
    bool holds;
    int64_t asked_ns, until_ns;
    struct bench_samples *samples;
};

/* One round: hiredis gives this pointer back with each of its answers, late ones too. */
struct question {
    struct client *client;
    unsigned granted, answered;
};

static void ask(struct client *client);

static void on_answer(redisAsyncContext *context, void *reply, void *data)
{
    struct question *question = data;
    struct client *client = question->client;
    struct hub *hub = client->hub;
    const redisReply *answer = reply;

    (void)context;
    if (answer == NULL || (answer->type != REDIS_REPLY_STATUS && answer->type != REDIS_REPLY_INTEGER))
        bench_die("unexpected answer through hiredis");
    hub->due--;
    if (++question->granted == hub->fleet.quorum) {
        client->holds = !client->holds;
        if (client->holds)
            bench_add(client->samples, bench_now_ns() - client->asked_ns);
        if (client->holds || bench_now_ns() < client->until_ns)
            ask(client);
    }
    if (++question->answered == hub->fleet.node_count)
        free(question);
}

static void ask(struct client *client)
{
    struct question *question = bench_allocate(1, sizeof *question);
    struct raw_words *words = &client->words;
    char text[RAW_TEXT_SIZE];
    size_t length = client->holds ? words->release_length : words->acquire_length;

    question->client = client;
    if (!client->holds) {
        client->asked_ns = bench_now_ns();
        raw_words_stamp(words);
    }
    memcpy(text, client->holds ? words->release : words->acquire, length);
    for (unsigned i = 0; i < client->hub->fleet.node_count; i++) {
        if (!client->holds)
            raw_words_address(words, text, client->hub->fleet.nodes[i]);
        redisAsyncFormattedCommand(client->hub->links[i].context, on_answer, question, text, length);
        client->hub->due++;
    }
}

static void run_pairs(void *subject, const struct bench *bench, int64_t until_ns,
                      struct bench_samples *samples)
{
    struct client *clients = bench_allocate(bench->client_count, sizeof *clients);
    struct hub *hub = subject;

    for (unsigned i = 0; i < bench->client_count; i++) {
        clients[i] = (struct client){.hub = hub, .until_ns = until_ns, .samples = &samples[i]};
        clients[i].words = raw_words_make(&hub->fleet, bench->mode, RAW_COMPARE, i, i);
        ask(&clients[i]);
    }
    while (hub->due > 0)
        run_events(hub);
    free(clients);
}

static const struct bench_workload workloads[] = {{"pairs", run_pairs}, {0}};

int main(int argc, char **argv)
{
    struct bench bench = bench_options(argc, argv);
    struct hub hub = {.fleet = raw_fleet_open(&bench)};

    open_links(&hub, bench.nodes);
    bench_run(&bench, workloads, &hub);
    bench_end();
    for (unsigned i = 0; i < hub.fleet.node_count; i++)
        redisAsyncFree(hub.links[i].context);
    raw_fleet_close(&hub.fleet);
    return 0;
}
