/*
 * Reads the replies to lock commands; see lock_reply.h and the scripts in wire/lua.
 */
#include "wire/lock_reply.h"

#include <assert.h>
#include <string.h>

#include "base/bytes.h"
#include "wire/error_reply.h"
#include "wire/handshake.h"
#include "wire/owner.h"

static void answer_protocol(struct rl_lock_reply *reply)
{
    static const char words[] = "unexpected kind of reply";

    reply->answer = (struct rl_answer){.verdict = RL_FAILED, .cause = RL_CAUSE_PROTOCOL, .ttl_left_ms = -2};
    reply->error = words;
    reply->error_length = sizeof words - 1;
}

static void answer_error(struct rl_lock_reply *reply, const struct rl_resp *item)
{
    bool armed = reply->answer.armed;

    reply->answer = rl_error_answer(item->text, item->text_length);
    reply->answer.armed = armed;
    reply->error = item->text;
    reply->error_length = item->text_length;
}

/* What the scripts answer instead of a verdict about the lock. */
static void answer_code(struct rl_lock_reply *reply, int64_t code)
{
    static const char epoch[] = "it has lost its locks: flushed, restored, or another server";
    static const char late[] = "the question reached it too late";

    reply->answer.verdict = code == -3 ? RL_INELIGIBLE : RL_FAILED;
    reply->answer.cause = code == -3 ? RL_CAUSE_EPOCH : RL_CAUSE_LATE;
    reply->error = code == -3 ? epoch : late;
    reply->error_length = (code == -3 ? sizeof epoch : sizeof late) - 1;
}

static bool is_fence(const struct rl_resp *item)
{
    return item->type == RL_RESP_INTEGER && item->integer >= 0 && item->integer <= RL_FENCE_MAX;
}

/* Whose key is there. The mark of a hold that was broken is no part of its owner's value. */
static void name_owner(struct rl_lock_reply *reply, const struct rl_resp *value)
{
    reply->owner = value->text;
    reply->owner_length = value->text_length;
    reply->answer.sharers = rl_owner_unshare(&reply->owner, &reply->owner_length);
    reply->answer.shared = reply->answer.sharers > 0;
    reply->answer.marked = rl_owner_unmark(&reply->owner, &reply->owner_length);
    if (reply->owner_length > RL_OWNER_MAX)
        reply->owner_length = RL_OWNER_MAX;
}

uint64_t rl_lock_reply_holder(const struct rl_lock_reply *reply)
{
    static const char all[] = "shared";

    return reply->answer.sharers > 0 ? rl_hash_bytes(0, all, sizeof all - 1)
                                     : rl_hash_bytes(0, reply->owner, reply->owner_length);
}

/* Microseconds, so the limit is the same. */
static bool is_time(const struct rl_resp *item)
{
    return is_fence(item) && item->integer > 0;
}

bool rl_lock_reply_denied(const struct rl_resp *items, struct rl_lock_reply *reply)
{
    if (!is_fence(&items[2]) || items[3].type != RL_RESP_INTEGER || items[4].type != RL_RESP_STRING)
        return false;
    reply->answer.verdict = RL_DENIED;
    reply->answer.fence = (uint64_t)items[2].integer;
    reply->answer.ttl_left_ms = items[3].integer;
    name_owner(reply, &items[4]);
    return true;
}

static bool read_slot(const struct rl_resp *item, const struct rl_lock_command *command,
                      struct rl_lock_reply *reply)
{
    if (item->type != RL_RESP_INTEGER || item->integer < 1 || item->integer > command->slots)
        return false;
    reply->answer.slot = (uint32_t)item->integer;
    return true;
}

/* A vote's longer answers; see wire/lua/ask.lua. */
static bool read_guarded(const struct rl_lock_command *command, const char *bytes, size_t length,
                         size_t offset, uint32_t count, struct rl_lock_reply *reply)
{
    const struct rl_kind *kind = command->lock_kind;
    struct rl_resp items[RL_DENIAL_ITEMS_MAX] = {{0}};

    for (uint32_t i = 0; i < count && i < RL_DENIAL_ITEMS_MAX; i++)
        if (rl_resp_next(bytes, length, &offset, &items[i]) != RL_RESP_OK)
            return false;
    if (count < 2 || items[0].type != RL_RESP_INTEGER || !is_time(&items[1]))
        return false;
    reply->node_us = items[1].integer;
    if (items[0].integer == 1 && count == (kind->has_slots ? 4 : 3) && is_fence(&items[2]) &&
        items[2].integer > 0) {
        reply->answer.verdict = RL_GRANTED;
        reply->answer.fence = (uint64_t)items[2].integer;
        return !kind->has_slots || read_slot(&items[3], command, reply);
    }
    if (items[0].integer == 0)
        return kind->read_denial(items, count, reply);
    if (items[0].integer != -3 && items[0].integer != -4)
        return false;
    answer_code(reply, items[0].integer);
    return true;
}

