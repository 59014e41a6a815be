/*
 * Locks of the oldest kind, on one node: SETNX with the time of the end as the value, and GETSET to take over
 * what has ended; for programs that still do this. The engine has no part in it: there is no owner, no quorum
 * and no fence. See talk.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "beside/talk.h"
#include "client/begin.h"
#include "client/leave.h"
#include "engine/report.h"
#include "engine/sized.h"
#include "wire/error_reply.h"
#include "wire/guard_command.h"

enum { REST_FIRST_MS = 5, REST_MOST_MS = 250, TRIES_MAX = 20 };

/* Times below this are seconds, above it milliseconds: as seconds it is the year 5138, as milliseconds
 * 1973. */
#define SECONDS_BELOW 1e11

struct legacy {
    struct rl_talk *talk;
    struct rl_talk_node *node;
    const redlock_legacy_spec *spec;
    char key[REDLOCK_NAME_MAX];
    size_t key_length;
    int64_t now_ms;      /* the node's time, */
    struct rl_time then; /* and ours when it was asked for */
    redlock_report *report;
};

static redlock_result refuse(const struct legacy *legacy, redlock_result result, const char *words)
{
    rl_report_error(legacy->report, result, "node 1 %s: %s", legacy->node->connection.url->display, words);
    return result;
}

/* ---- one command at a time ---- */

static redlock_result refuse_error(const struct legacy *legacy, const struct rl_resp *reply)
{
    enum rl_cause cause = rl_error_cause(reply->text, reply->text_length);
    char words[160];
    struct rl_text text = rl_text_on(words, sizeof words);

    if (cause == RL_CAUSE_FOREIGN_TYPE)
        return refuse(legacy, REDLOCK_FOREIGN_TYPE,
                      "the key holds something that is not a lock of this kind");
    rl_text_add_bytes(&text, reply->text, reply->text_length);
    return refuse(legacy, rl_cause_forbids(cause) ? REDLOCK_FORBIDDEN : REDLOCK_NO_QUORUM, words);
}

static redlock_result refuse_silence(const struct legacy *legacy)
{
    return refuse(legacy, rl_cause_forbids(legacy->node->cause) ? REDLOCK_FORBIDDEN : REDLOCK_NO_QUORUM,
                  legacy->node->error);
}

/* What a command came to. Anything but REDLOCK_OK is in the report. */
static redlock_result ask(struct legacy *legacy, const struct rl_argument *arguments, uint32_t count,
                          struct rl_resp *reply, size_t *offset)
{
    rl_talk_begin(legacy->talk);
    rl_talk_write(legacy->talk, 0, arguments, count);
    rl_talk_exchange(legacy->talk);
    *offset = 0;
    *reply = (struct rl_resp){0};
    if (!rl_talk_answered(legacy->node))
        return refuse_silence(legacy);
    if (!rl_talk_item(legacy->node, offset, reply))
        return refuse(legacy, REDLOCK_NO_QUORUM, "it answered something else than was asked");
    return reply->type != RL_RESP_ERROR ? REDLOCK_OK : refuse_error(legacy, reply);
}

static redlock_result ask_key(struct legacy *legacy, const char *command, const char *value,
                              struct rl_resp *reply)
{
    struct rl_argument arguments[] = {rl_argument_text(command),
                                      {legacy->key, legacy->key_length},
                                      {value, value == NULL ? 0 : strlen(value)}};
    size_t offset;

    return ask(legacy, arguments, value == NULL ? 2 : 3, reply, &offset);
}

static redlock_result ask_time(struct legacy *legacy)
{
    struct rl_argument time = rl_argument_text("TIME");
    struct rl_resp reply, part;
    size_t offset;
    char text[24];
    int64_t parts[2] = {0};

    legacy->then = rl_talk_now(legacy->talk);
    redlock_result result = ask(legacy, &time, 1, &reply, &offset);
    for (int i = 0; i < 2 && result == REDLOCK_OK; i++) {
        if (reply.type != RL_RESP_ARRAY || !rl_talk_item(legacy->node, &offset, &part) ||
            part.type != RL_RESP_STRING || part.text_length >= sizeof text)
            return refuse(legacy, REDLOCK_NO_QUORUM, "it does not tell its time");
        memcpy(text, part.text, part.text_length);
        text[part.text_length] = '\0';
        parts[i] = strtoll(text, NULL, 10);
    }
    legacy->now_ms = parts[0] * 1000 + parts[1] / 1000;
    return result;
}

/* ---- values ---- */

/* The longest value that can be a time, and its end. */
enum { VALUE_SIZE = 40 };

static void write_end(const struct legacy *legacy, int64_t end_ms, char text[VALUE_SIZE])
{
    snprintf(text, VALUE_SIZE, "%lld", (long long)(legacy->spec->seconds ? (end_ms + 999) / 1000 : end_ms));
}

