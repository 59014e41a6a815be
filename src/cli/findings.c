/*
 * What redlock doctor has found; see findings.h.
 */
#include "cli/findings.h"

#include <stdio.h>
#include <string.h>

#include "cli/output.h"
#include "cli/text.h"

static const char *const weights[] = {
    [CLI_WEIGHT_NOTE] = "note", [CLI_WEIGHT_WARNING] = "warning", [CLI_WEIGHT_ERROR] = "error"};

struct cli_finding *cli_findings_add(struct cli_findings *findings, enum cli_weight weight, const char *id,
                                     const char *where, const char *why)
{
    if (findings->count == CLI_FINDINGS_MAX)
        return NULL;
    struct cli_finding *finding = &findings->each[findings->count++];
    *finding = (struct cli_finding){.weight = weight, .id = id, .why = why};
    snprintf(finding->where, sizeof finding->where, "%s", where);
    return finding;
}

/* Whether two notes say the same of two nodes. What is worse than a note is fixed node by node, and said
 * so. */
static bool is_same_note(const struct cli_finding *one, const struct cli_finding *other)
{
    return one->weight == CLI_WEIGHT_NOTE && other->weight == CLI_WEIGHT_NOTE && one->node > 0 &&
           other->node > 0 && strcmp(one->id, other->id) == 0 && strcmp(one->what, other->what) == 0;
}

/* "nodes 1, 4 and 5": all of which the note is about. */
static uint32_t describe_nodes(const struct cli_findings *findings, const struct cli_finding *first,
                               char *text, size_t size)
{
    uint32_t count = 0, listed = 0;

    for (uint32_t i = 0; i < findings->count; i++)
        count += is_same_note(first, &findings->each[i]);
    snprintf(text, size, "nodes ");
    for (uint32_t i = 0; i < findings->count; i++) {
        size_t used = strlen(text);
        if (!is_same_note(first, &findings->each[i]))
            continue;
        snprintf(text + used, size - used, "%s%u",
                 listed == 0           ? ""
                 : listed + 1 == count ? " and "
                                       : ", ",
                 findings->each[i].node);
        listed++;
    }
    return count;
}

/* What several nodes have in common is said, and counted, once. */
static bool was_printed(const struct cli_findings *findings, uint32_t number)
{
    for (uint32_t i = 0; i < number; i++)
        if (is_same_note(&findings->each[i], &findings->each[number]))
            return true;
    return false;
}

uint32_t cli_findings_count(const struct cli_findings *findings, enum cli_weight weight)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < findings->count; i++)
        count += findings->each[i].weight == weight && !was_printed(findings, i);
    return count;
}

static void print_finding(const struct cli_findings *findings, const struct cli_finding *finding)
{
    char clean[CLI_WORDS_MAX], nodes[200];
    uint32_t count = describe_nodes(findings, finding, nodes, sizeof nodes);

    cli_text_clean(count > 1 ? nodes : finding->where, clean, sizeof clean);
    printf("%s: %s: ", weights[finding->weight], clean);
    cli_text_clean(finding->what, clean, sizeof clean);
    printf("%s\n  why     %s\n", clean, finding->why);
    cli_text_clean(finding->fix, clean, sizeof clean);
    printf("  fix     %s\n", clean);
    if (count > 1)
        printf("          and likewise for the other nodes\n");
}

void cli_findings_print(const struct cli_findings *findings)
{
    for (int weight = CLI_WEIGHT_ERROR; weight >= CLI_WEIGHT_NOTE; weight--)
        for (uint32_t i = 0; i < findings->count; i++)
            if (findings->each[i].weight == (enum cli_weight)weight && !was_printed(findings, i))
                print_finding(findings, &findings->each[i]);
}

json_t *cli_findings_json(const struct cli_findings *findings)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < findings->count; i++) {
        const struct cli_finding *finding = &findings->each[i];
        json_t *object =
            json_pack("{s:s, s:s, s:o, s:o, s:s, s:o}", "weight", weights[finding->weight], "id", finding->id,
                      "where", cli_output_string(finding->where), "what", cli_output_string(finding->what),
                      "why", finding->why, "fix", cli_output_string(finding->fix));
        if (finding->node > 0)
            json_object_set_new(object, "node", json_integer(finding->node));
        json_array_append_new(list, object);
    }
    return list;
}
