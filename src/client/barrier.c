/*
 * redlock_barrier(): waits until K parties have come. It arrives at all nodes again and again, which renews its lease there, and opens the barrier
 * under a lock when enough are there; what may be decided by that is in core/gathering.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "client/ask_all.h"
#include "core/gathering.h"
#include "core/tally.h"
#include "engine/report.h"
#include "engine/sized.h"

enum {
    DEFAULT_LEASE_MS = 15000,
    LOOK_FIRST_MS = 20,
    LOOK_MOST_MS = 250 /* between two looks */
};

struct barrier {
    struct rl_ask_all ask;
    redlock_barrier_spec spec;
    char id[RL_PARTY_ID + 1];
    struct rl_time arrived; /* when it last said that it is there */
    bool counted;           /* a node may count on it: it has answered an arrival */
    char lock_name[REDLOCK_NAME_MAX + 16];
    size_t lock_name_length;
    uint64_t own[RL_NODES_MAX];     /* the opening that each node has us in, by the last look */
    char highest[RL_NODES_MAX][24]; /* the highest that was tried there */
    struct rl_gathering gathering;
    const char *chosen[RL_PARTIES_MAX];
};

/* ---- looking ---- */

static uint64_t read_number(const struct rl_resp *item)
{
    char text[24];

    if (item->type != RL_RESP_STRING || item->text_length >= sizeof text)
        return 0;
    memcpy(text, item->text, item->text_length);
    text[item->text_length] = '\0';
    return strtoull(text, NULL, 10);
}

static void hear(struct barrier *barrier, uint32_t node)
{
    const struct rl_talk_node *one = &barrier->ask.talk->nodes[node];
    struct rl_resp item, id;
    size_t offset = 0;

    barrier->own[node] = 0;
    if (!rl_ask_all_read(&barrier->ask, node, &offset, &item) || item.type != RL_RESP_ARRAY ||
        item.element_count % 2 != 1)
        return;
    uint32_t left = item.element_count / 2;
    if (!rl_talk_item(one, &offset, &item) || item.type != RL_RESP_STRING ||
        item.text_length >= sizeof barrier->highest[node])
        return;
    memcpy(barrier->highest[node], item.text, item.text_length);
    barrier->highest[node][item.text_length] = '\0';
    barrier->counted = true;
    rl_gathering_hear(&barrier->gathering, node);
    for (; left > 0 && rl_talk_item(one, &offset, &id) && rl_talk_item(one, &offset, &item); left--) {
        if (id.type != RL_RESP_STRING || id.text_length != RL_PARTY_ID)
            continue;
        rl_gathering_add(&barrier->gathering, node, id.text, read_number(&item));
        if (memcmp(id.text, barrier->id, RL_PARTY_ID) == 0)
            barrier->own[node] = read_number(&item);
    }
}

static bool make_id(struct barrier *barrier)
{
    redlock_client *client = barrier->ask.client;
    uint8_t random[RL_PARTY_ID / 2];
    bool drawn;

    pthread_mutex_lock(&client->mutex);
    drawn = rl_state_random(&client->engine, random, sizeof random);
    pthread_mutex_unlock(&client->mutex);
    for (size_t i = 0; drawn && i < sizeof random; i++)
        snprintf(barrier->id + 2 * i, 3, "%02x", random[i]);
    return drawn;
}

/* One that was stopped for as long as its lease may have been dropped by some nodes and not by others, and what it said last may still be
 * carried out: it can neither go on as who it was nor come anew beside that. */
static bool is_late(const struct barrier *barrier)
{
    struct rl_time now = rl_talk_now(barrier->ask.talk);

    return barrier->arrived.us != 0 &&
           rl_time_since(now, barrier->arrived).us > (int64_t)barrier->spec.lease_ms * 1000;
}

