/*
 * Which page of which node comes next, and what it came to; see walk.h.
 */
#include "engine/walk.h"

#include <string.h>

#include "core/tally.h"
#include "engine/record.h"
#include "engine/send.h"
#include "wire/error_reply.h"

enum { TRIES_MAX = 3, COUNT_MIN = 2 };

/* As many nodes as every quorum has one of. */
static uint32_t wanted_walks(const struct rl_engine *engine)
{
    return engine->node_count - rl_quorum(engine->node_count) + 1;
}

/* Whether the node can be asked now. */
static bool is_within_reach(const struct rl_engine *engine, uint32_t node)
{
    const struct rl_session *session = &engine->sessions[node];

    return session->state == RL_SESSION_READY && session->ineligible != RL_CAUSE_DUPLICATE &&
           !rl_session_silent(session, engine->now);
}

/* The node to go through next, of those that were tried least; node_count: there is none. */
static uint32_t choose_node(const struct rl_listing *listing)
{
    const struct rl_engine *engine = rl_listing_engine(listing);
    uint32_t best = engine->node_count;

    for (uint32_t node = 0; node < engine->node_count; node++) {
        if (rl_node_set_has(listing->walked, node) || listing->tries[node] >= TRIES_MAX ||
            !is_within_reach(engine, node))
            continue;
        if (best == engine->node_count || listing->tries[node] < listing->tries[best])
            best = node;
    }
    return best;
}

static bool ask_page(struct rl_listing *listing, bool full)
{
    const struct rl_session *session = &rl_listing_engine(listing)->sessions[listing->node];

    return session->state == RL_SESSION_READY && session->disconnects == listing->disconnects &&
           rl_send_command(listing->operation->lock, listing->node, RL_COMMAND_PAGE, ++listing->question,
                           NULL, full);
}

static enum rl_walk next_node(struct rl_listing *listing)
{
    struct rl_engine *engine = rl_listing_engine(listing);

    while (rl_node_set_count(listing->walked) < wanted_walks(engine)) {
        listing->node = choose_node(listing);
        if (listing->node == engine->node_count)
            return RL_WALK_FAILED;
        listing->tries[listing->node]++;
        listing->disconnects = engine->sessions[listing->node].disconnects;
        listing->page.count = RL_PAGE_COUNT;
        memcpy(listing->page.cursor, listing->one_name ? "=" : "0", sizeof "0");
        if (ask_page(listing, false))
            return RL_WALK_ASKED;
    }
    return RL_WALK_DONE;
}

enum rl_walk rl_walk_begin(struct rl_listing *listing)
{
    listing->walk++;
    listing->walk_began = rl_listing_engine(listing)->now;
    listing->walked = 0;
    memset(listing->tries, 0, sizeof listing->tries);
    return next_node(listing);
}

enum rl_walk rl_walk_on(struct rl_listing *listing)
{
    if (strcmp(listing->page.cursor, "0") == 0)
        listing->walked |= rl_node_set_one(listing->node);
    else if (ask_page(listing, false))
        return RL_WALK_ASKED;
    return next_node(listing);
}

enum rl_walk rl_walk_leave(struct rl_listing *listing, enum rl_cause cause, const char *words, size_t length)
{
    rl_record_failure(listing->operation->lock, listing->node, cause, words, length);
    return next_node(listing);
}

static enum rl_walk leave(struct rl_listing *listing, enum rl_cause cause, const char *words)
{
    return rl_walk_leave(listing, cause, words, strlen(words));
}

static enum rl_walk keep_page(struct rl_listing *listing, const char *bytes, size_t length)
{
    listing->reply = rl_state_allocate(rl_listing_engine(listing), length);
    if (listing->reply == NULL)
        return RL_WALK_NO_MEMORY;
    listing->reply_length = length;
    memcpy(listing->reply, bytes, length);
    rl_page_read(&listing->answer, listing->reply, length);
    memcpy(listing->page.cursor, listing->answer.cursor, sizeof listing->answer.cursor);
    return RL_WALK_PAGE;
}

void rl_walk_drop_page(struct rl_listing *listing)
{
    rl_state_release(rl_listing_engine(listing), listing->reply, listing->reply_length);
    listing->reply = NULL;
    listing->reply_length = 0;
    listing->answer = (struct rl_page_answer){0};
}

enum rl_walk rl_walk_take(struct rl_listing *listing, const struct rl_pending *pending, const char *bytes,
                          size_t length)
{
    struct rl_page_answer answer;

    switch (rl_page_read(&answer, bytes, length)) {
    case RL_PAGE_WHOLE:
        return keep_page(listing, bytes, length);
    case RL_PAGE_NO_SCRIPT:
        rl_listing_engine(listing)->sessions[listing->node].carried = 0;
        if (!pending->full && ask_page(listing, true))
            return RL_WALK_ASKED;
        return leave(listing, RL_CAUSE_ERROR, "it does not keep scripts");
    case RL_PAGE_TOO_MUCH:
        listing->page.count /= 4;
        if (listing->page.count >= COUNT_MIN && ask_page(listing, false))
            return RL_WALK_ASKED;
        return leave(listing, RL_CAUSE_MEMORY, "its keys are too long for an answer");
    case RL_PAGE_ERROR:
        return rl_walk_leave(listing, rl_error_cause(answer.error, answer.error_length), answer.error,
                             answer.error_length);
    case RL_PAGE_NONSENSE:
        break;
    }
    return leave(listing, RL_CAUSE_PROTOCOL, "its answer makes no sense");
}

void rl_walk_record(struct rl_listing *listing)
{
    struct rl_operation *operation = listing->operation;
    struct rl_engine *engine = rl_listing_engine(listing);

    for (uint32_t node = 0; node < engine->node_count && !listing->alone; node++) {
        struct rl_node_record *record = &operation->record.nodes[node];

        if (rl_node_set_has(listing->walked, node)) {
            record->answer = (struct rl_answer){.verdict = RL_GRANTED, .ttl_left_ms = -2};
            record->detail[0] = '\0';
        } else if (engine->sessions[node].state != RL_SESSION_READY ||
                   (listing->failed && listing->tries[node] == 0 && !is_within_reach(engine, node))) {
            rl_record_refusal(operation->lock, node);
        }
    }
}

/* By the rule of every other question: credentials and rights, a server that is named twice, or too few that
 * answer. */
redlock_result rl_walk_why_failed(struct rl_listing *listing)
{
    uint32_t node_count = rl_listing_engine(listing)->node_count;
    struct rl_tally tally = rl_tally_start(node_count);
    enum rl_outcome reason;

    rl_walk_record(listing);
    for (uint32_t node = 0; node < node_count; node++)
        rl_tally_add(&tally, node, &listing->operation->record.nodes[node].answer);
    reason = rl_tally_reason(&tally);
    return reason == RL_OUTCOME_FORBIDDEN || reason == RL_OUTCOME_INVALID ? (redlock_result)reason
                                                                          : REDLOCK_NO_QUORUM;
}
