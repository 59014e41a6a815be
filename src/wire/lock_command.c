/*
 * Bytes of the lock commands; see lock_command.h and the scripts in wire/lua.
 */
#include "wire/lock_command.h"

#include <assert.h>

#include "base/bytes.h"
#include "wire/guard_command.h"
#include "wire/handshake.h"
#include "wire/owner.h"
#include "wire/tracking.h"

/* Opens the call of a script whose first key is the lock; further keys and the arguments follow. */
static void open_script(struct rl_writer *writer, const struct rl_lock_command *command, bool full,
                        uint32_t key_count, uint32_t argument_count)
{
    assert(rl_lock_command_script(command) != NULL);
    rl_write_command(writer, 3 + key_count + argument_count);
    rl_write_script(writer, rl_lock_command_script(command), full);
    rl_write_integer(writer, key_count);
    rl_write_bytes(writer, command->key, command->key_length);
}

static void write_plain_acquire(struct rl_writer *writer, const struct rl_lock_command *command, bool full)
{
    if (command->lock_kind->acquire_plain != NULL) {
        open_script(writer, command, full, 1, 2);
        rl_write_bytes(writer, command->owner, command->owner_length);
        rl_write_integer(writer, command->ttl_ms);
        return;
    }
    rl_write_command(writer, 6);
    rl_write_text(writer, "SET");
    rl_write_bytes(writer, command->key, command->key_length);
    rl_write_bytes(writer, command->owner, command->owner_length);
    rl_write_text(writer, "NX");
    rl_write_text(writer, "PX");
    rl_write_integer(writer, command->ttl_ms);
}

/* Keys 2 to 4 of the fencing scripts. */
static void write_fence_keys(struct rl_writer *writer, const struct rl_lock_command *command)
{
    char key[RL_KEY_FENCE_MAX];

    assert(command->epoch != NULL);
    rl_write_bytes(writer, key, rl_key_fence(key, command->key, command->key_length));
    rl_write_text(writer, RL_KEY_EPOCH);
    rl_write_text(writer, RL_KEY_FLOOR);
}

/* What every kind says comes first, then what its own script wants beyond that. */
static void write_guarded_acquire(struct rl_writer *writer, const struct rl_lock_command *command, bool full)
{
    const struct rl_kind *kind = command->lock_kind;

    assert(kind->makes_keys);
    open_script(writer, command, full, 1, 5 + kind->extra_arguments);
    rl_write_bytes(writer, command->owner, command->owner_length);
    rl_write_integer(writer, command->ttl_ms);
    rl_write_integer(writer, (int64_t)command->fence);
    rl_write_text(writer, command->epoch);
    rl_write_integer(writer, command->not_after_us);
    if (kind->write_arguments != NULL)
        kind->write_arguments(writer, command);
}

static void write_acquire(struct rl_writer *writer, const struct rl_lock_command *command, bool full)
{
    assert(command->epoch != NULL ? command->lock_kind->acquire != NULL
                                  : command->lock_kind->not_plain == NULL);
    if (command->epoch == NULL)
        write_plain_acquire(writer, command, full);
    else
        write_guarded_acquire(writer, command, full);
}

/* Behind the question itself: which master answered it. */
static void write_proof(struct rl_writer *writer)
{
    rl_write_command(writer, 2);
    rl_write_text(writer, "INFO");
    rl_write_text(writer, "replication");
}

static void write_raise(struct rl_writer *writer, const struct rl_lock_command *command, bool full)
{
    const struct rl_kind *kind = command->lock_kind;

    open_script(writer, command, full, 4 + kind->change_keys, 3 + kind->change_arguments);
    write_fence_keys(writer, command);
    if (kind->write_change_keys != NULL)
        kind->write_change_keys(writer, command);
    rl_write_bytes(writer, command->owner, command->owner_length);
    rl_write_integer(writer, (int64_t)command->fence);
    rl_write_text(writer, command->epoch);
    if (kind->write_change != NULL)
        kind->write_change(writer, command);
}

