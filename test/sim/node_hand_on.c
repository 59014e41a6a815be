/*
 * The scripts of a line in which the lock is handed on, line by line in C: ask and hand_on of src/wire/lua,
 * and the channels on which waiters are told; see there for why.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/node_standing.h"
#include "wire/guard_command.h"

enum { CLOSE_US = 2000, LIFE_MS = 60000, BRIEF_MS = 1000, FRESH_US = 250000, LIVING_US = 1400000 };

struct place {
    int64_t ticket, lease_ms;
    int settled; /* plus 2: it yields */
    char channel[SIM_KEY_SIZE];
};

struct given {
    const char *owner; /* that has it alone; NULL: there was none */
    bool shared;       /* to some that share it */
    int64_t own;       /* the number of the one that calls, if it is among those; else 0 */
    int64_t fence, ms;
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

static bool is_there(struct sim_call *call, const char *key)
{
    return sim_node_pttl(call->node, call->now_us, key) != -2;
}

/* ---- what is kept ---- */

static void expire(struct sim_standing *line, int64_t now_ms)
{
    if (now_ms > line->order_end_ms) {
        line->high = line->ticket = line->given = 0;
        line->order_end_ms = 0;
        line->id[0] = '\0';
    }
    for (int i = 0; i < SIM_STANDERS_MAX; i++) {
        struct sim_stander *stander = &line->standers[i];

        if (now_ms > stander->record_end_ms)
            stander->record_end_ms = 0;
        stander->in_line = stander->in_line && now_ms <= line->waiters_end_ms;
        if (!stander->in_line && stander->record_end_ms == 0)
            stander->id[0] = '\0';
    }
}

struct sim_standing *sim_line_find(struct sim_call *call, const char *order_key)
{
    struct sim_standing *lines = call->node->memory.standing, *place = NULL;

    for (int i = 0; i < SIM_LINES_MAX; i++) {
        if (strcmp(lines[i].key, order_key) == 0) {
            expire(&lines[i], ms_of(call));
            return &lines[i];
        }
        if (place == NULL && lines[i].key[0] == '\0')
            place = &lines[i];
    }
    if (place == NULL || strlen(order_key) >= sizeof place->key)
        abort(); /* there is room for every name there is */
    snprintf(place->key, sizeof place->key, "%s", order_key);
    return place;
}

struct sim_stander *sim_line_stander(struct sim_standing *line, const char *id)
{
    for (int i = 0; i < SIM_STANDERS_MAX; i++)
        if (strcmp(line->standers[i].id, id) == 0)
            return &line->standers[i];
    return NULL;
}

static struct sim_stander *make_stander(struct sim_standing *line, const char *id)
{
    struct sim_stander *stander = sim_line_stander(line, id);

    if (stander != NULL)
        return stander;
    stander = sim_line_stander(line, "");
    if (stander == NULL)
        abort(); /* records end soon */
    *stander = (struct sim_stander){0};
    snprintf(stander->id, sizeof stander->id, "%s", id);
    return stander;
}

void sim_line_forget(struct sim_stander *stander)
{
    stander->in_line = false;
    stander->record_end_ms = 0;
    stander->id[0] = '\0';
}

bool sim_line_before(const struct sim_stander *a, const struct sim_stander *b)
{
    return a->ticket != b->ticket ? a->ticket < b->ticket : strcmp(a->id, b->id) < 0;
}

int64_t sim_line_place(const struct sim_standing *line, const struct sim_stander *stander)
{
    int64_t place = 1;

    for (int i = 0; i < SIM_STANDERS_MAX; i++)
        place += line->standers[i].in_line && sim_line_before(&line->standers[i], stander);
    return place;
}

struct sim_stander *sim_line_first(struct sim_standing *line)
{
    struct sim_stander *first = NULL;

