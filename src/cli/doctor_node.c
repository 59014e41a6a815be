/*
 * What redlock doctor checks of each node: whether it can be reached and may vote, rights, memory, persistence, clock, latency,
 * notifications, certificate. It reads what was gathered and asks nobody.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/clock.h"
#include "cli/doctor.h"
#include "cli/failure.h"
#include "cli/text.h"

#define SLOW_US 10000
#define CERTIFICATE_SOON_S (30 * INT64_C(86400))
#define MEMORY_FULL_PERCENT 80
#define DEFAULT_DRIFT_PPM 10000

/* ---- how a person talks to it ------------------------------------------------------------------------------ */

/* Percent-decodes the path of a socket. */
static void decode_path(const char *from, char *to, size_t size)
{
    size_t used = 0;
    unsigned byte;

    while (*from != '\0' && *from != '?' && used + 1 < size) {
        if (*from == '%' && sscanf(from + 1, "%2x", &byte) == 1) {
            to[used++] = (char)byte;
            from += 3;
        } else {
            to[used++] = *from++;
        }
    }
    to[used] = '\0';
}

void cli_doctor_client(const struct cli_session *session, const redlock_node_facts *facts, const char *url,
                       char *text, size_t size)
{
    const char *program = strcmp(facts->server, "valkey") == 0 ? "valkey-cli" : "redis-cli";
    const char *authority = session->config.tls_ca;
    bool tls = strncmp(url, "rediss://", 9) == 0;
    char path[160];

    if (strncmp(url, "unix://", 7) == 0) {
        decode_path(url + 7, path, sizeof path);
        snprintf(text, size, "%s -s %s", program, path);
    } else if (tls && authority != NULL) {
        snprintf(text, size, "%s --cacert %.100s -u %.160s", program, authority, url);
    } else {
        snprintf(text, size, "%s -u %.160s", program, url);
    }
}

/* ---- findings ---------------------------------------------------------------------------------------------- */

static struct cli_finding *add(struct cli_doctor *doctor, uint32_t node, enum cli_weight weight,
                               const char *id, const char *why)
{
    char where[200];

    snprintf(where, sizeof where, "node %u %.160s", node + 1, doctor->nodes[node].report.url);
    struct cli_finding *finding = cli_findings_add(&doctor->findings, weight, id, where, why);
    if (finding != NULL)
        finding->node = node + 1;
    return finding;
}