/* False: it is no time. */
static bool read_end(const struct rl_resp *value, char text[VALUE_SIZE], int64_t *end_ms)
{
    char *end;

    if (value->type != RL_RESP_STRING || value->text_length == 0 || value->text_length >= VALUE_SIZE)
        return false;
    memcpy(text, value->text, value->text_length);
    text[value->text_length] = '\0';
    double number = strtod(text, &end);
    if (*end != '\0' || !(number >= 0 && number < 1e15))
        return false;
    *end_ms = number < SECONDS_BELOW ? (int64_t)(number * 1000) : (int64_t)number;
    return true;
}

static redlock_result refuse_value(const struct legacy *legacy)
{
    return refuse(legacy, REDLOCK_FOREIGN_TYPE, "the key holds no time, so it is not a lock of this kind");
}

/* ---- changing what was seen ---- */

/* One command in a transaction on the key that is watched. REDLOCK_BUSY: somebody else has changed it. */
static redlock_result commit(struct legacy *legacy, const char *command, const char *value)
{
    struct rl_argument multi = rl_argument_text("MULTI"), exec = rl_argument_text("EXEC");
    struct rl_argument change[] = {rl_argument_text(command),
                                   {legacy->key, legacy->key_length},
                                   {value, value == NULL ? 0 : strlen(value)}};
    struct rl_resp queued, reply;
    size_t offset = 0;

    if (!legacy->node->greeted) /* the watch has gone with the connection */
        return REDLOCK_BUSY;
    rl_talk_begin(legacy->talk);
    rl_talk_write(legacy->talk, 0, &multi, 1);
    rl_talk_write(legacy->talk, 0, change, value == NULL ? 2 : 3);
    rl_talk_write(legacy->talk, 0, &exec, 1);
    rl_talk_exchange(legacy->talk);
    if (!rl_talk_answered(legacy->node))
        return refuse_silence(legacy);
    if (!rl_talk_skip(legacy->node, &offset) || !rl_talk_item(legacy->node, &offset, &queued) ||
        !rl_talk_item(legacy->node, &offset, &reply))
        return refuse(legacy, REDLOCK_NO_QUORUM, "it answered something else than was asked");
    if (queued.type == RL_RESP_ERROR || reply.type == RL_RESP_ERROR)
        return refuse_error(legacy, queued.type == RL_RESP_ERROR ? &queued : &reply);
    return reply.type == RL_RESP_ARRAY ? REDLOCK_OK : REDLOCK_BUSY;
}

/* Changes the key only if it holds `expected`: what somebody else wrote meanwhile is not touched.
 * REDLOCK_NOT_HELD: there is no key. REDLOCK_LOST: it holds something else. */
static redlock_result change(struct legacy *legacy, const char *expected, const char *command,
                             const char *value)
{
    redlock_result result = REDLOCK_BUSY;
    struct rl_resp reply;

    for (int i = 0; i < TRIES_MAX && result == REDLOCK_BUSY; i++) {
        result = ask_key(legacy, "WATCH", NULL, &reply);
        if (result == REDLOCK_OK)
            result = ask_key(legacy, "GET", NULL, &reply);
        if (result != REDLOCK_OK)
            return result;
        if (reply.type == RL_RESP_NULL)
            return REDLOCK_NOT_HELD;
        if (reply.text_length != strlen(expected) || memcmp(reply.text, expected, reply.text_length) != 0)
            return REDLOCK_LOST;
        result = commit(legacy, command, value);
    }
    return result == REDLOCK_BUSY ? refuse(legacy, REDLOCK_NO_QUORUM, "the connection breaks all the time")
                                  : result;
}

/* ---- taking ---- */

/* Validity counts from before the node was asked for its time. */
static redlock_result hold(const struct legacy *legacy, int64_t end_ms, int64_t *taken_ms)
{
    int64_t lasts_ms = end_ms - legacy->now_ms;
    struct rl_span drift = rl_span_us(lasts_ms * legacy->talk->client->engine.config.drift_ppm / 1000);
    struct rl_span left = rl_span_sub(rl_span_ms(lasts_ms), drift);
    int64_t validity_ms =
        rl_span_ms_down(rl_span_sub(left, rl_time_since(rl_talk_now(legacy->talk), legacy->then)));

    if (validity_ms <= 0)
        return refuse(legacy, REDLOCK_TOO_SLOW, "it granted, but too late for any validity to be left");
    *taken_ms = end_ms;
    rl_report_error(legacy->report, REDLOCK_OK, "the node granted it");
    if (legacy->report != NULL)
        legacy->report->validity_ms = validity_ms;
    return REDLOCK_OK;
}

