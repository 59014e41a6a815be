/*
 * Makes the texts of the bare loops' clients; see raw_words.h.
 */
#include "raw_words.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "wire/lock_command.h"
#include "wire/owner.h"

enum { TTL_MS = 15000, NODE_TIMEOUT_US = 500000 };

/* Of the same length as the library's. */
static size_t make_owner(char owner[RL_OWNER_MAX + 1], unsigned number)
{
    struct rl_owner_words words = {.host = BENCH_HOST,
                                   .user = BENCH_LOGIN,
                                   .pid = (uint32_t)getpid(),
                                   .since_ms = 1700000000000,
                                   .ttl_ms = TTL_MS};

    memset(owner, '0', RL_OWNER_HEX);
    for (char *digit = owner; number > 0; number /= 10)
        *digit++ = (char)('0' + number % 10);
    return RL_OWNER_HEX + rl_owner_tail(owner + RL_OWNER_HEX, &words);
}

static size_t write_command(char *bytes, struct rl_lock_command command, enum rl_command_kind kind,
                            unsigned features)
{
    struct rl_writer writer = rl_writer_on(bytes, RAW_TEXT_SIZE);

    command.kind = kind;
    rl_lock_command_write(&writer, &command, features, false);
    if (writer.overflow)
        bench_die("the owner value is too long for this program");
    return writer.length;
}

static size_t write_delete(char *bytes, const char *name)
{
    struct rl_writer writer = rl_writer_on(bytes, RAW_TEXT_SIZE);

    rl_write_command(&writer, 2);
    rl_write_text(&writer, "DEL");
    rl_write_text(&writer, name);
    return writer.length;
}

static size_t find(const struct raw_words *words, const char *word)
{
    const char *found = memmem(words->acquire, words->acquire_length, word, strlen(word));

    if (found == NULL)
        bench_die("the acquire script is not called as this program knows it");
    return (size_t)(found - words->acquire);
}

static void make_acquire(struct raw_words *words, struct rl_lock_command command, const struct raw_node *node,
                         enum bench_mode mode)
{
    if (mode == BENCH_GUARDED) {
        command.fence = 1111111111111111;
        command.epoch = node->epoch;
        command.not_after_us = 2222222222222222;
    }
    words->acquire_length = write_command(words->acquire, command, RL_COMMAND_ACQUIRE, node->info.features);
    if (mode == BENCH_GUARDED) {
        words->fence_at = find(words, "1111111111111111");
        words->epoch_at = find(words, node->epoch);
        words->not_after_at = find(words, "2222222222222222");
    }
}

struct raw_words raw_words_make(const struct raw_fleet *fleet, enum bench_mode mode, enum raw_release how,
                                unsigned name, unsigned owner)
{
    char key[BENCH_NAME_SIZE], value[RL_OWNER_MAX + 1];
    struct rl_lock_command command = {.lock_kind = mode == BENCH_GUARDED ? &rl_kind_line : &rl_kind_exclusive,
                                      .key = key,
                                      .owner = value,
                                      .owner_length = make_owner(value, owner),
                                      .ttl_ms = TTL_MS};
    const struct raw_node *node = fleet->nodes[0];
    struct raw_words words = {0};

    bench_name(key, name);
    command.key_length = strlen(key);
    make_acquire(&words, command, node, mode);
    if (how == RAW_DELETE)
        words.release_length = write_delete(words.release, key);
    else
        words.release_length = write_command(words.release, command, RL_COMMAND_RELEASE, node->info.features);
    return words;
}

/* The proposal is the time, and so is above every earlier one for the name. The nodes' clock is this
 * machine's. */
void raw_words_stamp(struct raw_words *words)
{
    struct timespec now;
    uint64_t now_us;

    if (words->fence_at == 0)
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    now_us = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
    rl_decimal_write(words->acquire + words->fence_at, now_us);
    rl_decimal_write(words->acquire + words->not_after_at, now_us + NODE_TIMEOUT_US);
}

void raw_words_address(const struct raw_words *words, char *copy, const struct raw_node *node)
{
    if (words->epoch_at > 0)
        memcpy(copy + words->epoch_at, node->epoch, strlen(node->epoch));
}
