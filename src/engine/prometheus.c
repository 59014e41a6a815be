/*
 * Writes statistics for Prometheus; see prometheus.h. Nothing here depends on the program's locale.
 */
#include "engine/prometheus.h"

#include <string.h>

#include "base/bytes.h"
#include "base/histogram.h"

/* What is written so far. Once it does not fit, only its length goes on. */
struct text {
    char *bytes;
    size_t size, length;
    const redlock_label *labels; /* of the caller */
    uint32_t label_count;
    bool labelled; /* the sample being written has a label already */
};

/* ---- text ---- */

/* Adds to the text. */
static void put_bytes(struct text *text, const char *bytes, size_t length)
{
    size_t room = text->length < text->size ? text->size - text->length : 0;

    if (room > 0)
        memcpy(text->bytes + text->length, bytes, length < room ? length : room);
    text->length += length;
}

static void put(struct text *text, const char *words)
{
    put_bytes(text, words, strlen(words));
}

static void put_number(struct text *text, uint64_t value)
{
    char digits[20];

    put_bytes(text, digits, rl_decimal_write(digits, value));
}

static void put_label(struct text *text, const char *name, const char *value)
{
    put(text, text->labelled ? "," : "{");
    put(text, name);
    put(text, "=\"");
    text->labelled = true;
    for (; *value != '\0'; value++) {
        if (*value == '"' || *value == '\\' || *value == '\n')
            put(text, "\\");
        put_bytes(text, *value == '\n' ? "n" : value, 1);
    }
    put(text, "\"");
}

static void begin(struct text *text, const char *name, const char *suffix)
{
    put(text, name);
    put(text, suffix);
    text->labelled = false;
    for (uint32_t i = 0; i < text->label_count; i++)
        put_label(text, text->labels[i].name, text->labels[i].value);
}

static void end_count(struct text *text, uint64_t value)
{
    put(text, text->labelled ? "} " : " ");
    put_number(text, value);
    put(text, "\n");
}

/* With six decimals: those of a number that has a seventh digit before them, in whose place the point
 * goes. */
static void put_seconds(struct text *text, uint64_t us)
{
    char decimals[20];
    size_t length = rl_decimal_write(decimals, 1000000 + us % 1000000);

    decimals[0] = '.';
    put_number(text, us / 1000000);
    put_bytes(text, decimals, length);
}

/* INT64_MIN: it is not known. */
static void end_seconds(struct text *text, int64_t us)
{
    put(text, text->labelled ? "} " : " ");
    if (us == INT64_MIN)
        put(text, "NaN");
    else {
        put(text, us < 0 ? "-" : "");
        put_seconds(text, us < 0 ? -(uint64_t)us : (uint64_t)us);
    }
    put(text, "\n");
}

static void put_head(struct text *text, const char *name, const char *type, const char *help)
{
    const char *const parts[] = {"# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n"};

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        put(text, parts[i]);
}

static void put_one(struct text *text, const char *name, const char *type, const char *help, uint64_t value)
{
    put_head(text, name, type, help);
    begin(text, name, "");
    end_count(text, value);
}

static void put_outcome(struct text *text, const char *name, const char *outcome, uint64_t value)
{
    begin(text, name, "");
    put_label(text, "outcome", outcome);
    end_count(text, value);
}

/* ---- durations ---- */

static void begin_part(struct text *text, const char *name, const char *part, const char *key,
                       const char *value)
{
    begin(text, name, part);
    if (key != NULL)
        put_label(text, key, value);
}

/* Every second bucket of the histogram: each bound is twice the one before, from 64 us on. A bucket is the
 * sum of ours, so nothing is rounded. */
static void put_histogram(struct text *text, const char *name, const char *key, const char *value,
                          const redlock_histogram *histogram)
{
    uint64_t below = 0;

    for (uint32_t bucket = 0; bucket < REDLOCK_HISTOGRAM_BUCKETS - 1; bucket++) {
        below += histogram->buckets[bucket];
        if (bucket < 12 || bucket % 2 != 0)
            continue;
        begin_part(text, name, "_bucket", key, value);
        put(text, text->labelled ? ",le=\"" : "{le=\"");
        put_seconds(text, rl_histogram_bound(bucket));
        put(text, "\"} ");
        put_number(text, below);
        put(text, "\n");
    }
    begin_part(text, name, "_bucket", key, value);
    put_label(text, "le", "+Inf");
    end_count(text, histogram->count);
    begin_part(text, name, "_sum", key, value);
    end_seconds(text, (int64_t)histogram->sum_us);
    begin_part(text, name, "_count", key, value);
    end_count(text, histogram->count);
}

static void put_durations(struct text *text, const char *name, const char *help,
                          const redlock_histogram *histogram)
{
    put_head(text, name, "histogram", help);
    put_histogram(text, name, NULL, NULL, histogram);
}

/* ---- the client ---- */

