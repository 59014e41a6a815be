/*
 * The scripts of semaphores, line by line in C: slots_ask, slots_hand_on, slots_extend and slots_raise of
 * src/wire/lua; see there for why. A name has one kind of lock here, and one number of slots; what is refused
 * otherwise is not modelled.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/node_standing.h"

enum {
    BRIEF_MS = 1000,
    FRESH_US = 250000,
    LIVING_US = 1400000,
    FENCE_LIFE_MS = 4200000,
    AHEAD_US = 5000000,
    LATE_US = 60000000,
    NOTES_MAX = 8,
    ID_DIGITS = 7,
    BASE_16 = 16,
    CHOICE_MAX = 16
};

/* "fence ticket id given" of a slot. */
struct note {
    int64_t fence, ticket, given;
    char id[SIM_ID_SIZE];
};

static int64_t number(const char *text)
{
    return strtoll(text, NULL, 10);
}

static int64_t ms_of(const struct sim_call *call)
{
    return call->now_us / 1000;
}

static const char *get(struct sim_call *call, const char *key)
{
    return sim_node_get(call->node, call->now_us, key);
}

/* ---- parts/slots.lua ---- */

void sim_slot_key(char key[SIM_KEY_SIZE], const char *name, uint32_t slot)
{
    snprintf(key, SIM_KEY_SIZE, "%.40s#%u", name, slot);
}

static const char *holder_of(struct sim_call *call, const char *name, uint32_t slot)
{
    char key[SIM_KEY_SIZE];

    sim_slot_key(key, name, slot);
    return get(call, key);
}

/* 0 none. */
static uint32_t find_slot(struct sim_call *call, const char *name, uint32_t count, const char *owner)
{
    for (uint32_t slot = 1; slot <= count; slot++) {
        const char *holder = holder_of(call, name, slot);

        if (holder != NULL && strcmp(holder, owner) == 0)
            return slot;
    }
    return 0;
}

static void note_key(char key[SIM_KEY_SIZE], const char *name, uint32_t slot)
{
    snprintf(key, SIM_KEY_SIZE, "note:%.40s#%u", name, slot);
}

static void hash_key(char key[SIM_KEY_SIZE], const char *name)
{
    snprintf(key, SIM_KEY_SIZE, "slots:%.40s", name);
}

static bool read_note(struct sim_call *call, const char *name, uint32_t slot, struct note *note)
{
    char key[SIM_KEY_SIZE], hash[SIM_KEY_SIZE];
    const char *text;

    *note = (struct note){0};
    note_key(key, name, slot);
    hash_key(hash, name);
    text = get(call, hash) != NULL ? get(call, key) : NULL;
    return text != NULL && sscanf(text, "%" SCNd64 " %" SCNd64 " %32s %" SCNd64, &note->fence, &note->ticket,
                                  note->id, &note->given) == 4;
}

static void drop_note(struct sim_call *call, const char *name, uint32_t slot)
{
    char key[SIM_KEY_SIZE];

    note_key(key, name, slot);
    sim_node_remove(call->node, key);
}

/* The hash of the name: with it go all notes. */
static void keep_name(struct sim_call *call, const char *name, uint32_t count, int64_t ms)
{
    char key[SIM_KEY_SIZE], value[16];
    int64_t left;

    hash_key(key, name);
    snprintf(value, sizeof value, "%u", count);
    left = sim_node_pttl(call->node, call->now_us, key);
    sim_node_set(call->node, key, value, ms_of(call) + (left < ms ? ms * 9 / 8 : left));
}

static void write_note(struct sim_call *call, const char *name, uint32_t count, uint32_t slot,
                       const struct note *note, int64_t ms)
{
    char key[SIM_KEY_SIZE], hash[SIM_KEY_SIZE], value[SIM_VALUE_SIZE];

    hash_key(hash, name);
    for (uint32_t other = 1; get(call, hash) == NULL && other <= count; other++)
        drop_note(call, name, other);
    keep_name(call, name, count, ms);
    note_key(key, name, slot);
    snprintf(value, sizeof value, "%" PRId64 " %" PRId64 " %s %" PRId64, note->fence, note->ticket, note->id,
             note->given);
    sim_node_set(call->node, key, value, 0);
}

