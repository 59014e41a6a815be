/*
 * One contender of a bare hand-over: it stands in line at the nodes by the very scripts of the library, and
 * does nothing else. No threads, no reports, no guard and no reconnecting: it dies of any surprise.
 * core/stand decides, so that a lock that is split costs what it has to.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "bench.h"
#include "core/stand.h"
#include "raw_fleet.h"
#include "wire/hand_over.h"
#include "wire/lock_reply.h"
#include "wire/owner.h"

enum { PENDING_MAX = 256, COMMAND_MAX = 16384, RECORD_MS = 3000, NODE_TIMEOUT_MS = 500, HEX_DIGITS = 16 };

struct pending {
    enum rl_command_kind kind;
    uint32_t question; /* 0: nobody waits for the answer */
    uint64_t fence;
    struct rl_time sent;
};

struct talk {
    struct pending pending[PENDING_MAX]; /* a ring, oldest first */
    uint32_t asked, answered;
};

struct contender {
    struct raw_fleet *fleet;
    uint32_t ttl_ms;
    struct talk talks[RAW_NODES_MAX];
    struct rl_prng prng;
    struct rl_stand stand;
    uint32_t first_question; /* of this acquisition: answers to earlier ones are for nobody */
    char owner[RL_OWNER_MAX + 1];
    size_t owner_length;
    char channel[32];
    char key[BENCH_NAME_SIZE];
    bool ended;
};

static struct rl_time now(void)
{
    return (struct rl_time){bench_now_ns() / 1000};
}

static uint64_t wall_us(void)
{
    struct timespec at;

    clock_gettime(CLOCK_REALTIME, &at);
    return (uint64_t)at.tv_sec * 1000000 + (uint64_t)at.tv_nsec / 1000;
}

static void draw_hex(struct contender *contender, char *hex, int digits)
{
    for (int i = 0; i < digits; i++)
        hex[i] = "0123456789abcdef"[rl_prng_between(&contender->prng, 0, HEX_DIGITS - 1)];
}

/* ---- out ---- */

static void say(struct contender *contender, uint32_t number, enum rl_command_kind kind, uint32_t question,
                uint64_t fence, bool full)
{
    struct raw_node *node = contender->fleet->nodes[number];
    struct talk *talk = &contender->talks[number];
    struct rl_place place = {.ticket = contender->stand.ticket,
                             .settled = contender->stand.settled,
                             .lease_ms = RECORD_MS,
                             .channel = contender->channel};
    struct rl_lock_command command = {.kind = kind,
                                      .lock_kind = &rl_kind_line,
                                      .key = contender->key,
                                      .key_length = strlen(contender->key),
                                      .owner = contender->owner,
                                      .owner_length = contender->owner_length,
                                      .ttl_ms = contender->ttl_ms,
                                      .epoch = node->epoch,
                                      .fence = fence,
                                      .not_after_us = (int64_t)wall_us() + NODE_TIMEOUT_MS * 1000,
                                      .place = &place};
    struct rl_writer writer = rl_writer_on(node->out + node->out_length, sizeof node->out - node->out_length);

    rl_lock_command_write(&writer, &command, 0, full);
    if (writer.overflow || talk->asked - talk->answered == PENDING_MAX)
        bench_die("node %u is too far behind", number + 1);
    node->out_length += writer.length;
    talk->pending[talk->asked++ % PENDING_MAX] =
        (struct pending){.kind = kind, .question = question, .fence = fence, .sent = now()};
}

static void draw_owner(struct contender *contender)
{
    struct rl_owner_words words = {
        .host = BENCH_HOST, .user = BENCH_LOGIN, .pid = (uint32_t)getpid(), .since_ms = 1700000000000};

    draw_hex(contender, contender->owner, RL_OWNER_HEX);
    contender->owner_length = RL_OWNER_HEX + rl_owner_tail(contender->owner + RL_OWNER_HEX, &words);
}

static void release(struct contender *contender)
{
    for (uint32_t node = 0; node < contender->fleet->node_count; node++)
        say(contender, node, RL_COMMAND_RELEASE, 0, 0, false);
}