/* Causes whose remedy needs no more than the node's own words. {cli} is how a person talks to the node. */
static const struct {
    redlock_cause cause;
    const char *id, *why, *fix;
} causes[] = {
    {REDLOCK_CAUSE_CONNECTING, "unreachable", "a node that cannot be reached has no vote",
     "start the server there, or correct its URL"},
    {REDLOCK_CAUSE_REFUSED, "unreachable", "a node that cannot be reached has no vote",
     "start the server there, or correct its URL"},
    {REDLOCK_CAUSE_UNREACHABLE, "unreachable", "a node that cannot be reached has no vote",
     "start the server there, or correct its URL"},
    {REDLOCK_CAUSE_TIMED_OUT, "frozen",
     "a node that does not answer has no vote, and slows down the first lock",
     "{cli} PING; if it hangs, restart it, or continue it with kill -CONT if it was stopped"},
    {REDLOCK_CAUSE_SILENT, "frozen", "a node that does not answer has no vote, and slows down the first lock",
     "{cli} PING; if it hangs, restart it, or continue it with kill -CONT if it was stopped"},
    {REDLOCK_CAUSE_RESOLVE, "name", "a node that cannot be found has no vote",
     "correct its name in the configuration, or the name server (getent hosts NAME)"},
    {REDLOCK_CAUSE_TLS, "tls",
     "without a connection it has no vote, and nothing else is tried instead of TLS",
     "as named: rediss:// against redis://, tls_ca in the configuration, or the certificate of the node"},
    {REDLOCK_CAUSE_PROTOCOL, "protocol", "what listens there is no node", "correct its URL"},
    {REDLOCK_CAUSE_CREDENTIALS, "credentials", "it does not let this client in",
     "set REDLOCK_PASSWORD, or user and password_file in the configuration"},
    {REDLOCK_CAUSE_REPLICA, "replica",
     "a replica only copies: its vote would be its master's, counted twice or too late",
     "name its master instead; or, if it is to be a node of its own: {cli} REPLICAOF NO ONE"},
    {REDLOCK_CAUSE_LOADING, "loading", "it has just started, and does not answer yet", "wait"},
    {REDLOCK_CAUSE_MEMORY, "memory-full", "it cannot store a lock, so it does not vote",
     "{cli} CONFIG SET maxmemory 0 # or a limit that is larger; or remove data"},
    {REDLOCK_CAUSE_SCRIPT, "blocked", "a script of somebody keeps it from answering", "{cli} SCRIPT KILL"},
    {REDLOCK_CAUSE_DISK, "disk", "it refuses to write as it cannot save",
     "make room on its disk, and let it write there; then: {cli} BGSAVE"},
    {REDLOCK_CAUSE_CLUSTER, "cluster",
     "a cluster shares keys out and fails over to replicas that may lack a lock: it is no independent node",
     "name servers that stand alone: cluster-enabled no in their redis.conf"},
    {REDLOCK_CAUSE_SENTINEL, "sentinel", "a Sentinel keeps no keys",
     "name a master: {cli} SENTINEL MASTERS lists those that it watches"},
    {REDLOCK_CAUSE_TOO_OLD, "version", "guarded mode needs commands that it does not have",
     "upgrade it to Redis 6.0 or later, or Valkey"},
    {REDLOCK_CAUSE_DUPLICATE, "duplicate",
     "one server that is counted twice is no majority: no lock is handed out on such a fleet",
     "remove one of the two URLs from the configuration"},
    {REDLOCK_CAUSE_EVICTION, "eviction",
     "when its memory is full it drops keys, locks that are held among them: so it does not vote",
     "{cli} CONFIG SET maxmemory-policy noeviction # and in its redis.conf"},
    {REDLOCK_CAUSE_FENCES, "fences",
     "it lost its fencing tokens, and too few nodes can say how high they were, so it does not vote",
     "bring back the nodes that are down"},
    {REDLOCK_CAUSE_EPOCH, "epoch", "it is another server than it was, so what it granted counts no more",
     "wait: it is admitted again after its quarantine"},
};

/* Copies a remedy, with how a person talks to the node in place of {cli}. */
static void fill_fix(struct cli_finding *finding, const char *text, const char *client)
{
    const char *place = strstr(text, "{cli}");

    if (place == NULL)
        snprintf(finding->fix, sizeof finding->fix, "%s", text);
    else
        snprintf(finding->fix, sizeof finding->fix, "%.*s%s%s", (int)(place - text), text, client, place + 5);
}

static const char *words_of(const redlock_node_report *report)
{
    return report->detail[0] != '\0' ? report->detail : redlock_cause_name(report->cause);
}

/* A quarantine begins when a lock is asked for after the restart: looking writes nothing down. */
static bool has_begun(const redlock_node_report *report)
{
    return strstr(report->detail, "next asked for") == NULL;
}

