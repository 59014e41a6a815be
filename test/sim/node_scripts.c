/*
 * The scripts of src/wire/lua, line by line in C; see there for why. Planted bugs that live on a node are in
 * here, each behind its switch.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "core/guard.h"
#include "sim/node.h"

enum {
    CHECKED_US = 10000,
    AHEAD_US = 5000000,
    BEHIND_US = 60000000,
    FENCE_LIFE_S = 4200,
    TERM_LIFE_MS = 7200000,
    TERM_STEP_MS = 600000
};
#define TEN_MINUTES_US INT64_C(600000000)
#define FLOOR_BEHIND_US INT64_C(3500000000)
#define FLOOR_LIFTED_US INT64_C(3000000000)

static int64_t number(const char *text)
{
    bool negative = *text == '-';
    int64_t value = 0;

    for (text += negative; *text >= '0' && *text <= '9'; text++)
        value = value * 10 + (*text - '0');
    return negative ? -value : value;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t ms_of(const struct sim_call *call)
{
    return call->now_us / 1000;
}

static const char *get(struct sim_call *call, const char *key)
{
    return sim_node_get(call->node, call->now_us, key);
}

/* A command for texts meets another type: the script ends with its error. */
static bool meets_another_type(struct sim_call *call, const char *key)
{
    if (get(call, key) != NULL || sim_node_pttl(call->node, call->now_us, key) == -2)
        return false;
    rl_write_raw(call->reply, SIM_WRONG_TYPE, strlen(SIM_WRONG_TYPE));
    return true;
}

static void set_number(struct sim_call *call, const char *key, int64_t value, int64_t end_ms)
{
    char text[24];
    struct rl_text writer = rl_text_on(text, sizeof text);

    rl_text_add_integer(&writer, value);
    sim_node_set(call->node, key, text, end_ms);
}

/* Whether the epoch is the one that a client knows, by its beginning. */
static bool same_epoch(const char *epoch, const char *known)
{
    return epoch != NULL && known[0] != '\0' && strncmp(epoch, known, strlen(known)) == 0;
}

static void refuse(struct sim_call *call, int64_t code)
{
    sim_reply_array(call->reply, 2);
    sim_reply_integer(call->reply, code);
    sim_reply_integer(call->reply, call->now_us);
}

static void deny(struct sim_call *call, const char *lock, int64_t stored)
{
    sim_reply_array(call->reply, 5);
    sim_reply_integer(call->reply, 0);
    sim_reply_integer(call->reply, call->now_us);
    sim_reply_integer(call->reply, stored);
    sim_reply_integer(call->reply, sim_node_pttl(call->node, call->now_us, lock));
    sim_reply_text(call->reply, get(call, lock) != NULL ? get(call, lock) : sim_holds_name(call, lock));
}

/* The history of the master that the record is about: "1 run.history id"; "" it names none. */
static void read_history(char history[SIM_VALUE_SIZE], const char *epoch)
{
    if (sscanf(epoch, "1 %*[^ .].%[0-9a-f] ", history) != 1)
        history[0] = '\0';
}

bool sim_script_same_master(struct sim_call *call, const char *epoch)
{
    int64_t *checked_us = &call->node->memory.checked_us;
    char history[SIM_VALUE_SIZE];

    if (*checked_us != 0 && *checked_us <= call->now_us && call->now_us - *checked_us < CHECKED_US)
        return true;
    read_history(history, epoch);
    if (history[0] == '\0')
        return true;
    *checked_us = strncmp(call->node->replid, history, strlen(history)) == 0 ? call->now_us : 0;
    return *checked_us != 0;
}

bool sim_script_may_hand_on(struct sim_call *call, const char *epoch)
{
    return sim_script_same_master(call, epoch) || call->node->bug == SIM_BUG_HANDED_INELIGIBLE;
}

