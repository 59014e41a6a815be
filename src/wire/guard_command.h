/*
 * The command that asks a node whether it may vote (wire/lua/admit.lua), as bytes, and what its answer means.
 */
#ifndef RL_WIRE_GUARD_COMMAND_H
#define RL_WIRE_GUARD_COMMAND_H

#include "core/guard.h"
#include "wire/resp_writer.h"

enum { RL_EPOCH_MAX = 127, RL_EPOCH_ID = 16, RL_EPOCH_RUN = 41 };

struct rl_admission {
    char run[RL_EPOCH_RUN + 1];     /* whose memory it is; see rl_guard_run */
    const char *replid;             /* it has to be the master of this history still; "": not known */
    char fresh_id[RL_EPOCH_ID + 1]; /* random, in hex */
    int64_t quarantine_ms;          /* for the longest lock of this client: the term that it announces */
    bool durable;
    /* it has certainly been up that long with nothing but its own memory; -1: it was a replica */
    int64_t up_ms;
    const char *word;  /* "", "init" or "suspect" */
    uint64_t floor;    /* 0: none to take over */
    const char *known; /* the record this is about: a suspicion or a floor for another one does not count */
    const struct rl_terms *terms; /* what others know, to be told with the floor; NULL nothing */
};

/* Whose memory a node has: its run_id and its replication id, cut to what tells them apart. */
void rl_guard_run(char run[RL_EPOCH_RUN + 1], const char *run_id, const char *replid);

void rl_guard_write_admit(struct rl_writer *writer, const struct rl_admission *admission, bool full);

struct rl_admitted {
    enum rl_fitness fitness; /* UNKNOWN: an error; see error */
    int64_t node_us;
    int64_t wait_ms;
    uint64_t floor;        /* 0 none */
    int64_t quarantine_ms; /* the longest any client asked of this node */
    struct rl_terms terms; /* which those are */
    char record[RL_EPOCH_MAX + 1];
    bool no_script;      /* nothing was executed: send it again in full */
    bool another_master; /* nothing was done: it was promoted since it was greeted */
    const char *error;
    size_t error_length;
};

void rl_guard_read_admit(const char *bytes, size_t length, struct rl_admitted *admitted);

/* The part of a record that stays the same until memory is lost: "1 run id ". What votes are asked with. ""
 * is none. */
void rl_guard_epoch(char epoch[RL_EPOCH_MAX + 1], const char *record);

/* The side keys: what the guard and the fences keep on a node beside the locks. They carry no prefix: a node
 * has one memory, whoever uses it. Lock keys must not begin like them. */
#define RL_KEY_GUARD "redlock-guard:"
#define RL_KEY_EPOCH RL_KEY_GUARD "epoch"
#define RL_KEY_FLOOR RL_KEY_GUARD "floor"
#define RL_KEY_TERMS RL_KEY_GUARD "terms"
#define RL_KEY_CHECKED \
    RL_KEY_GUARD "checked"                /* when a node last looked whether it is still the same master */
#define RL_KEY_LINES RL_KEY_GUARD "lines" /* there while anybody may be in line for any lock */
#define RL_KEY_FENCE "redlock-fence:"
#define RL_KEY_LINE "redlock-line:"
#define RL_KEY_MARK "redlock-mark:" /* what is kept at all nodes and is no lock */

/* The fence of a lock shares its hash tag: {key}, or the tag that the key has. Written without a NUL; returns
 * the length, at most RL_KEY_FENCE_MAX for the longest key. */
enum { RL_KEY_FENCE_MAX = 1024 + 32 };
size_t rl_key_fence(char *buffer, const char *key, size_t key_length);

/* What is kept of the waiters for a lock, on every node: the line ("waiters"), what belongs to it ("order"),
 * and each waiter's record (the random part of its owner); "waiting" has those who wait without a line, as
 * older versions do. redlock-line:{key}:part, or redlock-line::key:part for a key that has a tag; so no two
 * of them are ever the same, whatever locks are called. Written without a NUL; returns the length, at most
 * RL_KEY_LINE_MAX. */
enum { RL_KEY_LINE_MAX = 1024 + 64 };
size_t rl_key_line(char *buffer, const char *key, size_t key_length, const char *part);

/* Whether a lock must not have this key. */
bool rl_key_reserved(const char *key, size_t key_length);

#endif
