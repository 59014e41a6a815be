/*
 * How contenders usually wait: ask all nodes, and if too few say yes release everywhere, sleep for a random
 * time of at most -r milliseconds and ask again. A small Redlock of its own, on hiredis, with connections of
 * its own for each contender.
 */
#include <hiredis/hiredis.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

enum { NODES_MAX = 31 };

static const char release_script[] =
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

struct contender {
    pthread_t thread;
    const struct bench *bench;
    int64_t until_ns;
    struct bench_samples *samples;
    unsigned seed, node_count;
    redisContext *nodes[NODES_MAX];
    char name[BENCH_NAME_SIZE], owner[32];
};

static void connect_nodes(struct contender *contender)
{
    char *list = strdup(contender->bench->nodes), *rest = NULL;

    for (char *node = strtok_r(list, ",", &rest); node != NULL; node = strtok_r(NULL, ",", &rest)) {
        char *colon = strrchr(node, ':');
        redisContext *context = NULL;

        if (colon != NULL && contender->node_count < NODES_MAX) {
            *colon = '\0';
            context = redisConnect(node, atoi(colon + 1));
        }
        if (context == NULL || context->err != 0)
            bench_die("node %s: cannot connect; give it as ADDRESS:PORT", node);
        contender->nodes[contender->node_count++] = context;
    }
    free(list);
}

/* Reads the answer of every node; returns how many said yes. */
static unsigned count_yes(struct contender *contender)
{
    unsigned yes = 0;

    for (unsigned i = 0; i < contender->node_count; i++) {
        redisReply *reply = NULL;

        if (redisGetReply(contender->nodes[i], (void **)&reply) != REDIS_OK)
            bench_die("node %u: %s", i + 1, contender->nodes[i]->errstr);
        yes +=
            reply->type == REDIS_REPLY_STATUS || (reply->type == REDIS_REPLY_INTEGER && reply->integer == 1);
        freeReplyObject(reply);
    }
    return yes;
}

static bool try_acquire(struct contender *contender)
{
    for (unsigned i = 0; i < contender->node_count; i++)
        redisAppendCommand(contender->nodes[i], "SET %s %s NX PX %d", contender->name, contender->owner,
                           (int)contender->bench->ttl_ms);
    return count_yes(contender) > contender->node_count / 2;
}

static void release(struct contender *contender)
{
    for (unsigned i = 0; i < contender->node_count; i++)
        redisAppendCommand(contender->nodes[i], "EVAL %s 1 %s %s", release_script, contender->name,
                           contender->owner);
    count_yes(contender);
}

static void rest(struct contender *contender)
{
    usleep((useconds_t)rand_r(&contender->seed) % (contender->bench->retry_ms * 1000 + 1));
}

static void *contend(void *context)
{
    struct contender *contender = context;
    int64_t asked_ns = bench_now_ns();

    while (bench_now_ns() < contender->until_ns) {
        if (try_acquire(contender)) {
            bench_add(contender->samples, bench_now_ns() - asked_ns);
            release(contender);
            asked_ns = bench_now_ns();
        } else {
            release(contender);
            rest(contender);
        }
    }
    bench_add_cut_off(contender->samples, bench_now_ns() - asked_ns);
    return NULL;
}

static void run_contention(void *subject, const struct bench *bench, int64_t until_ns,
                           struct bench_samples *samples)
{
    struct contender *contenders = subject;

    for (unsigned i = 0; i < bench->client_count; i++) {
        contenders[i].until_ns = until_ns;
        contenders[i].samples = &samples[i];
        if (pthread_create(&contenders[i].thread, NULL, contend, &contenders[i]) != 0)
            bench_die("cannot start a thread");
    }
    for (unsigned i = 0; i < bench->client_count; i++)
        pthread_join(contenders[i].thread, NULL);
}

static const struct bench_workload workloads[] = {{"contend", run_contention}, {0}};

int main(int argc, char **argv)
{
    struct bench bench = bench_options(argc, argv);
    struct contender *contenders = bench_allocate(bench.client_count, sizeof *contenders);

    for (unsigned i = 0; i < bench.client_count; i++) {
        contenders[i].bench = &bench;
        contenders[i].seed = (unsigned)getpid() * 1000 + i;
        bench_name(contenders[i].name, 0);
        snprintf(contenders[i].owner, sizeof contenders[i].owner, "%d-%u", (int)getpid(), i);
        connect_nodes(&contenders[i]);
    }
    bench_run(&bench, workloads, contenders);
    bench_end();
    for (unsigned i = 0; i < bench.client_count; i++)
        for (unsigned n = 0; n < contenders[i].node_count; n++)
            redisFree(contenders[i].nodes[n]);
    free(contenders);
    return 0;
}