bool sim_script_fit(struct sim_call *call, const char *const *argv, struct sim_vote *vote)
{
    const char *const *at = call->arguments;
    const char *epoch = get(call, at[2]), *kept = get(call, at[1]), *floor_text = get(call, at[3]);

    if (!same_epoch(epoch, argv[3]) || floor_text == NULL) {
        refuse(call, -3);
        return false;
    }
    if (call->now_us > number(argv[4])) {
        refuse(call, -4);
        return false;
    }
    if (!sim_script_same_master(call, epoch)) {
        refuse(call, -3);
        return false;
    }
    vote->has_fence = kept != NULL;
    vote->floor = number(floor_text);
    vote->known = kept != NULL ? number(kept) : vote->floor;
    vote->stored = call->node->bug == SIM_BUG_FENCE_OR_FLOOR ? vote->known : larger(vote->known, vote->floor);
    return true;
}

int64_t sim_script_number(const struct sim_call *call, const struct sim_vote *vote, int64_t proposed)
{
    int64_t now = call->now_us, fence = proposed;

    if (fence - now > AHEAD_US || now - fence > BEHIND_US)
        fence = now;
    return fence <= vote->stored ? vote->stored + 1 : fence;
}

void sim_script_store(struct sim_call *call, struct sim_vote *vote, const char *fence_key,
                      const char *floor_key, int64_t fence)
{
    int64_t now = call->now_us, end_ms = ms_of(call) + FENCE_LIFE_S * INT64_C(1000);

    if (vote->has_fence && vote->known >= fence - fence % TEN_MINUTES_US)
        end_ms = ms_of(call) + sim_node_pttl(call->node, now, fence_key);
    set_number(call, fence_key, fence, end_ms);
    if (now - vote->floor > FLOOR_BEHIND_US) {
        vote->floor = now - FLOOR_LIFTED_US;
        set_number(call, floor_key, vote->floor, 0);
    }
    if (fence - now > AHEAD_US && fence > vote->floor)
        set_number(call, floor_key, fence, 0);
}

void sim_script_vote(struct sim_call *call, const char *const *argv, struct sim_vote *vote)
{
    const char *lock = call->arguments[0];
    int64_t proposed = number(argv[2]), fence = sim_script_number(call, vote, proposed);

    if (sim_node_pttl(call->node, call->now_us, lock) != -2 &&
        !(call->node->bug == SIM_BUG_HOLDS_UNSEEN && sim_holds_count(call, lock) > 0)) {
        deny(call, lock, vote->stored);
        return;
    }
    sim_script_store(call, vote, call->arguments[1], call->arguments[3], fence);
    sim_node_set(call->node, lock, argv[0], ms_of(call) + number(argv[1]));
    if (fence != proposed) {
        sim_reply_array(call->reply, 3);
        sim_reply_integer(call->reply, 1);
    }
    sim_reply_integer(call->reply, call->now_us);
    if (fence != proposed)
        sim_reply_integer(call->reply, fence);
}

/* KEYS locks  ARGV owners */
void sim_script_release_many(struct sim_call *call)
{
    call->node->batches++;
    sim_reply_array(call->reply, call->key_count);
    for (uint32_t i = 0; i < call->key_count; i++) {
        struct sim_call one = {.node = call->node, .now_us = call->now_us, .count = 2, .reply = call->reply};

        one.arguments[0] = call->arguments[i];
        one.arguments[1] = call->arguments[call->key_count + i];
        sim_script_release(&one);
    }
}

/* KEYS lock fence epoch floor  ARGV owner fence epoch */
void sim_script_raise(struct sim_call *call)
{
    const char *const *at = call->arguments;
    const char *epoch = get(call, at[2]), *kept = get(call, at[1]), *floor = get(call, at[3]);
    const char *held = get(call, at[0]);
    int64_t fence = number(at[5]), floor_number;

    if (!same_epoch(epoch, at[6]) || floor == NULL) {
        sim_reply_integer(call->reply, -3);
        return;
    }
    if (!((held != NULL && strcmp(held, at[4]) == 0) || sim_holds_has(call, at[0], at[4])) &&
        call->node->bug != SIM_BUG_RAISE_UNOWNED) {
        sim_reply_integer(call->reply, 0);
        return;
    }
    floor_number = number(floor);
    if (call->node->bug == SIM_BUG_NO_SECOND_ROUND) {
        sim_reply_integer(call->reply, call->now_us);
        return;
    }
    if (kept != NULL && fence < number(kept)) {
        sim_reply_integer(call->reply, 0);
        return;
    }
    if (fence > number(kept != NULL ? kept : floor))
        set_number(call, at[1], fence, ms_of(call) + FENCE_LIFE_S * INT64_C(1000));
    if (fence - call->now_us > AHEAD_US && fence > floor_number)
        set_number(call, at[3], fence, 0);
    sim_reply_integer(call->reply, call->now_us);
}

