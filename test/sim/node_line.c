/*
 * The scripts for those who wait, line by line in C: acquire_fair, leave, present and line of src/wire/lua; see there for why.
 * Nobody is told that he has moved up: the model has no pushes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/node.h"

enum { CLOSE_US = 2000, LIFE_MIN_MS = 60000 };

static int64_t number(const char *text)
{
    return strtoll(text, NULL, 10);
}

static int64_t ms_of(const struct sim_call *call)
{
    return call->now_us / 1000;
}

/* ---- what is kept ---- */

static void forget_waiter(struct sim_waiter *waiter)
{
    if (!waiter->in_line && !waiter->waits && waiter->lease_end_ms == 0)
        waiter->id[0] = '\0';
}

static void end_lease(struct sim_waiter *waiter)
{
    waiter->lease_end_ms = 0;
    forget_waiter(waiter);
}

static void leave_line(struct sim_waiter *waiter)
{
    waiter->in_line = false;
    forget_waiter(waiter);
}

/* Everything here ends by itself. */
static void expire(struct sim_line *line, int64_t now_ms)
{
    if (now_ms > line->state_end_ms) {
        line->high = 0;
        line->offer[0] = '\0';
    }
    for (int i = 0; i < SIM_WAITERS_MAX; i++) {
        struct sim_waiter *waiter = &line->waiters[i];

        if (waiter->lease_end_ms != 0 && now_ms > waiter->lease_end_ms)
            waiter->lease_end_ms = 0;
        waiter->in_line = waiter->in_line && now_ms <= line->line_end_ms;
        waiter->waits = waiter->waits && now_ms <= line->waiting_end_ms;
        forget_waiter(waiter);
    }
}

/* The line whose keys begin like this one, up to its last colon. */
static struct sim_line *find_line(struct sim_call *call, const char *key)
{
    size_t length = (size_t)(strrchr(key, ':') - key);
    struct sim_line *lines = call->node->memory.lines, *place = NULL;

    for (int i = 0; i < SIM_LINES_MAX; i++) {
        if (strncmp(lines[i].key, key, length) == 0 && lines[i].key[length] == '\0') {
            expire(&lines[i], ms_of(call));
            return &lines[i];
        }
        if (place == NULL && lines[i].key[0] == '\0')
            place = &lines[i];
    }
    if (place == NULL || length >= sizeof place->key)
        abort(); /* there is room for every name there is */
    memcpy(place->key, key, length);
    return place;
}

/* NULL: he is not known. */
static struct sim_waiter *find_waiter(struct sim_line *line, const char *id)
{
    for (int i = 0; i < SIM_WAITERS_MAX; i++)
        if (strcmp(line->waiters[i].id, id) == 0)
            return &line->waiters[i];
    return NULL;
}

/* A real node has room for all who were lost on their way; here the one that would end first gives way. */
static struct sim_waiter *oldest(struct sim_line *line)
{
    struct sim_waiter *oldest = &line->waiters[0];

    for (int i = 1; i < SIM_WAITERS_MAX; i++)
        if (line->waiters[i].lease_end_ms < oldest->lease_end_ms)
            oldest = &line->waiters[i];
    return oldest;
}

static struct sim_waiter *make_waiter(struct sim_line *line, const char *id)
{
    struct sim_waiter *waiter = find_waiter(line, id);

    if (waiter != NULL)
        return waiter;
    waiter = find_waiter(line, "");
    if (waiter == NULL)
        waiter = oldest(line);
    *waiter = (struct sim_waiter){0};
    snprintf(waiter->id, sizeof waiter->id, "%s", id);
    return waiter;
}

/* Whoever has tracked his lease hears that it was written to. */
static void touch_lease(struct sim_call *call, const struct sim_line *line, const struct sim_waiter *waiter)
{
    char key[SIM_KEY_SIZE + SIM_ID_SIZE];

    snprintf(key, sizeof key, "%s:%s", line->key, waiter->id);
    sim_tracking_changed(call->node, key);
}