static void check_quarantine(struct cli_doctor *doctor, uint32_t node)
{
    const redlock_node_report *report = &doctor->nodes[node].report;
    struct cli_finding *finding =
        add(doctor, node, CLI_WEIGHT_WARNING, "quarantine",
            "it may have lost locks that are still held, so it does not vote until all of them have ended");

    if (finding == NULL)
        return;
    snprintf(finding->what, sizeof finding->what, "%s", words_of(report));
    if (cli_failure_is_new_fleet(doctor->report))
        snprintf(finding->fix, sizeof finding->fix,
                 "wait %s; or, if this is a new fleet and nobody holds a lock yet: redlock init",
                 cli_text_span(report->eligible_in_ms).text);
    else if (has_begun(report))
        snprintf(finding->fix, sizeof finding->fix, "wait %s", cli_text_span(report->eligible_in_ms).text);
    else
        snprintf(finding->fix, sizeof finding->fix,
                 "redlock run -n doctor -- true # any lock that is asked for begins it; then wait %s",
                 cli_text_span(report->eligible_in_ms).text);
}

/* The node is told to keep copies, and has none: it refuses to write, but its disk is well. */
static bool lacks_copies(const redlock_node_report *report)
{
    return report->cause == REDLOCK_CAUSE_DISK && strstr(report->detail, "NOREPLICAS") != NULL;
}

static void check_copies(struct cli_doctor *doctor, uint32_t node)
{
    struct cli_finding *finding = add(
        doctor, node, CLI_WEIGHT_WARNING, "copies",
        "it refuses to write while too few replicas follow it, so it does not vote; locks need no replicas");

    if (finding == NULL)
        return;
    snprintf(finding->what, sizeof finding->what, "%s", words_of(&doctor->nodes[node].report));
    snprintf(finding->fix, sizeof finding->fix,
             "%.160s CONFIG SET min-replicas-to-write 0 # and in its redis.conf", doctor->nodes[node].client);
}

/* Whatever keeps it from voting. */
static void check_cause(struct cli_doctor *doctor, uint32_t node)
{
    const struct cli_doctor_node *one = &doctor->nodes[node];
    redlock_cause cause = one->report.cause;
    size_t i = 0, count = sizeof causes / sizeof causes[0];

    if (cause == REDLOCK_CAUSE_NONE || cause == REDLOCK_CAUSE_RIGHTS || one->facts.foreign_keys[0] != '\0' ||
        (cause == REDLOCK_CAUSE_MEMORY && one->facts.memory_max > 0))
        return; /* said elsewhere, with what is to be typed */
    if (lacks_copies(&one->report)) {
        check_copies(doctor, node);
        return;
    }
    if (cause == REDLOCK_CAUSE_QUARANTINE) {
        check_quarantine(doctor, node);
        return;
    }
    while (i < count && causes[i].cause != cause)
        i++;
    bool known = i < count;
    struct cli_finding *finding =
        add(doctor, node, cause == REDLOCK_CAUSE_DUPLICATE ? CLI_WEIGHT_ERROR : CLI_WEIGHT_WARNING,
            known ? causes[i].id : "error", known ? causes[i].why : "it does not vote while it answers so");
    if (finding == NULL)
        return;
    bool hangs = cause == REDLOCK_CAUSE_TIMED_OUT || cause == REDLOCK_CAUSE_SILENT;
    snprintf(finding->what, sizeof finding->what, "%s%s", hangs ? "it does not answer: " : "",
             words_of(&one->report));
    fill_fix(finding, known ? causes[i].fix : "see its log; then: redlock doctor", one->client);
}

/* "'~lock:*'": patterns mean something to a shell. */
static void quote_rights(const char *rights, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    while (*rights != '\0' && used + 1 < size) {
        size_t length = strcspn(rights, " ");
        bool pattern = *rights == '~' || *rights == '&' || memchr(rights, '|', length) != NULL;
        used += (size_t)snprintf(text + used, size - used, " %s%.*s%s", pattern ? "'" : "", (int)length,
                                 rights, pattern ? "'" : "");
        rights += length;
        rights += strspn(rights, " ");
    }
}

