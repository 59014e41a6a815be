/*
 * What redlock doctor checks of a node that it can talk to: rights, keys of others, memory, persistence,
 * clock, latency, notifications, certificate. What keeps a node from voting is in doctor_vote.c. It reads
 * what was gathered and asks nobody.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/clock.h"
#include "cli/doctor.h"
#include "cli/rights.h"
#include "cli/text.h"

#define SLOW_US 10000
#define CERTIFICATE_SOON_S (30 * INT64_C(86400))
#define MEMORY_FULL_PERCENT 80
#define DEFAULT_DRIFT_PPM 10000

static void check_rights(struct cli_doctor *doctor, uint32_t node)
{
    const struct cli_doctor_node *one = &doctor->nodes[node];
    const char *user = cli_rights_user(doctor->session, &one->facts);
    bool no_info = one->report.cause == REDLOCK_CAUSE_RIGHTS && one->facts.missing_rights[0] == '\0';
    const struct {
        const char *rights, *id, *why;
        enum cli_weight weight;
    } kinds[] = {
        {no_info ? "+info" : one->facts.missing_rights, "rights",
         "locks need them: without, the node has no vote or fails half-way", CLI_WEIGHT_WARNING},
        {one->facts.advisable_rights, "advisable-rights",
         "without them waiters are not told that they have the lock or that it is free and ask again and again, and init and list see no "
         "locks",
         CLI_WEIGHT_NOTE},
        {one->facts.mark_rights, "mark-rights",
         "redlock once and redlock barrier need them; nothing else does", CLI_WEIGHT_NOTE},
    };

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        char line[CLI_WORDS_MAX - 1024];
        struct cli_finding *finding =
            kinds[i].rights[0] != '\0'
                ? cli_doctor_add(doctor, node, kinds[i].weight, kinds[i].id, kinds[i].why)
                : NULL;

        if (finding == NULL)
            continue;
        cli_rights_line(user, kinds[i].rights, line, sizeof line);
        snprintf(finding->what, sizeof finding->what, "user %s lacks %.300s", user, kinds[i].rights);
        snprintf(finding->fix, sizeof finding->fix, "%s %s", one->client, line);
    }
}

static void check_side_keys(struct cli_doctor *doctor, uint32_t node)
{
    const struct cli_doctor_node *one = &doctor->nodes[node];

    if (one->facts.foreign_keys[0] == '\0')
        return;
    struct cli_finding *finding =
        cli_doctor_add(doctor, node, CLI_WEIGHT_WARNING, "side-keys",
                       "what the node has to remember of its own votes is kept there, so it cannot vote");
    if (finding == NULL)
        return;
    snprintf(finding->what, sizeof finding->what, "%s: another program has stored something else there",
             one->facts.foreign_keys);
    snprintf(finding->fix, sizeof finding->fix, "%s DEL %s", one->client, one->facts.foreign_keys);
}

/* Only a limit can be reached. What is proposed leaves room, however far above it the node is. */
static void check_memory(struct cli_doctor *doctor, uint32_t node)
{
    const redlock_node_facts *facts = &doctor->nodes[node].facts;
    int64_t used = facts->memory_used, most = facts->memory_max;
    bool full = doctor->nodes[node].report.cause == REDLOCK_CAUSE_MEMORY;

    if (most <= 0 || (!full && used < most / 100 * MEMORY_FULL_PERCENT))
        return;
    struct cli_finding *finding =
        full ? cli_doctor_add(doctor, node, CLI_WEIGHT_WARNING, "memory-full",
                              "it cannot store a lock, so it does not vote")
             : cli_doctor_add(doctor, node, CLI_WEIGHT_WARNING, "memory",
                              "when it is full it can store no lock, and has no vote");
    if (finding == NULL)
        return;
    snprintf(finding->what, sizeof finding->what, "%.1f of %.1f MB of its memory are used",
             (double)used / 1e6, (double)most / 1e6);
    snprintf(finding->fix, sizeof finding->fix,
             "%s CONFIG SET maxmemory %" PRId64 " # and in its redis.conf; or remove data",
             doctor->nodes[node].client, 2 * (used > most ? used : most));
}

/* The URL that says that it loses nothing. */
static void describe_durable(const char *url, char *text, size_t size)
{
    snprintf(text, size, "%s%cdurable=yes", url, strchr(url, '?') != NULL ? '&' : '?');
}

static const char *words_of_persistence(const redlock_node_facts *facts, bool every_write)
{
    if (every_write)
        return "it loses nothing over a restart, and its URL does not say so";
    if (facts->append_only == 1)
        return "its append-only file is not written with every command";
    if (facts->snapshots == 1)
        return "it keeps snapshots only, and loses what came after the last one";
    return facts->snapshots == 0 ? "it keeps nothing over a restart" : "it keeps no append-only file";
}

