/*
 * From what each node said to who holds the lock; see picture.h.
 */
#include "engine/picture.h"

/* What the nodes said of the owner that most of them named. */
struct support {
    uint32_t named;  /* it is there */
    uint32_t rivals; /* another one is there */
    uint32_t free;   /* nobody is there: the node granted us the lock, and has named nobody since */
};

static struct support count_support(const struct rl_record *record, uint32_t node_count)
{
    struct support support = {0};

    for (uint32_t node = 0; node < node_count; node++) {
        const struct rl_answer *answer = &record->nodes[node].answer;

        if (answer->holder == 0)
            support.free += answer->verdict == RL_GRANTED;
        else if (answer->holder == record->named)
            support.named++;
        else
            support.rivals++;
    }
    return support;
}

/* When the holder will be on too few nodes unless it renews: nodes need not agree on when its key ends. */
static int64_t lease_left_ms(const struct rl_record *record, uint32_t node_count)
{
    uint64_t longest = 0; /* -1, never, is the highest number */

    for (uint32_t one = 0; one < node_count; one++) {
        uint64_t left = (uint64_t)record->nodes[one].answer.ttl_left_ms;
        uint32_t at_least = 0;

        if (record->nodes[one].answer.holder != record->named)
            continue;
        for (uint32_t node = 0; node < node_count; node++)
            at_least += record->nodes[node].answer.holder == record->named &&
                        (uint64_t)record->nodes[node].answer.ttl_left_ms >= left;
        if (at_least >= rl_quorum(node_count) && left > longest)
            longest = left;
    }
    return (int64_t)longest;
}

/* The holder of a lock is on a quorum of all nodes. An inspection has heard all nodes that could answer. A
 * round ends as soon as it cannot be won, so it is enough that those that were heard named one and the same,
 * unless too many were free. */
static bool is_holder(const redlock_report *report, const struct rl_operation *operation)
{
    struct support support = count_support(&operation->record, report->node_count);

    if (support.named >= report->quorum)
        return true;
    return operation->kind != RL_OPERATION_INSPECT && support.rivals == 0 &&
           report->node_count - support.free >= report->quorum;
}

/* Whether a node says that an operator has broken the hold of the owner that most of them named. */
static bool is_marked(const struct rl_record *record, uint32_t node_count)
{
    for (uint32_t node = 0; node < node_count; node++)
        if (record->nodes[node].answer.marked && record->nodes[node].answer.holder == record->named)
            return true;
    return false;
}

/* How many share the lock, by the node that knows most. */
static uint32_t count_sharers(const struct rl_record *record, uint32_t node_count)
{
    uint32_t most = 0;

    for (uint32_t node = 0; node < node_count; node++)
        if (record->nodes[node].answer.holder == record->named && record->nodes[node].answer.sharers > most)
            most = record->nodes[node].answer.sharers;
    return record->named != 0 ? most : 0;
}

bool rl_picture_name_holder(redlock_report *report, const struct rl_operation *operation)
{
    const struct rl_record *record = &operation->record;
    bool asked_all = operation->kind == RL_OPERATION_INSPECT && record->named != 0;

    if (operation->kind == RL_OPERATION_BREAK) {
        report->holder = record->holder;
        report->holder_ttl_left_ms = record->holder_ttl_left_ms;
        return false;
    }
    if (record->named != 0 && !is_holder(report, operation))
        return true;
    report->holder = record->holder;
    report->holder_ttl_left_ms =
        asked_all ? lease_left_ms(record, report->node_count) : record->holder_ttl_left_ms;
    report->sharers = count_sharers(record, report->node_count);
    if (record->named != 0 && is_marked(record, report->node_count))
        report->holder.broken = report->broken = 1;
    return false;
}

/* The fence of the latest holder: a quorum has it, or a higher one. A node that was late may have gone higher
 * by itself, so that no single node is believed. */
uint64_t rl_picture_fence(const struct rl_operation *operation)
{
    uint32_t node_count = operation->lock->engine->node_count;
    const struct rl_node_record *nodes = operation->record.nodes;
    uint64_t agreed = 0;

    for (uint32_t one = 0; one < node_count; one++) {
        uint32_t at_least = 0;

        for (uint32_t node = 0; node < node_count; node++)
            at_least += nodes[node].fence >= nodes[one].fence;
        if (at_least >= rl_quorum(node_count) && nodes[one].fence > agreed)
            agreed = nodes[one].fence;
    }
    return agreed;
}

struct rl_picture rl_picture_of(const struct rl_operation *look)
{
    const struct rl_record *record = &look->record;
    const struct rl_engine *engine = look->lock->engine;
    struct support support = count_support(record, engine->node_count);
    struct rl_picture picture = {.now = engine->now, .ttl_left_ms = -2, .known = look->result == REDLOCK_OK};
    uint32_t free = 0;

    for (uint32_t node = 0; node < engine->node_count; node++) {
        free += record->nodes[node].answer.verdict == RL_GRANTED;
        picture.shared = picture.shared || record->nodes[node].answer.shared;
    }
    picture.free = free >= rl_quorum(engine->node_count);
    picture.fence = rl_picture_fence(look);
    picture.free = picture.free || look->slotted; /* nobody has the name itself */
    if (record->named == 0 || look->slotted)
        return picture;
    picture.votes = support.named;
    picture.holder = record->holder;
    picture.broken = is_marked(record, engine->node_count);
    picture.holder.broken = picture.broken;
    picture.ttl_left_ms = record->holder_ttl_left_ms;
    if (support.named < rl_quorum(engine->node_count))
        return picture;
    picture.owner = record->named;
    picture.ttl_left_ms = lease_left_ms(record, engine->node_count);
    picture.ends_from = picture.ends = RL_TIME_NEVER;
    if (picture.ttl_left_ms >= 0) {
        picture.ends_from = rl_time_add(look->started, rl_span_ms(picture.ttl_left_ms));
        picture.ends = rl_time_add(engine->now, rl_span_ms(picture.ttl_left_ms));
    }
    return picture;
}