/* {1, now, floor} and {0, now, floor, pttl, owner, words}; see wire/lua/search.lua. */
static void read_search(const struct rl_resp *item, const char *bytes, size_t length, size_t offset,
                        struct rl_lock_reply *reply)
{
    struct rl_resp items[6] = {{0}};
    bool found = item->type == RL_RESP_ARRAY && item->element_count == 6;
    bool whole = item->type == RL_RESP_ARRAY && (found || item->element_count == 3);

    for (uint32_t i = 0; whole && i < item->element_count; i++)
        whole = rl_resp_next(bytes, length, &offset, &items[i]) == RL_RESP_OK;
    if (!whole || items[0].type != RL_RESP_INTEGER || items[0].integer != !found || !is_time(&items[1]) ||
        !is_fence(&items[2]) ||
        (found && (items[5].type != RL_RESP_STRING || !rl_lock_reply_denied(items, reply)))) {
        answer_protocol(reply);
        return;
    }
    reply->node_us = items[1].integer;
    reply->answer.fence = (uint64_t)items[2].integer;
    if (!found)
        reply->answer.verdict = RL_GRANTED;
    reply->error = items[5].text;
    reply->error_length = items[5].text_length;
}

static void read_plain_acquire(const struct rl_resp *item, struct rl_lock_reply *reply)
{
    if (item->type == RL_RESP_NULL)
        reply->answer.verdict = RL_DENIED;
    else if (item->type == RL_RESP_STRING && item->text_length == 2 && memcmp(item->text, "OK", 2) == 0)
        reply->answer.verdict = RL_GRANTED;
    else
        answer_protocol(reply);
}

static void read_acquire(const struct rl_resp *item, const struct rl_lock_command *command, const char *bytes,
                         size_t length, size_t offset, struct rl_lock_reply *reply)
{
    if (is_time(item) && !command->lock_kind->has_slots) {
        reply->answer.verdict = RL_GRANTED;
        reply->answer.fence = command->fence;
        reply->node_us = item->integer;
    } else if (item->type != RL_RESP_ARRAY ||
               !read_guarded(command, bytes, length, offset, item->element_count, reply)) {
        answer_protocol(reply);
    }
}

static void answer_mark(struct rl_lock_reply *reply)
{
    static const char words[] = "an operator has broken the lock";

    reply->answer.verdict = RL_DENIED;
    reply->answer.cause = RL_CAUSE_BROKEN;
    reply->error = words;
    reply->error_length = sizeof words - 1;
}

/* Extend, raise and release: above 0 done (1, or the node's time), 0 another's, -1 not there, -2 was not
 * there and is planted again, which tells nobody that it was ours all the time, -5 broken. */
static void read_compared(const struct rl_resp *item, struct rl_lock_reply *reply)
{
    static const char planted[] = "it had lost the lock, and was given it again";

    if (item->type != RL_RESP_INTEGER || item->integer < -5 || item->integer > RL_FENCE_MAX) {
        answer_protocol(reply);
    } else if (item->integer == -5) {
        answer_mark(reply);
    } else if (item->integer <= -3) {
        answer_code(reply, item->integer);
    } else if (item->integer == -2) {
        reply->answer.verdict = RL_DENIED;
        reply->answer.planted = true;
        reply->error = planted;
        reply->error_length = sizeof planted - 1;
    } else {
        reply->answer.verdict = item->integer > 0 ? RL_GRANTED : RL_DENIED;
        reply->node_us = item->integer > 1 ? item->integer : 0;
    }
}

/* Of several names: the same of the first that was in the way, and which that is; see
 * wire/lua/extend_names.lua, hand_on_names.lua. */
static void read_compared_name(const char *bytes, size_t length, size_t offset, struct rl_lock_reply *reply)
{
    struct rl_resp code = {0}, name = {0};

    if (rl_resp_next(bytes, length, &offset, &code) != RL_RESP_OK ||
        rl_resp_next(bytes, length, &offset, &name) != RL_RESP_OK || name.type != RL_RESP_INTEGER ||
        name.integer < 1 || name.integer > RL_NAMES_MAX || code.type != RL_RESP_INTEGER || code.integer > 0) {
        answer_protocol(reply);
        return;
    }
    read_compared(&code, reply);
    reply->answer.name = (uint32_t)name.integer;
}

