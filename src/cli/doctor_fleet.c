/*
 * What redlock doctor checks of the nodes together, and of this host: their number and margin, mixed settings
 * and versions, fences that run ahead; the host's clock, its max_ttl, and where its nodes come from. It reads
 * what was gathered and asks nobody.
 */
#include <stdio.h>
#include <string.h>
#include <sys/timex.h>

#include "cli/clock.h"
#include "cli/doctor.h"
#include "cli/margin.h"
#include "cli/suggest.h"
#include "cli/text.h"

#define FENCE_AHEAD_US INT64_C(3600000000)

static struct cli_finding *add_fleet(struct cli_doctor *doctor, enum cli_weight weight, const char *id,
                                     const char *why)
{
    return cli_findings_add(&doctor->findings, weight, id, "fleet", why);
}

static void check_count(struct cli_doctor *doctor)
{
    struct cli_finding *finding;

    if (doctor->count % 2 != 0 && doctor->count > 1)
        return;
    finding =
        doctor->count == 1
            ? add_fleet(
                  doctor, CLI_WEIGHT_WARNING, "node-count",
                  "when it fails, nobody can lock; when it loses its memory, nobody else knows what was locked")
            : add_fleet(
                  doctor, CLI_WEIGHT_WARNING, "node-count",
                  "an even number survives no more failures than one node fewer, and splits more votes");
    if (finding == NULL)
        return;
    snprintf(finding->what, sizeof finding->what,
             doctor->count == 1 ? "there is a single node" : "there are %u nodes", doctor->count);
    snprintf(finding->fix, sizeof finding->fix,
             doctor->count == 1 ? "add two nodes on other machines: node = redis://HOST:6379, twice"
                                : "add one on another machine (node = redis://HOST:6379), or remove one");
}

static void check_margin(struct cli_doctor *doctor)
{
    int code = cli_margin_code(doctor->report);
    struct cli_finding *finding;

    if (code == 0 || (doctor->count == 1 && doctor->report->eligible == 1))
        return;
    finding = code == 1 ? add_fleet(doctor, CLI_WEIGHT_WARNING, "margin",
                                    "if one more node fails, no lock can be had and held ones are lost")
                        : add_fleet(doctor, CLI_WEIGHT_ERROR, "margin",
                                    "no lock can be had, and held ones are lost");
    if (finding == NULL)
        return;
    cli_margin_describe(doctor->report, finding->what, sizeof finding->what);
    snprintf(finding->fix, sizeof finding->fix, "repair the nodes named here");
}

static void check_versions(struct cli_doctor *doctor)
{
    const redlock_node_facts *first = NULL, *other = NULL;

    for (uint32_t i = 0; i < doctor->count; i++) {
        const redlock_node_facts *facts = &doctor->nodes[i].facts;
        if (facts->version[0] == '\0')
            continue;
        if (first == NULL)
            first = facts;
        else if (strcmp(first->version, facts->version) != 0 || strcmp(first->server, facts->server) != 0)
            other = facts;
    }
    if (other == NULL)
        return;
    struct cli_finding *finding =
        add_fleet(doctor, CLI_WEIGHT_NOTE, "mixed-versions", "locks work, but nodes fail in different ways");
    if (finding == NULL)
        return;
    snprintf(finding->what, sizeof finding->what, "nodes are of different versions: %s %s, %s %s",
             first->server, first->version, other->server, other->version);
    snprintf(finding->fix, sizeof finding->fix,
             "upgrade one after the other; wait for each to vote again: %s",
             cli_suggest("status", NULL, NULL, NULL).text);
}

/* A floor that is far ahead of the clocks was put there by a clock that was. */
static void check_fences(struct cli_doctor *doctor)
{
    uint64_t highest = 0;
    int64_t now_us = cli_clock_wall() * 1000;

    for (uint32_t i = 0; i < doctor->count; i++)
        if (doctor->nodes[i].facts.fence_floor > highest)
            highest = doctor->nodes[i].facts.fence_floor;
    if ((int64_t)highest < now_us + FENCE_AHEAD_US)
        return;
    struct cli_finding *finding =
        add_fleet(doctor, CLI_WEIGHT_NOTE, "fences",
                  "fencing tokens only rise, so they stay ahead; they are still in order");
    if (finding == NULL)
        return;
    snprintf(finding->what, sizeof finding->what,
             "fencing tokens are ahead of the clocks by %s: a node's clock was, once",
             cli_text_span(((int64_t)highest - now_us) / 1000).text);
    snprintf(finding->fix, sizeof finding->fix,
             "nothing; take care of the clocks: timedatectl set-ntp true, on each host");
}

