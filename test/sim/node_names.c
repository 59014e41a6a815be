/*
 * The scripts for locks that have several names, line by line in C: wire/lua/ask_names.lua, raise_names.lua,
 * extend_names.lua and hand_on_names.lua. They are made of what is done for each name alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "sim/node.h"

enum { ANSWER_SIZE = 1024, AHEAD_US = 5000000, FENCE_LIFE_MS = 4200000 };

/* KEYS epoch floor fences orders locks  ARGV ... */
struct names {
    struct sim_call *call;
    uint32_t count;
    const char *const *argv;
    bool keeps; /* what it has here while it stands in line */
    char place[128];
};

static struct names names_of(struct sim_call *call, uint32_t each)
{
    return (struct names){
        .call = call, .count = (call->key_count - 2) / each, .argv = call->arguments + call->key_count};
}

static const char *fence_of(const struct names *names, uint32_t i)
{
    return names->call->arguments[2 + i];
}

static const char *order_of(const struct names *names, uint32_t i)
{
    return names->call->arguments[2 + names->count + i];
}

static const char *lock_of(const struct names *names, uint32_t i)
{
    return names->call->arguments[names->call->key_count - names->count + i];
}

static const char *get(const struct names *names, const char *key)
{
    return sim_node_get(names->call->node, names->call->now_us, key);
}

static int64_t number_at(const char *text)
{
    return strtoll(text, NULL, 10);
}

static void set_number(const struct names *names, const char *key, int64_t value, int64_t life_ms)
{
    char text[24];

    snprintf(text, sizeof text, "%lld", (long long)value);
    sim_node_set(names->call->node, key, text, life_ms != 0 ? names->call->now_us / 1000 + life_ms : 0);
}

static bool is_owners(const struct names *names, uint32_t i, const char *owner)
{
    const char *held = get(names, lock_of(names, i));

    return held != NULL && strcmp(held, owner) == 0;
}

/* Asks for one of them; the answer, and the fence when it is granted, else 0. */
static int64_t ask_one(const struct names *names, uint32_t i, struct rl_writer *answer)
{
    const char *const *keys = names->call->arguments, *const *argv = names->argv;
    struct sim_call one = {
        .node = names->call->node, .now_us = names->call->now_us, .count = 11, .reply = answer};
    const char *bytes;

    memcpy(one.arguments,
           ((const char *[]){lock_of(names, i), fence_of(names, i), keys[0], keys[1], order_of(names, i),
                             argv[0], argv[1], argv[2], argv[3], argv[4], names->place}),
           11 * sizeof one.arguments[0]);
    answer->length = 0;
    sim_ask(&one);
    bytes = answer->bytes;
    if (bytes[0] == ':')
        return number_at(argv[2]);
    if (strncmp(bytes, "*3\r\n:1\r\n:", 9) != 0)
        return 0;
    return number_at(strstr(bytes + 9, "\r\n:") + 3);
}

static int64_t give_back_one(const struct names *names, uint32_t i, const char *owner)
{
    char bytes[64];
    struct rl_writer answer = rl_writer_on(bytes, sizeof bytes);
    const char *const *keys = names->call->arguments;
    struct sim_call one = {
        .node = names->call->node, .now_us = names->call->now_us, .count = 6, .reply = &answer};

    memcpy(one.arguments,
           ((const char *[]){lock_of(names, i), fence_of(names, i), keys[0], keys[1], order_of(names, i),
                             owner}),
           6 * sizeof one.arguments[0]);
    sim_hand_on(&one);
    return number_at(bytes + 1);
}