static void remove_slot(struct sim_call *call, const char *name, uint32_t slot)
{
    char key[SIM_KEY_SIZE];

    sim_slot_key(key, name, slot);
    sim_node_remove(call->node, key);
    drop_note(call, name, slot);
}

static void give_slot(struct sim_table *table, uint32_t count, uint32_t slot, const char *owner, int64_t ms,
                      const struct note *note)
{
    struct sim_call *call = table->call;
    char key[SIM_KEY_SIZE];

    if (note->fence > table->vote.stored) {
        sim_script_store(call, &table->vote, table->fence_key, table->floor_key, note->fence);
        table->vote.has_fence = true;
        table->vote.known = table->vote.stored = note->fence;
    }
    sim_slot_key(key, table->lock, slot);
    sim_node_set(call->node, key, owner, ms_of(call) + ms);
    write_note(call, table->lock, count, slot, note, ms);
}

/* ---- parts/slots_hand_on.lua ---- */

static bool is_told(struct sim_table *table, const struct sim_stander *stander, uint32_t slot, int64_t fence,
                    int64_t ms)
{
    char message[512];

    snprintf(message, sizeof message, "s%u %" PRId64 " %" PRId64 " %" PRId64 " %zu %zu %s%s%s", slot,
             table->call->now_us, fence, ms, strlen(stander->owner), strlen(stander->epoch), stander->owner,
             stander->epoch, table->lock);
    return stander->channel[0] == '\0' || sim_line_publish(table->call, stander->channel, message) > 0;
}

/* The next in line behind one; behind NULL the first. */
static struct sim_stander *next_of(struct sim_standing *line, const struct sim_stander *after)
{
    struct sim_stander *next = NULL;

    for (int i = 0; i < SIM_STANDERS_MAX; i++) {
        struct sim_stander *stander = &line->standers[i];

        if (stander->in_line && (after == NULL || sim_line_before(after, stander)) &&
            (next == NULL || sim_line_before(stander, next)))
            next = stander;
    }
    return next;
}

/* How far the number of a waiter is from a slot. */
static uint32_t apart(const struct sim_stander *stander, uint32_t count, uint32_t slot)
{
    char digits[ID_DIGITS + 1], *end;
    uint32_t own;

    snprintf(digits, sizeof digits, "%.7s", stander->id);
    own = (uint32_t)strtoul(digits, &end, BASE_16);
    if (*end != '\0')
        own = 0; /* no number of ours */
    return (own % count + count - slot % count) % count;
}

/* The one that a slot goes to: the first, or one that came with it. */
static struct sim_stander *choose(struct sim_table *table, uint32_t count, uint32_t slot)
{
    struct sim_standing *line = table->line;
    uint32_t choice = count == 1 ? 1 : 2 * count < CHOICE_MAX ? 2 * count : CHOICE_MAX;
    struct sim_stander *first = sim_line_first(line), *chosen = first, *next = first;
    int64_t now = table->call->now_us;
    int64_t waited = first != NULL && strcmp(first->id, line->id) == 0 ? now - line->given : 0;

    if (waited < 0 || waited > SIM_SLOT_CLOSE_US)
        return first;
    for (; next != NULL && choice > 0; choice--, next = next_of(line, next)) {
        if (next->ticket - first->ticket > SIM_SLOT_CLOSE_US || next->ticket - now > SIM_SLOT_CLOSE_US)
            break;
        if (apart(next, count, slot) < apart(chosen, count, slot))
            chosen = next;
    }
    return chosen;
}

/* What it proposed, if that is above what this slot has been given out by; else as any other number. */
static int64_t pick_number(struct sim_table *table, uint32_t slot, int64_t proposed)
{
    int64_t last = table->vote.stored, now = table->call->now_us;
    struct note note;

    if (read_note(table->call, table->lock, slot, &note))
        last = note.fence > table->vote.floor ? note.fence : table->vote.floor;
    if (proposed > last && proposed - now <= AHEAD_US && now - proposed <= LATE_US)
        return proposed;
    return sim_script_number(table->call, &table->vote, proposed);
}