    for (int i = 0; i < SIM_STANDERS_MAX; i++)
        if (line->standers[i].in_line && (first == NULL || sim_line_before(&line->standers[i], first)))
            first = &line->standers[i];
    return first;
}

void sim_line_write_order(struct sim_table *table, int64_t ticket, const char *id, int64_t given)
{
    struct sim_standing *line = table->line;

    line->ticket = ticket;
    memmove(line->id, id, strlen(id) + 1);
    line->given = given;
    line->order_end_ms = ms_of(table->call) + LIFE_MS;
}

/* Where there is no order, nobody waits. */
void sim_line_end_order(struct sim_table *table)
{
    table->line->order_end_ms = 0;
    expire(table->line, ms_of(table->call));
}

/* ---- parts/hand_on.lua ---- */

/* The bytes of a message to a subscriber. */
static void write_message(struct rl_writer *to, const char *channel, const char *message)
{
    rl_write_raw(to, ">3\r\n", 4);
    sim_reply_text(to, "message");
    sim_reply_text(to, channel);
    sim_reply_text(to, message);
}

/* PUBLISH: how many are believed to hear it. Whoever is being served gets it with its replies. */
uint32_t sim_line_publish(struct sim_call *call, const char *channel, const char *message)
{
    struct sim_node *node = call->node;
    uint32_t heard = 0;

    for (uint32_t peer = 1; peer <= SIM_CLIENTS_MAX; peer++) {
        char bytes[SIM_PUSH_SIZE];
        struct rl_writer push = rl_writer_on(bytes, sizeof bytes);

        heard += strcmp(node->ghosts[peer], channel) == 0;
        if (strcmp(node->channels[peer], channel) != 0)
            continue;
        heard++;
        write_message(&push, channel, message);
        if (peer == node->tracking.peer && node->own_length + push.length <= sizeof node->own) {
            memcpy(node->own + node->own_length, push.bytes, push.length);
            node->own_length += push.length;
        } else if (node->publish != NULL) {
            node->publish(node->context, node, peer, push.bytes, push.length);
        }
    }
    return heard;
}

/* Those who share a lock have one number, that of the first of them. */
static bool is_numbered(const struct sim_vote *vote, bool shares)
{
    return shares && vote->has_fence && vote->known >= vote->floor;
}

static int64_t pick_number(const struct sim_table *table, bool shares, int64_t proposed)
{
    return is_numbered(&table->vote, shares) ? table->vote.known
                                             : sim_script_number(table->call, &table->vote, proposed);
}

static void keep_number(struct sim_table *table, bool shares, int64_t fence)
{
    if (is_numbered(&table->vote, shares))
        return;
    sim_script_store(table->call, &table->vote, table->fence_key, table->floor_key, fence);
    table->vote.has_fence = true;
    table->vote.known = table->vote.stored = fence;
}

static bool is_told(struct sim_table *table, const struct sim_stander *stander, int64_t fence, int64_t ms)
{
    char message[512];

    snprintf(message, sizeof message, "%" PRId64 " %" PRId64 " %" PRId64 " %zu %zu %s%s%s",
             table->call->now_us, fence, ms, strlen(stander->owner), strlen(stander->epoch), stander->owner,
             stander->epoch, table->lock);
    return stander->channel[0] == '\0' || sim_line_publish(table->call, stander->channel, message) > 0 ||
           table->call->node->bug == SIM_BUG_DEAF_NOT_PASSED;
}

/* Whether a waiter is there, knows the node, and was heard of since. */
static bool lives(const struct sim_table *table, const struct sim_stander *stander, int64_t since)
{
    return stander->record_end_ms != 0 && stander->epoch[0] != '\0' &&
           strncmp(table->epoch, stander->epoch, strlen(stander->epoch)) == 0 &&
           (strcmp(stander->id, table->random) == 0 || stander->asked >= since);
}

/* The lock is its own, alone or shared; whether others may come in beside it. */
static void give(struct sim_table *table, const struct sim_stander *stander, bool shares, struct given *given)
{
    struct sim_call *call = table->call;

    call->node->told = strcmp(stander->id, table->random) != 0;
    keep_number(table, shares, given->fence);
    if (stander->shares) {
        if (!shares)
            sim_node_remove(call->node, table->lock);
        sim_holds_add(call, table->lock, stander->owner, given->ms);
        given->shared = true;
        if (strcmp(stander->id, table->random) == 0)
            given->own = given->fence;
    } else {
        sim_node_set(call->node, table->lock, stander->owner, ms_of(call) + given->ms);
        given->owner = get(call, table->lock);
    }
    call->node->told = false;
}

static struct given hand_on(struct sim_table *table, bool shares)
{
    struct sim_call *call = table->call;
    struct sim_standing *line = table->line;
    int64_t now = call->now_us, since = 0;
    struct given given = {0};
    struct sim_stander *first;

