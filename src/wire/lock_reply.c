/*
 * Reads the replies to lock commands; see lock_reply.h and the scripts in wire/lua.
 */
#include "wire/lock_reply.h"

#include <assert.h>
#include <string.h>

#include "wire/error_reply.h"
#include "wire/handshake.h"
#include "wire/look_reply.h"

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

/* Microseconds, so the limit is the same. */
static bool is_time(const struct rl_resp *item)
{
    return rl_lock_answer_is_fence(item) && item->integer > 0;
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
    if (items[0].integer == 1 && count == (kind->has_slots ? 4 : 3) && rl_lock_answer_is_fence(&items[2]) &&
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
        !rl_lock_answer_is_fence(&items[2]) ||
        (found && (items[5].type != RL_RESP_STRING || !rl_lock_answer_denied(items, reply)))) {
        rl_lock_answer_protocol(reply);
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
        rl_lock_answer_protocol(reply);
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
        rl_lock_answer_protocol(reply);
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
        rl_lock_answer_protocol(reply);
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
        rl_lock_answer_protocol(reply);
        return;
    }
    read_compared(&code, reply);
    reply->answer.name = (uint32_t)name.integer;
}

static void read_line(const char *bytes, size_t length, struct rl_lock_reply *reply)
{
    struct rl_line line;

    if (!rl_line_read(bytes, length, &line)) {
        rl_lock_answer_protocol(reply);
        return;
    }
    reply->answer.verdict = RL_GRANTED;
    reply->node_us = line.node_us;
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
    struct rl_resp time = rl_resp_item(bytes, length, &offset), slot = rl_resp_item(bytes, length, &offset);

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
    struct rl_resp first = rl_resp_item(bytes, length, &offset);

    assert((kind != RL_COMMAND_ACQUIRE && !looks) || command->nameless || command->lock_kind != NULL);
    *reply = (struct rl_lock_reply){.answer = {.verdict = RL_FAILED, .ttl_left_ms = -2}};
    if (looks) {
        rl_look_reply_read(command, bytes, length, reply);
        return RL_READING_ANSWER;
    }
    if (first.type == RL_RESP_ERROR) {
        rl_lock_answer_error(reply, &first);
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
    item = rl_resp_item(bytes, length, &offset);
    if (item.type == RL_RESP_ERROR)
        return RL_PROOF_NONE;
    return item.type == RL_RESP_STRING && rl_info_same_master(item.text, item.text_length, replid)
               ? RL_PROOF_SAME
               : RL_PROOF_ANOTHER;
}

uint64_t rl_lock_reply_fence(const char *bytes, size_t length)
{
    size_t offset = 0;
    struct rl_resp item = rl_resp_item(bytes, length, &offset);
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
