/*
 * Which owners have a key of a name, and what that comes to; see owners.h.
 */
#include "cli/owners.h"

#include <stdio.h>
#include <string.h>

#include "cli/holder.h"
#include "cli/output.h"
#include "cli/text.h"

/* A key that is no lock is in the way like one, but nobody's. */
static bool is_foreign(const redlock_node_report *node)
{
    return node->verdict == REDLOCK_VERDICT_HELD && node->cause == REDLOCK_CAUSE_FOREIGN_TYPE;
}

static int64_t end_of(const redlock_node_report *node)
{
    return node->ttl_left_ms >= 0 ? node->ttl_left_ms : INT64_MAX;
}

/* Those who share a lock are as one: which of them a node names is a matter of luck. */
static struct cli_owner *find_owner(struct cli_owners *owners, const redlock_node_report *node, bool shared)
{
    const char *value = node->owner != NULL ? node->owner : "";

    if (shared && owners->count > 0)
        return &owners->owners[0];

    for (uint32_t i = 0; i < owners->count; i++)
        if (owners->owners[i].length == node->owner_length &&
            memcmp(owners->owners[i].value, value, node->owner_length) == 0)
            return &owners->owners[i];
    owners->owners[owners->count] =
        (struct cli_owner){.value = value, .length = node->owner_length, .soonest_ms = INT64_MAX};
    return &owners->owners[owners->count++];
}

static void add_node(struct cli_owners *owners, uint32_t number, const redlock_node_report *node, bool shared)
{
    struct cli_owner *owner = find_owner(owners, node, shared);
    int64_t end_ms = end_of(node);

    owner->nodes |= UINT32_C(1) << number;
    owner->node_count++;
    if (end_ms < owner->soonest_ms)
        owner->soonest_ms = end_ms;
    if (end_ms > owner->latest_ms)
        owner->latest_ms = end_ms;
}

/* By insertion, equals in the order of the nodes; there are at most 31. */
static void sort_owners(struct cli_owners *owners)
{
    for (uint32_t i = 1; i < owners->count; i++) {
        struct cli_owner one = owners->owners[i];
        uint32_t place = i;

        for (; place > 0 && owners->owners[place - 1].node_count < one.node_count; place--)
            owners->owners[place] = owners->owners[place - 1];
        owners->owners[place] = one;
    }
}

/* The quorum-th node that is free: now, or when the key there ends. Nodes that could not tell are not counted
 * on. */
static int64_t find_free_in(const redlock_report *report)
{
    int64_t soonest[REDLOCK_NODES_MAX + 1];
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;
    uint32_t count = 0;

    for (uint32_t i = 0; redlock_report_node(report, i, &node); i++) {
        int64_t end_ms = node.verdict == REDLOCK_VERDICT_FREE   ? 0
                         : node.verdict == REDLOCK_VERDICT_HELD ? end_of(&node)
                                                                : INT64_MAX;
        uint32_t place = count++;

        for (; place > 0 && end_ms < soonest[place - 1]; place--)
            soonest[place] = soonest[place - 1];
        soonest[place] = end_ms;
    }
    return report->quorum > 0 && report->quorum <= count ? soonest[report->quorum - 1] : INT64_MAX;
}

/* Owner values are compared as far as the report has them, so the library, which has all of them, has the
 * last word; only an empty value it cannot name. */
static bool holds(const struct cli_owner *owner, const redlock_report *report)
{
    return owner->node_count >= report->quorum && (report->holder.id[0] != '\0' || owner->length == 0);
}

static enum cli_possession decide(const struct cli_owners *owners, const redlock_report *report)
{
    uint32_t most = owners->count > 0 ? owners->owners[0].node_count : 0;

    if (most > 0 && holds(&owners->owners[0], report))
        return CLI_POSSESSION_HELD;
    if (owners->silent > 0 && most + owners->silent >= report->quorum)
        return CLI_POSSESSION_UNKNOWN;
    if (owners->foreign > 0)
        return CLI_POSSESSION_FOREIGN;
    return owners->free_in_ms == 0 ? CLI_POSSESSION_FREE : CLI_POSSESSION_SPLIT;
}

void cli_owners_read(struct cli_owners *owners, const redlock_report *report)
{
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;

    owners->count = owners->silent = owners->foreign = 0;
    owners->node_count = report->node_count;
    for (uint32_t i = 0; redlock_report_node(report, i, &node); i++) {
        if (is_foreign(&node))
            owners->foreign++;
        else if (node.verdict == REDLOCK_VERDICT_HELD)
            add_node(owners, i, &node, report->sharers > 0);
        else
            owners->silent += node.verdict != REDLOCK_VERDICT_FREE;
    }
    sort_owners(owners);
    owners->free_in_ms = find_free_in(report);
    owners->possession = decide(owners, report);
}

