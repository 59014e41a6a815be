/*
 * What a client of the bare loops says to a node: the very bytes the library sends, made once by its own wire
 * layer, with places for what changes from one guarded acquisition to the next. It sends nothing.
 */
#ifndef BENCH_RAW_WORDS_H
#define BENCH_RAW_WORDS_H

#include <stddef.h>

#include "bench.h"
#include "raw_fleet.h"

enum { RAW_TEXT_SIZE = 640 };

struct raw_words {
    char acquire[RAW_TEXT_SIZE], release[RAW_TEXT_SIZE];
    size_t acquire_length, release_length;
    size_t fence_at, epoch_at, not_after_at; /* in acquire; 0: plain */
};

enum raw_release {
    RAW_COMPARE, /* compare-and-delete, as the library does */
    RAW_DELETE   /* DEL, whoever holds it: then the node's statistics tell acquire and release apart */
};

/* The words of one client: its name is by number, its owner value by another (several may want one name). */
struct raw_words raw_words_make(const struct raw_fleet *fleet, enum bench_mode mode, enum raw_release how,
                                unsigned name, unsigned owner);

/* Before each acquisition: its time and fence. */
void raw_words_stamp(struct raw_words *words);

/* In a copy of the acquire text that goes to this node: its epoch. */
void raw_words_address(const struct raw_words *words, char *copy, const struct raw_node *node);

#endif
