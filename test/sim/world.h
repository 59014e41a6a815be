/*
 * The simulated world: true time, modelled nodes, connections between them and clients, each of which is a
 * real engine with an application that uses it, and what is checked of it. One seed decides everything that
 * happens in it.
 */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include <stdio.h>

#include "base/prng.h"
#include "core/planted.h"
#include "engine/calls.h"
#include "engine/engine.h"
#include "sim/node.h"
#include "sim/plan.h"

/* ---- events and messages ---- */

enum sim_event_kind {
    SIM_TO_NODE,   /* the oldest message of a connection arrives at its node */
    SIM_TO_CLIENT, /* the oldest reply of a connection arrives at its client */
    SIM_STRAY,     /* a message of a connection that is no more arrives at its node */
    SIM_CONNECTED, /* a connection is made, or refused */
    SIM_DOWN,      /* a client notices that its connection is gone */
    SIM_HANG_UP,   /* a node notices that a connection is gone */
    SIM_ARM,       /* planted bug: a node begins to track a key only now */
    SIM_WAKE,      /* a client's timer */
    SIM_START,     /* a node that crashed comes back */
    SIM_FAULT,     /* something goes wrong */
    SIM_FOREIGN    /* another program takes or gives back a lock of its own kind */
};

/* What was written at once: commands, or replies and pushes. */
struct sim_message {
    struct sim_message *next;
    bool push; /* a node's: nobody asked for it */
    uint32_t length;
    char bytes[];
};