static void check_rights(struct cli_doctor *doctor, uint32_t node)
{
    const struct cli_doctor_node *one = &doctor->nodes[node];
    const char *user = cli_failure_user(doctor->session, &one->facts);
    const struct {
        const char *rights, *id, *why;
        enum cli_weight weight;
    } kinds[] = {
        {one->facts.missing_rights, "rights",
         "locks need them: without, the node has no vote or fails half-way", CLI_WEIGHT_WARNING},
        {one->facts.advisable_rights, "advisable-rights",
         "without them waiters are not told that they have the lock or that it is free and ask again and again, and init and list see no "
         "locks",
         CLI_WEIGHT_NOTE},
    };

    for (size_t i = 0; i < 2; i++) {
        char quoted[CLI_WORDS_MAX - 200];
        if (kinds[i].rights[0] == '\0')
            continue;
        struct cli_finding *finding = add(doctor, node, kinds[i].weight, kinds[i].id, kinds[i].why);
        if (finding == NULL)
            return;
        quote_rights(kinds[i].rights, quoted, sizeof quoted);
        snprintf(finding->what, sizeof finding->what, "user %s lacks %.300s", user, kinds[i].rights);
        snprintf(finding->fix, sizeof finding->fix, "%.160s ACL SETUSER %s%s", one->client, user, quoted);
    }
    if (one->report.cause != REDLOCK_CAUSE_RIGHTS || one->facts.missing_rights[0] != '\0')
        return;
    struct cli_finding *finding = add(doctor, node, CLI_WEIGHT_WARNING, "rights", kinds[0].why);
    if (finding != NULL) {
        snprintf(finding->what, sizeof finding->what, "%s", words_of(&one->report));
        snprintf(finding->fix, sizeof finding->fix, "%.160s ACL SETUSER %s +info", one->client, user);
    }
}

static void check_side_keys(struct cli_doctor *doctor, uint32_t node)
{
    const struct cli_doctor_node *one = &doctor->nodes[node];

    if (one->facts.foreign_keys[0] == '\0')
        return;
    struct cli_finding *finding =
        add(doctor, node, CLI_WEIGHT_WARNING, "side-keys",
            "what the node has to remember of its own votes is kept there, so it cannot vote");
    if (finding == NULL)
        return;
    snprintf(finding->what, sizeof finding->what, "%s: another program has stored something else there",
             one->facts.foreign_keys);
    snprintf(finding->fix, sizeof finding->fix, "%.160s DEL %s", one->client, one->facts.foreign_keys);
}

/* Only a limit can be reached. What is proposed leaves room, however far above it the node is. */
static void check_memory(struct cli_doctor *doctor, uint32_t node)
{
    const redlock_node_facts *facts = &doctor->nodes[node].facts;
    int64_t used = facts->memory_used, most = facts->memory_max;
    bool full = doctor->nodes[node].report.cause == REDLOCK_CAUSE_MEMORY;

    if (most <= 0 || (!full && used < most / 100 * MEMORY_FULL_PERCENT))
        return;
    struct cli_finding *finding = full ? add(doctor, node, CLI_WEIGHT_WARNING, "memory-full",
                                             "it cannot store a lock, so it does not vote")
                                       : add(doctor, node, CLI_WEIGHT_WARNING, "memory",
                                             "when it is full it can store no lock, and has no vote");
    if (finding == NULL)
        return;
    snprintf(finding->what, sizeof finding->what, "%.1f of %.1f MB of its memory are used",
             (double)used / 1e6, (double)most / 1e6);
    snprintf(finding->fix, sizeof finding->fix,
             "%.160s CONFIG SET maxmemory %" PRId64 " # and in its redis.conf; or remove data",
             doctor->nodes[node].client, 2 * (used > most ? used : most));
}

