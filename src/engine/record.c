/*
 * What nodes said, written down for the caller's report and for the statistics. Nothing here changes what
 * happens.
 */
#include "engine/record.h"

#include <assert.h>
#include <string.h>

#include "base/bytes.h"
#include "engine/details.h"
#include "engine/report.h"
#include "engine/stats.h"
#include "engine/vote.h"
#include "wire/error_reply.h"
#include "wire/look_reply.h"

/* The record that the lock's present question fills in; NULL when nobody wants it. A release has ended all
 * extensions before it is sent, so that the first waiter waits for the question under way. */
static struct rl_record *find_record(redlock_lock *lock)
{
    struct rl_link *link;

    if (lock->asking != NULL)
        return &lock->asking->record;
    link = rl_list_first(&lock->waiting);
    return link != NULL ? &RL_CONTAINER(link, struct rl_operation, on_lock)->record : NULL;
}

struct rl_answer rl_record_refusal_answer(struct rl_engine *engine, uint32_t node)
{
    const struct rl_session *session = &engine->sessions[node];
    enum rl_cause obstacle = rl_vote_obstacle(engine, node);
    struct rl_answer answer = {.verdict = RL_FAILED, .cause = obstacle, .ttl_left_ms = -2};

    if (session->state != RL_SESSION_READY)
        return answer;
    if (obstacle == RL_CAUSE_NONE)
        answer.cause = rl_session_silent(session, engine->now) ? RL_CAUSE_SILENT : RL_CAUSE_MEMORY;
    else if (!rl_cause_forbids(obstacle) && obstacle != RL_CAUSE_MEMORY)
        answer.verdict = RL_INELIGIBLE;
    return answer;
}

static const char *refusal_words(const struct rl_engine *engine, const struct rl_session *session)
{
    if (!rl_vote_reachable(engine, session->node))
        return session->error;
    if (rl_vote_obstacle(engine, session->node) != RL_CAUSE_NONE)
        return engine->guards[session->node].why;
    if (rl_session_silent(session, engine->now))
        return "it has not answered earlier questions yet";
    return "too much is waiting to be sent to it, or memory ran out";
}

void rl_record_refusal(redlock_lock *lock, uint32_t node)
{
    struct rl_engine *engine = lock->engine;
    struct rl_record *record = find_record(lock);

    assert(node < engine->node_count);
    if (record == NULL)
        return;
    record->nodes[node].answer = rl_record_refusal_answer(engine, node);
    record->nodes[node].latency_us = -1;
    rl_text_copy(record->nodes[node].detail, sizeof record->nodes[node].detail,
                 refusal_words(engine, &engine->sessions[node]));
}

static void write_error(struct rl_node_record *record, const char *words, size_t length)
{
    struct rl_text detail = rl_text_on(record->detail, sizeof record->detail);
    size_t place = rl_error_place(words, length);

    rl_text_add_printable(&detail, words + place, length - place);
}

void rl_record_failure(redlock_lock *lock, uint32_t node, enum rl_cause cause, const char *words,
                       size_t length)
{
    struct rl_record *record = find_record(lock);

    assert(node < lock->engine->node_count);
    if (record == NULL)
        return;
    record->nodes[node].answer = (struct rl_answer){.verdict = RL_FAILED, .cause = cause, .ttl_left_ms = -2};
    record->nodes[node].latency_us = -1;
    write_error(&record->nodes[node], words, length);
}

/* How many nodes named this owner. */
static uint32_t count_named(const struct rl_record *record, uint32_t node_count, uint64_t owner)
{
    uint32_t count = 0;

    for (uint32_t node = 0; node < node_count; node++)
        count += record->nodes[node].answer.holder == owner;
    return count;
}

/* Nodes need not have the same owner: the one that most of them named is kept, of equals the last. */
static void keep_holder(struct rl_record *record, uint32_t node_count, uint64_t owner,
                        const struct rl_lock_reply *reply)
{
    if (owner != record->named) {
        if (record->named != 0 &&
            count_named(record, node_count, owner) < count_named(record, node_count, record->named))
            return;
        redlock_holder_parse(reply->owner, reply->owner_length, &record->holder);
        record->named = owner;
    }
    record->holder_ttl_left_ms = reply->answer.ttl_left_ms;
}

