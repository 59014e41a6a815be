/*
 * One script for every node, on connections of the call's own (talk.h): the key that it is about, and what a
 * caller is told when too few nodes answer. For what is kept at all nodes and is asked of all: marks,
 * barriers, and who has the slots of a semaphore.
 */
#ifndef RL_BESIDE_ASK_ALL_H
#define RL_BESIDE_ASK_ALL_H

#include "beside/talk.h"
#include "wire/script.h"

/* What every such call begins with, and ends with. */
struct rl_ask_all {
    redlock_client *client;
    struct rl_talk *talk;
    redlock_report *report;
    char key[REDLOCK_NAME_MAX + 64];
    size_t key_length;
    size_t pattern_length; /* what keys of this kind have in common */
    const char *rights;    /* commands that it needs the right to use */
};

/* What is kept: what its keys begin with, behind RL_KEY_MARK, and the commands that its scripts use, as
 * rights are given. */
struct rl_ask_kind {
    const char *key, *rights;
};

/* Checks the name, enters the client and opens the talk. Anything but REDLOCK_OK: the report says why, and
 * there is nothing to close. */
redlock_result rl_ask_all_open(struct rl_ask_all *ask, redlock_client *client, struct rl_ask_kind kind,
                               const char *name, size_t name_length, redlock_report *report);
void rl_ask_all_close(struct rl_ask_all *ask);

/* Has a node run a script on the key; to be followed by rl_talk_exchange(). */
void rl_ask_all_write(const struct rl_ask_all *ask, uint32_t node, const struct rl_script *script,
                      const struct rl_argument *arguments, uint32_t count);

/* The first item of what a node answered, if that is no error; an error makes it one that failed. */
bool rl_ask_all_read(const struct rl_ask_all *ask, uint32_t node, size_t *offset, struct rl_resp *item);

/* The result when so many nodes did what was asked: REDLOCK_OK for a quorum, else what was wrong with the
 * others, in the report too. */
redlock_result rl_ask_all_result(const struct rl_ask_all *ask, uint32_t done, const char *words);

#endif
