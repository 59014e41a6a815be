/*
 * Locks in Redisson's format, for plain nodes: held alone, as all of its locks of that name respect, or
 * shared as by the readers of its read/write lock. What the keys look like is in wire/lua/redisson_*.lua;
 * over several nodes they are its RedLock.
 */
#include "wire/kind.h"

#include <string.h>

#include "base/bytes.h"
#include "wire/guard_command.h"
#include "wire/lock_command.h"

enum { PREFIX_MAX = 32 };

/* As Redisson derives them: "prefix:{name}", or "prefix:name" when the name has a brace itself. */
static void write_derived(struct rl_writer *writer, const struct rl_lock_command *command, const char *prefix)
{
    bool tagged = memchr(command->key, '{', command->key_length) != NULL;
    char key[PREFIX_MAX + RL_KEY_LINE_MAX];
    struct rl_text text = rl_text_on(key, sizeof key);

    rl_text_add(&text, prefix);
    rl_text_add(&text, tagged ? ":" : ":{");
    rl_text_add_bytes(&text, command->key, command->key_length);
    rl_text_add(&text, tagged ? "" : "}");
    rl_write_bytes(writer, key, text.length);
}

static void write_release_keys(struct rl_writer *writer, const struct rl_lock_command *command)
{
    write_derived(writer, command, "redisson_lock_queue");
    write_derived(writer, command, "redisson_lock_timeout");
}

/* What it gives back is a reader's. */
static void write_shared(struct rl_writer *writer, const struct rl_lock_command *command)
{
    (void)command;
    rl_write_text(writer, "s");
}

const struct rl_kind rl_kind_redisson = {
    .acquire_plain = &rl_script_redisson_acquire,
    .look = &rl_script_redisson_look,
    .extend = &rl_script_redisson_extend,
    .release = &rl_script_redisson_release,
    .break_hold = &rl_script_redisson_break,
    .list = &rl_script_redisson_list,
    .release_keys = 2,
    .write_release_keys = write_release_keys,
};

const struct rl_kind rl_kind_redisson_shared = {
    .acquire_plain = &rl_script_redisson_share,
    .look = &rl_script_redisson_look,
    .extend = &rl_script_redisson_extend_shared,
    .release = &rl_script_redisson_release,
    .break_hold = &rl_script_redisson_break,
    .list = &rl_script_redisson_list,
    .release_keys = 2,
    .write_release_keys = write_release_keys,
    .release_arguments = 1,
    .write_release_arguments = write_shared,
    .is_shared = true,
};
