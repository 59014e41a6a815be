/*
 * The simulated world: true time, modelled nodes, connections between them and modelled clients that drive the real core, and
 * what is checked of it. One seed decides everything that happens in it.
 */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include <stdio.h>

#include "base/prng.h"
#include "core/acquire.h"
#include "core/clock_watch.h"
#include "core/guard.h"
#include "core/lease.h"
#include "sim/node.h"
#include "sim/plan.h"
#include "wire/guard_command.h"
#include "wire/lock_command.h"

enum { SIM_TICKETS_MAX = 128, SIM_DEBTS_MAX = 512 };

/* ---- events and messages ---- */

enum sim_event_kind {
    SIM_TO_NODE,   /* the oldest message of a connection arrives at its node */
    SIM_TO_CLIENT, /* the oldest reply of a connection arrives at its client */
    SIM_STRAY,     /* a message of a connection that is no more arrives at its node */
    SIM_CONNECTED, /* a connection is made and greeted, or refused */
    SIM_DOWN,      /* a client notices that its connection is gone */
    SIM_WAKE,      /* a client's timer */
    SIM_START,     /* a node that crashed comes back */
    SIM_FAULT      /* something goes wrong */
};

struct sim_message {
    struct sim_message *next;
    uint32_t attempt; /* whose it is; 0 the guard's */
    uint8_t kind;     /* enum rl_command_kind */
    bool push;        /* a node's: nobody asked for it */
    bool last;        /* the last release that this attempt gets on this node */
    uint32_t length;
    char bytes[];
};

struct sim_event {
    int64_t at_us;
    uint64_t serial; /* first come, first served at the same time */
    enum sim_event_kind kind;
    uint32_t client, node, generation;
    struct sim_message *message;
};

struct sim_queue {
    struct sim_event *heap;
    uint32_t count, capacity;
    uint64_t serial;
};

void sim_queue_push(struct sim_queue *queue, struct sim_event event);
bool sim_queue_pop(struct sim_queue *queue, struct sim_event *event);

/* ---- connections ---- */

struct sim_link {
    struct sim_message *first, *last;
    int64_t last_us;      /* nothing that is sent later arrives before this */
    int64_t cut_until_us; /* nothing arrives before this */
};

struct sim_ticket {
    uint32_t attempt, question, lock;
    uint8_t kind, full, last;
    uint8_t proves; /* an acquire with the question behind it which master it was */
    uint8_t worker;
    const char *word; /* of an admission */
    uint64_t number;  /* the fence that was proposed */
    struct rl_time sent;
};

enum sim_tracking_state { SIM_TRACKING_OFF, SIM_TRACKING_ON, SIM_TRACKING_REFUSED };

enum sim_connection_state { SIM_RESTING, SIM_OPENING, SIM_READY };

struct sim_connection {
    enum sim_connection_state state;
    uint32_t generation, boot;
    struct sim_link to_node, to_client;
    struct sim_ticket tickets[SIM_TICKETS_MAX];
    uint32_t first_ticket, ticket_count;
    struct rl_time deadline, retry_at;
    struct rl_backoff backoff;
    unsigned loaded;
    enum sim_tracking_state tracking;
    int64_t ready_us; /* true time since when it is ready */
    char run_id[41], replid[41];
    bool promoted;
    int64_t up_s;
};

/* ---- clients ---- */

struct sim_guard {
    enum rl_fitness fitness;
    bool asking, clock_bad, awaits_floor;
    struct rl_time again, probed, seen_good, suspected;
    uint32_t sweep;
    uint64_t high;
    struct rl_clock_watch watch;
    enum rl_cause cause;
    char epoch[RL_EPOCH_MAX + 1];
    struct rl_terms terms;
};

struct sim_debt {
    uint32_t attempt; /* 0: free place */
    uint32_t node;
    struct rl_time due, until;
    bool again;
};

enum sim_stage {
    SIM_IDLE,
    SIM_ASKING,
    SIM_WON, /* acquired, but its caller has not got to run yet */
    SIM_HELD,
    SIM_OVER /* being released */
};