/* The first in line but for those that stay. */
static struct sim_stander *next_but(struct sim_standing *line, const bool *stays)
{
    struct sim_stander *next = sim_line_first(line);

    while (next != NULL && stays[next - line->standers])
        next = next_of(line, next);
    return next;
}

/* Another one came in before the first in line: since when. */
static void note_first(struct sim_table *table, uint32_t count, const char *first, const char *id)
{
    if (count > 1 && strcmp(first, id) != 0 && strcmp(first, table->line->id) != 0)
        sim_line_write_order(table, table->line->ticket, first, table->call->now_us);
}

/* Whether it was given to somebody; *fence, if it was the caller, is its number. */
static bool hand_on(struct sim_table *table, uint32_t count, uint32_t slot, int64_t given, int64_t *fence)
{
    struct sim_call *call = table->call;
    int64_t now = call->now_us, since = 0;
    struct sim_stander *next = choose(table, count, slot);
    bool stays[SIM_STANDERS_MAX] = {false}, somebody_stays = false;
    char first[SIM_ID_SIZE];

    snprintf(first, sizeof first, "%s", next != NULL ? sim_line_first(table->line)->id : "");
    if (given > 0 && given <= now)
        since = given < now - LIVING_US ? given : now - LIVING_US;
    for (; next != NULL; next = next_but(table->line, stays)) {
        struct sim_stander stander = *next;
        bool self = strcmp(stander.id, table->random) == 0;
        bool stale = now - stander.asked > FRESH_US || stander.channel[0] == '\0';
        bool brief = !self && (stander.ttl_ms > BRIEF_MS || stale);
        int64_t ms = brief && stander.ttl_ms > BRIEF_MS ? BRIEF_MS : stander.ttl_ms;
        struct note note = {.ticket = stander.ticket, .given = brief ? now : 0};
        bool alive = stander.record_end_ms != 0 && stander.epoch[0] != '\0' &&
                     strncmp(table->epoch, stander.epoch, strlen(stander.epoch)) == 0 &&
                     (self || stander.asked >= since);

        if (alive && stander.only != 0 && stander.only != slot) {
            stays[next - table->line->standers] = somebody_stays = true;
            continue;
        }
        if (alive) {
            note.fence = pick_number(table, slot, stander.proposed);
            memcpy(note.id, stander.id, sizeof note.id);
        }
        sim_line_forget(next);
        if (!alive || (!self && !is_told(table, &stander, slot, note.fence, ms))) {
            call->node->passed_over++;
            continue;
        }
        note_first(table, count, first, stander.id);
        call->node->told = !self;
        give_slot(table, count, slot, stander.owner, ms, &note);
        call->node->told = false;
        if (self)
            *fence = note.fence;
        return true;
    }
    if (!somebody_stays)
        sim_line_end_order(table);
    return false;
}

/* ---- slots_ask.lua ---- */

static void grant(struct sim_call *call, int64_t fence, uint32_t slot)
{
    sim_reply_array(call->reply, 4);
    sim_reply_integer(call->reply, 1);
    sim_reply_integer(call->reply, call->now_us);
    sim_reply_integer(call->reply, fence);
    sim_reply_integer(call->reply, slot);
}

static void grant_again(struct sim_table *table, const char *const *argv, uint32_t count, uint32_t slot,
                        int64_t ticket)
{
    struct sim_call *call = table->call;
    int64_t ttl_ms = number(argv[1]);
    struct note note;
    char key[SIM_KEY_SIZE];

    sim_slot_key(key, table->lock, slot);
    if (sim_node_pttl(call->node, call->now_us, key) < ttl_ms)
        sim_node_set(call->node, key, argv[0], ms_of(call) + ttl_ms);
    if (!read_note(call, table->lock, slot, &note) || strcmp(note.id, table->random) != 0 ||
        !table->vote.has_fence || note.fence < table->vote.floor) {
        note.fence = sim_script_number(call, &table->vote, number(argv[2]));
        sim_script_store(call, &table->vote, table->fence_key, table->floor_key, note.fence);
    }
    note.ticket = ticket;
    note.given = 0;
    memcpy(note.id, table->random, sizeof note.id);
    write_note(call, table->lock, count, slot, &note, ttl_ms);
    grant(call, note.fence, slot);
}

