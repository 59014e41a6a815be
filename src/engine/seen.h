/*
 * A set of keys, by their hashes: 16 bytes a key. Two keys of one hash are one to it; that is for lists,
 * which may miss one in billions.
 */
#ifndef RL_ENGINE_SEEN_H
#define RL_ENGINE_SEEN_H

#include "engine/state.h"
#include "wire/page_command.h"

struct rl_seen {
    uint64_t *places; /* 0: free */
    uint32_t place_count, count;
};

enum rl_news { RL_NEWS_OLD, RL_NEWS_NEW, RL_NEWS_NO_MEMORY };

/* Takes a key in, or one slot of a semaphore. */
enum rl_news rl_seen_note(struct rl_engine *engine, struct rl_seen *seen, const struct rl_page_entry *entry);
void rl_seen_free(struct rl_engine *engine, struct rl_seen *seen);

#endif