static void step(struct contender *contender, struct rl_event event)
{
    struct rl_effects effects;
    uint64_t fence = wall_us();

    event.now = now();
    rl_stand_step(&contender->stand, &event, &effects);
    if (effects.release != 0)
        release(contender);
    if (effects.fresh)
        draw_owner(contender);
    for (rl_node_set left = effects.acquire; left != 0; left &= left - 1)
        say(contender, rl_node_set_first(left), RL_COMMAND_ACQUIRE, effects.question, fence, false);
    for (rl_node_set left = effects.raise; left != 0; left &= left - 1)
        say(contender, rl_node_set_first(left), RL_COMMAND_RAISE, effects.question, effects.fence, false);
    contender->ended = effects.done;
}

/* ---- in ---- */

static void take_reply(struct contender *contender, uint32_t number, const char *bytes, size_t length)
{
    struct talk *talk = &contender->talks[number];
    struct pending pending = talk->pending[talk->answered++ % PENDING_MAX];
    struct rl_lock_command command = {.kind = pending.kind,
                                      .lock_kind = &rl_kind_line,
                                      .epoch = contender->fleet->nodes[number]->epoch,
                                      .fence = pending.fence};
    struct rl_event event = {
        .kind = RL_EVENT_ANSWER, .node = number, .question = pending.question, .sent = pending.sent};
    struct rl_lock_reply reply;

    rl_lock_reply_read(&command, bytes, length, &reply);
    if (reply.answer.verdict == RL_FAILED && reply.answer.cause != RL_CAUSE_LATE)
        bench_die("node %u: %.*s", number + 1, (int)reply.error_length, reply.error);
    event.answer = reply.answer;
    event.answer.node_us = reply.node_us;
    if (reply.owner != NULL)
        event.answer.holder = rl_hash_bytes(0, reply.owner, reply.owner_length);
    if (pending.question >= contender->first_question && !contender->ended)
        step(contender, event);
}

static void take_push(struct contender *contender, uint32_t number, const char *bytes, size_t length)
{
    struct rl_hand_over heard;
    struct rl_event event = {.kind = RL_EVENT_HANDED, .node = number, .eligible = true};

    if (!rl_hand_over_read(bytes, length, &heard) || contender->ended ||
        heard.owner_length != contender->owner_length ||
        memcmp(heard.owner, contender->owner, heard.owner_length) != 0)
        return;
    event.ttl = rl_span_ms(heard.ttl_ms);
    event.answer = (struct rl_answer){.fence = heard.fence, .node_us = heard.node_us};
    step(contender, event);
}

static void read_node(struct contender *contender, uint32_t number)
{
    struct raw_node *node = contender->fleet->nodes[number];
    ssize_t got = recv(node->fd, node->in + node->in_length, sizeof node->in - node->in_length, 0);
    size_t start = 0, end = 0;

    if (got <= 0)
        bench_die("recv: the node hung up");
    node->in_length += (size_t)got;
    while (rl_resp_skip(node->in, node->in_length, &end) == RL_RESP_OK) {
        if (node->in[start] == '>')
            take_push(contender, number, node->in + start, end - start);
        else
            take_reply(contender, number, node->in + start, end - start);
        start = end;
    }
    node->in_length -= start;
    memmove(node->in, node->in + start, node->in_length);
}

static void wait_for_nodes(struct contender *contender, struct rl_time until)
{
    struct epoll_event events[RAW_NODES_MAX];
    int64_t left_us = until.us - now().us;
    int timeout_ms = left_us <= 0 ? 0 : left_us > 1000000 ? 1000 : (int)(left_us / 1000) + 1;
    int count;

    raw_fleet_flush(contender->fleet);
    count = epoll_wait(contender->fleet->epoll_fd, events, RAW_NODES_MAX, timeout_ms);
    for (int i = 0; i < count; i++)
        read_node(contender, events[i].data.u32);
}

/* ---- the loop ---- */

