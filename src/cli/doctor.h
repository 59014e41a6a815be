/*
 * What redlock doctor looks at, and the checks that it is put to: each node, the fleet, this host. The checks
 * only read what was gathered; command_doctor.c asks the nodes.
 */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include <limits.h>
#include <redlock.h>

#include "cli/findings.h"
#include "cli/session.h"

struct cli_doctor_node {
    redlock_node_report report;
    redlock_node_facts facts;
    int64_t median_us,
        slow_us;      /* half of its answers came within, 99 in 100 came within; -1 there were none */
    int64_t rate_ppm; /* by so much its clock runs faster than ours; INT64_MIN not known */
    char client[PATH_MAX + 1024]; /* for a shell: how a person talks to it: "redis-cli -u redis://c:6379" */
};

struct cli_doctor {
    const struct cli_session *session;
    const redlock_report *report;
    bool required; /* --require-nodes was given */
    uint32_t count;
    struct cli_doctor_node nodes[REDLOCK_NODES_MAX];
    struct cli_findings findings;
};

void cli_doctor_check_vote(struct cli_doctor *doctor, uint32_t node);
void cli_doctor_check_node(struct cli_doctor *doctor, uint32_t node);
void cli_doctor_check_fleet(struct cli_doctor *doctor);
void cli_doctor_check_host(struct cli_doctor *doctor);

/* A finding about a node, or NULL when there are too many. The caller fills in what and fix. */
struct cli_finding *cli_doctor_add(struct cli_doctor *doctor, uint32_t node, enum cli_weight weight,
                                   const char *id, const char *why);

/* "redis-cli -u redis://c:6379", "redis-cli -s /run/redis.sock" */
void cli_doctor_client(const struct cli_session *session, const redlock_node_facts *facts, const char *url,
                       char *text, size_t size);

/* Whether this many of the nodes' clocks, more than half of those seen, are off by more than a second in the
 * same way: then it is this host's clock that is wrong. */
bool cli_doctor_blames_host(const struct cli_doctor *doctor);

/* How wrong the rate of a clock may be. */
int64_t cli_doctor_drift_ppm(const struct cli_session *session);

/* How far a clock may be off before it is said. */
#define CLI_CLOCK_OFF_US 1000000

#endif