/* What a restart would mean. Local nodes are meant to forget, and so are their locks' holders by then. Guarded, it costs time; else, or where the operator says that it forgets nothing, it can cost the lock. */
static void check_persistence(struct cli_doctor *doctor, uint32_t node)
{
    const struct cli_doctor_node *one = &doctor->nodes[node];
    bool plain = doctor->session->config.plain, durable = one->facts.durable;
    bool every_write = one->facts.append_only == 1 && strcmp(one->facts.append_fsync, "always") == 0;
    bool not_known = one->facts.append_only == 1 && one->facts.append_fsync[0] == '\0';

    if (!one->facts.examined || every_write || not_known || one->facts.append_only < 0 ||
        doctor->session->local)
        return;
    if (!plain && !durable && (one->facts.append_only == 1 || one->facts.snapshots == 1))
        return;
    struct cli_finding *finding =
        plain ? add(doctor, node, CLI_WEIGHT_WARNING, "persistence",
                    "in plain mode nothing keeps a node that lost a lock from granting it again")
        : durable
            ? add(doctor, node, CLI_WEIGHT_WARNING, "persistence",
                  "durable=yes says that it loses nothing: if that is wrong, two clients can hold the lock")
            : add(doctor, node, CLI_WEIGHT_NOTE, "persistence",
                  "after a restart its locks and fencing tokens are gone, and it is quarantined until every lock has ended");
    if (finding == NULL)
        return;
    snprintf(finding->what, sizeof finding->what, "%s",
             one->facts.append_only == 1 ? "its append-only file is not written with every command"
             : one->facts.snapshots == 1 ? "it keeps snapshots only, and loses what came after the last one"
             : one->facts.snapshots == 0 ? "it keeps nothing over a restart"
                                         : "it keeps no append-only file");
    if (plain || durable)
        snprintf(
            finding->fix, sizeof finding->fix,
            "%.160s CONFIG SET appendfsync always && %.160s CONFIG SET appendonly yes # and in its redis.conf",
            one->client, one->client);
    else
        snprintf(finding->fix, sizeof finding->fix,
                 "%.160s CONFIG SET appendonly yes # and in its redis.conf", one->client);
}

bool cli_doctor_blames_host(const struct cli_doctor *doctor)
{
    uint32_t ahead = 0, behind = 0, seen = 0;

    for (uint32_t i = 0; i < doctor->count; i++) {
        int64_t offset = doctor->nodes[i].facts.clock_offset_us;
        if (offset == INT64_MIN)
            continue;
        seen++;
        ahead += offset > CLI_CLOCK_OFF_US;
        behind += offset < -CLI_CLOCK_OFF_US;
    }
    return seen > 1 && (ahead > seen / 2 || behind > seen / 2);
}

int64_t cli_doctor_drift_ppm(const struct cli_session *session)
{
    return session->config.drift_ppm != 0 ? session->config.drift_ppm : DEFAULT_DRIFT_PPM;
}

static void check_clock(struct cli_doctor *doctor, uint32_t node)
{
    const struct cli_doctor_node *one = &doctor->nodes[node];
    int64_t most_ppm = cli_doctor_drift_ppm(doctor->session), offset = one->facts.clock_offset_us;
    bool off = offset != INT64_MIN && (offset > CLI_CLOCK_OFF_US || offset < -CLI_CLOCK_OFF_US) &&
               !cli_doctor_blames_host(doctor);
    bool rate = one->rate_ppm != INT64_MIN && (one->rate_ppm > most_ppm || one->rate_ppm < -most_ppm);
    struct cli_finding *finding;

    if (off && (finding = add(
                    doctor, node, CLI_WEIGHT_WARNING, "clock",
                    "fencing tokens follow the clocks: locks take a second round, and times that are shown "
                    "are wrong; setting it while locks are held has the node quarantined")) != NULL) {
        snprintf(finding->what, sizeof finding->what, "its clock is off by %s", cli_text_offset(offset).text);
        snprintf(finding->fix, sizeof finding->fix, "timedatectl set-ntp true, on its host");
    }
    if (rate &&
        (finding = add(doctor, node, CLI_WEIGHT_WARNING, "clock-rate",
                       "a lock ends earlier there than its holder believes, so it must not vote")) != NULL) {
        snprintf(finding->what, sizeof finding->what,
                 "its clock runs at another rate than ours: %+" PRId64 " ppm", one->rate_ppm);
        snprintf(finding->fix, sizeof finding->fix, "timedatectl set-ntp true, on its host");
    }
}

