/*
 * Fuzzes the doors of the engine: the bytes choose which call begins, what each node says and when, what is
 * out of memory and how much time passes. Nodes are the simulator's, so that most answers are good ones; the
 * others are damaged, or the fuzzer's own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/calls.h"
#include "engine/engine.h"
#include "engine/guard.h"
#include "engine/operator_calls.h"
#include "engine/report.h"
#include "engine/spec.h"
#include "sim/node.h"
#include "wire/node_url.h"
#include "wire/resp_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum {
    NODES_MAX = 3,
    CALLS_MAX = 40, /* the modelled nodes have room for so many waiters */
    STEPS_MAX = 200,
    NAMES = 3,
    TTL_MS = 2000,
    QUEUE_SIZE = 1 << 16,
    ROUNDS_AT_ONE_TIME = 1000
};
#define BEGINNING_US INT64_C(1700000000000000)

static void fail(const char *what)
{
    fprintf(stderr, "broken: %s\n", what);
    abort();
}

/* ---- the bytes ---- */

struct input {
    const uint8_t *bytes;
    size_t size, used;
};

static uint32_t draw(struct input *from)
{
    return from->used < from->size ? from->bytes[from->used++] : 0;
}

static uint32_t draw_below(struct input *from, uint32_t bound)
{
    return draw(from) % bound;
}

/* ---- the world ---- */

struct call {
    struct rl_operation *operation; /* NULL: it is over */
    redlock_request request;
    uint32_t ends; /* how often it ended */
};

struct queue {
    char bytes[QUEUE_SIZE];
    size_t length;
};

enum connection { CLOSED, OPENING, OPEN };

struct world {
    struct input from;
    struct rl_engine engine;
    uint32_t node_count;
    struct sim_node nodes[NODES_MAX];
    enum connection connections[NODES_MAX];
    struct call calls[CALLS_MAX];
    uint32_t call_count;
    redlock_lock *handles[CALLS_MAX];
    char owner[REDLOCK_OWNER_MAX + 1]; /* of the latest lock: for adoptions */
    int64_t allocations;
    uint32_t failing; /* so many allocations fail from now on */
    uint8_t chance;
    bool no_chance;
};

static struct world world;
static struct queue to_node[NODES_MAX], to_client[NODES_MAX]; /* apart: clearing them takes long */

static void *allocate(void *context, size_t size)
{
    void *memory;

    (void)context;
    if (world.failing > 0) {
        world.failing--;
        return NULL;
    }
    memory = malloc(size);
    if (memory == NULL)
        abort();
    world.allocations++;
    return memory;
}

static void release(void *context, void *memory, size_t size)
{
    (void)context;
    memset(memory, 0xdd, size); /* as many bytes as were asked for, or the sanitizer says so */
    free(memory);
    world.allocations--;
}

static int64_t wall_us(void *context)
{
    (void)context;
    return BEGINNING_US + world.engine.now.us;
}

static bool random_bytes(void *context, uint8_t *bytes, size_t length)
{
    (void)context;
    for (size_t i = 0; i < length; i++)
        bytes[i] = ++world.chance;
    return !world.no_chance;
}

static void read_line(void *context, const char *line)
{
    (void)context;
    if (strlen(line) > 4096)
        fail("an endless line");
}

static void read_log(void *context, redlock_log_level level, const char *line)
{
    (void)level;
    read_line(context, line);
}

static void *bind_thread(void *context)
{
    return context;
}

static bool thread_lives(void *context, const void *thread)
{
    (void)context;
    (void)thread;
    return true;
}

static void forget_thread(void *context, void *thread)
{
    (void)context;
    (void)thread;
}

/* ---- what the network does ---- */

static void append(struct queue *queue, const char *bytes, size_t length)
{
    if (length > QUEUE_SIZE - queue->length)
        length = QUEUE_SIZE - queue->length;
    memcpy(queue->bytes + queue->length, bytes, length);
    queue->length += length;
}

static void take(struct queue *queue, size_t length)
{
    queue->length -= length;
    memmove(queue->bytes, queue->bytes + length, queue->length);
}

static void drop(uint32_t node)
{
    world.connections[node] = CLOSED;
    to_node[node].length = to_client[node].length = 0;
    sim_tracking_forget(&world.nodes[node], 1);
}

