/*
 * A node as far as locks see it: a small table of keys with ends, a clock, and the scripts of src/wire/lua
 * carried out in C. It takes the bytes of one command and gives the bytes of its reply; the network is not
 * its business.
 */
#ifndef SIM_NODE_H
#define SIM_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/plan.h"
#include "wire/resp_writer.h"

enum { SIM_KEYS_MAX = 56, SIM_KEY_SIZE = 64, SIM_VALUE_SIZE = 128, SIM_REPLY_SIZE = 512 };
enum {
    SIM_LINES_MAX = SIM_NAMES_MAX,
    SIM_STANDERS_MAX = 64,
    SIM_ID_SIZE = 33,
    SIM_SLOT_CLOSE_US = 100000, /* those who came so closely may get slots in another order */
    SIM_ARGUMENTS_MAX = 464,    /* of a command for 64 locks */
    SIM_PUSH_SIZE = 1024,
    SIM_TRACKED_MAX = 64,
    SIM_HOLDS_MAX = 96,
    SIM_NOBODY = 0 /* peers count from 1 */
};

#define SIM_WRONG_TYPE "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"

enum sim_type { SIM_TEXT, SIM_HASH, SIM_HOLDS };

struct sim_key {
    char key[SIM_KEY_SIZE]; /* "": free place */
    enum sim_type type;
    char value[SIM_VALUE_SIZE]; /* of a text */
    int64_t end_ms;             /* node time; 0 it has none */
};

/* Client tracking: who is told of what, see node_tracking.c. */
struct sim_tracking {
    bool refused;     /* this node does not let clients track */
    uint32_t peer;    /* who is being served; SIM_NOBODY */
    uint32_t on;      /* peers that have switched it on, a bit for each */
    uint32_t next;    /* peers that want the key of their next command tracked */
    uint32_t pending; /* keys to tell the one that is being served of, once it has its reply */
    char own[SIM_TRACKED_MAX][SIM_KEY_SIZE];
    struct {
        char key[SIM_KEY_SIZE]; /* "": free place */
        uint32_t peers;
    } keys[SIM_TRACKED_MAX];
    uint32_t key_count;
};

/* Somebody who stands in a line in which the lock is handed on, by the random part of its owner; see
 * wire/lua/ask.lua. */
struct sim_stander {
    char id[SIM_ID_SIZE]; /* "": free place */
    bool in_line;
    int64_t ticket;
    int64_t record_end_ms; /* 0 it has no record */
    int64_t asked, proposed, ttl_ms;
    bool shares;
    int64_t only; /* of a semaphore: the one slot that it takes; 0 any */
    char channel[SIM_KEY_SIZE], epoch[SIM_VALUE_SIZE], owner[SIM_VALUE_SIZE];
};

/* That line, and what parts/order.lua keeps. */
struct sim_standing {
    char key[SIM_KEY_SIZE]; /* of its order; "": free place */
    struct sim_stander standers[SIM_STANDERS_MAX];
    int64_t order_end_ms; /* 0 there is no order */
    int64_t waiters_end_ms;
    int64_t high, ticket, given;
    char id[SIM_ID_SIZE];
};

/* Those who share a lock; see node_holds.c. */
struct sim_hold {
    char owner[SIM_VALUE_SIZE]; /* "": free place */
    int64_t end_ms;
};

struct sim_sharing {
    char key[SIM_KEY_SIZE]; /* "": free place */
    struct sim_hold holds[SIM_HOLDS_MAX];
};

/* All that a node can lose. */
struct sim_memory {
    struct sim_key keys[SIM_KEYS_MAX];
    struct sim_sharing sharing[SIM_NAMES_MAX];
    struct sim_standing standing[SIM_LINES_MAX];
    int64_t lines_end_ms; /* until when there may be somebody in some line */
    int64_t checked_us;   /* node time: it last looked whether it is still the same master; 0 never */
};

/* A clock that ran at `rate` from true time `since`, when it showed `base`. */
struct sim_clock {
    int64_t since_us, base_us, rate_ppm;
};

