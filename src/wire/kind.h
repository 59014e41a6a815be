/*
 * A kind of lock as a value: what it says to the nodes and hears from them where kinds differ, and what it
 * means to its waiters. One file for each kind (kind_exclusive.c, kind_slots.c, kind_names.c; kind_line.c,
 * which has the shared one as well), or for each format (kind_redisson.c); a new one changes nobody else's
 * path.
 */
#ifndef RL_WIRE_KIND_H
#define RL_WIRE_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/script.h"

struct rl_lock_command;
struct rl_lock_reply;
struct rl_resp;

/* Of a lock that has several names: their keys, in the order of their bytes, each once. */
struct rl_name_key {
    const char *key;
    uint32_t length;
    uint32_t given; /* which of the names that the caller gave, from 0 */
};

enum { RL_NAMES_MAX = 16 };

struct rl_names {
    uint32_t count;
    size_t bytes; /* of all keys */
    struct rl_name_key keys[RL_NAMES_MAX];
};

enum { RL_DENIAL_ITEMS_MAX = 9 }; /* the longest refusal that any kind reads */

struct rl_kind {
    /* Its scripts. */
    const struct rl_script *acquire; /* one vote of a guarded node; NULL: only plain nodes keep it */
    /* one of a plain node, given owner and ttl; OK or nothing. NULL: SET NX PX */
    const struct rl_script *acquire_plain;
    /* votes on several locks in one call; NULL: each is asked for alone */
    const struct rl_script *acquire_many;
    /* who holds it, always sent whole; NULL: its key is a text that has the owner */
    const struct rl_script *look;
    /* the same for one holder of many, as look; NULL: look will do */
    const struct rl_script *find;
    const struct rl_script *raise;
    const struct rl_script *extend;
    const struct rl_script *release;
    const struct rl_script *release_many; /* as acquire_many */
    const struct rl_script *break_hold;   /* given the same keys as release */
    const struct rl_script *list;         /* all locks that look like it */

    /* Its vote and its release are given the lock's key alone: the scripts make those beside it themselves.
     * Then nodes' own commands will not do for the release. */
    bool makes_keys;

    /* What its vote is given: arguments behind the five that every kind has; NULL none. */
    uint32_t extra_arguments;
    void (*write_arguments)(struct rl_writer *writer, const struct rl_lock_command *command);

    /* Writes acquire, raise, extend and release, whose keys are not those that other kinds have; NULL: it has
     * the same. */
    void (*write)(struct rl_writer *writer, const struct rl_lock_command *command, bool full);

    /* What its release is given beyond the lock: keys behind it; NULL none. Then nodes' own commands will not
     * do. */
    uint32_t release_keys;
    void (*write_release_keys)(struct rl_writer *writer, const struct rl_lock_command *command);

    /* Its extension is given the keys of the fence and the floor as well, and the holder's fence: planting it
     * again is numbered. */
    bool numbers_repairs;

    /* What extend and raise are given beyond what those of every kind are: keys behind the others; and what
     * these, release and break are given: arguments behind the others. NULL none. */
    uint32_t change_keys;
    void (*write_change_keys)(struct rl_writer *writer, const struct rl_lock_command *command);
    void (*write_change)(struct rl_writer *writer, const struct rl_lock_command *command);
    uint32_t change_arguments; /* of extend and raise */
    uint32_t release_arguments;
    void (*write_release_arguments)(struct rl_writer *writer, const struct rl_lock_command *command);

    /* Reads the refusal {0, now, ...} of a guarded node, of which items has RL_DENIAL_ITEMS_MAX; false: it is
     * none. */
    bool (*read_denial)(const struct rl_resp *items, uint32_t count, struct rl_lock_reply *reply);

    /* Its properties. */
    bool stands_in_line; /* nodes keep its waiters in a line, and asking is what keeps the place */
    bool is_shared;      /* several may have it: unless it has slots, callers of one client do not queue */
    bool has_slots;      /* a vote is for one of several slots, and names it */
    /* why plain nodes cannot keep such a lock, in words for the caller; NULL they can */
    const char *not_plain;
};

extern const struct rl_kind rl_kind_exclusive;
extern const struct rl_kind rl_kind_line;
extern const struct rl_kind rl_kind_shared;
extern const struct rl_kind rl_kind_names;
extern const struct rl_kind rl_kind_slots;
extern const struct rl_kind rl_kind_redisson;
extern const struct rl_kind rl_kind_redisson_shared;

#endif
