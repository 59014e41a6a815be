/*
 * Bytes of the lock commands and their replies; see lock_command.h and the scripts in wire/lua.
 */
#include "wire/lock_command.h"

#include <string.h>

#include "wire/error_reply.h"
#include "wire/owner.h"
#include "wire/resp_reader.h"
#include "wire/script.h"

/* Opens EVALSHA or EVAL of a script with one key; the arguments follow. */
static void open_script(struct rl_writer *writer, const struct rl_script *script, bool full,
                        const struct rl_lock_command *command, uint32_t argument_count)
{
    rl_write_command(writer, 4 + argument_count);
    if (full) {
        rl_write_text(writer, "EVAL");
        rl_write_bytes(writer, script->text, script->text_length);
    } else {
        rl_write_text(writer, "EVALSHA");
        rl_write_bytes(writer, script->digest, sizeof script->digest - 1);
    }
    rl_write_text(writer, "1");
    rl_write_bytes(writer, command->key, command->key_length);
}

static void write_acquire(struct rl_writer *writer, const struct rl_lock_command *command)
{
    rl_write_command(writer, 6);
    rl_write_text(writer, "SET");
    rl_write_bytes(writer, command->key, command->key_length);
    rl_write_bytes(writer, command->owner, command->owner_length);
    rl_write_text(writer, "NX");
    rl_write_text(writer, "PX");
    rl_write_integer(writer, command->ttl_ms);
}

static void write_extend(struct rl_writer *writer, const struct rl_lock_command *command, bool full)
{
    open_script(writer, &rl_script_extend, full, command, 2);
    rl_write_bytes(writer, command->owner, command->owner_length);
    rl_write_integer(writer, command->ttl_ms);
}

static void write_release(struct rl_writer *writer, const struct rl_lock_command *command, unsigned features,
                          bool full)
{
    if ((features & RL_FEATURE_DELEX) != 0) {
        rl_write_command(writer, 4);
        rl_write_text(writer, "DELEX");
        rl_write_bytes(writer, command->key, command->key_length);
        rl_write_text(writer, "IFEQ");
    } else if ((features & RL_FEATURE_DELIFEQ) != 0) {
        rl_write_command(writer, 3);
        rl_write_text(writer, "DELIFEQ");
        rl_write_bytes(writer, command->key, command->key_length);
    } else {
        open_script(writer, &rl_script_release, full, command, 1);
    }
    rl_write_bytes(writer, command->owner, command->owner_length);
}

/* GETRANGE, not GET: what is there may be anybody's, and of any size. */
static void write_peek(struct rl_writer *writer, const struct rl_lock_command *command)
{
    rl_write_command(writer, 4);
    rl_write_text(writer, "GETRANGE");
    rl_write_bytes(writer, command->key, command->key_length);
    rl_write_text(writer, "0");
    rl_write_integer(writer, RL_OWNER_MAX - 1);
    rl_write_command(writer, 2);
    rl_write_text(writer, "PTTL");
    rl_write_bytes(writer, command->key, command->key_length);
}

void rl_lock_command_write(struct rl_writer *writer, const struct rl_lock_command *command, unsigned features,
                           bool full)
{
    switch (command->kind) {
    case RL_COMMAND_ACQUIRE:
        write_acquire(writer, command);
        break;
    case RL_COMMAND_EXTEND:
        write_extend(writer, command, full);
        break;
    case RL_COMMAND_RELEASE:
        write_release(writer, command, features, full);
        break;
    case RL_COMMAND_PEEK:
        write_peek(writer, command);
        break;
    }
}

static void answer_protocol(struct rl_lock_reply *reply)
{
    static const char words[] = "unexpected kind of reply";

    reply->answer = (struct rl_answer){.verdict = RL_BROKEN, .cause = RL_CAUSE_PROTOCOL, .ttl_left_ms = -2};
    reply->error = words;
    reply->error_length = sizeof words - 1;
}

static void answer_error(struct rl_lock_reply *reply, const struct rl_resp *item)
{
    reply->answer = rl_error_answer(item->text, item->text_length);
    reply->error = item->text;
    reply->error_length = item->text_length;
}

static void read_acquire(const struct rl_resp *item, struct rl_lock_reply *reply)
{
    if (item->type == RL_RESP_NULL)
        reply->answer.verdict = RL_DENIED;
    else if (item->type == RL_RESP_STRING && item->text_length == 2 && memcmp(item->text, "OK", 2) == 0)
        reply->answer.verdict = RL_GRANTED;
    else
        answer_protocol(reply);
}

/* Extend and release: 1 done, 0 another's, -1 not there. */
static void read_compared(const struct rl_resp *item, struct rl_lock_reply *reply)
{
    if (item->type != RL_RESP_INTEGER || item->integer < -1 || item->integer > 1)
        answer_protocol(reply);
    else
        reply->answer.verdict = item->integer == 1 ? RL_GRANTED : RL_DENIED;
}

/* GETRANGE answers an empty string for a key that is not there; PTTL's -2 tells the two apart. */
static void read_peek(const struct rl_resp *value, const struct rl_resp *ttl, struct rl_lock_reply *reply)
{
    if (ttl->type != RL_RESP_INTEGER || ttl->integer < -2) {
        answer_protocol(reply);
        return;
    }
    if (value->type == RL_RESP_ERROR)
        answer_error(reply, value);
    else if (value->type == RL_RESP_STRING)
        reply->answer.verdict = ttl->integer == -2 ? RL_GRANTED : RL_DENIED;
    else
        answer_protocol(reply);
    if (reply->answer.verdict == RL_DENIED)
        reply->answer.ttl_left_ms = ttl->integer;
    if (reply->answer.verdict == RL_DENIED && value->type == RL_RESP_STRING) {
        reply->owner = value->text;
        reply->owner_length = value->text_length;
    }
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

enum rl_reading rl_lock_command_read(enum rl_command_kind kind, const char *bytes, size_t length,
                                     struct rl_lock_reply *reply)
{
    size_t offset = 0;
    struct rl_resp first = next_item(bytes, length, &offset);

    *reply = (struct rl_lock_reply){.answer = {.verdict = RL_BROKEN, .ttl_left_ms = -2}};
    if (kind == RL_COMMAND_PEEK) {
        struct rl_resp second = next_item(bytes, length, &offset);

        if (second.type == RL_RESP_ERROR)
            answer_error(reply, &second);
        else
            read_peek(&first, &second, reply);
        return RL_READING_ANSWER;
    }
    if (first.type == RL_RESP_ERROR) {
        answer_error(reply, &first);
        if (rl_error_is(first.text, first.text_length, "NOSCRIPT"))
            return RL_READING_NO_SCRIPT;
        if (kind == RL_COMMAND_RELEASE && first.text_length > 19 &&
            memcmp(first.text, "ERR unknown command", 19) == 0)
            return RL_READING_NO_COMMAND;
    } else if (kind == RL_COMMAND_ACQUIRE) {
        read_acquire(&first, reply);
    } else {
        read_compared(&first, reply);
    }
    return RL_READING_ANSWER;
}