struct sim_node {
    struct sim_memory memory;
    struct sim_memory kept; /* the latest snapshot */
    struct sim_clock clock;
    int64_t started_us; /* node time */
    uint32_t boot;      /* how often it was started */
    char run_id[41], replid[41];
    bool promoted;       /* it was a replica since it was started */
    int64_t promoted_us; /* and until then (true time) */
    unsigned loaded;     /* scripts it knows, a bit for each */
    bool up;
    int64_t frozen_until_us; /* true time; INT64_MAX: for good */
    int64_t slow_until_us;
    bool old;                  /* it speaks RESP2 only */
    bool half;                 /* its next command for several locks fails half-way */
    int64_t accused_us;        /* node time: it was last told that its clock stepped; 0 never */
    uint64_t batches, repairs; /* commands for several locks; keys planted again for their holders */
    enum sim_bug bug;
    struct sim_tracking tracking;
    char channels[SIM_CLIENTS_MAX + 1][SIM_KEY_SIZE]; /* what each peer has subscribed to; "" nothing */
    char ghosts[SIM_CLIENTS_MAX + 1]
               [SIM_KEY_SIZE]; /* likewise, on a connection that is gone without its knowing */
    bool own_first;            /* what it publishes to the peer that is being served comes before its reply */
    char own[64 * SIM_PUSH_SIZE];
    size_t own_length;
    bool told;            /* it writes the key of a lock that it hands over */
    bool fresh;           /* it writes a hold that was not there */
    uint32_t older;       /* peers that are clients of an older version, a bit for each */
    uint64_t passed_over; /* waiters that it did not hand a lock to although it was their turn */
    /* Told whenever a key is written, or is about to be removed; NULL nobody. */
    void (*wrote)(void *context, struct sim_node *node, const char *key, const char *owner);
    void (*removing)(void *context, struct sim_node *node, const struct sim_key *key);
    /* Somebody asks for a lock under this owner value. */
    void (*asked)(void *context, struct sim_node *node, const char *owner);
    /* Somebody releases what this owner value has, or may have. */
    void (*released)(void *context, struct sim_node *node, const char *owner);
    /* Planted bug: the peer is to be told of this key, but only from some time on. */
    void (*arm_late)(void *context, struct sim_node *node, uint32_t peer, const char *key);
    /* Has a push sent to a peer: that this key has changed, or all, NULL. */
    void (*tell)(void *context, struct sim_node *node, uint32_t peer, const char *key);
    /* Has a push sent to a peer that has subscribed to its channel. */
    void (*publish)(void *context, struct sim_node *node, uint32_t peer, const char *bytes, size_t length);
    void *context;
};

int64_t sim_clock_at(const struct sim_clock *clock, int64_t true_us);

/* From true time on it shows this and runs so. */
void sim_clock_set(struct sim_clock *clock, int64_t true_us, int64_t shown_us, int64_t rate_ppm);

/* The earliest true time at which it shows this or more. */
int64_t sim_clock_when(const struct sim_clock *clock, int64_t shown_us);

void sim_node_start(struct sim_node *node, uint64_t serial, int64_t true_us);
void sim_node_flush(struct sim_node *node);

/* It was a replica of one that had its latest snapshot, and is master again. */
void sim_node_promote(struct sim_node *node, uint64_t serial, int64_t true_us);

/* Whole seconds it has been up, as INFO tells it. */
int64_t sim_node_up_s(const struct sim_node *node, int64_t true_us);

/* The key, be it over or not; NULL there is none. */
struct sim_key *sim_node_find(struct sim_node *node, const char *key);

/* The key's value while it lives at this node time; NULL it does not, or is no text. */
const char *sim_node_get(struct sim_node *node, int64_t now_us, const char *key);
int64_t sim_node_pttl(struct sim_node *node, int64_t now_us, const char *key);
void sim_node_set(struct sim_node *node, const char *key, const char *value, int64_t end_ms);
bool sim_node_remove(struct sim_node *node, const char *key);

/* The key of those who share a lock, which ends then. */
void sim_node_set_holds(struct sim_node *node, const char *key, int64_t end_ms);

/* Another program's kind of lock, if nothing is there. */
bool sim_node_set_hash(struct sim_node *node, int64_t now_us, const char *key, int64_t end_ms);

/* Carries out one request (one command, or a pipeline of them) at this node time, and appends the reply. */
void sim_node_run(struct sim_node *node, int64_t now_us, const char *bytes, size_t length,
                  struct rl_writer *reply);

/* Removes what has ended although nobody asks for it. */
void sim_node_expire(struct sim_node *node, int64_t now_us);

/* ---- node_tracking.c ---- */

/* CLIENT TRACKING ON OPTIN, CLIENT TRACKING OFF and CLIENT CACHING YES. */
void sim_tracking_command(struct sim_node *node, const char *word, bool on, struct rl_writer *reply);

/* The peer that is being served has read a key, or sent any other command but CLIENT. */
void sim_tracking_read(struct sim_node *node, const char *key);
void sim_tracking_served(struct sim_node *node);

/* The peer is told of this key from now on. */
void sim_tracking_arm(struct sim_node *node, uint32_t peer, const char *key);

/* A key has changed or is gone; all have. Everybody who tracks it is told, once. */
void sim_tracking_changed(struct sim_node *node, const char *key);
void sim_tracking_flushed(struct sim_node *node);