static void write_node(uint32_t node)
{
    const char *bytes;
    size_t length = rl_engine_output(&world.engine, node, &bytes);
    size_t room = QUEUE_SIZE - to_node[node].length;

    if (world.connections[node] != OPEN)
        return;
    length = length < room ? length : room;
    append(&to_node[node], bytes, length);
    rl_engine_sent(&world.engine, node, length);
}

/* What the engine wants of the network. */
static void carry(void)
{
    struct rl_wants *wants = &world.engine.wants;

    while (wants->close != 0 || wants->open != 0) {
        for (; wants->close != 0; wants->close &= wants->close - 1)
            drop(rl_node_set_first(wants->close));
        wants->reset = 0;
        for (; wants->open != 0; wants->open &= wants->open - 1)
            world.connections[rl_node_set_first(wants->open)] = OPENING;
    }
    while (wants->write != 0)
        write_node(rl_node_set_first(wants->write));
}

static void tell(void *context, struct sim_node *node, uint32_t peer, const char *key)
{
    char bytes[256];
    int length = key == NULL ? snprintf(bytes, sizeof bytes, ">2\r\n$10\r\ninvalidate\r\n_\r\n")
                             : snprintf(bytes, sizeof bytes,
                                        ">2\r\n$10\r\ninvalidate\r\n*1\r\n$%zu\r\n%s\r\n", strlen(key), key);

    (void)context;
    (void)peer;
    append(&to_client[node - world.nodes], bytes, (size_t)length);
}

/* A node carries out the commands that have arrived whole, one by one. */
static void serve(uint32_t index)
{
    static char replies[QUEUE_SIZE];
    struct sim_node *node = &world.nodes[index];
    struct queue *queue = &to_node[index];
    size_t at = 0, end = 0;

    while (rl_resp_skip(queue->bytes, queue->length, &end) == RL_RESP_OK) {
        struct rl_writer reply = rl_writer_on(replies, sizeof replies);

        node->tracking.peer = 1;
        sim_node_run(node, sim_clock_at(&node->clock, world.engine.now.us), queue->bytes + at, end - at,
                     &reply);
        append(&to_client[index], reply.bytes, reply.length);
        sim_tracking_tell_own(node);
        at = end;
    }
    take(queue, at);
}

/* ---- what comes out of the engine ---- */

static void keep_handle(redlock_lock *lock)
{
    if (lock->stage != RL_LOCK_HELD || !rl_lease_held(&lock->lease, world.engine.now))
        fail("a lock was handed out that is over");
    snprintf(world.owner, sizeof world.owner, "%s", rl_lock_owner(lock));
    for (uint32_t i = 0; i < CALLS_MAX; i++)
        if (world.handles[i] == NULL) {
            world.handles[i] = lock;
            return;
        }
    abort();
}

static void read_report(const struct rl_operation *operation)
{
    redlock_report report = REDLOCK_REPORT_INIT;

    rl_report_operation(&report, operation);
    if (report.result != operation->result || memchr(report.line, '\0', sizeof report.line) == NULL)
        fail("a report says something else than the call");
}

static void end_call(struct rl_operation *operation)
{
    struct call *call = operation->context;
    redlock_lock *lock = NULL;

    if (!operation->done || call->operation != operation || call->ends != 0)
        fail("a call ended that was over, or was not begun");
    read_report(operation);
    if (operation->kind == RL_OPERATION_ACQUIRE && operation->result == REDLOCK_OK)
        lock = rl_call_hand_out(operation);
    if (!operation->done)
        return;
    call->ends++;
    call->operation = NULL;
    if (operation->kind == RL_OPERATION_ADOPT)
        lock = rl_call_adopted(operation);
    if (lock != NULL)
        keep_handle(lock);
    rl_operation_free(&world.engine, operation);
}

