/*
 * redlock_inspect_slots(): the holders of a semaphore, by what all nodes say of its slots; see ask_all.h. It
 * decides nothing: what counts as held is what a quorum of nodes has for one owner.
 */
#include <string.h>

#include "beside/ask_all.h"
#include "core/tally.h"
#include "engine/report.h"
#include "engine/sized.h"
#include "wire/guard_command.h"
#include "wire/owner.h"

static const struct rl_ask_kind slots = {"", "+eval +time +hget +mget +pttl"};

/* What one node says, read slot by slot: nodes tell of them in order. */
struct reader {
    size_t offset;
    uint32_t left; /* slots that have not been read yet */
    uint32_t slot; /* the latest that was read; 0 there is none any more */
    const char *owner;
    size_t owner_length;
    int64_t ttl_left_ms;
};

static void read_next(const struct rl_ask_all *ask, uint32_t node, struct reader *reader)
{
    struct rl_talk_node *one = &ask->talk->nodes[node];
    struct rl_resp slot, owner, left;

    reader->slot = 0;
    if (reader->left == 0)
        return;
    reader->left--;
    if (!rl_talk_item(one, &reader->offset, &slot) || !rl_talk_item(one, &reader->offset, &owner) ||
        !rl_talk_item(one, &reader->offset, &left) || slot.type != RL_RESP_INTEGER || slot.integer < 1 ||
        slot.integer > RL_SLOTS_MAX || owner.type != RL_RESP_STRING || left.type != RL_RESP_INTEGER) {
        reader->left = 0;
        return;
    }
    reader->slot = (uint32_t)slot.integer;
    reader->owner = owner.text;
    reader->owner_length = owner.text_length;
    reader->ttl_left_ms = left.integer;
}

/* Whether a node answered; *permits is the largest number of slots that any of them knows. */
static bool begin_reading(const struct rl_ask_all *ask, uint32_t node, struct reader *reader,
                          uint32_t *permits)
{
    struct rl_talk_node *one = &ask->talk->nodes[node];
    struct rl_resp head, time, count;

    *reader = (struct reader){0};
    if (!rl_ask_all_read(ask, node, &reader->offset, &head) || head.type != RL_RESP_ARRAY ||
        head.element_count < 2 || !rl_talk_item(one, &reader->offset, &time) ||
        !rl_talk_item(one, &reader->offset, &count) || count.type != RL_RESP_INTEGER)
        return false;
    if (count.integer > *permits && count.integer <= RL_SLOTS_MAX)
        *permits = (uint32_t)count.integer;
    reader->left = (head.element_count - 2) / 3;
    read_next(ask, node, reader);
    return true;
}

static bool same_owner(const struct reader *a, const struct reader *b)
{
    return a->slot == b->slot && a->owner_length == b->owner_length &&
           memcmp(a->owner, b->owner, a->owner_length) == 0;
}

/* Until when a quorum has it: the quorum-th latest of the ends. Linear in pairs; there are at most 31
 * nodes. */
static int64_t quorum_left_ms(const struct reader *readers, uint32_t node_count, const struct reader *of)
{
    int64_t best = 0;

    for (uint32_t i = 0; i < node_count; i++) {
        uint32_t as_long = 0;

        for (uint32_t k = 0; k < node_count; k++)
            as_long += same_owner(&readers[k], of) && readers[k].ttl_left_ms >= readers[i].ttl_left_ms;
        if (same_owner(&readers[i], of) && as_long >= rl_quorum(node_count) && readers[i].ttl_left_ms > best)
            best = readers[i].ttl_left_ms;
    }
    return best;
}

/* The owner that a quorum of nodes has in a slot; false: there is none. */
static bool find_holder(const struct reader *readers, uint32_t node_count, uint32_t slot, uint32_t permits,
                        redlock_slot *found)
{
    for (uint32_t i = 0; i < node_count; i++) {
        uint32_t votes = 0;

        for (uint32_t k = 0; readers[i].slot == slot && k < node_count; k++)
            votes += same_owner(&readers[i], &readers[k]);
        if (votes < rl_quorum(node_count))
            continue;
        *found = (redlock_slot){.size = sizeof *found, .slot = slot - 1, .votes = votes};
        found->ttl_left_ms = quorum_left_ms(readers, node_count, &readers[i]);
        redlock_holder_parse(readers[i].owner, readers[i].owner_length, &found->holder);
        found->holder.permits = permits;
        found->holder.slot = slot - 1;
        return true;
    }
    return false;
}

static redlock_result look(const struct rl_ask_all *ask, const char *key, size_t key_length,
                           redlock_slot_fn tell, void *context, uint32_t *permits)
{
    struct rl_argument name = {key, key_length};
    struct reader readers[RL_NODES_MAX];
    uint32_t node_count = ask->talk->node_count, done = 0, held = 0;
    redlock_slot found;
    bool wanted = tell != NULL;

    rl_talk_begin(ask->talk);
    for (uint32_t i = 0; i < node_count; i++)
        rl_ask_all_write(ask, i, &rl_script_slots_look, &name, 1);
    rl_talk_exchange(ask->talk);
    for (uint32_t i = 0; i < node_count; i++)
        done += begin_reading(ask, i, &readers[i], permits);
    for (uint32_t slot = 1; slot <= *permits; slot++) {
        if (find_holder(readers, node_count, slot, *permits, &found)) {
            held++;
            wanted = wanted && tell(context, &found) == 0;
        }
        for (uint32_t i = 0; i < node_count; i++)
            if (readers[i].slot == slot)
                read_next(ask, i, &readers[i]);
    }
    redlock_result result = rl_ask_all_result(ask, done, "have answered");
    if (ask->report != NULL)
        ask->report->held = held;
    return result;
}

redlock_result redlock_inspect_slots(redlock_client *client, const char *name, size_t name_length,
                                     redlock_slot_fn tell, void *context, uint32_t *permits,
                                     redlock_report *report)
{
    RL_NO_CANCELLATION;
    struct rl_report_frame frame;
    struct rl_ask_all ask;
    redlock_result result;
    uint32_t count = 0;

    if (!rl_report_accept(&frame, report))
        return REDLOCK_INVALID;
    result = rl_ask_all_open(&ask, client, slots, name, name_length, frame.report);
    if (result == REDLOCK_OK) {
        char key[REDLOCK_NAME_MAX + 32];
        size_t key_length = ask.key_length - strlen(RL_KEY_MARK);

        /* Its own keys are beside the line of the name, not among the marks. */
        memcpy(key, ask.key + strlen(RL_KEY_MARK), key_length);
        ask.key_length = rl_key_line(ask.key, key, key_length, "order");
        ask.pattern_length = strlen(RL_KEY_LINE);
        result = look(&ask, key, key_length, tell, context, &count);
        rl_ask_all_close(&ask);
    }
    if (permits != NULL)
        *permits = count;
    return rl_report_return(&frame, result);
}