static void set_lease(struct sim_call *call, struct sim_waiter *waiter, int64_t lease_ms, const char *text)
{
    waiter->lease_end_ms = ms_of(call) + lease_ms;
    snprintf(waiter->lease, sizeof waiter->lease, "%s", text);
}

/* ---- order ---- */

static bool is_before(const struct sim_waiter *a, const struct sim_waiter *b)
{
    return a->ticket != b->ticket ? a->ticket < b->ticket : strcmp(a->id, b->id) < 0;
}

/* How many in line are before him. */
static int64_t rank_of(const struct sim_line *line, const struct sim_waiter *waiter)
{
    int64_t rank = 0;

    for (int i = 0; i < SIM_WAITERS_MAX; i++)
        rank += line->waiters[i].in_line && is_before(&line->waiters[i], waiter);
    return rank;
}

static struct sim_waiter *at_rank(struct sim_line *line, int64_t rank)
{
    for (int i = 0; i < SIM_WAITERS_MAX; i++)
        if (line->waiters[i].in_line && rank_of(line, &line->waiters[i]) == rank)
            return &line->waiters[i];
    return NULL;
}

/* The first who is still there; those before him are dropped. */
static struct sim_waiter *find_first(struct sim_line *line, const char *id)
{
    struct sim_waiter *first = at_rank(line, 0);

    while (first != NULL && strcmp(first->id, id) != 0 && first->lease_end_ms == 0) {
        leave_line(first);
        first = at_rank(line, 0);
    }
    return first;
}

/* Who the first two are; whoever has become one of them is told. */
struct heads {
    char ids[2][SIM_ID_SIZE];
};

static struct heads heads_of(struct sim_line *line)
{
    struct heads heads = {0};

    for (int rank = 0; rank < 2; rank++) {
        const struct sim_waiter *waiter = at_rank(line, rank);

        if (waiter != NULL)
            memcpy(heads.ids[rank], waiter->id, sizeof heads.ids[rank]);
    }
    return heads;
}

static void wake_first_two(struct sim_call *call, struct sim_line *line, const struct heads *before,
                           const char *id)
{
    struct heads heads = heads_of(line);

    if (memcmp(&heads, before, sizeof heads) == 0)
        return;
    for (int rank = 0; rank < 2; rank++) {
        const struct sim_waiter *waiter = at_rank(line, rank);

        if (waiter != NULL && strcmp(waiter->id, id) != 0 && waiter->lease_end_ms != 0)
            touch_lease(call, line, waiter);
    }
}

/* ---- acquire_fair ---- */

/* ARGV owner ttl proposal epoch not_after id ticket lease grace who settled */
struct fair {
    struct sim_line *line;
    const char *holder; /* NULL: free */
    const char *id, *who;
    int64_t ticket, lease_ms, grace_us, stored;
    bool settled;
    struct sim_waiter *first;
};

static int64_t choose_place(const struct fair *fair)
{
    const struct sim_waiter *me = find_waiter(fair->line, fair->id);
    bool in_line = me != NULL && me->in_line;

    if (fair->settled)
        return fair->ticket;
    if (in_line)
        return fair->ticket > me->ticket ? fair->ticket : me->ticket;
    return fair->ticket > fair->line->high - CLOSE_US ? fair->ticket : fair->line->high + 1;
}

static void take_in(struct sim_call *call, const struct fair *fair, int64_t place)
{
    struct sim_waiter *me = make_waiter(fair->line, fair->id);

    me->in_line = true;
    me->ticket = place;
    set_lease(call, me, fair->lease_ms, fair->who);
}

/* Whom the free lock is offered to, and at which fence. */
static bool is_offered(const struct fair *fair)
{
    char offer[SIM_KEY_SIZE];

    snprintf(offer, sizeof offer, "%s %" PRId64, fair->first->id, fair->stored);
    return strcmp(fair->line->offer, offer) == 0;
}