const char rl_foreign_owner[] = "foreign";

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
    if (ttl->type != RL_RESP_INTEGER || ttl->integer < -2) {
        answer_protocol(reply);
        return;
    }
    if (kind->find != NULL && value->type == RL_RESP_INTEGER && value->integer > 0 &&
        value->integer <= RL_SLOTS_MAX) {
        answer_foreign(reply, ttl->integer);
        reply->answer.permits = (uint32_t)value->integer;
    } else if (value->type == RL_RESP_ERROR && ttl->integer >= 0 &&
               rl_error_cause(value->text, value->text_length) == RL_CAUSE_FOREIGN_TYPE)
        answer_foreign(reply, ttl->integer);
    else if (value->type == RL_RESP_ERROR)
        answer_error(reply, value);
    else if (value->type == RL_RESP_STRING)
        reply->answer.verdict = ttl->integer == -2 ? RL_GRANTED : RL_DENIED;
    else if (value->type == RL_RESP_NULL && kind->is_shared)
        reply->answer.verdict = RL_GRANTED;
    else
        answer_protocol(reply);
    if (reply->answer.verdict == RL_DENIED)
        reply->answer.ttl_left_ms = ttl->integer;
    if (reply->answer.verdict == RL_DENIED && value->type == RL_RESP_STRING) {
        name_owner(reply, value);
        reply->answer.sharers = sharers;
        reply->answer.holder = rl_lock_reply_holder(reply);
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
        answer_error(reply, attempt);
    else if (ttl->type != RL_RESP_INTEGER)
        answer_protocol(reply);
    else
        reply->answer.verdict = RL_GRANTED;
    if (reply->answer.verdict != RL_GRANTED || !rl_cause_is_inability(cause))
        return;
    reply->answer.cause = cause;
    reply->error = attempt->text;
    reply->error_length = attempt->text_length;
}

static void read_line(const char *bytes, size_t length, struct rl_lock_reply *reply)
{
    struct rl_line line;

    if (!rl_line_read(bytes, length, &line)) {
        answer_protocol(reply);
        return;
    }
    reply->answer.verdict = RL_GRANTED;
    reply->node_us = line.node_us;
}

/* The next scalar or head, with attributes passed over. */
static struct rl_resp next_item(const char *bytes, size_t length, size_t *offset)
{
    struct rl_resp item = {.type = RL_RESP_NULL};

    while (rl_resp_next(bytes, length, offset, &item) == RL_RESP_OK && item.type == RL_RESP_ATTRIBUTE)
        for (uint32_t i = 0; i < item.element_count; i++)
            if (rl_resp_skip(bytes, length, offset) != RL_RESP_OK)
                return item;
    return item;
}