struct sim_event {
    int64_t at_us;
    uint64_t serial; /* first come, first served at the same time */
    enum sim_event_kind kind;
    uint32_t client, node, generation;
    bool own;                    /* STRAY: planted bug, it travels on a connection of its own */
    struct sim_message *message; /* STRAY: it; ARM: the key */
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

enum sim_connection_state { SIM_CLOSED, SIM_OPENING, SIM_OPEN };

struct sim_connection {
    enum sim_connection_state state;
    uint32_t generation, boot;
    struct sim_link to_node, to_client;
    uint32_t ghost;   /* number of the connection that its node does not know to be gone */
    int64_t ready_us; /* true time since when the engine may use it */
    /* likewise, since when its node may vote as the client knows it; INT64_MAX it may not */
    int64_t votes_us;
};

/* ---- clients ---- */

enum sim_stage {
    SIM_IDLE,
    SIM_ASKING, /* it wants a lock, or wants to adopt one */
    SIM_WON,    /* acquired, but its caller has not got to run yet */
    SIM_HELD,
    SIM_RELEASING,
    SIM_LOOKING /* an inspection, or init, is under way */
};

/* A thread of the application: it thinks, asks for a lock, holds it and gives it back, again and again. */
struct sim_worker {
    uint32_t index, client;
    enum sim_stage stage;
    struct rl_operation *operation; /* ASKING, WON, RELEASING, LOOKING */
    redlock_request request;        /* of that */
    redlock_lock *lock;             /* HELD, RELEASING */
    uint32_t name;                  /* the first that it wants, */
    uint32_t names;                 /* and all of them, a bit for each */
    redlock_name also[SIM_NAMES_MAX];
    char also_text[SIM_NAMES_MAX][16];
    bool fair, shared, adopts;
    bool refused; /* ASKING: some node has said in this call that it cannot or must not vote */
    bool late;    /* ASKING, in line: nobody had what it stands for, for longer than usual */
    /* ASKING, in line: it knows that it is near the front, or knew so before it was given anything */
    bool near;
    bool revived;   /* planted bug: extends what is lost */
    bool alive;     /* the thread that locks are bound to */
    int64_t act_us; /* its own clock: when the application wants to do something */
    int64_t give_back_us;
    struct rl_time valid_until; /* HELD: as the judge knows it */
    bool was_valid;             /* RELEASING: when it gave the lock back */
    struct rl_time won_until;   /* WON, planted bugs: what is left of validity */
    int64_t won_us;
    rl_node_set granted; /* votes that its round had before the latest reply */
    uint64_t round;      /* and which round that was */
    /* HELD: nodes that said in the round of this number that they do not have it; see losses.c */
    rl_node_set denied;
    uint32_t denied_in;
    /* Waiting: see wakes.c. */
    bool waited, waits;
    int64_t asked_us;   /* true time */
    int64_t stands_us;  /* likewise, since when it stands in line; 0 it does not: see stands.c */
    int64_t settled_us; /* and since when a quorum has taken it in */
    uint32_t attempts;  /* how many owners it has had */
    bool split;         /* it has some nodes, and others the rest */
    uint32_t question;
    int64_t waits_since_us; /* true time */
    rl_node_set excused;    /* nodes that could not be asked to tell */
};

struct sim_client {
    struct sim_world *world;
    uint32_t index;
    struct sim_clock clock, wall;
    int64_t paused_until_us;  /* true time */
    int64_t starved_until_us; /* likewise: without memory */
    int64_t wake_us;          /* true time of the timer that counts */
    struct rl_engine engine;
    bool begun;                 /* a new acquisition has begun: planted bug of the same owner */
    uint32_t attempt;           /* the latest of its attempts */
    struct sim_worker *binding; /* the thread that calls */
    uint64_t allocations;       /* that have not been given back */
    enum rl_event_kind door;    /* what it was told last: RL_EVENT_ANSWER, CHANGED or TIMER */
    redlock_request last_request;
    struct sim_connection connections[SIM_NODES_MAX];
    struct sim_worker workers[SIM_WORKERS_MAX];
};

/* One round's owner value, and what became of it on each node. */
struct sim_attempt {
    uint32_t client;
    int64_t asked_us;     /* true time when its round began */
    rl_node_set asked;    /* nodes that were asked for a vote under it */
    rl_node_set again;    /* nodes that gave it the lock more than once */
    rl_node_set released; /* nodes that have carried out its release */
    bool given_back;      /* a quorum has confirmed its release */
    bool left;            /* on purpose: nobody cleans up after it */
    rl_node_set
        replanted; /* nodes where a renewal was under way when it was left: it may come after a release */
    uint32_t slot; /* of a semaphore that it was handed out; 0 none */
    uint64_t held[SIM_NODES_MAX]; /* when it was last planted there, counted over all of them; 0 never */
    int64_t hold_end_ms[SIM_NODES_MAX]; /* shared: until when by its own wish, in node time */
};

/* A copy of an owner value that was given back. */
struct sim_copy {
    char owner[REDLOCK_OWNER_MAX + 1]; /* "": none yet */
    uint32_t names;                    /* a bit for each */
    bool shared;
};

/* What is relied upon. */
struct sim_holding {
    bool active, shared;
    uint32_t client, worker, attempt;
    uint32_t names;   /* a bit for each */
    uint32_t slot;    /* of a semaphore; 0 it is none */
    int64_t until_us; /* true time */
    uint64_t fence;
};

/* A lock that was handed out, for the order of fences. */
struct sim_grant {
    bool shared;
    uint32_t name, attempt, slot;
    rl_node_set nodes;            /* where its fence was stored while it was held */
    uint64_t held[SIM_NODES_MAX]; /* of the attempt when it was handed out */
    uint64_t fence;
    int64_t at_us;
};

enum { SIM_GRANTS_KEPT = 64 };

struct sim_stats {
    uint64_t steps, messages, grants, raises, extensions, mends, losses, releases, too_slow, orphans;
    uint64_t hand_overs, woken_by_look, woken_by_push, woken_by_timer, polls, looks, pushes, queued;
    uint64_t several;            /* of the grants: for several names */
    uint64_t late_among_several; /* see stands.c */
    uint64_t plain_seeds, fair_grants, batches, adopted, inits, inspections, reports, canceled, abandoned;
    uint64_t mixed_seeds, stale_adoptions;
    uint64_t handed_over, splits, give_ways, passed_over, longest_idle_us, older_seeds, foreign_locks,
        shared_grants, together;
    uint64_t late, overtaken; /* rare histories: see stands.c */
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
    struct sim_copy copies[SIM_NAMES_MAX]; /* of what was given back last, by the first of its names */
    uint64_t highest[SIM_NAMES_MAX][SIM_SLOTS_MAX + 1]; /* fence handed out, */
    uint64_t highest_alone[SIM_NAMES_MAX];              /* and to one that had the lock alone */
    int64_t excused_us[SIM_NAMES_MAX]; /* until when somebody who is stopped keeps it from others */
    int64_t had_us[SIM_NAMES_MAX];     /* when somebody was last known to have it */
    int64_t granted_us[SIM_NAMES_MAX]; /* when a lock was handed out last */
    /* The attempt that a lock's key is of at a node, 0 nobody's; and when it was last removed there. */
    uint32_t held_by[SIM_NODES_MAX][SIM_NAMES_MAX][SIM_SLOTS_MAX + 1];
    int64_t gone_us[SIM_NODES_MAX][SIM_NAMES_MAX][SIM_SLOTS_MAX + 1];
    uint32_t asked[SIM_NAMES_MAX]; /* how often it was asked for since */
    uint64_t messages_alive;
    int64_t set_back_us; /* all that clocks of nodes were set back by */
    uint32_t rare;       /* callers that were late or overtaken in this run */
    bool stopping;
    bool straying;            /* a node carries out what a broken connection left behind */
    bool init_due;            /* somebody is to give the operator's word */
    redlock_details *details; /* of inspections */
    FILE *transcript;         /* NULL: none */
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

/* Does what a client's engine wants of the network. */
void sim_network_carry(struct sim_world *world, struct sim_client *client);

/* The connection is no more; what is under way on it is lost, or strays. */
void sim_network_drop(struct sim_world *world, struct sim_client *client, uint32_t node);
void sim_network_event(struct sim_world *world, const struct sim_event *event);
void sim_network_tell(void *world, struct sim_node *node, uint32_t peer, const char *key);
void sim_network_publish(void *world, struct sim_node *node, uint32_t peer, const char *bytes, size_t length);
void sim_network_arm_late(void *world, struct sim_node *node, uint32_t peer, const char *key);
void sim_network_free(struct sim_world *world, struct sim_message *message);

/* ---- faults.c ---- */

void sim_faults_start(struct sim_world *world);
void sim_faults_event(struct sim_world *world);
void sim_faults_end(struct sim_world *world); /* everything is well again */
void sim_faults_foreign(struct sim_world *world);
bool sim_faults_anybody_holds(const struct sim_world *world);

/* ---- judge.c: what must hold ---- */

void sim_judge_handed_out(struct sim_world *world, struct sim_worker *worker,
                          const struct rl_operation *operation);
void sim_judge_adopted(struct sim_world *world, struct sim_worker *worker);
void sim_judge_extended(struct sim_world *world, struct sim_worker *worker);
void sim_judge_ended(struct sim_world *world, struct sim_worker *worker);
/* Nobody relies on it, but it is not free before its keys end: it was left to another process, or adopting it
 * failed half-way. */
void sim_judge_kept(struct sim_world *world, uint32_t name, uint32_t attempt);
void sim_judge_left(struct sim_world *world, struct sim_worker *worker);
void sim_judge_wrote(void *world, struct sim_node *node, const char *key, const char *owner);
void sim_judge_asked(void *world, struct sim_node *node, const char *owner);
void sim_judge_released(void *world, struct sim_node *node, const char *owner);
/* Around every reply: which votes have been counted that were not before, of nodes that were known to be
 * ineligible. */
void sim_judge_before_reply(struct sim_worker *worker);
void sim_judge_votes(struct sim_world *world, const struct sim_worker *worker, rl_node_set ineligible);
void sim_judge_report(struct sim_world *world, const struct rl_operation *operation);
void sim_judge_calm(struct sim_world *world);
void sim_judge_end(struct sim_world *world);

/* Whether a node's key is that of a lock, or of a slot of a semaphore: "lock-1", "lock-1#2". */
bool sim_is_lock(const char *key, uint32_t *name, uint32_t *slot);

/* The attempt that an owner value belongs to. */
uint32_t sim_attempt_of(const struct sim_world *world, const char *owner);

/* ---- wakes.c: that nobody sleeps through the end of what it waits for ---- */

void sim_wakes_removing(void *world, struct sim_node *node, const struct sim_key *key);

/* Looks at who waits after something happened. */
void sim_wakes_look(struct sim_world *world, struct sim_client *client, struct sim_worker *worker);
void sim_wakes_connected(struct sim_world *world, struct sim_client *client, uint32_t node);

/* Since when a lock's key is gone from a node; INT64_MAX it is there, and does not end. Since when nothing
 * keeps a client and a node from hearing each other. What a message takes at most. */
int64_t sim_wakes_free_since_us(const struct sim_world *world, uint32_t node, uint32_t name, uint32_t slot);
int64_t sim_wakes_undisturbed_since_us(const struct sim_world *world, const struct sim_client *client,
                                       uint32_t node);
int64_t sim_wakes_hop_us(const struct sim_plan *plan);

/* ---- stands.c: that no hand-over is lost, and that it is in order ---- */

void sim_stands_look(struct sim_world *world, struct sim_client *client, struct sim_worker *worker);
void sim_stands_ended(struct sim_world *world, struct sim_worker *worker,
                      const struct rl_operation *operation);
void sim_stands_handed_out(struct sim_world *world, const struct sim_worker *worker,
                           const struct rl_operation *operation);
void sim_stands_end(struct sim_world *world);

/* A client has stopped; a key was written for one that has. */
void sim_stands_stopped(struct sim_world *world, const struct sim_client *client);
void sim_stands_excuse_foreign(struct sim_world *world, const struct sim_node *node,
                               const struct sim_key *key); /* another program has it */
void sim_stands_excuse(struct sim_world *world, const struct sim_node *node, const struct sim_key *key);

/* ---- losses.c: that a holder learns of a loss at its next renewal ---- */

/* A whole reply is about to reach a client. */
void sim_losses_reply(struct sim_world *world, struct sim_client *client, uint32_t node, const char *bytes);
void sim_losses_look(struct sim_world *world, const struct sim_worker *worker);

/* ---- client.c: an engine, its host and its timers ---- */

void sim_client_start(struct sim_world *world, uint32_t index);
void sim_client_look(struct sim_world *world, struct sim_client *client); /* reads its clock */

/* After the engine was told something: looks at what has come out of it. */
void sim_client_attend(struct sim_world *world, struct sim_client *client);
void sim_client_run(struct sim_world *world, struct sim_client *client); /* its timers */
void sim_client_plan_wake(struct sim_world *world, struct sim_client *client);
void sim_client_stop(struct sim_world *world, struct sim_client *client);
void sim_client_end(struct sim_world *world, struct sim_client *client);

/* ---- worker.c: what the application does ---- */

void sim_worker_start(struct sim_world *world, struct sim_worker *worker);
/* Planted bugs that hide how long a lock is valid show it again, for the run is over. */
void sim_worker_unhide(struct sim_world *world, struct sim_worker *worker);
void sim_worker_act(struct sim_world *world, struct sim_worker *worker);
void sim_worker_stop(struct sim_world *world, struct sim_worker *worker);

/* Its call has ended; a lock may have been lost or renewed. */
void sim_worker_ended(struct sim_world *world, struct sim_worker *worker, struct rl_operation *operation);
void sim_worker_look(struct sim_world *world, struct sim_worker *worker);

static inline struct sim_client *sim_client_of(struct sim_world *world, const struct sim_worker *worker)
{
    return &world->clients[worker->client];
}

#endif
