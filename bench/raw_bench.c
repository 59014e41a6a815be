/*
 * What it is measured against: a bare epoll loop that sends the very bytes the library sends and waits for
 * N/2+1 answers. No deadlines, no retries, no reports, no threads. The fifo workload hands one name from
 * contender to contender in an order it knows beforehand, which no real contender does.
 */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "raw_fleet.h"
#include "raw_words.h"

struct client {
    struct raw_words words;
    uint32_t round; /* of its last question, from 1 */
    unsigned granted;
    bool holds;
    int64_t asked_ns;
};

struct pass {
    struct raw_fleet *fleet;
    struct client *clients;
    unsigned client_count;
    int64_t until_ns;
    struct bench_samples *samples;
};

static void ask_acquire(struct pass *pass, uint32_t number)
{
    struct client *client = &pass->clients[number];
    struct raw_words *words = &client->words;

    client->round++;
    client->granted = 0;
    raw_words_stamp(words);
    for (unsigned i = 0; i < pass->fleet->node_count; i++) {
        char *copy = raw_fleet_ask(pass->fleet, i, words->acquire, words->acquire_length,
                                   (struct raw_ticket){number, client->round});

        raw_words_address(words, copy, pass->fleet->nodes[i]);
    }
}

/* Round 0 is nobody's: an answer with it is read and counts for nothing. */
static void ask_release(struct pass *pass, uint32_t number, uint32_t round)
{
    struct client *client = &pass->clients[number];

    client->granted = 0;
    for (unsigned i = 0; i < pass->fleet->node_count; i++)
        raw_fleet_ask(pass->fleet, i, client->words.release, client->words.release_length,
                      (struct raw_ticket){number, round});
}

static bool is_decided(struct pass *pass, struct raw_ticket ticket)
{
    struct client *client = &pass->clients[ticket.client];

    return ticket.round == client->round && ++client->granted == pass->fleet->quorum;
}

static void exchange(struct pass *pass, raw_answer_fn answer)
{
    while (raw_fleet_waits(pass->fleet)) {
        raw_fleet_flush(pass->fleet);
        raw_fleet_wait(pass->fleet, answer, pass);
    }
}

static struct pass make_pass(void *fleet, const struct bench *bench, int64_t until_ns,
                             struct bench_samples *samples)
{
    struct pass pass = {
        .fleet = fleet, .client_count = bench->client_count, .until_ns = until_ns, .samples = samples};

    pass.clients = bench_allocate(bench->client_count, sizeof *pass.clients);
    return pass;
}

/* ---- pairs: every client locks and unlocks a name of its own ---- */

static void begin_pair(struct pass *pass, uint32_t number)
{
    pass->clients[number].asked_ns = bench_now_ns();
    ask_acquire(pass, number);
}

/* At the quorum the client goes on: from acquired to release, from released to the next acquire. */
static void count_pair(void *context, struct raw_ticket ticket)
{
    struct pass *pass = context;
    struct client *client = &pass->clients[ticket.client];

    if (!is_decided(pass, ticket))
        return;
    client->holds = !client->holds;
    if (client->holds) {
        bench_add(&pass->samples[ticket.client], bench_now_ns() - client->asked_ns);
        ask_release(pass, ticket.client, ++client->round);
    } else if (bench_now_ns() < pass->until_ns) {
        begin_pair(pass, ticket.client);
    }
}

/* The clients share the connections, and one write per node carries the questions of all that are ready. With
 * one client it is a lone caller's loop. */
static void run_pairs(void *subject, const struct bench *bench, int64_t until_ns,
                      struct bench_samples *samples)
{
    struct pass pass = make_pass(subject, bench, until_ns, samples);
    enum raw_release how = strcmp(bench->workload, "acquires") == 0 ? RAW_DELETE : RAW_COMPARE;

    for (unsigned i = 0; i < bench->client_count; i++) {
        pass.clients[i].words = raw_words_make(subject, bench->mode, how, i, i);
        begin_pair(&pass, i);
    }
    exchange(&pass, count_pair);
    free(pass.clients);
}

/* ---- fifo: one name goes round ---- */

/* The next contender's acquire travels right behind the release that makes way for it. */
static void pass_on(void *context, struct raw_ticket ticket)
{
    struct pass *pass = context;
    struct client *client = &pass->clients[ticket.client];
    int64_t now_ns;

    if (!is_decided(pass, ticket))
        return;
    now_ns = bench_now_ns();
    bench_add(&pass->samples[ticket.client], now_ns - client->asked_ns);
    client->asked_ns = now_ns;
    ask_release(pass, ticket.client, 0);
    if (now_ns < pass->until_ns)
        ask_acquire(pass, (ticket.client + 1) % pass->client_count);
}

static void run_fifo(void *subject, const struct bench *bench, int64_t until_ns,
                     struct bench_samples *samples)
{
    struct pass pass = make_pass(subject, bench, until_ns, samples);

    for (unsigned i = 0; i < bench->client_count; i++) {
        pass.clients[i].words = raw_words_make(subject, bench->mode, RAW_COMPARE, 0, i);
        pass.clients[i].asked_ns = bench_now_ns();
    }
    ask_acquire(&pass, 0);
    exchange(&pass, pass_on);
    free(pass.clients);
}

static const struct bench_workload workloads[] = {
    {"pairs", run_pairs}, {"acquires", run_pairs}, {"fifo", run_fifo}, {0}};

int main(int argc, char **argv)
{
    struct bench bench = bench_options(argc, argv);
    struct raw_fleet fleet = raw_fleet_open(&bench);

    bench_run(&bench, workloads, &fleet);
    bench_end();
    raw_fleet_close(&fleet);
    return 0;
}
