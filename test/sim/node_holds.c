/*
 * Holds that are shared, as wire/lua/parts/holds.lua keeps them: a set under the key of the lock, in which
 * each ends for itself, and the key with the last of them; and the scripts that concern one of them alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/node.h"

static int64_t number(const char *text)
{
    return strtoll(text, NULL, 10);
}

static int64_t ms_of(const struct sim_call *call)
{
    return call->now_us / 1000;
}

static struct sim_sharing *find_sharing(struct sim_node *node, const char *key)
{
    struct sim_sharing *place = NULL;

    for (int i = 0; i < SIM_NAMES_MAX; i++) {
        struct sim_sharing *sharing = &node->memory.sharing[i];

        if (strcmp(sharing->key, key) == 0)
            return sharing;
        if (place == NULL && sharing->key[0] == '\0')
            place = sharing;
    }
    if (place == NULL)
        abort(); /* there is room for every name there is */
    snprintf(place->key, sizeof place->key, "%s", key);
    return place;
}

static struct sim_hold *find_hold(struct sim_sharing *sharing, const char *owner)
{
    for (int i = 0; i < SIM_HOLDS_MAX; i++)
        if (strcmp(sharing->holds[i].owner, owner) == 0)
            return &sharing->holds[i];
    return NULL;
}

static bool is_later(const struct sim_hold *a, const struct sim_hold *b)
{
    return a->end_ms != b->end_ms ? a->end_ms > b->end_ms : strcmp(a->owner, b->owner) > 0;
}

static const struct sim_hold *last_of(const struct sim_sharing *sharing)
{
    const struct sim_hold *last = NULL;

    for (int i = 0; i < SIM_HOLDS_MAX; i++)
        if (sharing->holds[i].owner[0] != '\0' && (last == NULL || is_later(&sharing->holds[i], last)))
            last = &sharing->holds[i];
    return last;
}

static struct sim_hold *least_of(struct sim_sharing *sharing)
{
    struct sim_hold *least = NULL;

    for (int i = 0; i < SIM_HOLDS_MAX; i++)
        if (sharing->holds[i].owner[0] != '\0' &&
            (least == NULL || strcmp(sharing->holds[i].owner, least->owner) < 0))
            least = &sharing->holds[i];
    return least;
}

/* The key ends with the last of them. */
static void end_with_last(struct sim_call *call, const char *key)
{
    const struct sim_hold *last = last_of(find_sharing(call->node, key));

    if (last == NULL)
        sim_node_remove(call->node, key);
    else
        sim_node_set_holds(call->node, key, last->end_ms);
}

uint32_t sim_holds_count(struct sim_call *call, const char *key)
{
    struct sim_sharing *sharing;
    uint32_t count = 0, ended = 0;

    if (sim_node_pttl(call->node, call->now_us, key) == -2 ||
        sim_node_find(call->node, key)->type != SIM_HOLDS)
        return 0;
    sharing = find_sharing(call->node, key);
    for (int i = 0; i < SIM_HOLDS_MAX; i++) {
        bool ends = sharing->holds[i].owner[0] != '\0' && sharing->holds[i].end_ms < ms_of(call);

        if (ends)
            sharing->holds[i].owner[0] = '\0';
        ended += ends;
        count += sharing->holds[i].owner[0] != '\0';
    }
    if (ended > 0 && count == 0)
        sim_node_remove(call->node, key);
    else if (ended > 0)
        sim_tracking_changed(call->node, key);
    return count;
}

bool sim_holds_has(struct sim_call *call, const char *key, const char *owner)
{
    return sim_holds_count(call, key) > 0 && find_hold(find_sharing(call->node, key), owner) != NULL;
}

/* Planted bug: as in Redisson, whose renewals were for all readers. */
static void extend_all(struct sim_sharing *sharing, int64_t end_ms)
{
    for (int i = 0; i < SIM_HOLDS_MAX; i++)
        if (sharing->holds[i].owner[0] != '\0' && sharing->holds[i].end_ms < end_ms)
            sharing->holds[i].end_ms = end_ms;
}

void sim_holds_add(struct sim_call *call, const char *key, const char *owner, int64_t ms)
{
    struct sim_sharing *sharing = find_sharing(call->node, key);
    struct sim_hold *hold;

    if (sim_holds_count(call, key) == 0)
        *sharing = (struct sim_sharing){0};
    snprintf(sharing->key, sizeof sharing->key, "%s", key);
    hold = find_hold(sharing, owner);
    call->node->fresh = hold == NULL;
    if (hold == NULL)
        hold = find_hold(sharing, "");
    if (hold == NULL)
        abort(); /* there is room for everybody */
    snprintf(hold->owner, sizeof hold->owner, "%s", owner);
    if (call->node->fresh || hold->end_ms < ms_of(call) + ms)
        hold->end_ms = ms_of(call) + ms;
    if (call->node->bug == SIM_BUG_HOLDS_AS_ONE)
        extend_all(sharing, hold->end_ms);
    end_with_last(call, key);
    if (call->node->wrote != NULL)
        call->node->wrote(call->node->context, call->node, key, owner);
}