/* Arrives, or stays, and learns who else is there. */
static void arrive(struct barrier *barrier)
{
    char lease[16], most[16];
    struct rl_argument arguments[] = {{barrier->id, RL_PARTY_ID}, {lease, 0}, {most, 0}};

    barrier->arrived = rl_talk_now(barrier->ask.talk);
    arguments[1].length = (size_t)snprintf(lease, sizeof lease, "%u", barrier->spec.lease_ms);
    arguments[2].length = (size_t)snprintf(most, sizeof most, "%d", RL_GATHERING_MAX);
    rl_talk_begin(barrier->ask.talk);
    for (uint32_t i = 0; i < barrier->ask.talk->node_count; i++)
        rl_ask_all_write(&barrier->ask, i, &rl_script_barrier_arrive, arguments, 3);
    rl_talk_exchange(barrier->ask.talk);
    barrier->gathering.node_count = barrier->ask.talk->node_count;
    barrier->gathering.heard = 0;
    barrier->gathering.count = 0;
    for (uint32_t i = 0; i < barrier->ask.talk->node_count; i++)
        hear(barrier, i);
}

static bool is_through(const struct barrier *barrier)
{
    return rl_gathering_through(barrier->own, barrier->ask.talk->node_count);
}

/* ---- leaving ---- */

/* Leaves where no opening counts on it, or everywhere. Returns the nodes that it has left. */
static rl_node_set leave(struct barrier *barrier, bool through)
{
    struct rl_argument arguments[] = {{barrier->id, RL_PARTY_ID}, {through ? "1" : "0", 1}};
    rl_node_set left = 0;
    struct rl_resp item;

    rl_talk_begin(barrier->ask.talk);
    for (uint32_t i = 0; i < barrier->ask.talk->node_count; i++)
        rl_ask_all_write(&barrier->ask, i, &rl_script_barrier_leave, arguments, 2);
    rl_talk_exchange(barrier->ask.talk);
    for (uint32_t i = 0; i < barrier->ask.talk->node_count; i++) {
        size_t offset = 0;

        barrier->own[i] = 0;
        if (!rl_ask_all_read(&barrier->ask, i, &offset, &item))
            continue;
        barrier->own[i] = read_number(&item);
        left |= barrier->own[i] == 0 ? rl_node_set_one(i) : 0;
    }
    return left;
}

/* ---- opening ---- */

static void write_opening(struct barrier *barrier, uint32_t node, uint64_t fence)
{
    struct rl_argument arguments[3 + RL_PARTIES_MAX];
    char number[24], counts[16];

    snprintf(number, sizeof number, "%llu", (unsigned long long)fence);
    snprintf(counts, sizeof counts, "%llu", 2ull * barrier->spec.lease_ms);
    arguments[0] = rl_argument_text(number);
    arguments[1] = rl_argument_text(barrier->highest[node]);
    arguments[2] = rl_argument_text(counts);
    for (uint32_t i = 0; i < barrier->spec.parties; i++)
        arguments[3 + i] = (struct rl_argument){barrier->chosen[i], RL_PARTY_ID};
    rl_ask_all_write(&barrier->ask, node, &rl_script_barrier_open, arguments, 3 + barrier->spec.parties);
}

/* With the lock held. The nodes are looked at once more, so that nothing older than the lock is gone by. */
static void open_as_holder(struct barrier *barrier, const redlock_lock *lock)
{
    arrive(barrier);
    if (is_through(barrier) ||
        !rl_gathering_choose(&barrier->gathering, barrier->spec.parties, barrier->chosen))
        return;
    rl_node_set heard = barrier->gathering.heard;
    rl_talk_begin(barrier->ask.talk);
    for (; heard != 0; heard &= heard - 1)
        write_opening(barrier, rl_node_set_first(heard), redlock_lock_fence(lock));
    if (redlock_lock_validity_ms(lock) > 0)
        rl_talk_exchange(barrier->ask.talk);
}

/* What time does not mend: a caller that waits for it would wait for ever. */
static bool is_hopeless(redlock_result result)
{
    return result == REDLOCK_FORBIDDEN || result == REDLOCK_FOREIGN_TYPE || result == REDLOCK_INVALID;
}

/* Somebody else may be about to; then the next look tells. Not OK: nobody like us will ever open it. */
static redlock_result try_to_open(struct barrier *barrier)
{
    redlock_spec spec = REDLOCK_SPEC_INIT;
    redlock_lock *lock = NULL;
    redlock_result result;

    spec.name = barrier->lock_name;
    spec.name_length = barrier->lock_name_length;
    spec.why = "opens the barrier";
    result = redlock_try_acquire(barrier->ask.client, &spec, &lock, barrier->ask.report);
    if (result != REDLOCK_OK)
        return is_hopeless(result) ? result : REDLOCK_OK;
    open_as_holder(barrier, lock);
    redlock_release(lock, NULL);
    redlock_lock_free(lock);
    return REDLOCK_OK;
}

