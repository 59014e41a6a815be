/*
 * Everything a node can be asked about itself without changing anything on it, as one batch of commands, and
 * what its answers mean: memory, persistence, the time, and which rights its user lacks. Nobody's lock
 * depends on it; it is for people to read.
 */
#ifndef RL_WIRE_EXAMINE_COMMAND_H
#define RL_WIRE_EXAMINE_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/event.h"
#include "wire/examine_key.h"
#include "wire/resp_writer.h"

struct rl_node_facts {
    bool examined;         /* everything below is as the node answered; else nothing is known */
    int64_t node_us;       /* its time; 0 it did not tell */
    int64_t memory_used;   /* bytes; -1 not known */
    int64_t memory_max;    /* likewise; 0 no limit */
    int append_only;       /* 1 yes, 0 no, -1 not known */
    int snapshots;         /* likewise: it saves snapshots by itself */
    uint64_t floor;        /* no fence it hands out is lower; 0 none is known */
    char policy[24];       /* maxmemory-policy; empty not known */
    char fsync[12];        /* appendfsync; empty not known */
    char user[64];         /* the user that it takes us for; empty not known */
    char missing[640];     /* rights that locks need and its user lacks, as in ACL SETUSER: "+get ~lock:*" */
    char advisable[80];    /* likewise, but locks work without them */
    char beside[320];      /* likewise, for notes and barriers, which are no locks */
    char foreign_keys[80]; /* keys of the guard that hold something else, with blanks between them */
    enum rl_cause refused; /* why it can store nothing: no memory, no disk; else none */
    char refusal[128];     /* likewise, in its own words */
};

/* How many bytes it takes at most, and how many replies it gets. */
size_t rl_examine_room(const struct rl_examine_command *command);
uint32_t rl_examine_replies(const struct rl_examine_command *command);

void rl_examine_write(struct rl_writer *writer, const struct rl_examine_command *command);

/* Subscribing cannot be tried without doing it: the right that a refusal asks for, NULL for any other reply;
 * and adding one to the advisable. */
const char *rl_examine_subscribe_right(const char *bytes, size_t length);
void rl_examine_advise(struct rl_node_facts *facts, const char *right);

/* Reads all replies, complete and well formed. The command is the one that was written. */
void rl_examine_read(const struct rl_examine_command *command, const char *bytes, size_t length,
                     struct rl_node_facts *facts);

#endif
