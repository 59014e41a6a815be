/*
 * What redlock doctor has found; see findings.h.
 */
#include "cli/findings.h"

#include <stdio.h>

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

uint32_t cli_findings_count(const struct cli_findings *findings, enum cli_weight weight)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < findings->count; i++)
        count += findings->each[i].weight == weight;
    return count;
}

static void print_finding(const struct cli_finding *finding)
{
    char clean[CLI_WORDS_MAX];

    cli_text_clean(finding->where, clean, sizeof clean);
    printf("%s: %s: ", weights[finding->weight], clean);
    cli_text_clean(finding->what, clean, sizeof clean);
    printf("%s\n  why     %s\n", clean, finding->why);
    cli_text_clean(finding->fix, clean, sizeof clean);
    printf("  fix     %s\n", clean);
}

void cli_findings_print(const struct cli_findings *findings)
{
    for (int weight = CLI_WEIGHT_ERROR; weight >= CLI_WEIGHT_NOTE; weight--)
        for (uint32_t i = 0; i < findings->count; i++)
            if (findings->each[i].weight == (enum cli_weight)weight)
                print_finding(&findings->each[i]);
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