/* Why no node has ever said who is there; OK while they may come back. */
static redlock_result find_obstacle(const struct barrier *barrier)
{
    uint32_t heard = rl_node_set_count(barrier->gathering.heard);
    redlock_result result;

    if (heard >= rl_quorum(barrier->ask.talk->node_count) || barrier->counted)
        return REDLOCK_OK;
    result = rl_ask_all_result(&barrier->ask, heard, "have answered");
    return is_hopeless(result) ? result : REDLOCK_OK;
}

/* ---- waiting ---- */

/* The caller wants no more, or time is over: it is certain afterwards whether it went through. */
static redlock_result give_up(struct barrier *barrier, redlock_result why)
{
    rl_node_set left = leave(barrier, false);
    uint32_t count = barrier->ask.talk->node_count;

    if (rl_gathering_through(barrier->own, count)) {
        leave(barrier, true);
        return REDLOCK_OK;
    }
    if (rl_gathering_out(left, count))
        return why;
    return rl_ask_all_result(&barrier->ask, rl_node_set_count(left),
                             "were left, and it is not known whether the barrier counts on this party");
}

static redlock_result say(const struct barrier *barrier, redlock_result result)
{
    uint32_t waiting = rl_gathering_waiting(&barrier->gathering), count = barrier->ask.talk->node_count;
    redlock_report *report = barrier->ask.report;

    if (result == REDLOCK_OK)
        rl_report_error(report, result, "%u parties have come", barrier->spec.parties);
    else if (result == REDLOCK_TIMEOUT || result == REDLOCK_CANCELED)
        rl_report_error(report, result, "%u of %u parties have come", waiting, barrier->spec.parties);
    else if (result == REDLOCK_LOST)
        rl_report_error(report, result,
                        "stopped for longer than its lease, this party does not count any more");
    if (report == NULL)
        return result;
    report->node_count = count;
    report->quorum = rl_quorum(count);
    report->waiting = waiting;
    return result;
}

static redlock_result wait_for_others(struct barrier *barrier, int64_t wait_ms)
{
    struct rl_talk *talk = barrier->ask.talk;
    struct rl_time end = wait_ms < 0 ? RL_TIME_NEVER : rl_time_add(rl_talk_now(talk), rl_span_ms(wait_ms));
    int64_t rest_ms = LOOK_FIRST_MS;

    for (;;) {
        if (is_late(barrier))
            return give_up(barrier, REDLOCK_LOST);
        arrive(barrier);
        redlock_result obstacle = find_obstacle(barrier);
        if (!is_through(barrier) && rl_gathering_waiting(&barrier->gathering) >= barrier->spec.parties) {
            obstacle = try_to_open(barrier);
            if (is_late(barrier))
                return give_up(barrier, REDLOCK_LOST);
            arrive(barrier);
        }
        if (is_through(barrier)) {
            leave(barrier, true);
            return REDLOCK_OK;
        }
        if (obstacle != REDLOCK_OK)
            return barrier->counted ? give_up(barrier, obstacle) : obstacle;
        uint32_t heard = rl_node_set_count(barrier->gathering.heard);
        if (barrier->spec.waiting != NULL &&
            barrier->spec.waiting(barrier->spec.context, rl_gathering_waiting(&barrier->gathering)) != 0)
            return give_up(barrier, REDLOCK_CANCELED);
        if (!rl_time_before(rl_talk_now(talk), end)) {
            redlock_result why = heard >= rl_quorum(talk->node_count)
                                     ? REDLOCK_TIMEOUT
                                     : rl_ask_all_result(&barrier->ask, heard, "have answered");
            return give_up(barrier, why);
        }
        struct rl_span left = rl_time_since(end, rl_talk_now(talk));
        struct rl_span rest = left.us < rest_ms * 1000 ? left : rl_span_ms(rest_ms);
        if (!rl_talk_rest(talk, rest))
            return give_up(barrier, REDLOCK_CANCELED);
        rest_ms = rest_ms * 2 < LOOK_MOST_MS ? rest_ms * 2 : LOOK_MOST_MS;
    }
}

