/*
 * From a list of URLs to nodes; see fleet.h.
 */
#include "engine/fleet.h"

#include <string.h>

#include "base/bytes.h"
#include "engine/engine.h"
#include "engine/report.h"

uint32_t rl_fleet_count(const redlock_options *options, redlock_report *report)
{
    const char *cursor = options->nodes;
    uint32_t count = 0;
    size_t length;

    while (cursor != NULL && rl_node_url_next(&cursor, &length) != NULL)
        count++;
    if (count >= 1 && count <= REDLOCK_NODES_MAX)
        return count;
    rl_report_error(report, REDLOCK_INVALID, "%u nodes given: 1 to %d are allowed", count, REDLOCK_NODES_MAX);
    return 0;
}

static bool is_named_before(const struct rl_engine *engine, const struct rl_node_url *url)
{
    for (uint32_t i = 0; i < engine->node_count; i++)
        if (strcmp(engine->sessions[i].url.display, url->display) == 0)
            return true;
    return false;
}

static void add_credentials(struct rl_node_url *url, const redlock_options *options)
{
    if (url->has_password || options->password == NULL)
        return;
    url->has_password = true;
    rl_text_copy(url->password, sizeof url->password, options->password);
    if (url->user[0] == '\0' && options->user != NULL)
        rl_text_copy(url->user, sizeof url->user, options->user);
}

redlock_result rl_fleet_add(struct rl_engine *engine, const redlock_options *options, redlock_report *report)
{
    const char *cursor = options->nodes, *text;
    size_t length;

    while ((text = rl_node_url_next(&cursor, &length)) != NULL) {
        struct rl_node_url url;
        const char *wrong = rl_node_url_parse(text, length, &url);

        if (wrong == NULL && is_named_before(engine, &url))
            wrong = "is named twice: each node may vote only once";
        if (wrong != NULL)
            return rl_report_error(report, REDLOCK_INVALID, "node %u: %s", engine->node_count + 1, wrong);
        add_credentials(&url, options);
        if (!rl_engine_add_node(engine, &url))
            return rl_report_error(report, REDLOCK_NOMEM, "out of memory");
    }
    return REDLOCK_OK;
}

bool rl_fleet_needs_tls(const struct rl_engine *engine)
{
    for (uint32_t i = 0; i < engine->node_count; i++)
        if (engine->sessions[i].url.transport == RL_TRANSPORT_TLS)
            return true;
    return false;
}
