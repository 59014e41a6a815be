/*
 * A node as far as locks see it: a small table of keys with ends, a clock, and the scripts of src/wire/lua carried out in C. It
 * takes the bytes of one command and gives the bytes of its reply; the network is not its business.
 */
#ifndef SIM_NODE_H
#define SIM_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/plan.h"
#include "wire/resp_writer.h"

enum { SIM_KEYS_MAX = 12, SIM_KEY_SIZE = 64, SIM_VALUE_SIZE = 128, SIM_REPLY_SIZE = 512 };

struct sim_key {
    char key[SIM_KEY_SIZE]; /* "": free place */
    char value[SIM_VALUE_SIZE];
    int64_t end_ms; /* node time; 0 it has none */
};

/* A clock that ran at `rate` from true time `since`, when it showed `base`. */
struct sim_clock {
    int64_t since_us, base_us, rate_ppm;
};

struct sim_node {
    struct sim_key keys[SIM_KEYS_MAX];
    struct sim_key kept[SIM_KEYS_MAX]; /* the latest snapshot */
    struct sim_clock clock;
    int64_t started_us; /* node time */
    uint32_t boot;      /* how often it was started */
    char run_id[41], replid[41];
    bool promoted;   /* it was a replica since it was started */
    unsigned loaded; /* scripts it knows, a bit for each */
    bool up;
    int64_t frozen_until_us; /* true time */
    enum sim_bug bug;
    /* Told whenever a key of a lock is written or removed, NULL nobody. */
    void (*wrote)(void *context, struct sim_node *node, const char *key, const char *owner);
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
void sim_node_promote(struct sim_node *node, uint64_t serial);

/* Whole seconds it has been up, as INFO tells it. */
int64_t sim_node_up_s(const struct sim_node *node, int64_t true_us);

/* The key's value while it lives at this node time; NULL it does not. */
const char *sim_node_get(struct sim_node *node, int64_t now_us, const char *key);
int64_t sim_node_pttl(struct sim_node *node, int64_t now_us, const char *key);
void sim_node_set(struct sim_node *node, const char *key, const char *value, int64_t end_ms);
bool sim_node_remove(struct sim_node *node, const char *key);

/* Carries out one request (one command, or a pipeline of them) at this node time, and appends the reply. */
void sim_node_run(struct sim_node *node, int64_t now_us, const char *bytes, size_t length,
                  struct rl_writer *reply);

/* For the scripts: arguments as texts. */
struct sim_call {
    struct sim_node *node;
    int64_t now_us;
    uint32_t count;
    const char *arguments[16]; /* NUL-terminated; keys first, then the rest */
    struct rl_writer *reply;
};

void sim_script_acquire(struct sim_call *call);
void sim_script_raise(struct sim_call *call);
void sim_script_extend(struct sim_call *call);
void sim_script_release(struct sim_call *call);
void sim_script_admit(struct sim_call *call);

void sim_reply_integer(struct rl_writer *reply, int64_t value);
void sim_reply_text(struct rl_writer *reply, const char *text);
void sim_reply_array(struct rl_writer *reply, uint32_t count);

#endif
