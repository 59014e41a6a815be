/*
 * Many callers in line at once: core/stand against nodes that keep lines as the scripts do
 * (wire/lua/parts/hand_on.lua), over ordered connections that break, with callers that die, are stopped or
 * give up and nodes that freeze. One seed decides a walk. Judged: one holder at a time, fences rise, and when
 * all is quiet again nobody waits for a free lock. The clocks of nodes are not ours, and run at ours' rate.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/stand.h"
#include "support/check.h"

enum {
    NODES_MAX = 5,
    CALLERS_MAX = 6,
    QUEUE_MAX = 512,
    DEBTS_MAX = 64,
    TTL_US = 400000,
    BRIEF_US = 100000, /* as the second of the scripts: here all is faster */
    FRESH_US = 25000,
    LIVING_US = 1400000, /* whoever is there has asked since then */
    RECORD_US = 3000000,
    NODE_TIMEOUT_US = 50000,
    QUIET_US = 20000000 /* no faults after this */
};

enum word { WORD_ASK, WORD_RELEASE, WORD_RAISE, WORD_ANSWER, WORD_HANDED };

struct message {
    enum word word;
    int64_t due;
    int64_t sent;
    uint64_t owner, ticket, fence; /* fence: proposed, to raise to, or given */
    bool settled;
    uint32_t question, call;
    struct rl_answer answer;
    int64_t ttl_us;
};

struct queue {
    struct message messages[QUEUE_MAX];
    uint32_t first, count;
};

struct link {
    bool up;
    int64_t back_at;
    struct queue to_node, to_caller;
    uint64_t debts[DEBTS_MAX];
    uint32_t debt_count;
};

struct waiter {
    uint64_t owner, ticket, fence;
    uint32_t caller;
    int64_t asked, until;
};

struct node {
    int64_t ahead_us;
    int64_t frozen_until;
    uint64_t holder, fence;
    int64_t ends;
    uint64_t order_owner, order_ticket, high;
    int64_t given; /* a brief grant that was not confirmed; 0 none */
    struct waiter line[CALLERS_MAX * 64];
    uint32_t line_count;
};

struct caller {
    struct rl_stand stand;
    bool running, holding, dead;
    int64_t stopped_until, next_at, release_at, valid_until;
    uint64_t owner;
    uint32_t won, wanted, call;
};

struct world {
    struct rl_prng prng;
    int64_t now;
    uint32_t node_count, caller_count;
    struct node nodes[NODES_MAX];
    struct caller callers[CALLERS_MAX];
    struct link links[CALLERS_MAX][NODES_MAX];
    uint64_t last_owner, last_fence;
    uint64_t won, hand_overs, given_way;
    bool faults, unowned_bug;
    char wrong[200];
};

static bool chance(struct world *world, int64_t of)
{
    return rl_prng_between(&world->prng, 0, of - 1) == 0;
}

static void blame(struct world *world, const char *what, int64_t one, int64_t other)
{
    if (world->wrong[0] == '\0')
        snprintf(world->wrong, sizeof world->wrong, "at %lld us: %s (%lld, %lld)", (long long)world->now,
                 what, (long long)one, (long long)other);
}

/* ---- the wire ---- */

static void put(struct world *world, struct queue *queue, struct message message)
{
    int64_t delay = rl_prng_between(&world->prng, 40, 400);
    const struct message *last =
        queue->count > 0 ? &queue->messages[(queue->first + queue->count - 1) % QUEUE_MAX] : NULL;

    if (world->faults && chance(world, 60))
        delay += rl_prng_between(&world->prng, 0, 30000);
    message.due = world->now + delay;
    if (last != NULL && last->due > message.due)
        message.due = last->due;
    assert_true(queue->count < QUEUE_MAX);
    queue->messages[(queue->first + queue->count++) % QUEUE_MAX] = message;
}

static bool take(struct queue *queue, int64_t now, struct message *message)
{
    if (queue->count == 0 || queue->messages[queue->first].due > now)
        return false;
    *message = queue->messages[queue->first];
    queue->first = (queue->first + 1) % QUEUE_MAX;
    queue->count--;
    return true;
}

/* ---- a node: what ask.lua, hand_on.lua and raise.lua do ---- */

static void expire(struct world *world, struct node *node)
{
    if (node->holder != 0 && node->ends <= world->now)
        node->holder = 0;
}

