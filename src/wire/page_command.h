/*
 * The question for one page of all locks that a node has, as bytes, and its answer. Which pages are asked
 * for, and of whom, is decided in the engine.
 */
#ifndef RL_WIRE_PAGE_COMMAND_H
#define RL_WIRE_PAGE_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/script.h"

enum {
    RL_PAGE_COUNT = 200, /* keys that a node looks at for one page: some 0.3 ms */
    RL_PAGE_CURSOR_MAX = 20,
    RL_PAGE_PATTERN_MAX = 4096
};

/* Which page. */
struct rl_page {
    char cursor[RL_PAGE_CURSOR_MAX + 1]; /* "=": there is one key only */
    uint32_t count;                      /* of keys to look at */
    const char *pattern;                 /* of keys, as the nodes' MATCH takes it; or that key, as it is */
    size_t pattern_length;
    bool foreign; /* also what other programs made */
};

void rl_page_write(struct rl_writer *writer, const struct rl_script *list, const struct rl_page *page,
                   bool full);

enum rl_page_reading {
    RL_PAGE_WHOLE,
    RL_PAGE_TOO_MUCH,  /* ask for fewer */
    RL_PAGE_NO_SCRIPT, /* nothing was executed: send it again in full */
    RL_PAGE_ERROR,     /* *error has the node's words */
    RL_PAGE_NONSENSE
};

/* An answer, while it is gone through. It points into the reply. */
struct rl_page_answer {
    char cursor[RL_PAGE_CURSOR_MAX + 1]; /* of the next page; "0": this was the last */
    const char *bytes;
    size_t length, offset;
    uint32_t left; /* locks that have not been taken yet */
    /* A semaphore under way: its name, how many slots it has, and what has not been read of those held. */
    const char *name, *slots;
    size_t name_length, slots_length;
    uint32_t permits, slot, last_slot; /* the next one, and the last of its range; 0 none has been read */
    const char *error;
    size_t error_length;
};

enum rl_page_reading rl_page_read(struct rl_page_answer *answer, const char *bytes, size_t length);

/* A lock in an answer. */
struct rl_page_entry {
    const char *key;
    size_t key_length;
    bool foreign; /* another program made it */
    /* A semaphore: one slot of it that is held there, from 1, and how many there are; 0 it is none. */
    uint32_t slot, permits;
};

/* The next one; false: there are no more. */
bool rl_page_next(struct rl_page_answer *answer, struct rl_page_entry *entry);

/* Writes a pattern in which the bytes stand for themselves alone; returns its length, at most twice
 * theirs. */
size_t rl_page_literal(char *pattern, const char *bytes, size_t length);

#endif
