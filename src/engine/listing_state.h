/*
 * What a list, a watch or a wait remembers while it is under way. What happens to it is in listing.c (looks
 * and rests), walk.c (pages of nodes), news.c (what has changed) and finds.c (what the client is told).
 */
#ifndef RL_ENGINE_LISTING_STATE_H
#define RL_ENGINE_LISTING_STATE_H

#include "engine/known.h"
#include "engine/operation.h"
#include "engine/seen.h"
#include "wire/page_command.h"

enum rl_listing_stage {
    RL_LISTING_STARTING,
    RL_LISTING_WALKING, /* a node was asked for a page */
    RL_LISTING_LOOKING, /* locks of that page are inspected */
    RL_LISTING_TELLING, /* the client has what was found */
    RL_LISTING_RESTING, /* until it looks again */
    RL_LISTING_OVER
};

struct rl_listing {
    struct rl_link link; /* in engine->listings */
    struct rl_operation *operation;
    enum rl_listing_stage stage;
    bool alone; /* one name, that of the operation's lock; no walk, but for its slots if it is a semaphore */
    bool one_name; /* one name, and of a list only its slots */
    /* alone: it has been looked at once; its slots are gone through now */
    bool looked, among_slots;
    bool slots_due;       /* alone: it is a semaphore, and they have not been gone through yet */
    int64_t slot_left_ms; /* alone: when the first of those that are held ends; -1 none is */
    bool stopped;         /* the caller wants no more */
    bool again;           /* it changed while it was looked at */
    bool partial;
    struct rl_span every;
    struct rl_time give_up_at; /* WAIT */
    bool nonblocking;
    uint32_t hurry_ms; /* after a change was notified: until the next look; 0 no hurry */

    /* The walk. */
    struct rl_page page;
    struct rl_time walk_began;
    struct rl_span pause; /* WATCH: until the next one */
    uint32_t walk, node, question;
    uint64_t disconnects; /* of that node when its walk began: a cursor is worth nothing afterwards */
    rl_node_set walked;
    uint8_t tries[RL_NODES_MAX];
    bool blind;      /* WATCH: the latest walk failed, which is to be told, or was */
    bool sight_due;  /* WATCH: that it is blind, or sees again, is to be told */
    bool failed;     /* WATCH: the latest walk did */
    bool walk_over;  /* WATCH: the latest walk is, and it rests for `pause` */
    bool seen_once;  /* WATCH: something was seen, so that what keeps it from seeing now may pass */
    bool rechecking; /* WATCH: what the walk did not meet is looked at */
    char *reply;     /* the page under way; reply_length bytes */
    size_t reply_length;
    struct rl_page_answer answer;

    /* What it found: see operation->looks. */
    struct rl_operation *telling; /* the one that the client tells of now */
    struct rl_operation *latest;  /* WAIT: the latest look, for the report */
    struct rl_seen seen;          /* LIST: keys that were looked at */
    struct rl_knowns knowns;      /* WATCH */
    size_t pattern_length;
    char pattern[]; /* as page.pattern */
};

/* Makes what a LIST, WATCH or WAIT operation needs; false: no memory. spec has its lengths filled in; its
 * name is the lock's. */
bool rl_listing_create(struct rl_operation *operation, const redlock_list_spec *spec);

static inline struct rl_engine *rl_listing_engine(const struct rl_listing *listing)
{
    return listing->operation->lock->engine;
}

#endif