static uint32_t next_free(struct sim_call *call, const char *name, uint32_t count, uint32_t wish, bool only)
{
    for (uint32_t i = 0; i < (only ? 1 : count); i++) {
        uint32_t slot = (wish - 1 + i) % count + 1;

        if (holder_of(call, name, slot) == NULL)
            return slot;
    }
    return 0;
}

/* What the slots that it wants have left, at least. */
static int64_t left_ms(struct sim_call *call, const char *name, uint32_t count, uint32_t only)
{
    int64_t least = -1;
    char key[SIM_KEY_SIZE];

    for (uint32_t slot = 1; slot <= count; slot++) {
        int64_t left;

        sim_slot_key(key, name, slot);
        left = only == 0 || only == slot ? sim_node_pttl(call->node, call->now_us, key) : -1;
        if (left >= 0 && (least < 0 || left < least))
            least = left;
    }
    return least;
}

static void deny_in_line(struct sim_table *table, const struct sim_stander *stander, uint32_t count,
                         uint32_t wish, bool yields, bool free)
{
    struct sim_call *call = table->call;
    const char *kept = holder_of(call, table->lock, wish), *holder = kept != NULL ? kept : "";
    int64_t place = sim_line_place(table->line, stander), left = -1;
    struct note note;
    bool known = read_note(call, table->lock, wish, &note) && strncmp(holder, note.id, SIM_ID_SIZE - 1) == 0;

    if (free && !yields)
        left = 100;
    else if (!yields && (place <= 2 || stander->only != 0))
        left = left_ms(call, table->lock, count, (uint32_t)stander->only);
    sim_reply_array(call->reply, 8);
    sim_reply_integer(call->reply, 0);
    sim_reply_integer(call->reply, call->now_us);
    sim_reply_integer(call->reply, table->vote.stored);
    sim_reply_integer(call->reply, left);
    sim_reply_text(call->reply, holder);
    sim_reply_integer(call->reply, place);
    sim_reply_integer(call->reply, stander->ticket);
    sim_reply_integer(call->reply, known ? note.ticket : 0);
}

static void deny(struct sim_table *table, uint32_t wish)
{
    struct sim_call *call = table->call;
    const char *holder = holder_of(call, table->lock, wish);
    char key[SIM_KEY_SIZE];

    sim_slot_key(key, table->lock, wish);
    sim_reply_array(call->reply, 5);
    sim_reply_integer(call->reply, 0);
    sim_reply_integer(call->reply, call->now_us);
    sim_reply_integer(call->reply, table->vote.stored);
    sim_reply_integer(call->reply, sim_node_pttl(call->node, call->now_us, key));
    sim_reply_text(call->reply, holder != NULL ? holder : "");
}

/* Every slot that is free goes to the first in line that takes it; which the caller gets, 0 none. */
static uint32_t hand_out(struct sim_table *table, uint32_t count, uint32_t wish, int64_t *fence)
{
    uint32_t got = 0;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t slot = (wish - 1 + i) % count + 1;
        struct note note;
        int64_t own = 0;

        if (holder_of(table->call, table->lock, slot) != NULL)
            continue;
        read_note(table->call, table->lock, slot, &note);
        hand_on(table, count, slot, note.given, &own);
        if (own != 0) {
            got = slot;
            *fence = own;
        }
    }
    return got;
}

/* Whether the name is a semaphore of another number of slots. */
static bool is_of_others(struct sim_call *call, const char *name, uint32_t count)
{
    char key[SIM_KEY_SIZE];
    const char *kept;

    hash_key(key, name);
    kept = get(call, key);
    return kept != NULL && number(kept) != count;
}