/* Whether the memory is the one the client knows, and the node does not sit out. */
bool sim_script_extends(const struct sim_call *call, const char *epoch, const char *known)
{
    char id[64], known_id[64];
    const char *until = epoch != NULL ? strrchr(epoch, ' ') : NULL;

    return until != NULL && sscanf(epoch, "1 %*s %63s", id) == 1 &&
           sscanf(known, "1 %*s %63s", known_id) == 1 && strcmp(id, known_id) == 0 &&
           number(until + 1) * 1000 <= call->now_us;
}

/* KEYS lock [epoch]  ARGV owner ttl holder [epoch not_after]; guarded calls have the second key. */
void sim_script_extend(struct sim_call *call)
{
    const char *const *at = call->arguments;
    bool guarded = call->count == 7;
    const char *const *rest = at + (guarded ? 2 : 1);
    const char *held = get(call, at[0]);
    int64_t ttl_ms = number(rest[1]);
    bool fit = !guarded || call->node->bug == SIM_BUG_ADOPT_QUARANTINED ||
               sim_script_extends(call, get(call, at[1]), rest[3]);
    bool repair = strcmp(rest[2], "1") == 0;

    if (guarded && call->now_us > number(rest[4])) {
        sim_reply_integer(call->reply, -4);
    } else if (meets_another_type(call, at[0])) {
        return;
    } else if (held != NULL && strcmp(held, rest[0]) == 0) {
        if ((fit || strcmp(rest[2], "0") != 0) && sim_node_pttl(call->node, call->now_us, at[0]) < ttl_ms)
            sim_node_set(call->node, at[0], rest[0], ms_of(call) + ttl_ms);
        sim_reply_integer(call->reply, !fit ? -3 : guarded ? call->now_us : 1);
    } else if (held != NULL) {
        sim_reply_integer(call->reply, 0);
    } else if (!fit && call->node->bug != SIM_BUG_EXTEND_RECREATES) {
        sim_reply_integer(call->reply, -3);
    } else if (repair || call->node->bug == SIM_BUG_EXTEND_RECREATES) {
        call->node->repairs++;
        sim_node_set(call->node, at[0], rest[0], ms_of(call) + ttl_ms);
        sim_reply_integer(call->reply, call->node->bug == SIM_BUG_EXTEND_RECREATES ? call->now_us : -2);
    } else {
        sim_reply_integer(call->reply, -1);
    }
}

/* KEYS lock  ARGV owner */
void sim_script_release(struct sim_call *call)
{
    const char *held = get(call, call->arguments[0]);

    if (call->node->released != NULL)
        call->node->released(call->node->context, call->node, call->arguments[1]);
    if (meets_another_type(call, call->arguments[0]))
        return;
    if (held == NULL)
        sim_reply_integer(call->reply, -1);
    else if (strcmp(held, call->arguments[1]) != 0)
        sim_reply_integer(call->reply, 0);
    else
        sim_reply_integer(call->reply, sim_node_remove(call->node, call->arguments[0]));
}

static bool is_owner(const char *value)
{
    return strspn(value, "0123456789abcdefABCDEF") == 32 && (value[32] == '\0' || value[32] == '|');
}

/* KEYS floor */
void sim_script_search(struct sim_call *call)
{
    const char *kept = get(call, call->arguments[0]);
    int64_t floor = kept != NULL && number(kept) > 0 ? number(kept) : 1;
    const struct sim_key *found = NULL;
    char words[SIM_KEY_SIZE + 32];

    for (int i = 0; i < SIM_KEYS_MAX; i++) {
        const struct sim_key *key = &call->node->memory.keys[i];

        if (key->key[0] != '\0' && key->type != SIM_HASH && key->end_ms > ms_of(call) && is_owner(key->value))
            found = key;
    }
    sim_reply_array(call->reply, found != NULL ? 6 : 3);
    sim_reply_integer(call->reply, found == NULL);
    sim_reply_integer(call->reply, call->now_us);
    sim_reply_integer(call->reply, floor);
    if (found == NULL)
        return;
    snprintf(words, sizeof words, "it has the lock \"%s\"", found->key);
    sim_reply_integer(call->reply, found->end_ms - ms_of(call));
    sim_reply_text(call->reply,
                   found->type == SIM_HOLDS ? sim_holds_last(call->node, found->key) : found->value);
    sim_reply_text(call->reply, words);
}