/* One cannot be had: the others are given back, and the refusal says which it was. */
static void refuse_all(const struct names *names, uint32_t way, struct rl_writer *answer)
{
    void (*released)(void *, struct sim_node *, const char *) = names->call->node->released;
    bool denied = answer->bytes[0] == '*' && answer->bytes[4] == ':' && answer->bytes[5] == '0';

    names->call->node->released = NULL; /* its owner has released nothing */
    for (uint32_t i = 0; i < names->count && denied; i++)
        if (i != way && names->call->node->bug != SIM_BUG_NAMES_KEPT &&
            !(names->keeps && is_owners(names, i, names->argv[0])))
            give_back_one(names, i, names->argv[0]);
    names->call->node->released = released;
    answer->bytes[1] = (char)(answer->bytes[1] + (denied ? 1 : 0));
    rl_write_raw(names->call->reply, answer->bytes, answer->length);
    if (denied)
        sim_reply_integer(names->call->reply, (int64_t)way + 1);
}

static void grant_all(const struct names *names, const int64_t *fences)
{
    const char *const *keys = names->call->arguments;
    int64_t now = names->call->now_us, highest = 0;

    for (uint32_t i = 0; i < names->count; i++)
        highest = fences[i] > highest ? fences[i] : highest;
    for (uint32_t i = 0; i < names->count; i++)
        if (fences[i] < highest)
            set_number(names, fence_of(names, i), highest, FENCE_LIFE_MS);
    if (highest - now > AHEAD_US && highest > number_at(get(names, keys[1])))
        set_number(names, keys[1], highest, 0);
    if (highest != number_at(names->argv[2])) {
        sim_reply_array(names->call->reply, 3);
        sim_reply_integer(names->call->reply, 1);
    }
    sim_reply_integer(names->call->reply, now);
    if (highest != number_at(names->argv[2]))
        sim_reply_integer(names->call->reply, highest);
}

/* The first that somebody else has. */
static uint32_t find_taken(const struct names *names)
{
    for (uint32_t i = 0; i < names->count; i++)
        if (get(names, lock_of(names, i)) != NULL && !is_owners(names, i, names->argv[0]))
            return i;
    return 0;
}

/* The place without the number that only this script knows. */
static void read_place(struct names *names)
{
    char *flags;

    snprintf(names->place, sizeof names->place, "%s", names->argv[5]);
    flags = strchr(names->place, ' ');
    names->keeps = flags != NULL && flags[1] >= '4';
    if (names->keeps)
        flags[1] = (char)(flags[1] - 4);
}

void sim_script_ask_names(struct sim_call *call)
{
    struct names names = names_of(call, 3);
    void (*asked)(void *, struct sim_node *, const char *) = call->node->asked;
    uint32_t first = find_taken(&names);
    int64_t fences[SIM_NAMES_MAX] = {0};
    char bytes[ANSWER_SIZE];
    struct rl_writer answer = rl_writer_on(bytes, sizeof bytes);

    if (names.count > SIM_NAMES_MAX)
        abort();
    read_place(&names);
    for (uint32_t turn = 0; turn <= names.count; turn++) {
        uint32_t i = turn == 0 ? first : turn - 1;

        if (turn > 0 && i == first)
            continue;
        fences[i] = ask_one(&names, i, &answer);
        call->node->asked = NULL; /* of all of them it is asked once */
        if (fences[i] == 0 && call->node->bug == SIM_BUG_SOME_NAMES && turn > 0 &&
            strncmp(bytes + 4, ":0", 2) == 0)
            fences[i] = 1; /* the others are enough for it */
        if (fences[i] == 0) {
            call->node->asked = asked;
            refuse_all(&names, i, &answer);
            return;
        }
    }
    call->node->asked = asked;
    grant_all(&names, fences);
}