/* The number in its record: above what was there when it came into line. */
static int64_t find_proposal(struct sim_table *table, int64_t proposed)
{
    const struct sim_stander *stander = sim_line_stander(table->line, table->random);
    bool has_record = stander != NULL && stander->record_end_ms != 0;

    if (proposed > table->vote.stored || table->call->node->bug == SIM_BUG_SLOT_BELOW_OTHERS)
        return proposed;
    if (!has_record)
        return table->vote.stored + 1;
    return stander->proposed > proposed ? stander->proposed : proposed;
}

/* ARGV owner ttl proposal epoch not_after place slots wish only */
static void ask(struct sim_call *call)
{
    const char *const *keys = call->arguments, *const *argv = keys + 5;
    uint32_t count = (uint32_t)number(argv[6]), wish = (uint32_t)number(argv[7]), mine, free;
    struct sim_table table = sim_line_lay(call, argv[0], keys);
    bool only = argv[8][0] == '1', waits, yields;
    char channel[SIM_KEY_SIZE] = "";
    int64_t ticket = 0, lease_ms = 0, fence = 0;
    int settled = 0;

    if (!sim_script_fit(call, argv, &table.vote))
        return;
    if (is_of_others(call, table.lock, count)) {
        rl_write_raw(call->reply, SIM_WRONG_TYPE, strlen(SIM_WRONG_TYPE));
        return;
    }
    waits = sscanf(argv[5], "%" SCNd64 " %d %" SCNd64 " %63s", &ticket, &settled, &lease_ms, channel) >= 3;
    yields = settled >= 2;
    mine = find_slot(call, table.lock, count, argv[0]);
    if (mine != 0 && (yields || (only && mine != wish))) {
        remove_slot(call, table.lock, mine);
        mine = 0;
    }
    if (mine != 0) {
        grant_again(&table, argv, count, mine, ticket);
        return;
    }
    free = next_free(call, table.lock, count, wish, only);
    if (table.line->order_end_ms != 0 || (waits && free == 0)) {
        struct sim_stander *stander = NULL;
        uint32_t got = 0;

        if (waits) {
            int64_t proposed = find_proposal(&table, number(argv[2]));

            stander = sim_line_take_in(&table, argv, ticket, settled % 2 != 0, lease_ms, channel);
            stander->proposed = proposed;
            stander->only = only ? wish : 0;
        }
        if (!yields)
            got = hand_out(&table, count, wish, &fence);
        if (got != 0) {
            grant(call, fence, got);
            return;
        }
        free = next_free(call, table.lock, count, wish, only);
        if (waits) {
            deny_in_line(&table, stander, count, wish, yields, free != 0);
            return;
        }
    }
    if (free == 0) {
        deny(&table, wish);
        return;
    }
    struct note note = {.fence = sim_script_number(call, &table.vote, number(argv[2])), .ticket = ticket};
    memcpy(note.id, table.random, sizeof note.id);
    give_slot(&table, count, free, argv[0], number(argv[1]), &note);
    grant(call, note.fence, free);
}

/* KEYS name  ARGV as above */
void sim_script_slots_ask(struct sim_call *call)
{
    struct sim_line_keys keys;
    struct sim_call whole =
        sim_line_spell_out(call, &keys, call->arguments[0], call->arguments + 1, call->count - 1);

    ask(&whole);
}

void sim_slots_lose_name(struct sim_node *node, const char *name)
{
    char key[SIM_KEY_SIZE];

    for (uint32_t slot = 1; slot <= NOTES_MAX; slot++) {
        note_key(key, name, slot);
        sim_node_remove(node, key);
    }
    hash_key(key, name);
    sim_node_remove(node, key);
}