static void write_extend(struct rl_writer *writer, const struct rl_lock_command *command, bool full)
{
    const struct rl_kind *kind = command->lock_kind;
    bool guarded = command->epoch != NULL, numbers = kind->numbers_repairs;
    char key[RL_KEY_FENCE_MAX];

    assert(guarded || !numbers);
    open_script(writer, command, full, (guarded ? 2 : 1) + kind->change_keys + (numbers ? 2 : 0),
                (guarded ? 5 : 3) + kind->change_arguments + (numbers ? 1 : 0));
    if (guarded)
        rl_write_text(writer, RL_KEY_EPOCH);
    if (kind->write_change_keys != NULL)
        kind->write_change_keys(writer, command);
    if (numbers) {
        rl_write_bytes(writer, key, rl_key_fence(key, command->key, command->key_length));
        rl_write_text(writer, RL_KEY_FLOOR);
    }
    rl_write_bytes(writer, command->owner, command->owner_length);
    rl_write_integer(writer, command->ttl_ms);
    rl_write_text(writer, command->repair ? "1" : command->holds ? "2" : "0");
    if (guarded) {
        rl_write_text(writer, command->epoch);
        rl_write_integer(writer, command->not_after_us);
    }
    if (kind->write_change != NULL)
        kind->write_change(writer, command);
    if (numbers)
        rl_write_integer(writer, (int64_t)command->fence);
}

static void write_release(struct rl_writer *writer, const struct rl_lock_command *command, unsigned features,
                          bool full)
{
    const struct rl_kind *kind = command->lock_kind;

    if (kind->makes_keys) {
        open_script(writer, command, full, 1, 1 + kind->release_arguments);
    } else if (kind->write_release_keys != NULL) {
        open_script(writer, command, full, 1 + kind->release_keys, 1 + kind->release_arguments);
        kind->write_release_keys(writer, command);
    } else if ((features & RL_FEATURE_DELEX) != 0) {
        rl_write_command(writer, 4);
        rl_write_text(writer, "DELEX");
        rl_write_bytes(writer, command->key, command->key_length);
        rl_write_text(writer, "IFEQ");
    } else if ((features & RL_FEATURE_DELIFEQ) != 0) {
        rl_write_command(writer, 3);
        rl_write_text(writer, "DELIFEQ");
        rl_write_bytes(writer, command->key, command->key_length);
    } else {
        open_script(writer, command, full, 1, 1);
    }
    rl_write_bytes(writer, command->owner, command->owner_length);
    if (kind->write_release_arguments != NULL)
        kind->write_release_arguments(writer, command);
}

static void write_break(struct rl_writer *writer, const struct rl_lock_command *command, bool full)
{
    const struct rl_kind *kind = command->lock_kind;

    open_script(writer, command, full, 1 + kind->release_keys, 2);
    if (kind->write_release_keys != NULL)
        kind->write_release_keys(writer, command);
    rl_write_bytes(writer, command->owner, command->owner_length);
    rl_write_integer(writer, command->ttl_ms);
}

/* A command that stores nothing whatever is there, and that a node which cannot write refuses before it looks
 * at it. */
static void write_attempt(struct rl_writer *writer, const struct rl_lock_command *command)
{
    rl_write_command(writer, 5);
    rl_write_text(writer, "SET");
    rl_write_bytes(writer, command->key, command->key_length);
    rl_write_text(writer, "x");
    rl_write_text(writer, "NX");
    rl_write_text(writer, "XX");
}

/* GETRANGE, not GET: what is there may be anybody's, and of any size. A script is sent whole each time: what
 * is said in one breath with other commands cannot be sent again alone. */
/* One holder of many is looked for. */
static void write_find(struct rl_writer *writer, const struct rl_lock_command *command)
{
    char order[RL_KEY_LINE_MAX];

    rl_write_command(writer, 7);
    rl_write_script(writer, command->lock_kind->find, true);
    rl_write_text(writer, "2");
    rl_write_bytes(writer, command->key, command->key_length);
    rl_write_bytes(writer, order, rl_key_line(order, command->key, command->key_length, "order"));
    rl_write_bytes(writer, command->owner, command->owner_length);
    rl_write_integer(writer, command->slot);
}

static void write_look(struct rl_writer *writer, const struct rl_lock_command *command)
{
    const struct rl_kind *kind = command->lock_kind;

    if (command->finds && kind->find != NULL) {
        write_find(writer, command);
    } else if (kind->look != NULL) {
        rl_write_command(writer, 5);
        rl_write_script(writer, kind->look, true);
        rl_write_text(writer, "1");
        rl_write_bytes(writer, command->key, command->key_length);
        rl_write_text(writer, kind->is_shared ? "1" : "0");
    } else {
        rl_write_command(writer, 4);
        rl_write_text(writer, "GETRANGE");
        rl_write_bytes(writer, command->key, command->key_length);
        rl_write_text(writer, "0");
        rl_write_integer(writer, RL_OWNER_MARK_LENGTH + RL_OWNER_MAX - 1);
    }
}

/* What is tracked is the last thing asked: of a change between the two the node would tell before the answer
 * is whole, when it is not known to be watched yet. */
/* A slot is a lock under a key of its own. */
static struct rl_lock_command of_slot(const struct rl_lock_command *command, char key[RL_KEY_LINE_MAX])
{
    struct rl_lock_command own = *command;
    char part[16];
    struct rl_text text = rl_text_on(part, sizeof part);

