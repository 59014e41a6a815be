/*
 * redlock_update(): changes a key without a lock. A connection of its own watches the key, so that what is
 * stored was made out of what was there; see talk.h.
 */
#include <string.h>

#include "base/format.h"
#include "beside/talk.h"
#include "client/begin.h"
#include "client/leave.h"
#include "engine/report.h"
#include "engine/sized.h"
#include "wire/error_reply.h"
#include "wire/guard_command.h"

enum {
    DEFAULT_TRIES = 100,
    REST_FIRST_US = 1000,
    REST_MOST_US = 64000,
    VERSION_KEEPTTL = 60000 /* the first that can keep the expiry of a key */
};

struct update {
    struct rl_talk *talk;
    struct rl_talk_node *node;
    uint32_t number;
    struct rl_argument key;
    redlock_update_fn change;
    void *context;
    const void *next;
    size_t next_length;
    struct rl_prng prng;
    redlock_report *report;
};

/* How one try ended, where no result says it: somebody else was quicker. */
#define AGAIN ((redlock_result)(-1))

static redlock_result refuse(const struct update *update, redlock_result result, const char *words)
{
    rl_report_error(update->report, result, "node %u %s: %s", update->number + 1,
                    update->node->connection.url->display, words);
    return result;
}

static redlock_result result_of(enum rl_cause cause)
{
    if (rl_cause_forbids(cause))
        return REDLOCK_FORBIDDEN;
    return cause == RL_CAUSE_FOREIGN_TYPE ? REDLOCK_FOREIGN_TYPE : REDLOCK_NO_QUORUM;
}

static redlock_result refuse_reply(const struct update *update, const struct rl_resp *item)
{
    char words[200];
    enum rl_cause cause = rl_error_cause(item->text, item->text_length);
    struct rl_text text = rl_text_on(words, sizeof words);

    if (item->type != RL_RESP_ERROR)
        return refuse(update, REDLOCK_NO_QUORUM, "it answered something else than was asked");
    if (cause == RL_CAUSE_FOREIGN_TYPE)
        return refuse(update, REDLOCK_FOREIGN_TYPE,
                      "the key holds no string, and only strings can be changed");
    rl_text_add_bytes(&text, item->text, item->text_length);
    return refuse(update, result_of(cause), words);
}

static redlock_result refuse_silence(const struct update *update)
{
    if (update->node->too_long)
        return refuse(update, REDLOCK_FOREIGN_TYPE,
                      "the value is longer than 4 MiB (4194304 bytes), the most that can be changed");
    return refuse(update, result_of(update->node->cause), update->node->error);
}

/* ---- reading ---- */

static void ask_value(const struct update *update)
{
    struct rl_argument watch[] = {rl_argument_text("WATCH"), update->key};
    struct rl_argument get[] = {rl_argument_text("GET"), update->key};

    rl_talk_begin(update->talk);
    rl_talk_write(update->talk, update->number, watch, 2);
    rl_talk_write(update->talk, update->number, get, 2);
    rl_talk_exchange(update->talk);
}

static redlock_result read_value(const struct update *update, struct rl_resp *value)
{
    const struct rl_node_info *info = &update->node->handshake.info;
    struct rl_resp watched = {0};
    size_t offset = 0;

    if (!rl_talk_answered(update->node))
        return refuse_silence(update);
    if (!info->valkey && info->version != 0 && info->version < VERSION_KEEPTTL)
        return refuse(update, REDLOCK_NO_QUORUM,
                      "it is too old: Redis 6.0 and later keep the expiry of a key");
    if (!rl_talk_item(update->node, &offset, &watched) || watched.type != RL_RESP_STRING)
        return refuse_reply(update, &watched);
    if (!rl_talk_item(update->node, &offset, value) ||
        (value->type != RL_RESP_STRING && value->type != RL_RESP_NULL))
        return refuse_reply(update, value);
    return REDLOCK_OK;
}

/* ---- storing ---- */

static void store_value(const struct update *update)
{
    struct rl_argument multi[] = {rl_argument_text("MULTI")}, exec[] = {rl_argument_text("EXEC")};
    struct rl_argument set[] = {rl_argument_text("SET"),
                                update->key,
                                {update->next, update->next_length},
                                rl_argument_text("KEEPTTL")};
    struct rl_argument del[] = {rl_argument_text("DEL"), update->key};

    rl_talk_begin(update->talk);
    rl_talk_write(update->talk, update->number, multi, 1);
    if (update->next != NULL)
        rl_talk_write(update->talk, update->number, set, 4);
    else
        rl_talk_write(update->talk, update->number, del, 2);
    rl_talk_write(update->talk, update->number, exec, 1);
    rl_talk_exchange(update->talk);
}

/* MULTI, then the command that was queued or refused, then what EXEC came to: nothing when the key was
 * changed by somebody else. */
static redlock_result read_stored(const struct update *update)
{
    struct rl_resp item = {0}, done = {0};
    size_t offset = 0;

    for (int i = 0; i < 2; i++)
        if (!rl_talk_item(update->node, &offset, &item) || item.type != RL_RESP_STRING)
            return refuse_reply(update, &item);
    if (!rl_talk_item(update->node, &offset, &item))
        return refuse_reply(update, &item);
    if (item.type == RL_RESP_NULL)
        return AGAIN;
    if (item.type != RL_RESP_ARRAY || item.element_count != 1 || !rl_talk_item(update->node, &offset, &done))
        return refuse_reply(update, &item);
    return done.type == RL_RESP_ERROR ? refuse_reply(update, &done) : REDLOCK_OK;
}