    if (line->given > 0 && line->given <= now && call->node->bug != SIM_BUG_STOPPED_NOT_PASSED)
        since = line->given < now - LIVING_US ? line->given : now - LIVING_US;
    while ((first = sim_line_first(line)) != NULL) {
        struct sim_stander stander = *first;
        bool self = strcmp(stander.id, table->random) == 0;
        bool stale = now - stander.asked > FRESH_US || stander.channel[0] == '\0';
        bool brief = !self && (stander.ttl_ms > BRIEF_MS || stale) && call->node->bug != SIM_BUG_NEVER_BRIEF;

        if (lives(table, &stander, since) && shares && !stander.shares)
            return given;
        sim_line_forget(first);
        given.ms = brief && stander.ttl_ms > BRIEF_MS ? BRIEF_MS : stander.ttl_ms;
        given.fence = pick_number(table, shares, stander.proposed);
        if (!lives(table, &stander, since) || (!self && !is_told(table, &stander, given.fence, given.ms))) {
            call->node->passed_over++;
            continue;
        }
        if (brief)
            sim_line_write_order(table, stander.ticket, stander.id, now);
        give(table, &stander, shares, &given);
        if (!stander.shares)
            return given;
        shares = true;
    }
    if (!shares)
        sim_line_end_order(table);
    return given;
}

/* ---- ask.lua ---- */

/* Whether whoever is served is a client of an older version: it knows no line, neither when it asks nor when
 * it releases. */
static bool is_older(const struct sim_call *call)
{
    return call->node->tracking.peer != SIM_NOBODY &&
           (call->node->older >> call->node->tracking.peer & 1) != 0;
}

/* KEYS lock fence epoch floor order  ARGV owner ttl proposal epoch not_after place */
/* ---- parts/keys.lua ---- */

/* What is kept beside a lock is named by the scripts themselves. */
static void make_keys(struct sim_line_keys *keys, const char *lock)
{
    char fence[RL_KEY_FENCE_MAX], order[RL_KEY_LINE_MAX];

    snprintf(keys->fence, sizeof keys->fence, "%.*s", (int)rl_key_fence(fence, lock, strlen(lock)), fence);
    snprintf(keys->order, sizeof keys->order, "%.*s", (int)rl_key_line(order, lock, strlen(lock), "order"),
             order);
    memcpy(keys->all, ((const char *[]){lock, keys->fence, RL_KEY_EPOCH, RL_KEY_FLOOR, keys->order}),
           sizeof keys->all);
}

/* The same call with all keys, as the parts of the scripts know it. */
struct sim_call sim_line_spell_out(const struct sim_call *call, struct sim_line_keys *keys, const char *lock,
                                   const char *const *argv, uint32_t count)
{
    struct sim_call whole = {
        .node = call->node, .now_us = call->now_us, .count = 5 + count, .reply = call->reply};

    make_keys(keys, lock);
    memcpy(whole.arguments, keys->all, sizeof keys->all);
    memcpy(whole.arguments + 5, argv, count * sizeof *argv);
    return whole;
}

/* Whether anybody may be in line for any lock. */
static bool has_lines(const struct sim_call *call)
{
    return ms_of(call) <= call->node->memory.lines_end_ms;
}

struct sim_table sim_line_lay(struct sim_call *call, const char *owner, const char *const *keys)
{
    struct sim_table table = {.call = call,
                              .line = sim_line_find(call, keys[4]),
                              .lock = keys[0],
                              .fence_key = keys[1],
                              .floor_key = keys[3],
                              .epoch = get(call, keys[2])};

