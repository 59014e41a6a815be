/*
 * What follows from all that a caller in line remembers; see stand_state.h. Nothing here changes it.
 */
#include "core/stand_state.h"

enum { PLANTED_QUESTIONS = 10000 };

rl_node_set rl_stand_nodes(const struct rl_stand *stand, enum rl_stand_state state)
{
    rl_node_set set = 0;

    for (uint32_t node = 0; node < stand->config.node_count; node++)
        if (stand->nodes[node].state == state)
            set |= rl_node_set_one(node);
    return set;
}

/* Rule: votes for different slots of a semaphore are votes for different locks. */
rl_node_set rl_stand_votes(const struct rl_stand *stand)
{
    rl_node_set set = 0;

    /* Not for ever: a second fence round that no node can be asked for would begin again and again. */
    if (RL_PLANTED(&stand->config, RL_PLANTED_SLOTS_COUNTED) && stand->question < PLANTED_QUESTIONS)
        return rl_stand_nodes(stand, RL_STAND_HAS);
    for (rl_node_set left = rl_stand_nodes(stand, RL_STAND_HAS); left != 0; left &= left - 1)
        if (stand->nodes[rl_node_set_first(left)].slot == stand->slot)
            set |= rl_node_set_one(rl_node_set_first(left));
    return set;
}

rl_node_set rl_stand_others(const struct rl_stand *stand)
{
    return rl_stand_nodes(stand, RL_STAND_HAS) & ~rl_stand_votes(stand);
}

/* Linear in pairs: there are at most 31 nodes. */
uint32_t rl_stand_best_slot(const struct rl_stand *stand)
{
    rl_node_set has = rl_stand_nodes(stand, RL_STAND_HAS);
    uint32_t best = 0, most = 0;

    for (rl_node_set left = has; left != 0; left &= left - 1) {
        uint32_t slot = stand->nodes[rl_node_set_first(left)].slot, count = 0;

        for (rl_node_set others = has; others != 0; others &= others - 1)
            count += stand->nodes[rl_node_set_first(others)].slot == slot;
        if (count > most || (count == most && slot < best)) {
            most = count;
            best = slot;
        }
    }
    return best;
}

rl_node_set rl_stand_nodes_at_fence(const struct rl_stand *stand)
{
    rl_node_set at = 0;

    for (rl_node_set left = rl_stand_votes(stand); left != 0; left &= left - 1)
        if (stand->nodes[rl_node_set_first(left)].fence == stand->fence)
            at |= rl_node_set_one(rl_node_set_first(left));
    return at;
}

bool rl_stand_waits(const struct rl_stand *stand)
{
    return rl_time_before(stand->started, stand->config.give_up_at);
}

bool rl_stand_lines(const struct rl_stand *stand)
{
    return rl_stand_waits(stand) && !stand->config.once;
}

uint32_t rl_stand_quorum(const struct rl_stand *stand)
{
    return rl_quorum(stand->config.node_count);
}

struct rl_tally rl_stand_tally(const struct rl_stand *stand)
{
    struct rl_tally tally = rl_tally_start(stand->config.node_count);
    rl_node_set votes = rl_stand_votes(stand);

    for (uint32_t number = 0; number < stand->config.node_count; number++) {
        const struct rl_stand_node *node = &stand->nodes[number];
        struct rl_answer answer = node->last;

        if (rl_node_set_has(votes, number))
            answer = (struct rl_answer){.verdict = RL_GRANTED};
        else if (node->state == RL_STAND_HAS)
            answer = (struct rl_answer){.verdict = RL_DENIED, .ttl_left_ms = -2}; /* another slot */
        else if (answer.verdict == RL_GRANTED || (node->state == RL_STAND_ASKED && answer.rank == 0))
            answer.verdict = RL_SILENT; /* what it said before says nothing of now */
        rl_tally_add(&tally, number, &answer);
    }
    return tally;
}

bool rl_stand_reason_open(const struct rl_stand *stand)
{
    struct rl_tally tally = rl_stand_tally(stand), other = tally;

    other.denied |= rl_stand_nodes(stand, RL_STAND_ASKED) & ~rl_tally_answered(&tally);
    return rl_tally_reason(&other) != rl_tally_reason(&tally);
}