void cli_doctor_check_fleet(struct cli_doctor *doctor)
{
    check_count(doctor);
    check_margin(doctor);
    check_versions(doctor);
    check_fences(doctor);
}

/* ---- this host ----------------------------------------------------------------------------------------- */

static struct cli_finding *add_host(struct cli_doctor *doctor, enum cli_weight weight, const char *id,
                                    const char *why)
{
    return cli_findings_add(&doctor->findings, weight, id, "this host", why);
}

static void check_host_clock(struct cli_doctor *doctor)
{
    struct timex kernel = {0};
    struct cli_finding *finding;

    if (cli_doctor_blames_host(doctor)) {
        finding = add_host(
            doctor, CLI_WEIGHT_WARNING, "clock",
            "fencing tokens follow the clocks: locks taken here need a second round, and times are wrong");
        if (finding != NULL) {
            snprintf(finding->what, sizeof finding->what,
                     "its clock is off: the nodes agree on another time");
            snprintf(finding->fix, sizeof finding->fix, "timedatectl set-ntp true");
        }
    } else if (adjtimex(&kernel) >= 0 && (kernel.status & STA_UNSYNC) != 0) {
        finding =
            add_host(doctor, CLI_WEIGHT_NOTE, "ntp",
                     "clocks that nobody keeps in step drift apart, which shows in times and fencing tokens");
        if (finding != NULL) {
            snprintf(finding->what, sizeof finding->what,
                     "the kernel does not know its clock to be synchronised");
            snprintf(finding->fix, sizeof finding->fix, "timedatectl set-ntp true");
        }
    }
}

/* Nodes know the longest lock of their clients for some hours. */
static void check_terms(struct cli_doctor *doctor)
{
    int64_t ours_ms = cli_config_max_ttl(&doctor->session->config), longest_ms = 0;

    for (uint32_t i = 0; i < doctor->count; i++)
        if (doctor->nodes[i].facts.longest_ttl_ms > longest_ms)
            longest_ms = doctor->nodes[i].facts.longest_ttl_ms;
    if (doctor->session->config.plain || longest_ms == 0 || longest_ms == ours_ms)
        return;
    struct cli_finding *finding =
        add_host(doctor, CLI_WEIGHT_WARNING, "max-ttl",
                 "a node that was restarted is quarantined for the longest one that any client uses");
    if (finding == NULL)
        return;
    snprintf(finding->what, sizeof finding->what,
             "max_ttl is %s here, and %s for other clients of these nodes", cli_text_span(ours_ms).text,
             cli_text_span(longest_ms).text);
    snprintf(finding->fix, sizeof finding->fix, "max_ttl = %lldms, in the redlock.conf of every client",
             (long long)longest_ms);
}

static void check_source(struct cli_doctor *doctor)
{
    struct cli_finding *finding;

    if (doctor->session->local) {
        finding =
            add_host(doctor, CLI_WEIGHT_WARNING, "local-nodes",
                     "these locks hold for this user on this machine only: other machines do not see them");
        if (finding == NULL)
            return;
        snprintf(finding->what, sizeof finding->what, "no nodes are configured, so the local nodes are used");
        snprintf(
            finding->fix, sizeof finding->fix,
            "name nodes (node = redis://HOST:6379 in /etc/redlock.conf), or refuse this: require_nodes = yes");
    } else if (!doctor->session->config.require_nodes && !doctor->required) {
        finding = add_host(doctor, CLI_WEIGHT_NOTE, "local-fallback",
                           "a command that does not find the configuration would lock on this machine only");
        if (finding == NULL)
            return;
        snprintf(finding->what, sizeof finding->what,
                 "without configured nodes the local ones would be used");
        snprintf(finding->fix, sizeof finding->fix, "require_nodes = yes, in /etc/redlock.conf");
    }
}

void cli_doctor_check_host(struct cli_doctor *doctor)
{
    check_host_clock(doctor);
    check_terms(doctor);
    check_source(doctor);
}