static int find(const struct node *node, uint64_t owner)
{
    for (uint32_t i = 0; i < node->line_count; i++)
        if (node->line[i].owner == owner)
            return (int)i;
    return -1;
}

static struct waiter leave(struct node *node, uint32_t place)
{
    struct waiter waiter = node->line[place];

    node->line_count--;
    memmove(&node->line[place], &node->line[place + 1], (node->line_count - place) * sizeof waiter);
    return waiter;
}

static void enter(struct node *node, struct waiter waiter)
{
    uint32_t place = node->line_count++;

    assert_true(node->line_count < CALLERS_MAX * 64);
    for (; place > 0 && node->line[place - 1].ticket > waiter.ticket; place--)
        node->line[place] = node->line[place - 1];
    node->line[place] = waiter;
}

static void hand_on(struct world *world, uint32_t number, uint64_t asker)
{
    struct node *node = &world->nodes[number];
    int64_t living = world->now - LIVING_US, since = node->given < living ? node->given : living;

    node->given = 0;
    while (node->line_count > 0) {
        struct waiter waiter = leave(node, 0);
        struct link *link = &world->links[waiter.caller][number];
        bool brief = waiter.owner != asker && world->now - waiter.asked > FRESH_US;

        if (waiter.until <= world->now || (waiter.owner != asker && (!link->up || waiter.asked < since)))
            continue;
        node->fence = waiter.fence > node->fence ? waiter.fence : node->fence + 1;
        node->holder = waiter.owner;
        node->ends = world->now + (brief ? BRIEF_US : TTL_US);
        if (brief) {
            node->order_owner = waiter.owner;
            node->order_ticket = waiter.ticket;
            node->given = world->now;
        }
        world->hand_overs += waiter.owner != asker;
        if (waiter.owner != asker)
            put(world, &link->to_caller,
                (struct message){.word = WORD_HANDED,
                                 .owner = waiter.owner,
                                 .ttl_us = brief ? BRIEF_US : TTL_US,
                                 .answer = {.fence = node->fence, .node_us = world->now + node->ahead_us}});
        return;
    }
}

static struct rl_answer ask(struct world *world, uint32_t number, uint32_t caller,
                            const struct message *message)
{
    struct node *node = &world->nodes[number];
    struct rl_answer answer = {
        .verdict = RL_GRANTED, .ttl_left_ms = -2, .node_us = world->now + node->ahead_us};
    int before = find(node, message->owner);
    struct waiter waiter = {.owner = message->owner,
                            .ticket = message->ticket,
                            .fence = message->fence,
                            .caller = caller,
                            .asked = world->now,
                            .until = world->now + RECORD_US};

    if (node->holder == message->owner) {
        node->ends = world->now + TTL_US;
        node->order_owner = message->owner;
        node->order_ticket = message->ticket;
        node->given = 0;
        answer.fence = node->fence;
        return answer;
    }
    if (!message->settled && before >= 0 && node->line[before].ticket > waiter.ticket)
        waiter.ticket = node->line[before].ticket;
    else if (!message->settled && before < 0 && waiter.ticket + 2000 <= node->high)
        waiter.ticket = node->high + 1;
    if (waiter.ticket > node->high)
        node->high = waiter.ticket;
    if (before >= 0)
        leave(node, (uint32_t)before);
    enter(node, waiter);
    if (node->holder == 0)
        hand_on(world, number, message->owner);
    answer.fence = node->fence;
    if (node->holder == message->owner)
        return answer;
    answer.verdict = RL_DENIED;
    answer.rank = (uint32_t)find(node, message->owner) + 1;
    answer.armed = true;
    answer.ticket = waiter.ticket;
    answer.holder = node->holder;
    answer.holder_ticket = node->holder == node->order_owner ? node->order_ticket : 0;
    answer.ttl_left_ms = (node->ends - world->now) / 1000;
    return answer;
}

