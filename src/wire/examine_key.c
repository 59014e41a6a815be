/*
 * Makes the keys that rights are tried on; see examine_key.h.
 */
#include "wire/examine_key.h"

#include <string.h>

static struct rl_examine_key fixed_key(const char *name)
{
    struct rl_examine_key key = {.length = strlen(name)};

    memcpy(key.bytes, name, key.length);
    return key;
}

/* The key of a lock that has a tag of its own, which makes other side keys. */
static size_t add_tag(char *bytes, const struct rl_examine_command *command)
{
    memcpy(bytes, command->key, command->key_length);
    memcpy(bytes + command->key_length, "{x}", 3);
    return command->key_length + 3;
}

/* What is kept beside locks: notes and barriers. */
static struct rl_examine_key beside_key(const struct rl_examine_command *command, const char *kind)
{
    struct rl_examine_key key = fixed_key(kind);

    key.common = key.length + command->prefix_length;
    memcpy(key.bytes + key.length, command->key, command->key_length);
    key.length += command->key_length;
    return key;
}

struct rl_examine_key rl_examine_key_make(const struct rl_examine_command *command,
                                          enum rl_examine_which which)
{
    char tagged[RL_KEY_FENCE_MAX + RL_EXAMINE_TAG_ROOM];
    bool has_tag = memchr(command->key, '{', command->key_length) != NULL;
    struct rl_examine_key key = {0};

    switch (which) {
    case RL_EXAMINE_EPOCH:
        return fixed_key(RL_KEY_EPOCH);
    case RL_EXAMINE_FLOOR:
        return fixed_key(RL_KEY_FLOOR);
    case RL_EXAMINE_TERMS:
        return fixed_key(RL_KEY_TERMS);
    case RL_EXAMINE_CHECKED:
        return fixed_key(RL_KEY_CHECKED);
    case RL_EXAMINE_LINES:
        return fixed_key(RL_KEY_LINES);
    case RL_EXAMINE_FENCE:
        key.length = rl_key_fence(key.bytes, command->key, command->key_length);
        key.common = strlen(RL_KEY_FENCE) + !has_tag + command->prefix_length;
        return key;
    case RL_EXAMINE_TAGGED_FENCE:
        key.length = rl_key_fence(key.bytes, tagged, add_tag(tagged, command));
        key.common = strlen(RL_KEY_FENCE) + command->prefix_length;
        return key;
    case RL_EXAMINE_LINE:
        key.length = rl_key_line(key.bytes, command->key, command->key_length, "line");
        key.common = strlen(RL_KEY_LINE) + 1 + command->prefix_length;
        return key;
    case RL_EXAMINE_TAGGED_LINE:
        key.length = rl_key_line(key.bytes, tagged, add_tag(tagged, command), "line");
        key.common = strlen(RL_KEY_LINE) + 1 + command->prefix_length;
        return key;
    case RL_EXAMINE_MARK:
        return beside_key(command, RL_KEY_MARK "once:");
    case RL_EXAMINE_BARRIER:
        return beside_key(command, RL_KEY_MARK "barrier:");
    case RL_EXAMINE_LOCK_KEY:
    case RL_EXAMINE_KEYS:
        break;
    }
    memcpy(key.bytes, command->key, command->key_length);
    key.length = command->key_length;
    key.common = command->prefix_length;
    return key;
}

uint32_t rl_examine_key_count(const struct rl_examine_command *command)
{
    return command->guarded ? RL_EXAMINE_KEYS : 1;
}
