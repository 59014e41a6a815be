/*
 * The greeting, step by step; see handshake.h.
 */
#include "wire/handshake.h"

#include <assert.h>
#include <string.h>

#include "base/bytes.h"
#include "wire/error_reply.h"
#include "wire/resp_reader.h"

void rl_handshake_start(struct rl_handshake *handshake, const struct rl_greeting *greeting)
{
    memset(handshake, 0, sizeof *handshake);
    handshake->greeting = *greeting;
    handshake->step = RL_HANDSHAKE_HELLO;
}

/* The default user is called "default" where HELLO wants a name. */
static const char *user_name(const struct rl_greeting *greeting)
{
    return greeting->user != NULL && greeting->user[0] != '\0' ? greeting->user : "default";
}

static void write_hello(const struct rl_greeting *greeting, struct rl_writer *writer)
{
    bool authenticates = greeting->password != NULL;

    rl_write_command(writer, authenticates ? 7 : 4);
    rl_write_text(writer, "HELLO");
    rl_write_text(writer, "3");
    if (authenticates) {
        rl_write_text(writer, "AUTH");
        rl_write_text(writer, user_name(greeting));
        rl_write_text(writer, greeting->password);
    }
    rl_write_text(writer, "SETNAME");
    rl_write_text(writer, greeting->client_name);
}

/* Nodes older than 6 know no users: AUTH takes the password alone. */
static void write_auth(const struct rl_greeting *greeting, struct rl_writer *writer)
{
    bool named = greeting->user != NULL && greeting->user[0] != '\0';

    rl_write_command(writer, named ? 3 : 2);
    rl_write_text(writer, "AUTH");
    if (named)
        rl_write_text(writer, greeting->user);
    rl_write_text(writer, greeting->password);
}

void rl_handshake_write(const struct rl_handshake *handshake, struct rl_writer *writer)
{
    switch (handshake->step) {
    case RL_HANDSHAKE_HELLO:
        write_hello(&handshake->greeting, writer);
        break;
    case RL_HANDSHAKE_AUTH:
        write_auth(&handshake->greeting, writer);
        break;
    case RL_HANDSHAKE_SETNAME:
        rl_write_command(writer, 3);
        rl_write_text(writer, "CLIENT");
        rl_write_text(writer, "SETNAME");
        rl_write_text(writer, handshake->greeting.client_name);
        break;
    case RL_HANDSHAKE_SELECT:
        rl_write_command(writer, 2);
        rl_write_text(writer, "SELECT");
        rl_write_integer(writer, handshake->greeting.db);
        break;
    case RL_HANDSHAKE_INFO:
        rl_write_command(writer, 1);
        rl_write_text(writer, "INFO");
        break;
    case RL_HANDSHAKE_READY:
    case RL_HANDSHAKE_FAILED:
        assert(!"the handshake is over");
    }
}

/* "7.0.15" as 70015; parts beyond the third are ignored. */
static uint32_t read_version(const char *text, size_t length)
{
    uint32_t parts[3] = {0, 0, 0};
    size_t part = 0;

    for (size_t i = 0; i < length && part < 3; i++) {
        if (text[i] == '.')
            part++;
        else if (text[i] >= '0' && text[i] <= '9' && parts[part] < 1000)
            parts[part] = parts[part] * 10 + (uint32_t)(text[i] - '0');
        else
            break;
    }
    return parts[0] * 10000 + parts[1] * 100 + parts[2];
}

static bool is_text(const struct rl_resp *item, const char *text)
{
    return item->type == RL_RESP_STRING && item->text_length == strlen(text) &&
           memcmp(item->text, text, item->text_length) == 0;
}

static void read_hello_pair(struct rl_node_info *info, const struct rl_resp *key, const struct rl_resp *value)
{
    if (is_text(key, "version") && value->type == RL_RESP_STRING)
        info->version = read_version(value->text, value->text_length);
    if (is_text(key, "server"))
        info->valkey = is_text(value, "valkey");
    if (is_text(key, "role"))
        info->replica = is_text(value, "replica") || is_text(value, "slave");
    if (is_text(key, "mode")) {
        info->cluster = is_text(value, "cluster");
        info->sentinel = is_text(value, "sentinel");
    }
    if (is_text(key, "proto"))
        info->resp3 = value->type == RL_RESP_INTEGER && value->integer == 3;
}