static const char *why_of_persistence(bool plain, bool durable)
{
    if (plain)
        return "in plain mode nothing keeps a node that lost a lock from granting it again";
    if (durable)
        return "durable=yes says that it loses nothing: if that is wrong, two clients can hold the lock";
    return "after a restart it is quarantined until every lock has ended; a minority that is delays nobody";
}

/* What a restart would mean. Local nodes are meant to forget, and so are their locks' holders by then.
 * Guarded, it costs time, unless the node writes every command and its URL says so; else, or where the URL is
 * wrong about it, it can cost the lock. */
static void check_persistence(struct cli_doctor *doctor, uint32_t node)
{
    const struct cli_doctor_node *one = &doctor->nodes[node];
    bool plain = doctor->session->config.plain, durable = one->facts.durable;
    bool every_write = one->facts.append_only == 1 && strcmp(one->facts.append_fsync, "always") == 0;
    bool not_known = one->facts.append_only == 1 && one->facts.append_fsync[0] == '\0';
    char url[240];

    if (!one->facts.examined || not_known || one->facts.append_only < 0 || doctor->session->local ||
        (every_write && (plain || durable)))
        return;
    struct cli_finding *finding =
        cli_doctor_add(doctor, node, plain || durable ? CLI_WEIGHT_WARNING : CLI_WEIGHT_NOTE, "persistence",
                       why_of_persistence(plain, durable));
    if (finding == NULL)
        return;
    describe_durable(one->report.url, url, sizeof url);
    snprintf(finding->what, sizeof finding->what, "%s", words_of_persistence(&one->facts, every_write));
    if (every_write)
        snprintf(finding->fix, sizeof finding->fix, "write %s, in the configuration of every client", url);
    else
        snprintf(
            finding->fix, sizeof finding->fix,
            "%s CONFIG SET appendfsync always && %s CONFIG SET appendonly yes # and in its redis.conf%s%s",
            one->client, one->client, plain || durable ? "" : "; then write ", plain || durable ? "" : url);
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

    if (off && (finding = cli_doctor_add(
                    doctor, node, CLI_WEIGHT_WARNING, "clock",
                    "fencing tokens follow the clocks: locks take a second round, and times that are shown "
                    "are wrong; setting it while locks are held has the node quarantined")) != NULL) {
        snprintf(finding->what, sizeof finding->what, "its clock is off by %s", cli_text_offset(offset).text);
        snprintf(finding->fix, sizeof finding->fix, "timedatectl set-ntp true, on its host");
    }
    if (rate && (finding = cli_doctor_add(
                     doctor, node, CLI_WEIGHT_WARNING, "clock-rate",
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
        cli_doctor_add(doctor, node, CLI_WEIGHT_NOTE, "latency",
                       "a lock costs one round trip to a quorum of nodes, and so does its release");
    if (finding == NULL)
        return;
    snprintf(finding->what, sizeof finding->what, "half of its answers come within %s, 99 in 100 within %s",
             cli_text_latency(one->median_us).text, cli_text_latency(one->slow_us).text);
    snprintf(finding->fix, sizeof finding->fix,
             "look for load (%s --latency) and distance; a quorum of near nodes is enough", one->client);
}

/* Pushes came with Redis 6; a node that is newer than that does not know the greeting any more, and no ACL
 * rule can forbid it. */
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
        cli_doctor_add(doctor, node, CLI_WEIGHT_NOTE, "notifications",
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
    struct cli_finding *finding = cli_doctor_add(doctor, node, CLI_WEIGHT_WARNING, "certificate",
                                                 "once it has ended nobody connects to the node any more");
    if (finding == NULL)
        return;
    if (gmtime_r(&end, &when) != NULL)
        strftime(day, sizeof day, "%Y-%m-%d %H:%M UTC", &when);
    snprintf(finding->what, sizeof finding->what, "its certificate ends on %s, in %s", day,
             cli_text_span(left_s * 1000).text);
    snprintf(finding->fix, sizeof finding->fix,
             "renew the file it was started with; then: %s CONFIG SET tls-cert-file FILE", one->client);
}

void cli_doctor_check_node(struct cli_doctor *doctor, uint32_t node)
{
    cli_doctor_check_vote(doctor, node);
    check_rights(doctor, node);
    check_side_keys(doctor, node);
    check_memory(doctor, node);
    check_persistence(doctor, node);
    check_clock(doctor, node);
    check_latency(doctor, node);
    check_notifications(doctor, node);
    check_certificate(doctor, node);
}