/* Once through the protocol. REDLOCK_BUSY: *until_ms is when it ends, by what the key says. */
static redlock_result try_once(struct legacy *legacy, int64_t *end_ms, int64_t *until_ms)
{
    struct rl_resp reply;
    char text[VALUE_SIZE], seen[VALUE_SIZE];

    for (int i = 0; i < TRIES_MAX; i++) {
        redlock_result result = ask_time(legacy);
        int64_t ours_ms = legacy->now_ms + legacy->spec->ttl_ms;

        write_end(legacy, ours_ms, text);
        if (result == REDLOCK_OK)
            result = ask_key(legacy, "SETNX", text, &reply);
        if (result == REDLOCK_OK && reply.integer == 1)
            return hold(legacy, ours_ms, end_ms);
        if (result == REDLOCK_OK)
            result = ask_key(legacy, "GET", NULL, &reply);
        if (result != REDLOCK_OK)
            return result;
        if (reply.type == RL_RESP_NULL) /* released in between */
            continue;
        if (!read_end(&reply, seen, until_ms))
            return refuse_value(legacy);
        if (*until_ms >= legacy->now_ms)
            return REDLOCK_BUSY;
        /* It has ended. Of all that see that, one takes it over. The others of this library do not move its
         * end, as the bare protocol would. */
        result = change(legacy, seen, "GETSET", text);
        if (result == REDLOCK_OK)
            return hold(legacy, ours_ms, end_ms);
        if (result != REDLOCK_LOST && result != REDLOCK_NOT_HELD)
            return result;
    }
    return REDLOCK_BUSY;
}

static redlock_result take(struct legacy *legacy, int64_t wait_ms, int64_t *end_ms)
{
    struct rl_time give_up =
        wait_ms < 0 ? RL_TIME_NEVER : rl_time_add(rl_talk_now(legacy->talk), rl_span_ms(wait_ms));
    int64_t until_ms = 0, rest_ms = REST_FIRST_MS;

    for (;;) {
        redlock_result result = try_once(legacy, end_ms, &until_ms);
        struct rl_span left = rl_time_since(give_up, rl_talk_now(legacy->talk));
        int64_t ends_ms = until_ms - legacy->now_ms + 1;

        if (result != REDLOCK_BUSY)
            return result;
        if (left.us <= 0 || wait_ms == 0) {
            result = refuse(legacy, wait_ms == 0 ? REDLOCK_BUSY : REDLOCK_TIMEOUT, "held by another program");
            if (legacy->report != NULL)
                legacy->report->holder_ttl_left_ms = ends_ms;
            return result;
        }
        int64_t this_ms = ends_ms > 0 && ends_ms < rest_ms ? ends_ms : rest_ms;
        if (!rl_talk_rest(legacy->talk, left.us < this_ms * 1000 ? left : rl_span_ms(this_ms)))
            return refuse(legacy, REDLOCK_CANCELED, "the client was closed");
        rest_ms = rest_ms * 2 < REST_MOST_MS ? rest_ms * 2 : REST_MOST_MS;
    }
}

/* ---- what a holder does ---- */

/* A holder may change the key as long as its end has not come, and as long as it is its own. */
static redlock_result change_own(struct legacy *legacy, int64_t end_ms, const char *command,
                                 const char *value)
{
    char own[VALUE_SIZE];

    if (end_ms <= legacy->now_ms)
        return refuse(legacy, REDLOCK_LOST, "its end has come: another program may have it");
    write_end(legacy, end_ms, own);
    redlock_result result = change(legacy, own, command, value);
    if (result == REDLOCK_NOT_HELD)
        return refuse(legacy, result, "the key is gone: somebody has deleted it");
    if (result == REDLOCK_LOST)
        return refuse(
            legacy, result,
            "the key holds another end: another program has it, or came too late and moved its end; it was left alone");
    return result;
}

static redlock_result extend(struct legacy *legacy, int64_t *end_ms)
{
    redlock_result result = ask_time(legacy);
    int64_t ours_ms = legacy->now_ms + legacy->spec->ttl_ms;
    char text[VALUE_SIZE];

    if (result != REDLOCK_OK)
        return result;
    if (ours_ms < *end_ms) /* never shortened */
        ours_ms = *end_ms;
    write_end(legacy, ours_ms, text);
    result = change_own(legacy, *end_ms, "SET", text);
    return result != REDLOCK_OK ? result : hold(legacy, ours_ms, end_ms);
}

static redlock_result release(struct legacy *legacy, int64_t end_ms)
{
    redlock_result result = ask_time(legacy);

    if (result == REDLOCK_OK)
        result = change_own(legacy, end_ms, "DEL", NULL);
    if (result == REDLOCK_OK)
        rl_report_error(legacy->report, result, "the node released it");
    return result;
}