/* Pairs of a scalar key and a value that may be nested (the list of modules). */
static void read_hello(struct rl_node_info *info, const char *bytes, size_t length)
{
    size_t offset = 0, after;
    struct rl_resp head, key, value;

    if (rl_resp_next(bytes, length, &offset, &head) != RL_RESP_OK)
        return;
    for (uint32_t i = 0; i + 1 < head.element_count; i += 2) {
        if (rl_resp_next(bytes, length, &offset, &key) != RL_RESP_OK)
            return;
        after = offset;
        if (rl_resp_skip(bytes, length, &after) != RL_RESP_OK ||
            rl_resp_next(bytes, length, &offset, &value) != RL_RESP_OK)
            return;
        read_hello_pair(info, &key, &value);
        offset = after;
    }
}

const char *rl_info_find(const char *text, size_t length, const char *field, size_t *value_length)
{
    size_t field_length = strlen(field);
    const char *at = text, *end = text + length;

    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline != NULL ? newline : end;
        size_t line = (size_t)(stop - at);

        if (line > field_length && memcmp(at, field, field_length) == 0 && at[field_length] == ':') {
            *value_length = line - field_length - 1;
            if (*value_length > 0 && stop[-1] == '\r')
                --*value_length;
            return at + field_length + 1;
        }
        at = stop + 1;
    }
    return NULL;
}

int64_t rl_info_number(const char *text, size_t length, const char *field)
{
    size_t found = 0;
    const char *value = rl_info_find(text, length, field, &found);
    int64_t number = 0;

    for (size_t i = 0; value != NULL && i < found && i < 18 && value[i] >= '0' && value[i] <= '9'; i++)
        number = number * 10 + (value[i] - '0');
    return number;
}

/* master_replid2 is all zero unless this node took over from a master it replicated. It becomes zero again
 * once its backlog is given up (repl-backlog-ttl); what came in from a master is counted from Redis 7.0
 * on. */
static bool was_promoted(const char *text, size_t length)
{
    size_t found = 0;
    const char *value = rl_info_find(text, length, "master_replid2", &found);

    for (size_t i = 0; value != NULL && i < found; i++)
        if (value[i] != '0')
            return true;
    return rl_info_number(text, length, "total_net_repl_input_bytes") > 0;
}

bool rl_info_same_master(const char *text, size_t length, const char *replid)
{
    size_t found = 0;
    const char *value = rl_info_find(text, length, "master_replid", &found);

    return value != NULL && found == strlen(replid) && memcmp(value, replid, found) == 0;
}

static bool may_evict(const char *text, size_t length)
{
    static const char keeps[] = "noeviction";
    size_t found = 0;
    const char *policy = rl_info_find(text, length, "maxmemory_policy", &found);

    return rl_info_number(text, length, "maxmemory") > 0 &&
           !(policy != NULL && found == sizeof keeps - 1 && memcmp(policy, keeps, found) == 0);
}

static void read_info(struct rl_node_info *info, const char *text, size_t length)
{
    size_t found = 0;
    const char *value = rl_info_find(text, length, "run_id", &found);

    if (value != NULL && found == sizeof info->run_id - 1)
        memcpy(info->run_id, value, found);
    value = rl_info_find(text, length, "master_replid", &found);
    if (value != NULL && found == sizeof info->replid - 1)
        memcpy(info->replid, value, found);
    value = rl_info_find(text, length, "role", &found);
    if (value !=
        NULL) /* "slave"; KeyDB also has "active-replica", which takes writes and copies those of others */
        info->replica = !(found == 6 && memcmp(value, "master", 6) == 0);
    value = rl_info_find(text, length, "redis_mode", &found);
    info->cluster = info->cluster || (value != NULL && found == 7 && memcmp(value, "cluster", 7) == 0);
    info->sentinel = info->sentinel || (value != NULL && found == 8 && memcmp(value, "sentinel", 8) == 0);
    info->evicts = may_evict(text, length);
    info->promoted = was_promoted(text, length);
    info->up_s = rl_info_number(text, length, "uptime_in_seconds");
    value = rl_info_find(text, length, "valkey_version", &found);
    info->valkey = info->valkey || value != NULL;
    if (value == NULL)
        value = rl_info_find(text, length, "redis_version", &found);
    if (value != NULL) {
        struct rl_text shown = rl_text_on(info->version_text, sizeof info->version_text);

        info->version = read_version(value, found);
        rl_text_add_printable(&shown, value, found);
    }
}

static void find_features(struct rl_node_info *info)
{
    if (!info->valkey && info->version >= 80400)
        info->features |= RL_FEATURE_DELEX;
    if (info->valkey && info->version >= 90000)
        info->features |= RL_FEATURE_DELIFEQ;
}