rl_node_set rl_stand_unheard(const struct rl_stand *stand)
{
    rl_node_set set = 0;

    for (rl_node_set left = rl_stand_nodes(stand, RL_STAND_ASKED); left != 0; left &= left - 1)
        if (stand->nodes[rl_node_set_first(left)].last.verdict == RL_SILENT)
            set |= rl_node_set_one(rl_node_set_first(left));
    return set;
}

/* Nodes that have voted in this attempt, are being asked once more, and have time left to answer. What they
 * said before is no vote any more, but neither are they missing. */
static rl_node_set voters_asked_again(const struct rl_stand *stand, struct rl_time now)
{
    rl_node_set set = 0;

    for (rl_node_set left = rl_stand_nodes(stand, RL_STAND_ASKED); left != 0; left &= left - 1) {
        enum rl_verdict verdict = stand->nodes[rl_node_set_first(left)].last.verdict;

        if (verdict == RL_GRANTED || verdict == RL_DENIED)
            set |= rl_node_set_one(rl_node_set_first(left));
    }
    return rl_time_before(now, stand->asked_by) ? set : 0;
}

/* While the nodes have not said enough in this attempt, what the one before came to says why to a caller that
 * has waited, or the queue behind others of its client. */
static enum rl_outcome reason(const struct rl_stand *stand, struct rl_time now, bool waited)
{
    struct rl_tally tally = rl_stand_tally(stand);

    if (stand->phase == RL_STAND_RESTING || (waited && rl_stand_reason_open(stand)))
        return stand->outcome;
    tally.denied |= voters_asked_again(stand, now) & ~rl_tally_answered(&tally);
    return rl_tally_reason(&tally);
}

enum rl_outcome rl_stand_reason(const struct rl_stand *stand, struct rl_time now)
{
    return reason(stand, now, stand->attempts > 1 || stand->config.queued || stand->config.again);
}

enum rl_outcome rl_stand_reason_behind(const struct rl_stand *stand, struct rl_time now)
{
    return reason(stand, now, true);
}

/* Rule: a lock is valid for as long as a quorum of its keys lives: until the quorum-th latest of their ends.
 * Only those count that store its fence: of one that has ended others may have had the lock since, with
 * higher numbers. */
struct rl_time rl_stand_valid_until(const struct rl_stand *stand)
{
    struct rl_time latest[RL_NODES_MAX];
    uint32_t count = 0;

    /* Insertion into falling order; there are at most 31 nodes. */
    for (rl_node_set left = rl_stand_nodes_at_fence(stand); left != 0; left &= left - 1) {
        struct rl_time ends = stand->nodes[rl_node_set_first(left)].ends;
        uint32_t place = count++;

        for (; place > 0 && rl_time_before(latest[place - 1], ends); place--)
            latest[place] = latest[place - 1];
        latest[place] = ends;
    }
    // cppcheck-suppress uninitvar ; a quorum is at least one, so that one was filled in
    return count >= rl_stand_quorum(stand) ? latest[rl_stand_quorum(stand) - 1] : (struct rl_time){0};
}

/* Of as many nodes as a quorum the slowest: that longest time which less than a quorum are below. */
struct rl_span rl_stand_exchange(const struct rl_stand *stand)
{
    struct rl_span longest = {0};

    for (uint32_t node = 0; node < stand->config.node_count; node++) {
        uint32_t quicker = 0;

        for (uint32_t other = 0; other < stand->config.node_count; other++)
            quicker += stand->nodes[other].took.us < stand->nodes[node].took.us;
        if (quicker < rl_stand_quorum(stand) && stand->nodes[node].took.us > longest.us)
            longest = stand->nodes[node].took;
    }
    return longest;
}

uint32_t rl_stand_place(const struct rl_stand *stand)
{
    uint32_t places[RL_NODES_MAX], count = 0;

    for (rl_node_set left = rl_stand_nodes(stand, RL_STAND_LINED); left != 0; left &= left - 1) {
        uint32_t rank = stand->nodes[rl_node_set_first(left)].last.rank, place = count++;

        for (; place > 0 && rank < places[place - 1]; place--)
            places[place] = places[place - 1];
        places[place] = rank;
    }
    return count > 0 ? places[count / 2] : 0;
}

struct rl_time rl_stand_since(const struct rl_stand *stand, struct rl_time now)
{
    for (rl_node_set left = rl_stand_nodes(stand, RL_STAND_HAS); left != 0; left &= left - 1)
        now = rl_time_min(now, stand->nodes[rl_node_set_first(left)].given);
    return now;
}