static void carry_out(struct world *world, uint32_t number, uint32_t caller, const struct message *message)
{
    struct node *node = &world->nodes[number];
    struct message reply = {
        .word = WORD_ANSWER, .question = message->question, .call = message->call, .sent = message->sent};
    int place;

    expire(world, node);
    if (message->word == WORD_RELEASE) {
        place = find(node, message->owner);
        if (place >= 0)
            leave(node, (uint32_t)place);
        if (node->holder == message->owner || (world->unowned_bug && place < 0)) {
            node->holder = 0;
            node->given = 0;
        }
        if (node->holder == 0)
            hand_on(world, number, 0);
        return;
    }
    if (message->word == WORD_ASK) {
        reply.answer = ask(world, number, caller, message);
    } else {
        reply.answer = (struct rl_answer){.verdict = RL_DENIED, .node_us = world->now + node->ahead_us};
        if (node->holder == message->owner) {
            reply.answer.verdict = RL_GRANTED;
            node->fence = message->fence > node->fence ? message->fence : node->fence;
        }
    }
    if (world->links[caller][number].up)
        put(world, &world->links[caller][number].to_caller, reply);
}

/* ---- a caller ---- */

static void send(struct world *world, uint32_t number, uint32_t node, struct message message)
{
    struct link *link = &world->links[number][node];

    message.sent = world->now;
    if (link->up)
        put(world, &link->to_node, message);
    else if (message.word == WORD_RELEASE && link->debt_count < DEBTS_MAX)
        link->debts[link->debt_count++] = message.owner;
}

static void release_everywhere(struct world *world, uint32_t number, uint64_t owner)
{
    for (uint32_t node = 0; node < world->node_count; node++)
        send(world, number, node, (struct message){.word = WORD_RELEASE, .owner = owner});
}

static void judge_grant(struct world *world, uint32_t number)
{
    struct caller *caller = &world->callers[number];

    for (uint32_t other = 0; other < world->caller_count; other++)
        if (other != number && world->callers[other].holding &&
            world->now < world->callers[other].valid_until)
            blame(world, "two callers hold it", number, other);
    if (caller->stand.fence <= world->last_fence)
        blame(world, "the fence does not rise", (int64_t)caller->stand.fence, (int64_t)world->last_fence);
    world->last_fence = caller->stand.fence;
}

static void end_call(struct world *world, uint32_t number)
{
    struct caller *caller = &world->callers[number];

    caller->running = false;
    caller->next_at = world->now + rl_prng_between(&world->prng, 0, 2000);
    if (caller->stand.outcome != RL_OUTCOME_OK)
        return;
    judge_grant(world, number);
    caller->holding = true;
    caller->valid_until = caller->stand.valid_until.us;
    caller->release_at = world->now + rl_prng_between(&world->prng, 0, chance(world, 20) ? 300000 : 300);
    caller->won++;
    world->won++;
}

static void step(struct world *world, uint32_t number, struct rl_event event);

static void obey(struct world *world, uint32_t number, const struct rl_effects *effects)
{
    struct caller *caller = &world->callers[number];
    uint64_t former = caller->owner;

    if (effects->release != 0 && !effects->asks_first)
        release_everywhere(world, number, former);
    world->given_way += effects->release != 0 && effects->fresh;
    if (effects->fresh)
        caller->owner = ++world->last_owner;
    for (rl_node_set left = effects->acquire | effects->raise; left != 0; left &= left - 1) {
        uint32_t node = rl_node_set_first(left);
        bool raise = effects->raise != 0;

        send(world, number, node,
             (struct message){.word = raise ? WORD_RAISE : WORD_ASK,
                              .owner = caller->owner,
                              .ticket = caller->stand.ticket,
                              .settled = caller->stand.settled,
                              .fence = raise ? effects->fence : (uint64_t)world->now,
                              .question = effects->question,
                              .call = caller->call});
    }
    if (effects->asks_first)
        release_everywhere(world, number, former);
    if (effects->done)
        end_call(world, number);
    for (rl_node_set left = effects->acquire | effects->raise; left != 0; left &= left - 1) {
        uint32_t node = rl_node_set_first(left);

        if (!world->links[number][node].up && caller->running)
            step(world, number,
                 (struct rl_event){.kind = RL_EVENT_ANSWER,
                                   .now = {world->now},
                                   .node = node,
                                   .question = effects->question,
                                   .answer = {.verdict = RL_FAILED, .cause = RL_CAUSE_UNREACHABLE}});
    }
}

static void step(struct world *world, uint32_t number, struct rl_event event)
{
    struct caller *caller = &world->callers[number];
    struct rl_effects effects;

    if (!caller->running)
        return;
    event.now = (struct rl_time){world->now};
    rl_stand_step(&caller->stand, &event, &effects);
    obey(world, number, &effects);
}