/* ---- the calls ---- */

enum act { TAKE, EXTEND, RELEASE };

static const char *check(const redlock_client *client, redlock_legacy_spec *spec)
{
    if (spec->name != NULL && spec->name_length == 0)
        spec->name_length = strlen(spec->name);
    if (spec->name == NULL || spec->name_length == 0)
        return "name is empty: give the lock a name";
    if (client->engine.config.key_prefix_length + spec->name_length > REDLOCK_NAME_MAX)
        return "name is too long: prefix and name together may have 1024 bytes";
    spec->ttl_ms = spec->ttl_ms == 0 ? 15000 : spec->ttl_ms;
    if (spec->ttl_ms < REDLOCK_TTL_MIN_MS || spec->ttl_ms > REDLOCK_TTL_MAX_MS)
        return "ttl_ms is not between 50 and 86400000 (one day)";
    if (spec->seconds && spec->ttl_ms < 1000)
        return "ttl_ms is below 1000, and ends are written in seconds";
    if (client->engine.node_count != 1)
        return "legacy locks are kept by one node: give one";
    return NULL;
}

static redlock_result act(struct legacy *legacy, enum act what, int64_t wait_ms, int64_t *end_ms)
{
    const struct rl_config *config = &legacy->talk->client->engine.config;

    legacy->node = &legacy->talk->nodes[0];
    memcpy(legacy->key, config->key_prefix, config->key_prefix_length);
    memcpy(legacy->key + config->key_prefix_length, legacy->spec->name, legacy->spec->name_length);
    legacy->key_length = config->key_prefix_length + legacy->spec->name_length;
    if (rl_key_reserved(legacy->key, legacy->key_length))
        return refuse(legacy, REDLOCK_INVALID, "the key is one of those that redlock keeps for itself");
    if (what == TAKE)
        return take(legacy, wait_ms, end_ms);
    return what == EXTEND ? extend(legacy, end_ms) : release(legacy, *end_ms);
}

static redlock_result call(redlock_client *client, const redlock_legacy_spec *given, enum act what,
                           int64_t wait_ms, int64_t *end_ms, redlock_report *report)
{
    redlock_legacy_spec spec;
    struct legacy legacy = {.spec = &spec, .report = report};
    const char *wrong = "spec.size is not sizeof(redlock_legacy_spec): start from REDLOCK_LEGACY_SPEC_INIT";
    redlock_result result = REDLOCK_INVALID;

    if (client == NULL || !rl_client_enter(client))
        return rl_begin_misuse(report);
    pthread_mutex_unlock(&client->mutex);
    if (given != NULL && rl_sized_read(&spec, sizeof spec, given))
        wrong = wait_ms < REDLOCK_WAIT_FOREVER
                    ? "wait_ms is below -1: use REDLOCK_WAIT_FOREVER to wait without end"
                    : check(client, &spec);
    if (wrong != NULL)
        rl_report_error(report, result, "%s", wrong);
    else {
        legacy.talk = rl_talk_open(client, &result);
        if (legacy.talk == NULL)
            rl_report_error(report, result, "%s",
                            result == REDLOCK_NOMEM ? "out of memory" : "the system refused a descriptor");
        else
            result = act(&legacy, what, wait_ms, end_ms);
        rl_talk_close(legacy.talk);
    }
    pthread_mutex_lock(&client->mutex);
    rl_leave(client);
    return result;
}

redlock_result redlock_legacy_acquire(redlock_client *client, const redlock_legacy_spec *spec,
                                      int64_t wait_ms, int64_t *end_ms, redlock_report *report)
{
    RL_NO_CANCELLATION;
    struct rl_report_frame frame;

    if (end_ms == NULL || !rl_report_accept(&frame, report))
        return REDLOCK_INVALID;
    return rl_report_return(&frame, call(client, spec, TAKE, wait_ms, end_ms, frame.report));
}

redlock_result redlock_legacy_extend(redlock_client *client, const redlock_legacy_spec *spec, int64_t *end_ms,
                                     redlock_report *report)
{
    RL_NO_CANCELLATION;
    struct rl_report_frame frame;

    if (end_ms == NULL || !rl_report_accept(&frame, report))
        return REDLOCK_INVALID;
    return rl_report_return(&frame, call(client, spec, EXTEND, 0, end_ms, frame.report));
}

redlock_result redlock_legacy_release(redlock_client *client, const redlock_legacy_spec *spec, int64_t end_ms,
                                      redlock_report *report)
{
    RL_NO_CANCELLATION;
    struct rl_report_frame frame;

    if (!rl_report_accept(&frame, report))
        return REDLOCK_INVALID;
    return rl_report_return(&frame, call(client, spec, RELEASE, 0, &end_ms, frame.report));
}
