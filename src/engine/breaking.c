/*
 * Finds the hold to break, and remembers which nodes have not been told; see breaking.h.
 */
#include "engine/breaking.h"

#include <assert.h>
#include <string.h>

#include "engine/debts.h"
#include "engine/report.h"

enum { GRACE_MS = 10000 };

/* By the id that people are shown, or by the whole owner value. */
static bool is_named(const redlock_lock *wanted, const struct rl_node_detail *node)
{
    const char *id = rl_lock_owner(wanted);
    redlock_holder holder;

    if (node->owner_length == wanted->owner_length && memcmp(node->owner, id, node->owner_length) == 0)
        return true;
    redlock_holder_parse(node->owner, node->owner_length, &holder);
    return strlen(holder.id) == wanted->owner_length && memcmp(holder.id, id, wanted->owner_length) == 0;
}

static bool is_same(const struct rl_node_detail *one, const struct rl_node_detail *other)
{
    return one->owner_length == other->owner_length &&
           memcmp(one->owner, other->owner, one->owner_length) == 0;
}

/* When a slot was named, a holder that has it there, and of no other kind of lock. */
static bool has_slot(const struct rl_operation *operation, uint32_t node)
{
    return operation->breaks_slot == 0 || operation->record.nodes[node].answer.slot == operation->breaks_slot;
}

/* The first node that has it; NULL: none does. */
static const struct rl_node_detail *find(const struct rl_operation *operation, bool *ambiguous)
{
    const redlock_lock *lock = operation->lock;
    const struct rl_node_detail *found = NULL;

    *ambiguous = false;
    for (uint32_t i = 0; i < lock->engine->node_count; i++) {
        const struct rl_node_detail *node = &operation->record.details->nodes[i];

        if (!node->has_owner || !is_named(lock, node) || !has_slot(operation, i))
            continue;
        if (found != NULL && !is_same(found, node))
            *ambiguous = true;
        found = node;
    }
    return found;
}

/* As what it is held: what nodes that are away now are told later is a release, which has to know. */
static redlock_lock *make_target(const redlock_lock *wanted, const struct rl_node_detail *node,
                                 const struct rl_answer *answer)
{
    size_t prefix = wanted->engine->config.key_prefix_length;
    /* Whatever a node says, Redisson's format has no slots. */
    bool has_slot = answer->slot > 0 && rl_lock_kind(wanted->engine, REDLOCK_SEMAPHORE) != NULL;
    redlock_spec spec = {.size = sizeof spec,
                         .kind = has_slot         ? REDLOCK_SEMAPHORE
                                 : answer->shared ? REDLOCK_SHARED
                                                  : REDLOCK_EXCLUSIVE,
                         .name = wanted->text + prefix,
                         .name_length = wanted->key_length - prefix,
                         .permits = answer->permits};

    return rl_lock_create(wanted->engine, &spec, spec.name_length, node->owner, node->owner_length);
}

/* Nobody chose one: long enough for a holder that renews itself to hear of it, which it does every third of
 * its TTL by default. */
static void choose_grace(struct rl_operation *operation)
{
    int64_t half = operation->record.holder.ttl_ms / 2;

    if (!operation->any_grace)
        return;
    operation->grace_ms = GRACE_MS;
    if (half > GRACE_MS && half <= REDLOCK_TTL_MAX_MS)
        operation->grace_ms = (uint32_t)half;
}

redlock_result rl_breaking_begin(struct rl_operation *operation)
{
    redlock_lock *wanted = operation->lock, *target;
    bool ambiguous;
    const struct rl_node_detail *node = find(operation, &ambiguous);

    assert(operation->kind == RL_OPERATION_INSPECT && operation->breaks);
    operation->breaks = false;
    if (node == NULL)
        return REDLOCK_NOT_HELD;
    if (ambiguous || operation->ambiguous)
        return REDLOCK_INVALID;
    target =
        make_target(wanted, node, &operation->record.nodes[node - operation->record.details->nodes].answer);
    if (target == NULL)
        return REDLOCK_NOMEM;
    redlock_holder_parse(node->owner, node->owner_length, &operation->record.holder);
    if (target->slots > 0) {
        operation->record.holder.permits = target->slots;
        operation->record.holder.slot =
            operation->record.nodes[node - operation->record.details->nodes].answer.slot - 1;
    }
    choose_grace(operation);
    target->ttl_ms = operation->grace_ms;
    target->asking = operation;
    operation->kind = RL_OPERATION_BREAK;
    operation->lock = target;
    rl_operation_clear_record(operation);
    wanted->asking = NULL;
    wanted->stage = RL_LOCK_OVER;
    wanted->owed = wanted->refused_locally = 0;
    rl_list_remove(&wanted->link);
    rl_lock_unref(wanted);
    return REDLOCK_OK;
}

/* Rule: what a quorum has given up is taken from the others, too, as soon as they can be reached; those that
 * have not answered yet have been asked. While a quorum may still have it, its holder is not to lose more of
 * it. */
void rl_breaking_end(struct rl_operation *operation, bool done)
{
    rl_node_set away = operation->tally.failed | operation->tally.ineligible;
    redlock_lock *lock = operation->lock;

    for (rl_node_set left = done ? away : 0; left != 0; left &= left - 1)
        rl_debts_add(lock, rl_node_set_first(left), NULL, rl_span_us(0));
    /* Others are kept out for the grace, or for what was left of the hold when it was looked at, if that is
     * less. */
    if (operation->record.holder_ttl_left_ms < 0 ||
        operation->record.holder_ttl_left_ms > (int64_t)operation->grace_ms)
        operation->record.holder_ttl_left_ms = operation->grace_ms;
}