static void begin_call(struct world *world, uint32_t number)
{
    struct caller *caller = &world->callers[number];
    bool gives_up = world->faults && chance(world, 10);
    int64_t skew = rl_prng_between(&world->prng, 0, 5000);
    struct rl_acquire_config config = {
        .node_count = world->node_count,
        .ttl = rl_span_us(TTL_US),
        .drift_ppm = 1000,
        .node_timeout = rl_span_us(NODE_TIMEOUT_US),
        .give_up_at = gives_up ? (struct rl_time){world->now + rl_prng_between(&world->prng, 500, 50000)}
                               : RL_TIME_NEVER,
        .retry_min = rl_span_ms(2),
        .retry_max = rl_span_ms(50),
        .ticket = (uint64_t)(world->now + skew),
        .renews = chance(world, 2)};

    rl_stand_init(&caller->stand, &config, &world->prng);
    caller->running = true;
    caller->call++;
    step(world, number, (struct rl_event){.kind = RL_EVENT_START});
}

static void hear(struct world *world, uint32_t number, uint32_t node, const struct message *message)
{
    const struct caller *caller = &world->callers[number];
    struct rl_event event = {.kind = message->word == WORD_HANDED ? RL_EVENT_HANDED : RL_EVENT_ANSWER,
                             .node = node,
                             .question = message->question,
                             .sent = {message->sent},
                             .ttl = rl_span_us(message->ttl_us),
                             .eligible = !chance(world, 8),
                             .answer = message->answer};

    /* As tickets do: a reply is for the call that asked. */
    if (message->word == WORD_ANSWER ? message->call == caller->call : message->owner == caller->owner)
        step(world, number, event);
}

/* ---- faults ---- */

static void break_link(struct world *world, uint32_t number, uint32_t node)
{
    struct link *link = &world->links[number][node];
    struct message message;

    if (!link->up)
        return;
    link->up = false;
    link->back_at = world->now + rl_prng_between(&world->prng, 0, 40000);
    link->to_caller.count = 0;
    while (take(&link->to_node, INT64_MAX, &message)) {
        if (chance(world, 2))
            carry_out(world, node, number, &message);
        else if (message.word == WORD_RELEASE && link->debt_count < DEBTS_MAX)
            link->debts[link->debt_count++] = message.owner;
    }
    if (!world->callers[number].dead)
        step(world, number, (struct rl_event){.kind = RL_EVENT_DOWN, .node = node});
}

static void mend_link(struct world *world, uint32_t number, uint32_t node)
{
    struct link *link = &world->links[number][node];

    link->up = true;
    for (; link->debt_count > 0; link->debt_count--)
        put(world, &link->to_node,
            (struct message){.word = WORD_RELEASE, .owner = link->debts[link->debt_count - 1]});
    step(world, number, (struct rl_event){.kind = RL_EVENT_UP, .node = node});
}

static void do_harm(struct world *world)
{
    uint32_t number = (uint32_t)rl_prng_between(&world->prng, 0, world->caller_count - 1);
    uint32_t node = (uint32_t)rl_prng_between(&world->prng, 0, world->node_count - 1);
    struct caller *caller = &world->callers[number];

    switch (rl_prng_between(&world->prng, 0, 5)) {
    case 0:
    case 1:
        if (!caller->dead)
            break_link(world, number, node);
        return;
    case 2:
        caller->stopped_until = world->now + rl_prng_between(&world->prng, 0, 900000);
        return;
    case 3:
        world->nodes[node].frozen_until = world->now + rl_prng_between(&world->prng, 0, 200000);
        return;
    case 4:
        if (number == 0 || caller->dead || !chance(world, 4))
            return;
        caller->dead = true;
        caller->running = caller->holding = false;
        for (uint32_t each = 0; each < world->node_count; each++) {
            break_link(world, number, each);
            world->links[number][each].back_at = INT64_MAX;
        }
        return;
    default:
        if (caller->running && chance(world, 3) && caller->stopped_until <= world->now)
            step(world, number, (struct rl_event){.kind = RL_EVENT_CANCEL});
    }
}

/* ---- the walk ---- */