static void put_acquisitions(struct text *text, const redlock_stats *stats)
{
    static const char durations[] = "redlock_acquire_duration_seconds", ends[] = "redlock_acquisitions_total";

    put_head(text, durations, "histogram", "From asking for a lock to the outcome, waiting included.");
    put_histogram(text, durations, "outcome", "acquired", &stats->acquire_ok);
    put_histogram(text, durations, "outcome", "failed", &stats->acquire_failed);
    put_head(text, ends, "counter", "Acquisitions by how they ended.");
    put_outcome(text, ends, "acquired", stats->acquired);
    put_outcome(text, ends, "busy", stats->busy);
    put_outcome(text, ends, "timeout", stats->timeouts);
    put_outcome(text, ends, "canceled", stats->canceled);
    put_outcome(text, ends, "no_quorum", stats->no_quorum);
    put_outcome(text, ends, "too_slow", stats->too_slow);
    put_outcome(text, ends, "quarantine", stats->quarantined);
    put_outcome(text, ends, "forbidden", stats->forbidden);
    put_outcome(text, ends, "failed", stats->failed);
    put_one(text, "redlock_rounds_total", "counter", "Rounds that acquisitions took.", stats->rounds);
    put_one(text, "redlock_fence_rounds_total", "counter",
            "Acquisitions that needed a second round to agree on the fence.", stats->fence_rounds);
}

/* One counter with two outcomes, and how long it took. */
static void put_calls(struct text *text, const char *total, const char *help, const char *done, uint64_t fine,
                      uint64_t failed)
{
    put_head(text, total, "counter", help);
    put_outcome(text, total, done, fine);
    put_outcome(text, total, "failed", failed);
}

static void put_leases(struct text *text, const redlock_stats *stats)
{
    int64_t lowest_ms = stats->lowest_validity_ms;

    put_calls(text, "redlock_extensions_total", "Extensions and adoptions of leases by their holder.",
              "extended", stats->extended, stats->extend_failed);
    put_calls(text, "redlock_renewals_total",
              "Rounds of renewal. A failed one is tried again while validity lasts.", "renewed",
              stats->renewed, stats->renew_failed);
    put_calls(text, "redlock_releases_total", "Releases.", "released", stats->released,
              stats->release_failed);
    put_durations(text, "redlock_extend_duration_seconds", "How long extensions took.", &stats->extend);
    put_durations(text, "redlock_renew_duration_seconds", "How long rounds of renewal took.", &stats->renew);
    put_durations(text, "redlock_release_duration_seconds", "How long releases took.", &stats->release);
    put_one(text, "redlock_lost_total", "counter", "Locks whose validity ended before they were released.",
            stats->lost);
    put_head(text, "redlock_lowest_validity_seconds", "gauge",
             "The least validity that was left when a lock was renewed or extended; NaN before the first.");
    begin(text, "redlock_lowest_validity_seconds", "");
    end_seconds(text, lowest_ms < 0 ? INT64_MIN : lowest_ms * 1000);
    put_one(text, "redlock_held", "gauge", "Locks that this client holds.", stats->held);
    put_one(text, "redlock_waiting", "gauge", "Acquisitions that wait for another holder or for nodes.",
            stats->waiting);
}

static void put_fleet(struct text *text, const struct rl_snapshot *snapshot)
{
    put_one(text, "redlock_nodes", "gauge", "Nodes that are configured.", snapshot->node_count);
    put_one(text, "redlock_quorum_size", "gauge", "Nodes that have to grant a lock.",
            snapshot->node_count / 2 + 1);
    put_one(text, "redlock_nodes_connected", "gauge", "Nodes that are connected.",
            snapshot->client.connected);
    put_one(text, "redlock_nodes_eligible", "gauge", "Nodes that may vote.", snapshot->client.eligible);
}

/* ---- nodes ---- */

static void begin_node(struct text *text, const char *name, const struct rl_snapshot *snapshot, uint32_t node)
{
    begin(text, name, "");
    put_label(text, "node", snapshot->engine->sessions[node].url.display);
}

static void put_answers(struct text *text, const struct rl_snapshot *snapshot)
{
    static const char name[] = "redlock_node_answers_total";
    static const char *const words[] = {"granted",    "held",   "free",  "not_held",
                                        "ineligible", "failed", "silent"};

    put_head(text, name, "counter", "Verdicts of a node.");
    for (uint32_t node = 0; node < snapshot->node_count; node++) {
        const redlock_node_stats *stats = &snapshot->nodes[node];
        const uint64_t counts[] = {stats->granted,    stats->held,   stats->free,  stats->not_held,
                                   stats->ineligible, stats->failed, stats->silent};

        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
            begin_node(text, name, snapshot, node);
            put_label(text, "verdict", words[i]);
            end_count(text, counts[i]);
        }
    }
}

/* "timed out" is the reason timed_out. */
static void put_reason(struct text *text, redlock_cause cause)
{
    char reason[48];

    rl_text_copy(reason, sizeof reason, redlock_cause_name(cause));
    for (char *at = reason; *at != '\0'; at++)
        *at = *at == ' ' || *at == '-' ? '_' : *at;
    put_label(text, "reason", reason);
}