/* What the guard remembers, taken apart. Terms count from now. */
struct record {
    char run[48], id[48];
    int64_t q, until;
    bool has_lost;
    int64_t lost; /* when memory was last lost */
    bool has_floor;
    int64_t floor;
    struct rl_terms terms;
};

static int64_t life_of(const struct sim_call *call, int64_t q)
{
    return (ms_of(call) + q + TERM_LIFE_MS + TERM_STEP_MS - 1) / TERM_STEP_MS * TERM_STEP_MS - ms_of(call);
}

static void add_term(const struct sim_call *call, struct record *record, int64_t q, int64_t left)
{
    if (q > RL_QUARANTINE_MAX_MS || left <= 0)
        return;
    left = left < life_of(call, q) ? left : life_of(call, q);
    rl_terms_add(&record->terms, (struct rl_term){.quarantine_ms = q, .left_ms = left});
}

/* "q:time,q:time", each time less than `from`; returns the largest q that is named. */
static int64_t read_terms(const struct sim_call *call, struct record *record, const char *text, int64_t from)
{
    int64_t most = 0;

    for (; text != NULL && *text != '\0'; text = strchr(text, ',') != NULL ? strchr(text, ',') + 1 : NULL) {
        most = larger(most, number(text));
        add_term(call, record, number(text), number(strchr(text, ':') + 1) - from);
    }
    return most;
}

static void write_terms(const struct record *record, int64_t from, char text[SIM_VALUE_SIZE])
{
    struct rl_text writer = rl_text_on(text, SIM_VALUE_SIZE);

    for (uint32_t i = 0; i < record->terms.count; i++) {
        rl_text_add(&writer, i > 0 ? "," : "");
        rl_text_add_integer(&writer, record->terms.each[i].quarantine_ms);
        rl_text_add(&writer, ":");
        rl_text_add_integer(&writer, record->terms.each[i].left_ms + from);
    }
}

static void forget(struct record *record, const char *fresh_id, int64_t from)
{
    snprintf(record->id, sizeof record->id, "%s", fresh_id);
    record->has_floor = false;
    record->lost = record->has_lost ? larger(record->lost, from) : from;
    record->has_lost = true;
}

/* The record and the terms as they were kept. false: there is none. */
static bool recall(struct sim_call *call, struct record *record, const char *before)
{
    bool known = before != NULL && sscanf(before, "1 %47s %47s %" SCNd64 " %" SCNd64, record->run, record->id,
                                          &record->q, &record->until) == 4;
    int64_t q_kept = read_terms(call, record, get(call, call->arguments[2]), ms_of(call));

    if (known && record->q > q_kept)
        add_term(call, record, record->q, life_of(call, record->q));
    if (known && !record->has_floor) {
        record->has_lost = true;
        record->lost = record->until > 0 ? record->until - record->q : ms_of(call) - record->q;
    }
    return known;
}

/* What has changed since the record was written. */
static void look_back(struct sim_call *call, struct record *record, const char *before)
{
    const char *const *argv = call->arguments + 3;
    int64_t now = ms_of(call), up_ms = number(argv[4]);

    if (!recall(call, record, before)) {
        snprintf(record->run, sizeof record->run, "%s", argv[0]);
        forget(record, argv[1], now);
    } else if (strcmp(record->run, argv[0]) != 0) {
        size_t run = strcspn(argv[0], ".");
        bool same_run = strcspn(record->run, ".") == run && memcmp(record->run, argv[0], run) == 0;

        snprintf(record->run, sizeof record->run, "%s", argv[0]);
        if (up_ms < 0)
            forget(record, argv[1], now);
        else if (!same_run && strcmp(argv[3], "1") != 0)
            forget(record, argv[1], now - up_ms);
    }
    if (strcmp(argv[5], "suspect") == 0 && before != NULL && strcmp(before, argv[7]) == 0) {
        forget(record, argv[1], now);
        call->node->accused_us = now * 1000;
    }
}

