/*
 * The batch of questions about a node itself, and the reading of its answers; see examine_command.h.
 *
 * Rights are tried by saying each command. A node looks at rights before it looks at arguments, so a command
 * that is allowed but has wrong arguments fails with another error, and one that is allowed and right does
 * nothing to a key that is not there.
 */
#include "wire/examine_command.h"

#include <string.h>

#include "base/bytes.h"
#include "wire/error_reply.h"
#include "wire/examine_key.h"
#include "wire/hand_over.h"
#include "wire/handshake.h"
#include "wire/resp_reader.h"

/* ---- what is asked ---- */

enum { INFO, TIME, SAVE, FSYNC, WHOAMI, QUESTIONS };
enum { WORDS_MAX = 5, ANSWER_MAX = 40 };

static const char *const questions[QUESTIONS][WORDS_MAX] = {
    [INFO] = {"INFO"},
    [TIME] = {"TIME"},
    [SAVE] = {"CONFIG", "GET", "save"},
    [FSYNC] = {"CONFIG", "GET", "appendfsync"},
    [WHOAMI] = {"ACL", "WHOAMI"},
};

static const char a_key[] = "a key that is not there";
static const char a_channel[] = RL_CHANNEL "nobody hears it";
static const char all_channels[] = "&" RL_CHANNEL "*";

enum need { ALWAYS, IF_GUARDED, ADVISABLE, BESIDE };

static const struct probe {
    const char *right;
    enum need need;
    const char *words[WORDS_MAX + 1];
} probes[] = {
    {"+eval", ALWAYS, {"EVAL", "return 1", "0"}},
    {"+evalsha", ALWAYS, {"EVALSHA", "0000000000000000000000000000000000000000", "0"}},
    {"+time", IF_GUARDED, {"TIME"}},
    {"+get", ALWAYS, {"GET", a_key}},
    {"+mget", IF_GUARDED, {"MGET", a_key}},
    {"+set", ALWAYS, {"SET", a_key, "x", "NX", "XX"}},
    {"+del", ALWAYS, {"DEL", a_key}},
    {"+pttl", ALWAYS, {"PTTL", a_key}},
    {"+pexpire", ALWAYS, {"PEXPIRE", a_key, "x"}},
    {"+getrange", ALWAYS, {"GETRANGE", a_key, "0", "0"}},
    {"+zadd", IF_GUARDED, {"ZADD", a_key, "x", "x"}},
    {"+zrem", IF_GUARDED, {"ZREM", a_key, "x"}},
    {"+zrange", IF_GUARDED, {"ZRANGE", a_key, "0", "0"}},
    {"+zrank", IF_GUARDED, {"ZRANK", a_key, "x"}},
    {"+zcard", IF_GUARDED, {"ZCARD", a_key}},
    {"+zpopmin", IF_GUARDED, {"ZPOPMIN", a_key, "x"}},
    {"+zscore", IF_GUARDED, {"ZSCORE", a_key, "x"}},
    {"+zcount", IF_GUARDED, {"ZCOUNT", a_key, "0", "0"}},
    {"+zrangebyscore", IF_GUARDED, {"ZRANGEBYSCORE", a_key, "0", "0"}},
    {"+client|tracking", ADVISABLE, {"CLIENT", "TRACKING", "x"}},
    {"+client|caching", ADVISABLE, {"CLIENT", "CACHING", "x"}},
    {"+publish", ADVISABLE, {"PUBLISH", a_channel, ""}},
    {"+scan", ADVISABLE, {"SCAN", "x"}},
    {"+hget", BESIDE, {"HGET", a_key, "x"}},
    {"+hgetall", BESIDE, {"HGETALL", a_key}},
    {"+hset", BESIDE, {"HSET", a_key, "x", "x", "x"}},
    {"+hdel", BESIDE, {"HDEL", a_key, "x"}},
};

enum { PROBES = sizeof probes / sizeof probes[0] };

/* Each key is asked to be read and to be written, and lets nobody write it. */
enum { KEY_PROBES = 2 };