/* What a denial tells of time when it names nobody: a plain one names nobody at all, and a lock that is free,
 * but for those before us in line, has no owner, so that the one seen before is gone. */
static void keep_time(struct rl_record *record, uint32_t node_count, const struct rl_lock_reply *reply)
{
    if (reply->answer.verdict != RL_DENIED)
        return;
    if (reply->owner != NULL && record->named != 0 && count_named(record, node_count, record->named) > 0)
        return; /* other nodes still name one */
    if (reply->owner != NULL) {
        record->holder = (redlock_holder){0};
        record->named = 0;
    }
    record->holder_ttl_left_ms = reply->answer.ttl_left_ms;
}

/* Nodes need not agree on them: the one that names most is believed. */
static void record_sharers(struct rl_record *record, const struct rl_lock_reply *reply)
{
    redlock_details *details = record->details;
    const char *owner;
    size_t length, offset = 0;
    uint32_t count = 1;

    if (reply->answer.sharers == 0)
        return;
    while (rl_look_reply_other(reply, &offset, &owner, &length))
        count++;
    if (count <= details->sharer_count)
        return;
    details->sharer_count = 0;
    rl_details_add_sharer(details, reply->owner, reply->owner_length);
    for (offset = 0; rl_look_reply_other(reply, &offset, &owner, &length);)
        rl_details_add_sharer(details, owner, length);
    record->sharer_count = details->sharer_count;
}

static void record_holder(struct rl_record *record, uint32_t node_count, uint32_t node, bool inspects,
                          const struct rl_lock_reply *reply)
{
    bool names = reply->owner != NULL && (reply->owner_length > 0 || inspects);
    uint64_t owner = names ? rl_lock_answer_holder(reply) : 0;

    record->nodes[node].answer.holder = owner;
    record->nodes[node].answer.marked = reply->answer.marked;
    record->nodes[node].answer.shared = reply->answer.shared;
    record->nodes[node].answer.sharers = reply->answer.sharers;
    if (names)
        keep_holder(record, node_count, owner, reply);
    else
        keep_time(record, node_count, reply);
    if (names && record->details != NULL)
        rl_details_set_owner(record->details, node, reply->owner, reply->owner_length);
    if (names && record->details != NULL && inspects)
        record_sharers(record, reply);
}

/* By the id that people are shown, or by the whole owner value. */
static bool is_named(const redlock_lock *lock, const char *owner, size_t length)
{
    const char *wanted = rl_lock_owner(lock);
    redlock_holder holder;

    if (length == lock->owner_length && memcmp(owner, wanted, length) == 0)
        return true;
    redlock_holder_parse(owner, length, &holder);
    return strlen(holder.id) == lock->owner_length && memcmp(holder.id, wanted, lock->owner_length) == 0;
}

/* Of those who share a lock an operator may have named any: that one counts as the node's owner. */
static void prefer_named(const redlock_lock *lock, uint32_t node, const struct rl_lock_reply *reply)
{
    bool named = reply->owner != NULL && is_named(lock, reply->owner, reply->owner_length);
    const char *owner;
    size_t length, offset = 0;

    while (rl_look_reply_other(reply, &offset, &owner, &length)) {
        if (!is_named(lock, owner, length))
            continue;
        lock->asking->ambiguous = lock->asking->ambiguous || named;
        named = true;
        rl_details_set_owner(lock->asking->record.details, node, owner, length);
    }
}