/* A thread of the application: it thinks, asks for a lock, holds it and gives it back, again and again. */
struct sim_worker {
    uint32_t index, client;
    enum sim_stage stage;
    uint32_t lock;    /* rises with every acquisition */
    uint32_t attempt; /* whose owner value it uses */
    uint32_t name;
    struct rl_acquire acquire;
    struct rl_lease lease;
    struct rl_time act_at; /* when the application wants to do something */
    struct rl_time give_back_at;
    rl_node_set touched, owed, instant;
    enum rl_command_kind owed_kind;
    uint32_t owed_question;
    bool rounds; /* nodes are owed or asked */
    bool told_lost;
    bool revived; /* planted bug: extends what is lost */
    int64_t ttl_ms;
    int64_t asked_us; /* true time when the present round began */
    uint64_t fence, seen;
    /* In the queue of its client: see turns.c. */
    bool leads;
    uint32_t place; /* 0: not behind anybody */
    struct rl_time queue_since;
    /* Waiting: see watching.c and wakes.c. */
    bool watching;
    bool waited;
    int64_t waits_since_us; /* true time */
    rl_node_set excused;    /* nodes that could not be asked to tell */
};

struct sim_client {
    uint32_t index;
    struct sim_clock clock, wall;
    struct rl_time now;
    struct rl_prng prng;
    struct rl_lease_terms lease_terms;
    int64_t paused_until_us;  /* true time */
    int64_t starved_until_us; /* likewise: without memory */
    int64_t wake_us;          /* true time of the timer that counts */
    struct sim_connection connections[SIM_NODES_MAX];
    struct sim_guard guards[SIM_NODES_MAX];
    uint32_t sweep;
    bool sweeping;
    struct sim_worker workers[SIM_WORKERS_MAX];
    struct sim_debt debts[SIM_DEBTS_MAX];
    uint32_t debt_count;
    uint32_t last_place;
    uint32_t streak_of; /* the name that this client had last; since when, and until when */
    struct rl_time streak_since, streak_until;
    struct rl_span queue_limit, trip;
    uint32_t patience, heat;
};

/* One round's owner value, and what became of it on each node. */
struct sim_attempt {
    uint32_t client, worker, name;
    char key[16], owner[48]; /* as the nodes see them */
    int64_t ttl_ms;
    rl_node_set broken;           /* a connection with something of it under way broke */
    rl_node_set settled;          /* its last release was carried out there: it must never be seen again */
    uint64_t held[SIM_NODES_MAX]; /* when it was first planted there, counted over all of them; 0 never */
};

/* What is relied upon. */
struct sim_holding {
    bool active;
    uint32_t client, worker, name, attempt;
    int64_t until_us; /* true time */
    uint64_t fence;
};

/* A lock that was handed out, for the order of fences. */
struct sim_grant {
    uint32_t name, attempt;
    rl_node_set nodes; /* where its fence was stored while it was held */
    uint64_t fence;
    int64_t at_us;
};

enum { SIM_GRANTS_KEPT = 64 };

struct sim_stats {
    uint64_t steps, messages, grants, raises, extensions, mends, losses, releases, too_slow, orphans;
    uint64_t hand_overs, woken_by_look, woken_by_push, woken_by_timer, polls, looks, pushes, queued;
    uint64_t faults[SIM_FAULTS];
    uint64_t virtual_us;
};

struct sim_world {
    struct sim_plan plan;
    struct rl_prng prng;
    struct sim_queue queue;
    int64_t now_us; /* true time */
    uint64_t serial;
    struct sim_node nodes[SIM_NODES_MAX];
    struct sim_client clients[SIM_CLIENTS_MAX];
    struct sim_attempt *attempts;
    uint32_t attempt_count, attempt_capacity;
    struct sim_holding holdings[SIM_CLIENTS_MAX * SIM_WORKERS_MAX];
    struct sim_grant grants[SIM_GRANTS_KEPT]; /* the latest ones, in a ring */
    uint32_t grant_count;
    uint64_t hold_count;
    uint64_t highest[SIM_NAMES_MAX];               /* fence handed out */
    int64_t granted_us[SIM_NAMES_MAX];             /* when a lock was handed out last */
    int64_t gone_us[SIM_NODES_MAX][SIM_NAMES_MAX]; /* when a lock's key was last removed there */
    uint32_t asked[SIM_NAMES_MAX];                 /* how often it was asked for since */
    uint64_t messages_alive;
    int64_t set_back_us; /* all that clocks of nodes were set back by */
    bool stopping;
    FILE *transcript; /* NULL: none */
    char failure[256];
    struct sim_stats stats;
};

/* Runs one plan. false: a rule was broken, and world->failure says which. */
bool sim_run(struct sim_world *world, const struct sim_plan *plan, FILE *transcript);