static bool is_asked(const struct rl_examine_command *command, const struct probe *probe)
{
    return command->guarded || probe->need == ALWAYS;
}

/* ---- writing ---- */

static void write_words(struct rl_writer *writer, const char *const *words,
                        const struct rl_examine_command *command)
{
    uint32_t count = 0;

    while (words[count] != NULL)
        count++;
    rl_write_command(writer, count);
    for (uint32_t i = 0; i < count; i++)
        if (words[i] == a_key)
            rl_write_bytes(writer, command->key, command->key_length);
        else
            rl_write_text(writer, words[i]);
}

static void write_key_probes(struct rl_writer *writer, const struct rl_examine_key *key)
{
    rl_write_command(writer, 4);
    rl_write_text(writer, "GETRANGE");
    rl_write_bytes(writer, key->bytes, key->length);
    rl_write_text(writer, "0");
    rl_write_integer(writer, ANSWER_MAX);
    rl_write_command(writer, 5);
    rl_write_text(writer, "SET");
    rl_write_bytes(writer, key->bytes, key->length);
    rl_write_text(writer, "x");
    rl_write_text(writer, "NX");
    rl_write_text(writer, "XX");
}

size_t rl_examine_room(const struct rl_examine_command *command)
{
    return 8192 + (PROBES + KEY_PROBES * RL_EXAMINE_KEYS) * command->key_length;
}

uint32_t rl_examine_replies(const struct rl_examine_command *command)
{
    uint32_t count = QUESTIONS + KEY_PROBES * rl_examine_key_count(command);

    for (size_t i = 0; i < PROBES; i++)
        count += is_asked(command, &probes[i]);
    return count;
}

void rl_examine_write(struct rl_writer *writer, const struct rl_examine_command *command)
{
    for (size_t i = 0; i < QUESTIONS; i++)
        write_words(writer, questions[i], command);
    for (size_t i = 0; i < PROBES; i++)
        if (is_asked(command, &probes[i]))
            write_words(writer, probes[i].words, command);
    for (uint32_t i = 0; i < rl_examine_key_count(command); i++) {
        struct rl_examine_key key = rl_examine_key_make(command, (enum rl_examine_which)i);

        write_key_probes(writer, &key);
    }
}

/* ---- reading ---- */

/* Where we are in the replies. */
struct cursor {
    const char *bytes;
    size_t length, offset;
};

/* The head of the next reply, and where what is inside it begins; a null when there is no more. */
static struct rl_resp next_reply(struct cursor *cursor, struct cursor *inside)
{
    struct rl_resp item = {.type = RL_RESP_NULL};
    size_t after = cursor->offset;

    *inside = *cursor;
    if (rl_resp_skip(cursor->bytes, cursor->length, &after) != RL_RESP_OK ||
        rl_resp_next(inside->bytes, inside->length, &inside->offset, &item) != RL_RESP_OK)
        return (struct rl_resp){.type = RL_RESP_NULL};
    cursor->offset = after;
    return item;
}

static void copy_text(char *target, size_t capacity, const char *text, size_t length)
{
    struct rl_text copy = rl_text_on(target, capacity);

    rl_text_add_printable(&copy, text, length);
}

static void read_info(struct rl_node_facts *facts, const struct rl_resp *item)
{
    size_t found = 0;
    const char *value;

    if (item->type != RL_RESP_STRING)
        return;
    facts->memory_used = rl_info_number(item->text, item->text_length, "used_memory");
    facts->memory_max = rl_info_number(item->text, item->text_length, "maxmemory");
    value = rl_info_find(item->text, item->text_length, "maxmemory_policy", &found);
    if (value != NULL)
        copy_text(facts->policy, sizeof facts->policy, value, found);
    value = rl_info_find(item->text, item->text_length, "aof_enabled", &found);
    if (value != NULL)
        facts->append_only = found == 1 && value[0] == '1';
}

static bool read_digits(const char *text, size_t length, int64_t *number)
{
    *number = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9' || i >= 16)
            return false;
        *number = *number * 10 + (text[i] - '0');
    }
    return length > 0;
}

