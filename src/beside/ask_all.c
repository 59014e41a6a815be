/*
 * Opens, asks and sums up; see ask_all.h.
 */
#include "beside/ask_all.h"

#include <string.h>

#include "base/format.h"
#include "client/begin.h"
#include "client/leave.h"
#include "core/tally.h"
#include "engine/report.h"
#include "wire/error_reply.h"
#include "wire/guard_command.h"

enum { SCRIPT_ARGUMENTS_MAX = RL_NODES_MAX + 600 };

static redlock_result refuse(redlock_report *report, redlock_result result, const char *words)
{
    rl_report_error(report, result, "%s", words);
    return result;
}

static bool make_key(struct rl_ask_all *ask, struct rl_ask_kind kind, const char *name, size_t name_length)
{
    const struct rl_config *config = &ask->client->engine.config;
    struct rl_text text = rl_text_on(ask->key, sizeof ask->key);

    if (config->key_prefix_length + name_length > REDLOCK_NAME_MAX)
        return false;
    rl_text_add(&text, RL_KEY_MARK);
    rl_text_add(&text, kind.key);
    ask->key_length = strlen(ask->key);
    memcpy(ask->key + ask->key_length, config->key_prefix, config->key_prefix_length);
    ask->key_length += config->key_prefix_length;
    ask->pattern_length = ask->key_length;
    ask->rights = kind.rights;
    memcpy(ask->key + ask->key_length, name, name_length);
    ask->key_length += name_length;
    return true;
}

redlock_result rl_ask_all_open(struct rl_ask_all *ask, redlock_client *client, struct rl_ask_kind kind,
                               const char *name, size_t name_length, redlock_report *report)
{
    redlock_result result;

    *ask = (struct rl_ask_all){.client = client, .report = report};
    if (name != NULL && name_length == 0)
        name_length = strlen(name);
    if (name == NULL || name_length == 0)
        return refuse(report, REDLOCK_INVALID, "name is empty");
    if (client == NULL || !rl_client_enter(client))
        return rl_begin_misuse(report);
    pthread_mutex_unlock(&client->mutex);
    if (!make_key(ask, kind, name, name_length)) {
        result =
            refuse(report, REDLOCK_INVALID, "name is too long: prefix and name together may have 1024 bytes");
    } else {
        ask->talk = rl_talk_open(client, &result);
        if (ask->talk != NULL)
            return REDLOCK_OK;
        refuse(report, result, result == REDLOCK_NOMEM ? "out of memory" : "the system refused a descriptor");
    }
    pthread_mutex_lock(&client->mutex);
    rl_leave(client);
    return result;
}

void rl_ask_all_close(struct rl_ask_all *ask)
{
    rl_talk_close(ask->talk);
    pthread_mutex_lock(&ask->client->mutex);
    rl_leave(ask->client);
}

void rl_ask_all_write(const struct rl_ask_all *ask, uint32_t node, const struct rl_script *script,
                      const struct rl_argument *arguments, uint32_t count)
{
    struct rl_argument all[SCRIPT_ARGUMENTS_MAX] = {rl_argument_text("EVAL"),
                                                    {script->text, script->text_length},
                                                    rl_argument_text("1"),
                                                    {ask->key, ask->key_length}};

    for (uint32_t i = 0; i < count; i++)
        all[4 + i] = arguments[i];
    rl_talk_write(ask->talk, node, all, 4 + count);
}

bool rl_ask_all_read(const struct rl_ask_all *ask, uint32_t node, size_t *offset, struct rl_resp *item)
{
    struct rl_talk_node *one = &ask->talk->nodes[node];
    struct rl_text text = rl_text_on(one->error, sizeof one->error);

    if (!rl_talk_answered(one) || !rl_talk_item(one, offset, item))
        return false;
    if (item->type != RL_RESP_ERROR)
        return true;
    one->failed = true;
    one->cause = rl_error_cause(item->text, item->text_length);
    rl_text_add_bytes(&text, item->text,
                      item->text_length < sizeof one->error ? item->text_length : sizeof one->error - 1);
    return false;
}

/* Which of them says why, and what would help. */
static void say_failure(const struct rl_ask_all *ask, redlock_result result, uint32_t done, const char *words,
                        const struct rl_talk_node *worst)
{
    uint32_t count = ask->talk->node_count;
    const char *url = worst == NULL ? "" : worst->connection.url->display;

    if (result == REDLOCK_FORBIDDEN && worst->cause == RL_CAUSE_RIGHTS)
        rl_report_error(ask->report, result, "%u of %u nodes %s; %s: %s; its user needs ~%.*s* %s", done,
                        count, words, url, worst->error, (int)ask->pattern_length, ask->key, ask->rights);
    else
        rl_report_error(ask->report, result, "%u of %u nodes %s, %u are needed%s%s%s%s", done, count, words,
                        rl_quorum(count), worst == NULL ? "" : "; ", url, worst == NULL ? "" : ": ",
                        worst == NULL ? "" : worst->error);
}

redlock_result rl_ask_all_result(const struct rl_ask_all *ask, uint32_t done, const char *words)
{
    uint32_t count = ask->talk->node_count, quorum = rl_quorum(count), forbidden = 0, foreign = 0;
    const struct rl_talk_node *worst = NULL;
    redlock_result result = REDLOCK_OK;

    for (uint32_t i = 0; i < count && done < quorum; i++) {
        const struct rl_talk_node *node = &ask->talk->nodes[i];

        if (!node->failed)
            continue;
        worst = worst == NULL || rl_cause_forbids(node->cause) ? node : worst;
        forbidden += rl_cause_forbids(node->cause);
        foreign += node->cause == RL_CAUSE_FOREIGN_TYPE;
    }
    if (done >= quorum)
        rl_report_error(ask->report, result, "%u of %u nodes %s", done, count, words);
    else {
        result = done + forbidden >= quorum ? REDLOCK_FORBIDDEN
                 : done + foreign >= quorum ? REDLOCK_FOREIGN_TYPE
                                            : REDLOCK_NO_QUORUM;
        say_failure(ask, result, done, words, worst);
    }
    if (ask->report != NULL) {
        ask->report->node_count = count;
        ask->report->quorum = quorum;
        ask->report->granted = done;
    }
    return result;
}