    snprintf(table.random, sizeof table.random, "%s", owner);
    return table;
}

static void grant_again(struct sim_table *table, const char *const *argv, int64_t ticket)
{
    struct sim_call *call = table->call;
    int64_t fence = table->vote.known;

    if (sim_node_pttl(call->node, call->now_us, table->lock) < number(argv[1]))
        sim_node_set(call->node, table->lock, argv[0], ms_of(call) + number(argv[1]));
    sim_line_write_order(table, ticket, table->random, 0);
    if (!table->vote.has_fence || fence < table->vote.floor) {
        fence = sim_script_number(call, &table->vote, number(argv[2]));
        sim_script_store(call, &table->vote, table->fence_key, table->floor_key, fence);
    }
    sim_reply_array(call->reply, 3);
    sim_reply_integer(call->reply, 1);
    sim_reply_integer(call->reply, call->now_us);
    sim_reply_integer(call->reply, fence);
}

struct sim_stander *sim_line_take_in(struct sim_table *table, const char *const *argv, int64_t ticket,
                                     bool settled, int64_t lease_ms, const char *channel)
{
    struct sim_standing *line = table->line;
    struct sim_stander *stander = make_stander(line, table->random);

    if (!settled && stander->in_line && stander->ticket > ticket)
        ticket = stander->ticket;
    else if (!settled && !stander->in_line && ticket <= line->high - CLOSE_US)
        ticket = line->high + 1;
    if (ticket > line->high)
        line->high = ticket;
    line->order_end_ms = ms_of(table->call) + LIFE_MS;
    line->waiters_end_ms = ms_of(table->call) + LIFE_MS;
    table->call->node->memory.lines_end_ms = ms_of(table->call) + LIFE_MS;
    stander->in_line = true;
    stander->ticket = ticket;
    stander->record_end_ms = ms_of(table->call) + lease_ms;
    stander->asked = table->call->now_us;
    stander->proposed = number(argv[2]);
    stander->ttl_ms = number(argv[1]);
    stander->shares = false;
    snprintf(stander->channel, sizeof stander->channel, "%s", channel);
    snprintf(stander->epoch, sizeof stander->epoch, "%s", argv[3]);
    snprintf(stander->owner, sizeof stander->owner, "%s", argv[0]);
    return stander;
}

static struct sim_stander *take_in(struct sim_table *table, const char *const *argv,
                                   const struct place *place, bool shares)
{
    struct sim_stander *stander = sim_line_take_in(table, argv, place->ticket, place->settled % 2 != 0,
                                                   place->lease_ms, place->channel);

    stander->shares = shares;
    return stander;
}

/* Another program's kind of lock is in the way. */
static bool is_foreign(const struct sim_table *table)
{
    return get(table->call, table->lock) == NULL && is_there(table->call, table->lock) &&
           sim_holds_count(table->call, table->lock) == 0 && is_there(table->call, table->lock);
}

/* Who is in the way, as it is told. */
static const char *name_holder(const struct sim_table *table)
{
    const char *kept = get(table->call, table->lock);

    if (kept != NULL)
        return kept;
    return is_there(table->call, table->lock) ? sim_holds_name(table->call, table->lock) : "";
}

static void deny_in_line(struct sim_table *table, const struct sim_stander *stander, int64_t left_ms)
{
    struct sim_call *call = table->call;
    const char *holder = name_holder(table);
    bool shared = sim_holds_count(call, table->lock) > 0;
    bool known = shared || strncmp(holder, table->line->id, SIM_ID_SIZE - 1) == 0;

    sim_reply_array(call->reply, stander != NULL ? 8 : 5);
    sim_reply_integer(call->reply, 0);
    sim_reply_integer(call->reply, call->now_us);
    sim_reply_integer(call->reply, table->vote.stored);
    sim_reply_integer(call->reply,
                      left_ms != 0 ? left_ms : sim_node_pttl(call->node, call->now_us, table->lock));
    sim_reply_text(call->reply, holder);
    if (stander == NULL)
        return;
    sim_reply_integer(call->reply, sim_line_place(table->line, stander));
    sim_reply_integer(call->reply, stander->ticket);
    sim_reply_integer(call->reply, known ? table->line->ticket : 0);
}

static void grant(struct sim_call *call, int64_t fence, int64_t proposed)
{
    if (fence != proposed) {
        sim_reply_array(call->reply, 3);
        sim_reply_integer(call->reply, 1);
    }
    sim_reply_integer(call->reply, call->now_us);
    if (fence != proposed)
        sim_reply_integer(call->reply, fence);
}

static bool read_place(const char *text, struct place *place)
{
    *place = (struct place){0};
    return sscanf(text, "%" SCNd64 " %d %" SCNd64 " %63s", &place->ticket, &place->settled, &place->lease_ms,
                  place->channel) >= 3;
}

/* Somebody waits, or will: false, nothing was answered, and the vote is as any other. */
static bool ask_in_line(struct sim_table *table, const char *const *argv)
{
    struct sim_call *call = table->call;
    const char *holder = get(call, table->lock);
    struct place place;
    bool waits = read_place(argv[5], &place), yields = place.settled >= 2, foreign, shares;
    struct sim_stander *stander = NULL;
    int64_t left_ms = 0;

    if (yields && holder != NULL && strcmp(holder, argv[0]) == 0) {
        sim_node_remove(call->node, table->lock);
        holder = NULL;
    }
    if (holder != NULL && strcmp(holder, argv[0]) == 0) {
        grant_again(table, argv, place.ticket);
        return true;
    }
    foreign = is_foreign(table);
    shares = sim_holds_count(call, table->lock) > 0 && call->node->bug != SIM_BUG_HOLDS_UNSEEN;
    if (waits)
        stander = take_in(table, argv, &place, false);
    if (yields && holder == NULL && !foreign && !shares) {
        left_ms = -1;
    } else if (holder == NULL && !foreign && !yields) {
        struct given given = hand_on(table, shares);

        if (given.owner != NULL && strcmp(given.owner, argv[0]) == 0) {
            grant(call, given.fence, number(argv[2]));
            return true;
        }
        if (given.owner != NULL) {
            table->vote.stored = given.fence;
            left_ms = given.ms;
        }
    }
    if (!waits)
        return false;
    deny_in_line(table, stander, left_ms);
    return true;
}

/* ---- share.lua ---- */

static void grant_share(struct sim_table *table, const char *const *argv)
{
    struct sim_call *call = table->call;
    bool shares = sim_holds_count(call, table->lock) > 0;
    int64_t fence = pick_number(table, shares, number(argv[2]));

    keep_number(table, shares, fence);
    if (sim_holds_end_ms(call->node, table->lock, argv[0]) < ms_of(call) + number(argv[1]) ||
        !sim_holds_has(call, table->lock, argv[0]))
        sim_holds_add(call, table->lock, argv[0], number(argv[1]));
    grant(call, fence, -1);
}

/* One that has it alone, or may: planted bug, those who share it do not mind. */
static bool is_in_the_way(const struct sim_table *table)
{
    return get(table->call, table->lock) != NULL || is_foreign(table);
}

static void share_in_line(struct sim_table *table, const char *const *argv, const struct place *place,
                          bool waits)
{
    struct sim_call *call = table->call;
    bool yields = place->settled >= 2, shares = sim_holds_count(call, table->lock) > 0;
    struct sim_stander *stander = waits ? take_in(table, argv, place, true) : NULL;
    int64_t left_ms = 0;

    if (yields && !is_in_the_way(table) && !shares) {
        left_ms = -1;
    } else if (!is_in_the_way(table) && !yields) {
        struct given given = hand_on(table, shares);

        if (given.own != 0) {
            grant(call, given.own, -1);
            return;
        }
        if (!waits && given.owner == NULL && sim_line_first(table->line) == NULL) {
            grant_share(table, argv);
            return;
        }
        if (given.owner != NULL) {
            table->vote.stored = given.fence;
            left_ms = given.ms;
        }
    }
    deny_in_line(table, stander, left_ms);
}

/* KEYS and ARGV as of ask */
static void share(struct sim_call *call)
{
    const char *const *keys = call->arguments, *const *argv = keys + 5;
    struct sim_table table = sim_line_lay(call, argv[0], keys);
    struct place place;
    bool waits;

    if (!sim_script_fit(call, argv, &table.vote))
        return;
    if (argv[5][0] == '\0' && call->node->asked != NULL)
        call->node->asked(call->node->context, call->node, argv[0]);
    waits = read_place(argv[5], &place);
    if (call->node->bug == SIM_BUG_SHARED_BESIDE && get(call, table.lock) != NULL) {
        grant(call, table.vote.stored + 1, -1);
        return;
    }
    if (place.settled >= 2)
        sim_holds_remove(call, table.lock, argv[0]);
    if (sim_holds_has(call, table.lock, argv[0])) {
        grant_share(&table, argv);
        if (table.line->order_end_ms != 0 || waits)
            sim_line_write_order(&table, place.ticket, table.random, 0);
    } else if (!is_in_the_way(&table) && place.settled < 2 && sim_line_first(table.line) == NULL) {
        grant_share(&table, argv);
    } else {
        share_in_line(&table, argv, &place, waits);
    }
}

/* ---- what is asked ---- */

/* KEYS lock  ARGV as of ask.lua */
void sim_script_share(struct sim_call *call)
{
    struct sim_line_keys keys;
    struct sim_call whole =
        sim_line_spell_out(call, &keys, call->arguments[0], call->arguments + 1, call->count - 1);

    share(&whole);
}

void sim_ask(struct sim_call *call)
{
    const char *const *keys = call->arguments, *const *argv = keys + 5;
    struct sim_table table = sim_line_lay(call, argv[0], keys);

    if (!sim_script_fit(call, argv, &table.vote))
        return;
    if (argv[5][0] == '\0' && call->node->asked != NULL)
        call->node->asked(call->node->context, call->node, argv[0]);
    if (!is_older(call) &&
        (table.line->order_end_ms != 0 || (argv[5][0] != '\0' && is_there(call, keys[0]))) &&
        ask_in_line(&table, argv))
        return;
    sim_script_vote(call, argv, &table.vote);
}

/* KEYS lock  ARGV as in ask.lua */
void sim_script_ask(struct sim_call *call)
{
    struct sim_line_keys keys;
    struct sim_call whole =
        sim_line_spell_out(call, &keys, call->arguments[0], call->arguments + 1, call->count - 1);

    sim_ask(&whole);
}

/* One of several: lines are looked at only where there are any. */
static void ask_among(struct sim_call *call)
{
    const char *const *argv = call->arguments + 5;
    struct sim_vote vote;

    if (has_lines(call) || strchr(call->arguments[0], '{') != NULL || is_there(call, call->arguments[0])) {
        sim_ask(call);
    } else if (sim_script_fit(call, argv, &vote)) {
        if (argv[5][0] == '\0' && call->node->asked != NULL)
            call->node->asked(call->node->context, call->node, argv[0]);
        sim_script_vote(call, argv, &vote);
    }
}

/* KEYS locks  ARGV epoch not_after, then owner ttl proposal place of each */
void sim_script_ask_many(struct sim_call *call)
{
    uint32_t count = call->key_count, carried_out = call->node->half ? count / 2 : count;
    const char *const *keys = call->arguments, *const *argv = keys + call->key_count;
    static char bytes[32768];
    struct rl_writer answers = rl_writer_on(bytes, sizeof bytes);

    call->node->batches++;
    for (uint32_t i = 0; i < carried_out; i++) {
        const char *const *own = argv + 2 + 4 * i;
        const char *const words[] = {own[0], own[1], own[2], argv[0], argv[1], own[3]};
        struct sim_line_keys beside;
        struct sim_call one = sim_line_spell_out(call, &beside, keys[i], words, 6);

        one.reply = &answers;
        ask_among(&one);
    }
    if (answers.overflow)
        abort(); /* 64 refusals fit */
    if (carried_out < count) {
        call->node->half = false;
        rl_write_raw(call->reply, "-ERR it failed half-way\r\n", 25);
        return;
    }
    sim_reply_array(call->reply, count);
    rl_write_raw(call->reply, answers.bytes, answers.length);
}

/* ---- hand_on.lua ---- */

/* Whether the owner has the lock, but in the other way. */
static bool is_mistaken(struct sim_table *table, const char *owner, bool shared)
{
    const char *held = get(table->call, table->lock);

    if (!shared)
        return held == NULL && sim_holds_has(table->call, table->lock, owner);
    return held != NULL &&
           (strcmp(held, owner) == 0 || (strncmp(held, "broken|", 7) == 0 && strcmp(held + 7, owner) == 0));
}

/* What an owner has of a lock is taken from it; what the script answers. */
static int64_t take_back(struct sim_table *table, const char *owner, bool shared, bool *ours)
{
    struct sim_call *call = table->call;
    const char *held = get(call, table->lock);
    bool broken = held != NULL && strncmp(held, "broken|", 7) == 0 && strcmp(held + 7, owner) == 0;

    *ours = broken || (held != NULL && strcmp(held, owner) == 0);
    if (held == NULL && sim_holds_count(call, table->lock) > 0)
        return shared && sim_holds_remove(call, table->lock, owner) ? 1 : 0;
    return broken ? -5 : *ours ? 1 : held != NULL ? 0 : -1;
}

static void leave_line(struct sim_table *table)
{
    struct sim_stander *stander = sim_line_stander(table->line, table->random);

    if (strcmp(table->line->id, table->random) == 0 && table->line->given > 0)
        sim_line_write_order(table, table->line->ticket, table->random, 0);
    if (stander != NULL && stander->in_line)
        sim_line_forget(stander);
}

void sim_hand_on(struct sim_call *call)
{
    const char *const *at = call->arguments;
    const char *owner = at[5], *floor = get(call, at[3]), *last = get(call, at[1]);
    struct sim_table table = sim_line_lay(call, owner, at);
    bool waited_for = table.line->order_end_ms != 0 && !is_older(call), given = false, ours, shares, kept;
    bool shared = call->count > 6;
    int64_t answer;

    if (is_mistaken(&table, owner, shared)) {
        sim_reply_integer(call->reply, 0);
        return;
    }
    answer = take_back(&table, owner, shared, &ours);
    if (call->node->released != NULL)
        call->node->released(call->node->context, call->node, owner);
    if (waited_for)
        leave_line(&table);
    shares = sim_holds_count(call, at[0]) > 0;
    kept = !ours && !shares && is_there(call, at[0]);
    if (waited_for && kept && sim_line_first(table.line) == NULL &&
        (get(call, at[0]) == NULL || strncmp(table.line->id, get(call, at[0]), SIM_ID_SIZE - 1) != 0))
        sim_line_end_order(&table);
    if (waited_for && !kept && table.epoch != NULL && floor != NULL &&
        sim_script_may_hand_on(call, table.epoch)) {
        struct given to;

        table.vote = (struct sim_vote){.has_fence = last != NULL, .floor = number(floor)};
        table.vote.known = last != NULL ? number(last) : table.vote.floor;
        table.vote.stored = table.vote.known > table.vote.floor ? table.vote.known : table.vote.floor;
        to = hand_on(&table, shares);
        given = to.owner != NULL || to.shared;
    }
    if (ours && !given)
        sim_node_remove(call->node, at[0]);
    sim_reply_integer(call->reply, answer);
}

/* KEYS lock  ARGV owner, and 's' */
void sim_script_hand_on(struct sim_call *call)
{
    struct sim_line_keys keys;
    struct sim_call whole =
        sim_line_spell_out(call, &keys, call->arguments[0], call->arguments + 1, call->count - 1);

    sim_hand_on(&whole);
}

/* Those that nobody waits for come first. */
static bool is_freed_first(struct sim_call *call, uint32_t i)
{
    const char *held = get(call, call->arguments[i]);

    return !has_lines(call) && held != NULL && strcmp(held, call->arguments[call->key_count + i]) == 0;
}

static void free_one(struct sim_call *call, uint32_t i)
{
    if (call->node->released != NULL)
        call->node->released(call->node->context, call->node, call->arguments[call->key_count + i]);
    sim_node_remove(call->node, call->arguments[i]);
}

/* KEYS locks  ARGV owners */
void sim_script_hand_on_many(struct sim_call *call)
{
    bool first[SIM_ARGUMENTS_MAX] = {false};
    uint32_t count = call->key_count;

    call->node->batches++;
    sim_reply_array(call->reply, count);
    for (uint32_t i = 0; i < count; i++)
        first[i] = is_freed_first(call, i);
    for (uint32_t i = 0; i < count; i++)
        if (first[i])
            free_one(call, i);
    for (uint32_t i = 0; i < count; i++) {
        struct sim_line_keys keys;
        struct sim_call one =
            sim_line_spell_out(call, &keys, call->arguments[i], call->arguments + count + i, 1);

        if (first[i])
            sim_reply_integer(call->reply, 1);
        else
            sim_hand_on(&one);
    }
}

/* The first half of line.lua. */
void sim_show_standing(struct sim_call *call, const char *line_key)
{
    struct sim_standing line;
    struct sim_stander *first;
    struct sim_stander seen[SIM_STANDERS_MAX];
    char order_key[SIM_KEY_SIZE];
    uint32_t count = 0;

    snprintf(order_key, sizeof order_key, "%.*sorder", (int)(strlen(line_key) - strlen("line")), line_key);
    line = *sim_line_find(call, order_key);
    while ((first = sim_line_first(&line)) != NULL) {
        if (first->record_end_ms != 0)
            seen[count++] = *first;
        first->in_line = false;
    }
    sim_reply_integer(call->reply, count);
    sim_reply_array(call->reply, 2 * count);
    for (uint32_t i = 0; i < count; i++) {
        sim_reply_integer(call->reply, seen[i].ticket);
        sim_reply_text(call->reply, strlen(seen[i].owner) > 32 ? seen[i].owner + 32 : "");
    }
}

/* SUBSCRIBE channel, by the peer that is being served. */
void sim_subscribe(struct sim_node *node, const char *channel, struct rl_writer *reply)
{
    snprintf(node->channels[node->tracking.peer], sizeof node->channels[0], "%s", channel);
    rl_write_raw(reply, ">3\r\n", 4);
    sim_reply_text(reply, "subscribe");
    sim_reply_text(reply, channel);
    sim_reply_integer(reply, 1);
}