static void turn_caller(struct world *world, uint32_t number)
{
    struct caller *caller = &world->callers[number];
    struct message message;

    if (caller->dead || caller->stopped_until > world->now)
        return;
    for (uint32_t node = 0; node < world->node_count; node++) {
        struct link *link = &world->links[number][node];

        if (!link->up && link->back_at <= world->now)
            mend_link(world, number, node);
        while (take(&link->to_caller, world->now, &message))
            hear(world, number, node, &message);
    }
    if (caller->running && caller->stand.wake_at.us <= world->now)
        step(world, number, (struct rl_event){.kind = RL_EVENT_TIMER});
    if (caller->holding && (caller->release_at <= world->now || caller->valid_until <= world->now)) {
        caller->holding = false;
        release_everywhere(world, number, world->callers[number].owner);
    }
    if (!caller->running && !caller->holding && caller->won < caller->wanted && caller->next_at <= world->now)
        begin_call(world, number);
}

static void turn_node(struct world *world, uint32_t node)
{
    struct message message;

    for (uint32_t number = 0; number < world->caller_count && world->nodes[node].frozen_until <= world->now;
         number++)
        while (take(&world->links[number][node].to_node, world->now, &message))
            carry_out(world, node, number, &message);
}

static bool all_done(const struct world *world)
{
    for (uint32_t number = 0; number < world->caller_count; number++)
        if (!world->callers[number].dead &&
            (world->callers[number].won < world->callers[number].wanted || world->callers[number].holding))
            return false;
    return true;
}

static void walk(struct world *world, uint64_t seed, uint32_t wanted, bool faults)
{
    memset(world, 0, sizeof *world);
    world->prng = rl_prng_seed(seed);
    world->now = 1000000;
    world->node_count = chance(world, 2) ? 3 : 5;
    world->caller_count = (uint32_t)rl_prng_between(&world->prng, 2, CALLERS_MAX);
    world->faults = faults;
    for (uint32_t number = 0; number < world->caller_count; number++) {
        world->callers[number].wanted = wanted;
        for (uint32_t node = 0; node < world->node_count; node++)
            world->links[number][node].up = true;
    }
    for (uint32_t node = 0; node < world->node_count; node++)
        world->nodes[node].ahead_us = rl_prng_between(&world->prng, -5000000, 5000000) + 50000000;
}

static void go(struct world *world)
{
    while (!all_done(world) && world->wrong[0] == '\0') {
        world->now += rl_prng_between(&world->prng, 10, 60);
        if (world->now > QUIET_US)
            world->faults = false;
        if (world->faults && chance(world, 400))
            do_harm(world);
        for (uint32_t node = 0; node < world->node_count; node++)
            turn_node(world, node);
        for (uint32_t number = 0; number < world->caller_count; number++)
            turn_caller(world, number);
        if (world->now > 3 * (int64_t)QUIET_US)
            blame(world, "somebody waits for ever", (int64_t)world->won, (int64_t)world->given_way);
    }
}

static void run_seeds(uint64_t first, uint64_t count, uint32_t wanted, bool faults)
{
    static struct world world;
    uint64_t won = 0, hand_overs = 0, given_way = 0;

    for (uint64_t seed = first; seed < first + count; seed++) {
        walk(&world, seed, wanted, faults);
        go(&world);
        if (world.wrong[0] != '\0')
            fail_msg("seed %llu: %s", (unsigned long long)seed, world.wrong);
        won += world.won;
        hand_overs += world.hand_overs;
        given_way += world.given_way;
    }
    printf("# %llu acquisitions, %llu hand-overs by nodes, begun anew %llu times\n", (unsigned long long)won,
           (unsigned long long)hand_overs, (unsigned long long)given_way);
    assert_true(hand_overs > won);
}

static void a_quiet_line_moves_on(void **state)
{
    (void)state;
    run_seeds(1, 100, 40, false);
}

static void no_hand_over_is_lost_whatever_fails(void **state)
{
    const char *seeds = getenv("STAND_SEEDS"); /* how many, for longer runs */

    (void)state;
    run_seeds(1000, seeds != NULL ? strtoull(seeds, NULL, 10) : 150, 40, true);
}

/* The judge is awake: a release that takes the lock from whoever has it is found. */
static void a_release_that_asks_for_no_owner_is_found(void **state)
{
    static struct world world;
    bool found = false;

    (void)state;
    for (uint64_t seed = 1; seed <= 50 && !found; seed++) {
        walk(&world, seed, 40, true);
        world.unowned_bug = true;
        go(&world);
        found = world.wrong[0] != '\0';
    }
    assert_true(found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quiet_line_moves_on),
        cmocka_unit_test(no_hand_over_is_lost_whatever_fails),
        cmocka_unit_test(a_release_that_asks_for_no_owner_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