/* Which slot of how many the holder that was looked for has; see wire/lua/find.lua. */
static void read_held_slot(const char *bytes, size_t length, size_t *offset, struct rl_lock_reply *reply)
{
    struct rl_resp slot = next_item(bytes, length, offset), permits = next_item(bytes, length, offset);

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
    struct rl_resp count = next_item(bytes, length, offset);
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

bool rl_lock_reply_other(const struct rl_lock_reply *reply, size_t *offset, const char **owner,
                         size_t *length)
{
    struct rl_resp item;

    if (reply->others == NULL || *offset >= reply->others_length)
        return false;
    item = next_item(reply->others, reply->others_length, offset);
    if (item.type != RL_RESP_STRING)
        return false;
    *owner = item.text;
    *length = item.text_length;
    rl_owner_unmark(owner, length);
    return true;
}

/* Whether the command itself was refused: the node does not have it, or the user may not say it. */
static bool is_not_to_be_said(const struct rl_resp *error)
{
    static const char unknown[] = "ERR unknown command";

    return rl_error_is(error->text, error->text_length, "NOPERM") ||
           (error->text_length >= sizeof unknown - 1 &&
            memcmp(error->text, unknown, sizeof unknown - 1) == 0);
}

/* {now, slot}: an extension by a caller that did not know which slot it has. */
static bool read_found_slot(const struct rl_lock_command *command, const char *bytes, size_t length,
                            size_t offset, struct rl_lock_reply *reply)
{
    const struct rl_kind *kind = command->lock_kind;
    struct rl_resp time = next_item(bytes, length, &offset), slot = next_item(bytes, length, &offset);

    if (kind == NULL || !kind->has_slots || !is_time(&time) || !read_slot(&slot, command, reply))
        return false;
    read_compared(&time, reply);
    return true;
}

enum rl_reading rl_lock_reply_read(const struct rl_lock_command *command, const char *bytes, size_t length,
                                   struct rl_lock_reply *reply)
{
    enum rl_command_kind kind = command->kind;
    bool looks = kind == RL_COMMAND_PEEK || kind == RL_COMMAND_WATCH;
    size_t offset = 0;
    struct rl_resp first = next_item(bytes, length, &offset);

    assert((kind != RL_COMMAND_ACQUIRE && !looks) || command->nameless || command->lock_kind != NULL);
    *reply = (struct rl_lock_reply){.answer = {.verdict = RL_FAILED, .ttl_left_ms = -2}};
    uint32_t items = looks && first.type == RL_RESP_ARRAY ? first.element_count : 0, sharers = 0;
    if (items > 0)
        first = next_item(bytes, length, &offset);
    if (items > 1)
        sharers = read_sharers(bytes, length, items - 1, &offset, reply);
    if (kind == RL_COMMAND_WATCH)
        reply->answer.armed =
            next_item(bytes, length, &offset).type == RL_RESP_STRING; /* OK, and not an error */
    if (looks) {
        struct rl_resp second = next_item(bytes, length, &offset);

        if (second.type == RL_RESP_ERROR)
            answer_error(reply, &second);
        else if (command->nameless)
            read_attempt(&first, &second, reply);
        else
            read_peek(command->lock_kind, &first, sharers, &second, reply);
        reply->answer.shared = items > 0 && reply->answer.permits == 0 && reply->answer.verdict == RL_DENIED;
        return RL_READING_ANSWER;
    }
    if (first.type == RL_RESP_ERROR) {
        answer_error(reply, &first);
        if (rl_error_is(first.text, first.text_length, "NOSCRIPT"))
            return RL_READING_NO_SCRIPT;
        if (kind == RL_COMMAND_RELEASE && is_not_to_be_said(&first))
            return RL_READING_NO_COMMAND;
    } else if (kind == RL_COMMAND_ACQUIRE && command->epoch == NULL) {
        read_plain_acquire(&first, reply);
    } else if (kind == RL_COMMAND_ACQUIRE) {
        read_acquire(&first, command, bytes, length, offset, reply);
    } else if (kind == RL_COMMAND_SEARCH) {
        read_search(&first, bytes, length, offset, reply);
    } else if (kind == RL_COMMAND_LINE) {
        read_line(bytes, length, reply);
    } else if (command->names != NULL && first.type == RL_RESP_ARRAY && first.element_count == 2) {
        read_compared_name(bytes, length, offset, reply);
    } else if (first.type != RL_RESP_ARRAY || first.element_count != 2 ||
               !read_found_slot(command, bytes, length, offset, reply)) {
        read_compared(&first, reply);
    }
    return RL_READING_ANSWER;
}

enum rl_proof rl_lock_reply_proof(const char *bytes, size_t length, const char *replid)
{
    size_t offset = 0;
    struct rl_resp item;

    if (rl_resp_skip(bytes, length, &offset) != RL_RESP_OK)
        return RL_PROOF_ANOTHER;
    item = next_item(bytes, length, &offset);
    if (item.type == RL_RESP_ERROR)
        return RL_PROOF_NONE;
    return item.type == RL_RESP_STRING && rl_info_same_master(item.text, item.text_length, replid)
               ? RL_PROOF_SAME
               : RL_PROOF_ANOTHER;
}

uint64_t rl_lock_reply_fence(const char *bytes, size_t length)
{
    size_t offset = 0;
    struct rl_resp item = next_item(bytes, length, &offset);
    uint64_t fence = 0;

    if (item.type != RL_RESP_STRING || item.text_length > RL_FENCE_DIGITS)
        return 0;
    for (size_t i = 0; i < item.text_length; i++) {
        if (item.text[i] < '0' || item.text[i] > '9')
            return 0;
        fence = fence * 10 + (uint64_t)(item.text[i] - '0');
    }
    return fence <= (uint64_t)RL_FENCE_MAX ? fence : 0;
}

void rl_lock_reply_refuse(struct rl_lock_reply *reply)
{
    reply->answer = (struct rl_answer){.verdict = RL_FAILED, .ttl_left_ms = -2};
    answer_code(reply, -3);
    reply->owner = NULL;
}
