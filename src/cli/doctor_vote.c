/*
 * What redlock doctor says of a node that has no vote: why, and what to do about it. How a person talks to
 * the node is here, too. It reads what was gathered and asks nobody.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cli/doctor.h"
#include "cli/failure.h"
#include "cli/rights.h"
#include "cli/suggest.h"
#include "cli/text.h"

#define SPARE_S 5 /* what a waiter for the end of a quarantine waits longer */

/* ---- how a person talks to it -------------------------------------------------------------------------- */

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
    char path[200], quoted[sizeof path * 4 + 8], file[PATH_MAX + 8];

    if (strncmp(url, "unix://", 7) == 0) {
        decode_path(url + 7, path, sizeof path);
        cli_text_quote(path, quoted, sizeof quoted);
        snprintf(text, size, "%s -s %s", program, quoted);
        return;
    }
    cli_text_quote(url, quoted, sizeof quoted);
    if (tls && authority != NULL) {
        cli_text_quote(authority, file, sizeof file);
        snprintf(text, size, "%s --cacert %s -u %s", program, file, quoted);
    } else {
        snprintf(text, size, "%s -u %s", program, quoted);
    }
}

/* ---- findings ------------------------------------------------------------------------------------------ */

struct cli_finding *cli_doctor_add(struct cli_doctor *doctor, uint32_t node, enum cli_weight weight,
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
     "as named: the files that tls_ca, tls_cert and tls_key name in the configuration, or the certificate of the node"},
    {REDLOCK_CAUSE_PROTOCOL, "protocol", "what listens there is no node", "correct its URL"},
    {REDLOCK_CAUSE_CREDENTIALS, "credentials", "it does not let this client in", NULL /* by its words */},
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

/* The command that begins a quarantine on every node that can be reached: as long as it waits or holds the
 * lock, late nodes are asked, too. On a fleet of which too few may vote it waits until they do. */
static struct cli_suggested suggest_beginning(int64_t quarantine_ms)
{
    char wait[40];

    snprintf(wait, sizeof wait, "-w %llds", (long long)(quarantine_ms / 1000 + SPARE_S));
    return cli_suggest("run", "doctor", wait, "sleep 2");
}

static void check_quarantine(struct cli_doctor *doctor, uint32_t node)
{
    const redlock_node_report *report = &doctor->nodes[node].report;
    bool new_fleet = cli_failure_is_new_fleet(doctor->report), begun = has_begun(report);
    int64_t left_ms = cli_failure_quarantine_ms(report);
    struct cli_span left = cli_text_span(left_ms);
    struct cli_finding *finding = cli_doctor_add(
        doctor, node, CLI_WEIGHT_WARNING, "quarantine",
        "it may have lost locks that are still held, so it does not vote until all of them have ended");

    if (finding == NULL)
        return;
    snprintf(finding->what, sizeof finding->what, "%s", words_of(report));
    if (new_fleet && begun)
        snprintf(finding->fix, sizeof finding->fix,
                 "wait %s; or, if this is a new fleet and nobody holds a lock yet: %s", left.text,
                 cli_suggest("init", NULL, NULL, NULL).text);
    else if (new_fleet)
        snprintf(finding->fix, sizeof finding->fix,
                 "%s # if this is a new fleet and nobody holds a lock yet; else, which takes %s: %s",
                 cli_suggest("init", NULL, NULL, NULL).text, left.text, suggest_beginning(left_ms).text);
    else if (begun)
        snprintf(finding->fix, sizeof finding->fix, "wait %s", left.text);
    else
        snprintf(finding->fix, sizeof finding->fix, "%s # any lock that is asked for begins it; then wait %s",
                 suggest_beginning(left_ms).text, left.text);
}

/* The node is told to keep copies, and has none: it refuses to write, but its disk is well. */
static bool lacks_copies(const redlock_node_report *report)
{
    return report->cause == REDLOCK_CAUSE_DISK && strstr(report->detail, "NOREPLICAS") != NULL;
}

