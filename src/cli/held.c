/*
 * The names that are held above us: REDLOCK_HELD lists them (percent-encoded, with blanks between them), and
 * REDLOCK_HELD_ON says in the same order on which nodes, and by which owner. It decides only whether that is still true.
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
#define PLACES "REDLOCK_HELD_ON"
#define OWNER_SIZE (sizeof((redlock_holder *)NULL)->id)
#define KEPT "-_.~:/@+={}[]!*,;" /* often seen in names, and no blanks */

struct cli_fleet cli_held_fleet(const redlock_client *client, const char *prefix)
{
    struct cli_fleet fleet;
    uint64_t sum = 0;

    for (uint32_t i = 0; i < redlock_client_node_count(client); i++)
        sum += cli_text_hash(CLI_TEXT_HASH, redlock_client_node_url(client, i));
    snprintf(fleet.text, sizeof fleet.text, "%016" PRIx64, cli_text_hash(sum, prefix == NULL ? "" : prefix));
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

/* Whether the environment says that `name` is held above us on these nodes, and by which owner; "" when it does not say.
 * A name whose nodes are not told counts as one on ours: better a clear error than a wait without end. */
static bool is_said_to_be_held(const char *name, const struct cli_fleet *fleet, char owner[OWNER_SIZE])
{
    const char *names = variable(NAMES), *places = variable(PLACES), *held, *place;
    char *encoded = cli_text_percent_encode(name, KEPT);
    bool found = false;

    for (size_t length; encoded != NULL && !found && (length = next_word(&names, &held)) > 0;) {
        size_t place_length = next_word(&places, &place), fleet_length = strcspn(place, "@ ");
        bool same_fleet = place_length == 0 || strncmp(place, fleet->text, fleet_length) == 0;
        found = same_fleet && strlen(encoded) == length && memcmp(held, encoded, length) == 0;
        bool told = place_length > fleet_length;
        snprintf(owner, OWNER_SIZE, "%.*s", told ? (int)(place_length - fleet_length - 1) : 0,
                 told ? place + fleet_length + 1 : "");
    }
    free(encoded);
    return found;
}

/* A process may outlive the redlock run that started it. So the nodes are asked: unless a quorum has another owner, or
 * none, what the environment says is still true. */
static bool is_still_held(redlock_client *client, const char *name, const char *owner)
{
    redlock_report report = REDLOCK_REPORT_INIT;

    if (redlock_inspect(client, name, 0, &report) != REDLOCK_OK)
        return false; /* the acquisition will say why */
    if (report.held < report.quorum)
        return false;
    return *owner == '\0' || report.holder.id[0] == '\0' || strcmp(report.holder.id, owner) == 0;
}

bool cli_held_above(redlock_client *client, const char *prefix, const char *name)
{
    struct cli_fleet fleet = cli_held_fleet(client, prefix);
    char owner[OWNER_SIZE] = "";

    return is_said_to_be_held(name, &fleet, owner) && is_still_held(client, name, owner);
}

int cli_held_check(redlock_client *client, const char *prefix, const char *name)
{
    if (!cli_held_above(client, prefix, name))
        return 0;
    return cli_output_fail(CLI_EXIT_USAGE,
                           "%s is held by a redlock run above this one: it would wait for itself", name);
}

/* Frees the list, and returns a longer one. */
static char *append(char *list, const char *word)
{
    char *longer = NULL;

    if (list == NULL || word == NULL || asprintf(&longer, "%s%s%s", list, *list == '\0' ? "" : " ", word) < 0)
        longer = NULL;
    free(list);
    return longer;
}

bool cli_held_extend(const char *const *held, int count, const struct cli_fleet *fleet, const char *owner,
                     char **names, char **places)
{
    char place[sizeof fleet->text + OWNER_SIZE];

    snprintf(place, sizeof place, "%s@%.*s", fleet->text, (int)OWNER_SIZE - 1, owner);
    *names = strdup(variable(NAMES));
    *places = strdup(variable(PLACES));
    for (int i = 0; i < count; i++) {
        char *encoded = cli_text_percent_encode(held[i], KEPT);

        *names = append(*names, encoded);
        *places = append(*places, place);
        free(encoded);
    }
    return *names != NULL && *places != NULL;
}