/* Two strings of digits: seconds and microseconds. */
static void read_time(struct rl_node_facts *facts, const struct rl_resp *head, struct cursor *inside)
{
    struct rl_resp item;
    int64_t parts[2];

    if (head->type != RL_RESP_ARRAY || head->element_count != 2)
        return;
    for (int i = 0; i < 2; i++)
        if (rl_resp_next(inside->bytes, inside->length, &inside->offset, &item) != RL_RESP_OK ||
            item.type != RL_RESP_STRING || !read_digits(item.text, item.text_length, &parts[i]))
            return;
    if (parts[0] < INT64_C(1000000000000) && parts[1] < 1000000)
        facts->node_us = parts[0] * 1000000 + parts[1];
}

/* The value of a setting: a pair in a map, or in an array. */
static bool read_setting(const struct rl_resp *head, struct cursor *inside, struct rl_resp *value)
{
    if ((head->type != RL_RESP_MAP && head->type != RL_RESP_ARRAY) || head->element_count != 2)
        return false;
    for (int i = 0; i < 2; i++)
        if (rl_resp_next(inside->bytes, inside->length, &inside->offset, value) != RL_RESP_OK ||
            value->type != RL_RESP_STRING)
            return false;
    return true;
}

static void read_question(struct rl_node_facts *facts, size_t question, const struct rl_resp *head,
                          struct cursor *inside)
{
    struct rl_resp value;

    if (question == INFO)
        read_info(facts, head);
    else if (question == TIME)
        read_time(facts, head, inside);
    else if (question == SAVE && read_setting(head, inside, &value))
        facts->snapshots = value.text_length > 0;
    else if (question == FSYNC && read_setting(head, inside, &value))
        copy_text(facts->fsync, sizeof facts->fsync, value.text, value.text_length);
    else if (question == WHOAMI && head->type == RL_RESP_STRING)
        copy_text(facts->user, sizeof facts->user, head->text, head->text_length);
}

static bool has_word(const char *text, size_t length, const char *word)
{
    size_t word_length = strlen(word);

    for (size_t i = 0; i + word_length <= length; i++)
        if (memcmp(text + i, word, word_length) == 0)
            return true;
    return false;
}

enum refusal { ALLOWED, COMMAND_REFUSED, KEY_REFUSED };

/* "… to access one of the keys used as arguments", "No permissions to access a key", or "a channel"; else it
 * is the command. */
static enum refusal refusal_of(const struct rl_resp *item)
{
    if (item->type != RL_RESP_ERROR || !rl_error_is(item->text, item->text_length, "NOPERM"))
        return ALLOWED;
    return has_word(item->text, item->text_length, "access") ? KEY_REFUSED : COMMAND_REFUSED;
}

/* Adds a word to a list that has blanks between them. */
static void add_word(char *list, size_t capacity, const char *word, size_t length, const char *ending)
{
    size_t used = strlen(list);
    struct rl_text text;

    if (used + 1 + length + strlen(ending) >= capacity)
        return;
    text = rl_text_on(list + used, capacity - used);
    if (used > 0)
        rl_text_add(&text, " ");
    rl_text_add_printable(&text, word, length);
    rl_text_add(&text, ending);
}

static void add_right(struct rl_node_facts *facts, const struct probe *probe)
{
    size_t length = strlen(probe->right);

    if (probe->need == ADVISABLE)
        add_word(facts->advisable, sizeof facts->advisable, probe->right, length, "");
    else if (probe->need == BESIDE)
        add_word(facts->beside, sizeof facts->beside, probe->right, length, "");
    else
        add_word(facts->missing, sizeof facts->missing, probe->right, length, "");
}

/* The pattern that would allow a key: all that begins as locks of this client do. Without a prefix that is
 * every key, and a node refuses any pattern after "~*". */
static void add_pattern(struct rl_node_facts *facts, const struct rl_examine_key *key,
                        enum rl_examine_which which)
{
    bool beside = which == RL_EXAMINE_MARK || which == RL_EXAMINE_BARRIER;
    char pattern[sizeof key->bytes + 1] = "~";
    size_t length = which >= RL_EXAMINE_EPOCH && which <= RL_EXAMINE_LINES ? key->length : key->common;
    size_t used = strlen(facts->missing);