static void skip_head_after_grace(struct sim_call *call, struct fair *fair)
{
    if (fair->holder != NULL || strcmp(fair->first->id, fair->id) == 0 || !is_offered(fair) ||
        call->now_us - fair->line->since_us <= fair->grace_us)
        return;
    fair->first->lease_end_ms = 0;
    leave_line(fair->first);
    fair->first = find_first(fair->line, fair->id);
}

static void offer_to_first(struct sim_call *call, struct fair *fair)
{
    struct sim_line *line = fair->line;

    if (is_offered(fair) && line->since_us <= call->now_us)
        return;
    line->since_us = call->now_us;
    snprintf(line->offer, sizeof line->offer, "%s %" PRId64, fair->first->id, fair->stored);
}

static void deny_in_line(struct sim_call *call, const struct fair *fair, int64_t place)
{
    int64_t left_us = fair->line->since_us + fair->grace_us - call->now_us;
    int64_t left_ms = fair->holder != NULL ? sim_node_pttl(call->node, call->now_us, call->arguments[0])
                      : left_us <= 1000    ? 1
                                           : (left_us + 999) / 1000;

    sim_reply_array(call->reply, 7);
    sim_reply_integer(call->reply, 0);
    sim_reply_integer(call->reply, call->now_us);
    sim_reply_integer(call->reply, fair->stored);
    sim_reply_integer(call->reply, left_ms);
    sim_reply_text(call->reply, fair->holder != NULL ? fair->holder : "");
    sim_reply_integer(call->reply, 1 + rank_of(fair->line, find_waiter(fair->line, fair->id)));
    sim_reply_integer(call->reply, place);
}

/* The gate; true: it is this one's turn. */
static bool pass_gate(struct sim_call *call, struct fair *fair)
{
    struct sim_line *line = fair->line;
    int64_t life_ms = 10 * fair->lease_ms > LIFE_MIN_MS ? 10 * fair->lease_ms : LIFE_MIN_MS, place;

    fair->first = find_first(line, fair->id);
    place = choose_place(fair);
    if (place > line->high)
        line->high = place;
    line->state_end_ms = ms_of(call) + life_ms;
    if (fair->holder == NULL && fair->first == NULL)
        return true;
    take_in(call, fair, place);
    line->line_end_ms = ms_of(call) + life_ms;
    fair->first = find_first(line, fair->id);
    skip_head_after_grace(call, fair);
    if (fair->holder == NULL && strcmp(fair->first->id, fair->id) == 0) {
        fair->first->lease_end_ms = 0;
        leave_line(fair->first);
        line->offer[0] = '\0';
        return true;
    }
    if (fair->holder != NULL)
        line->offer[0] = '\0';
    else
        offer_to_first(call, fair);
    deny_in_line(call, fair, place);
    return false;
}

/* KEYS lock fence epoch floor line state lease */
void sim_script_acquire_fair(struct sim_call *call)
{
    const char *const *argv = call->arguments + 7;
    struct sim_vote vote;
    struct heads before;
    struct fair fair;
    bool passes;

    if (!sim_script_fit(call, argv, &vote))
        return;
    fair = (struct fair){.line = find_line(call, call->arguments[4]),
                         .holder = sim_node_get(call->node, call->now_us, call->arguments[0]),
                         .id = argv[5],
                         .ticket = number(argv[6]),
                         .lease_ms = number(argv[7]),
                         .grace_us = 1000 * number(argv[8]),
                         .who = argv[9],
                         .settled = strcmp(argv[10], "1") == 0,
                         .stored = vote.stored};
    before = heads_of(fair.line);
    passes = pass_gate(call, &fair);
    wake_first_two(call, fair.line, &before, fair.id);
    if (passes)
        sim_script_vote(call, argv, &vote);
}

/* ---- the others ---- */