bool sim_holds_remove(struct sim_call *call, const char *key, const char *owner)
{
    struct sim_hold *hold =
        sim_holds_count(call, key) > 0 ? find_hold(find_sharing(call->node, key), owner) : NULL;

    if (hold == NULL)
        return false;
    hold->owner[0] = '\0';
    end_with_last(call, key);
    return true;
}

int64_t sim_holds_end_ms(struct sim_node *node, const char *key, const char *owner)
{
    const struct sim_hold *hold = find_hold(find_sharing(node, key), owner);

    return hold != NULL ? hold->end_ms : 0;
}

const char *sim_holds_last(struct sim_node *node, const char *key)
{
    const struct sim_hold *last = last_of(find_sharing(node, key));

    return last != NULL ? last->owner : "";
}

const char *sim_holds_name(struct sim_call *call, const char *key)
{
    static char name[SIM_VALUE_SIZE + 32];
    uint32_t count = sim_holds_count(call, key);

    if (count == 0)
        return "foreign";
    snprintf(name, sizeof name, "shared|%u|%s", count, least_of(find_sharing(call->node, key))->owner);
    return name;
}

static void number_repair(struct sim_call *call, const char *fence_key, const char *floor_key,
                          int64_t proposed)
{
    const char *last = sim_node_get(call->node, call->now_us, fence_key);
    const char *floor = sim_node_get(call->node, call->now_us, floor_key);
    struct sim_vote vote = {.has_fence = last != NULL, .floor = floor != NULL ? number(floor) : 0};

    vote.known = last != NULL ? number(last) : vote.floor;
    vote.stored = vote.known > vote.floor ? vote.known : vote.floor;
    sim_script_store(call, &vote, fence_key, floor_key, sim_script_number(call, &vote, proposed));
}

/* KEYS lock epoch fence floor  ARGV owner ttl holder epoch not_after fence */
void sim_script_extend_shared(struct sim_call *call)
{
    const char *const *at = call->arguments, *const *rest = at + 4;
    bool fit = sim_script_extends(call, sim_node_get(call->node, call->now_us, at[1]), rest[3]);
    uint32_t count = sim_holds_count(call, at[0]);

    if (call->now_us > number(rest[4])) {
        sim_reply_integer(call->reply, -4);
    } else if (sim_holds_has(call, at[0], rest[0])) {
        if ((fit || strcmp(rest[2], "0") != 0) &&
            sim_holds_end_ms(call->node, at[0], rest[0]) < ms_of(call) + number(rest[1]))
            sim_holds_add(call, at[0], rest[0], number(rest[1]));
        sim_reply_integer(call->reply, fit ? call->now_us : -3);
    } else if (count == 0 && sim_node_pttl(call->node, call->now_us, at[0]) != -2) {
        sim_reply_integer(call->reply, 0);
    } else if (!fit || (count == 0 && strcmp(rest[2], "1") == 0 &&
                        sim_node_get(call->node, call->now_us, at[3]) == NULL)) {
        sim_reply_integer(call->reply, -3);
    } else if (strcmp(rest[2], "1") == 0) {
        call->node->repairs++;
        if (count == 0)
            number_repair(call, at[2], at[3], number(rest[5]));
        sim_holds_add(call, at[0], rest[0], number(rest[1]));
        sim_reply_integer(call->reply, -2);
    } else {
        sim_reply_integer(call->reply, -1);
    }
}

/* KEYS lock */
void sim_script_look(struct sim_call *call)
{
    const char *key = call->arguments[0], *held = sim_node_get(call->node, call->now_us, key);
    struct sim_sharing left;
    uint32_t count = sim_holds_count(call, key);

    if (held == NULL && count == 0 && sim_node_pttl(call->node, call->now_us, key) != -2) {
        rl_write_raw(call->reply, SIM_WRONG_TYPE, strlen(SIM_WRONG_TYPE));
        return;
    }
    if (count == 0) {
        sim_reply_text(call->reply, held != NULL ? held : "");
        return;
    }
    left = *find_sharing(call->node, key);
    sim_reply_array(call->reply, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        struct sim_hold *least = least_of(&left);

        sim_reply_text(call->reply, least->owner);
        if (i == 0)
            sim_reply_integer(call->reply, count);
        least->owner[0] = '\0';
    }
}