/* parts/slots_end.lua, and where the last slot is free: then nothing is worth remembering. */
static void end_name(struct sim_call *call, const char *name, uint32_t count, bool freed)
{
    char key[SIM_KEY_SIZE], value[16];
    int64_t left, longest = 0;

    hash_key(key, name);
    left = sim_node_pttl(call->node, call->now_us, key);
    for (uint32_t slot = 1; slot <= count; slot++) {
        char slot_key[SIM_KEY_SIZE];
        int64_t ms;

        if (holder_of(call, name, slot) == NULL || longest * 2 >= left)
            continue;
        sim_slot_key(slot_key, name, slot);
        ms = sim_node_pttl(call->node, call->now_us, slot_key);
        longest = ms > longest ? ms : longest;
    }
    for (uint32_t slot = 1; slot <= count; slot++)
        if (holder_of(call, name, slot) != NULL) {
            snprintf(value, sizeof value, "%u", count);
            if (freed && longest * 2 < left)
                sim_node_set(call->node, key, value, ms_of(call) + (longest > 0 ? longest * 9 / 8 : 1));
            return;
        }
    sim_slots_lose_name(call->node, name);
}

/* ---- slots_hand_on.lua ---- */

/* The slot that is given back: any but the one that is kept, if there is another. */
static uint32_t find_given_back(struct sim_call *call, const char *name, uint32_t count, const char *owner,
                                uint32_t slot, uint32_t kept)
{
    const char *value = slot > 0 ? holder_of(call, name, slot) : NULL;
    uint32_t had = value != NULL && strcmp(value, owner) == 0 ? slot : 0;

    for (uint32_t other = 1; other <= count && (had == 0 || had == kept); other++) {
        const char *holder = holder_of(call, name, other);

        if (other != kept && holder != NULL && strcmp(holder, owner) == 0)
            return other;
    }
    return had;
}

/* ARGV owner slots slot kept */
static void give_back(struct sim_call *call)
{
    const char *const *at = call->arguments;
    const char *owner = at[5], *floor = get(call, at[3]), *last = get(call, at[1]);
    uint32_t count = (uint32_t)number(at[6]), slot = (uint32_t)number(at[7]), kept = (uint32_t)number(at[8]);
    struct sim_table table = sim_line_lay(call, owner, at);
    bool waited_for = table.line->order_end_ms != 0, given = false;
    struct sim_stander *stander = sim_line_stander(table.line, table.random);
    const char *value = slot > 0 ? holder_of(call, at[0], slot) : NULL;
    uint32_t had = find_given_back(call, at[0], count, owner, slot, kept);
    int64_t answer = had != 0 ? 1 : value != NULL ? 0 : -1, own = 0;

    if (call->node->released != NULL && kept == 0)
        call->node->released(call->node->context, call->node, owner);
    if (waited_for && stander != NULL && stander->in_line)
        sim_line_forget(stander);
    if (is_of_others(call, at[0], count)) {
        sim_reply_integer(call->reply, 0);
        return;
    }
    if (waited_for && table.epoch != NULL && floor != NULL && sim_script_may_hand_on(call, table.epoch)) {
        table.vote = (struct sim_vote){.has_fence = last != NULL, .floor = number(floor)};
        table.vote.known = last != NULL ? number(last) : table.vote.floor;
        table.vote.stored = table.vote.known > table.vote.floor ? table.vote.known : table.vote.floor;
        if (had != 0 && had != kept)
            given = hand_on(&table, count, had, 0, &own);
        else if (had == 0)
            hand_out(&table, count, 1, &own);
    }
    if (had != 0 && had != kept && !given)
        remove_slot(call, at[0], had);
    if (!given)
        end_name(call, at[0], count, had != 0 && had != kept);
    sim_reply_integer(call->reply, answer);
}

/* KEYS name  ARGV as above */
void sim_script_slots_hand_on(struct sim_call *call)
{
    struct sim_line_keys keys;
    struct sim_call whole =
        sim_line_spell_out(call, &keys, call->arguments[0], call->arguments + 1, call->count - 1);

    give_back(&whole);
}

/* ---- slots_extend.lua and slots_raise.lua ---- */

