/*
 * Reads what looks at a lock brought; see look_reply.h and wire/lua/look.lua.
 */
#include "wire/look_reply.h"

#include <string.h>

#include "base/bytes.h"
#include "wire/error_reply.h"
#include "wire/owner.h"

/* Another program's kind of lock, a hash perhaps: it ends by itself, so it is somebody's. The scripts call it
 * the same. */
static void answer_foreign(struct rl_lock_reply *reply, int64_t ttl_left_ms)
{
    reply->answer.verdict = RL_DENIED;
    reply->answer.ttl_left_ms = ttl_left_ms;
    reply->answer.holder = rl_hash_bytes(0, rl_foreign_owner, strlen(rl_foreign_owner));
    reply->owner = rl_foreign_owner;
    reply->owner_length = strlen(rl_foreign_owner);
}

/* An empty owner is that of a key that is not there; PTTL's -2 tells the two apart. */
static void read_peek(const struct rl_kind *kind, const struct rl_resp *value, uint32_t sharers,
                      const struct rl_resp *ttl, struct rl_lock_reply *reply)
{
    int64_t ttl_left_ms;

    if (!rl_lock_answer_ttl(ttl, &ttl_left_ms)) {
        rl_lock_answer_protocol(reply);
        return;
    }
    if (kind->find != NULL && value->type == RL_RESP_INTEGER && value->integer > 0 &&
        value->integer <= RL_SLOTS_MAX) {
        answer_foreign(reply, ttl_left_ms);
        reply->answer.permits = (uint32_t)value->integer;
    } else if (value->type == RL_RESP_ERROR && ttl_left_ms >= 0 &&
               rl_error_cause(value->text, value->text_length) == RL_CAUSE_FOREIGN_TYPE)
        answer_foreign(reply, ttl_left_ms);
    else if (value->type == RL_RESP_ERROR)
        rl_lock_answer_error(reply, value);
    else if (value->type == RL_RESP_STRING)
        reply->answer.verdict = ttl_left_ms == -2 ? RL_GRANTED : RL_DENIED;
    else if (value->type == RL_RESP_NULL && kind->is_shared)
        reply->answer.verdict = RL_GRANTED;
    else
        rl_lock_answer_protocol(reply);
    if (reply->answer.verdict == RL_DENIED)
        reply->answer.ttl_left_ms = ttl_left_ms;
    if (reply->answer.verdict == RL_DENIED && value->type == RL_RESP_STRING) {
        rl_lock_answer_owner(reply, value);
        reply->answer.sharers = sharers;
        reply->answer.holder = rl_lock_answer_holder(reply);
    }
}

/* Of no lock: the command is refused in any case, and whose key is there is nobody's business. What counts is
 * whether the node says that it cannot write at all. */
static void read_attempt(const struct rl_resp *attempt, const struct rl_resp *ttl,
                         struct rl_lock_reply *reply)
{
    enum rl_cause cause =
        attempt->type == RL_RESP_ERROR ? rl_error_cause(attempt->text, attempt->text_length) : RL_CAUSE_NONE;

    if (cause != RL_CAUSE_NONE && cause != RL_CAUSE_ERROR && !rl_cause_is_inability(cause))
        rl_lock_answer_error(reply, attempt);
    else if (ttl->type != RL_RESP_INTEGER)
        rl_lock_answer_protocol(reply);
    else
        reply->answer.verdict = RL_GRANTED;
    if (reply->answer.verdict != RL_GRANTED || !rl_cause_is_inability(cause))
        return;
    reply->answer.cause = cause;
    reply->error = attempt->text;
    reply->error_length = attempt->text_length;
}

/* Which slot of how many the holder that was looked for has; see wire/lua/find.lua. */
static void read_held_slot(const char *bytes, size_t length, size_t *offset, struct rl_lock_reply *reply)
{
    struct rl_resp slot = rl_resp_item(bytes, length, offset), permits = rl_resp_item(bytes, length, offset);

    if (slot.type != RL_RESP_INTEGER || permits.type != RL_RESP_INTEGER || slot.integer < 1 ||
        permits.integer < slot.integer || permits.integer > RL_SLOTS_MAX)
        return;
    reply->answer.slot = (uint32_t)slot.integer;
    reply->answer.permits = (uint32_t)permits.integer;
}

/* Behind the first of those who share a lock: how many they are, and the others; see wire/lua/look.lua. */
static uint32_t read_sharers(const char *bytes, size_t length, uint32_t left, size_t *offset,
                             struct rl_lock_reply *reply)
{
    struct rl_resp count = rl_resp_item(bytes, length, offset);
    size_t begin;

    if (left >= 3 && count.type == RL_RESP_INTEGER && count.integer == 0) {
        read_held_slot(bytes, length, offset, reply);
        left -= 2;
    }
    begin = *offset;

    while (--left > 0)
        if (rl_resp_skip(bytes, length, offset) != RL_RESP_OK)
            return 0;
    reply->others = *offset > begin ? bytes + begin : NULL;
    reply->others_length = *offset - begin;
    return count.type == RL_RESP_INTEGER && count.integer > 0 && count.integer < UINT32_MAX
               ? (uint32_t)count.integer
               : 0;
}

bool rl_look_reply_other(const struct rl_lock_reply *reply, size_t *offset, const char **owner,
                         size_t *length)
{
    struct rl_resp item;

    if (reply->others == NULL || *offset >= reply->others_length)
        return false;
    item = rl_resp_item(reply->others, reply->others_length, offset);
    if (item.type != RL_RESP_STRING)
        return false;
    *owner = item.text;
    *length = item.text_length;
    rl_owner_unmark(owner, length);
    return true;
}

void rl_look_reply_read(const struct rl_lock_command *command, const char *bytes, size_t length,
                        struct rl_lock_reply *reply)
{
    size_t offset = 0;
    struct rl_resp first = rl_resp_item(bytes, length, &offset), second;
    uint32_t items = first.type == RL_RESP_ARRAY ? first.element_count : 0, sharers = 0;

    if (items > 0)
        first = rl_resp_item(bytes, length, &offset);
    if (items > 1)
        sharers = read_sharers(bytes, length, items - 1, &offset, reply);
    if (command->kind == RL_COMMAND_WATCH)
        reply->answer.armed =
            rl_resp_item(bytes, length, &offset).type == RL_RESP_STRING; /* OK, and not an error */
    second = rl_resp_item(bytes, length, &offset);
    if (second.type == RL_RESP_ERROR)
        rl_lock_answer_error(reply, &second);
    else if (command->nameless)
        read_attempt(&first, &second, reply);
    else
        read_peek(command->lock_kind, &first, sharers, &second, reply);
    reply->answer.shared = items > 0 && reply->answer.permits == 0 && reply->answer.verdict == RL_DENIED;
}