    if (used >= 2 && memcmp(facts->missing + used - 2, "~*", 2) == 0)
        return;
    memcpy(pattern + 1, key->bytes, length);
    add_word(beside ? facts->beside : facts->missing, beside ? sizeof facts->beside : sizeof facts->missing,
             pattern, length + 1, length == key->length ? "" : "*");
}

/* A node that cannot write refuses the attempt before it looks at what is wrong with it. */
static void read_attempt(struct rl_node_facts *facts, const struct rl_resp *written)
{
    enum rl_cause cause =
        written->type == RL_RESP_ERROR ? rl_error_cause(written->text, written->text_length) : RL_CAUSE_NONE;

    if (!rl_cause_is_inability(cause))
        return;
    facts->refused = cause;
    copy_text(facts->refusal, sizeof facts->refusal, written->text, written->text_length);
}

static void read_key(struct rl_node_facts *facts, const struct rl_examine_command *command,
                     enum rl_examine_which which, const struct rl_resp *read, const struct rl_resp *written)
{
    struct rl_examine_key key = rl_examine_key_make(command, which);
    bool foreign = read->type == RL_RESP_ERROR && rl_error_is(read->text, read->text_length, "WRONGTYPE");
    int64_t number;

    if (refusal_of(read) == KEY_REFUSED || refusal_of(written) == KEY_REFUSED)
        add_pattern(facts, &key, which);
    if (foreign && key.common == 0)
        add_word(facts->foreign_keys, sizeof facts->foreign_keys, key.bytes, key.length, "");
    if (which == RL_EXAMINE_FLOOR && read->type == RL_RESP_STRING &&
        read_digits(read->text, read->text_length, &number))
        facts->floor = (uint64_t)number;
}

void rl_examine_advise(struct rl_node_facts *facts, const char *right)
{
    if (!has_word(facts->advisable, strlen(facts->advisable), right))
        add_word(facts->advisable, sizeof facts->advisable, right, strlen(right), "");
}

const char *rl_examine_subscribe_right(const char *bytes, size_t length)
{
    struct rl_resp item;
    size_t offset = 0;

    if (rl_resp_next(bytes, length, &offset, &item) != RL_RESP_OK || refusal_of(&item) == ALLOWED)
        return NULL;
    return refusal_of(&item) == KEY_REFUSED ? all_channels : "+subscribe";
}

void rl_examine_read(const struct rl_examine_command *command, const char *bytes, size_t length,
                     struct rl_node_facts *facts)
{
    struct cursor cursor = {.bytes = bytes, .length = length}, inside;
    struct rl_resp item, second;

    *facts = (struct rl_node_facts){
        .examined = true, .memory_used = -1, .memory_max = -1, .append_only = -1, .snapshots = -1};
    for (size_t i = 0; i < QUESTIONS; i++) {
        item = next_reply(&cursor, &inside);
        read_question(facts, i, &item, &inside);
        if (i == INFO && command->guarded && refusal_of(&item) != ALLOWED)
            add_word(facts->missing, sizeof facts->missing, "+info", 5, "");
    }
    for (size_t i = 0; i < PROBES; i++) {
        if (!is_asked(command, &probes[i]))
            continue;
        item = next_reply(&cursor, &inside);
        if (refusal_of(&item) == KEY_REFUSED && probes[i].words[1] == a_channel)
            rl_examine_advise(facts, all_channels);
        if (refusal_of(&item) == COMMAND_REFUSED)
            add_right(facts, &probes[i]);
    }
    for (uint32_t i = 0; i < rl_examine_key_count(command); i++) {
        item = next_reply(&cursor, &inside);
        second = next_reply(&cursor, &inside);
        read_key(facts, command, (enum rl_examine_which)i, &item, &second);
        if (i == RL_EXAMINE_LOCK_KEY)
            read_attempt(facts, &second);
    }
}