static void answer_extended(struct sim_call *call, bool fit, uint32_t asked, uint32_t slot)
{
    if (fit && asked == 0)
        sim_reply_array(call->reply, 2);
    sim_reply_integer(call->reply, fit ? call->now_us : -3);
    if (fit && asked == 0)
        sim_reply_integer(call->reply, slot);
}

/* KEYS name epoch order  ARGV owner ttl holder epoch not_after slots slot */
void sim_script_slots_extend(struct sim_call *call)
{
    const char *const *at = call->arguments, *const *rest = at + 3;
    uint32_t count = (uint32_t)number(rest[5]), asked = (uint32_t)number(rest[6]), slot = asked;
    bool fit = sim_script_extends(call, get(call, at[1]), rest[3]);
    int64_t ttl_ms = number(rest[1]);
    bool others;
    const char *held;
    char key[SIM_KEY_SIZE];

    if (call->now_us > number(rest[4])) {
        sim_reply_integer(call->reply, -4);
        return;
    }
    others = is_of_others(call, at[0], count);
    if (rest[2][0] == '0' && others) {
        sim_reply_integer(call->reply, 0);
        return;
    }
    if (slot == 0)
        slot = find_slot(call, at[0], count, rest[0]);
    if (slot == 0) {
        sim_reply_integer(call->reply, fit ? -1 : -3);
        return;
    }
    sim_slot_key(key, at[0], slot);
    held = get(call, key);
    if (held != NULL && strcmp(held, rest[0]) == 0) {
        if ((fit || strcmp(rest[2], "0") != 0) && sim_node_pttl(call->node, call->now_us, key) < ttl_ms)
            sim_node_set(call->node, key, rest[0], ms_of(call) + ttl_ms);
        if (!others)
            keep_name(call, at[0], count, ttl_ms);
        answer_extended(call, fit, asked, slot);
    } else if (held != NULL) {
        sim_reply_integer(call->reply, 0);
    } else if (!fit) {
        sim_reply_integer(call->reply, -3);
    } else if (strcmp(rest[2], "1") == 0 && !others) {
        call->node->repairs++;
        sim_node_set(call->node, key, rest[0], ms_of(call) + ttl_ms);
        drop_note(call, at[0], slot);
        keep_name(call, at[0], count, ttl_ms);
        sim_reply_integer(call->reply, -2);
    } else {
        sim_reply_integer(call->reply, -1);
    }
}

static void set_number(struct sim_call *call, const char *key, int64_t value, int64_t end_ms)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRId64, value);
    sim_node_set(call->node, key, text, end_ms);
}

/* KEYS name fence epoch floor order  ARGV owner fence epoch slots slot */
void sim_script_slots_raise(struct sim_call *call)
{
    const char *const *at = call->arguments, *const *argv = at + 5;
    const char *epoch = get(call, at[2]), *kept = get(call, at[1]), *floor = get(call, at[3]), *held;
    uint32_t count = (uint32_t)number(argv[3]), slot = (uint32_t)number(argv[4]);
    int64_t fence = number(argv[1]);
    struct note note;

    if (epoch == NULL || floor == NULL || argv[2][0] == '\0' ||
        strncmp(epoch, argv[2], strlen(argv[2])) != 0) {
        sim_reply_integer(call->reply, -3);
        return;
    }
    held = holder_of(call, at[0], slot);
    if (held == NULL || strcmp(held, argv[0]) != 0 || !read_note(call, at[0], slot, &note) ||
        strncmp(note.id, argv[0], SIM_ID_SIZE - 1) != 0 || fence < note.fence) {
        sim_reply_integer(call->reply, 0);
        return;
    }
    note.fence = fence;
    write_note(call, at[0], count, slot, &note, 0);
    if (fence > number(kept != NULL ? kept : floor))
        set_number(call, at[1], fence, ms_of(call) + FENCE_LIFE_MS);
    if (fence - call->now_us > AHEAD_US && fence > number(floor))
        set_number(call, at[3], fence, 0);
    sim_reply_integer(call->reply, call->now_us);
}