static redlock_result store(const struct update *update)
{
    char words[240];
    struct rl_text text = rl_text_on(words, sizeof words);

    if (!update->node->greeted) /* the watch has gone with the connection, and nothing was sent */
        return AGAIN;
    store_value(update);
    if (rl_talk_answered(update->node))
        return read_stored(update);
    if (!update->node->sent)
        return refuse_silence(update);
    rl_text_add(&text, update->node->error);
    rl_text_add(&text, "; it is not known whether the value was stored");
    return refuse(update, REDLOCK_NO_QUORUM, words);
}

/* ---- tries ---- */

static redlock_result try_once(struct update *update)
{
    struct rl_resp value = {0};
    redlock_result result;

    ask_value(update);
    result = read_value(update, &value);
    if (result != REDLOCK_OK)
        return result;
    update->next = NULL;
    update->next_length = 0;
    if (update->change(update->context, value.type == RL_RESP_NULL ? NULL : value.text, value.text_length,
                       &update->next, &update->next_length) != 0) {
        rl_report_error(update->report, REDLOCK_CANCELED, "the key was left alone");
        return REDLOCK_CANCELED;
    }
    if (update->next_length > REDLOCK_VALUE_MAX) {
        rl_report_error(update->report, REDLOCK_INVALID, "the new value is longer than %d bytes",
                        REDLOCK_VALUE_MAX);
        return REDLOCK_INVALID;
    }
    return store(update);
}

/* The writer that was quicker may be at it again: the rest is random, and longer each time. */
static bool rest(struct update *update, uint32_t tries)
{
    int64_t most = REST_FIRST_US;

    for (uint32_t i = 0; i < tries && most < REST_MOST_US; i++)
        most *= 2;
    return rl_talk_rest(update->talk, rl_span_us(rl_prng_between(&update->prng, 0, most)));
}

static redlock_result try_often(struct update *update, uint32_t tries)
{
    redlock_result result = AGAIN;
    uint32_t round = 0;

    while (result == AGAIN && round < tries) {
        if (round > 0 && !rest(update, round)) {
            rl_report_error(update->report, REDLOCK_CANCELED, "the client was closed");
            result = REDLOCK_CANCELED;
            break;
        }
        result = try_once(update);
        round++;
    }
    if (result == AGAIN) {
        result = REDLOCK_TIMEOUT;
        refuse(update, result, "the key was changed by others each time it was tried");
    }
    if (update->report != NULL) {
        if (result == REDLOCK_OK)
            rl_report_error(update->report, REDLOCK_OK, "stored");
        update->report->rounds = round;
    }
    return result;
}

static redlock_result change_key(redlock_client *client, struct update *update, uint32_t tries)
{
    redlock_result result;
    uint64_t seed = 0;

    update->talk = rl_talk_open(client, &result);
    if (update->talk == NULL) {
        rl_report_error(update->report, result, "%s",
                        result == REDLOCK_NOMEM ? "out of memory" : "the system refused a descriptor");
        return result;
    }
    update->node = &update->talk->nodes[update->number];
    pthread_mutex_lock(&client->mutex);
    (void)rl_state_random(&client->engine, (uint8_t *)&seed, sizeof seed);
    pthread_mutex_unlock(&client->mutex);
    update->prng = rl_prng_seed(seed);
    result = try_often(update, tries);
    rl_talk_close(update->talk);
    return result;
}

static redlock_result refuse_argument(redlock_report *report, const char *words)
{
    rl_report_error(report, REDLOCK_INVALID, "%s", words);
    return REDLOCK_INVALID;
}

static redlock_result check_and_change(redlock_client *client, struct update *update, uint32_t tries)
{
    redlock_result result;

    if (update->change == NULL)
        return refuse_argument(update->report, "change is NULL: it makes the new value");
    if (update->key.length == 0)
        return refuse_argument(update->report, "key is empty");
    if (rl_key_reserved(update->key.bytes, update->key.length))
        return refuse_argument(update->report, "the key is one of those that redlock keeps for itself");
    if (client == NULL || !rl_client_enter(client))
        return rl_begin_misuse(update->report);
    pthread_mutex_unlock(&client->mutex);
    if (update->number >= client->engine.node_count)
        result = refuse_argument(update->report, "there is no such node");
    else
        result = change_key(client, update, tries == 0 ? DEFAULT_TRIES : tries);
    pthread_mutex_lock(&client->mutex);
    rl_leave(client);
    return result;
}

redlock_result redlock_update(redlock_client *client, uint32_t node, const char *key, size_t key_length,
                              redlock_update_fn change, void *context, uint32_t tries, redlock_report *report)
{
    RL_NO_CANCELLATION;
    struct rl_report_frame frame;
    struct update update = {.number = node,
                            .key = {key, key != NULL && key_length == 0 ? strlen(key) : key_length},
                            .change = change,
                            .context = context};

    if (!rl_report_accept(&frame, report))
        return REDLOCK_INVALID;
    update.report = frame.report;
    if (key == NULL)
        update.key.length = 0;
    return rl_report_return(&frame, check_and_change(client, &update, tries));
}