/* Those without a name do not exist yet. */
static bool is_cause(uint32_t cause)
{
    return strcmp(redlock_cause_name((redlock_cause)cause),
                  redlock_cause_name((redlock_cause)REDLOCK_CAUSES)) != 0;
}

static void put_failures(struct text *text, const struct rl_snapshot *snapshot)
{
    static const char name[] = "redlock_node_failures_total";

    put_head(text, name, "counter",
             "Verdicts of a node that did not count (ineligible, failed, silent), by what was wrong.");
    for (uint32_t node = 0; node < snapshot->node_count; node++)
        for (uint32_t cause = REDLOCK_CAUSE_NONE + 1; cause < REDLOCK_CAUSES && is_cause(cause); cause++) {
            begin_node(text, name, snapshot, node);
            put_reason(text, (redlock_cause)cause);
            end_count(text, snapshot->nodes[node].causes[cause]);
        }
}

static void put_offsets(struct text *text, const struct rl_snapshot *snapshot)
{
    static const char name[] = "redlock_node_clock_offset_seconds";

    put_head(text, name, "gauge", "How far a node's clock is ahead of this machine's; NaN when not known.");
    for (uint32_t node = 0; node < snapshot->node_count; node++) {
        begin_node(text, name, snapshot, node);
        end_seconds(text, snapshot->nodes[node].clock_offset_us);
    }
}

static void put_latencies(struct text *text, const struct rl_snapshot *snapshot)
{
    static const char name[] = "redlock_node_latency_seconds";

    put_head(text, name, "histogram", "From question to answer.");
    for (uint32_t node = 0; node < snapshot->node_count; node++)
        put_histogram(text, name, "node", snapshot->engine->sessions[node].url.display,
                      &snapshot->nodes[node].latency);
}

static uint64_t connected_of(const redlock_node_stats *stats)
{
    return stats->connected;
}

static uint64_t eligible_of(const redlock_node_stats *stats)
{
    return stats->eligible;
}

static uint64_t connects_of(const redlock_node_stats *stats)
{
    return stats->connects;
}

static uint64_t disconnects_of(const redlock_node_stats *stats)
{
    return stats->disconnects;
}

static void put_nodes(struct text *text, const struct rl_snapshot *snapshot)
{
    static const struct {
        const char *name, *type, *help;
        uint64_t (*value)(const redlock_node_stats *stats);
    } families[] = {
        {"redlock_node_connected", "gauge", "1 when the node is connected.", connected_of},
        {"redlock_node_eligible", "gauge", "1 when the node may vote.", eligible_of},
        {"redlock_node_connects_total", "counter", "Connections that were made.", connects_of},
        {"redlock_node_disconnects_total", "counter", "Connections that were lost.", disconnects_of},
    };

    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        put_head(text, families[i].name, families[i].type, families[i].help);
        for (uint32_t node = 0; node < snapshot->node_count; node++) {
            begin_node(text, families[i].name, snapshot, node);
            end_count(text, families[i].value(&snapshot->nodes[node]));
        }
    }
    put_answers(text, snapshot);
    put_failures(text, snapshot);
    put_offsets(text, snapshot);
    put_latencies(text, snapshot);
}

/* ---- labels of the caller ---- */

static bool is_letter(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
}

static bool is_label_name(const char *name)
{
    static const char *const taken[] = {"le", "outcome", "node", "verdict", "reason", "version"};

    if (name == NULL || !is_letter(name[0]) || (name[0] == '_' && name[1] == '_'))
        return false;
    for (const char *at = name; *at != '\0'; at++)
        if (!is_letter(*at) && !(*at >= '0' && *at <= '9'))
            return false;
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
        if (strcmp(name, taken[i]) == 0)
            return false;
    return true;
}

bool rl_prometheus_labels_ok(const redlock_label *labels, uint32_t count)
{
    if (labels == NULL && count > 0)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (!is_label_name(labels[i].name) || labels[i].value == NULL)
            return false;
        for (uint32_t other = 0; other < i; other++)
            if (strcmp(labels[i].name, labels[other].name) == 0)
                return false;
    }
    return true;
}

/* ---- all of it ---- */

static void put_all(struct text *text, const struct rl_snapshot *snapshot)
{
    put_head(text, "redlock_build_info", "gauge", "1; the version of the library is its label.");
    begin(text, "redlock_build_info", "");
    put_label(text, "version", redlock_version());
    end_count(text, 1);
    put_fleet(text, snapshot);
    put_acquisitions(text, &snapshot->client);
    put_leases(text, &snapshot->client);
    put_nodes(text, snapshot);
}

size_t rl_prometheus_write(const struct rl_snapshot *snapshot, const redlock_label *labels,
                           uint32_t label_count, char *bytes, size_t size)
{
    struct text text = {.bytes = bytes, .size = size, .labels = labels, .label_count = label_count};

    put_all(&text, snapshot);
    if (size > 0)
        bytes[text.length < size ? text.length : size - 1] = '\0';
    return text.length;
}
