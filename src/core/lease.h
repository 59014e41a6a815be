/*
 * A held lock and its time: when to renew, whether an extension counted, when it is lost, how its release
 * went. After it has ended, by loss or by release, it never becomes held again.
 */
#ifndef RL_CORE_LEASE_H
#define RL_CORE_LEASE_H

#include "core/planted.h"
#include "core/tally.h"

/* The number of every question that brings a node up to date: its answer counts for no extension. */
#define RL_QUESTION_MEND UINT32_MAX

/* What all leases of a client have in common. */
struct rl_lease_terms {
    uint32_t node_count;
    uint32_t drift_ppm;
    struct rl_span node_timeout;
    struct rl_span retry_min; /* between renewals that failed */
    struct rl_span retry_max;
    struct rl_prng *prng;    /* not owned */
    enum rl_planted planted; /* the simulator's */
};

struct rl_lease_config {
    const struct rl_lease_terms *terms; /* not owned; they outlive the lease */
    struct rl_span ttl;
    struct rl_span renew_every; /* 0: only when asked */
    struct rl_span max_hold;    /* 0: no limit */
    uint32_t max_extensions;    /* 0: no limit */
    bool keep_on_nodes;         /* what nodes have of it when its time is up is left to them */
    bool quick_release;         /* a release ends when it is asked for, not when nodes confirm it */
};

enum rl_lease_phase {
    RL_LEASE_IDLE,      /* held, nothing under way */
    RL_LEASE_EXTENDING, /* held, a round is under way */
    RL_LEASE_RELEASING, /* no longer held, waiting for the nodes to confirm */
    RL_LEASE_ENDED
};

/* Widest first: there may be a hundred thousand of them. */
struct rl_lease {
    struct rl_lease_config config;
    struct rl_span last_retry; /* how long was waited after the renewal that failed last; 0 it did not */
    struct rl_time held_since;
    struct rl_time valid_until; /* never past max_hold */
    struct rl_time renew_at;    /* next renewal; never for manual leases */
    struct rl_time asked;       /* t0 of the round under way */
    struct rl_time mend_at;     /* when to try again where it is missing; never: nowhere, or renewals do it */
    struct rl_time wake_at;     /* when it wants RL_EVENT_TIMER */
    struct rl_span asked_ttl;
    struct rl_span wanted; /* a caller's extension waiting for the round under way to end; 0 none */
    struct rl_tally tally;
    rl_node_set behind; /* nodes known not to have it, or not for as long as it is valid */
    uint32_t question;
    uint32_t extensions;     /* that counted */
    uint32_t ended_question; /* of the extension that ended last: it settles all that wait up to it */
    enum rl_outcome extend_outcome : 8;  /* of that extension */
    enum rl_outcome release_outcome : 8; /* once it has ended by release */
    enum rl_lease_phase phase : 8;
    uint8_t mends;     /* tries since it was last everywhere */
    bool ended_manual; /* the extension that ended last was asked for by a caller */
    bool manual;       /* the round under way was asked for by the caller */
    bool abandoned;    /* nobody owns it: not renewed, and left to others when it ends */
    bool brief;        /* it renews itself, and has not been had for its whole ttl yet */
    bool lost;
    bool late; /* it was lost because nobody renewed it in time, not because nodes refused or were silent */
};

/* A lease of a lock acquired with this validity. `held_since` is when it was asked for. */
void rl_lease_init(struct rl_lease *lease, const struct rl_lease_config *config, struct rl_time held_since,
                   struct rl_time valid_until);

/* Tell the lease what happened; learn what to do about it. Give it any event, however late.
 * effects->extended: an extension ended, and its round's tally, asked and asked_ttl are still there to be
 * read. Every RL_EVENT_EXTEND of a lease that was held leads to it: at once when it is refused; else with
 * ended_question not below effects->question of the round it began or, when it has to wait for the round
 * under way, lease->question + 1. effects->done: it has ended; `lost` tells how. */
void rl_lease_step(struct rl_lease *lease, const struct rl_event *event, struct rl_effects *effects);

/* How long a node that is brought up to date has to keep it: as long as it is valid, by the fastest clock it
 * may have. */
struct rl_span rl_lease_left(const struct rl_lease *lease, struct rl_time now);

/* Whether the holder may still rely on it. */
bool rl_lease_held(const struct rl_lease *lease, struct rl_time now);

#endif