static void attend(void)
{
    struct rl_link *link;

    do {
        carry();
        while ((link = rl_list_first(&world.engine.turned)) != NULL)
            rl_list_remove(link);
        while ((link = rl_list_first(&world.engine.ended)) != NULL) {
            rl_list_remove(link);
            end_call(RL_CONTAINER(link, struct rl_operation, link));
        }
        while ((link = rl_list_first(&world.engine.notices)) != NULL) {
            redlock_lock *lock = RL_CONTAINER(link, redlock_lock, notice);
            bool lost = lock->lost_due;

            rl_list_remove(link);
            lock->lost_due = lock->renewed_due = false;
            if (lost)
                rl_engine_loss_told(lock);
        }
    } while (!rl_list_empty(&world.engine.ended) || !rl_list_empty(&world.engine.notices) ||
             (world.engine.wants.close | world.engine.wants.open | world.engine.wants.write) != 0);
}

/* Whatever was due is not due any more after it had its turn, or time would stand still. */
static void tick(void)
{
    for (int turn = 0; rl_engine_due(&world.engine).us <= world.engine.now.us; turn++) {
        if (turn > ROUNDS_AT_ONE_TIME)
            fail("something is due for ever");
        rl_engine_tick(&world.engine);
        attend();
    }
}

/* ---- the doors ---- */

static void pass_time(void)
{
    uint32_t length = draw(&world.from);
    int64_t us = (int64_t)(length & 15) << (length >> 4), due_us = rl_engine_due(&world.engine).us;

    if (length == 255 && due_us != INT64_MAX && due_us > world.engine.now.us)
        us = due_us - world.engine.now.us;
    rl_engine_look(&world.engine, (struct rl_time){world.engine.now.us + us * 16});
    tick();
}

static void lose(uint32_t node)
{
    if (world.connections[node] == CLOSED)
        return;
    drop(node);
    rl_engine_down(&world.engine, node, RL_CAUSE_UNREACHABLE, "the node closed the connection");
}

static void connect(uint32_t node)
{
    if (world.connections[node] != OPENING)
        return;
    rl_engine_resolving(&world.engine, node, false);
    world.connections[node] = OPEN;
    rl_engine_up(&world.engine, node);
}

/* Bytes come in, in parts of at most so many. */
static void receive(uint32_t node, const char *bytes, size_t length, size_t part_max)
{
    while (length > 0 && world.connections[node] == OPEN &&
           !rl_node_set_has(world.engine.wants.close, node)) {
        char *to;
        size_t room = rl_engine_room(&world.engine, node, &to);
        size_t part = length < room ? length : room;

        if (room == 0) {
            if (!rl_node_set_has(world.engine.wants.close, node))
                fail("there is no room for what a node says, and it is heard on");
            return;
        }
        part = part < part_max ? part : part_max;
        memcpy(to, bytes, part);
        rl_engine_received(&world.engine, node, part);
        bytes += part;
        length -= part;
    }
    if (world.connections[node] == OPEN && !rl_node_set_has(world.engine.wants.close, node))
        rl_engine_read_all(&world.engine, node);
}

/* A node answers what it was asked; damage: not quite so. */
static void answer(uint32_t node, bool damage)
{
    static char bytes[QUEUE_SIZE];
    struct queue *queue = &to_client[node];
    size_t length, part_max = QUEUE_SIZE;

    if (world.connections[node] != OPEN)
        return;
    serve(node);
    length = queue->length;
    memcpy(bytes, queue->bytes, length);
    queue->length = 0;
    if (damage && length > 0) {
        uint32_t how = draw_below(&world.from, 4);
        size_t at = (draw(&world.from) << 8 | draw(&world.from)) % length;

        if (how == 0)
            bytes[at] = (char)draw(&world.from);
        else if (how == 1)
            length = at; /* the rest never comes */
        else if (how == 2)
            bytes[at] = "-+:$*>_,#(%~"[draw_below(&world.from, 12)];
        else
            part_max = 1 + at % 16;
    }
    receive(node, bytes, length, part_max);
}

static void hear_noise(uint32_t node)
{
    char bytes[256];
    size_t length = 1 + draw(&world.from);

    for (size_t i = 0; i < length; i++)
        bytes[i] = (char)draw(&world.from);
    receive(node, bytes, length, sizeof bytes);
}

/* The lock that somebody stands in line for, or was given last; NULL there is none. */
static const redlock_lock *find_wanted(void)
{
    struct rl_link *link = rl_list_first(&world.engine.standing);
    redlock_lock *const *handle = world.handles;

    if (link != NULL && draw_below(&world.from, 4) != 0)
        return RL_CONTAINER(link, struct rl_operation, standing)->lock;
    while (handle < world.handles + CALLS_MAX && *handle == NULL)
        handle++;
    return handle < world.handles + CALLS_MAX ? *handle : NULL;
}

