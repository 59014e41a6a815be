/*
 * What to do about a node whose clock misbehaves: it does not vote, and when the others agree that it is the node's clock and
 * not ours, the node is told, so that everybody learns that its locks may have ended early. core/clock_watch measures.
 */
#include <inttypes.h>
#include <stdio.h>

#include "client/client.h"

static void begin_suspicion(redlock_client *client, uint32_t node, enum rl_cause cause, const char *why)
{
    rl_guard_set_unfit(client, node, cause, why);
    client->guards[node].suspected = client->clock.now;
    /* Fresh looks at the others tell whose clock it was. */
    for (uint32_t other = 0; other < client->node_count; other++)
        if (other != node && client->connections[other].state == RL_CONNECTION_READY &&
            client->guards[other].fitness == RL_FITNESS_FIT && !client->guards[other].asking)
            rl_guard_admit(client, other, "", NULL, false);
}

static uint32_t count_suspected(const redlock_client *client)
{
    uint32_t count = 0;

    for (uint32_t node = 0; node < client->node_count; node++)
        count += client->guards[node].suspected.us != 0;
    return count;
}

/* Nodes whose clocks were seen to be good after this one was not. */
static uint32_t count_witnesses(const redlock_client *client, uint32_t suspect)
{
    uint32_t count = 0;

    for (uint32_t node = 0; node < client->node_count; node++)
        count += node != suspect && client->guards[node].suspected.us == 0 &&
                 !rl_time_before(client->guards[node].seen_good, client->guards[suspect].suspected);
    return count;
}

/* Most nodes cannot have jumped together: our own clock did. They are watched anew, and nobody is accused. */
static void acquit_all(redlock_client *client)
{
    rl_client_log(client, REDLOCK_LOG_WARNING,
                  "the clocks of most nodes jumped at once: it was this machine's clock");
    for (uint32_t node = 0; node < client->node_count; node++) {
        struct rl_node_guard *guard = &client->guards[node];

        guard->suspected = (struct rl_time){0};
        guard->clock_bad = false;
        guard->watch.anchored = false;
        if (rl_cause_is_clock(guard->cause))
            guard->cause = RL_CAUSE_NONE;
    }
}

/* Keys that a fast or jumping clock let expire are forgotten locks: the node sits out, for everybody. */
static void accuse(redlock_client *client, uint32_t node)
{
    struct rl_node_guard *guard = &client->guards[node];

    guard->suspected = (struct rl_time){0};
    rl_guard_accuse(client, node);
    if (!guard->clock_bad)
        guard->cause = RL_CAUSE_NONE; /* what the admission answers counts from here on */
}

static void judge(redlock_client *client)
{
    uint32_t quorum = rl_quorum(client->node_count);
    uint32_t suspected = count_suspected(client);

    if (suspected == 0)
        return;
    if (suspected >= quorum && client->node_count > 1) {
        acquit_all(client);
        return;
    }
    for (uint32_t node = 0; node < client->node_count; node++)
        if (client->guards[node].suspected.us != 0 && count_witnesses(client, node) + 1 >= quorum)
            accuse(client, node);
}

static void describe(const struct rl_clock_watch *watch, enum rl_clock_state state, char *why, size_t size)
{
    if (state == RL_CLOCK_STEP)
        snprintf(why, size, "its clock jumped by %+" PRId64 " ms", watch->step_us / 1000);
    else
        snprintf(why, size, "its clock runs at another rate than ours: %+" PRId64 " ppm", watch->rate_ppm);
}

bool rl_guard_clock(redlock_client *client, uint32_t node, struct rl_time sent, int64_t node_us)
{
    struct rl_node_guard *guard = &client->guards[node];
    bool was_bad = guard->clock_bad;
    enum rl_clock_state state;
    char why[sizeof guard->why];

    if (!client->config.guarded)
        return true;
    state = rl_clock_watch_add(&guard->watch, sent, client->clock.now, node_us, client->config.drift_ppm);
    guard->clock_bad = state == RL_CLOCK_RATE;
    if (state == RL_CLOCK_GOOD)
        guard->seen_good = sent;
    else if (!was_bad || state == RL_CLOCK_STEP) {
        describe(&guard->watch, state, why, sizeof why);
        begin_suspicion(client, node, state == RL_CLOCK_STEP ? RL_CAUSE_CLOCK_STEP : RL_CAUSE_CLOCK_RATE,
                        why);
    }
    if (was_bad && state == RL_CLOCK_GOOD && rl_cause_is_clock(guard->cause) && guard->suspected.us == 0)
        guard->cause = RL_CAUSE_NONE;
    judge(client);
    return state == RL_CLOCK_GOOD && guard->suspected.us == 0;
}