/* What was kept back until the peer that is being served has its reply. */
void sim_tracking_tell_own(struct sim_node *node);

/* A connection is no more; all of them. */
void sim_tracking_forget(struct sim_node *node, uint32_t peer);
void sim_tracking_forget_all(struct sim_node *node);

/* For the scripts: arguments as texts. */
struct sim_call {
    struct sim_node *node;
    int64_t now_us;
    uint32_t count, key_count;
    const char *arguments[SIM_ARGUMENTS_MAX]; /* NUL-terminated; keys first, then the rest */
    struct rl_writer *reply;
};

/* What wire/lua/parts/fit.lua leaves behind. */
struct sim_vote {
    bool has_fence;
    int64_t floor, known, stored;
};

/* The parts of a vote, by the names of those in wire/lua/parts: argv begins with the owner. fit says false
 * when it has answered. */
bool sim_script_fit(struct sim_call *call, const char *const *argv, struct sim_vote *vote);

/* parts/same_master.lua: whether the node is still the master that its record is about. */
bool sim_script_same_master(struct sim_call *call, const char *epoch);

/* The same; planted bug: any node hands on. */
bool sim_script_may_hand_on(struct sim_call *call, const char *epoch);
void sim_script_vote(struct sim_call *call, const char *const *argv, struct sim_vote *vote);
int64_t sim_script_number(const struct sim_call *call, const struct sim_vote *vote, int64_t proposed);
void sim_script_store(struct sim_call *call, struct sim_vote *vote, const char *fence_key,
                      const char *floor_key, int64_t fence);

/* ---- node_holds.c: those who share a lock, by the names of wire/lua/parts/holds.lua ---- */

uint32_t sim_holds_count(struct sim_call *call, const char *key);
bool sim_holds_has(struct sim_call *call, const char *key, const char *owner);
void sim_holds_add(struct sim_call *call, const char *key, const char *owner, int64_t ms);
bool sim_holds_remove(struct sim_call *call, const char *key, const char *owner);
int64_t sim_holds_end_ms(struct sim_node *node, const char *key, const char *owner); /* 0 there is none */

/* The one that has it longest. */
const char *sim_holds_last(struct sim_node *node, const char *key);

/* What stands for the owner of a key that is no text. */
const char *sim_holds_name(struct sim_call *call, const char *key);

void sim_script_extend_shared(struct sim_call *call);
void sim_script_look(struct sim_call *call);
void sim_script_share(struct sim_call *call);
void sim_script_ask(struct sim_call *call);
void sim_script_ask_many(struct sim_call *call);
void sim_script_hand_on(struct sim_call *call);
void sim_script_hand_on_many(struct sim_call *call);

/* The same about one lock, given all keys: lock fence epoch floor order. */
void sim_ask(struct sim_call *call);
void sim_hand_on(struct sim_call *call);

void sim_script_ask_names(struct sim_call *call);
void sim_script_raise_names(struct sim_call *call);
void sim_script_extend_names(struct sim_call *call);
void sim_script_hand_on_names(struct sim_call *call);
void sim_script_slots_ask(struct sim_call *call);
void sim_script_slots_hand_on(struct sim_call *call);
void sim_script_slots_extend(struct sim_call *call);
void sim_script_slots_raise(struct sim_call *call);
void sim_script_line(struct sim_call *call);
void sim_script_release_many(struct sim_call *call);
void sim_script_raise(struct sim_call *call);
void sim_script_extend(struct sim_call *call);
void sim_script_release(struct sim_call *call);
void sim_script_admit(struct sim_call *call);
void sim_script_search(struct sim_call *call);

/* Whether the memory is the one that the client knows, and the node may extend: parts of extend.lua. */
bool sim_script_extends(const struct sim_call *call, const char *epoch, const char *known);

/* The key of a slot of a semaphore, as the simulator names it: "lock-1#2". */
void sim_slot_key(char key[SIM_KEY_SIZE], const char *name, uint32_t slot);

/* The name's own key is gone, and all that was noted of slots with it. */
void sim_slots_lose_name(struct sim_node *node, const char *name);

/* Those who stand in the line whose keys begin as this one does: how many, and who. */
void sim_show_standing(struct sim_call *call, const char *line_key);

/* SUBSCRIBE, by the peer that is being served. */
void sim_subscribe(struct sim_node *node, const char *channel, struct rl_writer *reply);

void sim_reply_integer(struct rl_writer *reply, int64_t value);
void sim_reply_text(struct rl_writer *reply, const char *text);
void sim_reply_array(struct rl_writer *reply, uint32_t count);

#endif
