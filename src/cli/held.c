/*
 * The names that are held above us: REDLOCK_HELD lists them (percent-encoded, with blanks between them), and
 * REDLOCK_HELD_ON says in the same order on which nodes. It only reads and writes these two variables.
 */
#include "cli/held.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/exits.h"
#include "cli/output.h"
#include "cli/text.h"

#define NAMES "REDLOCK_HELD"
#define FLEETS "REDLOCK_HELD_ON"
#define KEPT "-_.~:/@+={}[]!*,;" /* often seen in names, and no blanks */

/* FNV-1a: only has to tell fleets apart that a person uses side by side. */
static uint64_t hash(uint64_t seed, const char *text)
{
    for (; *text != '\0'; text++)
        seed = (seed ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return seed;
}

struct cli_fleet cli_held_fleet(const redlock_client *client, const char *prefix)
{
    struct cli_fleet fleet;
    uint64_t sum = 0, start = UINT64_C(0xcbf29ce484222325);

    for (uint32_t i = 0; i < redlock_client_node_count(client); i++)
        sum += hash(start, redlock_client_node_url(client, i));
    snprintf(fleet.text, sizeof fleet.text, "%016" PRIx64, hash(sum, prefix == NULL ? "" : prefix));
    return fleet;
}

/* Cuts the next word off a list; its length is 0 at the end. */
static size_t next_word(const char **list, const char **word)
{
    *word = *list + strspn(*list, " ");
    size_t length = strcspn(*word, " ");
    *list = *word + length;
    return length;
}

static const char *variable(const char *name)
{
    const char *value = getenv(name);

    return value == NULL ? "" : value;
}

static bool is_held_above(const char *name, const struct cli_fleet *fleet)
{
    const char *names = variable(NAMES), *fleets = variable(FLEETS), *held, *on;
    char *encoded = cli_text_percent_encode(name, KEPT);
    bool above = false;

    for (size_t length; encoded != NULL && !above && (length = next_word(&names, &held)) > 0;) {
        size_t on_length = next_word(&fleets, &on);
        /* A name whose nodes are not told counts as one on ours: better a clear error than a wait without end. */
        bool same_fleet = on_length == 0 || strncmp(on, fleet->text, on_length) == 0;
        above = same_fleet && strlen(encoded) == length && memcmp(held, encoded, length) == 0;
    }
    free(encoded);
    return above;
}

int cli_held_check(const redlock_client *client, const char *prefix, const char *name)
{
    struct cli_fleet fleet = cli_held_fleet(client, prefix);

    if (!is_held_above(name, &fleet))
        return 0;
    return cli_output_fail(CLI_EXIT_USAGE,
                           "%s is held by a redlock run above this one: it would wait for itself", name);
}

static char *append(const char *list, const char *word)
{
    char *longer = NULL;

    if (word == NULL || asprintf(&longer, "%s%s%s", list, *list == '\0' ? "" : " ", word) < 0)
        return NULL;
    return longer;
}

bool cli_held_extend(const char *name, const struct cli_fleet *fleet, char **names, char **fleets)
{
    char *encoded = cli_text_percent_encode(name, KEPT);

    *names = append(variable(NAMES), encoded);
    *fleets = append(variable(FLEETS), fleet->text);
    free(encoded);
    return *names != NULL && *fleets != NULL;
}