const char *cli_owners_word(const struct cli_owners *owners)
{
    static const char *const words[] = {[CLI_POSSESSION_FREE] = "free",
                                        [CLI_POSSESSION_HELD] = "held",
                                        [CLI_POSSESSION_SPLIT] = "split",
                                        [CLI_POSSESSION_FOREIGN] = "foreign",
                                        [CLI_POSSESSION_UNKNOWN] = "unknown"};

    return words[owners->possession];
}

static void add(char *text, size_t size, const char *words)
{
    size_t used = strlen(text);

    snprintf(text + used, size - used, "%s", words);
}

/* ", on nodes 1, 4 and 5" */
static void add_nodes(const struct cli_owner *owner, char *text, size_t size)
{
    uint32_t listed = 0;
    char number[16];

    add(text, size, owner->node_count == 1 ? ", on node " : ", on nodes ");
    for (uint32_t i = 0; i < REDLOCK_NODES_MAX; i++) {
        if ((owner->nodes & UINT32_C(1) << i) == 0)
            continue;
        if (listed > 0)
            add(text, size, listed + 1 == owner->node_count ? " and " : ", ");
        snprintf(number, sizeof number, "%u", i + 1);
        add(text, size, number);
        listed++;
    }
}

/* ", 11s left", ", 4s to 11s left", ", 4s or more left", ", without an end" */
static void add_time(const struct cli_owner *owner, char *text, size_t size)
{
    struct cli_span soonest = cli_text_span(owner->soonest_ms), latest = cli_text_span(owner->latest_ms);

    if (owner->soonest_ms == INT64_MAX) {
        add(text, size, ", without an end");
        return;
    }
    add(text, size, ", ");
    add(text, size, soonest.text);
    if (owner->latest_ms == INT64_MAX) {
        add(text, size, " or more");
    } else if (strcmp(soonest.text, latest.text) != 0) {
        add(text, size, " to ");
        add(text, size, latest.text);
    }
    add(text, size, " left");
}

void cli_owners_describe(const struct cli_owner *owner, char *text, size_t size)
{
    redlock_holder who;

    redlock_holder_parse(owner->value, owner->length, &who);
    cli_holder_describe(&who, text, size);
    if (who.host[0] != '\0') { /* else the id is its name */
        add(text, size, ", id ");
        add(text, size, who.id);
    }
    add_nodes(owner, text, size);
    add_time(owner, text, size);
}

void cli_owners_describe_end(const struct cli_owners *owners, char *text, size_t size)
{
    if (owners->free_in_ms == INT64_MAX)
        snprintf(text, size, "not by itself: keys that never expire are in the way");
    else
        snprintf(text, size, "when those keys expire, in %s at the latest",
                 cli_text_span(owners->free_in_ms).text);
}

void cli_owners_describe_nobody(const struct cli_owners *owners, char *text, size_t size)
{
    if (owners->possession == CLI_POSSESSION_UNKNOWN)
        snprintf(text, size, "not known: %u of %u nodes gave no answer", owners->silent, owners->node_count);
    else if (owners->possession == CLI_POSSESSION_FOREIGN)
        snprintf(text, size, "nobody: %u of %u nodes have something that is not a lock of this kind",
                 owners->foreign, owners->node_count);
    else
        snprintf(text, size, "nobody at the moment: its votes are split");
}

static json_t *time_left(int64_t ms)
{
    return ms == INT64_MAX ? json_null() : json_integer(ms);
}

static json_t *owner_object(const struct cli_owner *owner)
{
    redlock_holder who;
    json_t *object, *nodes = json_array();

    redlock_holder_parse(owner->value, owner->length, &who);
    object = cli_output_who(&who);
    for (uint32_t i = 0; i < REDLOCK_NODES_MAX; i++)
        if ((owner->nodes & UINT32_C(1) << i) != 0)
            json_array_append_new(nodes, json_integer(i + 1));
    json_object_set_new(object, "nodes", nodes);
    json_object_set_new(object, "ttl_left_ms", time_left(owner->latest_ms));
    return object;
}

void cli_owners_add_json(const struct cli_owners *owners, json_t *object)
{
    bool held = owners->possession == CLI_POSSESSION_HELD;
    json_t *list = json_array();

    for (uint32_t i = 0; i < owners->count; i++)
        json_array_append_new(list, owner_object(&owners->owners[i]));
    json_object_set_new(object, "state", json_string(cli_owners_word(owners)));
    json_object_set_new(object, "granted_by", json_integer(held ? owners->owners[0].node_count : 0));
    json_object_set_new(object, "free_in_ms",
                        owners->possession == CLI_POSSESSION_UNKNOWN ? json_null()
                                                                     : time_left(owners->free_in_ms));
    json_object_set_new(object, "owners", list);
}