void sim_say(struct sim_world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sim_fail(struct sim_world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));

static inline int64_t sim_draw(struct sim_world *world, int64_t low, int64_t high)
{
    return rl_prng_between(&world->prng, low, high);
}

static inline bool sim_chance(struct sim_world *world, int percent)
{
    return sim_draw(world, 1, 100) <= percent;
}

/* ---- network.c ---- */

int64_t sim_delay(struct sim_world *world);
void sim_network_send(struct sim_world *world, struct sim_client *client, uint32_t node,
                      const struct rl_writer *bytes, const struct sim_ticket *ticket);
void sim_network_open(struct sim_world *world, struct sim_client *client, uint32_t node);

/* The connection is no more; what is under way on it is lost, or strays. */
void sim_network_drop(struct sim_world *world, struct sim_client *client, uint32_t node);
void sim_network_event(struct sim_world *world, const struct sim_event *event);
void sim_network_tell(void *world, struct sim_node *node, uint32_t peer, const char *key);
void sim_network_free(struct sim_world *world, struct sim_message *message);

/* ---- faults.c ---- */

void sim_faults_start(struct sim_world *world);
void sim_faults_event(struct sim_world *world);
void sim_faults_end(struct sim_world *world); /* everything is well again */

/* ---- judge.c: what must hold ---- */

void sim_judge_handed_out(struct sim_world *world, struct sim_client *client, struct sim_worker *worker);
void sim_judge_extended(struct sim_world *world, struct sim_client *client, struct sim_worker *worker);
void sim_judge_ended(struct sim_world *world, struct sim_client *client, struct sim_worker *worker);
void sim_judge_settled(struct sim_world *world, uint32_t node, const struct sim_message *message);
void sim_judge_wrote(void *world, struct sim_node *node, const char *key, const char *owner);
void sim_judge_calm(struct sim_world *world);
void sim_judge_end(struct sim_world *world);

/* ---- wakes.c: that nobody sleeps through the end of what it waits for ---- */

void sim_wakes_removing(void *world, struct sim_node *node, const struct sim_key *key);
void sim_wakes_waits(struct sim_world *world, struct sim_worker *worker);
void sim_wakes_asked(struct sim_worker *worker, uint32_t node, bool armed);
void sim_wakes_connected(struct sim_world *world, struct sim_client *client, uint32_t node);

/* It has waited and now does something else; or looks again. */
void sim_wakes_ends(struct sim_world *world, const struct sim_client *client,
                    const struct sim_worker *worker);
void sim_wakes_count(struct sim_world *world, const struct sim_worker *worker, const struct rl_event *event,
                     const struct rl_effects *effects);

/* ---- connection.c: a client's end of its connections ---- */

bool sim_connection_send(struct sim_world *world, struct sim_client *client, uint32_t node,
                         const struct rl_writer *bytes, const struct sim_ticket *ticket);
void sim_connection_wake(struct sim_world *world, struct sim_client *client, uint32_t node);
void sim_connection_made(struct sim_world *world, struct sim_client *client, uint32_t node, bool made);
void sim_connection_reply(struct sim_world *world, struct sim_client *client, uint32_t node,
                          const char *bytes, size_t length);
void sim_connection_break(struct sim_world *world, struct sim_client *client, uint32_t node);
bool sim_connection_silent(const struct sim_world *world, const struct sim_client *client, uint32_t node);
struct rl_time sim_connection_due(const struct sim_world *world, const struct sim_client *client,
                                  uint32_t node);

/* ---- client.c: timers, and what the application does ---- */

void sim_client_start(struct sim_world *world, uint32_t index);
void sim_client_look(struct sim_world *world, struct sim_client *client); /* reads its clock */
void sim_client_run(struct sim_world *world, struct sim_client *client);  /* its timers */
void sim_client_plan_wake(struct sim_world *world, struct sim_client *client);
void sim_client_stop(struct sim_world *world, struct sim_client *client);

/* ---- lock.c: carries out what the core wants ---- */

struct rl_lease_terms sim_lock_terms(const struct sim_world *world, struct sim_client *client);
void sim_lock_ask(struct sim_world *world, struct sim_client *client, struct sim_worker *worker, bool wait);
void sim_lock_event(struct sim_world *world, struct sim_client *client, struct sim_worker *worker,
                    const struct rl_event *event);