static void check_copies(struct cli_doctor *doctor, uint32_t node)
{
    struct cli_finding *finding = cli_doctor_add(
        doctor, node, CLI_WEIGHT_WARNING, "copies",
        "it refuses to write while too few replicas follow it, so it does not vote; locks need no replicas");

    if (finding == NULL)
        return;
    snprintf(finding->what, sizeof finding->what, "%s", words_of(&doctor->nodes[node].report));
    snprintf(finding->fix, sizeof finding->fix,
             "%s CONFIG SET min-replicas-to-write 0 # and in its redis.conf", doctor->nodes[node].client);
}

/* One that speaks TLS where the URL says that it does not, or the other way round. */
static bool is_of_wrong_scheme(const redlock_node_report *report)
{
    return strstr(report->detail, "write redis://") != NULL ||
           strstr(report->detail, "write rediss://") != NULL;
}

/* A server that does not speak TLS may say nothing at all to a client that does, as a frozen one: then both
 * are named. */
static void check_scheme(struct cli_doctor *doctor, uint32_t node)
{
    const struct cli_doctor_node *one = &doctor->nodes[node];
    bool has_tls = strncmp(one->report.url, "rediss://", 9) == 0;
    bool silent = one->report.cause == REDLOCK_CAUSE_TIMED_OUT;
    const char *place = strstr(one->report.url, "://");
    struct cli_finding *finding =
        cli_doctor_add(doctor, node, CLI_WEIGHT_WARNING, "tls",
                       "without a connection it has no vote, and nothing else is tried instead of TLS");

    if (finding == NULL)
        return;
    snprintf(finding->what, sizeof finding->what, "%s", words_of(&one->report));
    snprintf(finding->fix, sizeof finding->fix, "write %s%s in place of %s%s%s", has_tls ? "redis" : "rediss",
             place != NULL ? place : "://HOST:PORT", one->report.url,
             silent ? "; or, if it does speak TLS, restart it: " : "", silent ? "it does not answer" : "");
}

/* Whatever keeps it from voting. */
void cli_doctor_check_vote(struct cli_doctor *doctor, uint32_t node)
{
    const struct cli_doctor_node *one = &doctor->nodes[node];
    redlock_cause cause = one->report.cause;
    size_t i = 0, count = sizeof causes / sizeof causes[0];

    if (cause == REDLOCK_CAUSE_NONE || cause == REDLOCK_CAUSE_RIGHTS || one->facts.foreign_keys[0] != '\0' ||
        (cause == REDLOCK_CAUSE_MEMORY && one->facts.memory_max > 0))
        return; /* said elsewhere, with what is to be typed */
    if (is_of_wrong_scheme(&one->report)) {
        check_scheme(doctor, node);
        return;
    }
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
    struct cli_finding *finding = cli_doctor_add(
        doctor, node, cause == REDLOCK_CAUSE_DUPLICATE ? CLI_WEIGHT_ERROR : CLI_WEIGHT_WARNING,
        known ? causes[i].id : "error", known ? causes[i].why : "it does not vote while it answers so");
    if (finding == NULL)
        return;
    bool hangs = cause == REDLOCK_CAUSE_TIMED_OUT || cause == REDLOCK_CAUSE_SILENT;
    snprintf(finding->what, sizeof finding->what, "%s%s", hangs ? "it does not answer: " : "",
             words_of(&one->report));
    if (cause == REDLOCK_CAUSE_CREDENTIALS)
        cli_rights_password(doctor->session, one->report.detail, finding->fix, sizeof finding->fix);
    else if (known)
        fill_fix(finding, causes[i].fix, one->client);
    else
        snprintf(finding->fix, sizeof finding->fix, "see its log; then: %s",
                 cli_suggest("doctor", NULL, NULL, NULL).text);
}