static void fail(struct rl_handshake *handshake, enum rl_cause cause, const char *text, size_t length)
{
    struct rl_text error = rl_text_on(handshake->error, sizeof handshake->error);

    rl_text_add_printable(&error, text, length);
    handshake->cause = cause;
    handshake->step = RL_HANDSHAKE_FAILED;
}

/* After the credentials: SELECT is refused by cluster nodes even for 0, so it is sent only when it is
 * needed. */
static enum rl_handshake_step after_login(const struct rl_handshake *handshake)
{
    return handshake->greeting.db != 0 ? RL_HANDSHAKE_SELECT : RL_HANDSHAKE_INFO;
}

static enum rl_handshake_step after_hello(const struct rl_handshake *handshake)
{
    return handshake->greeting.password != NULL ? RL_HANDSHAKE_AUTH : RL_HANDSHAKE_SETNAME;
}

/* A node that does not know HELLO, or not protocol 3, or does not let us say it, is spoken to in RESP2. */
static bool hello_unknown(const struct rl_resp *item)
{
    static const char unknown[] = "ERR unknown command", syntax[] = "ERR Syntax error";

    return rl_error_is(item->text, item->text_length, "NOPROTO") ||
           rl_error_is(item->text, item->text_length, "NOPERM") ||
           (item->text_length >= sizeof unknown - 1 &&
            memcmp(item->text, unknown, sizeof unknown - 1) == 0) ||
           (item->text_length >= sizeof syntax - 1 && memcmp(item->text, syntax, sizeof syntax - 1) == 0);
}

static void take_error(struct rl_handshake *handshake, const struct rl_resp *item)
{
    enum rl_cause cause = rl_error_cause(item->text, item->text_length);

    if (handshake->step == RL_HANDSHAKE_HELLO && hello_unknown(item))
        handshake->step = after_hello(handshake);
    else if (handshake->step == RL_HANDSHAKE_SETNAME && cause != RL_CAUSE_CREDENTIALS)
        handshake->step = after_login(handshake); /* a name is a courtesy */
    else if (handshake->step == RL_HANDSHAKE_INFO && rl_error_is(item->text, item->text_length, "NOPERM"))
        handshake->step = RL_HANDSHAKE_READY; /* its run_id stays unknown */
    else if (handshake->step == RL_HANDSHAKE_AUTH)
        fail(handshake, RL_CAUSE_CREDENTIALS, item->text, item->text_length);
    else
        fail(handshake, cause, item->text, item->text_length);
}

void rl_handshake_read(struct rl_handshake *handshake, const char *bytes, size_t length)
{
    static const char sentinel[] = "it is a Sentinel, which keeps no keys: name the masters that it watches";
    static const char odd[] = "it answers, but not like a Redis node";
    size_t offset = 0;
    struct rl_resp item;

    if (rl_resp_next(bytes, length, &offset, &item) != RL_RESP_OK) {
        fail(handshake, RL_CAUSE_PROTOCOL, odd, sizeof odd - 1);
        return;
    }
    if (item.type == RL_RESP_ERROR) {
        take_error(handshake, &item);
    } else if (handshake->step == RL_HANDSHAKE_HELLO) {
        if (item.type != RL_RESP_MAP && item.type != RL_RESP_ARRAY) {
            fail(handshake, RL_CAUSE_PROTOCOL, odd, sizeof odd - 1);
            return;
        }
        read_hello(&handshake->info, bytes, length);
        handshake->step = after_login(handshake);
    } else if (handshake->step == RL_HANDSHAKE_AUTH) {
        handshake->step = RL_HANDSHAKE_SETNAME;
    } else if (handshake->step == RL_HANDSHAKE_SETNAME) {
        handshake->step = after_login(handshake);
    } else if (handshake->step == RL_HANDSHAKE_SELECT) {
        handshake->step = RL_HANDSHAKE_INFO;
    } else if (handshake->step == RL_HANDSHAKE_INFO) {
        if (item.type == RL_RESP_STRING)
            read_info(&handshake->info, item.text, item.text_length);
        handshake->step = RL_HANDSHAKE_READY;
    }
    if (handshake->info.sentinel && handshake->step != RL_HANDSHAKE_FAILED)
        fail(handshake, RL_CAUSE_SENTINEL, sentinel, sizeof sentinel - 1);
    if (handshake->step == RL_HANDSHAKE_READY)
        find_features(&handshake->info);
}