static void answer_admission(struct sim_call *call, const struct record *record, const char *text)
{
    char floor[24] = "", terms[SIM_VALUE_SIZE];

    if (record->has_floor)
        snprintf(floor, sizeof floor, "%" PRId64, record->floor);
    write_terms(record, 0, terms);
    sim_reply_array(call->reply, 6);
    sim_reply_integer(call->reply, record->until > ms_of(call) ? 2 : record->has_floor ? 1 : 3);
    sim_reply_integer(call->reply, call->now_us);
    sim_reply_text(call->reply, text);
    sim_reply_integer(call->reply, larger(record->until - ms_of(call), 0));
    sim_reply_text(call->reply, floor);
    sim_reply_text(call->reply, terms);
}

static void keep(struct sim_call *call, const struct record *record, const char *text)
{
    char terms[SIM_VALUE_SIZE];

    write_terms(record, ms_of(call), terms);
    sim_node_set(call->node, call->arguments[0], text, 0);
    sim_node_set(call->node, call->arguments[2], terms, 0);
    if (record->has_floor)
        set_number(call, call->arguments[1], record->floor, 0);
    else
        sim_node_remove(call->node, call->arguments[1]);
}

/* It was promoted since the client greeted it. */
static void answer_promoted(struct sim_call *call, const char *before)
{
    sim_reply_array(call->reply, 6);
    sim_reply_integer(call->reply, 0);
    sim_reply_integer(call->reply, call->now_us);
    sim_reply_text(call->reply, before != NULL ? before : "");
    sim_reply_integer(call->reply, 0);
    sim_reply_text(call->reply, "");
    sim_reply_text(call->reply, "");
}

/* When it may vote again, and whether it has what it needs for that. */
static void settle(struct sim_call *call, struct record *record, bool has_told, int64_t told)
{
    bool init = strcmp(call->arguments[3 + 5], "init") == 0;
    int64_t now = ms_of(call);

    record->q = call->node->bug == SIM_BUG_OWN_TERM ? number(call->arguments[3 + 2])
                                                    : record->terms.each[0].quarantine_ms;
    record->until = 0;
    if (!record->has_floor && !init)
        record->until = larger((record->lost < now ? record->lost : now) + record->q, 1);
    if (init) {
        told = larger(told, call->now_us + AHEAD_US);
        has_told = true;
    }
    if (call->node->bug == SIM_BUG_NO_GUARD && !record->has_floor) {
        record->floor = 1;
        record->has_floor = true;
    }
    if (record->until <= now && has_told && (!record->has_floor || told > record->floor)) {
        record->has_floor = true;
        record->floor = told;
    }
    if (record->has_floor)
        record->until = 0;
}

/* KEYS epoch floor terms  ARGV run fresh_id q durable up_ms word told known replid told_terms */
void sim_script_admit(struct sim_call *call)
{
    const char *const *argv = call->arguments + 3;
    const char *before = get(call, call->arguments[0]), *floor = get(call, call->arguments[1]);
    struct record record = {.has_floor = floor != NULL, .floor = floor != NULL ? number(floor) : 0};
    bool meant = before != NULL && strcmp(before, argv[7]) == 0;
    char text[SIM_VALUE_SIZE];

    if (argv[8][0] != '\0' && strcmp(argv[8], call->node->replid) != 0) {
        answer_promoted(call, before);
        return;
    }
    look_back(call, &record, before);
    if (strcmp(argv[5], "look") != 0 || record.terms.count == 0)
        add_term(call, &record, number(argv[2]), life_of(call, number(argv[2])));
    if (meant)
        read_terms(call, &record, argv[9], 0);
    settle(call, &record, argv[6][0] != '\0' && meant, number(argv[6]));
    snprintf(text, sizeof text, "1 %s %s %" PRId64 " %" PRId64, record.run, record.id, record.q,
             record.until);
    if (strcmp(argv[5], "look") != 0)
        keep(call, &record, text);
    answer_admission(call, &record, text);
}