static bool is_owed_answers(const struct contender *contender)
{
    for (unsigned i = 0; i < contender->fleet->node_count; i++)
        if (contender->talks[i].asked != contender->talks[i].answered)
            return true;
    return false;
}

/* Each acquisition goes on counting questions where the last one stopped, so that late answers are told
 * apart. */
static void begin(struct contender *contender)
{
    struct rl_acquire_config config = {.node_count = contender->fleet->node_count,
                                       .ttl = rl_span_ms(contender->ttl_ms),
                                       .drift_ppm = 10000,
                                       .node_timeout = rl_span_ms(NODE_TIMEOUT_MS),
                                       .give_up_at = RL_TIME_NEVER,
                                       .retry_min = rl_span_ms(1),
                                       .retry_max = rl_span_ms(50),
                                       .ticket = wall_us()};
    uint32_t question = contender->stand.question;

    rl_stand_init(&contender->stand, &config, &contender->prng);
    contender->stand.question = question;
    contender->first_question = question + 1;
    contender->ended = false;
    step(contender, (struct rl_event){.kind = RL_EVENT_START});
}

static void run_contend(void *subject, const struct bench *bench, int64_t until_ns,
                        struct bench_samples *samples)
{
    struct contender *contender = subject;
    struct rl_time until = {until_ns / 1000};

    if (bench->client_count != 1)
        bench_die("each process is one contender: run several of them");
    while (bench_now_ns() < until_ns) {
        int64_t began_ns = bench_now_ns();

        begin(contender);
        while (!contender->ended && bench_now_ns() < until_ns) {
            wait_for_nodes(contender, rl_time_min(contender->stand.wake_at, until));
            if (!contender->ended && !rl_time_before(now(), contender->stand.wake_at))
                step(contender, (struct rl_event){.kind = RL_EVENT_TIMER});
        }
        if (contender->ended)
            bench_add(samples, bench_now_ns() - began_ns);
        else
            bench_add_cut_off(samples, bench_now_ns() - began_ns);
        contender->ended = true;
        release(contender);
    }
    while (is_owed_answers(contender))
        wait_for_nodes(contender, RL_TIME_NEVER);
}

/* Both scripts whole, once: the owner is nobody, and what it asks for too late. */
static void prepare(struct contender *contender)
{
    contender->stand.ticket = wall_us();
    draw_owner(contender);
    snprintf(contender->channel, sizeof contender->channel, RL_CHANNEL);
    draw_hex(contender, contender->channel + strlen(contender->channel), HEX_DIGITS);
    for (uint32_t number = 0; number < contender->fleet->node_count; number++) {
        struct raw_node *node = contender->fleet->nodes[number];
        struct rl_writer writer = rl_writer_on(node->out, sizeof node->out);

        rl_write_subscribe(&writer, contender->channel);
        node->out_length = writer.length;
        say(contender, number, RL_COMMAND_RELEASE, 0, 0, true);
        say(contender, number, RL_COMMAND_RAISE, 0, 1, true);
        say(contender, number, RL_COMMAND_ACQUIRE, 0, wall_us(), true);
        say(contender, number, RL_COMMAND_RELEASE, 0, 0, false);
    }
    while (is_owed_answers(contender))
        wait_for_nodes(contender, RL_TIME_NEVER);
}

static const struct bench_workload workloads[] = {{"contend", run_contend}, {0}};

int main(int argc, char **argv)
{
    struct bench bench = bench_options(argc, argv);
    struct raw_fleet fleet = raw_fleet_open(&bench);
    struct contender contender = {.fleet = &fleet, .ttl_ms = bench.ttl_ms, .ended = true};

    if (bench.mode != BENCH_GUARDED)
        bench_die("only guarded nodes keep a line: say -m guarded");
    contender.prng = rl_prng_seed((uint64_t)bench_now_ns() ^ (uint64_t)getpid() << 40);
    bench_name(contender.key, 0);
    prepare(&contender);
    bench_run(&bench, workloads, &contender);
    bench_end();
    raw_fleet_close(&fleet);
    return 0;
}