void sim_lock_hand_out(struct sim_world *world, struct sim_client *client, struct sim_worker *worker);

/* ---- dispatch.c: questions out, answers in ---- */

bool sim_dispatch_question(struct sim_world *world, struct sim_client *client, struct sim_worker *worker,
                           uint32_t node, enum rl_command_kind kind, uint32_t question);
bool sim_dispatch_send(struct sim_world *world, struct sim_client *client, uint32_t node, uint32_t attempt,
                       const struct sim_ticket *ticket);
void sim_dispatch_ask(struct sim_world *world, struct sim_client *client, struct sim_worker *worker,
                      rl_node_set nodes, enum rl_command_kind kind, uint32_t question);
void sim_dispatch_release(struct sim_world *world, struct sim_client *client, struct sim_worker *worker,
                          rl_node_set nodes, uint32_t question);
void sim_dispatch_mend(struct sim_world *world, struct sim_client *client, struct sim_worker *worker,
                       rl_node_set nodes);
bool sim_dispatch_take_instant(struct sim_world *world, struct sim_client *client, struct sim_worker *worker,
                               struct rl_event *event);
void sim_dispatch_forget_owed(struct sim_world *world, struct sim_client *client, struct sim_worker *worker);
void sim_dispatch_settle(struct sim_world *world, struct sim_client *client, uint32_t node);
void sim_answers_reply(struct sim_world *world, struct sim_client *client, uint32_t node,
                       const struct sim_ticket *ticket, const char *bytes, size_t length);
void sim_answers_dropped(struct sim_world *world, struct sim_client *client, uint32_t node,
                         const struct sim_ticket *ticket);

/* ---- watching.c: what nodes tell of changes ---- */

bool sim_watching_send(struct sim_world *world, struct sim_client *client, struct sim_worker *worker,
                       uint32_t node, uint32_t question);
void sim_watching_tracked(struct sim_client *client, uint32_t node, const char *bytes, size_t length);
void sim_watching_end(struct sim_world *world, struct sim_client *client, struct sim_worker *worker);
void sim_watching_push(struct sim_world *world, struct sim_client *client, uint32_t node, const char *bytes,
                       size_t length);
void sim_watching_node(struct sim_world *world, struct sim_client *client, uint32_t node,
                       enum rl_event_kind kind);
void sim_watching_arm_late(struct sim_world *world, struct sim_client *client, uint32_t node,
                           const struct sim_ticket *ticket, struct rl_answer *answer);

/* ---- turns.c: who comes first among the workers of one client ---- */

void sim_turns_init(struct sim_client *client);
struct sim_worker *sim_turns_leader(struct sim_world *world, struct sim_client *client, const char *key,
                                    size_t key_length);
void sim_turns_join(struct sim_world *world, struct sim_client *client, struct sim_worker *worker, bool waits,
                    struct rl_acquire_config *config);
void sim_turns_leave(struct sim_world *world, struct sim_client *client, struct sim_worker *worker);

/* What an acquisition learned of others who want what we want, for the next one. */
void sim_turns_remember(struct sim_client *client, const struct rl_acquire *acquire);

/* ---- guard.c: which nodes may vote ---- */

enum sim_right { SIM_MAY_VOTE, SIM_MAY_NOT_VOTE, SIM_MAY_VOTE_SOON };

void sim_guard_ready(struct sim_world *world, struct sim_client *client, uint32_t node);
void sim_guard_down(struct sim_world *world, struct sim_client *client, uint32_t node);
void sim_guard_reply(struct sim_world *world, struct sim_client *client, uint32_t node,
                     const struct sim_ticket *ticket, const char *bytes, size_t length);
bool sim_guard_admit(struct sim_world *world, struct sim_client *client, uint32_t node, const char *word,
                     bool full);
enum sim_right sim_guard_right(struct sim_world *world, struct sim_client *client, uint32_t node);

/* ---- clocks.c: nodes whose clocks misbehave ---- */

bool sim_clocks_look(struct sim_world *world, struct sim_client *client, uint32_t node, struct rl_time sent,
                     int64_t node_us);

/* ---- reaper.c: releases owed to nodes ---- */

void sim_reaper_add(struct sim_world *world, struct sim_client *client, uint32_t node, uint32_t attempt,
                    struct rl_span pause);
void sim_reaper_pay(struct sim_world *world, struct sim_client *client);
struct rl_time sim_reaper_due(const struct sim_world *world, const struct sim_client *client);

#endif