/* What a node tells of a lock that it hands over, by somebody who means no good: each part is right, or is
 * not. */
static size_t write_hand_over(char *text, size_t size, uint32_t node)
{
    static const char *const numbers[] = {"0", "1", "", "-5", "9007199254740993", "99999999999999999999"};
    const redlock_lock *wanted = find_wanted();
    const char *owner = wanted != NULL ? rl_lock_owner(wanted) : "00000000000000000000000000000000|pid=1";
    const char *epoch = world.engine.guards[node].epoch, *key = wanted != NULL ? wanted->text : "lock-1";
    int key_length = wanted != NULL ? (int)wanted->key_length : 6;
    char now[24], late[24];
    const char *at = now, *fence = now, *ttl = "1000";
    uint32_t bits = draw(&world.from);
    int length, off = (bits & 64) != 0 ? (int)draw(&world.from) - 128 : 0;

    snprintf(now, sizeof now, "%lld", (long long)wall_us(NULL));
    snprintf(late, sizeof late, "%lld", (long long)wall_us(NULL) + 3600000000);
    at = (bits & 1) != 0 ? late : at;
    fence = (bits & 2) != 0 ? numbers[draw_below(&world.from, 6)] : fence;
    ttl = (bits & 4) != 0 ? numbers[draw_below(&world.from, 6)] : ttl;
    owner = (bits & 8) != 0 ? "ffffffffffffffffffffffffffffffff|pid=2" : owner;
    epoch = (bits & 16) != 0 ? "1 2 another" : epoch;
    if ((bits & 32) != 0) {
        key = "redlock-guard:epoch";
        key_length = draw_below(&world.from, 20);
    }
    length = snprintf(text, size, "%s %s %s %s %d %zu %s%s%.*s", at, fence, ttl,
                      (bits & 128) != 0 ? "-" : world.nodes[node].replid, (int)strlen(owner) + off,
                      strlen(epoch), owner, epoch, key_length, key);
    return (size_t)length < size ? (size_t)length : size - 1;
}

/* Anything on a channel: of the client's own or another one, with too few and too many parts, of the right
 * kind and of others. */
static void hear_push(uint32_t node)
{
    static const char *const kinds[] = {"message",  "message",   "message",
                                        "pmessage", "subscribe", "invalidate"};
    char text[1024], bytes[2048];
    size_t text_length = write_hand_over(text, sizeof text, node);
    const char *kind = kinds[draw_below(&world.from, 6)];
    const char *channel = draw_below(&world.from, 4) != 0 ? world.engine.channel : "redlock:other";
    uint32_t parts = draw_below(&world.from, 8) != 0 ? 3 : draw_below(&world.from, 6);
    int length;

    if (draw_below(&world.from, 8) == 0)
        for (size_t i = 0; i < text_length; i++)
            text[i] = (char)draw(&world.from);
    length = snprintf(bytes, sizeof bytes, ">%u\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n$%zu\r\n", parts, strlen(kind),
                      kind, strlen(channel), channel, text_length);
    memcpy(bytes + length, text, text_length);
    memcpy(bytes + length + text_length, "\r\n", 2);
    receive(node, bytes, (size_t)length + text_length + 2, sizeof bytes);
}

static void ignore_loss(void *context, redlock_lock *lock, const redlock_report *report)
{
    (void)context;
    (void)lock;
    (void)report;
}

static void ignore_renewal(void *context, redlock_lock *lock, const redlock_report *report)
{
    ignore_loss(context, lock, report);
}