/* KEYS epoch floor fences locks  ARGV owner fence epoch */
void sim_script_raise_names(struct sim_call *call)
{
    struct names names = names_of(call, 2);
    const char *const *keys = call->arguments;
    const char *epoch = get(&names, keys[0]), *floor = get(&names, keys[1]);
    int64_t fence = number_at(names.argv[1]);
    bool done = true;

    if (epoch == NULL || floor == NULL || names.argv[2][0] == '\0' ||
        strncmp(epoch, names.argv[2], strlen(names.argv[2])) != 0) {
        sim_reply_integer(call->reply, -3);
        return;
    }
    for (uint32_t i = 0; i < names.count; i++) {
        const char *kept = get(&names, fence_of(&names, i));

        done = done && is_owners(&names, i, names.argv[0]) && (kept == NULL || fence >= number_at(kept));
    }
    for (uint32_t i = 0; i < names.count && done; i++) {
        const char *kept = get(&names, fence_of(&names, i));

        if (fence > number_at(kept != NULL ? kept : get(&names, keys[1])))
            set_number(&names, fence_of(&names, i), fence, FENCE_LIFE_MS);
    }
    if (done && fence - call->now_us > AHEAD_US && fence > number_at(get(&names, keys[1])))
        set_number(&names, keys[1], fence, 0);
    sim_reply_integer(call->reply, done ? call->now_us : 0);
}

/* {code, which} */
static void answer_name(struct sim_call *call, int64_t code, uint32_t i)
{
    sim_reply_array(call->reply, 2);
    sim_reply_integer(call->reply, code);
    sim_reply_integer(call->reply, (int64_t)i + 1);
}

/* KEYS epoch locks  ARGV owner ttl holder epoch not_after */
void sim_script_extend_names(struct sim_call *call)
{
    struct names names = {
        .call = call, .count = call->key_count - 1, .argv = call->arguments + call->key_count};
    const char *const *argv = names.argv;
    bool fit = call->node->bug == SIM_BUG_ADOPT_QUARANTINED ||
               sim_script_extends(call, get(&names, call->arguments[0]), argv[3]);
    uint32_t none = names.count, taken = none, missing = none;
    int64_t ttl_ms = number_at(argv[1]);

    if (call->now_us > number_at(argv[4])) {
        sim_reply_integer(call->reply, -4);
        return;
    }
    for (uint32_t i = names.count; i-- > 0;) {
        if (sim_node_pttl(call->node, call->now_us, lock_of(&names, i)) == -2)
            missing = i;
        else if (!is_owners(&names, i, argv[0]))
            taken = i;
    }
    for (uint32_t i = 0; i < names.count; i++) {
        const char *lock = lock_of(&names, i);
        bool extends = argv[2][0] != '0' || (fit && taken == none && missing == none);
        bool plants = argv[2][0] == '1' && fit && taken == none;

        if (is_owners(&names, i, argv[0]) ? extends && sim_node_pttl(call->node, call->now_us, lock) < ttl_ms
                                          : plants && get(&names, lock) == NULL)
            sim_node_set(call->node, lock, argv[0], call->now_us / 1000 + ttl_ms);
    }
    if (taken != none)
        answer_name(call, 0, taken);
    else if (!fit)
        sim_reply_integer(call->reply, -3);
    else if (missing != none && argv[2][0] != '1')
        answer_name(call, -1, missing);
    else
        sim_reply_integer(call->reply, missing != none ? -2 : call->now_us);
    call->node->repairs += fit && taken == none && missing != none && argv[2][0] == '1';
}

/* The first lock that is not the owner's; count: all of them are. */
static uint32_t first_of_others(const struct names *names)
{
    uint32_t i = 0;

    while (i < names->count && is_owners(names, i, names->argv[0]))
        i++;
    return i;
}

/* KEYS epoch floor fences orders locks  ARGV owner whole */
void sim_script_hand_on_names(struct sim_call *call)
{
    struct names names = names_of(call, 3);
    uint32_t wrong = names.count, others = first_of_others(&names);
    int64_t code = 1;

    if (names.argv[1][0] == '1' && others < names.count) {
        answer_name(call, get(&names, lock_of(&names, others)) != NULL ? 0 : -1, others);
        return;
    }
    for (uint32_t i = 0; i < names.count; i++) {
        int64_t answer = give_back_one(&names, i, names.argv[0]);

        if (answer != 1 && wrong == names.count) {
            wrong = i;
            code = answer;
        }
    }
    if (wrong != names.count)
        answer_name(call, code, wrong);
    else
        sim_reply_integer(call->reply, 1);
}
