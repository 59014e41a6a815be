/*
 * What redlock doctor has found: each finding with what it is, why it matters and the command or line that
 * fixes it. It keeps and prints them; what to look for is in doctor_vote.c, doctor_node.c and doctor_fleet.c.
 */
#ifndef CLI_FINDINGS_H
#define CLI_FINDINGS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/text.h"

enum cli_weight {
    CLI_WEIGHT_NOTE,    /* good to know */
    CLI_WEIGHT_WARNING, /* locks work, but less well or less safely than they could */
    CLI_WEIGHT_ERROR    /* no lock can be had because of it */
};

enum { CLI_FINDINGS_MAX = 256, CLI_WORDS_MAX = 3 * CLI_COMMAND_MAX };

struct cli_finding {
    enum cli_weight weight;
    const char *id;  /* one word, for programs */
    char where[200]; /* "node 3 redis://c:6379", "fleet", "this host" */
    uint32_t node;   /* from 1; 0: no single one */
    char what[400];
    const char *why;
    char fix[CLI_WORDS_MAX];
};

struct cli_findings {
    uint32_t count;
    struct cli_finding each[CLI_FINDINGS_MAX];
};

/* The next one, about no single node, or NULL when there are too many. The caller fills in what and fix. */
struct cli_finding *cli_findings_add(struct cli_findings *findings, enum cli_weight weight, const char *id,
                                     const char *where, const char *why);

uint32_t cli_findings_count(const struct cli_findings *findings, enum cli_weight weight);

/* Errors first, then warnings, then notes, each of which is said once for all nodes that it is about. */
void cli_findings_print(const struct cli_findings *findings);
json_t *cli_findings_json(const struct cli_findings *findings);

#endif