/* KEYS line state lease  ARGV id */
void sim_script_leave(struct sim_call *call)
{
    struct sim_line *line = find_line(call, call->arguments[0]);
    struct sim_waiter *waiter = find_waiter(line, call->arguments[3]);
    bool was_in_line = waiter != NULL && waiter->in_line;
    struct heads before;

    before = heads_of(line);
    if (was_in_line && rank_of(line, waiter) == 0)
        line->offer[0] = '\0';
    if (waiter != NULL) {
        waiter->in_line = false;
        end_lease(waiter);
    }
    if (was_in_line)
        find_first(line, call->arguments[3]);
    wake_first_two(call, line, &before, call->arguments[3]);
    sim_reply_integer(call->reply, was_in_line);
}

/* KEYS waiting lease  ARGV id lease [since count who] */
void sim_script_present(struct sim_call *call)
{
    const char *const *argv = call->arguments + 2;
    struct sim_line *line = find_line(call, call->arguments[0]);
    struct sim_waiter *waiter = make_waiter(line, argv[0]);
    int64_t lease_ms = number(argv[1]), end_ms = ms_of(call) + lease_ms;
    bool waited;
    char text[SIM_WHO_SIZE];

    for (int i = 0; i < SIM_WAITERS_MAX; i++)
        line->waiters[i].waits = line->waiters[i].waits && line->waiters[i].until_ms >= ms_of(call);
    waited = waiter->waits;
    waiter->waits = lease_ms != 0;
    if (lease_ms == 0) {
        end_lease(waiter);
        sim_reply_integer(call->reply, waited);
        return;
    }
    waiter->until_ms = end_ms;
    snprintf(text, sizeof text, "%s %s %s", argv[2], argv[3], argv[4]);
    set_lease(call, waiter, lease_ms, text);
    if (line->waiting_end_ms < end_ms)
        line->waiting_end_ms = end_ms;
    sim_reply_integer(call->reply, call->now_us);
}

/* Who waits and has a lease, in the order in which they cease to count; returns how many. */
static uint32_t sort_waiting(struct sim_line *line, int64_t now_ms, struct sim_waiter **sorted)
{
    uint32_t count = 0;

    for (int i = 0; i < SIM_WAITERS_MAX; i++) {
        struct sim_waiter *waiter = &line->waiters[i];
        uint32_t at = count;

        if (!waiter->waits || waiter->until_ms < now_ms || waiter->lease_end_ms == 0)
            continue;
        for (; at > 0; at--) {
            struct sim_waiter *other = sorted[at - 1];

            if (other->until_ms < waiter->until_ms ||
                (other->until_ms == waiter->until_ms && strcmp(other->id, waiter->id) < 0))
                break;
            sorted[at] = other;
        }
        sorted[at] = waiter;
        count++;
    }
    return count;
}

/* KEYS line waiting  ARGV at most; there are never more than that. */
void sim_script_line(struct sim_call *call)
{
    struct sim_line *line = find_line(call, call->arguments[0]);
    struct sim_waiter *sorted[SIM_WAITERS_MAX];
    uint32_t count;

    sim_reply_array(call->reply, 5);
    sim_reply_integer(call->reply, call->now_us);
    sim_show_standing(call, call->arguments[0]);
    count = sort_waiting(line, ms_of(call), sorted);
    sim_reply_integer(call->reply, count);
    sim_reply_array(call->reply, 3 * count);
    for (uint32_t i = 0; i < count; i++) {
        char *rest = NULL;

        sim_reply_integer(call->reply, strtoll(sorted[i]->lease, &rest, 10));
        sim_reply_integer(call->reply, strtoll(rest, &rest, 10));
        sim_reply_text(call->reply, rest + 1);
    }
}

/* ---- single commands ---- */

int64_t sim_line_pttl(struct sim_call *call, const char *key)
{
    const struct sim_waiter *waiter = find_waiter(find_line(call, key), strrchr(key, ':') + 1);

    return waiter != NULL && waiter->lease_end_ms != 0 ? waiter->lease_end_ms - ms_of(call) : -2;
}

int64_t sim_line_rank(struct sim_call *call, const char *key, const char *id)
{
    struct sim_line *line = find_line(call, key);
    const struct sim_waiter *waiter = find_waiter(line, id);

    return waiter != NULL && waiter->in_line ? rank_of(line, waiter) : -1;
}