/* ---- the call ---- */

static const char *check(const redlock_client *client, redlock_barrier_spec *spec)
{
    if (spec->name != NULL && spec->name_length == 0)
        spec->name_length = strlen(spec->name);
    if (spec->lease_ms == 0)
        spec->lease_ms = DEFAULT_LEASE_MS;
    if (spec->parties < 1 || spec->parties > RL_PARTIES_MAX)
        return "parties is not between 1 and 500";
    if (spec->lease_ms < 1000 || spec->lease_ms > REDLOCK_TTL_MAX_MS)
        return "lease_ms is not between 1000 and 86400000 (one day)";
    if (client != NULL && !client->engine.config.guarded)
        return "a barrier needs guarded mode: it is opened by a fence";
    return NULL;
}

static void make_lock_name(struct barrier *barrier)
{
    const char *prefix = "barrier:";

    memcpy(barrier->lock_name, prefix, strlen(prefix));
    memcpy(barrier->lock_name + strlen(prefix), barrier->spec.name, barrier->spec.name_length);
    barrier->lock_name_length = strlen(prefix) + barrier->spec.name_length;
}

static redlock_result take_part(struct barrier *barrier, int64_t wait_ms)
{
    if (barrier->ask.client->engine.config.key_prefix_length + barrier->spec.name_length + 8 >
        REDLOCK_NAME_MAX) {
        rl_report_error(barrier->ask.report, REDLOCK_INVALID,
                        "name is too long: prefix and name together may have 1016 bytes");
        return REDLOCK_INVALID;
    }
    make_lock_name(barrier);
    if (!make_id(barrier)) {
        rl_report_error(barrier->ask.report, REDLOCK_SYSTEM, "the system has no randomness to give");
        return REDLOCK_SYSTEM;
    }
    return say(barrier, wait_for_others(barrier, wait_ms));
}

static redlock_result call(redlock_client *client, const redlock_barrier_spec *spec, int64_t wait_ms,
                           redlock_report *report)
{
    struct barrier *barrier;
    redlock_result result = REDLOCK_NOMEM;
    redlock_allocator allocator;

    if (client == NULL) {
        struct rl_ask_all none;

        return rl_ask_all_open(&none, NULL, "barrier:", "x", 1, report);
    }
    allocator = client->engine.config.allocator;
    barrier = allocator.allocate(allocator.context, sizeof *barrier);
    if (barrier == NULL) {
        rl_report_error(report, result, "out of memory");
        return result;
    }
    memset(barrier, 0, sizeof *barrier);
    result = rl_ask_all_open(&barrier->ask, client, "barrier:", spec->name, spec->name_length, report);
    if (result == REDLOCK_OK) {
        barrier->spec = *spec;
        result = take_part(barrier, wait_ms);
        rl_ask_all_close(&barrier->ask);
    }
    allocator.release(allocator.context, barrier, sizeof *barrier);
    return result;
}

redlock_result redlock_barrier(redlock_client *client, const redlock_barrier_spec *spec, int64_t wait_ms,
                               redlock_report *report)
{
    RL_NO_CANCELLATION;
    struct rl_report_frame frame;
    redlock_barrier_spec known;
    const char *wrong;

    if (!rl_report_accept(&frame, report))
        return REDLOCK_INVALID;
    if (spec == NULL || !rl_sized_read(&known, sizeof known, spec))
        wrong = "spec.size is not sizeof(redlock_barrier_spec): start from REDLOCK_BARRIER_SPEC_INIT";
    else
        wrong = check(client, &known);
    if (wrong == NULL && wait_ms < REDLOCK_WAIT_FOREVER)
        wrong = "wait_ms is below -1: use REDLOCK_WAIT_FOREVER to wait without end";
    if (wrong != NULL) {
        rl_report_error(frame.report, REDLOCK_INVALID, "%s", wrong);
        return rl_report_return(&frame, REDLOCK_INVALID);
    }
    return rl_report_return(&frame, call(client, &known, wait_ms, frame.report));
}