static bool make_spec(redlock_spec *checked, char name[8])
{
    static const uint32_t ttls_ms[] = {0, 50, 100, TTL_MS, TTL_MS + 1, 49};
    redlock_spec spec = REDLOCK_SPEC_INIT;
    redlock_report report = REDLOCK_REPORT_INIT;
    uint32_t bits = draw(&world.from);

    snprintf(name, 8, "lock-%u", bits % NAMES);
    spec.name = name;
    spec.kind = (bits & 4) != 0 ? REDLOCK_FAIR : REDLOCK_EXCLUSIVE;
    spec.ttl_ms = ttls_ms[draw_below(&world.from, 6)];
    spec.auto_extend = (bits & 8) != 0;
    spec.on_lost = (bits & 8) != 0 || (bits & 16) != 0 ? ignore_loss : NULL;
    spec.on_renewed = (bits & 32) != 0 ? ignore_renewal : NULL;
    spec.max_hold_ms = (bits & 64) != 0 ? 300 : 0;
    spec.max_extensions = (bits & 128) != 0;
    return rl_spec_check(&world.engine, &spec, checked, &report) == REDLOCK_OK;
}

static void note_begun(struct call *call, struct rl_operation *operation)
{
    if (operation == NULL)
        return;
    operation->context = call;
    call->operation = operation;
}

static redlock_lock **find_handle(void)
{
    uint32_t first = draw_below(&world.from, CALLS_MAX);

    for (uint32_t i = 0; i < CALLS_MAX; i++)
        if (world.handles[(first + i) % CALLS_MAX] != NULL)
            return &world.handles[(first + i) % CALLS_MAX];
    return NULL;
}

static struct rl_operation *begin(uint32_t kind, redlock_request request)
{
    static const int64_t waits_ms[] = {0, 1, 100, 3000, -1};
    redlock_report report = REDLOCK_REPORT_INIT;
    struct rl_engine *engine = &world.engine;
    redlock_lock **handle;
    redlock_result result;
    redlock_spec spec = REDLOCK_SPEC_INIT;
    char name[8];

    switch (kind) {
    case 0:
    case 1:
    case 2:
        return make_spec(&spec, name) ? rl_call_acquire(engine, &spec, waits_ms[draw_below(&world.from, 5)],
                                                        request, &result, &report)
                                      : NULL;
    case 3:
        handle = find_handle();
        return handle != NULL ? rl_call_release(*handle, request, &result, &report) : NULL;
    case 4:
        handle = find_handle();
        return handle != NULL
                   ? rl_call_extend(*handle, draw_below(&world.from, 2) * TTL_MS, request, &result, &report)
                   : NULL;
    case 5:
        return world.owner[0] != '\0' && make_spec(&spec, name)
                   ? rl_call_known(
                         engine, draw_below(&world.from, 2) == 0 ? RL_OPERATION_ADOPT : RL_OPERATION_RELEASE,
                         &spec, world.owner, 0, request, &result, &report)
                   : NULL;
    case 6:
        return make_spec(&spec, name)
                   ? rl_call_survey(engine, RL_OPERATION_INSPECT, &spec, false, request, &result, &report)
                   : NULL;
    default:
        rl_guard_begin(engine);
        return rl_call_survey(engine, RL_OPERATION_INIT, &spec, draw_below(&world.from, 2) == 0, request,
                              &result, &report);
    }
}

static void begin_call(void)
{
    uint32_t kind = draw_below(&world.from, 8);
    struct call *call = &world.calls[world.call_count];

    if (world.call_count == CALLS_MAX)
        return;
    world.call_count++;
    call->request = draw_below(&world.from, 2) == 0 ? world.call_count : 0;
    note_begun(call, begin(kind, call->request));
}

static void cancel(void)
{
    const struct call *call = &world.calls[draw_below(&world.from, CALLS_MAX)];

    if (call->request != 0)
        rl_engine_cancel(&world.engine, call->request);
}

static void free_handle(void)
{
    redlock_lock **handle = find_handle();

    if (handle == NULL)
        return;
    rl_engine_free_handle(*handle);
    *handle = NULL;
}

static void disturb_node(uint32_t index)
{
    struct sim_node *node = &world.nodes[index];

    switch (draw_below(&world.from, 5)) {
    case 0:
        sim_node_flush(node);
        return;
    case 1:
        node->loaded = 0;
        return;
    case 2:
        node->half = true;
        return;
    case 3:
        node->kept = node->memory;
        return;
    default:
        sim_node_promote(node, 100 + world.chance, world.engine.now.us);
    }
}