static void check_latency(struct cli_doctor *doctor, uint32_t node)
{
    const struct cli_doctor_node *one = &doctor->nodes[node];

    if (one->slow_us <= SLOW_US)
        return;
    struct cli_finding *finding =
        add(doctor, node, CLI_WEIGHT_NOTE, "latency",
            "a lock costs one round trip to a quorum of nodes, and so does its release");
    if (finding == NULL)
        return;
    snprintf(finding->what, sizeof finding->what, "half of its answers come within %s, 99 in 100 within %s",
             cli_text_latency(one->median_us).text, cli_text_latency(one->slow_us).text);
    snprintf(finding->fix, sizeof finding->fix,
             "look for load (%.160s --latency) and distance; a quorum of near nodes is enough", one->client);
}

/* Pushes came with Redis 6; a node that is newer than that does not know the greeting any more, and no ACL rule can forbid it. */
static bool is_before_pushes(const redlock_node_facts *facts)
{
    return strcmp(facts->server, "redis") == 0 && facts->version[0] >= '1' && facts->version[0] <= '5' &&
           facts->version[1] == '.';
}

static void check_notifications(struct cli_doctor *doctor, uint32_t node)
{
    const struct cli_doctor_node *one = &doctor->nodes[node];

    if (!one->facts.examined || one->report.notifies || one->report.cause == REDLOCK_CAUSE_TOO_OLD ||
        strstr(one->facts.advisable_rights, "tracking") != NULL)
        return;
    struct cli_finding *finding =
        add(doctor, node, CLI_WEIGHT_NOTE, "notifications",
            "waiters are not notified of a release there, and ask again and again instead");
    if (finding == NULL)
        return;
    snprintf(finding->what, sizeof finding->what, "it does not speak RESP3, so it cannot push");
    if (is_before_pushes(&one->facts))
        snprintf(finding->fix, sizeof finding->fix, "upgrade it to Redis 6.0 or later, or Valkey");
    else
        snprintf(finding->fix, sizeof finding->fix,
                 "take rename-command HELLO out of its redis.conf, and restart it");
}

static void check_certificate(struct cli_doctor *doctor, uint32_t node)
{
    const struct cli_doctor_node *one = &doctor->nodes[node];
    int64_t left_s = one->facts.certificate_ends_s - cli_clock_wall() / 1000;
    time_t end = (time_t)one->facts.certificate_ends_s;
    struct tm when;
    char day[32] = "";

    if (one->facts.certificate_ends_s == 0 || left_s > CERTIFICATE_SOON_S)
        return;
    struct cli_finding *finding = add(doctor, node, CLI_WEIGHT_WARNING, "certificate",
                                      "once it has ended nobody connects to the node any more");
    if (finding == NULL)
        return;
    if (gmtime_r(&end, &when) != NULL)
        strftime(day, sizeof day, "%Y-%m-%d %H:%M UTC", &when);
    snprintf(finding->what, sizeof finding->what, "its certificate ends on %s, in %s", day,
             cli_text_span(left_s * 1000).text);
    snprintf(finding->fix, sizeof finding->fix,
             "renew the file it was started with; then: %.200s CONFIG SET tls-cert-file FILE", one->client);
}

void cli_doctor_check_node(struct cli_doctor *doctor, uint32_t node)
{
    check_cause(doctor, node);
    check_rights(doctor, node);
    check_side_keys(doctor, node);
    check_memory(doctor, node);
    check_persistence(doctor, node);
    check_clock(doctor, node);
    check_latency(doctor, node);
    check_notifications(doctor, node);
    check_certificate(doctor, node);
}