void rl_record_reply(redlock_lock *lock, uint32_t node, enum rl_command_kind kind, int64_t latency_us,
                     const struct rl_lock_reply *reply)
{
    struct rl_record *record = find_record(lock);

    assert(node < lock->engine->node_count);
    if (record == NULL)
        return;
    /* A peek after a lost round adds to the vote's verdict; it does not replace it. */
    if ((kind == RL_COMMAND_PEEK || kind == RL_COMMAND_WATCH) && lock->asking != NULL &&
        lock->asking->kind == RL_OPERATION_ACQUIRE) {
        if (reply->answer.verdict == RL_DENIED)
            record->nodes[node].answer.ttl_left_ms = reply->answer.ttl_left_ms;
    } else {
        record->nodes[node].answer = reply->answer;
        record->nodes[node].latency_us = latency_us;
    }
    record_holder(record, lock->engine->node_count, node,
                  lock->asking != NULL && lock->asking->kind == RL_OPERATION_INSPECT, reply);
    if (lock->asking != NULL && lock->asking->breaks && record->details != NULL)
        prefer_named(lock, node, reply);
    record->nodes[node].detail[0] = '\0';
    if (reply->error != NULL && reply->error_length > 0)
        write_error(&record->nodes[node], reply->error, reply->error_length);
    else if (reply->error != NULL)
        rl_text_copy(record->nodes[node].detail, sizeof record->nodes[node].detail,
                     "it answered with an empty error");
}

/* Nodes need not agree on the waiters: the one that knows most is believed. */
void rl_record_line(redlock_lock *lock, const char *bytes, size_t length)
{
    struct rl_record *record = lock->asking != NULL ? &lock->asking->record : NULL;
    struct rl_line line;
    uint32_t waiting;

    if (record == NULL || !rl_line_read(bytes, length, &line))
        return;
    waiting = line.in_line;
    for (uint32_t i = 0; i < line.waiting_named; i++)
        waiting += line.others[i].count;
    if (waiting <= record->waiting)
        return;
    record->waiting = waiting;
    if (record->details == NULL)
        return;
    record->details->waiter_count = 0;
    for (uint32_t i = 0; i < line.in_line_named; i++)
        rl_details_add_waiter(record->details, &line.line[i], i + 1);
    for (uint32_t i = 0; i < line.waiting_named; i++)
        rl_details_add_waiter(record->details, &line.others[i], 0);
    record->waiter_count = record->details->waiter_count;
}

void rl_record_inability(struct rl_engine *engine, uint32_t node, const struct rl_lock_reply *reply)
{
    struct rl_node_guard *guard = &engine->guards[node];
    struct rl_text text = rl_text_on(guard->refusal, sizeof guard->refusal);

    guard->refused = RL_CAUSE_NONE;
    if (!rl_cause_is_inability(reply->answer.cause))
        return;
    guard->refused = reply->answer.cause;
    if (reply->error != NULL)
        rl_text_add_printable(&text, reply->error, reply->error_length);
}

void rl_record_silence(redlock_lock *lock, const struct rl_tally *tally)
{
    rl_node_set silent = rl_node_set_all(tally->node_count) & ~rl_tally_answered(tally);
    struct rl_record *record = find_record(lock);

    for (rl_node_set left = silent; left != 0; left &= left - 1) {
        uint32_t node = rl_node_set_first(left);

        rl_stats_verdict(lock->engine, node, REDLOCK_VERDICT_SILENT, RL_CAUSE_TIMED_OUT);
        if (record != NULL && lock->engine->sessions[node].state != RL_SESSION_READY)
            rl_text_copy(record->nodes[node].detail, sizeof record->nodes[node].detail, "no connection yet");
    }
    if (record != NULL)
        record->timed_out = true;
}

/* The kind of call that asks this. */
static enum rl_operation_kind call_of(enum rl_command_kind kind)
{
    switch (kind) {
    case RL_COMMAND_EXTEND:
        return RL_OPERATION_EXTEND;
    case RL_COMMAND_RELEASE:
        return RL_OPERATION_RELEASE;
    case RL_COMMAND_PEEK:
    case RL_COMMAND_WATCH:
        return RL_OPERATION_INSPECT;
    default:
        return RL_OPERATION_ACQUIRE;
    }
}

void rl_record_count(struct rl_engine *engine, uint32_t node, enum rl_command_kind kind,
                     struct rl_answer answer)
{
    rl_stats_verdict(engine, node, rl_report_verdict(call_of(kind), answer), answer.cause);
}