    rl_text_add(&text, "slot:");
    rl_text_add_unsigned(&text, command->slot);
    own.key_length = rl_key_line(key, command->key, command->key_length, part);
    own.key = key;
    return own;
}

static void write_peek(struct rl_writer *writer, const struct rl_lock_command *command)
{
    char key[RL_KEY_LINE_MAX];
    struct rl_lock_command own;

    if (command->lock_kind != NULL && command->lock_kind->has_slots && command->slot > 0) {
        own = of_slot(command, key);
        command = &own;
    }
    if (command->nameless)
        write_attempt(writer, command);
    else
        write_look(writer, command);
    if (command->kind == RL_COMMAND_WATCH)
        rl_write_track_next(writer);
    rl_write_command(writer, 2);
    rl_write_text(writer, "PTTL");
    rl_write_bytes(writer, command->key, command->key_length);
}

const struct rl_script *rl_lock_command_script(const struct rl_lock_command *command)
{
    switch (command->kind) {
    case RL_COMMAND_ACQUIRE:
        return command->epoch != NULL ? command->lock_kind->acquire : command->lock_kind->acquire_plain;
    case RL_COMMAND_RAISE:
        return command->lock_kind->raise;
    case RL_COMMAND_EXTEND:
        return command->lock_kind->extend;
    case RL_COMMAND_RELEASE:
        return command->lock_kind->release;
    case RL_COMMAND_LINE:
        return &rl_script_line;
    case RL_COMMAND_SEARCH:
        return &rl_script_search;
    case RL_COMMAND_ADMIT:
        return &rl_script_admit;
    case RL_COMMAND_BREAK:
        return command->lock_kind->break_hold;
    case RL_COMMAND_PAGE:
        return command->lock_kind->list;
    case RL_COMMAND_PEEK:
    case RL_COMMAND_WATCH:
    case RL_COMMAND_TRACK:
    case RL_COMMAND_SUBSCRIBE:
    case RL_COMMAND_FENCE:
    case RL_COMMAND_EXAMINE:
        break;
    }
    return NULL;
}

static void write_fence_question(struct rl_writer *writer, const struct rl_lock_command *command)
{
    char fence[RL_KEY_FENCE_MAX];

    rl_write_command(writer, 4);
    rl_write_text(writer, "GETRANGE");
    rl_write_bytes(writer, fence, rl_key_fence(fence, command->key, command->key_length));
    rl_write_text(writer, "0");
    rl_write_integer(writer, RL_FENCE_DIGITS);
}

/* What is asked of the lock itself. */
static void write_of_lock(struct rl_writer *writer, const struct rl_lock_command *command, unsigned features,
                          bool full)
{
    if (command->lock_kind->write != NULL)
        command->lock_kind->write(writer, command, full);
    else if (command->kind == RL_COMMAND_ACQUIRE)
        write_acquire(writer, command, full);
    else if (command->kind == RL_COMMAND_RAISE)
        write_raise(writer, command, full);
    else if (command->kind == RL_COMMAND_EXTEND)
        write_extend(writer, command, full);
    else
        write_release(writer, command, features, full);
}

void rl_lock_command_write(struct rl_writer *writer, const struct rl_lock_command *command, unsigned features,
                           bool full)
{
    switch (command->kind) {
    case RL_COMMAND_ACQUIRE:
    case RL_COMMAND_RAISE:
    case RL_COMMAND_EXTEND:
    case RL_COMMAND_RELEASE:
        write_of_lock(writer, command, features, full);
        break;
    case RL_COMMAND_PEEK:
    case RL_COMMAND_WATCH:
        write_peek(writer, command);
        break;
    case RL_COMMAND_LINE:
        rl_line_write_line(writer, command->key, command->key_length, full);
        break;
    case RL_COMMAND_SEARCH:
        rl_write_command(writer, 4);
        rl_write_script(writer, &rl_script_search, full);
        rl_write_text(writer, "1");
        rl_write_text(writer, RL_KEY_FLOOR);
        break;
    case RL_COMMAND_FENCE:
        write_fence_question(writer, command);
        break;
    case RL_COMMAND_BREAK:
        write_break(writer, command, full);
        break;
    case RL_COMMAND_PAGE:
        rl_page_write(writer, command->lock_kind->list, command->page, full);
        break;
    case RL_COMMAND_ADMIT:
    case RL_COMMAND_EXAMINE:
    case RL_COMMAND_TRACK:
    case RL_COMMAND_SUBSCRIBE:
        assert(!"written elsewhere");
    }
    if (command->prove)
        write_proof(writer);
}
