/*
 * Lists, watches and waits: walks through the keys of nodes page by page, or looks at one name again and again, and inspects
 * each lock that it finds. What it found is taken out by the client, a page at a time; then it goes on.
 */
#ifndef RL_ENGINE_LISTING_H
#define RL_ENGINE_LISTING_H

#include "engine/known.h"
#include "engine/operation.h"
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
    bool alone;   /* one name, that of the operation's lock; no walk */
    bool stopped; /* the caller wants no more */
    bool again;   /* it changed while it was looked at */
    bool partial;
    struct rl_span every;
    struct rl_time give_up_at; /* WAIT */
    bool nonblocking;
    uint32_t hurry_ms; /* after a change was notified: until the next look; 0 no hurry */

    /* The walk. */
    struct rl_page page;
    struct rl_time walk_began;
    uint32_t walk, node, question;
    uint64_t disconnects; /* of that node when its walk began: a cursor is worth nothing afterwards */
    rl_node_set walked;
    uint8_t tries[RL_NODES_MAX];
    enum rl_cause cause; /* why the latest node could not be walked through */
    bool blind;          /* WATCH: the latest walk failed, which is to be told, or was */
    bool blind_due, failed;
    bool rechecking; /* WATCH: what the walk did not meet is looked at */
    char *reply;     /* the page under way; reply_length bytes */
    size_t reply_length;
    struct rl_page_answer answer;

    /* What it found: see operation->looks. */
    struct rl_operation *telling; /* the one that the client tells of now */
    struct rl_operation *latest;  /* WAIT: the latest look, for the report */
    uint64_t *seen;               /* LIST: hashes of the keys that were looked at; 0 free place */
    uint32_t seen_places, seen_count;
    struct rl_knowns knowns; /* WATCH */
    size_t pattern_length;
    char pattern[]; /* as page.pattern */
};

/* Makes what a LIST, WATCH or WAIT operation needs; false: no memory. spec has its lengths filled in; its name is the lock's. */
bool rl_listing_create(struct rl_operation *operation, const redlock_list_spec *spec);
void rl_listing_free(struct rl_operation *operation);

/* Connections are there: it begins. */
void rl_listing_start(struct rl_operation *operation);
void rl_listing_event(struct rl_operation *operation, const struct rl_event *event);

/* A node answered with a page. */
void rl_listing_page(struct rl_operation *operation, uint32_t node, const struct rl_pending *pending,
                     const char *bytes, size_t length);

/* Goes on where inspections have ended; true: something was done. */
bool rl_listing_check(struct rl_engine *engine);

/* Nodes said that a key has changed, or that anything may have. */
void rl_listing_changed(struct rl_engine *engine, const char *key, size_t key_length);

/* ---- for the client, when the operation has ended, perhaps only for now ---- */

/* The next lock, or event, to tell of; false: there are no more for now. What it points to lasts until the next call. */
bool rl_listing_next(struct rl_operation *operation, redlock_event *event);

/* Goes on after all was told; false: it has ended for good. */
bool rl_listing_resume(struct rl_operation *operation);

/* The caller wants no more, while the client has it. */
bool rl_listing_stop(struct rl_engine *engine, redlock_request request);

/* As rl_report_operation(), but what a wait saw last. */
void rl_listing_report(redlock_report *report, const struct rl_operation *operation);

#endif