static void step(void)
{
    uint32_t what = draw(&world.from), node = (what >> 4) % world.node_count;

    switch (what & 15) {
    case 0:
    case 1:
    case 2:
        begin_call();
        break;
    case 3:
    case 4:
        for (uint32_t i = 0; i < world.node_count; i++)
            answer(i, false);
        break;
    case 5:
        answer(node, false);
        break;
    case 6:
        answer(node, true);
        break;
    case 7:
        if (draw_below(&world.from, 2) == 0)
            hear_noise(node);
        else
            hear_push(node);
        break;
    case 8:
        for (uint32_t i = 0; i < world.node_count; i++)
            connect(i);
        break;
    case 9:
        connect(node);
        break;
    case 10:
        lose(node);
        break;
    case 11:
        cancel();
        break;
    case 12:
        free_handle();
        break;
    case 13:
        world.failing = draw_below(&world.from, 4);
        break;
    case 14:
        disturb_node(node);
        break;
    default:
        pass_time();
    }
    attend();
}

/* ---- beginning and end ---- */

static void start_nodes(void)
{
    for (uint32_t i = 0; i < world.node_count; i++) {
        struct sim_node *node = &world.nodes[i];

        node->tell = tell;
        sim_clock_set(&node->clock, 0, BEGINNING_US, 0);
        sim_node_start(node, i + 1, 0);
        node->old = draw_below(&world.from, 8) == 0;
        node->tracking.refused = draw_below(&world.from, 8) == 0;
    }
}

static void add_nodes(void)
{
    for (uint32_t i = 0; i < world.node_count; i++) {
        struct rl_node_url url;
        char text[32];
        int length = snprintf(text, sizeof text, "redis://10.0.0.%u:6379", i + 1);

        if (rl_node_url_parse(text, (size_t)length, &url) != NULL || !rl_engine_add_node(&world.engine, &url))
            abort();
    }
}

static void start(const uint8_t *bytes, size_t size)
{
    struct rl_config config = {.key_prefix = "",
                               .client_name = "fuzz",
                               .host = "h",
                               .login = "u",
                               .pid = 1,
                               .max_ttl = rl_span_ms(TTL_MS),
                               .drift_ppm = 10000,
                               .connect_timeout = rl_span_ms(200),
                               .node_timeout = rl_span_ms(50),
                               .retry_min = rl_span_ms(10),
                               .retry_max = rl_span_ms(100)};
    struct rl_host host = {.memory = {allocate, release, &world},
                           .wall_us = wall_us,
                           .random = random_bytes,
                           .log = read_log,
                           .trace = read_line,
                           .thread_bind = bind_thread,
                           .thread_lives = thread_lives,
                           .thread_forget = forget_thread,
                           .context = &world};
    uint32_t bits;

    memset(&world, 0, sizeof world);
    for (uint32_t i = 0; i < NODES_MAX; i++)
        to_node[i].length = to_client[i].length = 0;
    world.from = (struct input){bytes, size, 0};
    bits = draw(&world.from);
    config.guarded = (bits & 1) == 0;
    world.node_count = 1 + (bits >> 1) % NODES_MAX;
    start_nodes();
    if (!rl_engine_init(&world.engine, &config, &host, world.node_count))
        abort();
    add_nodes();
    if (!rl_engine_seed(&world.engine))
        abort();
    rl_engine_look(&world.engine, (struct rl_time){1000000});
    rl_engine_start(&world.engine);
    attend();
}

static void end(void)
{
    world.failing = 0;
    rl_engine_cancel_all(&world.engine);
    attend();
    rl_engine_leave_locks(&world.engine);
    attend();
    for (uint32_t i = 0; i < world.call_count; i++)
        if (world.calls[i].operation != NULL)
            fail("a call has not ended when all are over");
    for (uint32_t i = 0; i < CALLS_MAX; i++)
        if (world.handles[i] != NULL)
            rl_engine_free_handle(world.handles[i]);
    attend();
    for (uint32_t i = 0; i < world.node_count; i++)
        drop(i);
    rl_engine_close(&world.engine);
    rl_engine_tear_down(&world.engine);
    rl_engine_free(&world.engine);
    if (world.allocations != 0)
        fail("memory was not given back");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    start(bytes, size);
    for (int i = 0; i < STEPS_MAX && world.from.used < world.from.size; i++)
        step();
    end();
    return 0;
}
